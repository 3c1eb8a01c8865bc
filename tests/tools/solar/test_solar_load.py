"""What a user's file may do, and what they are told when it does not work."""

from collections.abc import Callable
from pathlib import Path

import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.pytorch.capture import capture

Write = Callable[..., Path]
HEAD = "import torch\nfrom torch import nn\n"
INPUTS = "def get_inputs():\n    return [torch.rand(2, 3)]\n"


def model(forward: str = "return x", init: str = "pass") -> str:
    return (f"{HEAD}class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {init}\n"
            f"    def forward(self, x):\n        {forward}\n{INPUTS}")


@pytest.mark.parametrize(("text", "code", "told"), [
    (HEAD + "class Net(nn.Module):\n    pass\n" + INPUTS, "bad_input", ["no Model", "Net", "get_inputs", "::Net"]),
    (HEAD + "x = (1,\n", "bad_input", ["not Python", "model.py:3"]),
    (HEAD + "class Model(nn.Module):\n    pass\n", "bad_input", ["get_inputs"]),
    ("import nothing_like_this\n", "tool_failed", ["model.py:1", "nothing_like_this", "imported"]),
    (model(init="raise KeyError('width')"), "tool_failed", ["KeyError", "model.py:6", "constructed"]),
    (model("return x @ x"), "tool_failed", ["model.py:8: return x @ x", "forward"]),
    (model("return x if x.sum() > 0 else -x"), "unsupported", ["model.py:8", "torch.where"]),
    (model("return x[x > 0]"), "unsupported", ["values"]),
    (model("return x * x.sum().item() if x.max().item() > 1 else x"), "unsupported", ["model.py:8"]),
])
def test_a_fault_says_what_and_where(model_file: Write, text: str, code: str, told: list[str]) -> None:
    with pytest.raises(EnlistError) as caught:
        capture(model_file(text=text))
    assert caught.value.code == code
    for words in told:
        assert words in caught.value.sentence()


def test_what_needs_real_numbers_is_made_on_the_cpu_and_said_so(model_file: Write) -> None:
    graph = capture(model_file(text=model("return x * self.k", "self.k = torch.rand(4).sum().item()")))
    assert any(line.startswith("constructed on the cpu") for line in graph.assumed)
    assert any(line == "constructed on the meta device" for line in capture(model_file(text=model())).assumed)


def test_a_function_can_be_the_target(model_file: Write) -> None:
    graph = capture(model_file(text=HEAD + "def twice(x):\n    return x * 2\n" + INPUTS), "twice")
    assert [n.op for n in graph.nodes] == ["mul"] and graph.target == "model.py:twice"


def test_assumptions_name_batch_length_dtype_and_mode(model_file: Write) -> None:
    text = model("return self.e(x)", "self.e = nn.Embedding(9, 4)").replace(
        "torch.rand(2, 3)", "torch.randint(0, 9, (2, 3))")
    said = " ".join(capture(model_file(text=text)).assumed)
    for words in ("first dimension of x: 2 (taken as batch)", "second dimension of x: 3 (taken as sequence length)",
                  "dtype: float32", "eval mode, without gradients"):
        assert words in said


@pytest.mark.parametrize(("inputs", "length"), [
    ("torch.rand(2, 3, 4)", True), ("torch.zeros(2, 3, dtype=torch.int64)", True), ("torch.rand(2, 3)", False),
    ("torch.rand(2, 3, 8, 8)", False), ("torch.zeros(2, 3, 4, dtype=torch.int64)", False)])
def test_a_sequence_length_is_claimed_only_of_ids_and_of_vectors_in_a_row(
        model_file: Write, inputs: str, length: bool) -> None:
    said = capture(model_file(text=model().replace("torch.rand(2, 3)", inputs))).assumed
    assert ("second dimension of x: 3 (taken as sequence length)" in said) == length
    assert said[1] == "first dimension of x: 2 (taken as batch)"


@pytest.mark.parametrize("text", [
    HEAD + "class Block(nn.Module):\n    pass\nclass Net(nn.Module):\n    pass\n" + INPUTS,
    model("return x if x.sum() > 0 else -x").replace(
        "def get_inputs", "class Block(nn.Module):\n    pass\nclass Net(nn.Module):\n    pass\ndef get_inputs"),
], ids=["no Model", "no single graph"])
def test_a_fault_of_the_chosen_class_says_which_others_there_are_and_how_to_choose(
        model_file: Write, text: str) -> None:
    with pytest.raises(EnlistError) as caught:
        capture(model_file(text=text))
    fix = caught.value.fix or ""
    for words in ("how far is Net from the limit", "Block", "FILE.py::Net"):
        assert words in fix


def test_meta_capture_takes_no_memory_for_a_terabyte(model_file: Write) -> None:
    text = model("return x + 1").replace("torch.rand(2, 3)", "torch.rand(512 << 10, 512 << 10)")
    graph = capture(model_file(text=text))
    assert graph.nodes[0].op == "add"
