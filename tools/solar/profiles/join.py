"""Join measured times to the terms of a bound, so that headroom can be told operator by operator.

An activity that knows its operators is joined by name: the outermost operator that the graph has too takes all that ran
inside it. Calls of one name go to the terms of that name in the order of both, those of equal input shapes first. What
knows only a kernel's name is joined to the family that the name tells (matrix products, convolutions, attention, the
rest): one by one where the counts fit, else family to family. Nothing is dropped: rows and leftovers add up to the
total. A trace of several iterations is divided by their number.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from enlist.tools.solar.graph import Graph, Node
from enlist.tools.solar.profiles.activity import Activity, Profile
from enlist.tools.solar.report.spelling import spelled
from enlist.tools.solar.rules.table import work

Level = Literal["operator", "family"]
_FAMILIES = (  # the first that matches; names of kernels of cuDNN, cuBLAS, CUTLASS, FlashAttention and PyTorch
    ("", re.compile(r"memcpy|memset|nccl|\[mem", re.I)),
    ("attention", re.compile(r"flash|fmha|attention|mem_eff|sdpa", re.I)),
    ("convolution", re.compile(r"conv|[fdw]grad|fprop|winograd|implicit_gemm", re.I)),
    ("matmul", re.compile(r"gemm|gemv|cublas|cutlass|nvjet|xmma|splitk|dot_kernel", re.I)))


class TermLike(Protocol):
    """What of a bound's term is read here."""

    @property
    def node(self) -> str: ...
    @property
    def op(self) -> str: ...
    @property
    def where(self) -> str: ...
    @property
    def seconds(self) -> float: ...


@dataclass(frozen=True)
class Row:
    """Measured seconds of one iteration against the bound of the terms (by position) that they were joined to."""

    terms: tuple[int, ...]
    op: str
    where: str
    measured_s: float
    bound_s: float
    level: Level

    @property
    def headroom(self) -> float | None:
        """Measured over bound; None where the bound is zero."""
        return self.measured_s / self.bound_s if self.bound_s else None


@dataclass(frozen=True)
class Left:
    """What could not be joined: seconds of one iteration, and how often it ran in all."""

    name: str
    seconds: float
    count: int


@dataclass(frozen=True)
class Joined:
    """The rows, the largest saving first, and what is left over; `total_s` is one iteration."""

    profile: str
    kind: str
    steps: int
    total_s: float
    on_device: bool
    rows: tuple[Row, ...]
    unjoined: tuple[Left, ...]

    @property
    def joined_share(self) -> float:
        """The share of the measured time that found its term."""
        return sum(row.measured_s for row in self.rows) / self.total_s if self.total_s else 0.0


@dataclass
class _Call:
    """One call of an operator in the profile."""

    name: str
    shape: tuple[int, ...] | None
    seconds: float = 0.0


def join(profile: Profile, graph: Graph, terms: Sequence[TermLike]) -> Joined:
    """Join a profile to the terms of a bound of the graph."""
    nodes = {node.id: node for node in graph.nodes}
    names = [plain_op(term.op) for term in terms]
    slots: dict[str, list[tuple[int, tuple[int, ...] | None]]] = defaultdict(list)
    for place, term in enumerate(terms):
        node = nodes[term.node]
        shape = graph.by_id[node.inputs[0]].shape if node.inputs else None
        slots[names[place]] += [(place, shape)] * node.repeat
    calls, loose = _calls(profile.activities, set(names))
    measured: defaultdict[int, float] = defaultdict(float)
    for name, many in calls.items():
        for call in _assign(many, slots[name], measured):
            loose.append(Activity(call.name, call.seconds))
    rows: list[Row] = []
    free = [place for place in range(len(terms)) if place not in measured]
    steps = profile.steps or _steps({n: len(c) for n, c in calls.items()}, {n: len(s) for n, s in slots.items()})
    if free and not calls:
        families = {place: _family_of_node(graph, nodes[terms[place].node]) for place in free}
        loose, steps = _by_family(loose, terms, families, measured, rows, profile.steps)
    for place, seconds in measured.items():
        term = terms[place]
        rows.append(Row((place,), spelled(term.op), term.where, seconds, term.seconds, "operator"))
    rows = [Row(r.terms, r.op, r.where, r.measured_s / steps, r.bound_s, r.level) for r in rows]
    rows.sort(key=lambda row: row.bound_s - row.measured_s)
    return Joined(profile.name, profile.kind, steps, profile.total_s / steps, profile.on_device, tuple(rows),
                  _left(loose, steps))


def plain_op(name: str) -> str:
    """An operator's name under which a graph's and a profiler's agree: without namespace, in-place mark or variant."""
    text = spelled(name.rpartition("::")[2].removeprefix("lax.").removeprefix("loop.").rstrip("_"))
    text = text.removesuffix("_with_indices").removesuffix("_backward_overrideable")
    if re.match(r"(cudnn_|mkldnn_|miopen_|slow_|thnn_)?(conv\d|conv_transpose|convolution|conv_)", text):
        return "convolution backward" if "backward" in text else "convolution"
    if "scaled_dot_product" in text and "attention" in text:
        return "attention backward" if "backward" in text else "attention"
    return {"contiguous": "clone", "to": "cast"}.get(text, text)


def family_of(kernel: str) -> str:
    """The family that a kernel's name tells: attention, convolution, matmul, vector; "" for copies and collectives."""
    return next((family for family, pattern in _FAMILIES if pattern.search(kernel)), "vector")


def _family_of_node(graph: Graph, node: Node) -> str:
    cost = work(graph, node)
    return cost.kind if cost and cost.kind in ("attention", "convolution", "matmul") else "vector"


def _calls(activities: Iterable[Activity], names: set[str]) -> tuple[dict[str, list[_Call]], list[Activity]]:
    """Calls by operator in order, and the activities that no operator of the graph encloses."""
    found: dict[tuple[str, int], _Call] = {}
    loose = []
    for activity in activities:
        at = next((n for n, op in enumerate(activity.ops) if plain_op(op) in names), None)
        if at is None:
            loose.append(activity)
            continue
        shapes = activity.shapes[at] if at < len(activity.shapes) else ()
        key = (plain_op(activity.ops[at]), activity.calls[at])
        call = found.setdefault(key, _Call(activity.ops[at], shapes[0] if shapes else None))
        call.seconds += activity.seconds
    calls: dict[str, list[_Call]] = defaultdict(list)
    for name, number in sorted(found, key=lambda key: key[1]):
        calls[name].append(found[name, number])
    return calls, loose


def _assign(calls: list[_Call], slots: list[tuple[int, tuple[int, ...] | None]],
            measured: dict[int, float]) -> list[_Call]:
    """Give calls to slots of the same name, equal shapes first; returns the calls that no slot is left for."""
    by_shape: dict[tuple[int, ...] | None, list[int]] = defaultdict(list)
    for place, shape in slots:
        by_shape[shape].append(place)
    rest: list[_Call] = []
    taken: set[tuple[int, ...] | None] = set()
    for shape in dict.fromkeys(call.shape for call in calls):
        same = [call for call in calls if call.shape == shape]
        if shape is not None and shape in by_shape and len(same) % len(by_shape[shape]) == 0:
            taken.add(shape)
            _cycle(same, by_shape[shape], measured)
        else:
            rest += same
    places = [place for place, shape in slots if shape not in taken]
    kept = {id(call) for call in rest}
    rest = [call for call in calls if id(call) in kept]  # again in the order of the calls
    if not places or (len(rest) > len(places) and len(rest) % len(places)):
        whole = len(places) * (len(rest) // len(places)) if places else 0
        _cycle(rest[:whole], places, measured)
        return rest[whole:]
    _cycle(rest, places, measured)
    return []


def _cycle(calls: Sequence[_Call], places: Sequence[int], measured: dict[int, float]) -> None:
    for number, call in enumerate(calls):
        measured[places[number % len(places)]] += call.seconds


def _steps(calls: dict[str, int], slots: dict[str, int]) -> int:
    """Iterations that the counts tell: how often most of the names came for each time that the graph has them."""
    ratios = Counter(n // slots[name] for name, n in calls.items() if slots[name] and n % slots[name] == 0)
    return max(ratios, key=lambda r: (ratios[r], -r)) if ratios else 1


def _by_family(loose: list[Activity], terms: Sequence[TermLike], families: dict[int, str], measured: dict[int, float],
               rows: list[Row], marked: int | None) -> tuple[list[Activity], int]:
    """Join kernels by family; returns what is left and the number of iterations."""
    ran: dict[str, list[Activity]] = defaultdict(list)
    for activity in loose:
        ran[family_of(activity.name)].append(activity)
    places: dict[str, list[int]] = defaultdict(list)
    for place, family in families.items():
        places[family].append(place)
    counts = {f: sum(a.count for a in ran[f]) for f in ("matmul", "convolution", "attention") if ran.get(f)}
    steps = marked or _steps({f: n for f, n in counts.items() if places.get(f)},
                             {f: len(p) for f, p in places.items()})
    left = list(ran.pop("", []))
    for family, many in ran.items():
        found = places.get(family, [])
        each = all(activity.count == 1 for activity in many)
        if found and each and len(many) == steps * len(found) and family != "vector":
            _cycle([_Call(a.name, None, a.seconds) for a in many], found, measured)
        elif found:
            rows.append(Row(tuple(found), f"{family} kernels", f"{len(found)} operators",
                            sum(a.seconds for a in many), sum(terms[p].seconds for p in found), "family"))
        else:
            left += many
    return left, steps


def _left(loose: Iterable[Activity], steps: int) -> tuple[Left, ...]:
    seconds: defaultdict[str, float] = defaultdict(float)
    counts: Counter[str] = Counter()
    for activity in loose:
        seconds[activity.name] += activity.seconds
        counts[activity.name] += activity.count
    return tuple(Left(name, s / steps, counts[name]) for name, s in sorted(seconds.items(), key=lambda item: -item[1]))
