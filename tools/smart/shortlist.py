"""The shortlist: from a pool of any size to K candidates for each role, with synergy in mind.

One blocked pass keeps about 2,000 agents for each role by fit. Fit alone loses the optimum where synergy decides, so
the shortlist merges three lists: a quarter by fit, then in turn agents by message score (fit plus, for each neighbour
role, the best of pair term and the neighbour's share of fit) and the best responders to random teams. Scores and
responders are taken against the neighbours' shortlists, so the merge runs twice.
"""

from dataclasses import dataclass

import numpy as np

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.smart.grid import FloatArray
from enlist.tools.smart.problem import Rows, TeamProblem

PREFILTER = 2000
SAMPLE = 1 << 14
WIDTH = 96
ROUNDS = 2
RANDOM_TEAMS = 256
ROUTE_SPARE = 8  # agents of each further route kept for a role whose route must differ from another's


@dataclass(frozen=True, eq=False)
class Shortlist:
    """For each role the prefiltered rows and the shortlisted rows (both ordered by card id), and the best fit.

    `covers[r]` tells whether the shortlist of role r holds every eligible agent of the pool.
    """

    prefiltered: tuple[Rows, ...]
    rows: tuple[Rows, ...]
    best_fits: FloatArray
    covers: tuple[bool, ...]


def first_by_score(problem: TeamProblem, rows: Rows, scores: FloatArray, count: int) -> Rows:
    """The `count` best of `rows`, best first, equal scores by card id; -inf never. Only the tied are sorted by id."""
    alive = scores > -np.inf
    rows, scores = rows[alive], scores[alive]
    if len(rows) > count:
        least = np.partition(scores, len(rows) - count)[len(rows) - count]
        sure, tied = scores > least, problem.pool.by_id(rows[scores == least])
        missing = count - int(np.sum(sure))
        rows = np.concatenate([rows[sure], tied[:missing]])
        scores = np.concatenate([scores[sure], np.full(missing, least)])
    if problem.pool.sorted:
        return rows[np.lexsort((rows, -scores))]
    rank = {row: number for number, row in enumerate(problem.pool.by_id(rows).tolist())}
    ranks = np.array([rank[row] for row in rows.tolist()], dtype=np.intp)
    return rows[np.lexsort((ranks, -scores))]


def prefilter(problem: TeamProblem, role: int, count: int = PREFILTER) -> tuple[Rows, int]:
    """The `count` fittest agents for `role`, and how many are eligible; `not_found` where nobody is.

    Where the role's route must differ from k others', agents of at least k + 1 routes are kept if there are so many.
    """
    eligible = int(np.count_nonzero(problem.ceilings[role] > -np.inf))
    if eligible == 0:
        raise EnlistError("not_found", f"no agent of the pool is eligible for role {problem.roles[role]!r}",
                          given=f"{len(problem.pool)} agents", allowed="at least one agent with a finite fit",
                          fix="install or enlist an agent with this role's capability")
    rows = _at_least(problem, role, min(count, eligible))
    return _with_routes(problem, role, first_by_score(problem, rows, problem.fits(role, rows), count)), eligible


def _at_least(problem: TeamProblem, role: int, count: int) -> Rows:
    """Rows that hold the `count` fittest: those whose ceiling is at most the slack below the count-th greatest.

    A sample guesses a threshold that few pass, so that the whole pool is compared once and never sorted.
    """
    ceilings = problem.ceilings[role]
    rows = np.flatnonzero(ceilings > -np.inf)
    stride = len(ceilings) // SAMPLE
    if stride > 1:
        sample = ceilings[::stride]
        wanted = min(len(sample), int(count / stride + 4 * np.sqrt(count / stride)) + 4)
        guess = float(np.partition(sample, len(sample) - wanted)[len(sample) - wanted])
        passing = np.flatnonzero((ceilings >= guess - problem.slack(guess)) & (ceilings > -np.inf))
        if np.count_nonzero(ceilings[passing] >= guess) >= count:
            rows = passing
    values = ceilings[rows]
    least = float(np.partition(values, len(values) - count)[len(values) - count])
    return rows[values >= least - problem.slack(least)]


def _with_routes(problem: TeamProblem, role: int, kept: Rows) -> Rows:
    routes, partners = problem.pool.routes, problem.differs_from(role)
    if routes is None:
        return kept
    for _ in partners:
        known = np.unique(routes[kept])
        if len(known) > len(partners) or (len(known) and known[0] < 0):
            break
        rest, scores = [kept[:0]], [np.empty(0)]
        for start, block in problem.scan(role):
            fresh = np.flatnonzero((block > -np.inf) & ~np.isin(routes[start:start + len(block)], known))
            best = first_by_score(problem, fresh + start, block[fresh], ROUTE_SPARE)
            rest.append(best)
            scores.append(problem.fits(role, best))
        kept = np.concatenate([kept, first_by_score(problem, np.concatenate(rest), np.concatenate(scores),
                                                    ROUTE_SPARE)])
    return kept


def shortlist(problem: TeamProblem, random: np.random.Generator, width: int = WIDTH) -> Shortlist:
    """`width` candidates for each role (a few more where routes must differ); everybody where there are no more."""
    found = [prefilter(problem, role) for role in range(len(problem.roles))]
    pools = [problem.pool.by_id(rows) for rows, _ in found]  # so that the first of the best is the first by card id
    fits = [problem.fits(role, rows) for role, rows in enumerate(pools)]
    heads = [first_by_score(problem, rows, fits[role], max(1, width // 4)) for role, rows in enumerate(pools)]
    heads = [_spread(problem, role, head, pools[role], fits[role]) for role, head in enumerate(heads)]
    lists = [first_by_score(problem, rows, fits[role], width) for role, rows in enumerate(pools)]
    if any(len(rows) > width for rows in pools):
        for _ in range(ROUNDS):
            drawn = [rows[(random.random(RANDOM_TEAMS) * len(rows)).astype(np.intp)] for rows in lists]
            lists = [_merge(width, heads[role], _by_message(problem, role, pools, fits, lists, width),
                            _responders(problem, role, pools[role], drawn), pools[role])
                     for role in range(len(pools))]
    ordered = tuple(problem.pool.by_id(rows) for rows in lists)
    return Shortlist(tuple(pools), ordered,
                     np.array([np.max(values) for values in fits]),
                     tuple(len(rows) == eligible for rows, (_, eligible) in zip(ordered, found, strict=True)))


def _spread(problem: TeamProblem, role: int, head: Rows, rows: Rows, fits: FloatArray) -> Rows:
    """`head` with the best agents of further routes, so that every partner's route can be avoided."""
    routes = problem.pool.routes
    if routes is None:
        return head
    for _ in problem.differs_from(role):
        other = ~np.isin(routes[rows], np.unique(routes[head]))
        head = np.concatenate([head, first_by_score(problem, rows[other], fits[other], ROUTE_SPARE)])
    return head


def _by_message(problem: TeamProblem, role: int, pools: list[Rows], fits: list[FloatArray], lists: list[Rows],
                width: int) -> Rows:
    score = fits[role].copy()
    for other in problem.neighbours(role):
        share = problem.fits(other, lists[other]) / len(problem.neighbours(other))
        pairs = problem.pair(role, other, pools[role], lists[other])
        score += np.max(pairs + share[None, :], axis=1, initial=-np.inf)
    return first_by_score(problem, pools[role], score, width)


def _responders(problem: TeamProblem, role: int, rows: Rows, drawn: list[Rows]) -> Rows:
    """The best of `rows` beside each random team, the most frequent first."""
    score = problem.beside_teams(role, rows, np.stack(drawn, axis=1))
    best = np.argmax(score, axis=1)
    wins = np.bincount(best[score[np.arange(len(best)), best] > -np.inf], minlength=len(rows))
    return first_by_score(problem, rows, np.where(wins > 0, wins.astype(np.float64), -np.inf), len(rows))


def _merge(width: int, head: Rows, messages: Rows, responders: Rows, rest: Rows) -> Rows:
    """`head`, then messages and responders in turn, then `rest`, each agent once, `width` in all (or all of `head`)."""
    chosen = dict.fromkeys(head.tolist())
    longest = max(len(messages), len(responders))
    turns = [listed[turn] for turn in range(longest) for listed in (messages, responders) if turn < len(listed)]
    for row in [*turns, *rest]:
        if len(chosen) >= width:
            break
        chosen.setdefault(int(row))
    return np.array(list(chosen), dtype=np.intp)
