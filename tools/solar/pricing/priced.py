"""Each operator with its work and its traffic, before any device is named.

Work asks for a roof ("tensor.tf32"); which unit of a device serves it is the device's business. The dtype is that of
the fastest floating operand, or the one that the rule says it multiplies in.
"""

from collections import Counter
from dataclasses import dataclass

from enlist.tools.solar.dtypes import FLOATS
from enlist.tools.solar.graph import Graph, Node
from enlist.tools.solar.hardware import Device
from enlist.tools.solar.pricing.ruling import Ruling
from enlist.tools.solar.pricing.traffic import Views, is_free
from enlist.tools.solar.rules.table import work
from enlist.tools.solar.work import Work

SPECIAL, DRAM, LINK, LLC = "special", "dram", "link", "llc"
_SHORT = {"tf32": "tf32", "float64": "fp64", "float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "int8": "int8",
          "uint8": "int8", "int4": "int4", "uint4": "int4", "float4_e2m1fn": "fp4", "float6_e2m3fn": "fp6",
          "float6_e3m2fn": "fp6"}
_ON_VECTOR = {"fp8": "fp16", "fp6": "fp16", "fp4": "fp16"}
_FASTER_KNOWN = ("matmul", "convolution", "attention")
_HALVES = ("float16", "bfloat16")  # special functions of two packed halves may be one evaluation


@dataclass(frozen=True)
class Priced:
    """One operator: FLOP by the roof asked for and special evaluations, over all its runs; bytes that it moves where
    its operands lie in DRAM, by storage, over all runs; `link_bytes` are what a device must send or receive in one
    direction where a switch adds what passes through it, `unaided_bytes` where nothing but devices adds."""

    node: Node
    work: Work | None
    flop: dict[str, int]
    special: int
    moved: dict[str, int]
    written: int
    link_bytes: float = 0.0
    unaided_bytes: float = 0.0

    @property
    def bytes(self) -> int:
        return sum(self.moved.values()) + self.written


def priced(graph: Graph, views: Views, ruling: Ruling) -> list[Priced]:
    """Every operator that moves data, in order."""
    return [_price(graph, views, node, ruling) for node in graph.nodes if not is_free(graph, node)]


def linked(item: Priced, device: Device) -> float:
    """Bytes in one direction over a device's links, by what joins the devices."""
    aided = device.interconnect is None or device.interconnect.topology == "switch"
    return item.link_bytes if aided else item.unaided_bytes


def short(dtype: str) -> str:
    """The dtype's name in roofs: "bf16"; every 8-bit float is "fp8"."""
    return "fp8" if dtype.startswith("float8") else _SHORT.get(dtype, "")


def _price(graph: Graph, views: Views, node: Node, ruling: Ruling) -> Priced:
    """An operator that is not modelled is charged its outputs only."""
    cost = work(graph, node)
    out = sum(graph.by_id[t].nbytes(graph.by_id[t].elements) for t in node.outputs) * node.repeat
    if cost is None:
        return Priced(node, None, {}, 0, {}, out)
    read = views.by_root({t: cost.reads.get(t, graph.by_id[t].distinct) for t in node.inputs}, all_turns=False)
    moved = {root: graph.by_id[root].nbytes(n) * node.repeat for root, n in read.items() if n}
    if cost.writes is not None:
        out = graph.by_id[node.outputs[0]].nbytes(cost.writes) * node.repeat
    flop: Counter[str] = Counter()
    matrix, vector, halved = _roofs(graph, node, cost, ruling)
    if matrix and cost.matrix_flop and not (ruling.any_algorithm and cost.kind in _FASTER_KNOWN):
        flop[matrix] += cost.matrix_flop * node.repeat
    if vector and cost.vector_flop:
        flop[vector] += cost.vector_flop * node.repeat
    special = cost.special * node.repeat if vector else 0
    return Priced(node, cost, dict(flop), -(-special // 2) if halved else special, moved, out,
                  *_link(graph, node, cost))


def _roofs(graph: Graph, node: Node, cost: Work, ruling: Ruling) -> tuple[str | None, str | None, bool]:
    """The roofs that matrix and vector work ask for, and whether special functions come two at a time."""
    dtypes = {graph.by_id[t].dtype for t in (*node.inputs, *node.outputs)}
    fastest = cost.multiply or next((d for d in FLOATS if d in dtypes), None)
    if fastest is None:
        integer = next((short(d) for d in ("int4", "uint4", "int8", "uint8") if d in dtypes), None)
        return f"tensor.{integer}" if integer else None, None, False
    name = short(fastest)
    if not name:
        return None, None, False
    matrix = f"tensor.{'fp32' if name == 'tf32' and ruling.strict_fp32 else name}"
    if name == "fp32" and not ruling.strict_fp32 and cost.kind in ("convolution", "attention"):
        matrix = "tensor.tf32"
    floats = next((short(d) for d in FLOATS if d in dtypes), name)
    vector = f"vector.{_ON_VECTOR.get(floats, floats)}" if floats not in ("int8", "int4") else None
    return matrix, vector, bool(dtypes & set(_HALVES))


def _link(graph: Graph, node: Node, cost: Work) -> tuple[float, float]:
    """Bytes that the busiest device must send, or receive, in one direction, for a collective of p devices: with a
    switch that adds up what passes through it, and without.

    A gather or an exchange must bring in what the other p - 1 have (Thakur, Rabenseifner, Gropp, IJHPCA 2005), on any
    topology. An all-reduce sends each byte once into a switch that adds; where only devices add, their p shares take
    2 (p - 1) transfers of the whole, so the busiest sends 2 (p - 1) / p of it (Patarasuk, Yuan, JPDC 2009). Rings reach
    that, trees come near. Bytes that hop through other devices on the way are not counted, which is loose.
    """
    if not cost.collective or cost.peers < 2:
        return 0.0, 0.0
    first = graph.by_id[node.inputs[0]]
    own, p = first.nbytes(first.distinct) * node.repeat, cost.peers
    others = 1 - 1 / p
    factor = {"all_reduce": 1.0, "all_gather": p - 1.0, "reduce_scatter": others, "all_to_all": others,
              "send": 1.0, "broadcast": 1.0}.get(cost.collective, 0.0)
    return own * factor, own * (2 * others if cost.collective == "all_reduce" else factor)
