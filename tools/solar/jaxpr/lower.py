"""Walk a jaxpr and record what it does: calls are followed, views stay views, every other primitive is an operator.

`pjit`, `remat`, `custom_jvp_call`, `custom_vjp_call` and their like are only calls: what they call is what runs. A
primitive that no rule knows (a Pallas kernel, a callback) becomes an operator by its name, priced at nothing and said.
"""

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

from enlist.tools.solar.graph import Attribute
from enlist.tools.solar.jaxpr.masked import VANISHES
from enlist.tools.solar.jaxpr.onehot import OneHot
from enlist.tools.solar.jaxpr.recorder import Counter, Number, Recorder, Scope, Value, dtype_of, shape_of
from enlist.tools.solar.jaxpr.values import Values
from enlist.tools.solar.jaxpr.views import VIEWS, viewed

_OPAQUE = frozenset(("pallas_call", "custom_call", "ffi_call", "pure_callback", "io_callback", "debug_callback",
                     "custom_partitioning", "tpu_custom_call", "triton_kernel_call", "mpmd_call", "reduce",
                     "reduce_window"))
"""Primitives whose inside is not a jaxpr over the same tensors; a reduction's is one over two elements."""
_FEW = 1 << 24  # elements of a constant that may be looked at: masks are held as constants too
_NOTHING = frozenset(("debug_callback", "debug_print", "debug_assert", "check"))
"""Primitives that make no result which anybody needs."""
_IN_PLACE = frozenset(("dynamic_update_slice", "scatter", "scatter-add", "scatter-mul", "scatter-min", "scatter-max",
                       "scatter_add", "scatter_mul", "scatter_min", "scatter_max", "scatter-sub", "scatter_sub"))


class Lowering:
    """One walk: the graph under construction, the values that are known, the user's trip count for loops without."""

    def __init__(self, name: str, trips: int | None = None, structure: bool = True) -> None:
        self.name, self.trips, self.structure = name, trips, structure
        self.recorder, self.values, self.onehot = Recorder(), Values(), OneHot()

    def walk(self, jaxpr: Any, known: dict[Any, Value], scope: Scope) -> list[Value]:
        """The values of a jaxpr's outputs, where those of its inputs and constants are `known`."""
        for eqn in jaxpr.eqns:
            inputs = [self.read(known, atom) for atom in eqn.invars]
            known.update(zip(eqn.outvars, self.equation(eqn, inputs, scope), strict=True))
        return [self.read(known, atom) for atom in jaxpr.outvars]

    def closed(self, closed: Any, arguments: Sequence[Value], scope: Scope) -> list[Value]:
        """The same for a jaxpr that may hold constants, called with arguments."""
        jaxpr = getattr(closed, "jaxpr", closed)
        consts = [self.outside(c, "constant") for c in getattr(closed, "consts", ())]
        known = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *arguments], strict=True))
        return self.walk(jaxpr, known, scope)

    def finish(self, outputs: Sequence[str]) -> None:
        """Mark what the function returns. What is spread out from fewer elements must be written out."""
        recorder = self.recorder
        made_here = {t for node in recorder.nodes for t in node.outputs}
        for value in dict.fromkeys(outputs):
            tensor = recorder.tensors[value]
            root = recorder.root(value)
            part = root.elements != tensor.elements  # no array of JAX is a part of another
            if part or tensor.distinct < tensor.elements or root.distinct < tensor.elements or (
                    root.role == "intermediate" and root.id not in made_here):
                made = recorder.tensor(tensor.shape, tensor.dtype)
                recorder.node("lax.copy", (value,), (made,), Scope())
                value, tensor = made, recorder.tensors[made]
            role = "output" if tensor.role == "intermediate" else tensor.role
            recorder.tensors[value] = tensor.model_copy(update={"is_output": True, "role": role})

    def read(self, known: Mapping[Any, Value], atom: Any) -> Value:
        return Number(atom.val) if hasattr(atom, "val") else known[atom]

    def outside(self, array: Any, role: Any, name: str = "") -> str:
        """A tensor that is there before the call."""
        made = self.recorder.tensor(shape_of(array), dtype_of(array), role, name)
        if hasattr(array, "__array__") and prod(shape_of(array)) <= _FEW and self._is_fixed(array, name or made):
            self.values.put(made, array)
        return made

    def _is_fixed(self, array: Any, name: str) -> bool:
        """Whether the values of a constant are a part of the program: numbers and masks, but not weights."""
        import numpy as np

        kind = np.dtype(array.dtype).kind if not str(array.dtype).startswith("key<") else "O"
        if kind in "biu" or prod(shape_of(array)) == 1:
            return kind != "O"
        if not self.structure or kind == "O":
            return False
        values = np.asarray(array).astype(np.float32)
        zeros, ones, vanish = (int(np.count_nonzero(t)) for t in (values == 0, values == 1, values <= VANISHES))
        if not zeros or zeros == values.size or zeros + ones + vanish != values.size:
            return False
        self.recorder.choices.append(f"structure of {name}: a constant of the program that masks")
        return True

    def equation(self, eqn: Any, inputs: list[Value], scope: Scope) -> list[Value]:
        """Record one equation; the values of its outputs."""
        from enlist.tools.solar.jaxpr.loops import LOOPS

        name = eqn.primitive.name
        if name in LOOPS:
            return LOOPS[name](self, eqn, inputs, scope)
        if name in _NOTHING:
            return [self.result(v) for v in eqn.outvars]
        inner = called(eqn) if name not in _OPAQUE else None
        if inner is not None:
            return self.closed(inner, inputs, scope)
        if name in VIEWS and isinstance(inputs[0], str):
            made: list[Value] = list(viewed(self, eqn, inputs, scope))
        elif name in VIEWS:
            made = [self.spread(inputs[0], v) for v in eqn.outvars]
        else:
            made = list(self.operator(eqn, inputs, scope))
        if len(made) == 1 and isinstance(made[0], str):
            self.remember(eqn, inputs, made[0])
            if name in VIEWS or name == "convert_element_type":
                self.recorder.keep_origin(made[0], inputs[0])
        return made

    def remember(self, eqn: Any, inputs: list[Value], made: str) -> None:
        """How a value follows from numbers, and whether it counts the turns of a loop."""
        aval = eqn.outvars[0].aval
        if str(aval.dtype).startswith("key<"):
            return
        plain = tuple(v.value if isinstance(v, Number) else v for v in inputs)
        self.values.derive(made, eqn.primitive, eqn.params, plain, shape_of(aval), aval.dtype)
        if prod(shape_of(aval)) == 1:
            counter = self._counter(eqn, inputs)
            if counter is not None:
                self.recorder.counters[made] = counter

    def _counter(self, eqn: Any, inputs: list[Value]) -> Counter | None:
        name = eqn.primitive.name
        of = [self.recorder.counters.get(v) if isinstance(v, str) else None for v in inputs]
        if not any(of):
            return None
        if name in ("convert_element_type", "broadcast_in_dim", "reshape", "squeeze", "expand_dims"):
            return of[0]
        if name == "select_n":  # jnp's x[i]: i + n where i is negative
            first = of[1] if len(of) > 1 else None
            return first if first and first.first >= 0 and first.step >= 0 else None
        if name not in ("add", "sub", "mul") or len(inputs) != 2 or all(of):
            return None
        place = 0 if of[0] else 1
        counter, other = of[place], inputs[1 - place]
        assert counter is not None
        number = self.values.integer(other.value if isinstance(other, Number) else other)
        if number is None:
            return None
        if name == "add":
            return Counter(counter.first + number, counter.step)
        if name == "mul":
            return Counter(counter.first * number, counter.step * number) if number else None
        sign = 1 if place == 0 else -1
        return Counter(sign * (counter.first - number), sign * counter.step)

    def spread(self, number: Value, var: Any) -> str:
        """A literal as a tensor."""
        assert isinstance(number, Number)
        made = self.recorder.constant(number.value, shape_of(var.aval), dtype_of(var.aval))
        self.values.put(made, _broadcast(number.value, shape_of(var.aval)))
        return made

    def held(self, value: Value, var: Any) -> str:
        """A value as a tensor, literals too."""
        return value if isinstance(value, str) else self.spread(value, var)

    def result(self, var: Any) -> str:
        return self.recorder.tensor(shape_of(var.aval), dtype_of(var.aval))

    def operator(self, eqn: Any, inputs: list[Value], scope: Scope) -> list[str]:
        """An operator of its own; one that changes a part of its first operand does so in place."""
        name = eqn.primitive.name
        if name in _IN_PLACE and isinstance(inputs[0], str):
            base = self.recorder.tensors[inputs[0]]
            if base.distinct == base.elements:
                made = [self.recorder.tensor(base.shape, base.dtype, strides=base.strides, alias_of=base.id)]
                self.recorder.node(f"lax.{name}", inputs, made, scope, self.where(eqn),
                                   **self.attributes(eqn, inputs, scope))
                return made
        made = [self.result(v) for v in eqn.outvars]
        self.onehot.follow(self, eqn, inputs, made)
        kept = [m for m, v in zip(made, eqn.outvars, strict=True) if type(v).__name__ != "DropVar"] or made
        op = f"lax.{name}" if name not in _IN_PLACE else "lax.filled"
        if name == "pad" and self._is_zero(inputs[1]):
            self.recorder.padded[made[0]] = [[int(n) for n in p] for p in eqn.params["padding_config"]]
        self.recorder.node(op, inputs, kept, scope, self.where(eqn), **self.attributes(eqn, inputs, scope))
        return made

    def _is_zero(self, value: Value) -> bool:
        known = value.value if isinstance(value, Number) else self.values.array(value)
        return known is not None and bool(known == 0)

    def attributes(self, eqn: Any, inputs: list[Value], scope: Scope) -> dict[str, Attribute]:
        from enlist.tools.solar.jaxpr.attributes import attributes

        return attributes(self, eqn, inputs, scope)

    def where(self, eqn: Any) -> str:
        """The user's function and line."""
        from jax._src import source_info_util  # there is no public way to an equation's line

        try:
            frame = source_info_util.user_frame(eqn.source_info.traceback)
        except (AttributeError, TypeError):
            try:
                frame = source_info_util.user_frame(eqn.source_info)
            except (AttributeError, TypeError):
                return ""
        return f"{frame.function_name}:{frame.start_line}" if frame is not None else ""


def _broadcast(value: Any, shape: Sequence[int]) -> Any:
    import numpy as np

    return np.broadcast_to(np.asarray(value), tuple(shape))


def called(eqn: Any) -> Any:
    """The jaxpr that a call calls with the call's own arguments, None where the equation is no call."""
    for key in ("jaxpr", "call_jaxpr", "fun_jaxpr"):
        inner = eqn.params.get(key)
        if inner is not None and len(getattr(inner, "jaxpr", inner).invars) == len(eqn.invars):
            return inner
    return None
