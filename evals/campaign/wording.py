"""The leaderboard in words and numbers, the same in Markdown, HTML and on the terminal."""

from enlist.evals.campaign.content import Board, Content, Difference, Estimate, PerSuccess, Row, Spent

MEANING = (
    "Scores are means in [0, 1] with 95 % BCa bootstrap intervals, tasks drawn whole. Differences are paired; p is by "
    "sign flips of whole tasks, adjusted by Holm's method over all comparisons of this leaderboard. Success is the "
    "verdict `ok`. An interval without width says that all tasks scored the same, not that the score is certain. "
    "Verdicts `error` are faults of the benchmark and are not counted.")
SIGNIFICANT = 0.05


def estimated(e: Estimate | None) -> str:
    """A mean with its interval; one task says nothing about others."""
    if e is None:
        return "-"
    return f"{e.mean:.3f} (one task)" if e.tasks == 1 else f"{e.mean:.3f} [{e.low:.3f}, {e.high:.3f}]"


def differing(d: Difference | None) -> str:
    """A difference with its adjusted p."""
    if d is None:
        return "-"
    e = d.estimate
    return f"{e.mean:+.3f} [{e.low:+.3f}, {e.high:+.3f}] p={d.adjusted_p:.3g}"


def named(row: Row) -> str:
    """A row's solver with the kinds of reference row that it is."""
    return row.solver + (f" ({', '.join(row.kinds)})" if row.kinds else "")


def verdicts(row: Row) -> str:
    """Counts of verdicts, and what was left out or is missing."""
    said = [f"{count} {verdict}" for verdict, count in row.verdicts.items()]
    said += [f"{row.skipped} left out"] if row.skipped else []
    said += [f"{row.missing} missing"] if row.missing else []
    return ", ".join(said) or "-"


def amount(value: float | None) -> str:
    """A cost; None is infinite."""
    return "infinite" if value is None else f"{value:.3g}"


def per_success(cost: PerSuccess) -> str:
    """A cost per success with its interval."""
    if cost.value is None:
        return "infinite (no success)"
    return f"{amount(cost.value)} [{amount(cost.low)}, {amount(cost.high)}]"


def dollars(spent: Spent) -> str:
    """Dollars per success; where nothing was reported nothing is known."""
    return per_success(spent.usd_per_success) if spent.usd_per_success else "none reported"


def heading(board: Board) -> str:
    """What a board is of."""
    seeds = f"seed {board.seeds[0]}" if len(board.seeds) == 1 else f"{len(board.seeds)} seeds"
    return f"{board.environment}: {board.tasks} {board.split} tasks, {seeds}"


def absences(board: Board) -> list[str]:
    """Why rows that one would look for are not there."""
    return [f"No {kind} row: {reason}." for kind, reason in board.absent.items()] + [
        f"{solver} did not run here: {reason}." for solver, reason in board.not_run.items()]


def reading(content: Content, board: Board) -> str:
    """What the board says, in one sentence."""
    if not board.rows or board.rows[0].score is None:
        return "Nothing is settled here."
    best = board.rows[0].score
    top = [r.solver for r in board.rows if r.score is not None and r.score.mean == best.mean]
    said = f"{_listed(top)} score{'' if len(top) > 1 else 's'} best with {estimated(best)}."
    apart = [r.solver for r in board.rows if r.difference and r.difference.adjusted_p < SIGNIFICANT]
    if any(r.difference for r in board.rows):
        said += (f" Apart from {content.against} beyond chance: {', '.join(apart)}." if apart
                 else f" Nothing differs from {content.against} beyond chance.")
    return said


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def spent_by_row(board: Board, costs: tuple[Spent, ...]) -> dict[str, Spent]:
    """The costs of a board by solver."""
    return {s.solver: s for s in costs if s.environment == board.environment}
