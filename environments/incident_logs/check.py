"""Check causes: `python -m enlist.environments.incident_logs.check [CAUSE...] [--seeds N] [--tell]`.

Each cause is written on every shape of system from some seeds, plain, under other names and in the other wording, and
held against `verify.problems`. `--tell` prints the facts with what their lines say.
"""

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from enlist.environments.incident_logs.catalog import Plot, causes
from enlist.environments.incident_logs.systems import SHAPES
from enlist.environments.incident_logs.verify import problems
from enlist.environments.incident_logs.write import write

LINES = 3000


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what is wrong; 0 where nothing is."""
    parser = argparse.ArgumentParser(prog="check", description=__doc__.split("\n")[0])
    parser.add_argument("cause", nargs="*", help="all if none is given")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--tell", action="store_true")
    given = parser.parse_args(arguments)
    if unknown := [name for name in given.cause if name not in causes()]:
        parser.error(f"no such cause: {', '.join(unknown)}; there are {', '.join(causes())}")
    faulty = total = 0
    for cause in given.cause or causes():
        for shape in SHAPES:
            for seed in range(given.seeds):
                plain = Plot(cause, shape, seed, LINES)
                for plot in (plain, replace(plain, names=seed + 1000), replace(plain, wording=1)):
                    total += 1
                    found = _checked(plot, given.tell)
                    faulty += bool(found)
                    for problem in found:
                        print(f"{cause} on {shape}, seed {seed}, names {plot.names}, wording {plot.wording}: {problem}")
    print(f"{total} streams, {faulty} faulty")
    return 1 if faulty else 0


def _checked(plot: Plot, tell: bool) -> list[str]:
    incident, (start, span) = plot.incident(), plot.window()
    with tempfile.TemporaryDirectory() as folder:
        reference = write(incident, Path(folder), start=start, span=span, lines=plot.lines)
        found = problems(incident, reference, Path(folder), start=start, span=span, lines=plot.lines)
    if tell:
        loud = reference.loudest or "the component"
        print(f"\n{plot.cause} on {plot.shape}: component {reference.component}, loudest {loud}")
        for fact in reference.facts:
            print(f"  {fact.kind:13s} {fact.weight:6s} {fact.text}")
            for said in reference.said.get(fact.id, ())[:3]:
                print(f"{'':24s}{said}")
    return found


if __name__ == "__main__":
    raise SystemExit(main())
