"""What a section says of the bounds: readable amounts, where the headroom is, commands that run, points under roofs."""

import re
import shlex
import xml.etree.ElementTree as xml
from collections.abc import Callable
from math import inf
from pathlib import Path

import pytest

from enlist.tools.runtime.findings import Finding, ToolEvidence
from enlist.tools.solar.graph import Graph
from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.pricing.bounds import Bounds, bounds
from enlist.tools.solar.report.amounts import amount, duration
from enlist.tools.solar.report.answer import sections
from enlist.tools.solar.report.section import section
from enlist.tools.solar.tool import BOUNDS, BoundsInput, findings

Capture = Callable[..., Graph]
TEXT = ("import torch\nfrom torch import nn\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        self.norm = nn.BatchNorm1d(512)\n"
        "        self.linear = nn.Linear(512, 512)\n"
        "    def forward(self, x):\n        return self.linear(self.norm(x)) + 1\n"
        "def get_inputs():\n    return [torch.rand(4096, 512)]\nModel = Net\n")


def claimed(made: Bounds) -> list[Finding]:
    given = BoundsInput.model_validate(BOUNDS.example)
    return findings("speed_of_light", given, made, lambda pointer: ToolEvidence(
        tool="solar-bounds", version="1", input_sha256="0" * 64, pointer=pointer))


@pytest.mark.parametrize(("said", "right"), [
    (duration(0.0001389), "138.9 µs"), (duration(0.0123), "12.3 ms"), (duration(2.5), "2.5 s"), (duration(0), "0 ms"),
    (duration(2.445e-9), "2.445 ns"), (duration(0.00099999), "1 ms"),
    (amount(154_389_504, "B"), "154 MB"), (amount(77.3e9, "FLOP"), "77.3 GFLOP"), (amount(12, "B"), "12 B"),
    (amount(0, "FLOP"), "0 FLOP"), (amount(2e12, "FLOP"), "2 TFLOP"), (amount(1e3, "B"), "1 kB"),
    (amount(999_999, "B"), "1 MB")])
def test_an_amount_reads_with_the_unit_that_fits(said: str, right: str) -> None:
    assert said == right


def test_tables_name_operators_and_places_as_people_do(graph_of: Capture) -> None:
    _, table = section(bounds(graph_of(text=TEXT), resolve(["A100 SXM 80GB"]))).tables
    rows = {str(row[0]): row for row in table.rows}
    assert rows["batch_norm"][1] == "norm" and rows["add"][1] == "model"
    assert rows["linear"][3] == amount(2 * 4096 * 512 * 512, "FLOP") == "2.15 GFLOP"
    assert rows["add"][4] == amount(2 * 4096 * 512 * 4, "B") == "16.8 MB"


def test_a_finding_and_the_lead_give_a_time_in_the_same_unit(graph_of: Capture) -> None:
    made = bounds(graph_of(text=TEXT), resolve(["A100 SXM 80GB"]))
    found, (one,) = claimed(made), made.devices
    lead = " ".join(s.text for s in section(made, found).lead)
    for finding, seconds in zip(found, (one.fused_s, one.unfused_s), strict=True):
        assert finding.value == seconds and f"{seconds * 1e6:.4g} µs" in finding.text
        assert f"{seconds * 1e6:.4g} µs" in lead


def test_the_lead_says_where_the_headroom_is(graph_of: Capture) -> None:
    made = bounds(graph_of(text=TEXT), resolve(["A100 SXM 80GB"]), measured_s=0.01)
    found, (one,) = claimed(made), made.devices
    share = 100 * 2 * 4096 * 512 * 512 / 19.5e12 / one.unfused_s
    said = next(s for s in section(made, found).lead if s.text.startswith("Of the unfused bound"))
    assert f"linear on vector.fp32 takes {share:.1f} %" in said.text and said.text.count("takes") == 3
    assert said.findings == (next(f.id for f in found if f.predicate == "unfused lower bound"),)
    stated = next(s for s in section(made, found).lead if "stated" in s.text)
    assert f"{(0.01 - one.unfused_s) * 1e3:.4g} ms ({100 * (1 - one.unfused_s / 0.01):.1f} %)" in stated.text


@pytest.mark.parametrize(("attached", "shown"), [
    ({}, "PATH/TO/model.py"), ({"0" * 64: "folder/model.py"}, "PATH/TO/folder/model.py"),
    ({"0" * 64: "other.py"}, "PATH/TO/model.py")])
def test_what_would_tell_more_is_two_commands_of_one_line(
        graph_of: Capture, attached: dict[str, str], shown: str) -> None:
    made = bounds(graph_of(text=TEXT).model_copy(update={"target": "model.py:Net"}), resolve(["H100 SXM"]))
    (one,) = sections([(BoundsInput.model_validate(BOUNDS.example), made, [])], {}, attached)
    time, ask = (shlex.split(line) for line in (one.next or "").splitlines())
    assert time == ["python", "examples/time_model.py", shown, "--target", "Net"]
    assert (Path(__file__).parents[3] / time[1]).is_file()
    assert ask[:2] == ["enlist", "run"] and ask[3:] == ["--attach", shown] and "on an H100 SXM" in ask[2]


def test_nobody_is_told_to_time_a_forward_pass_for_a_training_step(graph_of: Capture) -> None:
    graph = graph_of(text=TEXT)
    step = graph.model_copy(update={"nodes": (*graph.nodes[:-1], graph.nodes[-1].model_copy(
        update={"phase": "backward"}))})
    (one,) = sections([(BoundsInput.model_validate(BOUNDS.example), bounds(step, resolve(["H100 SXM"])), [])], {}, {})
    assert one.next is not None and "time_model" not in one.next and "a training step takes <N> ms" in one.next


@pytest.mark.parametrize("target", ["model.py:a; rm b", "model.py:x\ny"])
def test_a_hostile_target_does_not_reach_a_command(graph_of: Capture, target: str) -> None:
    made = bounds(graph_of(text=TEXT).model_copy(update={"target": target}), resolve(["A100 SXM 80GB"]))
    (one,) = sections([(BoundsInput.model_validate(BOUNDS.example), made, [])], {}, {})
    assert one.next is not None and len(one.next.splitlines()) == 2 and "--target" not in one.next


def test_every_point_of_the_roofline_lies_on_its_own_roof(gpt2: Graph) -> None:
    """GPT-2 in float32 has products at the fp32 rate and attention at the TF32 rate, far above it."""
    root = xml.fromstring(section(bounds(gpt2, resolve(["A100 SXM 80GB"]))).figures[0].svg)
    tag = "{http://www.w3.org/2000/svg}"
    lines = {line.find(f"{tag}title").text: [float(n) for n in re.findall(r"[\d.]+", line.get("d", ""))]
             for line in root.iter(f"{tag}path") if line.find(f"{tag}title") is not None}
    assert set(lines) == {"dram", "vector.fp32", "tensor.tf32"}
    (left, bottom, right, top), on = lines["dram"], set()
    for point in root.iter(f"{tag}circle"):
        roof = re.search(r"\((\S+)\)$", point.find(f"{tag}title").text)[1]  # type: ignore[index]
        x, y = float(point.get("cx", inf)), float(point.get("cy", inf))
        height = bottom + (x - left) * (top - bottom) / (right - left) if roof == "dram" else lines[roof][1]
        assert y == pytest.approx(height, abs=0.3)
        assert x <= right if roof == "dram" else x >= lines[roof][0]
        on.add(roof)
    assert on == set(lines)


@pytest.mark.parametrize(("forward", "inputs", "has", "hasnt"), [
    ("a @ b", "torch.rand(4, 4), torch.rand(4, 4)", ["matrix products"], ["attention", "convolution", "embedding"]),
    ("F.conv1d(a, b)", "torch.rand(1, 4, 9), torch.rand(4, 4, 3)", ["convolutions at"], ["attention", "products"]),
    ("F.scaled_dot_product_attention(a, a, a)", "torch.rand(1, 4, 4)", ["float32 attention"], ["convolution"]),
    ("F.scaled_dot_product_attention(a, a, a)", "torch.rand(1, 4, 4).half()", [], ["TF32", "attention"]),
    ("a + 1", "torch.rand(4, 4)", [], ["TF32", "attention", "embedding"])])
def test_only_operators_that_the_model_has_are_in_the_assumptions(
        graph_of: Capture, forward: str, inputs: str, has: list[str], hasnt: list[str]) -> None:
    said = " ".join(bounds(graph_of(forward, inputs), resolve(["A100 SXM 80GB"])).assumed)
    assert all(words in said for words in has) and not any(words in said for words in hasnt)
