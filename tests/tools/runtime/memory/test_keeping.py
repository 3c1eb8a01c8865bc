"""Artifacts are kept by content in a folder and in an object store alike; every test runs on both.

The object store is a server that speaks S3 (moto), reached over TCP as a real one is.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import obstore
import pytest

from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.ids import bytes_hash
from enlist.tools.runtime.memory.artifact_place import Keeping, keeping_at
from enlist.tools.runtime.memory.object_keeping import BLOCK_BYTES, ObjectKeeping

GRACE_S, OLD_S = 500.0, 1000.0


@dataclass
class Kept:
    """One place of artifacts as two nodes see it, and its bytes seen from below."""

    here: Keeping
    elsewhere: Keeping
    raw: Callable[[], dict[str, bytes]]
    spoil: Callable[[str, bytes], None]
    age: Callable[[], None]

    def put(self, data: bytes) -> ArtifactRef:
        return self.here.put_bytes(data, media_type="text/plain", name="x")


@pytest.fixture(params=["folder", "s3"])
def kept(request: pytest.FixtureRequest, tmp_path: Path) -> Kept:
    if request.param == "s3":
        s3, prefix = request.getfixturevalue("s3"), tmp_path.name
        place = s3.place(prefix)
        here, elsewhere = (ObjectKeeping(place, cache=tmp_path / node) for node in ("here", "elsewhere"))

        def read(key: str) -> bytes:
            return s3.client.get_object(Bucket="artifacts", Key=f"{prefix}/{key}")["Body"].read()

        return Kept(here, elsewhere, lambda: {k: read(k) for k in s3.keys(prefix) if not k.startswith("put/")},
                    lambda sha256, data: s3.client.put_object(
                        Bucket="artifacts", Key=f"{prefix}/{sha256[:2]}/{sha256}", Body=data),
                    lambda: s3.age(prefix, OLD_S))
    root = tmp_path / "a folder"

    def files() -> list[Path]:
        return [file for file in root.rglob("*") if file.is_file()]

    def age() -> None:
        for file in files():
            os.utime(file, (time.time() - OLD_S,) * 2)

    def spoil(sha256: str, data: bytes) -> None:
        (root / sha256[:2] / sha256).write_bytes(data)

    return Kept(keeping_at(str(root)), keeping_at(root.as_uri()),
                lambda: {str(file.relative_to(root)): file.read_bytes() for file in files()}, spoil, age)


def fault_of(act: Callable[[], object]) -> EnlistError:
    with pytest.raises(EnlistError) as caught:
        act()
    return caught.value


def test_what_one_node_puts_another_opens(kept: Kept, tmp_path: Path) -> None:
    for data in (b"", b"content", os.urandom(BLOCK_BYTES * 2 + 17)):
        (tmp_path / "source").write_bytes(data)
        ref = kept.here.put_file(tmp_path / "source", media_type="text/plain", name="x")
        assert (ref.sha256, ref.bytes) == (bytes_hash(data), len(data))
        assert kept.elsewhere.open(ref).read_bytes() == data


def test_equal_content_is_kept_once_under_its_hash(kept: Kept) -> None:
    refs = [kept.put(b"content"), kept.put(b"content"),
            kept.elsewhere.put_bytes(b"content", media_type="a/b", name="y")]
    assert {ref.sha256 for ref in refs} == {bytes_hash(b"content")}
    sha256 = refs[0].sha256
    assert kept.raw() == {f"{sha256[:2]}/{sha256}": b"content"}


def test_altered_bytes_are_never_handed_out(kept: Kept) -> None:
    ref = kept.put(b"content")
    kept.spoil(ref.sha256, b"c0ntent")
    fault = fault_of(lambda: kept.elsewhere.open(ref))
    assert fault.code == "conflict" and "altered" in fault.message and fault.fix


def test_what_is_absent_is_not_found(kept: Kept) -> None:
    ref = ArtifactRef(sha256="0" * 64, name="x", bytes=1)
    assert fault_of(lambda: kept.here.open(ref)).code == "not_found"
    kept.put(b"another")
    assert fault_of(lambda: kept.here.open(ref)).code == "not_found"
    assert fault_of(lambda: kept.here.put_file(Path("/nonexistent"), media_type="a/b", name="x")).code == "not_found"


def test_only_what_nobody_put_lately_is_deleted(kept: Kept) -> None:
    first, second = kept.put(b"first"), kept.put(b"second")
    assert list(kept.here.old(GRACE_S)) == []
    kept.age()
    kept.put(b"second")
    assert list(kept.here.old(GRACE_S)) == [(first.sha256, 5)]
    assert [kept.here.delete(ref.sha256, GRACE_S) for ref in (first, second)] == [5, 0]
    assert kept.here.delete(first.sha256, GRACE_S) == 0
    kept.here.sweep(0)
    assert list(kept.raw().values()) == [b"second"] and kept.elsewhere.open(second).read_bytes() == b"second"
    kept.put(b"first")
    assert kept.elsewhere.open(first).read_bytes() == b"first"


def test_a_put_during_a_deletion_is_kept(kept: Kept, monkeypatch: pytest.MonkeyPatch) -> None:
    """The worst moment: the collector has looked, and takes the artifact away after this put has seen it there."""
    ref = kept.put(b"content")
    kept.age()
    module, name = (obstore, "copy") if isinstance(kept.here, ObjectKeeping) else (os, "replace")
    original = getattr(module, name)

    def put_first(*arguments: Any) -> Any:
        monkeypatch.setattr(module, name, original)
        kept.elsewhere.put_bytes(b"content", media_type="text/plain", name="x")
        return original(*arguments)

    monkeypatch.setattr(module, name, put_first)
    assert kept.here.delete(ref.sha256, GRACE_S) == 0
    assert list(kept.raw().values()) == [b"content"] and kept.elsewhere.open(ref).read_bytes() == b"content"


@pytest.mark.parametrize("place", ["relative/folder", "file:relative", "ftp://host/x", "s3://", "s3://b/x?secret=1",
                                   "file://host/folder", ""])
def test_a_place_that_cannot_be_is_told_the_forms(place: str) -> None:
    fault = fault_of(lambda: keeping_at(place))
    assert fault.code == "bad_input" and fault.allowed and "s3://bucket" in fault.allowed


def test_a_store_without_a_place_says_how_to_name_one() -> None:
    fault = fault_of(lambda: keeping_at(None).put_bytes(b"x", media_type="a/b", name="x"))
    assert fault.code == "bad_input" and fault.fix and "ENLIST_ARTIFACTS" in fault.fix
