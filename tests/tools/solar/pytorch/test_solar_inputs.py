"""Inputs that are described instead of made, sizes that are changed, and dimensions that are swept."""

from collections.abc import Callable
from pathlib import Path

import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.graph import Graph
from enlist.tools.solar.pytorch.capture import capture
from enlist.tools.solar.pytorch.sweep import swept

Write = Callable[..., Path]
TEXT = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.l = torch.nn.Embedding(100, 8), torch.nn.Linear(8, 4)
    def forward(self, ids, scale, flip=False):
        h = self.e(ids) * scale
        return self.l(h.flip(1) if flip else h)
def fixed(x):
    return x.view(16, 8) @ torch.ones(8, 2)
def alone(x, *, y):
    return x @ y
"""
INPUTS = "def get_inputs():\n    return [torch.zeros(16, 32, dtype=torch.long), torch.rand(16, 32, 1)]\n"


def shapes(graph: Graph) -> dict[str, tuple[int, ...]]:
    return {t.name: t.shape for t in graph.tensors if t.role == "input"}


@pytest.mark.parametrize(("spec", "wanted"), [
    ("batch=8", {"ids": (8, 32), "scale": (8, 32, 1)}), ("length=5; batch=2", {"ids": (2, 5), "scale": (2, 5, 1)}),
    ("scale[0]=1", {"ids": (16, 32), "scale": (1, 32, 1)}),
    ("scale=bf16[1]", {"ids": (16, 32), "scale": (1,)}),
    ("ids=int64[4,7];scale=float32[4,7,1];batch=3", {"ids": (3, 7), "scale": (3, 7, 1)}),
    ("flip=True", {"ids": (16, 32), "scale": (16, 32, 1)})])
def test_a_specification_takes_the_place_of_the_example(model_file: Write, spec: str,
                                                        wanted: dict[str, tuple[int, ...]]) -> None:
    graph = capture(model_file(text=TEXT + INPUTS), inputs=spec)
    assert shapes(graph) == wanted and any(n.op == "flip" for n in graph.nodes) == ("flip" in spec)


def test_a_function_without_example_inputs_takes_described_ones(model_file: Write) -> None:
    graph = capture(model_file(text=TEXT), "alone", inputs="x=float32[3,8];y=float32[8,5]")
    assert [t.shape for t in graph.tensors if t.is_output] == [(3, 5)]


@pytest.mark.parametrize(("spec", "word"), [
    ("batch=0", "1 or more"), ("ids=floot[3]", "dtype"), ("ids=int64[3", "read"), ("other=float32[3]", "ids, scale"),
    ("ids[7]=3", "axis 7"), ("", "empty"), ("nothing[0]=3", "no such argument"), ("batch=-1", "read")])
def test_what_cannot_be_read_is_refused_and_says_what_can(model_file: Write, spec: str, word: str) -> None:
    with pytest.raises(EnlistError, match=word) as fault:
        capture(model_file(text=TEXT + INPUTS), inputs=spec or ";")
    assert fault.value.code == "bad_input"


def test_a_sweep_gives_a_graph_for_each_size(model_file: Write) -> None:
    graphs = swept(model_file(text=TEXT + INPUTS), dim="batch", values=[1, 8, 64])
    assert [shapes(g)["ids"] for g in graphs] == [(1, 32), (8, 32), (64, 32)]
    assert [t.shape for g in graphs for t in g.tensors if t.is_output] == [(1, 32, 4), (8, 32, 4), (64, 32, 4)]


def test_a_size_that_is_written_into_the_model_is_named(model_file: Write) -> None:
    path = model_file(text=TEXT + "def get_inputs():\n    return [torch.rand(16, 8)]\n")
    assert capture(path, "fixed").nodes
    with pytest.raises(EnlistError, match="symbol batch cannot vary") as fault:
        swept(path, "fixed", "batch", [4])
    assert fault.value.code == "unsupported" and "view(16, 8)" in (fault.value.given or "")


def test_dynamic_dimensions_are_tried_and_said(model_file: Write) -> None:
    graph = capture(model_file(text=TEXT + INPUTS), dynamic="batch,length")
    assert graph.assumed[-2:] == ("symbol batch: 16 here, and captured at 33 too",
                                  "symbol length: 32 here, and captured at 65 too")


@pytest.mark.parametrize(("made", "moved"), [
    ("torch.rand(2, 16, 8).unbind()", 2 * 16 * 8), ("torch.rand(2, 16, 8).triu().unbind()", 2 * 36),
    ("(lambda t: (t[:16], t[8:24]))(torch.rand(24, 8))", 16 * 8), ("[torch.rand(16, 8)] * 2", 16 * 8)])
def test_inputs_cut_from_one_piece_count_apart_only_where_no_byte_is_in_both(model_file: Write, made: str, moved: int,
                                                                             ) -> None:
    """Of those that overlap the larger one is charged; of an upper triangle of 16 x 8 its 36 elements are read."""
    from enlist.tools.solar.hardware import resolve
    from enlist.tools.solar.pricing.bounds import bounds

    text = (f"import torch\nclass Model(torch.nn.Module):\n    def forward(self, a, b):\n        return a.sum() + "
            f"b.sum()\ndef get_inputs():\n    return [*{made}]\n")
    assert bounds(capture(model_file(text=text)), resolve(["H100"])).fused_bytes == 4 * (moved + 1)


NESTED = """
import torch
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(64, 64)
    def forward(self, x, state, times=1, layers=()):
        for _ in range(times):
            x = self.l(x) + state["h"]
        for layer in layers:
            x = x @ layer
        return x
"""
NESTED_INPUTS = "def get_inputs():\n    return [torch.rand(8, 64), {'h': torch.rand(8, 64), 'c': torch.rand(1)}]\n"


@pytest.mark.parametrize(("inputs", "spec", "products", "wanted"), [
    (NESTED_INPUTS, "times=3", 3, (8, 64)),
    (NESTED_INPUTS, "x=float32[4,64];state.h=float32[4,64]", 1, (4, 64)),
    (NESTED_INPUTS, "state.h[0]=1", 1, (8, 64)),
    (NESTED_INPUTS, "layers.0=float32[64,32];layers.1=float32[32,16]", 3, (8, 16)),
    ("", "x=float32[2,64];state.h=float32[2,64];times=2", 2, (2, 64))])
def test_whole_numbers_and_what_lies_in_lists_and_dicts_can_be_described(
        model_file: Write, inputs: str, spec: str, products: int, wanted: tuple[int, ...]) -> None:
    graph = capture(model_file(text=NESTED + inputs), inputs=spec)
    assert sum(n.op in ("linear", "matmul", "mm") for n in graph.nodes) == products
    assert [t.shape for t in graph.tensors if t.is_output] == [wanted]


@pytest.mark.parametrize(("spec", "word"), [("x.h=float32[8]", "neither a list nor a dict"),
                                            ("layers.3=float32[64,64]", "without gaps"),
                                            ("state.q[0]=3", "no such argument"), ("x=3", "no such argument")])
def test_a_way_that_leads_nowhere_is_refused(model_file: Write, spec: str, word: str) -> None:
    with pytest.raises(EnlistError, match=word) as fault:
        capture(model_file(text=NESTED + NESTED_INPUTS), inputs=spec)
    assert fault.value.code == "bad_input"
