"""Devices and their peaks, as data with sources, checked so that no sparse or MAC figure gets in."""

from enlist.tools.solar.hardware.catalogue import devices, resolve
from enlist.tools.solar.hardware.reading import parse_devices
from enlist.tools.solar.hardware.sheet import Cache, Device, Figure, Interconnect, Peak, Units

__all__ = ["Cache", "Device", "Figure", "Interconnect", "Peak", "Units", "devices", "parse_devices", "resolve"]
