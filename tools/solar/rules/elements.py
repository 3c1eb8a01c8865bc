"""How many elements an operator computes, and of which kind.

Elements that an expanded operand repeats are computed once. Integer and boolean work counts no FLOP: no data sheet has
a peak for it that would hold everywhere, so only its bytes are sure. A complex number is two real ones.
"""

from enlist.tools.solar.graph import Tensor
from enlist.tools.solar.work import Call

_FLOATS = ("float", "bfloat", "complex")


def is_floating(tensor: Tensor) -> bool:
    """Whether arithmetic on a tensor counts FLOP."""
    return tensor.dtype.startswith(_FLOATS)


def floating(call: Call) -> bool:
    """Whether an operator has a floating operand or result."""
    return any(is_floating(call.graph.by_id[t]) for t in (*call.node.inputs, *call.node.outputs))


def is_complex(call: Call) -> bool:
    """Whether an operator has a complex operand or result."""
    return any(call.graph.by_id[t].dtype.startswith("complex") for t in (*call.node.inputs, *call.node.outputs))


def filling(call: Call, slot: str) -> list[Tensor]:
    """All tensors that fill an argument which takes a list."""
    return [call.graph.by_id[t] for t, s in zip(call.node.inputs, call.node.slots, strict=True) if s == slot]


def outputs(call: Call) -> list[Tensor]:
    return [call.graph.by_id[t] for t in call.node.outputs]


def different(call: Call) -> int:
    """Elements of the output that can differ: a dimension in which every operand is expanded or of size one counts
    once."""
    shape = call.out().shape
    operands = [call.graph.by_id[t] for t in call.node.inputs]
    count = 1
    for back, size in enumerate(reversed(shape), start=1):
        varies = any(len(t.shape) >= back and t.shape[-back] != 1 and t.strides[-back] != 0 for t in operands)
        count *= size if varies or size == 0 else 1
    return count
