"""The measuring script measures what it says."""

import json

from enlist.environments.teaming.measure import main, measure
from enlist.tools.smart.topology import TOPOLOGIES


def test_measured_ratios_are_of_the_exact_optimum_and_every_seed_is_counted():
    row = measure("realistic-cards", "complete", seeds=3, agents=60)
    assert sum(row["found_by"].values()) == row["seeds"] == 3
    for ratio in row["ratio"].values():
        assert 0 < ratio["worst"] <= ratio["mean"] <= 1
        assert (ratio["optimal"] == 3) == (ratio["worst"] == 1)
    assert row["ratio"]["random"]["mean"] < row["ratio"]["greedy"]["mean"] <= row["ratio"]["smart"]["mean"]
    assert row["gap"]["most"] == 0  # 60 cards are listed whole, so a closed tree proves the optimum


def test_the_script_prints_one_json_row_for_each_case(capsys, monkeypatch):
    monkeypatch.setattr("enlist.environments.teaming.measure.measure", lambda *arguments: list(arguments))
    main(["2"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows == [[m, s, 2] for m in ("skill-vectors", "realistic-cards") for s in TOPOLOGIES]
