"""Something is kept that should be let go: collections free less each time, pauses grow, the process is killed."""

from random import Random

from enlist.environments.incident_logs.model import Effect, Incident, System
from enlist.environments.incident_logs.telling import Story, utc
from enlist.environments.incident_logs.words import FIRST


def incident(system: System, rng: Random, start: float, span: float) -> Incident:
    """A switch is turned on, use grows, long pauses, the process is killed and starts again, the switch is off."""
    component = system.pick(rng, "app", "worker", "auth")
    story = Story(system, rng, start, span, "memory_leak", component)
    story.at = start + rng.uniform(0.12, 0.25) * span
    switch, limit = (
        f"{FIRST[int(rng.random() * len(FIRST))]}-{FIRST[int(rng.random() * len(FIRST))]}",
        512 * rng.choice((2, 4)),
    )
    control = system.pick(rng, "control")
    on = story.say(
        ("switch {switch} enabled for {name}", "{name}: {switch} on for all users"),
        ("{switch} goes live in {name}", "{name} now has {switch}"),
        switch=switch,
        name=component.name,
    )
    story.add(
        "trigger",
        component,
        story.at,
        f"At {utc(story.at)} {switch} was switched on for {component.name}.",
        emits=(story.line(control, story.at, "info", on),),
        decisive=True,
    )
    grows = story.after(story.at, 240, 700)
    killed = story.after(grows, 1100, 1700)
    levels = []
    for step in range(9):
        held = round(limit * (0.45 + 0.06 * step + rng.uniform(0, 0.01)))
        levels.append(
            story.line(
                component,
                grows + (killed - grows) * step / 9,
                "info",
                story.say(
                    (
                        "full collection freed {freed} MB, {held} of {limit} MB remain",
                        "after collection {held} MB of {limit} MB live",
                    ),
                    ("{held} of {limit} MB survive the collection", "collector got {freed} MB back, {held} MB stay"),
                    freed=max(2, 60 - 7 * step),
                    held=held,
                    limit=limit,
                ),
            )
        )
    story.add(
        "first_symptom",
        component,
        grows,
        f"From {utc(grows)} the live heap of {component.name} grows towards {limit} MB.",
        emits=levels,
        decisive=True,
    )
    slow = grows + (killed - grows) * 0.6
    mended = story.after(killed, 500, 900)
    pauses = story.flood(
        component,
        slow,
        killed,
        "warn",
        ("paused {ms}00 ms to reclaim, {n} requests held", "allocation stalled {ms}0 ms in thread {thread}"),
        ("stood still for {ms}00 ms while reclaiming", "thread {thread} had to wait {ms}0 ms for room"),
        per_s=0.08,
        most=50,
        ramp=True,
    )
    symptom = story.add(
        "propagation",
        component,
        slow,
        f"From {utc(slow)} {component.name} stands still for long pauses.",
        floods=(pauses,),
        decisive=True,
    )
    last = story.spread(slow, mended, "slow", failing=0.25, latency=90.0, symptom=symptom)
    host = component.hosts[0]
    died = story.say(
        ("container of {host} ended with status 137, restarting", "{host}: process gone (signal 9), new one started"),
        ("{host} lost its process, status 137", "signal 9 at {host}, starting over"),
        host=host,
    )
    story.add(
        "propagation",
        component,
        killed,
        f"At {utc(killed)} the process of {component.name} on {host} was killed at its limit.",
        emits=(story.line(control, killed, "warn", died),),
        decisive=True,
    )
    story.effects.append(Effect(component.name, killed, killed + 25, rate=0.0))
    story.detect(story.after(max(last, slow), 90, 400))
    off = story.after(mended, -90, -30)
    said = story.say(
        ("switch {switch} disabled for {name}", "{name}: {switch} off"),
        ("{name} does without {switch} again", "{switch} withdrawn from {name}"),
        switch=switch,
        name=component.name,
    )
    story.mitigate(
        control,
        off,
        f"At {utc(off)} {switch} was switched off for {component.name}.",
        story.line(control, off, "info", said),
    )
    story.recover(
        mended,
        ("restarted, {held} of {limit} MB live",),
        ("fresh start with {held} of {limit} MB",),
        held=round(limit * 0.31),
        limit=limit,
    )
    story.entities += [switch, host, str(limit)]
    return story.incident()
