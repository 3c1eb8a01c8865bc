"""Things that look like a cause and are none, as every real stream has them.

A herring is on a service that the failure does not come from: a deployment shortly before, a burst of harmless errors,
a warning that was there all day, a slow spell that ended by itself. Each says why it is innocent.
"""

from random import Random

from enlist.environments.incident_logs.model import Effect, Emission, Flood, Herring, Service, System
from enlist.environments.incident_logs.routine import later_version, rollout
from enlist.environments.incident_logs.telling import utc


def herrings(system: System, rng: Random, start: float, span: float) -> list[Herring]:
    """One to three herrings on services that leave logs; the caller leaves out those on the component."""
    able = [s for s in system.services if s.logs and s.role not in ("control", "monitor", "resolver")]
    makers = [_deployment, _scanner, _standing, _spell, _job]
    chosen = rng.sample(range(len(makers)), 1 + int(rng.random() * 3))
    hosts = rng.sample(range(len(able)), len(chosen))
    return [makers[kind](system, rng, able[host], start, span) for kind, host in zip(chosen, hosts, strict=True)]


def _deployment(system: System, rng: Random, service: Service, start: float, span: float) -> Herring:
    at, version = start + rng.uniform(0.25, 0.5) * span, later_version(rng, service.version)
    return Herring("herring-deployment", service.name, at, f"{service.name} was rolled out to {version} at {utc(at)}; "
                   "it served well before, during and after.", emits=rollout(system, rng, service, at, version),
                   blames="bad_deploy")


def _scanner(system: System, rng: Random, service: Service, start: float, span: float) -> Herring:
    gate, at = system.pick(rng, "gateway"), start + rng.uniform(0.1, 0.8) * span
    texts = (("no such page {path}.bak requested by {ip}", "forbidden path /admin/{word} asked for by {ip}"),
             ("{ip} looks for {path}.bak", "{ip} tries /admin/{word}"))[system.wording]
    burst = Flood(gate.name, at, at + 0.02 * span, "error", texts, per_s=0.9, most=160)
    return Herring("herring-scanner", gate.name, at, f"From {utc(at)} somebody looked for open doors at {gate.name}; "
                   "all were shut and nothing else changed.", floods=(burst,), blames="quota_exceeded")


def _standing(system: System, rng: Random, service: Service, start: float, span: float) -> Herring:
    first = ("volume /srv/archive at 86 of 100", "certificate of a test listener ends in 21 days")
    second = ("/srv/archive is taken to 86 in 100", "21 days left for the certificate of a test listener")
    texts = second if system.wording else first
    kind = int(rng.random() * 2)
    run = Flood(service.name, start, start + span, "warn", (texts[kind],), per_s=30 / span, most=60)
    return Herring("herring-standing", service.name, start, f"{service.name} gave the same warning all the time, "
                   "before and after.", floods=(run,), blames=("disk_full", "expired_certificate")[kind])


def _spell(system: System, rng: Random, service: Service, start: float, span: float) -> Herring:
    at = start + rng.uniform(0.05, 0.25) * span
    texts = (("paused {ms} ms, {n} operations held", "round trip to peer took {ms}00 ms"),
             ("{n} operations stood still for {ms} ms", "{ms}00 ms to a peer and back"))[system.wording]
    slow = Flood(service.name, at, at + 0.03 * span, "warn", texts, per_s=0.25, most=45)
    return Herring("herring-spell", service.name, at, f"{service.name} was slow for a while from {utc(at)} and "
                   "recovered by itself long before.", floods=(slow,), blames="memory_leak",
                   effects=(Effect(service.name, at, at + 0.03 * span, latency=6.0),))


def _job(system: System, rng: Random, service: Service, start: float, span: float) -> Herring:
    control, at = system.pick(rng, "control"), start + rng.uniform(0.2, 0.7) * span
    number = 10000 + int(rng.random() * 80000)
    said = system.say(rng, (f"job sweep-{number} failed with exit code 3, will run again tonight",
                            f"sweep-{number} ended early: input folder is empty"),
                      (f"sweep-{number} gave up with code 3 until tonight",
                       f"nothing in the input of sweep-{number}, ended"))
    return Herring("herring-job", control.name, at, f"Job sweep-{number} failed at {utc(at)}; nothing depends on it.",
                   emits=(Emission(control.name, at, "error", said),))
