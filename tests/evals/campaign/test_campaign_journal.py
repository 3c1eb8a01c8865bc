"""What the journal says of a sample, however its tries ended."""

from collections.abc import Iterator

import pytest

from enlist.environments.contract import Score
from enlist.evals.campaign import journal
from enlist.evals.campaign.journal import MOST_LOST, Outcome, State
from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory import open_memory
from enlist.tools.runtime.memory.protocol import Memory

DIED = EnlistError("worker_died", "it died")
OK = Outcome(sample="s", verdict="ok", value=1.0, tries=1)
ANSWER = ArtifactRef(sha256="0" * 64, media_type="application/json", name="answer.json", bytes=2)


@pytest.fixture
def memory(tmp_path) -> Iterator[Memory]:
    opened = open_memory(f"sqlite://{tmp_path}/store.db")
    yield opened
    opened.close()


def after(memory, *events) -> State:
    memory.commit("c", 0, events)
    return State.read(memory, "c")


def test_a_failed_try_counts_and_a_cancelled_one_does_not(memory):
    state = after(memory, journal.started("s", 0, "s"), journal.ended("s", 0, "s", cost={}),
                  journal.started("s", 1, "s"), journal.ended("s", 1, "s", cost={"seconds": 2.0}, fault=DIED))
    assert (state.starts["s"], state.faults["s"], state.lost("s")) == (2, 1, 0)
    assert state.given_up("s", 0) and not state.given_up("s", 1)
    assert "it died" in state.why("s") and state.costs["s"]["seconds"] == 2.0


def test_a_try_without_an_end_is_lost_and_too_many_give_the_sample_up(memory):
    state = after(memory, *(journal.started("s", n, "s") for n in range(MOST_LOST - 1)))
    assert state.lost("s") == MOST_LOST - 1 and not state.given_up("s", 0)
    assert after(memory, journal.started("s", MOST_LOST - 1, "s")).given_up("s", 0)


def test_a_sample_is_settled_once(memory):
    first = journal.ended("s", 0, "s", cost={}, outcome=OK)
    second = journal.ended("s", 1, "s", cost={}, outcome=OK.model_copy(update={"value": 0.1}))
    assert after(memory, journal.started("s", 0, "s"), first, second).outcomes["s"].value == 1.0


def test_a_cancellation_that_comes_after_the_end_takes_nothing_back(memory):
    state = after(memory, journal.started("s", 0, "s"), journal.ended("s", 0, "s", cost={}, outcome=OK),
                  journal.ended("s", 0, "s", cost={}))
    assert state.outcomes["s"] == OK and state.lost("s") == 0


def test_an_answer_is_kept_when_its_scoring_fails(memory):
    state = after(memory, journal.started("s", 0, "s"), journal.answered("s", 0, ANSWER, {"usd": 0.5}),
                  journal.ended("s", 0, "s", cost={}, fault=DIED))
    assert state.answers["s"] == ANSWER and state.costs["s"]["usd"] == 0.5 and state.faults["s"] == 1


@pytest.mark.parametrize(("verdict", "faulted", "tries", "disposition", "expected"), [
    ("ok", False, 0, "retry", (True, "ok")), ("wrong", False, 0, "skip", (True, "wrong")),
    ("error", False, 9, "error", None), ("timeout", True, 0, "retry", None),
    ("timeout", True, 2, "retry", (True, "timeout")), ("timeout", True, 0, "error", (True, "timeout")),
    ("invalid", True, 0, "skip", (False, "invalid"))])
def test_the_disposition_of_a_try(verdict, faulted, tries, disposition, expected):
    score = Score(task="t", value=1.0 if verdict == "ok" else 0.0, verdict=verdict)
    found = journal.judge("s", score, faulted=faulted, tries=tries, retries=2, disposition=disposition)
    assert (found and (found.counted, found.verdict)) == expected


def test_what_a_try_spent_is_in_the_stores_books(memory):
    memory.commit("c", 0, [], settle=journal.settlements("s", 0, {"usd": 0.5, "tokens": 7.0, "seconds": 3.0}))
    assert (memory.budget("c", "usd").spent, memory.budget("c", "tokens").spent) == (0.5, 7.0)
