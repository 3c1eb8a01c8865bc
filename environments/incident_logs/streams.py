"""Streams as tasks carry them: every file gzipped, in base64, so that a task is JSON and a solver needs no truth.

A stream is written once into a scratch folder, read back as text, and kept for a little while: the task and its score
need the same one.
"""

import base64
import gzip
import tempfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from enlist.environments.incident_logs.catalog import Plot
from enlist.environments.incident_logs.reference import Reference
from enlist.environments.incident_logs.write import write
from enlist.tools.runtime.errors import EnlistError

MOST_LINES = 200_000
"""Lines of background that a task may carry; longer streams are made with `write` into a folder."""


@dataclass(frozen=True)
class Stream:
    """A written stream: its truth, and the text of each file by name."""

    reference: Reference
    files: dict[str, str]


@lru_cache(maxsize=12)
def stream(plot: Plot) -> Stream:
    """The stream of a plot, in memory.

    Raises:
        EnlistError: `resource_limit` for a plot that is longer than `MOST_LINES`.
    """
    if plot.lines > MOST_LINES:
        raise EnlistError("resource_limit", "a task cannot carry so long a stream", given=f"{plot.lines} lines",
                          allowed=f"{MOST_LINES}", fix="write it into a folder (incident_logs.write)")
    start, span = plot.window()
    with tempfile.TemporaryDirectory(prefix="enlist-incident-") as folder:
        reference = write(plot.incident(), Path(folder), start=start, span=span, lines=plot.lines, control=plot.control)
        files = {name: (Path(folder) / name).read_text(encoding="utf-8") for name in sorted(reference.lines)}
    return Stream(reference, files)


def packed(files: dict[str, str]) -> dict[str, str]:
    """Files as a task's payload holds them."""
    return {name: base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode() for name, text in files.items()}


def unpacked(payload: dict[str, Any]) -> dict[str, bytes]:
    """The bytes of each file of a task's payload, by name: what a solver writes into a folder and reads."""
    return {name: gzip.decompress(base64.b64decode(data)) for name, data in payload["files"].items()}
