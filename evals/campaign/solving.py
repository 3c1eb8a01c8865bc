"""How a solver is run on a task: a baseline or a command in the sandbox, an agent or a team as in a run.

Baselines and commands run in a child that is killed with all its children at the limit, sees nothing of our
environment (so never the salt of the test split) and has no network where the machine's sandbox can take it away.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from enlist.environments.contract import Environment, Submission, Task, configured
from enlist.evals.campaign.file import Limits, SolverEntry
from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.runner import Shelf, run_tool
from enlist.tools.runtime.sandbox import Job, best, python_folders
from enlist.tools.runtime.sandbox import Limits as SandboxLimits
from enlist.tools.runtime.tool import Resources, Tool, ToolContext, ToolModel, load

TAIL = 500  # characters of a command's last words that a fault carries


class Solving(BaseModel):
    """What is to be solved by what: `target` is the environment's entry point, "module:NAME"."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    target: str
    options: dict[str, Any]
    solver: SolverEntry
    files: dict[str, ArtifactRef]
    limits: Limits
    task: Task


class Baseline(ToolModel):
    """The input of the child that runs a baseline."""

    target: str
    options: dict[str, Any]
    baseline: str
    task: Task


class Answered(ToolModel):
    """What a baseline submitted."""

    submission: Submission


def solve_here(given: Baseline, ctx: ToolContext) -> Answered:
    """Run a baseline in this process."""
    environment = configured(load(given.target), given.options)
    return Answered(submission=environment.baselines()[given.baseline].solve(given.task))


SOLVE = Tool(
    name="campaign-solve", version="1", summary="Run a baseline of an environment on one task", input=Baseline,
    output=Answered, run="enlist.evals.campaign.solving:solve_here", check_route="the environment scores the answer",
    example={}, deterministic=False, isolation="sandbox", time_limit=86_400.0)


def solve(given: Solving, environment: Environment, shelf: Shelf) -> Submission:
    """The submission of a solver; its cost has at least `seconds`.

    Raises:
        EnlistError: how the solver failed: `timeout`, `resource_limit`, `tool_failed`, `invalid_output`; or that it
            could not be run at all.
    """
    if given.solver.baseline is not None:
        return _by_baseline(given, shelf)
    if given.solver.command is not None:
        return _by_command(given, shelf)
    from enlist.evals.campaign import agents

    return agents.solve(given, environment)


def _by_baseline(given: Solving, shelf: Shelf) -> Submission:
    # `run` names the environment's module here, in the parent, so that the folder of a plug-in is readable in the child
    tool = replace(SOLVE, run=given.target, time_limit=given.limits.seconds,
                   resources=Resources(memory_bytes=given.limits.memory_mb << 20))
    ran = run_tool(tool, f"{__name__}:SOLVE", Baseline(
        target=given.target, options=given.options, baseline=given.solver.baseline or "", task=given.task), shelf)
    assert isinstance(ran.output, Answered)
    submission = ran.output.submission
    return submission.model_copy(update={"cost": {"seconds": ran.seconds, **submission.cost}})


def _by_command(given: Solving, shelf: Shelf) -> Submission:
    with tempfile.TemporaryDirectory(prefix="enlist-solver-") as folder:
        work = Path(folder)
        for name, ref in given.files.items():
            shutil.copyfile(shelf.open_artifact(ref), work / Path(name).name)
        limits = SandboxLimits(seconds=given.limits.seconds, memory_bytes=given.limits.memory_mb << 20)
        job = Job(_program(given.solver.command or ()), work, python_folders(), {
            "PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": folder, "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"},
            given.task.model_dump_json().encode(), limits)
        ended = best().run(job)
    tail = ended.stderr.decode("utf-8", "replace")[-TAIL:]
    if ended.ending == "timeout":
        raise EnlistError("timeout", f"the command ran longer than {limits.seconds:g} s and was killed", details=tail)
    if ended.ending not in ("exited", "signalled"):
        raise EnlistError("resource_limit", f"the command was killed: {ended.ending} over the limit", details=tail)
    if ended.code != 0:
        raise EnlistError("tool_failed", f"the command ended with status {ended.code}", given=tail or None)
    return Submission(task=given.task.id, answer=_answer(ended.stdout), cost={"seconds": ended.seconds})


def _program(command: tuple[str, ...]) -> tuple[str, ...]:
    """The command with its program as a path; "python" is this interpreter."""
    if command[0] in ("python", "python3"):
        return (sys.executable, *command[1:])
    found = shutil.which(command[0], path="/usr/local/bin:/usr/bin:/bin")
    if found is None and "/" not in command[0]:
        raise EnlistError("not_found", "the program of a command is not on the system's path", given=command[0],
                          fix="name an installed program, python, or a script by python and its file")
    return (found or command[0], *command[1:])


def _answer(printed: bytes) -> dict[str, Any] | None:
    """The answer that a command printed: a JSON object, or null to abstain."""
    try:
        answer = json.loads(printed, parse_constant=_no_constant)
        if answer is not None and not isinstance(answer, Mapping):
            raise ValueError(f"a {type(answer).__name__} and no object")
    except (ValueError, RecursionError) as error:
        raise EnlistError("invalid_output", f"the command printed no answer: {error}",
                          given=printed[:200].decode("utf-8", "replace"),
                          allowed="one JSON object by the task's submission_schema, or null to abstain") from error
    return dict(answer) if answer is not None else None


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
