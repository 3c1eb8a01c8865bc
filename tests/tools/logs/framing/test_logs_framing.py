"""Framing: each known way of writing a line gives its time, level, service and message; a record's lines are joined."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from enlist.tools.logs.batch import Accounting, Batch
from enlist.tools.logs.framing import batches
from enlist.tools.logs.reading import blocks

AT = int(datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC).timestamp()) * 1_000_000_000
ISO = "2026-03-04T05:06:07Z"
LINES = {  # line: level, service, message
    f"{ISO} INFO started": ("info", "", "started"),
    f"{ISO} [WARN] slow disk": ("warn", "", "slow disk"),
    "2026-03-04 05:06:07,000 ERROR [main] org.example.Service: cannot bind": ("error", "", "cannot bind"),
    "2026-03-04 05:06:07.000 +0000 [http-nio-8080-exec-1] ERROR c.e.Api - failed": ("error", "", "failed"),
    "2026-03-04 05:06:07.000  INFO 4242 --- [           main] o.e.App : Started App": ("info", "", "Started App"),
    "2026-03-04 05:06:07,000 - app.db - WARNING - retrying": ("warn", "", "retrying"),
    "[2026-03-04 05:06:07 +0000] [31] [INFO] Listening": ("info", "", "Listening"),
    "INFO 2026-03-04 05:06:07 worker ready": ("info", "", "worker ready"),
    "1772600767 node up": ("", "", "node up"),
    "1772600767000 WARN late": ("warn", "", "late"),
    "Mar  4 05:06:07 host sshd[99]: Failed password for root": ("", "sshd", "Failed password for root"),
    "<34>Mar  4 05:06:07 host su: 'su root' failed": ("fatal", "su", "'su root' failed"),
    '<165>1 2026-03-04T05:06:07Z host api 7 ID47 [x@1 a="b"] it runs': ("info", "api", "it runs"),
    "[Wed Mar 04 05:06:07 2026] [notice] child init 1 2": ("info", "", "child init 1 2"),
    '{"time":"2026-03-04T05:06:07Z","level":"warning","msg":"slow","service":"api","ms":3}': ("warn", "api", "slow"),
    '{"timestamp":1772600767000,"severity":"ERROR","message":"bad","app":"web"}': ("error", "web", "bad"),
    '{"__REALTIME_TIMESTAMP":"1772600767000000","PRIORITY":"3","MESSAGE":"oom","_SYSTEMD_UNIT":"db.service"}':
        ("error", "db.service", "oom"),
    'time=2026-03-04T05:06:07Z level=error msg="no route" service=gw code=7': ("error", "gw", "no route"),
    '10.0.0.1 - - [04/Mar/2026:05:06:07 +0000] "GET /a HTTP/1.1" 503 12 "-" "curl"':
        ("error", "", '"GET /a HTTP/1.1" 503 12 "-" "curl"'),
    f"{ISO} stderr F E0304 05:06:07.000000       1 main.go:10] cannot sync": ("error", "", "main.go:10] cannot sync"),
    f"{ISO} stdout F plain words": ("", "", "plain words"),
    f'{{"log":"ready\\n","stream":"stdout","time":"{ISO}"}}': ("", "", "ready"),
    "I0304 05:06:07.000000 12 server.cc:5] ok": ("info", "", "server.cc:5] ok"),
}


def framed(path: Path, text: str) -> tuple[list[Batch], Accounting]:
    path.write_text(text)
    account = Accounting()
    made = list(batches(blocks([path], account), account))
    assert account.balanced() and account.records == sum(map(len, made))
    return made, account


@pytest.mark.parametrize("line", LINES)
def test_a_line_gives_time_level_service_and_message(line: str, tmp_path: Path) -> None:
    path = tmp_path / "log"
    [batch], _ = framed(path, line + "\n")
    level, service, message = LINES[line]
    assert batch.time == [AT]
    assert (batch.level[0], batch.message[0]) == (level, message)
    assert not service or batch.service[0] == service


JAVA = """2026-03-04 05:06:07,000 ERROR [main] a.B: request failed
java.lang.IllegalStateException: no pool
\tat a.B.run(B.java:10)
\tat a.Main.main(Main.java:3)
Caused by: java.net.ConnectException: refused
\t... 12 more
2026-03-04 05:06:08,000 INFO [main] a.B: next
"""
PYTHON = """2026-03-04 05:06:07,000 ERROR app unhandled
Traceback (most recent call last):
  File "/srv/app.py", line 3, in <module>
    run()
  File "/srv/app.py", line 2, in run
    raise ValueError("bad")
ValueError: bad

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/srv/app.py", line 9, in <module>
KeyError: 'x'
2026-03-04 05:06:08,000 INFO app next
"""
GO = """2026/03/04 05:06:07 serving
panic: runtime error: index out of range [3] with length 3

goroutine 1 [running]:
main.main()
\t/srv/main.go:8 +0x1d
exit status 2
2026/03/04 05:06:08 serving
"""
NODE = """2026-03-04T05:06:07Z error unhandled
TypeError: Cannot read properties of undefined (reading 'id')
    at handler (/srv/app.js:10:5)
    at async run (/srv/app.js:3:1) {
  code: 'E_BAD'
}
2026-03-04T05:06:08Z info next
"""


@pytest.mark.parametrize(("text", "lines"), [(JAVA, 6), (PYTHON, 11), (GO, 5), (NODE, 6)])
def test_a_stack_trace_is_one_record(text: str, lines: int, tmp_path: Path) -> None:
    made, account = framed(tmp_path / "log", text)
    sizes = [n for b in made for n in b.lines]
    assert sizes[-1] == 1 and lines in sizes
    assert account.by_category["continuation"] >= lines - 2
    assert sum(sizes) + account.by_category["blank"] == account.lines_read


def test_streams_of_a_container_are_kept_apart_and_pieces_joined(tmp_path: Path) -> None:
    text = "\n".join(f"2026-03-04T05:06:0{i}Z {line}" for i, line in enumerate((
        "stderr F Traceback (most recent call last):", "stdout P one long ",
        'stderr F   File "a.py", line 1', "stdout F line",
        "stderr F ValueError: bad", "stdout F other", "stdout F   indented part")))
    made, account = framed(tmp_path / "log", text)
    got = {b.message[i]: b.rest[i] for b in made for i in range(len(b))}
    assert got == {"Traceback (most recent call last):": '  File "a.py", line 1\nValueError: bad', "one long line": "",
                   "other": "  indented part"}
    assert account.by_category == {"record": 3, "continuation": 3, "partial": 1}


def test_a_record_goes_on_in_the_next_part_of_a_rotated_log(tmp_path: Path) -> None:
    # fluent-bit 5471
    (tmp_path / "app.log.1").write_text("".join(f"2026-03-04 05:06:0{i} INFO a\n" for i in range(5))
                                        + "2026-03-04 05:06:07 ERROR boom\n\tat a.B(C.java:1)\n")
    (tmp_path / "app.log").write_text("\tat a.C(C.java:2)\n2026-03-04 05:06:09 INFO next\n")
    account = Accounting()
    made = list(batches(blocks([tmp_path], account), account))
    rest = {b.message[i]: b.rest[i] for b in made for i in range(len(b))}
    assert rest["boom"] == "\tat a.B(C.java:1)\n\tat a.C(C.java:2)" and rest["next"] == ""


def test_keys_in_any_order_give_the_same_message_and_fields(tmp_path: Path) -> None:
    data = {"ts": ISO, "level": "info", "a": 1, "b": {"c": "x"}, "msg": "done"}
    text = "\n".join(json.dumps(dict(sorted(data.items(), reverse=r))) for r in (False, True))
    made, _ = framed(tmp_path / "log", text)
    assert [m for b in made for m in b.message] == ["done", "done"]
    assert [f for b in made for f in b.fields] == [{"a": "1", "b.c": "x"}] * 2


def test_a_log_without_times_is_records_without_times(tmp_path: Path) -> None:
    made, account = framed(tmp_path / "log", "started\nfailed to bind\n  because of port 80\nstopped\n")
    assert [m for b in made for m in b.message] == ["started", "failed to bind", "stopped"]
    assert {t for b in made for t in b.time} == {None}
    assert +account.by_category == {"unparsed": 3, "continuation": 1}


def test_coloured_levels_are_levels(tmp_path: Path) -> None:
    # loki 14199, grafana 33757
    made, _ = framed(tmp_path / "log", f"{ISO} \x1b[32mINFO\x1b[0m a\n{ISO} INFO a\n")
    assert [(b.level[i], b.message[i]) for b in made for i in range(len(b))] == [("info", "a")] * 2
