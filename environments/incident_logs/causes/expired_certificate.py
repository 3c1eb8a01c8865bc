"""A certificate reaches its end date because its renewal was put off: the service itself stays up, nobody will talk
to it."""

from random import Random

from enlist.environments.incident_logs.model import Incident, System
from enlist.environments.incident_logs.slots import hexadecimal
from enlist.environments.incident_logs.telling import Story, utc


def incident(system: System, rng: Random, start: float, span: float) -> Incident:
    """Renewal skipped, handshakes break off at the end date, callers cannot connect, a new one is put in place."""
    component = system.pick(rng, "app", "auth", "db", "queue")
    story = Story(system, rng, start, span, "expired_certificate", component)
    serial, fresh, control = hexadecimal(rng, 12), hexadecimal(rng, 12), system.pick(rng, "control")
    end = story.after(story.at, 300, 1200)
    skipped = story.say(
        (
            "renewal of {serial} for {name} postponed: order pending, next try in 24 h",
            "{serial} ({name}) not renewed this run: challenge not ready",
        ),
        (
            "put off {serial} of {name} until tomorrow",
            "{name}: order for {serial} still open, leaving it for the next run",
        ),
        serial=serial,
        name=component.name,
    )
    story.add(
        "trigger",
        control,
        story.at,
        f"At {utc(story.at)} the renewal of certificate {serial} of {component.name} was put off.",
        emits=(story.line(control, story.at, "info", skipped),),
        decisive=True,
    )
    mended = story.after(end, 900, 1700)
    broken = story.flood(
        component,
        end,
        mended,
        "info",
        (
            "handshake with {ip} ended by peer: alert 45",
            "peer {ip} rejected {serial}: outside validity period",
            "TLS session with {ip} not established, remote closed after ServerHello",
        ),
        (
            "{ip} broke off at ServerHello (alert 45)",
            "{ip} does not trust {serial} any more",
            "no session with {ip}: dates of {serial} not accepted",
        ),
        per_s=0.06,
        most=50,
        serial=serial,
    )
    symptom = story.add(
        "first_symptom",
        component,
        end,
        f"From {utc(end)} peers reject the certificate {serial} of {component.name}.",
        floods=(broken,),
        decisive=True,
    )
    last = story.spread(end, mended, "refused", failing=0.55, symptom=symptom)
    story.detect(story.after(last, 40, 200))
    issued = story.after(mended, -100, -30)
    said = story.say(
        ("installed {fresh} for {name}", "{name} now uses {fresh}, valid for 90 days"),
        ("{fresh} given to {name}", "{name}: {fresh} in place for 90 days"),
        fresh=fresh,
        name=component.name,
    )
    story.mitigate(
        control,
        issued,
        f"At {utc(issued)} {component.name} got the certificate {fresh}.",
        story.line(control, issued, "info", said),
    )
    story.recover(
        mended, ("loaded key pair {fresh}, accepting sessions",), ("sessions again, key pair {fresh}",), fresh=fresh
    )
    story.entities += [serial, fresh]
    return story.incident()
