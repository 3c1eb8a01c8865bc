"""Logs end to end, from a file to counts by template and time: ours beside Drain3 in a plain loop; memory; the index.

Speed: process seconds of one core on the same files of distinct lines, runs in turn, medians of five. Ours is
everything before the signals: reading, lines, envelope, time, level, shape, amounts, counts by slice, accounting, and
the templates at the end. Beside it a loop of a few lines reads the file, takes the envelope off by one regular
expression, parses the time, mines by Drain3 with generic masks, extracts parameters and counts by minute; it joins no
records and accounts for nothing. `--drain3` is a Python that has Drain3; `--data` a folder of labelled sets, whose
messages then stand in the files too. `--memory N` writes N lines and says the peak of analysing them. The index is
measured as a first and a second question about one file.
Prints what it measured on standard error and one JSON object on standard output.
"""

import argparse
import json
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

LINES, RUNS = 60_000, 5
LEVELS = ("INFO", "INFO", "INFO", "INFO", "DEBUG", "WARN", "ERROR")
_NUMBER = re.compile(r"\d+")


def messages(kind: str, data: Path | None, count: int) -> Iterator[str]:
    """Distinct messages: of a labelled set with other numbers, or made up."""
    chance = random.Random(5)
    if kind == "hexadecimal":
        for _ in range(count):
            yield (f"request {chance.getrandbits(128):032x} took {chance.randrange(9999)} ms "
                   f"status {chance.choice((200, 500))}")
    elif data is None or kind == "service":
        for i in range(count):
            yield (f"served order {chance.randrange(10**7)} for user {chance.randrange(10**5)} in 7{i % 90} ms",
                   f"connection from 10.0.{chance.randrange(256)}.{chance.randrange(256)} closed",
                   f"cache miss for key item:{chance.randrange(10**6)}",
                   f"retrying call {i} to payments, attempt {chance.randrange(5)}")[chance.randrange(4)]
    else:
        import csv

        [labelled] = (data / kind).glob("*_structured.csv")
        with labelled.open(encoding="utf-8", newline="") as file:
            rows = [row["Content"] for row in csv.DictReader(file)]
        for i in range(count):
            yield _NUMBER.sub(lambda found: str(chance.randrange(10 ** min(len(found[0]) + 1, 12))),
                              rows[i % len(rows)])


def write(path: Path, kind: str, data: Path | None, count: int) -> None:
    chance, at = random.Random(6), datetime(2026, 3, 4, tzinfo=UTC)
    with path.open("w", encoding="utf-8") as file:
        for text in messages(kind, data, count):
            at += timedelta(milliseconds=chance.randrange(40))
            file.write(f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z {chance.choice(LEVELS)} {text}\n")


def ours(path: Path) -> dict[str, Any]:
    from enlist.tools.logs.batch import Accounting
    from enlist.tools.logs.counting import Options, counted
    from enlist.tools.logs.reading import found

    options, account = Options(), Accounting()
    begun = time.process_time()
    made = counted(found([path], account, options.limits), account, options)
    made.miner.fit()
    return {"seconds": time.process_time() - begun, "templates": len(made.miner.counts()), "lines": account.lines_read}


def drain(path: Path) -> dict[str, Any]:
    from drain3 import TemplateMiner  # type: ignore[import-not-found]
    from drain3.masking import MaskingInstruction  # type: ignore[import-not-found]
    from drain3.template_miner_config import TemplateMinerConfig  # type: ignore[import-not-found]

    config = TemplateMinerConfig()
    begin, end = r"((?<=[^A-Za-z0-9])|^)", r"((?=[^A-Za-z0-9])|$)"
    config.masking_instructions = [MaskingInstruction(f"{begin}({pattern}){end}", name) for pattern, name in (
        (r"\d{1,3}\.\d{1,3}\.\d{1,3}\.\d{1,3}", "IP"), (r"0x[a-f0-9A-F]+|[a-f0-9]{16,}", "HEX"),
        (r"[\-\+]?\d+", "NUM"))]
    miner = TemplateMiner(config=config)
    envelope = re.compile(r"(\S+) (\w+) (.*)")
    counts: Counter[tuple[int, str, int]] = Counter()
    lines = 0
    begun = time.process_time()
    with path.open(encoding="utf-8") as file:
        for line in file:
            lines += 1
            match = envelope.match(line)
            if match is None:
                continue
            stamp = datetime.fromisoformat(match[1].replace("Z", "+00:00")).timestamp()
            got = miner.add_log_message(match[3])
            miner.extract_parameters(got["template_mined"], match[3])
            counts[got["cluster_id"], match[2], int(stamp) // 60] += 1
    return {"seconds": time.process_time() - begun, "templates": len(miner.drain.clusters), "lines": lines}


def apart(python: str, what: str, path: Path) -> dict[str, Any]:
    done = subprocess.run([python, __file__, "--one", what, str(path)], text=True, check=True, stdout=subprocess.PIPE,
                          env={**os.environ, "OMP_NUM_THREADS": "1"})
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def speed(python: str | None, path: Path) -> dict[str, Any]:
    peers = {"ours": sys.executable} | ({"drain3": python} if python else {})
    runs: dict[str, list[dict[str, Any]]] = {peer: [] for peer in peers}
    for _ in range(RUNS):
        for peer, interpreter in peers.items():
            runs[peer].append(apart(interpreter, peer, path))
    out: dict[str, Any] = {peer: {"us_per_line": 1e6 * statistics.median(r["seconds"] for r in some) / some[0]["lines"],
                                  "templates": some[0]["templates"]} for peer, some in runs.items()}
    if python:
        out["ratio"] = out["drain3"]["us_per_line"] / out["ours"]["us_per_line"]
    return out


def memory(path: Path) -> dict[str, Any]:
    from enlist.tools.logs.analysis import analyse

    begun = time.process_time()
    made = analyse([path])
    return {"lines": made.account.lines_read, "seconds": time.process_time() - begun,
            "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def twice(path: Path) -> dict[str, Any]:
    from enlist.tools.logs.analysis import analyse
    from enlist.tools.logs.counting import Options
    from enlist.tools.logs.index import answered

    seconds = []
    with tempfile.TemporaryDirectory() as home:
        for _ in range(2):
            begun = time.process_time()
            answered(Path(home), [path], Options(), lambda: analyse([path]))
            seconds.append(time.process_time() - begun)
    return {"first": seconds[0], "second": seconds[1], "ratio": seconds[0] / seconds[1]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a folder of labelled sets")
    parser.add_argument("--drain3", help="a Python with Drain3")
    parser.add_argument("--lines", type=int, default=LINES)
    parser.add_argument("--memory", type=int, default=0, metavar="N")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        works = {"ours": ours, "drain3": drain, "memory": memory, "twice": twice}
        print(json.dumps(works[given.one[0]](Path(given.one[1]))))
        return
    kinds = ["service", "hexadecimal"]
    if given.data:
        kinds += sorted(folder.name for folder in given.data.iterdir() if folder.is_dir())
    whole: dict[str, Any] = {"benchmark": "logs_end_to_end", "speed": {}}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.log"
        for kind in kinds:
            write(path, kind, given.data, given.lines)
            whole["speed"][kind] = speed(given.drain3, path)
            print(kind, whole["speed"][kind], file=sys.stderr, flush=True)
        write(path, "service", None, 5 * given.lines)
        whole["index"] = apart(sys.executable, "twice", path)
        if given.memory:
            write(path, "service", None, given.memory)
            whole["memory"] = apart(sys.executable, "memory", path)
    print(json.dumps(whole))


if __name__ == "__main__":
    main()
