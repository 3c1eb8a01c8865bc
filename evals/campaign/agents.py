"""Agents and teams as solvers: a task is asked of them as a person would ask, and their findings are the answer.

The environment says how (`Answerable`). An agent runs alone, in a store of its own that is thrown away. A team is
enlisted for the task by a whole run, on the Ray of the campaign.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

from enlist.agents.pool import shipped
from enlist.agents.role import fill
from enlist.agents.work import Assignment, Input
from enlist.environments.contract import Answerable, Environment, Submission
from enlist.evals.campaign.solving import Solving
from enlist.orchestrator.attach import attach
from enlist.orchestrator.planning import read_request
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory import open_memory

PROGRAM = "import sys; from enlist.evals.cli.main import main; sys.exit(main(sys.argv[1:]))"
Asked = tuple[list[dict[str, Any]], dict[str, float]]


def solve(given: Solving, environment: Environment) -> Submission:
    """The answer that an agent's or a team's findings give."""
    if not isinstance(environment, Answerable):
        raise EnlistError("unsupported", f"{environment.name} does not say how agents answer its tasks")
    text, files = environment.as_request(given.task)
    with tempfile.TemporaryDirectory(prefix="enlist-asked-") as folder:
        os.chmod(folder, 0o755)  # tools run as another user
        paths = []
        for name, data in files.items():
            paths.append(Path(folder) / Path(name).name)
            paths[-1].write_bytes(data)
        ask = _ask_agent if given.solver.agent is not None else _ask_team
        began = time.monotonic()
        with _without_salt():
            findings, cost = ask(given, text, paths, Path(folder))
    answer = environment.read_findings(given.task, findings)
    return Submission(task=given.task.id, answer=answer, cost={"seconds": time.monotonic() - began, **cost})


@contextmanager
def _without_salt() -> Iterator[None]:
    """Take the salt of the test split out of this process's environment, which agents and their runs can read."""
    salt = os.environ.pop("ENLIST_EVAL_SALT", None)
    try:
        yield
    finally:
        if salt is not None:
            os.environ["ENLIST_EVAL_SALT"] = salt


def _ask_agent(given: Solving, text: str, paths: list[Path], folder: Path) -> Asked:
    pool = shipped()
    card = pool.card(pool.find(given.solver.agent or ""))
    memory = open_memory(f"sqlite://{quote(str(folder / 'store.db'))}")
    try:
        request = read_request(text, attach(memory, paths))
        capability = card.capabilities[0].id
        role = f"{capability}.{card.duty}"
        fill(memory, Assignment(
            memory=memory.locator(), run="sample", attempt=0, role=role, capability=capability, agent=card.id,
            specialist=card.specialist, knobs=card.knobs, upstream={}, request=request.model_dump(mode="json"),
            inputs=tuple(Input(ref=a.ref, kinds=a.kinds) for a in request.attachments),
            deadline=time.time() + given.limits.seconds))
        return [record.data for record in memory.records("finding", "sample")], {"usd": card.usd_per_run}
    finally:
        memory.close()


def _ask_team(given: Solving, text: str, paths: list[Path], folder: Path) -> Asked:
    import ray

    command = [sys.executable, "-c", PROGRAM, "run", text, "--json", "--out", str(folder / "out"),
               "--address", ray.get_runtime_context().gcs_address,
               "--seed", str(given.solver.team.seed if given.solver.team else 0),
               *(word for path in paths for word in ("--attach", str(path)))]
    ran = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
                           cwd=folder, env={**os.environ, "ENLIST_HOME": str(folder / "home")})
    try:
        printed, _ = ran.communicate(timeout=given.limits.seconds)
    except subprocess.TimeoutExpired as error:
        raise EnlistError("timeout", f"the team ran longer than {given.limits.seconds:g} s and was killed") from error
    finally:
        if ran.poll() is None:
            os.killpg(ran.pid, signal.SIGKILL)
            ran.wait()
    try:
        document = json.loads(printed)
        claims = [claim["finding"] for claim in document["findings"] if claim["status"] != "refuted"]
        cost = {kind: float(document["cost"][kind]) for kind in ("tokens", "usd")}
    except (ValueError, KeyError, TypeError) as error:
        raise EnlistError("tool_failed", "the team's run left no report",
                          given=printed[:200].decode("utf-8", "replace")) from error
    return claims, cost
