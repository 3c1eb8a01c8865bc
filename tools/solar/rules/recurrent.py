"""Recurrent layers as one operator: each step multiplies the input and the state by the weights of its gates.

An LSTM has four gates (three sigmoids and a tanh, and the tanh of the cell), a GRU three, a plain layer one. Weights
are read once, since they may stay on chip over all steps. Capture records a layer as a loop over its steps; these rules
serve graphs that hold cuDNN's whole layer, or one step as an operator.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from enlist.tools.solar.rules.elements import filling
from enlist.tools.solar.work import Call, Nest, Rule, Work


@dataclass(frozen=True)
class _Cell:
    """Per unit of the state and step: gates, FLOP beside the products, evaluations of special functions."""

    gates: int
    flop: int
    special: int


_CELLS: Mapping[str, _Cell] = {"lstm": _Cell(4, 13, 5), "gru": _Cell(3, 12, 3), "rnn_tanh": _Cell(1, 1, 1),
                               "rnn_relu": _Cell(1, 2, 0)}


_MODES = ("rnn_relu", "rnn_tanh", "lstm", "gru")
"""cuDNN's numbers of kinds."""


def _layers(call: Call) -> Work | None:
    """Weight matrices by layer and direction (input, then state, then projection), each used at every position of every
    sequence."""
    source = call.tensor("input")
    weights = [t for t in filling(call, "weight") if len(t.shape) == 2]
    if source is None or not weights or len(source.shape) != 3 or call.tensor("batch_sizes") is not None:
        return None
    cell = _CELLS[_MODES[int(call.attribute("mode", 2))]]
    places = source.elements // max(1, source.shape[-1])
    steps = source.shape[1 if call.attribute("batch_first", False) else 0]
    each = 3 if int(call.attribute("proj_size", 0)) else 2
    states = sum(w.shape[0] // cell.gates for w in weights[::each])
    nests = tuple(Nest(1, places, w.shape[0], w.shape[1]) for w in weights)
    return Work("matmul", matrix_flop=2 * places * sum(w.elements for w in weights),
                vector_flop=cell.flop * places * states, special=cell.special * places * states, nests=nests,
                launches=steps * (len(weights) // each))


def _pointwise(call: Call) -> Work:
    """The gates of one step, their products done."""
    cell = _CELLS["lstm" if "lstm" in call.node.op else "gru"]
    count = call.out().elements
    return Work("vector", vector_flop=cell.flop * count, special=cell.special * count)


def _one_step(call: Call) -> Work | None:
    """A cell: one step of one layer."""
    source = call.tensor("input")
    weights = [t for t in (call.tensor("w_ih"), call.tensor("w_hh")) if t is not None]
    if source is None or len(weights) != 2:
        return None
    cell = _CELLS[call.node.op.removesuffix("_cell")]
    rows = source.elements // max(1, source.shape[-1])
    count = rows * weights[0].shape[0] // cell.gates
    return Work("matmul", matrix_flop=2 * rows * sum(w.elements for w in weights), vector_flop=cell.flop * count,
                special=cell.special * count, nests=tuple(Nest(1, rows, *w.shape) for w in weights))


RULES: dict[str, Rule] = {
    "_cudnn_rnn": _layers, **{f"{name}_cell": _one_step for name in _CELLS},
    "_thnn_fused_lstm_cell": _pointwise, "_thnn_fused_gru_cell": _pointwise}
