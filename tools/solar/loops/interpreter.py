"""Running a program with NumPy: each statement in the dtype of its operands, and what it did, counted one by one.

A loop that carries nothing runs all its turns at once, statement by statement; one that does runs turn by turn. Both
orders give what the text says. Reading what nobody wrote, or outside of a tensor, raises. The counts are brute force
and share nothing with `counting`: they are what `lift` is held against.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.loops.affine import Form, Space, shapes, size_values
from enlist.tools.solar.loops.carry import carried
from enlist.tools.solar.loops.evaluate import Evaluation, narrowed, whole_numbers
from enlist.tools.solar.loops.placed import entered
from enlist.tools.solar.loops.printer import show_assign
from enlist.tools.solar.loops.program import Assign, Declared, For, Program, Statement
from enlist.tools.solar.loops.types import NARROW, dtype_of, promoted

MOST_POINTS = 20_000_000
_UFUNC: Mapping[str, Any] = {"+=": np.add, "*=": np.multiply, "max=": np.maximum, "min=": np.minimum}
Points = dict[str, np.ndarray]


@dataclass
class Counts:
    """What a run did: FLOP and special evaluations as executed, and by tensor how many
    different elements were read and written; `by_statement`: how often each ran."""

    flop: int = 0
    special: int = 0
    points: int = 0
    read: dict[str, int] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=dict)
    by_statement: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True)
class Outcome:
    """The outputs, for each which elements were written, and the counts."""

    outputs: dict[str, np.ndarray]
    written: dict[str, np.ndarray]
    counts: Counts


def stored_dtype(dtype: str) -> np.dtype[Any]:
    """The NumPy dtype that holds a dtype of the IR."""
    return np.dtype("float32" if dtype in NARROW else dtype)


def run(program: Program, inputs: Mapping[str, np.ndarray]) -> Outcome:
    """Run a program.

    Args:
        inputs: an array for every input, of its shape; converted to its dtype.

    Raises `bad_input` for a missing input or a wrong shape, an index out of bounds or an element that nobody wrote,
    and `resource_limit` for a loop of over 20 million turns.
    """
    return _Run(program, inputs).outcome()


class _Run:
    def __init__(self, program: Program, inputs: Mapping[str, np.ndarray]) -> None:
        self.program, self.values = program, size_values(program)
        self.dtypes = {t.name: t.dtype for t in program.tensors}
        self.arrays: dict[str, np.ndarray] = {}
        self.known: dict[str, np.ndarray] = {}
        self.read: dict[str, np.ndarray] = {}
        self.wrote: dict[str, np.ndarray] = {}
        self.counts = Counts()
        sizes = shapes(program, self.values)
        if sum(int(np.prod(s, dtype=object)) for s in sizes.values()) > 4 * MOST_POINTS:
            raise _too_large("the tensors of a program")
        for tensor in program.tensors:
            self._place(tensor, sizes[tensor.name], inputs)

    def _place(self, tensor: Declared, shape: tuple[int, ...], inputs: Mapping[str, np.ndarray]) -> None:
        name, given = tensor.name, tensor.role == "input"
        held = shape or (1,)  # a scalar is held as one element
        if given:
            if name not in inputs:
                raise EnlistError("bad_input", f"no value for input {name}", given=", ".join(inputs) or "nothing",
                                  allowed=f"{tensor.dtype}{list(shape)}", fix="give an array for every input")
            array = np.asarray(inputs[name])
            if array.shape != shape:
                raise EnlistError("bad_input", f"input {name} has another shape", given=str(list(array.shape)),
                                  allowed=str(list(shape)), fix="change the sizes of the program or the input")
            self.arrays[name] = narrowed(array.astype(stored_dtype(tensor.dtype)).reshape(held), tensor.dtype)
        else:
            self.arrays[name] = np.zeros(held, stored_dtype(tensor.dtype))
        self.known[name] = np.full(held, given)
        self.read[name], self.wrote[name] = np.zeros(held, bool), np.zeros(held, bool)

    def outcome(self) -> Outcome:
        with np.errstate(all="ignore"):
            self._body(self.program.body, Space({n: Form(const=v) for n, v in self.values.items()}), {}, 1)
        self.counts.read = {n: int(r.sum()) for n, r in self.read.items()}
        self.counts.written = {n: int(w.sum()) for n, w in self.wrote.items()}
        out = {t.name: tuple(shapes(self.program, self.values)[t.name]) for t in self.program.with_role("output")}
        return Outcome({n: self.arrays[n].reshape(s) for n, s in out.items()},
                       {n: self.wrote[n].reshape(s) for n, s in out.items()}, self.counts)

    def _body(self, body: tuple[Statement, ...], space: Space, points: Points, size: int) -> None:
        for one in body:
            if not size:
                return
            if isinstance(one, Assign):
                self._assign(one, points, size)
            elif isinstance(one, For):
                self._for(one, space, points, size)
            else:
                kept = whole_numbers(one.test, self.values, points, size).astype(bool)
                inside = space.copy()
                inside.held += inside.conditions(one.test)
                self._body(one.body, inside, {v: p[kept] for v, p in points.items()}, int(kept.sum()))

    def _for(self, loop: For, space: Space, points: Points, size: int) -> None:
        low = whole_numbers(loop.lower, self.values, points, size)
        high = whole_numbers(loop.upper, self.values, points, size)
        turns = np.maximum(0, -((low - high) // loop.step) if loop.step > 0 else -((high - low) // -loop.step))
        inside = entered(space, loop)
        if carried(loop, space):
            for turn in range(int(turns.max(initial=0))):
                kept = turns > turn
                now = {v: p[kept] for v, p in points.items()} | {loop.var: (low + turn * loop.step)[kept]}
                self._body(loop.body, inside, now, int(kept.sum()))
            return
        total = int(turns.sum())
        if total > MOST_POINTS:
            raise _too_large("a loop")
        first = np.repeat(np.cumsum(turns) - turns, turns)
        turn_of = np.arange(total) - first
        now = {v: np.repeat(p, turns) for v, p in points.items()}
        now[loop.var] = np.repeat(low, turns) + turn_of * loop.step
        self._body(loop.body, inside, now, total)

    def _assign(self, one: Assign, points: Points, size: int) -> None:
        at = Evaluation(self.arrays, self.known, self.read, self.dtypes, self.values, points, size,
                        self.counts, one)
        index = at.index(one.target)
        value = at.value(one.value)
        self.counts.points += size
        self.counts.by_statement[show_assign(one)] += size
        name = one.target.tensor
        dtype, array = self.dtypes[name], self.arrays[name]
        if one.update == "=":
            array[index] = narrowed(np.broadcast_to(value, (size,)).astype(array.dtype), dtype)
        else:
            at.need_known(one.target, index)
            self._reduce(one, index, np.broadcast_to(value, (size,)), dtype)
        self.known[name][index] = True
        self.wrote[name][index] = True

    def _reduce(self, one: Assign, index: tuple[np.ndarray, ...], value: np.ndarray, dtype: str) -> None:
        array = self.arrays[one.target.tensor]
        met = promoted([dtype, dtype_of(one.value, self.dtypes)])
        if "float" in met:
            self.counts.flop += len(value)
        if dtype in NARROW:  # rounded after every addition, so one at a time
            for at, v in zip(zip(*index, strict=True), value, strict=True):
                array[at] = narrowed(_UFUNC[one.update](array[at], v), dtype)
            return
        _UFUNC[one.update].at(array, index, value.astype(array.dtype))


def _too_large(what: str) -> EnlistError:
    return EnlistError("resource_limit", f"{what} is too large to interpret", allowed=f"{MOST_POINTS} turns",
                       fix="run it at smaller sizes: `lift` counts at any size")
