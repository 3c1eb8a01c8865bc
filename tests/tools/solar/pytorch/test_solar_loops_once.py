"""Loops have their body in the graph once, with as many turns as they take; FLOP against closed forms."""

from collections.abc import Callable

import pytest

from enlist.tools.solar.graph import Graph
from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.pricing.bounds import bounds

Of = Callable[..., Graph]
HEAD = ("import torch\nfrom torch import nn\nfrom torch._higher_order_ops.scan import scan\n"
        "from torch._higher_order_ops.while_loop import while_loop\nfrom torch._higher_order_ops.map import map as each"
        "\n")


def model(line: str, init: str = "pass", inputs: str = "torch.rand(10, 4, 8)") -> str:
    return (f"{HEAD}class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {init}\n"
            f"    def forward(self, a):\n        return {line}\ndef get_inputs():\n    return [{inputs}]\n")


def matmul_flop(graph: Graph) -> int:
    return bounds(graph, resolve(["H100 PCIe"])).matrix_flop.get("matmul", 0)


@pytest.mark.parametrize(("line", "flop"), [
    ("scan(lambda c, x: (torch.tanh(c @ self.w + x), c * 2), torch.zeros(4, 8), a)", 10 * 2 * 4 * 8 * 8),
    ("each(lambda x: x @ self.w, a)", 10 * 2 * 4 * 8 * 8),
    ("while_loop(lambda i, x: i < 7, lambda i, x: (i + 1, x @ self.w), (torch.tensor(0), a[0]))", 7 * 2 * 4 * 8 * 8),
    ("scan(lambda c, x: scan(lambda d, y: (d @ self.w, d), c, x[:3])[::1], torch.zeros(4, 8), a)[0]",
     10 * 3 * 2 * 4 * 8 * 8)])
def test_a_loop_counts_its_turns(graph_of: Of, line: str, flop: int) -> None:
    graph = graph_of(text=model(line, "self.w = nn.Parameter(torch.rand(8, 8))"))
    assert matmul_flop(graph) == flop and sum(n.op == "matmul" for n in graph.nodes) == 1


def test_a_loop_whose_turns_depend_on_data_may_not_turn_and_says_so(graph_of: Of) -> None:
    graph = graph_of(text=model("while_loop(lambda x: x.sum() < 7, lambda x: (x @ x,), (a[0, :, :4],))[0] @ self.w",
                                "self.w = nn.Parameter(torch.rand(4, 5))"))
    assert matmul_flop(graph) == 2 * 4 * 4 * 5  # what comes after it
    assert any("while_loop" in line and "depends on data" in line for line in graph.assumed)


def test_of_two_branches_the_cheaper_one_is_priced_and_said_so(graph_of: Of) -> None:
    graph = graph_of(text=model("torch.cond(a.sum() > 0, lambda x: x * 2 + x, lambda x: x + 1, (a,))"))
    assert [n.op for n in graph.nodes] == ["add"] and any("false branch" in line for line in graph.assumed)


def test_of_branches_that_are_each_cheaper_in_something_the_lesser_of_each_is_priced(graph_of: Of) -> None:
    """One multiplies and needs the weight, the other adds and needs the bias; both read the input and give a result."""
    graph = graph_of(text=model("torch.cond(a.sum() > 0, lambda x: x @ self.w, lambda x: x + self.b, (a,))",
                                "self.w, self.b = nn.Parameter(torch.rand(8, 8)), nn.Parameter(torch.rand(8))"))
    made = bounds(graph, resolve(["H100 PCIe"]))
    assert [n.op for n in graph.nodes] == ["cond"] and made.flop == {}
    assert made.fused_bytes == made.unfused_bytes == 2 * 10 * 4 * 8 * 4


@pytest.mark.parametrize(("layer", "flop"), [
    ("nn.LSTM(8, 16, 2)", 8 * (64 * (10 * 8 + 9 * 16) - 16 * 8) + 8 * (64 * (10 * 16 + 9 * 16) - 16 * 16)),
    ("nn.LSTM(8, 16, bidirectional=True)", 2 * 8 * (64 * (10 * 8 + 9 * 16) - 16 * 8)),
    ("nn.LSTM(8, 16, proj_size=4)", 8 * (64 * (10 * 8 + 9 * 4) - 16 * 8 + 10 * 16 * 4)),
    ("nn.GRU(8, 16, bias=False)", 8 * (48 * (10 * 8 + 9 * 16) - 16 * 8)),
    ("nn.RNN(8, 16, nonlinearity='relu')", 8 * 16 * (10 * 8 + 9 * 16))])
def test_recurrent_layers_multiply_inputs_at_every_step_and_states_at_all_but_the_first(graph_of: Of, layer: str,
                                                                                       flop: int) -> None:
    """Four sequences of ten steps; from the zero state an LSTM's gate of forgetting has nothing to do, nor has the gate
    of resetting of a GRU without biases."""
    graph = graph_of(text=model("self.l(a)[0]", f"self.l = {layer}"))
    assert matmul_flop(graph) == flop and len(graph.nodes) < 100
    assert next(t.shape for t in graph.tensors if t.is_output)[:2] == (10, 4)


@pytest.mark.parametrize("layer", ["nn.LSTM(8, 16, 2, batch_first=True)", "nn.GRU(8, 16, bidirectional=True)",
                                   "nn.RNN(8, 16)"])
def test_recurrent_layers_do_what_pytorchs_own_do(layer: str) -> None:
    """The loop, unrolled on real numbers, gives PyTorch's outputs."""
    import torch
    from torch import nn

    from enlist.tools.solar.pytorch import recurrent as module
    from enlist.tools.solar.pytorch.recorder import Recorder


    torch.manual_seed(0)
    made = eval(layer, {"nn": nn})
    source = torch.rand(5, 5, 8)
    wanted, _ = made(source)
    states = [torch.zeros(made.num_layers * (2 if made.bidirectional else 1), 5, 16) for _ in range(2)]

    def steps(recorder: object, turns: object, kind: str, x: torch.Tensor, first: list[torch.Tensor],
              weights: list[torch.Tensor], has_biases: bool, reverse: bool) -> tuple[torch.Tensor, list[torch.Tensor]]:
        ready = torch.nn.functional.linear(x, weights[0], weights[2])
        outputs, state = [], list(first)
        for place, gates in enumerate(reversed(ready) if reverse else ready):
            if place == 0:  # from the zero state
                state = module._first_step(kind, gates, weights[3])
                outputs.append(state[0])
                continue
            waited = torch.nn.functional.linear(state[0], weights[1], weights[3])
            state = (module._lstm_step(gates + waited, state[1]) if kind == "lstm" else
                     [module._gru_step(gates, waited, state[0])] if kind == "gru" else [torch.tanh(gates + waited)])
            outputs.append(state[0])
        return torch.stack(outputs[::-1] if reverse else outputs), state

    kind = {"LSTM": "lstm", "GRU": "gru", "RNN": "rnn_tanh"}[type(made).__name__]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_direction", steps)
        got = module.recurrent(Recorder(), None, kind, source, states if kind == "lstm" else states[0],  # type: ignore
                               made._flat_weights, True, made.num_layers, 0.0, False, made.bidirectional,
                               made.batch_first)[0]
    assert torch.allclose(got, wanted, atol=1e-6)
