"""Outcomes of messages as a person reads them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enlist.tools.logs.templates import Miner, outcome


@pytest.mark.parametrize(("message", "said"), [
    ('10.0.0.1 "GET /a HTTP/1.1" 503 12', "http:5xx"),
    ("request done status=404 in 3 ms", "http:4xx"),
    ('{"status": 200, "path": "/x"}', "http:2xx"),
    ("status_code: 301", "http:3xx"),
    ("worker process 77 exited with code 137", "exit:137"),
    ("job done, exit status 0", "exit:0"),
    ("child returned rc=-1", "exit:-1"),
    ("process killed by signal 9", "signal:9"),
    ("stopping on signal SIGTERM", "signal:TERM"),
    ("exit status 137", "exit:137"),
    ("killed: sig 9 in sigma 4", "failed"),
    ("http error: 502", "http:5xx"),
    ("response code 429", "http:4xx"),
    ("src 3 done", "succeeded"),
    ("FATAL: out of disk", "fatal"),
    ("unexpected error in module x", "error"),
    ("warning: clock moved", "warning"),
    ("login failed for bob", "failed"),
    ("backup succeeded", "succeeded"),
    ("link is down", "failed"),
    ("volume is not available", "failed"),
    ("can't be reached: not healthy", "failed"),
    ("request 7bad12 read", ""),
    ("check did not fail", "succeeded"),
    ("took 503 ms", ""),
    ("status of job 12 read", ""),
    ("", ""),
])
def test_the_outcome_that_a_message_says(message: str, said: str) -> None:
    assert outcome(message) == said


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(st.sampled_from(
    ["failed", "ok", "not", "up", "7bad12", "bad", "status", "503", "404", "error", "x9", "exit", "code", "1", "can't",
     "be", "rc=", "signal", "HTTP/1.1", '{"ok": 1}', "dead1", "=", "warn"]), max_size=6).map(" ".join), max_size=12))
def test_the_outcome_by_shape_is_that_of_the_message(messages: list[str]) -> None:
    miner = Miner()
    for message, shape in zip(messages, miner.add(messages), strict=True):
        assert miner.outcome(message, shape) == outcome(message)
