"""JAX functions for the tests: trusted source text, captured in this process."""

from collections.abc import Callable
from pathlib import Path

import pytest

from enlist.tools.solar.graph import Graph
from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.jaxpr.capture import capture
from enlist.tools.solar.pricing.bounds import Bounds, bounds

HEAD = "import jax\nimport jax.numpy as jnp\nfrom jax import lax\nS = jax.ShapeDtypeStruct\nf32 = jnp.float32\n\n"
Capture = Callable[..., Graph]


@pytest.fixture
def jax_file(tmp_path: Path) -> Callable[..., Path]:
    """Write a file: the body of `fn` (or whole definitions), and shapes by argument ("(2, 3)" or "S(...)")."""

    def write(body: str, *shapes: str) -> Path:
        path = tmp_path / "model.py"
        inputs = ", ".join(s if s[:1] != "(" else f"S({s}, f32)" for s in shapes)
        path.write_text(f"{HEAD}{body}\n\n\ndef get_inputs():\n    return [{inputs}]\n", encoding="utf-8")
        return path

    return write


@pytest.fixture
def graph_of_jax(jax_file: Callable[..., Path]) -> Capture:
    """Capture a function given as `jax_file` takes it."""
    return lambda body, *shapes, **options: capture(jax_file(body, *shapes), **options)


@pytest.fixture
def priced_jax(graph_of_jax: Capture) -> Callable[..., Bounds]:
    """Bounds of such a function on an H100 PCIe."""
    return lambda *args, **options: bounds(graph_of_jax(*args, **options), resolve(["H100 PCIe"]))
