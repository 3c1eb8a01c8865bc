"""Data sheets from YAML: units as people write them, sources by a short key, widths of architectures.

A sheet has `sources` (key: document), `architectures` (name: what each unit does per clock, by roof) and `devices`. An
amount is {value, unit, source}; a peak's `per_clock` is left out where its architecture has it. What does not add up is
refused with the slip that it looks like (see `consistency`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml
from pydantic import ValidationError

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.naming import nearest
from enlist.tools.solar.hardware.consistency import faults
from enlist.tools.solar.hardware.serving import ROOFS
from enlist.tools.solar.hardware.sheet import Device

_LARGEST_SHEET = 1 << 20  # bytes of YAML
_MOST_VALUES = 200_000  # after aliases: a sheet of a thousand devices; stops one that multiplies itself
_ALLOWED = "dense FLOP/s (two per multiply-add) of the very variant, with unit and source"
_ADDS_UP = (
    ("dram_capacity", "whole GiB, as memory is sold"),
    ("dram_bandwidth", "bus width x transfers per second, within 5 %"),
    ("interconnect", "links x the bandwidth of one, in one direction, within 5 %"),
    ("clocks", "100 MHz to 10 GHz, with unit"),
    ("caches", "capacities over the whole device, smaller than the memory"))
"""What a figure is held to, by the word that names it; every other figure is a peak."""
_CORRECT = "compare the figure with its document; docs/speed-of-light-hardware.md shows a sheet and what is refused"

_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the same language, ten times as fast where it was built
_PREFIXES = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_BASES = ("FLOP/s", "OP/s", "1/s", "Hz", "byte/s", "B/s", "byte", "B", "bit", "W", "s", "transfer/s")
_SAME = {"B/s": "byte/s", "B": "byte"}
_UNITS: dict[str, tuple[str, float]] = {
    **{f"{prefix}{base}": (_SAME.get(base, base), factor) for base in _BASES
       for prefix, factor in _PREFIXES.items()},
    "KiB": ("byte", 2.0**10), "MiB": ("byte", 2.0**20), "GiB": ("byte", 2.0**30), "µs": ("s", 1e-6), "us": ("s", 1e-6),
}


@dataclass(frozen=True)
class Sheet:
    """Devices and the widths (operations per clock and unit, by roof) of the architectures that they belong to."""

    devices: tuple[Device, ...]
    widths: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def parse_devices(text: str) -> tuple[Device, ...]:
    """The devices of one sheet by itself; see `parse_sheet`."""
    return parse_sheet(text).devices


def parse_sheet(text: str, known: Mapping[str, Mapping[str, float]] | None = None,
                others: Iterable[Device] = ()) -> Sheet:
    """A sheet from YAML.

    Args:
        known: widths of architectures that the sheet may refer to; it may not contradict them.
        others: devices of other sheets, whose figures may have been taken for one of these; a device of the same name
            is held to the widths of its architecture.

    Raises `bad_input` on anything that is not a sheet, an unknown key, an unnamed source or a figure that does not add
    up; the message names device and figure.
    """
    data = _load(text)
    sources = _table(data, "sources", str)
    own = {name: _widths(name, table) for name, table in _table(data, "architectures", dict).items()}
    for name, table in own.items():
        if (known or {}).get(name, table) != table:
            raise EnlistError("bad_input", f"hardware: architecture {name} is known with other widths", given=name,
                              allowed="a name of your own for another architecture")
    widths = {**(known or {}), **own}
    budget = [_MOST_VALUES]
    listed = data.get("devices")
    if not isinstance(listed, list) or not listed:
        raise EnlistError("bad_input", "hardware: a sheet lists `devices`", given=type(listed).__name__,
                          allowed="a list of devices")
    others = tuple(others)
    made = tuple(_device(_cite(entry, sources, budget), widths) for entry in listed)
    _unique(made)
    for device in made:
        namesake = next((o for o in others if o.name.casefold() == device.name.casefold()), device)
        wrong = faults(device, widths.get(namesake.architecture, {}), (*made, *others))
        if wrong:
            figure, _, why = wrong[0].partition(":")
            allowed = ("two documents for each figure, or `verified: false`" if "two documents" in why else
                       next((said for word, said in _ADDS_UP if word in figure), _ALLOWED))
            raise EnlistError("bad_input", f"hardware: {wrong[0]}", allowed=allowed, fix=_CORRECT,
                              details="\n".join(wrong) if len(wrong) > 1 else None)
    return Sheet(made, own)


def _load(text: str) -> dict[str, Any]:
    if len(text) > _LARGEST_SHEET:
        raise EnlistError("bad_input", "hardware: not a data sheet: too large", given=f"{len(text)} characters",
                          allowed=f"at most {_LARGEST_SHEET}")
    try:
        data = yaml.load(text, Loader=_LOADER)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise EnlistError("bad_input", f"hardware: not YAML: {str(error)[:200]}", allowed="a YAML data sheet",
                          fix="see docs/speed-of-light-hardware.md") from error
    if not isinstance(data, dict):
        raise EnlistError("bad_input", "hardware: not a data sheet", given=type(data).__name__,
                          allowed="a mapping with sources, architectures and devices",
                          fix="see docs/speed-of-light-hardware.md")
    for key in data:
        if key not in ("sources", "architectures", "devices", "figures"):
            raise EnlistError("bad_input", "hardware: unknown key in a sheet", given=repr(key)[:100],
                              allowed="sources, architectures, devices, figures (a place for YAML anchors)")
    return data


def _table(data: Mapping[str, Any], key: str, kind: type) -> dict[str, Any]:
    table = data.get(key) or {}
    if not isinstance(table, dict) or not all(isinstance(k, str) and isinstance(v, kind) for k, v in table.items()):
        raise EnlistError("bad_input", f"hardware: `{key}` is not a table", given=repr(table)[:100],
                          allowed=f"names with a {'document' if kind is str else 'table of roofs'} each")
    return table


def _widths(name: str, table: Mapping[str, Any]) -> dict[str, float]:
    for roof, width in table.items():
        if roof not in ROOFS or isinstance(width, bool) or not isinstance(width, int | float) or not 0 < width < 1e9:
            near = nearest(str(roof), ROOFS)
            raise EnlistError("bad_input", f"hardware: architecture {name}: not a width of a roof",
                              given=f"{roof}: {width!r}"[:100], allowed=", ".join(ROOFS),
                              fix=f"did you mean {near[0]!r}?" if near and roof not in ROOFS else None)
    return dict(table)


def _cite(value: Any, sources: Mapping[str, str], budget: list[int]) -> Any:
    """The value with sources spelled out and amounts in base units; `budget` counts what aliases may multiply."""
    budget[0] -= 1
    if budget[0] < 0:
        raise EnlistError("bad_input", "hardware: the sheet multiplies itself by aliases",
                          allowed=f"at most {_MOST_VALUES} values")
    if isinstance(value, list):
        return [_cite(v, sources, budget) for v in value]
    if not isinstance(value, dict):
        return value
    made = {k: _cite(v, sources, budget) for k, v in value.items() if k != "source"}
    if "source" in value:
        keys = value["source"] if isinstance(value["source"], list) else [value["source"]]
        for key in keys:
            if not isinstance(key, str) or key not in sources:
                raise EnlistError("bad_input", "hardware: a figure names a source that is not listed",
                                  given=repr(key)[:100], allowed=", ".join(sources) or "none is listed",
                                  fix="add the document to `sources`")
        made["sources"] = [sources[key] for key in keys]
    return _based(made) if "unit" in made else made


def _based(figure: dict[str, Any]) -> dict[str, Any]:
    unit = figure["unit"]
    if unit not in _UNITS:
        near = nearest(str(unit), _UNITS)
        raise EnlistError("bad_input", "hardware: not a unit", given=repr(unit)[:100],
                          allowed="FLOP/s, OP/s, 1/s, Hz, byte/s, transfer/s, byte, bit, W, s, with k, M, G, T or P; "
                                  "KiB, MiB, GiB", fix=f"did you mean {near[0]!r}?" if near else None)
    base, factor = _UNITS[unit]
    made = {**figure, "unit": base}
    for key in ("value", "bandwidth", "per_link"):
        if key in made:
            number = made[key]
            try:
                made[key] = float(number) * factor
            except (TypeError, ValueError, OverflowError):
                raise EnlistError("bad_input", f"hardware: {key} is not a number", given=repr(number)[:100],
                                  allowed="a number and a unit") from None
    return made


def _device(entry: Any, widths: Mapping[str, Mapping[str, float]]) -> Device:
    if not isinstance(entry, dict):
        raise EnlistError("bad_input", "hardware: a device is not a table", given=repr(entry)[:100],
                          allowed="name, maker, kind, units, clocks, peaks, ...")
    name = str(entry.get("name", "device"))[:60]
    own = widths.get(str(entry.get("architecture", "")), {})
    peaks = entry.get("peaks")
    if isinstance(peaks, dict):
        for roof in peaks:
            if roof not in ROOFS:
                near = nearest(str(roof), ROOFS)
                raise EnlistError("bad_input", f"hardware: {name}: not a roof", given=repr(roof)[:100],
                                  allowed=", ".join(ROOFS), fix=f"did you mean {near[0]!r}?" if near else None)
        entry = {**entry, "peaks": {roof: {"per_clock": own[roof], **p} if isinstance(p, dict) and roof in own else p
                                    for roof, p in peaks.items()}}
    try:
        return Device.model_validate(entry)
    except ValidationError as error:
        fault = error.errors()[0]
        place = ".".join(map(str, fault["loc"])) or "device"
        hint = ": its architecture has no width for this roof" if place.endswith("per_clock") else ""
        if place.endswith(".dense"):
            hint = ": a rate with sparsity is no peak here"
        raise EnlistError("bad_input", f"hardware: {name}: {place}: {fault['msg']}{hint}",
                          allowed=_ALLOWED if place.startswith("peaks") else None, fix=_CORRECT) from error


def _unique(made: tuple[Device, ...]) -> None:
    seen: set[str] = set()
    for device in made:
        if device.name in seen:
            raise EnlistError("bad_input", "hardware: two devices of one name in a sheet", given=device.name,
                              allowed="different names")
        seen.add(device.name)
