"""The leaderboard as Markdown that reads in 80 columns: one block per solver where a table would not fit."""

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from enlist.evals.campaign import wording
from enlist.evals.campaign.content import Content, Spent

WIDTH = 80
MOST_MISSING = 20


def render_markdown(content: Content, run: dict[str, Any], costs: tuple[Spent, ...]) -> str:
    """The whole document."""
    return "\n".join(_lines(content, run, costs)) + "\n"


def _lines(content: Content, run: dict[str, Any], costs: tuple[Spent, ...]) -> Iterator[str]:
    yield f"# Campaign {content.name}"
    yield ""
    yield from _wrap(f"{content.campaign}: {run['status']}, {run['settled']} of {run['samples']} samples settled in "
                     f"{run['tries']} tries, {run['cost']['seconds']:.0f} s.")
    for board in content.boards:
        yield ""
        yield f"## {wording.heading(board)}"
        yield ""
        yield from _wrap(wording.reading(content, board))
        yield ""
        yield from _table(("solver", "score", "verdicts"), [
            (wording.named(row), wording.estimated(row.score), wording.verdicts(row)) for row in board.rows])
        if any(row.difference for row in board.rows):
            yield ""
            yield from _table(("solver", f"difference to {content.against}"), [
                (row.solver, wording.differing(row.difference)) for row in board.rows if row.difference])
        yield ""
        mine = wording.spent_by_row(board, costs)
        yield from _table(("solver", "seconds", "seconds per success", "USD per success"), [
            (row.solver, wording.amount(mine[row.solver].seconds),
             wording.per_success(mine[row.solver].seconds_per_success),
             wording.dollars(mine[row.solver])) for row in board.rows if row.solver in mine])
        for line in wording.absences(board):
            yield ""
            yield from _wrap(line)
    if content.missing:
        yield ""
        yield f"## Missing: {len(content.missing)} samples"
        yield ""
        for name in content.missing[:MOST_MISSING]:
            yield from _wrap(f"- {name}: {run['given_up'].get(name, 'not run yet')}")
        if len(content.missing) > MOST_MISSING:
            yield f"- and {len(content.missing) - MOST_MISSING} more"
    yield ""
    yield "## How to read this"
    yield ""
    yield from _wrap(wording.MEANING)
    yield ""
    for what, version in content.versions.items():
        yield from _wrap(f"- {what}: {version}")


def _wrap(text: str) -> list[str]:
    return textwrap.wrap(text, WIDTH, break_on_hyphens=False, subsequent_indent="  " if text.startswith("- ") else "")


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table, or a list with a line for each further cell where the table would be too wide."""
    cells = [tuple(cell.replace("|", "\\|") for cell in row) for row in (columns, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    if sum(widths) + 3 * len(widths) + 1 <= WIDTH:
        lines = ["| " + " | ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) + " |" for row in cells]
        yield from (lines[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *lines[1:])
        return
    for row in rows:
        yield from _wrap(f"- {columns[0]} {row[0]}")
        for name, cell in zip(columns[1:], row[1:], strict=True):
            yield from textwrap.wrap(f"{name}: {cell}", WIDTH, initial_indent="  - ", subsequent_indent="    ")
