"""Values of small tensors that a model makes from constants, kept beside their meta tensors.

`torch.arange(4)`, `torch.tensor([...])` and what is computed of them alone are known although the run has no data. With
them `.item()`, `if`, `tolist()` and indexing with constants work as in eager PyTorch, so only what depends on inputs or
weights is data-dependent. Tensors with more than `MOST` elements are not kept.
"""

from typing import Any

MOST = 4096
_MADE = frozenset(("arange", "zeros", "ones", "full", "eye", "linspace", "logspace", "scalar_tensor", "tril_indices",
                   "triu_indices", "hann_window", "hamming_window"))


class Values:
    """Real tensors on the CPU by the memory of their meta tensors."""

    def __init__(self) -> None:
        self._of: dict[int, dict[Any, Any]] = {}

    def of(self, tensor: Any) -> Any:
        """The real tensor, None where it is not known."""
        if tensor.device.type != "meta":
            return tensor if tensor.numel() <= MOST else None
        return self._of.get(tensor.untyped_storage()._cdata, {}).get(_place(tensor))

    def note(self, tensor: Any, value: Any) -> None:
        if value.numel() <= MOST and value.shape == tensor.shape:
            self._of.setdefault(tensor.untyped_storage()._cdata, {})[_place(tensor)] = value

    def copy(self) -> "Values":
        """The same values; what is written into one is not seen in the other."""
        from torch.utils._python_dispatch import _disable_current_modes

        made = Values()
        with _disable_current_modes():
            made._of = {storage: {place: value.clone() for place, value in known.items()} for storage, known in
                        self._of.items()}
        return made

    def forget(self, tensor: Any) -> None:
        """Something unknown was written into the tensor's storage."""
        self._of.pop(tensor.untyped_storage()._cdata, None)

    def follow(self, op: str, func: Any, args: Any, kwargs: Any, seeded: bool) -> Any:
        """The operator's result on real values, where they are all known; None where not."""
        import torch

        flat, tree = torch.utils._pytree.tree_flatten((args, kwargs))
        given = [t for t in flat if isinstance(t, torch.Tensor)]
        if seeded or (not given and op not in _MADE) or (not self._of and given and all(
                t.device.type == "meta" for t in given)):
            return None
        real = [self.of(t) if isinstance(t, torch.Tensor) else
                torch.device("cpu") if isinstance(t, torch.device) else t for t in flat]
        if any(r is None and isinstance(t, torch.Tensor) for r, t in zip(real, flat, strict=True)):
            return None
        args, kwargs = torch.utils._pytree.tree_unflatten(real, tree)
        try:
            return func(*args, **kwargs)
        except Exception:  # the run on meta tensors has said, or will say, what is wrong
            return None


def _place(tensor: Any) -> Any:
    return (tensor.storage_offset(), tensor.shape, tensor.stride(), tensor.dtype)
