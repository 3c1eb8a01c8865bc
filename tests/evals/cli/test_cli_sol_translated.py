"""`enlist sol` on sources that no front end reads: what is said without a model, and what a model's gives."""

import importlib.util
from pathlib import Path

import pytest

_PATH = Path(__file__).parents[2] / "agents" / "language" / "fault_server.py"
_SPEC = importlib.util.spec_from_file_location("fault_server_of_sol", _PATH)
assert _SPEC and _SPEC.loader
faults = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(faults)

SOURCE = """void mm(const float *a, const float *b, float *c, int M, int N, int K) {
  for (int i = 0; i < M; i++) for (int j = 0; j < N; j++) { float s = 0;
    for (int k = 0; k < K; k++) s += a[i * K + k] * b[k * N + j]; c[i * N + j] = s; } }"""
PROGRAM = """program mm
size M = 64, N = 32, K = 16
input a: float32[M, K], b: float32[K, N]
output c: float32[M, N]
for i in 0..M { for j in 0..N { c[i, j] = 0 for k in 0..K { c[i, j] += a[i, k] * b[k, j] } } }"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.delenv("ENLIST_USE_MODELS", raising=False)
    (tmp_path / "mm.c").write_text(SOURCE)
    (tmp_path / "k.cu").write_text("__global__ void k(float *a) { a[0] = 1; }")
    (tmp_path / "steps.txt").write_text("for every row: sum it\n")
    (tmp_path / "tri.py").write_text("import triton\n@triton.jit\ndef k(x):\n    pass\n")

    def configured(address):
        (tmp_path / "enlist.toml").write_text(
            f'[models.small]\nendpoint = "{address}"\nmodel = "served"\ncapabilities = ["translation"]\n')
    return configured


def test_without_a_model_each_file_says_the_way_by_hand(enlist, files):
    said = enlist("sol", "mm.c", "k.cu", "steps.txt", "tri.py", "--json")
    faults_of = {e["file"]: e["error"] for e in said.document}
    assert said.code == 1 and {f["code"] for f in faults_of.values()} == {"not_installed"}
    assert "mm.loop" in faults_of["mm.c"]["fix"] and "loop-equals" in faults_of["mm.c"]["fix"]
    for name in ("k.cu", "steps.txt", "tri.py"):
        assert "--assume-translation" in faults_of[name]["fix"] and "loop-equals" not in faults_of[name]["fix"]


def test_what_cannot_run_here_is_refused_before_the_model_is_asked(enlist, files):
    with faults.FaultServer([faults.says(PROGRAM)]) as server:
        files(server.address)
        said = enlist("sol", "k.cu", "steps.txt", "--json")
        assert not server.requests
        none = enlist("sol", "mm.c", "--json", "--use-models", "none")
    assert said.code == 1 and [e["error"]["code"] for e in said.document] == ["unsupported"] * 2
    cuda, pseudo = (e["error"]["message"] for e in said.document)
    assert "needs a GPU" in cuda and "no outputs" in pseudo
    assert none.document["error"]["code"] == "not_installed"


@pytest.mark.slow  # reason: a comparison and a capture in a sandbox each
def test_a_translation_that_ran_beside_the_source_is_bounded_and_kept(enlist, files):
    wrong = PROGRAM.replace("+= a", "+= 2 * a")
    with faults.FaultServer([faults.says(wrong, each=200), faults.says(PROGRAM, each=200)]) as server:
        files(server.address)
        said = enlist("sol", "mm.c", "--input", "M=640;N=320;K=160", "--json")
        again = enlist("sol", "mm.c", "--json")
        assert len(server.requests) == 2  # the second time the store answers
    found = said.document
    assert said.code == again.code == 0 and found["flop"]["total"] == 2 * 640 * 320 * 160
    assert found["translation"]["rounds"] == 2 and found["translation"]["compared"]["inputs"] == 12
    assert found["assumed"][0].startswith("translation: mm.c (c) was translated by language model small; its outputs")
    assert again.document["flop"]["total"] == 2 * 64 * 32 * 16
    assert any("sizes of the translation" in line for line in again.document["assumed"])


@pytest.mark.slow  # reason: a validation and a capture in a sandbox each
def test_a_translation_that_a_person_vouches_for_says_that_nothing_was_compared(enlist, files):
    with faults.FaultServer([faults.says(PROGRAM, each=200)]) as server:
        files(server.address)
        found = enlist("sol", "steps.txt", "--assume-translation", "--json").document
    assert found["translation"]["compared"] is None and found["translation"]["program"].startswith("program mm")
    assert "not compared with the source on any shape" in found["assumed"][0]
