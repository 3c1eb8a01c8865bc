"""The files of a stream: one per service and channel, some rotated, written as the records come.

A file knows how many lines it has, so that a record's tag becomes line numbers at once and nothing is read again.
Everything is written under a temporary name and put in place when it is whole.
"""

from array import array
from collections import defaultdict
from pathlib import Path
from random import Random
from typing import TextIO

from enlist.environments.incident_logs.model import Emission, System
from enlist.environments.incident_logs.styles import Pen

MOST_SAID = 20
ROTATED = 0.3
"""Share of services whose log was rotated once within the stream."""


class Files:
    """Writes records to the files of a folder; `put` takes records in order of time."""

    def __init__(self, system: System, folder: Path, start: float, span: float, seed: int, *,
                 shuffled: bool = False) -> None:
        self.folder, self.shuffled = folder, shuffled
        self.rng = Random(f"files {seed}")
        self.pens, self.cuts = {}, {}
        for service in system.services:
            if service.logs:
                self.pens[service.name] = Pen(service)
                cut = self.rng.random() < ROTATED
                self.cuts[service.name] = start + self.rng.uniform(0.2, 0.8) * span if cut and not shuffled else 0.0
        self.open: dict[str, TextIO] = {}
        self.lines: dict[str, int] = {}
        self.gold: dict[str, dict[str, array[int]]] = defaultdict(dict)
        self.said: dict[str, list[str]] = defaultdict(list)
        self.errors: dict[str, int] = defaultdict(int)
        self.held: dict[str, list[tuple[list[str], Emission]]] = defaultdict(list)
        self.last = start

    def put(self, one: Emission) -> None:
        """Write one record."""
        pen = self.pens[one.service]
        name = self._name(one, pen)
        if self.shuffled:
            self.held[name].append((pen.write(one), one))
        else:
            self._write(name, pen.write(one), one)
        self.last = max(self.last, one.at)

    def close(self) -> None:
        """Put every file in place; records that were held back are written in random order."""
        for name, records in sorted(self.held.items()):
            self.rng.shuffle(records)
            for texts, one in records:
                self._write(name, texts, one)
        for name, file in self.open.items():
            file.close()
            (self.folder / f"{name}.part").replace(self.folder / name)

    def discard(self) -> None:
        """Take away what was written so far."""
        for name, file in self.open.items():
            file.close()
            (self.folder / f"{name}.part").unlink(missing_ok=True)

    def _name(self, one: Emission, pen: Pen) -> str:
        channel = pen.channel(one)
        name = f"{one.service}-{channel}.log" if channel else f"{one.service}.log"
        return f"{name}.1" if one.at < self.cuts[one.service] else name

    def _write(self, name: str, texts: list[str], one: Emission) -> None:
        file = self.open.get(name)
        if file is None:
            file = self.open[name] = (self.folder / f"{name}.part").open("w", encoding="utf-8", newline="\n")
            self.lines[name] = 0
        first = self.lines[name] + 1
        self.lines[name] += len(texts)
        file.write("\n".join(texts) + "\n")
        if one.level in ("error", "fatal"):
            self.errors[one.service] += 1
        if one.tag:
            numbers = self.gold[one.tag].setdefault(name, array("Q"))
            numbers.extend(range(first, first + len(texts)))
            if len(self.said[one.tag]) < MOST_SAID and one.text not in self.said[one.tag]:
                self.said[one.tag].append(one.text)
