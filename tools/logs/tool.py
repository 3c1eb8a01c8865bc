"""The two declared tools of this folder: say what happened in some logs, and read the cited lines again.

Both run in the sandbox: a log may be hostile (a bomb, a damaged archive).
"""

import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import Field

from enlist.tools.logs.asked import hour_around, instant, seconds_east
from enlist.tools.logs.recheck import Reader, verdict
from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.findings import Finding
from enlist.tools.runtime.tool import Resources, Tool, ToolContext, ToolModel

_EXAMPLE_REF = {"sha256": "0" * 64, "name": "app.log", "bytes": 1}


class LogsInput(ToolModel):
    """Log files or archives, a window (`since`, `until`, or an hour on both sides of `around`), a service, and the zone
    of times that name none."""

    logs: tuple[ArtifactRef, ...] = Field(min_length=1)
    since: str | None = None
    until: str | None = None
    around: str | None = None
    service: str | None = None
    zone: str = "+00:00"


class LogsOutput(ToolModel):
    """The document of `enlist logs summarize --json`."""

    document: dict[str, Any]


class Cited(ToolModel):
    """A line that a claim cites, and the pieces of text that it must hold in order."""

    file: str
    byte: int = Field(ge=0)
    holds: tuple[str, ...] = ()


class RecheckInput(ToolModel):
    """The same logs, and the lines that claims cite."""

    logs: tuple[ArtifactRef, ...] = Field(min_length=1)
    lines: tuple[Cited, ...]


class Seen(ToolModel):
    """Whether a line holds what it must (None: it could not be read); its text, or why not."""

    holds: bool | None
    text: str


class RecheckOutput(ToolModel):
    """For each cited line, in order, what is there."""

    lines: tuple[Seen, ...]


def run_summary(given: LogsInput, ctx: ToolContext) -> LogsOutput:
    """Say what happened in some logs; runs inside the sandbox."""
    from enlist.tools.logs.analysis import analyse
    from enlist.tools.logs.counting import Options
    from enlist.tools.logs.report.document import document

    offset = seconds_east(given.zone)
    low, high = instant(given.since, offset), instant(given.until, offset)
    if given.around is not None:
        low, high = hour_around(given.around, offset)
    total = sum(ref.bytes for ref in given.logs) or 1
    with _laid_out(given.logs, ctx) as paths:
        folder = str(next(iter(paths.values())).parent) + "/"
        made = document(analyse(list(paths.values()), Options(low, high, given.service, offset),
                                lambda read: ctx.progress(min(0.9, read / total), "reading")))
    made["cost"]["seconds"] = 0.0  # the journal has the time; the document is the same for the same logs
    return LogsOutput(document=_without(made, folder))


def run_recheck(given: RecheckInput, ctx: ToolContext) -> RecheckOutput:
    """Read cited lines again; runs inside the sandbox."""
    with _laid_out(given.logs, ctx) as paths:
        reader = Reader(paths)
        seen = [verdict(reader, one.file, one.byte, one.holds) for one in given.lines]
    return RecheckOutput(lines=tuple(Seen(holds=ok, text=text[:2000]) for ok, text in seen))


@contextmanager
def _laid_out(logs: Sequence[ArtifactRef], ctx: ToolContext) -> Iterator[dict[str, Path]]:
    """The files by their names in one folder; of two with one name the second is numbered."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        paths: dict[str, Path] = {}
        for ref in logs:
            name = Path(ref.name).name
            while name in paths:
                name = f"{len(paths)}-{Path(ref.name).name}"
            shutil.copyfile(ctx.open_artifact(ref), Path(folder) / name)
            paths[name] = Path(folder) / name
        yield paths


def _without(value: Any, folder: str) -> Any:
    """A document that names files as they were attached, not where they were laid out."""
    if isinstance(value, str):
        return value.replace(folder, "")
    if isinstance(value, list):
        return [_without(v, folder) for v in value]
    if isinstance(value, dict):
        return {k: _without(v, folder) for k, v in value.items()}
    return value


def findings(capability: str, given: LogsInput, output: LogsOutput, evidence: Callable[[str], Any]) -> list[Finding]:
    """A finding for each claim whose lines were found again, and for the cause; or that there is no incident."""
    document = output.document
    subject = ", ".join(ref.name for ref in given.logs)[:200]

    def made(predicate: str, value: str | bool | None, tier: str, pointer: str, template: str = "{value}") -> Finding:
        return Finding.make(template=template, capability=capability, subject=subject, predicate=predicate, value=value,
                            tier=tier, evidence=(evidence(pointer),))

    if document["incident"] is False:
        return [made("incident", False, "computed", "/document/incident", "no incident in {subject}")]
    out = [made("logged", claim["text"], "computed", f"/document/claims/{i}")
           for i, claim in enumerate(document["claims"]) if claim["verified"]]
    if document["candidates"]:
        best = document["candidates"][0]
        out.append(made("root cause", f"{best['cause'].replace('_', ' ')} in {best['component']}", "inferred",
                        "/document/candidates/0", "the cause is most likely {value}"))
    return out


def rows(document: dict[str, Any]) -> list[tuple[int, dict[str, Any]]]:
    """Every line that a verified claim cites, with the claim's place, as `Cited` data."""
    return [(i, {"file": one["file"], "byte": one["byte"], "holds": claim["holds"]})
            for i, claim in enumerate(document["claims"]) if claim["verified"] for one in claim["lines"]]


def claim_of(finding: Finding) -> int:
    """The place of the claim that a finding states; raises `invalid_output` where it states none."""
    for one in finding.evidence:
        pointer = getattr(one, "pointer", "")
        if pointer.startswith("/document/claims/"):
            return int(pointer.rsplit("/", 1)[1])
    raise EnlistError("invalid_output", "a finding of logs that names no claim", given=finding.text)


SUMMARY = Tool(
    name="logs-summary", version="1.0.0", summary="Say what happened in logs, each sentence with its lines",
    input=LogsInput, output=LogsOutput, run="enlist.tools.logs.tool:run_summary", example={"logs": [_EXAMPLE_REF]},
    check_route="logs-recheck reads the cited bytes again with Python's own modules", isolation="sandbox",
    time_limit=600.0, resources=Resources(memory_bytes=4 << 30), findings="enlist.tools.logs.tool:findings",
    section="enlist.tools.logs.report.section:sections",
    errors=("bad_input", "not_found", "resource_limit", "tool_failed"))
RECHECK = Tool(
    name="logs-recheck", version="1.0.0", summary="Read cited lines of logs again by another route",
    input=RecheckInput, output=RecheckOutput, run="enlist.tools.logs.tool:run_recheck",
    example={"logs": [_EXAMPLE_REF], "lines": [{"file": "app.log", "byte": 0, "holds": ["error"]}]},
    check_route="it is the check of logs-summary", isolation="sandbox", time_limit=300.0,
    resources=Resources(memory_bytes=8 << 30), errors=("bad_input", "tool_failed"))
