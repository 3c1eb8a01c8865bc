"""What a solver sees: the whole assignment problem as JSON, and the way from there to a `TeamProblem` and back."""

import math
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from enlist.environments.contract import Submission, Task
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.smart import PoolColumns, TeamProblem


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Card(_Strict):
    """One agent: `fits` by role (None: ineligible), its synergy vector and its route."""

    id: str
    fits: tuple[float | None, ...]
    vector: tuple[float, ...]
    route: int


class Payload(_Strict):
    """Utility = sum of fits + beta * sum over `edges` of the members' vectors' dot product. No card fills two roles;
    the role pairs in `differ` need cards of different routes."""

    roles: tuple[str, ...]
    edges: tuple[tuple[int, int], ...]
    differ: tuple[tuple[int, int], ...]
    beta: float
    cards: tuple[Card, ...] = Field(min_length=1)


def payload_of(problem: TeamProblem) -> dict[str, Any]:
    """The problem as a task's payload; needs fits as an array, vectors and routes."""
    pool, fits = problem.pool, np.asarray(problem.unary, dtype=np.float64)
    if pool.vectors is None or pool.routes is None:
        raise EnlistError("bad_input", "a teaming task needs vectors and routes", fix="use enlist.tools.smart.pools")
    cards = [Card(id=card, fits=tuple(fit if math.isfinite(fit) else None for fit in fits[:, row].tolist()),
                  vector=tuple(pool.vectors[row].tolist()), route=int(pool.routes[row]))
             for row, card in enumerate(pool.ids)]
    return Payload(roles=problem.roles, edges=problem.edges, differ=problem.differ, beta=problem.beta,
                   cards=tuple(cards)).model_dump(mode="json")


def problem_of(task: Task) -> TeamProblem:
    """The problem in a task's payload; `bad_input` where it is not one."""
    try:
        payload = Payload.model_validate(task.payload)
    except ValidationError as error:
        raise EnlistError("bad_input", "not the payload of a teaming task", given=str(error.errors()[0]["loc"]),
                          fix="pass a task of the teaming environment unchanged") from error
    fits = np.array([[-np.inf if fit is None else fit for fit in card.fits] for card in payload.cards]).T
    pool = PoolColumns([card.id for card in payload.cards],
                       np.array([card.vector for card in payload.cards], dtype=np.float32),
                       np.array([card.route for card in payload.cards], dtype=np.int64))
    return TeamProblem(pool, payload.roles, payload.edges, fits, payload.beta, differ=payload.differ)


def answer_schema(roles: tuple[str, ...]) -> dict[str, Any]:
    """JSON schema of an answer: {"team": {role: card id}}, every role once."""
    return {"type": "object", "required": ["team"], "additionalProperties": False, "properties": {"team": {
        "type": "object", "required": list(roles), "additionalProperties": False,
        "properties": {role: {"type": "string"} for role in roles}}}}


def answer_of(task: Task, problem: TeamProblem, team: tuple[int, ...], seconds: float) -> Submission:
    """The submission that names the cards at the rows `team`."""
    named = {role: problem.pool.ids[row] for role, row in zip(problem.roles, team, strict=True)}
    return Submission(task=task.id, answer={"team": named}, cost={"seconds": seconds})
