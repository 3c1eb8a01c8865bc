"""Counting letters: a capability with one agent that can be led astray and one that cannot.

What `sample-shaky` does is written in the text that it counts, on a line of its own: `stall` (says nothing any more),
`freeze` (its process stops), `crash` (its process ends), `overspend` (spends two dollars where one is there), `lie`
(claims one letter too many), `lie again` (and `sample-steady` two), `wait` (`sample-steady` takes twelve seconds).
"""

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from enlist.agents.graph import Draft, State
from enlist.agents.specialist import Knob, Setting, Specialist
from enlist.agents.work import Work
from enlist.orchestrator.capabilities import Capability
from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.findings import Check, Finding
from enlist.tools.runtime.section import Section, Sentence
from enlist.tools.runtime.tool import Tool, ToolContext, ToolModel

EXAMPLE = {"text": {"sha256": "0" * 64, "name": "notes.txt", "bytes": 0}}
KINDS = ("document", "log", "table")
LETTER_COUNT = Capability(
    id="letter_count", asks="how many letters a text has", reads=KINDS, writes=("letter-counts",), needs=KINDS,
    terms={3.0: ("count the letters", "letter count", "number of letters", "how many letters")},
    phrases=("count the letters in this text", "how many letters are in this file"))


class Text(ToolModel):
    """A UTF-8 text; `lies` is how many letters to add."""

    text: ArtifactRef
    lies: int = 0


class Letters(ToolModel):
    """How many letters the text has."""

    letters: int


def one_by_one(given: Text, ctx: ToolContext) -> Letters:
    """Look at each character."""
    text = ctx.open_artifact(given.text).read_text("utf-8", "replace")
    return Letters(letters=sum(c.isalpha() for c in text) + given.lies)


def without_others(given: Text, ctx: ToolContext) -> Letters:
    """Take out what is no letter and measure what is left."""
    text = ctx.open_artifact(given.text).read_text("utf-8", "replace")
    return Letters(letters=len("".join(filter(str.isalpha, text))) + given.lies)


def findings(capability: str, given: Text, output: Letters, evidence: Callable[[str], Any]) -> list[Finding]:
    """The one claim of a count."""
    return [Finding.make(template="{subject} has {value} letters", capability=capability, subject=given.text.name,
                         predicate="letters", value=output.letters, unit="1", tier="computed",
                         evidence=(evidence("/letters"),))]


def section(calls: Sequence[tuple[Text, Letters, tuple[Finding, ...]]], request: Mapping[str, Any],
            names: Mapping[str, str]) -> list[Section]:
    """One section with a sentence for each text."""
    return [Section(title="Letters", lead=tuple(Sentence(text=f"{f.text}.", findings=(f.id,))
                                                for _, _, found in calls for f in found))]


ONE_BY_ONE = Tool(
    name="sample-one-by-one", version="1", summary="Count the letters of a text one by one", input=Text, output=Letters,
    run="enlist_sample.letters:one_by_one", isolation="process", example=EXAMPLE,
    check_route="sample-without-others filters the text")
WITHOUT_OTHERS = Tool(
    name="sample-without-others", version="1", summary="Count what is left when all but letters is taken out",
    input=Text, output=Letters, run="enlist_sample.letters:without_others", findings="enlist_sample.letters:findings",
    section="enlist_sample.letters:section", example=EXAMPLE, check_route="sample-one-by-one looks at each character")


def _commands(work: Work) -> set[str]:
    (one,) = work.inputs
    return set(work.memory.open_artifact(one.ref).read_text("utf-8", "replace").split("\n"))


def shaky(work: Work, state: State) -> Draft:
    """Count, if the text allows it."""
    (one,) = work.inputs
    commands = _commands(work)
    if "stall" in commands:
        time.sleep(3600)
    if "freeze" in commands:
        os.kill(os.getpid(), signal.SIGSTOP)
    if "crash" in commands:
        os._exit(3)
    if "overspend" in commands:
        for number in range(2):
            work.account.reserve("usd", f"ask:{number}", 1.0)
            work.account.settle("usd", f"ask:{number}", 0.75)
    work.call("sample-without-others", "count", {"text": one.ref.model_dump(),
                                                 "lies": int(bool(commands & {"lie", "lie again"}))})
    return Draft()


def steady(work: Work, state: State) -> Draft:
    """Count."""
    (one,) = work.inputs
    if "wait" in _commands(work):
        time.sleep(12)
    work.call("sample-without-others", "count", {"text": one.ref.model_dump(),
                                                 "lies": 2 * int("lie again" in _commands(work))})
    return Draft()


def no_complaint(work: Work, state: State) -> list[str]:
    """Whoever counts cannot tell by itself."""
    return []


def verify(work: Work, state: State) -> Draft:
    """Count each text one by one and hold every claim against it."""
    checks = []
    for finding in work.upstream_findings():
        (text,) = (o["input"]["text"] for _, o in work.upstream_outcomes()
                   if finding.id in {f["id"] for f in o["findings"]})
        again = work.call("sample-one-by-one", f"recount:{text['sha256']}", {"text": text}).output.letters
        checks.append(Check(finding=finding.id, status="confirmed" if again == finding.value else "refuted",
                            route="one by one", reason=f"counted {again} one by one"))
    return Draft(checks=tuple(checks))


ROUNDS = Knob("rounds", "how often it may act", (Setting(1, 0.01), Setting(2)))
SHAKY = Specialist(
    name="sample-shaky", version="1", summary="counts letters, unless the text leads it astray", duty="analyst",
    capability="letter_count", route="trusting", reads=KINDS, writes=("letter-counts",),
    tools=("sample-without-others",), knobs=(ROUNDS,), act="enlist_sample.letters:shaky",
    check="enlist_sample.letters:no_complaint", quality=0.95, seconds=2.0)
STEADY = Specialist(
    name="sample-steady", version="1", summary="counts letters", duty="analyst", capability="letter_count",
    route="filtering", reads=KINDS, writes=("letter-counts",), tools=("sample-without-others",), knobs=(ROUNDS,),
    act="enlist_sample.letters:steady", check="enlist_sample.letters:no_complaint", quality=0.6, seconds=1.0)
VERIFIER = Specialist(
    name="sample-recounter", version="1", summary="counts letters one by one", duty="verifier",
    capability="letter_count", route="one by one", reads=("letter-counts",), writes=("checks",),
    tools=("sample-one-by-one",), knobs=(ROUNDS,), act="enlist_sample.letters:verify",
    check="enlist_sample.letters:no_complaint", seconds=1.0)
