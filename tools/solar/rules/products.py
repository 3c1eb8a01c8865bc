"""Matrix products: two FLOP for each multiplication and addition that the operands' structure leaves.

What is zero, or what nobody needs of the result, is not multiplied. A diagonal operand scales (one FLOP per element, no
sum); one whose elements are all equal turns the product into sums of rows or columns. Identical matrices of an expanded
batch are multiplied once. Neither is taken of gradients, which are constant or expanded only because a loss that stands
in for the true one is a sum. A product of few terms is no work for matrix units: its factors may be folded into what it
sums. Quantised weights are multiplied in the dtype of the activations, into which they are turned first; what moves is
the packed tensor with its scales.
"""

from math import prod

from enlist.tools.solar.graph import Tensor
from enlist.tools.solar.rules.elements import filling, is_complex, outputs
from enlist.tools.solar.rules.extent import triangle
from enlist.tools.solar.rules.structure import KEPT, NEEDED, SYMMETRIC
from enlist.tools.solar.rules.triangles import pairs
from enlist.tools.solar.work import Call, Nest, Rule, Work

PRODUCTS = ("linear", "mm", "addmm", "bmm", "baddbmm", "matmul", "mv", "dot", "_int_mm")
"""Matrix products by the names that capture leaves."""

_OTHER_NAMES = ("vdot", "addbmm", "addmv", "_addmm_activation", "linalg_matmul", "mkldnn_linear")
FEW = 16
"""A sum of so few scaled vectors is no matrix product."""
_SHAPED = ("upper", "lower", "diagonal", "zero")
_TURNED = {"upper": "lower", "lower": "upper"}
_LEFT = ("mat1", "batch1", "mat", "vec1", "input", "self")
_RIGHT = ("mat2", "batch2", "weight", "other", "vec2", "vec", "tensor")


def batch_of(tensor: Tensor) -> int:
    """Matrices in a tensor, an expanded dimension counted once."""
    return prod(n for n, s in zip(tensor.shape[:-2], tensor.strides[:-2], strict=True) if s or not n)


def kept(tensor: Tensor) -> int:
    """Elements of one matrix that its structure leaves."""
    rows, columns = tensor.shape[-2:]
    if tensor.structure == "zero":
        return 0
    if tensor.structure == "diagonal":
        return min(rows, columns)
    return triangle(rows, columns, 0, tensor.structure == "upper")


def _operands(call: Call) -> tuple[Tensor, Tensor] | None:
    left, right = call.tensor(*_LEFT), call.tensor(*_RIGHT)
    if call.node.op == "addmv":
        left, right = call.tensor("mat"), call.tensor("vec")
    if call.node.op in ("mv",):
        left = call.tensor("self")
    return (left, right) if left is not None and right is not None and left.shape and right.shape else None


def _plain(tensor: Tensor) -> Tensor:
    """The tensor as if its elements were its own and not known to be equal."""
    strides = tuple(max(1, s) for s in tensor.strides)
    structure = "dense" if tensor.structure == "constant" else tensor.structure
    return tensor.model_copy(update={"strides": strides, "structure": structure})


def _batches(left: Tensor, right: Tensor) -> int:
    """Different products of a batch: a dimension in which both operands are expanded counts once."""
    count = 1
    for back in range(3, max(len(left.shape), len(right.shape)) + 1):
        sizes = [t.shape[-back] for t in (left, right) if len(t.shape) >= back and (
            t.strides[-back] or not t.shape[-back])]
        count *= max(sizes, default=1)
    return count


def _matmul(call: Call) -> Work | None:
    found = _operands(call)
    if found is None:
        return None
    left, right = found
    if call.node.phase != "forward":
        left, right = _plain(left), _plain(right)
    turned = call.node.op in ("linear", "mkldnn_linear")
    one_row, one_column = len(left.shape) < 2, len(right.shape) < 2
    inner = left.shape[-1]
    columns = 1 if one_column else right.shape[-2 if turned else -1]
    flat = len(right.shape) <= 2  # all leading dimensions of the left operand are rows
    needed = str(call.attribute(NEEDED, ""))
    kept_left = str(call.attribute(KEPT, "")) or left.structure
    if one_row:
        rows, batch = 1, prod(right.shape[:-2])
    elif flat and not (len(left.shape) > 2 and (kept_left != "dense" or needed)):
        rows = prod(n for n, s in zip(left.shape[:-1], left.strides[:-1], strict=True) if s or n == 0)
        batch = 1
    else:
        rows, batch = left.shape[-2], batch_of(left) if flat else _batches(left, right)
    structures = ("dense" if one_row else kept_left, "dense" if one_column else right.structure)
    if turned:
        structures = structures[0], _TURNED.get(structures[1], structures[1])  # type: ignore
    if not needed and rows == columns and SYMMETRIC in call.node.attributes:
        needed = "lower"  # a product with its own transpose is symmetric
    cost = product(rows, inner, columns, structures, needed)
    used = _why(needed, NEEDED in call.node.attributes)
    names = [f"{t.structure} {t.name or 'operand'}" for t in (left, right) if t.structure not in ("dense", "constant")]
    less = ", ".join([*names, *([used] if needed or KEPT in call.node.attributes else [])]) if cost.less else ""
    scale = 3 if is_complex(call) else 1  # three real products make a complex one
    reads = {t.id: batch_of(t) * kept(t) for t in (left, right) if t.structure in _SHAPED and len(t.shape) > 1}
    return Work(cost.kind, matrix_flop=cost.matrix_flop * batch * scale, vector_flop=cost.vector_flop * batch * scale,
                less=less or cost.less, reads=reads,
                nests=() if cost.less or cost.kind == "vector" else (Nest(batch, rows, columns, inner),),
                equation="...mk,nk->...mn" if turned else "...mk,...kn->...mn")


def _why(needed: str, by_readers: bool) -> str:
    """Why a part of a product is enough."""
    if needed and not by_readers:
        return "a product with its own transpose is symmetric"
    if needed == "diagonal":
        return "only the diagonal is used"
    return f"only the {needed} triangle is used" if needed in ("upper", "lower") else "a mask hides the rest"


def product(rows: int, inner: int, columns: int, structures: tuple[str, str] = ("dense", "dense"),
            needed: str = "") -> Work:
    """The work of one product of a rows x inner by an inner x columns matrix."""
    left, right = structures
    if not needed and "zero" not in structures and "constant" in structures:
        sums = max(0, inner - 1) * (columns if left == "constant" else rows)
        return Work("vector", vector_flop=min(sums, 2 * rows * inner * columns), less="an operand of equal elements")
    counted, dense = pairs(rows, inner, columns, left, right, needed), rows * inner * columns
    if "diagonal" in structures:
        return Work("vector", vector_flop=counted, less="a diagonal operand scales")
    if min(rows, columns) == 1 and inner <= FEW:
        return Work("vector", vector_flop=2 * counted)
    return Work("matmul", matrix_flop=2 * counted, less="structure of the operands" if counted < dense else "")


def _outer(call: Call) -> Work:
    """A column times a row: one multiplication per element."""
    return Work("vector", vector_flop=call.out().elements * (2 if call.node.op == "addr" else 1))


def _scaled(call: Call) -> Work | None:
    """A product of scaled 8-bit or packed 4-bit numbers, multiplied as they are; scales are bytes."""
    left, right = call.tensor("self", "mat_a"), call.tensor("mat2", "mat_b")
    if left is None or right is None:
        return None
    packed = left.dtype in ("uint8", "int8")  # two 4-bit floats in a byte
    inner = left.shape[-1] * (2 if packed else 1)
    out = call.out()
    rows, columns = out.shape[-2:]
    batch = prod(out.shape[:-2])
    return Work("matmul", matrix_flop=2 * out.elements * inner, nests=() if packed else (
        Nest(batch, rows, columns, inner),), multiply="float4_e2m1fn" if packed else None)


def _grouped(call: Call) -> Work | None:
    """Experts over the rows that are routed to them: each row meets the matrix of one group, and the inner dimension is
    split where both operands are flat. Which groups have rows is data: one is sure."""
    left, right = call.tensor("self", "mat_a"), call.tensor("mat2", "mat_b")
    if left is None or right is None:
        return None
    inner = left.shape[-1] * (2 if left.dtype == "uint8" else 1)
    out = call.out()
    flop = 2 * out.elements * inner
    multiply = "float4_e2m1fn" if left.dtype == "uint8" else None
    if len(left.shape) == 2 and len(right.shape) == 2:  # each group has its part of the inner dimension
        return Work("matmul", matrix_flop=flop // max(1, out.shape[0] if len(out.shape) == 3 else 1), multiply=multiply)
    surely = {}
    if len(left.shape) == 2 and len(right.shape) == 3 and right.shape[0]:
        surely = {right.id: right.distinct // right.shape[0] if left.shape[0] else 0}
    return Work("matmul", matrix_flop=flop, multiply=multiply, surely=surely,
                less="rows meet the matrix of their group only" if len(right.shape) == 3 else "")


def _weight_only(call: Call) -> Work | None:
    """Activations by quantised weights: int8 as [out, in], int4 packed as the device likes."""
    left = call.tensor("self", "input", "inp")
    if left is None:
        return None
    out = call.out()
    return Work("matmul", matrix_flop=2 * out.elements * left.shape[-1], multiply=left.dtype,
                nests=(Nest(1, out.elements // max(1, out.shape[-1]), out.shape[-1], left.shape[-1]),))


def _bilinear(call: Call) -> Work | None:
    """x W y: the cheaper operand is contracted last, so the first product is by all of W."""
    first, weight = call.tensor("i1"), call.tensor("i2")
    if first is None or weight is None:
        return None
    matrix = weight.shape[-2] * weight.shape[-1]
    rows = first.elements // max(1, first.shape[-1])
    return Work("matmul", matrix_flop=2 * rows * weight.elements if matrix else 0)


def _list(call: Call) -> Work:
    lefts = filling(call, "self")
    return Work("matmul", matrix_flop=sum(2 * out.elements * left.shape[-1]
                                          for left, out in zip(lefts, outputs(call), strict=False)))


RULES: dict[str, Rule] = {
    **dict.fromkeys((*PRODUCTS, *_OTHER_NAMES), _matmul), "addr": _outer, "outer": _outer, "_foreach_mm": _list,
    **dict.fromkeys(("_scaled_mm", "_scaled_mm_v2"), _scaled),
    **dict.fromkeys(("_grouped_mm", "_scaled_grouped_mm", "_scaled_grouped_mm_v2"), _grouped),
    **dict.fromkeys(("_weight_int8pack_mm", "_weight_int4pack_mm", "_weight_int4pack_mm_for_cpu",
                     "_weight_int4pack_mm_with_scales_and_zeros", "_dyn_quant_matmul_4bit", "_mixed_dtypes_linear"),
                    _weight_only), "_trilinear": _bilinear}
