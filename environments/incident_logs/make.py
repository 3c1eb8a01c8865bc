"""Write one stream into a folder: `python -m enlist.environments.incident_logs.make FOLDER --cause disk_full`.

The truth goes beside the folder, to `FOLDER.reference.json`, never into it. Any number of lines: memory does not grow.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from enlist.environments.incident_logs.catalog import Plot, causes
from enlist.environments.incident_logs.reference import Control
from enlist.environments.incident_logs.systems import SHAPES
from enlist.environments.incident_logs.write import write

CONTROLS: tuple[Control, ...] = ("none", "no_incident", "removed", "shuffled")


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the stream and its truth; print how many lines in how many files."""
    parser = argparse.ArgumentParser(prog="make", description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cause", choices=sorted(causes()), default="bad_deploy")
    parser.add_argument("--shape", choices=list(SHAPES), default="web_shop")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lines", type=int, default=10_000)
    parser.add_argument("--names", type=int, help="seed of other names")
    parser.add_argument("--wording", type=int, choices=(0, 1), default=0)
    parser.add_argument("--control", choices=CONTROLS, default="none")
    given = parser.parse_args(arguments)
    plot = Plot("" if given.control == "no_incident" else given.cause, given.shape, given.seed, given.lines,
                given.names, given.wording, given.control)
    start, span = plot.window()
    truth = write(plot.incident(), given.folder, start=start, span=span, lines=plot.lines, control=plot.control)
    path = given.folder.with_name(f"{given.folder.name}.reference.json")
    part = path.with_name(f"{path.name}.part")
    part.write_text(truth.model_dump_json(indent=1), encoding="utf-8")
    part.replace(path)
    print(f"{sum(truth.lines.values())} lines in {len(truth.lines)} files")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
