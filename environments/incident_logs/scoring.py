"""What a summary is worth, from the lines it cites and the truth, without a judge.

Where an incident is: half for the root cause (component, class, trigger), three tenths for the facts whose lines are
cited, a fifth for the time line; times the 20th power of the share of what it names that is in the logs (one invented
name in thirty halves it), halved by each contradiction. A wrong component leaves a twentieth of it; naming the
loudest symptom, or a herring, leaves nothing. Where there is none: all for saying so after reading every line. Where
the decisive lines were taken out: the facts that are left, times how far confidence has dropped.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import combinations
from statistics import median

from enlist.environments.incident_logs.answer import MOST_CLAIMS, MOST_EVENTS, Answer, Claim
from enlist.environments.incident_logs.entities import precision
from enlist.environments.incident_logs.reference import Fact, Reference

WEIGHTS: Mapping[str, float] = {"must": 1.0, "should": 0.5, "nice": 0.25}
ROOT, FACTS, TIMES = 0.5, 0.3, 0.2
COMPONENT, CLASS, TRIGGER = 0.5, 0.3, 0.2
CONTRADICTION, ELSEWHERE, STRICT = 0.5, 0.05, 20
SURE, CALM = 0.9, 0.5
"""Where the decisive lines are missing, confidence up to `CALM` is worth all, from `SURE` on nothing."""
NEAR_S, FAR_S = 30.0, 60.0
"""An event within `NEAR_S` is half right; one further off than `FAR_S` (and 20 tolerances) contradicts the truth."""


@dataclass
class Judged:
    """A value in [0, 1] with its parts, and why it is low."""

    value: float
    parts: dict[str, float] = field(default_factory=dict)
    reason: str = ""


def judge(answer: Answer, reference: Reference, files: Mapping[str, str]) -> Judged:
    """Hold an answer against the truth; `files` is the text of the stream by name of file."""
    held, invented = precision(answer, files, reference.services)
    wrong = contradictions(answer, reference)
    recall, hits = fact_recall(answer, reference)
    parts = {"facts": recall, "entities": held, "quoted": quoted(answer, reference),
             "contradictions": float(len(wrong)),
             "confidence": answer.root_cause.confidence, "herring": float(names_herring(answer, reference))}
    honest = held ** STRICT * CONTRADICTION ** len(wrong)
    why = "; ".join([*wrong[:2], *(["not in the logs: " + ", ".join(invented[:3])] if invented else [])])
    if not reference.incident:
        return _nothing(answer, reference, parts, why)
    if not answer.incident:
        return Judged(0.0, parts, "there was an incident")
    if reference.control == "removed":
        calm = min(1.0, max(0.0, (SURE - answer.root_cause.confidence) / (SURE - CALM)))
        if answer.root_cause.cause in ("unknown", "") and not answer.root_cause.component:
            calm = 1.0  # nothing is named, so there is nothing to be sure of
        return Judged(calm * recall * honest, parts | {"calm": calm}, why or ("" if calm else "sure without evidence"))
    component, cause, trigger = root_cause(answer, reference, hits)
    parts |= {"component": component, "cause": cause, "trigger": trigger, "root_cause": component * cause}
    times = timeline(answer, reference)
    parts |= times
    root = (COMPONENT * component + CLASS * cause * component + TRIGGER * trigger * component) * (
        1.0 if chain_holds(answer) else 0.5)
    value = ROOT * root + FACTS * recall + TIMES * times["timeline"]
    named = _service(answer.root_cause.component, reference)
    if parts["herring"]:
        return Judged(0.0, parts, "a red herring is named as the cause")
    if named and named == reference.loudest:
        return Judged(0.0, parts, "the loudest symptom is named as the cause")
    if not component:
        return Judged(value * ELSEWHERE * honest, parts, "; ".join(filter(None, ("another component", why))))
    return Judged(value * honest, parts, why)


def _nothing(answer: Answer, reference: Reference, parts: dict[str, float], why: str) -> Judged:
    total = sum(reference.lines.values())
    if answer.incident:
        return Judged(0.0, parts | {"false_alarm": 1.0}, "there was no incident")
    if answer.accounting.lines_read != total:
        return Judged(0.0, parts | {"false_alarm": 0.0}, f"nothing found in {answer.accounting.lines_read} of {total} "
                      "lines")
    return Judged(1.0, parts | {"false_alarm": 0.0}, why)


def root_cause(answer: Answer, reference: Reference, hits: Mapping[str, list[Claim]]) -> tuple[float, float, float]:
    """Whether component, class of cause and trigger are right, each 0 or 1.

    The trigger is right where it is put to its service within tolerance, or where its words are those of its lines.
    """
    told, fact = answer.root_cause, reference.fact(reference.trigger)
    component = float(_service(told.component, reference) == reference.component)
    cause = float(told.cause == reference.cause)
    if fact is None:
        return component, cause, 0.0
    by_time = any(m.event == "trigger" and _service(m.service, reference) in _tellers(fact, reference)
                  and off(m.seconds() or 0.0, fact) <= fact.tolerance_s
                  for m in answer.timeline[:MOST_EVENTS])
    by_words = any(said in told.trigger for said in reference.said.get(fact.id, ()))
    by_claim = bool(told.trigger) and any(told.trigger in c.text or c.text in told.trigger
                                          for c in hits.get(fact.id, ()) if c.text)
    return component, cause, float(by_time or by_words or by_claim)


def fact_recall(answer: Answer, reference: Reference) -> tuple[float, dict[str, list[Claim]]]:
    """The weighted share of facts that some claim cites: at least half of the claim's lines are the fact's."""
    gold = {fact.id: {(name, n) for name, numbers in fact.lines.items() for n in numbers}
            for fact in reference.facts if fact.lines}
    hits: dict[str, list[Claim]] = {}
    for claim in answer.claims[:MOST_CLAIMS]:
        cited = {(_file(line.file, reference), line.line) for line in claim.lines}
        for name, lines in gold.items():
            if cited and len(cited & lines) * 2 >= len(cited):
                hits.setdefault(name, []).append(claim)
    whole = sum(WEIGHTS[fact.weight] for fact in reference.facts if fact.lines)
    got = sum(WEIGHTS[fact.weight] for fact in reference.facts if fact.id in hits)
    return (got / whole if whole else 0.0), hits


def timeline(answer: Answer, reference: Reference) -> dict[str, float]:
    """How well events are placed in time: `timeline` in [0, 1], `off_s` the median error of what was matched, `tau`
    Kendall's rank correlation of their order."""
    weight = got = 0.0
    pairs, errors = [], []
    for fact in reference.facts:
        weight += WEIGHTS[fact.weight]
        found = _closest(answer, fact, reference)
        if found is None:
            continue
        error = off(found, fact)
        errors.append(error)
        pairs.append((fact.time_ns / 1e9, found))
        got += WEIGHTS[fact.weight] * (1.0 if error <= fact.tolerance_s else 0.5 if error <= NEAR_S else 0.0)
    tau = kendall(pairs)
    return {"timeline": got / weight * (1 + tau) / 2 if weight else 0.0, "tau": tau,
            **({"off_s": median(errors)} if errors else {})}


def off(at: float, fact: Fact) -> float:
    """Seconds between a time and a fact, 0 within the fact's own records."""
    return max(0.0, fact.time_ns / 1e9 - at, at - fact.until_ns / 1e9)


def kendall(pairs: list[tuple[float, float]]) -> float:
    """Kendall's tau of two orders: the share of pairs in the same order less that in the other; 1 where there is no
    pair."""
    signs = [(a[0] - b[0]) * (a[1] - b[1]) for a, b in combinations(pairs, 2)]
    ordered = [sign for sign in signs if sign]
    return sum(1 if sign > 0 else -1 for sign in ordered) / len(ordered) if ordered else 1.0


def quoted(answer: Answer, reference: Reference) -> float:
    """The share of the reference's entities (versions, settings, hosts) that the answer's words hold; told, not
    weighed."""
    words = " ".join((answer.root_cause.trigger, answer.impact, *(c.text for c in answer.claims[:MOST_CLAIMS]),
                      *(m.claim for m in answer.timeline[:MOST_EVENTS])))
    return sum(e in words for e in reference.entities) / len(reference.entities) if reference.entities else 1.0


def contradictions(answer: Answer, reference: Reference) -> list[str]:
    """What in the answer cannot be true, as sentences."""
    found = []
    for moment in answer.timeline[:MOST_EVENTS]:
        at = moment.seconds()
        if at is None or not reference.start_ns / 1e9 - 300 <= at <= reference.end_ns / 1e9 + 300:
            found.append(f"{moment.time_utc!r} is outside of the stream")
            continue
        where = _service(moment.service, reference)
        alike = [f for f in reference.facts if f.kind == moment.event and f.service == where]
        if alike and all(off(at, f) > max(FAR_S, 20 * f.tolerance_s) for f in alike) and (
                moment.event != "propagation"):
            found.append(f"{moment.event} of {moment.service} at {moment.time_utc}")
    for claim in answer.claims[:MOST_CLAIMS]:
        for line in claim.lines:
            if not 1 <= line.line <= reference.lines.get(_file(line.file, reference), 0):
                found.append(f"there is no line {line.line} in {line.file!r}")
                break
    if not chain_holds(answer):
        found.append("cause and effect are in the wrong order")
    return found


def chain_holds(answer: Answer) -> bool:
    """Whether the earliest trigger, first symptom, propagation and the last recovery follow one another."""
    def times(kind: str) -> list[float]:
        return [at for m in answer.timeline[:MOST_EVENTS] if m.event == kind and (at := m.seconds()) is not None]
    firsts = [min(times(kind)) for kind in ("trigger", "first_symptom", "propagation") if times(kind)]
    if times("recovery"):
        firsts.append(max(times("recovery")))
    return firsts == sorted(firsts)


def names_herring(answer: Answer, reference: Reference) -> bool:
    """Whether a herring is named as the cause: its service with what it suggests, or its words as the trigger."""
    told = answer.root_cause
    named = _service(told.component, reference)
    for herring in reference.red_herrings:
        words = any(said in told.trigger for said in reference.said.get(herring.id, ()) if len(said) > 12)
        blamed = named == herring.service and named != reference.component and (
            told.cause == herring.blames or (bool(told.trigger) and words))
        if (words and answer.incident) or blamed:
            return True
    return False


def _closest(answer: Answer, fact: Fact, reference: Reference) -> float | None:
    tellers = _tellers(fact, reference)
    found = [at for m in answer.timeline[:MOST_EVENTS] if m.event == fact.kind
             and _service(m.service, reference) in tellers and (at := m.seconds()) is not None]
    return min(found, key=lambda at: off(at, fact), default=None)


def _tellers(fact: Fact, reference: Reference) -> set[str]:
    """The service of a fact, and those whose files say it."""
    return {fact.service} | {owner for name in fact.lines if (owner := _owner(name, reference))}


def _owner(file: str, reference: Reference) -> str:
    return max((s for s in reference.services if file.startswith(f"{s}.") or file.startswith(f"{s}-")), key=len,
               default="")


def _service(name: str, reference: Reference) -> str:
    """The service that a name means: itself, or the service of the file that it is the stem of."""
    name = name.strip().lower()
    stem = re.sub(r"(-access|-error)?(\.log)?(\.\d+)?$", "", name)
    return name if name in reference.services else stem


def _file(path: str, reference: Reference) -> str:
    """The file of the stream that a path ends in, or the path itself."""
    base = path.rsplit("/", 1)[-1].rsplit("!", 1)[-1]
    return base if base in reference.lines else path
