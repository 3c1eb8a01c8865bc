"""A new version is faulty: it starts quietly and well, then a path of it fails, and those who call it are loud."""

from random import Random

from enlist.environments.incident_logs.model import Incident, System
from enlist.environments.incident_logs.routine import later_version, rollout
from enlist.environments.incident_logs.telling import Story, utc


def incident(system: System, rng: Random, start: float, span: float) -> Incident:
    """Rollout, first failures inside the new version, callers get errors, rollback."""
    component = system.pick(rng, "app", "auth", "worker")
    story = Story(system, rng, start, span, "bad_deploy", component)
    old, new = component.version, later_version(rng, component.version)
    control = system.pick(rng, "control")
    lines = rollout(system, rng, component, story.at, new)
    story.add(
        "trigger",
        component,
        story.at,
        f"At {utc(story.at)} {component.name} went from {old} to {new}.",
        emits=lines,
        decisive=True,
    )
    fails = story.after(lines[-1].at, 25, 200)
    mended = story.after(fails, 700, 1500)
    broken = story.flood(
        component,
        fails,
        mended,
        "warn",
        (
            "request {id} hit a null field in {new} handler for {path}",
            "unhandled case in handler for {path}",
            "cannot read property of undefined record {num}",
        ),
        (
            "{path}: handler of {new} met an empty record",
            "no branch for record {num} in this handler",
            "record {num} has a shape that {new} does not know",
        ),
        per_s=0.06,
        most=50,
        fault="NullRecord",
        new=new,
    )
    symptom = story.add(
        "first_symptom",
        component,
        fails,
        f"From {utc(fails)} {component.name} {new} fails in its own code on some requests.",
        floods=(broken,),
        decisive=True,
    )
    last = story.spread(fails, mended, "errors", failing=0.35, symptom=symptom)
    found = story.after(last, 60, 240)
    story.detect(found)
    undone = story.after(mended, -120, -60)
    back = story.say(
        ("rolling {name} back to {old}", "desired version of {name} set to {old} again"),
        ("{name} returns to {old}", "{old} of {name} is wanted again"),
        name=component.name,
        old=old,
    )
    story.mitigate(
        control,
        undone,
        f"At {utc(undone)} {component.name} was rolled back to {old}.",
        story.line(control, undone, "info", back),
    )
    story.recover(
        mended,
        ("version {old} ready, {name} serving",),
        ("{old} is up again and serves {name}",),
        old=old,
        name=component.name,
    )
    story.entities += [old, new]
    return story.incident()
