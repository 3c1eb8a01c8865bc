"""`enlist sol`: the answer in five lines, one JSON entry per file, faults beside answers.

Captures are made by hand here; the slow tests capture real files, hostile ones among them, in the sandbox.
"""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from enlist.evals.cli import sol_asked
from enlist.evals.cli.main import main
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.formats.opened import Source
from enlist.tools.solar.graph import Graph, Node, Tensor

FIXED = {"device", "class", "dtype_peaks", "bounds", "estimate_s", "flop", "bytes", "terms", "coverage", "assumed",
         "unmodelled"}
FILES = Path(__file__).parents[3] / "examples"


def product(rows: int) -> Graph:
    """One matrix product of rows x 512 by 512 x 256, in float32."""
    def tensor(name: str, shape: tuple[int, int], role: Any) -> Tensor:
        return Tensor(id=name, shape=shape, strides=(shape[1], 1), dtype="float32", role=role, name=name,
                      is_output=role == "output")

    return Graph(target="model.py:Model", assumed=("inputs: by hand",), tensors=(
        tensor("x", (rows, 512), "input"), tensor("w", (512, 256), "parameter"), tensor("y", (rows, 256), "output")),
        nodes=(Node(id="n", op="mm", where="head", inputs=("x", "w"), slots=("self", "mat2"), outputs=("y",)),))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Source]:
    """Two files, of which `bad.py` cannot be captured; rows come from the size of `batch`. Gives what was captured."""
    asked: list[Source] = []
    for name in ("model.py", "other.py", "bad.py"):
        (tmp_path / name).write_text("import torch\n")

    def capture_all(sources: Sequence[Source], training: Any, structure: bool, say: Callable[[str], None]) -> list[Any]:
        asked.extend(sources)
        return [EnlistError("tool_failed", "bad.py raised ValueError: no", fix="mend it") if s.name == "bad.py" else
                product(int(s.inputs.rpartition("=")[2]) if s.inputs else 64) for s in sources]

    monkeypatch.setattr("enlist.evals.cli.sol_capture.capture_all", capture_all)
    return asked


@pytest.mark.usefixtures("files")
def test_one_file_is_one_entry_with_the_fixed_keys(enlist: Any) -> None:
    said = enlist("sol", "model.py", "--device", "H100-SXM", "--json")
    assert said.code == 0, said.err
    assert set(said.document) >= FIXED and said.document["device"] == "H100 SXM"
    assert set(said.document["bounds"]) == {"unfused_s", "fused_s", "cache_aware_s"}
    assert said.document["flop"]["total"] == 2 * 64 * 512 * 256 == sum(said.document["flop"]["by_roof"].values())
    assert said.document["bytes"]["fused"] == 4 * (64 * 512 + 512 * 256 + 64 * 256)
    (term,) = said.document["terms"]
    assert {"op", "where", "roof", "flop", "bytes", "seconds", "loose_by"} <= set(term) and term["where"] == "head"


@pytest.mark.usefixtures("files")
def test_a_file_that_fails_is_an_entry_and_the_others_still_come(enlist: Any) -> None:
    said = enlist("sol", "bad.py", "model.py", "absent.py", "other.py", "--json")
    assert said.code == 1 and [("error" in e) for e in said.document] == [True, False, True, False]
    assert said.document[0]["error"] | {"given": None, "allowed": None} == {
        "code": "tool_failed", "message": "bad.py raised ValueError: no", "fix": "mend it", "given": None,
        "allowed": None}
    assert said.document[2]["error"]["code"] == "not_found" and said.document[2]["error"]["fix"]
    assert [e["file"] for e in said.document] == ["bad.py", "model.py", "absent.py", "other.py"]


@pytest.mark.usefixtures("files")
def test_one_file_that_fails_is_its_entry_and_exit_status_1(enlist: Any) -> None:
    said = enlist("sol", "bad.py", "--json")
    assert said.code == 1 and said.document["error"]["code"] == "tool_failed"
    said = enlist("sol", "bad.py")
    assert said.code == 1 and "bad.py raised ValueError" in said.err and "Traceback" not in said.err


@pytest.mark.usefixtures("files")
def test_the_answer_is_in_the_first_five_lines_of_eighty_columns(enlist: Any) -> None:
    said = enlist("sol", "model.py", "--measured", "0.5", "--compare", "A100,H100", "--sweep", "batch=1,8")
    lines = said.out.splitlines()
    assert said.code == 0 and max(map(len, lines)) <= 80
    first = "\n".join(lines[:5])
    assert all(word in first for word in ("H100 SXM", "fused", "unfused", "estimate", "500 µs is", "limit"))
    assert "because no --device was named" in said.err


def test_a_sweep_captures_each_size_and_prices_it(enlist: Any, files: list[Source]) -> None:
    said = enlist("sol", "model.py", "--sweep", "batch=1,8,64", "--json")
    assert [s.inputs for s in files] == [None, "batch=1", "batch=8", "batch=64"]
    assert [(p["size"], p["flop"]) for p in said.document["sweep"]] == [(n, 2 * n * 512 * 256) for n in (1, 8, 64)]


@pytest.mark.parametrize("words", [["--sweep", "batch=1,8;length=2,4"],
                                   ["--sweep", "batch=1,8", "--sweep", "length=2,4"]])
def test_a_sweep_of_two_dimensions_prices_all_sizes_of_both(enlist: Any, files: list[Source], words: list[str],
                                                            tmp_path: Path) -> None:
    said = enlist("sol", "model.py", *words, "--json", "--html", "page.html")
    pairs = [(1, 2), (1, 4), (8, 2), (8, 4)]
    assert [s.inputs for s in files] == [None, *(f"batch={b};length={n}" for b, n in pairs)]
    assert [p["at"] for p in said.document["sweep"]] == [{"batch": b, "length": n} for b, n in pairs]
    assert "batch, length" in (tmp_path / "page.html").read_text()
    shown = enlist("sol", "model.py", *words).out
    assert "batch, length" in shown and "8, 4" in shown


@pytest.mark.usefixtures("files")
def test_a_size_that_cannot_be_captured_leaves_the_others(enlist: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("enlist.evals.cli.sol_capture.capture_all", lambda sources, *others: [
        EnlistError("unsupported", "batch is fixed") if s.inputs == "batch=8" else product(4) for s in sources])
    said = enlist("sol", "model.py", "--sweep", "batch=1,8", "--json", "--html", "page.html")
    assert said.code == 1 and "error" not in said.document
    assert [p.get("error", {}).get("code") for p in said.document["sweep"]] == [None, "unsupported"]
    assert "batch=8: batch is fixed" in enlist("sol", "model.py", "--sweep", "batch=1,8").err


@pytest.mark.usefixtures("files")
def test_of_several_files_each_answers_all_that_was_asked(enlist: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    said = enlist("sol", "model.py", "other.py", "--compare", "A100", "--provision", "5", "--sweep", "batch=1,8")
    assert said.code == 0 and said.out.count("A100 SXM 80GB") >= 2 and said.out.count("hardware needs at least") == 2
    assert all(len(line) <= 80 for line in said.out.splitlines())
    monkeypatch.setattr("enlist.evals.cli.sol_capture.capture_all", lambda sources, *others: [
        product(64) if s.inputs is None else EnlistError("bad_input", "no dimension for rows") for s in sources])
    said = enlist("sol", "model.py", "other.py", "--sweep", "rows=8")
    assert said.code == 1 and said.err.count("rows=8: no dimension for rows") == 2


def test_workloads_are_told_apart_in_the_table(enlist: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "a-long-name-of-a-problem-of-somebody"
    axes = {"batch_size": {"type": "var"}, "length_of_all": {"type": "var"}}
    (tmp_path / "definition.json").write_text(json.dumps({
        "name": name, "axes": axes, "inputs": {"x": {"shape": list(axes), "dtype": "float32"}},
        "reference": "def run(x):\n    return x"}))
    (tmp_path / "workload.jsonl").write_text("".join(
        f'{{"axes": {{"batch_size": {n}, "length_of_all": 512}}}}\n' for n in (4, 34)))
    monkeypatch.setattr("enlist.evals.cli.sol_capture.capture_all", lambda sources, *others: [
        product(64).model_copy(update={"target": f"{name}.py:run"}) for _ in sources])
    said = enlist("sol", ".")
    assert re.findall(r"^bat\w*=(\d+) len\w*=(\d+) ", said.out, re.MULTILINE) == [("4", "512"), ("34", "512")]
    assert said.out.count(name) == 1 and max(map(len, said.out.splitlines())) <= 80


@pytest.mark.usefixtures("files")
def test_other_devices_stand_beside_the_first(enlist: Any) -> None:
    said = enlist("sol", "model.py", "--device", "A100 PCIe 40GB", "--compare", "H100-SXM", "--json")
    assert said.document["device"] == "A100 PCIe 40GB"
    assert [d["device"] for d in said.document["compare"]] == ["A100 PCIe 40GB", "H100 SXM"]


@pytest.mark.usefixtures("files")
def test_the_page_is_written_whole_or_not_at_all(enlist: Any, tmp_path: Path) -> None:
    assert enlist("sol", "model.py", "bad.py", "--html", "page.html").code == 1
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")
    said = enlist("sol", "model.py", "--html", "absent/page.html", "--json")
    assert said.code == 2 and "--html" in said.document["error"]["fix"]
    assert sorted(p.name for p in tmp_path.iterdir() if p.name.startswith(".")) == []


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("wrong", [
    ["--device", "H1000"], ["--compare", "H100,nothing"], ["--dtype", "int3"], ["--measured", "absent.json"],
    ["--measured", "0"], ["--measured", "model.py"], ["--sweep", "batch"], ["--sweep", "batch=0"], ["--sweep", "=1"],
    ["--input", ""], ["--sweep", "batch=1;batch=2"], ["--sweep", "batch=1;"],
    ["--training=both"], ["--clock", "fast"], ["--clock", "0"], ["--provision", "soon"], ["--nonsense"]], ids=" ".join)
def test_a_wrong_option_is_a_fault_of_usage(enlist: Any, wrong: list[str]) -> None:
    said = enlist("sol", "model.py", *wrong, "--json")
    assert said.code == 2 and set(said.document) == {"error"} and said.document["error"]["fix"]


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize("name", ["m" * 300 + ".py", "m" * 60 + ".py"])
def test_a_long_name_leaves_the_first_line_within_eighty_columns(enlist: Any, name: str,
                                                                 monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("enlist.evals.cli.sol_capture.capture_all", lambda *asked: [
        product(4).model_copy(update={"target": f"{name}:ModelAtTheEnd"})])
    first = enlist("sol", "model.py").out.splitlines()[0]
    assert len(first) == 80 and first.startswith("mmm") and first.endswith("ModelAtTheEnd on H100 SXM")


def test_a_fault_always_says_something_that_can_be_done(enlist: Any, files: list[Source],
                                                        monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("enlist.evals.cli.sol_capture.capture_all", lambda *asked: [EnlistError("tool_failed", "no")])
    assert enlist("sol", "model.py", "--json").document["error"]["fix"] == "see that the file runs by itself"


@pytest.mark.usefixtures("files")
def test_an_unknown_device_is_answered_with_the_nearest(enlist: Any) -> None:
    assert "H100" in enlist("sol", "model.py", "--device", "H1000", "--json").document["error"]["fix"]


@pytest.mark.parametrize("words", [["--training", "model.py"], ["model.py", "--training"],
                                   ["--training", "step", "model.py"], ["--training=step", "model.py"]])
def test_training_alone_means_a_step_and_eats_no_file(
        enlist: Any, files: list[Source], monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    seen: list[Any] = []
    monkeypatch.setattr("enlist.evals.cli.sol_capture.capture_all",
                        lambda sources, training, structure, say: [seen.append(training) or product(1)])
    assert enlist("sol", *words).code == 0 and seen == ["step"]


@pytest.mark.parametrize(("text", "right"), [
    ("12.5", 0.0125), ("12.5ms", 0.0125), ("80us", 80e-6), ("2 s", 2.0), ("1e1", 0.01), (".5", 0.0005),
    ("trace.json", None), ("12.5.json", None)])
def test_a_measured_time_is_milliseconds_unless_it_says_otherwise(text: str, right: float | None) -> None:
    assert sol_asked.seconds(text) == pytest.approx(right) if right else sol_asked.seconds(text) is None


@pytest.mark.parametrize(("text", "latency", "rate"), [
    ("5", 0.005, None), ("5ms", 0.005, None), ("3000tokens/s", None, 3000.0), ("3e3 tok/s", None, 3000.0),
    ("12 tps", None, 12.0)])
def test_a_demand_is_a_time_or_a_rate(text: str, latency: float | None, rate: float | None) -> None:
    assert sol_asked.demand(text) == sol_asked.Demand(latency, rate)


HOSTILE = {
    "exits.py": "import torch, os\nos._exit(0)\n", "loops.py": "import torch\nwhile True:\n    pass\n",
    "raises.py": "import torch\nraise RuntimeError('no')\n",
    "floods.py": "import torch\nfor n in range(10**6):\n    print('x' * 999)\n1 / 0\n",
    "network.py": "import torch, urllib.request\nurllib.request.urlopen('http://example.com')\n",
    "allocates.py": "import torch\nx = torch.ones(9_000_000_000, device='cpu')\n",
    "patches.py": "import torch\ntorch.export.export = None\ntorch.nn.Linear.forward = None\nraise SystemExit(0)\n",
    "notpython.py": "def (", "binary.py": "\0\1"}


@pytest.mark.slow  # minutes: real captures in the sandbox, one of which has to time out
def test_hostile_files_each_end_as_an_entry_and_a_good_one_among_them_is_right(enlist: Any, tmp_path: Path) -> None:
    for name, text in HOSTILE.items():
        (tmp_path / name).write_text(text)
    names = list(HOSTILE)
    said = enlist("sol", *names[:4], str(FILES / "gpt2.py"), *names[4:], "--json")
    assert said.code == 1
    by = {Path(e["file"]).name: e for e in said.document}
    assert {n for n, e in by.items() if "error" in e} == set(HOSTILE)
    assert all(e["error"]["fix"] for e in by.values() if "error" in e)
    assert by["loops.py"]["error"]["code"] == "timeout"
    alone = enlist("sol", str(FILES / "gpt2.py"), "--json")
    assert {k: by["gpt2.py"][k] for k in FIXED} == {k: alone.document[k] for k in FIXED}


@pytest.mark.slow
def test_the_program_itself_prints_one_document(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["sol", str(FILES / "gpt2.py"), "--json"]) == 0
    assert set(json.loads(capfd.readouterr().out)) >= FIXED


def test_a_capture_that_never_ends_is_told_by_its_file_and_with_advice_that_sol_can_take(
        enlist: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*asked: Any, **more: Any) -> Any:
        raise EnlistError("timeout", "tool solar-capture ran longer than 180 s and was killed with its children",
                          fix="give a larger --budget-seconds, or make the attached code end")

    (tmp_path / "endless.py").write_text("import torch\n")
    monkeypatch.setattr("enlist.evals.cli.sol_capture.run_tool", killed)
    said = enlist("sol", "endless.py", "--json")
    fault = said.document["error"]
    assert said.code == 1 and fault["code"] == "timeout" and fault["message"].startswith("endless.py took longer")
    options = enlist("sol", "--help").out
    assert all(word.strip(",.") in options for word in fault["fix"].split() if word.startswith("--"))
    assert "does not end" in fault["fix"]
