"""Masks of positions, and what of products they leave: causal attention, windows, triangles.

Where a mask follows from positions alone, its elements are counted. Scores that it replaces by a large negative number
vanish in the softmax, so that their products need not be made, and neither those of the weights that are zero. The
share of multiply-adds that is left is exact for one masked operand or result, and for two masked matrices.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from enlist.tools.solar.graph import Graph, Node
from enlist.tools.solar.jaxpr.elements import NEEDED
from enlist.tools.solar.jaxpr.rules import KEPT
from enlist.tools.solar.jaxpr.values import Values, thin

VANISHES = -1e4
"""A score of this or less has no weight: exp(-1e4) is 0 even in float64."""
_DEPTH = 24  # operators between a product and its mask
_KEEP_ZERO = frozenset(f"lax.{n}" for n in ("neg", "abs", "sign", "sqrt", "sin", "tanh", "square", "integer_pow",
                                           "reduce_precision", "convert_element_type", "div", "copy"))
_KEEP_MINUS = frozenset(("lax.convert_element_type", "lax.div", "lax.sub", "lax.reduce_precision", "lax.add"))
_SAME_ELEMENTS = frozenset(f"lax.{n}" for n in ("reshape", "squeeze", "expand_dims", "transpose", "broadcast_in_dim",
                                               "stop_gradient", "copy", "optimization_barrier", "name",
                                               "sharding_constraint"))
_TURNS = ("lax.stack", "loop_slice")  # every turn's part is masked alike
_CHAIN = frozenset(f"lax.{n}" for n in ("mul", "div", "add", "sub", "neg", "convert_element_type", "tanh", "add_any",
                                       "reduce_precision"))


@dataclass(frozen=True)
class Mask:
    """Which elements of a tensor are known to be zero, or so negative that they vanish: the share of the others, and
    the pattern of these where it is still that of the tensor."""

    kind: Literal["zero", "minus"]
    share: Fraction
    pattern: Callable[[], Any]


def masked(graph: Graph, values: Values) -> Graph:
    """The graph, its products marked with the share of their multiply-adds that masks leave, and its selections with
    the share of each case that is read."""
    if not any(n.op == "lax.dot_general" for n in graph.nodes) and not any(
            n.op in ("lax.select_n", "lax.mul") for n in graph.nodes):
        return graph
    return _Masks(graph, values).marked()


class _Masks:
    def __init__(self, graph: Graph, values: Values) -> None:
        self._graph, self._values = graph, values
        self._found: dict[str, Mask | None] = {}
        self._fills: dict[str, float | None] = {}
        self._shares: dict[str, Fraction | None] = {}
        self._looked: dict[str, Fraction] = {}
        self._readers: dict[str, list[Node]] = {}
        for node in graph.nodes:
            for tensor in node.inputs:
                self._readers.setdefault(tensor, []).append(node)

    def marked(self) -> Graph:
        marks: dict[str, dict[str, Any]] = {}
        for node in self._graph.nodes:
            if len(node.outputs) == 1:
                mask = self._made(node)
                if mask is not None:
                    self._found[node.outputs[0]] = mask
            if node.op == "lax.select_n" and (taken := self._taken(node)):
                marks[node.id] = {KEPT: [[s.numerator, s.denominator] for s in taken]}
        for node in self._graph.nodes if any(self._found.values()) else ():
            if len(node.outputs) != 1 or node.op in _SAME_ELEMENTS:
                continue
            share = self._of_product(node) if node.op == "lax.dot_general" else self._of_elements(node)
            if share < 1:
                marks.setdefault(node.id, {})[NEEDED] = [share.numerator, share.denominator]
        if not marks:
            return self._graph
        return self._graph.model_copy(update={"nodes": tuple(
            n.model_copy(update={"attributes": n.attributes | marks[n.id]}) if n.id in marks else n
            for n in self._graph.nodes)})

    def _mask(self, tensor: str | None) -> Mask | None:
        """What is known of a tensor; a tensor of positions is looked at when it is asked for."""
        if tensor is None:
            return None
        if tensor not in self._found:
            self._found[tensor] = self._known(tensor)
        return self._found[tensor]

    def _known(self, tensor: str) -> Mask | None:
        known = self._graph.by_id[tensor]
        if len(known.shape) < 2 or not self._values.knows(tensor) or known.elements <= 1:
            return None
        array = self._array(tensor)
        if array is None or array.dtype.kind not in "bfiu":
            return None
        minus = array <= VANISHES if array.dtype.kind == "f" else np.zeros((), bool)
        if minus.any():
            return _mask("minus", ~minus)
        return _mask("zero", array != 0)

    def _array(self, tensor: str) -> Any:
        array = self._values.array(tensor)
        if array is None:
            return None
        array = thin(array)
        return array.astype(np.float32) if array.dtype.kind == "V" else array  # bfloat16 and its like

    def _fill(self, node: Node, place: int) -> float | None:
        """The one number that fills an argument, if it is one."""
        literal = node.attributes.get(f"literal{place}")
        if literal is not None:
            return float(literal) if isinstance(literal, int | float | str) else None
        tensor = node.input(str(place))
        if tensor is None or not self._values.knows(tensor):
            return None
        if tensor not in self._fills:
            array = self._array(tensor)
            self._fills[tensor] = float(array.reshape(-1)[0]) if array is not None and array.size == 1 else None
        return self._fills[tensor]

    def _made(self, node: Node) -> Mask | None:
        """What is known of a node's result."""
        if self._values.knows(node.outputs[0]):
            return None  # looked at when somebody asks
        if node.op == "lax.select_n":
            return self._selected(node)
        first, second = self._mask(node.input("0")), self._mask(node.input("1"))
        if node.op in (*_SAME_ELEMENTS, *_TURNS) and first is not None and node.op != "lax.transpose":
            return replace(first, pattern=lambda: None)
        if node.op == "lax.transpose" and first is not None:
            return replace(first, pattern=_turned(first))
        if node.op == "lax.mul":
            zeros = [m for m in (first, second) if m and m.kind == "zero"]
            if zeros:
                return min(zeros, key=lambda m: m.share)
            factor = self._fill(node, 1 if first else 0)
            return (first or second) if factor is not None and factor > 0 else None
        if node.op == "lax.add" and second is not None and second.kind == "minus":
            return second
        if node.op in ("lax.exp", "lax.exp2") and first is not None and first.kind == "minus":
            return replace(first, kind="zero")
        if first is None:
            return None
        if node.op == "lax.max":
            return first if first.kind == "zero" and self._fill(node, 1) == 0 else None
        keeps = _KEEP_ZERO if first.kind == "zero" else _KEEP_MINUS
        return first if node.op in keeps else None

    def _selected(self, node: Node) -> Mask | None:
        """`where` with a mask of positions and a number for what it hides."""
        taken = self._taken(node)
        numbers = [self._fill(node, place) for place in (1, 2)]
        if taken is None:
            inner = [self._mask(node.input(str(p))) for p in (1, 2)]
            for mask, other in zip(inner, reversed(numbers), strict=True):  # dropout of what is masked already
                if mask is not None and mask.kind == "zero" and other == 0:
                    return mask
            return None
        for number, place in sorted((n, p) for p, n in enumerate(numbers) if n is not None):
            if (number <= VANISHES or number == 0) and taken[1 - place] < 1:
                shown = self._pattern(node.input("0"), place == 0)
                return Mask("zero" if number == 0 else "minus", taken[1 - place], shown)
        return None

    def _pattern(self, condition: str | None, as_it_is: bool) -> Callable[[], Any]:
        def pattern() -> Any:
            array = self._array(str(condition)).astype(bool)
            return array if as_it_is else ~array

        return pattern

    def _taken(self, node: Node) -> list[Fraction] | None:
        """The shares of the two cases of a selection that its condition takes, where this follows from positions."""
        condition = node.input("0")
        if condition is None or not self._values.knows(condition) or node.input("3") is not None:
            return None
        if condition not in self._shares:
            array = self._array(condition)
            known = array is not None and array.size
            self._shares[condition] = Fraction(int(np.count_nonzero(array)), array.size) if known else None
        share = self._shares[condition]
        return None if share is None else [1 - share, share]

    def _of_product(self, node: Node) -> Fraction:
        """The share of a product's multiply-adds whose operands are not zero and whose result is looked at."""
        masks = [m for m in (self._mask(node.input("0")), self._mask(node.input("1"))) if m and m.kind == "zero"]
        looked = self._looked_at(node.outputs[0], 0)
        if len(masks) < 2:
            return looked * (masks[0].share if masks else 1)
        left, right = masks[0].pattern(), masks[1].pattern()
        both = _two(left, right, node.attributes.get("contract"))
        if both is None:
            return Fraction(0)
        return both if looked < 1 and self._looks_at_all(node, left, right) else both * looked

    def _looks_at_all(self, node: Node, left: Any, right: Any) -> bool:
        """Whether the readers of a triangular product look at the whole triangle that it fills."""
        keep = next((k for k in (np.tril, np.triu) if all(np.array_equal(m, k(m)) for m in (left, right))), None)
        if keep is None or node.attributes.get("contract") != [[1], [0]]:
            return False
        for reader in self._readers.get(node.outputs[0], []):
            if reader.op != "lax.select_n" or self._taken(reader) is None:
                return False
            shown = self._pattern(reader.input("0"), reader.input("2") == node.outputs[0])()
            if shown.shape != (left.shape[0], right.shape[1]) or keep(~shown).any():
                return False
        return True

    def _of_elements(self, node: Node) -> Fraction:
        """The share of its elements on which an operator has something to do: those of its result, or of what it sums
        up, that are not masked."""
        source = self._graph.by_id[node.inputs[0]] if node.inputs else None
        out = self._graph.by_id[node.outputs[0]]
        reduces = source is not None and source.elements > out.elements
        mask = self._found.get(source.id) if source is not None and reduces else self._found.get(out.id)
        return min(mask.share if mask else Fraction(1), Fraction(1) if reduces else self._looked_at(out.id, 0))

    def _looked_at(self, tensor: str, depth: int) -> Fraction:
        """The share of a tensor that anybody looks at."""
        readers = self._readers.get(tensor, [])
        if depth > _DEPTH or self._graph.by_id[tensor].is_output or not readers:
            return Fraction(1)
        if tensor not in self._looked:
            self._looked[tensor] = max(self._by_reader(tensor, node, depth) for node in readers)
        return self._looked[tensor]

    def _by_reader(self, tensor: str, node: Node, depth: int) -> Fraction:
        if len(node.outputs) != 1:
            return Fraction(1)
        if node.op == "lax.select_n":
            places = [int(s) for i, s in zip(node.inputs, node.slots, strict=True) if i == tensor]
            taken = self._taken(node)
            return taken[places[0] - 1] if taken and places in ([1], [2]) else Fraction(1)
        if node.op == "lax.mul" or node.op == "lax.add":
            kind = "zero" if node.op == "lax.mul" else "minus"
            other = next((m for t in node.inputs if t != tensor and (m := self._mask(t)) and m.kind == kind), None)
            if other is not None:
                return other.share
        output = self._graph.by_id[node.outputs[0]]
        same = output.elements == self._graph.by_id[tensor].elements
        if same and (node.op in _CHAIN or node.op in _SAME_ELEMENTS):
            return self._looked_at(output.id, depth + 1)
        return Fraction(1)


def _mask(kind: Literal["zero", "minus"], shown: Any) -> Mask | None:
    count = int(np.count_nonzero(shown))
    return Mask(kind, Fraction(count, shown.size), lambda: shown) if shown.size and count < shown.size else None


def _turned(mask: Mask) -> Callable[[], Any]:
    """The pattern of a transposed matrix, None for more dimensions."""
    def pattern() -> Any:
        array = mask.pattern()
        return array.T if array is not None and array.ndim == 2 else None

    return pattern


def _two(left: Any, right: Any, contract: Any) -> Fraction | None:
    """The share of multiply-adds of two masked matrices that are not with zero: over the summed index, rows that are
    not zero times columns that are not."""
    if left is None or right is None or left.ndim != 2 or right.ndim != 2:
        return None
    if not isinstance(contract, list) or [len(c) for c in contract] != [1, 1]:
        return None
    rows = np.count_nonzero(left, axis=1 - contract[0][0]).astype(object)
    columns = np.count_nonzero(right, axis=1 - contract[1][0]).astype(object)
    if len(rows) != len(columns):
        return None  # a mask that is repeated along the sum
    return Fraction(int((rows * columns).sum()), left.size * right.size // len(rows))
