"""What a search hands back: the team, why each member is in it, and how far from the best it can be at most."""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from enlist.tools.runtime.ids import canonical_json

FoundBy = Literal["greedy", "warm-start climb", "tree", "roll-out climb", "random climb", "polish"]
StoppedBy = Literal["exhaustion", "iterations", "wall-clock"]


@dataclass(frozen=True)
class RoleTerms:
    """One member. `unary` is its fit and `synergy` half of its pair terms; over the team they add up to the utility.

    `runner_up` is the best other agent of the pool in this role beside the rest of the team, and `margin` what the
    team loses with it (None and None where nobody else can).
    """

    role: str
    agent: str
    row: int
    unary: float
    synergy: float
    runner_up: str | None
    margin: float | None


@dataclass(frozen=True)
class UpperBound:
    """No team of the whole pool has a greater utility; `name` says how that is known."""

    value: float
    name: str


@dataclass(frozen=True)
class SearchResult:
    """The outcome of `search`.

    Attributes:
        team: one entry for each role, in the problem's order.
        found_by: what first reached the team's utility: "greedy", "warm-start climb" (before the first iteration),
            "tree" (an unclimbed roll-out), "roll-out climb", "random climb", or "polish" (over the whole pool).
        global_terms: what the team as a whole adds, by name; with the members' terms it sums to the utility.
        gap: (upper bound - utility) / |upper bound|, 0 when proved best.
        shortlist: candidates for each role.
        exhausted: the tree was closed: no team among the candidates is better than the one found.
        stopped_by: "wall-clock" marks a result that may differ on another machine.
    """

    team: tuple[RoleTerms, ...]
    utility: float
    found_by: FoundBy
    upper_bound: UpperBound
    gap: float
    iterations: int
    shortlist: tuple[int, ...]
    exhausted: bool
    stopped_by: StoppedBy
    global_terms: dict[str, float] = field(default_factory=dict)

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(member.agent for member in self.team)

    @property
    def rows(self) -> tuple[int, ...]:
        return tuple(member.row for member in self.team)

    def to_dict(self) -> dict[str, Any]:
        """JSON form without row numbers: the same for every order of the pool's rows."""
        data = asdict(self)
        for member in data["team"]:
            del member["row"]
        return data

    def to_json(self) -> str:
        """Canonical JSON: byte for byte equal for equal problems, seeds and limits (unless the wall clock stopped)."""
        return canonical_json(self.to_dict())
