"""The registry: what is installed, found by entry points, ours and a third party's by the same means.

Groups: `enlist.tools`, `enlist.agents`, `enlist.environments`, `enlist.capabilities`, `enlist.sniffers`,
`enlist.commands`. A folder of this project lists its own in an `entry_points.txt` beside its code, which the build
collects. An entry that fails to load is reported by `faults` and takes nothing else down.
"""

from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.naming import nearest

GROUPS = ("enlist.tools", "enlist.agents", "enlist.environments", "enlist.capabilities", "enlist.sniffers",
          "enlist.commands")


@cache
def entries(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name; the object behind each is not imported. Ours win over a namesake."""
    found: dict[str, EntryPoint] = {}
    for point in sorted(entry_points(group=group), key=lambda p: (not p.value.startswith("enlist."), p.value)):
        found.setdefault(point.name, point)
    return dict(sorted(found.items()))


def load_entry(group: str, name: str) -> Any:
    """The object registered as `name`; `not_found` names the nearest ones."""
    points = entries(group)
    if name not in points:
        kind = group.removeprefix("enlist.")
        hints = nearest(name, points) or list(points)[:8]
        raise EnlistError("not_found", f"no {kind.rstrip('s')} of this name is installed", given=repr(name),
                          allowed="for example " + ", ".join(hints) if hints else "nothing is installed",
                          fix=f"see `enlist {kind.replace('environments', 'envs')} list`")
    return points[name].load()


def load_all(group: str) -> dict[str, Any]:
    """All objects of a group that load."""
    return {name: point.load() for name, point in entries(group).items() if name not in faults(group)}


@cache
def faults(group: str) -> dict[str, str]:
    """Entries that do not load, with the reason."""
    broken: dict[str, str] = {}
    for name, point in entries(group).items():
        try:
            point.load()
        except Exception as error:  # a third party's import may raise anything
            broken[name] = f"{type(error).__name__}: {error} ({point.value})"
    return broken
