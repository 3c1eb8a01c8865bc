import json
import os
from pathlib import Path

import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.sandbox import collect, read_json


def test_only_plain_files_are_collected_by_relative_name(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "deep").write_text("1")
    (tmp_path / ".tmp").mkdir()
    (tmp_path / ".tmp" / "scratch").write_text("1")
    (tmp_path / "link").symlink_to("/etc/passwd")
    (tmp_path / "loop").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "twice").write_text("1")
    os.link(tmp_path / "twice", tmp_path / "again")
    (tmp_path / os.fsdecode(b"\xff")).write_text("1")
    assert collect(tmp_path) == {"a/b/deep": tmp_path / "a" / "b" / "deep"}


def test_a_sparse_file_counts_with_its_length(tmp_path: Path) -> None:
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(EnlistError) as caught:
        collect(tmp_path)
    assert caught.value.code == "resource_limit"


def test_too_many_files_are_refused(tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).touch()
    assert len(collect(tmp_path, max_files=3)) == 3
    with pytest.raises(EnlistError):
        collect(tmp_path, max_files=2)


def test_a_json_result_is_read_and_anything_else_in_its_place_is_invalid_output(tmp_path: Path) -> None:
    result = tmp_path / "result.json"
    result.write_text(json.dumps({"a": [1]}))
    assert read_json(tmp_path) == {"a": [1]}
    other = tmp_path / "other"
    other.write_text("{}")

    def fails() -> None:
        with pytest.raises(EnlistError) as caught:
            read_json(tmp_path, max_bytes=1000)
        assert caught.value.code == "invalid_output"
        result.unlink()

    for text in ("{", "x" * 1001, "[" * 1000, "\udcff".encode("utf-8", "surrogatepass")):
        result.write_bytes(text if isinstance(text, bytes) else text.encode())
        fails()
    result.symlink_to(other)
    fails()
    os.link(other, result)
    fails()
    os.mkfifo(result)
    fails()
    result.mkdir()
    with pytest.raises(EnlistError):
        read_json(tmp_path)
    result.rmdir()
    with pytest.raises(EnlistError):
        read_json(tmp_path)
