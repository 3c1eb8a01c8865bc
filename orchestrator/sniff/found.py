"""What sniffing ends in."""

from dataclasses import dataclass

HEAD = 1 << 16
"""Bytes of a file that are looked at."""


@dataclass(frozen=True)
class Sniffed:
    """Artifact kinds, best first; an IANA media type or `application/x-...`; and what is odd about the file."""

    kinds: tuple[str, ...]
    media_type: str
    note: str | None = None
