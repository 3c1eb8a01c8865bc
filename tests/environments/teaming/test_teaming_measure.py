"""The measuring script and the peers measure what they say, and the search holds its bars against them."""

import itertools
import json

import numpy as np
import pytest

from enlist.environments.teaming.measure import _paired, main, measure
from enlist.environments.teaming.peers import ONE_OPT, PARTS, FullPool, Meter, counting
from enlist.tools.smart import search
from enlist.tools.smart.pools import synthetic_problem
from enlist.tools.smart.topology import TOPOLOGIES

CASES = [(model, shape) for model in ("skill-vectors", "realistic-cards") for shape in TOPOLOGIES]
TOO_EASY = {"chain": 0.99, "complete": 0.98}  # a mean of greedy above this: the pools prove nothing


def test_scores_of_the_full_pool_are_those_of_the_problem():
    problem = synthetic_problem("realistic-cards", "complete", agents=40, seed=1)
    pool, team = FullPool(problem), (1, 2, 3, 4, 5)
    everybody = np.arange(40)
    for role in range(5):
        expected = problem.given(role, everybody, team)
        np.testing.assert_allclose(pool.scores(role, np.array([team]))[0], expected, atol=1e-6)
    found = pool.utility(np.array([team, (7, 2, 7, 4, 5)]))
    assert found[0] == pytest.approx(problem.utility(team), abs=1e-6) and found[1] == -np.inf


@pytest.fixture(scope="module")
def small():
    """A problem of eight agents, and its optimum by brute force."""
    problem = synthetic_problem("skill-vectors", "chain", agents=8, seed=3)
    return problem, max(problem.utility(team) for team in itertools.permutations(range(8), 5))


@pytest.mark.parametrize("name", [*PARTS, *ONE_OPT])
def test_every_peer_finds_a_team_that_brute_force_does_not_beat_by_much_and_never_one_above_it(name, small):
    problem, best = small
    meter = Meter(most=50_000)
    with counting(meter):
        found = problem.utility({**PARTS, **ONE_OPT}[name](problem, 0, meter))
    assert 0.8 * best < found <= best
    assert meter.used > 0


def test_a_peer_stops_at_its_number_of_evaluations():
    problem = synthetic_problem("skill-vectors", "chain", agents=60, seed=0)
    for name, peer in ONE_OPT.items():
        used = []
        for most in (30_000, 300_000):
            meter = Meter(most=most)
            with counting(meter):
                peer(problem, 0, meter)
            used.append(meter.used)
            assert meter.used >= most, name
        # the last batch of climbs may end above: 16 teams x 5 roles x 60 agents in each of a few steps
        assert used[0] < 300_000 < used[1] < 600_000, name


def test_counting_leaves_the_search_as_it_was():
    problem = synthetic_problem("skill-vectors", "complete", agents=60, seed=2)
    plain, meter = search(problem, seed=2), Meter()
    with counting(meter):
        counted = search(problem, seed=2)
    assert counted == plain
    used = meter.used
    search(problem, seed=2)
    assert meter.used == used > 0


def test_paired_differences_of_a_known_sample():
    found = _paired([0.0, 0.0, 0.1, -0.02])
    assert (found["mean"], found["largest_loss"], found["not_below"]) == (0.02, 0.02, 0.75)
    assert found["low"] == pytest.approx(-0.015, abs=0.006) and found["high"] == pytest.approx(0.07, abs=0.011)
    assert _paired([0.0, 0.0])["low"] == _paired([0.0, 0.0])["high"] == 0.0


def test_measured_ratios_are_of_the_exact_optimum_and_every_seed_is_counted():
    row = measure("realistic-cards", "complete", seeds=2, agents=60)
    assert sum(row["found_by"].values()) == row["seeds"] == row["optima_proved"] == row["tree_closed"] == 2
    for ratio in row["ratio"].values():
        assert 0 < ratio["worst"] <= ratio["mean"] <= 1
        assert (ratio["best_known"] == 2) == (ratio["worst"] == 1)
    assert row["ratio"]["random"]["mean"] < row["ratio"]["greedy"]["mean"] <= row["ratio"]["SMART"]["mean"]
    assert row["shortlist_ceiling"] == {"mean": 1, "worst": 1, "best_known": 2}  # 60 cards are listed whole


@pytest.mark.slow  # 4 minutes
@pytest.mark.parametrize(("agents", "seeds"), [(300, 20), (10_000, 6)])
@pytest.mark.parametrize(("model", "shape"), CASES)
def test_the_search_holds_its_bars(model, shape, agents, seeds):
    row = measure(model, shape, seeds, agents)
    smart, ceiling = row["ratio"]["SMART"], row["shortlist_ceiling"]
    assert smart["mean"] >= 0.998 and smart["worst"] >= (0.985 if agents == 300 else 0.99)
    assert ceiling["mean"] >= 0.999 and ceiling["worst"] >= 0.995
    assert row["ratio"]["greedy"]["mean"] <= TOO_EASY[shape]
    for name, pair in row["paired"].items():
        if name.endswith("equal evaluations"):  # what equal CPU time gives depends on the machine
            assert pair["mean"] >= 0 and pair["largest_loss"] <= 0.005 and pair["not_below"] >= 0.95, name


def test_the_script_prints_one_json_row_for_each_case(capsys, monkeypatch):
    monkeypatch.setattr("enlist.environments.teaming.measure.measure", lambda *arguments: list(arguments))
    main(["--seeds", "2"])
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert rows == [[m, s, 2, 300] for m, s in CASES]
