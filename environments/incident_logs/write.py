"""An incident becomes files: the background and what the incident writes, merged slot by slot in order of time.

Memory holds one slot of records, the single lines of the incident and the numbers of tagged lines, so that ten million
lines need no more than ten thousand. The reference comes from the model and from where the tagged records went.
"""

from collections.abc import Iterator
from pathlib import Path
from random import Random

from enlist.environments.incident_logs.files import Files
from enlist.environments.incident_logs.model import Emission, Flood, Incident
from enlist.environments.incident_logs.reference import Control, Reference, derive
from enlist.environments.incident_logs.slots import fill, hexadecimal
from enlist.environments.incident_logs.traffic import Traffic, poisson

SLOTS = 600
"""At least so many slots per stream; more where a slot would hold over 2,000 lines."""
USUAL = 12_000
"""The length of stream that floods are written for."""


def scale(lines: int) -> float:
    """How much denser floods are in a stream of so many lines than in one of the usual length."""
    return min(6.0, max(0.2, lines / USUAL))


def write(incident: Incident, folder: Path, *, start: float, span: float, lines: int,
          control: Control = "none") -> Reference:
    """Write the stream of an incident, about `lines` lines of background and what the incident adds; give its truth.

    Args:
        folder: an empty folder, or one that is to be made.
        start, span: the window, seconds since the epoch and seconds.
    """
    folder.mkdir(parents=True, exist_ok=True)
    dropped = {e.id for e in incident.events if e.decisive} if control == "removed" else set()
    files = Files(incident.system, folder, start, span, incident.seed, shuffled=control == "shuffled")
    try:
        for one in records(incident, start=start, span=span, lines=lines):
            if one.tag not in dropped:
                files.put(one)
        files.close()
    except BaseException:
        files.discard()
        raise
    said = {tag: tuple(texts) for tag, texts in files.said.items()}
    gold = {tag: {name: tuple(numbers) for name, numbers in by_file.items()} for tag, by_file in files.gold.items()}
    return derive(incident, gold, said, files.lines, files.errors, (start, files.last), control)


def records(incident: Incident, *, start: float, span: float, lines: int) -> Iterator[Emission]:
    """All records of a stream in order of true time; those of services that leave no logs are left out."""
    traffic = Traffic(incident.system, incident.seed, start, span, lines, incident.all_effects(), incident.component)
    singles = sorted(incident.lines(), key=lambda one: one.at, reverse=True)
    floods = [(flood, Random(f"flood {incident.seed} {number}")) for number, flood in enumerate(incident.floods())]
    silent = {s.name for s in incident.system.services if not s.logs}
    slots = max(SLOTS, lines // 2000)
    waiting: list[Emission] = []
    for number in range(slots):
        begin, end = start + span * number / slots, start + span * (number + 1) / slots
        waiting += traffic.slot(begin, end)
        for flood, rng in floods:
            if flood.start < end and flood.end > begin:
                waiting += _poured(flood, rng, begin, end, scale(lines))
        while singles and singles[-1].at < end:
            waiting.append(singles.pop())
        waiting.sort(key=lambda one: one.at)
        ready = next((i for i, one in enumerate(waiting) if one.at >= end), len(waiting))
        yield from (one for one in waiting[:ready] if one.service not in silent)
        waiting = waiting[ready:]
    yield from (one for one in sorted(waiting + singles, key=lambda one: one.at) if one.service not in silent)


def _poured(flood: Flood, rng: Random, begin: float, end: float, dense: float) -> list[Emission]:
    """The part of a flood in a slot: its first record stands at its very start."""
    begin, end, length = max(begin, flood.start), min(end, flood.end), flood.end - flood.start
    per_s = min(flood.per_s, flood.most / length) * dense
    if flood.ramp:
        per_s *= 2 * ((begin + end) / 2 - flood.start) / length
    times = [begin + rng.random() * (end - begin) for _ in range(poisson(rng, per_s * (end - begin)))]
    if begin == flood.start:
        times.append(begin)
    poured = []
    for at in times:
        text = fill(flood.texts[int(rng.random() * len(flood.texts))], rng)
        trace = hexadecimal(rng, 16) if flood.traced else ""
        fault = flood.fault if rng.random() < 0.3 else ""
        poured.append(Emission(flood.service, at, flood.level, text, {}, flood.tag, "stderr", trace, fault))
    return poured
