"""Changes that every system sees every day: new versions, reloaded configuration, restarts, rotated certificates.

Almost all of them are harmless. The causes use the same phrases for the change that is not, so that the words of a
change never tell whether it was the culprit.
"""

from random import Random

from enlist.environments.incident_logs.model import Emission, Service, System
from enlist.environments.incident_logs.slots import hexadecimal
from enlist.environments.incident_logs.words import FIRST, OWNERS


def later_version(rng: Random, version: str) -> str:
    """The version after this one, by a minor or a patch step."""
    major, minor, patch = (int(part) for part in version.split("."))
    return f"{major}.{minor + 1}.0" if rng.random() < 0.4 else f"{major}.{minor}.{patch + 1 + int(rng.random() * 3)}"


def rollout(system: System, rng: Random, service: Service, at: float, version: str) -> tuple[Emission, ...]:
    """The control service sets a version, the service starts with it."""
    control, build = system.pick(rng, "control").name, hexadecimal(rng, 7)
    owner = OWNERS[int(rng.random() * len(OWNERS))]
    said = system.say(rng, (f"rollout of {service.name} to {version} started by {owner}",
                            f"desired version of {service.name} is now {version}, requested by {owner}"),
                      (f"{owner} ships {service.name} {version}", f"{service.name} moves to {version} ({owner})"))
    began = system.say(rng, (f"starting version {version} build {build}", f"version {version} ({build}) is up"),
                       (f"this is {version}, build {build}", f"booted {version} from build {build}"))
    return (Emission(control, at, "info", said), Emission(service.name, at + rng.uniform(3, 9), "info", began))


def reload(system: System, rng: Random, service: Service, at: float, setting: str, before: str,
           after: str) -> tuple[Emission, ...]:
    """The control service pushes a setting, the service reads it."""
    control, revision = system.pick(rng, "control").name, hexadecimal(rng, 8)
    owner = OWNERS[int(rng.random() * len(OWNERS))]
    pushed = system.say(rng, (f"configuration revision {revision} applied to {service.name} by {owner}",
                              f"pushed settings {revision} to {service.name}, author {owner}"),
                        (f"{owner} gave {service.name} the settings {revision}",
                         f"{service.name} gets revision {revision} of {owner}"))
    read = system.say(rng, (f"configuration reloaded: {setting} changed from {before} to {after}",
                            f"setting {setting}={after} (was {before}) in effect"),
                      (f"{setting} is now {after}, not {before} any more", f"new value of {setting}: {after}, old "
                                                                           f"{before}"))
    return (Emission(control, at, "info", pushed), Emission(service.name, at + rng.uniform(0.5, 2.5), "info", read))


SETTINGS = ("pool.max", "timeout.ms", "batch.size", "queue.depth", "threads", "cache.ttl.s", "buffer.kb", "window.s",
            "poll.ms", "limit.per.s", "keepalive.s", "backlog")


def setting(rng: Random) -> tuple[str, str, str]:
    """A setting with a value before and after, of the harmless kind."""
    name = f"{FIRST[int(rng.random() * len(FIRST))]}.{SETTINGS[int(rng.random() * len(SETTINGS))]}"
    before = 10 * (2 + int(rng.random() * 30))
    return name, str(before), str(before + 10 * int(rng.random() * before / 20 + 1))


def restart(system: System, rng: Random, service: Service, at: float) -> tuple[Emission, ...]:
    """A planned restart of one instance."""
    host, seconds = service.hosts[int(rng.random() * len(service.hosts))], 4 + int(rng.random() * 30)
    down = system.say(rng, (f"draining {host} for maintenance", f"{host} leaves rotation for a planned restart"),
                      (f"taking {host} out for upkeep", f"planned restart of {host}"))
    up = system.say(rng, (f"{host} ready after {seconds} s", f"{host} back in rotation"),
                    (f"{host} serves again", f"{host} is back after {seconds} s"))
    return (Emission(service.name, at, "info", down), Emission(service.name, at + rng.uniform(15, 40), "info", up))
