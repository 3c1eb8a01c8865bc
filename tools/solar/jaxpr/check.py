"""The second count of a JAX function: FLOP by XLA's own cost analysis of every product, bytes by the arrays' sizes.

XLA counts a whole program wrongly (a loop's body once, a gather as its whole table), but a single product or
convolution rightly, padding left out. So each equation is lowered alone and XLA is asked; loops and calls are followed
as in the capture. What a mask makes needless XLA does not know: it multiplies all.
"""

from collections import Counter
from collections.abc import Iterable
from math import prod
from pathlib import Path
from typing import Any

from enlist.tools.solar.graph import ITEM_BITS, Graph
from enlist.tools.solar.jaxpr.capture import start, traced
from enlist.tools.solar.jaxpr.load import load_function
from enlist.tools.solar.jaxpr.lower import Lowering
from enlist.tools.solar.jaxpr.recorder import Scope, Value, dtype_of, shape_of
from enlist.tools.solar.pytorch.check import Count, Family, Launch
from enlist.tools.solar.rules import work

_ASKED = ("dot_general", "conv_general_dilated")


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
    """The walk of the capture, which asks XLA about every operator."""

    def __init__(self, name: str, trips: int | None) -> None:
        super().__init__(name, trips)
        self.launches: Counter[tuple[str, Family, str, int, int]] = Counter()

    def operator(self, eqn: Any, inputs: list[Value], scope: Scope) -> list[str]:
        before = len(self.recorder.nodes)
        made = super().operator(eqn, inputs, scope)
        family, flop = self._matrix_work(eqn, before)
        size = _bytes(v.aval for v, value in zip(eqn.invars, inputs, strict=True) if isinstance(value, str))
        key = (eqn.primitive.name, family, dtype_of(eqn.invars[0].aval) if eqn.invars else "none", flop,
               size + _bytes(v.aval for v in eqn.outvars))
        self.launches[key] += scope.repeat
        return made

    def _matrix_work(self, eqn: Any, node: int) -> tuple[Family, int]:
        """XLA's FLOP; for factorisations, which XLA does not count, the closed form stands alone."""
        made = self.recorder.nodes[node]
        alone = {t: self.recorder.tensors[t].model_copy(update={"alias_of": None})
                 for t in (*made.inputs, *made.outputs)}
        cost = work(Graph(target="", tensors=tuple(alone.values()), nodes=(made,), assumed=()), made)
        if cost is None or not cost.matrix_flop:
            return "other", 0
        family: Family = "convolution" if cost.kind == "convolution" else "matmul"
        return family, _flop(eqn) if eqn.primitive.name in _ASKED else cost.matrix_flop


def _flop(eqn: Any) -> int:
    """What XLA says of one equation."""
    import jax

    shapes = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in (v.aval for v in eqn.invars)]
    said = jax.jit(lambda *arrays: eqn.primitive.bind(*arrays, **eqn.params)).lower(*shapes).cost_analysis()
    return round((said or {}).get("flops", 0.0))


def _bytes(avals: Iterable[Any]) -> int:
    return sum(-(-prod(shape_of(a)) * ITEM_BITS[dtype_of(a)] // 8) for a in avals)
