"""How a run ended, for people: the answer first, then what is missing, where the report lies and what to type next.

A run that failed has no answer, so its reason comes first.
"""

from collections.abc import Iterator
from dataclasses import replace

from enlist.evals.cli.answer import Answer
from enlist.evals.cli.terminal import Terminal
from enlist.orchestrator.report.content import Content, Unfinished
from enlist.orchestrator.report.wording import headline
from enlist.orchestrator.run import Ended
from enlist.orchestrator.state import EXIT_CODES
from enlist.tools.runtime.errors import EnlistError

# What a terminal shows at most; the report has all.
MOST_LINES = 24
MOST_ASSUMED = 5  # a section's first assumptions say what was computed: inputs, batch, length, dtype, mode
MOST_REASONS = 5
MOST_NOTES = 5
NOTHING_FITS = "Nothing installed here answers this request."


def answer_of(ended: Ended, code: int | None = None) -> Answer:
    """The answer of a command that ends a run; `code` None is the run's own exit status."""
    ended = replace(ended, next=following(ended))
    status = EXIT_CODES.get(ended.status, 0) if code is None else code
    document = ended.document()
    if document["error"] is not None:
        document["error"].pop("details", None)  # a traceback is for ENLIST_DEBUG, not for a document
    return Answer(document, lambda terminal: show_ended(ended, terminal), status)


def show_ended(ended: Ended, terminal: Terminal) -> None:
    """Print it."""
    if ended.content is None:
        terminal.line(f"Run {ended.run}: {ended.status}.", "bold")
    else:
        _show_content(ended, ended.content, terminal)
    if ended.error is not None and (ended.content is None or ended.status != "failed"):
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


def _show_content(ended: Ended, content: Content, terminal: Terminal) -> None:
    failed = ended.status == "failed"
    found = list(gaps(content, ended.error if failed else None))
    if failed and found:
        terminal.paragraph(f"Failed: {found[0]}", style="bold")
        for gap in found[1:]:
            terminal.paragraph(f"- {gap}")
    for line in sentences(content):
        terminal.paragraph(line)
    if not failed or not found:
        terminal.line(headline(content, ended.status), "bold")
        for gap in found:
            terminal.paragraph(f"- {gap}")
    elif content.claims:
        terminal.line(headline(content, "").strip(), "bold")  # the counts alone
    for line in (*doubts(content), *notes(content)):
        terminal.paragraph(line)


def following(ended: Ended) -> str:
    """What to do next. A run that has ended is not pointed at itself: one that failed names the fix, any other its
    report."""
    if ended.next != f"enlist show {ended.run}" or ended.content is None:
        return ended.next
    if ended.status == "failed":
        fixes = [role.fix for role in roots(ended.content) if role.fix]
        if ended.error is not None and ended.error.fix:
            fixes.insert(0, ended.error.fix)
        if fixes:
            return fixes[0]
    return f"read {ended.written.paths()['html']}" if ended.written else "enlist runs"


def sentences(content: Content) -> Iterator[str]:
    """For each section what it assumes first of all, then its lead; at most `MOST_LINES` of leads in all."""
    several, shown, left_off = len(content.sections) > 1, 0, 0
    for section in content.sections:
        title = f"{section.title}: " if several else ""
        if section.assumptions and shown < MOST_LINES:
            yield f"{title}Assumed: " + " ".join(one.text for one in section.assumptions[:MOST_ASSUMED])
        for one in section.lead:
            if shown < MOST_LINES:
                yield title + one.text
                shown += 1
            else:
                left_off += 1
    if left_off:
        yield f"({left_off} more in the report)"


def roots(content: Content) -> list[Unfinished]:
    """The roles that gave up by themselves: not those that never began because all roles before them gave up."""
    gave_up = {role.role for role in content.unfinished}

    def derived(role: str) -> bool:
        plan = content.plan
        if plan is None or plan.role(role).duty == "writer":  # a writer works even where all others gave up
            return False
        above = plan.upstream(role)
        return bool(above) and gave_up.issuperset(above)

    return [role for role in content.unfinished if not derived(role.role)]


def gaps(content: Content, error: EnlistError | None = None) -> Iterator[str]:
    """What was asked for and is not there, the reason before the place; the fault that ended the run comes first."""
    if error is not None:
        yield _reason(error.message, error.given, error.fix)
    for role in roots(content):
        yield f"{_reason(role.message, role.given, role.fix)} ({role.role} gave up: {role.code})"
    if content.plan is None:
        yield NOTHING_FITS
    for missing in content.missing:
        yield f"missing {missing.capability}: {missing.reason}"
    if content.plan is None:
        for near in content.nearest:
            yield f"nearest: {near.capability} ({near.status.replace('_', ' ')}): {near.reason}"


def _reason(message: str, given: str | None, fix: str | None) -> str:
    line = message.rstrip(".") + (f" (given: {given})" if given else "") + "."
    return line + (f" To fix: {fix.rstrip('.')}." if fix else "")


def doubts(content: Content) -> list[str]:
    """Why claims are not confirmed, those of one reason together, the refuted first; at most `MOST_REASONS`."""
    groups: dict[tuple[str, str], list[str]] = {}
    for status in ("refuted", "not_checked"):
        for claim in content.claims:
            if claim.status == status:
                for reason in dict.fromkeys(c.reason for c in claim.checks if c.status == status):
                    groups.setdefault((status, reason), []).append(claim.finding.text)
    lines = [f"{status.replace('_', ' ').capitalize()}: "
             + (texts[0] if len(texts) == 1 else f"{len(texts)} claims") + f": {reason}"
             for (status, reason), texts in groups.items()]
    more = len(lines) - MOST_REASONS
    return lines[:MOST_REASONS] + ([f"({more} more reasons in the report)"] if more > 0 else [])


def notes(content: Content) -> list[str]:
    """What the roles left to be known, at most `MOST_NOTES`."""
    more = len(content.notes) - MOST_NOTES
    return [f"Note: {note}" for note in content.notes[:MOST_NOTES]] + (
        [f"({more} more notes in the report)"] if more > 0 else [])
