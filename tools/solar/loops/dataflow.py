"""Statements by the operators that they make: which belong together, and which version of a tensor each one reads.

A statement that first sets a tensor and those that then reduce into it are one operator. An assignment to a tensor that
was read before makes a new version of it. Statements that no output depends on are left out.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from enlist.tools.solar.loops.affine import Form, Space
from enlist.tools.solar.loops.carry import carried
from enlist.tools.solar.loops.placed import Placed, entered
from enlist.tools.solar.loops.program import Assign, For, Program, Statement, read_by


@dataclass(frozen=True)
class Step:
    """A placed statement and the tensors that each loop around it carries."""

    placed: Placed
    ties: dict[str, set[str]]


@dataclass
class Group:
    """One operator: the statements that make one version of a tensor."""

    tensor: str
    version: int
    steps: list[Step] = field(default_factory=list)
    reads: dict[str, int] = field(default_factory=dict)
    """Versions of the tensors that it reads; version 0 is an input."""
    before: int | None = None
    """The version of the same tensor that it changes or adds to, where there is one."""

    @property
    def name(self) -> str:
        return self.tensor if self.version <= 1 else f"{self.tensor}.{self.version}"


def steps(program: Program, values: dict[str, int]) -> list[Step]:
    """The statements with what ties them."""
    return list(_steps(program.body, Space({n: Form(const=v) for n, v in values.items()}), (), {}))


def _steps(body: Iterable[Statement], space: Space, loops: tuple[For, ...],
           ties: dict[str, set[str]]) -> Iterable[Step]:
    for one in body:
        if isinstance(one, Assign):
            yield Step(Placed(one, loops, space), ties)
        elif isinstance(one, For):
            yield from _steps(one.body, entered(space, one), (*loops, one), ties | {one.var: carried(one, space)})
        else:
            inside = space.copy()
            inside.held += inside.conditions(one.test)
            yield from _steps(one.body, inside, loops, ties)


def groups(program: Program, values: dict[str, int]) -> list[Group]:
    """The operators in order, without those that no output needs."""
    made: list[Group] = []
    latest: dict[str, Group] = {}
    used: set[str] = set()  # tensors read since their latest version began
    last: dict[tuple[str, int], int] = {}
    for place, step in enumerate(steps(program, values)):
        statement = step.placed.statement
        target = statement.target.tensor
        own = {a.tensor for a in read_by(statement)}
        group = latest.get(target)
        if group is None or target in used or target in own:
            group = Group(target, (group.version if group else 0) + 1, before=group.version if group else None)
            made.append(group)
            latest[target] = group
            used.discard(target)
        group.steps.append(step)
        last[target, group.version] = place
        for tensor in own - {target}:
            group.reads[tensor] = latest[tensor].version if tensor in latest else 0
            used.add(tensor)
    made.sort(key=lambda g: last[g.tensor, g.version])  # a reader of a version comes after all that make it
    return _needed(program, made, latest)


def _needed(program: Program, made: list[Group], latest: dict[str, Group]) -> list[Group]:
    by_version = {(g.tensor, g.version): g for g in made}
    waiting = [latest[t.name] for t in program.with_role("output") if t.name in latest]
    kept: set[tuple[str, int]] = set()
    while waiting:
        group = waiting.pop()
        if (group.tensor, group.version) in kept:
            continue
        kept.add((group.tensor, group.version))
        wanted = [*group.reads.items(), *([(group.tensor, group.before)] if group.before else [])]
        if any(step.ties[v] for step in group.steps for v in step.ties):  # what a later statement hands back
            tied = set().union(*(names for step in group.steps for names in step.ties.values()))
            wanted += [(g.tensor, g.version) for g in made if g.tensor in tied]
        waiting += [by_version[w] for w in wanted if w in by_version]
    return [g for g in made if (g.tensor, g.version) in kept]
