"""Devices and their peaks, as data with sources, checked so that no sparse or MAC figure gets in.

A peak must be what its SM count, clock and FLOP per clock and SM give, within 5 %: the usual slips (the figure "with
sparsity", multiply-adds counted once, another variant's clock) are off by far more.
"""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.naming import nearest

_TOLERANCE = 0.05


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Figure(_Strict):
    """One number with its unit and where it was published."""

    value: float = Field(gt=0)
    unit: Literal["SM", "Hz", "byte", "byte/s"]
    source: str


class Peak(_Strict):
    """A peak rate; `per_clock_per_sm` and `clock` are what it is checked against."""

    value: float = Field(gt=0)
    unit: Literal["FLOP/s", "OP/s"]
    dense: Literal[True]
    per_clock_per_sm: int = Field(gt=0)
    clock: str
    source: str


class Device(_Strict):
    """One device; `peaks` by roof: "tensor.bf16" for tensor cores, "vector.fp32" for the vector units."""

    name: str
    aliases: tuple[str, ...] = ()
    sms: Figure
    clocks: dict[str, Figure]
    dram_bandwidth: Figure
    dram_capacity: Figure
    l2: Figure
    peaks: dict[str, Peak]

    @model_validator(mode="after")
    def _consistent(self) -> "Device":
        for roof, peak in self.peaks.items():
            if peak.clock not in self.clocks:
                raise ValueError(f"{self.name} {roof}: unknown clock {peak.clock!r}; one of {sorted(self.clocks)}")
            made = self.sms.value * self.clocks[peak.clock].value * peak.per_clock_per_sm
            ratio = peak.value / made
            if abs(ratio - 1) > _TOLERANCE:
                hint = (": a figure with sparsity?" if 1.9 < ratio < 2.1 else
                        ": multiply-adds counted once?" if 0.45 < ratio < 0.55 else "")
                raise ValueError(f"{self.name} {roof}: {peak.value:.4g} {peak.unit} is {ratio:.2f} times "
                                 f"SMs x clock x FLOP per clock and SM = {made:.4g}{hint}")
        return self

    def peak(self, roof: str) -> float:
        """FLOP/s of a roof; a device without fp8 units does that work at its fp16 rate."""
        return self.peaks.get(roof, self.peaks["tensor.fp16"]).value


def parse_devices(text: str) -> tuple[Device, ...]:
    """Devices from YAML; `bad_input` on an unknown key, an unnamed source or a peak that does not add up."""
    data: Any = yaml.safe_load(text)
    sources: dict[str, str] = data["sources"]

    def cite(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: sources[v] if k == "source" else cite(v) for k, v in value.items()}
        return value

    try:
        return tuple(Device.model_validate(cite(device)) for device in data["devices"])
    except KeyError as error:
        raise EnlistError("bad_input", "a figure names a source that is not listed", given=str(error),
                          allowed=", ".join(sources)) from error
    except ValidationError as error:
        fault = error.errors()[0]
        raise EnlistError("bad_input", f"hardware: {'.'.join(map(str, fault['loc'])) or 'device'}: {fault['msg']}",
                          allowed="dense FLOP/s (two per multiply-add) of the very variant") from error


@cache
def devices() -> tuple[Device, ...]:
    """The devices that ship."""
    sheets = sorted((f for f in files(__package__).iterdir() if f.name.endswith(".yaml")), key=lambda f: f.name)
    return tuple(d for sheet in sheets for d in parse_devices(sheet.read_text(encoding="utf-8")))


def resolve(names: Iterable[str]) -> tuple[Device, ...]:
    """The devices that names mean; case, spaces and hyphens do not matter, and a family gives all of its variants.

    Raises `not_found` with the nearest names.
    """
    found: dict[str, Device] = {}
    for name in names:
        matches = [d for d in devices() if _key(name) in {_key(n) for n in (d.name, *d.aliases)}]
        if not matches:
            known = [d.name for d in devices()]
            near = nearest(name, [*known, *(a for d in devices() for a in d.aliases)])
            raise EnlistError("not_found", "no data sheet for this device", given=repr(name),
                              allowed=", ".join(known), fix=f"did you mean {near[0]!r}?" if near else None)
        found.update((d.name, d) for d in matches)
    return tuple(found.values())


def _key(name: str) -> str:
    plain = "".join(c for c in name.lower() if c.isalnum())
    for maker in ("nvidia", "tesla"):  # said or left away as people like
        plain = plain.removeprefix(maker)
    return plain
