"""A NumPy file as a graph: translated into loop nests and lifted. Nothing of the user's runs."""

from pathlib import Path

from enlist.tools.solar.graph import Graph
from enlist.tools.solar.loops.capture import read_text
from enlist.tools.solar.loops.lift import lift
from enlist.tools.solar.source.translate_numpy import translate_numpy


def capture_numpy(path: Path, target: str | None = None, *, name: str | None = None,
                  inputs: str | None = None) -> Graph:
    """The graph of a NumPy function.

    Args:
        target: the function's name; the last public one where it is None.
        name: what to call the file in messages.
        inputs: "x=float32[16,1024];n=4" in place of what get_inputs() and annotations say.

    Raises what `translate_numpy` and `lift` raise.
    """
    shown = name or path.name
    program = translate_numpy(read_text(path, shown), target, inputs, shown)
    return lift(program, f"{shown}:{program.name}")
