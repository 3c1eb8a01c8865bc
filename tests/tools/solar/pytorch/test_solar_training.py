"""Backward passes and training steps: FLOP and bytes against closed forms, and what is said of them."""

from collections.abc import Callable

import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.graph import Graph
from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.pricing.bounds import bounds
from enlist.tools.solar.pytorch.capture import capture
from enlist.tools.solar.rules.table import work

Write = Callable[..., object]
TWO_LAYERS = "self.l = nn.Sequential(nn.Linear(8, 16, bias=False), nn.Tanh(), nn.Linear(16, 4, bias=False))"


def trained(model_file: Write, forward: str, inputs: str, init: str = "pass", training: str = "backward",
            head: str = "", **more: object) -> Graph:
    path = model_file(forward, inputs, init)
    path.write_text(path.read_text().replace("class Model", f"{head}\nclass Model", 1))  # type: ignore[attr-defined]
    return capture(path, training=training, **more)  # type: ignore[arg-type]


def matrix_flop(graph: Graph, phase: str) -> int:
    costs = [(work(graph, n), n) for n in graph.nodes if n.phase == phase]
    return sum(cost.matrix_flop * n.repeat for cost, n in costs if cost is not None)


def test_backward_multiplies_twice_what_forward_does_but_not_for_the_inputs(model_file: Write) -> None:
    graph = trained(model_file, "self.l(a)", "torch.rand(32, 8)", TWO_LAYERS)
    first, second = 2 * 32 * 8 * 16, 2 * 32 * 16 * 4
    assert matrix_flop(graph, "forward") == first + second
    assert matrix_flop(graph, "backward") == first + 2 * second  # the first layer's input wants no gradient


def test_gradients_of_all_parameters_are_outputs(model_file: Write) -> None:
    graph = trained(model_file, "self.l(a)", "torch.rand(32, 8)", TWO_LAYERS)
    assert sorted(t.shape for t in graph.tensors if t.is_output) == [(), (4, 16), (16, 8)]


def test_a_model_without_parameters_gives_the_gradient_of_its_input(model_file: Write) -> None:
    graph = trained(model_file, "a.relu()", "torch.rand(32, 8)")
    assert [(n.op, n.phase) for n in graph.nodes][-1] == ("threshold_backward", "backward")
    assert [t.shape for t in graph.tensors if t.is_output] == [(), (32, 8)]


def test_a_loss_that_the_model_returns_is_taken_as_it_is(model_file: Write) -> None:
    graph = trained(model_file, "F.cross_entropy(self.l(a), b)", "torch.rand(32, 8), torch.zeros(32, dtype=torch.long)",
                    TWO_LAYERS)
    assert not any(n.op == "sum" and n.phase == "forward" for n in graph.nodes)
    assert any("loss as the model returns it" in line for line in graph.assumed)


@pytest.mark.parametrize(("training", "head", "op", "states"), [
    ("step", "", "adamw_step", 2), ("step:sgd", "", "sgd_step", 0), ("step:adam", "", "adam_step", 2),
    ("step", "def get_optimizer(p): return torch.optim.SGD(p, lr=0.1, momentum=0.9)\n", "sgd_step", 1),
    ("step", "def get_optimizer(p): return torch.optim.Adam(p, amsgrad=True)\n", "adam_step", 3)])
def test_a_step_reads_and_writes_parameters_and_states(model_file: Write, training: str, head: str, op: str,
                                                       states: int) -> None:
    graph = trained(model_file, "self.l(a)", "torch.rand(32, 8)", TWO_LAYERS, training, head)
    steps = [n for n in graph.nodes if n.phase == "optimizer"]
    assert [n.op for n in steps] == [op] * 2
    weights = (8 * 16 + 16 * 4) * 4
    moved = sum(t.bytes for t in bounds(graph, resolve(["H100 PCIe"])).transfers if t.phase == "optimizer")
    assert moved == weights * (2 * (1 + states) + 1)  # parameter and states in and out, the gradient in
    assert sum(t.nbytes(t.elements) for t in graph.tensors if t.name.startswith("optimizer.")) == weights * states


def test_a_step_in_place_holds_weights_and_states_once(model_file: Write) -> None:
    graph = trained(model_file, "self.l(a)", "torch.rand(32, 8)", TWO_LAYERS, "step:adam")
    held = bounds(graph, resolve(["H100 PCIe"])).devices[0].memory
    assert held.optimizer == 2 * held.weights > 0
    assert held.gradients == held.weights  # there between the backward pass and the optimizer
    assert held.total == 4 * held.weights + held.inputs + 4  # the loss


def test_another_optimizer_runs_its_own_step(model_file: Write) -> None:
    graph = trained(model_file, "self.l(a)", "torch.rand(32, 8)", TWO_LAYERS, "step",
                    "def get_optimizer(p): return torch.optim.RMSprop(p)\n")
    ops = [n.op for n in graph.nodes if n.phase == "optimizer"]
    assert ops.count("addcmul") == ops.count("sqrt") == ops.count("addcdiv") == 2
    assert {t.name for t in graph.tensors if t.role == "buffer"} == {
        "optimizer.square_avg.l.0.weight", "optimizer.square_avg.l.2.weight"}


def test_attention_saves_no_probabilities(model_file: Write) -> None:
    graph = trained(model_file, "F.scaled_dot_product_attention(self.q(a), a, a, is_causal=True)",
                    "torch.rand(2, 4, 64, 16)", "self.q = nn.Linear(16, 16)")
    pairs = 2 * 4 * 64 * 65 // 2
    assert matrix_flop(graph, "forward") == 2 * pairs * (16 + 16) + 2 * 2 * 4 * 64 * 16 * 16
    assert all(64 * 64 not in (t.shape[-1] * t.shape[-2],) for t in graph.tensors if len(t.shape) == 4)
    (back,) = [n for n in graph.nodes if n.op == "scaled_dot_product_attention_backward"]
    assert back.attributes["is_causal"] is True and back.where == ""


def test_dropout_and_batch_norm_are_those_of_training(model_file: Write) -> None:
    graph = trained(model_file, "self.n(F.dropout(self.l(a), 0.5, self.training))", "torch.rand(32, 8)",
                    "self.l = nn.Linear(8, 8); self.n = nn.BatchNorm1d(8)")
    assert {"bernoulli", "_native_batch_norm_legit"} <= {n.op for n in graph.nodes}
    assert any("train mode" in line for line in graph.assumed)


def test_backward_nodes_name_the_module_of_their_forward_and_turn_as_often(model_file: Write) -> None:
    graph = trained(model_file, "self.r(self.l(a))[0]", "torch.rand(10, 2, 8)",
                    "self.l = nn.Linear(8, 8); self.r = nn.GRU(8, 16)")
    back = [n for n in graph.nodes if n.phase == "backward" and n.op in ("mm", "bmm")]
    assert {n.where for n in back} == {"l", "r"} and {n.repeat for n in back} == {1, 9}
    forward = 2 * 10 * 2 * 8 * 8 + 2 * 2 * 48 * (10 * 8 + 9 * 16)  # the first state is zero
    assert matrix_flop(graph, "forward") == forward
    assert matrix_flop(graph, "backward") == 2 * forward - 2 * 10 * 2 * 8 * 8


@pytest.mark.parametrize(("forward", "training", "word"), [
    ("a.argmax(-1)", "backward", "differentiable"), ("a.detach()", "backward", "differentiable"),
    ("a * 2", "step", "parameters"), ("a * 2", "epochs", "backward, step")])
def test_what_cannot_be_trained_is_refused(model_file: Write, forward: str, training: str, word: str) -> None:
    with pytest.raises(EnlistError) as fault:
        trained(model_file, forward, "torch.rand(4, 8)", training=training)
    assert fault.value.code == "bad_input" and word in fault.value.sentence()
