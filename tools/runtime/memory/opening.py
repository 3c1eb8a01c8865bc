"""Opening a store by its locator: one string that any process of a run can be given."""

import re
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory.protocol import Memory
from enlist.tools.runtime.memory.sqlite import SqliteMemory

FORMS = ("sqlite:///absolute/path/store.db[?artifacts=/a/folder]",
         "postgresql://user@host/database?artifacts=/a/shared/folder",
         "actor:NAME?node=...&path=...&artifacts=...")


def open_memory(locator: str) -> Memory:
    """The store that `locator` names (see `FORMS`); `bad_input` for any other string, and the store's own faults."""
    try:
        parts = urlsplit(locator)
    except ValueError:
        raise _unknown(locator) from None
    options = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    artifacts = Path(options["artifacts"]) if "artifacts" in options else None
    if parts.scheme == "sqlite" and not parts.netloc and len(parts.path) > 1 and options.keys() <= {"artifacts"}:
        return SqliteMemory(Path(unquote(parts.path)), artifacts)
    if parts.scheme in ("postgresql", "postgres"):
        from enlist.tools.runtime.memory.postgres import PostgresMemory

        kept = "&".join(item for item in parts.query.split("&") if item and not item.startswith("artifacts="))
        return PostgresMemory(parts._replace(query=kept).geturl(), artifacts)
    if parts.scheme == "actor" and {"node", "path", "artifacts"} <= options.keys():
        from enlist.tools.runtime.memory.actor import ActorMemory

        return ActorMemory(Path(options["path"]), Path(options["artifacts"]), node=options["node"])
    raise _unknown(locator)


def _unknown(locator: str) -> EnlistError:
    shown = re.sub("://[^/]*@", "://...@", locator)  # a password may stand there
    return EnlistError("bad_input", "no such kind of store", given=repr(shown), allowed=" | ".join(FORMS),
                       fix="give a locator of one of these forms")
