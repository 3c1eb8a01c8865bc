"""What the search is compared with: each peer stops after a given number of objective evaluations or CPU seconds.

The unit of work is one evaluation: the score of one agent in one role beside the rest of one team. `Meter` counts them
and stops a peer. The strong peer is 1-opt from random teams, restarted until the work is spent, in two forms: over the
full pool, and over the search's own shortlist with one polish over the full pool at the end. The others are parts of
the search by themselves (the tree without climbs, the climbs without the tree), the textbook's PUCT, and beam search.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from enlist.tools.smart import TeamProblem
from enlist.tools.smart.baselines import random_teams
from enlist.tools.smart.bounds import Completion, tighten
from enlist.tools.smart.candidates import Candidates, Teams
from enlist.tools.smart.grid import FloatArray
from enlist.tools.smart.polish import polish
from enlist.tools.smart.search import ITERATIONS, RANDOM_CLIMBS, SWEEPS, WARM_CLIMBS
from enlist.tools.smart.shortlist import RANDOM_TEAMS, ROUNDS, WIDTH, shortlist
from enlist.tools.smart.tree import EXPLORATION, Tree

Team = tuple[int, ...]
BATCH = 16  # restarts that climb side by side, so that NumPy works on arrays worth its while
BEAM = 64


@dataclass
class Meter:
    """Counts evaluations; `spent` once `most` evaluations or `seconds` of this process's CPU time are used up."""

    most: float = np.inf
    seconds: float = np.inf
    used: int = 0

    def __post_init__(self) -> None:
        self.started = time.process_time()

    def add(self, evaluations: int) -> None:
        self.used += evaluations

    @property
    def spent(self) -> bool:
        return self.used >= self.most or time.process_time() - self.started >= self.seconds


class FullPool:
    """Scores of the whole pool in each role, fast: the synergy of an agent with all its neighbours is one product.

    Only for problems whose synergy is the pool's vectors and whose roles need not differ in route.
    """

    def __init__(self, problem: TeamProblem) -> None:
        if problem.pool.vectors is None or problem.synergy is not None or problem.differ:
            raise ValueError("FullPool needs plain vector synergy and no constraint but distinctness")
        everybody = np.arange(len(problem.pool), dtype=np.intp)
        self.problem, self.roles = problem, len(problem.roles)
        self.fits = np.stack([problem.fits(role, everybody) for role in range(self.roles)])
        self.vectors = problem.pool.vectors.astype(np.float64)
        self.eligible = [np.flatnonzero(row > -np.inf) for row in self.fits]

    def draw(self, random: np.random.Generator, count: int) -> Teams:
        """[count, R] random eligible members; a clash is left for the first climb to mend."""
        return np.stack([rows[random.integers(len(rows), size=count)] for rows in self.eligible], axis=1)

    def scores(self, role: int, teams: Teams) -> FloatArray:
        """[B, N]: every agent in `role` beside the rest of each team; -inf for the other members."""
        around = np.sum(self.vectors[teams[:, self.problem.neighbours(role)]], axis=1)
        found = self.fits[role] + self.problem.beta * (around @ self.vectors.T)
        for other in range(self.roles):
            if other != role:
                found[np.arange(len(teams)), teams[:, other]] = -np.inf
        return found

    def utility(self, teams: Teams) -> FloatArray:
        """[B]: the utility of each team, up to rounding; -inf where a member stands twice."""
        members = self.vectors[teams]
        found = np.sum(self.fits[np.arange(self.roles), teams], axis=1)
        for first, second in self.problem.edges:
            found += self.problem.beta * np.sum(members[:, first] * members[:, second], axis=1)
        ordered = np.sort(teams, axis=1)
        return np.where(np.any(ordered[:, 1:] == ordered[:, :-1], axis=1), -np.inf, found)

    def climb(self, teams: Teams, meter: Meter) -> Teams:
        """Role after role takes the best agent of the pool, until no role changes any of the teams."""
        teams, still = teams.copy(), 0
        role = 0
        while still < self.roles and not meter.spent:
            scores = self.scores(role, teams)
            meter.add(scores.size)
            best = np.argmax(scores, axis=1)
            lines = np.arange(len(teams))
            better = scores[lines, best] > scores[lines, teams[:, role]] + 1e-12
            teams[better, role] = best[better]
            still = 0 if np.any(better) else still + 1
            role = (role + 1) % self.roles
        return teams


def one_opt_full(problem: TeamProblem, seed: int, meter: Meter, batch: int = BATCH) -> Team:
    """1-opt over the full pool from random teams, `batch` side by side, until the meter is spent."""
    pool, random = FullPool(problem), np.random.Generator(np.random.PCG64([4, seed]))
    best = np.array(random_teams(problem, 1, seed))
    while not meter.spent:
        teams = np.concatenate([best, pool.climb(pool.draw(random, batch), meter)])
        best = teams[[int(np.argmax(pool.utility(teams)))]]
    return tuple(int(row) for row in best[0])


def one_opt_shortlist(problem: TeamProblem, seed: int, meter: Meter) -> Team:
    """1-opt over the search's shortlist from random teams until the meter is spent, then one polish."""
    random = np.random.Generator(np.random.PCG64(seed))
    candidates = _candidates(problem, random, meter)
    best, utility = candidates.greedy(), -np.inf
    while True:
        climbed, utilities = candidates.climb(candidates.random_teams(BATCH, random))
        if np.max(utilities) > utility:
            utility, best = float(np.max(utilities)), climbed[[int(np.argmax(utilities))]]
        if meter.spent:
            return tuple(polish(problem, _rows(candidates, best))[0])


def climbs_without_tree(problem: TeamProblem, seed: int, meter: Meter) -> Team:
    """All climbs that the search could make (warm start, and those of every iteration), and no tree."""
    random = np.random.Generator(np.random.PCG64(seed))
    candidates = _candidates(problem, random, meter)
    starts = np.concatenate([candidates.greedy(),
                             candidates.random_teams(WARM_CLIMBS + ITERATIONS * (1 + RANDOM_CLIMBS), random)])
    climbed, utilities = candidates.climb(starts)
    return tuple(polish(problem, _rows(candidates, climbed[[int(np.argmax(utilities))]]))[0])


def tree_without_climbs(problem: TeamProblem, seed: int, meter: Meter) -> Team:
    """Greedy, then the tree with bounds, prior and exact last two roles; nothing is climbed, nothing polished."""
    random = np.random.Generator(np.random.PCG64(seed))
    candidates = _candidates(problem, random, meter)
    best = candidates.greedy()
    utility = float(candidates.utility(best)[0])
    order = sorted(range(candidates.roles), key=lambda role: (candidates.sizes[role], role))
    tree = Tree(Completion(tighten(candidates, SWEEPS), tuple(order)), random)
    for _ in range(ITERATIONS):
        team = tree.iterate(utility)
        if team is None:
            break
        meter.add(candidates.unary.shape[1])
        found = candidates.utility(team)
        if len(found) and found[0] > utility:
            best, utility = team, float(found[0])
    return tuple(_rows(candidates, best))


def plain_puct(problem: TeamProblem, seed: int, meter: Meter) -> Team:
    """PUCT over the same shortlist as the textbook has it: prior by fit, random roll-outs, no bound, no climb."""
    random = np.random.Generator(np.random.PCG64(seed))
    candidates = _candidates(problem, random, meter)
    weights = np.where(candidates.unary > -np.inf, candidates.unary - np.min(
        np.where(candidates.unary > -np.inf, candidates.unary, np.inf), axis=1, keepdims=True) + 0.05, 0.0)
    prior = weights / np.sum(weights, axis=1, keepdims=True)
    visits: dict[Team, FloatArray] = {}
    total: dict[Team, FloatArray] = {}
    best, utility = candidates.greedy(), -np.inf
    low, high = np.inf, -np.inf
    for _ in range(ITERATIONS):
        path: list[Team] = []
        team: Team = ()
        while len(team) < candidates.roles and team in visits:
            count, summed, role = visits[team], total[team], len(team)
            span = high - low if high > low else 1.0
            mean = np.divide(summed, count, out=np.full_like(summed, low if low < np.inf else 0.0), where=count > 0)
            score = (mean - (low if low < np.inf else 0.0)) / span \
                + EXPLORATION * prior[role] * np.sqrt(np.sum(count) + 1) / (1 + count)
            path.append(team)
            team = (*team, int(np.argmax(np.where(prior[role] > 0, score, -np.inf))))
        if len(team) < candidates.roles:
            visits[team], total[team] = np.zeros(prior.shape[1]), np.zeros(prior.shape[1])
        full = [*team, *(int(random.choice(prior.shape[1], p=prior[role])) for role in
                         range(len(team), candidates.roles))]
        value = float(candidates.utility(np.array([full], dtype=np.intp))[0])
        meter.add(candidates.roles)
        if value == -np.inf:
            value = low if low < np.inf else 0.0  # two roles drew one agent: worth the worst seen
        elif value > utility:
            best, utility = np.array([full], dtype=np.intp), value
        low, high = min(low, value), max(high, value)
        for prefix in path:
            visits[prefix][full[len(prefix)]] += 1
            total[prefix][full[len(prefix)]] += value
    return tuple(_rows(candidates, best))


def beam(problem: TeamProblem, seed: int, meter: Meter) -> Team:
    """Beam search over prefixes on the full pool, 64 wide; every prefix is scored by its own terms."""
    pool = FullPool(problem)
    teams, values = np.empty((1, 0), dtype=np.intp), np.zeros(1)
    for role in range(pool.roles):
        near = [other for other in problem.neighbours(role) if other < role]
        around = np.sum(pool.vectors[teams[:, near]], axis=1) if near else np.zeros((len(teams), pool.vectors.shape[1]))
        scores = values[:, None] + pool.fits[role] + problem.beta * (around @ pool.vectors.T)
        for member in range(role):
            scores[np.arange(len(teams)), teams[:, member]] = -np.inf
        meter.add(scores.size)
        best = np.argsort(-scores, axis=None, kind="stable")[:BEAM]
        line, agent = np.unravel_index(best, scores.shape)
        teams, values = np.concatenate([teams[line], agent[:, None]], axis=1), scores[line, agent]
    return tuple(int(row) for row in teams[0])


PARTS: dict[str, Callable[[TeamProblem, int, Meter], Team]] = {
    "beam": beam, "plain PUCT": plain_puct, "tree without climbs": tree_without_climbs,
    "climbs without tree": climbs_without_tree}
ONE_OPT: dict[str, Callable[[TeamProblem, int, Meter], Team]] = {
    "1-opt, full pool": one_opt_full, "1-opt, shortlist + polish": one_opt_shortlist}


@contextmanager
def counting(meter: Meter) -> Iterator[Meter]:
    """While it lasts, every climb in this process adds its evaluations to the meter.

    `Candidates.given` is where all climbs, the search's too, score agents; it is wrapped, because a product that counts
    for its benchmark's sake would be slower for everybody.
    """
    plain = Candidates.given

    def given(candidates: Candidates, teams: Teams) -> FloatArray:
        scores = plain(candidates, teams)
        meter.add(scores.size)
        return scores

    Candidates.given = given  # type: ignore[method-assign, assignment]
    try:
        yield meter
    finally:
        Candidates.given = plain  # type: ignore[method-assign]


def shortlist_evaluations(problem: TeamProblem, prefiltered: Sequence[int]) -> int:
    """Evaluations in the making of a shortlist: the scan, and each round's message scores and random teams."""
    rounds = ROUNDS if any(count > WIDTH for count in prefiltered) else 0
    return len(problem.roles) * len(problem.pool) + rounds * sum(prefiltered) * (1 + RANDOM_TEAMS)


def _candidates(problem: TeamProblem, random: np.random.Generator, meter: Meter) -> Candidates:
    listed = shortlist(problem, random, WIDTH)
    meter.add(shortlist_evaluations(problem, [len(rows) for rows in listed.prefiltered]))
    return Candidates.build(problem, listed.rows)


def _rows(candidates: Candidates, teams: Teams) -> list[int]:
    return [int(candidates.rows[role, member]) for role, member in enumerate(teams[0])]

