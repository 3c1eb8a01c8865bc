"""Which profiler a file comes from, by its content; its name decides nothing."""

import csv
import gzip
import json
import zlib
from pathlib import Path

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.profiles.activity import Profile
from enlist.tools.solar.profiles.chrome import read_chrome
from enlist.tools.solar.profiles.ncu import is_ncu, read_ncu
from enlist.tools.solar.profiles.nsys import SQLITE, is_nsys_summary, read_nsys_export, read_nsys_summary

_MOST_BYTES = 512 << 20
_ALLOWED = ("torch.profiler's Chrome trace (.json, .json.gz), Nsight Systems as SQLite or `nsys stats` CSV or JSON, "
            "Nsight Compute as `ncu --csv`")


def read_profile(path: Path) -> Profile:
    """The profile in a file.

    Raises `not_found`, and `bad_input` for what is no profile that we read.
    """
    try:
        with path.open("rb") as file:
            head = file.read(16)
        if head == SQLITE:
            return read_nsys_export(path, path.name)
        with gzip.open(path) if head[:2] == b"\x1f\x8b" else path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise EnlistError("not_found", "the measured time is neither a number nor a file", given=str(path),
                          allowed=f"milliseconds such as 12.5, or {_ALLOWED}", fix="check the path") from error
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise EnlistError("bad_input", f"{path.name} cannot be read: {error}", allowed=_ALLOWED,
                          fix="check the file") from error
    if len(data) > _MOST_BYTES:
        raise EnlistError("bad_input", f"{path.name} is too large", allowed=f"{_MOST_BYTES >> 20} MiB unpacked",
                          fix="trace fewer iterations")
    return _by_text(data.decode("utf-8", "replace").removeprefix("\ufeff"), path.name)


def _by_text(text: str, name: str) -> Profile:
    if not text.lstrip().startswith(("{", "[")):
        try:
            if is_ncu(text):
                return read_ncu(text, name)
            if is_nsys_summary(text):
                return read_nsys_summary(text, name)
        except csv.Error as error:  # a field without an end, for example
            raise EnlistError("bad_input", f"{name} is no CSV: {error}", allowed=_ALLOWED,
                              fix="export it again; the file may be cut off") from error
        raise EnlistError("bad_input", f"{name} is no profile that is known here", allowed=_ALLOWED,
                          fix="export the profile in one of these formats")
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise EnlistError("bad_input", f"{name} is no JSON: {error}", allowed=_ALLOWED,
                          fix="export it again; the file may be cut off") from error
    if isinstance(document, dict) and "traceEvents" in document:
        return read_chrome(document, name)
    if is_nsys_summary(text):
        return read_nsys_summary(text, name)
    return read_chrome(document, name)
