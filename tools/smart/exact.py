"""The exact optimum of small pools: the yardstick of the search, on another road than the tree.

Safe elimination drops every agent whose bound does not pass a team already known (what remains still holds every better
team). Where the edges form a forest, dynamic programming from the leaves gives the best completion of any prefix but
for the constraints between roles without an edge; elsewhere the tightened bound serves. Depth-first branch and bound,
best child first, then leaves nothing out. 300 agents and 5 roles take seconds.
"""

from dataclasses import dataclass

import numpy as np

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.smart.bounds import Completion, tighten
from enlist.tools.smart.candidates import Candidates
from enlist.tools.smart.full_bounds import completion_of, relax
from enlist.tools.smart.full_candidates import dense
from enlist.tools.smart.grid import FloatArray
from enlist.tools.smart.problem import TeamProblem, refuse
from enlist.tools.smart.topology import Edge, is_forest

MOST_TEAMS = 600_000  # for brute force: five roles of 14 candidates are 537,824
LARGEST = 1000  # agents: the pair tensor takes R**2 * N**2 * 8 bytes
CLIMBS = 64
SWEEPS = 40


@dataclass(frozen=True)
class ExactResult:
    """The optimum: team as pool rows, its utility, `survivors` of the elimination for each role, nodes looked at."""

    rows: tuple[int, ...]
    ids: tuple[str, ...]
    utility: float
    survivors: tuple[int, ...]
    nodes: int


class _ForestCompletion:
    """Completion bounds by dynamic programming: below[s][b] is the best of the subtree that hangs from agent b."""

    def __init__(self, candidates: Candidates, edges: tuple[Edge, ...]) -> None:
        self.candidates = candidates
        linked: dict[int, list[int]] = {role: [] for role in range(candidates.roles)}
        for first, second in edges:
            linked[first].append(second)
            linked[second].append(first)
        order: list[int] = []
        self.parent: dict[int, int | None] = {}
        for start in range(candidates.roles):
            waiting = [] if start in self.parent else [start]
            self.parent.setdefault(start, None)
            while waiting:
                role = waiting.pop(0)
                order.append(role)
                fresh = [other for other in linked[role] if other not in self.parent]
                self.parent.update(dict.fromkeys(fresh, role))
                waiting += fresh
        self.order = tuple(order)
        self.below: FloatArray = candidates.unary.copy()
        for role in reversed(order):
            above = self.parent[role]
            if above is not None:
                self.below[above] += np.max(candidates.pair[above, :, role, :] + self.below[role][None, :], axis=1)

    def children(self, prefix: tuple[int, ...]) -> FloatArray:
        """[K]: an upper bound for each candidate of the next role of `order`."""
        depth, pair = len(prefix), self.candidates.pair
        role, filled = self.order[depth], self.order[:depth]
        around = np.zeros_like(self.candidates.unary)
        base = 0.0
        for index, member in enumerate(prefix):
            base += self.candidates.unary[filled[index], member] + around[filled[index], member]
            around = around + pair[filled[index], member]
        total = base + self.below[role] + around[role]
        for other in self.order[depth + 1:]:
            if self.parent[other] != role and (self.parent[other] is None or self.parent[other] in filled):
                total = total + np.max(self.below[other] + around[other])
        return total


def exact(problem: TeamProblem, *, max_nodes: int = 2_000_000) -> ExactResult:
    """The best team of the whole pool; of equal teams, one that does not depend on the order of the pool's rows.

    Raises:
        EnlistError: `bad_input` above 1,000 agents, `not_found` where no team meets the constraints, `undecided`
            where `max_nodes` nodes did not suffice.
    """
    if len(problem.pool) > LARGEST:
        raise refuse("the pool is too large for the exact search", len(problem.pool), f"at most {LARGEST} agents",
                     "use search, which reports an upper bound")
    everybody = np.arange(len(problem.pool), dtype=np.intp)
    candidates = dense(problem, [everybody] * len(problem.roles))
    random = np.random.Generator(np.random.PCG64(0))
    starts = np.concatenate([candidates.greedy(), candidates.random_teams(CLIMBS, random)])
    teams, utilities = candidates.climb(starts)
    best, floor = teams[int(np.argmax(utilities))], float(np.max(utilities))
    bounds = tighten(relax(candidates).additive, SWEEPS).through()
    keep = bounds >= floor  # equal ones stay, so that the known team does
    small, old = candidates.restrict(keep)
    completion: Completion | _ForestCompletion
    if problem.terms is None and is_forest(len(problem.roles), problem.edges):
        completion = _ForestCompletion(small, problem.edges)
    else:
        order = sorted(range(small.roles), key=lambda role: (small.sizes[role], role))
        relaxed = relax(small)
        completion = completion_of(small, relaxed, tighten(relaxed.additive, SWEEPS), tuple(order))
    nodes = 0
    waiting: list[tuple[tuple[int, ...], FloatArray]] = [((), completion.children(()))]
    while waiting:
        prefix, bounds = waiting.pop()
        child = int(np.argmax(bounds))
        if not bounds[child] > floor:
            continue
        value, bounds[child] = float(bounds[child]), -np.inf
        waiting.append((prefix, bounds))
        nodes += 1
        if nodes > max_nodes:
            raise EnlistError("undecided", "the exact search ran out of nodes", given=f"max_nodes {max_nodes}",
                              fix="raise max_nodes, lower beta, or use search and its upper bound")
        longer = (*prefix, child)
        if len(longer) == small.roles:
            floor = value
            best = old[completion.order, longer][np.argsort(completion.order)]
        else:
            waiting.append((longer, completion.children(longer)))
    if floor == -np.inf:
        raise _no_team(problem)
    rows = tuple(int(candidates.rows[role, member]) for role, member in enumerate(best))
    return ExactResult(rows, tuple(problem.pool.ids[row] for row in rows), floor, tuple(small.sizes), nodes)


def brute_force(problem: TeamProblem) -> ExactResult:
    """The best team by looking at every one under the whole objective; of equal teams the first by card ids.

    Shares the formulas with the search, and none of its bounds, climbs or short cuts. Raises `bad_input` above 600,000
    teams and `not_found` where none meets the constraints.
    """
    everybody = np.arange(len(problem.pool), dtype=np.intp)
    held = dense(problem, [everybody] * len(problem.roles))
    sizes = held.sizes
    if not 0 < np.prod(np.array(sizes, dtype=float)) <= MOST_TEAMS:
        raise refuse("too many teams for brute force", f"{sizes} eligible agents", f"1 to {MOST_TEAMS:,} teams",
                     "use exact, or a smaller pool")
    teams = np.stack(np.unravel_index(np.arange(np.prod(sizes)), sizes), axis=1)
    teams = teams[np.logical_and.reduce([held.pair[one, teams[:, one], other, teams[:, other]] > -np.inf
                                         for one in range(held.roles) for other in range(one)] or [teams[:, 0] >= 0])]
    utilities = held.utility(teams)
    if not np.any(utilities > -np.inf):
        raise _no_team(problem)
    best = teams[int(np.argmax(utilities))]
    rows = tuple(int(held.rows[role, member]) for role, member in enumerate(best))
    return ExactResult(rows, tuple(problem.pool.ids[row] for row in rows), float(np.max(utilities)), tuple(sizes),
                       len(teams))


def _no_team(problem: TeamProblem) -> EnlistError:
    return EnlistError("not_found", "no team meets the constraints", given=f"roles {', '.join(problem.roles)}",
                       allowed="distinct eligible agents" + (" within the budget" if problem.terms else ""),
                       fix="enlist more agents for these roles" + (", or raise the budget" if problem.terms else ""))
