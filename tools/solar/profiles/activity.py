"""A profile as all readers leave it: what took time, in order, with the operator that asked for it where that is known.

Times are of the device where the profile has device activities, else of the CPU's operators without those inside them.
The seconds of all activities add up to the profile's total: whoever joins them to anything lists what is left over.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["torch-profiler", "nsight-systems", "nsight-compute"]


@dataclass(frozen=True)
class Activity:
    """What ran, `count` times in `seconds` together: a kernel or an operator by its `name`.

    `ops` are the operators that enclose it, the outermost first ("aten::linear", "aten::addmm"), `shapes` those of
    each one's inputs where they were recorded, and `calls` a number of each one's call: what one call ran shares it.
    """

    name: str
    seconds: float
    count: int = 1
    ops: tuple[str, ...] = ()
    shapes: tuple[tuple[tuple[int, ...], ...], ...] = ()
    calls: tuple[int, ...] = ()


@dataclass(frozen=True)
class Profile:
    """A profile; `steps` are the iterations that its own marks tell of, None without marks; `on_device` is false where
    only the CPU's side was recorded."""

    kind: Kind
    name: str
    activities: tuple[Activity, ...]
    on_device: bool
    steps: int | None = None

    @property
    def total_s(self) -> float:
        """Seconds of all activities, over all steps."""
        return sum(activity.seconds for activity in self.activities)

    def named(self) -> Iterator[str]:
        """Names of what ran, each once, in order."""
        yield from dict.fromkeys(activity.name for activity in self.activities)
