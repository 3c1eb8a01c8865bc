"""Statistics of logs, on sequences whose figures are known in closed form."""

from random import Random

import pytest

from enlist.environments.incident_logs.realism import entropy, fano, lags, main, statistics, zipf


def test_counts_that_fall_as_a_power_of_the_rank_have_that_power_as_slope() -> None:
    for power in (0.7, 1.0, 1.6):
        assert zipf([round(1e12 / rank ** power) for rank in range(1, 50)]) == pytest.approx(power)


def test_regular_arrivals_have_no_dispersion_poisson_ones_one_and_bursts_their_size() -> None:
    rng = Random(1)
    regular = fano([i / 10 for i in range(20_001)])
    poisson = fano(sorted(rng.random() * 1000 for _ in range(20_000)))
    bursts = fano(sorted(at for _ in range(2000) for at in [rng.random() * 1000] * 10))
    assert regular is not None and regular < 0.02
    assert poisson == pytest.approx(1, abs=0.3) and bursts == pytest.approx(10, rel=0.3)
    assert fano([]) is None and fano([1.0, 1.0]) is None


def test_equal_shares_have_the_logarithm_of_their_number_as_entropy() -> None:
    assert entropy("abcdefgh" * 3) == 3 and entropy("aaaa") == 0 and entropy("aab") == pytest.approx(0.9183, abs=1e-4)


def test_the_statistics_of_a_small_log_are_what_one_counts_by_hand() -> None:
    lines = [f"2024-01-02 03:04:{i:02d},000 INFO took {i % 4} ms" for i in range(40)]
    lines += ["2024-01-02 03:05:00,000 ERROR no way"] * 10
    found = statistics(lines)
    assert (found.lines, found.templates, found.error, found.warning, found.tokens) == (50, 2, 0.2, 0, 5)
    assert found.late == 0.5  # one of two templates first occurs in the second half
    assert found.repeated == pytest.approx(1 - 5 / 50)  # four values and one error
    assert found.entropy == pytest.approx(1)  # 2 bits of the value, none of the milliseconds
    assert found.packed > 5


def test_the_lag_of_a_trace_is_between_its_services_in_utc() -> None:
    files = {"a.log": 'ts=2024-01-02T03:00:00.000Z msg=x trace=00000000000000aa\n',
             "b.log": 'ts=2024-01-02T04:00:00.250+01:00 msg=y trace=00000000000000aa\n'}
    assert lags(files) == [pytest.approx(0.25)]


@pytest.mark.slow  # fifteen streams of 12,000 lines
def test_the_report_holds_a_row_for_each_real_set_and_the_generated_ones(tmp_path) -> None:
    (tmp_path / "mine.log").write_text("2024-01-02 03:04:05,000 INFO a 1\n2024-01-02 03:04:06,000 INFO b 1\n" * 50)
    assert main([str(tmp_path), "--out", str(tmp_path / "out.md")]) == 0
    text = (tmp_path / "out.md").read_text()
    assert "| mine |" in text and "| generated, median |" in text and "traces" in text
