"""Attachments: from paths that a user gives to artifacts with sniffed kinds.

A folder stands for the regular files in it, at any depth, in order of their names; hidden files and links are passed
over. The same content twice is one attachment.
"""

from collections.abc import Iterator, Sequence
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
    if not path.exists():
        raise EnlistError("not_found", "an attached file is not there", given=str(path),
                          fix="check the path; `--attach` takes a file or a folder")
    if path.is_file():
        yield path, path.name
        return
    if not path.is_dir():
        raise EnlistError("bad_input", "an attachment is neither a file nor a folder", given=str(path),
                          allowed="regular files and folders", fix="save what it holds to a file and attach that")
    inside = sorted(f for f in path.rglob("*") if f.is_file() and not f.is_symlink()
                    and not any(part.startswith((".", "__pycache__")) for part in f.relative_to(path).parts))
    if not inside or len(inside) > MOST_FILES:
        raise EnlistError("bad_input", f"an attached folder holds {len(inside)} files that can be read",
                          given=str(path), allowed=f"1 to {MOST_FILES} regular files",
                          fix="attach the files that matter")
    for file in inside:
        yield file, file.relative_to(path).as_posix()


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
