"""Topologies: which roles hand over to which, as pairs of role numbers."""

from enlist.tools.runtime.errors import EnlistError

Edge = tuple[int, int]
TOPOLOGIES = ("chain", "complete")


def chain(roles: int) -> tuple[Edge, ...]:
    """0-1, 1-2, ...: each role hands over to the next."""
    return tuple((role, role + 1) for role in range(roles - 1))


def complete(roles: int) -> tuple[Edge, ...]:
    """Each pair of roles works together."""
    return tuple((first, second) for first in range(roles) for second in range(first + 1, roles))


def topology(name: str, roles: int) -> tuple[Edge, ...]:
    """The edges of a topology by name; `bad_input` for another name."""
    if name not in TOPOLOGIES:
        raise EnlistError("bad_input", "unknown topology", given=repr(name), allowed=", ".join(TOPOLOGIES),
                          fix="name one of these, or pass your own edges to TeamProblem")
    return chain(roles) if name == "chain" else complete(roles)


def is_forest(roles: int, edges: tuple[Edge, ...]) -> bool:
    """Whether the edges close no cycle (union-find)."""
    parent = list(range(roles))

    def root(role: int) -> int:
        while parent[role] != role:
            role = parent[role]
        return role

    for first, second in edges:
        one, other = root(first), root(second)
        if one == other:
            return False
        parent[one] = other
    return True
