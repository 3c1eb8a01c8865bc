"""The model client against an endpoint that fails in every way: what may pass is tried again, and nothing hangs."""

import time
from email.utils import formatdate

import pytest
from fault_server import DONE, END, FaultServer, cut, event, piece, raw, says, silent, stalls, status

from enlist.agents.language.budgeted import Budgeted
from enlist.agents.language.client import TRIES, Client, retry_after, tokens_of
from enlist.agents.language.questions import Ask
from enlist.agents.language.replay import Recorded
from enlist.agents.language.settings import ModelSettings
from enlist.agents.spending import Account
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory import open_memory

QUESTION = Ask(system="Answer.", text="How many?", most_tokens=50)
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def client(server, **changes):
    waits: list[float] = []
    settings = {"name": "m", "endpoint": server.address, "model": "served", "usd_per_million_in": 1.0,
                "usd_per_million_out": 2.0, "first_byte_seconds": 15.0, "idle_seconds": 15.0, "timeout": 60.0}
    made = Client(ModelSettings(**{**settings, **changes}), sleep=waits.append)
    return made, waits


def fault_of(server, **changes):
    made, waits = client(server, **changes)
    with pytest.raises(EnlistError) as fault:
        made.ask(QUESTION)
    return fault.value, made, waits


def test_a_streamed_answer_is_joined_and_costs_what_the_endpoint_counts():
    with FaultServer([says("There are seven, héhé 日本.")]) as server:
        answer = client(server)[0].ask(QUESTION)
    assert answer.text == "There are seven, héhé 日本." and not answer.estimated
    assert (answer.tokens_in, answer.tokens_out) == (11, 7)
    assert answer.usd == pytest.approx((11 * 1.0 + 7 * 2.0) / 1e6)
    assert server.requests[0]["stream"] and server.requests[0]["max_tokens"] == 50


def test_an_endpoint_that_does_not_stream_is_read_as_well():
    body = b'{"choices": [{"message": {"content": "seven"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3, ' \
           b'"completion_tokens": 1}}'
    with FaultServer([raw(body, "application/json")]) as server:
        answer = client(server)[0].ask(QUESTION)
    assert (answer.text, answer.tokens_in, answer.tokens_out) == ("seven", 3, 1)


def test_missing_usage_is_estimated_from_above_and_marked():
    with FaultServer([says("seven", usage=False)]) as server:
        answer = client(server)[0].ask(QUESTION)
    assert answer.estimated and answer.tokens_in == tokens_of(QUESTION) and answer.tokens_out == 5


@pytest.mark.parametrize("code", [408, 429, 500, 502, 503, 504])
def test_a_status_that_may_pass_is_tried_again(code):
    with FaultServer([status(code), status(code), says("seven")]) as server:
        made, waits = client(server)
        assert made.ask(QUESTION).text == "seven"
    assert made.attempts == [str(code), str(code), "200"]
    assert 0 <= waits[0] <= 0.5 and 0 <= waits[1] <= 1.0


@pytest.mark.parametrize("code", [400, 401, 403, 404, 422])
def test_a_refusal_that_is_final_is_told_at_once_with_the_endpoints_words(code):
    with FaultServer([status(code, body=b"no such model")]) as server:
        fault, made, _ = fault_of(server)
    assert fault.code == "tool_failed" and str(code) in fault.given and "no such model" in fault.details
    assert made.attempts == [str(code)] and len(server.requests) == 1


def test_retry_after_is_kept_in_seconds_and_as_a_date_and_capped():
    with FaultServer([status(429, {"Retry-After": "3"}), status(503, {"Retry-After": "9999"}), says("x")]) as server:
        made, waits = client(server, timeout=1000.0)
        made.ask(QUESTION)
    assert waits == [3.0, 30.0]
    assert retry_after(formatdate(1000.0, usegmt=True), now=lambda: 990.0) == pytest.approx(10.0)
    assert retry_after("soon") is None and retry_after("-5") == 0.0


def test_waiting_ends_where_the_whole_time_is_spent():
    with FaultServer([status(429, {"Retry-After": "25"})]) as server:
        fault, _, waits = fault_of(server, timeout=5.0)
    assert waits == [] and fault.code == "worker_died"


def test_an_endpoint_that_keeps_failing_is_given_up_after_a_few_tries():
    with FaultServer([status(500)]) as server:
        fault, made, _ = fault_of(server)
    assert len(server.requests) == TRIES == len(made.attempts) and f"{TRIES} tries" in fault.message


def test_a_cut_stream_is_tried_again_and_its_worst_case_is_paid():
    with FaultServer([cut("There are se"), says("seven")]) as server:
        made, _ = client(server)
        answer = made.ask(QUESTION)
    assert answer.text == "seven" and made.attempts[0] == "cut stream" and answer.estimated
    assert answer.tokens_in == 11 + tokens_of(QUESTION) and answer.tokens_out == 7 + QUESTION.most_tokens


def test_a_slow_first_byte_and_a_half_open_socket_are_told_apart_and_end():
    for step, what, limit in ((silent(8.0), "no first byte", "first_byte_seconds"),
                              (stalls("sev", 8.0), "stalled stream", "idle_seconds")):
        with FaultServer([step, says("seven")]) as server:
            made, _ = client(server, **{limit: 2.0})
            assert made.ask(QUESTION).text == "seven"
            assert made.attempts == [what, "200"]


def test_nobody_at_the_address_is_told():
    with FaultServer([]) as server:
        pass
    fault, made, _ = fault_of(server)
    assert fault.code == "worker_died" and "unreachable" in fault.given and len(made.attempts) == TRIES


@pytest.mark.parametrize("body", [b"data: {nonsense\n\n", b'data: [1, 2]\n\n', b'data: {"choices": [3]}\n\n',
                                  event({"choices": [{"delta": {"content": 7}}]})])
def test_an_endpoint_that_sends_garbage_is_told_so(body):
    with FaultServer([raw(body)]) as server:
        fault, _, _ = fault_of(server)
    assert fault.code == "invalid_output"


def test_an_error_inside_the_stream_is_no_answer():
    with FaultServer([raw(piece("sev") + event({"error": {"message": "engine died"}})), says("seven")]) as server:
        made, _ = client(server)
        assert made.ask(QUESTION).text == "seven"
    assert "engine died" in made.attempts[0]


def test_comments_and_blank_lines_of_a_stream_are_passed_over():
    with FaultServer([raw(b": ping\n\n\n" + piece("sev") + b"event: x\n" + piece("en") + END + DONE)]) as server:
        assert client(server)[0].ask(QUESTION).text == "seven"


def test_an_answer_without_end_is_stopped():
    with FaultServer([raw(piece("x" * 1000) * 5000)]) as server:
        fault, _, _ = fault_of(server)
    assert fault.code == "resource_limit"


def test_the_key_is_sent_and_a_missing_one_is_named_before_anything_is_sent(monkeypatch):
    with FaultServer([says("x")]) as server:
        fault, _, _ = fault_of(server, key_env="A_KEY_OF_TESTS")
        assert fault.code == "bad_input" and "A_KEY_OF_TESTS" in fault.given and server.requests == []
        monkeypatch.setenv("A_KEY_OF_TESTS", "secret-1")
        made, _ = client(server, key_env="A_KEY_OF_TESTS")
        made.ask(QUESTION)
    assert "Bearer secret-1" in server.headers[0]
    assert "secret-1" not in repr(made) and "secret-1" not in made.settings.model_dump_json()


def test_a_schema_is_asked_for_where_the_endpoint_knows_schemas():
    with FaultServer([says("{}")]) as server:
        for mode in (True, False):
            client(server, schema_mode=mode)[0].ask(QUESTION.model_copy(update={"json_schema": SCHEMA}))
    assert server.requests[0]["response_format"]["json_schema"]["schema"] == SCHEMA
    assert "response_format" not in server.requests[1]


@pytest.mark.parametrize("endpoint", ["ftp://x/v1", "localhost:80", "http://me:secret@host/v1", ""])
def test_an_endpoint_that_is_no_plain_address_is_refused(endpoint):
    with pytest.raises(ValueError, match="http or https"):
        ModelSettings(name="m", endpoint=endpoint, model="x")


def budget(tmp_path, usd):
    memory = open_memory(f"sqlite://{tmp_path / 'store.db'}")
    memory.set_budget("r", "usd", usd)
    memory.set_budget("r", "tokens", 1e6)
    return memory, Account(memory, "r", 0, "role", 1, {})


def test_a_call_whose_worst_case_has_no_room_is_not_made(tmp_path):
    with FaultServer([says("x")]) as server:
        memory, account = budget(tmp_path, 1e-9)
        with pytest.raises(EnlistError) as fault:
            Budgeted(client(server)[0], account).ask(QUESTION)
    assert fault.value.code == "budget_exhausted" and server.requests == []
    assert memory.budget("r", "tokens").reserved == 0 == memory.budget("r", "tokens").spent


def test_a_call_settles_at_what_it_cost_and_a_failed_one_at_its_worst(tmp_path):
    with FaultServer([says("x"), status(500)]) as server:
        memory, account = budget(tmp_path, 1.0)
        made = client(server)[0]
        model = Budgeted(made, account)
        model.ask(QUESTION)
        assert memory.budget("r", "usd").spent == pytest.approx((11 + 14) / 1e6)
        assert memory.budget("r", "tokens").spent == 18 and memory.budget("r", "usd").reserved == 0
        with pytest.raises(EnlistError):
            model.ask(QUESTION)
    assert memory.budget("r", "usd").spent == pytest.approx((11 + 14) / 1e6 + made.worst_case(QUESTION)[1])


def test_a_recorded_answer_costs_nothing_and_replay_asks_nobody(tmp_path):
    with FaultServer([says("seven")]) as server:
        made, _ = client(server)
        recorded = Recorded(made, made.settings, tmp_path / "kept")
        assert recorded.ask(QUESTION).usd > 0
        again = recorded.ask(QUESTION)
        assert (again.text, again.usd, again.tokens_in) == ("seven", 0.0, 0) and len(server.requests) == 1
        replay = Recorded(made, made.settings, tmp_path / "kept", "replay")
        assert replay.ask(QUESTION).text == "seven"
        with pytest.raises(EnlistError, match="no answer to this question was recorded"):
            replay.ask(QUESTION.model_copy(update={"text": "other"}))
        assert len(server.requests) == 1
        (file,) = (tmp_path / "kept").iterdir()
        file.write_text("{")
        with pytest.raises(EnlistError, match="damaged"):
            replay.ask(QUESTION)


def test_the_client_never_outlasts_its_whole_time():
    def drips(connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        for _ in range(100):
            connection.sendall(piece("x"))
            time.sleep(0.1)

    with FaultServer([drips]) as server:
        fault, made, _ = fault_of(server, timeout=1.0)
    assert fault.code == "timeout" and made.attempts == ["too slow"]
