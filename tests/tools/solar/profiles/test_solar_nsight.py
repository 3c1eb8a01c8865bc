"""Nsight exports, written by hand from the documented tables and columns: no GPU and no Nsight tool was at hand."""

import json
import sqlite3
from pathlib import Path

import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.graph import Graph, Node, Tensor
from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.pricing.bounds import bounds
from enlist.tools.solar.profiles.join import Joined, family_of, join
from enlist.tools.solar.profiles.reading import read_profile

SUMMARY = """Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name
60.0,"6,000",4,1500.0,1500.0,1400,1600,50.0,ampere_sgemm_128x64_tn
30.0,3000,2,1500.0,1500.0,1400,1600,50.0,"void at::native::vectorized_elementwise_kernel<4, relu>(int, float)"
10.0,1000,1,1000.0,1000.0,1000,1000,0.0,[CUDA memcpy HtoD]
"""
DETAILS = """==PROF== Connected to process 71
"ID","Process ID","Kernel Name","Context","Stream","Section Name","Metric Name","Metric Unit","Metric Value"
"0","71","ampere_sgemm_128x64_tn","1","7","GPU Speed Of Light Throughput","DRAM Frequency","cycle/nsecond","1.59"
"0","71","ampere_sgemm_128x64_tn","1","7","GPU Speed Of Light Throughput","Duration","usecond","1,250.5"
"1","71","vectorized_elementwise_kernel","1","7","GPU Speed Of Light Throughput","Duration","ns","3,000"
"10","71","ampere_sgemm_64x64","1","7","GPU Speed Of Light Throughput","Duration","us","7"
"""
RAW = """"ID","Process ID","Kernel Name","gpu__time_duration.sum","dram__bytes.sum"
"","","","usecond","Mbyte"
"0","71","ampere_sgemm_128x64_tn","12.5","3"
"1","71","vectorized_elementwise_kernel","2","3"
"""


def chain(layers: int) -> Graph:
    """x @ w, relu, as often as there are layers."""
    def tensor(name: str, shape: tuple[int, ...], role: str) -> Tensor:
        return Tensor(id=name, shape=shape, strides=(shape[1], 1), dtype="float32", role=role)  # type: ignore[arg-type]

    tensors, nodes, last = [tensor("x", (64, 96), "input")], [], "x"
    for n in range(layers):
        tensors += [tensor(f"w{n}", (96, 96), "parameter"), tensor(f"p{n}", (64, 96), "intermediate"),
                    tensor(f"r{n}", (64, 96), "output" if n == layers - 1 else "intermediate")]
        nodes += [Node(id=f"n{n}", op="linear", where=f"layers.{n}", inputs=(last, f"w{n}"), slots=("input", "weight"),
                       outputs=(f"p{n}",)),
                  Node(id=f"m{n}", op="relu", where=f"layers.{n}", inputs=(f"p{n}",), slots=("self",),
                       outputs=(f"r{n}",))]
        last = f"r{n}"
    return Graph(target="chain.py:Model", tensors=tuple(tensors), nodes=tuple(nodes), assumed=())


def joined(path: Path, layers: int = 2) -> Joined:
    graph = chain(layers)
    made = join(read_profile(path), graph, bounds(graph, resolve(["H100 SXM"])).devices[0].terms)
    assert sum(r.measured_s for r in made.rows) + sum(u.seconds for u in made.unjoined) == pytest.approx(made.total_s)
    return made


def export(path: Path, nvtx: bool) -> Path:
    """An SQLite export of two layers, run once: the tables and columns that Nsight Systems documents."""
    connection = sqlite3.connect(path)
    connection.executescript("""
        CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
        CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, correlationId INTEGER,
            demangledName INTEGER, shortName INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER, end INTEGER, bytes INTEGER, correlationId INTEGER);
        CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, globalTid INTEGER, correlationId INTEGER);
        CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, text TEXT, textId INTEGER, globalTid INTEGER);
        INSERT INTO StringIds VALUES (1, 'ampere_sgemm_128x64_tn'), (2, 'relu_kernel'), (3, 'aten::relu, seq = 2');
        INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (0, 500, 64, 99);""")
    for n in range(2):
        at = 10_000 * (n + 1)
        for m, (kernel, length) in enumerate(((1, 3000 + n), (2, 1000 + n))):
            connection.execute("INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (?, ?, 0, ?, ?, ?)", (
                at + 4000 * m, at + 4000 * m + length, 2 * n + m, kernel, kernel))
            connection.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (?, ?, 5, ?)", (
                at + 2000 * m + 100, at + 2000 * m + 200, 2 * n + m))
            if nvtx:
                connection.execute("INSERT INTO NVTX_EVENTS VALUES (?, ?, ?, ?, 5)", (
                    at + 2000 * m, at + 2000 * m + 900, None if m else "aten::linear, seq = 1", 3 if m else None))
    connection.commit()
    connection.close()
    return path


def test_an_export_with_ranges_is_joined_operator_by_operator(tmp_path: Path) -> None:
    made = joined(export(tmp_path / "report.sqlite", nvtx=True))
    assert made.steps == 1 and made.kind == "nsight-systems"
    assert {(r.op, r.where): round(r.measured_s * 1e9) for r in made.rows} == {
        ("linear", "layers.0"): 3000, ("linear", "layers.1"): 3001, ("relu", "layers.0"): 1000,
        ("relu", "layers.1"): 1001}
    assert [(u.name, round(u.seconds * 1e9)) for u in made.unjoined] == [("[memcpy]", 500)]


def test_an_export_without_ranges_is_joined_by_families_of_kernels(tmp_path: Path) -> None:
    made = joined(export(tmp_path / "report.sqlite", nvtx=False))
    by = {(r.op, r.where, r.level): round(r.measured_s * 1e9) for r in made.rows}
    assert by == {("linear", "layers.0", "operator"): 3000, ("linear", "layers.1", "operator"): 3001,
                  ("vector kernels", "2 operators", "family"): 2001}
    assert [u.name for u in made.unjoined] == ["[memcpy]"]


def test_a_summary_knows_families_and_counts_the_iterations(tmp_path: Path) -> None:
    """Four products where the graph has two: two iterations."""
    (tmp_path / "sum.csv").write_text("Processing [report.sqlite] with [cuda_gpu_kern_sum.py]...\n\n" + SUMMARY)
    made = joined(tmp_path / "sum.csv")
    assert made.steps == 2 and made.total_s == pytest.approx(5e-6)
    assert {r.op: round(r.measured_s * 1e9) for r in made.rows} == {"matmul kernels": 3000, "vector kernels": 1500}
    assert [(u.name, u.count) for u in made.unjoined] == [("[CUDA memcpy HtoD]", 1)]


def test_the_summary_as_json_is_the_same(tmp_path: Path) -> None:
    (tmp_path / "sum.csv").write_text(SUMMARY)
    rows = [{"Total Time (ns)": a.seconds * 1e9, "Instances": a.count, "Name": a.name}
            for a in read_profile(tmp_path / "sum.csv").activities]
    (tmp_path / "sum.json").write_text(json.dumps(rows))
    again = read_profile(tmp_path / "sum.json")
    assert [(a.name, a.count) for a in again.activities] == [(r["Name"], r["Instances"]) for r in rows]
    assert again.total_s == pytest.approx(10e-6)


@pytest.mark.parametrize("unit", ["us", "ms", "s"])
def test_the_summary_is_read_in_the_unit_that_it_was_asked_for(tmp_path: Path, unit: str) -> None:
    per = {"us": 1e3, "ms": 1e6, "s": 1e9}[unit]
    (tmp_path / "sum.csv").write_text(SUMMARY)
    known = read_profile(tmp_path / "sum.csv").activities
    rows = "".join(f'{a.seconds * 1e9 / per!r},{a.count},"{a.name}"\n' for a in known)
    (tmp_path / "other.csv").write_text(f"Total Time ({unit}),Instances,Name\n{rows}")
    again = read_profile(tmp_path / "other.csv")
    assert [(a.name, a.count) for a in again.activities] == [(a.name, a.count) for a in known]
    assert again.total_s == pytest.approx(10e-6)


@pytest.mark.parametrize(("text", "seconds"), [(DETAILS, [1250.5e-6, 3e-6, 7e-6]), (RAW, [12.5e-6, 2e-6])])
def test_compute_has_a_duration_for_each_launch_in_order(tmp_path: Path, text: str, seconds: list[float]) -> None:
    (tmp_path / "ncu.csv").write_text(text)
    made = read_profile(tmp_path / "ncu.csv")
    assert made.kind == "nsight-compute" and [a.seconds for a in made.activities] == pytest.approx(seconds)


def test_launches_go_to_the_products_in_order_where_the_counts_fit(tmp_path: Path) -> None:
    (tmp_path / "ncu.csv").write_text(DETAILS)
    made = joined(tmp_path / "ncu.csv")
    found = {r.where: r.measured_s for r in made.rows if r.level == "operator"}
    assert found == {"layers.0": pytest.approx(1250.5e-6), "layers.1": pytest.approx(7e-6)}


@pytest.mark.parametrize(("kernel", "family"), [
    ("sm90_xmma_gemm_bf16bf16_bf16f32", "matmul"), ("void gemv2T_kernel_val<int>", "matmul"),
    ("nvjet_tst_128", "matmul"), ("cutlass_80_tensorop_s1688gemm", "matmul"), ("flash_fwd_kernel", "attention"),
    ("fmha_cutlassF_f32", "attention"),
    ("cudnn_infer_volta_scudnn_winograd_128x128", "convolution"), ("sm80_xmma_fprop_implicit_gemm", "convolution"),
    ("vectorized_elementwise_kernel", "vector"), ("triton_per_fused_add_native_layer_norm_3", "vector"),
    ("Memcpy DtoH", ""), ("ncclDevKernel_AllReduce", "")])
def test_a_kernels_name_tells_its_family(kernel: str, family: str) -> None:
    assert family_of(kernel) == family


@pytest.mark.parametrize("content", [
    b"SQLite format 3\x00 and then nothing", SUMMARY.splitlines()[0].encode(),
    DETAILS.replace("Duration", "Cycles").encode(), b"\x1f\x8bbroken", b"\xff\xfe\x00"])
def test_a_damaged_export_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "export").write_bytes(content)
    with pytest.raises(EnlistError) as caught:
        read_profile(tmp_path / "export")
    assert caught.value.code == "bad_input" and caught.value.fix


def test_an_export_without_kernels_is_refused(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "empty.sqlite").execute("CREATE TABLE a (b)").connection.close()
    with pytest.raises(EnlistError, match="no CUDA kernels"):
        read_profile(tmp_path / "empty.sqlite")
