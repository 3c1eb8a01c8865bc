"""Attention as one operator with one backward operator, since its kernels differ by device and shape.

With gradients on, PyTorch takes attention apart on meta tensors into products and a softmax whose probabilities it
saves; no implementation that a bound must respect does so. What it saves are queries, keys and values.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from enlist.tools.solar.pytorch.recorder import Given, Recorder


@contextmanager
def whole_attention(recorder: Recorder) -> Iterator[None]:
    """`scaled_dot_product_attention` of tensors that want gradients is one node, and one in the backward pass."""
    import torch
    from torch.overrides import TorchFunctionMode
    from torch.utils._python_dispatch import _disable_current_modes

    attention = torch.nn.functional.scaled_dot_product_attention

    def given(operands: dict[str, Any], options: dict[str, Any]) -> Given:
        return Given(list(operands.values()), list(operands), [recorder.id_of(t) for t in operands.values()], options)

    class Attention(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, options: dict[str, Any], slots: list[str], *tensors: Any) -> Any:
            ctx.options, ctx.slots = options, slots
            ctx.save_for_backward(*tensors)
            operands = dict(zip(slots, tensors, strict=True))
            query, value = operands["query"], operands["value"]
            with _disable_current_modes():
                out = torch.empty((*query.shape[:-1], value.shape[-1]), dtype=query.dtype, device="meta")
            recorder.emit("scaled_dot_product_attention", given(operands, options), [out])
            return out

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            operands = dict(zip(ctx.slots, ctx.saved_tensors, strict=True))
            wanted = [s for s, needed in zip(ctx.slots, ctx.needs_input_grad[2:], strict=True) if needed]
            with _disable_current_modes():
                made = {s: torch.empty(operands[s].shape, dtype=operands[s].dtype, device="meta") for s in wanted}
            recorder.emit("scaled_dot_product_attention_backward", given({"grad": gradient, **operands}, ctx.options),
                          list(made.values()))
            return None, None, *(made.get(s) for s in ctx.slots)

    class Whole(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is not attention or not torch.is_grad_enabled():
                return func(*args, **(kwargs or {}))
            names = ("query", "key", "value", "attn_mask", "dropout_p", "is_causal")
            named = dict(zip(names, args, strict=False)) | (kwargs or {})
            operands = {k: v for k, v in named.items() if isinstance(v, torch.Tensor)}
            if not any(t.requires_grad for t in operands.values()):
                return func(*args, **(kwargs or {}))
            options = {k: v for k, v in named.items() if k not in operands}
            return Attention.apply(options, list(operands), *operands.values())

    with Whole():
        yield
