"""Requests: each enters at a gateway, walks dependency edges, and leaves a line in the services that log requests.

A request carries one trace id. What an effect spoils on the way (a slow or failing service) is seen by every service
that was waiting, so the symptoms of an incident reach request lines by themselves.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random

from enlist.environments.incident_logs.model import Effect, Emission, Level, Service, System
from enlist.environments.incident_logs.slots import address, hexadecimal, path

_MEDIAN_MS = {"gateway": 1.5, "app": 9.0, "auth": 4.0, "db": 3.0, "cache": 0.6, "queue": 1.2, "storage": 6.0,
              "external": 60.0, "worker": 20.0}
_WRITES = ("gateway", "app", "auth")
_METHODS = ("GET", "GET", "GET", "GET", "POST", "POST", "PUT", "DELETE")
_DEEPEST, _ASKS = 4, 0.55
_NATURAL = ((0.965, 200), (0.98, 201), (0.988, 404), (0.993, 400), (0.9965, 401), (0.9985, 499), (0.9995, 500),
            (1.0, 503))
"""Cumulative shares of outcomes of a healthy system: some clients err, a few requests fail for no visible reason."""
MOST_MS = 30_000.0


@dataclass
class Walk:
    """What has come of a request below some service: time spent, the status if it failed, the effect that spoilt it."""

    ms: float
    status: int
    effect: Effect | None


class Requests:
    """Makes the lines of requests of a system under effects."""

    def __init__(self, system: System, effects: Sequence[Effect]) -> None:
        self.services = {s.name: s for s in system.services}
        self.gates = system.of("gateway")
        self.effects = [e for e in effects if e.latency != 1 or e.failing]

    def active(self, start: float, end: float) -> dict[str, list[Effect]]:
        """Effects that touch a stretch of time, by service."""
        found: dict[str, list[Effect]] = {}
        for effect in self.effects:
            if effect.start < end and effect.end > start:
                found.setdefault(effect.service, []).append(effect)
        return found

    def one(self, rng: Random, at: float, active: dict[str, list[Effect]]) -> list[Emission]:
        """The lines of one request that comes in at a time."""
        lines: list[Emission] = []
        gate = self.gates[int(rng.random() * len(self.gates))]
        roll, natural = rng.random(), 200
        for share, status in _NATURAL:
            if roll < share:
                natural = status
                break
        method, about = _METHODS[int(rng.random() * len(_METHODS))], path(rng)
        self._visit(rng, gate, at, (method, about, hexadecimal(rng, 16), address(rng)), natural, active, lines, 0)
        return lines

    def _visit(self, rng: Random, service: Service, at: float, what: tuple[str, str, str, str], natural: int,
               active: dict[str, list[Effect]], lines: list[Emission], depth: int) -> Walk:
        walk = Walk(_MEDIAN_MS.get(service.role, 5.0) * rng.lognormvariate(0.0, 0.6), natural, None)
        for effect in active.get(service.name, ()):
            if effect.start <= at < effect.end:
                walk.ms *= effect.latency
                if effect.latency >= 3:
                    walk.effect = effect
                if rng.random() < effect.failing:
                    walk.status, walk.effect = effect.status, effect
        needs = service.depends_on
        asked = [n for n in needs if rng.random() < _ASKS] if depth < _DEEPEST else []
        for need in asked or (needs[:1] if depth == 0 else ()):
            if walk.status >= 500 and walk.effect is not None:
                break
            below = self._visit(rng, self.services[need], at + walk.ms / 1e3, what, natural, active, lines, depth + 1)
            walk.ms += below.ms
            if below.effect is not None and walk.effect is None:
                walk.effect = below.effect
                if below.status >= 500:
                    walk.status = 502 if service.role == "gateway" else 500
        walk.ms = min(walk.ms, MOST_MS)
        if service.role in _WRITES and service.logs:
            lines.append(_line(rng, service, at + walk.ms / 1e3, what, walk))
        return walk


def _line(rng: Random, service: Service, at: float, what: tuple[str, str, str, str], walk: Walk) -> Emission:
    method, about, trace, ip = what
    level: Level = "info" if walk.status < 500 else "warn" if service.role == "gateway" else "error"
    tag = walk.effect.facts.get(service.name, "") if walk.effect is not None else ""
    one = Emission(service.name, at, level, f"{method} {about} {walk.status} {walk.ms:.0f}ms", tag=tag, trace=trace)
    if service.style in ("access", "json"):
        return replace(one, text=f"{method} {about} {walk.status}" if service.style == "json" else one.text, fields={
            "method": method, "path": about, "status": walk.status, "ms": round(walk.ms), "ip": ip,
            "bytes": int(800 * rng.lognormvariate(0, 1.2))})
    return one
