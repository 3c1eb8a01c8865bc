"""The sections of a report: one for each model and dtype, with the command that would tell what is not known."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from enlist.tools.runtime.findings import Finding
from enlist.tools.runtime.section import Section
from enlist.tools.runtime.tool import input_hash
from enlist.tools.solar.bounds import Bounds
from enlist.tools.solar.section import section
from enlist.tools.solar.tool import BoundsInput

TIMING = ('import torch, runpy; from torch.utils.benchmark import Timer; m = runpy.run_path({path!r}); '
          'net = m[{target!r}](*m["get_init_inputs"]()).cuda().eval(); '
          'x = [t.cuda() if torch.is_tensor(t) else t for t in m["get_inputs"]()]; torch.set_grad_enabled(False); '
          'print(Timer("net(*x)", globals=globals()).blocked_autorange(min_run_time=2).median * 1e3, "ms")')


def sections(calls: Sequence[tuple[BoundsInput, Bounds, Sequence[Finding]]], request: Mapping[str, Any],
             names: Mapping[str, str]) -> list[Section]:
    """The sections of all `solar-bounds` calls of a run; `names` are the attachments' names by SHA-256."""
    made = []
    for given, output, findings in calls:
        one = section(output, findings)
        source = given.graph.name.removesuffix(".graph.json") + ".py"
        title = one.title + (f", priced in {output.repriced_as}" if output.repriced_as else "")
        tables = f"Tables and figure: solar-bounds on input {input_hash(given)[:8]}, /devices/*/terms of its output."
        unmeasured = all(d.headroom.measured_s is None for d in output.devices)
        made.append(one.model_copy(update={
            "title": title, "notes": (*one.notes, tables),
            "next": measuring(source, output) if unmeasured else one.next}))
    return made


def measuring(source: str, output: Bounds) -> str:
    """The command that times the model on the device, and how to ask again with what it prints."""
    code = TIMING.format(path=source, target=output.target.rpartition(":")[2])
    ask = f"it takes <N> ms on an {output.devices[0].device}: how far is this model from the speed of light?"
    return f"python -c {shlex.quote(code)}   # on the device\nenlist run {shlex.quote(ask)} --attach {source}"
