"""Time stamps: what Python's own formatting writes is read back to the instant it was made from."""

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enlist.tools.logs.clock.forms import BY_NAME, FORMS
from enlist.tools.logs.clock.reader import Clock

NS = 1_000_000_000


def read(text: str, clock: Clock | None = None, form: str | None = None) -> tuple[int, str] | None:
    """The first form that matches the whole text, read."""
    for one in [BY_NAME[form]] if form else FORMS:
        if match := re.fullmatch(f"(?P<stamp>{one.pattern})", text):
            return (clock or Clock()).read(match, one)
    return None


def ns(moment: datetime) -> int:
    return int(moment.replace(microsecond=0).timestamp()) * NS + moment.microsecond * 1000


MOMENT = st.datetimes(datetime(1996, 1, 1), datetime(2037, 12, 31), timezones=st.just(UTC))
WRITTEN = {  # as the documentation of each format writes it
    "%Y-%m-%dT%H:%M:%S.%fZ": "all", "%Y-%m-%d %H:%M:%S,%f +0000": "all", "%Y/%m/%d %H:%M:%S UTC": "second",
    "%d/%b/%Y:%H:%M:%S +0000": "second", "%a, %d %b %Y %H:%M:%S GMT": "second", "%Y%m%dT%H%M%SZ": "second",
    "%Y-%m-%d-%H.%M.%S.%f": "all", "%a %b %d %H:%M:%S %Y": "second", "%a %b %d %H:%M:%S.%f %Y": "all",
    "%B %d, %Y %I:%M:%S %p": "second", "%y/%m/%d %H:%M:%S": "second", "%y%m%d %H%M%S": "second",
    "%Y%m%d-%H:%M:%S:%f": "all", "%d %b %Y %H:%M:%S.%f": "all", "%d-%b-%Y %H:%M:%S.%f UTC": "all",
}


@pytest.mark.parametrize("form", WRITTEN)
@given(moment=MOMENT)
def test_a_stamp_is_read_back_to_its_instant(form: str, moment: datetime) -> None:
    if WRITTEN[form] == "second":
        moment = moment.replace(microsecond=0)
    if "%y" in form and moment.year < 2000:
        moment = moment.replace(year=moment.year + 28)  # same weekdays and leap years
    got = read(moment.strftime(form))
    assert got is not None and got[0] == ns(moment)


@given(MOMENT, st.integers(-14 * 4, 14 * 4), st.sampled_from(["", ":"]))
def test_an_offset_is_taken_off(moment: datetime, quarters: int, colon: str) -> None:
    local = moment.astimezone(timezone(timedelta(minutes=15 * quarters)))
    zone = local.strftime("%z")
    got = read(local.strftime("%Y-%m-%dT%H:%M:%S.%f") + zone[:3] + colon + zone[3:])
    assert got == (ns(moment), "stated")


@pytest.mark.parametrize("digits", [0, 3, 6, 9])
@given(moment=MOMENT)
def test_an_epoch_in_any_unit(digits: int, moment: datetime) -> None:
    moment = moment.replace(year=max(2001, moment.year), day=min(28, moment.day))
    whole = int(moment.timestamp()) * 10**digits
    assert read(str(whole)) == (int(moment.timestamp()) * NS, "stated")


def test_z_and_an_offset_in_one_file_are_both_applied() -> None:
    # lnav 1034 and 1210
    clock = Clock()
    assert read("2023-05-01T10:00:00Z", clock) == read("2023-05-01T13:00:00+03:00", clock)


def test_stamps_with_and_without_fraction_alternate() -> None:
    # lnav 1215
    clock = Clock()
    got = [read(t, clock) for t in ("2024-01-01 00:00:01", "2024-01-01 00:00:01.5", "2024-01-01 00:00:02")]
    assert [g[0] - got[0][0] for g in got if g and got[0]] == [0, NS // 2, NS]


def year(text: str, clock: Clock) -> int:
    got = read(text, clock, "syslog")
    assert got is not None and got[1] == "year-inferred"
    return datetime.fromtimestamp(got[0] / NS, UTC).year


def test_a_year_that_is_not_written_is_that_of_the_file() -> None:
    # toolong 12
    clock = Clock(datetime(2021, 1, 3, tzinfo=UTC).timestamp())
    written = ("Dec 30 23:59:59", "Dec 31 23:59:59", "Jan  1 00:00:00", "Dec 31 23:59:58", "Jan  2 00:00:00")
    assert [year(t, clock) for t in written] == [2020, 2020, 2021, 2020, 2021]


def test_the_29th_of_february_is_in_a_leap_year() -> None:
    # super-speedy-syslog-searcher 245
    clock = Clock(datetime(2023, 6, 1, tzinfo=UTC).timestamp())
    assert year("Feb 29 10:00:00", clock) == 2020
    assert year("Mar  1 10:00:00", clock) == 2020


def test_without_a_zone_the_given_one_holds_and_is_said() -> None:
    assert read("2024-01-01 12:00:00", Clock(offset=3600)) == (ns(datetime(2024, 1, 1, 11, tzinfo=UTC)), "zone-assumed")


def test_a_number_above_twelve_settles_what_is_day_and_month() -> None:
    clock = Clock()
    assert read("13/02/2024 00:00:00", clock) == (ns(datetime(2024, 2, 13, tzinfo=UTC)), "zone-assumed")
    assert read("01/02/2024 00:00:00", clock) == (ns(datetime(2024, 2, 1, tzinfo=UTC)), "zone-assumed")


def test_midnight_moves_a_clock_without_dates_to_the_next_day() -> None:
    clock = Clock(datetime(2024, 3, 5, 1, tzinfo=UTC).timestamp())
    late, early = read("23:59:59", clock), read("00:00:01", clock)
    assert late and early and early[0] - late[0] == 2 * NS
    assert datetime.fromtimestamp(early[0] / NS, UTC).day == 5


@pytest.mark.parametrize("text", ["2024-13-01 00:00:00", "2024-02-30 00:00:00", "2024-01-01 25:00:00", "9" * 14])
def test_what_is_no_time_is_not_read(text: str) -> None:
    assert read(text) is None
