"""What every number rests on, in sentences, and how much of a graph was priced by a rule."""

from collections.abc import Sequence

from enlist.tools.solar.graph import Graph
from enlist.tools.solar.pricing.model import Coverage
from enlist.tools.solar.pricing.priced import Priced
from enlist.tools.solar.pricing.ruling import Ruling
from enlist.tools.solar.rules.structure import VISIBLE

_FLOAT32_RULES = {
    "matmul": "float32 matrix products run at the fp32 rate (TF32 off)",
    "convolution": "float32 convolutions at the TF32 rate (on)",
    "attention": "float32 attention at the TF32 rate at most (its memory-efficient kernel makes float32 products of "
                 "three TF32 ones)",
}
"""PyTorch's defaults for float32, by kind of work."""


def assumptions(graph: Graph, items: Sequence[Priced], dtype: str | None, ruling: Ruling,
                unmodelled: Sequence[str]) -> list[str]:
    """The sentences that pricing adds to those of the capture."""
    ops = {node.op for node in graph.nodes}
    said = ruling.said()
    lines = ["caches: cold, so inputs start and outputs end in DRAM" if not ruling.warm else f"caches: {said['cache']}"]
    kinds = {i.work.kind for i in items if i.work and not i.work.multiply and
             "float32" in {graph.by_id[t].dtype for t in i.node.inputs}}
    if ruling.strict_fp32:
        lines.append("precision: float32 is multiplied in float32")
    elif rules := [rule for kind, rule in _FLOAT32_RULES.items() if kind in kinds]:
        whose = "JAX" if any(op.startswith("lax.") for op in ops) else "PyTorch"
        lines.append(f"precision: {whose}'s defaults, so {', '.join(rules)}")
    if ruling.any_algorithm:
        lines.append("arithmetic: any algorithm, so products and convolutions have no compute roof")
    if ruling.clock_mhz:
        lines.append(f"clock: {ruling.clock_mhz:g} MHz for all units")
    if dtype:
        lines.append(f"priced as if every floating tensor were {dtype}")
    if len({i.node.phase for i in items}) > 1:
        lines.append("phases: forward, backward and optimizer are calls of their own; what autograd saves crosses DRAM")
    if "embedding" in ops:
        lines.append("embedding: ids taken as different in the unfused bound; the fused bound counts one row per table")
    if any(n.op == "scaled_dot_product_attention" and n.input("attn_mask") and VISIBLE not in n.attributes
           for n in graph.nodes):
        lines.append("attention with a mask tensor: what it masks is not known, so every pair counts as work")
    for reason in dict.fromkeys(t.structure_from for t in graph.tensors if t.structure != "dense" and t.structure_from):
        named = [t.name or t.id for t in graph.tensors if t.structure != "dense" and t.structure_from == reason
                 and t.role in ("input", "parameter", "buffer", "constant")]
        if not named:
            continue  # made in the model: what made it is in the graph
        lines.append(f"structure of {', '.join(named[:4])}: {reason}")
    if unmodelled:
        lines.append(f"not modelled, counted as no work: {', '.join(unmodelled)}")
    return lines


def coverage(graph: Graph, items: Sequence[Priced]) -> Coverage:
    """Shares of operators, FLOP and bytes that rules priced; an unmodelled operator counts one FLOP per element."""
    modelled = [i for i in items if i.work is not None]
    bare = [i for i in items if i.work is None]
    flop = sum(sum(i.flop.values()) + i.special for i in modelled)
    unknown = sum(graph.by_id[t].elements for i in bare for t in i.node.outputs)
    moved, all_moved = sum(i.bytes for i in modelled), sum(i.bytes for i in items)
    return Coverage(ops=len(modelled) / len(items) if items else 1.0,
                    flop=flop / (flop + unknown) if flop + unknown else 1.0,
                    bytes=moved / all_moved if all_moved else 1.0)
