"""The second route finds what the first cites, in every packing, and refuses what is not there."""

import bz2
import gzip
import lzma
from pathlib import Path

import pytest
import zstandard

from enlist.tools.logs.batch import Accounting
from enlist.tools.logs.reading import blocks
from enlist.tools.logs.recheck import Reader, verdict

TEXT = "".join(f"2026-03-04T05:06:{i % 60:02d}Z INFO grüße {i} took {i} ms\n" for i in range(300))
PACKED = {"plain": lambda b: b, "gzip": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress,
          "zstd": zstandard.compress}


@pytest.mark.parametrize("packing", PACKED)
@pytest.mark.parametrize("codec", ["utf-8", "utf-16-le", "latin-1"])
def test_every_line_that_was_read_is_found_again_by_the_other_route(packing: str, codec: str, tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_bytes(PACKED[packing](TEXT.encode(codec)))
    reader = Reader({"app.log": path})
    for block in blocks([path], Accounting()):
        for offset, text in zip(block.offsets, block.texts, strict=True):
            assert reader.line("app.log", offset) == text


@pytest.mark.parametrize(("byte", "pieces"), [(0, ("took 0 ms", "grüße")), (0, ("took 1 ms",)), (7, ()), (10**9, ()),
                                              (0, ("grüße grüße",))])
def test_a_claim_that_its_line_does_not_hold_is_refuted(byte: int, pieces: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_text(TEXT)
    assert verdict(Reader({"app.log": path}), "app.log", byte, pieces)[0] is False


def test_colours_and_escapes_do_not_hide_what_a_line_says(tmp_path: Path) -> None:
    path = tmp_path / "app.log"
    path.write_text('\x1b[31mERROR\x1b[0m disk \x1b[1mfull\n{"msg":"open \\"a\\" failed"}\n')
    reader = Reader({"app.log": path})
    assert verdict(reader, "app.log", 0, ("ERROR disk full",))[0] is True
    assert verdict(reader, "app.log", path.read_bytes().index(b"{"), ('open "a" failed',))[0] is True


def test_what_cannot_be_unpacked_is_not_checked(tmp_path: Path) -> None:
    path = tmp_path / "app.log.gz"
    path.write_bytes(gzip.compress(TEXT.encode())[:200])
    assert verdict(Reader({"app.log.gz": path}), "app.log.gz", 0, ())[0] is None
