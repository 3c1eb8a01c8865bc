"""Findings: structured claims with evidence, a tier that says how each is known, and the result of its check.

A finding's id is the hash of what it says and of its evidence, not of who said it: the same claim from the same
evidence is one finding however often it is made. A check is apart from the finding and refers to it by id.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.ids import content_hash

Tier = Literal["quoted", "computed", "analytic", "compiled", "interpreted", "measured-cpu", "measured-gpu",
               "inferred", "model-said", "stated"]
"""How a claim is known. `quoted`: found again in the source. `computed`: deterministic from the input. `analytic`: from
a formula over data sheets. `compiled`, `interpreted`: from running a compiler or an interpreter. `measured-*`: timed
here. `inferred`: deduced from other findings. `model-said`: a language model's text. `stated`: the user said so."""

CheckStatus = Literal["confirmed", "refuted", "not_checked"]
Scalar = float | int | str | bool | None


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Selector(_Strict):
    """A place inside an artifact; `kind` says how `value` reads.

    Values: `lines` "12-20" (1-based, inclusive), `bytes` "0-99" (0-based, inclusive), `pages` "3-4", `cell`
    "Sheet1!D14", `pointer` an RFC 6901 JSON pointer, `whole` "".
    """

    kind: Literal["lines", "bytes", "pages", "cell", "pointer", "whole"]
    value: str = ""


class ArtifactEvidence(_Strict):
    """Evidence that lies in an artifact."""

    kind: Literal["artifact"] = "artifact"
    artifact: ArtifactRef
    selector: Selector


class ToolEvidence(_Strict):
    """Evidence that is the output of a tool call: `pointer` (RFC 6901) into the output of `tool`@`version` on the
    input whose canonical JSON hashes to `input_sha256`. Names no run, so that equal work gives equal evidence."""

    kind: Literal["tool"] = "tool"
    tool: str
    version: str
    input_sha256: str
    pointer: str = ""


class RequestEvidence(_Strict):
    """Evidence that is the user's own words: `quote` stands in the request's text."""

    kind: Literal["request"] = "request"
    quote: str


Evidence = Annotated[ArtifactEvidence | ToolEvidence | RequestEvidence, Field(discriminator="kind")]


class Check(_Strict):
    """The verdict on one finding: `not_checked` is "could not check", never "refuted"."""

    finding: str
    status: CheckStatus
    route: str
    reason: str


class Provenance(_Strict):
    """Who made a finding, in which run; not part of its identity."""

    run: str
    role: str
    agent: str
    attempt: int
    tool_call: str | None = None


class Finding(_Strict):
    """One claim.

    Attributes:
        id: content hash of all fields but `text` and `confidence`.
        subject, predicate, value, unit: what is said of what; `unit` by its SI or field symbol ("s", "byte", "FLOP").
        conditions: under which the claim holds, as names and scalars.
        text: rendered from the fields above by a template of the tool, so it can say nothing more than they do.
        confidence: in [0, 1] from a named calibration, else None.
        supersedes: the id of an earlier finding that this one corrects.
    """

    id: str
    capability: str
    subject: str
    predicate: str
    value: Scalar
    unit: str | None = None
    conditions: dict[str, Scalar] = Field(default_factory=dict)
    text: str
    tier: Tier
    evidence: tuple[Evidence, ...]
    confidence: float | None = None
    supersedes: str | None = None

    @classmethod
    def make(cls, *, template: str, **fields: Any) -> "Finding":
        """A finding with its id and text filled in; `template` is a format string over the fields and conditions."""
        draft = cls(id="", text="", **fields)
        names: dict[str, Any] = {**draft.conditions, "subject": draft.subject, "predicate": draft.predicate,
                                 "value": draft.value, "unit": draft.unit}
        identity = draft.model_dump(mode="json", exclude={"id", "text", "confidence"})
        return draft.model_copy(update={"id": content_hash(identity), "text": template.format(**names)})
