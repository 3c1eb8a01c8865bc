"""Everybody comes at the same moment: a cache loses its content, or all clients are told to come back at once, and what
stands behind gets the whole load."""

from random import Random

from enlist.environments.incident_logs.model import Incident, System
from enlist.environments.incident_logs.telling import Story, utc
from enlist.environments.incident_logs.words import OWNERS, SECOND


def incident(system: System, rng: Random, start: float, span: float) -> Incident:
    """The cache is emptied, the same values are computed by many at once, the database behind is swamped."""
    component = system.pick(rng, "cache")
    users = [
        s for s in system.callers(component.name) if any(system[n].role in ("db", "storage") for n in s.depends_on)
    ]
    user = users[int(rng.random() * len(users))]
    behind = next(system[n] for n in user.depends_on if system[n].role in ("db", "storage"))
    story = Story(system, rng, start, span, "thundering_herd", component)
    space, owner, keys = (
        f"{SECOND[int(rng.random() * len(SECOND))]}s",
        OWNERS[int(rng.random() * len(OWNERS))],
        10000 + int(rng.random() * 400000),
    )
    emptied = story.say(
        (
            "flushed {keys} keys of {space} on request of {owner}",
            "generation of {space} advanced, {keys} keys invalid",
            "restarted with empty set, {keys} keys not restored",
        ),
        (
            "{owner} emptied {space} ({keys} keys)",
            "{keys} keys of {space} are void from now on",
            "started over without the {keys} keys of {space}",
        ),
        keys=keys,
        space=space,
        owner=owner,
    )
    story.add(
        "trigger",
        component,
        story.at,
        f"At {utc(story.at)} {component.name} lost {keys} keys of {space}.",
        emits=(story.line(component, story.at, "info", emptied),),
        decisive=True,
    )
    begins = story.after(story.at, 3, 20)
    mended = story.after(begins, 700, 1400)
    misses = story.flood(
        component,
        begins,
        mended,
        "info",
        (
            "hit rate of {space} {few} of 100 in the last 10 s",
            "{n} misses for the same key {space}:{num} at once",
            "{n} callers fill {space}:{num} in parallel",
        ),
        (
            "{space}: only {few} in 100 found during 10 s",
            "{space}:{num} missed {n} times at one moment",
            "{space}:{num} is being filled by {n} at a time",
        ),
        per_s=0.09,
        most=70,
        space=space,
    )
    story.add(
        "first_symptom",
        component,
        begins,
        f"From {utc(begins)} almost nothing is found in {component.name}.",
        floods=(misses,),
        decisive=True,
    )
    swamped = story.after(begins, 5, 40)
    full = story.flood(
        behind,
        swamped,
        mended,
        "error",
        (
            "remaining slots reserved, connection of {ip} rejected",
            "{n} identical reads of {space} running",
            "statement cancelled after {ms}000 ms: too many active",
        ),
        (
            "no slot for {ip}",
            "{n} times the same read of {space}",
            "gave a statement up after {ms}000 ms, too many at work",
        ),
        per_s=0.25,
        most=160,
        space=space,
    )
    drowns = story.add(
        "propagation",
        behind,
        swamped,
        f"From {utc(swamped)} {behind.name} gets the reads of {space} all at once and turns some away.",
        floods=(full,),
    )
    last = story.spread(swamped, mended, "slow", failing=0.4, latency=220.0, source=behind, most=3, symptom=drowns)
    story.detect(story.after(last, 60, 200))
    eased, control = story.after(mended, -200, -60), system.pick(rng, "control")
    said = story.say(
        ("single fill per key enabled for {space}", "admitting {n} of 100 reads of {space} until warm"),
        ("one filler per key for {space}", "{n} in 100 reads of {space} are let through for now"),
        space=space,
        n=10 + int(rng.random() * 20),
    )
    story.mitigate(
        control, eased, f"At {utc(eased)} reads of {space} were held back.", story.line(control, eased, "info", said)
    )
    story.recover(mended, ("{space} warm, {keys} keys",), ("{keys} keys of {space} are back",), space=space, keys=keys)
    story.entities += [space, str(keys)]
    return story.incident()
