"""The leaderboard as data: `Content` is the same for the same settled samples; what was spent stands in `Spent`.

Every number is computed from the settled samples and from nothing else. Samples that were left out or given up are
listed and counted nowhere. Comparisons are paired: only tasks that both solvers have settled.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from enlist.environments.contract import Reference
from enlist.evals.campaign import statistics
from enlist.evals.campaign.journal import State
from enlist.evals.campaign.plan import Plan
from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.ids import content_hash

Cluster = tuple[str, str]
"""Environment and group of tasks, as the environment groups them."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Settled(_Strict):
    """One settled sample; `answer` is what the solver answered, JSON, where it answered."""

    environment: str
    seed: int
    task: str
    group: str
    solver: str
    verdict: str
    value: float
    parts: dict[str, float] = {}
    reason: str = ""
    counted: bool = True
    answer: ArtifactRef | None = None


class Estimate(_Strict):
    """A mean with its 95 % interval over so many tasks (clusters)."""

    mean: float
    low: float
    high: float
    tasks: int


class Difference(_Strict):
    """The mean paired difference to another row, its interval, its p-value alone and adjusted by Holm's method over all
    comparisons of the leaderboard."""

    against: str
    estimate: Estimate
    p: float
    adjusted_p: float


class Row(_Strict):
    """One solver in one environment: `kinds` are the reference rows that it is; `score` None where nothing counted."""

    solver: str
    kinds: tuple[Reference, ...]
    samples: int
    score: Estimate | None
    verdicts: dict[str, int]
    skipped: int
    missing: int
    difference: Difference | None


class Frame(_Strict):
    """What is measured in one environment: `solvers` with the kinds of reference row that each is. `absent`: kinds of
    reference row that are not there, and why; `not_run`: solvers of the file that cannot run here, and why."""

    environment: str
    name: str
    split: str
    seeds: tuple[int, ...]
    options: dict[str, Any]
    tasks: int
    solvers: dict[str, tuple[Reference, ...]]
    absent: dict[str, str]
    not_run: dict[str, str]


class Table(_Strict):
    """All that a leaderboard is computed from."""

    campaign: str
    name: str
    versions: dict[str, str]
    drawn: dict[str, int | None]
    against: str
    frames: tuple[Frame, ...]
    samples: tuple[Settled, ...]
    missing: tuple[str, ...]


class Board(_Strict):
    """The leaderboard of one environment, best first; for the rest see `Frame`."""

    environment: str
    name: str
    split: str
    seeds: tuple[int, ...]
    options: dict[str, Any]
    tasks: int
    rows: tuple[Row, ...]
    absent: dict[str, str]
    not_run: dict[str, str]


class Content(_Strict):
    """What a campaign found."""

    campaign: str
    name: str
    versions: dict[str, str]
    drawn: dict[str, int | None]
    against: str
    boards: tuple[Board, ...]
    samples: tuple[Settled, ...]
    missing: tuple[str, ...]


class PerSuccess(_Strict):
    """Cost per success (verdict `ok`) with its 95 % interval; None is infinite: there was no success."""

    value: float | None
    low: float | None
    high: float | None


class Spent(_Strict):
    """What one solver spent in one environment over all tries, and per success; `usd_per_success` None where no dollars
    were reported."""

    environment: str
    solver: str
    tries: int
    seconds: float
    tokens: float
    usd: float
    seconds_per_success: PerSuccess
    usd_per_success: PerSuccess | None


def settled_samples(plan: Plan, state: State) -> tuple[Settled, ...]:
    """The settled samples of a plan, in its order."""
    found = []
    for s in plan.samples:
        if (o := state.outcomes.get(s.key)) is not None:
            found.append(Settled(environment=s.environment, seed=s.task.seed, task=s.task.id, group=s.group,
                                 solver=s.solver, verdict=o.verdict, value=o.value, parts=o.parts, reason=o.reason,
                                 counted=o.counted, answer=state.answers.get(s.key)))
    return tuple(found)


def table_of(plan: Plan, state: State) -> Table:
    """A campaign as far as it is settled."""
    frames = tuple(Frame(
        environment=rows.entry.shown, name=rows.entry.name, split=rows.entry.split, seeds=rows.entry.seeds,
        options=rows.entry.options, solvers={name: rows.kinds.get(name, ()) for name in rows.solvers},
        tasks=len({(s.task.seed, s.task.id) for s in plan.samples if s.environment == rows.entry.shown}),
        absent=dict(rows.absent), not_run=dict(rows.not_run)) for rows in plan.rows)
    missing = tuple(s.shown for s in plan.samples if s.key not in state.outcomes)
    return Table(campaign=plan.id, name=plan.file.name, versions=dict(plan.versions), drawn=dict(plan.drawn),
                 against=plan.against, frames=frames, samples=settled_samples(plan, state), missing=missing)


def make_content(plan: Plan, state: State) -> Content:
    """The leaderboard of a campaign as far as it is settled."""
    return tabulate(table_of(plan, state))


def tabulate(table: Table) -> Content:
    """The leaderboard of these samples."""
    boards = []
    for frame in table.frames:
        mine = [s for s in table.samples if s.environment == frame.environment]
        rows = [_row(frame, solver, mine, table.against) for solver in frame.solvers]
        rows.sort(key=lambda r: (-(r.score.mean if r.score else -1.0), r.solver))
        boards.append(Board(rows=tuple(rows), **frame.model_dump(exclude={"solvers"})))
    return Content(boards=_adjusted(boards), **table.model_dump(exclude={"frames"}))


def estimate(values: Sequence[float], clusters: Sequence[Cluster], *seed: str) -> Estimate:
    """A mean with its interval; the bootstrap's seed is a hash of `seed`, so that a row alone decides its interval."""
    found = statistics.mean(values, clusters, _seed(*seed))
    return Estimate(mean=found.value, low=found.low, high=found.high, tasks=found.clusters)


def paired(samples: Sequence[Settled], solver: str, against: str) -> tuple[list[float], list[Cluster]]:
    """Differences of value (`solver` - `against`) on the tasks that both have counted, and their clusters."""
    other = {(s.environment, s.seed, s.task): s.value for s in samples if s.solver == against and s.counted}
    pairs = [(s.value - other[s.environment, s.seed, s.task], (s.environment, s.group)) for s in samples
             if s.solver == solver and s.counted and (s.environment, s.seed, s.task) in other]
    return [d for d, _ in pairs], [c for _, c in pairs]


def spent(plan: Plan, state: State) -> tuple[Spent, ...]:
    """What each row spent."""
    found = []
    for rows in plan.rows:
        for solver in rows.solvers:
            mine = [s for s in plan.samples if (s.environment, s.solver) == (rows.entry.shown, solver)]
            costs = [state.costs.get(s.key, Counter()) for s in mine]
            wins = [float((o := state.outcomes.get(s.key)) is not None and o.counted and o.verdict == "ok")
                    for s in mine]
            clusters = [s.group for s in mine]
            sums: Mapping[str, float] = sum(costs, Counter())
            found.append(Spent(
                environment=rows.entry.shown, solver=solver, tries=sum(state.starts[s.key] for s in mine),
                seconds=sums.get("seconds", 0.0), tokens=sums.get("tokens", 0.0), usd=sums.get("usd", 0.0),
                seconds_per_success=_per_success([c["seconds"] for c in costs], wins, clusters),
                usd_per_success=_per_success([c["usd"] for c in costs], wins, clusters) if sums.get("usd") else None))
    return tuple(found)


def _per_success(costs: Sequence[float], wins: Sequence[float], clusters: Sequence[str]) -> PerSuccess:
    if not wins:
        return PerSuccess(value=None, low=None, high=None)
    found = statistics.ratio(costs, wins, clusters, 0)
    return PerSuccess(value=found.value, low=found.low, high=found.high)


def _row(frame: Frame, solver: str, samples: Sequence[Settled], against: str) -> Row:
    label = frame.environment
    mine = [s for s in samples if s.solver == solver]
    counted = [s for s in mine if s.counted]
    clusters = [(s.environment, s.group) for s in counted]
    difference = None
    if solver != against:
        values, tasks = paired(samples, solver, against)
        if values:
            p = statistics.sign_flip(values, tasks, _seed(label, solver, against))
            difference = Difference(against=against, p=p, adjusted_p=p,
                                    estimate=estimate(values, tasks, label, solver, against))
    return Row(solver=solver, kinds=frame.solvers[solver], samples=len(counted),
               score=estimate([s.value for s in counted], clusters, label, solver) if counted else None,
               verdicts=dict(sorted(Counter(s.verdict for s in counted).items())), skipped=len(mine) - len(counted),
               missing=frame.tasks - len(mine), difference=difference)


def _adjusted(boards: Sequence[Board]) -> tuple[Board, ...]:
    """The boards with Holm's adjustment over all their comparisons."""
    family = [row.difference.p for board in boards for row in board.rows if row.difference]
    adjusted = iter(statistics.holm(family))
    found = []
    for board in boards:
        rows = tuple(row.model_copy(update={"difference": row.difference.model_copy(
            update={"adjusted_p": next(adjusted)})}) if row.difference else row for row in board.rows)
        found.append(board.model_copy(update={"rows": rows}))
    return tuple(found)


def _seed(*words: str) -> int:
    return int(content_hash(list(words))[:12], 16)
