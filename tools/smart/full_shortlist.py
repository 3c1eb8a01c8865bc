"""The shortlist under the full objective: who is cheap, quick, versatile or steady counts beside who is fit.

Where a role has more eligible agents than the shortlist is wide, three shortlists are merged: by fit, and by fit plus a
linear form of the global terms (every delay in full, the slopes of coverage and risk at the mean of the fittest) with
money at its market price and at four times that. The cheapest agents always stay, in a number that some cheapest team
of the pool is among them.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import reduce

import numpy as np

from enlist.tools.smart.full_bounds import market_price
from enlist.tools.smart.grid import TERM_LIMIT, FloatArray
from enlist.tools.smart.objective import GlobalTerms
from enlist.tools.smart.objective.budget import Budget
from enlist.tools.smart.problem import Rows, TeamProblem
from enlist.tools.smart.shortlist import WIDTH, Shortlist, shortlist

DEAR = 4.0  # the second price of money


def full_shortlist(problem: TeamProblem, random: np.random.Generator, width: int = WIDTH) -> Shortlist:
    """As `shortlist`, for a problem with global terms: about `width` to 1.5 * `width` candidates for each role."""
    terms = problem.terms
    if terms is None:
        return shortlist(problem, random, width)
    plain = replace(problem, terms=None)
    eligible = [_eligible(plain, role, width) for role in range(len(problem.roles))]
    if all(rows is not None for rows in eligible):
        return shortlist(plain, random, width)
    fittest = shortlist(plain, random, max(len(problem.roles), width // 2))
    lists = [fittest.rows]
    cheap = cheapest_rows(plain, terms.budget) if terms.budget else ()
    if cheap:
        lists.append(cheap)
    linear = _linear(terms, fittest.prefiltered)
    for price in _prices(plain, terms, linear, [fittest.prefiltered, *([cheap] if cheap else [])]):
        lists.append(shortlist(replace(plain, unary=_worth(plain, terms.budget, linear, price)), random,
                               max(len(problem.roles), width // 2)).rows)
    rows = tuple(problem.pool.by_id(reduce(np.union1d, [found[role] for found in lists])) if all_of is None else all_of
                 for role, all_of in enumerate(eligible))
    return Shortlist(fittest.prefiltered, rows, fittest.best_fits, tuple(all_of is not None for all_of in eligible))


def _eligible(problem: TeamProblem, role: int, most: int) -> Rows | None:
    """All eligible agents of a role by card id, or None where they are more than `most`."""
    found: list[Rows] = []
    for start, fits in problem.scan(role):
        found.append(np.flatnonzero(fits > -np.inf) + start)
        if sum(map(len, found)) > most:
            return None
    return problem.pool.by_id(np.concatenate(found))


Linear = Callable[[int, slice | Rows], FloatArray]


def _linear(terms: GlobalTerms, sample: tuple[Rows, ...]) -> Linear:
    """The terms' slopes at the mean of a sample of each role, as a function of a role and rows."""
    roles = range(len(sample))
    misses = [] if terms.coverage is None else [np.mean(terms.coverage.columns(role, sample[role]), axis=0)
                                                for role in roles]
    deviation = 0.0 if terms.risk is None else float(np.sqrt(sum(np.mean(terms.risk.columns(role, sample[role]))
                                                                 for role in roles)))

    def linear(role: int, rows: slice | Rows) -> FloatArray:
        total = np.zeros(())
        if terms.latency is not None:
            total = total - terms.latency.columns(role, rows)
        if terms.risk is not None and deviation > 0:
            total = total - terms.risk.kappa / (2 * deviation) * terms.risk.columns(role, rows)
        if terms.coverage is not None:
            others = np.prod(np.delete(misses, role, axis=0), axis=0) * terms.coverage.weights
            total = total - np.sum(terms.coverage.columns(role, rows) * others, axis=1)
        return total

    return linear


def _prices(problem: TeamProblem, terms: GlobalTerms, linear: Linear,
            lists: list[tuple[Rows, ...]]) -> tuple[float, ...]:
    if terms.budget is None:
        return (0.0,)
    rows = [reduce(np.union1d, [found[role] for found in lists]) for role in range(len(problem.roles))]
    worth = [problem.fits(role, mine) + linear(role, mine) for role, mine in enumerate(rows)]
    price = market_price(worth, [terms.budget.columns(role, mine) for role, mine in enumerate(rows)],
                         terms.budget.units)
    return (price, DEAR * price) if price else (0.0,)


def _worth(problem: TeamProblem, budget: Budget | None, linear: Linear,
           price: float) -> Callable[[int, slice | Rows], FloatArray]:
    def worth(role: int, rows: slice | Rows) -> FloatArray:
        index = np.arange(*rows.indices(len(problem.pool)), dtype=np.intp) if isinstance(rows, slice) else rows
        value = problem.fits(role, index) + linear(role, index)
        if budget is not None and price:
            value = value - price * budget.columns(role, index)
        return np.where(value > -np.inf, np.clip(value, -TERM_LIMIT, TERM_LIMIT), -np.inf)

    return worth


def cheapest_rows(problem: TeamProblem, budget: Budget) -> tuple[Rows, ...]:
    """For each role its cheapest agents, so that some cheapest team of the whole pool is among them.

    Taken in the order of cost, at most R of a route, until k + 1 routes have R, where the role must differ in route
    from k others: of an agent that is left out, one who is taken can do the work for no more, whoever the others are.
    """
    found, roles = [], len(problem.roles)
    for role in range(roles):
        rows = np.concatenate([np.flatnonzero(fits > -np.inf) + start for start, fits in problem.scan(role)])
        costs, partners = budget.columns(role, rows), len(problem.differs_from(role))
        routes = np.zeros(len(rows), dtype=np.int64) if problem.pool.routes is None or not partners \
            else problem.pool.routes[rows]
        kept: list[int] = []
        count: dict[int, int] = {}
        for place in _cheapest_first(problem, rows, costs):
            route = int(routes[place])
            full = count.get(route, 0) >= roles
            if not full:
                kept.append(int(rows[place]))
                count[route] = count.get(route, 0) + 1
            if (route < 0 and len(kept) >= roles + partners) or sum(n >= roles for n in count.values()) > partners:
                break
        found.append(np.array(kept, dtype=np.intp))
    return tuple(found)


def _cheapest_first(problem: TeamProblem, rows: Rows, costs: FloatArray) -> Rows:
    """Places of `rows` by cost, equal ones by card id."""
    if problem.pool.sorted:
        return np.lexsort((rows, costs))
    rank = {row: number for number, row in enumerate(problem.pool.by_id(rows).tolist())}
    return np.lexsort((np.array([rank[row] for row in rows.tolist()], dtype=np.intp), costs))
