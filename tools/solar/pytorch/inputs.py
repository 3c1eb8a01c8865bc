"""Other inputs than those of get_inputs: whole specifications, or single sizes.

"x=float32[16,1024];ids=int64[16,512]" names every argument; "batch=8" and "length=128" change the first and second
dimension wherever a tensor shares it with the first one that has it (a length is the second dimension of token ids, or
of tensors with three dimensions and more); "x[2]=64" changes one axis of one argument. Nothing is
allocated: tensors are made on the meta device.
"""

import inspect
import re
from typing import Any

from enlist.tools.runtime.errors import EnlistError

_WHOLE = re.compile(r"(\w+)\s*=\s*(?:torch\.)?(\w+)\s*\[\s*([\d\s,]*)\]$")
_SIZE = re.compile(r"(\w+)(?:\[(\d+)\])?\s*=\s*(\d+)$")
_SHORT = {"fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "fp64": "float64", "f32": "float32",
          "f16": "float16", "i64": "int64", "i32": "int32", "float": "float32", "long": "int64", "int": "int32",
          "half": "float16", "double": "float64", "fp8": "float8_e4m3fn"}
_ALLOWED = "x=float32[16,1024] for each argument, or batch=8, length=128, x[2]=64; several are parted by semicolons"


def given(spec: str, module: Any, args: tuple[Any, ...] | None) -> tuple[Any, ...]:
    """The positional arguments that `spec` describes, changed from `args` where it gives sizes only.

    Raises `bad_input` for a specification that cannot be read, and for a size that no argument has.
    """
    parts = [p.strip() for p in spec.split(";") if p.strip()]
    if parts and all(_WHOLE.match(p) for p in parts):
        return _whole(parts, module)
    made = args
    for part in parts:
        found = _SIZE.match(part)
        if not found:
            raise _refusal("an input specification cannot be read", part)
        if made is None:
            raise _refusal("a size alone needs inputs to change, and there is no get_inputs()", part)
        made = _resized(made, found[1], int(found[2]) if found[2] else None, int(found[3]), module, part)
    if made is None or not parts:
        raise _refusal("an input specification is empty", spec)
    return made


def names(module: Any) -> list[str]:
    """Names of the positional arguments of a module's forward."""
    return [n for n, p in inspect.signature(module.forward).parameters.items()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


def _whole(parts: list[str], module: Any) -> tuple[Any, ...]:
    import torch

    made: dict[str, Any] = {}
    for part in parts:
        match = _WHOLE.match(part)
        assert match
        dtype = getattr(torch, _SHORT.get(match[2], match[2]), None)
        if not isinstance(dtype, torch.dtype):
            raise _refusal(f"not a dtype: {match[2]}", part)
        sizes = [int(n) for n in match[3].replace(" ", "").split(",") if n]
        made[match[1]] = torch.empty(sizes, dtype=dtype, device="meta")
    order = names(module)
    if set(made) <= set(order):
        return tuple(made[n] for n in order if n in made)
    return tuple(made.values())  # a wrapped function takes what comes, in the order that was written


def _resized(args: tuple[Any, ...], name: str, axis: int | None, size: int, module: Any, part: str) -> tuple[Any, ...]:
    import torch

    if size < 1:
        raise _refusal("a size is 1 or more", part)
    tensors = [a for a in args if isinstance(a, torch.Tensor) and a.dim() > 0]
    which = {"batch": 0, "length": 1}.get(name)
    order = names(module)
    if axis is None and which is not None and name not in order:
        able = [t for t in tensors if which == 0 or t.dim() > 2 or (t.dim() == 2 and not t.is_floating_point())]
        if not able:
            raise _refusal(f"no input has a dimension for {name}", part)
        shared = able[0].shape[which]
        return tuple(_with(a, which, size) if isinstance(a, torch.Tensor) and any(a is t for t in able)
                     and a.shape[which] == shared else a for a in args)
    if axis is None or name not in order or order.index(name) >= len(args):
        raise _refusal("no such argument or axis", part, f"; the arguments are {', '.join(order)}")
    place = order.index(name)
    if not isinstance(args[place], torch.Tensor) or args[place].dim() <= axis:
        raise _refusal(f"{name} has no axis {axis}", part)
    return (*args[:place], _with(args[place], axis, size), *args[place + 1:])


def _with(tensor: Any, axis: int, size: int) -> Any:
    import torch

    shape = list(tensor.shape)
    shape[axis] = size
    return torch.empty(shape, dtype=tensor.dtype, device="meta")


def _refusal(message: str, part: str, more: str = "") -> EnlistError:
    return EnlistError("bad_input", message, given=repr(part), allowed=_ALLOWED + more, fix="correct --input")
