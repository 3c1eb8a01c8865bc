"""Shapes of systems: which services there are, who depends on whom, how each one writes, and where its clock stands.

A shape is a table of roles and edges. Names come from word lists by a seed of their own, so that the same system can be
had under other names; whether a name ends in a hint of the role is drawn with the system, not with the names.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from enlist.environments.incident_logs.model import Service, System
from enlist.environments.incident_logs.slots import hexadecimal
from enlist.environments.incident_logs.words import FIRST, SECOND
from enlist.tools.runtime.errors import EnlistError

_STYLES: Mapping[str, tuple[str, ...]] = {
    "gateway": ("access", "access", "json"),
    "app": ("java", "json", "logfmt", "python", "cri", "klog"),
    "worker": ("python", "java", "json", "logfmt", "cri"),
    "auth": ("json", "java", "syslog5424", "logfmt"),
    "db": ("bracket", "syslog3164", "epoch", "bracket"),
    "cache": ("epoch", "syslog3164", "bracket"),
    "queue": ("java", "epoch", "syslog5424", "logfmt"),
    "storage": ("syslog3164", "klog", "bracket", "syslog5424"),
    "resolver": ("syslog3164", "logfmt", "epoch"),
    "control": ("logfmt", "json", "syslog5424", "klog"),
    "monitor": ("json", "logfmt", "bracket", "syslog5424"),
    "external": ("json",),
}
_HINTS: Mapping[str, tuple[str, ...]] = {
    "gateway": ("gw", "edge"), "app": ("api", "svc"), "worker": ("worker", "jobs"), "auth": ("auth", "id"),
    "db": ("db", "store"), "cache": ("cache", "kv"), "queue": ("mq", "bus"), "storage": ("blob", "fs"),
    "resolver": ("dns", "resolver"), "control": ("ops", "control"), "monitor": ("mon", "watch"),
    "external": ("partner", "ext")}
_ZONES = (0, 0, 0, 60, 120, -300, -480, 330, 540)


@dataclass(frozen=True)
class Part:
    """One service of a shape: a key within the shape, a role, the keys it depends on, and on how many hosts it runs."""

    key: str
    role: str
    needs: tuple[str, ...] = ()
    hosts: int = 1


def _parts(text: str) -> tuple[Part, ...]:
    """Lines `key role hosts: need need`."""
    parts = []
    for line in text.strip().splitlines():
        head, _, needs = line.partition(":")
        key, role, hosts = head.split()
        parts.append(Part(key, role, tuple(needs.split()), int(hosts)))
    return tuple(parts)


SHAPES: Mapping[str, tuple[Part, ...]] = {
    "web_shop": _parts("""
        gate gateway 2: front buy
        front app 3: login data memo
        buy app 2: login data bus pay
        login auth 1: data memo
        data db 1:
        memo cache 1:
        bus queue 1:
        ship worker 2: bus data
        pay external 1:
        names resolver 1:
        ops control 1:
        eye monitor 1:"""),
    "pipeline": _parts("""
        intake gateway 2: check bus
        check app 2: book memo
        book db 1:
        memo cache 1:
        bus queue 3:
        clean worker 2: bus book feed
        join worker 2: bus lake
        lake storage 2:
        mart db 1: lake
        serve app 2: mart memo
        feed external 1:
        names resolver 1:
        ops control 1:
        eye monitor 1:"""),
    "mesh": _parts("""
        gate gateway 2: one two three
        one app 2: four login
        two app 2: four five
        three app 2: five six
        four app 2: data memo
        five app 3: six store bus
        six app 2: store out
        login auth 2: data
        data db 1:
        store db 1:
        memo cache 2:
        bus queue 1:
        out external 1:
        names resolver 1:
        ops control 1:
        eye monitor 1:"""),
    "batch": _parts("""
        door gateway 1: plan
        plan app 1: book login
        login auth 1: book
        book db 1:
        bus queue 1:
        north worker 4: plan disk bus lab
        south worker 4: plan disk bus
        disk storage 3:
        view app 1: book disk
        lab external 1:
        names resolver 1:
        ops control 1:
        eye monitor 1:"""),
    "telemetry": _parts("""
        east gateway 2: take
        west gateway 2: take
        take app 3: bus roll
        roll auth 1: data
        bus queue 2:
        sum worker 3: bus series memo
        series db 1: disk
        data db 1:
        memo cache 1:
        disk storage 1:
        ask app 2: series memo maps
        maps external 1:
        names resolver 1:
        ops control 1:
        eye monitor 1:"""),
}


def build(shape: str, seed: int, *, names: int | None = None, wording: int = 0) -> System:
    """The system of a shape that a seed gives; `names` is the seed of its names (the same seed if None).

    Raises:
        EnlistError: `not_found` for a shape that there is none of.
    """
    if shape not in SHAPES:
        raise EnlistError("not_found", "there is no such shape of system", given=shape, allowed=", ".join(SHAPES))
    rng, naming = Random(f"system {shape} {seed}"), Random(f"names {shape} {seed if names is None else names}")
    hinted, parts = rng.random() < 0.4, SHAPES[shape]
    called = _names(naming, parts, hinted)
    off = int(rng.random() * len(parts)) if rng.random() < 0.25 else -1
    services = []
    for number, part in enumerate(parts):
        styles = _STYLES[part.role]
        style = styles[int(rng.random() * len(styles))]
        offset = rng.uniform(-0.3, 0.3) if number != off else rng.choice((-1, 1)) * rng.uniform(1.0, 3.0)
        version = f"{1 + int(rng.random() * 6)}.{int(rng.random() * 30)}.{int(rng.random() * 12)}"
        zone = _ZONES[int(rng.random() * len(_ZONES))]
        services.append(Service(
            name=called[part.key], role=part.role, depends_on=tuple(called[key] for key in part.needs), style=style,
            hosts=tuple(_host(naming, called[part.key]) for _ in range(part.hosts)), version=version, zone_min=zone,
            offset_s=round(offset, 3), logs=part.role != "external"))
    return System(shape, tuple(services), wording)


def _names(naming: Random, parts: tuple[Part, ...], hinted: bool) -> dict[str, str]:
    firsts, seconds = naming.sample(FIRST, len(parts)), naming.sample(SECOND, len(parts))
    called = {}
    for part, first, second in zip(parts, firsts, seconds, strict=True):
        hints = _HINTS[part.role]
        hint = hints[int(naming.random() * len(hints))]
        name = f"{first}-{hint}" if hinted else f"{first}-{second}"
        called[part.key] = f"api.{first}-{second}.example" if part.role == "external" else name
    return called


def _host(naming: Random, name: str) -> str:
    return f"{name}-{hexadecimal(naming, 9)}-{hexadecimal(naming, 5)}" if naming.random() < 0.5 else (
        f"{FIRST[int(naming.random() * len(FIRST))]}{1 + int(naming.random() * 60):02d}")
