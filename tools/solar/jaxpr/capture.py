"""Capture a JAX function as a `Graph`: its jaxpr on shapes, every primitive that it runs.

Runs in the child that may run the user's code. Tracing takes no memory for arrays. Loops are in the graph once, with
their trip counts; what nobody uses is left out, as `jax.jit` leaves it out.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any, Literal

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.dtypes import FLOATS
from enlist.tools.solar.graph import Graph
from enlist.tools.solar.jaxpr.load import Loaded, import_jax, load_function, running
from enlist.tools.solar.jaxpr.lower import Lowering
from enlist.tools.solar.jaxpr.masked import masked
from enlist.tools.solar.jaxpr.once import once
from enlist.tools.solar.jaxpr.recorder import Recorder, Scope
from enlist.tools.solar.pytorch.load import user_line

_NEEDS_DATA = ("TracerBoolConversionError", "ConcretizationTypeError", "TracerIntegerConversionError",
               "TracerArrayConversionError", "NonConcreteBooleanIndexError", "UnexpectedTracerError")


def capture(path: Path, target: str | None = None, name: str | None = None, *, inputs: str | None = None,
            training: Literal["backward", "step"] | None = None, structure: bool = True) -> Graph:
    """The graph of a file's function under `jax.jit`.

    Args:
        path, target, name, inputs: as `load_function` has them.
        training: "backward" differentiates the sum of the function's floating results by its parameters (arguments
            that are called so), or by all floating inputs where it has none.
        structure: whether floating constants that are masks (zeros and ones, or large negative numbers) count as such.

    Raises as `load_function`; `unsupported` where values decide what runs, and for training "step".
    """
    name = name or path.name
    loaded = load_function(path, target, name, inputs)
    return graph_of(loaded, name, traced(loaded, name, training), training, structure)


def traced(loaded: Loaded, name: str, training: Literal["backward", "step"] | None = None) -> Any:
    """The closed jaxpr of a loaded function, without what its results do not need."""
    jax = import_jax()
    if training == "step":
        raise EnlistError("unsupported", f"{name}: JAX has no optimizer of its own to step with", given="training step",
                          allowed="training backward, or a function that is the whole step",
                          fix="write the update in the function (with optax or by hand) and capture that")
    function = _differentiated(jax, loaded, name) if training else loaded.function
    with _told(name):
        closed = jax.make_jaxpr(function)(*loaded.arrays)
    from jax.interpreters import partial_eval

    thin, _ = partial_eval.dce_jaxpr(closed.jaxpr, [True] * len(closed.jaxpr.outvars), instantiate=True)
    return closed.replace(jaxpr=thin)


def _differentiated(jax: Any, loaded: Loaded, name: str) -> Any:
    floating = [i for i, a in enumerate(loaded.arrays) if jax.numpy.issubdtype(a.dtype, jax.numpy.floating)]
    by = [i for i in floating if loaded.weights[i]] or floating
    if not by:
        raise EnlistError("bad_input", f"{name}: nothing to differentiate by", given=", ".join(loaded.labels) or "none",
                          allowed="a function with parameters or inputs of a floating dtype")

    def loss(*arrays: Any) -> Any:
        leaves = jax.tree_util.tree_leaves(loaded.function(*arrays))
        return sum(leaf.astype("float32").sum() if leaf.shape else leaf for leaf in leaves
                   if jax.numpy.issubdtype(leaf.dtype, jax.numpy.floating))

    return jax.value_and_grad(loss, argnums=tuple(by))


@contextmanager
def _told(name: str) -> Iterator[None]:
    """Tell values that decide what runs from an error of the user's."""
    try:
        with running(name, "while JAX traced it"):
            yield
    except EnlistError as error:
        cause = error.__cause__
        if cause is None or type(cause).__name__ not in _NEEDS_DATA:
            raise
        raise EnlistError(
            "unsupported", f"{name} cannot be jitted: values of an array decide what runs ({type(cause).__name__})",
            given=user_line(name, cause), allowed="functions that jax.jit takes",
            fix="write the branch with jnp.where or jax.lax.cond, the loop with jax.lax.fori_loop or scan, a selection "
                "by a mask with a fixed size; let get_inputs() return a plain number where one decides",
            details=error.details) from cause


def start(low: Lowering, loaded: Loaded, closed: Any) -> None:
    """Walk a traced function, from what is there before the call to what it returns."""
    arguments = []
    for var, label, weight in zip(closed.jaxpr.invars, loaded.labels, loaded.weights, strict=True):
        arguments.append(low.outside(var.aval, "parameter" if weight else "input", label))
    held = []
    for const in closed.consts:
        label = loaded.globals_by_id.get(id(const), "")
        floating = str(getattr(const, "dtype", "")) in FLOATS and prod(const.shape) > 1
        held.append(low.outside(const, "parameter" if floating else "constant", label))
    known: dict[Any, Any] = dict(zip([*closed.jaxpr.constvars, *closed.jaxpr.invars], [*held, *arguments], strict=True))
    outputs = low.walk(closed.jaxpr, known, Scope())
    low.finish([low.held(value, var) for value, var in zip(outputs, closed.jaxpr.outvars, strict=True)])


def graph_of(loaded: Loaded, name: str, closed: Any, training: str | None = None, structure: bool = True) -> Graph:
    """The graph of a traced function."""
    low = Lowering(name, loaded.trips, structure)
    start(low, loaded, closed)
    recorder = low.recorder
    lines = _sentences(recorder, loaded, training)
    used = _touched(recorder)
    tensors = tuple(t for t in recorder.tensors.values() if t.id in used or t.role in ("input", "parameter"))
    graph = Graph(target=f"{name}:{loaded.name}", tensors=tensors, nodes=tuple(recorder.nodes), assumed=tuple(lines))
    return once(masked(graph, low.values))


def _touched(recorder: Recorder) -> set[str]:
    """Tensors that operators or outputs touch, and what these are views of."""
    used: set[str] = {t.id for t in recorder.tensors.values() if t.is_output}
    for node in recorder.nodes:
        used.update(node.inputs, node.outputs)
    for tensor in reversed(recorder.tensors.values()):
        if tensor.id in used and tensor.alias_of is not None:
            used.add(tensor.alias_of)
    return used


def _sentences(recorder: Recorder, loaded: Loaded, training: str | None) -> list[str]:
    """What every number from the graph rests on."""
    inputs = [t for t in recorder.tensors.values() if t.role == "input"]
    listed = ", ".join(f"{t.name} {t.dtype} {list(t.shape)}" for t in inputs)
    floats = {role: " and ".join(sorted({t.dtype for t in recorder.tensors.values() if t.role == role and
                                         t.dtype in FLOATS})) for role in ("parameter", "input")}
    dtype = floats["parameter"] or floats["input"] or "no floating arrays"
    if floats["parameter"] and floats["input"] and floats["parameter"] != floats["input"]:
        dtype = f"parameters {floats['parameter']}, inputs {floats['input']}"
    lines = [f"inputs: {listed or 'none'}"]
    if inputs and inputs[0].shape:
        lines.append(f"first dimension of {inputs[0].name}: {inputs[0].shape[0]} (taken as batch)")
    lines.append(f"dtype: {dtype}")
    lines.append("mode: one call of the function under jax.jit" + (
        ", with gradients of the sum of its results" if training else ""))
    if any(n.attributes.get("multiply") == "tf32" for n in recorder.nodes):
        lines.append("precision of products: JAX's default, so float32 ones run at the TF32 rate where there is one")
    if loaded.numbers:
        lines.append(f"numbers: {', '.join(loaded.numbers[:6])}, as get_inputs has them")
    if any(n.op in ("lax.dynamic_update_slice", "lax.scatter") for n in recorder.nodes):
        lines.append("updates in place: what an update leaves as it was is not copied (as with donated buffers)")
    if loaded.allocated:
        lines.append("get_inputs: run, because it could not be traced")
    return lines + list(dict.fromkeys(recorder.choices))
