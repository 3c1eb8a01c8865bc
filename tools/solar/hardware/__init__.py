"""Devices and their peaks, as data with sources, checked so that no sparse or MAC figure gets in."""

from enlist.tools.solar.hardware.catalogue import devices, resolve
from enlist.tools.solar.hardware.reading import parse_devices
from enlist.tools.solar.hardware.sheet import Cache, Device, Figure, Interconnect, Peak, Units


def local_device(refresh: bool = False) -> Device:
    """This machine's CPU, calibrated at the first use or on `refresh`; see `local`."""
    from enlist.tools.solar.hardware.local import local_device as measured  # NumPy, and torch where it is installed

    return measured(refresh)


__all__ = ["Cache", "Device", "Figure", "Interconnect", "Peak", "Units", "devices", "local_device", "parse_devices",
           "resolve"]
