"""The plan of a campaign: its samples, its id, and which rows its leaderboard will have.

A sample is one solver on one task. The id is the hash of the canonical file, of `limit` and `sample`, and of all
versions that scores depend on, so the same file with the same installation is the same campaign and goes on where it
stopped; anything else is another one.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import islice
from random import Random
from typing import Any

from enlist.environments.contract import (
    Absent,
    Answerable,
    Environment,
    Reference,
    Task,
    configured,
    group_of,
    references,
)
from enlist.evals.campaign.file import CampaignFile, EnvironmentEntry, SolverEntry
from enlist.tools.runtime import registry
from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.ids import content_hash
from enlist.tools.runtime.naming import nearest

GROUP = "enlist.environments"
MOST_TASKS = 100_000  # of one environment and seed
SAMPLING_SEED = 0


@dataclass(frozen=True)
class Sample:
    """One solver on one task. `key` names it within its campaign; `environment` is the label of the entry; samples of
    one `group` are resampled together."""

    key: str
    environment: str
    solver: str
    task: Task
    group: str

    @property
    def shown(self) -> str:
        """For people."""
        return f"{self.environment} seed {self.task.seed} {self.task.id} {self.solver}"


@dataclass(frozen=True)
class Rows:
    """The rows of one environment's leaderboard.

    Attributes:
        solvers: what runs, by the name that the leaderboard shows.
        kinds: the kinds of reference row that a solver is.
        absent: kinds of which there is no row, and why. not_run: solvers of the file that cannot run here, and why.
    """

    entry: EnvironmentEntry
    solvers: Mapping[str, SolverEntry]
    kinds: Mapping[str, tuple[Reference, ...]]
    absent: Mapping[Reference, str]
    not_run: Mapping[str, str]


@dataclass(frozen=True)
class Plan:
    """All that a campaign will do."""

    id: str
    file: CampaignFile
    files: Mapping[str, ArtifactRef]
    versions: Mapping[str, str]
    rows: tuple[Rows, ...]
    samples: tuple[Sample, ...]
    drawn: Mapping[str, int | None]

    @property
    def against(self) -> str:
        """The solver that the others are compared to."""
        return self.file.against or self.file.solvers[0].shown


def make_plan(file: CampaignFile, files: Mapping[str, ArtifactRef] | None = None, *, limit: int | None = None,
              sample: int | None = None) -> Plan:
    """The plan of a campaign.

    Args:
        files: artifacts of the commands' files, by name.
        limit: only the first so many tasks of each environment and seed.
        sample: only so many tasks in all, drawn with a fixed seed, the same share of each environment.

    Raises:
        EnlistError: `not_found` for an environment or solver that is not there, `bad_input` for options it lacks.
    """
    files = files or {}
    loaded = {e.shown: load_environment(e) for e in file.environments}
    rows = tuple(_rows(e, loaded[e.shown], file.solvers) for e in file.environments)
    _check_solvers(file.solvers, rows, loaded.values())
    versions = _versions(file, loaded.values(), files)
    tasks = {e.shown: _tasks(e, loaded[e.shown], limit) for e in file.environments}
    kept = tasks if sample is None else _stratified(tasks, sample)
    samples = tuple(Sample(content_hash([r.entry.shown, task.split, task.seed, task.id, solver])[:24],
                           r.entry.shown, solver, task, group)
                    for r in rows for task in kept[r.entry.shown]
                    for group in [group_of(loaded[r.entry.shown], task)] for solver in r.solvers)
    salted = any(e.split == "test" for e in file.environments)
    salt = content_hash(os.environ.get("ENLIST_EVAL_SALT", "")) if salted else ""
    id = "c" + content_hash([file.canonical(), limit, sample, dict(versions), salt])[:16]
    return Plan(id, file, files, versions, rows, samples, {"limit": limit, "sample": sample})


def load_environment(entry: EnvironmentEntry) -> Environment:
    """The environment of an entry with its options."""
    found: Environment = registry.load_entry(GROUP, entry.name)
    return configured(found, entry.options)


def _rows(entry: EnvironmentEntry, environment: Environment, named: Sequence[SolverEntry]) -> Rows:
    """The solvers named in the file that can run here, then the reference rows that are not among them."""
    baselines = environment.baselines()
    solvers: dict[str, SolverEntry] = {}
    not_run: dict[str, str] = {}
    for solver in named:
        if solver.baseline is not None and solver.baseline not in baselines:
            not_run[solver.shown] = f"{environment.name} has no solver of this name"
        elif (solver.agent or solver.team) and not isinstance(environment, Answerable):
            not_run[solver.shown] = f"{environment.name} does not say how agents answer its tasks"
        else:
            solvers[solver.shown] = solver
    kinds: dict[str, tuple[Reference, ...]] = {}
    absent: dict[Reference, str] = {}
    for kind, row in references(environment).items():
        if isinstance(row, Absent):
            absent[kind] = row.reason
        else:
            shown = next((name for name, s in solvers.items() if s.baseline == row), row)
            solvers.setdefault(shown, SolverEntry(baseline=row))
            kinds[shown] = (*kinds.get(shown, ()), kind)
    return Rows(entry, solvers, kinds, absent, not_run)


def _check_solvers(named: Sequence[SolverEntry], rows: Sequence[Rows], loaded: Any) -> None:
    for solver in named:
        if all(solver.shown in r.not_run for r in rows):
            known = sorted({name for environment in loaded for name in environment.baselines()})
            hints = nearest(solver.baseline or "", known) or known
            raise EnlistError("not_found", f"no environment of the file can run the solver {solver.shown!r}",
                              given="; ".join(f"{r.entry.shown}: {r.not_run[solver.shown]}" for r in rows),
                              allowed="for example " + ", ".join(hints), fix="see `enlist envs show NAME`")


def _tasks(entry: EnvironmentEntry, environment: Environment, limit: int | None) -> list[Task]:
    most = MOST_TASKS if limit is None else limit
    return [task for seed in entry.seeds for task in islice(environment.tasks(entry.split, seed), most)]


def _stratified(tasks: Mapping[str, Sequence[Task]], count: int) -> dict[str, list[Task]]:
    """`count` tasks in all, or all where there are fewer: shares by largest remainder, at least one for each
    environment while that fits, drawn without replacement and kept in their order."""
    total = sum(map(len, tasks.values()))
    exact = {name: min(1.0, count / total) * len(of) for name, of in tasks.items()}
    shares = {name: min(len(tasks[name]), int(share)) for name, share in exact.items()}
    if count >= len(tasks):
        shares = {name: max(1, share) if tasks[name] else 0 for name, share in shares.items()}
    left = min(count, total) - sum(shares.values())
    by_remainder = sorted(tasks, key=lambda name: (int(exact[name]) - exact[name], name))
    while left > 0:
        for name in by_remainder:
            if left > 0 and shares[name] < len(tasks[name]):
                shares[name] += 1
                left -= 1
    while left < 0:  # every environment got one, so the largest give back
        name = max(shares, key=lambda n: (shares[n], n))
        shares[name] -= 1
        left += 1
    kept = {}
    for name, of in tasks.items():
        chosen = Random(f"{SAMPLING_SEED}:{name}").sample(range(len(of)), shares[name])
        kept[name] = [of[place] for place in sorted(chosen)]
    return kept


def _versions(file: CampaignFile, loaded: Any, files: Mapping[str, ArtifactRef]) -> dict[str, str]:
    found = {"enlist": version("enlist")}
    for environment in loaded:
        point = registry.entries(GROUP)[environment.name]
        package = f" ({point.dist.name} {point.dist.version})" if point.dist is not None else ""
        found[f"environment {environment.name}"] = environment.version + package
    found |= {f"file {name}": ref.sha256 for name, ref in files.items()}
    if any(s.agent or s.team for s in file.solvers):
        from enlist.agents.pool import shipped

        pool = shipped()
        for solver in file.solvers:
            if solver.agent is not None:
                card = pool.card(pool.find(solver.agent))
                tools = {name: registry.load_entry("enlist.tools", name).version for name in card.tools}
                found[f"agent {solver.agent}"] = f"{card.version}, tools {tools}"
            elif solver.team is not None:
                found["pool"] = pool.fingerprint()
    return dict(sorted(found.items()))
