"""Kept answers: the same as reading again, and none where anything that they depend on has changed."""

import hashlib
import hmac
import os
import pickle
from pathlib import Path

import pytest

from enlist.tools.logs.analysis import Analysis, analyse
from enlist.tools.logs.counting import Options
from enlist.tools.logs.index import FOLDER, KEY, Index, answered, identity
from enlist.tools.logs.report.document import document

LOG = "".join(f"2026-03-04T05:{i // 60:02d}:{i % 60:02d}Z {'ERROR disk full' if i > 900 else 'INFO served'} {i}\n"
              for i in range(1200))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "a.log").write_text(LOG)
    return tmp_path / "logs"


def ask(logs: Path, home: Path, options: Options | None = None) -> tuple[Analysis, bool]:
    """An answer, and whether the logs were read for it."""
    asked: list[int] = []

    def make() -> Analysis:
        asked.append(1)
        return analyse([logs], options)

    return answered(home, [logs], options or Options(), make), bool(asked)


def test_the_second_answer_is_the_first_without_reading(logs: Path, tmp_path: Path) -> None:
    first, read = ask(logs, tmp_path)
    second, again = ask(logs, tmp_path)
    assert read and not again
    one, two = document(first), document(second)
    one.pop("cost")
    two.pop("cost")
    assert one == two and first.cited == second.cited and first.series == second.series


@pytest.mark.parametrize("change", ["text", "options", *(
    pytest.param(rest, marks=pytest.mark.slow) for rest in ("time", "more", "another file"))])
def test_what_has_changed_is_read_again(change: str, logs: Path, tmp_path: Path) -> None:
    ask(logs, tmp_path)
    path = logs / "a.log"
    known = path.stat()
    if change == "text":
        path.write_text(LOG.replace("served 0", "served X"))
        os.utime(path, ns=(known.st_atime_ns, known.st_mtime_ns))
    elif change == "time":
        os.utime(path, ns=(known.st_atime_ns, known.st_mtime_ns + 1))
    elif change == "more":
        path.write_text(LOG + "x\n")
    elif change == "another file":
        (logs / "b.log").write_text(LOG)
    assert ask(logs, tmp_path, Options(service="a") if change == "options" else None)[1]


def test_damaged_or_foreign_data_are_never_used(logs: Path, tmp_path: Path) -> None:
    ask(logs, tmp_path)
    name = identity([logs], Options())
    assert name is not None
    kept = tmp_path / FOLDER / name
    data = kept.read_bytes()
    for bad in (b"", data[:40], data[:-1] + b"x", b"\0" * 32 + data[32:]):
        kept.write_bytes(bad)
        assert ask(logs, tmp_path)[1]


class _Evil:
    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.system, ("exit 3",)


def test_even_signed_data_make_nothing_but_this_packages_own(logs: Path, tmp_path: Path,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    ask(logs, tmp_path)
    ran: list[str] = []
    monkeypatch.setattr(os, "system", ran.append)
    name = identity([logs], Options())
    assert name is not None
    evil = pickle.dumps(_Evil())
    key = (tmp_path / FOLDER / KEY).read_bytes()
    (tmp_path / FOLDER / name).write_bytes(hmac.new(key, evil, hashlib.sha256).digest() + evil)
    assert Index(tmp_path).get([logs], Options()) is None and not ran


def test_the_key_is_for_this_user_alone_and_pipes_are_not_kept(logs: Path, tmp_path: Path) -> None:
    ask(logs, tmp_path)
    assert (tmp_path / FOLDER / KEY).stat().st_mode & 0o077 == 0
    os.mkfifo(tmp_path / "pipe")
    assert identity([tmp_path / "pipe"], Options()) is None and identity(["-"], Options()) is None


def test_claims_are_checked_against_the_file_as_it_is(logs: Path, tmp_path: Path) -> None:
    first, _ = ask(logs, tmp_path)
    ref = min(first.cited)
    path = logs / "a.log"
    known = path.stat()
    raw = bytearray(path.read_bytes())
    raw[ref.byte + 21:ref.byte + 30] = b"#" * 9
    assert 4096 < ref.byte < known.st_size - 5000  # not among the bytes that the identity holds
    path.write_bytes(raw)
    os.utime(path, ns=(known.st_atime_ns, known.st_mtime_ns))
    second, read = ask(logs, tmp_path)
    assert not read and second.cited[ref] != first.cited[ref]
