"""An analysis as Markdown for people: the answer in the first ten lines, then what it rests on."""

from collections.abc import Iterator
from typing import Any

from enlist.tools.logs.report.document import title_of

_SHOWN = 3


def markdown(document: dict[str, Any]) -> str:
    """The report of a document of `document.document`."""
    return "\n".join(_lines(document)) + "\n"


def answer(document: dict[str, Any]) -> list[str]:
    """What happened, in at most eight lines."""
    read = document["accounting"]
    share = f"{read['lines_read']:,} lines of {read['files']} file{'s' if read['files'] != 1 else ''}"
    if document["incident"] is False:
        return [f"No incident in these logs ({share} read): nothing stands out from its own baseline.",
                *(f"Not known: {u}." for u in document["unknown"])]
    lines = []
    if document["undecided"]:
        lines.append(f"Undecided: the signs of trouble are weak ({share} read).")
    best = document["candidates"][0] if document["candidates"] else None
    if best:
        sure = f"confidence {best['confidence']:.2f}"
        lines.append(f"Cause: {title_of(best['cause'])} in {best['component'] or 'the log'} ({sure}).")
        if best["trigger"]:
            lines.append(f"Set off by: {best['trigger'][:200]}")
    if document["start_utc"]:
        lines.append(f"When: {document['start_utc']} to {document['end_utc']}.")
    if document["impact"]:
        lines.append(f"Impact: {document['impact']}.")
    if best:
        lines += [f"Why: {why}." for why in best["why"][:2]]
    return lines


def _lines(document: dict[str, Any]) -> Iterator[str]:
    yield "# What happened"
    yield ""
    yield from answer(document)
    if document["timeline"]:
        yield from ("", "## Timeline", "", "| time (UTC) | service | event | lines |", "|---|---|---|---|")
        for event in document["timeline"]:
            text = event["claim"].replace("|", "\\|")
            yield f"| {event['time_utc']} | {event['service']} | {event['event'].replace('_', ' ')}: {text} | " \
                  f"{places(document['claims'][event['evidence']])} |"
    if len(document["candidates"]) > 1:
        yield from ("", "## Candidates", "", "| component | cause | confidence | why |", "|---|---|---|---|")
        for one in document["candidates"]:
            why = (one["why"][0] if one["why"] else "").replace("|", "\\|")
            yield f"| {one['component']} | {title_of(one['cause'])} | {one['confidence']:.2f} | {why} |"
    if document["red_herrings"]:
        yield from ("", "## Considered and rejected", "")
        for herring in document["red_herrings"]:
            yield f"- {herring['service']}: {herring['text']} ({herring['why_rejected']})"
    if document["claims"]:
        yield from ("", "## Evidence", "")
        for number, claim in enumerate(document["claims"], 1):
            mark = "" if claim["verified"] else " (not found again: not verified)"
            yield f"{number}. {claim['text']}: {places(claim)}{mark}"
    if document["unknown"]:
        yield from ("", "## Not known", "")
        yield from (f"- {text}" for text in document["unknown"])
    yield from ("", "## What was read", "")
    read = document["accounting"]
    kinds = ", ".join(f"{n:,} {c}" for c, n in read["by_category"].items())
    yield f"{read['lines_read']:,} lines ({kinds}) in {read['files']} files, {document['cost']['seconds']:.1f} s."
    yield from (f"- {s['file']}: not read, {s['reason']}" for s in read["files_skipped"])
    yield from (f"- {n['file']}: {n['text']}" for n in read["notes"])


def places(claim: dict[str, Any], most: int = _SHOWN) -> str:
    """Where the first lines of a claim are, and how many more there are."""
    shown = [f"{one['file']}:{one['line']}" for one in claim["lines"][:most]]
    more = len(claim["lines"]) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")
