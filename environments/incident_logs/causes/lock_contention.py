"""A long transaction holds what everybody needs: sessions line up behind it and the pools of the callers run dry."""

from random import Random

from enlist.environments.incident_logs.model import Incident, System
from enlist.environments.incident_logs.telling import Story, utc
from enlist.environments.incident_logs.words import SECOND


def incident(system: System, rng: Random, start: float, span: float) -> Incident:
    """A migration or job takes a table, sessions wait, callers time out, the session is ended."""
    component = system.pick(rng, "db")
    story = Story(system, rng, start, span, "lock_contention", component)
    table, session = f"{SECOND[int(rng.random() * len(SECOND))]}s", 1000 + int(rng.random() * 30000)
    owner = system.pick(rng, "control", "worker")
    job = story.say(
        ("job {table}-backfill started", "migration of {table} step 3 begins"),
        ("backfill of {table} is on its way", "step 3 for {table}"),
        table=table,
    )
    taken = story.after(story.at, 2, 12)
    opened = story.say(
        ("session {session} began: ALTER TABLE {table} ADD COLUMN", "session {session} began: UPDATE {table}"),
        ("{session} opens with UPDATE {table}", "{session} alters {table}"),
        table=table,
        session=session,
    )
    story.add(
        "trigger",
        component,
        story.at,
        f"At {utc(story.at)} {owner.name} began work on {table} in session {session} of {component.name}.",
        decisive=True,
        emits=(story.line(owner, story.at, "info", job), story.line(component, taken, "info", opened)),
    )
    waits = story.after(taken, 20, 150)
    mended = story.after(waits, 700, 1500)
    queue = story.flood(
        component,
        waits,
        mended,
        "info",
        (
            "process {num} still waiting for {table} after {ms}00 ms, holder {session}",
            "process {num} acquired {table} after {ms}000 ms",
            "wait queue on {table}: {n} processes behind {session}",
        ),
        (
            "{num} stands behind {session} since {ms}00 ms ({table})",
            "{num} got {table} only after {ms}000 ms",
            "{n} in line for {table}, first is {session}",
        ),
        per_s=0.08,
        most=70,
        ramp=True,
        table=table,
        session=session,
    )
    symptom = story.add(
        "first_symptom",
        component,
        waits,
        f"From {utc(waits)} sessions of {component.name} wait behind session {session} for {table}.",
        floods=(queue,),
        decisive=True,
    )
    last = story.spread(waits, mended, "slow", failing=0.35, latency=260.0, symptom=symptom)
    story.detect(story.after(last, 60, 240))
    ended = story.after(mended, -40, -5)
    said = story.say(
        ("terminating session {session} on administrator command", "session {session} ended by operator"),
        ("operator takes {session} out", "{session} was told to go"),
        session=session,
    )
    story.mitigate(
        component,
        ended,
        f"At {utc(ended)} session {session} of {component.name} was ended by hand.",
        story.line(component, ended, "warn", said),
    )
    story.recover(mended, ("{table}: wait queue empty",), ("nobody waits for {table} any more",), table=table)
    story.entities += [table, str(session)]
    return story.incident()
