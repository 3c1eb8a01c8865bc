"""Journaled tool calls: a call is done once, however often its role is run.

The key of a call is the hash of run, role, step, tool@version and canonical input, never of the agent, so that a
re-enlisted agent reuses what is finished. Before a call `tool.started` is committed; its outcome, findings, artifacts
and `tool.finished` are committed in one transaction by the process that ran it. A finished key is answered from the
journal. Where a role is reworked because its claims were refuted, the key of a tool that may answer otherwise the next
time carries the number of the rework.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict

from enlist.agents.signs import BEAT, Pulse, filling_id, whereabouts
from enlist.tools.runtime import registry, runner
from enlist.tools.runtime.errors import EnlistError, boundary
from enlist.tools.runtime.events import NewEvent
from enlist.tools.runtime.findings import Finding, Provenance, ToolEvidence
from enlist.tools.runtime.ids import content_hash
from enlist.tools.runtime.memory import open_memory
from enlist.tools.runtime.memory.protocol import Memory, NewRecord
from enlist.tools.runtime.tool import Tool, ToolModel, input_hash

POLL = 0.5  # seconds between two looks into the store for a stop request
NODE_WAIT, NODE_LOOK = 60.0, 2.0  # seconds for a node with the resources to appear, and between two looks
GRACE = 30.0  # seconds beyond a tool's own limit after which its worker counts as lost
LOST_LOOKS = 12  # looks, `BEAT` apart, that a call may wait beside free resources before it counts as lost


class Call(BaseModel):
    """One call, as it crosses to the worker that runs it.

    `deadline` is seconds since 1970 or None, `filling` the filling of the role that makes it, `rework` how often the
    role's claims were refuted, `corrects` the ids of those claims, `avoid` nodes that do not answer.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    memory: str
    run: str
    attempt: int
    role: str
    agent: str
    capability: str
    step: str
    tool: str
    input: dict[str, Any]
    limit: float
    deadline: float | None = None
    filling: int = 1
    rework: int = 0
    corrects: tuple[str, ...] = ()
    avoid: tuple[str, ...] = ()

    def key(self) -> str:
        tool = declared(self.tool)
        parts: list[Any] = [self.run, self.role, self.step, f"{tool.name}@{tool.version}",
                            input_hash(tool.parse(self.input))]
        return content_hash(parts if tool.deterministic or not self.rework else [*parts, self.rework])

    def seconds_left(self) -> float:
        left = self.limit if self.deadline is None else min(self.limit, self.deadline - time.time())
        return max(0.0, left)


@dataclass(frozen=True)
class Outcome:
    """A finished call: its key, input, output and the findings that the tool made of it."""

    key: str
    tool: str
    given: ToolModel
    output: Any
    findings: tuple[Finding, ...]
    seconds: float
    level: str | None


def declared(name: str) -> Tool:
    """The installed tool of this name; `not_found` names the nearest."""
    tool: Tool = registry.load_entry("enlist.tools", name)
    return tool


def finished(memory: Memory, call: Call) -> Outcome | None:
    """The outcome of a call that was finished before, if any."""
    record = memory.record("outcome", call.run, call.key())
    if record is None:
        return None
    tool, data = declared(call.tool), record.data
    return Outcome(key=record.id, tool=tool.name, given=tool.parse(data["input"]),
                   output=tool.parse_output(data["output"]),
                   findings=tuple(Finding.model_validate(f) for f in data["findings"]),
                   seconds=data["seconds"], level=data["level"])


def execute(memory: Memory, call: Call) -> None:
    """Run a call and commit how it ended; raises what it ended with."""
    tool, key = declared(call.tool), call.key()
    given = tool.parse(call.input)
    tries, limit = _tries(memory, call.run, key), call.seconds_left()
    head = {"key": key, "tool": tool.name, "version": tool.version, "step": call.step}
    memory.commit(call.run, call.attempt, [NewEvent(kind="tool.started", role=call.role, key=f"{key}:{tries}", data={
        **head, "limit": limit, "isolation": tool.isolation, "process": whereabouts()})])
    pulse = Pulse(memory, call.run, call.attempt, call.role)
    stopped = stopper(memory, call.run, call.attempt, filling_id(call.role, call.filling))

    def cancelled() -> bool:
        pulse.beat(f"tool {tool.name}")
        return stopped()

    try:
        ran = runner.run_tool(tool, registry.entries("enlist.tools")[call.tool].value, given, memory,
                              limit=limit, cancelled=cancelled, progress=_progress(memory, call, head))
        with boundary(f"findings of tool {tool.name}"):
            found = _correcting(memory, call, _findings(tool, call, given, ran.output))
    except EnlistError as error:
        if error.kind != "control":
            told = {**head, "error": error.to_dict(), "level": runner.level_of(tool)}
            memory.commit(call.run, call.attempt, [NewEvent(kind="tool.failed", role=call.role, key=f"{key}:{tries}",
                                                            data=told)])
        raise
    outcome = NewRecord(kind="outcome", id=key, role=call.role, data={
        **head, "input": given.model_dump(mode="json"), "output": ran.output.model_dump(mode="json"),
        "findings": [f.model_dump(mode="json") for f in found], "seconds": ran.seconds, "level": ran.level,
        "provenance": Provenance(run=call.run, role=call.role, agent=call.agent, attempt=call.attempt,
                                 tool_call=key).model_dump()})
    records = [NewRecord(kind="finding", id=f.id, role=call.role, text=f.text, supersedes=f.supersedes,
                         data=f.model_dump(mode="json")) for f in found]
    try:
        memory.commit(call.run, call.attempt, [NewEvent(
            kind="tool.finished", role=call.role, key=key, data={**head, "seconds": ran.seconds, "level": ran.level,
                                                                 "findings": [f.id for f in found]})],
                      [outcome, *records])
    except EnlistError as error:
        if error.code != "conflict" or finished(memory, call) is None:
            raise  # else a process that was given up came to an end after all: the first outcome stands


def call_tool(memory: Memory, call: Call) -> Outcome:
    """The outcome of a call: from the journal, inline, or from a Ray task with the tool's declared resources."""
    done = finished(memory, call)
    if done is None:
        if declared(call.tool).isolation == "inline":
            execute(memory, call)
        else:
            _on_ray(memory, call)
        done = finished(memory, call)
    if done is None:
        raise EnlistError("internal", f"tool {call.tool} ended without an outcome", given=call.step)
    return done


def stopper(memory: Memory, run: str, attempt: int, filling: str | None = None) -> Callable[[], bool]:
    """A function that tells, at most once in `POLL` seconds, whether the run was stopped or taken over, or the filling
    of a role (`filling_id`) was ended."""
    state = {"next": 0.0, "stop": False}

    def stopped() -> bool:
        now = time.monotonic()
        if not state["stop"] and now >= state["next"]:
            state["next"] = now + POLL
            lease = memory.lease(run)
            state["stop"] = ((lease is not None and lease.attempt > attempt) or stop_requested(memory, run, attempt)
                             or (filling is not None and memory.record("decision", run, filling) is not None))
        return bool(state["stop"])

    return stopped


def stop_requested(memory: Memory, run: str, attempt: int) -> bool:
    """Whether somebody asked this attempt of a run to stop."""
    return memory.find_event(run, "stop.requested", f"stop:{attempt}") is not None


def _tries(memory: Memory, run: str, key: str) -> int:
    """How often a call was started before."""
    tries = 0
    while memory.find_event(run, "tool.started", f"{key}:{tries}") is not None:
        tries += 1
    return tries


def _correcting(memory: Memory, call: Call, found: Sequence[Finding]) -> list[Finding]:
    """The findings, each of which supersedes the refuted one that says the same thing of the same subject."""
    refuted = {}
    for record in (memory.record("finding", call.run, id) for id in call.corrects):
        if record is not None:
            one = Finding.model_validate(record.data)
            refuted[_about(one)] = one.id
    return [_superseding(f, refuted[_about(f)]) if refuted.get(_about(f), f.id) != f.id else f for f in found]


def _superseding(finding: Finding, other: str) -> Finding:
    literal = finding.text.replace("{", "{{").replace("}", "}}")
    fields = {name: getattr(finding, name) for name in type(finding).model_fields if name not in ("id", "text")}
    return Finding.make(template=literal, **{**fields, "supersedes": other})


def _about(finding: Finding) -> str:
    return content_hash([finding.capability, finding.subject, finding.predicate, finding.conditions])


def _findings(tool: Tool, call: Call, given: ToolModel, output: ToolModel) -> Sequence[Finding]:
    hashed = input_hash(given)

    def evidence(pointer: str) -> ToolEvidence:
        return ToolEvidence(tool=tool.name, version=tool.version, input_sha256=hashed, pointer=pointer)

    return tool.make_findings(call.capability, given, output, evidence)


def _progress(memory: Memory, call: Call, head: dict[str, Any]) -> runner.Progress:
    def say(share: float, text: str) -> None:
        memory.commit(call.run, call.attempt, [NewEvent(kind="tool.progress", role=call.role,
                                                        data={**head, "share": share, "text": text})])

    return say


def run_call(document: str) -> dict[str, Any] | None:
    """The body of a tool's Ray task: run the call of a JSON document; the fault, if any, as data."""
    call = Call.model_validate_json(document)
    try:
        memory = open_memory(call.memory)
        try:
            with boundary(f"tool {call.tool}"):
                execute(memory, call)
        finally:
            memory.close()
    except EnlistError as error:
        return error.to_dict()
    return None


def require(tool: Tool) -> None:
    """Wait until a node of the cluster has, in all, what a tool declares; Ray itself would wait for ever.

    Raises:
        EnlistError: `unschedulable` after `NODE_WAIT` seconds, naming what is wanted and what the nodes have.
    """
    import ray

    wanted = _wanted(tool)
    until = time.monotonic() + NODE_WAIT
    while True:
        nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
        if any(all(node.get(name, 0) >= amount for name, amount in wanted.items()) for node in nodes):
            return
        if time.monotonic() >= until:
            most = {name: max((node.get(name, 0) for node in nodes), default=0) for name in wanted}
            raise EnlistError("unschedulable", f"no node can give tool {tool.name} what it needs", given=str(wanted),
                              allowed=f"at most {most} on one node here",
                              fix="add a node that has it, then `enlist resume`")
        time.sleep(NODE_LOOK)


def _on_ray(memory: Memory, call: Call) -> None:
    import ray
    import ray.exceptions as faults

    tool, key = declared(call.tool), call.key()
    require(tool)
    tries = _tries(memory, call.run, key)
    task = ray.remote(run_call).options(
        num_cpus=tool.resources.cpus, num_gpus=tool.resources.gpus, resources=tool.resources.custom or None,
        max_retries=0, name=f"tool:{tool.name}", scheduling_strategy=_place(tool, call.avoid))
    reference = task.remote(call.model_dump_json())
    pulse = Pulse(memory, call.run, call.attempt, call.role)
    begun, free = None, 0
    while not ray.wait([reference], timeout=BEAT)[0]:
        if begun is None and memory.find_event(call.run, "tool.started", f"{key}:{tries}") is not None:
            begun = time.monotonic()
        if begun is None:
            pulse.beat(f"tool {tool.name} waits for a place")
            free = free + 1 if _is_free(tool) else 0
        if free >= LOST_LOOKS or (begun is not None and time.monotonic() - begun > call.limit + GRACE):
            ray.cancel(reference, force=True)
            raise EnlistError("worker_died", f"tool {tool.name} gave no sign of life" + (
                f" in {call.limit + GRACE:.0f} s" if begun is not None else ": no node took it up"),
                fix="look at the cluster's nodes; `enlist resume` goes on where it stopped")
    try:
        fault = ray.get(reference, timeout=GRACE)
    except faults.RayError as error:
        raise EnlistError("worker_died", f"the worker of tool {tool.name} died: {type(error).__name__}",
                          details=str(error)[-2000:]) from error
    if fault is not None:
        raise EnlistError.from_dict(fault)


def _wanted(tool: Tool) -> dict[str, float]:
    needs = tool.resources
    return {k: v for k, v in {"CPU": needs.cpus, "GPU": needs.gpus, **needs.custom}.items() if v}


def _is_free(tool: Tool) -> bool:
    """Whether the cluster has what a tool needs and nobody uses it."""
    import ray

    free = ray.available_resources()
    return all(free.get(name, 0) >= amount for name, amount in _wanted(tool).items())


def _place(tool: Tool, avoid: Sequence[str]) -> Any:
    """Where Ray shall run a tool: anywhere, or on a node that can and is none of those to avoid."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    for node in ray.nodes() if avoid else ():
        if node["Alive"] and node["NodeID"] not in avoid and all(
                node["Resources"].get(name, 0) >= amount for name, amount in _wanted(tool).items()):
            return NodeAffinitySchedulingStrategy(node["NodeID"], soft=True)
    return "DEFAULT"
