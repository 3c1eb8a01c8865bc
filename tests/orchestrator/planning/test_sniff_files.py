"""Files are known by their content; names only break ties; no bytes make sniffing raise."""

import gzip
import io
import json
import wave
import zipfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enlist.orchestrator import sniff as module
from enlist.orchestrator.capabilities import artifact_kinds
from enlist.orchestrator.sniff import HEAD, sniff

LOG = "".join(f"2026-01-02T03:04:{i:02} INFO worker {i} started\n" for i in range(20))
MODEL = "import torch.nn as nn\nclass Net(nn.Module):\n    def forward(self, x):\n        return x\n"
INPUTS = "def get_inputs():\n    return []\n"
TRAINING = "import torch\ndef main():\n    loss.backward()\n    optimizer.step()\nmain()\n"


def zipped(*names):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(name, "<x/>")
    return buffer.getvalue()


def array_file(save):
    buffer = io.BytesIO()
    save(buffer)
    return buffer.getvalue()


def sound(buffer):
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(8000)
        file.writeframes(b"\x00\x00" * 8)


FILES = [
    (MODEL + INPUTS, "m.py", "python-model"),
    (MODEL + INPUTS, "notes.txt", "python-model"),
    (MODEL, "layers.py", "torch-layers"),
    ("from layers import Block as Model\nget_inputs = list\n", "m.py", "python-model"),
    ("class Model:\n    pass\n", "m.py", "python-model"),
    ("def get_inputs():\n    return []\n", "m.py", "python-model"),
    (MODEL + INPUTS + TRAINING, "t.py", "training-script"),
    ("import torch.distributed as dist\ndist.init_process_group('nccl')\n", "t.py", "training-script"),
    ("import jax\nimport jax.numpy as jnp\ndef f(x):\n    return jnp.sin(x)\n", "f.py", "jax-function"),
    ("import triton\n@triton.jit\ndef k(x):\n    pass\n", "k.py", "kernel-source"),
    ("import numpy as np\ndef f(a, b):\n    return a @ b\n", "f.py", "source-code"),
    ("import torch\ndef swish(x):\n    return x\n", "layers.py", "python-module"),
    ("#include <math.h>\nvoid f(float *a) {\n  a[0] = 1;\n}\n", "f.c", "source-code"),
    ("#include <cuda.h>\n__global__ void k(float *a) { a[0] = 1; }\n", "k.cu", "kernel-source"),
    (LOG, "app.log", "log"),
    (LOG, "запись.txt", "log"),
    ("Jan  2 03:04:05 host sshd[1]: session opened\n" * 5, "messages", "log"),
    ("".join(json.dumps({"ts": i, "level": "info", "msg": "x"}) + "\n" for i in range(5)), "a.json", "log"),
    (LOG + "Traceback (most recent call last):\n" * 40, "x", "log"),
    (gzip.compress(LOG.encode()), "app.log.gz", "log"),
    (zipped("[Content_Types].xml", "xl/workbook.xml"), "budget.bin", "workbook"),
    (zipped("[Content_Types].xml", "word/document.xml"), "表.xlsx", "document"),
    (b"%PDF-1.7\n1 0 obj\n", "p.txt", "document"),
    ("# Title\n\nSome words.\n\n- a point\n- another\n", "a.md", "document"),
    ("These are plain words, and nothing else.\n", "a.txt", "document"),
    ("a,b,c\n1,2,3\n4,5,6\n", "x.txt", "table"),
    ("a\tb\n1\t2\n", "x.tsv", "table"),
    ("date,sales\n2026-01-01 00:00,3\n2026-01-02 00:00,4\n", "s.csv", "table"),
    (b"PAR1\x15\x04", "x.parquet", "table"),
    ("kernel,time_ms\ngemm,1.5\nsoftmax,0.3\n", "t.csv", "timings"),
    (json.dumps({"traceEvents": [], "schemaVersion": 1}), "trace.json", "timings"),
    (json.dumps({"name": "gemm", "axes": {}, "inputs": {}, "outputs": {}, "reference": ""}), "definition.json",
     "kernel-problem"),
    ("- id: a\n  specialist: solar\n  capabilities: []\n", "cards.yaml", "agent-cards"),
    (json.dumps([{"id": "a", "specialist": "s", "capabilities": []}]), "cards.json", "agent-cards"),
    ("solvers: [a, b]\nenvironments: [c]\nseeds: 3\n", "c.yaml", "campaign"),
    (b"\x89PNG\r\n\x1a\n\x00\x00", "cat.txt", "images"),
    (array_file(sound), "x.wav", "audio"),
    (array_file(lambda f: np.save(f, np.zeros(3))), "x.npy", "features"),
    (array_file(lambda f: np.savez(f, a=np.zeros(3))), "x.npz", "features"),
]


@pytest.mark.parametrize(("content", "name", "kind"), FILES, ids=[f"{k}-{n}" for _, n, k in FILES])
def test_the_best_kind_of_a_file_is_that_of_its_content(content, name, kind):
    data = content if isinstance(content, bytes) else content.encode()
    found = sniff(data, name, len(data))
    assert found.kinds[0] == kind
    assert set(found.kinds) <= set(artifact_kinds())


@pytest.mark.parametrize(("inputs", "kind"), [(INPUTS, "python-model"), ("get_inputs = list\n", "python-model"),
                                              ("", "torch-layers")])
def test_a_model_with_a_syntax_error_is_still_a_model_and_the_line_is_named(inputs, kind):
    data = (inputs + MODEL + "def broken(:\n").encode()
    found = sniff(data, "m.py", len(data))
    assert found.kinds[0] == kind
    assert f"line {5 + inputs.count(chr(10))}" in found.note


@pytest.mark.parametrize("source", [MODEL, TRAINING, "import jax\ndef f(x):\n    return x\n",
                                    "import triton\ndef k(x):\n    return x\n",
                                    "import numpy\ndef f(a):\n    return a\n",
                                    "SIZE = 3\n", "def broken(:\n"])
def test_python_may_be_imported_by_others_exactly_where_it_holds_no_model_and_no_inputs(source):
    for more, alone in (("", True), (INPUTS, False), ("class Model:\n    pass\n", False)):
        data = (more + source).encode()
        assert ("python-module" in sniff(data, "x.py", len(data)).kinds) is alone


def test_a_script_that_trains_its_own_model_is_both():
    data = (MODEL + INPUTS + TRAINING).encode()
    assert sniff(data, "t.py", len(data)).kinds == ("training-script", "python-model")


def test_a_file_cut_inside_a_character_is_still_text():
    data = ("é" * HEAD).encode()[: HEAD - 1]
    assert sniff(data, "x.txt", HEAD * 2).kinds[0] == "document"


@pytest.mark.parametrize(("data", "note"), [
    (b"", "empty"), (b"  \n", "only white space"), (bytes(range(256)) * 4, "binary"), (b"\x7fELF\x02", "program"),
    (zipped("a.txt"), "archive"), (b"\x1f\x8b\x08junk", "gzip"), (b"[" * 5000 + b"]" * 5000, "deeply"),
])
def test_what_nothing_can_read_has_no_kinds_and_says_why(data, note):
    found = sniff(data, "x", len(data))
    assert found.kinds == ()
    assert note in found.note


def test_a_gzip_that_unpacks_to_much_is_only_peeked_at():
    bomb = gzip.compress(b"2026-01-02T03:04:05 INFO x\n" * 1_000_000)
    assert sniff(bomb[:HEAD], "x.gz", len(bomb)).kinds == ("log",)


def test_a_plugin_is_asked_first_and_one_that_raises_is_passed_over(monkeypatch):
    monkeypatch.setattr(module, "load_all", lambda group: {"bad": lambda data, name: 1 / 0,
                                                           "tea": lambda data, name: ("spectrum",)})
    found = sniff(b"a,b\n1,2\n", "x.csv", 8)
    assert found.kinds == ("spectrum", "table")
    assert "'bad' failed: ZeroDivisionError" in found.note


HEADS = [b"", b"\x1f\x8b\x08\x00", b"PK\x03\x04", b"RIFF", b"{", b"[", b"import os\n", b"%PDF-", b"\xff\xfe",
         b"#include <", b"id: 1\n", b"a,b\n"]


@given(head=st.sampled_from(HEADS), data=st.binary(max_size=300), name=st.text(max_size=12))
def test_no_bytes_and_no_name_make_sniffing_raise(head, data, name):
    found = sniff(head + data, name, len(head + data))
    assert set(found.kinds) <= set(artifact_kinds())


@given(text=st.text(max_size=200), name=st.sampled_from(["a.py", "a.csv", "a.json", "a.log", "a.c", "x"]))
def test_no_text_makes_sniffing_raise(text, name):
    data = text.encode("utf-8", "surrogatepass")
    assert set(sniff(data, name, len(data)).kinds) <= set(artifact_kinds())
