"""The leaderboard as one HTML file: no scripts, nothing loaded from elsewhere; the plots are inline SVG."""

from collections.abc import Iterator, Sequence
from typing import Any

from enlist.evals.campaign import plots, wording
from enlist.evals.campaign.content import Board, Content, Spent
from enlist.orchestrator.report.html import STYLE, escape


def render_html(content: Content, run: dict[str, Any], costs: tuple[Spent, ...]) -> str:
    """The whole page."""
    body = "\n".join(_body(content, run, costs))
    return ('<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta name="viewport" '
            f'content="width=device-width,initial-scale=1"><title>{escape(content.name)}</title>'
            f"<style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n")


def _body(content: Content, run: dict[str, Any], costs: tuple[Spent, ...]) -> Iterator[str]:
    yield f"<h1>Campaign {escape(content.name)}</h1>"
    yield (f'<p class="status {escape(run["status"])}">{escape(content.campaign)}: {escape(run["status"])}, '
           f"{run['settled']} of {run['samples']} samples settled in {run['tries']} tries, "
           f"{run['cost']['seconds']:.0f} s.</p>")
    for board in content.boards:
        yield from _board(content, board, wording.spent_by_row(board, costs))
    if content.missing:
        yield f"<h2>Missing: {len(content.missing)} samples</h2><ul>"
        yield from (f"<li>{escape(name)}: {escape(run['given_up'].get(name, 'not run yet'))}</li>"
                    for name in content.missing)
        yield "</ul>"
    yield f"<h2>How to read this</h2><p>{escape(wording.MEANING)}</p>"
    yield _table(("part", "version"), list(content.versions.items()))


def _board(content: Content, board: Board, spent: dict[str, Spent]) -> Iterator[str]:
    yield f"<h2>{escape(wording.heading(board))}</h2>"
    yield f"<p>{escape(wording.reading(content, board))}</p>"
    yield plots.intervals(board)
    yield _table(("solver", "score", f"difference to {content.against}", "verdicts", "seconds", "seconds per success",
                  "USD per success"), [
        (wording.named(row), wording.estimated(row.score), wording.differing(row.difference), wording.verdicts(row),
         wording.amount(mine.seconds), wording.per_success(mine.seconds_per_success),
         wording.dollars(mine))
        for row in board.rows if (mine := spent.get(row.solver)) is not None])
    yield plots.score_against_cost(board, spent)
    for line in wording.absences(board):
        yield f"<p>{escape(line)}</p>"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    head = "".join(f"<th>{escape(column)}</th>" for column in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
