"""Other inputs than those of get_inputs, as shapes: whole specifications, or single sizes; and trip counts.

"x=float32[16,1024];ids=int32[16,512]" names every argument; "batch=8" and "length=128" change the first and second
dimension wherever an array shares it with the first one that has it; "x[2]=64" changes one axis of one argument;
"trips=100" says how often loops turn whose count depends on data.
"""

import re
from collections.abc import Sequence
from typing import Any

from enlist.tools.runtime.errors import EnlistError

_WHOLE = re.compile(r"(\w+)\s*=\s*(?:jnp\.|jax\.numpy\.)?(\w+)\s*\[\s*([\d\s,]*)\]$")
_SIZE = re.compile(r"(\w+)(?:\[(\d+)\])?\s*=\s*(\d+)$")
_SHORT = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "fp64": "float64", "f32": "float32",
          "f16": "float16", "i64": "int64", "i32": "int32", "float": "float32", "long": "int64", "int": "int32",
          "half": "float16", "double": "float64", "fp8": "float8_e4m3fn"}
_ALLOWED = ("x=float32[16,1024] for each argument, or batch=8, length=128, x[2]=64, trips=100; several are parted by "
            "semicolons")


def given(spec: str, names: Sequence[str], examples: Any, jax: Any) -> tuple[Any, int | None]:
    """The arguments that `spec` describes, changed from `examples` where it gives sizes only, and a trip count.

    Raises `bad_input` for a specification that cannot be read, and for a size that no argument has.
    """
    trips: int | None = None
    whole: dict[str, Any] = {}
    changed = examples
    parts = [p.strip() for p in spec.split(";") if p.strip()]
    if not parts:
        raise _refusal("an input specification is empty", spec)
    for part in parts:
        if found := _WHOLE.match(part):
            whole[found[1]] = _shape(jax, found[2], found[3], part)
        elif (found := _SIZE.match(part)) and found[1] == "trips" and "trips" not in names and not found[2]:
            trips = int(found[3])
        elif found:
            if changed is None:
                raise _refusal("a size alone needs inputs to change, and there is no get_inputs()", part)
            changed = _resized(jax, changed, names, found[1], int(found[2]) if found[2] else None, int(found[3]), part)
        else:
            nested = re.match(r"\w+\.\w", part)
            raise _refusal("what lies in a list or dict cannot be described: write get_inputs()" if nested else
                           "an input specification cannot be read", part)
    if whole:
        return _ordered(whole, names, changed), trips
    if changed is None:
        raise _refusal("no shapes are given, and there is no get_inputs()", spec)
    return changed, trips


def _shape(jax: Any, dtype: str, sizes: str, part: str) -> Any:
    import jax.numpy as jnp

    try:
        kind = jnp.dtype(_SHORT.get(dtype, dtype))
    except TypeError as error:
        raise _refusal(f"not a dtype: {dtype}", part) from error
    return jax.ShapeDtypeStruct(tuple(int(n) for n in sizes.replace(" ", "").split(",") if n), kind)


def _ordered(whole: dict[str, Any], names: Sequence[str], examples: Any) -> Any:
    """Whole specifications in the order of the arguments; those that are not named stay as get_inputs has them."""
    if not set(whole) <= set(names):
        if names and len(whole) != len(names):
            raise _refusal("no such argument", ", ".join(sorted(set(whole) - set(names))),
                           f"; the arguments are {', '.join(names)}")
        return tuple(whole.values())
    if isinstance(examples, dict):
        return {**examples, **whole}
    before = dict(zip(names, examples, strict=False)) if isinstance(examples, tuple | list) else (
        {names[0]: examples} if examples is not None and names else {})
    merged = before | whole
    return tuple(merged[n] for n in names if n in merged)


def _resized(jax: Any, examples: Any, names: Sequence[str], name: str, axis: int | None, size: int, part: str) -> Any:
    if size < 1:
        raise _refusal("a size is 1 or more", part)
    which = {"batch": 0, "length": 1}.get(name)
    if axis is None and which is not None and name not in names:
        return _shared(jax, examples, names, name, which, size, part)
    place: Any = name if isinstance(examples, dict) else list(names).index(name) if name in names else None
    held = list(examples) if isinstance(examples, tuple | list) else examples if isinstance(examples, dict) else [
        examples]
    if axis is None or place is None or (place not in held if isinstance(held, dict) else place >= len(held)):
        raise _refusal("no such argument or axis", part, f"; the arguments are {', '.join(names)}")
    if not hasattr(held[place], "shape") or len(held[place].shape) <= axis:
        raise _refusal(f"{name} has no axis {axis}", part)
    changed = dict(held) if isinstance(held, dict) else list(held)
    changed[place] = _with(jax, held[place], axis, size)
    return changed


def _shared(jax: Any, examples: Any, names: Sequence[str], name: str, which: int, size: int, part: str) -> Any:
    """Every array of the data (not of parameters) that shares the first one's size along a dimension."""
    from enlist.tools.solar.jaxpr.load import is_weight

    held = dict(examples) if isinstance(examples, dict) else dict(enumerate(
        examples if isinstance(examples, tuple | list) else [examples]))

    def fits(leaf: Any) -> bool:
        dims = len(getattr(leaf, "shape", ()))
        return dims > which and (which == 0 or dims > 2 or (dims == 2 and "float" not in str(leaf.dtype)))

    data = {k: v for k, v in held.items() if not is_weight(k if isinstance(k, str) else names[k] if k < len(
        names) else "")}
    able = [leaf for value in data.values() for leaf in jax.tree_util.tree_leaves(value) if fits(leaf)]
    if not able:
        raise _refusal(f"no input has a dimension for {name}", part)
    old = able[0].shape[which]
    for key, value in data.items():
        held[key] = jax.tree_util.tree_map(
            lambda leaf: _with(jax, leaf, which, size) if fits(leaf) and leaf.shape[which] == old else leaf, value)
    return held if isinstance(examples, dict) else list(held.values())


def _with(jax: Any, array: Any, axis: int, size: int) -> Any:
    shape = list(array.shape)
    shape[axis] = size
    return jax.ShapeDtypeStruct(tuple(shape), array.dtype)


def _refusal(message: str, part: str, more: str = "") -> EnlistError:
    return EnlistError("bad_input", message, given=repr(part), allowed=_ALLOWED + more, fix="correct --input")
