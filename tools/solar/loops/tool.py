"""Two declared tools: lift a file to a graph, and compare a program with its source.

`loop-lift` parses and counts and runs nothing of the user's; `loop-equals` runs the source, so it works in a sandbox.
"""

from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import Field, JsonValue

from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.tool import Resources, Tool, ToolContext, ToolModel
from enlist.tools.solar.loops.capture import capture_loops, read_text
from enlist.tools.solar.loops.parser import parse
from enlist.tools.solar.loops.validate import validate

_GRAPH_MEDIA_TYPE = "application/vnd.enlist.graph+json"
_REF = {"sha256": "0" * 64, "name": "product.loop", "bytes": 1}
Language = Literal["numpy", "c", "c++", "triton", "cuda", "pseudo-code"]


class LiftInput(ToolModel):
    """A `.loop` file, or a Python file over NumPy; which program or function; sizes or shapes in place of its own.
    `assumed` are sentences that every number also rests on, such as where the program came from."""

    file: ArtifactRef
    target: str | None = None
    inputs: str | None = None
    assumed: tuple[str, ...] = Field(default=(), max_length=8)


class LiftOutput(ToolModel):
    """The graph, the sentences that it rests on, and how many operators it has."""

    graph: ArtifactRef
    assumed: tuple[str, ...]
    operators: int


class Example(ToolModel):
    """Inputs and the outputs that the source makes of them, as nested lists by name."""

    inputs: dict[str, JsonValue]
    outputs: dict[str, JsonValue]


class EqualsInput(ToolModel):
    """A `.loop` program, its source, the source's language and function; examples where the source cannot run here.
    Without `compare` the program is only validated."""

    program: ArtifactRef
    source: ArtifactRef
    language: Language
    target: str | None = None
    examples: tuple[Example, ...] = Field(default=(), max_length=64)
    compare: bool = True


class EqualsOutput(ToolModel):
    """`equal`, else the first difference; on how many shapes and inputs that rests, and the sizes of each shape."""

    equal: bool
    difference: str
    shapes: int
    inputs: int
    at: tuple[str, ...] = ()


def run_lift(given: LiftInput, ctx: ToolContext) -> LiftOutput:
    """Lift a file; runs nothing of it."""
    path, name = ctx.open_artifact(given.file), given.file.name
    if Path(name).suffix.lower() == ".loop":
        graph = capture_loops(path, given.target, name=name, inputs=given.inputs)
    else:
        from enlist.tools.solar.source.capture import capture_numpy

        graph = capture_numpy(path, given.target, name=name, inputs=given.inputs)
    graph = graph.model_copy(update={"assumed": (*given.assumed, *graph.assumed)})
    ref = ctx.put_artifact(graph.model_dump_json(exclude_defaults=True).encode(), media_type=_GRAPH_MEDIA_TYPE,
                           name=f"{Path(name).stem}.graph.json")
    return LiftOutput(graph=ref, assumed=graph.assumed, operators=len(graph.nodes))


def run_equals(given: EqualsInput, ctx: ToolContext) -> EqualsOutput:
    """Run a program and its source on the same arrays; inside the sandbox."""
    from enlist.tools.solar.source.equality import compare

    program = parse(read_text(ctx.open_artifact(given.program), given.program.name), given.program.name)
    if not given.compare:
        validate(program)
        return EqualsOutput(equal=True, difference="", shapes=0, inputs=0)
    text = read_text(ctx.open_artifact(given.source), given.source.name)
    examples = [(_arrays(one.inputs), _arrays(one.outputs)) for one in given.examples]
    found = compare(program, text, given.language, given.target, examples)
    return EqualsOutput(equal=found.equal, difference=found.difference, shapes=found.shapes, inputs=found.inputs,
                        at=found.at)


def _arrays(values: dict[str, JsonValue]) -> dict[str, np.ndarray]:
    """Nested lists as arrays; `bad_input` where they are none."""
    try:
        made = {name: np.asarray(value) for name, value in values.items()}
    except ValueError as error:
        raise EnlistError("bad_input", f"an example is no array: {error}", fix="give lists of equal length") from error
    wrong = next((name for name, array in made.items() if array.dtype.kind not in "biuf"), None)
    if wrong:
        raise EnlistError("bad_input", f"the example's {wrong} is no array of numbers", fix="give numbers alone")
    return made


LIFT = Tool(
    name="loop-lift", version="1.1.0", summary="Lift loop nests (.loop, or NumPy) to the graph that bounds are made of",
    input=LiftInput, output=LiftOutput, run="enlist.tools.solar.loops.tool:run_lift", example={"file": _REF},
    check_route="the interpreter's brute-force counts on small shapes", isolation="process", time_limit=120.0,
    resources=Resources(memory_bytes=2 << 30), errors=("bad_input", "not_found", "unsupported"))
EQUALS = Tool(
    name="loop-equals", version="1.1.0", summary="Run a loop program and its source and compare every output",
    input=EqualsInput, output=EqualsOutput, run="enlist.tools.solar.loops.tool:run_equals",
    example={"program": _REF, "source": _REF | {"name": "product.c"}, "language": "c"},
    check_route="the comparison is itself the check of a translation", isolation="sandbox", time_limit=180.0,
    resources=Resources(memory_bytes=2 << 30),
    errors=("bad_input", "not_found", "unsupported", "tool_failed", "resource_limit"))
