"""A captured graph as one self-contained SVG: a box per operator, wider bars and darker fill for more time.

Views are left out: an edge goes from the operator that wrote a storage to the one that reads it. Up to some hundred
operators each has its box; beyond that, runs of operators of the same module are one box, at the deepest level of the
module tree that is readable. Layers go down in order of dependence. No scripts or outside references; text is escaped.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from enlist.tools.solar.graph import Graph
from enlist.tools.solar.pricing.bounds import Term
from enlist.tools.solar.report.amounts import amount, duration
from enlist.tools.solar.report.spelling import spelled

READABLE = 160  # boxes
_COLUMNS = 8
_BOX, _TALL, _ACROSS, _DOWN, _EDGE = 168, 40, 184, 66, 12
_MOST_EDGES = 3000
_COMPUTE, _MEMORY = "#b3541e", "#0b6e99"


@dataclass
class Box:
    """One operator, or a run of operators of one module."""

    label: str
    terms: list[Term] = field(default_factory=list)
    after: set[int] = field(default_factory=set)

    @property
    def seconds(self) -> float:
        return sum(t.seconds for t in self.terms)


def graph_svg(graph: Graph, terms: Sequence[Term]) -> str:
    """The drawing of a graph with the terms of one device."""
    boxes = _connected(graph, terms, _boxes(terms))
    places = _placed(boxes)
    width = _EDGE * 2 + _ACROSS * max((x + 1 for x, _ in places), default=1)
    height = _EDGE * 2 + _DOWN * max((y + 1 for _, y in places), default=1)
    longest = max((b.seconds for b in boxes), default=0.0) or 1.0
    whole = sum(b.seconds for b in boxes) or 1.0
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
             f'viewBox="0 0 {width} {height}" role="img" font-family="sans-serif" font-size="11">'
             f"<title>{escape(f'Operators of {graph.target}')}</title>"]
    edges = [(a, b) for b, box in enumerate(boxes) for a in sorted(box.after)]
    parts += [_edge(places[a], places[b]) for a, b in edges[:_MOST_EDGES]]
    parts += [_box(box, place, box.seconds / longest, box.seconds / whole)
              for box, place in zip(boxes, places, strict=True)]
    return "".join([*parts, "</svg>"])


def _boxes(terms: Sequence[Term]) -> list[Box]:
    """A box per operator, or as few as are readable."""
    if len(terms) <= READABLE:
        return [Box(spelled(t.op), [t]) for t in terms]
    deepest = max(t.where.count(".") + 1 if t.where else 0 for t in terms)
    for depth in range(deepest, 0, -1):
        boxes = _runs(terms, depth)
        if len(boxes) <= READABLE:
            if len(boxes) > 2:
                return boxes
            break
    size = -(-len(terms) // READABLE)  # no modules, or none that help: runs of equal length
    chunks = [list(terms[n:n + size]) for n in range(0, len(terms), size)]
    return [Box(f"{spelled(c[0].op)} ... {spelled(c[-1].op)}", c) for c in chunks]


def _runs(terms: Sequence[Term], depth: int) -> list[Box]:
    """Runs of operators with the same first `depth` parts of their module's path, in order of execution: so that a box
    never both precedes and follows another one."""
    boxes: list[Box] = []
    for term in terms:
        label = ".".join(term.where.split(".")[:depth]) or "(model)"
        if not boxes or boxes[-1].label != label:
            boxes.append(Box(label))
        boxes[-1].terms.append(term)
    return boxes


def _connected(graph: Graph, terms: Sequence[Term], boxes: list[Box]) -> list[Box]:
    of = {term.node: place for place, box in enumerate(boxes) for term in box.terms}
    wrote: dict[str, int] = {}
    for node in graph.nodes:
        here = of.get(node.id)
        if here is None:
            continue
        for tensor in node.inputs:
            before = wrote.get(graph.root(tensor))
            if before is not None and before < here:
                boxes[here].after.add(before)
        for tensor in node.outputs:
            wrote[graph.root(tensor)] = here
    return boxes


def _placed(boxes: list[Box]) -> list[tuple[int, int]]:
    """Column and row of each box: a layer below all that it depends on, a wide layer over several rows."""
    layers: list[int] = []
    for box in boxes:  # what a box depends on stands before it
        layers.append(1 + max((layers[a] for a in box.after), default=-1))
    inside: dict[int, list[int]] = defaultdict(list)
    for place, layer in enumerate(layers):
        inside[layer].append(place)
    found: list[tuple[int, int]] = [(0, 0)] * len(boxes)
    row = 0
    for layer in sorted(inside):
        ordered = sorted(inside[layer], key=lambda p: _middle(boxes[p], found))
        for number, place in enumerate(ordered):
            found[place] = (number % _COLUMNS, row + number // _COLUMNS)
        row += -(-len(ordered) // _COLUMNS)
    return found


def _middle(box: Box, found: list[tuple[int, int]]) -> float:
    return sum(found[a][0] for a in box.after) / len(box.after) if box.after else 0.0


def _edge(start: tuple[int, int], end: tuple[int, int]) -> str:
    x1, y1 = _EDGE + start[0] * _ACROSS + _BOX // 2, _EDGE + start[1] * _DOWN + _TALL
    x2, y2 = _EDGE + end[0] * _ACROSS + _BOX // 2, _EDGE + end[1] * _DOWN
    bend = max(14, (y2 - y1) // 3)
    side = 0 if y2 - y1 < _DOWN else 14 + 3 * min(8, end[1] - start[1])  # round the boxes between
    return (f'<path d="M{x1} {y1}C{x1 + side} {y1 + bend} {x2 + side} {y2 - bend} {x2} {y2}" fill="none" '
            'stroke="#999" stroke-opacity="0.6"/>')


def _box(box: Box, place: tuple[int, int], share_of_longest: float, share: float) -> str:
    x, y = _EDGE + place[0] * _ACROSS, _EDGE + place[1] * _DOWN
    memory = sum(t.seconds for t in box.terms if t.roof == "dram") * 2 >= box.seconds
    colour = _MEMORY if memory else _COMPUTE
    count = f"{len(box.terms)} operators, " if len(box.terms) > 1 else ""
    flop, moved = sum(t.flop for t in box.terms), sum(t.bytes for t in box.terms)
    told = (f"{box.label} {box.terms[0].where}: {count}{duration(box.seconds)} ({100 * share:.1f} %), "
            f"{amount(flop, 'FLOP')}, {amount(moved, 'B')}, {'memory' if memory else 'compute'} bound")
    outline = f'<rect x="{x}" y="{y}" width="{_BOX}" height="{_TALL}" rx="4" '
    return (f'<g><title>{escape(told)}</title>{outline}fill="#fff"/>'  # edges do not shine through
            f'{outline}fill="{colour}" fill-opacity="{0.08 + 0.5 * share_of_longest:.2f}" stroke="{colour}"/>'
            f'<rect x="{x}" y="{y + _TALL - 4}" width="{_BOX * share_of_longest:.1f}" height="4" fill="{colour}"/>'
            f'<text x="{x + 6}" y="{y + 15}">{escape(_short(box.label))}</text>'
            f'<text x="{x + 6}" y="{y + 29}" fill="#444">{escape(f"{count}{duration(box.seconds)}")}</text></g>')


def _short(text: str, most: int = 25) -> str:
    return text if len(text) <= most else f"{text[:most - 9]}...{text[-6:]}"
