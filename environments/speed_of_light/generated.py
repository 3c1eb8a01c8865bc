"""Modules drawn from families with closed forms: other sizes for each seed, the same formulas.

Each family is a source text with `$NAME` for its sizes, how sizes are drawn, and the truth as expressions, derived in
`why`. FLOP count two for a multiply and an add.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from string import Template

from enlist.environments.speed_of_light.truths import Known, Limits

_HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\nclass Model(nn.Module):\n"
_TAIL = "\n\ndef get_init_inputs():\n    return []\n"


@dataclass(frozen=True)
class Family:
    """One kind of module; `sizes` are the values that each size is drawn from."""

    name: str
    init: str
    forward: str
    inputs: str
    sizes: Mapping[str, tuple[int, ...]]
    flop: str
    bytes: str
    unit: str | None
    why: str

    def drawn(self, random: Random) -> Known:
        """A module of this family."""
        sizes = {name: random.choice(values) for name, values in self.sizes.items()}
        init = f"    def __init__(self):\n        super().__init__()\n        {self.init}\n\n" if self.init else ""
        arguments = ", ".join("abc"[:len(re.findall(r"torch\.(?:rand|randint|zeros)\(", self.inputs))])
        text = (f"{_HEAD}{init}    def forward(self, {arguments}):\n        {self.forward}\n\n\n"
                f"def get_inputs():\n    return [{self.inputs}]\n{_TAIL}")
        return Known(id=self.name, why=self.why, sizes=sizes, unit=self.unit,
                     matrix_flop=Limits(at_least=self.flop, at_most=self.flop),
                     fused_bytes=Limits(at_least=self.bytes, at_most=self.bytes),
                     source=Template(text).substitute(sizes))


_ROWS, _WIDE, _LONG = (8, 32, 64, 256), (256, 384, 768, 1024, 2048), (64, 128, 257, 512, 1000)

FAMILIES = (
    Family("linear", "self.layer = nn.Linear($I, $O)", "return self.layer(a)", "torch.rand($B, $I)",
           {"B": _ROWS, "I": _WIDE, "O": _WIDE}, "2*B*I*O", "4*(B*I + I*O + O + B*O)", "vector.fp32",
           "B*O dot products of length I; input, weight, bias and output once"),
    Family("bfloat16-mlp", "self.up, self.down = nn.Linear($I, $H, bias=False).bfloat16(), "
           "nn.Linear($H, $I, bias=False).bfloat16()",
           "return self.down(F.relu(self.up(a)))", "torch.rand($B, $I, dtype=torch.bfloat16)",
           {"B": (512, 1024, 2048), "I": (1024, 2048), "H": (4096, 8192)}, "4*B*I*H", "2*(2*B*I + 2*I*H)",
           "tensor.bf16",
           "two products of B*I*H multiply-adds; the hidden values need not leave the chip; two bytes each"),
    Family("convolution", "self.layer = nn.Conv2d($C, $D, 3, padding=1, bias=False)", "return self.layer(a)",
           "torch.rand($B, $C, $S, $S)", {"B": (4, 8, 16), "C": (32, 64), "D": (64, 128), "S": (28, 56)},
           "2*B*C*D*(3*S - 2)**2", "4*(B*C*S*S + 9*C*D + B*D*S*S)", "tensor.tf32",
           "per axis S windows of 3 taps, less one tap of padding at each end: 3*S - 2 pairs, squared"),
    Family("attention", "", "return F.scaled_dot_product_attention(a, b, c)",
           "torch.rand($B, $H, $L, $D), torch.rand($B, $H, $L, $D), torch.rand($B, $H, $L, $D)",
           {"B": (2, 4), "H": (8, 12), "L": (512, 1024), "D": (64, 128)}, "4*B*H*L*L*D", "16*B*H*L*D", "tensor.tf32",
           "L*L pairs, a product of 2*D FLOP for the score and one for the value; q, k, v and the output"),
    Family("batched-products", "", "return torch.bmm(a, b)", "torch.rand($B, $M, $K), torch.rand($B, $K, $N)",
           {"B": _ROWS, "M": _LONG, "K": _LONG, "N": _LONG}, "2*B*M*N*K", "4*B*(M*K + K*N + M*N)", "vector.fp32",
           "B products of M*N*K multiply-adds"),
    Family("causal-attention", "", "return F.scaled_dot_product_attention(a, b, c, is_causal=True)",
           "torch.rand($B, $H, $L, $D), torch.rand($B, $H, $L, $D), torch.rand($B, $H, $L, $D)",
           {"B": (2, 4), "H": (8, 12), "L": (512, 1024), "D": (64, 128)}, "4*B*H*(L*(L + 1)//2)*D", "16*B*H*L*D",
           "tensor.tf32", "query i sees keys 0..i: L*(L + 1)/2 pairs"),
    Family("triangular-product", "", "return torch.matmul(torch.triu(a), torch.triu(b))",
           "torch.rand($N, $N), torch.rand($N, $N)", {"N": (1024, 2048, 3000)}, "2*(N*(N + 1)*(N + 2)//6)",
           "4*(2*(N*(N + 1)//2) + N*N)", "vector.fp32",
           "i <= k <= j: N*(N + 1)*(N + 2)/6 multiply-adds; of each operand the upper half is read, all of the output "
           "is written"),
    Family("bool-and", "", "return torch.logical_and(a, b)",
           "torch.zeros($M, $N, dtype=torch.bool), torch.zeros($M, $N, dtype=torch.bool)",
           {"M": (2048, 4096), "N": (2048, 4096)}, "0", "3*M*N", None, "one byte each, two in and one out"),
    Family("transposed-copy", "", "return a.t().contiguous()", "torch.rand($M, $N)",
           {"M": (2048, 4096), "N": (1024, 3000)}, "0", "8*M*N", None, "every element in and out: no view"),
    Family("live-output", "self.layer = nn.Linear($I, $O, bias=False)", "h = torch.relu(a); return h, self.layer(h)",
           "torch.rand($B, $I)", {"B": (2048, 4096), "I": (512, 1024), "O": (256, 512)}, "2*B*I*O",
           "4*(2*B*I + I*O + B*O)", "vector.fp32", "relu(a) is returned and used: it is written once"),
    Family("expanded-heads", "", "return torch.matmul(a, b.expand($B, $H, $D, $L))",
           "torch.rand($B, $H, $L, $D), torch.rand($B, 1, $D, $L)",
           {"B": (2, 4), "H": (8, 16), "L": (256, 512), "D": (64, 128)}, "2*B*H*L*L*D",
           "4*(B*H*L*D + B*D*L + B*H*L*L)", "vector.fp32", "the expanded operand holds each element once"),
    Family("lookup", "self.table = nn.Embedding($V, $D)", "return self.table(a)",
           "torch.randint(0, $V, ($B, $L))", {"V": (32000, 50257), "D": (768, 1024), "B": (4, 8), "L": (128, 512)},
           "0", "8*B*L + 4*D + 4*B*L*D", None, "all ids may be equal: one row is sure; ids are int64"),
    Family("part-of-an-input", "self.layer = nn.Linear($P, $O, bias=False)", "return self.layer(a[:, :$P])",
           "torch.rand($B, $I)", {"B": (1024, 2048), "I": (4096, 8192), "P": (256, 1024), "O": (256, 512)}, "2*B*P*O",
           "4*(B*P + P*O + B*O)", "vector.fp32", "only the first P columns are needed"),
)
