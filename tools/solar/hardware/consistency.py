"""Does a data sheet add up? The known slips give figures that no unit count and clock explain, and are named here.

A peak must be units x clock x operations per clock and unit, within 5 %, and the operations per clock those of the
architecture, which are listed once and apart from any device. The usual slips are off by far more: the figure "with
sparsity" (2), multiply-adds counted once (1/2), the dense figure halved again (1/2), both (1/4), or the figure of
another variant. Bandwidth must be bus width x transfers per second; a link's bandwidth is one direction's; DRAM comes
in whole GiB, so a capacity in decimal GB shows.
"""

from collections.abc import Iterable, Mapping

from enlist.tools.solar.hardware.serving import SPECIAL
from enlist.tools.solar.hardware.sheet import Device

TOLERANCE = 0.05
_SAME = 0.01  # two printed figures that are meant to be the same
_WHOLE = 0.002  # of a GiB in a capacity: what rounding of a printed figure explains
_GIB = 2**30
_LARGEST = 1e20  # operations, bytes or bytes per second that no device of this decade has

_SLIPS = (
    (2.0, "twice as much: a figure with sparsity, or both directions of a link?"),
    (0.5, "half as much: multiply-adds counted once (MAC for FLOP), or a dense figure halved again?"),
    (4.0, "four times as much: with sparsity and doubled again?"),
    (0.25, "a quarter: halved twice, or half of a figure in MACs?"),
    (1e3, "a thousand times as much: the wrong prefix?"),
    (1e-3, "a thousandth: the wrong prefix?"),
    (8.0, "eight times as much: bits for bytes?"),
    (0.125, "an eighth: bytes for bits?"),
    (_GIB / 1e9, "7 % more: GiB for GB?"),
    (1e9 / _GIB, "7 % less: GB for GiB?"),
)


def faults(device: Device, widths: Mapping[str, float], others: Iterable[Device] = ()) -> list[str]:
    """What does not add up, one sentence each; empty for a sheet that does.

    Args:
        widths: operations per clock and unit of the device's architecture, by roof; empty where it is not known.
        others: devices whose figures may have been taken for this one's.
    """
    found = []
    others = [o for o in others if o.name != device.name]
    for roof, peak in device.peaks.items():
        label = f"{device.name} {roof}"
        if peak.clock not in device.clocks:
            found.append(f"{label}: unknown clock {peak.clock!r}; one of {', '.join(sorted(device.clocks))}")
            continue
        unit = "1/s" if roof == SPECIAL else "OP/s" if ".int" in roof else "FLOP/s"
        if peak.unit != unit:
            found.append(f"{label}: in {peak.unit}, but this roof is in {unit}")
            continue
        width = widths.get(roof, peak.per_clock)
        if abs(peak.per_clock / width - 1) > _SAME:
            found.append(f"{label}: {peak.per_clock:g} per clock and {device.units.what}, but "
                         f"{device.architecture} does {width:g}{slip(peak.per_clock / width)}")
            continue
        made = device.units.count * device.clocks[peak.clock].value * width
        if abs(peak.value / made - 1) > TOLERANCE:
            variant = next((o.name for o in others if (p := o.peaks.get(roof)) and p.unit == peak.unit
                            and abs(p.value / peak.value - 1) < _SAME), None)
            found.append(f"{label}: {peak.value:.4g} {peak.unit} is {peak.value / made:.3g} times "
                         f"{device.units.what}s x clock x operations per clock = {made:.4g}"
                         f"{slip(peak.value / made) or (f': the figure of {variant}?' if variant else '')}")
    return found + _memory(device, others) + _links(device) + _clocks(device) + _documents(device)


def slip(ratio: float) -> str:
    """What a figure that is `ratio` times the right one looks like, "" where no known slip explains it."""
    return next((f": {said}" for factor, said in _SLIPS if abs(ratio / factor - 1) <= _closeness(factor)), "")


def _closeness(factor: float) -> float:
    return 0.015 if 0.9 < factor < 1.1 else TOLERANCE


def _memory(device: Device, others: list[Device]) -> list[str]:
    found = []
    bandwidth, capacity = device.dram_bandwidth, device.dram_capacity
    if device.memory is not None:
        made = device.memory.bus.value / 8 * device.memory.rate.value
        if abs(bandwidth.value / made - 1) > TOLERANCE:
            variant = next((o.name for o in others if abs(o.dram_bandwidth.value / bandwidth.value - 1) < _SAME), None)
            found.append(f"{device.name} dram_bandwidth: {bandwidth.value:.4g} byte/s is {bandwidth.value / made:.3g} "
                         f"times bus width x transfers per second = {made:.4g}"
                         f"{slip(bandwidth.value / made) or (f': the figure of {variant}?' if variant else '')}")
    whole = capacity.value / _GIB
    if device.kind != "cpu" and abs(whole - round(whole)) > _WHOLE:
        decimal = capacity.value / 1e9
        hint = (f": {round(decimal)} GB written for {round(decimal)} GiB?"
                if abs(decimal - round(decimal)) < _WHOLE else "")
        found.append(f"{device.name} dram_capacity: {whole:.4g} GiB, but memory comes in whole GiB{hint}")
    if device.caches[-1].capacity.value > capacity.value:
        found.append(f"{device.name} caches: the last-level cache is larger than the memory: the wrong prefix?")
    return found


def _links(device: Device) -> list[str]:
    link = device.interconnect
    if link is None or link.links is None or link.per_link is None:
        return []
    made = link.links * link.per_link
    if abs(link.bandwidth / made - 1) <= TOLERANCE:
        return []
    return [f"{device.name} interconnect: {link.bandwidth:.4g} byte/s is {link.bandwidth / made:.3g} times links x "
            f"bandwidth of one in one direction = {made:.4g}{slip(link.bandwidth / made)}"]


def _clocks(device: Device) -> list[str]:
    found = [f"{device.name} clocks.{name}: {clock.value:g} Hz is no clock of a processor: the wrong prefix?"
             for name, clock in device.clocks.items() if not 1e8 <= clock.value <= 1e10]
    amounts = {f"peaks.{r}": p.value for r, p in device.peaks.items()}
    amounts |= {"dram_bandwidth": device.dram_bandwidth.value, "dram_capacity": device.dram_capacity.value}
    return found + [f"{device.name} {name}: {value:g} is more than any device has: the wrong prefix?"
                    for name, value in amounts.items() if value > _LARGEST]


def _documents(device: Device) -> list[str]:
    """A verified device names two documents for each figure that is not marked as unverified."""
    if not device.verified:
        return []
    figures = {"units": device.units, "dram_bandwidth": device.dram_bandwidth, "dram_capacity": device.dram_capacity,
               **{f"peaks.{roof}": p for roof, p in device.peaks.items()}}
    return [f"{device.name} {name}: verified, but not by two documents" for name, figure in figures.items()
            if figure.verified and len(set(figure.sources)) < 2]
