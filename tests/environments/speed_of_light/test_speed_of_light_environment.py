"""The benchmark of lower bounds: its truths, its scores, and what its mutants get."""

from itertools import product

import pytest

from enlist.environments.conformance import check_environment
from enlist.environments.contract import Submission, Task
from enlist.environments.speed_of_light.environment import SpeedOfLight
from enlist.environments.speed_of_light.generated import FAMILIES
from enlist.environments.speed_of_light.scoring import judge, readable, tightness
from enlist.environments.speed_of_light.solvers import MUTANTS, SOLVERS
from enlist.environments.speed_of_light.truths import Known, Limits, worked_out, written_blind
from enlist.tools.runtime.errors import EnlistError

SMALL = SpeedOfLight(per_family=1, blind=False)
DEVICE = {"dram": 1e9, "vector.fp32": 1e12, "tensor.tf32": 8e12}
PRODUCT = Known(id="p", why="N**3 multiply-adds", sizes={"N": 100}, unit="vector.fp32",
                matrix_flop=Limits(at_least="2*N**3", at_most="2*N**3"),
                fused_bytes=Limits(at_least="12*N*N", at_most="12*N*N"))


def task(name: str) -> Task:
    return next(t for t in SMALL.tasks("validation", 0) if t.id == f"{name}/0")


@pytest.mark.parametrize("rows, columns, n", [(3, 4, 5)])
def test_an_expression_is_arithmetic_in_its_sizes(rows: int, columns: int, n: int) -> None:
    assert worked_out("N*(N + 1)*(N + 2)//6 + min(A, B)**2 - B % A", {"N": n, "A": rows, "B": columns}) == 35 + 9 - 1


@pytest.mark.parametrize("text", ["__import__('os')", "N.real", "[N]", "N if N else 1", "M", "N/2", "2 +", "1//0",
                                  "1.5"])
def test_an_expression_that_is_more_than_arithmetic_is_refused(text: str) -> None:
    with pytest.raises(EnlistError) as fault:
        worked_out(text, {"N": 3})
    assert fault.value.code == "bad_input"


def brute(name: str, s: dict[str, int]) -> int:
    """Multiply-adds by counting them one by one, at small sizes."""
    if name == "convolution":
        size = s["S"]
        taps = product(range(size), range(size), range(3), range(3))
        inside = sum(0 <= y + i - 1 < size and 0 <= x + j - 1 < size for y, x, i, j in taps)
        return s["B"] * s["C"] * s["D"] * inside
    if name == "causal-attention":
        return 2 * s["B"] * s["H"] * s["D"] * sum(k <= q for q, k in product(range(s["L"]), repeat=2))
    if name == "triangular-product":
        return sum(i <= k <= j for i, k, j in product(range(s["N"]), repeat=3))
    if name == "attention" or name == "expanded-heads":
        return (2 if name == "attention" else 1) * s["B"] * s["H"] * s["L"] * s["L"] * s["D"]
    loops = {"linear": "BIO", "bfloat16-mlp": "BIH", "batched-products": "BMNK", "live-output": "BIO",
             "part-of-an-input": "BPO"}.get(name)
    count = 2 if name == "bfloat16-mlp" else 1
    return count * len(list(product(*(range(s[size]) for size in loops)))) if loops else 0


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.name)
def test_the_flop_of_a_family_are_two_for_each_multiply_add_that_a_loop_counts(family) -> None:
    sizes = {size: n for size, n in zip(family.sizes, (2, 3, 4, 5), strict=False)}
    assert worked_out(family.flop, sizes) == 2 * brute(family.name, sizes)


def test_what_is_possible_is_worth_how_tight_it_is_and_what_is_not_is_worth_nothing() -> None:
    flop, moved = 2e6, 12e4  # 2 us at 1 TFLOP/s, 120 us at 1 GB/s
    assert judge(PRODUCT, DEVICE, {"matrix_flop": flop, "fused_bytes": moved, "fused_s": 120e-6}).value == 1
    assert judge(PRODUCT, DEVICE, {"fused_s": 90e-6}).value == pytest.approx(0.5)
    assert judge(PRODUCT, DEVICE, {"matrix_flop": flop / 2, "fused_s": 120e-6}).value == 0
    for wrong in ({"fused_s": 123e-6}, {"fused_s": 120e-6, "matrix_flop": flop + 10},
                  {"fused_s": 120e-6, "fused_bytes": moved + 10}, {"fused_s": 120e-6, "unfused_s": 119e-6}):
        assert judge(PRODUCT, DEVICE, wrong).wrong and judge(PRODUCT, DEVICE, wrong).value == 0
    assert (tightness(3, 4), tightness(2, 4), tightness(9, 0), tightness(5, 4)) == (0.5, 0, 1, 1)


@pytest.mark.parametrize("answer", [{}, {"fused_s": None}, {"fused_s": float("nan")}, {"fused_s": -1}, [1],
                                    {"fused_s": True}, {"fused_s": "1"}, {"fused_s": 1, "x": 2}])
def test_an_answer_that_is_no_answer_says_why(answer) -> None:
    assert readable(answer)


def test_no_task_carries_its_truth() -> None:
    for one in SMALL.tasks("validation", 0):
        assert set(one.payload) == {"source", "device", "figures"}
        assert not any(word in one.model_dump_json() for word in ("at_most", "L*(L + 1)", "pairs"))


def test_the_test_split_moves_with_the_salt(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = [t.payload["source"] for t in SMALL.tasks("test", 0)]
    monkeypatch.setenv("ENLIST_EVAL_SALT", "x")
    assert plain != [t.payload["source"] for t in SMALL.tasks("test", 0)]


@pytest.mark.parametrize("name", ["linear", "causal-attention", "triangular-product", "bool-and", "live-output"])
def test_our_bounds_reach_the_truth(name: str) -> None:
    one = task(name)
    score = SMALL.score(one, SOLVERS["solar"].solve(one))
    assert score.value == pytest.approx(1.0), score.reason


def test_a_counter_that_does_not_see_a_mask_is_told_so() -> None:
    one = task("causal-attention")
    score = SMALL.score(one, SOLVERS["classical"].solve(one))
    assert score.verdict == "wrong" and "L*(L + 1)/2 pairs" in score.reason


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_is_caught_where_its_fault_matters(mutant: str) -> None:
    one = task("live-output" if mutant == "dropped output" else "batched-products")
    assert SMALL.score(one, MUTANTS[mutant].solve(one)).value < 0.5


@pytest.mark.slow  # dozens of captures
def test_the_environment_holds_what_environments_must() -> None:
    check_environment(SpeedOfLight(per_family=1), most=12)


@pytest.mark.slow
def test_no_bound_of_ours_is_above_what_is_possible_on_any_module() -> None:
    whole = SpeedOfLight(per_family=2)
    wrong = {}
    for one in whole.tasks("validation", 0):
        score = whole.score(one, SOLVERS["solar"].solve(one))
        if score.verdict != "ok" and "above" in score.reason:
            wrong[one.id] = score.reason
    assert wrong == {}


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_loses_on_every_module_where_its_fault_can_show(mutant: str) -> None:
    """MACs show where there are products, a wrong dtype where there are floats, a dropped output unless it is a small
    part of all that moves or within what the truth leaves open (`moe-dense`)."""
    whole, caught, hidden = SpeedOfLight(per_family=1), 0, set()
    known = {k.id: k for k, _ in whole._known("validation", 0)}
    for one in whole.tasks("validation", 0):
        score = whole.score(one, MUTANTS[mutant].solve(one))
        caught += score.value < 0.999
        if score.value >= 0.999:
            hidden.add(one.id)
    if mutant == "MAC for FLOP":
        assert not any(known[name].limits("matrix_flop")[0] for name in hidden)
    elif mutant == "wrong dtype":
        assert hidden == {"bool-and/0", "blind-bool-masks", "blind-int64-hash", "blind-int8-product"}
    else:
        small = {"blind-argmax-tokens", "blind-cross-entropy", "blind-matrix-vector", "blind-mean-dim"}
        assert hidden == (small | {"blind-moe-dense"} if mutant == "dropped output" else set())
    assert caught >= len(known) * 2 // 3


def test_a_third_of_the_modules_was_written_blind() -> None:
    blind, drawn = len(written_blind()), 2 * len(FAMILIES)
    assert blind >= 20 and blind / (blind + drawn) >= 1 / 3


def test_a_submission_for_another_task_is_invalid() -> None:
    one = task("linear")
    assert SMALL.score(one, Submission(task="other", answer={"fused_s": 0.0})).verdict == "invalid"
