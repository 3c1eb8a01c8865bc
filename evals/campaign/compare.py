"""Two campaigns held against each other: per solver on the tasks that both counted, and what changed between them."""

from pydantic import BaseModel, ConfigDict

from enlist.evals.campaign import statistics
from enlist.evals.campaign.content import Content, Difference, Settled, estimate
from enlist.tools.runtime.ids import content_hash

ALPHA = 0.05
Key = tuple[str, int, str]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TaskChange(_Strict):
    """A task whose score or verdict changed."""

    seed: int
    task: str
    before: float
    after: float
    verdict_before: str
    verdict_after: str


class SolverChange(_Strict):
    """One solver in one environment, after minus before; a regression is a loss whose adjusted p is below `ALPHA`."""

    environment: str
    solver: str
    pairs: int
    difference: Difference
    better: int
    worse: int
    regression: bool
    tasks: tuple[TaskChange, ...]


class Comparison(_Strict):
    """`changed`: what differs in versions; `only`: what just one of the two has."""

    before: str
    after: str
    changed: tuple[str, ...]
    solvers: tuple[SolverChange, ...]
    only: tuple[str, ...]
    regressions: tuple[str, ...]


def compare(before: Content, after: Content) -> Comparison:
    """What changed from one campaign to the other."""
    old, new = _by_solver(before), _by_solver(after)
    shared = [pair for pair in new if pair in old and old[pair].keys() & new[pair].keys()]
    p_values, made = [], []
    for environment, solver in shared:
        keys = [k for k in new[environment, solver] if k in old[environment, solver]]
        a, b = old[environment, solver], new[environment, solver]
        values, clusters = [b[k].value - a[k].value for k in keys], [(k[0], b[k].group) for k in keys]
        p_values.append(statistics.sign_flip(values, clusters, int(content_hash([environment, solver])[:12], 16)))
        made.append((environment, solver, keys, estimate(values, clusters, environment, solver)))
    changes = []
    for (environment, solver, keys, found), p, adjusted in zip(made, p_values, statistics.holm(p_values), strict=True):
        a, b = old[environment, solver], new[environment, solver]
        changes.append(SolverChange(
            environment=environment, solver=solver, pairs=len(keys), regression=found.mean < 0 and adjusted < ALPHA,
            difference=Difference(against=before.campaign, estimate=found, p=p, adjusted_p=adjusted),
            better=sum(b[k].value > a[k].value for k in keys), worse=sum(b[k].value < a[k].value for k in keys),
            tasks=tuple(TaskChange(seed=k[1], task=k[2], before=a[k].value, after=b[k].value,
                                   verdict_before=a[k].verdict, verdict_after=b[k].verdict)
                        for k in keys if (a[k].value, a[k].verdict) != (b[k].value, b[k].verdict))))
    only = [f"{name} has no settled tasks in common: {e} {s}" if (e, s) in other else f"only {name} has {e} {s}"
            for name, mine, other in ((before.campaign, old, new), (after.campaign, new, old))
            for e, s in mine if (e, s) not in shared]
    return Comparison(before=before.campaign, after=after.campaign, changed=_changed(before.versions, after.versions),
                      solvers=tuple(changes), only=tuple(only),
                      regressions=tuple(f"{c.environment} {c.solver}" for c in changes if c.regression))


def _by_solver(content: Content) -> dict[tuple[str, str], dict[Key, Settled]]:
    found: dict[tuple[str, str], dict[Key, Settled]] = {}
    for s in content.samples:
        if s.counted:
            found.setdefault((s.environment, s.solver), {})[s.environment, s.seed, s.task] = s
    return found


def _changed(before: dict[str, str], after: dict[str, str]) -> tuple[str, ...]:
    return tuple(f"{name}: {before.get(name, 'absent')} -> {after.get(name, 'absent')}"
                 for name in sorted({*before, *after}) if before.get(name) != after.get(name))
