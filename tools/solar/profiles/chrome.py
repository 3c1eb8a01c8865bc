"""torch.profiler's Chrome trace (`prof.export_chrome_trace`), plain or gzipped.

Operators are complete events of category `cpu_op`, nested in time on their thread. A kernel names the operator that
launched it by "External id", or by "correlation" with the runtime call that did. A trace of a CPU has operators alone:
then each operator's time is its own, without that of the operators inside it.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.profiles.activity import Activity, Profile

_DEVICE = ("kernel", "gpu_memcpy", "gpu_memset")
_LAUNCH = ("cuda_runtime", "cuda_driver", "hip_runtime", "runtime", "driver")
_MICRO = 1e-6  # times in the format are microseconds


@dataclass
class _Op:
    """One operator call in the tree of its thread."""

    number: int
    name: str
    start: float
    length: float
    shapes: tuple[tuple[int, ...], ...]
    external: Any
    above: "_Op | None" = None
    inside: float = 0.0
    chain: tuple["_Op", ...] = field(default=(), repr=False)

    @property
    def end(self) -> float:
        return self.start + self.length


def read_chrome(document: Any, name: str) -> Profile:
    """A profile from the trace's JSON; `bad_input` where it has neither operators nor kernels."""
    events = document.get("traceEvents") if isinstance(document, dict) else document
    if not isinstance(events, list):
        raise EnlistError("bad_input", f"{name} is no Chrome trace", allowed="an object with traceEvents",
                          fix="export it with prof.export_chrome_trace(path)")
    complete = [e for e in events if isinstance(e, dict) and e.get("ph") == "X" and _is_number(e.get("ts"))
                and _is_number(e.get("dur")) and isinstance(e.get("name"), str)]
    ops = _trees(e for e in complete if str(e.get("cat", "")).lower() in ("cpu_op", "operator"))
    device = [e for e in complete if str(e.get("cat", "")).lower() in _DEVICE]
    if device:
        launches = [e for e in complete if str(e.get("cat", "")).lower() in _LAUNCH]
        activities = _on_device(device, ops, launches)
    else:
        activities = [_activity(op.name, op.length - op.inside, op) for op in ops]
    if not activities:
        raise EnlistError("bad_input", f"{name} has no operators and no kernels",
                          allowed="a trace recorded with ProfilerActivity.CPU or CUDA",
                          fix="run the model inside `with torch.profiler.profile(record_shapes=True) as prof`")
    steps = {e["name"] for e in complete if re.fullmatch(r"ProfilerStep#\d+", e["name"])}
    return Profile("torch-profiler", name, tuple(activities), bool(device), len(steps) or None)


def _trees(events: Iterable[Mapping[str, Any]]) -> list[_Op]:
    """Operators in order of their start, each knowing those that enclose it."""
    threads: dict[Any, list[_Op]] = defaultdict(list)
    ordered = sorted(events, key=lambda e: (e["ts"], -e["dur"]))
    for number, event in enumerate(ordered):
        args = _args(event)
        op = _Op(number, event["name"], float(event["ts"]), float(event["dur"]), _shapes(args),
                 _id(args.get("External id", args.get("external id"))))
        threads[(_id(event.get("pid")), _id(event.get("tid")))].append(op)
    for ops in threads.values():
        open_now: list[_Op] = []
        for op in ops:
            while open_now and op.start >= open_now[-1].end:
                open_now.pop()
            op.above = open_now[-1] if open_now else None
            op.chain = (*op.above.chain, op) if op.above else (op,)
            if op.above:
                op.above.inside += op.length
            open_now.append(op)
    return sorted((op for ops in threads.values() for op in ops), key=lambda op: op.number)


def _on_device(device: Sequence[Mapping[str, Any]], ops: list[_Op],
               launches: Sequence[Mapping[str, Any]]) -> list[Activity]:
    by_external = {op.external: op for op in ops if op.external is not None}
    by_correlation = {c: _args(e) | {"event": e} for e in launches
                      if (c := _id(_args(e).get("correlation"))) is not None}
    found = []
    for event in sorted(device, key=lambda e: e["ts"]):
        args = _args(event)
        correlation = _id(args.get("correlation"))
        launch = by_correlation.get(correlation, {}) if correlation is not None else {}
        external = next((x for source in (args, launch) for key in ("External id", "external id")
                         if (x := _id(source.get(key))) is not None), None)
        op = (by_external.get(external) if external is not None else None) or _enclosing(ops, launch.get("event"))
        found.append(_activity(event["name"], float(event["dur"]), op))
    return found


def _enclosing(ops: list[_Op], launch: Mapping[str, Any] | None) -> _Op | None:
    """The innermost operator that was running when a kernel was launched, where no id says it."""
    if launch is None:
        return None
    around = [op for op in ops if op.start <= launch["ts"] <= op.end]
    return max(around, key=lambda op: op.start, default=None)


def _activity(name: str, micro: float, op: _Op | None) -> Activity:
    chain = op.chain if op else ()
    return Activity(name, max(0.0, micro) * _MICRO, 1, tuple(o.name for o in chain), tuple(o.shapes for o in chain),
                    tuple(o.number for o in chain))


def _shapes(args: Mapping[str, Any]) -> tuple[tuple[int, ...], ...]:
    """Shapes of the inputs that are tensors ("Input Dims" has an empty list for the others)."""
    listed = args.get("Input Dims", args.get("Input dims", []))
    if not isinstance(listed, list):
        return ()
    return tuple(tuple(dims) for dims in listed if isinstance(dims, list) and dims
                 and all(isinstance(n, int) for n in dims))


def _args(event: Mapping[str, Any]) -> dict[str, Any]:
    args = event.get("args")
    return args if isinstance(args, dict) else {}


def _id(value: Any) -> int | str | None:
    """A number or a name; None for what the format has no place for, such as a list."""
    return value if isinstance(value, int | str) else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value and abs(value) < 1e300
