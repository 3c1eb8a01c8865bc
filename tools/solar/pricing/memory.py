"""How much DRAM a graph needs at least: what the caller holds before and after, and what a training step keeps.

Inputs, weights and states are there when the call begins and outputs when it ends; intermediates could be kept on chip
or computed again, so a lower bound counts none; gradients are there between the backward pass and the optimizer, which
are calls of their own. What autograd saves for the backward pass is given beside it.
"""

from enlist.tools.solar.graph import Graph
from enlist.tools.solar.hardware import Device
from enlist.tools.solar.pricing.model import MemoryBound

_STATE_WORDS = ("exp_avg", "momentum", "optimizer", "state.")
_CACHE_WORDS = ("cache", "past_key", "past_value", "kv_")


def memory(graph: Graph, device: Device) -> MemoryBound:
    """The bound for one graph, against a device's capacity."""
    sizes = dict.fromkeys(("weights", "inputs", "outputs", "gradients", "optimizer", "kv_cache", "saved"), 0)
    phases: dict[str, str] = {t: node.phase for node in graph.nodes for t in node.outputs}
    later: set[str] = set()
    stepped: set[str] = set()
    for node in graph.nodes:
        if node.phase != "forward":
            later.update(graph.root(t) for t in node.inputs)
        if node.phase == "optimizer":
            stepped.update(graph.root(t) for t in node.inputs)
    for tensor in graph.tensors:
        if tensor.alias_of is not None and not (tensor.is_output and graph.by_id[graph.root(tensor.id)].role in (
                "intermediate", "output")):
            continue
        size, name = tensor.nbytes(tensor.distinct), tensor.name.lower()
        if tensor.role in ("parameter", "constant", "buffer"):
            kind = "optimizer" if any(w in name for w in _STATE_WORDS) else (
                "kv_cache" if any(w in name for w in _CACHE_WORDS) else "weights")
            sizes[kind] += size
        elif tensor.role == "input":
            kind = "optimizer" if any(w in name for w in _STATE_WORDS) else (
                "kv_cache" if any(w in name for w in _CACHE_WORDS) else "inputs")
            sizes[kind] += size
        elif tensor.is_output and phases.get(tensor.id) == "optimizer":
            continue  # a step may write weights and states in their own place, as torch.optim does
        elif tensor.is_output:
            sizes["gradients" if phases.get(tensor.id) == "backward" else "outputs"] += size
        elif tensor.id in stepped and phases.get(tensor.id) == "backward":
            sizes["gradients"] += size
        elif tensor.id in later and phases.get(tensor.id) == "forward":
            sizes["saved"] += size
    total = sum(size for kind, size in sizes.items() if kind != "saved")
    return MemoryBound(**sizes, total=total, fits=total <= device.dram_capacity.value)
