"""What `enlist doctor` looks at. Nothing heavy is imported: versions are read from the packages' metadata."""

import os
import re
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Literal

from enlist.evals.cli.settings import settings
from enlist.tools.runtime import registry
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory import open_memory

State = Literal["ok", "missing", "broken"]

LEAST_DISK = 1 << 30  # bytes: Ray keeps its session, spilled objects and logs on disk
LEAST_MEMORY = 2 << 30  # bytes: Ray at rest and one torch child with its default limit


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: `missing` is optional and absent, `broken` keeps the main job from running."""

    name: str
    state: State
    found: str
    fix: str = ""

    def document(self) -> dict[str, str]:
        return {"name": self.name, "state": self.state, "found": self.found, "fix": self.fix}


def examine() -> list[Check]:
    """Every check, in the order in which one would mend things."""
    found: list[Check] = []
    for look in (_python, _packages, _extras, _store, _disk, _memory, _cores, _sandbox, _plug_ins, _main_job):
        try:
            found += look()
        except Exception as error:  # a check that cannot be made is a result, not the end of the examination
            sentence = error.sentence() if isinstance(error, EnlistError) else f"{type(error).__name__}: {error}"
            found.append(Check(look.__name__.strip("_").replace("_", " "), "broken", sentence,
                               (error.fix or "") if isinstance(error, EnlistError) else ""))
    return found


def _python() -> Iterator[Check]:
    found = ".".join(map(str, sys.version_info[:3]))
    fits = sys.version_info >= (3, 11)
    yield Check("Python", "ok" if fits else "broken", found, "" if fits else "install Python 3.11 or newer")


def _requirements(extra: str | None) -> Iterator[str]:
    """The names of the distributions that Enlist, or one of its extras, asks for."""
    for line in requires("enlist") or ():
        name, _, marker = line.partition(";")
        wanted = re.search(r"extra\s*==\s*[\"']([^\"']+)", marker)
        if (wanted.group(1) if wanted else None) == extra:
            yield re.split(r"[\s<>=!~\[(]", name.strip(), maxsplit=1)[0]


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _packages() -> Iterator[Check]:
    yield Check("enlist", "ok", version("enlist"))
    for name in _requirements(None):
        found = _installed(name)
        yield Check(name, "ok" if found else "broken", found or "not installed",
                    "" if found else f"pip install {name}")


def _extras() -> Iterator[Check]:
    extras = sorted({found.group(1) for line in requires("enlist") or ()
                     if (found := re.search(r"extra\s*==\s*[\"']([^\"']+)", line))} - {"dev"})
    for extra in extras:
        absent = [name for name in _requirements(extra) if _installed(name) is None]
        yield Check(f"extra {extra}", "missing" if absent else "ok",
                    f"without {', '.join(absent)}" if absent else "installed",
                    f"pip install 'enlist[{extra}]'" if absent else "")


def _store() -> Iterator[Check]:
    config = settings()
    memory = open_memory(config.locator())
    try:
        ref = memory.put_bytes(b"enlist doctor\n", media_type="text/plain", name="doctor.txt")
        memory.open_artifact(ref)
        count = len(memory.runs(1000))
    finally:
        memory.close()
    where = "PostgreSQL" if config["memory"].startswith("postgres") else str(config.home)
    yield Check("store", "ok", f"opens and takes writes ({count} runs): {where}")


def _disk() -> Iterator[Check]:
    for name, path in (("disk of the store", _existing(settings().home)), ("disk of Ray", Path("/tmp"))):
        free = shutil.disk_usage(path).free
        short = free < LEAST_DISK
        yield Check(name, "broken" if short else "ok", f"{free / 1e9:.1f} GB free",
                    f"free at least {LEAST_DISK / 1e9:.1f} GB, or set ENLIST_HOME to another disk" if short else "")


def _existing(path: Path) -> Path:
    while not path.exists():
        path = path.parent
    return path


def _memory() -> Iterator[Check]:
    import psutil

    found = psutil.virtual_memory()
    short = found.available < LEAST_MEMORY
    yield Check("memory", "broken" if short else "ok",
                f"{found.available / 1e9:.1f} GB free of {found.total / 1e9:.1f} GB",
                f"free at least {LEAST_MEMORY / 1e9:.1f} GB" if short else "")


def _cores() -> Iterator[Check]:
    yield Check("cores", "ok", str(len(os.sched_getaffinity(0))))


def _sandbox() -> Iterator[Check]:
    from enlist.tools.runtime.sandbox import LEVELS, best, levels

    reports = levels()
    some = any(report.available for report in reports)
    for report in reports:
        lacks = f"; does not hold {', '.join(report.not_held)}" if report.available and report.not_held else ""
        yield Check(f"sandbox {report.level}", "ok" if report.available else "missing" if some else "broken",
                    ("works" if report.available else report.reason) + lacks,
                    "" if report.available else report.fix)
    chosen = settings()["sandbox"]  # reading the settings sets the variable that `best` obeys
    if chosen:
        try:
            best()
            yield Check("sandbox chosen", "ok", chosen)
        except EnlistError as error:
            known = chosen in LEVELS
            yield Check("sandbox chosen", "broken", f"{chosen!r}: {error.message if known else 'no such level'}",
                        f"set ENLIST_SANDBOX, or sandbox in enlist.toml, to {', '.join(LEVELS)}, or to nothing for "
                        "the best there is" + (f"; or {error.fix}" if known and error.fix else ""))


def _plug_ins() -> Iterator[Check]:
    for group in registry.GROUPS:
        for name, reason in registry.faults(group).items():
            point = registry.entries(group)[name]
            package = point.dist.name if point.dist is not None else point.value
            yield Check(f"{group.removeprefix('enlist.').rstrip('s')} {name}",
                        "broken" if package == "enlist" else "missing", f"does not load: {reason}",
                        f"reinstall or uninstall {package}")


def _main_job() -> Iterator[Check]:
    from enlist.agents.pool import capabilities_served, shipped

    pool = shipped()
    served = capabilities_served(pool)
    writers = bool((pool.duty == "writer").any())
    able = bool(served) and writers
    yield Check("agents", "ok" if able else "broken", f"{len(pool)} for {', '.join(sorted(served)) or 'nothing'}"
                + ("" if writers else ", no writer"), "" if able else "reinstall enlist")


