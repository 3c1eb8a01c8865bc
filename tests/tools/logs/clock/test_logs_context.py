"""Sources beside each other: years and zones that one leaves out are found from the others."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from enlist.tools.logs.analysis import analyse
from enlist.tools.logs.clock.context import shifts, stated

BEGIN = datetime(2023, 12, 31, 20, tzinfo=UTC)
HOUR = 3600 * 10**9


def write(folder: Path, shift: timedelta) -> None:
    full = [(BEGIN + timedelta(seconds=20 * i)) for i in range(1000)]
    (folder / "api.log").write_text("".join(f"{t:%Y-%m-%dT%H:%M:%SZ} INFO served {i}\n" for i, t in enumerate(full)))
    (folder / "db.log").write_text("".join(f"{t + shift:%b %d %H:%M:%S} host db[1]: wrote {i}\n"
                                           for i, t in enumerate(full)))


def test_a_year_that_is_not_written_is_that_of_the_logs_beside_it(tmp_path: Path) -> None:
    write(tmp_path, timedelta())
    made = analyse([tmp_path])
    times = {service: [t for span in one.times.values() for t in span] for (service, _), one in made.series.items()}
    assert min(times["db"]) == min(times["api"]) == int(BEGIN.timestamp()) * 10**9
    assert max(times["db"]) == max(times["api"])


def test_a_zone_that_is_not_written_is_found_from_the_logs_beside_it_and_said(tmp_path: Path) -> None:
    write(tmp_path, timedelta(hours=5, minutes=30))
    made = analyse([tmp_path])
    times = {service: [t for span in one.times.values() for t in span] for (service, _), one in made.series.items()}
    assert min(times["db"]) == min(times["api"])
    assert any("19800 s" in n["text"] for n in made.account.notes)


def test_services_of_other_lengths_and_those_that_state_their_zone_stay() -> None:
    spans = {"a": (0, 10 * HOUR), "b": (2 * HOUR, 12 * HOUR), "short": (9 * HOUR, 10 * HOUR),
             "later": (3 * HOUR, 10 * HOUR), "near": (60 * 10**9, 10 * HOUR)}
    assert shifts(spans, ["a"]) == {"b": 2 * HOUR}
    assert shifts(spans, []) == {}


def test_a_file_written_near_the_others_keeps_its_own_time() -> None:
    known = stated([10**18, 10**18 + HOUR])
    assert known is not None
    assert known.modified(10**9 + 7200) == 10**9 + 7200
    assert known.modified(2 * 10**9) == known.last + 43_200
    assert stated([]) is None
