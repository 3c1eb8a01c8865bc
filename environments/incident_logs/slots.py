"""Slots in phrases: `{ms}`, `{id}`, `{ip}` and their like, filled with values that look measured.

A phrase names what varies in it, a record gets values for it. Numbers that measure something are heavy-tailed
(log-normal), ids are flat, paths and users are Zipf: the entropy of a slot differs as it does in real logs.
"""

import re
from collections.abc import Callable, Mapping
from random import Random

from enlist.environments.incident_logs.words import FIRST, SECOND, VERBS

_SLOT = re.compile(r"\{([a-z_]+)\}")


def zipf(rng: Random, most: int) -> int:
    """A rank from 0 to `most` - 1 with a density that falls as 1/rank."""
    return int((most + 1) ** rng.random()) - 1


def hexadecimal(rng: Random, digits: int) -> str:
    """So many hexadecimal digits."""
    return f"{rng.getrandbits(4 * digits):0{digits}x}"


def address(rng: Random) -> str:
    """An address of a private network."""
    return f"10.{zipf(rng, 12)}.{zipf(rng, 200)}.{2 + int(rng.random() * 250)}"


def path(rng: Random) -> str:
    """A path of a request."""
    rank = zipf(rng, 60)
    base = f"/v{1 + rank % 2}/{FIRST[rank * 3 % len(FIRST)]}s"
    return base if rank % 3 else f"{base}/{int(rng.random() * 90000) + 1000}"


def _log_normal(median: float, spread: float) -> Callable[[Random], str]:
    return lambda rng: str(max(1, int(median * rng.lognormvariate(0.0, spread))))


FILLERS: Mapping[str, Callable[[Random], str]] = {
    "ms": _log_normal(38, 0.9), "n": _log_normal(24, 1.1), "few": lambda rng: str(1 + zipf(rng, 9)),
    "kb": _log_normal(310, 1.3), "mb": _log_normal(190, 0.5), "bytes": _log_normal(5200, 1.4),
    "pct": lambda rng: str(int(rng.betavariate(2, 4) * 88) + 3), "id": lambda rng: hexadecimal(rng, 8),
    "uuid": lambda rng: "-".join(hexadecimal(rng, n) for n in (8, 4, 4, 4, 12)),
    "num": lambda rng: str(100000 + int(rng.random() * 900000)), "seq": lambda rng: str(int(rng.random() * 9e6)),
    "ip": address, "port": lambda rng: str(32768 + int(rng.random() * 28000)), "path": path,
    "user": lambda rng: f"u{10000 + zipf(rng, 4000)}", "part": lambda rng: str(zipf(rng, 24)),
    "thread": lambda rng: str(1 + zipf(rng, 16)), "word": lambda rng: FIRST[zipf(rng, len(FIRST))],
    "noun": lambda rng: SECOND[zipf(rng, len(SECOND))], "verb": lambda rng: VERBS[zipf(rng, len(VERBS))],
    "sec": _log_normal(7, 0.6), "try": lambda rng: str(1 + zipf(rng, 4)),
    "job": lambda rng: f"{FIRST[zipf(rng, 40)]}-{1000 + int(rng.random() * 9000)}",
}


def fill(text: str, rng: Random) -> str:
    """The phrase with a value in each slot; a slot that is not known stays as it is written."""
    if "{" not in text:
        return text
    return _SLOT.sub(lambda m: FILLERS[m[1]](rng) if m[1] in FILLERS else m[0], text)
