"""A leaderboard is what a hand count of its samples gives."""

import pytest

from enlist.evals.campaign.content import tabulate
from enlist.evals.campaign.journal import Outcome, State
from enlist.evals.campaign.wording import reading


def rows(table):
    (board,) = tabulate(table).boards
    return {row.solver: row for row in board.rows}


def test_rows_stand_best_first_with_their_means_and_verdicts(made):
    (board,) = tabulate(made({"a": [0.0, 0.5, 1.0], "b": [1.0, 1.0, 0.4]})).boards
    assert [r.solver for r in board.rows] == ["b", "a"]
    assert [r.score.mean for r in board.rows] == pytest.approx([0.8, 0.5])
    assert board.rows[1].verdicts == {"ok": 2, "wrong": 1} and board.rows[1].samples == 3
    assert all(r.score.low <= r.score.mean <= r.score.high and r.score.tasks == 3 for r in board.rows)


def test_differences_are_paired_over_the_tasks_that_both_have_and_adjusted_together(made):
    found = rows(made({"a": [0.0, 0.0, 0.0, 0.0, 0.0, 1.0], "b": [0.5] * 5, "c": [0.0] * 6}))
    assert found["a"].difference is None
    assert found["b"].difference.estimate.mean == 0.5 and found["b"].missing == 1
    assert found["b"].difference.p == 2 / 2**5 and found["b"].difference.adjusted_p == 2 * found["b"].difference.p
    assert found["c"].difference.p == found["c"].difference.adjusted_p == 1.0


def test_what_was_left_out_counts_nowhere(made):
    table = made({"a": [1.0, 1.0, 0.0], "b": [0.5, 0.5, 0.5]})

    def without(solver):
        left = [s.model_copy(update={"counted": False}) if (s.solver, s.task) == (solver, "t2") else s
                for s in table.samples]
        return rows(table.model_copy(update={"samples": tuple(left)}))

    assert without("b")["b"].difference.estimate.mean == -0.5
    found = without("a")
    assert (found["a"].score.mean, found["a"].samples, found["a"].skipped) == (1.0, 2, 1)
    assert found["b"].difference.estimate.mean == -0.5 and found["b"].difference.estimate.tasks == 2


def test_seeds_of_one_task_are_one_task(made):
    found = rows(made({"a": [0.0, 0.5, 1.0], "b": [1.0, 1.0, 1.0]}, repeats=4))
    assert found["a"].samples == 12 and found["a"].score.tasks == 3


def test_the_same_samples_give_the_same_bytes(made):
    table = made({"a": [0.1, 0.7, 0.3, 0.9], "b": [0.2, 0.6, 0.5, 0.8]})
    assert tabulate(table).model_dump_json() == tabulate(table).model_dump_json()


def test_a_tie_is_called_one_and_an_empty_board_empty(made):
    tied = tabulate(made({"a": [1.0, 0.5], "b": [0.5, 1.0]}))
    assert reading(tied, tied.boards[0]).startswith("a and b score best")
    nothing = tabulate(made({"a": [1.0]}).model_copy(update={"samples": ()}))
    assert nothing.boards[0].rows[0].score is None
    assert reading(nothing, nothing.boards[0]) == "Nothing is settled here."


def test_an_error_is_no_outcome_to_count():
    """The journal gives outcomes for verdicts on solvers only; a sample without one is missing."""
    assert State().outcomes == {} and Outcome(sample="s", verdict="wrong", value=0, tries=1).counted
