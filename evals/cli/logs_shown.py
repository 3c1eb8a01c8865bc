"""What `enlist logs` shows at a terminal: the answer first, then timeline, candidates, evidence, what was read."""

from typing import Any

from enlist.tools.logs.report.document import title_of
from enlist.tools.logs.report.words import answer, places


def show(terminal: Any, made: dict[str, Any]) -> None:
    """An analysis for people, 80 columns wide; the whole sentences are in the report that --markdown writes."""
    for line in answer(made):
        terminal.paragraph(line)
    if made["timeline"]:
        terminal.line()
        terminal.table(["time (UTC)", "service", "event", "lines"], [
            [event["time_utc"][:19].replace("T", " "), event["service"],
             f"{event['event'].replace('_', ' ')}: {event['claim']}", places(made["claims"][event["evidence"]], 1)]
            for event in made["timeline"]], keep=(0, 1))
    if len(made["candidates"]) > 1:
        terminal.line()
        terminal.table(["confidence", "component", "cause", "why"], [
            [f"{one['confidence']:.2f}", one["component"], title_of(one["cause"]), one["why"][0] if one["why"] else ""]
            for one in made["candidates"]], keep=(0, 1))
    for herring in made["red_herrings"]:
        terminal.line()
        terminal.paragraph(f"Considered and rejected: {herring['service']}: {herring['text']} "
                           f"({herring['why_rejected']}).")
    if made["unknown"]:
        terminal.line()
        for text in made["unknown"]:
            terminal.paragraph(f"Not known: {text}.")
    terminal.line()
    read = made["accounting"]
    kinds = ", ".join(f"{n:,} {c.replace('_', ' ')}" for c, n in read["by_category"].items())
    terminal.paragraph(f"{read['lines_read']:,} lines read ({kinds}) in {made['cost']['seconds']:.1f} s; "
                       f"{sum(c['verified'] for c in made['claims'])} of {len(made['claims'])} claims found again at "
                       "their lines.")
    for one in read["files_skipped"]:
        terminal.paragraph(f"{one['file']}: not read, {one['reason']}")
    for one in read["notes"]:
        terminal.paragraph(f"{one['file']}: {one['text']}")
