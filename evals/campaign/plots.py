"""The plots of a leaderboard as SVG: intervals of the scores, and score against cost."""

import math
from collections.abc import Sequence
from html import escape

from enlist.evals.campaign.content import Board, Row, Spent

WIDTH, LEFT, LINE = 720, 220, 26  # user units
INK, FAINT = "#247", "#ccc"


def intervals(board: Board) -> str:
    """One line for each row: a point at the mean, a bar over its interval, on a scale from 0 to 1."""
    rows = [row for row in board.rows if row.score is not None]
    height = LINE * (len(rows) + 2)

    def x(value: float) -> float:
        return LEFT + value * (WIDTH - LEFT - 20)

    parts = [_line(x(tick), LINE / 2, x(tick), height - LINE, FAINT) + _text(x(tick), height - 8, f"{tick:g}", "middle")
             for tick in (0, 0.25, 0.5, 0.75, 1)]
    for number, row in enumerate(rows):
        assert row.score is not None
        y = LINE * (number + 1)
        parts += [_text(LEFT - 10, y + 5, _short(row), "end"),
                  _line(x(row.score.low), y, x(row.score.high), y, INK, 3), _circle(x(row.score.mean), y, row)]
    return _svg(height, f"Scores in {board.environment} with 95 % intervals", parts)


def score_against_cost(board: Board, spent: dict[str, Spent]) -> str:
    """A point for each row: seconds per sample on a logarithmic axis, the mean score upwards with its interval."""
    rows = [(row, spent[row.solver].seconds / max(1, row.samples)) for row in board.rows
            if row.score is not None and row.solver in spent and spent[row.solver].seconds > 0]
    if not rows:
        return ""
    low = math.floor(math.log10(min(cost for _, cost in rows)))
    high = max(low + 1, math.ceil(math.log10(max(cost for _, cost in rows))))
    height, top, bottom = 360, 20, 320

    def x(cost: float) -> float:
        return 60 + (math.log10(cost) - low) / (high - low) * (WIDTH - 220)

    def y(value: float) -> float:
        return bottom - value * (bottom - top)

    decades = [10.0**exponent for exponent in range(low, high + 1)]
    parts = [_line(x(cost), top, x(cost), bottom, FAINT) + _text(x(cost), height - 20, f"{cost:g} s", "middle")
             for cost in decades]
    parts += [_line(60, y(v), WIDTH - 160, y(v), FAINT) + _text(50, y(v) + 5, f"{v:g}", "end") for v in (0, 0.5, 1)]
    for row, cost in rows:
        assert row.score is not None
        parts += [_line(x(cost), y(row.score.low), x(cost), y(row.score.high), INK, 2),
                  _circle(x(cost), y(row.score.mean), row),
                  _text(x(cost) + 8, y(row.score.mean) - 6, _short(row), "start")]
    return _svg(height, f"Score against seconds per sample in {board.environment}", parts)


def _short(row: Row) -> str:
    return row.solver if len(row.solver) <= 28 else row.solver[:27] + "…"


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: int = 1) -> str:
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="{colour}" '
            f'stroke-width="{width}"/>')


def _circle(x: float, y: float, row: Row) -> str:
    mean = row.score.mean if row.score else 0.0
    return (f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{INK}">'
            f"<title>{escape(row.solver)} {mean:.3f}</title></circle>")


def _text(x: float, y: float, text: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="13">{escape(text)}</text>'


def _svg(height: float, title: str, parts: Sequence[str]) -> str:
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" role="img" '
            f'font-family="sans-serif"><title>{escape(title)}</title>{"".join(parts)}</svg>')
