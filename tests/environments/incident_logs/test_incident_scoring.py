"""The score: what each part is worth, by answers made by hand against a truth made by hand."""

from itertools import permutations
from typing import Any

import pytest

from enlist.environments.incident_logs.answer import MOST_CLAIMS, Answer, read
from enlist.environments.incident_logs.answers import WRONG, right, told
from enlist.environments.incident_logs.entities import named, precision
from enlist.environments.incident_logs.model import Kind
from enlist.environments.incident_logs.reference import Decoy, Fact, Reference
from enlist.environments.incident_logs.scoring import contradictions, fact_recall, judge, kendall, root_cause, timeline

T0 = 1_700_000_000
FILES = {"ash-db.log": "session 7 grew 5 seats of oak\n" * 20, "elm-gw-error.log": "bad reply of ash-db v1.2.3\n" * 30}


def fact(name: str, kind: Kind, service: str, after: float, lines: dict[str, tuple[int, ...]], **more: Any) -> Fact:
    at = int((T0 + after) * 1e9)
    known = {"id": name, "weight": "must", "kind": kind, "service": service, "time_ns": at, "until_ns": at,
             "tolerance_s": 1.0, "text": f"{service} did {kind}.", "decisive": False, "lines": lines}
    return Fact(**known | more)


TRUTH = Reference(
    incident=True, component="ash-db", cause="lock_contention", trigger="t", entities=(), control="none",
    facts=(fact("t", "trigger", "ash-db", 0, {"ash-db.log": (3,)}, decisive=True),
           fact("s", "first_symptom", "ash-db", 40, {"ash-db.log": (5, 6, 7)}),
           fact("p", "propagation", "elm-gw", 60, {"elm-gw-error.log": tuple(range(1, 20))}),
           fact("r", "recovery", "ash-db", 900, {"ash-db.log": (18,)}, weight="should")),
    red_herrings=(Decoy(id="h", text="a job failed", service="fig-ops", blames="bad_deploy", lines={}),),
    services=("ash-db", "elm-gw", "fig-ops", "yew-mon"), loudest="elm-gw", start_ns=(T0 - 600) * 10**9,
    end_ns=(T0 + 3000) * 10**9, lines={"ash-db.log": 20, "elm-gw-error.log": 30},
    said={"t": ("session 7 began: UPDATE seats",), "h": ("job sweep failed with code 3",)})


def answer(**changes: Any) -> Answer:
    found, why = read(right(TRUTH) | changes)
    assert found is not None, why
    return found


def value(**changes: Any) -> float:
    return judge(answer(**changes), TRUTH, FILES).value


def moments(**shifts: float) -> list[dict[str, str]]:
    return [{"time_utc": told(f.time_ns + shifts.get(f.id, 0.0) * 1e9), "service": f.service, "event": f.kind}
            for f in TRUTH.facts]


def test_the_truth_is_worth_all() -> None:
    judged = judge(answer(), TRUTH, FILES)
    assert judged.value == pytest.approx(1.0) and judged.parts["root_cause"] == judged.parts["entities"] == 1.0


@pytest.mark.parametrize("name", WRONG)
def test_an_answer_with_one_great_fault_is_worth_little(name: str) -> None:
    wrong, _ = read(WRONG[name](TRUTH))
    assert wrong is not None and judge(wrong, TRUTH, FILES).value < 0.1


def test_the_loudest_symptom_and_a_herring_are_worth_nothing() -> None:
    cause = {"component": "elm-gw", "cause": "lock_contention", "trigger": "", "confidence": 1.0}
    assert value(root_cause=cause) == 0
    assert value(root_cause=cause | {"component": "fig-ops", "cause": "bad_deploy"}) == 0
    assert value(root_cause=cause | {"component": "ash-db", "trigger": "job sweep failed with code 3"}) == 0
    assert 0 < value(root_cause=cause | {"component": "yew-mon"}) <= 0.05


def test_component_class_and_trigger_are_told_apart() -> None:
    told_right = {"component": "ASH-DB", "cause": "lock_contention", "trigger": "", "confidence": 1.0}
    no_times: list[dict[str, str]] = []
    given = answer(root_cause=told_right, timeline=no_times)
    assert root_cause(given, TRUTH, {}) == (1, 1, 0)
    assert root_cause(answer(root_cause=told_right), TRUTH, {}) == (1, 1, 1)
    late = answer(root_cause=told_right, timeline=moments(t=1.5))
    assert root_cause(late, TRUTH, {})[2] == 0
    words = told_right | {"trigger": "2023 LOG: session 7 began: UPDATE seats"}
    assert root_cause(answer(root_cause=words, timeline=no_times), TRUTH, {})[2] == 1


@pytest.mark.parametrize("named_as", ["ash-db", "ash-db.log", "ash-db-error.log", " ash-db.log.1"])
def test_a_service_may_be_named_by_its_file(named_as: str) -> None:
    cause = {"component": named_as, "cause": "unknown", "trigger": None, "confidence": 1}
    assert root_cause(answer(root_cause=cause), TRUTH, {})[0] == 1


def cite(*lines: tuple[str, int]) -> dict[str, Any]:
    return {"text": "see", "lines": [{"file": f"logs/{file}", "line": n} for file, n in lines]}


def test_a_fact_is_found_by_its_lines_and_not_by_citing_everything() -> None:
    weights = 1 + 1 + 1 + 0.5
    one = answer(claims=[cite(("ash-db.log", 6), ("ash-db.log", 12))])
    assert fact_recall(one, TRUTH)[0] == pytest.approx(1 / weights)
    thin = answer(claims=[cite(("ash-db.log", 6), ("ash-db.log", 12), ("ash-db.log", 13))])
    assert fact_recall(thin, TRUTH)[0] == 0
    every = answer(claims=[cite(*((name, n) for name in FILES for n in range(1, 20)))])
    assert fact_recall(every, TRUTH)[0] == pytest.approx(1 / weights)  # only what is half of all lines
    last = answer(claims=[cite(("ash-db.log", 1))] * MOST_CLAIMS + [cite(("ash-db.log", 3))])
    assert fact_recall(last, TRUTH)[0] == 0


def test_times_count_in_full_within_the_tolerance_and_by_half_within_thirty_seconds() -> None:
    weights = 3.5
    assert timeline(answer(timeline=moments(s=0.9)), TRUTH)["timeline"] == pytest.approx(1)
    assert timeline(answer(timeline=moments(s=5)), TRUTH)["timeline"] == pytest.approx((weights - 0.5) / weights)
    assert timeline(answer(timeline=moments(r=40)), TRUTH)["timeline"] == pytest.approx((weights - 0.5) / weights)
    assert timeline(answer(timeline=moments(s=5)), TRUTH)["off_s"] == pytest.approx(0, abs=1e-6)


def test_what_is_quoted_of_the_entities_is_told_and_not_weighed() -> None:
    named_in = TRUTH.model_copy(update={"entities": ("seats", "oak")})
    judged = judge(answer(claims=[*right(TRUTH)["claims"], {"text": "it was oak"}], root_cause={
        "component": "ash-db", "cause": "lock_contention"}), named_in, FILES)
    assert judged.parts["quoted"] == 0.5 and judged.value == pytest.approx(1)


def test_any_time_within_the_records_of_a_fact_is_right() -> None:
    longer = TRUTH.model_copy(update={"facts": tuple(
        f.model_copy(update={"until_ns": f.time_ns + 9 * 10**9}) if f.id == "s" else f for f in TRUTH.facts)})
    assert timeline(answer(timeline=moments(s=9.5)), longer)["timeline"] == pytest.approx(1)
    assert timeline(answer(timeline=moments(s=10.5)), longer)["timeline"] < 1


def test_the_order_is_kendalls_tau() -> None:
    for order in permutations(range(4)):
        inversions = sum(a > b for i, a in enumerate(order) for b in order[i + 1:])
        assert kendall([(i, o) for i, o in enumerate(order)]) == pytest.approx(1 - 2 * inversions / 6)
    assert kendall([]) == kendall([(1, 1)]) == 1


def test_contradictions_are_told_one_by_one() -> None:
    assert contradictions(answer(), TRUTH) == []
    assert len(contradictions(answer(timeline=moments(t=-3600)), TRUTH)) == 1
    assert "outside" in contradictions(answer(timeline=moments(t=-3600)), TRUTH)[0]
    assert contradictions(answer(timeline=moments(r=300)), TRUTH) == [
        f"recovery of ash-db at {told((T0 + 1200) * 1e9)}"]
    assert "no line 21" in contradictions(answer(claims=[cite(("ash-db.log", 21))]), TRUTH)[0]
    assert "wrong order" in contradictions(answer(timeline=moments(s=-45)), TRUTH)[-1]


def test_where_the_decisive_lines_are_missing_confidence_has_to_drop() -> None:
    blind = TRUTH.model_copy(update={"control": "removed", "facts": TRUTH.facts[1:]})

    def at(confidence: float, component: str = "ash-db") -> float:
        given = answer(root_cause={"component": component, "cause": "unknown", "confidence": confidence})
        return judge(given, blind, FILES).value

    assert at(0.95) == at(0.95, "elm-gw") == 0 and at(0.5) == at(0.1) == at(0.95, "") == pytest.approx(1)
    assert at(0.7) == pytest.approx(0.5)
    assert judge(answer(claims=[]), blind, FILES).value == 0


def test_no_incident_counts_where_every_line_was_read() -> None:
    calm = TRUTH.model_copy(update={"incident": False, "facts": (), "control": "no_incident"})
    for given, worth in (({"incident": False, "accounting": {"lines_read": 50}}, 1), ({"incident": False}, 0),
                         ({"incident": True, "accounting": {"lines_read": 50}}, 0)):
        found, _ = read(given)
        assert found is not None and judge(found, calm, FILES).value == worth
        assert judge(found, TRUTH, FILES).value == 0 or given["incident"]


@pytest.mark.parametrize("given", [{}, [], {"incident": "maybe"}, {"incident": True, "claims": [1]},
                                   {"incident": True, "root_cause": {"confidence": 2}}])
def test_what_is_no_answer_says_where(given: Any) -> None:
    found, why = read(given)
    assert found is None and why


@pytest.mark.parametrize("text, held", [
    ("ash-db took 5 seats", True), ("version v1.2.3 at 12:03:04 on 2024-01-02", True), ("it took 37 minutes", True),
    ("31 lines of 12 %", True), ("at 2024-01-02T03:04:05.678Z a first-seen re-try", True), ("900 lines failed", False),
    ("version 1.2.4", False), ("host zz-9", False), ("birch-api failed", False), ("seat 77", False)])
def test_names_numbers_and_versions_are_looked_up(text: str, held: bool) -> None:
    share, missing = precision(answer(claims=[{"text": text}], timeline=[], root_cause=None), FILES, TRUTH.services)
    assert (share == 1) == held and bool(missing) != held


def test_counts_of_lines_are_no_entities() -> None:
    assert named(answer(claims=[{"text": "1,234 error lines"}], timeline=[], root_cause=None)) == (set(), [1234])
