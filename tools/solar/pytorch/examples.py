"""Structure of example inputs and constants, told by how they are made: nothing is allocated to look at values.

The construction of a model and its inputs is recorded as its call is (`triu`, `zeros`, `eye`, a mask of `tril(ones)`),
and `rules.structure` says what each operator makes of it. Tensors that had to be made on the CPU are looked at where
they are small; what was loaded or drawn by NumPy is dense. Parameters have no structure, however they begin: training
changes them. Nor have buffers that begin as zeros or equal numbers, which are states, or integers that are zero, which
stand for identifiers.
"""

from typing import Any

from enlist.tools.solar.pytorch.recorder import Recorder
from enlist.tools.solar.rules.masks import MASKED
from enlist.tools.solar.rules.structure import derived

ASSUMED = "assumed from example"
_LARGEST = 1 << 20
"""Elements of a tensor on the CPU that is looked at."""
_SHAPES = {"upper": "upper", "lower": "lower", "diagonal": "diagonal", "not lower": "upper", "not upper": "lower",
           "masked upper": "masked upper", "masked lower": "masked lower"}


class Seen:
    """What is known of tensors that a construction made."""

    def __init__(self) -> None:
        self.recorder = Recorder()
        self._tags: dict[str, str] = {}
        self._looked: dict[int, tuple[str, Any]] = {}  # by storage, which is held so that its address stays its own
        self._spans: dict[int, list[tuple[int, int]]] = {}  # first byte and end of what is known to see a storage

    def of(self, tensor: Any, role: str) -> str:
        """ "upper", "lower", "diagonal" or a mask of minus infinity of an input or a buffer, "zero" of an input, else
        "dense"."""
        tag = self._tag(tensor)
        if tag == "zero" and role == "input" and (tensor.is_floating_point() or tensor.is_complex()):
            return tag
        return _SHAPES.get(tag, "dense") if tensor.dim() >= 2 else "dense"

    def _tag(self, tensor: Any) -> str:
        looked = self._looked.get(tensor.untyped_storage()._cdata)
        if looked is not None:
            return looked[0]
        if (real := self.recorder.real(tensor)) is not None:
            return _looks(real) if real.numel() <= _LARGEST else "dense"
        return self._recorded().get(self.recorder.id_of(tensor), "dense") if self.recorder.known(tensor) else "dense"

    def hold(self, tensors: list[Any]) -> None:
        """Take in every tensor that the call can reach, so that `moved` knows which share bytes."""
        for tensor in tensors:
            if (span := _span(tensor)) is not None:
                self._spans.setdefault(tensor.untyped_storage()._cdata, []).append(span)

    def look(self, tensors: list[Any]) -> None:
        """Look at the values of those that are on the CPU and small."""
        import torch

        for tensor in tensors:
            if isinstance(tensor, torch.Tensor) and tensor.device.type == "cpu" and tensor.numel() <= _LARGEST:
                self._looked[tensor.untyped_storage()._cdata] = (_looks(tensor), tensor.untyped_storage())

    def moved(self, tensor: Any) -> Any:
        """The tensor on the meta device, with what is known of it. One that was made in a piece with others and has no
        byte in common with any (`torch.randn(2, ...).unbind()`) gets a storage of its own."""
        import torch

        span, held = _span(tensor), self._spans.get(tensor.untyped_storage()._cdata, [])
        if span is not None and len(held) > 1 and sum(a < span[1] and span[0] < b for a, b in held) == 1:
            made = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device="meta")
            self._looked[made.untyped_storage()._cdata] = (self._tag(tensor), made.untyped_storage())
            return made
        made = tensor.detach().to("meta")
        looked = self._looked.get(tensor.untyped_storage()._cdata)
        if looked is not None:
            self._looked[made.untyped_storage()._cdata] = (looked[0], made.untyped_storage())
        return made

    def _recorded(self) -> dict[str, str]:
        """Tags of everything that was recorded."""
        if not self._tags:
            tensors = self.recorder.tensors
            for node in self.recorder.nodes:
                tags = [self._tags.get(t, "dense") for t in node.inputs]
                shapes = [tensors[t].shape for t in node.inputs]
                for output in node.outputs[:1]:
                    self._tags[output] = derived(node.op, tags, node.attributes, shapes, tensors[output].shape)
        return self._tags


def _span(tensor: Any) -> tuple[int, int] | None:
    """The bytes of its storage between which a plain tensor on the meta device lies; None for any other."""
    import torch

    if not isinstance(tensor, torch.Tensor) or tensor.layout != torch.strided or tensor.device.type != "meta" or (
            not tensor.numel() or tensor.is_conj() or tensor.is_neg()):
        return None
    last = int(sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True)))
    first, size = int(tensor.storage_offset()), tensor.element_size()
    return first * size, (first + last + 1) * size


def _looks(tensor: Any) -> str:
    import torch

    if tensor.is_complex() or tensor.numel() == 0 or tensor.layout != torch.strided:
        return "dense"
    if not bool((tensor != 0).any()):
        return "zero"
    if tensor.dim() < 2 or min(tensor.shape[-2:]) < 2:
        return "dense"
    rows, columns = tensor.shape[-2:]
    below = torch.ones(rows, columns, dtype=torch.bool).tril(-1)
    above = torch.ones(rows, columns, dtype=torch.bool).triu(1)
    if tensor.is_floating_point() and (tensor <= MASKED).any():
        hidden = (tensor <= MASKED).all(dim=tuple(range(tensor.dim() - 2))) if tensor.dim() > 2 else tensor <= MASKED
        return "masked lower" if bool(hidden[above].all()) else "masked upper" if bool(hidden[below].all()) else "dense"
    low, high = bool((tensor != 0)[..., below].any()), bool((tensor != 0)[..., above].any())
    return {(False, False): "diagonal", (False, True): "upper", (True, False): "lower"}.get((low, high), "dense")
