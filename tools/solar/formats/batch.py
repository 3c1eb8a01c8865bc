"""Capture many models in one sandbox: PyTorch is imported once, and every model is captured in a fork of its own.

Importing PyTorch costs more than capturing most models. A fork keeps them apart all the same: what one file prints,
patches, allocates or breaks ends with its fork, and one that does not end is killed at its own deadline. The sandbox
around them holds for all of them together.
"""

import json
import os
import resource
import signal
import time
import traceback
from contextlib import suppress
from pathlib import Path

from pydantic import Field

from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.tool import Resources, Tool, ToolContext, ToolModel
from enlist.tools.solar.formats.front import capture, front_of
from enlist.tools.solar.tool import CAPTURE, ModelInput, run_capture

_RESULT_BYTES = 8 << 20
_WARM_UP = """import torch


class Model(torch.nn.Linear):
    pass


def get_inputs():
    return [torch.zeros(2, 3)]


def get_init_inputs():
    return [3, 4]
"""
_SHARE_OF_MEMORY = 0.85  # of the sandbox's, for one fork: it is refused memory before the sandbox kills them all


class ManyInput(ToolModel):
    """Models to capture, and seconds that each may take."""

    models: tuple[ModelInput, ...] = Field(min_length=1)
    seconds_each: float = Field(default=CAPTURE.time_limit, gt=0)


class Told(ToolModel):
    """A fault as the child tells it."""

    code: str
    message: str
    given: str | None = None
    allowed: str | None = None
    fix: str | None = None
    details: str | None = None

    def fault(self) -> EnlistError:
        """The fault to raise; a code that a capture may not end with becomes `tool_failed`."""
        allowed = {*CAPTURE.errors, "timeout", "resource_limit"}
        return EnlistError.from_dict(self.model_dump() | {"code": self.code if self.code in allowed else "tool_failed"})


class Captured(ToolModel):
    """One model's graph, or why there is none; CPU seconds that it took."""

    graph: ArtifactRef | None = None
    fault: Told | None = None
    cpu_s: float = 0.0


class ManyOutput(ToolModel):
    """As many as there were models, in their order."""

    captured: tuple[Captured, ...]


def run_capture_all(given: ManyInput, ctx: ToolContext) -> ManyOutput:
    """Capture each model in a fork; runs inside the sandbox."""
    if any(_needs_torch(model, ctx) for model in given.models):
        _warm_up()
    made = []
    for place, model in enumerate(given.models):
        ctx.progress(place / len(given.models), model.model.name)
        made.append(_apart(model, ctx, Path.cwd() / f"captured-{place}.json", given.seconds_each))
    return ManyOutput(captured=tuple(made))


def endless(name: str, seconds: float, details: str | None = None) -> EnlistError:
    """The fault of a capture that did not end in its time."""
    return EnlistError("timeout", f"{name} took longer than {seconds:g} s to capture and was stopped",
                       fix="look for a loop that does not end, or capture a smaller part of the model", details=details)


def _warm_up() -> None:
    """Import all that a capture imports, by capturing a model of ours, so that no fork has to (1.5 s of CPU each)."""
    path = Path.cwd() / "enlist_warm_up.py"
    path.write_text(_WARM_UP, encoding="utf-8")
    with suppress(Exception):  # PyTorch is missing or broken: the forks will say so
        capture(path)


def _needs_torch(model: ModelInput, ctx: ToolContext) -> bool:
    with suppress(OSError, UnicodeDecodeError):
        text = ctx.open_artifact(model.model).read_text(encoding="utf-8-sig")
        return front_of(text, model.model.name, model.target) == "pytorch"
    return False


def _apart(model: ModelInput, ctx: ToolContext, result: Path, seconds: float) -> Captured:
    name = model.model.name
    child = os.fork()
    if child == 0:
        _in_fork(model, ctx, result)
    status = _awaited(child, seconds)
    if status is None:
        return Captured(fault=_told(endless(name, seconds)))
    try:
        if result.stat().st_size > _RESULT_BYTES:
            raise ValueError("its result is too large")
        return Captured.model_validate(json.loads(result.read_bytes()))
    except (OSError, ValueError, RecursionError):
        ended = f"signal {-status}" if status < 0 else f"exit status {status}"
        return Captured(fault=_told(EnlistError(
            "tool_failed", f"{name} ended the process that captured it ({ended})",
            fix="take out what ends the process, or what needs more memory than the sandbox gives")))


def _in_fork(model: ModelInput, ctx: ToolContext, result: Path) -> None:
    """The fork's whole life; it never returns."""
    code = 1
    try:
        with suppress(OSError):
            os.setpgid(0, 0)
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        most = int(CAPTURE.resources.memory_bytes * _SHARE_OF_MEMORY)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_DATA, (most, most))
        document = _captured(model, ctx).model_dump(mode="json")
        result.write_text(json.dumps(document, allow_nan=False), encoding="utf-8")
        code = 0
    finally:
        os._exit(code)  # threads and exit hooks of a user's code have no say in how this ends


def _captured(model: ModelInput, ctx: ToolContext) -> Captured:
    try:
        made = run_capture(model, ctx)
        used = resource.getrusage(resource.RUSAGE_SELF)
        return Captured(graph=made.graph, cpu_s=used.ru_utime + used.ru_stime)
    except EnlistError as error:
        return Captured(fault=_told(error))
    except MemoryError:
        return Captured(fault=_told(EnlistError(
            "resource_limit", f"{model.model.name} needs more memory than it may have",
            allowed=f"{CAPTURE.resources.memory_bytes >> 20} MiB", fix="do not allocate in the constructor")))
    except BaseException as error:  # also SystemExit and KeyboardInterrupt raised by a user's code
        return Captured(fault=_told(EnlistError(
            "tool_failed", f"{model.model.name}: {type(error).__name__}: {error}"[:2000],
            fix="run the file by itself in plain Python and mend what it raises",
            details=traceback.format_exc()[-4000:])))


def _told(error: EnlistError) -> Told:
    return Told.model_validate(error.to_dict())


def _awaited(child: int, seconds: float) -> int | None:
    """The exit code of `child` (minus the signal where one ended it); None where it was killed at the deadline."""
    deadline = time.monotonic() + seconds
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            with suppress(OSError):
                os.killpg(child, signal.SIGKILL)  # what it started
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > deadline:
            for kill in (os.killpg, os.kill):
                with suppress(OSError):
                    kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return None
        time.sleep(0.01)


CAPTURE_ALL = Tool(
    name="solar-capture-all", version="1.0.0", summary="Capture many models in one sandbox, each in a fork of its own",
    input=ManyInput, output=ManyOutput, run="enlist.tools.solar.formats.batch:run_capture_all",
    example={"models": [CAPTURE.example]},
    check_route=CAPTURE.check_route, isolation="sandbox", time_limit=6 * 3600.0,
    resources=Resources(memory_bytes=CAPTURE.resources.memory_bytes), errors=CAPTURE.errors)
