"""Where a store keeps its artifacts: one string, in a locator or in ENLIST_ARTIFACTS, and what serves it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Protocol
from urllib.parse import unquote, urlsplit

from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory.keeping import FORMS, ArtifactKeeping


class Keeping(Protocol):
    """Artifacts by hash, put by any process while another one clears away. `place` is the string that names it."""

    @property
    def place(self) -> str | None: ...

    def put_bytes(self, data: bytes, *, media_type: str, name: str) -> ArtifactRef:
        """Keep `data`."""

    def put_file(self, source: Path, *, media_type: str, name: str) -> ArtifactRef:
        """Keep a copy of a file; `not_found` where it is not a readable file."""

    def open(self, ref: ArtifactRef) -> Path:
        """A verified local file; `not_found`, or `conflict` where the bytes are not those of the hash."""

    def old(self, grace_s: float) -> Iterator[tuple[str, int]]:
        """Hash and size of what nobody put in the last `grace_s` seconds."""

    def delete(self, sha256: str, grace_s: float) -> int:
        """Delete one that is old; its bytes, 0 where it was put again or is gone."""

    def sweep(self, grace_s: float) -> None:
        """Clear what writers and collectors that died left behind."""


def keeping_at(place: str | None) -> Keeping:
    """The artifacts at `place` (see `FORMS`), which need not exist yet; None: a store that has none."""
    if place is None:
        return ArtifactKeeping(None)
    parts = urlsplit(place)
    if parts.scheme in ("", "file") and parts.netloc in ("", "localhost"):
        folder = Path(place if not parts.scheme else unquote(parts.path))
        if folder.is_absolute():
            return ArtifactKeeping(folder)
    elif parts.scheme:
        from enlist.tools.runtime.memory.object_keeping import SCHEMES, ObjectKeeping

        if parts.scheme in SCHEMES:
            return ObjectKeeping(place)
    raise EnlistError("bad_input", "artifacts cannot be kept at such a place", given=repr(place), allowed=FORMS,
                      fix="correct ENLIST_ARTIFACTS, or artifacts= in the store's locator")
