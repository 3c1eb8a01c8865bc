"""Running one tool call: inline, or in a killable child whose result is checked before anybody sees it.

The runner knows nothing of runs or journals. A tool's process tree is killed at its deadline, on cancellation, and when
the caller dies. What comes back is JSON against the tool's declared output; artifacts come back by hash.
"""

import hashlib
import importlib.util
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel

from enlist.tools.runtime import child
from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError, boundary
from enlist.tools.runtime.sandbox import Limits, Sandbox, best, collect, python_folders, python_job, sandbox
from enlist.tools.runtime.tool import Tool, ToolModel

RESULT_LIMIT = 64 << 20  # bytes of result.json; a larger document is refused rather than parsed
WORK_PREFIX = "enlist-tool-"
STALE = 24 * 3600.0  # seconds after which a work folder is one that a killed caller left
OUTPUT_TAIL = 2000  # characters of a child's last output that an error carries

Progress = Callable[[float, str], None]


class Shelf(Protocol):
    """Where artifacts come from and go to; every `Memory` is one."""

    def put_bytes(self, data: bytes, *, media_type: str, name: str) -> ArtifactRef: ...

    def open_artifact(self, ref: ArtifactRef) -> Path: ...


@dataclass(frozen=True)
class Ran:
    """The end of a call: the output, wall seconds, and the sandbox level it ran at (None for inline)."""

    output: ToolModel
    seconds: float
    level: str | None


@dataclass(frozen=True)
class InlineContext:
    """The `ToolContext` of an inline call."""

    shelf: Shelf
    say: Progress
    stop: Callable[[], bool]

    def progress(self, share: float, text: str) -> None:
        self.say(share, text)

    def cancelled(self) -> bool:
        return self.stop()

    def put_artifact(self, data: bytes, *, media_type: str, name: str) -> ArtifactRef:
        return self.shelf.put_bytes(data, media_type=media_type, name=name)

    def open_artifact(self, ref: ArtifactRef) -> Path:
        return self.shelf.open_artifact(ref)


def run_tool(tool: Tool, declared_as: str, given: ToolModel, shelf: Shelf, *, limit: float | None = None,
             cancelled: Callable[[], bool] = lambda: False, progress: Progress = lambda share, text: None) -> Ran:
    """Run one call to its end.

    Args:
        declared_as: "module:NAME" of the declaration, by which a child finds it.
        limit: wall seconds; the smaller of this and the tool's own limit holds.

    Raises:
        EnlistError: the tool's own fault, or `timeout`, `resource_limit`, `cancelled`, `invalid_output`,
            `sandbox_unavailable`.
    """
    seconds = tool.time_limit if limit is None else min(limit, tool.time_limit)
    if seconds <= 0:
        raise EnlistError("timeout", f"no time is left for tool {tool.name}", fix="give a larger --budget-seconds")
    if tool.isolation == "inline":
        return _run_inline(tool, given, InlineContext(shelf, progress, cancelled))
    _sweep()
    work = Path(tempfile.mkdtemp(prefix=WORK_PREFIX))
    try:
        return _run_child(tool, declared_as, given, shelf, work, seconds, cancelled, progress)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _sweep() -> None:
    """Remove work folders that killed callers left a day ago or longer."""
    for folder in Path(tempfile.gettempdir()).glob(f"{WORK_PREFIX}*"):
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime > STALE and folder.stat().st_uid == os.getuid():
                shutil.rmtree(folder, ignore_errors=True)


def artifacts_in(value: Any) -> Iterator[ArtifactRef]:
    """All artifact references inside a model, list or dict."""
    if isinstance(value, ArtifactRef):
        yield value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from artifacts_in(getattr(value, name))
    elif isinstance(value, dict):
        for item in value.values():
            yield from artifacts_in(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from artifacts_in(item)


def _run_inline(tool: Tool, given: ToolModel, context: InlineContext) -> Ran:
    start = time.monotonic()
    with boundary(f"tool {tool.name}"):
        output = tool.function()(given, context)
    return Ran(tool.parse_output(output.model_dump(mode="json")), time.monotonic() - start, None)


def _run_child(tool: Tool, declared_as: str, given: ToolModel, shelf: Shelf, work: Path, seconds: float,
               cancelled: Callable[[], bool], progress: Progress) -> Ran:
    (work / child.INPUTS).mkdir()
    for ref in artifacts_in(given):
        shutil.copyfile(shelf.open_artifact(ref), work / child.INPUTS / ref.sha256)
    (work / child.JOB).write_text(json.dumps({"tool": declared_as, "input": given.model_dump(mode="json")}))
    box = _box(tool)
    limits = Limits(seconds=seconds, memory_bytes=tool.resources.memory_bytes)
    said = 0

    def watch() -> bool:
        nonlocal said
        said = _relay(work / child.PROGRESS, said, progress)
        return cancelled()

    plugins = _plugin_folders(tool)
    job = python_job(work, module="enlist.tools.runtime.child", limits=limits, read_only=plugins,
                     environment={"PYTHONPATH": os.pathsep.join(map(str, plugins))} if plugins else None)
    ended = box.run(job, watch)
    _relay(work / child.PROGRESS, said, progress)
    tail = (ended.stderr or ended.stdout).decode("utf-8", "replace")[-OUTPUT_TAIL:]
    if ended.ending == "timeout":
        raise EnlistError("timeout", f"tool {tool.name} ran longer than {seconds:g} s and was killed with its children",
                          fix="give a larger --budget-seconds, or make the attached code end", details=tail)
    if ended.ending == "cancelled":
        raise EnlistError("cancelled", f"tool {tool.name} was stopped")
    if ended.ending in ("memory", "processes", "disk", "output"):
        raise EnlistError("resource_limit", f"tool {tool.name} was killed: {ended.ending} over the limit",
                          allowed=f"{limits.memory_bytes >> 20} MiB of memory, {limits.processes} processes, "
                                  f"{limits.disk_bytes >> 20} MiB of files, {limits.output_bytes >> 20} MiB of output",
                          fix="make the attached code need less of it", details=tail)
    files = collect(work)
    if child.RESULT not in files:
        raise EnlistError("tool_failed", f"tool {tool.name} ended without a result (exit status {ended.code}); "
                          "the attached code may have ended the process", given=tail.strip()[-200:] or None,
                          fix="run the attached file by itself and take out what ends the process", details=tail)
    return Ran(_accept(tool, files, shelf), ended.seconds, ended.level)


def _box(tool: Tool) -> Sandbox:
    return best() if tool.isolation == "sandbox" else sandbox("basic")


def level_of(tool: Tool) -> str | None:
    """The sandbox level that a tool's child runs at here; None for an inline tool, or where there is no sandbox."""
    try:
        return None if tool.isolation == "inline" else _box(tool).level
    except EnlistError:
        return None


def _plugin_folders(tool: Tool) -> list[Path]:
    """Folders that a child needs to import the tool beside this interpreter's own: those on PYTHONPATH, and the one
    that holds the tool's package where that is an editable install."""
    named = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    folders = [Path(p).absolute() for p in named if p and Path(p).is_dir()]
    spec = importlib.util.find_spec(tool.run.partition(":")[0].partition(".")[0])
    for place in (spec.submodule_search_locations or ([spec.origin] if spec.origin else [])) if spec else []:
        folder = Path(place).absolute().parent
        if tool.run.partition(".")[0] != "enlist" and not any(folder.is_relative_to(f) for f in (
                *folders, *python_folders())):
            folders.append(folder)
    return folders


def _accept(tool: Tool, files: dict[str, Path], shelf: Shelf) -> ToolModel:
    """The output out of a child's files; raises the fault that the child reported."""
    result = files[child.RESULT]
    if result.stat().st_size > RESULT_LIMIT:
        raise EnlistError("invalid_output", f"tool {tool.name}: its result is larger than {RESULT_LIMIT} bytes")
    try:
        document = json.loads(result.read_text(encoding="utf-8"))
        if not isinstance(document, dict):
            raise ValueError("not an object")
        if "error" in document:
            raise _own_fault(tool, EnlistError.from_dict(document["error"]))
        data = document["output"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise EnlistError("invalid_output", f"tool {tool.name}: its result file is not what it must be: "
                          f"{type(error).__name__}: {str(error)[:200]}") from error
    output = tool.parse_output(data)
    for ref in artifacts_in(output):
        path = files.get(f"{child.OUTPUTS}/{ref.sha256}")
        if path is None:
            continue  # an input handed through
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != ref.sha256:
            raise EnlistError("invalid_output", f"tool {tool.name}: artifact {ref.name!r} is not what its hash says")
        shelf.put_bytes(content, media_type=ref.media_type, name=ref.name)
    return output


def _own_fault(tool: Tool, told: EnlistError) -> EnlistError:
    """The fault that a child tells, if a tool may end with it; a child has no say on the run, its limits or workers."""
    if told.code in {*tool.errors, "bad_input", "tool_failed", "internal"}:
        return told
    return EnlistError("tool_failed", f"tool {tool.name}: {told.message}", details=told.details)


def _relay(path: Path, said: int, progress: Progress) -> int:
    """Pass on complete progress lines after the first `said`; returns how many were passed in all."""
    with suppress(OSError):
        lines = path.read_text(encoding="utf-8", errors="replace").split("\n")[:-1]
        for line in lines[said:]:
            with suppress(ValueError, TypeError, KeyError):
                message = json.loads(line)
                progress(float(message["share"]), str(message["text"])[:200])
        return len(lines)
    return said
