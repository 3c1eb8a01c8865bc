"""FlexAttention as attention whose mask is a function of positions.

The mask is evaluated for all positions of a head on the CPU, where that is small. No mask and the causal one make it
plain attention; with any other it is an operator of its own that says how many pairs are seen.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Any

from enlist.tools.solar.pytorch.recorder import Recorder
from enlist.tools.solar.rules.structure import VISIBLE

_MOST_POSITIONS = 1 << 26


@contextmanager
def flex_on_meta() -> Iterator[None]:
    """`flex_attention` refuses the meta device by name; here it does not."""
    module: Any = sys.modules.get("torch.nn.attention.flex_attention")
    if module is None:
        yield
        return
    before = module._validate_device
    module._validate_device = lambda *tensors: None
    try:
        yield
    finally:
        module._validate_device = before


def flex_attention(recorder: Recorder, query: Any, key: Any, value: Any, score_mod: Any, block_mask: Any, scale: Any,
                   kernel_options: Any, *more: Any) -> Any:
    """Output, and log-sum-exp and maxima of the scores, as the higher-order operator returns them."""
    import torch

    queries, keys = query.shape[-2], key.shape[-2]
    seen = _seen(block_mask[-1], queries, keys)
    visible, causal = seen or (0, False)
    begun = len(recorder.nodes)
    out = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, scale=scale, is_causal=causal, enable_gqa=query.shape[-3] != key.shape[-3])
    if not causal and visible < queries * keys:
        told = f"lets {visible} of {queries * keys} pairs of a head through" if seen else "is not known without data"
        recorder.choices.append(f"flex_attention: its mask {told}")
        for place in range(begun, len(recorder.nodes)):
            node = recorder.nodes[place]
            if node.op == "scaled_dot_product_attention":
                pairs = {VISIBLE: visible * prod(query.shape[:-2])}
                recorder.nodes[place] = node.model_copy(update={
                    "op": "flex_attention", "attributes": node.attributes | pairs})
    rows = query.new_empty(query.shape[:-1], dtype=torch.float32)
    return out, rows, rows


def _seen(mask_mod: Any, queries: int, keys: int) -> tuple[int, bool] | None:
    """Pairs of one head that a mask lets through, and whether it is the causal one; None where that is not known."""
    import torch
    from torch.utils._python_dispatch import _disable_current_modes

    if getattr(mask_mod, "__name__", "") == "noop_mask":
        return queries * keys, False
    if queries * keys > _MOST_POSITIONS:
        return None
    with _disable_current_modes(), torch._C.DisableTorchFunction(), torch.no_grad():
        try:
            rows, columns = torch.arange(queries)[:, None], torch.arange(keys)[None]
            kept = mask_mod(torch.tensor(0), torch.tensor(0), rows, columns).expand(queries, keys)
            return int(kept.sum()), bool((kept == (rows >= columns)).all())
        except Exception:  # it reads tensors that have no data
            return None
