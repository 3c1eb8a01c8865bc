"""A short hiccup of a neighbour is over in seconds, but the client repeats every call at once and without end: the
neighbour drowns in repeats."""

from random import Random

from enlist.environments.incident_logs.model import Effect, Incident, System
from enlist.environments.incident_logs.telling import Story, utc


def incident(system: System, rng: Random, start: float, span: float) -> Incident:
    """A hiccup, repeats pile up at the client, the neighbour sheds load, all who use it suffer, repeats are capped."""
    clients = [
        s
        for s in system.of("app", "worker")
        if any(system[n].logs and len(system.callers(n)) > 1 for n in s.depends_on)
    ]
    component = clients[int(rng.random() * len(clients))]
    peers = [system[n] for n in component.depends_on if system[n].logs and len(system.callers(n)) > 1]
    peer = peers[int(rng.random() * len(peers))]
    story = Story(system, rng, start, span, "retry_storm", component)
    hiccup = story.say(
        ("paused {ms} ms for housekeeping", "took {ms} ms to switch segments, back to normal"),
        ("{ms} ms of housekeeping done", "switching took {ms} ms, fine again"),
        ms=4000 + int(rng.random() * 5000),
    )
    story.add(
        "trigger",
        peer,
        story.at,
        f"At {utc(story.at)} {peer.name} stood still for some seconds.",
        emits=(story.line(peer, story.at, "info", hiccup),),
        decisive=True,
    )
    begins = story.after(story.at, 6, 30)
    mended = story.after(begins, 900, 1600)
    repeats = story.flood(
        component,
        begins,
        mended,
        "info",
        (
            "call {id} to {peer} sent again at once, attempt {n}",
            "{n} calls to {peer} in flight, {seq} attempts so far",
            "resubmitting {n} pending calls to {peer} without delay",
        ),
        (
            "{id} goes to {peer} for the {n}th time, no wait",
            "{seq} tries so far, {n} open towards {peer}",
            "{n} open calls handed to {peer} once more",
        ),
        per_s=0.12,
        most=110,
        ramp=True,
        peer=peer.name,
    )
    symptom = story.add(
        "first_symptom",
        component,
        begins,
        f"From {utc(begins)} {component.name} sends its calls to {peer.name} again and again.",
        floods=(repeats,),
        decisive=True,
    )
    drowned = story.after(begins, 15, 60)
    shed = story.flood(
        peer,
        drowned,
        mended,
        "error",
        (
            "accept queue full, {n} connections dropped",
            "overloaded: rejected request {id} from {ip}",
            "{n} requests expired in queue",
        ),
        (
            "{n} connections turned away, no room in the queue",
            "too busy for {id} of {ip}",
            "{n} requests grew stale in line",
        ),
        per_s=0.3,
        most=170,
    )
    drowns = story.add(
        "propagation",
        peer,
        drowned,
        f"From {utc(drowned)} {peer.name} is overloaded by {component.name} and turns requests away.",
        floods=(shed,),
    )
    story.effects.append(Effect(component.name, begins, mended, latency=15.0, facts={component.name: symptom}))
    last = story.spread(drowned, mended, "slow", failing=0.4, latency=180.0, source=peer, most=3, symptom=drowns)
    story.detect(story.after(last, 60, 240))
    capped, control = story.after(mended, -80, -20), system.pick(rng, "control")
    said = story.say(
        ("set attempts of {name} to 2 with backoff", "{name}: pause between attempts raised to 1000 ms"),
        ("{name} may try twice only", "{name} has to wait 1000 ms between attempts"),
        name=component.name,
    )
    story.mitigate(
        control,
        capped,
        f"At {utc(capped)} the attempts of {component.name} were limited.",
        story.line(control, capped, "info", said),
    )
    story.recover(mended, ("no calls to {peer} pending",), ("nothing open towards {peer} any more",), peer=peer.name)
    story.entities += [peer.name]
    return story.incident()
