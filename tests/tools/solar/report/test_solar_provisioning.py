"""The least hardware for a demand: from totals over time, and never more than a device that is known to do it."""

from collections.abc import Callable
from math import ceil

import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.graph import Graph, Tensor
from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.pricing.bounds import bounds
from enlist.tools.solar.pricing.ruling import Ruling
from enlist.tools.solar.report.analysis import Question, analyse, entry
from enlist.tools.solar.report.provisioning import Demand, Provision, provision, tokens_of

Stack = Callable[..., Graph]


def asked(graph: Graph, demand: Demand, names: tuple[str, ...] = ("H100 SXM", "L4")) -> Provision:
    devices = resolve(names)
    return provision(graph, bounds(graph, devices), demand, {d.name: d.dram_capacity.value for d in devices})


def test_rates_are_totals_over_the_time(stack: Stack) -> None:
    found = asked(stack(2, 512, 64), Demand(latency_s=1e-3))
    assert found.rates["tensor.fp32"] >= 2 * 2 * 64 * 512 * 512 / 1e-3
    assert found.rates["dram"] == pytest.approx(4 * (2 * 64 * 512 + 2 * 512 * 512) / 1e-3)
    assert found.capacity >= 4 * 2 * 512 * 512


@pytest.mark.parametrize("share", [0.3, 0.999, 1.0, 1.001, 2.5, 10.0])
def test_as_many_devices_as_the_bound_is_longer_than_the_time(stack: Stack, share: float) -> None:
    graph = stack(2, 2048, 4096)
    fused = bounds(graph, resolve(["L4"])).devices[0].fused_s
    (one,) = asked(graph, Demand(latency_s=fused / share), ("L4",)).devices
    assert one.count == max(1, ceil(share)) and one.because == "time"


@pytest.mark.parametrize("rows", [1, 64, 4096])
@pytest.mark.parametrize("ruling", [Ruling(), Ruling(any_algorithm=True), Ruling(warm=True)])
def test_a_device_with_just_these_rates_takes_just_that_time(stack: Stack, rows: int, ruling: Ruling) -> None:
    (device,) = resolve(["L4"])
    graph = stack(2, 2048, rows)
    made = bounds(graph, [device], None, None, ruling)
    found = provision(graph, made, Demand(latency_s=3e-4), {device.name: device.dram_capacity.value})
    (one,) = made.devices
    by_hand = max([found.rates.get("dram", 0.0) / device.dram_bandwidth.value, *(
        sum(rate / device.peak(asked) for asked, rate in found.rates.items() if asked != "dram"
            and device.serves(asked) == served) for served in {device.serves(r) for r in found.rates if r != "dram"})])
    assert by_hand * 3e-4 == pytest.approx(one.fused_s)


def test_what_does_not_fit_one_device_needs_several_however_much_time_there_is(stack: Stack) -> None:
    graph = stack(3, 60_000, 1)
    found = asked(graph, Demand(latency_s=1e6))
    counts = {e.device: e.count for e in found.devices}
    total = 4 * (3 * 60_000**2 + 2 * 60_000)
    assert counts == {d.name: ceil(total / d.dram_capacity.value) for d in resolve(["H100 SXM", "L4"])}
    assert counts["L4"] == 2 and {e.because for e in found.devices if e.count and e.count > 1} == {"capacity"}


def test_a_rate_of_tokens_is_a_time_for_the_tokens_of_one_run(stack: Stack) -> None:
    graph = stack(1)
    ids = Tensor(id="ids", shape=(4, 96), strides=(96, 1), dtype="int64", role="input", name="ids")
    graph = graph.model_copy(update={"tensors": (*graph.tensors, ids)})
    assert tokens_of(graph) == 384
    assert asked(graph, Demand(tokens_per_s=768)).latency_s == 0.5
    with pytest.raises(EnlistError, match="no tokens"):
        asked(stack(1), Demand(tokens_per_s=1))


def test_the_fewest_come_first_and_the_answer_is_json(stack: Stack) -> None:
    made = analyse(stack(2, 2048, 4096), Question(resolve(["T4"]), demand=Demand(latency_s=1e-4)))
    document = entry(made)["provision"]
    counts = [e["count"] for e in document["devices"]]
    assert counts == sorted(counts) and "T4" in {e["device"] for e in document["devices"]} and len(counts) > 20
