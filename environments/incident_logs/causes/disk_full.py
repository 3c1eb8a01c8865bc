"""Something writes more than is cleaned up until a volume has no room: writes fail one by one, reads go on."""

from random import Random

from enlist.environments.incident_logs.model import Incident, System
from enlist.environments.incident_logs.telling import Story, utc
from enlist.environments.incident_logs.words import FIRST


def incident(system: System, rng: Random, start: float, span: float) -> Incident:
    """Clean-up is switched off or output grows, use climbs, writes fail, callers get errors, room is made."""
    component = system.pick(rng, "db", "queue", "storage")
    story = Story(system, rng, start, span, "disk_full", component)
    volume = f"/data/{FIRST[int(rng.random() * len(FIRST))]}"
    cleanup = story.say(
        (
            "retention run skipped: previous run still marked active",
            "archiving of old segments paused by operator",
            "verbose output enabled for session tracing",
        ),
        (
            "old segments stay for now, archiver is on hold",
            "run of the cleaner left out, marker present",
            "tracing of sessions is on",
        ),
    )
    story.add(
        "trigger",
        component,
        story.at,
        f"At {utc(story.at)} {component.name} stopped making room on {volume} or began to write much more.",
        emits=(story.line(component, story.at, "info", cleanup),),
        decisive=True,
    )
    low = story.after(story.at, 120, 500)
    out = story.after(low, 150, 500)
    mended = story.after(out, 800, 1500)
    used = [
        story.line(
            component,
            low + (out - low) * share / 4,
            "info" if share < 3 else "warn",
            story.say(
                ("{volume}: {left} MB available", "volume {volume} at {used} of 100"),
                ("{left} MB left on {volume}", "{used} in 100 of {volume} taken"),
                volume=volume,
                left=round(3200 * (1 - share / 4.2)),
                used=round(89 + share * 2.6),
            ),
        )
        for share in range(4)
    ]
    story.add(
        "first_symptom",
        component,
        low,
        f"From {utc(low)} room on {volume} of {component.name} runs out.",
        emits=used,
        decisive=True,
    )
    failed = story.flood(
        component,
        out,
        mended,
        "warn",
        (
            "could not extend file {volume}/{seq}: wrote {few} of 8192 bytes",
            "append to {volume}/{seq} rejected by the system",
            "write of {bytes} bytes to {volume}/{seq} failed, code 28",
        ),
        (
            "{volume}/{seq} takes no more bytes",
            "only {few} of 8192 bytes went into {volume}/{seq}",
            "code 28 for {bytes} bytes at {volume}/{seq}",
        ),
        per_s=0.07,
        most=60,
        volume=volume,
    )
    symptom = story.add(
        "propagation",
        component,
        out,
        f"From {utc(out)} {component.name} cannot write to {volume}.",
        floods=(failed,),
        decisive=True,
    )
    last = story.spread(out, mended, "errors", failing=0.45, symptom=symptom)
    story.detect(story.after(last, 60, 240))
    freed = story.after(mended, -80, -20)
    said = story.say(
        ("removed {n} old segments from {volume}", "grew {volume} by {n} GB"),
        ("{volume} is {n} GB larger now", "{n} old segments of {volume} thrown away"),
        n=20 + int(rng.random() * 200),
        volume=volume,
    )
    story.mitigate(
        component, freed, f"At {utc(freed)} room was made on {volume}.", story.line(component, freed, "info", said)
    )
    story.recover(mended, ("writes to {volume} accepted",), ("{volume} takes bytes again",), volume=volume)
    story.entities += [volume]
    return story.incident()
