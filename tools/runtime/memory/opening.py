"""Opening a store by its locator: one string that any process of a run can be given."""

import re
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory.artifact_place import keeping_at
from enlist.tools.runtime.memory.keeping import ArtifactKeeping
from enlist.tools.runtime.memory.protocol import Memory
from enlist.tools.runtime.memory.sqlite import SqliteMemory

FORMS = ("sqlite:///absolute/path/store.db[?artifacts=/a/folder]",
         "postgresql://user@host/database?artifacts=/a/shared/folder (or s3%3A%2F%2Fbucket%2Fprefix)",
         "actor:NAME?node=...&path=...&artifacts=...")


def open_memory(locator: str) -> Memory:
    """The store that `locator` names (see `FORMS`); `bad_input` for any other string, and the store's own faults."""
    try:
        parts = urlsplit(locator)
    except ValueError:
        raise _unknown(locator) from None
    options = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    place = options.get("artifacts")
    if parts.scheme == "sqlite" and not parts.netloc and len(parts.path) > 1 and options.keys() <= {"artifacts"}:
        return SqliteMemory(Path(unquote(parts.path)), None if place is None else _folder(place))
    if parts.scheme in ("postgresql", "postgres"):
        from enlist.tools.runtime.memory.postgres import PostgresMemory

        kept = "&".join(item for item in parts.query.split("&") if item and not item.startswith("artifacts="))
        return PostgresMemory(parts._replace(query=kept).geturl(), place)
    if parts.scheme == "actor" and {"node", "path", "artifacts"} <= options.keys():
        from enlist.tools.runtime.memory.actor import ActorMemory

        return ActorMemory(Path(options["path"]), Path(options["artifacts"]), node=options["node"])
    raise _unknown(locator)


def _folder(place: str) -> Path:
    keeping = keeping_at(place)
    if not isinstance(keeping, ArtifactKeeping) or keeping.root is None:
        raise EnlistError("bad_input", "a store in one SQLite file keeps its artifacts in a folder", given=place,
                          allowed="a folder of this machine",
                          fix="leave ENLIST_ARTIFACTS away, or keep the store in Postgres with ENLIST_MEMORY")
    return keeping.root


def _unknown(locator: str) -> EnlistError:
    shown = re.sub("://[^/]*@", "://...@", locator)  # a password may stand there
    return EnlistError("bad_input", "no such kind of store", given=repr(shown), allowed=" | ".join(FORMS),
                       fix="give a locator of one of these forms")
