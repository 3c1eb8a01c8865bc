"""The sections of a report: one for each model and dtype, with the commands that would tell what is not known."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

from enlist.tools.runtime.findings import Finding
from enlist.tools.runtime.section import Section
from enlist.tools.runtime.tool import input_hash
from enlist.tools.solar.pricing.bounds import Bounds
from enlist.tools.solar.report.section import section
from enlist.tools.solar.tool import BoundsInput


def sections(calls: Sequence[tuple[BoundsInput, Bounds, Sequence[Finding]]], request: Mapping[str, Any],
             names: Mapping[str, str]) -> list[Section]:
    """The sections of all `solar-bounds` calls of a run; `names` are the attachments' names by SHA-256."""
    made = []
    for given, output, findings in calls:
        one = section(output, findings)
        file = _attached(given.graph.name, names)
        title = one.title + (f", priced in {output.repriced_as}" if output.repriced_as else "")
        tables = f"Tables and figure: solar-bounds on input {input_hash(given)[:8]}, /devices/*/terms of its output."
        unmeasured = all(d.headroom.measured_s is None for d in output.devices)
        made.append(one.model_copy(update={
            "title": title, "notes": (*one.notes, tables),
            "next": measuring(file, output) if unmeasured else one.next}))
    return made


def measuring(file: str, output: Bounds) -> str:
    """Two commands: one times the model on the device, the other asks again with what that printed. How a training
    step is timed is its owner's business, since the file has no loop of training."""
    target = output.target.rpartition(":")[2]
    chosen = f" --target {target}" if target != "Model" and target.isidentifier() else ""
    path = shlex.quote(f"PATH/TO/{file}")
    where = output.devices[0].device
    if any(term.phase != "forward" for term in output.devices[0].terms):
        ask = f"a training step takes <N> ms on an {where}; how far is it from the speed of light?"
        return f"enlist run {shlex.quote(ask)} --attach {path}"
    ask = f"it takes <N> ms on an {where}; how far is this model from the speed of light?"
    return f"python examples/time_model.py {path}{chosen}\nenlist run {shlex.quote(ask)} --attach {path}"


def _attached(graph: str, names: Mapping[str, str]) -> str:
    """The model file that a captured graph came from, by the name under which it was attached."""
    stem = graph.removesuffix(".graph.json")
    return next((name for name in names.values() if PurePosixPath(name).name == f"{stem}.py"), f"{stem}.py")
