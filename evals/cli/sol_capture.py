"""Capturing for `enlist sol`: every source through the declared tools, in the sandbox, several at once.

Few captures run in a child each. Many share a child that imports PyTorch once and forks for each; where such a child as
a whole comes to grief, its models are captured one by one, so that one file never costs another its answer.
"""

import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import cast

from enlist.tools.runtime.artifacts import ArtifactFolder, ArtifactRef
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.runner import run_tool
from enlist.tools.solar.formats.batch import CAPTURE_ALL, ManyInput, ManyOutput, endless
from enlist.tools.solar.formats.front import Training
from enlist.tools.solar.formats.opened import Source
from enlist.tools.solar.graph import Graph
from enlist.tools.solar.tool import CAPTURE, CaptureOutput, ModelInput, read_graph

_AT_ONCE = 4
_SILENT, _RARELY = 2.0, 16.0  # seconds before it is said what takes so long; between saying, doubled up to the second

Ended = Graph | EnlistError


class Shelf:
    """Artifacts in a folder that is gone afterwards: nothing of an analysis is kept but its answer."""

    def __init__(self, root: Path) -> None:
        self._folder = ArtifactFolder(root)

    def put_bytes(self, data: bytes, *, media_type: str, name: str) -> ArtifactRef:
        return self._folder.put_bytes(data, media_type=media_type, name=name)

    def open_artifact(self, ref: ArtifactRef) -> Path:
        return self._folder.open(ref)


class Progress:
    """Says how many are done, from the third second on and ever more rarely."""

    def __init__(self, total: int, say: Callable[[str], None]) -> None:
        self._total, self._say, self._done, self._lock = total, say, 0, threading.Lock()
        self._pause = _SILENT
        self._next = time.monotonic() + self._pause

    def at(self, name: str, done: int = 0) -> None:
        """`done` more are done; `name` is the one at hand."""
        with self._lock:
            self._done += done
            if time.monotonic() >= self._next:
                self._pause = min(2 * self._pause, _RARELY)
                self._next = time.monotonic() + self._pause
                self._say(f"capturing {name} ..." if self._total == 1 else
                          f"captured {self._done} of {self._total}; at {name} ...")


def capture_all(sources: Sequence[Source], training: Training | None, structure: bool,
                say: Callable[[str], None]) -> list[Ended]:
    """The graph of each source, or why there is none, in their order."""
    stop, progress = threading.Event(), Progress(len(sources), say)
    with shelf() as kept:
        work = [(place, _model(source, kept, training, structure)) for place, source in enumerate(sources)
                if source.fault is None]
        ended: dict[int, Ended] = {place: s.fault for place, s in enumerate(sources) if s.fault is not None}
        lanes = max(1, min(len(os.sched_getaffinity(0)), _AT_ONCE, len(work)))
        with ThreadPoolExecutor(lanes) as pool:
            try:
                for part in pool.map(lambda lane: _lane(work[lane::lanes], kept, stop, progress), range(lanes)):
                    ended |= part
            except BaseException:
                stop.set()
                raise
    return [ended[place] for place in range(len(sources))]


def _lane(work: list[tuple[int, ModelInput]], shelf: Shelf, stop: threading.Event,
          progress: Progress) -> dict[int, Ended]:
    """The part of the work that one child at a time does."""
    models = [model for _, model in work]
    if len(models) > 1:
        try:
            together = _together(models, shelf, stop, progress)
            return {place: one for (place, _), one in zip(work, together, strict=True)}
        except EnlistError as error:
            if error.code in ("cancelled", "sandbox_unavailable"):
                raise
    return {place: _alone(model, shelf, stop, progress) for place, model in work}


def _together(models: list[ModelInput], shelf: Shelf, stop: threading.Event, progress: Progress) -> list[Ended]:
    seen, at_hand = 0, models[0].model.name

    def heard(share: float, name: str) -> None:
        nonlocal seen, at_hand
        now, at_hand = round(share * len(models)), name
        progress.at(name, now - seen)
        seen = now

    def stopped() -> bool:  # asked several times a second, so also the moment to say that it still goes on
        progress.at(at_hand)
        return stop.is_set()

    ran = run_tool(CAPTURE_ALL, "enlist.tools.solar.formats.batch:CAPTURE_ALL", ManyInput(models=tuple(models)), shelf,
                   limit=60.0 + CAPTURE.time_limit * len(models), cancelled=stopped, progress=heard)
    output = cast(ManyOutput, ran.output)
    if len(output.captured) != len(models):
        raise EnlistError("invalid_output", "the captures that came back are not those that were asked for")
    progress.at(models[-1].model.name, len(models) - seen)
    return [_graph(one.graph, shelf) if one.graph else one.fault.fault() if one.fault else EnlistError(
        "invalid_output", "neither a graph nor a fault came back") for one in output.captured]


def _alone(model: ModelInput, shelf: Shelf, stop: threading.Event, progress: Progress) -> Ended:
    def stopped() -> bool:
        progress.at(model.model.name)
        return stop.is_set()

    try:
        ran = run_tool(CAPTURE, "enlist.tools.solar.tool:CAPTURE", model, shelf, cancelled=stopped)
        return _graph(cast(CaptureOutput, ran.output).graph, shelf)
    except EnlistError as error:
        if error.code == "cancelled":
            raise
        return endless(model.model.name, CAPTURE.time_limit, error.details) if error.code == "timeout" else error
    finally:
        progress.at(model.model.name, 1)


def _graph(ref: ArtifactRef, shelf: Shelf) -> Ended:
    try:
        return read_graph(shelf.open_artifact(ref))
    except EnlistError as error:
        return error


def _model(source: Source, shelf: Shelf, training: Training | None, structure: bool) -> ModelInput:
    def put(name: str, content: bytes) -> ArtifactRef:
        return shelf.put_bytes(content, media_type="text/x-python", name=name)

    return ModelInput(model=put(source.name, source.content), target=source.target, inputs=source.inputs,
                      extra_files=tuple(put(name, content) for name, content in source.modules), training=training,
                      structure=structure)


@contextmanager
def shelf() -> Iterator[Shelf]:
    """Artifacts of one command, gone at its end."""
    with tempfile.TemporaryDirectory(prefix="enlist-sol-") as folder:
        yield Shelf(Path(folder))
