"""Bad input: the right answer or a clear note, nothing lost, memory and time in bounds."""

import gzip
import io
import os
import random
import tarfile
import threading
import tracemalloc
from pathlib import Path

import pytest

from enlist.tools.logs.analysis import analyse
from enlist.tools.logs.batch import Accounting
from enlist.tools.logs.framing import batches
from enlist.tools.logs.reading import Limits, blocks, found, read
from enlist.tools.logs.reading import openers as opened

LINE = "2026-03-04T05:06:07Z INFO request served\n"


def all_of(path: Path) -> tuple[list[str], Accounting]:
    account = Accounting()
    got = [t for b in batches(blocks([path], account), account) for t in b.message]
    assert account.balanced()
    return got, account


def test_an_empty_file_is_named_and_undecided(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"")
    made = analyse([tmp_path / "a.log"])
    assert made.incident.found is None and made.account.skipped[0]["reason"] == "empty"


@pytest.mark.parametrize("size", [8 << 20, pytest.param(200 << 20, marks=pytest.mark.slow)])
def test_one_enormous_line_takes_bounded_memory(size: int, tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    with open(path, "wb") as file:
        file.write(LINE.encode())
        for _ in range(size >> 20):
            file.write(b"x" * (1 << 20))
        file.write(b"\n" + LINE.encode())
    tracemalloc.start()
    _, account = all_of(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert account.lines_read == 3 and account.by_category["too_long"] + account.by_category["continuation"] >= 1
    assert f"{size} bytes" in account.notes[0]["text"] and peak < 30 << 20


def test_a_file_without_read_permission_is_named_and_others_are_read(tmp_path: Path,
                                                                    monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.log").write_text(LINE)
    (tmp_path / "b.log").write_text(LINE)
    real = open

    def guarded(path: object, *args: object, **more: object) -> object:
        if str(path).endswith("b.log"):  # chmod does not bind root
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *args, **more)  # type: ignore[call-overload]

    monkeypatch.setattr("builtins.open", guarded)
    got, account = all_of(tmp_path)
    assert got == ["request served"] and "Permission denied" in account.skipped[0]["reason"]


def test_what_is_written_while_it_is_read_is_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_text(LINE * 50_000)
    account, lines = Accounting(), 0
    for i, block in enumerate(blocks([path], account)):
        if i == 0:
            with open(path, "a") as more:
                more.write(LINE * 10)
        assert all(len(t) == len(LINE) - 1 for t in block.texts)
        lines += len(block.texts)
    assert lines == account.lines_read == 50_010


def test_zeros_around_text_are_junk_and_the_text_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"\0" * 100_000 + LINE.encode() * 3)
    assert len(all_of(tmp_path / "a.log")[0]) == 3
    (tmp_path / "b.log").write_bytes(b"\0" * 100_000)
    assert "binary" in all_of(tmp_path / "b.log")[1].skipped[0]["reason"]


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_wide_text_without_a_mark(codec: str, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes((LINE * 5).encode(codec))
    assert all_of(tmp_path / "a.log")[0] == ["request served"] * 5


def test_three_hundred_files_in_deep_folders(tmp_path: Path) -> None:
    folder = tmp_path
    for i in range(300):
        if i % 10 == 0:
            folder = folder / f"d{i}"
            folder.mkdir()
        (folder / f"s{i}.log").write_text(LINE)
    assert len(all_of(tmp_path)[0]) == 300


def test_a_pipe_with_a_name_is_read_once(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=lambda: pipe.write_text(LINE * 100))
    writer.start()
    made = analyse([pipe])
    writer.join()
    assert made.account.lines_read == 100


def test_logs_without_any_time_are_undecided_and_say_why(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("started\nfailed to bind port 80\nstopped\n" * 20)
    made = analyse([tmp_path])
    assert made.incident.found is None and any("time" in text for text in made.incident.unknown)
    assert made.account.lines_read == 60


def packed(path: Path, members: int) -> None:
    with tarfile.open(path, "w:gz") as archive:
        for i in random.Random(3).sample(range(members), members):
            data = f"2026-03-04T05:06:07Z INFO {i}\n".encode()
            info = tarfile.TarInfo(f"s{i:04d}.log")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def test_a_packed_archive_is_unpacked_once_however_many_members_it_has(tmp_path: Path,
                                                                      monkeypatch: pytest.MonkeyPatch) -> None:
    opening: list[str] = []
    real = opened.unpacked
    monkeypatch.setattr("enlist.tools.logs.reading.sources.unpacked",
                        lambda raw, how: (opening.append(how), real(raw, how))[1])
    for members in (3, 200):
        opening.clear()
        packed(tmp_path / "a.tgz", members)
        account = Accounting()
        every = found([tmp_path / "a.tgz"], account, Limits())
        assert sum(len(b.texts) for _ in range(2) for b in read(every, account, Limits())) == 2 * members
        assert opening == ["gzip", "gzip"]  # to see that it is an archive, and all of it


def test_a_cut_archive_gives_the_lines_before_the_cut(tmp_path: Path) -> None:
    noise = os.urandom(300_000).hex()
    data = "\n".join(noise[i:i + 60] for i in range(0, len(noise), 60)).encode()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as archive:
        info = tarfile.TarInfo("a.log")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    (tmp_path / "a.tgz").write_bytes(out.getvalue()[:len(out.getvalue()) // 2])
    got, account = all_of(tmp_path / "a.tgz")
    assert len(got) > 3000 and "damaged" in account.notes[0]["text"]


def test_a_packed_syslog_without_a_year_takes_the_time_that_its_packer_noted(tmp_path: Path) -> None:
    # super-speedy-syslog-searcher 189: the copy's own time of change is of no use
    path = tmp_path / "syslog.gz"
    with open(path, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=1_609_500_000) as file:  # 2021-01-01
        file.write(b"Dec 31 23:00:00 host cron[1]: ran\n")
    account = Accounting()
    [batch] = batches(blocks([path], account), account)
    assert batch.time == [1_609_455_600 * 10**9] and batch.how == ["year-inferred"]
