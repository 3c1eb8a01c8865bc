"""A million cards: the search beats 1-opt in equal work and stays within a gibibyte."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "team_search.py"


@pytest.mark.slow  # half a minute, and a pool of 300 MB
def test_a_million_cards_are_searched_within_a_gibibyte_and_better_than_by_one_opt():
    done = subprocess.run([sys.executable, str(BENCHMARK), "--seeds", "2"], capture_output=True, text=True, check=True,
                          timeout=900)
    found = json.loads(done.stdout)
    assert found["memory"]["over_import_mib"] <= 1024
    rows = found["against_1_opt_in_equal_cpu_time"]["rows"]
    assert all(row["search"] >= row["one_opt"] and row["iterations"] <= 150 for row in rows)
    assert {kind["cards"] for kind in found["loading"].values()} == {1_000_000, 10_000}
