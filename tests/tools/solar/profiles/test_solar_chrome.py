"""torch.profiler's traces: real ones of a tiny model on this CPU, and events written by hand as a GPU leaves them."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.graph import Graph
from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.pricing.bounds import bounds
from enlist.tools.solar.profiles.activity import Profile
from enlist.tools.solar.profiles.join import Joined, join
from enlist.tools.solar.profiles.reading import read_profile
from enlist.tools.solar.pytorch.capture import capture

TEXT = """import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm, self.second = nn.Linear(96, 64), nn.LayerNorm(64), nn.Linear(64, 32)

    def forward(self, x):
        return self.second(torch.relu(self.norm(self.first(x)))).softmax(-1)


def get_inputs():
    return [torch.rand(16, 96)]


def get_init_inputs():
    return []
"""


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> tuple[Graph, Path]:
    """A captured model, and the trace of three of its passes."""
    import torch

    folder = tmp_path_factory.mktemp("traced")
    (folder / "model.py").write_text(TEXT)
    names: dict[str, Any] = {}
    exec(TEXT, names)
    model, inputs = names["Model"]().eval(), names["get_inputs"]()
    with torch.no_grad(), torch.profiler.profile(
            activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as recorded:
        for _ in range(3):
            model(*inputs)
    recorded.export_chrome_trace(str(folder / "trace.json"))
    return capture(folder / "model.py"), folder / "trace.json"


def joined(graph: Graph, profile: Profile) -> Joined:
    return join(profile, graph, bounds(graph, resolve(["H100 SXM"])).devices[0].terms)


def test_each_operator_of_a_real_trace_finds_its_term(traced: tuple[Graph, Path]) -> None:
    graph, path = traced
    made = joined(graph, read_profile(path))
    assert made.steps == 3 and not made.on_device
    assert [(r.op, r.where) for r in sorted(made.rows, key=lambda r: r.terms)] == [
        ("linear", "first"), ("layer_norm", "norm"), ("relu", ""), ("linear", "second"), ("softmax", "")]
    assert all(r.measured_s > 0 and r.level == "operator" for r in made.rows)


def test_no_time_of_a_trace_is_lost(traced: tuple[Graph, Path]) -> None:
    """The total is what torch.profiler itself sums up: the operators that nothing encloses."""
    graph, path = traced
    events = [e for e in json.loads(path.read_text())["traceEvents"] if e.get("cat") == "cpu_op"]
    top = [e for e in events if not any(
        o is not e and o["ts"] <= e["ts"] and e["ts"] + e["dur"] <= o["ts"] + o["dur"] for o in events)]
    made = joined(graph, read_profile(path))
    assert made.total_s == pytest.approx(sum(e["dur"] for e in top) * 1e-6 / 3, rel=1e-6)
    assert sum(r.measured_s for r in made.rows) + sum(u.seconds for u in made.unjoined) == pytest.approx(made.total_s)


def test_a_gzipped_trace_is_the_same(traced: tuple[Graph, Path], tmp_path: Path) -> None:
    (tmp_path / "trace.json.gz").write_bytes(gzip.compress(traced[1].read_bytes()))
    assert read_profile(tmp_path / "trace.json.gz").activities == read_profile(traced[1]).activities


def op(name: str, ts: float, dur: float, external: int, dims: Any = ()) -> dict[str, Any]:
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur,
            "args": {"External id": external, "Input Dims": list(dims)}}


def kernel(name: str, ts: float, dur: float, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": "kernel", "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur, "args": args}


def launch(ts: float, correlation: int, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": ts, "dur": 2,
            "args": {"correlation": correlation, **args}}


def read(events: list[dict[str, Any]], folder: Path) -> Profile:
    (folder / "gpu.json").write_text(json.dumps({"traceEvents": events}))
    return read_profile(folder / "gpu.json")


@pytest.mark.parametrize("by", ["external", "correlation", "time"])
def test_kernels_belong_to_the_operator_that_launched_them(tmp_path: Path, by: str) -> None:
    """However the trace says so: an id on the kernel, one on the runtime call, or the time of that call."""
    own = {"External id": 2} if by == "external" else {}
    through = {"External id": 2} if by == "correlation" else {}
    events = [op("aten::linear", 0, 100, 1, [[16, 96], [64, 96], [64]]), op("aten::addmm", 10, 80, 2),
              launch(20, 5, **through), kernel("sgemm", 1000, 40, correlation=5, **own),
              kernel("Memcpy HtoD", 900, 3)]
    made = read(events, tmp_path)
    assert made.on_device and made.total_s == pytest.approx(43e-6)
    assert [(a.name, a.ops) for a in made.activities] == [
        ("Memcpy HtoD", ()), ("sgemm", ("aten::linear", "aten::addmm"))]
    assert made.activities[1].shapes[0][0] == (16, 96)


def test_marks_of_steps_divide_the_time(tmp_path: Path, traced: tuple[Graph, Path]) -> None:
    marks = [{"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{n}", "ts": n, "dur": 1} for n in (2, 3)]
    events = [e for n in range(2) for e in (
        op("aten::linear", 100 * n, 50, n, [[16, 96]]), kernel("gemm", 1000 + n, 30 + n, **{"External id": n}))]
    made = joined(traced[0], read([*marks, *events], tmp_path))
    assert made.steps == 2 and made.total_s == pytest.approx(30.5e-6)
    (row,) = [r for r in made.rows]
    assert (row.where, row.measured_s) == ("first", pytest.approx(30.5e-6))  # by its shape, for the second one has 64


@pytest.mark.parametrize("text", [
    "{", "{}", "[]", '{"traceEvents": 3}', '{"traceEvents": []}', '{"traceEvents": [1, null, {"ph": "X"}]}',
    '{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "k", "ts": "soon", "dur": NaN}]}', "", "hello",
    "[" * 100_000, '"ID","Kernel Name"\n"' + "x" * 200_000])
def test_what_is_no_profile_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "trace.json").write_text(text)
    with pytest.raises(EnlistError) as caught:
        read_profile(tmp_path / "trace.json")
    assert caught.value.code == "bad_input" and caught.value.fix


def test_a_cut_archive_and_a_missing_file_are_told_apart(tmp_path: Path, traced: tuple[Graph, Path]) -> None:
    (tmp_path / "cut.json.gz").write_bytes(gzip.compress(traced[1].read_bytes())[:100])
    for name, code in (("cut.json.gz", "bad_input"), ("absent.json", "not_found"), (".", "bad_input")):
        with pytest.raises(EnlistError) as caught:
            read_profile(tmp_path / name)
        assert caught.value.code == code


def test_ids_that_are_none_leave_the_times(tmp_path: Path) -> None:
    events = [op("aten::mm", 0, 10, [1], [[2, 2], [2, 2]]), launch(1, 1, **{"External id": {"a": 1}}),
              kernel("sgemm", 20, 5, correlation=[5], **{"External id": {}})]
    assert sum(a.seconds for a in read(events, tmp_path).activities) == pytest.approx(5e-6)
