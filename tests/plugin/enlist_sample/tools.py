"""Two tools that count the words of a text by two routes."""

import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.findings import Finding
from enlist.tools.runtime.section import Section, Sentence
from enlist.tools.runtime.tool import Resources, Tool, ToolContext, ToolModel

EXAMPLE = {"text": {"sha256": "0" * 64, "name": "notes.txt", "bytes": 0}}
SLEEP = re.compile(r"^sleep (\d+(?:\.\d+)?)$", re.MULTILINE)


class Text(ToolModel):
    """A UTF-8 text; `record` is a file that tests count the executions by."""

    text: ArtifactRef
    record: str | None = None


class Words(ToolModel):
    """How many words the text has."""

    words: int


def counted(given: Text, ctx: ToolContext) -> Words:
    """Split at white space. A line such as `sleep 20` in the text makes it take so many seconds."""
    _record(given.record, "started")
    text = ctx.open_artifact(given.text).read_text("utf-8", "replace")
    ctx.progress(0.5, "read the text")
    for seconds in SLEEP.findall(text):
        time.sleep(float(seconds))
    _record(given.record, "finished")
    return Words(words=len(text.split()))


def recount(given: Text, ctx: ToolContext) -> Words:
    """Count the places where a word follows white space or the beginning."""
    text = " " + ctx.open_artifact(given.text).read_text("utf-8", "replace")
    return Words(words=sum(a.isspace() and not b.isspace() for a, b in pairwise(text)))


def findings(capability: str, given: Text, output: Words, evidence: Callable[[str], Any]) -> list[Finding]:
    """The one claim of a count."""
    return [Finding.make(template="{subject} has {value} words", capability=capability, subject=given.text.name,
                         predicate="words", value=output.words, unit="1", tier="computed",
                         evidence=(evidence("/words"),))]


def section(calls: Sequence[tuple[Text, Words, tuple[Finding, ...]]], request: Mapping[str, Any],
            names: Mapping[str, str]) -> list[Section]:
    """One section with a sentence for each text."""
    return [Section(title="Words", lead=tuple(Sentence(text=f"{f.text}.", findings=(f.id,))
                                              for _, _, found in calls for f in found))]


def _record(path: str | None, what: str) -> None:
    """Append a line to an existing file, in one write."""
    if path is not None:
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND)
        os.write(descriptor, f"{what}\n".encode())
        os.close(descriptor)


COUNTED = Tool(
    name="sample-counted", version="1", summary="Count the words of a text, in a process of its own", input=Text,
    output=Words, run="enlist_sample.tools:counted", findings="enlist_sample.tools:findings",
    section="enlist_sample.tools:section", example=EXAMPLE, check_route="sample-recount looks at each character",
    effects=frozenset({"writes-files"}), isolation="process", time_limit=60.0,
    resources=Resources(cpus=0.5, memory_bytes=512 << 20))
RECOUNT = Tool(
    name="sample-recount", version="1", summary="Count the words of a text character by character", input=Text,
    output=Words, run="enlist_sample.tools:recount", example=EXAMPLE, check_route="sample-counted splits the text")
