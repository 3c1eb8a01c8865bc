"""The assignment problem: fill every role of a plan with one agent of a pool so that the team's utility is greatest.

    U(a) = sum over roles r of u_r(a_r)  +  beta * sum over edges (r, s) of synergy(a_r, a_s)

No agent fills two roles, and the role pairs in `differ` may not take agents of one route (a verifier does not share
the analyst's route). The pool is columnar: `PoolColumns` is checked once, `TeamProblem` is made for each request. All
terms lie on the grid of `enlist.tools.smart.grid`, so utilities are exact and comparable to the last bit.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from operator import lt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.smart.columns import BLOCK, ColumnFits
from enlist.tools.smart.grid import TERM_LIMIT, VECTOR_DIMENSIONS, VECTOR_LIMIT, FloatArray, term_grid, vector_grid
from enlist.tools.smart.objective import GlobalTerms
from enlist.tools.smart.topology import Edge

Rows = NDArray[np.intp]
Unary = NDArray[Any] | Callable[[int, slice | Rows], NDArray[Any]]
"""Fit of agents to a role: an array [R, N], or a function of a role number and a slice or row numbers giving the fits
of those agents. -inf marks an agent that may not fill the role."""
Synergy = Callable[[Rows, Rows, Edge], NDArray[Any]]
"""synergy(a, b, edge) -> [len(a), len(b)]: rows `a` in role edge[0] beside rows `b` in role edge[1]."""

SCAN_BLOCK = 1 << 16
MOST_ROLES = 32


def refuse(message: str, given: object, allowed: str, fix: str) -> EnlistError:
    """A `bad_input` about the problem's description."""
    return EnlistError("bad_input", message, given=str(given), allowed=allowed, fix=fix)


@dataclass(frozen=True, eq=False)
class PoolColumns:
    """The pool as columns: N distinct card ids (a NumPy array of str in ascending order costs least), synergy vectors
    float32 [N, d] or None, routes int64 [N] or None.

    A negative route is nobody else's route. Raises `bad_input` on duplicate ids and on vectors that are not finite or
    outside [-4, 4].
    """

    ids: Sequence[str] | NDArray[np.str_]
    vectors: NDArray[np.float32] | None = None
    routes: NDArray[np.int64] | None = None

    def __post_init__(self) -> None:
        if not self.sorted and len(set(self.ids)) != len(self.ids):
            twice = next(card for card, count in Counter(self.ids).items() if count > 1)
            raise refuse("a card id stands twice in the pool", twice, "distinct card ids", "drop one of the two cards")
        if self.vectors is not None:
            vectors = np.asarray(self.vectors)
            if vectors.ndim != 2 or len(vectors) != len(self.ids) or vectors.shape[1] > VECTOR_DIMENSIONS:
                raise refuse("the synergy vectors have a wrong shape", vectors.shape,
                             f"({len(self.ids)}, d) with d <= {VECTOR_DIMENSIONS}", "give one row for each card")
            if not np.all(np.abs(vectors) <= VECTOR_LIMIT):
                raise refuse("synergy vectors must be finite and small", "NaN, infinity or a larger entry",
                             f"entries in [-{VECTOR_LIMIT:g}, {VECTOR_LIMIT:g}]", "scale the vectors to length 1")
            object.__setattr__(self, "vectors", vector_grid(vectors))
        if self.routes is not None:
            routes = np.asarray(self.routes)
            if routes.shape != (len(self.ids),) or not np.issubdtype(routes.dtype, np.integer):
                raise refuse("routes have a wrong shape or type", f"{routes.dtype} {routes.shape}",
                             f"integers of shape ({len(self.ids)},)", "give one route code for each card")
            object.__setattr__(self, "routes", routes.astype(np.int64))

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def longest(self) -> float:
        """The greatest squared length of a synergy vector: no dot product is larger in size (Cauchy-Schwarz)."""
        if self.vectors is None or len(self) == 0:
            return 0.0
        return float(max(np.max(np.sum(np.square(self.vectors[start:start + SCAN_BLOCK], dtype=np.float64), axis=1))
                         for start in range(0, len(self), SCAN_BLOCK)))

    @cached_property
    def sorted(self) -> bool:
        """Whether the rows stand in strict order of their ids: then ids are distinct, and row numbers break ties."""
        if isinstance(self.ids, np.ndarray):
            return bool(np.all(self.ids[:-1] < self.ids[1:]))
        return all(map(lt, self.ids, islice(self.ids, 1, None)))

    def by_id(self, rows: Rows) -> Rows:
        """`rows` in the order of their card ids, which is how every tie is broken."""
        if self.sorted:
            return np.sort(rows)
        return np.array(sorted(rows.tolist(), key=lambda row: self.ids[row]), dtype=np.intp)


@dataclass(frozen=True, eq=False)
class TeamProblem:
    """One assignment problem over a pool.

    Attributes:
        roles: distinct role names; role numbers index them. At most 32.
        edges: pairs of role numbers that work together, each once.
        unary: fit of agents to roles, within [-1024, 1024] or -inf; see `Unary`.
        beta: weight of synergy. The synergy of a pair is the dot product of the pool's vectors plus `synergy`.
        synergy_most: a bound on the size of `synergy`; needed with it, for the bounds.
        differ: pairs of role numbers whose agents may not share a route.
        terms: what the team as a whole adds (see `enlist.tools.smart.objective`), or None.
    Raises `bad_input` for a description that breaks these rules; unary values are checked when they are read.
    """

    pool: PoolColumns
    roles: tuple[str, ...]
    edges: tuple[Edge, ...]
    unary: Unary
    beta: float = 0.15
    synergy: Synergy | None = None
    synergy_most: float | None = None
    differ: tuple[Edge, ...] = ()
    terms: GlobalTerms | None = None

    def __post_init__(self) -> None:
        count = len(self.roles)
        if not 1 <= count <= MOST_ROLES or len(set(self.roles)) != count:
            raise refuse("a team has distinct roles", list(self.roles), f"1 to {MOST_ROLES} distinct names",
                         "name each role once")
        for name, pairs in (("edges", self.edges), ("differ", self.differ)):
            if any(first == second or not (0 <= first < count and 0 <= second < count) for first, second in pairs) \
                    or len({frozenset(pair) for pair in pairs}) != len(pairs):
                raise refuse(f"{name} must be distinct pairs of two role numbers", list(pairs),
                             f"numbers in [0, {count - 1}], each pair once", "number the roles as in `roles`")
        if not callable(self.unary) and np.shape(self.unary) != (count, len(self.pool)):
            raise refuse("unary fits have a wrong shape", np.shape(self.unary), str((count, len(self.pool))),
                         "give one row for each role and one column for each card")
        if self.synergy is not None and self.synergy_most is None:
            raise refuse("a synergy function needs its bound", None, "synergy_most: the largest size of its values",
                         "pass synergy_most")
        if self.differ and self.pool.routes is None:
            raise refuse("roles must differ in route but the pool has no routes", list(self.differ),
                         "a route code for each card", "pass routes to PoolColumns")
        if not abs(self.beta) * (self.pool.longest + (self.synergy_most or 0.0)) <= TERM_LIMIT:
            raise refuse("beta times synergy is too large", self.beta, f"terms up to {TERM_LIMIT:g} in size",
                         "scale beta or the vectors down")
        if len(self.pool) < count:
            raise refuse("fewer agents than roles", f"{len(self.pool)} agents, roles {', '.join(self.roles)}",
                         "at least one agent for each role", "enlarge the pool or drop a role")
        if self.terms is not None:
            self.terms.check(count, len(self.pool))

    @cached_property
    def edge_most(self) -> float:
        """An upper bound of beta * synergy on any edge."""
        most = abs(self.beta) * (self.pool.longest + (self.synergy_most or 0.0))
        return float(term_grid(np.array(most))) + 2.0**-30

    @cached_property
    def _directed(self) -> dict[Edge, bool]:
        return {**{edge: True for edge in self.edges}, **{(second, first): False for first, second in self.edges}}

    @cached_property
    def _differing(self) -> frozenset[Edge]:
        return frozenset(self.differ) | {(second, first) for first, second in self.differ}

    def neighbours(self, role: int) -> tuple[int, ...]:
        """The roles that share an edge with `role`, ascending."""
        return tuple(sorted(other for first, other in self._directed if first == role))

    def differs_from(self, role: int) -> tuple[int, ...]:
        """The roles whose agent may not share the route of the agent of `role`, ascending."""
        return tuple(sorted(other for first, other in self._differing if first == role))

    @cached_property
    def ceilings(self) -> NDArray[np.float32]:
        """[R, N]: no fit is greater, and none is smaller by more than its `slack`; -inf marks the ineligible alone.

        One pass over the pool for all roles, kept: a scan compares these, and asks exact fits of the few that matter.
        """
        found = np.empty((len(self.roles), len(self.pool)), dtype=np.float32)
        if isinstance(self.unary, ColumnFits):
            up = np.float32(self.unary.error)
            for start in range(0, len(self.pool), BLOCK):
                rows = slice(start, min(start + BLOCK, len(self.pool)))
                found[:, rows] = self.unary.block(rows)
            found += up
            most, least = np.max(found, initial=-np.inf), np.min(found, initial=np.inf)
            if not most <= TERM_LIMIT or (least < -TERM_LIMIT and np.any((found < -TERM_LIMIT) & (found > -np.inf))):
                raise self._unfit("a role")
            return found
        for role in range(len(self.roles)):
            for start, fits in self.scan(role):
                near, up = fits.astype(np.float32), np.float32(np.inf)
                found[role, start:start + len(fits)] = np.where(near < fits, np.nextafter(near, up), near)
        return found

    def slack(self, value: float) -> float:
        """By how much a ceiling near `value` may lie above its fit: twice the error of a block, and rounding."""
        error = self.unary.error if isinstance(self.unary, ColumnFits) else 0.0
        return 2 * error + abs(value) * 2.0**-22 + 2.0**-29

    def most_beside(self, role: int, team: Sequence[int]) -> float:
        """No agent gains more than this in `role` from pair and global terms beside the rest of `team`."""
        most = 0.0 if self.terms is None else self.terms.most(team, role)
        near = self.neighbours(role)
        if self.pool.vectors is not None and near:
            around = np.sum(self.pool.vectors[[team[other] for other in near]], axis=0, dtype=np.float64)
            most += abs(self.beta) * float(np.sqrt(self.pool.longest * np.sum(np.square(around))))  # Cauchy-Schwarz
        return most + len(near) * (abs(self.beta) * (self.synergy_most or 0.0) + 2.0**-29)

    def scan(self, role: int) -> Iterator[tuple[int, FloatArray]]:
        """Fits of the whole pool to `role` in blocks: (first row, fits on the grid)."""
        for start in range(0, len(self.pool), SCAN_BLOCK):
            stop = min(start + SCAN_BLOCK, len(self.pool))
            yield start, self._fits(role, slice(start, stop), stop - start)

    def fits(self, role: int, rows: Rows) -> FloatArray:
        """Fits of `rows` to `role`, on the grid."""
        return self._fits(role, rows, len(rows))

    def _fits(self, role: int, index: slice | Rows, count: int) -> FloatArray:
        raw = self.unary(role, index) if callable(self.unary) else self.unary[role][index]
        values = np.asarray(raw)
        if values.shape != (count,):
            raise refuse(f"the fits of role {self.roles[role]!r} have a wrong shape", values.shape, str((count,)),
                         "return one fit for each row asked for")
        if not np.all((np.abs(values) <= TERM_LIMIT) | (values == -np.inf)):
            raise self._unfit(f"role {self.roles[role]!r}")
        return term_grid(values)

    def _unfit(self, role: str) -> EnlistError:
        return refuse(f"a fit of {role} is NaN or too large", "NaN, +inf or a large number",
                      f"numbers in [-{TERM_LIMIT:g}, {TERM_LIMIT:g}], or -inf for an ineligible agent",
                      "mark unknown fits as -inf or give them a prior")

    def pair(self, role: int, other: int, rows: Rows, others: Rows) -> FloatArray:
        """[len(rows), len(others)]: beta * synergy of `rows` in `role` beside `others` in `other`; -inf on a clash."""
        forward = self._directed.get((role, other))
        if forward is None:
            values = np.zeros((len(rows), len(others)))
        else:
            values = self._synergy(rows, others, (role, other)) if forward \
                else self._synergy(others, rows, (other, role)).T
            values = term_grid(self.beta * values)
        clash = rows[:, None] == others[None, :]
        if (role, other) in self._differing and self.pool.routes is not None:
            mine, theirs = self.pool.routes[rows], self.pool.routes[others]
            clash = clash | ((mine[:, None] == theirs[None, :]) & (mine[:, None] >= 0))
        return np.where(clash, -np.inf, values)

    def _synergy(self, rows: Rows, others: Rows, edge: Edge) -> FloatArray:
        values = np.zeros((len(rows), len(others)))
        if self.pool.vectors is not None:
            vectors = self.pool.vectors
            values += vectors[rows].astype(np.float64) @ vectors[others].astype(np.float64).T
        if self.synergy is not None:
            extra = np.asarray(self.synergy(rows, others, edge), dtype=np.float64)
            if extra.shape != values.shape or not np.all(np.abs(extra) <= float(self.synergy_most or 0.0)):
                raise refuse("the synergy function broke its promise", f"shape {extra.shape} on edge {edge}",
                             f"finite values of shape {values.shape} within +-{self.synergy_most}",
                             "mend the function or raise synergy_most")
            values += term_grid(extra)
        return values

    def beside_teams(self, role: int, rows: Rows, teams: NDArray[np.intp]) -> FloatArray:
        """[B, len(rows)]: score of each of `rows` in `role` beside the other members of each of B teams [B, R] of pool
        rows, without global terms; -inf on a clash. Equal to `beside` up to rounding, the same on every machine."""
        fits, near = self.fits(role, rows), self.neighbours(role)
        found = np.repeat(fits[None, :], len(teams), axis=0)
        if self.synergy is None and not self.differs_from(role):
            if self.pool.vectors is not None and near:
                vectors = self.pool.vectors
                around = np.sum(vectors[teams[:, near]], axis=1, dtype=np.float64)  # on the grid: sums are exact
                found += self.beta * (around @ vectors[rows].astype(np.float64).T)
            order = np.argsort(rows, kind="stable")
            for other in range(len(self.roles)):
                if other != role and len(rows):
                    place = order[np.minimum(np.searchsorted(rows, teams[:, other], sorter=order), len(rows) - 1)]
                    twice = np.flatnonzero(rows[place] == teams[:, other])
                    found[twice, place[twice]] = -np.inf
            return found
        for other in range(len(self.roles)):
            if other != role:
                found += self.pair(role, other, rows, teams[:, other]).T
        return found

    def given(self, role: int, rows: Rows, team: Sequence[int]) -> FloatArray:
        """Score of each of `rows` in `role` beside the other members of `team`: fit, pair terms and global terms."""
        score = self.beside(role, rows, team)
        return score if self.terms is None else score + self.terms.replace(team, role, rows)

    def beside(self, role: int, rows: Rows, team: Sequence[int]) -> FloatArray:
        """`given` without the global terms: fit plus its pair terms."""
        score = self.fits(role, rows)
        for other in range(len(self.roles)):
            if other != role:
                score = score + self.pair(role, other, rows, np.array([team[other]], dtype=np.intp))[:, 0]
        return score

    def utility(self, team: Sequence[int]) -> float:
        """U of a team given as pool rows in role order; -inf where it breaks a hard constraint."""
        total = sum(float(self.fits(role, np.array([row], dtype=np.intp))[0]) for role, row in enumerate(team))
        for role in range(len(team)):
            for other in range(role + 1, len(team)):
                one, two = (np.array([team[index]], dtype=np.intp) for index in (role, other))
                total += float(self.pair(role, other, one, two)[0, 0])
        return total if self.terms is None else total + self.terms.value(team)
