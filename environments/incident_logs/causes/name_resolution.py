"""The resolver loses a zone or its forwarders: names stop resolving wherever no answer is cached, here and there at
once."""

from random import Random

from enlist.environments.incident_logs.model import Effect, Incident, System
from enlist.environments.incident_logs.slots import hexadecimal
from enlist.environments.incident_logs.telling import Story, utc


def incident(system: System, rng: Random, start: float, span: float) -> Incident:
    """A zone is loaded, lookups end without an answer, unrelated services fail to find their neighbours."""
    component = system.pick(rng, "resolver")
    story = Story(system, rng, start, span, "name_resolution", component)
    revision, before = 2024000000 + int(rng.random() * 9e6), int(rng.random() * 200) + 300
    loaded = story.say(
        (
            "zone internal serial {revision}: loaded {after} records (had {before})",
            "internal zone refreshed to {revision}, {after} records",
        ),
        (
            "took over serial {revision}, {after} records in zone internal",
            "zone internal is now {revision} with {after} of {before} records",
        ),
        revision=revision,
        before=before,
        after=before // 3,
    )
    story.add(
        "trigger",
        component,
        story.at,
        f"At {utc(story.at)} {component.name} loaded zone serial {revision} with fewer records.",
        emits=(story.line(component, story.at, "info", loaded),),
        decisive=True,
    )
    fails = story.after(story.at, 30, 150)
    mended = story.after(fails, 700, 1500)
    users = [s for s in system.of("app", "worker", "auth") if s.depends_on and s.logs]
    users = users[int(rng.random() * 2) :][:3] or users[:1]
    peers = [system[u.depends_on[int(rng.random() * len(u.depends_on))]] for u in users]
    unanswered = story.flood(
        component,
        fails,
        mended,
        "info",
        (
            "{peer}.internal A for {ip}: no answer, SERVFAIL",
            "{peer}.internal: not in zone {revision}",
            "query {id} {peer}.internal ended empty",
        ),
        (
            "nothing known of {peer}.internal ({ip} asked)",
            "{ip} got SERVFAIL for {peer}.internal",
            "empty reply to {id} on {peer}.internal",
        ),
        per_s=0.07,
        most=60,
        peer=peers[0].name,
        revision=revision,
    )
    story.add(
        "first_symptom",
        component,
        fails,
        f"From {utc(fails)} {component.name} has no answer for names such as {peers[0].name}.",
        floods=(unanswered,),
        decisive=True,
    )
    begins = fails
    for number, (user, peer) in enumerate(zip(users, peers, strict=True)):
        begins = story.after(begins, 5, 40)
        lost = story.flood(
            user,
            begins,
            mended,
            "error",
            (
                "lookup of {peer} failed for {path}",
                "getaddrinfo {peer}: name or service not known",
                "call {id} not sent, {peer} has no address",
            ),
            ("where is {peer}? {path} dropped", "{peer} does not map to any address", "no address of {peer} for {id}"),
            per_s=rng.uniform(0.15, 0.35),
            most=150,
            fault="UnknownHost",
            peer=peer.name,
        )
        fact = story.add(
            "propagation",
            user,
            begins,
            f"From {utc(begins)} {user.name} cannot find {peer.name}.",
            floods=(lost,),
            weight="must" if number < 2 else "should",
        )
        story.effects.append(Effect(user.name, begins, mended, failing=0.35, status=500, facts={user.name: fact}))
    last = story.spread(begins, mended, "errors", failing=0.0, source=users[0], most=2)
    story.detect(story.after(last, 60, 260))
    undone, good = story.after(mended, -80, -20), hexadecimal(rng, 6)
    said = story.say(
        ("zone internal serial {revision}: loaded {before} records from backup {good}",),
        ("backup {good} taken over as serial {revision}, {before} records",),
        revision=revision + 1,
        good=good,
        before=before,
    )
    story.mitigate(
        component,
        undone,
        f"At {utc(undone)} the zone was loaded from backup {good}.",
        story.line(component, undone, "info", said),
    )
    story.recover(mended, ("answers for zone internal complete again",), ("zone internal answers in full",))
    story.entities += [str(revision), good]
    return story.incident()
