"""Who is replaced by whom, decided from journals that a crew without Ray writes: any mixture of faults, stalls,
overspending and refuted claims, cut off at any commit and resumed.

What each agent does in a role is a pure function of the role, the agent and how often it ended before, so a resumed
run must come to what the whole one came to.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from enlist.agents.pool import Pool, build, cards_of
from enlist.agents.signs import Condition, filling_id
from enlist.agents.specialist import Knob, Setting, Specialist
from enlist.agents.work import Assignment
from enlist.orchestrator import shares
from enlist.orchestrator.executor import Executor
from enlist.orchestrator.plan import Edge, Plan, Planning, Role
from enlist.orchestrator.reenlist import MOST_BY_CAUSE, MOST_REENLISTMENTS, TRANSIENT_TRIES, Left, rework
from enlist.orchestrator.report.content import judged
from enlist.orchestrator.request import Request
from enlist.orchestrator.state import RunState
from enlist.orchestrator.team import enlist_team
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.events import NewEvent
from enlist.tools.runtime.findings import Check, Finding, RequestEvidence
from enlist.tools.runtime.ids import content_hash
from enlist.tools.runtime.memory import open_memory
from enlist.tools.runtime.memory.owner import this_owner
from enlist.tools.runtime.memory.protocol import Memory, NewRecord

RUN = "r1"
# Without `budget_exhausted`: who resumes gives more of the budget, and what was given up for want of it is tried again.
OUTCOMES = ("right", "right", "right", "wrong", "tool_failed", "timeout", "worker_died", "stall", "bad_input")
ANALYSTS = ("a.analyst.1", "a.analyst.2", "b.analyst")
PLAN = Plan(
    roles=(*(Role(id=id, capability=id[0], duty="analyst", reads=("a",), writes=(id[0],)) for id in ANALYSTS),
           *(Role(id=f"{c}.verifier", capability=c, duty="verifier", reads=(c,), writes=("checks",)) for c in "ab"),
           Role(id="writer", capability=None, duty="writer", reads=("a", "b", "checks"), writes=("report",))),
    edges=tuple(itertools.starmap(lambda s, t, a: Edge.model_validate({"from": s, "to": t, "artifact": a}), (
        ("a.analyst.1", "a.verifier", "a"), ("a.analyst.2", "a.verifier", "a"), ("a.analyst.2", "b.analyst", "a"),
        ("b.analyst", "b.verifier", "b"), ("a.analyst.1", "writer", "a"), ("a.verifier", "writer", "checks"),
        ("b.verifier", "writer", "checks")))))


def specialist(name: str, duty: str, capability: str | None, quality: float = 0.8, seconds: float = 1.0) -> Specialist:
    knob = Knob("time_limit", "seconds", (Setting(60, 0.01), Setting(120, 0.0, 1.5)))
    return Specialist(name=name, version="1", summary="x", duty=duty, capability=capability,  # type: ignore[arg-type]
                      route=name, reads=("a",), writes=("x",), tools=(), knobs=(knob,), act="m:f", check="m:g",
                      quality=quality, seconds=seconds)


def make_pool() -> Pool:
    declared = [specialist(f"{c}-{n}", "analyst", c, 0.9 - n / 10, 4.0 - n) for c in "ab" for n in range(3)]
    declared += [specialist(f"{c}-verifier", "verifier", c) for c in "ab"] + [specialist("writer", "writer", None)]
    return build([card for s in declared for card in cards_of(s)], {s.name: s for s in declared})


POOL = make_pool()
Script = Callable[[str, str, int], str]


@dataclass
class Actors:
    """A crew whose roles end as a script says, in the moment they begin; `stall` never ends."""

    memory: Memory
    script: Script
    running_now: dict[str, EnlistError | None] = field(default_factory=dict)
    stalled: set[str] = field(default_factory=set)
    started: list[Assignment] = field(default_factory=list)

    def start(self, role: str, document: str) -> None:
        one = Assignment.model_validate_json(document)
        self.started.append(one)
        before = RunState.read(self.memory, RUN)
        ended = sum(f.closed for f in before.fillings[role] if f.agent == one.agent)
        outcome = self.script(role, one.agent, ended)
        if outcome == "stall":
            self.stalled.add(role)
        elif outcome in ("right", "wrong"):
            self._finish(one, outcome == "wrong")
        elif outcome != "worker_died":  # else it ends without a word
            self._commit(one, NewEvent(kind="role.failed", role=role, data={
                "agent": one.agent, "filling": one.filling, "error": EnlistError(outcome, "it went wrong").to_dict()}))
        if outcome != "stall":
            self.running_now[role] = None

    def _finish(self, one: Assignment, wrong: bool) -> None:
        records, data = [], {"calls": [], "checks": [], "refuted": []}
        key = content_hash([one.role, one.agent])
        if one.capability and not one.role.endswith("verifier"):
            finding = Finding.make(template="{subject} is {value}", capability=one.capability, subject=one.role,
                                   predicate="p", value=f"{one.agent} {'wrong' if wrong else 'right'}",
                                   tier="computed", evidence=(RequestEvidence(quote="x"),))
            records += [NewRecord(kind="finding", id=finding.id, role=one.role, data=finding.model_dump(mode="json"))]
            self.memory.commit(RUN, one.attempt, [NewEvent(kind="tool.finished", role=one.role, key=key, data={
                "key": key, "findings": [finding.id]})], records)
            data["calls"], records = [key], []
        elif one.capability:
            known = {r.id: r for r in self.memory.records("finding", RUN)}
            state = RunState.read(self.memory, RUN)
            for id in (f for role in one.handed for f in state.claims(role)):
                if known[id].data["capability"] == one.capability:
                    bad = known[id].data["value"].endswith("wrong")
                    check = Check(finding=id, status="refuted" if bad else "confirmed", route="v", reason="looked")
                    record = NewRecord(kind="check", id=content_hash(check.model_dump()), role=one.role,
                                       data=check.model_dump())
                    records.append(record)
                    data["checks"].append(record.id)
                    data["refuted"] += [id] if bad else []
        self._commit(one, NewEvent(kind="role.finished", role=one.role, key=f"{one.role}:finished:{one.filling}",
                                   data={"agent": one.agent, "filling": one.filling, **data}), records)

    def _commit(self, one: Assignment, event: NewEvent, records: Sequence[NewRecord] = ()) -> None:
        self.memory.commit(RUN, one.attempt, [event], [
            NewRecord(kind="decision", id=filling_id(one.role, one.filling), role=one.role, data={"by": "worker"}),
            *records])

    def running(self) -> set[str]:
        return self.running_now.keys() | self.stalled

    def wait(self, seconds: float) -> dict[str, EnlistError | None]:
        ended, self.running_now = self.running_now, {}
        return ended

    def end(self, role: str, processes: Sequence[dict[str, Any]]) -> Condition:
        self.stalled.discard(role)
        return "running"

    def drain(self, seconds: float) -> None:
        return None

    def look_for_silent_nodes(self) -> None:
        return None

    def avoided(self) -> tuple[str, ...]:
        return ()


class Recorder:
    """A store that remembers its commits, so that its past can be made again up to any of them."""

    def __init__(self, memory: Memory) -> None:
        self.inner, self.commits = memory, []  # type: ignore[var-annotated]

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def commit(self, run: str, attempt: int, events: Any, records: Any = (), settle: Any = ()) -> list[int]:
        done = self.inner.commit(run, attempt, events, records, settle)
        self.commits.append((run, attempt, list(events), list(records)))
        return done


class Stage:
    """One store with one run, driven by a script; `places` are fresh files for stores."""

    def __init__(self, places: Iterator[Path], script: Script, deadline: float | None = None) -> None:
        self.places, self.script, self.deadline = places, script, deadline
        self.memory = Recorder(open_memory(f"sqlite://{next(places)}"))

    def accept(self) -> None:
        self.memory.commit(RUN, 0, [NewEvent(kind="run.accepted", key="accepted", data={
            "request": Request(text="x").model_dump(mode="json"), "pins": {"seed": 0}})])
        team = enlist_team(PLAN, POOL, seed=0)
        self.memory.commit(RUN, 0, [NewEvent(kind="run.planned", key="planned", data={
            "planning": Planning(plan=PLAN).model_dump(mode="json"), "pins": {},
            "team": team.model_dump(mode="json")})])

    def drive(self) -> RunState:
        attempt = self.memory.take_lease(RUN, this_owner(), 60).attempt
        try:
            self.memory.commit(RUN, attempt, [NewEvent(kind="attempt.opened", key=f"attempt:{attempt}", data={})])
            self.actors = Actors(self.memory, self.script)  # type: ignore[arg-type]
            Executor(memory=self.memory, locator="", run=RUN, attempt=attempt, pool=POOL,  # type: ignore[arg-type]
                     models=(), deadline=self.deadline, interrupted=lambda: False, watch=lambda events: None,
                     crew=self.actors).drive()
            return self.state()
        finally:
            self.memory.release_lease(RUN, attempt)

    def state(self) -> RunState:
        return RunState.read(self.memory, RUN)  # type: ignore[arg-type]

    def cut(self, kept: int) -> "Stage":
        """Another store with the first `kept` commits."""
        other = Stage(self.places, self.script, self.deadline)
        attempt = 0
        for run, number, events, records in self.memory.commits[:kept]:
            if number > attempt:
                attempt = other.memory.take_lease(run, this_owner(), 60).attempt
            other.memory.commit(run, number, events, records)
        if attempt:
            other.memory.release_lease(RUN, attempt)
        return other


@pytest.fixture(autouse=True)
def silence_is_seen_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shares, "FIRST_SIGN", -1.0)


@pytest.fixture
def places(tmp_path: Path) -> Iterator[Path]:
    return (tmp_path / f"{n}.db" for n in itertools.count())


def played(places: Iterator[Path], script: Script, deadline: float | None = None) -> Stage:
    stage = Stage(places, script, deadline)
    stage.accept()
    stage.drive()
    return stage


def by_role(**outcomes: Sequence[str]) -> Script:
    """A script by the number of the filling of a role (with `_` for its dots); right where it says nothing."""
    left = {role: list(listed) for role, listed in outcomes.items()}

    def script(role: str, agent: str, ended: int) -> str:
        mine = left.get(role.replace(".", "_"), [])
        return mine.pop(0) if mine else "right"

    return script


def came_to(stage: Stage) -> dict[str, Any]:
    """What a run has come to, but for how often it was interrupted."""
    state = stage.state()
    claims, aside = judged(stage.memory, state)  # type: ignore[arg-type]
    return {"members": {r: m.agent for r, m in state.members.items()}, "finished": state.finished,
            "given_up": {r: e.code for r, e in state.given_up.items()},
            "handed": {r: (h.agent, h.calls, h.checks, h.refuted) for r, h in state.handed.items()},
            "kept": sorted((r, why) for (r, _), why in state.kept.items()),
            "reenlisted": sorted((c["role"], c["replaced"], c["by"], c["cause"]) for c in state.reenlisted),
            "claims": [(c.finding.id, c.status) for c in claims], "aside": [c.finding.id for c in aside]}


def random_script(seed: int) -> Script:
    def script(role: str, agent: str, ended: int) -> str:
        menu = OUTCOMES if "analyst" in role else ("right",) * 6 + ("worker_died", "stall")
        return menu[int(content_hash([seed, role, agent, ended])[:8], 16) % len(menu)]

    return script


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(seed=st.integers(0, 10_000), share=st.floats(0.0, 1.0))
def test_a_run_cut_off_at_any_commit_and_resumed_comes_to_the_same(tmp_path_factory: pytest.TempPathFactory, seed: int,
                                                                  share: float) -> None:
    folder = tmp_path_factory.mktemp("cut")
    places = (folder / f"{n}.db" for n in itertools.count())
    whole = played(places, random_script(seed))
    state = whole.state()
    assert all(state.settled(role.id) for role in PLAN.roles)
    kept = 2 + round(share * (len(whole.memory.commits) - 2))
    resumed = whole.cut(kept)
    resumed.drive()
    assert came_to(resumed) == came_to(whole)
    events = whole.memory.events(RUN)
    for first in (1, len(events) // 3, kept):
        halves = RunState(RUN)
        halves.extend(events[:first])
        halves.extend(events[first:])
        assert repr(halves) == repr(state)  # faults are equal by what they say
    for role in PLAN.roles:
        _bounded(state, role.id)


def _bounded(state: RunState, role: str) -> None:
    changes = [c["cause"] for c in state.reenlisted if c["role"] == role]
    assert changes.count("refuted") <= MOST_BY_CAUSE["refuted"]
    assert len(changes) - changes.count("refuted") <= max(*MOST_BY_CAUSE.values(), *MOST_REENLISTMENTS.values())
    for agent in {f.agent for f in state.failures_of(role)}:
        assert len(state.failures_of(role, agent)) <= TRANSIENT_TRIES + 1


def specialist_of(agent: str) -> str:
    return str(POOL.specialist[POOL.find(agent)])


def test_refuted_claims_are_made_anew_by_another_specialist_and_checked_before_the_writer_writes(
        places: Iterator[Path]) -> None:
    stage = played(places, by_role(a_analyst_1=["wrong"]))
    state = stage.state()
    (change,) = state.reenlisted
    assert (change["role"], change["cause"], len(change["refuted"])) == ("a.analyst.1", "refuted", 1)
    assert specialist_of(change["replaced"]) != specialist_of(change["by"])
    order = [one.role for one in stage.actors.started]
    assert order.count("writer") == 1 and order[-1] == "writer" and order.count("a.verifier") == 2
    assert order.count("a.analyst.2") == order.count("b.analyst") == 1  # what does not rest on it is not done again
    claims, aside = judged(stage.memory, state)  # type: ignore[arg-type]
    assert [c.finding.id for c in aside] == change["refuted"]
    assert all(c.status == "confirmed" for c in claims) and len(claims) == 3


def test_what_was_built_on_refuted_claims_is_built_again(places: Iterator[Path]) -> None:
    stage = played(places, by_role(a_analyst_2=["wrong"]))
    order = [one.role for one in stage.actors.started]
    assert order.count("b.analyst") == order.count("a.verifier") == 2 and order.count("a.analyst.1") == 1
    assert order.index("b.verifier") > len(order) - 1 - order[::-1].index("b.analyst")  # it waited for the second
    last = [one for one in stage.actors.started if one.role == "b.analyst"][-1]
    assert last.handed["a.analyst.2"].filling == 2


def test_nobody_is_asked_more_often_than_the_bound_and_then_the_claims_stand_as_refuted(places: Iterator[Path]) -> None:
    stage = played(places, by_role(a_analyst_1=["wrong"] * 9))
    state = stage.state()
    assert state.rework("a.analyst.1") == MOST_BY_CAUSE["refuted"] == 2
    assert len({specialist_of(f.agent) for f in state.fillings["a.analyst.1"]}) == 3
    assert "a.analyst.1" in state.finished and "writer" in state.finished
    assert len(state.refuted("a.analyst.1")) == 1 and len(state.kept) == 1


def test_a_rework_that_fails_leaves_what_was_there(places: Iterator[Path]) -> None:
    stage = played(places, by_role(a_analyst_1=["wrong", "bad_input"]))
    state = stage.state()
    first = state.fillings["a.analyst.1"][0].agent
    assert state.members["a.analyst.1"].agent == state.handed["a.analyst.1"].agent == first
    assert not state.given_up and "writer" in state.finished and len(state.refuted("a.analyst.1")) == 1


def test_a_stalled_agent_is_replaced_by_another_specialist_at_once(places: Iterator[Path]) -> None:
    stage = played(places, by_role(a_analyst_1=["stall"]))
    (change,) = stage.state().reenlisted
    assert change["cause"] == "stalled" and specialist_of(change["replaced"]) != specialist_of(change["by"])
    assert "no sign of life" in change["reason"]


def test_what_a_stalled_worker_says_after_its_end_is_refused(places: Iterator[Path]) -> None:
    stage = played(places, by_role(a_analyst_1=["stall"]))
    late = next(one for one in stage.actors.started if one.role == "a.analyst.1")
    before = came_to(stage)
    with pytest.raises(EnlistError) as refused:
        stage.memory.take_lease(RUN, this_owner(), 60)
        stage.actors._finish(late.model_copy(update={"attempt": 2}), wrong=False)
    assert refused.value.code == "conflict" and came_to(stage)["handed"] == before["handed"]


def test_who_overspends_is_replaced_by_somebody_cheaper(places: Iterator[Path]) -> None:
    stage = played(places, by_role(a_analyst_1=["budget_exhausted"]))
    (change,) = stage.state().reenlisted
    one, other = (POOL.find(change[k]) for k in ("replaced", "by"))
    assert change["cause"] == "overspent" and POOL.seconds[other] < POOL.seconds[one]


def test_nobody_is_enlisted_whom_the_rest_of_the_time_does_not_cover(places: Iterator[Path]) -> None:
    stage = played(places, by_role(a_analyst_1=["wrong"]))
    state = stage.cut(stage.memory.commits.index(next(
        c for c in stage.memory.commits if c[2] and c[2][0].kind == "role.reenlisted"))).state()
    plenty = rework(state, PLAN, POOL, (), "a.analyst.1", Left(seconds=100.0))
    needed = float(POOL.seconds[POOL.find(plenty.agent)]) + 2.0  # the verifier's and the writer's median second
    assert rework(state, PLAN, POOL, (), "a.analyst.1", Left(seconds=needed)).agent == plenty.agent
    with pytest.raises(EnlistError, match="covers no other agent"):
        rework(state, PLAN, POOL, (), "a.analyst.1", Left(seconds=1.0))


def test_a_role_given_up_for_want_of_budget_is_open_again_when_the_run_goes_on(places: Iterator[Path]) -> None:
    stage = played(places, by_role(a_analyst_1=["budget_exhausted"] * 3, a_analyst_2=["bad_input"]))
    assert stage.state().given_up["a.analyst.1"].code == "budget_exhausted"
    state = stage.drive()
    assert "a.analyst.1" in state.finished and state.given_up["a.analyst.2"].code == "bad_input"
    assert {"a.verifier", "writer"} <= state.finished
    assert [one.role for one in stage.actors.started] == ["a.analyst.1", "a.verifier", "writer"]


def test_a_role_may_take_what_the_roles_after_it_do_not_need() -> None:
    seconds = {"a.analyst.1": 5.0, "a.analyst.2": 3.0, "b.analyst": 4.0, "a.verifier": 1.0, "b.verifier": 2.0,
               "writer": 1.5}
    assert shares.rest(PLAN, "a.analyst.2", seconds) == 4.0 + 2.0 + 1.5 and shares.rest(PLAN, "writer", seconds) == 0
    assert shares.share_of_time(20.0, 7.5, 3.0) == 12.5
    assert shares.share_of_time(10.0, 7.5, 3.0) is None and shares.share_of_time(10.0, 0.0, 3.0) is None
    assert shares.share_of_rest(10.0, 1.0, 4.0) == 6.0 and shares.share_of_rest(2.0, 1.0, 3.0) == 0.5
