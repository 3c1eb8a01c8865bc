"""Faults that users reported of other readers of logs, each with the right behaviour here (numbers: the reports)."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

from enlist.tools.logs.analysis import analyse
from enlist.tools.logs.batch import Accounting
from enlist.tools.logs.framing import batches
from enlist.tools.logs.reading import blocks
from enlist.tools.logs.statements import statements

BEGIN = datetime(2026, 3, 4, 5, tzinfo=UTC)
NS = 10**9


def times(path: Path) -> list[int]:
    account = Accounting()
    return [t or 0 for b in batches(blocks([path], account), account) for t in b.time]


def test_offsets_that_change_within_a_file_are_each_applied(tmp_path: Path) -> None:
    # lnav 1210, 1034
    lines = [f"{BEGIN + timedelta(minutes=i):%Y-%m-%dT%H:%M:%S}Z INFO a" for i in range(3)]
    lines[1] = f"{BEGIN + timedelta(minutes=1, hours=3):%Y-%m-%dT%H:%M:%S}+03:00 INFO a"
    (tmp_path / "a.log").write_text("\n".join(lines))
    assert times(tmp_path / "a.log") == [int((BEGIN + timedelta(minutes=i)).timestamp()) * NS for i in range(3)]


def test_a_file_in_reverse_order_and_one_in_order_meet_on_one_axis(tmp_path: Path) -> None:
    # logmerger 51
    stamps = [f"{BEGIN + timedelta(seconds=i):%Y-%m-%dT%H:%M:%SZ} INFO tick {i}\n" for i in range(600)]
    (tmp_path / "up.log").write_text("".join(stamps))
    (tmp_path / "down.log").write_text("".join(reversed(stamps)))
    series = analyse([tmp_path]).series
    counts = {service: dict(one.counts) for (service, _), one in series.items()}
    assert counts["up"] == counts["down"]


def test_colour_is_no_part_of_a_field_or_its_name(tmp_path: Path) -> None:
    # loki 14199
    (tmp_path / "a.log").write_text("\x1b[32mts\x1b[0m=2026-03-04T05:06:07Z \x1b[32mlvl\x1b[0m=warn msg=x a=1\n")
    account = Accounting()
    [batch] = batches(blocks([tmp_path], account), account)
    assert batch.level == ["warn"] and batch.fields == [{"a": "1"}]


def test_the_message_of_json_is_mined_not_its_envelope(tmp_path: Path) -> None:
    # logs-drilldown 427
    rows = [{"ts": f"2026-03-04T05:06:{i:02d}Z", "pod": f"p{i}", "msg": f"job {i} done"} for i in range(40)]
    (tmp_path / "a.log").write_text("\n".join(json.dumps(dict(sorted(r.items(), reverse=i % 2 == 0)))
                                              for i, r in enumerate(rows)))
    assert [(s["template"], s["count"]) for s in statements([tmp_path])] == [("job <*> done", 40)]


def test_a_healthy_answer_says_how_much_was_read_and_one_without_lines_is_no_healthy_answer(tmp_path: Path) -> None:
    # k8sgpt 1582, holmesgpt 73
    line = f"{BEGIN:%Y-%m-%dT%H:%M:%SZ} INFO request served without any trouble\n"
    (tmp_path / "a.log").write_text(line * 20_000)
    made = analyse([tmp_path])
    assert made.account.lines_read == 20_000 and made.account.bytes_read == 20_000 * len(line)
    (tmp_path / "none").mkdir()
    nothing = analyse([tmp_path / "none"])
    assert nothing.incident.found is None and nothing.account.lines_read == 0
