"""The three declared tools of this folder: capture a model, bound its run time, count its work again.

The graph goes from tool to tool as an artifact; it comes out of the sandbox and is validated where it is read.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError, field_validator

from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.findings import Finding, Scalar
from enlist.tools.runtime.tool import Resources, Tool, ToolContext, ToolModel
from enlist.tools.solar.dtypes import dtype_name
from enlist.tools.solar.formats.front import Training, capture, front_of
from enlist.tools.solar.graph import Graph
from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.jaxpr.check import count as count_jax
from enlist.tools.solar.pricing.bounds import Bounds, DeviceBounds, bounds
from enlist.tools.solar.pytorch.check import Count, count
from enlist.tools.solar.report.amounts import duration

GRAPH_MEDIA_TYPE = "application/vnd.enlist.graph+json"
_EXAMPLE_REF = {"sha256": "0" * 64, "name": "model.py", "bytes": 1}


class ModelInput(ToolModel):
    """A model file (Model, get_inputs, get_init_inputs), the files that it imports, and what to take instead of
    Model; `inputs` are shapes ("x=float32[16,1024]") or sizes ("batch=8") in place of those of get_inputs, `training`
    adds the backward pass or a whole step, `structure` looks for triangular and zero inputs in the example."""

    model: ArtifactRef
    extra_files: tuple[ArtifactRef, ...] = ()
    target: str | None = None
    inputs: str | None = None
    training: Training | None = None
    structure: bool = True


class CaptureOutput(ToolModel):
    """The captured graph and the sentences that every number from it rests on."""

    graph: ArtifactRef
    assumed: tuple[str, ...]
    operators: int


class BoundsInput(ToolModel):
    """A captured graph, device names (a family name gives its variants), a measured time in seconds if there is one,
    and a floating dtype to price the model in instead of its own."""

    graph: ArtifactRef
    devices: tuple[str, ...] = Field(min_length=1)
    measured_s: float | None = Field(default=None, gt=0)
    dtype: str | None = None

    @field_validator("dtype")
    @classmethod
    def _one_name(cls, dtype: str | None) -> str | None:
        return dtype_name(dtype) if dtype is not None else None


def run_capture(given: ModelInput, ctx: ToolContext) -> CaptureOutput:
    """Capture a model file with the front end that its imports name; runs inside the sandbox."""
    with laid_out(given, ctx) as path:
        graph = capture(path, given.target, given.model.name, inputs=given.inputs, training=given.training,
                        structure=given.structure)
    ref = ctx.put_artifact(graph.model_dump_json(exclude_defaults=True).encode(), media_type=GRAPH_MEDIA_TYPE,
                           name=f"{Path(given.model.name).stem}.graph.json")
    return CaptureOutput(graph=ref, assumed=graph.assumed, operators=len(graph.nodes))


def run_bounds(given: BoundsInput, ctx: ToolContext) -> Bounds:
    """Bounds of a captured graph; runs nothing of the user's."""
    return bounds(read_graph(ctx.open_artifact(given.graph)), resolve(given.devices), given.measured_s, given.dtype)


def run_check(given: ModelInput, ctx: ToolContext) -> Count:
    """Count a model's work again; runs inside the sandbox. Raises `unsupported` for training."""
    if given.training is not None:
        raise EnlistError("unsupported", "the second count is of a forward pass", given=f"training {given.training}",
                          allowed="a forward pass", fix="check the forward pass, or take the bounds as not checked")
    with laid_out(given, ctx) as path:
        text = path.read_text(encoding="utf-8-sig", errors="replace")
        again = count_jax if front_of(text, given.model.name, given.target) == "jaxpr" else count
        return again(path, given.target, given.model.name, given.inputs)


def read_graph(path: Path) -> Graph:
    """A graph from a file; `invalid_output` where it is not one (it was written by a process that ran user code)."""
    try:
        return Graph.model_validate(json.loads(path.read_bytes()))
    except (ValueError, RecursionError) as error:
        what = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise EnlistError("invalid_output", f"not a captured graph: {what}", allowed="the output of solar-capture",
                          fix="capture the model again") from error


@contextmanager
def laid_out(given: ModelInput, ctx: ToolContext) -> Iterator[Path]:
    """The model file and those it imports, by their names in one folder that Python imports from."""
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        for ref in (given.model, *given.extra_files):
            shutil.copyfile(ctx.open_artifact(ref), Path(folder) / Path(ref.name).name)
        sys.path.insert(0, folder)
        try:
            yield Path(folder) / Path(given.model.name).name
        finally:
            sys.path.remove(folder)


def findings(capability: str, given: BoundsInput, output: Bounds, evidence: Callable[[str], Any]) -> list[Finding]:
    """Per device: the two bounds, and how a stated time compares with the fused one. Of what a language model
    translated they are inferred: that the translation does the same was seen on some inputs."""
    made = []
    tier = "inferred" if any(line.startswith("translation: ") for line in output.assumed) else "analytic"
    for i, one in enumerate(output.devices):
        def claim(predicate: str, value: Scalar, unit: str, field: str, tier: str, template: str, i: int = i,
                  one: DeviceBounds = one) -> Finding:
            return Finding.make(
                template=template, capability=capability, subject=output.target, predicate=predicate, value=value,
                unit=unit, conditions=_conditions(output) | {"device": one.device}, tier=tier,
                evidence=(evidence(f"/devices/{i}/{field}"),))
        made.append(claim("fused lower bound", one.fused_s, "s", "fused_s", tier,
                          f"{{subject}} cannot run faster than {duration(one.fused_s)} on {{device}}, however well "
                          "it is fused"))
        made.append(claim("unfused lower bound", one.unfused_s, "s", "unfused_s", tier,
                          f"{{subject}} cannot run faster than {duration(one.unfused_s)} on {{device}} with one kernel "
                          "per operator"))
        if one.headroom.over_fused is not None:
            made.append(claim("stated time over fused bound", one.headroom.over_fused, "1", "headroom/over_fused",
                              "stated", "{subject}: the stated time is {value:.3g} times the fused bound on {device}"))
    return made


def _conditions(output: Bounds) -> dict[str, Scalar]:
    """The assumptions by the word before their colon."""
    pairs = (line.partition(": ") for line in output.assumed)
    return {name: text or "yes" for name, _, text in pairs}


_CHECK = "solar-check calls the model under a dispatch mode and counts again; confirm compares"

CAPTURE = Tool(
    name="solar-capture", version="1.1.0", summary="Capture a PyTorch model's operators without running it on data",
    input=ModelInput, output=CaptureOutput, run="enlist.tools.solar.tool:run_capture", example={"model": _EXAMPLE_REF},
    check_route=_CHECK, isolation="sandbox", time_limit=180.0, resources=Resources(memory_bytes=4 << 30),
    errors=("bad_input", "not_found", "tool_failed", "unsupported", "not_installed"))
BOUNDS = Tool(
    name="solar-bounds", version="1.1.0", summary="Lower bounds on run time of a captured model on given hardware",
    input=BoundsInput, output=Bounds, run="enlist.tools.solar.tool:run_bounds",
    example={"graph": _EXAMPLE_REF | {"name": "model.graph.json"}, "devices": ["H100"]}, check_route=_CHECK,
    findings="enlist.tools.solar.tool:findings", section="enlist.tools.solar.report.answer:sections",
    errors=("bad_input", "not_found", "invalid_output"))
CHECK = Tool(
    name="solar-check", version="1.0.0", summary="Count a PyTorch model's FLOP and bytes by a second route",
    input=ModelInput, output=Count, run="enlist.tools.solar.tool:run_check", example={"model": _EXAMPLE_REF},
    check_route="it is the check of solar-bounds", isolation="sandbox", time_limit=180.0,
    resources=Resources(memory_bytes=4 << 30), errors=("bad_input", "tool_failed", "unsupported"))
