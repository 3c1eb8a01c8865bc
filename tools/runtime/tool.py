"""A tool: a typed function that an agent, a person, LangGraph or MCP may call.

A tool folder is first a library; its `tool.py` declares `Tool` objects and imports nothing heavy, because `run` and
`findings` are named as "module:function" and loaded only where they are called. Input and output are pydantic models
that forbid extra keys. Files come in as `ArtifactRef`; the function opens them through its context.
"""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from pydantic import BaseModel, ConfigDict, ValidationError

from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import FAULTS, EnlistError
from enlist.tools.runtime.findings import Finding
from enlist.tools.runtime.ids import content_hash
from enlist.tools.runtime.naming import nearest

Effect = Literal["reads-clock", "writes-files", "network"]
Isolation = Literal["inline", "process", "sandbox"]


class ToolModel(BaseModel):
    """Base of every tool's input and output."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ToolContext(Protocol):
    """What a running tool may do to the world."""

    def progress(self, share: float, text: str) -> None:
        """Say how far it is, `share` in [0, 1]."""

    def cancelled(self) -> bool:
        """Whether the run was stopped, its deadline passed or a newer attempt took over."""

    def put_artifact(self, data: bytes, *, media_type: str, name: str) -> ArtifactRef:
        """Keep bytes as an artifact of the run."""

    def open_artifact(self, ref: ArtifactRef) -> Path:
        """A local, read-only file with the artifact's bytes."""


@dataclass(frozen=True)
class Resources:
    """What one call needs of a machine; `custom` are Ray resource names."""

    cpus: float = 1.0
    memory_bytes: int = 2 << 30
    gpus: float = 0.0
    custom: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Tool:
    """A tool's declaration.

    Attributes:
        run: "module:function"; `function(input, ctx) -> output`.
        findings: "module:function" or None; `function(capability, input, output, evidence) -> list[Finding]`, where
            `evidence(pointer)` makes a `ToolEvidence` that points into the output.
        section: "module:function" or None; `function(calls, request, names) -> list[Section]` renders the outputs for
            a report: `calls` are (input, output, findings), `request` the request's JSON, `names` the attachments'
            names by SHA-256.
        deterministic: the same input gives the same output, so a finished call may be reused.
        isolation: `inline` in the caller's process (pure and short), `process` in a killable child with limits,
            `sandbox` in the best sandbox there is (for tools that run a user's code).
        time_limit: seconds of wall time; the process tree is killed then.
        errors: the fault codes it may end with, beside those of the runner.
        check_route: how its claims are checked by something that is not this tool.
        example: an input that is valid as it stands (artifacts may be named by a placeholder reference).
    """

    name: str
    version: str
    summary: str
    input: type[ToolModel]
    output: type[ToolModel]
    run: str
    example: dict[str, Any]
    check_route: str
    findings: str | None = None
    section: str | None = None
    deterministic: bool = True
    effects: frozenset[Effect] = frozenset()
    resources: Resources = Resources()
    time_limit: float = 60.0
    isolation: Isolation = "inline"
    errors: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        unknown = sorted(set(self.errors) - set(FAULTS))
        if unknown:
            raise ValueError(f"tool {self.name}: unknown fault codes {unknown}")
        if self.isolation == "inline" and self.effects:
            raise ValueError(f"tool {self.name}: an inline tool has no effects")

    def parse(self, data: Any) -> ToolModel:
        """The input model from JSON data; `bad_input` names the field, the rule and an example."""
        try:
            return self.input.model_validate(data)
        except ValidationError as error:
            raise EnlistError("bad_input", f"tool {self.name}: {_first_fault(error, self.input)}",
                              given=str(data)[:200], allowed=f"an input such as {self.example}",
                              fix=f"see `enlist tools show {self.name}`") from error

    def parse_output(self, data: Any) -> ToolModel:
        """The output model from what the tool's process handed back; `invalid_output` where it does not fit."""
        try:
            return self.output.model_validate(data)
        except ValidationError as error:
            raise EnlistError("invalid_output", f"tool {self.name} returned what it does not declare: "
                              f"{_first_fault(error, self.output)}") from error

    def function(self) -> Callable[[Any, ToolContext], ToolModel]:
        """The function itself, imported now."""
        return load(self.run)

    def make_findings(self, capability: str, given: ToolModel, output: ToolModel,
                      evidence: Callable[[str], Any]) -> Sequence[Finding]:
        """The claims that an output carries."""
        return load(self.findings)(capability, given, output, evidence) if self.findings else ()


def input_hash(given: ToolModel) -> str:
    """The hash of a tool input's canonical JSON."""
    return content_hash(given.model_dump(mode="json"))


def load(target: str) -> Any:
    """The object that "module:name" names."""
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(module), name)


def _first_fault(error: ValidationError, model: type[BaseModel]) -> str:
    fault = error.errors()[0]
    path = ".".join(str(part) for part in fault["loc"]) or "input"
    if fault["type"] == "extra_forbidden":
        hint = nearest(str(fault["loc"][-1]), list(model.model_fields))
        return f"unknown field {path!r}" + (f"; did you mean {hint[0]!r}?" if hint else "")
    return f"field {path!r}: {fault['msg']}"
