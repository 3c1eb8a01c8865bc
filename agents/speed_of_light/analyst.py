"""How the analyst works: capture each model in the sandbox, then bound it from its graph alone."""

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, cast

from enlist.agents.graph import Draft, State
from enlist.agents.language.provider import language_model
from enlist.agents.language.settings import serving
from enlist.agents.speed_of_light.translation import SECONDS, TRANSLATION_MODEL, Foreign, translated
from enlist.agents.work import Input, Work
from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.formats.front import language_of
from enlist.tools.solar.hardware import devices as sheet
from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.loops.tool import EqualsInput, EqualsOutput, Language

DEFAULT_DEVICES = ("H100",)  # a family: both variants
SWEEP = ("float16", "bfloat16")
MODEL_KINDS = ("python-model", "training-script", "jax-function", "source-code")


def act(work: Work, state: State) -> Draft:
    """Bounds of the attached model on the devices asked for; a second round keeps the devices that are known."""
    model, siblings = _files(work)
    constraints = work.request["constraints"]
    devices, unknown = _devices(work, constraints["devices"])
    if unknown and state["round"] < int(work.knobs["rounds"] or 1):
        return Draft(data={"unknown": unknown})  # the check complains; the next round goes on without them
    for name in unknown:
        work.note(f"no data sheet for {name}, so nothing is said of it; known devices: {_known()}")
    asked = {"model": model.ref.model_dump(), "target": _target(work, model),
             "extra_files": [s.ref.model_dump() for s in siblings] if work.knobs["siblings"] else [],
             "training": "step" if constraints["training"] else None}
    captured = _translated(work, model, _sizes(constraints)) or _captured(work, asked, _sizes(constraints))
    dtypes: list[str | None] = [constraints["dtype"]]
    if work.knobs["precision"] == "sweep":
        dtypes += [d for d in SWEEP if d not in dtypes]
    bounded = []
    for dtype in dtypes:
        for seconds, group in _by_stated_time(work, devices).items():
            outcome = work.call("solar-bounds", f"bounds:{dtype or 'as written'}:{seconds or 'no time'}", {
                "graph": captured.output.graph.model_dump(), "devices": group, "measured_s": seconds, "dtype": dtype})
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


def _target(work: Work, model: Input) -> str | None:
    """The one class of the file that the request names, if it names one; None is the class Model."""
    source = work.memory.open_artifact(model.ref).read_text(encoding="utf-8", errors="replace")
    words = set(re.findall(r"\w+", str(work.request["text"])))
    named = [c for c in re.findall(r"^class\s+(\w+)", source, flags=re.MULTILINE) if c in words]
    return named[0] if len(named) == 1 else None


def _devices(work: Work, named: Sequence[str]) -> tuple[list[str], list[str]]:
    """Devices to bound, by the names of their data sheets, and those named that have none.

    Raises:
        EnlistError: `not_found` where devices are named and none has a data sheet; another device is no answer.
    """
    wanted = list(named) or list(DEFAULT_DEVICES)
    unknown = [d for d in wanted if not _resolved(d)]
    if len(unknown) == len(wanted):
        raise EnlistError("not_found", f"no data sheet for {', '.join(unknown)}", given=", ".join(unknown),
                          allowed=_known(), fix="ask about one of these, or add a data sheet to the hardware file")
    found = [name for d in wanted for name in _resolved(d)]
    if work.knobs["devices"] == "all":
        found += [d.name for d in sheet()]
    return list(dict.fromkeys(found)), unknown


def _resolved(device: str) -> list[str]:
    try:
        return [d.name for d in resolve([device])]
    except EnlistError:
        return []


def _known() -> str:
    return ", ".join(d.name for d in sheet())


def _by_stated_time(work: Work, devices: Sequence[str]) -> dict[float | None, list[str]]:
    """Devices by the time in seconds that the user states for them (None: no time); a time without a device is for
    all that have none of their own."""
    times = [m for m in work.request["measurements"] if m["quantity"] == "time"]
    for other in (m for m in times if m["device"] and not set(_resolved(m["device"])) & set(devices)):
        work.note(f"{other['quote']!r} is stated for {other['device']}, which is not among the devices here: "
                  "not compared")
    groups: dict[float | None, list[str]] = {}
    for device in devices:
        own = [m for m in times if m["device"] and device in _resolved(m["device"])]
        mine = own or [m for m in times if not m["device"]]
        if len({m["value"] for m in mine}) > 1:
            work.note(f"several times are stated for {device}; {mine[0]['quote']!r} was taken")
        groups.setdefault(float(mine[0]["value"]) if mine else None, []).append(device)
    return groups


def _translated(work: Work, model: Input, sizes: str | None) -> Any:
    """The loops of a source that no front end reads, translated by the run's language model; None for other files.

    Raises `not_installed` where the run has no such model, `unsupported` where the language cannot be run here.
    """
    content = work.memory.open_artifact(model.ref).read_bytes()
    language = language_of(content.decode("utf-8", "replace"), model.ref.name)
    if language is None:
        return None
    settings = serving(work.assignment.models, TRANSLATION_MODEL)
    asked = 0

    def put(name: str, data: bytes) -> ArtifactRef:
        return work.memory.put_bytes(data, media_type="text/plain", name=name)

    def equals(given: EqualsInput) -> EqualsOutput:
        nonlocal asked
        asked += 1
        found = work.call("loop-equals", f"equals:{asked}", given.model_dump(mode="json"), SECONDS).output
        assert isinstance(found, EqualsOutput)
        return found

    source = Foreign(model.ref.name, content, cast(Language, language))
    made = translated(source, language_model(work, TRANSLATION_MODEL) if settings else None,
                      settings.name if settings else "", put, equals)
    work.note(made.sentence.partition(": ")[2])
    program = put(f"{model.ref.name.rpartition('.')[0]}.loop", made.text.encode())
    return work.call("loop-lift", "lift", {"file": program.model_dump(), "inputs": sizes, "assumed": [made.sentence]})


def _captured(work: Work, asked: dict[str, Any], sizes: str | None) -> Any:
    """The captured model, at the sizes that the request names where the model has such a dimension."""
    if sizes:
        try:
            return work.call("solar-capture", "capture:sized", asked | {"inputs": sizes})
        except EnlistError as error:
            if error.code != "bad_input":
                raise
            work.note(f"{sizes} was named and the model's inputs have no such size ({error.message}); the shapes are "
                      "those that get_inputs gives")
    return work.call("solar-capture", "capture", asked)


def _sizes(constraints: Mapping[str, Any]) -> str | None:
    """The sizes that the request names, in place of those of get_inputs."""
    named = [f"{name}={constraints[name]}" for name in ("batch", "length") if constraints[name] is not None]
    return ";".join(named) or None
