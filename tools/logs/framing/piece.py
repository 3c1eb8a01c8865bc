"""What a line says beside its message."""

from collections.abc import Mapping
from dataclasses import dataclass

from enlist.tools.logs.batch import TimeKind


@dataclass(slots=True)
class Piece:
    """One physical line, taken apart.

    Attributes:
        inner: the message still has an envelope of its own (a container's line), to be taken off.
        cut: the writer cut the line; the next piece of its stream goes on.
    """

    message: str
    time: int | None = None
    how: TimeKind = "none"
    level: str = ""
    service: str = ""
    stream: str = ""
    fields: Mapping[str, str] | None = None
    inner: bool = False
    cut: bool = False
