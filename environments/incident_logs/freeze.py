"""Frozen streams: hashes of a few generated tasks, so that no change of texts, seeds or writing goes unseen.

`python -m enlist.environments.incident_logs.freeze` writes the manifest anew. That is a new version of the benchmark,
to be done before anything is tuned on it, never after.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import yaml

from enlist.environments.incident_logs.catalog import Plot, blind_causes, causes
from enlist.environments.incident_logs.reference import Control
from enlist.environments.incident_logs.streams import stream
from enlist.environments.incident_logs.systems import SHAPES
from enlist.tools.runtime.ids import content_hash

MANIFEST = Path(__file__).with_name("frozen.yaml")
LINES = 1200
CONTROLS: tuple[Control, ...] = ("none", "removed", "shuffled")


def frozen() -> Iterator[Plot]:
    """One small plot of each cause, in both wordings and with each control by turns, and a healthy one. What the other
    hand adds comes last and with odd seeds, and changes none of the others."""
    shapes, other = list(SHAPES), blind_causes()
    for number, cause in enumerate(sorted(causes(), key=lambda name: (name in other, name))):
        control = CONTROLS[number % len(CONTROLS)]
        yield Plot(cause, shapes[number % len(shapes)], 7000 + 2 * number + (cause in other), LINES,
                   names=None if number % 2 else 5, wording=number % 2, control=control)
    yield Plot("", "mesh", 7998, LINES, control="no_incident")


def fingerprint(plot: Plot) -> str:
    """A hash of the files of a plot and of its truth."""
    written = stream(plot)
    return content_hash([written.files, written.reference.model_dump(mode="json")])


def manifest() -> dict[str, str]:
    """The hashes that the frozen plots had when they were frozen, by cause (`healthy` for none)."""
    held: dict[str, str] = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))
    return held


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the manifest."""
    hashes = {plot.cause or "healthy": fingerprint(plot) for plot in frozen()}
    part = MANIFEST.with_name(f"{MANIFEST.name}.part")
    part.write_text("# Hashes of generated streams and truths; see freeze.py.\n" + yaml.safe_dump(hashes),
                    encoding="utf-8")
    part.replace(MANIFEST)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
