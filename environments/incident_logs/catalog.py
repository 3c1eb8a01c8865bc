"""Which incidents there are: every cause that has a module, on every shape of system, from a seed.

A plot is what a stream is made from and nothing else: cause, shape, seed, how long, which names and wording. The
causes and herrings of the other hand stand in `blind/` and are found by their files.
"""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from types import ModuleType

from enlist.environments.incident_logs import causes as own
from enlist.environments.incident_logs import herrings as own_herrings
from enlist.environments.incident_logs.model import CAUSES, Herring, Incident, System
from enlist.environments.incident_logs.reference import Control
from enlist.environments.incident_logs.systems import SHAPES, build

Cause = Callable[[System, Random, float, float], Incident]
_EARLIEST, _LATEST = 1_672_531_200.0, 1_764_547_200.0
"""Streams begin between 2023-01-01 and 2025-12-01, UTC."""


@dataclass(frozen=True)
class Plot:
    """What a stream is made from. `names` is the seed of the names (the plot's own if None), `wording` the set of
    phrases, `cause` "" for a healthy system."""

    cause: str
    shape: str
    seed: int
    lines: int
    names: int | None = None
    wording: int = 0
    control: Control = "none"

    def window(self) -> tuple[float, float]:
        """When the stream begins and how many seconds it lasts: the same for all variants."""
        rng = Random(f"window {self.seed}")
        start = rng.uniform(_EARLIEST, _LATEST)
        return round(start, 3), rng.choice((3600.0, 5400.0, 7200.0, 10800.0))

    def incident(self) -> Incident:
        """The story, with its herrings."""
        start, span = self.window()
        system = build(self.shape, self.seed, names=self.names, wording=self.wording)
        if self.cause:
            told = causes()[self.cause](system, Random(f"story {self.cause} {self.seed}"), start, span)
        else:
            told = Incident("healthy", "", "", system, ())
        return replace(told, seed=self.seed, red_herrings=self._herrings(told, start, span))

    def _herrings(self, told: Incident, start: float, span: float) -> tuple[Herring, ...]:
        """One to four herrings, none of them on the component: of this hand where the seed is even, else of the other
        where there are some, so that those that are added later leave half of all streams as they were."""
        rng = Random(f"herrings {self.seed}")
        makers = _herring_makers()
        maker = makers[self.seed % 2 if len(makers) > 1 else 0]
        found = maker(told.system, Random(f"herrings of {self.seed}"), start, span)
        drawn = [herring for herring in found if herring.service != told.component]
        rng.shuffle(drawn)
        return tuple(sorted(drawn[:1 + int(rng.random() * 4)], key=lambda h: h.at))


@cache
def causes() -> dict[str, Cause]:
    """The function of each cause that has a module, in the order of `CAUSES`; the other hand adds and replaces none."""
    modules = {name: module for package in (_blind(), own) if package is not None for name, module in _modules(package)}
    return {name: modules[name].incident for name in CAUSES if name in modules}


@cache
def blind_causes() -> frozenset[str]:
    """The causes that the other hand wrote."""
    package = _blind()
    return frozenset(name for name, _ in _modules(package) if name in CAUSES) if package is not None else frozenset()


def plots(seed: int, per_cause: int, lines: int) -> list[Plot]:
    """`per_cause` plots of each cause, the causes in turn, each time on another shape of system."""
    shapes, found = list(SHAPES), []
    for number in range(per_cause):
        for place, cause in enumerate(causes()):
            rng = Random(f"plot {seed} {cause} {number}")
            size = round(lines * rng.choice((0.5, 1.0, 1.0, 2.0)))
            found.append(Plot(cause, shapes[(number + place) % len(shapes)], rng.getrandbits(40), size))
    return found


def healthy(seed: int, count: int, lines: int) -> list[Plot]:
    """Plots in which nothing happens but herrings."""
    shapes = list(SHAPES)
    return [Plot("", shapes[n % len(shapes)], Random(f"healthy {seed} {n}").getrandbits(40), lines,
                 control="no_incident") for n in range(count)]


def _blind() -> ModuleType | None:
    folder = Path(__file__).with_name("blind")
    return importlib.import_module("enlist.environments.incident_logs.blind") if (
        folder / "__init__.py").exists() else None


def _modules(package: ModuleType) -> list[tuple[str, ModuleType]]:
    names = sorted(info.name for info in pkgutil.iter_modules(package.__path__))
    return [(name, importlib.import_module(f"{package.__name__}.{name}")) for name in names]


@cache
def _herring_makers() -> tuple[Callable[[System, Random, float, float], list[Herring]], ...]:
    package = _blind()
    other = [module.herrings for name, module in _modules(package) if name == "herrings"] if package is not None else []
    return (own_herrings.herrings, *other)
