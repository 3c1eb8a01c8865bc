"""How a run ended, for people: the answer first, then what is missing, where the report lies and what to type next."""

from collections.abc import Iterator

from enlist.evals.cli.answer import Answer
from enlist.evals.cli.terminal import Terminal
from enlist.orchestrator.report.content import Content
from enlist.orchestrator.report.wording import headline
from enlist.orchestrator.run import Ended
from enlist.orchestrator.state import EXIT_CODES

MOST_LINES = 24  # sentences shown; the report has all


def answer_of(ended: Ended, code: int | None = None) -> Answer:
    """The answer of a command that ends a run; `code` None is the run's own exit status."""
    status = EXIT_CODES.get(ended.status, 0) if code is None else code
    document = ended.document()
    if document["error"] is not None:
        document["error"].pop("details", None)  # a traceback is for ENLIST_DEBUG, not for a document
    return Answer(document, lambda terminal: show_ended(ended, terminal), status)


def show_ended(ended: Ended, terminal: Terminal) -> None:
    """Print it."""
    if ended.content is not None:
        for line in sentences(ended.content):
            terminal.paragraph(line)
        terminal.line(headline(ended.content, ended.status), "bold")
        for gap in gaps(ended.content):
            terminal.paragraph(f"- {gap}")
    else:
        terminal.line(f"Run {ended.run}: {ended.status}.", "bold")
    if ended.error is not None:
        terminal.fault(ended.error)
    terminal.line()
    for change in ended.reenlisted:
        terminal.line(f"Re-enlisted {change['role']}: {change['by']} for {change['replaced']}")
    if ended.written is not None:
        paths = ended.written.paths()
        terminal.line(f"Report: {paths['html']}")
        terminal.line(f"        {paths['md']}")
        terminal.line(f"        {paths['json']}")
    terminal.line(f"Run {ended.run}, {ended.cost['seconds']:.1f} s. Next:")
    for line in ended.next.splitlines():
        terminal.line(f"  {line}")


def sentences(content: Content) -> Iterator[str]:
    """What is assumed, in one paragraph, then the lead of every section, at most `MOST_LINES` in all."""
    for section in content.sections[:1]:
        if section.assumptions:
            yield "Assumed: " + " ".join(sentence.text for sentence in section.assumptions)
    found = [(section.title, sentence.text) for section in content.sections for sentence in section.lead]
    several = len(content.sections) > 1
    for title, text in found[:MOST_LINES]:
        yield f"{title}: {text}" if several else text
    if len(found) > MOST_LINES:
        yield f"({len(found) - MOST_LINES} more in the report)"


def gaps(content: Content) -> Iterator[str]:
    """What was asked for and is not there."""
    for role in content.unfinished:
        yield f"{role.role} gave up ({role.code}): {role.message}" + (f" To fix: {role.fix}." if role.fix else "")
    for missing in content.missing:
        yield f"missing {missing.capability}: {missing.reason}"
    if content.plan is None:
        yield "Nothing installed here answers this request."
        for near in content.nearest:
            yield f"nearest: {near.capability} ({near.status.replace('_', ' ')}): {near.reason}"
