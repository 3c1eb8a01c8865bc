"""Shapes of operators that have no kernel for meta tensors, found by running them once on the CPU.

Their inputs are made of zeros, or of their values where those are known, and only where they are small; operators whose
output shapes depend on values are left alone.
"""

import re
from typing import Any

_MOST_BYTES = 256 << 20


def no_kernel(error: BaseException) -> str:
    """The operator that has no kernel for meta tensors, "" where that is not what was raised."""
    text = str(error)
    found = re.search(r"Could not run '([^']+)' .*'Meta' backend|([\w:.]+): (?:attempted to run this operator with "
                      r"Meta|We could not find the fake impl)|no attribute '(fake_device)'", text)
    return next((g for g in found.groups() if g), "") if found else ""


def by_values(operator: str) -> bool:
    """Whether the shapes that an operator ("aten::_unique2") makes depend on values."""
    import torch

    space, _, name = operator.partition("::")
    packet = getattr(getattr(torch.ops, space), name.partition(".")[0], None)
    overloads = packet.overloads() if packet is not None else []
    return any(torch.Tag.dynamic_output_shape in getattr(packet, o).tags for o in overloads)


def tried(func: Any, args: Any, kwargs: Any, known: Any) -> Any:
    """The operator's result on the CPU, None where it cannot be had; `known` gives a tensor's values or None."""
    import torch
    from torch.utils._python_dispatch import _disable_current_modes

    if func._schema.name == "aten::_weight_int4pack_mm":  # its meta kernel asks for a fake tensor: n / 8 x ... packed
        return torch.empty((args[0].shape[0], args[1].shape[0] * 8), dtype=args[0].dtype, device="meta")
    if torch.Tag.dynamic_output_shape in func.tags or torch.Tag.data_dependent_output in func.tags:
        return None
    if func._schema.name in ("aten::nonzero", "aten::_local_scalar_dense", "aten::masked_select", "aten::equal"):
        return None
    leaves = [t for t in torch.utils._pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
    if not leaves or sum(t.numel() * t.element_size() for t in leaves) > _MOST_BYTES:
        return None

    def real(tensor: Any) -> Any:
        value = known(tensor)
        return value if value is not None else torch.zeros(tensor.shape, dtype=tensor.dtype, device="cpu")

    with _disable_current_modes(), torch.no_grad():
        try:
            placed = torch.utils._pytree.tree_map_only(torch.device, lambda _: torch.device("cpu"), (args, kwargs))
            given = torch.utils._pytree.tree_map_only(torch.Tensor, real, placed)
            made = func(*given[0], **given[1])
            strided = all(t.layout == torch.strided for t in torch.utils._pytree.tree_leaves(made)
                          if isinstance(t, torch.Tensor))
            return torch.utils._pytree.tree_map_only(torch.Tensor, lambda t: torch.empty_strided(
                t.shape, t.stride(), dtype=t.dtype, device="meta"), made) if strided else None
        except Exception:  # it does not run on the CPU either, or not on zeros
            return None
