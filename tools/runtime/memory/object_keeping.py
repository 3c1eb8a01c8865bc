"""The artifacts of a store in an object store (S3 and what speaks like it, Google Cloud Storage, Azure).

An artifact is the object `ab/abcd...` named by its hash. An upload appears whole or not at all, which the store
promises, and what is read is hashed before it is handed out. An object's age cannot be set, so each put first writes an
empty marker `put/abcd...`; a collection copies an old object aside, deletes it, looks at the marker again, and puts the
object back if somebody put it in between. Objects are fetched into a local cache. Credentials come from the
environment or the role of the machine, on each node; they are no part of a locator.
"""

import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlsplit

from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.ids import bytes_hash, file_hash
from enlist.tools.runtime.memory.artifact_cache import artifact_cache
from enlist.tools.runtime.memory.keeping import ArtifactKeeping

if TYPE_CHECKING:
    from obstore.store import ObjectStore

SCHEMES = ("s3", "gs", "az")
OPTIONS = ("endpoint", "region")
BLOCK_BYTES = 16 << 20  # of one request, so that each has a deadline whatever the size of the artifact
REQUEST_S, CONNECT_S, RETRY_S = 60, 5, 30
"""Seconds of one request, of its connection, and of all repeats of a request that failed."""


class ObjectKeeping:
    """Artifacts below `place`, such as `s3://bucket/prefix?endpoint=http://host:9000&region=eu-1`.

    Args:
        place: bucket and prefix; `endpoint` and `region` are for servers that are not the provider's own.
        cache: a local folder for what was fetched; None: one of this user's in the temporary folder.

    Raises `bad_input` (another address, no right to the bucket), `not_installed` (the extra `objects`), `not_found`,
    `conflict` (an object is not what its name says), `worker_died` (the object store does not answer).
    """

    def __init__(self, place: str, *, cache: Path | None = None) -> None:
        self.place = place
        parts = urlsplit(place)
        self._options = dict(parse_qsl(parts.query))
        if parts.scheme not in SCHEMES or not parts.netloc or not self._options.keys() <= set(OPTIONS):
            raise EnlistError("bad_input", "this is no address of an object store", given=place,
                              allowed="s3://bucket/prefix[?endpoint=http://host:port][&region=name], gs://..., az://...",
                              fix="correct ENLIST_ARTIFACTS")
        self._url = parts._replace(query="").geturl()
        self._cache_root = cache
        self._made: tuple[ObjectStore, ArtifactKeeping] | None = None
        self._making = threading.Lock()

    def put_bytes(self, data: bytes, *, media_type: str, name: str) -> ArtifactRef:
        """Keep `data`."""
        return self._upload(self._cache.put_bytes(data, media_type=media_type, name=name))

    def put_file(self, source: Path, *, media_type: str, name: str) -> ArtifactRef:
        """Keep a copy of a file; `not_found` where it is not a readable file."""
        return self._upload(self._cache.put_file(source, media_type=media_type, name=name))

    def _upload(self, ref: ArtifactRef) -> ArtifactRef:
        """Upload what lies in the cache, unless it is there."""
        import obstore

        with self._translated(ref):
            obstore.put(self._store, _marker(ref.sha256), b"")
            if self._size(_object(ref.sha256)) != ref.bytes:
                obstore.put(self._store, _object(ref.sha256), self._cache.folder().path(ref.sha256),
                            chunk_size=BLOCK_BYTES, max_concurrency=4)
        return ref

    def open(self, ref: ArtifactRef) -> Path:
        """A verified local copy of an artifact; one that was altered in the cache is fetched anew."""
        folder = self._cache.folder()
        path = folder.path(ref.sha256)
        if path.is_file() and file_hash(path) != ref.sha256:
            path.unlink(missing_ok=True)
        if not self._cache.touch(ref.sha256):
            self._fetch(ref, folder.root)
        return folder.open(ref)

    def _fetch(self, ref: ArtifactRef, root: Path) -> None:
        import obstore

        with self._translated(ref), tempfile.NamedTemporaryFile(dir=root, prefix=".put-") as copy:
            size = int(obstore.head(self._store, _object(ref.sha256))["size"])
            for start in range(0, size, BLOCK_BYTES):
                copy.write(obstore.get_range(self._store, _object(ref.sha256), start=start,
                                             end=min(start + BLOCK_BYTES, size)))
            copy.flush()
            if file_hash(Path(copy.name)) != ref.sha256:
                raise EnlistError("conflict", f"artifact {ref.name!r} was altered in the object store",
                                  given=f"{self._url}: {_object(ref.sha256)}",
                                  fix="delete the damaged object and attach the file again")
            self._cache.put_file(Path(copy.name), media_type=ref.media_type, name=ref.name)

    def old(self, grace_s: float) -> Iterator[tuple[str, int]]:
        """Hash and size of the objects that nobody put in the last `grace_s` seconds (by the two clocks)."""
        import obstore

        with self._translated():
            found = [item for batch in obstore.list(self._store) for item in batch]
        young = {item["path"].rpartition("/")[2] for item in found
                 if not item["path"].startswith("aside/") and _young(item, grace_s)}
        for item in sorted(found, key=lambda item: item["path"]):
            sha256 = item["path"].rpartition("/")[2]
            if item["path"] == _object(sha256) and sha256 not in young:
                yield sha256, int(item["size"])

    def delete(self, sha256: str, grace_s: float) -> int:
        """Delete one old object; returns its bytes, 0 where it was put again or is gone."""
        import obstore

        with self._translated():
            size = self._size(_object(sha256))
            if size is None or self._put_lately(sha256, grace_s):
                return 0
            obstore.copy(self._store, _object(sha256), f"aside/{sha256}")
            obstore.delete(self._store, _object(sha256))
            return size if self._settle(sha256, grace_s) else 0

    def _settle(self, sha256: str, grace_s: float) -> bool:
        """End a deletion: for good, or taken back where the artifact was put meanwhile. Whether it is deleted."""
        import obstore

        again = self._put_lately(sha256, grace_s)
        if again:
            obstore.copy(self._store, f"aside/{sha256}", _object(sha256))
        else:
            obstore.delete(self._store, _marker(sha256))
        obstore.delete(self._store, f"aside/{sha256}")
        return not again

    def sweep(self, grace_s: float) -> None:
        """End the deletions of collectors that died on the way."""
        import obstore

        with self._translated():
            for item in [item for batch in obstore.list(self._store, prefix="aside") for item in batch]:
                if not _young(item, grace_s):
                    self._settle(item["path"].rpartition("/")[2], grace_s)

    def _put_lately(self, sha256: str, grace_s: float) -> bool:
        import obstore
        from obstore.exceptions import NotFoundError

        try:
            return _young(obstore.head(self._store, _marker(sha256)), grace_s)
        except (NotFoundError, FileNotFoundError):
            return False

    def _size(self, path: str) -> int | None:
        import obstore
        from obstore.exceptions import NotFoundError

        try:
            return int(obstore.head(self._store, path)["size"])
        except (NotFoundError, FileNotFoundError):
            return None

    @property
    def _store(self) -> "ObjectStore":
        return self._open()[0]

    @property
    def _cache(self) -> ArtifactKeeping:
        return self._open()[1]

    def _open(self) -> "tuple[ObjectStore, ArtifactKeeping]":
        """The client and the cache, made at the first use: a store may be opened only to read its journal."""
        with self._making:
            if self._made is None:
                cache = (artifact_cache(f"objects-{bytes_hash(self.place.encode())[:16]}")
                         if self._cache_root is None else ArtifactKeeping(self._cache_root))
                self._made = _client(self._url, self._options), cache
            return self._made

    @contextmanager
    def _translated(self, ref: ArtifactRef | None = None) -> Iterator[None]:
        """The client's errors as faults of the vocabulary."""
        self._open()  # says what to install, before the next line needs it
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, FileNotFoundError, PermissionError) as error:
            raise self._fault(error, ref) from error

    def _fault(self, error: Exception, ref: ArtifactRef | None) -> EnlistError:
        from obstore.exceptions import NotFoundError, PermissionDeniedError, UnauthenticatedError

        given, told = self._url if ref is None else f"{self._url}: {_object(ref.sha256)}", str(error)
        if "NoSuchBucket" in told:
            return EnlistError("not_found", "the object store has no such bucket", given=self._url,
                               details=told[-2000:], fix="make the bucket, or correct ENLIST_ARTIFACTS")
        if isinstance(error, NotFoundError | FileNotFoundError):
            return EnlistError("not_found", f"artifact {ref.name if ref else ''!r} is not in this store", given=given,
                               details=told[-2000:],
                               fix="attach the file again, or name the place that holds it with ENLIST_ARTIFACTS")
        refused = "status code: 403" in told or "status code: 401" in told  # a listing's is of no class of its own
        if refused or isinstance(error, PermissionDeniedError | UnauthenticatedError | PermissionError):
            return EnlistError("bad_input", "the object store refused this machine", given=given, details=told[-2000:],
                               fix="give this machine credentials that may read, write, list and delete there")
        return EnlistError("worker_died", "the object store does not answer", details=told[-2000:],
                           given=told.splitlines()[0][:300],
                           fix="look at the address, the network and the credentials of this machine, then run again")


def _client(url: str, options: dict[str, str]) -> "ObjectStore":
    try:
        from obstore.store import from_url
    except ImportError as error:
        raise EnlistError("not_installed", "artifacts in an object store need obstore", given=url,
                          fix="pip install 'enlist[objects]' on every node") from error
    client: Any = {"timeout": timedelta(seconds=REQUEST_S), "connect_timeout": timedelta(seconds=CONNECT_S),
                   "allow_http": options.get("endpoint", "").startswith("http://")}
    config: Any = options
    return from_url(url, config=config, client_options=client,
                    retry_config={"max_retries": 5, "retry_timeout": timedelta(seconds=RETRY_S)})


def _object(sha256: str) -> str:
    return f"{sha256[:2]}/{sha256}"


def _marker(sha256: str) -> str:
    return f"put/{sha256}"


def _young(item: Any, grace_s: float) -> bool:
    return time.time() - float(item["last_modified"].timestamp()) < grace_s
