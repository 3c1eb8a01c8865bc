"""Attention as one operator: the pairs of a query and a key that its mask lets through.

For each pair two products (query by key, weight by value), three FLOP (greatest, difference, sum) and one exponential.
The backward pass has four products per pair if the weights of the forward pass are kept (Dao, FlashAttention-2, section
2.3, computes them again, which is a choice). Causal masks are aligned at the top left, as `is_causal` of PyTorch's
function says, or at the bottom right, as the kernels of flash attention have it; windows are counted row by row. No
nests: the scores need not reach memory, so bounds for products whose results are stored do not hold.
"""

from math import prod

from enlist.tools.solar.graph import Tensor
from enlist.tools.solar.rules.extent import causal_pairs, seen_pairs
from enlist.tools.solar.rules.structure import VISIBLE
from enlist.tools.solar.work import Call, Rule, Work

_HEADS_FIRST = ("scaled_dot_product_attention", "_scaled_dot_product_flash_attention",
                "_scaled_dot_product_efficient_attention", "_scaled_dot_product_cudnn_attention",
                "_scaled_dot_product_flash_attention_for_cpu", "_scaled_dot_product_fused_attention_overrideable",
                "_scaled_dot_product_attention_math", "flex_attention")
"""Operators over (..., heads, positions, width)."""
_POSITIONS_FIRST = ("_flash_attention_forward", "_efficient_attention_forward")
"""Operators over (batch, positions, heads, width)."""
_CUMULATIVE = ("cum_seq_q", "cu_seqlens_q", "cum_seq_k", "cu_seqlens_k", "seqused_k")


def _operands(call: Call) -> tuple[Tensor, Tensor, Tensor] | None:
    query, key, value = call.tensor("query"), call.tensor("key"), call.tensor("value")
    return None if query is None or key is None or value is None or len(query.shape) < 2 else (query, key, value)


def _visible(call: Call, query: Tensor, queries: int, keys: int, heads: int) -> tuple[int, int, str]:
    """Pairs of all heads, keys that some query sees, and what made them fewer."""
    full = heads * queries * keys
    counted, mask = call.attribute(VISIBLE, None), call.tensor("attn_mask", "attn_bias")
    if counted is not None and call.node.op == "flex_attention":  # of all heads, zero where data decide
        return int(counted), min(keys, -(-int(counted) // max(1, heads * queries))), "mask of positions"
    if counted is not None and mask is not None:  # the mask broadcasts over the heads that it does not have
        each = heads // max(1, prod(mask.shape[:-2])) if mask.shape[-2:] == (queries, keys) else 0
        pairs = int(counted) * each or full
        return pairs, keys, "mask of positions" if pairs < full else ""
    if not (call.attribute("is_causal", False) or call.attribute("custom_mask_type", 0)):
        return full, keys, ""
    bottom = call.node.op.startswith("_flash_attention") or int(call.attribute("custom_mask_type", 0) or 0) == 2
    if bottom:
        left = call.attribute("window_size_left", None)
        pairs = seen_pairs(queries, keys, None if left is None or int(left) < 0 else int(left))
        return heads * pairs, keys, "causal half" if left is None else "causal window"
    first = int(call.attribute("first_query", 0))
    pairs = causal_pairs(first + queries, keys) - causal_pairs(first, keys)
    return heads * pairs, min(first + queries, keys), "causal half"


def _attention(call: Call) -> Work | None:
    operands = _operands(call)
    if operands is None or any(call.tensor(slot) is not None for slot in _CUMULATIVE):
        return None  # lengths of sequences are data
    query, key, value = operands
    turned = any(call.node.op.startswith(name.removesuffix("_forward")) for name in _POSITIONS_FIRST)
    at = -3 if turned else -2
    queries, keys = query.shape[at], key.shape[at]
    heads = query.elements // max(1, queries * query.shape[-1])
    pairs, seen, less = _visible(call, query, queries, keys, heads)
    reads: dict[str, int] = {}
    mask = call.tensor("attn_mask", "attn_bias")
    if mask is not None and mask.id in call.node.inputs and call.attribute(VISIBLE, None) is not None:
        reads[mask.id] = min(mask.distinct, int(call.attribute(VISIBLE, 0)))
    reads |= {t.id: t.distinct * seen // max(1, keys) for t in (key, value)} if seen < keys else {}
    if call.node.op.endswith("backward"):
        return Work("attention", matrix_flop=4 * pairs * (query.shape[-1] + value.shape[-1]), vector_flop=3 * pairs,
                    special=pairs, less=less, reads=reads, launches=2)
    return Work("attention", matrix_flop=2 * pairs * (query.shape[-1] + value.shape[-1]), vector_flop=3 * pairs,
                special=pairs, less=less, reads=reads)


def _multi_head(call: Call) -> Work | None:
    """Projections in, attention over all pairs, projection out, as inference runs a whole layer of heads."""
    query, key = call.tensor("query", "src"), call.tensor("key", "src")
    packed, out = call.tensor("qkv_weight"), call.tensor("proj_weight", "out_weight")
    if query is None or key is None or packed is None or out is None or len(query.shape) != 3:
        return None
    batch, queries, width = query.shape
    keys = key.shape[1]
    pairs = batch * int(call.attribute("num_head", call.attribute("num_heads", 1))) * queries * keys
    rows = batch * queries
    inside = sum(2 * rows * t.elements for s in ("ffn_weight_1", "ffn_weight_2") if (t := call.tensor(s)) is not None)
    return Work("matmul", matrix_flop=2 * rows * (packed.elements + out.elements) + 4 * batch * queries * keys * width
                + inside, vector_flop=3 * pairs, special=pairs)


RULES: dict[str, Rule] = {
    **{name + more: _attention for name in _HEADS_FIRST for more in ("", "_backward")},
    **{name.removesuffix("_forward") + more: _attention for name in _POSITIONS_FIRST for more in (
        "_forward", "_backward")},
    **dict.fromkeys(("_native_multi_head_attention", "_transformer_encoder_layer_fwd"), _multi_head)}
