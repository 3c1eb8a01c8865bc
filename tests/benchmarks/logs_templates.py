"""Templates of real logs: grouping accuracy per set, and how fast they are mined beside Drain3.

Accuracy needs `--data`, a folder of sets as Loghub-2k lays them out (NAME/NAME_2k.log and its `_structured.csv`); the
input is the raw log, from which a few rules that know no program take the envelope off. GA is the share of lines in a
group that is exactly a true one; FGA the F1 over groups (Loghub-2.0). Speed needs `--drain3`, a Python that has Drain3
installed: process seconds on the same lines, runs in turn, medians of five. The lines are those of the sets with other
numbers (so that no two are alike) and synthetic ones with a hexadecimal id or a new word each; without `--data` only
these.
Prints what it measured on standard error and one JSON object on standard output; `--out FILE` writes that too.
"""

import argparse
import csv
import itertools
import json
import os
import random
import re
import statistics
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

LINES, RUNS, BATCH = 60_000, 5, 1_000
GRID = {"soft": (2, 3, 4, 6), "hard": (4, 6, 8, 12), "alone": (10, 20), "tail": (4, 6, 10)}

_TIME = re.compile(
    r"\[?(?:[A-Z][a-z]{2},?\s+)?(?:[A-Z][a-z]{2}\s+\d{1,2}|\d{2,4}[-/.]\d{1,2}[-/.]\d{1,4}|\d{1,2}[-/.]\d{1,2}|\d{6,8})"
    r"[-T,\s]\s?"
    r"\d{1,2}:?\d{2}:?\d{2}(?:[.,:]\d{1,9})?(?:\s\d{4}\b)?(?:\s?(?:Z|UTC|[+-]\d{2}:?\d{2}))?\]?,?(?=\s|$)"
    r"|(?<!\S)\d{9,19}(?!\S)")
_LEVEL = re.compile(
    r"\[?(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|SEVERE|CRITICAL|[VDIWEF])\b\]?[,:]?\s+", re.I)
_FIELD = re.compile(r"\[.{0,300}?\]\s+|-?\d{1,7}\s+|[A-Z]{2,12}\s{2,}|-\s+")
_NAME = re.compile(r"(?:\S+\s+)?[\w./@$-]+(?:\[\d+\]|\(\d+\)):\s+|(?:[\w$-]+\.)+[\w$-]+:\s+|\S+(?:\s\*?\d+)?\s-\s")


def message(line: str) -> str:
    """A line without time, level, host, process, thread and logger, as far as they are told by their form."""
    found = _TIME.search(line, 0, 120)
    rest = line[found.end() :].lstrip() if found else line
    while taken := _LEVEL.match(rest) or _FIELD.match(rest):
        rest = rest[taken.end() :]
    if taken := _NAME.match(rest):
        rest = rest[taken.end() :]
    return rest


def scored(groups: Sequence[object], truth: Sequence[object]) -> dict[str, float]:
    mine, true = defaultdict(set), defaultdict(set)
    for n, (group, right) in enumerate(zip(groups, truth, strict=True)):
        mine[group].add(n)
        true[right].add(n)
    wanted = {frozenset(lines) for lines in true.values()}
    exact = [lines for lines in mine.values() if frozenset(lines) in wanted]
    precision, recall = len(exact) / len(mine), len(exact) / len(wanted)
    f1 = 2 * precision * recall / (precision + recall) if exact else 0.0
    return {"ga": sum(map(len, exact)) / len(groups), "fga": f1, "templates": len(mine), "true_templates": len(wanted)}


class RealSet:
    """One set: the messages found in its raw lines, the messages as labelled, the true templates."""

    def __init__(self, folder: Path) -> None:
        self.name = folder.name
        [log] = folder.glob("*.log")
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
        with log.with_name(log.name + "_structured.csv").open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.found = [message(line.rstrip("\r")) for line in lines]
        self.labelled = [row["Content"] for row in rows]
        self.truth = [row["EventTemplate"] for row in rows]


def accuracy(messages: list[str], truth: list[str], **evidence: int) -> dict[str, float]:
    from enlist.tools.logs.templates.clusters import Evidence
    from enlist.tools.logs.templates.miner import Miner

    miner = Miner(evidence=Evidence(**evidence))
    return scored([miner.template_of(shape) for shape in miner.add(messages)], truth)


def held_out(sets: list[RealSet]) -> dict[str, dict[str, Any]]:
    """Each set with the numbers of evidence that are best on the others."""
    choices = [dict(zip(GRID, values, strict=True)) for values in itertools.product(*GRID.values())]
    results = [{s.name: accuracy(s.found, s.truth, **choice) for s in sets} for choice in choices]
    out = {}
    for left in sets:
        def others(n: int, left: str = left.name) -> float:
            return sum(r["ga"] + r["fga"] for name, r in results[n].items() if name != left)

        best = max(range(len(choices)), key=others)
        out[left.name] = {**results[best][left.name], "chosen": choices[best]}
    return out


def varied(messages: list[str], count: int, seed: int = 7) -> list[str]:
    """Distinct lines: those given, over and over, each time with other numbers of about as many digits."""
    chance = random.Random(seed)
    number = re.compile(r"\d+")
    out: dict[str, None] = {}
    for attempt, text in enumerate(itertools.cycle(messages)):
        out[number.sub(lambda found: str(chance.randrange(10 ** min(len(found[0]) + 1, 12))), text)] = None
        if len(out) == count or attempt > 20 * count:
            return list(out)
    return list(out)


def hexadecimal(count: int, seed: int = 2) -> list[str]:
    chance = random.Random(seed)
    return [f"request {chance.getrandbits(128):032x} from 10.0.{chance.randrange(256)}.{chance.randrange(256)} took "
            f"{chance.randrange(9999)} ms path /api/v1/items status {chance.choice((200, 404, 500))}"
            for _ in range(count)]


def wordy(count: int, seed: int = 3) -> list[str]:
    """The worst for a miner of shapes: a word in each line that was never seen."""
    chance = random.Random(seed)
    return [f"session of {''.join(chance.choices('ghijklmnopqrst', k=8))} on 10.0.0.{chance.randrange(256)} lasted "
            f"{chance.randrange(9999)} s and was closed by the server" for _ in range(count)]


def ours(lines: list[str]) -> dict[str, Any]:
    from enlist.tools.logs.templates.miner import Miner

    miner = Miner()
    begun = time.process_time()
    for at in range(0, len(lines), BATCH):
        miner.add(lines[at : at + BATCH])
    miner.fit()
    return {"seconds": time.process_time() - begun, "templates": len(miner.counts())}


def drain(lines: list[str]) -> dict[str, Any]:
    from drain3 import TemplateMiner  # type: ignore[import-not-found]
    from drain3.masking import MaskingInstruction  # type: ignore[import-not-found]
    from drain3.template_miner_config import TemplateMinerConfig  # type: ignore[import-not-found]

    config = TemplateMinerConfig()
    begin, end = r"((?<=[^A-Za-z0-9])|^)", r"((?=[^A-Za-z0-9])|$)"
    config.masking_instructions = [MaskingInstruction(f"{begin}({pattern}){end}", name) for pattern, name in (
        (r"blk_-?\d+", "BLK"), (r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}", "IP"),
        (r"0x[a-f0-9A-F]+|[a-f0-9]{16,}", "HEX"), (r"[\-\+]?\d+", "NUM"))]
    miner = TemplateMiner(config=config)
    begun = time.process_time()
    groups = [miner.add_log_message(line)["cluster_id"] for line in lines]
    return {"seconds": time.process_time() - begun, "templates": len(miner.drain.clusters),
            "groups": groups if len(lines) <= 5_000 else None}


def apart(python: str, miner: str, lines: list[str]) -> dict[str, Any]:
    """One run in a process of its own, on one core."""
    done = subprocess.run([python, __file__, "--miner", miner], input=json.dumps(lines), text=True, check=True,
                          stdout=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"})
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def speed(python: str | None, lines: list[str]) -> dict[str, Any]:
    miners = {"ours": sys.executable} | ({"drain3": python} if python else {})
    runs: dict[str, list[dict[str, Any]]] = {miner: [] for miner in miners}
    for _ in range(RUNS):
        for miner, interpreter in miners.items():
            runs[miner].append(apart(interpreter, miner, lines))
    out: dict[str, Any] = {"lines": len(lines)}
    for miner, results in runs.items():
        out[miner] = {"us_per_line": 1e6 * statistics.median(r["seconds"] for r in results) / len(lines),
                      "templates": results[0]["templates"]}
    if python:
        out["ratio"] = out["drain3"]["us_per_line"] / out["ours"]["us_per_line"]
    return out


def say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a folder of labelled sets")
    parser.add_argument("--drain3", help="a Python with Drain3")
    parser.add_argument("--lines", type=int, default=LINES)
    parser.add_argument("--out", type=Path, help="a file for the JSON")
    parser.add_argument("--miner", choices=("ours", "drain3"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.miner:
        print(json.dumps({"ours": ours, "drain3": drain}[given.miner](json.load(sys.stdin))))
        return
    sets = [RealSet(folder) for folder in sorted(given.data.iterdir()) if folder.is_dir()] if given.data else []
    whole: dict[str, Any] = {"benchmark": "logs_templates", "accuracy": {}, "speed": {}}
    if sets:
        apart_from = held_out(sets)
        for s in sets:
            raw, labelled = accuracy(s.found, s.truth), accuracy(s.labelled, s.truth)
            whole["accuracy"][s.name] = {"raw": raw, "labelled": labelled, "held_out": apart_from[s.name]}
            if given.drain3:
                groups = apart(given.drain3, "drain3", s.labelled)["groups"]
                whole["accuracy"][s.name]["drain3_labelled"] = scored(groups, s.truth)
            say(f"{s.name}: GA {raw['ga']:.3f} FGA {raw['fga']:.3f} from the raw log; "
                f"{labelled['ga']:.3f} {labelled['fga']:.3f} from labelled content; "
                f"{apart_from[s.name]['ga']:.3f} {apart_from[s.name]['fga']:.3f} with evidence chosen on the others")
        for way in whole["accuracy"][sets[0].name]:
            whole["accuracy"].setdefault("mean", {})[way] = {
                what: statistics.mean(whole["accuracy"][s.name][way][what] for s in sets) for what in ("ga", "fga")}
        say(f"mean: {whole['accuracy']['mean']}")
    inputs = {s.name: varied(s.labelled, given.lines) for s in sets} | {
        "a hexadecimal id": hexadecimal(given.lines), "a new word": wordy(given.lines)}
    for name, lines in inputs.items():
        whole["speed"][name] = found = speed(given.drain3, lines)
        say(f"{name}: {found}")
    text = json.dumps(whole)
    if given.out:
        temporary = given.out.with_name(f".{given.out.name}-{os.getpid()}")
        temporary.write_text(text + "\n")
        temporary.replace(given.out)
    print(text)


if __name__ == "__main__":
    main()
