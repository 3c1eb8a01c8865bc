"""What eager PyTorch refuses although a meta tensor lets it pass, so that no bound is made of a model that cannot run.

Matrix products, convolutions and attention take operands of one dtype only: on a CPU or a GPU `linear` of a float16
input and a float32 weight raises, on the meta device it gives a shape.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.dtypes import FLOATS
from enlist.tools.solar.graph import Graph, Node
from enlist.tools.solar.rules.aten import CONVOLUTIONS, PRODUCTS

_MAY_DIFFER = {"attn_mask"}  # a mask is boolean or of another floating dtype by right


def refuse_mixed_dtypes(graph: Graph) -> None:
    """Raises `tool_failed` at the first operator that eager PyTorch would refuse for the dtypes of its operands."""
    for node in graph.nodes:
        dtypes = _operands(graph, node)
        if len(set(dtypes.values())) < 2:
            continue
        listed = ", ".join(f"{slot} {dtype}" for slot, dtype in dtypes.items())
        wanted = dtypes.get("weight") or next((d for d in dtypes.values() if d in FLOATS), "float32")
        place = f" in {node.where}" if node.where else ""
        raise EnlistError(
            "tool_failed", f"{graph.target} cannot run: {node.op}{place} has operands of different dtypes",
            given=listed, allowed="one dtype for all operands, as PyTorch asks for on a CPU or a GPU",
            fix=f"cast the input, as in x.to(torch.{wanted}), or convert the model, as in model.to(x.dtype)")


def _operands(graph: Graph, node: Node) -> dict[str, str]:
    """The dtype of each operand, by argument, of an operator that wants the same for all; else nothing."""
    if node.op not in (*PRODUCTS, *CONVOLUTIONS, "scaled_dot_product_attention"):
        return {}
    return {slot: graph.by_id[t].dtype for t, slot in zip(node.inputs, node.slots, strict=True)
            if slot not in _MAY_DIFFER}


@contextmanager
def refuse_autocast() -> Iterator[None]:
    """Refuse a model that asks for autocast: it leaves no trace in the graph, and a bound at the dtype as written would
    be higher than what the model does. Raises `unsupported` where an enabled autocast is made."""
    import torch

    made = torch.autocast.__init__

    def refuse(self: Any, device_type: str, dtype: Any = None, enabled: bool = True, *rest: Any, **more: Any) -> None:
        if enabled:
            raise EnlistError("unsupported", "the model uses torch.autocast, which the captured graph does not show",
                              given=f"torch.autocast({device_type!r})",
                              allowed="dtypes that are written in the model and its inputs",
                              fix="cast the model and its inputs (.to(torch.bfloat16)), or take autocast out and name "
                                  "the dtype in the request")
        made(self, device_type, dtype, enabled, *rest, **more)

    torch.autocast.__init__ = refuse  # type: ignore[method-assign]
    try:
        yield
    finally:
        torch.autocast.__init__ = made  # type: ignore[method-assign]
