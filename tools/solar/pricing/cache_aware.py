"""What must cross DRAM beyond the compulsory bytes because everything on chip together holds S bytes.

Two arguments, each proved, each only where its premises hold:

- Matrix-product-like nests: with m*n*k multiply-adds of standard arithmetic, any schedule moves at least
  2*m*n*k / sqrt(S) - 2*S elements (Smith, Lowery, Langou, van de Geijn, arXiv 1702.02017, after Irony, Toledo, Tiskin,
  JPDC 2004). It speaks of operands that lie in DRAM and results that end there; so it is used where all operands come
  from outside of the call and the result is an output of it.
- Working sets: where a group of elements must be read whole before its reduction is known, and is needed again
  afterwards (softmax, norms), what of the group exceeds S is read twice.

S is the sum of registers, shared memory and caches, so that no way of holding data on chip is left out. Elements are
counted at the width of the narrowest operand.
"""

from math import sqrt

from enlist.tools.solar.graph import Graph
from enlist.tools.solar.hardware import Device
from enlist.tools.solar.pricing.priced import Priced


def on_chip(device: Device) -> float:
    """Bytes that a device can hold outside of DRAM."""
    return sum(cache.capacity.value for cache in device.caches)


def read_again(graph: Graph, item: Priced, device: Device) -> float:
    """Bytes of the first input that one operator must read a second time."""
    cost = item.work
    if cost is None or not cost.twice or not cost.group:
        return 0.0
    first = graph.by_id[item.node.inputs[0]]
    groups = first.elements // cost.group
    return groups * max(0.0, first.nbytes(cost.group) - on_chip(device)) * item.node.repeat


def nest_bytes(graph: Graph, item: Priced, device: Device) -> float:
    """Bytes that the products of one operator move at least, its operands in DRAM before and its result after."""
    cost = item.work
    if cost is None or not cost.nests:
        return 0.0
    narrowest = min(graph.by_id[t].nbytes(1 << 20) / (1 << 20) for t in (*item.node.inputs, *item.node.outputs))
    room = on_chip(device) / narrowest
    moved = sum(nest.batch * max(0.0, 2 * nest.m * nest.n * nest.k / sqrt(room) - 2 * room) for nest in cost.nests)
    return moved * narrowest * item.node.repeat


def extra_for_operator(graph: Graph, item: Priced, device: Device) -> float:
    """Bytes beyond its operands once each that an operator moves as a kernel of its own."""
    return max(read_again(graph, item, device), nest_bytes(graph, item, device) - item.bytes)


def extra_for_call(graph: Graph, items: list[Priced], outside: set[str], compulsory: int, device: Device) -> float:
    """Bytes beyond the compulsory ones that a whole call moves; `outside` are the storages that it begins with."""
    again = nests = 0.0
    for item in items:
        roots = {graph.root(t) for t in item.node.inputs}
        if not roots <= outside:
            continue
        again = max(again, read_again(graph, item, device))
        if all(graph.by_id[t].is_output for t in item.node.outputs):
            nests = max(nests, nest_bytes(graph, item, device) - compulsory)
    return max(0.0, again, nests)
