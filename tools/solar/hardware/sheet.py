"""A device as data: its units, clocks, peaks by roof, memory, caches and links, each figure with unit and source.

All values are in base units (Hz, byte, byte/s, FLOP/s, OP/s, 1/s, W, s); `reading` turns the units that people write
into them. FLOP count two for a multiply and an add. Peaks are dense: a figure "with sparsity" is no peak here.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.naming import nearest
from enlist.tools.solar.hardware.serving import ROOFS, candidates, last_resort

Kind = Literal["gpu", "tpu", "accelerator", "cpu"]
Topology = Literal["switch", "mesh", "ring", "torus2d", "torus3d", "pair", "bus"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class Cited(_Strict):
    """Where a figure comes from: documents by title, version and table; `verified` is False for one that was not seen
    in two independent documents, or that follows from another figure."""

    sources: tuple[str, ...] = Field(min_length=1)
    verified: bool = True
    note: str = ""

    @property
    def source(self) -> str:
        return "; ".join(self.sources)


class Figure(Cited):
    """One number with its unit."""

    value: float = Field(gt=0)
    unit: Literal["Hz", "byte", "byte/s", "W", "s", "bit", "transfer/s", "1"]


class Units(Cited):
    """The units that a device has many of: SM, CU, TensorCore, NeuronCore, MME, core."""

    count: int = Field(gt=0)
    what: str = Field(min_length=1)


class Peak(Cited):
    """A dense peak rate; `per_clock` operations per unit and clock times units times `clock` must give it."""

    value: float = Field(gt=0)
    unit: Literal["FLOP/s", "OP/s", "1/s"]
    dense: Literal[True]
    per_clock: float = Field(gt=0)
    clock: str


class Cache(_Strict):
    """One level on chip, over the whole device; bandwidth where it was published or measured."""

    name: str = Field(min_length=1)
    capacity: Figure
    bandwidth: Figure | None = None


class Memory(_Strict):
    """What the DRAM bandwidth is made of: bits of the bus, transfers per second and pin."""

    bus: Figure
    rate: Figure


class Interconnect(Cited):
    """The fastest link between devices; `bandwidth` is byte/s in one direction over all of a device's links."""

    name: str = Field(min_length=1)
    bandwidth: float = Field(gt=0)
    unit: Literal["byte/s"]
    links: int | None = Field(default=None, gt=0)
    per_link: float | None = Field(default=None, gt=0)
    peers: int = Field(gt=1)
    topology: Topology


class Device(_Strict):
    """One device; `peaks` by roof: "tensor.bf16" for matrix units, "vector.fp32" for vector units, "special" for
    evaluations of special functions per second. `caches` from the registers out; the last is the last-level cache."""

    name: str = Field(min_length=1)
    maker: str = Field(min_length=1)
    kind: Kind
    architecture: str = ""
    aliases: tuple[str, ...] = ()
    verified: bool
    units: Units
    clocks: dict[str, Figure] = Field(min_length=1)
    peaks: dict[str, Peak] = Field(min_length=1)
    dram_bandwidth: Figure
    dram_capacity: Figure
    memory: Memory | None = None
    caches: tuple[Cache, ...] = Field(min_length=1)
    interconnect: Interconnect | None = None
    power: Figure | None = None
    launch_overhead: Figure | None = None

    @property
    def sms(self) -> int:
        return self.units.count

    @property
    def l2(self) -> Figure:
        """Capacity of the last-level cache."""
        return self.caches[-1].capacity

    def serves(self, roof: str) -> str:
        """The roof of this device on which work of `roof` runs at its fastest: its own unit, or a faster or the only
        one whose format holds the operands exactly (fp8 without fp8 units: fp16; tf32: fp32; vector.bf16: fp32), or
        for what it must emulate (fp64 on a TPU) its vector units, which that takes at least one operation of.

        Raises `bad_input` for a name that is no roof and `unsupported` where no unit of the device can do the work.
        """
        if roof not in ROOFS:
            near = nearest(roof, ROOFS)
            raise EnlistError("bad_input", "not a roof", given=repr(roof), allowed=", ".join(ROOFS),
                              fix=f"did you mean {near[0]!r}?" if near else None)
        able = [r for r in candidates(roof) if r in self.peaks] or [r for r in last_resort(roof) if r in self.peaks]
        if not able:
            raise EnlistError("unsupported", f"{self.name} has no unit for {roof}", given=roof,
                              allowed=", ".join(self.peaks), fix="choose another device or dtype")
        return max(able, key=lambda r: (self.peaks[r].value, r.endswith(roof.partition(".")[2])))

    def peak(self, roof: str) -> float:
        """Operations per second at which this device does the work of `roof`, on the roof that `serves` it."""
        return self.peaks[self.serves(roof)].value

    def with_clock(self, hz: float) -> "Device":
        """This device with all of its clocks at `hz`: peaks scale, memory does not.

        Raises `bad_input` for a clock that is not between 1 MHz and 10 GHz.
        """
        if not 1e6 <= hz <= 1e10:
            raise EnlistError("bad_input", "not a clock of a processor", given=f"{hz:g} Hz",
                              allowed="1 MHz to 10 GHz", fix="give the clock in MHz")
        said = f"at the stated {hz / 1e6:g} MHz"
        peaks = {roof: p.model_copy(update={
            "value": p.value * hz / self.clocks[p.clock].value, "sources": (*p.sources, said)})
            for roof, p in self.peaks.items()}
        clocks = {name: c.model_copy(update={"value": hz, "sources": (said,)}) for name, c in self.clocks.items()}
        return self.model_copy(update={"peaks": peaks, "clocks": clocks, "caches": tuple(
            _faster(cache, max(1.0, hz / min(c.value for c in self.clocks.values()))) for cache in self.caches)})


def _faster(cache: Cache, factor: float) -> Cache:
    """A cache under a clock raised by `factor`: its bandwidth may rise with it, and is not taken to fall."""
    if cache.bandwidth is None or factor == 1:
        return cache
    return cache.model_copy(update={"bandwidth": cache.bandwidth.model_copy(update={
        "value": cache.bandwidth.value * factor})})
