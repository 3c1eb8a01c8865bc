"""A user's mapping: what it names is taken, what is wrong in it is named with what is allowed."""

from pathlib import Path

import pytest

from enlist.tools.logs.analysis import analyse
from enlist.tools.logs.batch import COLUMNS, Accounting, Batch, Source
from enlist.tools.logs.counting import Options, records
from enlist.tools.logs.framing.mapping import load
from enlist.tools.logs.reading import found
from enlist.tools.runtime.errors import EnlistError

AT = 1_772_600_767 * 10**9


def read(folder: Path, mapping: str, log: str) -> Batch:
    (folder / "map.yaml").write_text(mapping)
    (folder / "x.log").write_text(log)
    account, options = Accounting(), Options(mapping=load(folder / "map.yaml"))
    whole = Batch(Source(0, "x"))
    for batch in records(found([folder / "x.log"], account, options.limits), account, options):
        for column in COLUMNS:
            getattr(whole, column).extend(getattr(batch, column))
    assert account.balanced()
    return whole


def test_named_groups_are_the_parts_and_lines_that_do_not_fit_go_on(tmp_path: Path) -> None:
    batch = read(tmp_path, r"pattern: '(?P<service>\w+)\|(?P<level>\w)\|(?P<time>[^|]+)\|(?P<zone>\w+)\|"
                 "(?P<message>.*)'\ntime_format: '%d.%m.%y %H~%M~%S'",
                 "api|E|04.03.26 05~06~07|eu|no route\n  to host\ndb|I|04.03.26 05~06~08|us|ready\n")
    assert batch.time == [AT, AT + 10**9] and batch.level == ["error", "info"] and batch.service == ["api", "db"]
    assert batch.message == ["no route", "ready"] and batch.rest == ["  to host", ""]
    assert batch.fields == [{"zone": "eu"}, {"zone": "us"}]


@pytest.mark.parametrize("line", ['{"wann":"2026-03-04T05:06:07Z","was":"leer","wer":{"name":"db"},"n":3}',
                                  'wann=2026-03-04T05:06:07Z was=leer wer.name=db n=3'])
def test_keys_are_those_that_the_user_names(line: str, tmp_path: Path) -> None:
    batch = read(tmp_path, "keys: {time: wann, message: was, service: wer.name}", line + "\n")
    assert (batch.time, batch.message, batch.service, batch.fields) == ([AT], ["leer"], ["db"], [{"n": "3"}])


@pytest.mark.parametrize(("text", "said"), [
    ("patern: x", "patern"), ("pattern: '('", "no regular expression"), ("pattern: 'a'", "names no part"),
    ("keys: {when: t}", "when is no part; allowed: time, level"), ("{}", "either pattern or keys"),
    ("- a", "YAML object"), ("a: [", "no readable YAML"), ("keys: 3", "keys")])
def test_a_wrong_mapping_is_refused_with_the_key_and_what_is_allowed(text: str, said: str, tmp_path: Path) -> None:
    (tmp_path / "map.yaml").write_text(text)
    with pytest.raises(EnlistError, match=said) as fault:
        load(tmp_path / "map.yaml")
    assert fault.value.code == "bad_input"


def test_an_analysis_uses_it(tmp_path: Path) -> None:
    (tmp_path / "map.yaml").write_text("keys: {time: wann, message: was}")
    (tmp_path / "x.log").write_text("wann=1772600767 was=leer\n" * 5)
    made = analyse([tmp_path / "x.log"], Options(mapping=load(tmp_path / "map.yaml")))
    assert made.account.records == 5 and made.grid is not None
