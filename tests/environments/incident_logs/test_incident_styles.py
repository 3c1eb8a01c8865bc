"""How services write: every style's time comes back, every record is whole, traces are of the language."""

import json
import re

import pytest

from enlist.environments.incident_logs.clock import RESOLUTION, STATES_ZONE
from enlist.environments.incident_logs.decoding import decode
from enlist.environments.incident_logs.model import Emission, Service
from enlist.environments.incident_logs.styles import MOST_PARTIAL, Pen

AT = 1709251199.123457  # 2024-02-29 23:59:59.123457 UTC
FAILED = Emission("ash-bay", AT, "error", 'call to "elm" failed', {"peer": "elm", "of": "a b"}, trace="ab12" * 4,
                  fault="DeadlineExceeded")


def pen(style: str, zone: int = 0, offset: float = 0.0) -> Pen:
    return Pen(Service("ash-bay", "app", (), style, ("host-1", "host-2"), zone_min=zone, offset_s=offset))


@pytest.mark.parametrize("style", sorted(RESOLUTION))
@pytest.mark.parametrize("zone", [0, 330, -480])
def test_the_time_of_a_record_comes_back_in_utc(style: str, zone: int) -> None:
    for at in (AT, AT + 0.9, 1735689599.999, 1704067200.0):
        line = pen(style, zone, offset=0.25).write(Emission("ash-bay", at, "info", "ready"))[0]
        read = decode(line, style, at)
        assert read is not None and 0 <= at + 0.25 - read + 1e-6 < RESOLUTION[style] + 2e-6


def test_the_published_form_of_one_moment_in_each_style() -> None:
    """2001-09-09T01:46:40Z is the epoch's second 1,000,000,000; forms by RFC 3164, RFC 5424, ISO 8601, CLF, klog."""
    at = 1_000_000_000.0625
    starts = {"json": "2001-09-09T01:46:40.062Z", "syslog3164": "Sep  9 01:46:40 ", "cri": "2001-09-09T01:46:40.062500",
              "syslog5424": "2001-09-09T01:46:40.062500Z", "java": "2001-09-09 01:46:40,062 ",
              "bracket": "2001-09-09 01:46:40.062 UTC [", "klog": "I0909 01:46:40.062500 ", "epoch": "1000000000062 "}
    for style, start in starts.items():
        assert start in pen(style).write(Emission("ash-bay", at, "info", "ready"))[0]
    asked: dict[str, str | int | float] = {"method": "GET", "path": "/a", "status": 200, "ms": 7, "ip": "10.0.0.1"}
    request = Emission("ash-bay", at, "info", "", asked)
    assert re.match(r'10\.0\.0\.1 - - \[09/Sep/2001:03:46:40 \+0200\] "GET /a HTTP/1\.1" 200 0 "-" ".+" 0\.007$',
                    pen("access", 120).write(request)[0])


@pytest.mark.parametrize("style", sorted(RESOLUTION))
def test_a_record_says_its_text_and_its_fields(style: str) -> None:
    whole = "\n".join(pen(style).write(FAILED))
    assert 'call to "elm" failed' in whole.replace('\\"', '"') and "elm" in whole and "a b" in whole


def test_json_lines_are_json_with_a_stack_in_a_field() -> None:
    (line,) = pen("json").write(FAILED)
    data = json.loads(line)
    assert {"peer", "of"} <= set(data) and data["stack"].count("\n\tat ") == 6


@pytest.mark.parametrize("style, second, last", [
    ("java", r"[\w.]+\.DeadlineExceeded: call", r"\t\.\.\. \d+ more"),
    ("python", r"Traceback \(most recent call last\):", r"\w+\.errors\.DeadlineExceeded: call"),
    ("klog", r"goroutine \d+ \[running\]:", r"\t/src/\w+\.go:\d+"), ("epoch", r"    \S+DeadlineExceeded", r"    at ")])
def test_a_stack_trace_stands_under_its_record(style: str, second: str, last: str) -> None:
    lines = pen(style).write(FAILED)
    assert len(lines) > 3 and re.match(second, lines[1]) and re.match(last, lines[-1])
    assert all(decode(line, style, AT) is None for line in lines[1:])


def test_long_container_lines_are_split_and_join_to_the_whole() -> None:
    text = "x" * 500
    lines = pen("cri").write(Emission("ash-bay", AT, "info", text))
    tags, parts = zip(*(line.split(" ", 3)[2:] for line in lines), strict=True)
    assert tags == ("P",) * (len(lines) - 1) + ("F",) and text in "".join(parts)
    assert all(len(part) <= MOST_PARTIAL for part in parts)


def test_only_styles_that_state_a_zone_write_another_one() -> None:
    for style in RESOLUTION:
        here, there = (pen(style, zone).write(Emission("ash-bay", AT, "info", "ready"))[0] for zone in (0, 60))
        assert (here != there) == (style in STATES_ZONE)
