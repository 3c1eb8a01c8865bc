"""`enlist logs`: what happened in these logs, when, where it began and why that is believed."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from enlist.evals.cli.answer import Answer, Json

if TYPE_CHECKING:
    from enlist.tools.logs.analysis import Analysis
    from enlist.tools.logs.counting import Options

app = typer.Typer(add_completion=False, rich_markup_mode=None,
                  help="Read logs: what happened, templates, single lines.",
                  epilog="\b\nExample:\n  enlist logs summarize app.log db.log.gz /var/log/nginx")

Paths = Annotated[list[str], typer.Argument(metavar="PATH...", help="Files, folders, archives; - is standard input.",
                                            show_default=False)]
Since = Annotated[str | None, typer.Option("--since", metavar="TIME", help="ISO 8601, UTC where no zone is given.")]
Until = Annotated[str | None, typer.Option("--until", metavar="TIME", help="ISO 8601, UTC where no zone is given.")]
Service = Annotated[str | None, typer.Option("--service", metavar="NAME", help="Only what this service wrote.")]
_LOOK = 2.0  # seconds between two looks at logs that are followed
Zone = Annotated[str, typer.Option("--zone", metavar="+HH:MM", help="Of times that name no zone.")]


@app.command(epilog="\b\nExample:\n  enlist logs summarize app.log db.log.gz\n"
                    "  enlist logs summarize logs.tar.zst --around 2026-03-04T05:10 --json\n"
                    "  kubectl logs deploy/api | enlist logs summarize - --share")
def summarize(
    ctx: typer.Context,
    paths: Paths,
    since: Since = None,
    until: Until = None,
    around: Annotated[str | None, typer.Option("--around", metavar="TIME", help="An hour on both sides of it.")] = None,
    service: Service = None,
    zone: Zone = "+00:00",
    share: Annotated[bool, typer.Option("--share", help="Short text for a chat or ticket, masked.")] = False,
    mask: Annotated[bool, typer.Option("--mask", help="Take secrets and personal data out of all output.")] = False,
    markdown: Annotated[str | None, typer.Option("--markdown", metavar="FILE", help="Also write the report.")] = None,
    html: Annotated[str | None, typer.Option("--html", metavar="FILE", help="Also write a page with plots.")] = None,
    workers: Annotated[int, typer.Option("--workers", min=1, help="Ray tasks at a time; same answer for any.")] = 1,
    mapping: Annotated[str | None, typer.Option("--mapping", metavar="FILE", help="YAML: where time, level, service "
                                                "and message stand in your lines.")] = None,
    budget: Annotated[float | None, typer.Option("--budget-seconds", min=0.0, metavar="S",
                                                 help="Then answer from the sample read so far.")] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on as logs are written, until Ctrl-C.")] = False,
    no_index: Annotated[bool, typer.Option("--no-index", help="Read again, and keep nothing.")] = False,
    as_json: Json = False,
) -> Answer:
    """What happened in some logs: cause, time, timeline, evidence; or that there is no incident.

    Exit status: 0 a report or no incident, 1 failed, 4 undecided.
    """
    from enlist.evals.cli.logs_shown import show
    from enlist.tools.logs.analysis import analyse
    from enlist.tools.logs.framing.mapping import load
    from enlist.tools.logs.index import answered
    from enlist.tools.logs.report.document import document
    from enlist.tools.logs.report.masking import Masking
    from enlist.tools.logs.report.page import page_of
    from enlist.tools.logs.report.words import answer
    from enlist.tools.logs.report.words import markdown as written
    from enlist.tools.runtime.config import read

    options = replace(_options(since, until, around, service, zone), mapping=load(mapping) if mapping else None)
    if follow:
        return _followed(ctx.obj, paths, options, share or mask)
    with _Reading(ctx.obj, paths) as reading:
        def make() -> "Analysis":
            with _ray(workers):
                return analyse(paths, options, reading.at, workers=workers, budget=budget)

        analysis = make() if no_index or budget is not None else answered(read().home, paths, options, make)
    made = document(analysis)
    masking = Masking() if share or mask else None
    if masking is not None:
        made = masking.document(made)
    if html is not None:
        _write(html, page_of(analysis, made, masking))
    if markdown is not None:
        _write(markdown, written(made))

    def shown(terminal: Any) -> None:
        if share:
            terminal.text("\n".join(answer(made)))
        else:
            show(terminal, made)

    return Answer(made, shown, code=4 if made["undecided"] else 0)


def _followed(terminal: Any, paths: list[str], options: "Options", masked: bool) -> Answer:
    """Show each new answer as it comes; the last one is the command's."""
    from enlist.evals.cli.logs_shown import show
    from enlist.tools.logs.following import follow
    from enlist.tools.logs.report.document import document
    from enlist.tools.logs.report.masking import Masking

    made: dict[str, Any] = {}

    def wait() -> bool:
        time.sleep(_LOOK)
        return True

    try:
        for analysis in follow(paths, options, wait):
            made = document(analysis)
            if masked:
                made = Masking().document(made)
            if terminal.mode == "human":
                show(terminal, made)
    except KeyboardInterrupt:
        if not made:
            raise
    return Answer(made, lambda shown: shown.note("stopped"), code=4 if made["incident"] is None else 0)


@app.command(epilog="\b\nExample:\n  enlist logs templates app.log\n  enlist logs templates app.log --assign")
def templates(
    ctx: typer.Context,
    paths: Paths,
    assign: Annotated[bool, typer.Option("--assign", help="One template id for each physical line.")] = False,
    as_json: Json = False,
) -> Answer:
    """The statements behind some logs, most frequent first, with counts and where each is first seen."""
    from enlist.tools.logs.statements import assigned, statements

    with _Reading(ctx.obj, paths) as reading:
        if assign:
            ids = list(assigned(paths, reading.at))
            return Answer([], lambda terminal: terminal.text("\n".join(i or "-" for i in ids)),
                          rows=({"template_id": i} for i in ids))
        rows = statements(paths, reading.at)

    def show(terminal: Any) -> None:
        terminal.table(["count", "template", "first line"], [
            [f"{row['count']:,}", row["template"], f"{row['first_line']['file']}:{row['first_line']['line']}"]
            for row in rows])

    return Answer(rows, show, rows=rows)


def _options(since: str | None, until: str | None, around: str | None, service: str | None, zone: str) -> "Options":
    from enlist.tools.logs.asked import hour_around, instant, seconds_east
    from enlist.tools.logs.counting import Options

    offset = seconds_east(zone)
    low, high = instant(since, offset), instant(until, offset)
    if around is not None:
        low, high = hour_around(around, offset)
    return Options(low, high, service, offset)


@contextmanager
def _ray(workers: int) -> Iterator[None]:
    """A local Ray of our own while several workers read."""
    if workers == 1:
        yield
        return
    from enlist.orchestrator.cluster import Connection
    from enlist.tools.runtime.config import read

    connection = Connection(read().home, "", "token")
    try:
        connection.ready()
        yield
    finally:
        connection.close()


class _Reading:
    """Says on standard error how much was read and how long the rest will take, where that takes longer than two
    seconds and people look."""

    def __init__(self, terminal: Any, paths: list[str]) -> None:
        self._terminal, self._begun, self._said = terminal, time.monotonic(), 0.0
        self._whole = _plain_bytes(paths)

    def __enter__(self) -> "_Reading":
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def at(self, read: int) -> None:
        """So many bytes were read."""
        passed = time.monotonic() - self._begun
        if passed - self._said >= 2.0 and self._terminal.mode == "human":
            self._said = passed
            share = min(1.0, read / self._whole) if self._whole else 0.0
            rest = f" ({100 * share:.0f} %, {passed / share - passed:.0f} s left)" if share > 0.01 else ""
            self._terminal.note(f"{read / 1e6:,.0f} MB read in {passed:.0f} s{rest} ...")


def _plain_bytes(paths: list[str]) -> int:
    """Bytes of plain files; 0 where some are packed or a pipe, whose length is not known."""
    total = 0
    for path in paths:
        inner = [path] if os.path.isfile(path) else [os.path.join(f, n) for f, _, names in os.walk(path) for n in names]
        if not inner:
            return 0
        for name in inner:
            if not os.path.isfile(name) or name.endswith((".gz", ".zst", ".xz", ".bz2", ".zip", ".tgz")):
                return 0
            total += os.path.getsize(name)
    return total


def _write(path: str, text: str) -> None:
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    half = target.with_name(f".{target.name}.part")
    half.write_text(text, encoding="utf-8")
    half.replace(target)
