"""Structure of example inputs and constants, seen while they are made: nothing is allocated to look at values.

A dispatch mode watches the operators that construct them (`triu`, `zeros`, `eye`, a mask of `tril(ones)`), and keeps
for each storage what `rules.structure` says of it. What was made elsewhere (loaded, drawn by NumPy) is dense.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from enlist.tools.solar.rules.structure import derived

ASSUMED = "assumed from example"


class Seen:
    """Tags by storage and shape; storages are held so that their addresses stay theirs."""

    def __init__(self) -> None:
        self._tags: dict[int, tuple[str, Any]] = {}

    def of(self, tensor: Any) -> str:
        found = self._tags.get(tensor.untyped_storage()._cdata)
        return found[0] if found else "dense"

    def note(self, tensor: Any, tag: str) -> None:
        storage = tensor.untyped_storage()
        if tag == "dense":
            self._tags.pop(storage._cdata, None)
        else:
            self._tags[storage._cdata] = (tag, storage)

    def carry(self, source: Any, made: Any) -> None:
        """What is known of `source` holds for `made`, a copy of it."""
        self.note(made, self.of(source))


@contextmanager
def watching(seen: Seen) -> Iterator[None]:
    """Watch the construction of tensors."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    class Watch(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            tensors = [a for a in args if isinstance(a, torch.Tensor)]
            name = func.overloadpacket.__name__
            if isinstance(out, torch.Tensor) and tensors and name.endswith("_") and not name.startswith("_"):
                seen.note(out, "zero" if name == "zero_" else "dense")  # written in place: random fills and the like
            elif isinstance(out, torch.Tensor):
                attributes = {a.name: v for a, v in zip(func._schema.arguments, args, strict=False)
                              if not isinstance(v, torch.Tensor)} | (kwargs or {})
                tags = [seen.of(t) for t in tensors]
                tag = derived(name, tags, attributes, [t.shape for t in tensors], out.shape)
                if tag != "dense" or not func.is_view:
                    seen.note(out, tag)
            return out

    with Watch():
        yield
