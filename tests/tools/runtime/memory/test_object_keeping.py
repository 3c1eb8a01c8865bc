"""An object store that fails, refuses or loses half of an upload never shows half an artifact, and says what to do."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.ids import bytes_hash
from enlist.tools.runtime.memory.object_keeping import BLOCK_BYTES, ObjectKeeping

LARGE = bytes(2 * BLOCK_BYTES)  # uploaded in parts


@pytest.fixture
def keeping(s3: Any, tmp_path: Path) -> ObjectKeeping:
    return ObjectKeeping(s3.place(tmp_path.name), cache=tmp_path / "cache")


def put(keeping: ObjectKeeping, data: bytes) -> ArtifactRef:
    return keeping.put_bytes(data, media_type="text/plain", name="x")


def code_of(act: Callable[[], object]) -> str:
    with pytest.raises(EnlistError) as caught:
        act()
    assert caught.value.fix
    return caught.value.code


def test_an_interrupted_upload_leaves_nothing_to_read(keeping: ObjectKeeping, s3: Any, tmp_path: Path) -> None:
    s3.fault = lambda request: 400 if request.startswith("POST") and "uploadId=" in request else None
    assert code_of(lambda: put(keeping, LARGE)) == "worker_died"
    assert list(keeping.old(0)) == [] and all(key.startswith("put/") for key in s3.keys(tmp_path.name))
    elsewhere = ObjectKeeping(keeping.place, cache=tmp_path / "elsewhere")
    ref = ArtifactRef(sha256=bytes_hash(LARGE), name="x", bytes=len(LARGE))
    assert code_of(lambda: elsewhere.open(ref)) == "not_found"
    s3.fault = lambda request: None
    ref = put(keeping, LARGE)
    assert elsewhere.open(ref).read_bytes() == LARGE


def test_a_server_that_is_busy_for_a_moment_is_asked_again(keeping: ObjectKeeping, s3: Any) -> None:
    asked: list[str] = []

    def busy_twice(request: str) -> int | None:
        asked.append(request)
        return 503 if len(asked) <= 2 else None

    s3.fault = busy_twice
    put(keeping, b"content")
    assert len(asked) > 3


def test_a_machine_without_the_right_is_told_so(keeping: ObjectKeeping, s3: Any) -> None:
    s3.fault = lambda request: 403
    assert code_of(lambda: put(keeping, b"content")) == "bad_input"
    assert code_of(lambda: list(keeping.old(0))) == "bad_input"


def test_a_bucket_that_is_not_there_is_named(s3: Any, tmp_path: Path) -> None:
    keeping = ObjectKeeping(s3.place("x", bucket="absent"), cache=tmp_path)
    with pytest.raises(EnlistError, match="absent") as caught:
        put(keeping, b"content")
    assert caught.value.code == "not_found"


def test_a_server_that_is_gone_is_a_transient_fault(tmp_path: Path) -> None:
    keeping = ObjectKeeping("s3://artifacts/x?endpoint=http://127.0.0.1:1&region=r", cache=tmp_path)
    with pytest.raises(EnlistError) as caught:
        put(keeping, b"content")
    assert (caught.value.code, caught.value.kind) == ("worker_died", "transient")


def test_a_cut_off_object_is_written_anew_by_the_next_put(keeping: ObjectKeeping, s3: Any, tmp_path: Path) -> None:
    ref = put(keeping, b"content")
    s3.client.put_object(Bucket="artifacts", Key=f"{tmp_path.name}/{ref.sha256[:2]}/{ref.sha256}", Body=b"cont")
    put(keeping, b"content")
    assert ObjectKeeping(keeping.place, cache=tmp_path / "elsewhere").open(ref).read_bytes() == b"content"


def test_a_copy_altered_in_the_cache_is_fetched_anew(keeping: ObjectKeeping) -> None:
    path = keeping.open(put(keeping, b"content"))
    path.write_bytes(b"altered")
    assert keeping.open(put(keeping, b"content")).read_bytes() == b"content"


@pytest.mark.parametrize("put_again", [False, True])
def test_the_deletion_of_a_collector_that_died_is_ended_by_the_next(
        keeping: ObjectKeeping, s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, put_again: bool) -> None:
    ref = put(keeping, b"content")

    def die(*arguments: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(ObjectKeeping, "_settle", die)
        keeping.delete(ref.sha256, 0)
    assert [key for key in s3.keys(tmp_path.name) if key.startswith("aside/")]
    if put_again:
        put(keeping, b"content")
        monkeypatch.setattr(ObjectKeeping, "_put_lately", lambda *arguments: True)
    keeping.sweep(0)
    left = [key for key in s3.keys(tmp_path.name) if not key.startswith("put/")]
    assert left == ([f"{ref.sha256[:2]}/{ref.sha256}"] if put_again else [])
