"""Shapes as symbols: the same model captured at several sizes of a named dimension.

A symbol is "batch", "length" or one axis of an argument ("x[2]"), as `inputs.given` has them. A graph holds numbers, so
a symbol varies by capturing again; where that fails although the first size works, the size is written into the model
as a constant, and the fault names symbol and line.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.graph import Graph
from enlist.tools.solar.pytorch.capture import capture


def swept(path: Path, target: str | None = None, dim: str = "batch", values: Iterable[int] = (1, 8, 64), *,
          name: str | None = None, inputs: str | None = None, **options: Any) -> list[Graph]:
    """A graph for each size of a dimension; `options` are those of `capture`.

    Raises `bad_input` where no input has the dimension, `unsupported` for a symbol that cannot vary, and as `capture`
    does where the model cannot be captured at the size that it comes with.
    """
    name = name or path.name
    made: list[Graph] = []
    for size in values:
        sized = f"{inputs};{dim}={size}" if inputs else f"{dim}={size}"
        try:
            made.append(capture(path, target, name, inputs=sized, **options))
        except EnlistError as error:
            if error.code != "tool_failed":
                raise
            original = capture(path, target, name, inputs=inputs, **options)  # where this fails too, it says why
            works = _own(original, dim)
            raise EnlistError(
                "unsupported", f"{name}: the symbol {dim} cannot vary: {dim}={works} works, and at {dim}={size} "
                f"{error.message}", given=error.given, allowed="sizes that the model takes from its inputs",
                fix=f"write x.shape[...] or -1 in place of the constant, or leave {dim} as it is",
                details=error.details) from error
    return made


def varied(path: Path, target: str | None, symbols: str, *, name: str | None = None, inputs: str | None = None,
           **options: Any) -> list[str]:
    """A sentence for each symbol of "batch,length", after a capture at another size of it. Raises as `swept` does."""
    said = []
    original = capture(path, target, name, inputs=inputs, **options)
    for symbol in re.split(r"[\s,;]+", symbols.strip()):
        size = _own(original, symbol)
        other = 2 * size + 1
        (graph,) = swept(path, target, symbol, [other], name=name, inputs=inputs, **options)
        if _shapes(graph) == _shapes(original):
            raise EnlistError("unsupported", f"{path.name}: the symbol {symbol} changes no shape beyond the inputs, so "
                              "it is folded into the model", given=f"{symbol}={other}",
                              allowed="dimensions that the model's shapes follow", fix=f"leave {symbol} away")
        said.append(f"symbol {symbol}: {size} here, and captured at {other} too")
    return said


def _own(graph: Graph, dim: str) -> int:
    """The size of a symbol in a graph's inputs."""
    inputs = [t for t in graph.tensors if t.role == "input"]
    axis = re.fullmatch(r"(\w+)\[(\d+)\]", dim)
    place = {"batch": 0, "length": 1}.get(dim, int(axis[2]) if axis else -1)
    for tensor in inputs:
        if (axis is None or tensor.name.startswith(axis[1])) and 0 <= place < len(tensor.shape):
            return tensor.shape[place]
    raise EnlistError("bad_input", f"no input has a dimension for {dim}", given=dim,
                      allowed="batch, length, or an axis of an argument such as x[2]", fix="name one of these")


def _shapes(graph: Graph) -> list[tuple[int, ...]]:
    return [t.shape for t in graph.tensors if t.role != "input"]
