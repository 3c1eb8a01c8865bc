"""What a role gets when it asks for a model: paid, attended, remembered; and a fault that speaks of the model."""

import time

import pytest
from fault_server import FaultServer, says, silent, status

from enlist.agents.language.attended import Attended
from enlist.agents.language.client import Client
from enlist.agents.language.provider import ModelDown, language_model, read_replay
from enlist.agents.language.questions import Ask
from enlist.agents.language.settings import ModelSettings
from enlist.agents.work import Assignment, Work
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.events import NewEvent
from enlist.tools.runtime.memory import open_memory

QUESTION = Ask(system="Answer.", text="How many?", most_tokens=50)
KEY = "sk-a-secret-0123456789"


@pytest.fixture
def memory(tmp_path):
    return open_memory(f"sqlite://{tmp_path / 'store.db'}")


def settings(server, **changes):
    return ModelSettings(**{"name": "small", "endpoint": server.address, "model": "served", "usd_per_million_in": 1.0,
                            "usd_per_million_out": 2.0, "capabilities": ("wording",), "first_byte_seconds": 15.0,
                            "idle_seconds": 15.0, **changes})


def work(memory, *models, run="r", **changes):
    return Work(memory, Assignment(**{
        "memory": "", "run": run, "attempt": 0, "role": "writer", "capability": "", "agent": "a", "specialist": "s",
        "knobs": {}, "inputs": (), "upstream": {}, "request": {}, "models": models, **changes}))


def test_an_answer_is_paid_once_and_kept_for_every_run_but_not_for_another_endpoint(memory):
    with FaultServer([says("seven")]) as one, FaultServer([says("eight")]) as other:
        first = language_model(work(memory, settings(one)), "wording").ask(QUESTION)
        again = language_model(work(memory, settings(one, name="renamed"), run="r2"), "wording").ask(QUESTION)
        third = language_model(work(memory, settings(other), run="r3"), "wording").ask(QUESTION)
        assert (len(one.requests), len(other.requests)) == (1, 1)
    assert (first.text, again.text, third.text) == ("seven", "seven", "eight")
    assert first.usd > 0 and (again.usd, again.tokens_in, again.model) == (0.0, 0, "renamed")
    assert memory.budget("r", "usd").spent == pytest.approx(first.usd) and memory.budget("r2", "usd").spent == 0


def test_a_fault_of_the_model_speaks_of_the_model_and_is_not_kept(memory):
    with FaultServer([status(401), says("seven")]) as server:
        asker = language_model(work(memory, settings(server)), "wording")
        with pytest.raises(ModelDown) as fault:
            asker.ask(QUESTION)
        assert (fault.value.code, fault.value.capability) == ("tool_failed", "wording")
        assert asker.ask(QUESTION).text == "seven"


def test_a_run_without_the_model_says_so(memory):
    with pytest.raises(ModelDown, match="no language model for this"):
        language_model(work(memory), "wording")


def test_a_share_that_is_spent_is_the_roles_fault_and_nothing_is_sent(memory):
    with FaultServer([says("x")]) as server:
        asker = language_model(work(memory, settings(server), shares={"usd": 1e-9}), "wording")
        with pytest.raises(EnlistError) as fault:
            asker.ask(QUESTION)
        assert fault.value.code == "budget_exhausted" and not isinstance(fault.value, ModelDown)
        assert server.requests == []


def test_a_question_may_take_half_of_the_time_that_the_role_has_left(memory):
    with FaultServer([silent(5.0)]) as server:
        asker = language_model(work(memory, settings(server, first_byte_seconds=60.0), deadline=time.time() + 1.0),
                               "wording")
        with pytest.raises(ModelDown) as fault:
            asker.ask(QUESTION)
    assert fault.value.code == "timeout" and fault.value.given == "no first byte"


def test_a_role_that_waits_gives_signs_of_life_and_hears_that_it_is_stopped(memory):
    signs = []
    with FaultServer([silent(2.0)]) as server:
        asked = Attended(Client(settings(server, first_byte_seconds=60.0)), signs.append, lambda: len(signs) > 2)
        with pytest.raises(EnlistError) as fault:
            asked.ask(QUESTION)
    assert fault.value.code == "cancelled" and signs[0] == "model small is asked"


def test_a_stop_of_the_run_ends_a_question(memory):
    memory.commit("r", 0, [NewEvent(kind="stop.requested", key="stop:0", data={"by": "user"})])
    with FaultServer([silent(2.0)]) as server, pytest.raises(EnlistError) as fault:
        language_model(work(memory, settings(server, first_byte_seconds=60.0)), "wording").ask(QUESTION)
    assert fault.value.code == "cancelled" and not isinstance(fault.value, ModelDown)


def test_an_endpoint_that_drips_its_headers_for_ever_is_left(memory, monkeypatch):
    monkeypatch.setattr("enlist.agents.language.attended.GRACE", 0.2)

    def drips(connection):
        for _ in range(40):
            connection.sendall(b"H" if _ == 0 else b"T")
            time.sleep(0.1)

    with FaultServer([drips]) as server, pytest.raises(ModelDown):
        language_model(work(memory, settings(server, timeout=0.5)), "wording").ask(QUESTION)


def test_a_replay_asks_nobody_and_a_key_is_in_no_file(memory, monkeypatch, tmp_path):
    monkeypatch.setenv("A_KEY", KEY)
    with FaultServer([says(f"seven {KEY}"), status(401, body=f'"wrong key {KEY}"'.encode())]) as server:
        mine = settings(server, key_env="A_KEY")
        record = work(memory, mine, model_replay=f"record:{tmp_path / 'kept'}")
        assert language_model(record, "wording").ask(QUESTION).text == "seven ***"
        with pytest.raises(ModelDown) as fault:
            language_model(work(memory, mine), "wording").ask(QUESTION.model_copy(update={"text": "other"}))
        assert f"Bearer {KEY}" in server.headers[0] and KEY not in repr(fault.value.to_dict())
    monkeypatch.delenv("A_KEY")
    replay = work(memory, mine, model_replay=f"replay:{tmp_path / 'kept'}")
    assert language_model(replay, "wording").ask(QUESTION).text == "seven ***"
    with pytest.raises(ModelDown, match="no answer to this question was recorded"):
        language_model(replay, "wording").ask(QUESTION.model_copy(update={"text": "other"}))
    memory.close()
    assert not [p for p in tmp_path.rglob("*") if p.is_file() and KEY.encode() in p.read_bytes()]


@pytest.mark.parametrize("value", ["record", "replay:", "play:x", ":x"])
def test_a_replay_that_cannot_be_read_is_refused(value):
    with pytest.raises(EnlistError) as fault:
        read_replay(value)
    assert fault.value.code == "bad_input"


def test_a_folder_to_replay_must_be_there(tmp_path):
    with pytest.raises(EnlistError, match="no recorded answers"):
        read_replay(f"replay:{tmp_path / 'absent'}")
    assert read_replay(f"record:{tmp_path / 'new'}") == ("record", tmp_path / "new")
