"""A campaign made of invented samples, the environment of the sample plug-in in this process, and the whole program."""

import json
import subprocess
from collections.abc import Callable, Sequence
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from enlist.evals.campaign.content import Frame, Settled, Table
from enlist.tools.runtime import registry

PLUGIN = Path(__file__).parents[2] / "plugin"


def made_table(scores: dict[str, Sequence[float]], *, repeats: int = 1, **changes: Any) -> Table:
    """A campaign with one environment: by solver the scores of tasks 0, 1, ...; each task stands `repeats` times."""
    samples = [Settled(environment="made", seed=seed, task=f"t{n}", group=f"g{n}", solver=solver, value=value,
                       verdict="ok" if value > 0 else "wrong")
               for solver, values in scores.items() for seed in range(repeats) for n, value in enumerate(values)]
    frame = Frame(environment="made", name="made", split="validation", seeds=tuple(range(repeats)), options={},
                  tasks=repeats * max(map(len, scores.values())), solvers={solver: () for solver in scores}, absent={},
                  not_run={})
    fields: dict[str, Any] = {"campaign": "c1", "name": "invented", "versions": {"enlist": "1"}, "drawn": {},
                              "against": next(iter(scores)), "frames": (frame,), "samples": tuple(samples),
                              "missing": ()}
    return Table(**{**fields, **changes})


@pytest.fixture
def made() -> Callable[..., Table]:
    """`made({solver: scores}, repeats=1)` is the table of an invented campaign."""
    return made_table


@pytest.fixture
def words(monkeypatch: pytest.MonkeyPatch) -> None:
    """`sample-words` of the plug-in as the only installed environment of this process."""
    monkeypatch.syspath_prepend(str(PLUGIN))
    point = EntryPoint("sample-words", "enlist_sample.environment:SAMPLE_WORDS", "enlist.environments")
    monkeypatch.setattr(registry, "entries", lambda group: {"sample-words": point})
    monkeypatch.setattr(registry, "faults", lambda group: {})


@pytest.fixture
def program(sample_plugin: dict[str, str], tmp_path: Path) -> Callable[..., Any]:
    """`program("run", "file.yaml")` is `enlist campaign run file.yaml --json` with the plug-in installed: its exit
    status and its document."""

    def call(*arguments: str, **variables: str) -> tuple[int, Any]:
        done = subprocess.run(["enlist", "campaign", *arguments, "--json"], capture_output=True, text=True,
                              cwd=tmp_path, timeout=300, env=variables_of(sample_plugin, tmp_path) | variables)
        assert done.stdout, done.stderr
        return done.returncode, json.loads(done.stdout)

    return call


def variables_of(plugin: dict[str, str], folder: Path) -> dict[str, str]:
    """The environment variables of a program that keeps everything in `folder`."""
    return {**plugin, "ENLIST_HOME": str(folder / "home"), "ENLIST_OUT": str(folder / "out"), "COLUMNS": "80"}
