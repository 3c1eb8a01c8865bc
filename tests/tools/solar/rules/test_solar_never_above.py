"""Small modules beside the best implementation of the stated class that we know, worked out by hand: no bound may ask
for more FLOP, special functions or DRAM bytes than that one needs.

What the class leaves out and what it computes is in docs/speed-of-light-derivation.md. A row says what the best
implementation does, and the figures follow from that by arithmetic; equality is not asked for, so rules may say less.
"""

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from enlist.tools.solar.graph import Graph
from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.pricing.bounds import bounds

HEAD = ("import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"
        "from torch._higher_order_ops.scan import scan\nfrom torch._higher_order_ops.while_loop import while_loop\n")
A, B = "torch.rand(4, 8)", "torch.rand(8, 6)"
SEQ, LINE, IMG = "torch.rand(2, 10, 8)", "torch.rand(2, 4, 12)", "torch.rand(2, 4, 9, 9)"
W8 = "self.l = nn.Linear(8, 6)"
HEADS = "torch.rand(2, 3, 10, 8), torch.rand(2, 3, 10, 8), torch.rand(2, 3, 10, 8)"
ONE = 2 * 3 * 8  # elements of one position of all heads
MM = 2 * 4 * 8 * 6
GATES = "top, sel = b.topk(2, dim=-1); y = torch.zeros(64, 4); "
EXPERT = "y = y + (a @ self.up[{e}]) * (top * (sel == {e})).sum(-1, keepdim=True); "


@dataclass(frozen=True)
class Row:
    """A forward pass over inputs a, b, c; and what the best implementation does: FLOP of matrix and vector units
    together, evaluations of special functions, four-byte words that cross DRAM."""

    name: str
    lines: str
    inputs: str
    flop: int
    words: float
    special: int = 0
    init: str = "pass"


ROWS = [
    # the product once, the sum, and each operand once
    Row("product_twice", "return a @ b + a @ b", f"{A}, {B}", MM + 24, 32 + 48 + 24),
    Row("layer_twice", "return self.l(a) * self.l(a)", A, MM + 24, 32 + 48 + 6 + 24, init=W8),
    Row("exp_twice", "return a.exp() + a.exp() * b", f"{A}, {A}", 2 * 32, 3 * 32, 32),
    # two outputs of the same values are written twice, made once
    Row("same_outputs", "return a @ b, a @ b", f"{A}, {B}", MM, 32 + 48 + 2 * 24),
    Row("same_views", "return a.t() @ b + a.transpose(0, 1) @ b", "torch.rand(8, 4), torch.rand(8, 6)", MM + 24, 104),
    Row("dead_product", "h = a @ b; return a + 1", f"{A}, {B}", 32, 64),
    Row("dead_tuple", "h, g = a @ b, a + 1; return g", f"{A}, {B}", 32, 64),
    # a column is a sum over one column of b
    Row("columns_of_product", "return (a @ b)[:, :2]", f"{A}, {B}", MM // 3, 32 + 16 + 8),
    Row("rows_of_product", "return (a @ b)[:1]", f"{A}, {B}", MM // 4, 8 + 48 + 6),
    Row("one_element_of_product", "return (a @ b)[0, 0]", f"{A}, {B}", 16, 8 + 8 + 1),
    Row("columns_after_relu", "return torch.relu(a @ b)[:, 2:4] * 2", f"{A}, {B}", MM // 3 + 16, 32 + 16 + 8),
    Row("columns_of_layer", "return self.l(a)[..., :2]", SEQ, 2 * 20 * 8 * 2, 160 + 16 + 2 + 40, init=W8),
    Row("last_token", "return self.l(F.layer_norm(a, (8,)))[:, -1]", SEQ, 2 * 2 * 8 * 6 + 5 * 16, 16 + 54 + 12, 2,
        init=W8),
    Row("one_batch", "return torch.bmm(a, b)[0]", "torch.rand(3, 4, 8), torch.rand(3, 8, 6)", MM, 32 + 48 + 24),
    Row("channels_of_conv", "return F.conv1d(a, b)[:, :2]", f"{LINE}, torch.rand(6, 4, 3)", 2 * 2 * 2 * 4 * 3 * 10,
        96 + 24 + 40),
    Row("part_of_conv", "return F.conv1d(a, b)[..., :2]", f"{LINE}, torch.rand(6, 4, 3)", 2 * 2 * 6 * 4 * 3 * 2,
        2 * 4 * 4 + 72 + 24),
    Row("inside_of_padded_conv", "return F.conv1d(a, b, padding=1)[..., 3:5]", f"{LINE}, torch.rand(6, 4, 3)",
        2 * 2 * 6 * 4 * 3 * 2, 2 * 4 * 4 + 72 + 24),
    Row("one_image_of_conv", "return F.conv2d(a, b)[:1]", f"{IMG}, torch.rand(3, 4, 3, 3)", 2 * 3 * 4 * 9 * 49,
        324 + 108 + 147),
    Row("last_query", "return F.scaled_dot_product_attention(a, b, c)[:, :, -1:]", HEADS, 6 * 10 * (4 * 8 + 3),
        ONE + 20 * ONE + ONE, 6 * 10),
    Row("first_queries_causal", "return F.scaled_dot_product_attention(a, b, c, is_causal=True)[:, :, :2]", HEADS,
        6 * 3 * 35, 2 * ONE + 4 * ONE + 2 * ONE, 6 * 3),
    Row("last_query_causal", "return F.scaled_dot_product_attention(a, b, c, is_causal=True)[:, :, 9]", HEADS,
        6 * 10 * 35, ONE + 20 * ONE + ONE, 6 * 10),
    Row("some_heads", "return F.scaled_dot_product_attention(a, b, c)[:, :1]", HEADS, 2 * 100 * 35, 4 * 160, 200),
    Row("width_of_attention", "return F.scaled_dot_product_attention(a, b, c)[..., :2]", HEADS,
        600 * (2 * 10 + 3), 480 * 2 + 120 + 120, 600),
    Row("last_of_written_attention", "return ((a @ b.mT).softmax(-1) @ c)[:, :, -1]", HEADS, 60 * (4 * 8 + 4),
        ONE + 20 * ONE + ONE, 66),
    # ids are eight bytes; one row of the table is sure
    Row("last_embedding", "return self.e(a)[:, -1]", "torch.zeros(2, 10, dtype=torch.int64)", 0, 4 + 8 + 16,
        init="self.e = nn.Embedding(30, 8)"),
    Row("columns_of_embedding", "return self.e(a)[..., :2]", "torch.zeros(2, 10, dtype=torch.int64)", 0, 40 + 2 + 40,
        init="self.e = nn.Embedding(30, 8)"),
    Row("rows_of_norm", "return F.layer_norm(a, (8,))[:1]", A, 5 * 8, 16, 1),
    Row("channels_of_batch_norm", "return F.batch_norm(a, b, c)[:, :1]", f"{IMG}, torch.rand(4), torch.rand(4)",
        2 * 162, 2 * 162 + 2),
    Row("part_of_pool", "return F.max_pool1d(a, 2)[..., :1]", LINE, 8, 16 + 8),
    Row("start_of_scan", "return a.cumsum(1)[:, :2]", A, 4, 8 + 8),
    Row("one_of_sums", "return a.sum(0)[:2]", A, 6, 8 + 2),
    Row("one_of_softmax", "return a.softmax(-1)[0]", A, 4 * 8, 16, 9),
    Row("part_of_cat", "return torch.cat([a.exp(), b.exp()], 1)[:, :8]", f"{A}, {A}", 0, 64, 32),
    Row("part_of_stack", "return torch.stack([a.exp(), b.exp()])[0]", f"{A}, {A}", 0, 64, 32),
    Row("inside_of_pad", "return F.pad(a.exp(), (2, 2))[:, 2:4]", A, 0, 8 + 8, 8),
    Row("part_through_views", "return (a @ b).view(2, 2, 3, 2)[:, 0].permute(1, 0, 2)[0]", f"{A}, {B}", 2 * 2 * 8 * 2,
        16 + 16 + 4),
    Row("chunk_of_layer", "q, k, v = self.l(a).chunk(3, -1); return q * k", SEQ, 2 * 20 * 8 * 4 + 40,
        160 + 32 + 4 + 40, init=W8),
    # each row of the expanded input is the same product
    Row("expanded_rows", "return a.expand(50, 8) @ b", f"torch.rand(1, 8), {B}", 2 * 8 * 6, 8 + 48 + 300),
    Row("expanded_batch", "return a.expand(5, 4, 8) @ b", f"{A}, {B}", MM, 32 + 48 + 120),
    Row("repeated_layers", "return torch.relu(self.l(self.l(a)))", A, 2 * 2 * 4 * 64 + 32, 32 + 64 + 32,
        init="self.l = nn.Linear(8, 8, bias=False)"),
    # values that are known
    Row("times_zeros", "return a * torch.zeros(4, 8)", A, 0, 32),
    Row("exp_times_zeros", "return a.exp() * torch.zeros(4, 8)", A, 0, 32),
    Row("product_with_zeros", "return (a @ torch.zeros(8, 6)) + b", f"{A}, torch.rand(4, 6)", 0, 48),
    Row("plus_zeros", "return a + torch.zeros(4, 8)", A, 0, 64),
    Row("residual_of_nothing", "return (a @ b) + torch.zeros(4, 6)", f"{A}, {B}", MM, 104),
    Row("times_ones", "return (a @ b) * torch.ones(4, 6)", f"{A}, {B}", MM, 104),
    Row("times_identity", "return a @ torch.eye(8)", A, 0, 64),
    Row("layer_of_identity", "return F.linear(a, torch.eye(8))", A, 0, 64),
    Row("dropout_of_nothing", "return F.dropout(a @ b, 0.0, True)", f"{A}, {B}", MM, 104),
    Row("dropout_of_all", "return F.dropout(a @ b, 1.0, True)", f"{A}, {B}", 0, 24),
    Row("plus_number_zero", "return (a @ b) + 0", f"{A}, {B}", MM, 104),
    Row("times_number_one", "return (a @ b) * 1.0", f"{A}, {B}", MM, 104),
    Row("times_number_zero", "return (a @ b) * 0.0", f"{A}, {B}", 0, 24),
    Row("softmax_of_one", "return a.softmax(-1)", "torch.rand(32, 1)", 0, 32),
    Row("softmax_of_one_times", "return (a @ b).softmax(1) * c", "torch.rand(4, 8), torch.rand(8, 1), torch.rand(4, 6)",
        0, 48),
    Row("norm_of_one", "return F.layer_norm(a, (1,))", "torch.rand(32, 1)", 0, 32),
    Row("positions", "return a + torch.arange(8) * 2.0", A, 32, 64),
    # half of the inner dimension is known to be zero
    Row("padded_product", "return F.pad(a, (0, 4)) @ b", f"{A}, torch.rand(12, 6)", MM, 32 + 48 + 24),
    Row("product_with_zero_part", "return torch.cat([a, torch.zeros(4, 4)], 1) @ b", f"{A}, torch.rand(12, 6)", MM,
        32 + 48 + 24),
    Row("product_with_masked_part", "return (a * (torch.arange(8) < 4)) @ b", f"{A}, {B}", MM // 2 + 16, 16 + 24 + 24),
    Row("masked_by_position", "return a * (torch.arange(8) < 4)", A, 16, 16 + 32),
    Row("chosen_by_position", "return torch.where(torch.arange(8) < 4, a.exp(), b.exp())", f"{A}, {A}", 0, 64, 32),
    Row("padded_conv", "return F.conv1d(F.pad(a, (2, 2)), b)", f"{LINE}, torch.rand(6, 4, 3)",
        2 * 2 * 6 * 4 * (3 * 12), 96 + 72 + 168),
    Row("skipping_conv", "return F.conv2d(a, b, stride=3)", f"{IMG}, torch.rand(3, 4, 1, 1)", 2 * 2 * 3 * 4 * 9,
        2 * 4 * 9 + 12 + 54),
    # a product with its own transpose is symmetric
    Row("gram", "return a @ a.t()", A, 2 * 8 * 10, 32 + 16),
    Row("gram_of_batch", "return a.mT @ a", SEQ, 2 * 2 * 10 * 36, 160 + 128),
    Row("gram_after_layer", "h = self.l(a); return torch.bmm(h, h.transpose(1, 2))", SEQ,
        2 * 20 * 48 + 2 * 2 * 6 * 55, 160 + 54 + 200, init=W8),
    # chosen by data
    Row("table_twice", "return b[a]", "torch.zeros(50, dtype=torch.int64), torch.rand(9, 8)", 0, 100 + 8 + 400),
    Row("same_row_again", "return a[torch.tensor([0, 0, 0])]", A, 0, 6 + 8 + 24),
    Row("chosen_by_data", "return torch.where(a > 0, b, c)", f"{A}, {A}, {A}", 32, 64),
    Row("first_overwritten", "y = torch.zeros(4, 8); y[:, :4] = a; y[:, :4] = b; return y",
        "torch.rand(4, 4), torch.rand(4, 4)", 0, 16 + 32),
    Row("all_overwritten", "y = a.exp(); y.copy_(b); return y", f"{A}, {A}", 0, 64),
    Row("filled", "y = a @ b; y.fill_(0.0); return y", f"{A}, {B}", 0, 24),
    Row("topk_gather", "v, i = a.topk(2, -1); return b.gather(1, i)", f"{A}, {A}", 0, 32 + 1 + 8),
    Row("loss_of_classes", "return F.cross_entropy(a, b)", f"{A}, torch.zeros(4, dtype=torch.int64)", 3 * 32 + 3 * 4,
        32 + 8 + 1, 32 + 4),
    Row("unknown_turns", "return while_loop(lambda x: x.sum() < 7, lambda x: (x @ x,), (a,))[0]", "torch.rand(4, 4)",
        15, 32),
    Row("fixed_in_loop", "return scan(lambda c, x: (c + b @ b, x * 2), a[0], a)[1]",
        "torch.rand(10, 4, 4), torch.rand(4, 4)", 2 * 64 + 10 * 16 + 10 * 16, 160 + 16 + 160),
    Row("cond_cheaper_flop_and_bytes", "return torch.cond(a.sum() > 0, lambda: a @ a, lambda: b[:4, :4] + c.sum())",
        "torch.rand(4, 4), torch.rand(4, 4), torch.rand(100)", 15 + 16, 16 + 16),
    # all tokens may choose the other six experts
    Row("two_experts_of_eight", GATES + "".join(EXPERT.format(e=e) for e in range(2)) + "return y",
        "torch.rand(64, 8), torch.rand(64, 8)", 64 * 4 * 10, 64 * 8 + 64 * 8 + 64 * 4,
        init="self.up = nn.Parameter(torch.rand(8, 8, 4))"),
    # seven of eight: at least one of a token's two choices is among them
    Row("seven_experts_of_eight", GATES + "".join(EXPERT.format(e=e) for e in range(7)) + "return y",
        "torch.rand(64, 8), torch.rand(64, 8)", 2 * 64 * 8 * 4 + 64 * 4 * 35, 64 * 8 + 64 * 8 + 64 * 4 + 32,
        init="self.up = nn.Parameter(torch.rand(8, 8, 4))"),
    # recurrent layers of four rows, eight inputs, five states, ten steps: from the zero state nine products with it
    Row("gru_from_zero", "return self.r(a)[0]", "torch.rand(10, 4, 8)", 2 * 4 * 15 * (10 * 8 + 9 * 5) + 10 * 20 * 11,
        320 + 15 * 13 + 30 + 200, 10 * 20 * 3, "self.r = nn.GRU(8, 5)"),
    # the first step's cell is zero: no gate of forgetting, whose product with the inputs nobody needs either
    Row("lstm_from_zero", "return self.r(a)[0]", "torch.rand(10, 4, 8)",
        2 * 4 * 20 * (10 * 8 + 9 * 5) - 2 * 4 * 5 * 8 + 10 * 20 * 20, 320 + 20 * 13 + 40 + 200, 10 * 20 * 5 - 20,
        "self.r = nn.LSTM(8, 5)"),
    Row("one_step_from_zero", "return self.r(a)[0]", "torch.rand(1, 4, 8)", 2 * 4 * 5 * 8 + 60, 32 + 40 + 10 + 20, 20,
        "self.r = nn.RNN(8, 5)"),
    # backward in time the last position comes first
    Row("last_of_both_ways", "return self.r(a)[0][-1]", "torch.rand(10, 4, 8)",
        2 * 4 * 15 * (10 * 8 + 9 * 5) + 2 * 4 * 15 * 8 + 11 * 20 * 20, 320 + 15 * 13 + 30 + 15 * 8 + 30 + 40,
        11 * 20 * 3, "self.r = nn.GRU(8, 5, bidirectional=True)"),
    Row("last_of_both_ways_batch_first", "return self.r(a)[0][:, -1]", "torch.rand(4, 10, 8)",
        2 * 4 * 15 * (10 * 8 + 9 * 5) + 2 * 4 * 15 * 8 + 11 * 20 * 20, 320 + 15 * 13 + 30 + 15 * 8 + 30 + 40,
        11 * 20 * 3, "self.r = nn.GRU(8, 5, bidirectional=True, batch_first=True)"),
    Row("first_step_only", "return self.r(a)[0][0]", "torch.rand(10, 4, 8)", 2 * 4 * 5 * 8 + 60, 32 + 40 + 10 + 20, 20,
        "self.r = nn.RNN(8, 5)"),
    Row("final_state_only", "return self.r(a)[1]", "torch.rand(10, 4, 8)", 2 * 4 * 5 * (80 + 45) + 600,
        320 + 65 + 10 + 20, 200, "self.r = nn.RNN(8, 5)"),
    Row("mask_in_a_buffer", "return F.scaled_dot_product_attention(a, b, c, attn_mask=self.m)", HEADS, 6 * 55 * 35,
        4 * 480 + 55, 6 * 55, "self.register_buffer('m', torch.full((10, 10), float('-inf')).triu(1))"),
    Row("written_with_a_mask_in_a_buffer", "return (a @ b.mT + self.m).softmax(-1) @ c", HEADS, 6 * 55 * 37,
        4 * 480 + 55, 6 * 55 + 60, "self.register_buffer('m', torch.full((10, 10), float('-inf')).triu(1))"),
    # more of the same kinds
    Row("padded_rows", "return F.pad(a, (0, 0, 0, 4)) @ b", f"{A}, {B}", MM, 32 + 48 + 48),
    Row("padded_batch", "return torch.bmm(F.pad(a, (0, 0, 0, 0, 0, 2)), torch.cat([b, b]))",
        "torch.rand(2, 4, 8), torch.rand(2, 8, 6)", 2*MM, 64 + 96 + 4*24),
    Row("unbound_layer", "return self.l(a).unbind(1)[3]", SEQ, 2 * 2 * 8 * 6, 16 + 48 + 6 + 12, init=W8),
    Row("grouped_conv_part", "return F.conv1d(a, b, groups=2)[..., :2]", f"{LINE}, torch.rand(6, 2, 3)",
        2 * 2 * 6 * 2 * 3 * 2, 2*4*4 + 36 + 24),
    Row("depthwise_channel", "return F.conv1d(a, b, groups=4)[:, :1]", f"{LINE}, torch.rand(4, 1, 3)", 2 * 2 * 3 * 10,
        24 + 3 + 20),
    Row("strided_part", "return F.conv2d(a, b, stride=2)[:, :, :1, :1]", f"{IMG}, torch.rand(3, 4, 3, 3)",
        2 * 2 * 3 * 4 * 9, 2*4*9 + 108 + 6),
    Row("transposed_conv_part", "return F.conv_transpose1d(a, b)[:, :1]", f"{LINE}, torch.rand(4, 6, 3)",
        2 * 2 * 4 * 3 * 12, 96 + 12 + 2*14),
    Row("indexed_layer", "return self.l(a)[:, torch.tensor([9])]", SEQ, 2 * 2 * 8 * 6, 16 + 48 + 6 + 12 + 2, init=W8),
    Row("index_select_layer", "return self.l(a).index_select(1, torch.tensor([9]))", SEQ, 2 * 2 * 8 * 6,
        16 + 48 + 6 + 12 + 2, init=W8),
    Row("max_of_rows", "return self.l(a).max(1)[0][:1]", SEQ, 2 * 10 * 48 + 54, 80 + 54 + 6, init=W8),
    Row("topk_rows", "return (a @ b).topk(2, -1)[0][:1]", f"{A}, {B}", MM // 4, 8 + 48 + 2),
    Row("argmax_rows", "return (a @ b).argmax(-1)[:1]", f"{A}, {B}", MM // 4 + 5, 8 + 48 + 2),
    Row("two_row_softmax", "return a.softmax(-1)", "torch.rand(16, 2)", 6 * 16, 64, 48),
    Row("log_softmax_two", "return a.log_softmax(-1)", "torch.rand(16, 2)", 6 * 16, 64, 48),
    Row("one_key", "return F.scaled_dot_product_attention(a, b, c)",
        "torch.rand(2, 3, 10, 8), torch.rand(2, 3, 1, 8), torch.rand(2, 3, 1, 8)", 0, 48 + 480),
    Row("cast_twice",
        "return (a.to(torch.bfloat16) @ b.to(torch.bfloat16)) + (a.to(torch.bfloat16) @ b.to(torch.bfloat16))",
        f"{A}, {B}", MM + 24, 32 + 48 + 12),
    Row("cast_to_itself", "return (a @ b).to(torch.float32)", f"{A}, {B}", MM, 104),
    Row("dequantised", "return F.linear(a, b.to(torch.float32) * c)",
        "torch.rand(4, 8), torch.zeros(6, 8, dtype=torch.int8), torch.rand(6, 1)", MM + 48, 32 + 12 + 6 + 24),
    Row("repeat_interleave", "return a.repeat_interleave(3, 0) @ b", f"{A}, {B}", MM, 32 + 48 + 72),
    Row("repeated_rows", "return a.repeat(3, 1) @ b", f"{A}, {B}", MM, 32 + 48 + 72),
    Row("expanded_then_linear", "return self.l(a.unsqueeze(1).expand(4, 5, 8))", A, MM, 32 + 54 + 120, init=W8),
    Row("exp_of_expanded", "return a.expand(50, 8).exp()", "torch.rand(1, 8)", 0, 8 + 400, 8),
    Row("softmax_of_expanded", "return a.expand(50, 8).softmax(-1)", "torch.rand(1, 8)", 32, 8 + 400, 9),
    Row("norm_of_expanded", "return F.layer_norm(a.expand(50, 8), (8,))", "torch.rand(1, 8)", 45, 8 + 400, 1),
    Row("conv_of_expanded", "return F.conv1d(a.expand(5, 4, 12), b)", "torch.rand(1, 4, 12), torch.rand(6, 4, 3)",
        2*6*4*3*10, 48 + 72 + 300),
    Row("attention_of_expanded",
        "return F.scaled_dot_product_attention(a.expand(5, 3, 10, 8), b.expand(5, 3, 10, 8), c.expand(5, 3, 10, 8))",
        "torch.rand(1, 3, 10, 8), torch.rand(1, 3, 10, 8), torch.rand(1, 3, 10, 8)", 300 * 35, 720 + 1200, 300),
    Row("cumsum_of_expanded", "return a.expand(50, 8).cumsum(1)", "torch.rand(1, 8)", 7, 8 + 400),
    Row("pool_of_expanded", "return F.avg_pool1d(a.expand(5, 4, 12), 2)", "torch.rand(1, 4, 12)", 48, 48 + 120),
    Row("batch_norm_of_expanded", "return F.batch_norm(a.expand(5, 4, 12), b, c)",
        "torch.rand(1, 4, 12), torch.rand(4), torch.rand(4)", 96, 48 + 8 + 240),
    Row("exp_after_expand", "return (a.expand(50, 8) @ b).exp()", f"torch.rand(1, 8), {B}", 2*48, 8 + 48 + 300, 6),
    Row("gelu_after_repeat", "return F.gelu(a.expand(50, 4, 8) * 2) ", A, 5*32, 32 + 1600, 32),
    Row("mean_of_expanded", "return a.expand(50, 8).mean(0)", "torch.rand(1, 8)", 8, 16),
    Row("sum_of_constant", "return a + torch.ones(100).sum()", A, 32, 64),
    Row("matmul_ones", "return a @ torch.ones(8, 6)", A, 28, 32 + 24),
    Row("bool_mask_half", "return a * (torch.arange(4) < 2)[:, None]", A, 16, 16 + 32),
    Row("masked_rows_product", "return (a * (torch.arange(4) < 2)[:, None]) @ b", f"{A}, {B}", MM // 2 + 16,
        16 + 48 + 24),
    Row("masked_columns_product", "return a @ (b * (torch.arange(6) < 3))", f"{A}, {B}", MM // 2 + 24, 32 + 24 + 24),
    Row("masked_after_product", "return (a @ b) * (torch.arange(6) < 3)", f"{A}, {B}", MM // 2 + 12, 32 + 24 + 24),
    Row("where_after_product", "return torch.where(torch.arange(6) < 3, a @ b, 0.0)", f"{A}, {B}", MM // 2,
        32 + 24 + 24),
    Row("masked_fill_after_product", "return (a @ b).masked_fill(torch.arange(6) < 3, 0.0)", f"{A}, {B}", MM // 2,
        32 + 24 + 24),
    Row("masked_keys", "return (a @ b.mT).masked_fill(torch.arange(10) >= 5, float('-inf')).softmax(-1) @ c", HEADS,
        6 * 50 * 36, ONE*10 + ONE * 10 + ONE*10, 300 + 60),
    Row("masked_keys_sdpa",
        "return F.scaled_dot_product_attention(a, b, c, attn_mask=(torch.arange(10) < 5).expand(10, 10))", HEADS,
        6 * 50 * 35, 30 * ONE, 300),
    Row("diagonal_of_product", "return torch.diagonal(a @ b)", "torch.rand(6, 20), torch.rand(20, 6)", 2 * 6 * 20,
        240 + 6),
    Row("trace_of_product", "return torch.trace(a @ b)", "torch.rand(6, 20), torch.rand(20, 6)", 2 * 6 * 20 + 5,
        240 + 1),
    Row("upper_of_product", "return (a @ b).triu()", "torch.rand(6, 20), torch.rand(20, 6)", 2 * 21 * 20, 240 + 36),
    Row("cross_entropy_linear", "return F.cross_entropy(self.l(a), b)",
        "torch.rand(4, 8), torch.zeros(4, dtype=torch.int64)", MM + 3 * 24 + 12, 32 + 54 + 8 + 1, 28, W8),
    Row("reverse", "return (a @ b).flip(0)[:1]", f"{A}, {B}", MM // 4, 8 + 48 + 6),
    Row("pixel", "return F.interpolate(F.relu(a), scale_factor=2)[..., :2, :2]", IMG, 8, 8 + 32),
    Row("group_norm_batch", "return F.group_norm(a, 2)[:1]", IMG, 5 * 324 + 12, 648, 2),
    Row("addmm_part", "return torch.addmm(c, a, b)[:, :2]", f"{A}, {B}, torch.rand(6)", MM // 3, 32 + 16 + 2 + 8),
    Row("einsum_part", "return torch.einsum('ij,jk->ik', a, b)[:, :2]", f"{A}, {B}", MM // 3, 32 + 16 + 8),
    Row("batch_einsum_part", "return torch.einsum('bij,bjk->bik', a, b)[:1]",
        "torch.rand(2, 4, 8), torch.rand(2, 8, 6)", MM, 32 + 48 + 24),
    Row("mha_last", "return self.m(a, a, a, need_weights=False)[0][:, -1]", SEQ,
        2*20*8*16 + 2*2*8*8*2 + 2*2*10*(16+2*3) , 160 + 3*64+64+32+16, 2*2*10+0,
        "self.m = nn.MultiheadAttention(8, 2, batch_first=True)"),
    Row("encoder_last", "return self.m(a)[:, -1]", SEQ, 2*20*8*16 + 2*2*8*8*2 + 2*2*10*22 + 2*2*2*8*16 + 2*7*16+200,
        160 + 3*64+64+32 + 2*128+16+8 + 32 + 16, 2*2*10+4,
        "self.m = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, dropout=0.0)"),
]


@pytest.fixture
def graph_of_row(model_file: Callable[..., object]) -> Callable[[Row], Graph]:
    from enlist.tools.solar.pytorch.capture import capture

    def of(row: Row) -> Graph:
        names = ", ".join("abc"[:sum(row.inputs.count(f) for f in ("torch.rand(", "torch.zeros("))])
        body = "".join(f"        {line}\n" for line in row.lines.split("; "))
        text = (f"{HEAD}class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
                f"        {row.init}\n    def forward(self, {names}):\n{body}"
                f"def get_inputs():\n    return [{row.inputs}]\n")
        return capture(model_file(text=text))  # type: ignore[arg-type]

    return of


EVERY_ROW = [pytest.param(row, id=row.name, marks=() if place % 4 == 0 else pytest.mark.slow)
             for place, row in enumerate(ROWS)]
"""Neighbours are of one kind, so every fourth one is enough for the quick tests."""


@pytest.mark.parametrize("row", EVERY_ROW)
def test_a_bound_asks_for_no_more_than_the_best_implementation_does(row: Row, graph_of_row: Callable[[Row], Graph],
                                                                   ) -> None:
    made = bounds(graph_of_row(row), resolve(["H100 PCIe"]))
    counted = (sum(made.flop.values()), made.special, made.fused_bytes)
    wanted = (row.flop, row.special, 4 * row.words)
    assert all(ours <= best for ours, best in zip(counted, wanted, strict=True)), f"{counted} above {wanted}"
    assert made.unmodelled == ()


@pytest.mark.parametrize("row", [
    Row("sum_of_product", "return (a @ b).sum()", f"{A}, {B}", MM + 23, 81),
    Row("mean_after_layer", "return self.l(a).mean(1)", SEQ, 2 * 20 * 48 + 120, 160 + 54 + 12, init=W8),
    pytest.param(Row("chain", "return (a @ b) @ c", "torch.rand(4, 8), torch.rand(8, 6), torch.rand(6, 1)", MM + 48,
                     32 + 48 + 6 + 4), marks=pytest.mark.slow),
    pytest.param(Row("argmax_of_softmax", "return a.softmax(-1).argmax(-1)", A, 4 * 32 - 8 + 28, 32 + 8, 36),
                 marks=pytest.mark.slow),
    pytest.param(Row("hidden_by_data", "return torch.where(c > 0, a @ b, 0.0)", f"{A}, {B}, torch.rand(4, 6)", MM + 24,
                     32 + 48 + 24 + 24), marks=pytest.mark.slow)], ids=lambda r: r.name)
def test_no_law_of_algebra_and_no_value_of_data_is_used(row: Row, graph_of_row: Callable[[Row], Graph]) -> None:
    """Outside of the class: the model's own expressions are counted, and no byte that algebra would save."""
    made = bounds(graph_of_row(row), resolve(["H100 PCIe"]))
    assert (sum(made.flop.values()), made.special, made.fused_bytes) == (row.flop, row.special, 4 * row.words)
