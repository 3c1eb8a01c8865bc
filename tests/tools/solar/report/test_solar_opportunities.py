"""Opportunities: what could be saved, in the right order, never more than there is."""

from collections.abc import Callable

import pytest

from enlist.tools.solar.graph import Graph
from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.pricing.bounds import bounds
from enlist.tools.solar.profiles.activity import Activity, Profile
from enlist.tools.solar.report.analysis import Question, analyse, entry
from enlist.tools.solar.report.opportunities import fusion_gains

Stack = Callable[..., Graph]


@pytest.mark.parametrize(("width", "rows"), [(512, 64), (512, 4096), (8, 1_000_000), (8, 1)])
def test_gains_of_fusion_add_up_to_what_lies_between_the_bounds(stack: Stack, width: int, rows: int) -> None:
    graph = stack(3, width, rows)
    made = bounds(graph, resolve(["H100 SXM"]))
    (one,) = made.devices
    gains = fusion_gains(graph, made, one)
    assert min(gains) >= 0 and sum(gains) == pytest.approx(one.unfused_s - one.fused_s)


def test_where_memory_decides_the_operator_between_gains_and_the_ends_keep_theirs(stack: Stack) -> None:
    """x and the last relu's output have to move; a relu inside moves nothing that must."""
    graph = stack(3, 8, 1_000_000)
    made = bounds(graph, resolve(["H100 SXM"]))
    assert made.devices[0].limiting_roof == "dram"
    gains = dict(zip((t.node for t in made.devices[0].terms), fusion_gains(graph, made, made.devices[0]), strict=True))
    assert gains["m1"] == pytest.approx(gains["m0"]) and gains["m1"] > 1.9 * gains["m2"]


def test_opportunities_are_ranked_and_none_saves_more_than_was_measured(stack: Stack) -> None:
    graph, device = stack(3, 8, 1_000_000), resolve(["H100 SXM"])
    measured = 1.01 * bounds(graph, device).devices[0].unfused_s
    made = analyse(graph, Question(device, measured_s=measured))
    saves = [o.saves_s for o in made.opportunities]
    assert saves == sorted(saves, reverse=True) and 0 < saves[0] <= measured
    assert {o.kind for o in made.opportunities} >= {"fusion", "precision"}


def test_a_smaller_dtype_saves_the_difference_of_the_fused_bounds(stack: Stack) -> None:
    graph, device = stack(2, 2048, 4096), resolve(["H100 SXM"])
    made = analyse(graph, Question(device))
    (found,) = [o for o in made.opportunities if o.what == "bfloat16"]
    fused = [bounds(graph, device, dtype=d).devices[0].fused_s for d in (None, "bfloat16")]
    assert found.saves_s == pytest.approx(fused[0] - fused[1]) and "changes results" in found.how
    assert not [o for o in analyse(graph, Question(device, "bfloat16")).opportunities if o.kind == "precision"]
    halves = tuple(t.model_copy(update={"dtype": "bfloat16"}) for t in graph.tensors)
    half = graph.model_copy(update={"tensors": halves})
    assert [o.what for o in analyse(half, Question(device)).opportunities if o.kind == "precision"] == ["float8_e4m3fn"]


def test_a_profile_ranks_operators_by_how_far_they_are_from_their_bounds(stack: Stack) -> None:
    names = ["aten::linear", "aten::relu"] * 2
    activities = tuple(Activity(f"kernel {n}", seconds, 1, (names[n],), (), (n,))
                       for n, seconds in enumerate((40e-6, 900e-6, 50e-6, 3e-6)))
    made = analyse(stack(), Question(resolve(["H100 SXM"]), profile=Profile("torch-profiler", "t", activities, True)))
    first = made.opportunities[0]
    bound = sum(t.seconds for t in made.one.terms if t.op == "relu")
    assert (first.kind, first.what) == ("gap", "2 x relu") and first.saves_s == pytest.approx(903e-6 - bound)
    assert made.one.headroom.measured_s == pytest.approx(993e-6)
    document = entry(made)["profile"]
    assert document["joined_share"] == pytest.approx(1) and document["operators"][0]["where"] == "layers.0"
