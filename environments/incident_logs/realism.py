"""Do generated streams look like real ones? The same statistics of both, side by side.

Slope of template counts over their rank (Zipf), new templates over time, dispersion of arrivals (Fano factor), mix of
levels, tokens per line, entropy of parameters, lag between services, repeated lines, compression. Templates are lines
with numbers, hexadecimal words and paths masked, the same for both sides.

`python -m enlist.environments.incident_logs.realism FOLDER --out FILE` reads every `*.log` below FOLDER as real.
"""

import argparse
import gzip
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from math import log, log2
from pathlib import Path
from statistics import mean, median, pvariance

from enlist.environments.incident_logs import plain
from enlist.environments.incident_logs.catalog import healthy, plots
from enlist.environments.incident_logs.streams import stream

_MASK = re.compile(r"0x[0-9a-fA-F]+|\b[0-9a-f]{8,}\b|(?<![\w])/[\w./-]+|\d+(?:\.\d+)*")
_ERROR = re.compile(r"\b(error|fatal|critical|crit|severe|failed|failure)\b", re.I)
_WARNING = re.compile(r"\b(warn|warning)\b", re.I)
_TRACE = re.compile(r"\b[0-9a-f]{16}\b")
_WINDOWS = 200
_FORMS = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d"), lambda t: datetime.fromisoformat(t)),
    (re.compile(r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?: \d{4})?"), lambda t: datetime.strptime(
        t if len(t) > 15 else f"{t} 2000", "%b %d %H:%M:%S %Y")),
    (re.compile(r"\d\d/[A-Z][a-z]{2}/\d{4}:\d\d:\d\d:\d\d"), lambda t: datetime.strptime(t, "%d/%b/%Y:%H:%M:%S")),
    (re.compile(r"(?<=\[)\d\d\.\d\d \d\d:\d\d:\d\d"), lambda t: datetime.strptime(f"2000.{t}", "%Y.%m.%d %H:%M:%S")),
    (re.compile(r"(?<=^[DIWEF])\d{4} \d\d:\d\d:\d\d"), lambda t: datetime.strptime(f"2000{t}", "%Y%m%d %H:%M:%S")),
    (re.compile(r"\b1\d{9}(?=\d{3} |\b)"), lambda t: datetime.fromtimestamp(int(t), UTC)))


LEGEND = """\
Each row is one program's log. `zipf`: minus the slope of log count over log rank of templates; `late`: share of
templates that first occur in the second half; `fano`: variance over mean of lines in 200 windows; `error`, `warning`:
share of lines with such a word; `tokens`: median per line; `entropy`: mean bits per parameter of templates with 20
lines; `repeated`: share of lines that are the same but for their time; `packed`: bytes over gzipped bytes."""


@dataclass(frozen=True)
class Statistics:
    """What is compared, by the names of `LEGEND`; None where it cannot be told."""

    lines: int
    templates: int
    zipf: float
    late: float
    fano: float | None
    error: float
    warning: float
    tokens: float
    entropy: float | None
    repeated: float
    packed: float


def statistics(lines: Sequence[str]) -> Statistics:
    """The statistics of lines of one program."""
    bare = [_bare(line) for line in lines]
    shapes = [_MASK.sub("*", line) for line in bare]
    counts = Counter(shapes)
    first = {shape: place for place, shape in reversed(list(enumerate(shapes)))}
    text = "\n".join(lines).encode()
    return Statistics(
        len(lines), len(counts), zipf(sorted(counts.values(), reverse=True)),
        sum(place * 2 >= len(lines) for place in first.values()) / len(first), fano(_times(lines)),
        _share(_ERROR, lines), _share(_WARNING, lines),
        median(len(line.split()) for line in bare), _entropy(bare, shapes, counts),
        1 - len(set(bare)) / len(bare), len(text) / len(gzip.compress(text, 6)))


def zipf(counts: Sequence[int]) -> float:
    """Minus the least-squares slope of log count over log rank; `counts` falls."""
    if len(counts) < 2:
        return 0.0
    x, y = [log(rank) for rank in range(1, len(counts) + 1)], [log(count) for count in counts]
    middle, height = mean(x), mean(y)
    return -sum((a - middle) * (b - height) for a, b in zip(x, y, strict=True)) / sum((a - middle) ** 2 for a in x)


def fano(times: Sequence[float]) -> float | None:
    """Variance over mean of the number of times in each of 200 windows: 1 for a Poisson process."""
    if len(times) < 2 or max(times) <= min(times):
        return None
    low, width = min(times), (max(times) - min(times)) / _WINDOWS
    counts = Counter(min(_WINDOWS - 1, int((at - low) / width)) for at in times)
    return pvariance([counts[i] for i in range(_WINDOWS)]) / (len(times) / _WINDOWS)


def entropy(values: Sequence[str]) -> float:
    """Bits of the distribution of values."""
    whole = len(values)
    return -sum(n / whole * log2(n / whole) for n in Counter(values).values()) + 0.0


def lags(files: Mapping[str, str]) -> list[float]:
    """Seconds between the first lines of one trace id in different services."""
    seen: dict[str, dict[str, float]] = defaultdict(dict)
    for line in plain.lines({name: text.encode() for name, text in files.items()}):
        if trace := _TRACE.search(line.text):
            seen[trace[0]].setdefault(line.service, line.at)
    return [max(by.values()) - min(by.values()) for by in seen.values() if len(by) > 1]


def _share(pattern: re.Pattern[str], lines: Sequence[str]) -> float:
    return sum(bool(pattern.search(line)) for line in lines) / len(lines)


def _bare(line: str) -> str:
    """The line without its time."""
    for pattern, _ in _FORMS:
        line = pattern.sub("", line, count=1)
    return line


def _entropy(bare: Sequence[str], shapes: Sequence[str], counts: Counter[str]) -> float | None:
    slots: dict[tuple[str, int], list[str]] = defaultdict(list)
    for line, shape in zip(bare, shapes, strict=True):
        if counts[shape] >= 20:
            for place, value in enumerate(_MASK.findall(line)):
                slots[shape, place].append(value)
    return mean(entropy(values) for values in slots.values()) if slots else None


def _time(line: str) -> float | None:
    for pattern, read in _FORMS:
        found = pattern.search(line)
        if found:
            try:
                when = read(found[0])
            except ValueError:
                continue
            return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    return None


def _times(lines: Sequence[str]) -> list[float]:
    return [at for line in lines if (at := _time(line)) is not None]


def report(real: Mapping[str, Sequence[str]]) -> str:
    """The table as Markdown: each real set, then generated files (median, and where the middle eight in ten lie)."""
    made = [plot for plot in plots(0, 1, 12_000)] + healthy(0, 5, 12_000)
    generated, gaps = [], list[float]()
    for plot in made:
        files = stream(plot).files
        gaps += lags(files)
        generated += [statistics(lines) for text in files.values() if len(lines := text.split("\n")[:-1]) >= 400]
    rows = [(name, statistics(lines)) for name, lines in real.items()]
    names = list(Statistics.__dataclass_fields__)
    table = ["| | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    table += [f"| {name} | " + " | ".join(_told(getattr(one, n)) for n in names) + " |" for name, one in rows]
    columns = [sorted(v for one in generated if (v := getattr(one, n)) is not None) for n in names]
    for label, share in (("generated, median", 0.5), ("lowest tenth", 0.1), ("highest tenth", 0.9)):
        table.append(f"| {label} | " + " | ".join(_told(c[int(share * (len(c) - 1))]) for c in columns) + " |")
    gaps.sort()
    tail = f"Lag between services on one trace id, {len(gaps)} traces: median {median(gaps) * 1e3:.0f} ms, " \
           f"95th percentile {gaps[int(0.95 * len(gaps))] * 1e3:.0f} ms."
    size = f"{len(generated)} files of {len(made)} streams with at least 400 lines each."
    return "\n".join([LEGEND, "", *table, "", size, "", tail])


def _told(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:.0f}" if abs(value) >= 20 or isinstance(value, int) else f"{value:.2f}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the report, or print it."""
    parser = argparse.ArgumentParser(prog="realism", description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args(arguments)
    real = {path.stem: [line for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if line]
            for path in sorted(given.folder.rglob("*.log"))}
    text = report(real)
    if given.out is None:
        print(text)
    else:
        part = given.out.with_name(f"{given.out.name}.part")
        part.write_text(f"# Realism of generated incident logs\n\n{text}\n", encoding="utf-8")
        part.replace(given.out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
