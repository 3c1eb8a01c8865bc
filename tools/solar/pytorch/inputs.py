"""Other inputs than those of get_inputs: whole specifications, or single sizes.

"x=float32[16,1024];ids=int64[16,512]" names arguments with dtype and shape; "batch=8" and "length=128" change the first
and second dimension wherever a tensor shares it with the first one that has it (a length is the second dimension of
token ids, or of tensors with three dimensions and more); "x[2]=64" changes one axis of one argument, "scale=3" a number
that is one. What lies in a list or dict is named by the way to it: "state.h=float32[8,64]", "layers.0[1]=64". Sizes
change what stands before them, specifications or get_inputs. Nothing is allocated: tensors are made on the meta device.
"""

import inspect
import re
from collections.abc import Callable
from typing import Any

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.graph import ITEM_BITS
from enlist.tools.solar.pytorch.nested import at, put

_PATH = r"(\w+(?:\.\w+)*)"
_WHOLE = re.compile(_PATH + r"\s*=\s*(?:torch\.)?([A-Za-z]\w*)\s*\[\s*([\d\s,]*)\]$")
_NUMBER = re.compile(_PATH + r"\s*=\s*(True|False|None|-?\d+(?:\.\d*)?(?:e[+-]?\d+)?)$")
_SIZE = re.compile(_PATH + r"(?:\[(\d+)\])?\s*=\s*(\d+)$")
_SHORT = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "fp64": "float64", "f32": "float32",
          "f16": "float16", "i64": "int64", "i32": "int32", "i8": "int8", "u8": "uint8", "float": "float32",
          "long": "int64", "int": "int32", "half": "float16", "double": "float64", "fp8": "float8_e4m3fn"}
_SYMBOLS = {"batch": 0, "length": 1}
_ALLOWED = ("x=float32[16,1024] for each argument (a number as x=0.5 or x=3, what lies in a list or dict as "
            "state.h=float32[8,64]), or batch=8, length=128, x[2]=64; several are parted by semicolons")

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


def given(spec: str, module: Any, examples: Arguments | None) -> Arguments:
    """The arguments that `spec` describes, changed from `examples` where it gives sizes only.

    Raises `bad_input` for a specification that cannot be read, and for a size or a name that no argument has.
    """
    parts = [p.strip() for p in spec.split(";") if p.strip()]
    if not parts:
        raise _refusal("an input specification is empty", spec)
    whole = [p for p in parts if _WHOLE.match(p) or _is_number(p, module, examples)]
    args, kwargs = _whole(whole, module, examples) if whole else examples or ((), {})
    if not whole and examples is None:
        raise _refusal("a size alone needs inputs to change, and there is no get_inputs()", spec)
    for part in parts:
        found = _SIZE.match(part)
        if part not in whole and not found:
            raise _refusal("an input specification cannot be read", part)
        if part not in whole and found:
            axis = int(found[2]) if found[2] else None
            args, kwargs = _resized(args, kwargs, found[1], axis, int(found[3]), module, part)
    return args, kwargs


def _is_number(part: str, module: Any, examples: Arguments | None) -> bool:
    """Whether a part gives an argument that is a number; a whole number may be the size of a dimension instead."""
    import torch

    found = _NUMBER.match(part)
    if found is None or not re.fullmatch(r"-?\d+", found[2]):
        return found is not None
    root = found[1].partition(".")[0]
    if root not in _signature(module).parameters:
        return False
    held = _held(module, examples).get(root)
    return not isinstance(held, torch.Tensor) and ("." in found[1] or not _tensors(held))


def _held(module: Any, examples: Arguments | None) -> dict[str, Any]:
    """The example arguments by name."""
    return dict(_signature(module).bind_partial(*examples[0], **examples[1]).arguments) if examples is not None else {}


def _tensors(value: Any) -> list[Any]:
    import torch

    return [t for t in torch.utils._pytree.tree_leaves(value) if isinstance(t, torch.Tensor)]


def names(module: Any) -> list[str]:
    """Names of the arguments of a module's forward that can be given by position."""
    return [n for n, p in _signature(module).parameters.items()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _signature(module: Any) -> inspect.Signature:
    return inspect.signature(module.forward)


def _whole(parts: list[str], module: Any, examples: Arguments | None) -> Arguments:
    """Arguments by name; those that are not named stay as they were in the example."""
    made: dict[str, Any] = {}
    kept = _held(module, examples)
    for part in parts:
        match, number = _WHOLE.match(part), _NUMBER.match(part)
        found = match or number
        assert found is not None
        value = _tensor(match[2], match[3], part) if match else _number(found[2])
        name, *keys = found[1].split(".")
        try:
            made[name] = put(made.get(name, kept.get(name)), keys, value)
        except LookupError as error:
            raise _refusal(str(error.args[0]), part) from error
    signature = _signature(module)
    free = any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in signature.parameters.values())
    unknown = [n for n in made if n not in signature.parameters]
    if unknown and not free:
        raise _refusal(f"forward has no argument {', '.join(unknown)}", "; ".join(parts),
                       f"; the arguments are {', '.join(signature.parameters)}")
    if unknown:  # a function that takes what comes, in the order that was written
        return tuple(made.values()), {}
    bound = signature.bind_partial()
    bound.arguments.update({n: made.get(n, kept.get(n)) for n in signature.parameters if n in made or n in kept})
    return bound.args, bound.kwargs


def _number(text: str) -> bool | int | float | None:
    if text in ("True", "False", "None"):
        return {"True": True, "False": False}.get(text)
    return int(text) if re.fullmatch(r"-?\d+", text) else float(text)


def _tensor(dtype: str, shape: str, part: str) -> Any:
    import torch

    found = getattr(torch, _SHORT.get(dtype, dtype), None)
    if not isinstance(found, torch.dtype) or str(found).removeprefix("torch.") not in ITEM_BITS:
        raise _refusal(f"not a dtype: {dtype}", part, f"; dtypes are {', '.join(sorted(ITEM_BITS)[:40])}")
    return torch.empty([int(n) for n in shape.replace(" ", "").split(",") if n], dtype=found, device="meta")


def _resized(args: Any, kwargs: Any, name: str, axis: int | None, size: int, module: Any, part: str) -> Arguments:
    import torch

    if size < 1:
        raise _refusal("a size is 1 or more", part)
    arguments = dict(_signature(module).bind_partial(*args, **kwargs).arguments)
    leaves = torch.utils._pytree.tree_leaves
    if axis is None and name in _SYMBOLS and name not in arguments:
        axis = _SYMBOLS[name]
        able = [t for t in leaves(arguments) if isinstance(t, torch.Tensor) and t.dim() > axis
                and (axis == 0 or t.dim() > 2 or not t.is_floating_point())]
        if not able:
            raise _refusal(f"no input has a dimension for {name}", part)
        chosen = {id(t) for t in able if t.shape[axis] == able[0].shape[axis]}
        return _changed((args, kwargs), lambda t: id(t) in chosen, axis, size)
    root, *keys = name.split(".")
    tensors = _tensors(at(arguments.get(root), keys))
    if axis is None or not tensors:
        raise _refusal("no such argument or axis", part, f"; the arguments are {', '.join(arguments)}")
    if any(t.dim() <= axis for t in tensors):
        raise _refusal(f"{name} has no axis {axis}", part)
    return _changed((args, kwargs), lambda t: any(t is one for one in tensors), axis, size)


def _changed(arguments: Arguments, chosen: Callable[[Any], bool], axis: int, size: int) -> Arguments:
    """The arguments with another size of `axis` in the tensors that are chosen."""
    import torch

    def change(tensor: Any) -> Any:
        if not chosen(tensor):
            return tensor
        shape = [size if place == axis else n for place, n in enumerate(tensor.shape)]
        return torch.empty(shape, dtype=tensor.dtype, device="meta")

    made: Arguments = torch.utils._pytree.tree_map_only(torch.Tensor, change, arguments)
    return made


def _refusal(message: str, part: str, more: str = "") -> EnlistError:
    return EnlistError("bad_input", message, given=repr(part), allowed=_ALLOWED + more, fix="correct --input")
