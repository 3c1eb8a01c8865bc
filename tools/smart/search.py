"""SMART's search: Monte Carlo Tree Search with local-search roll-outs and bound pruning.

Shortlist -> dense candidates -> greedy and climbs from random teams (the warm start) -> tree (see `tree`):
in every iteration the roll-out's unclimbed value is backed up, and the roll-out and three random teams are climbed to
look for a better team -> 1-opt over the whole pool. No language model, no clock (unless `seconds` is given): the
result depends on the problem, the seed and the limits only.
"""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.smart.bounds import Tightened, simple_bound, tighten
from enlist.tools.smart.candidates import Candidates, Teams
from enlist.tools.smart.full_bounds import ceiling, completion_of, relax
from enlist.tools.smart.full_candidates import dense
from enlist.tools.smart.full_shortlist import cheapest_rows, full_shortlist
from enlist.tools.smart.grid import FloatArray
from enlist.tools.smart.objective.budget import UNITS, Budget
from enlist.tools.smart.polish import best_others, polish
from enlist.tools.smart.problem import Rows, TeamProblem, refuse
from enlist.tools.smart.result import FoundBy, RoleTerms, SearchResult, StoppedBy, UpperBound
from enlist.tools.smart.shortlist import WIDTH, Shortlist
from enlist.tools.smart.tree import Tree

ITERATIONS = 300
WARM_CLIMBS = 16
RANDOM_CLIMBS = 3
SWEEPS = 20  # of the bound's tightening over the candidates; more gain little


class _Incumbent:
    """The best team so far, as candidate numbers; of equal teams the first found stays."""

    def __init__(self) -> None:
        self.team: Teams | None = None
        self.utility = -np.inf
        self.found_by: FoundBy = "greedy"

    def offer(self, teams: Teams, utilities: FloatArray, found_by: FoundBy) -> None:
        best = int(np.argmax(utilities)) if len(utilities) else -1
        if best >= 0 and utilities[best] > self.utility:
            self.team, self.utility, self.found_by = teams[best].copy(), float(utilities[best]), found_by


def search(problem: TeamProblem, *, seed: int = 0, iterations: int = ITERATIONS, seconds: float | None = None,
           width: int = WIDTH, clock: Callable[[], float] = time.monotonic) -> SearchResult:
    """The best team found for `problem`.

    Args:
        seed: of all random draws, at least 0. iterations: of the tree at most. width: of the shortlist.
        seconds: stop the tree after this time by `clock`; the result then says `stopped_by` "wall-clock".
    Raises:
        EnlistError: `bad_input` for limits or fits that make no sense; `not_found` where a role has no eligible agent
            or no team meets the constraints.
    """
    if seed < 0 or iterations < 0 or width < len(problem.roles) or (seconds is not None and not seconds > 0):
        raise refuse("a limit of the search makes no sense", (seed, iterations, width, seconds),
                     f"seed >= 0, iterations >= 0, width >= {len(problem.roles)} roles, seconds > 0 or None",
                     "correct the limit")
    started = clock()
    random = np.random.Generator(np.random.PCG64(seed))
    listed = full_shortlist(problem, random, width)
    candidates = dense(problem, listed.rows)
    best = _Incumbent()
    greedy = candidates.greedy()
    best.offer(greedy, candidates.utility(greedy), "greedy")
    climbed, utilities = candidates.climb(np.concatenate([greedy, candidates.random_teams(WARM_CLIMBS, random)]))
    best.offer(climbed, utilities, "warm-start climb")
    tight = tighten(relax(candidates).additive, SWEEPS)
    out_of_time = (lambda: False) if seconds is None else (lambda: clock() - started >= seconds)
    done, stopped_by, bound = _grow(candidates, tight, best, random, iterations, out_of_time)
    if best.team is None:
        raise _no_team(problem, stopped_by)
    rows = [int(candidates.rows[role, member]) for role, member in enumerate(best.team)]
    rows, improved = polish(problem, rows, listed.prefiltered)
    utility = problem.utility(rows)
    upper = _upper_bound(problem, listed, bound, stopped_by, utility)
    return SearchResult(
        team=_terms(problem, rows, listed), utility=utility, found_by="polish" if improved else best.found_by,
        upper_bound=upper, gap=(upper.value - utility) / abs(upper.value) if upper.value > utility else 0.0,
        iterations=done, shortlist=tuple(candidates.sizes), exhausted=stopped_by == "exhaustion",
        stopped_by=stopped_by, global_terms={} if problem.terms is None else problem.terms.parts(rows))


def _grow(candidates: Candidates, tight: Tightened, best: _Incumbent, random: np.random.Generator, iterations: int,
          out_of_time: Callable[[], bool]) -> tuple[int, StoppedBy, float]:
    """Run the tree over the candidates that can be in a better team. Returns iterations, reason and shortlist bound."""
    keep = tight.through() > best.utility
    if not np.all(np.any(keep, axis=1)):
        return 0, "exhaustion", best.utility
    small, old = candidates.restrict(keep)
    relaxed = relax(small)
    inner = tighten(relaxed.additive, SWEEPS)
    order = sorted(range(small.roles), key=lambda role: (small.sizes[role], role))  # few candidates: little to branch
    tree = Tree(completion_of(small, relaxed, inner, tuple(order)), random)
    for done in range(iterations):
        if out_of_time():
            return done, "wall-clock", tree.bound(best.utility)
        team = tree.iterate(best.utility)
        if team is None:
            return done, "exhaustion", best.utility
        rolled = old[np.arange(small.roles), team]
        best.offer(rolled, candidates.utility(rolled), "tree")
        climbed, utilities = candidates.climb(np.concatenate([rolled, candidates.random_teams(RANDOM_CLIMBS, random)]))
        best.offer(climbed[:len(rolled)], utilities[:len(rolled)], "roll-out climb")
        best.offer(climbed[len(rolled):], utilities[len(rolled):], "random climb")
    if tree.bound(best.utility) <= best.utility:
        return iterations, "exhaustion", best.utility
    return iterations, "iterations", tree.bound(best.utility)


def _upper_bound(problem: TeamProblem, listed: Shortlist, bound: float, stopped_by: StoppedBy,
                 utility: float) -> UpperBound:
    """The lowest bound over the whole pool that is known; the tree's bound counts where it saw every eligible agent."""
    simple = UpperBound(simple_bound(problem, listed.best_fits), "sum of best fits + beta x edges")
    if problem.terms is not None:
        simple = UpperBound(simple.value + ceiling(problem), f"{simple.name} + ideal global terms")
    if not all(listed.covers):
        return simple
    if stopped_by == "exhaustion":
        return UpperBound(max(bound, utility), "tree exhausted over the whole pool")
    return min(simple, UpperBound(bound, "open nodes of the tree over the whole pool"), key=lambda upper: upper.value)


def _terms(problem: TeamProblem, rows: list[int], listed: Shortlist) -> tuple[RoleTerms, ...]:
    terms, others = [], best_others(problem, rows, listed.prefiltered)
    for role, (row, (other, score)) in enumerate(zip(rows, others, strict=True)):
        one = np.array([row], dtype=np.intp)
        unary, given = float(problem.fits(role, one)[0]), float(problem.given(role, one, rows)[0])
        pairs = float(problem.beside(role, one, rows)[0]) - unary
        terms.append(RoleTerms(
            role=problem.roles[role], agent=str(problem.pool.ids[row]), row=row, unary=unary,
            synergy=pairs / 2,
            runner_up=None if other is None else str(problem.pool.ids[other]),
            margin=None if other is None else given - score))
    return tuple(terms)


def _no_team(problem: TeamProblem, stopped_by: StoppedBy) -> EnlistError:
    budget = problem.terms.budget if problem.terms else None
    if budget is not None:
        return _over_budget(problem, budget, stopped_by)
    proved = "" if stopped_by == "exhaustion" else " was found before the search stopped"
    pairs = [f"{problem.roles[first]} and {problem.roles[second]}" for first, second in problem.differ]
    return EnlistError(
        "not_found", f"no team that meets the constraints{proved}", given=f"roles {', '.join(problem.roles)}",
        allowed="distinct agents in all roles" + (f", different routes for {'; '.join(pairs)}" if pairs else ""),
        fix="enlist more agents for these roles" + (" or of another route" if pairs else ""))


def _over_budget(problem: TeamProblem, budget: Budget, stopped_by: StoppedBy) -> EnlistError:
    """No team within the cap: names what the cheapest team costs, where there is a team at all."""
    rows = cheapest_rows(replace(problem, terms=None), budget)
    costs = [-budget.columns(role, mine) / UNITS for role, mine in enumerate(rows)]
    fits = [dict(zip(mine.tolist(), cost.tolist(), strict=True)) for mine, cost in zip(rows, costs, strict=True)]

    def thrift(role: int, index: slice | Rows) -> FloatArray:
        asked = range(*index.indices(len(problem.pool))) if isinstance(index, slice) else index.tolist()
        return np.array([fits[role].get(row, -np.inf) for row in asked])

    free = replace(problem, terms=None, unary=thrift, edges=(), synergy=None, synergy_most=None)
    cheapest = -search(free).utility  # without a budget: `not_found` where the other constraints leave no team
    proved = "" if stopped_by == "exhaustion" or cheapest > budget.cap else " was found before the search stopped"
    return EnlistError("not_found", f"no team within the budget{proved}", given=f"at most {budget.cap:g} US dollars",
                       allowed=f"the cheapest team costs about {cheapest:.4g} US dollars",
                       fix="raise the budget, or enlist cheaper agents")
