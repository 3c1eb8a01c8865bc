"""Something that others depend on goes away: a partner's interface, or a host under a service of our own."""

from random import Random

from enlist.environments.incident_logs.model import Effect, Incident, Service, System
from enlist.environments.incident_logs.telling import Mode, Story, utc


def incident(system: System, rng: Random, start: float, span: float) -> Incident:
    """The partner's interface fails, or a storage, queue or cache host is lost; callers fail until it is back."""
    if rng.random() < 0.5:
        return _partner(system, rng, start, span)
    return _host(system, rng, start, span)


def _partner(system: System, rng: Random, start: float, span: float) -> Incident:
    component = system.pick(rng, "external")
    story = Story(system, rng, start, span, "dependency_outage", component)
    caller = system.callers(component.name)[0]
    closed = story.say(
        ("{peer} closed {n} pooled connections, reopening", "stream to {peer} ended by remote side"),
        ("{peer} let go of {n} connections", "far side ended the stream to {peer}"),
        peer=component.name,
        n=3 + int(rng.random() * 12),
    )
    story.add(
        "trigger",
        component,
        story.at,
        f"At {utc(story.at)} {component.name} closed its connections to {caller.name}.",
        emits=(story.line(caller, story.at, "info", closed),),
        decisive=True,
    )
    fails = story.after(story.at, 10, 60)
    mended = story.after(fails, 900, 1700)
    probe = story.flood(
        caller,
        fails,
        mended,
        "warn",
        (
            "{peer} answered 503 with maintenance page, {bytes} bytes",
            "breaker for {peer} open, {n} calls held back",
            "no route beyond edge of {peer}, attempt {try}",
        ),
        (
            "{peer} shows its maintenance page ({bytes} bytes)",
            "holding back {n} calls meant for {peer}",
            "edge of {peer} leads nowhere, attempt {try}",
        ),
        per_s=0.07,
        most=60,
        peer=component.name,
    )
    story.add(
        "first_symptom",
        caller,
        fails,
        f"From {utc(fails)} {component.name} does not serve the calls of {caller.name}.",
        floods=(probe,),
        decisive=True,
    )
    return _ended(
        story,
        fails,
        mended,
        "errors",
        caller,
        (("{peer} answers again, breaker closed",), ("breaker shut, {peer} is there",)),
    )


def _host(system: System, rng: Random, start: float, span: float) -> Incident:
    component = system.pick(rng, "storage", "queue", "cache")
    story = Story(system, rng, start, span, "dependency_outage", component)
    host, control = component.hosts[0], system.pick(rng, "control")
    gone = story.say(
        ("node {host} not ready: last report {n} s ago", "lease of node {host} ran out"),
        ("nothing heard of {host} for {n} s", "{host} let its lease run out"),
        host=host,
        n=40 + int(rng.random() * 30),
    )
    bye = story.say(
        ("received signal 15, closing listeners", "power event, going down in {n} s"),
        ("told to stop, listeners closed", "losing power, {n} s left"),
        n=5 + int(rng.random() * 9),
    )
    noticed = story.after(story.at, 15, 50)
    story.add(
        "trigger",
        component,
        story.at,
        f"At {utc(story.at)} {component.name} on {host} went down.",
        emits=(story.line(component, story.at, "info", bye),),
        decisive=True,
    )
    mended = story.after(noticed, 800, 1600)
    story.add(
        "first_symptom",
        component,
        noticed,
        f"At {utc(noticed)} {control.name} missed {host} of {component.name}.",
        emits=(story.line(control, noticed, "info", gone),),
        decisive=True,
    )
    story.effects.append(Effect(component.name, story.at + 1, mended, rate=0.0))
    return _ended(
        story,
        noticed,
        mended,
        "refused",
        control,
        (("node {host} ready, {name} placed",), ("{host} reports again and carries {name}",)),
    )


def _ended(
    story: Story,
    fails: float,
    mended: float,
    mode: Mode,
    teller: Service,
    back: tuple[tuple[str, ...], tuple[str, ...]],
) -> Incident:
    """What both kinds have in common from the callers on; `teller` says that it is over."""
    component = story.component
    last = story.spread(fails, mended, mode, failing=0.5)
    story.detect(story.after(last, 60, 260))
    host = component.hosts[0]
    done = story.after(mended, 2, 15)
    story.mitigate(
        teller,
        done,
        f"At {utc(done)} {component.name} was there again.",
        story.line(teller, done, "info", story.say(*back, peer=component.name, host=host, name=component.name)),
    )
    story.recover(story.after(done, 5, 20), ("listening, all parts loaded",), ("listeners open, everything loaded",))
    story.entities += [component.name] if not component.logs else [host]
    return story.incident()
