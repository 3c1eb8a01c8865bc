"""Recurrent layers (LSTM, GRU, RNN) as loops over time, one body for all steps.

The products with the inputs do not wait for earlier steps, so they are one product over all of them, as cuDNN has it;
what waits is the body: one product with the state and the gates. Backward in time costs the same as forward.
"""

from typing import Any

from enlist.tools.solar.pytorch.recorder import Recorder
from enlist.tools.solar.pytorch.turns import Turns, repeated

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
            out, final = _direction(recorder, turns, kind, layer_input, first, weights, has_biases)
            outputs.append(out)
            for kept, state in zip(last, final, strict=True):
                kept.append(state)
        layer_input = outputs[0] if ways == 1 else torch.cat(outputs, -1)
        if dropout and train and layer < num_layers - 1:
            layer_input = torch.dropout(layer_input, dropout, True)
    output = layer_input.transpose(0, 1) if batch_first else layer_input
    return output, *(torch.stack(kept) for kept in last)


def _direction(recorder: Recorder, turns: Turns, kind: str, source: Any, states: list[Any], weights: list[Any],
               has_biases: bool) -> tuple[Any, list[Any]]:
    import torch

    linear = torch.nn.functional.linear
    by_input, by_state = weights[:2]
    biases = weights[2:4] if has_biases else [None, None]
    projection = weights[-1] if len(weights) == (5 if has_biases else 3) else None
    steps = source.shape[0]
    ready = linear(source, by_input, biases[0])
    with repeated(recorder, steps):
        states = [turns.carry(s, by_state) for s in states]
        gates = turns.slice(ready)
        waited = linear(states[0], by_state, biases[1])
        if kind == "lstm":
            made = _lstm_step(gates + waited, states[1])
            made = [linear(made[0], projection), made[1]] if projection is not None else made
        elif kind == "gru":
            made = [_gru_step(gates, waited, states[0])]
        else:
            made = [torch.tanh(gates + waited) if kind == "rnn_tanh" else torch.relu(gates + waited)]
        turns.handed(made)
        stacked = turns.stack(made[0], steps)
    return stacked, made


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
