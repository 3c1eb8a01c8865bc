"""Reading: every packing and encoding gives the same lines, each with the byte at which it stands, none lost."""

import bz2
import gzip
import io
import lzma
import os
import tarfile
import zipfile
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from enlist.tools.logs.batch import Accounting
from enlist.tools.logs.reading import Limits, blocks
from enlist.tools.logs.reading.text import encoding_of
from enlist.tools.runtime.errors import EnlistError

PLAIN = "".join(f"2026-01-02T03:04:{i % 60:02d}Z INFO request {i} took {i * 7} ms\n" for i in range(500)).encode()


def lines(path: Path, limits: Limits | None = None) -> tuple[list[tuple[int, int, str]], Accounting]:
    account = Accounting()
    got = [(n, o, t) for b in blocks([path], account, limits)
           for n, o, t in zip(b.numbers, b.offsets, b.texts, strict=True)]
    assert account.balanced()
    return got, account


def tar_of(members: dict[str, bytes], mode: str = "w") -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return out.getvalue()


def zip_of(members: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


PACKED = {"plain": PLAIN, "gzip": gzip.compress(PLAIN), "bz2": bz2.compress(PLAIN), "xz": lzma.compress(PLAIN),
          "zstd": zstandard.compress(PLAIN),
          "two frames": zstandard.compress(PLAIN[:999]) + zstandard.compress(PLAIN[999:]),
          "two members": gzip.compress(PLAIN[:999]) + gzip.compress(PLAIN[999:]), "tar": tar_of({"a.log": PLAIN}),
          "tar.gz": tar_of({"a.log": PLAIN}, "w:gz"), "tar of gz": tar_of({"a.log.gz": gzip.compress(PLAIN)}),
          "zip": zip_of({"a.log": PLAIN}), "zip of zstd": zip_of({"a.log": zstandard.compress(PLAIN)})}


@pytest.mark.parametrize("name", PACKED)
def test_every_packing_gives_the_lines_and_their_bytes_in_the_unpacked_stream(name: str, tmp_path: Path) -> None:
    file = tmp_path / "whatever"  # packing is seen from bytes, not from names
    file.write_bytes(PACKED[name])
    got, account = lines(file)
    assert len(got) == account.lines_read == 500
    assert all(PLAIN[o:].startswith(t.encode() + b"\n") for _, o, t in got)
    assert [n for n, _, _ in got] == list(range(1, 501))


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "latin-1"])
def test_every_encoding_gives_the_text(codec: str, tmp_path: Path) -> None:
    text = ["Störung bei Müller in Zürich", "café closed: naïve façade", *(f"plain line number {i}" for i in range(40))]
    file = tmp_path / "a.log"
    file.write_bytes("\n".join(text).encode(codec))
    got, _ = lines(file)
    assert [t for _, _, t in got] == text
    raw = file.read_bytes()
    wide = codec if codec.startswith("utf-16-") else "utf-16-le"
    for _, offset, line in got:
        assert raw[offset:].startswith(line.encode(wide if "16" in codec else codec.removesuffix("-sig")))


def test_line_ends_and_colours_are_no_part_of_a_line(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"\x1b[31mERROR\x1b[0m down\r\n\r\n\x1b]0;title\x07INFO up\r\nlast")
    got, account = lines(tmp_path / "a.log")
    assert [t for _, _, t in got] == ["ERROR down", "INFO up", "last"]
    assert account.by_category == {"record": 3, "blank": 1}


def test_broken_bytes_are_shown_as_such_and_counted(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes("größer\n".encode() * 50 + b"broken \xff\xfe here\n")
    got, account = lines(tmp_path / "a.log")
    assert got[-1][2] == "broken \ufffd\ufffd here" and got[0][2] == "größer"
    assert account.replaced == 2


def test_zeros_before_a_line_are_left_out_and_junk_lines_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"the first line of many\n" + bytes(5000)
                                     + b"the second line of many\n" + bytes(range(11, 256)) * 3
                                     + b"\x00\nthird\n")
    got, account = lines(tmp_path / "a.log")
    texts = [t for _, _, t in got]
    assert texts[0] == "the first line of many" and "the second line of many" in texts and texts[-1] == "third"
    assert account.by_category["binary"] >= 1


def test_a_long_line_is_cut_and_the_rest_counted_and_numbers_go_on(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"one\n" + b"x" * 3_000_000 + b"\nthree\n" + b"y" * 200 + b"\nfive")
    got, account = lines(tmp_path / "a.log", Limits(line=100))
    assert [(n, o, len(t)) for n, o, t in got] == [(1, 0, 3), (2, 4, 100), (3, 3_000_005, 5), (4, 3_000_011, 100),
                                                  (5, 3_000_212, 4)]
    assert account.by_category["too_long"] == 2 and "3000000 bytes" in account.notes[0]["text"]


@pytest.mark.parametrize("name", ["gzip", pytest.param("xz", marks=pytest.mark.slow), "bz2", "zstd", "tar.gz"])
def test_a_packed_file_cut_in_the_middle_gives_its_lines_and_a_note(name: str, tmp_path: Path) -> None:
    noise = os.urandom(1_000_000).hex().encode()
    data = b"\n".join(noise[i:i + 80] for i in range(0, len(noise), 80))
    packed = {"gzip": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress, "zstd": zstandard.compress,
              "tar.gz": lambda d: tar_of({"a.log": d}, "w:gz")}[name](data)
    (tmp_path / "a").write_bytes(packed[:len(packed) * 2 // 3])
    got, account = lines(tmp_path / "a")
    assert account.notes and "damaged" in account.notes[0]["text"]
    assert got if name != "tar.gz" else True


def test_a_bomb_is_refused_while_other_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "bomb.gz").write_bytes(gzip.compress(b"boom\n" * 10_000_000, 9))
    (tmp_path / "z.log").write_bytes(PLAIN)
    account = Accounting()
    read = blocks([tmp_path], account, Limits(unpacked=1 << 20))
    got = [t for b in read if "z.log" in b.source.name for t in b.texts]
    assert len(got) == 500 and any("grows past" in n["text"] for n in account.notes)


def test_members_with_paths_out_of_the_archive_are_read_in_place(tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(tar_of({"/etc/escape.log": PLAIN, "../up.log": PLAIN}))
    got, _ = lines(tmp_path / "a.tar")
    assert len(got) == 1000 and not (tmp_path.parent / "up.log").exists()


def test_links_in_archives_are_skipped_and_named(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        link = tarfile.TarInfo("link.log")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    got, account = lines(tmp_path / "a.tar")
    assert not got and "link" in account.skipped[0]["reason"]


def test_rotated_parts_are_read_oldest_first_as_one_service(tmp_path: Path) -> None:
    order = ["app.log.10.gz", "app.log.2.gz", "app.log.1", "app.log", "db-20260101.log", "db-20260102.log", "db.log"]
    for name in order:
        data = (name + "\n").encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    account = Accounting()
    got = [(b.source.service, t) for b in blocks([tmp_path], account) for t in b.texts]
    assert [t for _, t in got] == order
    assert {s for s, _ in got} == {"app", "db"}


def test_what_is_no_log_is_skipped_by_name_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / "core").write_bytes(b"\x7fELF" + os.urandom(5000))
    (tmp_path / "empty.log").write_bytes(b"")
    (tmp_path / "a.log").write_bytes(PLAIN)
    got, account = lines(tmp_path)
    assert len(got) == 500
    reasons = {Path(s["file"]).name: s["reason"] for s in account.skipped}
    assert reasons == {"core": "binary: no text in it", "empty.log": "empty"}


def test_a_path_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(EnlistError, match="no such file"):
        list(blocks([tmp_path / "none.log"], Accounting()))


@given(st.lists(st.binary(max_size=30).filter(lambda b: not {10, 0} & set(b)), max_size=20), st.booleans())
def test_lines_read_are_lines_there_for_any_bytes(raw: list[bytes], ended: bool) -> None:
    from enlist.tools.logs.batch import Source
    from enlist.tools.logs.reading.lines import blocks as of_stream

    data = b"\n".join(raw) + (b"\n" if ended and raw else b"")
    account = Accounting()
    name, mark = encoding_of(data, whole=True)
    source = Source(0, "x", encoding="utf-8" if name.startswith("utf-16") else name)
    pieces = [data[i:i + 7] for i in range(0, len(data), 7)]
    mark = 0 if name.startswith("utf-16") else mark
    got = [(n, o) for b in of_stream(source, mark, pieces, Limits(), account)
           for n, o in zip(b.numbers, b.offsets, strict=True)]
    body = data[mark:]
    want = body.split(b"\n")
    want = want[:-1] if want[-1] == b"" else want
    assert account.lines_read == len(want) and account.balanced()
    at = dict(got)
    position = mark
    for number, line in enumerate(want, 1):
        assert at.get(number, position) == position
        position += len(line) + 1
