"""A `.loop` file as a graph: the front end of the Affine Loop IR. Nothing of the user's runs."""

import re
from dataclasses import replace
from pathlib import Path

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.graph import Graph
from enlist.tools.solar.loops.lift import lift
from enlist.tools.solar.loops.parser import parse
from enlist.tools.solar.loops.program import Expr, Name, Num, Program, Size

_WHOLE = re.compile(r"(\w+)\s*=\s*(\w+)\s*\[\s*([\d\s,]*)\]$")
_SIZE = re.compile(r"(\w+)\s*=\s*(\d{1,15})$")


def capture_loops(path: Path, target: str | None = None, *, name: str | None = None,
                  inputs: str | None = None) -> Graph:
    """The graph of a `.loop` file.

    Args:
        target: the program's name, where it is given it must be that.
        name: what to call the file in messages.
        inputs: sizes ("N=64;D=8") or shapes of inputs ("q=float32[64,8]") in place of those of the file.

    Raises `bad_input` for text that is no valid program, `not_found` for another target, `unsupported` for nests whose
    points cannot be counted.
    """
    shown = name or path.name
    program = parse(read_text(path, shown), shown)
    if target is not None and target != program.name:
        raise EnlistError("not_found", f"{shown} has no program {target}", allowed=program.name,
                          fix=f"name {shown}::{program.name}, or leave the target away")
    if inputs:
        program = resized(program, inputs)
    return lift(program, f"{shown}:{program.name}")


def read_text(path: Path, shown: str) -> str:
    """A file's text; `bad_input` where it is none."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise EnlistError("bad_input", f"{shown} cannot be read as text: {error}", allowed="a source file in UTF-8",
                          fix="save it as UTF-8 text") from error


def resized(program: Program, inputs: str) -> Program:
    """The program with other values of its sizes."""
    values: dict[str, int] = {}
    dtypes: dict[str, str] = {}
    for part in (p.strip() for p in inputs.split(";") if p.strip()):
        whole, size = _WHOLE.match(part), _SIZE.match(part)
        if size:
            values[size[1]] = int(size[2])
        elif whole:
            dtypes[whole[1]] = whole[2]
            shape = [int(n) for n in whole[3].replace(" ", "").split(",") if n]
            values.update(_bound(program, whole[1], shape, part))
        else:
            raise _refused(program, "an input specification cannot be read", part)
    known = {s.name for s in program.sizes}
    unknown = next((v for v in values if v not in known), None)
    if unknown:
        raise _refused(program, f"the program has no size {unknown}", inputs)
    tensors = tuple(replace(t, dtype=dtypes.get(t.name, t.dtype)) for t in program.tensors)
    return replace(program, tensors=tensors,
                   sizes=tuple(Size(s.name, Num(values[s.name])) if s.name in values else s for s in program.sizes))


def _bound(program: Program, tensor: str, shape: list[int], part: str) -> dict[str, int]:
    declared = next((t for t in program.with_role("input") if t.name == tensor), None)
    if declared is None or len(declared.shape) != len(shape):
        raise _refused(program, f"the program has no input {tensor} with {len(shape)} dimensions", part)
    found: dict[str, int] = {}
    for expr, n in zip(declared.shape, shape, strict=True):
        if not _fits(expr, n, found):
            raise _refused(program, f"{tensor} cannot have that shape", part)
    return found


def _fits(expr: Expr, n: int, found: dict[str, int]) -> bool:
    if isinstance(expr, Name):
        return found.setdefault(expr.id, n) == n
    return isinstance(expr, Num) and expr.value == n


def _refused(program: Program, what: str, given: str) -> EnlistError:
    sizes = "; ".join(f"{s.name}=..." for s in program.sizes) or "no sizes: the program has none"
    return EnlistError("bad_input", what, given=given, allowed=sizes, fix="give sizes of the program, parted by `;`")
