"""Attachments: from paths that a user gives to artifacts with sniffed kinds.

A folder stands for the regular files in it, at any depth, in order of their names; hidden files and links are passed
over. The same content twice is one attachment.
"""

import os
import stat
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path

from enlist.orchestrator.request import Attachment
from enlist.orchestrator.sniff import sniff
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory.protocol import Memory

HEAD = 64 << 10  # bytes that sniffing looks at
MOST_FILES = 1000  # of one folder; more is more likely a mistake than an attachment


def attach(memory: Memory, paths: Sequence[Path]) -> tuple[Attachment, ...]:
    """The attachments behind paths.

    Raises:
        EnlistError: `not_found` for a path that is not there, `bad_input` for one that is no regular file, cannot be
            read, or is a folder with nothing or too much in it.
    """
    found: dict[str, Attachment] = {}
    for path in paths:
        for file, name in _files(path):
            one = _attach_file(memory, file, name)
            found.setdefault(one.ref.sha256, one)
    return tuple(found.values())


def _files(path: Path) -> Iterator[tuple[Path, str]]:
    try:
        mode = path.stat().st_mode
    except FileNotFoundError as error:
        raise EnlistError("not_found", "an attached file is not there", given=_shown(path),
                          fix="check the path; `--attach` takes a file or a folder") from error
    except (OSError, ValueError) as error:  # no permission on the way, a name too long, a NUL in it
        raise EnlistError("bad_input", f"an attachment cannot be looked at: {_reason(error)}", given=_shown(path),
                          fix="check the path and its permissions") from error
    if stat.S_ISREG(mode):
        yield path, path.name
        return
    if not stat.S_ISDIR(mode):
        raise EnlistError("bad_input", "an attachment is neither a file nor a folder", given=_shown(path),
                          allowed="regular files and folders", fix="save what it holds to a file and attach that")
    inside = sorted(islice(_inside(path), MOST_FILES + 1))
    if not 0 < len(inside) <= MOST_FILES:
        raise EnlistError("bad_input", f"an attached folder holds {'more than ' if inside else ''}"
                          f"{MOST_FILES if inside else 'no'} files that can be read", given=_shown(path),
                          allowed=f"1 to {MOST_FILES} regular files", fix="attach the files that matter")
    for file in inside:
        yield file, file.relative_to(path).as_posix()


def _inside(folder: Path) -> Iterator[Path]:
    """The regular files below a folder, hidden ones, links and folders that may not be entered left out."""
    for here, folders, files in os.walk(folder):
        folders[:] = sorted(f for f in folders if not f.startswith((".", "__pycache__")))
        for name in files:
            file = Path(here) / name
            if not name.startswith(".") and not file.is_symlink() and file.is_file():
                yield file


def _shown(path: Path) -> str:
    text = str(path)
    return text if len(text) <= 200 else f"{text[:200]}... ({len(text)} characters)"


def _reason(error: OSError | ValueError) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _attach_file(memory: Memory, file: Path, name: str) -> Attachment:
    try:
        with file.open("rb") as opened:
            head = opened.read(HEAD)
        sniffed = sniff(head, name, file.stat().st_size)
        ref = memory.put_file(file, media_type=sniffed.media_type, name=name)
    except OSError as error:
        raise EnlistError("bad_input", f"an attached file cannot be read: {error.strerror}", given=str(file),
                          fix="check its permissions") from error
    return Attachment(ref=ref, kinds=sniffed.kinds, note=sniffed.note)
