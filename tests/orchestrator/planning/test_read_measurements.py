"""Measurements as people write them, and quantities that are none."""

import pytest

from enlist.orchestrator.planning.measurements import read_measurements

STATED = [
    ("it takes 9.8 ms", "time", 9.8e-3, None),
    ("Es dauert 9,8 ms", "time", 9.8e-3, None),
    ("currently 12ms per step", "time", 12e-3, None),
    ("one epoch takes 1.2 s", "time", 1.2, None),
    ("we measured 430 µs", "time", 430e-6, None),
    ("we measured 430 μs", "time", 430e-6, None),
    ("the kernel runs in 430 us", "time", 430e-6, None),
    ("the kernel runs in 812 ns", "time", 812e-9, None),
    ("a step takes 2 min", "time", 120.0, None),
    ("we get 3500 tokens/s", "token_rate", 3500.0, None),
    ("we get 3.5k tokens/s", "token_rate", 3500.0, None),
    ("we get 1,200 tokens per second", "token_rate", 1200.0, None),
    ("decodes at 85 tok/s", "token_rate", 85.0, None),
    ("it does 640 images/s", "sample_rate", 640.0, None),
    ("training runs at 71.5 samples/sec", "sample_rate", 71.5, None),
    ("it takes 9.8 ms on an H100 PCIe", "time", 9.8e-3, "H100 PCIe"),
    ("it takes 9.8 ms on an H100 PCIe: where is the headroom?", "time", 9.8e-3, "H100 PCIe"),
    ("it takes 9.8 ms on an H100 PCIe!", "time", 9.8e-3, "H100 PCIe"),
    ("H100 SXM: it takes 9.8 ms", "time", 9.8e-3, "H100 SXM"),
    ("on an A100 it takes 9.8 ms", "time", 9.8e-3, "A100"),
    ("it takes 9.8 ms. How fast could it be on an H100?", "time", 9.8e-3, None),
    ("latency is 4.1 milliseconds on our RTX 4090", "time", 4.1e-3, "RTX 4090"),
    ("forward takes 1e-3 s", "time", 1e-3, None),
    ("the profile says 0,125 ms for this op", "time", 0.125e-3, None),
    ("tarda 15 ms por paso", "time", 15e-3, None),
    ("My layer takes 9.8 ms, the target is under 5 ms", "time", 9.8e-3, None),
    ("9.8 ms", "time", 9.8e-3, None),
    ("it takes 3 seconds per batch", "time", 3.0, None),
]
NOT_STATED = [
    "answer within 10 ms",
    "the deadline is 5 s",
    "deadline 5 s",
    "an A100 80 GB",
    "it must run under 5 ms",
    "which GPU would reach 10 ms per step?",
    "I want 3500 tokens/s",
    "the target is 10 ms",
    "a 30 s timeout",
    "with a 5 ms budget",
    "sampled every 10 ms",
    "the last 5 minutes of the log",
    "wait 20 ms",
    "in less than 8 ms",
    "it takes between 9 and 10 ms",
    "it takes 9-10 ms",
    "room for 3 people on H100",
    "10 msgs and 5 mshops",
    "it costs 12 MS Office licences",
    "take the values from 12:00:05 s",
]


@pytest.mark.parametrize(("text", "quantity", "value", "device"), STATED)
def test_a_stated_quantity_is_read_in_si_units_with_its_device(text, quantity, value, device):
    (found,) = read_measurements(text)
    assert (found.quantity, found.device) == (quantity, device)
    assert found.value == pytest.approx(value, rel=1e-12)
    assert found.quote in text


@pytest.mark.parametrize("text", NOT_STATED)
def test_a_target_limit_range_or_interval_is_no_measurement(text):
    assert read_measurements(text) == ()


def test_each_of_two_measurements_keeps_its_own_device():
    text = "It takes 9.8 ms on an H100 and 21 ms on an A100."
    assert [(m.value, m.device) for m in read_measurements(text)] == [(9.8e-3, "H100"), (21e-3, "A100")]


def test_a_wish_to_go_from_one_time_to_another_states_only_the_first():
    (found,) = read_measurements("bring it down from 12 ms to 8 ms")
    assert found.value == 12e-3
