"""Recurrent layers (LSTM, GRU, RNN) as loops over time, one body for all steps.

The products with the inputs do not wait for earlier steps, so they are one product over all of them, as cuDNN has it;
what waits is the body: one product with the state and the gates. Where the first state is zero, the first step is taken
apart from the loop: it has no product with the state, and an LSTM's nothing to forget.
"""

from typing import Any

from enlist.tools.solar.graph import Scalar
from enlist.tools.solar.pytorch.recorder import Recorder
from enlist.tools.solar.pytorch.turns import Turns, repeated
from enlist.tools.solar.rules.structure import PART, ROWS

KINDS = ("lstm", "gru", "rnn_tanh", "rnn_relu")


def recurrent(recorder: Recorder, turns: Turns, kind: str, source: Any, hx: Any, params: list[Any], has_biases: bool,
              num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: bool) -> Any:
    """What `torch.lstm` and its like return for the same arguments: output and final states."""
    import torch

    states = list(hx) if kind == "lstm" else [hx]
    ways = 2 if bidirectional else 1
    each = len(params) // (num_layers * ways)
    layer_input = source.transpose(0, 1) if batch_first else source
    last: list[list[Any]] = [[] for _ in states]
    for layer in range(num_layers):
        outputs = []
        for way in range(ways):
            place = layer * ways + way
            weights = params[place * each:(place + 1) * each]
            first = [s.select(0, place) for s in states]
            out, final = _direction(recorder, turns, kind, layer_input, first, weights, has_biases, way == 1)
            outputs.append(out)
            for kept, state in zip(last, final, strict=True):
                kept.append(state)
        layer_input = outputs[0] if ways == 1 else torch.cat(outputs, -1)
        if dropout and train and layer < num_layers - 1:
            layer_input = torch.dropout(layer_input, dropout, True)
    output = layer_input.transpose(0, 1) if batch_first else layer_input
    return output, *(torch.stack(kept) for kept in last)


def _direction(recorder: Recorder, turns: Turns, kind: str, source: Any, states: list[Any], weights: list[Any],
               has_biases: bool, reverse: bool) -> tuple[Any, list[Any]]:
    import torch

    linear = torch.nn.functional.linear
    by_input, by_state = weights[:2]
    biases = weights[2:4] if has_biases else [None, None]
    projection = weights[-1] if len(weights) == (5 if has_biases else 3) else None
    steps, before = source.shape[0], recorder.repeat
    ready, first = linear(source, by_input, biases[0]), None
    if all(recorder.is_zero(s) for s in states):
        idle = 1 if kind == "lstm" or (kind == "gru" and not has_biases) else 0  # gates of which the first has no need
        _needed_only(recorder, ready, steps * _GATES[kind] - idle, steps * _GATES[kind])
        states = _first_step(kind, ready[-1 if reverse else 0], biases[1])
        states = [linear(states[0], projection), *states[1:]] if projection is not None else states
        first, ready = states[0], ready[:-1] if reverse else ready[1:]
        if steps == 1:
            return first.unsqueeze(0), states
    with repeated(recorder, ready.shape[0]):
        states = [turns.carry(s, by_state) for s in states]
        gates = turns.slice(ready)
        waited = linear(states[0], by_state, biases[1])
        if first is not None:
            recorder.mark(waited, {PART: "the first state is zero"})
        if kind == "lstm":
            made = _lstm_step(gates + waited, states[1])
            made = [linear(made[0], projection), made[1]] if projection is not None else made
        elif kind == "gru":
            made = [_gru_step(gates, waited, states[0])]
        else:
            made = [torch.tanh(gates + waited) if kind == "rnn_tanh" else torch.relu(gates + waited)]
        turns.handed(made)
        stacked = turns.stack(made[0], steps, "reverse" if reverse else "forward", first, before)
    return stacked, made


_GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}


def _needed_only(recorder: Recorder, made: Any, part: int, whole: int) -> None:
    """Mark the operator that has made `made`: of its results only a part is needed."""
    if part < whole:
        share: list[Scalar] = [part, whole, False]
        recorder.mark(made, {ROWS: share})


def _first_step(kind: str, gates: Any, bias: Any) -> list[Any]:
    """The states after a step from states that are zero; `bias` is that of the product with the state."""
    import torch

    if kind == "gru":
        reset, update, new = gates.chunk(3, -1)
        if bias is not None:
            by_reset, by_update, by_new = bias.chunk(3, -1)
            update, new = update + by_update, new + torch.sigmoid(reset + by_reset) * by_new
        made = torch.tanh(new)
        return [made - torch.sigmoid(update) * made]
    if kind == "lstm":
        enter, _, new, leave = (g if bias is None else g + b for g, b in zip(
            gates.chunk(4, -1), bias.chunk(4, -1) if bias is not None else [None] * 4, strict=True))
        cell = torch.sigmoid(enter) * torch.tanh(new)
        return [torch.sigmoid(leave) * torch.tanh(cell), cell]
    gates = gates if bias is None else gates + bias
    return [torch.tanh(gates) if kind == "rnn_tanh" else torch.relu(gates)]


def _lstm_step(gates: Any, cell: Any) -> list[Any]:
    import torch

    enter, keep, new, leave = gates.chunk(4, -1)
    cell = torch.sigmoid(keep) * cell + torch.sigmoid(enter) * torch.tanh(new)
    return [torch.sigmoid(leave) * torch.tanh(cell), cell]


def _gru_step(gates: Any, waited: Any, state: Any) -> Any:
    import torch

    reset, update, new = gates.chunk(3, -1)
    reset_state, update_state, new_state = waited.chunk(3, -1)
    share = torch.sigmoid(update + update_state)
    made = torch.tanh(new + torch.sigmoid(reset + reset_state) * new_state)
    return made + share * (state - made)
