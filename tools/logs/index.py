"""Answers kept beside the logs' identities, so that the second question about the same files is answered at once.

An answer is found by what it depends on: the files (path, size, time of change, first and last bytes), the options, and
the program itself. It is signed with a key that only this user can read, and only this package's own classes are made
from it; what is damaged, stale or signed by another is not there. The lines that claims cite are read again from plain
files before an answer is used.
"""

import hashlib
import hmac
import io
import json
import os
import pickle
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

from enlist.tools.logs.analysis import Analysis
from enlist.tools.logs.batch import Ref
from enlist.tools.logs.cited import there, verified
from enlist.tools.logs.counting import Options

FOLDER, KEY = "logs-index", "key"
KEPT = 64  # answers
_ENDS = 1 << 12
_PACKAGE = "enlist.tools.logs."
_PLAIN = {("collections", "Counter"), ("builtins", "set"), ("builtins", "frozenset")}


class Index:
    """Kept answers in a folder of ENLIST_HOME."""

    def __init__(self, home: Path) -> None:
        self.folder = home / FOLDER

    def get(self, paths: Sequence[str | os.PathLike[str]], options: Options) -> Analysis | None:
        """The answer about files that have not changed since; None where there is none that can be trusted."""
        name = identity(paths, options)
        if name is None:
            return None
        try:
            data = (self.folder / name).read_bytes()
        except OSError:
            return None
        if not hmac.compare_digest(data[:32], self._sign(data[32:])):
            return None
        try:
            made = _Only(io.BytesIO(data[32:])).load()
        except Exception:  # whatever a damaged file brings about: the logs are read again
            return None
        if not isinstance(made, Analysis):
            return None
        with suppress(OSError):
            os.utime(self.folder / name)
        seen = _seen_again(made, options)
        return replace(made, cited=seen, incident=verified(made.incident, seen))

    def put(self, paths: Sequence[str | os.PathLike[str]], options: Options, made: Analysis,
            before: str | None) -> None:
        """Keep an answer, unless the files changed since `before`, their identity when it was asked for."""
        name = identity(paths, options)
        if name is None or name != before:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        data = pickle.dumps(made, protocol=5)
        half = self.folder / f".{name}.{os.getpid()}"
        half.write_bytes(self._sign(data) + data)
        half.replace(self.folder / name)
        old = sorted((p for p in self.folder.iterdir() if len(p.name) == 64), key=lambda p: -p.stat().st_mtime)[KEPT:]
        for path in old:
            path.unlink(missing_ok=True)

    def _sign(self, data: bytes) -> bytes:
        return hmac.digest(self._key(), data, "sha256")

    def _key(self) -> bytes:
        path = self.folder / KEY
        if not path.is_file():
            self.folder.mkdir(parents=True, exist_ok=True)
            half = self.folder / f".{KEY}.{os.getpid()}"
            descriptor = os.open(half, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(secrets.token_bytes(32))
            with suppress(FileExistsError):
                os.link(half, path)  # the first of several processes wins
            half.unlink()
        return path.read_bytes()


class _Only(pickle.Unpickler):
    """Makes classes of this package and plain containers, nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        """The class of an object in the data."""
        if (module, name) in _PLAIN or module.startswith(_PACKAGE):
            found = super().find_class(module, name)
            if isinstance(found, type) and "." not in name:
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is no part of an answer")


def identity(paths: Sequence[str | os.PathLike[str]], options: Options) -> str | None:
    """A hash of all that an answer depends on; None where a path cannot be read twice."""
    files: list[tuple[str, int, int, str]] = []
    for path in [os.fspath(given) for given in paths]:
        try:
            if os.path.isdir(path):
                inner = sorted(os.path.join(folder, name) for folder, _, names in os.walk(path) for name in names)
                files += [_file(name) for name in inner if os.path.isfile(name)]
            elif os.path.isfile(path):
                files.append(_file(path))
            else:
                return None
        except OSError:
            return None
    text = json.dumps([files, [os.fspath(p) for p in paths], asdict(replace(options, mapping=None)),
                       options.mapping and options.mapping.model_dump(), _program()])
    return hashlib.sha256(text.encode()).hexdigest()


def _file(path: str) -> tuple[str, int, int, str]:
    with open(path, "rb") as file:
        info = os.fstat(file.fileno())
        ends = file.read(_ENDS)
        file.seek(max(0, info.st_size - _ENDS))
        ends += file.read(_ENDS)
    return os.path.abspath(path), info.st_size, info.st_mtime_ns, hashlib.sha256(ends).hexdigest()


@cache
def _program() -> str:
    """What tells one state of the program that makes answers from another: size and time of change of its files."""
    total = hashlib.sha256()
    for path in sorted(Path(__file__).parent.rglob("*")):
        if path.suffix in (".py", ".yaml"):
            info = path.stat()
            total.update(f"{path.name} {info.st_size} {info.st_mtime_ns}\n".encode())
    return total.hexdigest()


def _seen_again(made: Analysis, options: Options) -> dict[Ref, str]:
    """The cited lines: those of plain files as they are now, others as they were read."""
    out = dict(made.cited)
    for source in made.sources.values():
        path = Path(source.name)
        mine = [ref for ref in made.cited if ref.source == source.id]
        if mine and source.name in made.plain:
            for ref in mine:
                del out[ref]
            out.update(there(path, mine, options.limits.line))
    return out


def answered(home: Path, paths: Sequence[str | os.PathLike[str]], options: Options,
             make: Callable[[], Analysis]) -> Analysis:
    """The kept answer where there is one, with the time that this took; else what `make` gives, which is kept."""
    begun = time.perf_counter()
    index = Index(home)
    before = identity(paths, options)
    made = index.get(paths, options)
    if made is not None:
        return replace(made, seconds=time.perf_counter() - begun)
    made = make()
    with suppress(OSError):  # a home that cannot be written to keeps nothing
        index.put(paths, options, made, before)
    return made
