"""Logs that are still being written: what comes is counted as it comes, and the answer is given anew when it changes.

A file is followed by its name, as `tail -F` does: when another file takes the name, or the file becomes shorter, the
old one is read to its end and the new one from its begin. The handles of old ones are kept, so that cited lines can
still be read where they are.
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import cast

from enlist.tools.logs.analysis import Analysis, concluded
from enlist.tools.logs.batch import Source
from enlist.tools.logs.clock.reader import Clock
from enlist.tools.logs.counting import Counted, Options
from enlist.tools.logs.framing import Framer, framer_of
from enlist.tools.logs.reading import Found
from enlist.tools.logs.reading.lines import Lines, lines_of
from enlist.tools.logs.reading.names import rotation, service
from enlist.tools.logs.reading.openers import PIECE, Stream
from enlist.tools.logs.reading.text import encoding_of
from enlist.tools.runtime.errors import EnlistError

Verdict = tuple[bool | None, str, str]


def follow(paths: Sequence[str | os.PathLike[str]], options: Options, wait: Callable[[], bool]) -> Iterator[Analysis]:
    """The answer about what is there, and again whenever new lines change it.

    Args:
        wait: called when all is read that there is; false ends it.

    Raises:
        EnlistError: `bad_input` where a path is neither a plain file nor a folder of them.
    """
    followed = _Followed([os.fspath(path) for path in paths], options)
    told: Verdict | None = None
    try:
        while True:
            if followed.poll() or told is None:
                made = followed.answer()
                if verdict(made) != told:
                    told = verdict(made)
                    yield made
            if not wait():
                return
    finally:
        followed.close()


def verdict(made: Analysis) -> Verdict:
    """What an answer says: whether there is an incident, where and why it began."""
    best = made.incident.candidates[0] if made.incident.candidates else None
    return made.incident.found, best.component if best else "", best.cause if best else ""


class _Followed:
    """Everything that was counted so far of some files."""

    def __init__(self, paths: list[str], options: Options) -> None:
        for path in paths:
            if not os.path.isfile(path) and not os.path.isdir(path):
                raise EnlistError("bad_input", "cannot be followed", given=path, allowed="plain files and folders",
                                  fix="for a pipe, leave --follow away: it is read to its end")
        self._paths, self._options = paths, options
        self._counted, self._begun = Counted(), time.perf_counter()
        self._every: list[Found] = []
        self._open: dict[str, _File] = {}
        self._old: list[_File] = []

    def poll(self) -> bool:
        """Count what was written since; whether anything was."""
        before = self._counted.account.records
        for name in self._names():
            known = self._open.get(name)
            try:
                info = os.stat(name)
            except OSError:  # between two names of a rotation
                continue
            if known is not None and (known.inode != info.st_ino or info.st_size < known.at):
                known.read(self._counted, self._options)
                known.end(self._counted, self._options)
                self._old.append(self._open.pop(name))
                known = None
            if known is None:
                known = self._open[name] = _File(name, len(self._every), self._options)
                self._every.append(known.found)
            known.read(self._counted, self._options)
        return self._counted.account.records > before

    def _names(self) -> list[str]:
        out: list[str] = []
        for path in self._paths:
            if os.path.isdir(path):
                out += sorted(os.path.join(folder, n) for folder, _, names in os.walk(path) for n in names)
            else:
                out.append(path)
        return out

    def answer(self) -> Analysis:
        """The answer so far."""
        return concluded(self._counted, self._every, self._options, self._begun)

    def close(self) -> None:
        """Let go of all files."""
        for one in [*self._open.values(), *self._old]:
            os.close(one.handle)


class _File:
    """One file that is followed: how far it was read, and the lines and records that have not ended."""

    def __init__(self, name: str, number: int, options: Options) -> None:
        self.handle = os.open(name, os.O_RDONLY)
        info = os.fstat(self.handle)
        self.inode, self.at = info.st_ino, 0
        self.found = Found(name, info.st_mtime, None, Path(f"/dev/fd/{self.handle}"), self._whole, origin=name)
        self._name, self._number, self._options = name, number, options
        self._lines: Lines | None = None
        self._framer: Framer | None = None

    def read(self, counted: Counted, options: Options) -> None:
        """Count what the file holds beyond what was read; a pause ends the last record."""
        quiet = True
        while piece := os.pread(self.handle, PIECE, self.at):
            quiet = False
            if self._lines is None:
                encoding, mark = encoding_of(piece)
                source = Source(self._number, self._name, service(rotation(self._name)[0]), encoding,
                                self.found.modified)
                self._lines = lines_of(source, options.limits, counted.account)
                self._lines.offset, piece, self.at = mark, piece[mark:], mark
            self.at += len(piece)
            counted.account.bytes_read += len(piece)
            for block in self._lines.feed(piece):
                if self._framer is None:
                    self._framer = (Framer(counted.account, self._clock, options.mapping.read) if options.mapping
                                    else framer_of(block.texts)(counted.account, self._clock))
                for batch in self._framer.feed(block):
                    counted.add(batch, options)
        if quiet and self._framer is not None:
            for batch in self._framer.finish():
                counted.add(batch, options)

    def _whole(self) -> AbstractContextManager[Stream]:
        return cast(AbstractContextManager[Stream], open(self.handle, "rb", closefd=False))

    def _clock(self, source: Source) -> Clock:
        return Clock(source.modified, self._options.offset)

    def end(self, counted: Counted, options: Options) -> None:
        """Nothing more will come."""
        if self._lines is not None and self._framer is not None:
            for block in self._lines.finish():
                for batch in self._framer.feed(block):
                    counted.add(batch, options)
            for batch in self._framer.finish():
                counted.add(batch, options)
