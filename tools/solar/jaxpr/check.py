"""The second count of a JAX function: products by opt_einsum, convolutions by laying out ones, bytes by size.

Loops and calls are followed as in the capture; what each operator does is counted by another way than the rules have.
XLA's own cost analysis of single operators agrees with it (tests). What a mask makes needless is multiplied here.
"""

from collections import Counter
from collections.abc import Iterable
from math import prod
from pathlib import Path
from typing import Any

from enlist.tools.solar.graph import ITEM_BITS, Graph
from enlist.tools.solar.jaxpr.attributes import multiplied_as
from enlist.tools.solar.jaxpr.capture import start, traced
from enlist.tools.solar.jaxpr.load import load_function
from enlist.tools.solar.jaxpr.lower import Lowering
from enlist.tools.solar.jaxpr.recorder import Scope, Value, dtype_of, shape_of
from enlist.tools.solar.pytorch.check import Count, Family, Launch
from enlist.tools.solar.rules.table import work

_COUNTED = ("dot_general", "conv_general_dilated")


def count(path: Path, target: str | None = None, name: str | None = None, inputs: str | None = None) -> Count:
    """Count the work of one call. Raises as `capture`."""
    name = name or path.name
    loaded = load_function(path, target, name, inputs)
    closed = traced(loaded, name)
    walk = _Counting(name, loaded.trips)
    start(walk, loaded, closed)
    used = {id(a) for e in closed.jaxpr.eqns for a in e.invars}
    flop: Counter[str] = Counter()
    for (_, family, _, n, _), times in walk.launches.items():
        flop[family] += n * times
    weights = [v.aval for v, w in zip(closed.jaxpr.invars, loaded.weights, strict=True) if w and id(v) in used]
    data = [v.aval for v, w in zip(closed.jaxpr.invars, loaded.weights, strict=True) if not w and id(v) in used]
    made = {v for v in closed.jaxpr.outvars if not hasattr(v, "val")} - set(closed.jaxpr.invars)
    return Count(
        target=f"{name}:{loaded.name}", matmul_flop=flop["matmul"], convolution_flop=flop["convolution"],
        attention_flop=0, parameter_bytes=_bytes([*weights, *closed.consts]), input_bytes=_bytes(data),
        output_bytes=_bytes(v.aval for v in made),
        launches=tuple(Launch(op=op, family=family, dtype=dtype, flop=n, bytes=size, count=times)
                       for (op, family, dtype, n, size), times in walk.launches.items()))


class _Counting(Lowering):
    """The walk of the capture, which counts every operator again."""

    def __init__(self, name: str, trips: int | None) -> None:
        super().__init__(name, trips)
        self.launches: Counter[tuple[str, Family, str, int, int]] = Counter()

    def operator(self, eqn: Any, inputs: list[Value], scope: Scope) -> list[str]:
        before = len(self.recorder.nodes)
        made = super().operator(eqn, inputs, scope)
        family, flop = self._matrix_work(eqn, before)
        size = _bytes(v.aval for v, value in zip(eqn.invars, inputs, strict=True) if isinstance(value, str))
        own = dtype_of(eqn.invars[0].aval) if eqn.invars else "none"
        dtype = (multiplied_as(eqn) if eqn.primitive.name == "dot_general" else None) or own
        key = (eqn.primitive.name, family, dtype, flop,
               size + _bytes(v.aval for v in eqn.outvars))
        self.launches[key] += scope.repeat
        return made

    def _matrix_work(self, eqn: Any, node: int) -> tuple[Family, int]:
        """The family and FLOP of an operator; for factorisations the closed form of the rule stands alone."""
        made = self.recorder.nodes[node]
        alone = {t: self.recorder.tensors[t].model_copy(update={"alias_of": None})
                 for t in (*made.inputs, *made.outputs)}
        cost = work(Graph(target="", tensors=tuple(alone.values()), nodes=(made,), assumed=()), made)
        if cost is None or not cost.matrix_flop:
            return "other", 0
        family: Family = "convolution" if cost.kind == "convolution" else "matmul"
        return family, _flop(eqn) if eqn.primitive.name in _COUNTED else cost.matrix_flop


def _flop(eqn: Any) -> int:
    """FLOP of one product or convolution, by another way than the rules."""
    shapes = [v.aval.shape for v in eqn.invars]
    return _product(eqn, shapes) if eqn.primitive.name == "dot_general" else _convolution(eqn, shapes)


def _product(eqn: Any, shapes: list[tuple[int, ...]]) -> int:
    """The product as an einsum, counted by opt_einsum: two for each term of a sum, one where nothing is summed."""
    import opt_einsum

    (left, right), (left_batch, right_batch) = eqn.params["dimension_numbers"]
    first = [opt_einsum.get_symbol(i) for i in range(len(shapes[0]))]
    second = [opt_einsum.get_symbol(len(first) + i) for i in range(len(shapes[1]))]
    for i, j in zip((*left, *left_batch), (*right, *right_batch), strict=True):
        second[j] = first[i]
    out = dict.fromkeys([*(first[i] for i in left_batch), *first, *second])
    kept = [c for c in out if c not in {first[i] for i in left}]
    path = opt_einsum.contract_path(f"{''.join(first)},{''.join(second)}->{''.join(kept)}", *shapes, shapes=True)
    return int(path[1].opt_cost)


def _convolution(eqn: Any, shapes: list[tuple[int, ...]]) -> int:
    """Ones are laid out as the input lies, with its padding, and the taps that meet one are counted."""
    import numpy as np

    params, numbers = eqn.params, eqn.params["dimension_numbers"]
    met = 1
    for d, (stride, (before, after)) in enumerate(zip(params["window_strides"], params["padding"], strict=True)):
        size, taps = shapes[0][numbers.lhs_spec[2 + d]], shapes[1][numbers.rhs_spec[2 + d]]
        line = np.zeros((size - 1) * params["lhs_dilation"][d] + 1, dtype=np.int64)
        line[::params["lhs_dilation"][d]] = 1
        line = np.pad(line, (max(0, before), max(0, after)))
        line = line[max(0, -before):len(line) - max(0, -after)]
        reach = (taps - 1) * params["rhs_dilation"][d] + 1
        starts = np.arange(0, len(line) - reach + 1, stride)
        met *= int(line[starts[:, None] + np.arange(taps) * params["rhs_dilation"][d]].sum())
    weight = shapes[1]
    images = shapes[0][numbers.lhs_spec[0]] // params["batch_group_count"]
    return 2 * images * weight[numbers.rhs_spec[0]] * weight[numbers.rhs_spec[1]] * met


def _bytes(avals: Iterable[Any]) -> int:
    return sum(-(-prod(shape_of(a)) * ITEM_BITS[dtype_of(a)] // 8) for a in avals)
