"""From a program to the einsum graph: one node for each operator, with exact counts in its attributes.

Counting is by sets of points, never by running: a nest of 10^5 turns each way takes as long as one of ten. What is
counted is what any implementation of the same arithmetic needs (`tally`), beside it what the text does as written.
"""

from collections.abc import Mapping
from math import prod

from enlist.tools.solar.graph import Attribute, Graph, Node, Tensor
from enlist.tools.solar.loops.affine import shapes, size_values
from enlist.tools.solar.loops.carry import privatised
from enlist.tools.solar.loops.counting import count
from enlist.tools.solar.loops.dataflow import Group, groups
from enlist.tools.solar.loops.distinct import Shared
from enlist.tools.solar.loops.placed import any_access, domain
from enlist.tools.solar.loops.polyhedra import projected
from enlist.tools.solar.loops.printer import show_assign
from enlist.tools.solar.loops.program import Declared, Program, Role, read_by
from enlist.tools.solar.loops.reading import own, reads, writes
from enlist.tools.solar.loops.tally import Tally, tally
from enlist.tools.solar.loops.validate import validate

_ROLES: Mapping[Role, str] = {"input": "input", "temp": "intermediate", "output": "output"}


def lift(program: Program, target: str | None = None) -> Graph:
    """The graph of a program.

    Raises `bad_input` as `validate` does, `unsupported` where the points of a nest cannot be counted.
    """
    validate(program)
    program = privatised(program)
    values = size_values(program)
    return _Lift(program, shapes(program, values), groups(program, values)).graph(target or program.name)


class _Lift:
    def __init__(self, program: Program, sizes: dict[str, tuple[int, ...]], made: list[Group]) -> None:
        self.program, self.shapes, self.made = program, sizes, made
        self.dtypes = {t.name: t.dtype for t in program.tensors}
        self.last = {g.tensor: g.version for g in made}
        self.by_version = {(g.tensor, g.version): g for g in made}
        self.assumed: list[str] = []
        self.shared = Shared()

    def graph(self, target: str) -> Graph:
        tensors = [_tensor(t.name, t.name, t, self.shapes[t.name], "input") for t in self.program.with_role("input")
                   if any(t.name in g.reads for g in self.made)]
        nodes = []
        for place, group in enumerate(self.made):
            node, tensor = self._node(place, group)
            nodes.append(node)
            tensors.append(tensor)
        values = ", ".join(f"{n}={v}" for n, v in size_values(self.program).items())
        assumed = (f"sizes: {values or 'none'}", *dict.fromkeys(self.assumed))
        return Graph(target=target, tensors=tuple(tensors), nodes=tuple(nodes), assumed=assumed)

    def _id(self, tensor: str, version: int) -> str:
        group = self.by_version.get((tensor, version))
        return group.name if group else tensor

    def _node(self, place: int, group: Group) -> tuple[Node, Tensor]:
        declared = self.program.tensor(group.tensor)
        tallies = [tally(s.placed, self.dtypes, s.ties, self.shared, lambda name: self._label(name, group))
                   for s in group.steps]
        read, wrote = reads(group, self.shapes), writes(group)
        inputs = [(self._id(t, group.reads.get(t, 0)), *read[t]) for t in read if t in group.reads]
        if group.before is not None and (group.tensor, group.before) in self.by_version:
            going_on = own(group)
            inputs.append((self._id(group.tensor, group.before), going_on, going_on, True))
        if not all(exact for *_, exact in inputs):
            self.assumed.append("indices from data: different ones are likely, one is sure")
        final = declared.role == "output" and self.last[group.tensor] == group.version
        shape = self.shapes[group.tensor]
        everything = self._written_in_all(group)
        part = final and wrote.exact and everything < prod(shape)
        main = max(tallies, key=lambda t: (t.matrix, t.written_flop + t.written_special, t.points))
        less = list(dict.fromkeys(x for t in tallies for x in t.less))
        cut = _cut(group)
        less = [f"guards and moving bounds leave {cut}", *less] if cut else less
        attributes: dict[str, Attribute] = {
            "matrix_flop": sum(t.matrix for t in tallies), "vector_flop": sum(t.vector for t in tallies),
            "special": sum(t.special for t in tallies), "as_written_flop": sum(t.written_flop for t in tallies),
            "as_written_special": sum(t.written_special for t in tallies), "points": sum(t.points for t in tallies),
            "reads": [i[1] for i in inputs], "surely": [i[2] for i in inputs], "writes": wrote.elements,  # type: ignore
            "equation": main.equation, "less": ", ".join(less), "window": main.window,
            "nests": [[n.batch, n.m, n.n, n.k] for t in tallies if (n := t.nest)],  # type: ignore
            "launches": self._turns(group)}
        lines = f"line {group.steps[0].placed.statement.line}" if group.steps[0].placed.statement.line else ""
        node = Node(id=f"n{place}", op=f"loop.{_kind(group, main)}", inputs=tuple(i[0] for i in inputs),
                    where=f"{lines}: {show_assign(group.steps[-1].placed.statement)}".lstrip(": ")[:160],
                    slots=tuple("operand" for _ in inputs), outputs=(group.name,), attributes=attributes)
        role = _ROLES[declared.role] if final else "intermediate"
        made = _tensor(group.name, group.tensor, declared, (everything,) if part else shape, role)
        return node, made.model_copy(update={"is_output": final})

    def _written_in_all(self, group: Group) -> int:
        """Elements that all versions of a tensor have written in the end."""
        every = Group(group.tensor, 0, [s for g in self.made if g.tensor == group.tensor for s in g.steps])
        found = writes(every)
        return found.elements if found.exact else prod(self.shapes[group.tensor])

    def _label(self, tensor: str, reader: Group) -> str:
        """What tells the values of a tensor from others: its name and the last version that wrote all of it anew."""
        version = (reader.version - 1) if tensor == reader.tensor else reader.reads.get(tensor, 0)
        while version > 0 and (made := self.by_version.get((tensor, version))) is not None:
            wrote = writes(made)
            if wrote.exact and wrote.elements == prod(self.shapes[tensor]):
                break
            version -= 1
        return f"{tensor}@{version}"

    def _turns(self, group: Group) -> int:
        """How often a loop that carries something runs the operator, one after the other."""
        if all(not names - {group.tensor} for s in group.steps for names in s.ties.values()) and any(
                a.tensor == group.tensor for s in group.steps for a in read_by(s.placed.statement)):
            return 1  # a recurrence of one statement: a scan
        most = 1
        for step in group.steps:
            tied = [v for v, names in step.ties.items() if names]
            shadow, exact = projected(domain(step.placed), tied)
            if tied and shadow is not None and exact:
                most = max(most, count(shadow))
        return most


def _tensor(name: str, shown: str, declared: Declared, shape: tuple[int, ...], role: str) -> Tensor:
    strides = tuple(prod(shape[n + 1:]) for n in range(len(shape)))
    return Tensor(id=name, shape=shape, strides=strides, dtype=declared.dtype, name=shown,
                  role=role)  # type: ignore[arg-type]


def _kind(group: Group, main: Tally) -> str:
    statements = [s.placed.statement for s in group.steps]
    if any(any(any_access(i) for i in s.target.indices) for s in statements):
        return "scatter"
    if main.matrix:
        return "convolve" if main.window else "contract"
    if any(group.tensor in names for s in group.steps for names in s.ties.values()):
        return "scan"
    if any(s.update != "=" for s in statements):
        return "reduce"
    return "map" if main.written_flop or main.written_special else "copy"


def _cut(group: Group) -> str:
    """What guards and moving bounds leave of the box around the largest statement's points; "" for all of it."""
    most, cut = 1, 0
    for step in group.steps:
        where = domain(step.placed)
        if where is None:
            continue
        box = 1
        for v in step.placed.vars:
            alone, _ = projected(where, [v])
            box *= count(alone) if alone else 1
        if box > most:
            most, cut = box, count(where)
    return f"{cut} of {most} points" if cut < most and most > 1 else ""
