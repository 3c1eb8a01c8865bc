"""The roofline the other way round: the least hardware that could do a run in a given time, or tokens at a given rate.

From totals: whoever runs it in T seconds needs, of each roof, at least amount / T per second, and DRAM for what must be
held. Several devices can at best divide all of it evenly, so n of a kind take at least a lower bound / n; how many are
needed follows, and more will be, because no division is even and devices have to talk to each other.
"""

from collections import defaultdict
from dataclasses import dataclass
from math import ceil

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.dtypes import FLOATS
from enlist.tools.solar.graph import Graph
from enlist.tools.solar.pricing.model import Bounds

_INTEGERS = ("int64", "int32", "int16", "uint16", "uint32")
_MOST_DEVICES = 1_000_000


@dataclass(frozen=True)
class Demand:
    """What hardware must reach: a time for one run in seconds, or tokens per second."""

    latency_s: float | None = None
    tokens_per_s: float | None = None


@dataclass(frozen=True)
class Enough:
    """The least number of one device; `because` tells what asks for it: "time" or "capacity". None where no number up
    to a million does."""

    device: str
    count: int | None
    fused_s: float
    because: str


@dataclass(frozen=True)
class Provision:
    """The least that hardware must have for one run in `latency_s`: rates per second by roof ("dram" in bytes), and
    bytes of DRAM; and the devices that could do it, the fewest first. `tokens` are those of one run, where asked."""

    latency_s: float
    tokens: int | None
    rates: dict[str, float]
    capacity: int
    devices: tuple[Enough, ...]


def provision(graph: Graph, made: Bounds, demand: Demand, capacities: dict[str, float]) -> Provision:
    """What a demand asks of hardware.

    Args:
        made: bounds on the devices to look at.
        capacities: bytes of DRAM by device.

    Raises `bad_input` for a rate of tokens where the inputs have none.
    """
    tokens = tokens_of(graph) if demand.tokens_per_s is not None else None
    if demand.tokens_per_s is not None and tokens is not None:
        latency = tokens / demand.tokens_per_s
    else:
        latency = demand.latency_s or 0.0
    amounts: dict[str, int] = defaultdict(int)
    for roof, flop in made.flop.items():
        amounts[roof] += flop
    amounts["dram"] += min((sum(r.amount for r in d.roofs if r.roof == "dram") for d in made.devices),
                           default=made.fused_bytes)  # a warm cache of the largest device spares the most
    capacity = max((d.memory.total for d in made.devices), default=0)
    found = []
    for one in made.devices:
        by_time, by_capacity = one.fused_s / latency, one.memory.total / capacities[one.device]
        count = max(1, ceil(max(by_time, by_capacity) - 1e-9))
        found.append(Enough(one.device, count if count <= _MOST_DEVICES else None, one.fused_s,
                            "capacity" if by_capacity > max(1.0, by_time) else "time"))
    found.sort(key=lambda e: (e.count or _MOST_DEVICES + 1, e.fused_s))
    return Provision(latency, tokens, {roof: n / latency for roof, n in amounts.items() if n}, capacity, tuple(found))


def tokens_of(graph: Graph) -> int:
    """Tokens of one run: the ids of the first integer input, else the first two dimensions of the first floating input
    of three."""
    inputs = [t for t in graph.tensors if t.role == "input"]
    ids = next((t for t in inputs if t.dtype in _INTEGERS and t.shape), None)
    if ids is not None:
        return max(1, ids.elements)
    hidden = next((t for t in inputs if t.dtype in FLOATS and len(t.shape) == 3), None)
    if hidden is not None:
        return max(1, hidden.shape[0] * hidden.shape[1])
    listed = ", ".join(f"{t.name} {t.dtype} {list(t.shape)}" for t in inputs)
    raise EnlistError("bad_input", "the inputs have no tokens to count", given=listed or "no inputs",
                      allowed="ids of an integer dtype, or floats [batch, length, width]",
                      fix="ask for a time instead: --provision 5 (milliseconds)")
