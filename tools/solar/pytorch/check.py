"""A second count of a model's work, by another route than `capture` and `bounds`.

The model is really called, on meta tensors, under a dispatch mode that sees the operators eager PyTorch would launch.
FLOP come from torch's own formulas (`torch.utils.flop_counter`), corrected where those are known to be off: causal
attention is scaled by its unmasked pairs, counted row by row; convolutions by the share of taps that fall inside, got
by convolving ones with ones; matrix-vector products, which torch leaves out, are two FLOP per matrix element. Bytes
come from the parameters, inputs and outputs themselves.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any, Literal

from enlist.tools.runtime.tool import ToolModel
from enlist.tools.solar.pytorch.load import Loaded, load_model, user_code
from enlist.tools.solar.pytorch.recorder import Recorder
from enlist.tools.solar.pytorch.watch import recording, redirected

Family = Literal["matmul", "convolution", "attention", "other"]


class Launch(ToolModel):
    """`count` launches of the same operator on the same sizes; `bytes` are read and written, each
    input storage once."""

    op: str
    family: Family
    dtype: str
    flop: int
    bytes: int
    count: int


class Count(ToolModel):
    """The totals; FLOP of matrix products, convolutions and attention only. Attention is one launch, whatever it does
    inside."""

    target: str
    matmul_flop: int
    convolution_flop: int
    attention_flop: int
    parameter_bytes: int
    input_bytes: int
    output_bytes: int
    launches: tuple[Launch, ...]


def count(path: Path, target: str | None = None, name: str | None = None, inputs: str | None = None) -> Count:
    """Count the work of one forward pass, on other `inputs` where they are given.

    Raises as `load_model` does; `tool_failed` where forward raises.
    """
    import torch

    name = name or path.name
    loaded = load_model(path, target, name, inputs)
    recorder = _recorder()
    apart = Recorder()  # it knows small constants, and makes every tensor on the meta device
    with (user_code(name, "in forward"), torch.compiler.set_stance("force_eager"), torch.no_grad(),
          redirected("meta", apart.values), recording(apart), recorder.watch()):
        output = loaded.module(*loaded.args, **loaded.kwargs)
    return _totals(loaded, recorder.launches, output, name)


def _totals(loaded: Loaded, launches: "Counter[tuple[str, Family, str, int, int]]", output: Any, name: str) -> Count:
    import torch

    leaves = torch.utils._pytree.tree_leaves
    flop: Counter[str] = Counter()
    for (_, family, _, n, _), times in launches.items():
        flop[family] += n * times
    held = [*loaded.module.parameters(), *loaded.module.buffers()]
    return Count(
        target=f"{name}:{loaded.name}", matmul_flop=flop["matmul"], convolution_flop=flop["convolution"],
        attention_flop=flop["attention"], parameter_bytes=_bytes(held),
        input_bytes=_bytes(leaves((loaded.args, loaded.kwargs))), output_bytes=_bytes(leaves(output)),
        launches=tuple(Launch(op=op, family=family, dtype=dtype, flop=n, bytes=size, count=times)
                       for (op, family, dtype, n, size), times in launches.items()))


def _bytes(values: Any) -> int:
    """Bytes of the tensors among `values`, each storage once and at most whole."""
    sizes: dict[int, int] = {}
    for t in values:
        if hasattr(t, "untyped_storage"):
            distinct = prod(n for n, s in zip(t.shape, t.stride(), strict=True) if s) * t.element_size()
            key = t.untyped_storage()._cdata
            sizes[key] = min(sizes.get(key, 0) + distinct, t.untyped_storage().nbytes())
    return sum(sizes.values())


def _recorder() -> Any:
    """A dispatch mode with `launches`, and `watch()`, the context in which the model is called."""
    import torch
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import TorchDispatchMode
    from torch.utils.flop_counter import flop_registry

    attention = torch.nn.functional.scaled_dot_product_attention

    class Dispatched(TorchDispatchMode):
        """Counts what is launched."""

        def __init__(self) -> None:
            super().__init__()
            self.launches: Counter[tuple[str, Family, str, int, int]] = Counter()
            self.inside = 0.0  # the unmasked share of the pairs of the attention that is running, 0 outside of any
            self.inner_flop = 0

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            out = func(*args, **(kwargs or {}))
            packet = func.overloadpacket
            flop = int(flop_registry[packet](*args, **(kwargs or {}), out_val=out)) if packet in flop_registry else 0
            name = packet.__name__
            if name in ("mv", "dot", "addmv"):
                flop = 2 * args[1 if name == "addmv" else 0].numel()
            if name == "convolution" and flop:
                flop = round(flop * _taps_inside(args, out))
            if self.inside:
                self.inner_flop += flop
            elif not func.is_view and name not in ("_unsafe_view", "detach", "alias", "lift_fresh"):
                family: Family = "convolution" if name == "convolution" else "matmul" if flop else "other"
                self.record(name, family, flop, args, kwargs, out)
            return out

        def record(self, name: str, family: Family, flop: int, args: Any, kwargs: Any, out: Any) -> None:
            read = [t for t in torch.utils._pytree.tree_leaves((args, kwargs)) if isinstance(t, torch.Tensor)]
            written = _bytes(torch.utils._pytree.tree_leaves(out))
            dtype = str(read[0].dtype).removeprefix("torch.") if read else "none"
            size = _bytes(read) + written  # apart: an operator in place reads and writes the same storage
            if name == "embedding":  # of the table only the rows that are looked up, taken as different
                size = _bytes(read[1:]) + min(_bytes(read[:1]), written) + written
            self.launches[(name, family, dtype, flop, size)] += 1

    class Watched(TorchFunctionMode):
        """Sees attention from outside, with its arguments."""

        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is not attention:
                return func(*args, **(kwargs or {}))
            given = dict(zip(("query", "key", "value", "attn_mask", "dropout_p", "is_causal"), args, strict=False))
            given |= kwargs or {}
            queries, keys = given["query"].shape[-2], given["key"].shape[-2]
            rows = sum(min(i + 1, keys) for i in range(queries)) if given.get("is_causal") else queries * keys
            seen.inside, seen.inner_flop = rows / max(1, queries * keys), 0
            try:
                out = func(*args, **(kwargs or {}))
                flop = round(seen.inner_flop * seen.inside)
            finally:
                seen.inside = 0.0
            operands = [given[k] for k in ("query", "key", "value", "attn_mask") if given.get(k) is not None]
            seen.record("scaled_dot_product_attention", "attention", flop, operands, None, out)
            return out

    seen = Dispatched()

    @contextmanager
    def watch() -> Iterator[None]:
        with Watched(), seen:
            yield

    seen.watch = watch  # type: ignore[attr-defined]
    return seen


def _taps_inside(args: Any, out: Any) -> float:
    """The share of a convolution's taps that do not fall on padding, by convolving ones with ones per dimension."""
    import torch

    source, weight, _, stride, padding, dilation, turned, _, _ = args[:9]
    share = 1.0
    with torch.device("cpu"):
        for d in range(weight.dim() - 2):
            inner, outer = source.shape[2 + d], out.shape[2 + d]
            length, windows = (outer, inner) if turned else (inner, outer)
            kernel, at = weight.shape[2 + d], (lambda values, d=d: values[d] if len(values) > 1 else values[0])
            need = (windows - 1) * at(stride) + (kernel - 1) * at(dilation) + 1
            line = torch.zeros(1, 1, need, dtype=torch.float64)
            line[..., at(padding):at(padding) + length] = 1
            taps = torch.ones(1, 1, kernel, dtype=torch.float64)
            hits = torch.nn.functional.conv1d(line, taps, stride=at(stride), dilation=at(dilation))
            share *= float(hits.sum()) / (windows * kernel)
    return share
