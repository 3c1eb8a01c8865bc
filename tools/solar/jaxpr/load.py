"""Load a user's JAX file, in the child that is allowed to run it, and find its function and the shapes of its inputs.

The file defines a function (`fn`, or one that `target` names) and `get_inputs()`, whose arrays are worked out as shapes
only (`jax.eval_shape`), so that no memory is taken. A class is constructed with `get_init_inputs()` and called; one
with `init` and `apply` (Flax) is initialised as shapes. Numbers that are no arrays stay the numbers that they are.
"""

import ast
import inspect
import linecache
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.jaxpr.inputs import given
from enlist.tools.solar.pytorch.load import user_line

_CONVENTION = "a function fn (or one that `target` names) and get_inputs(), which returns its arguments"
_USUAL = ("fn", "Model", "model", "forward", "loss", "main")
_HELPERS = ("get_inputs", "get_init_inputs", "get_init_params")
_WEIGHTS = ("params", "param", "parameters", "weights", "weight", "variables", "theta")
_MESH_DEVICES = 64  # so many devices a CPU pretends to be, for files that make meshes


@dataclass(frozen=True)
class Loaded:
    """A function over its array arguments, flat, and what each is called; `numbers` are its other arguments."""

    name: str
    function: Callable[..., Any]
    arrays: tuple[Any, ...]
    labels: tuple[str, ...]
    weights: tuple[bool, ...]
    numbers: tuple[str, ...]
    globals_by_id: dict[int, str]
    allocated: bool
    trips: int | None = None


def import_jax(text: str = "") -> Any:
    """JAX on the CPU; raises `not_installed` where the extra is missing."""
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    try:
        import jax
    except ImportError as error:
        raise EnlistError("not_installed", f"JAX is not installed here: {error}", allowed="Enlist with its extra jax",
                          fix="pip install 'enlist[jax]'") from error
    if "esh" in text or "pmap" in text:
        with suppress(RuntimeError):  # JAX has begun already, with the devices that it has
            jax.config.update("jax_num_cpu_devices", _MESH_DEVICES)
    return jax


def load_function(path: Path, target: str | None = None, name: str | None = None, inputs: str | None = None) -> Loaded:
    """The function of a file and its inputs as shapes.

    Args:
        path: a Python file.
        target: a function or class in it.
        name: what to call the file in messages.
        inputs: other inputs than those of get_inputs, or other sizes of them (`inputs.given`).

    Raises `bad_input` (not Python, no such target, no inputs), `tool_failed` (the user's code raised) and
    `not_installed`.
    """
    name = name or path.name
    text = _read(path, name)
    jax = import_jax(text)
    file = _execute(text, name)
    made, called = _pick(file, name, target)
    get_inputs = getattr(file, "get_inputs", None)
    if not callable(get_inputs) and not inputs:
        raise EnlistError("bad_input", f"{name} has no get_inputs(), so the shapes are unknown", given=_found(file),
                          allowed=_CONVENTION, fix="add get_inputs() that returns the list of arguments, or give the "
                          "shapes: --input 'x=float32[16,1024]'")
    if isinstance(made, type):
        init = getattr(file, "get_init_inputs", list)
        with running(name, "while the model was constructed"):
            arguments: Any = init()
            made = made(**arguments) if isinstance(arguments, dict) else made(*arguments)
    examples, allocated = (None, False) if not callable(get_inputs) else _shapes(jax, get_inputs, name)
    flax = hasattr(made, "init") and hasattr(made, "apply") and not inspect.isfunction(made)
    function = made.apply if flax else made
    names = _argument_names(made.__call__ if flax else function)
    trips = None
    if inputs:
        examples, trips = given(inputs, names, examples, jax)
    args, kwargs = _called_with(examples)
    if flax:
        with running(name, "in init"):
            variables = jax.eval_shape(made.init, jax.eval_shape(lambda: jax.random.key(0)), *args, **kwargs)
        args, names = (variables, *args), ["params", *names]
    leaves, tree = jax.tree_util.tree_flatten((args, kwargs))
    labels = _labels(jax, args, kwargs, names)
    places = [i for i, leaf in enumerate(leaves) if _is_array(leaf)]

    def flat(*arrays: Any) -> Any:
        filled = list(leaves)
        for place, array in zip(places, arrays, strict=True):
            filled[place] = array
        positional, named = jax.tree_util.tree_unflatten(tree, filled)
        return function(*positional, **named)

    return Loaded(
        name=called, function=flat, arrays=tuple(_abstract(jax, leaves[i]) for i in places),
        labels=tuple(labels[i] for i in places), weights=tuple(is_weight(labels[i]) for i in places),
        numbers=tuple(f"{labels[i]}={leaves[i]!r}"[:60] for i in range(len(leaves)) if i not in places),
        globals_by_id=_globals(jax, file), allocated=allocated, trips=trips)


def _read(path: Path, name: str) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise EnlistError("bad_input", f"{name} cannot be read as text: {error}", allowed="a Python file") from error


def _execute(text: str, name: str) -> ModuleType:
    try:
        tree = ast.parse(text, filename=name)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise EnlistError("bad_input", f"{name} is not Python: {getattr(error, 'msg', error)}",
                          given=f"{name}:{line}: {(getattr(error, 'text', '') or '').strip()}",
                          allowed="a file that Python 3 can read") from error
    module = ModuleType("enlist_user_model")
    module.__file__ = name
    sys.modules[module.__name__] = module  # dataclasses look a class's module up by name
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)  # tracebacks quote the line
    with running(name, "while it was imported"):
        exec(compile(tree, name, "exec"), module.__dict__)
    return module


def _pick(file: ModuleType, name: str, target: str | None) -> tuple[Any, str]:
    own = _functions(file)
    usual = [n for n in _USUAL if callable(getattr(file, n, None))]
    chosen = target or next(iter(usual), own[0] if len(own) == 1 else "")
    made = getattr(file, chosen, None) if chosen else None
    if not callable(made):
        raise EnlistError(
            "bad_input", f"{name} has no {chosen}" if chosen else f"{name}: which of its functions is meant?",
            given=_found(file), allowed=", ".join(own) or _CONVENTION,
            fix=f"name one: {name}::{own[-1]}" if own else "define fn, or name a function with `target`")
    return made, chosen


def _functions(file: ModuleType) -> list[str]:
    """Callables that the file itself defines, without those that make inputs."""
    return [n for n, v in vars(file).items() if callable(v) and not n.startswith("_") and n not in _HELPERS
            and getattr(v, "__module__", None) == file.__name__]


def _found(file: ModuleType) -> str:
    own = _functions(file)
    return f"the file defines {', '.join(own[:12])}" if own else "the file defines no class or function"


def _shapes(jax: Any, get_inputs: Callable[[], Any], name: str) -> tuple[Any, bool]:
    """What get_inputs returns, arrays as shapes, and whether arrays had to be made for it."""
    kept: dict[str, Any] = {}

    def traced() -> list[Any]:
        leaves, tree = jax.tree_util.tree_flatten(get_inputs())
        kept["leaves"], kept["tree"] = leaves, tree
        kept["arrays"] = [i for i, leaf in enumerate(leaves) if isinstance(leaf, jax.core.Tracer)]
        kept["leaves"] = [None if i in kept["arrays"] else leaf for i, leaf in enumerate(leaves)]
        return [leaves[i] for i in kept["arrays"]]

    try:
        made = jax.eval_shape(traced)
        leaves = kept["leaves"]
        for place, shape in zip(kept["arrays"], made, strict=True):
            leaves[place] = shape
        return jax.tree_util.tree_unflatten(kept["tree"], leaves), False
    except Exception:  # what cannot be traced (it looks at values) is run; if that fails, the error is the user's own
        with running(name, "in get_inputs()"):
            return get_inputs(), True


def _is_array(leaf: Any) -> bool:
    return hasattr(leaf, "shape") and hasattr(leaf, "dtype")


def _abstract(jax: Any, leaf: Any) -> Any:
    """The shape of an array; a mesh that it is spread over stays with it."""
    dtype = leaf.dtype if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.extended) else jax.dtypes.canonicalize_dtype(
        leaf.dtype)
    spread = getattr(leaf, "sharding", None)
    return jax.ShapeDtypeStruct(tuple(leaf.shape), dtype, sharding=spread if isinstance(
        spread, jax.sharding.NamedSharding) else None)


def _called_with(examples: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    if isinstance(examples, dict):
        return (), examples
    if isinstance(examples, tuple | list):
        return tuple(examples), {}
    return (examples,), {}


def _argument_names(function: Any) -> list[str]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _labels(jax: Any, args: Sequence[Any], kwargs: dict[str, Any], names: Sequence[str]) -> list[str]:
    """Names of all leaves: the argument's, and the way into it."""
    found = []
    for place, value in [*enumerate(args), *kwargs.items()]:
        name = names[place] if isinstance(place, int) and place < len(names) else str(place) if isinstance(
            place, str) else f"input{place}"
        for path, _ in jax.tree_util.tree_flatten_with_path(value)[0]:
            keys = (getattr(p, "key", getattr(p, "idx", getattr(p, "name", p))) for p in path)
            found.append(".".join([name, *map(str, keys)]))
    return found


def is_weight(label: str) -> bool:
    """Whether an argument of this name holds parameters."""
    return label.partition(".")[0].lower() in _WEIGHTS


def _globals(jax: Any, file: ModuleType) -> dict[int, str]:
    """Names of the arrays that the file holds, by identity."""
    return {id(leaf): label for label, leaf in _held(jax, file)}


def _held(jax: Any, file: ModuleType) -> Iterator[tuple[str, Any]]:
    for name, value in vars(file).items():
        if name.startswith("__") or callable(value) or isinstance(value, ModuleType):
            continue
        try:
            leaves = jax.tree_util.tree_flatten_with_path(value)[0]
        except Exception:  # a tree that cannot be flattened has no names to give
            continue
        for path, leaf in leaves:
            if _is_array(leaf):
                keys = (getattr(p, "key", getattr(p, "idx", getattr(p, "name", p))) for p in path)
                yield ".".join([name, *map(str, keys)]), leaf


@contextmanager
def running(name: str, when: str) -> Iterator[None]:
    """Turn what a user's code raises (or its exit) into `tool_failed` with their own last line."""
    try:
        yield
    except EnlistError:
        raise
    except (Exception, SystemExit) as error:
        first = next(iter(str(error).strip().splitlines()), "(no message)")[:300]
        fix = ("make the mesh with jax.sharding.AbstractMesh, which needs no devices" if "umber of devices" in first
               else "make it run under jax.jit on the CPU first")
        raise EnlistError("tool_failed", f"{name} raised {type(error).__name__} {when}: {first}",
                          given=user_line(name, error), fix=fix, details=traceback.format_exc()[-4000:]) from error
