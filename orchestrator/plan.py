"""A plan: a directed acyclic graph of roles, one capability per role, whose edges hand over named artifact kinds.

Any planner's plan, ours, a user's or a language model's, passes the same `validate`.
"""

from collections.abc import Iterable
from graphlib import CycleError, TopologicalSorter
from typing import Literal

from pydantic import ConfigDict, Field

from enlist.orchestrator.request import Strict
from enlist.tools.runtime.errors import EnlistError

Duty = Literal["analyst", "verifier", "writer"]


class Role(Strict):
    """A place in a plan, filled by exactly one agent. `reads` and `writes` are artifact kinds. `inputs` are the SHA-256
    of the request's attachments that this role works on. A writer's capability is None: it serves all of the plan."""

    id: str
    capability: str | None
    duty: Duty
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()


class Edge(Strict):
    """`source` hands an artifact of kind `artifact` to `target` (in JSON: `from`, `to`, `artifact`)."""

    source: str = Field(alias="from")
    target: str = Field(alias="to")
    artifact: str

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True, serialize_by_alias=True)


class Plan(Strict):
    """Roles and edges. Shapes in use: single, chain, fan-out and fan-in, join of two capabilities."""

    roles: tuple[Role, ...]
    edges: tuple[Edge, ...]

    def role(self, id: str) -> Role:
        return next(role for role in self.roles if role.id == id)

    def upstream(self, id: str) -> tuple[str, ...]:
        """The roles whose results `id` may read: all its ancestors, sorted."""
        found: set[str] = set()
        stack = [id]
        while stack:
            here = stack.pop()
            for edge in self.edges:
                if edge.target == here and edge.source not in found:
                    found.add(edge.source)
                    stack.append(edge.source)
        return tuple(sorted(found))

    def order(self) -> tuple[str, ...]:
        """Role ids so that each comes after those it reads from; `bad_input` where the edges turn in a circle."""
        graph = {role.id: sorted(e.source for e in self.edges if e.target == role.id) for role in self.roles}
        try:
            return tuple(TopologicalSorter(graph).static_order())
        except CycleError as error:
            raise EnlistError("bad_input", "the plan's edges turn in a circle", given=" -> ".join(error.args[1]),
                              allowed="a directed acyclic graph",
                              fix="remove one edge; rework is the executor's bounded retry, never an edge") from error


class Nearest(Strict):
    """A capability near the request: whether it can be served here, how near it is in [0, 1], and why it was named."""

    capability: str
    status: Literal["installed", "not_installed", "out_of_scope"]
    score: float
    reason: str


class Missing(Strict):
    """Part of the request that no installed capability serves."""

    capability: str
    reason: str


class Planning(Strict):
    """What planning ends in: a plan or None, what is missing, and the nearest capabilities."""

    plan: Plan | None
    missing: tuple[Missing, ...] = ()
    nearest: tuple[Nearest, ...] = ()


def validate(plan: Plan, capabilities: Iterable[str]) -> Plan:
    """The plan itself if it holds together, else `bad_input` that names the first fault.

    Rules: unique role ids; known capabilities; edges join known roles, carry a kind that the source writes and the
    target reads; no circle; one writer, which every other role reaches; each verifier has an analyst of its capability
    upstream.
    """
    ids = [role.id for role in plan.roles]
    known = set(capabilities)

    def refuse(message: str, given: str) -> EnlistError:
        return EnlistError("bad_input", f"plan: {message}", given=given, fix="correct the plan or let Enlist plan")

    if len(set(ids)) != len(ids):
        raise refuse("two roles share an id", str(sorted(i for i in set(ids) if ids.count(i) > 1)))
    for role in plan.roles:
        if role.duty != "writer" and role.capability not in known:
            raise refuse(f"role {role.id!r} names an unknown capability", repr(role.capability))
    for edge in plan.edges:
        if edge.source not in ids or edge.target not in ids:
            raise refuse("an edge joins a role that is not there", f"{edge.source} -> {edge.target}")
        if edge.artifact not in plan.role(edge.source).writes or edge.artifact not in plan.role(edge.target).reads:
            raise refuse(f"edge {edge.source} -> {edge.target} carries what one side does not handle", edge.artifact)
    plan.order()
    writers = [role.id for role in plan.roles if role.duty == "writer"]
    if len(writers) != 1:
        raise refuse("exactly one writer is needed", str(writers))
    lost = sorted(set(ids) - {writers[0]} - set(plan.upstream(writers[0])))
    if lost:
        raise refuse("roles whose work never reaches the writer", str(lost))
    for role in plan.roles:
        above = [plan.role(r) for r in plan.upstream(role.id)]
        if role.duty == "verifier" and not any(a.duty == "analyst" and a.capability == role.capability for a in above):
            raise refuse(f"verifier {role.id!r} has no analyst of its capability upstream", str(role.capability))
    return plan
