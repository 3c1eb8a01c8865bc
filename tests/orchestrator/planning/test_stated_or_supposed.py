"""A time counts as stated only where the user says that it is so, of the whole model, now."""

import pytest

from enlist.orchestrator.planning import read_measurements


@pytest.mark.parametrize("text", [
    "it doesn't take 9.8 ms", "it does not take 9.8 ms", "if it took 9.8 ms on an H100, how far would that be?",
    "does it take 9.8 ms?", "it used to take 20 ms", "it never takes 9.8 ms", "es dauert nicht 9,8 ms",
    "it takes 9.8 ms per layer", "suppose it takes 5 ms", "it would take 5 ms"])
def test_what_is_denied_supposed_past_or_of_a_part_is_no_measurement(text: str) -> None:
    assert read_measurements(text) == ()


@pytest.mark.parametrize(("text", "value", "quote"), [
    ("it takes 9.8 ± 0.3 ms", 9.8e-3, "9.8 ± 0.3 ms"), ("it takes 9.8±0.3 ms", 9.8e-3, "9.8±0.3 ms"),
    ("it takes 9.8 +/- 0.3 ms on an A100", 9.8e-3, "9.8 +/- 0.3 ms"),
    ("it isn't fast, it takes 9.8 ms", 9.8e-3, "9.8 ms"),
    ("it takes 9.8 ms; why not less?", 9.8e-3, "9.8 ms")])
def test_the_mean_is_read_and_not_its_spread(text: str, value: float, quote: str) -> None:
    (one,) = read_measurements(text)
    assert (one.value, one.quote) == (value, quote) and one.quote in text


@pytest.mark.parametrize(("text", "device"), [
    ("on CPU it takes 9.8 ms; how far is it from the limit of an H100?", "CPU"),
    ("it takes 9.8 ms on my laptop, what about an H100?", "laptop"),
    ("it takes 9.8 ms on an H100 SXM, on CPU 80 ms", "H100 SXM")])
def test_a_time_on_another_machine_is_not_a_time_on_the_accelerator(text: str, device: str) -> None:
    assert read_measurements(text)[0].device == device
