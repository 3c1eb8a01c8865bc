"""The devices that there are: those that ship, those of a user's own sheets, and this machine's CPU under "local".

The variable ENLIST_HARDWARE names a sheet, or a folder of sheets, that is read beside what ships; a device of the same
name takes the place of the shipped one.
"""

import os
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.naming import nearest
from enlist.tools.solar.hardware.reading import Sheet, parse_sheet
from enlist.tools.solar.hardware.sheet import Device

VARIABLE = "ENLIST_HARDWARE"
LOCAL = ("local", "this cpu", "this machine", "cpu")
_ENDING = ".yaml"
_MAKERS = ("nvidia", "tesla", "geforce", "amd", "instinct", "google", "cloud", "intel", "habana", "aws", "apple")


def devices(extra: Path | None = None) -> tuple[Device, ...]:
    """The devices that ship, with those of the sheet (or folder of sheets) `extra`, or else of ENLIST_HARDWARE.

    Raises `not_found` where there is no such file and `bad_input` where a sheet does not add up.
    """
    if extra is None and os.environ.get(VARIABLE):
        extra = Path(os.environ[VARIABLE])
    if extra is None:
        return _shipped().devices
    found = {d.name: d for d in _shipped().devices}
    for path in _sheets(extra):
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise EnlistError("bad_input", f"cannot read the data sheet: {error}", given=str(path),
                              allowed="a YAML file in UTF-8") from error
        found.update((d.name, d) for d in parse_sheet(text, _shipped().widths, _shipped().devices).devices)
    return tuple(found.values())


def resolve(names: Iterable[str], extra: Path | None = None) -> tuple[Device, ...]:
    """The devices that names mean; case, spaces and hyphens do not matter, and a family gives all of its variants.

    "local" is this machine's CPU, calibrated at the first use. Raises `not_found` with the nearest names.
    """
    found: dict[str, Device] = {}
    known = devices(extra)
    for name in names:
        matches = [d for d in known if _key(name) in {_key(n) for n in (d.name, *d.aliases)}]
        if not matches and _key(name) in map(_key, LOCAL):
            from enlist.tools.solar.hardware.local import local_device

            matches = [local_device()]
        if not matches:
            near = nearest(name, [*(d.name for d in known), *(a for d in known for a in d.aliases), "local"])
            raise EnlistError("not_found", "no data sheet for this device", given=repr(name[:100]),
                              allowed=", ".join([*(d.name for d in known), "local"]),
                              fix=f"did you mean {', '.join(near)}?" if near else
                              "see docs/speed-of-light-hardware.md for adding one")
        found.update((d.name, d) for d in matches)
    return tuple(found.values())


def shipped_widths() -> Mapping[str, Mapping[str, float]]:
    """Operations per clock and unit, by roof, of each architecture that ships."""
    return _shipped().widths


@cache
def _shipped() -> Sheet:
    made: list[Device] = []
    widths: dict[str, dict[str, float]] = {}
    for sheet in sorted((f for f in files(__package__).joinpath("sheets").iterdir() if f.name.endswith(_ENDING)),
                        key=lambda f: f.name):
        one = parse_sheet(sheet.read_text(encoding="utf-8"), widths, made)
        made += one.devices
        widths.update({name: dict(table) for name, table in one.widths.items()})
    return Sheet(tuple(made), widths)


def _sheets(place: Path) -> list[Path]:
    found = sorted(place.glob(f"*{_ENDING}")) if place.is_dir() else [place]
    if not found or not all(p.is_file() for p in found):
        raise EnlistError("not_found", "no data sheet there", given=str(place),
                          allowed=f"a YAML file, or a folder with files that end in {_ENDING}",
                          fix=f"correct the path given, or {VARIABLE}")
    return found


def _key(name: str) -> str:
    plain = "".join(c for c in name.lower() if c.isalnum())
    for maker in _MAKERS:
        plain = plain.removeprefix(maker)  # said or left away as people like
    return plain
