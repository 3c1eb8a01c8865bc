"""Files of a client: content that came with a call becomes artifacts, and nothing is read by a name that came along.

Where a tool wants a file, a client sends `{"name": "model.py", "file_text": "..."}` or the same with `file_base64`. A
name is only shown and sniffed by its ending; one with a folder in it is refused all the same.
"""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

from enlist.orchestrator.sniff import sniff
from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory.protocol import Memory

INLINE_LIMIT = 8 << 20  # bytes of one file inside a call
NAME_LIMIT = 200  # characters
TEXT, BASE64 = "file_text", "file_base64"
MOST_LEVELS = 50  # of an input; deeper is no tool's input
HEAD = 64 << 10  # bytes that sniffing looks at


def take_files(value: Any, memory: Memory, kept: set[str], levels: int = MOST_LEVELS) -> Any:
    """`value` with every inline file in it kept in `memory` and replaced by its reference, as JSON; the hashes of these
    files are added to `kept`.

    Raises:
        EnlistError: `bad_input` for a name with a folder in it, text that is no base64, or nesting without end;
            `resource_limit` for a file over `INLINE_LIMIT`.
    """
    if levels == 0:
        raise EnlistError("bad_input", f"the input is nested more than {MOST_LEVELS} deep",
                          fix="see the tool's input schema")
    if isinstance(value, list):
        return [take_files(item, memory, kept, levels - 1) for item in value]
    if not isinstance(value, Mapping):
        return value
    for field in (TEXT, BASE64):
        if set(value) == {"name", field} and all(isinstance(part, str) for part in value.values()):
            ref = _keep(value["name"], value[field], field, memory)
            kept.add(ref.sha256)
            return ref.model_dump(mode="json")
    return {key: take_files(item, memory, kept, levels - 1) for key, item in value.items()}


def _keep(name: str, content: str, field: str, memory: Memory) -> ArtifactRef:
    if not 0 < len(name) <= NAME_LIMIT or name in (".", "..") or any(c in "/\\" or not c.isprintable() for c in name):
        raise EnlistError("bad_input", "this is no plain name of a file", given=repr(name[:NAME_LIMIT]),
                          allowed=f"1 to {NAME_LIMIT} printable characters without / and \\",
                          fix="leave out the folder")
    if len(content) > 4 * INLINE_LIMIT // 3 + 4:  # before it is decoded; base64 grows by a third
        raise _too_large(name, len(content))
    try:
        data = content.encode() if field == TEXT else base64.b64decode(content, validate=True)
    except (binascii.Error, ValueError) as error:  # ValueError: a lone surrogate, characters beyond ASCII in base64
        raise EnlistError("bad_input", f"{field} of {name!r} cannot be read: {error}", given=repr(content[:40]),
                          allowed="UTF-8 text in file_text, standard base64 in file_base64",
                          fix="encode the content anew") from error
    if len(data) > INLINE_LIMIT:
        raise _too_large(name, len(data))
    return memory.put_bytes(data, media_type=sniff(data[:HEAD], name, len(data)).media_type, name=name)


def _too_large(name: str, size: int) -> EnlistError:
    return EnlistError("resource_limit", f"the file {name!r} is too large to come inside a call", given=f"{size} bytes",
                       allowed=f"{INLINE_LIMIT} bytes", fix="send less of it, or serve over stdio and give its path")
