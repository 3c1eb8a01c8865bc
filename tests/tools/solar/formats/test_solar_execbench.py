"""SOL-ExecBench problems: axes, dtypes and arguments as the format defines them; slips are named, nothing is run.

The definitions here are written by hand after the format's published description.
"""

import ast
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.formats.execbench import model_source, read_definition, read_workloads, sizes
from enlist.tools.solar.formats.opened import opened

REFERENCE = "import torch\n\n\n@torch.no_grad()\ndef run(x, weight, eps):\n    return (x @ weight) * eps\n"
DEFINITION: dict[str, Any] = {
    "name": "scaled product / v1", "hf_id": "unknown keys are passed over",
    "axes": {"B": {"type": "var"}, "K": {"type": "const", "value": 96},
             "H": {"type": "expr", "expression": "K // 2 + max(B, 3)"}},
    "inputs": {"x": {"shape": ["B", "K"], "dtype": "bfloat16"}, "weight": {"shape": ["K", "H"], "dtype": "bfloat16"},
               "eps": {"shape": None, "dtype": "float32"}},
    "outputs": {"y": {"shape": ["B", "H"], "dtype": "bfloat16"}}, "reference": REFERENCE}
WORKLOAD = {"uuid": "one", "axes": {"B": 7}, "inputs": {"x": {"type": "random"}, "weight": {"type": "random"},
                                                       "eps": {"type": "scalar", "value": 1e-06}}}
Problem = Callable[..., Path]


@pytest.fixture
def problem(tmp_path: Path) -> Problem:
    """Write a problem with parts of the definition replaced; a part that is None is left out."""

    def write(workloads: list[Any] | None = None, **changes: Any) -> Path:
        data = {k: v for k, v in (DEFINITION | changes).items() if v is not None}
        (tmp_path / "definition.json").write_text(json.dumps(data))
        lines = [json.dumps(w) for w in ([WORKLOAD] if workloads is None else workloads)]
        (tmp_path / "workload.jsonl").write_text("\n".join(lines))
        return tmp_path

    return write


def arguments(text: str) -> list[str]:
    """The source of each argument that get_inputs() returns."""
    function = next(n for n in ast.parse(text).body if isinstance(n, ast.FunctionDef) and n.name == "get_inputs")
    listed = function.body[-1].value  # type: ignore[attr-defined]
    return [ast.unparse(element) for element in listed.elts]


def test_constants_variables_and_expressions_become_shapes(problem: Problem) -> None:
    definition, (workload,) = read_definition(problem() / "definition.json"), read_workloads(
        problem() / "workload.jsonl")
    assert sizes(definition, workload) == {"B": 7, "K": 96, "H": 96 // 2 + 7}
    text = model_source(definition, workload)
    assert text.startswith(REFERENCE)
    assert arguments(text) == ["torch.empty((7, 96), dtype=torch.bfloat16)",
                               "torch.empty((96, 55), dtype=torch.bfloat16)", "1e-06"]


def test_each_workload_is_one_source_with_its_sizes_as_label(problem: Problem) -> None:
    folder = problem([WORKLOAD, WORKLOAD | {"axes": {"B": 1}}])
    for typed in (folder, folder / "definition.json", folder / "workload.jsonl"):
        found = opened(str(typed))
        assert [s.label for s in found] == ["B=7", "B=1"] and {s.target for s in found} == {"run"}
        assert {s.name for s in found} == {"scaled_product_v1.py"}
    assert arguments(found[1].resized("B", 64).content.decode())[0] == "torch.empty((64, 96), dtype=torch.bfloat16)"


def test_a_workload_that_does_not_fit_leaves_the_others_alone(problem: Problem) -> None:
    first, second = opened(str(problem([WORKLOAD | {"axes": {"Q": 3}}, WORKLOAD])))
    assert first.fault is not None and first.fault.code == "bad_input" and first.fault.given == "Q"
    assert second.fault is None and second.content


def test_sizes_on_the_command_line_take_the_place_of_workloads(problem: Problem) -> None:
    (one,) = opened(str(problem(inputs={"x": DEFINITION["inputs"]["x"]})), inputs="B=12")
    assert one.label == "B=12" and arguments(one.content.decode()) == ["torch.empty((12, 96), dtype=torch.bfloat16)"]
    with pytest.raises(EnlistError, match="sizes of its axes"):
        opened(str(problem()), inputs="x=float32[2]")


def test_the_order_is_that_of_the_parameters_where_they_have_the_names(problem: Problem) -> None:
    swapped = REFERENCE.replace("x, weight, eps", "weight, x, eps")
    (one,) = opened(str(problem(reference=swapped)))
    assert arguments(one.content.decode())[0] == "torch.empty((96, 55), dtype=torch.bfloat16)"


def test_a_scalar_that_only_the_problem_knows_is_made_by_its_own_code(problem: Problem) -> None:
    custom = {"uuid": "c", "axes": {"B": 7}, "inputs": {n: {"type": "custom"} for n in ("x", "weight", "eps")}}
    text = "def make(axes, device):\n    return {'x': 1, 'weight': 2, 'eps': axes['B']}\n\n\n" + REFERENCE
    (one,) = opened(str(problem([custom], reference=text, custom_inputs_entrypoint="make")))
    names: dict[str, Any] = {}
    exec(one.content.decode().replace("import torch", "").replace("@torch.no_grad()", ""), names)
    assert names["get_inputs"]() == [1, 2, 7]


def test_the_reference_may_lie_beside_the_definition(problem: Problem) -> None:
    folder = problem(reference=None)
    (folder / "reference.py").write_text(REFERENCE)
    assert opened(str(folder))[0].content.decode().startswith(REFERENCE)


@pytest.mark.parametrize(("changes", "word"), [
    ({"reference": "def other(): pass"}, "no function run"), ({"reference": "def run(:"}, "no Python"),
    ({"reference": None}, "reference"), ({"inputs": None}, "inputs"), ({"axes": {"B": {"type": "odd"}}}, "axes.B.type"),
    ({"name": 3}, "name")])
def test_a_definition_that_cannot_be_read_is_refused_by_its_field(
        problem: Problem, changes: dict[str, Any], word: str) -> None:
    with pytest.raises(EnlistError, match=word) as caught:
        opened(str(problem(**changes)))
    assert caught.value.code == "bad_input" and caught.value.fix


@pytest.mark.parametrize("expression", [
    "H", "__import__('os').system('true')", "B ** 99999999", "1 // 0", "B.real", "[B]", "K * 1.5 + 0.25", "-B",
    "B * 9999999999999"])
def test_a_hostile_or_senseless_expression_is_refused_and_not_run(problem: Problem, expression: str) -> None:
    axes = DEFINITION["axes"] | {"H": {"type": "expr", "expression": expression}}
    (one,) = opened(str(problem(axes=axes)))
    assert one.fault is not None and one.fault.code == "bad_input"


@pytest.mark.parametrize("lines", ["", "{", "[1]", '{"axes": {"B": "many"}}', '{"axes": 3}'])
def test_workloads_that_are_none_are_refused_by_their_line(problem: Problem, lines: str) -> None:
    folder = problem()
    (folder / "workload.jsonl").write_text(lines)
    with pytest.raises(EnlistError, match=r"workload\.jsonl"):
        opened(str(folder))


def test_a_flashinfer_trace_wraps_the_workload(problem: Problem) -> None:
    (one,) = opened(str(problem([{"definition": "d", "workload": WORKLOAD, "solution": None}])))
    assert one.fault is None and one.label == "B=7"
