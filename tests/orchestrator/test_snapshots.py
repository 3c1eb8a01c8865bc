"""What a store teaches of agents: environments their quality, ended runs their reliability and nothing else."""

from pathlib import Path

import numpy as np
import pytest

from enlist.orchestrator.plan import Plan, Role
from enlist.orchestrator.snapshots import pinned_pool, quality_record, take_snapshot
from enlist.orchestrator.team import enlist_team
from enlist.tools.runtime.events import NewEvent
from enlist.tools.runtime.memory import open_memory
from enlist.tools.runtime.memory.owner import this_owner

PLAN = Plan(roles=(Role(id="a", duty="analyst", capability="speed_of_light"),), edges=())


@pytest.fixture
def memory(tmp_path: Path):
    store = open_memory(f"sqlite://{tmp_path / 'memory.db'}")
    yield store
    store.close()


def analysts(memory):
    pool, _ = pinned_pool(memory, None)
    return pool, [str(pool.ids[i]) for i in np.flatnonzero((pool.duty == "analyst")
                                                            & (pool.capability == "speed_of_light"))]


def test_scores_of_environments_become_quality_each_sample_once(memory):
    _, ids = analysts(memory)
    for run in ("c1", "c2"):  # two campaigns with the same samples
        memory.commit("", 0, [], [quality_record(ids[0], "speed_of_light", value, f"{run[:1]} {n}")
                                  for n, value in enumerate((1.0, 0.5, 0.0, 1.0))])
    take_snapshot(memory)
    pool, _ = pinned_pool(memory, None)
    track = pool.tracks[ids[0]]["speed_of_light"]
    assert (track.quality.good, track.quality.bad, track.reliability) == (2.5, 1.5, None)


def test_ended_runs_teach_reliability_and_no_quality(memory):
    _, ids = analysts(memory)
    memory.take_lease("r1", this_owner(), 60)
    planned = {"planning": {"plan": PLAN.model_dump(mode="json")}, "team": None, "pins": {}}
    memory.commit("r1", 1, [NewEvent(kind="run.planned", data=planned),
                            NewEvent(kind="role.finished", role="a", data={"agent": ids[0]})])
    take_snapshot(memory)
    track = pinned_pool(memory, None)[0].tracks[ids[0]]["speed_of_light"]
    assert track.quality is None
    assert (track.reliability.good, track.reliability.bad) == (2.0, 1.0)  # one success on a uniform prior


def test_a_run_enlists_the_agent_that_environments_found_best(memory):
    pool, ids = analysts(memory)
    before = enlist_team(PLAN, pool, seed=0).members[0].agent
    other = next(i for i in ids if pool.knobs[pool.find(i)] != pool.knobs[pool.find(before)])
    memory.commit("", 0, [], [quality_record(other, "speed_of_light", 1.0, f"s{n}") for n in range(40)]
                  + [quality_record(before, "speed_of_light", 0.0, f"s{n}") for n in range(40)])
    take_snapshot(memory)
    learned, _ = pinned_pool(memory, None)
    assert enlist_team(PLAN, learned, seed=0).members[0].agent == other


def test_a_campaign_with_tasks_left_tries_an_uncertain_agent_that_a_run_would_not_take(memory):
    pool, ids = analysts(memory)
    favourite = enlist_team(PLAN, pool, seed=0).members[0].agent
    place = pool.find(favourite)
    memory.commit("", 0, [], [quality_record(favourite, "speed_of_light", float(pool.quality[place]), f"s{n}")
                              for n in range(300)])  # well known, and as good as its prior said
    take_snapshot(memory)
    learned, _ = pinned_pool(memory, None)
    assert enlist_team(PLAN, learned, seed=0).members[0].agent == favourite
    assert enlist_team(PLAN, learned, seed=0, tasks_left=5000).members[0].agent != favourite
    assert len(ids) > 2
