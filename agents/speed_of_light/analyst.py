"""How the analyst works: capture each model in the sandbox, then bound it from its graph alone."""

from collections.abc import Sequence
from math import isfinite

from enlist.agents.graph import Draft, State
from enlist.agents.work import Input, Work
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.hardware import devices as sheet
from enlist.tools.solar.hardware import resolve

DEFAULT_DEVICES = ("H100",)  # a family: both variants
SWEEP = ("float16", "bfloat16")
MODEL_KINDS = ("python-model", "training-script", "source-code")


def act(work: Work, state: State) -> Draft:
    """Bounds of the attached model on the devices asked for; a second round keeps the devices that are known."""
    model, siblings = _files(work)
    constraints = work.request["constraints"]
    devices = _devices(work, constraints["devices"], settle=state["round"] > 1)
    unknown = [d for d in devices if not _is_known(d)]
    if unknown and state["round"] < int(work.knobs["rounds"] or 1):
        return Draft(data={"unknown": unknown})  # the check complains; the next round goes on without them
    captured = work.call("solar-capture", "capture", {
        "model": model.ref.model_dump(), "target": None,
        "extra_files": [s.ref.model_dump() for s in siblings] if work.knobs["siblings"] else []})
    if constraints["training"]:
        work.note("training was asked for; these bounds are of one forward pass")
    dtypes: list[str | None] = [constraints["dtype"]]
    if work.knobs["precision"] == "sweep":
        dtypes += [d for d in SWEEP if d not in dtypes]
    bounded = []
    for dtype in dtypes:
        outcome = work.call("solar-bounds", f"bounds:{dtype or 'as written'}", {
            "graph": captured.output.graph.model_dump(), "devices": list(devices),
            "measured_s": _stated_seconds(work), "dtype": dtype})
        bounded.append(outcome.output)
    return Draft(data={"bounds": [
        {"device": d.device, "fused_s": d.fused_s, "unfused_s": d.unfused_s} for b in bounded for d in b.devices]})


def check(work: Work, state: State) -> list[str]:
    """Invariants: no unknown device was left standing, every bound is positive and finite, fused is at most unfused."""
    data = state["draft"].data
    complaints = [f"device {name!r} is in no data sheet" for name in data.get("unknown", ())]
    for row in data.get("bounds", ()):
        if not (isfinite(row["unfused_s"]) and 0 < row["fused_s"] <= row["unfused_s"] * (1 + 1e-9)):
            complaints.append(f"the bounds on {row['device']} are not 0 < fused <= unfused")
    return complaints


def _files(work: Work) -> tuple[Input, list[Input]]:
    """The model file of this role, and the other Python files."""
    ranked = sorted(work.inputs, key=lambda i: min((MODEL_KINDS.index(k) for k in i.kinds if k in MODEL_KINDS),
                                                   default=len(MODEL_KINDS)))
    if not ranked or not set(ranked[0].kinds) & set(MODEL_KINDS):
        raise EnlistError("bad_input", "no attached file holds a PyTorch model",
                          given=", ".join(i.ref.name for i in work.inputs) or "no attachment",
                          allowed="a .py file with Model, get_inputs and get_init_inputs",
                          fix="attach it with --attach model.py")
    return ranked[0], [i for i in ranked[1:] if i.ref.name.endswith(".py")]


def _devices(work: Work, named: Sequence[str], settle: bool) -> list[str]:
    wanted = list(named) or list(DEFAULT_DEVICES)
    if settle:
        unknown = [d for d in wanted if not _is_known(d)]
        wanted = [d for d in wanted if _is_known(d)] or list(DEFAULT_DEVICES)
        for name in unknown:
            work.note(f"no data sheet for {name}; known devices: {', '.join(d.name for d in sheet())}")
    return list(dict.fromkeys([*wanted, *(d.name for d in sheet())])) if work.knobs["devices"] == "all" else wanted


def _is_known(device: str) -> bool:
    try:
        return bool(resolve([device]))
    except EnlistError:
        return False


def _stated_seconds(work: Work) -> float | None:
    """The first run time that the user states, in seconds."""
    return next((float(m["value"]) for m in work.request["measurements"] if m["quantity"] == "time"), None)
