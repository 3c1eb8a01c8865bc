"""JSON over lines, the answers of log stores, a journal's export, tables: records with all their lines."""

import json
from pathlib import Path
from typing import Any

import pytest

from enlist.tools.logs.batch import Accounting
from enlist.tools.logs.framing import batches
from enlist.tools.logs.reading import blocks

AT = 1_772_600_767_000_000_000
ISO = "2026-03-04T05:06:07Z"
STREAMS = {"status": "success", "data": {"resultType": "streams", "stats": {"lines": 3}, "result": [
    {"stream": {"app": "api", "level": "error"}, "values": [[str(AT), "level=error msg=boom a=1"], [str(AT), "x {y"]]},
    {"stream": {"app": "db"}, "values": [[str(AT), "ok"]]}]}}
HITS = {"took": 3, "hits": {"total": {"value": 2}, "hits": [
    {"_index": "a", "_id": "1", "_source": {"@timestamp": ISO, "message": "first\nsecond", "log": {"level": "error"},
                                            "service": {"name": "api"}}},
    {"_index": "a", "_source": {"@timestamp": ISO, "message": "b"}}]}}
EVENTS = {"events": [{"timestamp": AT // 10**6, "message": f"{ISO} ERROR bad", "ingestionTime": 1},
                     {"timestamp": AT // 10**6, "message": "plain", "ingestionTime": 1}], "nextForwardToken": "f/1"}
LOG_EVENTS = {"messageType": "DATA", "logGroup": "g", "logEvents": [{"id": "1", "timestamp": AT // 10**6,
                                                                     "message": "hi"}]}
ARRAY = [{"time": ISO, "level": "warning", "msg": "a", "events": [{"b": "}"}]}, {"time": ISO, "msg": 'say "[{"'}]
WANT: list[tuple[Any, list[tuple[str, str]]]] = [
    (STREAMS, [("error", "boom"), ("error", "x {y"), ("", "ok")]),
    (HITS, [("error", "first"), ("", "b")]), (EVENTS, [("error", "bad"), ("", "plain")]),
    (LOG_EVENTS, [("", "hi")]), (ARRAY, [("warn", "a"), ("", 'say "[{"')])]


def framed(path: Path, text: str | bytes) -> tuple[list[dict[str, Any]], Accounting]:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    account = Accounting()
    got = [{c: getattr(b, c)[i] for c in ("time", "level", "service", "message", "rest", "line", "lines", "byte")}
           for b in batches(blocks([path], account), account) for i in range(len(b))]
    assert account.balanced() and min(account.by_category.values()) >= 0 and account.records == len(got)
    return got, account


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(("document", "want"), WANT)
def test_a_document_gives_its_records(document: Any, want: list[tuple[str, str]], indent: int | None,
                                      tmp_path: Path) -> None:
    got, account = framed(tmp_path / "x.json", json.dumps(document, indent=indent))
    assert [(g["level"], g["message"]) for g in got] == want
    assert {g["time"] for g in got} == {AT}
    raw = (tmp_path / "x.json").read_bytes()
    assert account.lines_read == raw.count(b"\n") + 1
    assert all(raw[:g["byte"]].count(b"\n") == g["line"] - 1 for g in got)


def test_names_of_a_stream_stand_for_its_service_and_text_after_the_first_line_is_kept(tmp_path: Path) -> None:
    assert [g["service"] for g in framed(tmp_path / "a", json.dumps(STREAMS))[0]] == ["api", "api", "db"]
    assert framed(tmp_path / "b", json.dumps(HITS))[0][0]["rest"] == "second"


def test_pretty_objects_after_each_other_are_records_of_several_lines(tmp_path: Path) -> None:
    got, account = framed(tmp_path / "a", "\n".join(json.dumps(one, indent=2) for one in ARRAY))
    assert [g["message"] for g in got] == ["a", 'say "[{"'] and got[1]["lines"] == 4
    assert +account.by_category == {"record": 2, "continuation": account.lines_read - 2}


def test_a_document_that_ends_early_gives_what_is_whole(tmp_path: Path) -> None:
    text = json.dumps(EVENTS, indent=1)
    got, _ = framed(tmp_path / "a", text[:text.index("plain")])
    assert [g["message"] for g in got] == ["bad"]


def test_a_document_longer_than_a_line_may_be_is_read(tmp_path: Path) -> None:
    many = {"events": [{"timestamp": AT // 10**6, "message": f"event {i} " + "x" * 600} for i in range(2000)]}
    got, account = framed(tmp_path / "a", json.dumps(many))
    assert len(got) == 2000 and not account.notes


def test_json_lines_stay_lines(tmp_path: Path) -> None:
    got, _ = framed(tmp_path / "a", "\n".join(map(json.dumps, ARRAY)))
    assert [g["message"] for g in got] == ["a", 'say "[{"'] and [g["line"] for g in got] == [1, 2]


def entry(number: int, message: str) -> bytes:
    """An entry as journald's documentation of its export format writes it."""
    head = f"__CURSOR=s=1;i={number}\n__REALTIME_TIMESTAMP={AT // 1000}\n_SYSTEMD_UNIT=db.service\nPRIORITY=3\n"
    said = message.encode()
    if "\n" in message:
        return head.encode() + b"MESSAGE\n" + len(said).to_bytes(8, "little") + said + b"\n\n"
    return head.encode() + b"MESSAGE=" + said + b"\n\n"


def test_a_journal_export_gives_its_entries_with_values_of_several_lines(tmp_path: Path) -> None:
    said = ["out of memory", "trace:\n  at a\nend", "0123\n5678", "done"]
    got, account = framed(tmp_path / "a", b"".join(entry(i, text) for i, text in enumerate(said)))
    assert [g["message"] + ("\n" + g["rest"] if g["rest"] else "") for g in got] == said
    assert {(g["time"], g["level"], g["service"]) for g in got} == {(AT, "error", "db.service")}
    assert account.by_category["record"] == 4


ROW = '2026-03-04 05:06:07.000 UTC,"app","db",77,"10.0.0.1:5",69a,1,"SELECT",2026-03-04 05:00:00 UTC,3/4,0,'


def test_rows_of_a_database_log_are_records_over_their_lines(tmp_path: Path) -> None:
    got, account = framed(tmp_path / "pg.csv", ROW + 'ERROR,42P01,"relation ""a"" is not there",,,,,,"select *\n'
                          + 'from a",15,,"psql"\n' + ROW + 'LOG,00000,"disconnection",,,,,,,,,"psql"\n')
    assert [(g["level"], g["message"]) for g in got] == [("error", 'relation "a" is not there'),
                                                         ("info", "disconnection")]
    assert +account.by_category == {"record": 2, "continuation": 1}


def test_a_table_with_named_columns(tmp_path: Path) -> None:
    got, _ = framed(tmp_path / "a.csv", f'timestamp,level,message\n{ISO},error,"a, b"\n{ISO},info,c\n')
    assert [(g["time"], g["level"], g["message"]) for g in got[1:]] == [(AT, "error", "a, b"), (AT, "info", "c")]
