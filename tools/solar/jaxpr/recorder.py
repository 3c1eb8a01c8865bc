"""The graph under construction while a jaxpr is walked: tensors, views with true strides, operators, scalars.

A value of a jaxpr is a tensor's id, or a literal that stays a number (it moves no data). Scalars that follow from
literals are remembered as equations and evaluated only when a trip count or an index asks for them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import Any

from enlist.tools.solar.graph import ITEM_BITS, Attribute, Node, Role, Structure, Tensor

_EIGHT_BITS = "float8_e4m3fn"  # what stands for 8-bit floats that PyTorch has no name for


@dataclass(frozen=True)
class Number:
    """A literal of a jaxpr."""

    value: Any


Value = str | Number


@dataclass(frozen=True)
class Counter:
    """A scalar that is `first` in the first turn of the loop around it and grows by `step` in every turn."""

    first: int
    step: int


@dataclass(frozen=True)
class Scope:
    """Where in the nest of calls and loops the walk is: how often this part runs, the turns of the innermost loop,
    sizes of named mesh axes."""

    repeat: int = 1
    turns: int = 1
    axes: Mapping[str, int] = field(default_factory=dict)

    def inside(self, turns: int) -> "Scope":
        return replace(self, repeat=self.repeat * turns, turns=turns)


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a tensor that lies in one piece, in elements."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(1, size)
    return tuple(reversed(strides))


def dtype_of(aval: Any) -> str:
    """A dtype by the name that graphs have for it; keys of random numbers are the words that they are made of."""
    name = str(aval.dtype)
    if name in ITEM_BITS:
        return name
    if name.startswith("float8"):
        return _EIGHT_BITS
    return "bool" if name == "float0" else "uint32"


def shape_of(aval: Any) -> tuple[int, ...]:
    """Sizes, with the words of a random key as one more dimension."""
    shape = tuple(int(n) for n in getattr(aval, "shape", ()))
    return (*shape, 2) if str(getattr(aval, "dtype", "")).startswith("key<") else shape


class Recorder:
    """Collects tensors and nodes."""

    def __init__(self) -> None:
        self.tensors: dict[str, Tensor] = {}
        self.nodes: list[Node] = []
        self.choices: list[str] = []
        self.counters: dict[str, Counter] = {}
        self.padded: dict[str, list[list[int]]] = {}  # by result of a pad with zeros: (before, after, between)
        self.origin: dict[str, str] = {}  # the dtype that a tensor's values had before they were widened
        self._made = 0

    def snapshot(self) -> tuple[Any, ...]:
        return (dict(self.tensors), list(self.nodes), list(self.choices), dict(self.counters))

    def restore(self, state: tuple[Any, ...]) -> None:
        self.tensors, self.nodes, self.choices, self.counters = (type(part)(part) for part in state)

    def tensor(self, shape: Sequence[int], dtype: str, role: Role = "intermediate", name: str = "",
               strides: Sequence[int] | None = None, alias_of: str | None = None,
               structure: Structure = "dense") -> str:
        """A new tensor's id."""
        self._made += 1
        made = Tensor(id=f"t{self._made}", shape=tuple(shape), dtype=dtype, role=role, name=name, alias_of=alias_of,
                      strides=tuple(strides) if strides is not None else contiguous(shape), structure=structure)
        self.tensors[made.id] = made
        return made.id

    def node(self, op: str, inputs: Sequence[Value], outputs: Sequence[str], scope: Scope, where: str = "",
             **attributes: Attribute) -> None:
        """Add an operator; its slots are the positions of its arguments, numbers are attributes `literal<position>`."""
        held = [(i, v) for i, v in enumerate(inputs) if isinstance(v, str)]
        numbers = {f"literal{i}": scalar(v.value) for i, v in enumerate(inputs) if isinstance(v, Number)}
        self.nodes.append(Node(id=f"n{len(self.nodes)}", op=op, where=where, inputs=tuple(v for _, v in held),
                               slots=tuple(str(i) for i, _ in held), outputs=tuple(outputs),
                               attributes={k: v for k, v in (attributes | numbers).items() if v is not None},
                               repeat=scope.repeat))

    def view(self, op: str, source: str, shape: Sequence[int], strides: Sequence[int], scope: Scope, where: str = "",
             dtype: str | None = None, others: Sequence[str] = (), **attributes: Attribute) -> str:
        """A view of `source`, with the operator that makes it."""
        base = self.tensors[source]
        kept = base.structure if base.structure in ("zero", "constant") else "dense"
        made = self.tensor(shape, dtype or base.dtype, strides=strides, alias_of=source, structure=kept)
        self.node(op, (source, *others), (made,), scope, where, **attributes)
        return made

    def keep_origin(self, made: str, source: Value) -> None:
        """Remember that a tensor's values fit a narrower dtype, since they were widened from it."""
        if isinstance(source, str):
            before = self.origin.get(source, self.tensors[source].dtype)
            if ITEM_BITS[before] < ITEM_BITS[self.tensors[made].dtype] and before != "bool":
                self.origin[made] = before

    def root(self, tensor: str) -> Tensor:
        found = self.tensors[tensor]
        while found.alias_of is not None:
            found = self.tensors[found.alias_of]
        return found

    def constant(self, value: Any, shape: Sequence[int], dtype: str) -> str:
        """A tensor for a number: made on chip, so that reading it crosses nothing."""
        structure: Structure = "zero" if scalar(value) in (0, False) else "constant"
        return self.tensor(shape, dtype, strides=(0,) * len(shape), structure=structure)


def scalar(value: Any) -> bool | int | float | str | None:
    """A literal as what JSON can hold."""
    try:
        plain = value.item() if hasattr(value, "item") else value
    except (TypeError, ValueError):
        return str(value)[:40]
    if isinstance(plain, float) and (plain != plain or plain in (float("inf"), float("-inf"))):
        return str(plain)
    return plain if isinstance(plain, bool | int | float | str) else str(plain)[:40]


def reshaped(shape: Sequence[int], strides: Sequence[int], new: Sequence[int]) -> tuple[int, ...] | None:
    """Strides that give a strided tensor another shape without moving it, None where there are none."""
    if prod(shape) == 0:
        return contiguous(new)
    old = [(n, s) for n, s in zip(shape, strides, strict=True) if n != 1]
    made: list[int] = []
    left = list(new)
    for size, stride in _merged(old):
        taken: list[int] = []
        while left and (prod(taken) < size or left[0] == 1):
            taken.append(left.pop(0))
        if prod(taken) != size:
            return None
        made += [stride * prod(taken[i + 1:]) for i in range(len(taken))]
    return tuple(made + [1] * len(left)) if prod(left) == 1 else None


def _merged(dims: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Neighbouring dimensions that lie in one piece, as one."""
    out: list[tuple[int, int]] = []
    for size, stride in dims:
        if out and out[-1][1] == stride * size:
            out[-1] = out[-1][0] * size, stride
        else:
            out.append((size, stride))
    return out
