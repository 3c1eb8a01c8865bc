"""A description that cannot be meant is refused with what is allowed and what to do."""

import numpy as np
import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.smart import PoolColumns, TeamProblem, chain, complete, search, topology

CARDS = ["a", "b", "c"]
FITS = np.zeros((2, 3))


def problem(**changes):
    given = {"pool": PoolColumns(CARDS), "roles": ("x", "y"), "edges": ((0, 1),), "unary": FITS, **changes}
    return TeamProblem(**given)


@pytest.mark.parametrize("changes", [
    {"roles": ("x", "x")}, {"roles": ()}, {"edges": ((0, 2),)}, {"edges": ((0, 0),)}, {"edges": ((0, 1), (1, 0))},
    {"unary": np.zeros((3, 2))}, {"differ": ((0, 1),)}, {"beta": float("nan")},
    {"synergy": lambda a, b, edge: np.zeros((len(a), len(b)))},
    {"beta": 1e9, "pool": PoolColumns(CARDS, np.ones((3, 2)))},
])
def test_broken_descriptions_are_refused(changes):
    with pytest.raises(EnlistError) as fault:
        problem(**changes)
    assert fault.value.code == "bad_input" and fault.value.fix and fault.value.allowed


@pytest.mark.parametrize("columns", [
    {"ids": ["a", "a"]}, {"ids": CARDS, "vectors": np.zeros((2, 4))},
    {"ids": CARDS, "vectors": np.full((3, 4), np.nan)},
    {"ids": CARDS, "vectors": np.full((3, 4), 5.0)}, {"ids": CARDS, "routes": np.zeros(3)},
    {"ids": CARDS, "routes": np.zeros(2, dtype=int)},
])
def test_broken_columns_are_refused(columns):
    with pytest.raises(EnlistError) as fault:
        PoolColumns(**columns)
    assert fault.value.code == "bad_input" and fault.value.fix


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e6])
@pytest.mark.parametrize("as_function", [False, True])
def test_nan_and_infinite_fits_are_refused_naming_the_role(value, as_function):
    fits = FITS.copy()
    fits[1, 2] = value
    with pytest.raises(EnlistError, match="'y'") as fault:
        search(problem(unary=(lambda role, rows: fits[role][rows]) if as_function else fits))
    assert fault.value.code == "bad_input"


@pytest.mark.parametrize("values", [np.full((3, 3), np.nan), np.full((3, 3), 2.0), np.zeros((1, 1))])
def test_a_synergy_function_that_breaks_its_promise_is_refused(values):
    with pytest.raises(EnlistError, match="promise"):
        search(problem(synergy=lambda a, b, edge: values[:len(a), :len(b)] if values.shape != (1, 1) else values,
                       synergy_most=1.0))


def test_utility_is_fits_plus_weighted_dot_products():
    """Worked by hand: 0.5 + 0.25 + 0.5 * (1 * 0.5 + 2 * 0.25) = 1.25."""
    pool = PoolColumns(["p", "q"], np.array([[1.0, 2.0], [0.5, 0.25]]))
    two = TeamProblem(pool, ("x", "y"), ((0, 1),), np.array([[0.5, 0.0], [0.0, 0.25]]), 0.5)
    assert two.utility((0, 1)) == 1.25
    assert two.utility((1, 1)) == -np.inf


def test_a_negative_route_clashes_with_nobody():
    pool = PoolColumns(["p", "q", "r"], routes=np.array([-1, -1, 2]))
    apart = TeamProblem(pool, ("x", "y"), (), np.zeros((2, 3)), differ=((0, 1),))
    assert apart.utility((0, 1)) == 0.0


def test_topologies_by_name():
    assert topology("chain", 4) == chain(4) == ((0, 1), (1, 2), (2, 3))
    assert topology("complete", 3) == complete(3) == ((0, 1), (0, 2), (1, 2))
    with pytest.raises(EnlistError, match="chain, complete"):
        topology("ring", 3)
