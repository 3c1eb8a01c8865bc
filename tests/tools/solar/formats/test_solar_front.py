"""The front end is told by the imports of a file, and a file that is no Python still gets an answer."""

from pathlib import Path
from typing import Any

import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.tool import load
from enlist.tools.solar.formats import front
from enlist.tools.solar.formats.front import front_of
from enlist.tools.solar.graph import Graph

BOTH = ("import torch\nimport jax.numpy as jnp\n\n\ndef wave(x):\n    return jnp.sin(x)\n\n\n"
        "class Model(torch.nn.Module):\n    def forward(self, x):\n        return torch.sin(x)\n")


@pytest.mark.parametrize(("text", "right"), [
    ("import torch", "pytorch"), ("from torch import nn", "pytorch"),
    ("import torch.nn as nn\nimport numpy", "pytorch"), ("import jax", "jaxpr"),
    ("import jax.numpy as jnp\nimport numpy as np", "jaxpr"), ("from flax import linen", "jaxpr"),
    ("import numpy as np", "source"), ("import math\n\ndef f(n):\n    return n", "source"), ("", "source"),
    ("from layers import Net", "pytorch"), ("from . import part", "pytorch"), ("import triton", "source"),
    ("def f():\n    import torch", "pytorch"), ("def (", "pytorch"),
    ("x = " + "(" * 500, "pytorch"), ("\0", "pytorch")])
def test_the_imports_name_the_front_end(text: str, right: str) -> None:
    assert front_of(text, "model.py") == right


@pytest.mark.parametrize(("name", "right"), [("a.loop", "loops"), ("a.cu", "source"), ("a.c", "source"),
                                             ("A.LOOP", "loops")])
def test_other_languages_are_told_by_their_suffix(name: str, right: str) -> None:
    assert front_of("for i in 0..4", name) == right


@pytest.mark.parametrize(("target", "right"), [("wave", "jaxpr"), ("Model", "pytorch"), (None, "pytorch")])
def test_in_a_file_of_both_the_target_decides(target: str | None, right: str) -> None:
    assert front_of(BOTH, "both.py", target) == right


def function(path: Path, target: str | None = None, name: str | None = None, *, inputs: str | None = None) -> Graph:
    """A front end that knows of inputs and of nothing else; what it was given is in the graph's target."""
    return Graph(target=f"{name} {target} {inputs}", tensors=(), nodes=(), assumed=())


@pytest.fixture
def one_front_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """`function` reads NumPy files, and there is no front end for JAX."""
    monkeypatch.setitem(front._ENTRIES, "source", "test:function")
    monkeypatch.setitem(front._ENTRIES, "jaxpr", "enlist.tools.solar.absent:capture")
    monkeypatch.setattr(front, "load", lambda entry: function if entry == "test:function" else load(entry))


@pytest.mark.usefixtures("one_front_end")
def test_a_front_end_is_given_what_it_knows_of(tmp_path: Path) -> None:
    (tmp_path / "f.py").write_text("import numpy")
    assert front.capture(tmp_path / "f.py", "fn", "shown.py", inputs="batch=2").target == "shown.py fn batch=2"


@pytest.mark.usefixtures("one_front_end")
@pytest.mark.parametrize(("name", "text", "options", "code", "word"), [
    ("f.py", "import numpy", {"training": "step"}, "unsupported", "training"),
    ("f.py", "import numpy", {"structure": False}, "unsupported", "structure"),
    ("f.py", "import jax", {}, "not_installed", "JAX"), ("f.cu", "__global__", {}, "not_installed", "language model"),
    ("f.py", b"\xff\xfe", {}, "bad_input", "UTF-8")])
def test_what_no_front_end_can_do_is_said_with_a_way_out(
        tmp_path: Path, name: str, text: str | bytes, options: dict[str, Any], code: str, word: str) -> None:
    (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(EnlistError, match=word) as caught:
        front.capture(tmp_path / name, **options)
    assert caught.value.code == code and caught.value.fix


@pytest.mark.parametrize(("text", "code", "word"), [
    ("import torch\nimport absent_package.part", "not_installed", "absent_package"),
    ("import torch\nraise OSError('We couldn\\'t connect to https://huggingface.co')", "tool_failed", "network"),
    ("import torch\nraise ValueError('no')", "tool_failed", "ValueError")])
def test_a_file_that_lacks_something_says_what(tmp_path: Path, text: str, code: str, word: str) -> None:
    (tmp_path / "model.py").write_text(text)
    with pytest.raises(EnlistError, match=word) as caught:
        front.capture(tmp_path / "model.py")
    assert caught.value.code == code


def test_a_mark_of_byte_order_is_no_part_of_the_text(tmp_path: Path) -> None:
    (tmp_path / "twice.py").write_bytes(
        b"\xef\xbb\xbfimport numpy as np\r\ndef twice(x):\r\n    return x + x\r\n")
    graph = front.capture(tmp_path / "twice.py", inputs="x=float32[8]")
    assert [t.shape for t in graph.tensors if t.is_output] == [(8,)]
