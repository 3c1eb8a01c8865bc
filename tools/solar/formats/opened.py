"""What a path on the command line stands for: one capture, or one for each workload of a problem.

`FILE.py::Target` names a class or function of a file. A SOL-ExecBench definition, or the folder that holds one, stands
for a capture of its `run` at each workload. Modules that lie beside a file and that it imports go with it, because the
sandbox sees nothing else of the disk.
"""

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.formats.execbench import Definition, Workload, model_source, read_definition, read_workloads

_MOST_BYTES = 64 << 20
_MOST_MODULES = 200


@dataclass(frozen=True)
class Source:
    """One thing to capture: a file's bytes with those of the modules it imports, and what to take of it.

    `label` tells it from others of the same file ("batch_size=7"), "" where it is the only one; `problem` is what a
    model file was written out of; `fault` is why it cannot be captured at all.
    """

    file: str
    name: str
    content: bytes
    target: str | None = None
    label: str = ""
    inputs: str | None = None
    modules: tuple[tuple[str, bytes], ...] = ()
    problem: tuple[Definition, Workload] | None = None
    fault: EnlistError | None = None

    def at(self, sizes: Iterable[tuple[str, int]]) -> "Source":
        """The same at other sizes of several dimensions."""
        made = self
        for dimension, size in sizes:
            made = made.resized(dimension, size)
        return made

    def resized(self, dimension: str, size: int) -> "Source":
        """The same at another size of a dimension; of a problem, of one of its axes."""
        if self.problem is None:
            sized = f"{dimension}={size}"
            return replace(self, inputs=f"{self.inputs};{sized}" if self.inputs else sized)
        definition, workload = self.problem
        return _source(self.file, definition, workload.model_copy(update={"axes": workload.axes | {dimension: size}}))


def opened(typed: str, inputs: str | None = None) -> tuple[Source, ...]:
    """The sources behind a path as typed; `inputs` are shapes or sizes, for a definition sizes of its axes.

    Raises `not_found` and `bad_input`.
    """
    try:
        path, target = _split(typed)
        folder = path.is_dir()
    except OSError as error:  # a name too long, no permission on the way
        raise EnlistError("bad_input", f"the path cannot be looked at: {error.strerror}", given=typed[:200],
                          fix="check the path and its permissions") from error
    if folder:
        inside = path / "definition.json"
        if not inside.is_file():
            raise EnlistError("bad_input", "a folder without definition.json", given=typed,
                              allowed="a file, or a folder with definition.json and workload.jsonl",
                              fix="name the files in it")
        path = inside
    if path.suffix.lower() == ".jsonl" and path.with_name("definition.json").is_file():
        path = path.with_name("definition.json")
    content = _content(path, typed)
    if path.suffix.lower() == ".json":
        return _problem(path, typed, inputs)
    return (Source(typed, path.name, content, target, "", inputs, tuple(_beside(path, content))),)


def _problem(path: Path, typed: str, inputs: str | None) -> tuple[Source, ...]:
    definition = read_definition(path)
    if inputs is not None:
        pairs = re.findall(r"(\w+)\s*=\s*(\d+)(?:\s*[;,]|\s*$)", inputs)
        if not pairs or re.sub(r"[\s;,]", "", inputs) != "".join(f"{n}={v}" for n, v in pairs):
            raise EnlistError("bad_input", f"{path.name} takes sizes of its axes", given=inputs,
                              allowed=", ".join(f"{n}=..." for n, a in definition.axes.items() if a.type == "var")
                              or "no sizes: every axis is fixed", fix="give `--input AXIS=SIZE;AXIS=SIZE`")
        workloads: tuple[Workload, ...] = (Workload(axes={name: int(size) for name, size in pairs}),)
    else:
        beside = next((f for f in (path.with_name("workload.jsonl"), path.with_suffix(".jsonl")) if f.is_file()), None)
        workloads = read_workloads(beside) if beside else (Workload(),)
    found = tuple(_source(typed, definition, one) for one in workloads)
    return found if len(found) > 1 or workloads[0].axes else (replace(found[0], label=""),)


def _source(typed: str, definition: Definition, workload: Workload) -> Source:
    """A problem at one workload; a workload that does not fit leaves the others alone."""
    stem = re.sub(r"[^A-Za-z0-9_.-]+", "_", definition.name)[:80].strip(".") or "definition"
    made = Source(typed, f"{stem}.py", b"", "run", workload.label, problem=(definition, workload))
    try:
        return replace(made, content=model_source(definition, workload).encode())
    except EnlistError as error:
        return replace(made, fault=error)


def _split(typed: str) -> tuple[Path, str | None]:
    name, colons, target = typed.rpartition("::")
    if not colons or Path(typed).exists():
        return Path(typed), None
    if not name or not target:
        raise EnlistError("bad_input", "half of FILE::TARGET is missing", given=typed, allowed="FILE.py::Target",
                          fix="name the file before the colons and the class or function after them")
    return Path(name), target


def _content(path: Path, typed: str) -> bytes:
    try:
        if not path.is_file():
            raise EnlistError("bad_input" if path.exists() else "not_found",
                              "no file that can be read" if path.exists() else "this file is not there", given=typed,
                              allowed="FILE.py, FILE.py::Target, FILE.loop, definition.json or a folder that holds one",
                              fix="check the path")
        if path.stat().st_size > _MOST_BYTES:
            raise EnlistError("bad_input", "the file is too large for source code", given=typed,
                              allowed=f"{_MOST_BYTES >> 20} MiB", fix="name the source file")
        return path.read_bytes()
    except (OSError, ValueError) as error:  # no permission on the way, a name too long, a NUL in it
        raise EnlistError("bad_input", f"the file cannot be read: {error}", given=typed[:200],
                          fix="check the path and its permissions") from error


def _beside(path: Path, content: bytes) -> list[tuple[str, bytes]]:
    """Modules of the same folder that the file imports, directly or through each other."""
    found: dict[str, bytes] = {}
    waiting = [content]
    while waiting and len(found) < _MOST_MODULES:
        for module in _imported(waiting.pop()):
            file = path.with_name(f"{module}.py")
            if file.name not in found and file.name != path.name and file.is_file():
                found[file.name] = _content(file, str(file))
                waiting.append(found[file.name])
    return list(found.items())


def _imported(content: bytes) -> set[str]:
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    nodes = list(ast.walk(tree))
    names = {a.name for n in nodes if isinstance(n, ast.Import) for a in n.names}
    names |= {n.module for n in nodes if isinstance(n, ast.ImportFrom) and n.module and not n.level}
    return {name.partition(".")[0] for name in names}
