"""Bytes into lines: whatever logs are packed in, in constant memory, with every line accounted for."""

import os
from collections.abc import Iterator, Sequence

from enlist.tools.logs.batch import Accounting, Block
from enlist.tools.logs.reading.openers import Limits
from enlist.tools.logs.reading.sources import Found, found, read

__all__ = ["Found", "Limits", "blocks", "found", "read"]


def blocks(paths: Sequence[str | os.PathLike[str]], account: Accounting,
           limits: Limits | None = None) -> Iterator[Block]:
    """Blocks of the lines under some paths.

    Raises:
        EnlistError: `not_found` or `bad_input` where a path is no file, folder, archive or pipe.
    """
    limits = limits or Limits()
    return read(found(paths, account, limits), account, limits)
