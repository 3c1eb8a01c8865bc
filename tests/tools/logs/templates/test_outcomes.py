"""Outcomes of messages as a person reads them."""

import pytest

from enlist.tools.logs.templates import outcome


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
    ("FATAL: out of disk", "fatal"),
    ("unexpected error in module x", "error"),
    ("warning: clock moved", "warning"),
    ("login failed for bob", "failed"),
    ("backup succeeded", "succeeded"),
    ("link is down", "failed"),
    ("volume is not available", "failed"),
    ("can't be reached: not healthy", "failed"),
    ("took 503 ms", ""),
    ("status of job 12 read", ""),
    ("", ""),
])
def test_the_outcome_that_a_message_says(message: str, said: str) -> None:
    assert outcome(message) == said
