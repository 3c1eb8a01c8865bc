"""The front end is told by the imports of a file, and a file that is no Python still gets an answer."""

import pytest

from enlist.tools.solar.formats.front import front_of

BOTH = ("import torch\nimport jax.numpy as jnp\n\n\ndef wave(x):\n    return jnp.sin(x)\n\n\n"
        "class Model(torch.nn.Module):\n    def forward(self, x):\n        return torch.sin(x)\n")


@pytest.mark.parametrize(("text", "front"), [
    ("import torch", "pytorch"), ("from torch import nn", "pytorch"),
    ("import torch.nn as nn\nimport numpy", "pytorch"), ("import jax", "jaxpr"),
    ("import jax.numpy as jnp\nimport numpy as np", "jaxpr"), ("from flax import linen", "jaxpr"),
    ("import numpy as np", "source"), ("import math\n\ndef f(n):\n    return n", "source"), ("", "source"),
    ("from layers import Net", "pytorch"), ("from . import part", "pytorch"), ("import triton", "source"),
    ("def f():\n    import torch", "pytorch"), ("def (", "pytorch"),
    ("x = " + "(" * 500, "pytorch"), ("\0", "pytorch")])
def test_the_imports_name_the_front_end(text: str, front: str) -> None:
    assert front_of(text, "model.py") == front


@pytest.mark.parametrize(("name", "front"), [("a.loop", "loops"), ("a.cu", "source"), ("a.c", "source"),
                                             ("A.LOOP", "loops")])
def test_other_languages_are_told_by_their_suffix(name: str, front: str) -> None:
    assert front_of("for i in 0..4", name) == front


@pytest.mark.parametrize(("target", "front"), [("wave", "jaxpr"), ("Model", "pytorch"), (None, "pytorch")])
def test_in_a_file_of_both_the_target_decides(target: str | None, front: str) -> None:
    assert front_of(BOTH, "both.py", target) == front
