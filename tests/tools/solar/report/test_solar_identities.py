"""What JSON says adds up: terms to totals, roofs to bounds, transfers to bytes, coverage to what is not modelled."""

from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import pytest

from enlist.tools.solar.graph import Graph
from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.pricing.ruling import Ruling
from enlist.tools.solar.pytorch.capture import capture
from enlist.tools.solar.report.analysis import Question, analyse, entry

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n\n\nclass Model(nn.Module):\n"
MOE = HEAD + """    def __init__(self):
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(64, 8), nn.Linear(64, 128), nn.Linear(128, 64)
        self.experts = nn.Parameter(torch.rand(8, 64, 64))

    def forward(self, x):
        weight, chosen = self.gate(x).softmax(-1).topk(2, -1)
        mixed = torch.einsum("tkf,tkfg->tkg", x.unsqueeze(1).expand(-1, 2, -1), self.experts[chosen])
        return self.down(F.gelu(self.up(x))) + (mixed * weight.unsqueeze(-1)).sum(1)


def get_inputs():
    return [torch.rand(32, 64)]
"""
MLP = HEAD + """    def __init__(self):
        super().__init__()
        self.up, self.norm, self.down = nn.Linear(64, 128), nn.LayerNorm(128), nn.Linear(128, 10)

    def forward(self, x):
        return self.down(self.norm(F.gelu(self.up(x))))


def get_inputs():
    return [torch.rand(32, 64)]
"""
LARGE = HEAD + """    def forward(self, a, b):
        return torch.special.zeta(a @ b, a)


def get_inputs():
    return [torch.rand(16384, 16384), torch.rand(16384, 16384)]
"""
Made = dict[str, Any]


@pytest.fixture(params=["gpt2", "moe", "step", "large"])
def graph(request: pytest.FixtureRequest, model_file: Callable[..., Any]) -> Graph:
    """A language model, a mixture of experts, a training step, and a product that no cache holds before an operator
    that no rule models."""
    if request.param == "gpt2":
        known: Graph = request.getfixturevalue("gpt2")
        return known
    text = {"moe": MOE, "step": MLP, "large": LARGE}[request.param]
    return capture(model_file(text=text), training="step" if request.param == "step" else None)


@pytest.fixture(params=["H100 PCIe", "MI300X"])
def made(graph: Graph, request: pytest.FixtureRequest) -> Made:
    return entry(analyse(graph, Question(resolve([request.param]), ruling=Ruling())))


def test_every_total_is_the_sum_of_what_it_is_made_of(made: Made) -> None:
    terms, bounds = made["terms"], made["bounds"]
    by_roof: Counter[str] = Counter()
    for term in terms:
        by_roof.update(term["flop_by_roof"])
        assert term["flop"] == sum(term["flop_by_roof"].values())
        assert term["loose_by"] is None or term["loose_by"] == pytest.approx(term["estimate_s"] / term["seconds"])
    assert +by_roof == made["flop"]["by_roof"]
    assert made["flop"]["total"] == sum(t["flop"] for t in terms)
    assert made["bytes"]["unfused"] == sum(t["bytes"] for t in terms)
    assert made["bytes"]["fused"] == sum(t["bytes"] for t in made["transfers"])
    assert bounds["unfused_s"] == pytest.approx(sum(t["seconds"] for t in terms))
    assert bounds["fused_s"] <= bounds["cache_aware_s"] <= bounds["unfused_s"]
    assert bounds["fused_s"] <= made["estimate_s"]
    memory = made["memory"]
    assert memory["total"] == sum(v for k, v in memory.items() if k not in ("total", "saved", "fits"))


def test_each_bound_is_the_slowest_of_its_roofs(made: Made) -> None:
    phases = defaultdict(list)
    for roof in made["roofs"]:
        assert roof["seconds"] == pytest.approx(roof["amount"] / roof["peak"])
        phases[roof["phase"]].append(roof["seconds"])
    assert made["bounds"]["fused_s"] == pytest.approx(sum(max(times) for times in phases.values()))
    peaks = {name: used["per_second"] for name, used in made["dtype_peaks"].items()}
    for term in made["terms"]:
        amounts = dict(term["flop_by_roof"]) | {"dram": term["bytes"], "special": term["special"],
                                                "link": term["link_bytes"]}
        assert term["seconds"] == pytest.approx(amounts[term["roof"]] / peaks[term["roof"]], rel=1e-6, abs=1e-15)
        assert all(amounts[roof] / peaks[roof] <= term["seconds"] * (1 + 1e-6) for roof in amounts if roof in peaks)


def test_what_is_not_modelled_is_named_where_coverage_is_short(made: Made, graph: Graph) -> None:
    short = any(share < 1 for share in made["coverage"].values())
    assert short == bool(made["unmodelled"]) == any("zeta" in n.op for n in graph.nodes)
    assert all(0 <= share <= 1 for share in made["coverage"].values())
    assert {"inputs", "dtype", "mode"} <= {line.partition(":")[0] for line in made["assumed"]}
