"""Files that cannot be captured: typed errors with the way around; and inputs in every form."""

import builtins
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.formats import front
from enlist.tools.solar.graph import Graph
from enlist.tools.solar.jaxpr.capture import capture

Capture = Callable[..., Graph]


@pytest.mark.parametrize(("body", "shapes", "code", "said"), [
    ("def fn(x):\n    if x.sum() > 0:\n        return x\n    return -x", ["(4,)"], "unsupported", "lax.cond"),
    ("def fn(x):\n    return x[x > 0]", ["(4,)"], "unsupported", "mask with a fixed size"),
    ("def fn(x):\n    return jnp.zeros(int(x))", ["S((), f32)"], "unsupported", "values of an array"),
    ("def fn(x):\n    raise ValueError('no such luck')", ["(4,)"], "tool_failed", "no such luck"),
    ("def fn(x):\n    return x @ x", ["(4, 5)"], "tool_failed", "contracting dimensions"),
    ("fn = 3", ["(4,)"], "bad_input", "define fn"),
    ("def fn(x:\n    pass", ["(4,)"], "bad_input", "is not Python"),
    ("import sys\nsys.exit(3)\ndef fn(x):\n    return x", ["(4,)"], "tool_failed", "SystemExit"),
    ("def one(x):\n    return x\ndef two(x):\n    return x", ["(4,)"], "bad_input", "which of its functions"),
    ("def fn(x):\n    return x + unknown", ["(4,)"], "tool_failed", "unknown"),
    ("mesh = jax.make_mesh((4096,), ('x',))\ndef fn(x):\n    return x", ["(4,)"], "tool_failed", "AbstractMesh"),
])
def test_a_file_that_cannot_be_captured_says_why_and_what_to_do(body: str, shapes: list[str], code: str, said: str,
                                                                graph_of_jax: Capture) -> None:
    with pytest.raises(EnlistError) as caught:
        graph_of_jax(body, *shapes)
    assert caught.value.code == code and said in str(caught.value)
    if code in ("unsupported", "tool_failed"):
        assert "model.py:" in str(caught.value.given)


def test_a_target_that_is_not_there_names_those_that_are(graph_of_jax: Capture) -> None:
    body = "def one(x):\n    return x\ndef two(x):\n    return x @ x.T"
    with pytest.raises(EnlistError, match="one, two"):
        graph_of_jax(body, "(4, 4)", target="three")
    assert [n.op for n in graph_of_jax(body, "(4, 4)", target="two").nodes] == ["lax.transpose", "lax.dot_general"]


def test_prints_and_debug_callbacks_are_no_work(graph_of_jax: Capture, capsys: pytest.CaptureFixture[str]) -> None:
    graph = graph_of_jax("def fn(x):\n    print('hello', x.shape)\n    jax.debug.print('{}', x)\n    return x + 1.0",
                         "(4,)")
    assert [n.op for n in graph.nodes] == ["lax.add"]
    assert "hello (4,)" in capsys.readouterr().out


def test_without_jax_the_extra_is_named(jax_file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    plain = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "jax":
            raise ModuleNotFoundError("No module named 'jax'", name="jax")
        return plain(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.delitem(sys.modules, "jax", raising=False)
    with pytest.raises(EnlistError, match=r"enlist\[jax\]") as caught:
        front.capture(jax_file("fn = lambda x: x", "(4,)"))
    assert caught.value.code == "not_installed"


def shapes_of(graph: Graph) -> dict[str, tuple[str, tuple[int, ...]]]:
    return {t.name: (t.dtype, t.shape) for t in graph.tensors if t.role in ("input", "parameter")}


def test_inputs_may_be_given_whole_or_by_size(graph_of_jax: Capture, tmp_path: Path) -> None:
    body = "def fn(x, ids, params):\n    return (x + 1.0, ids + 1, params['w'] * 2.0)"
    shapes = ("(4, 6, 8)", "S((4, 6), jnp.int32)", "{'w': S((4, 3), f32)}")
    plain = shapes_of(graph_of_jax(body, *shapes))
    assert plain == {"x": ("float32", (4, 6, 8)), "ids": ("int32", (4, 6)), "params.w": ("float32", (4, 3))}
    many = shapes_of(graph_of_jax(body, *shapes, inputs="batch=16; length=32"))
    assert many == {"x": ("float32", (16, 32, 8)), "ids": ("int32", (16, 32)), "params.w": ("float32", (4, 3))}
    assert shapes_of(graph_of_jax(body, *shapes, inputs="x[2]=5"))["x"] == ("float32", (4, 6, 5))
    assert shapes_of(graph_of_jax(body, *shapes, inputs="x=bf16[2,2]"))["x"] == ("bfloat16", (2, 2))
    alone = tmp_path / "alone.py"
    alone.write_text("import jax\ndef fn(x, y):\n    return x @ y\n", encoding="utf-8")
    assert shapes_of(capture(alone, inputs="x=float32[2,3];y=f32[3,4]")) == {
        "x": ("float32", (2, 3)), "y": ("float32", (3, 4))}
    for wrong in ("x=float32", "z=float32[3]", "x[7]=3", "batch=0", "", "x=nonsense[3]"):
        with pytest.raises(EnlistError) as caught:
            capture(alone, inputs=wrong)
        assert caught.value.code == "bad_input"


def test_inputs_take_no_memory_and_numbers_stay_numbers(graph_of_jax: Capture) -> None:
    huge = "def fn(x, n):\n    return lax.fori_loop(0, n, lambda i, a: a * 2.0, x)"
    graph = graph_of_jax(huge, "jax.random.normal(jax.random.key(0), (1 << 20, 1 << 14))", "7")  # 64 GiB
    assert next(n for n in graph.nodes if n.op == "lax.mul").repeat == 7
    assert any("n=7" in line for line in graph.assumed)


def test_a_class_is_constructed_and_one_with_init_and_apply_is_initialised_as_shapes(graph_of_jax: Capture) -> None:
    plain = ("class Model:\n    def __init__(self, n):\n        self.n = n\n    def __call__(self, x):\n"
             "        return x * self.n\ndef get_init_inputs():\n    return [3]")
    assert [n.op for n in graph_of_jax(plain, "(4,)").nodes] == ["lax.mul"]
    flax = ("class Model:\n    def init(self, key, x):\n"
            "        return {'w': jax.random.normal(key, (x.shape[1], 1 << 20))}\n"
            "    def apply(self, variables, x):\n        return x @ variables['w']\n"
            "    def __call__(self, x):\n        return x")
    found = shapes_of(graph_of_jax(flax, "(4, 1024)"))
    assert found == {"params.w": ("float32", (1024, 1 << 20)), "x": ("float32", (4, 1024))}
