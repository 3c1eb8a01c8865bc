"""What the executor does after a role has failed, decided from the journal alone (no Ray is started)."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from enlist.agents.pool import build, shipped
from enlist.agents.signs import Condition
from enlist.orchestrator.executor import Executor
from enlist.orchestrator.plan import Edge, Plan, Planning, Role
from enlist.orchestrator.request import Request
from enlist.orchestrator.snapshots import pinned_pool, take_snapshot
from enlist.orchestrator.state import RunState
from enlist.orchestrator.team import enlist_team
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.events import NewEvent
from enlist.tools.runtime.memory import open_memory
from enlist.tools.runtime.memory.owner import this_owner

ANALYST, VERIFIER = "speed_of_light.analyst", "speed_of_light.verifier"
PLAN = Plan(
    roles=(Role(id=ANALYST, capability="speed_of_light", duty="analyst", writes=("bounds",)),
           Role(id=VERIFIER, capability="speed_of_light", duty="verifier", reads=("bounds",), writes=("checks",)),
           Role(id="writer", capability=None, duty="writer", reads=("bounds", "checks"))),
    edges=(Edge(source=ANALYST, target=VERIFIER, artifact="bounds"),
           Edge(source=ANALYST, target="writer", artifact="bounds"),
           Edge(source=VERIFIER, target="writer", artifact="checks")))


class NoCrew:
    """A crew without hands: nothing is started here."""

    def start(self, role: str, document: str) -> None:
        raise AssertionError(role)

    def running(self) -> set[str]:
        return set()

    def wait(self, seconds: float) -> dict[str, EnlistError | None]:
        return {}

    def end(self, role: str, processes: Sequence[dict[str, Any]]) -> Condition:
        return "gone"

    def drain(self, seconds: float) -> None:
        return None

    def look_for_silent_nodes(self) -> None:
        return None

    def avoided(self) -> tuple[str, ...]:
        return ()


@pytest.fixture
def executor(tmp_path: Path) -> Executor:
    memory = open_memory(f"sqlite://{tmp_path / 'store.db'}")
    pool = shipped()
    memory.commit("r1", 0, [NewEvent(kind="run.accepted", key="accepted", data={
        "request": Request(text="x").model_dump(mode="json"), "pins": {"seed": 0}})])
    attempt = memory.take_lease("r1", this_owner(), 60).attempt
    memory.commit("r1", attempt, [NewEvent(kind="run.planned", key="planned", data={
        "planning": Planning(plan=PLAN).model_dump(mode="json"), "pins": {},
        "team": enlist_team(PLAN, pool, seed=0).model_dump(mode="json")})])
    return Executor(memory=memory, locator=memory.locator(), run="r1", attempt=attempt, pool=pool, models=(),
                    deadline=None, interrupted=lambda: False, watch=lambda events: None, crew=NoCrew())


def fail(executor: Executor, code: str, role: str = ANALYST) -> RunState:
    """Let a role fail with a fault, as its worker would tell, and let the executor act."""
    state = RunState.read(executor.memory, "r1")
    error = EnlistError(code, "it went wrong")
    executor.memory.commit("r1", executor.attempt, [NewEvent(kind="role.failed", role=role, data={
        "agent": state.members[role].agent, "error": error.to_dict()})])
    executor._refresh(state)
    executor._decide(state)
    return RunState.read(executor.memory, "r1")


def knob(executor: Executor, state: RunState, name: str) -> object:
    return executor.pool.knobs[executor.pool.find(state.members[ANALYST].agent)][name]


def test_a_fault_that_may_pass_is_tried_three_times_with_the_same_agent_then_another(executor: Executor) -> None:
    first = RunState.read(executor.memory, "r1").members[ANALYST].agent
    assert fail(executor, "worker_died").members[ANALYST].agent == first
    assert fail(executor, "worker_died").members[ANALYST].agent == first
    state = fail(executor, "worker_died")
    assert state.members[ANALYST].agent != first and len(state.reenlisted) == 1
    assert "worker_died" in state.reenlisted[0]["reason"]


def test_a_timeout_enlists_an_agent_that_waits_longer_and_only_once(executor: Executor) -> None:
    before = knob(executor, RunState.read(executor.memory, "r1"), "time_limit")
    state = fail(executor, "timeout")
    assert knob(executor, state, "time_limit") > before  # type: ignore[operator]
    state = fail(executor, "timeout")
    assert ANALYST in state.given_up and len(state.reenlisted) == 1


def test_a_deterministic_fault_does_not_enlist_a_twin(executor: Executor) -> None:
    state = fail(executor, "tool_failed")  # one specialist serves this role, so nobody is left
    assert ANALYST in state.given_up and not state.reenlisted


def test_a_fault_of_the_users_input_ends_the_role_at_once(executor: Executor) -> None:
    assert fail(executor, "bad_input").given_up[ANALYST].code == "bad_input"


def test_a_worker_that_ends_without_a_word_counts_as_lost(executor: Executor) -> None:
    executor.memory.commit("r1", executor.attempt, [NewEvent(kind="role.started", role=ANALYST, data={"agent": "a"})])
    state = RunState.read(executor.memory, "r1")
    executor._after(state, ANALYST, None)
    assert [f.error.code for f in state.failures] == ["worker_died"]


def test_the_rest_of_the_team_stays_when_one_is_replaced(executor: Executor) -> None:
    before = RunState.read(executor.memory, "r1").members
    after = fail(executor, "timeout").members
    assert {r: m.agent for r, m in before.items() if r != ANALYST} == {
        r: m.agent for r, m in after.items() if r != ANALYST}


def test_a_verifier_without_a_finished_analyst_is_given_up_and_the_writer_still_writes(executor: Executor) -> None:
    state = fail(executor, "bad_input")
    assert executor._ready(state, set()) == ["writer"]
    assert set(state.given_up) == {ANALYST, VERIFIER}


def test_the_team_is_the_same_byte_for_byte_and_the_verifier_goes_another_way(executor: Executor) -> None:
    pool = executor.pool
    one, two = (enlist_team(PLAN, shipped(), seed=3).model_dump_json() for _ in range(2))
    assert one == two
    team = enlist_team(PLAN, pool, seed=0)
    routes = {m.role: str(pool.route[pool.find(m.agent)]) for m in team.members}
    assert routes[ANALYST] != routes[VERIFIER]
    assert team.utility <= team.upper_bound.value + 1e-9
    assert all(not pool.model[pool.find(m.agent)] for m in team.members)


def test_a_role_that_nobody_can_fill_is_named(executor: Executor) -> None:
    odd = PLAN.model_copy(update={"roles": (*PLAN.roles[:2], PLAN.roles[2].model_copy(update={"capability": "tea"}))})
    with pytest.raises(EnlistError, match="'writer'"):
        enlist_team(odd, executor.pool, seed=0)


def test_a_snapshot_pins_what_runs_have_shown_and_nothing_moves_without_one(executor: Executor) -> None:
    memory = executor.memory
    _, shipped_id = pinned_pool(memory, None)
    fail(executor, "timeout")
    same, id = pinned_pool(memory, None)
    assert id == shipped_id and not same.tracks
    taken = take_snapshot(memory)
    assert take_snapshot(memory) == taken
    pool, pinned = pinned_pool(memory, None)
    (track,) = pool.tracks.values()
    assert track["speed_of_light"].reliability.bad == 2.0  # type: ignore[union-attr]
    assert track["speed_of_light"].quality is None
    assert pinned_pool(memory, pinned)[1] == pinned and pinned_pool(memory, "shipped")[1] == shipped_id
    with pytest.raises(EnlistError, match="no snapshot"):
        pinned_pool(memory, "s0000")
    with pytest.raises(EnlistError, match="other agents"):
        pinned_pool(memory, f"{taken}-000000000000")


def test_a_synthetic_card_is_never_enlisted_however_good_it_looks(executor: Executor) -> None:
    pool = executor.pool
    place = pool.find(enlist_team(PLAN, pool, seed=0).members[0].agent)
    star = pool.card(place).model_copy(update={"id": "synthetic-star", "synthetic": True})
    star = star.model_copy(update={"capabilities": (star.capabilities[0].model_copy(update={"prior": 1.0}),)})
    mixed = build([*(pool.card(n) for n in range(len(pool))), star], pool.declared)
    assert "synthetic-star" in mixed.index
    assert enlist_team(PLAN, mixed, seed=0).members[0].agent == str(pool.ids[place])
    real = build([*(pool.card(n) for n in range(len(pool))), star.model_copy(update={"synthetic": False})],
                 pool.declared)
    assert enlist_team(PLAN, real, seed=0).members[0].agent == "synthetic-star"


def test_what_fails_for_want_of_time_is_open_when_the_run_goes_on(executor: Executor) -> None:
    executor.deadline = 1.0
    state = fail(executor, "timeout")
    assert not state.given_up and not state.reenlisted
    with pytest.raises(EnlistError, match="time is spent"):
        executor._obey(state)
