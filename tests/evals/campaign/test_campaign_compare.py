"""Two campaigns held against each other."""

from enlist.evals.campaign.compare import compare
from enlist.evals.campaign.content import tabulate

GOOD, BAD = [0.9] * 8, [0.5] * 8


def test_a_solver_that_got_worse_beyond_chance_is_a_regression(made):
    found = compare(tabulate(made({"a": GOOD, "b": GOOD})),
                    tabulate(made({"a": BAD, "b": GOOD}, campaign="c2", versions={"enlist": "2"})))
    a, b = found.solvers
    assert found.regressions == ("made a",) and a.regression and not b.regression
    assert a.difference.estimate.mean < 0 and a.difference.p == 2 / 2**8 and (a.better, a.worse) == (0, 8)
    assert (a.tasks[0].before, a.tasks[0].after) == (0.9, 0.5) and b.tasks == ()
    assert found.changed == ("enlist: 1 -> 2",)


def test_a_loss_on_few_tasks_is_no_proof(made):
    found = compare(tabulate(made({"a": [0.9] * 3})), tabulate(made({"a": [0.5] * 3})))
    assert found.solvers[0].worse == 3 and found.regressions == ()


def test_only_shared_tasks_are_paired_and_the_rest_is_named(made):
    found = compare(tabulate(made({"a": GOOD, "old": GOOD})), tabulate(made({"a": GOOD[:5], "new": GOOD},
                                                                            campaign="c2")))
    assert [(s.solver, s.pairs) for s in found.solvers] == [("a", 5)]
    assert found.only == ("only c1 has made old", "only c2 has made new")


def test_equal_campaigns_differ_in_nothing(made):
    same = tabulate(made({"a": GOOD}))
    found = compare(same, same)
    assert found.changed == found.regressions == found.only == () and found.solvers[0].difference.p == 1.0
