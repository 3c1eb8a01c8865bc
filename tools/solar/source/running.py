"""Running source in its own language on given arrays. Runs foreign code: call it inside a sandbox only.

NumPy: the function with the program's inputs (and sizes) by name. C and C++: compiled by the system's compiler; pointer
parameters are tensors, whole numbers are sizes, by name; a size may also be a #define. What a source changes in place
is an input of the program and the output of that name with `_out` behind it.
"""

import ctypes
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.ids import content_hash
from enlist.tools.solar.loops.affine import shapes, size_values
from enlist.tools.solar.loops.interpreter import stored_dtype
from enlist.tools.solar.loops.program import Program
from enlist.tools.solar.source.languages import RUNNABLE

_TYPES: Mapping[str, Any] = {"float": ctypes.c_float, "double": ctypes.c_double, "int": ctypes.c_int,
                             "long": ctypes.c_long, "size_t": ctypes.c_size_t, "int64_t": ctypes.c_int64,
                             "int32_t": ctypes.c_int32, "unsigned": ctypes.c_uint, "int8_t": ctypes.c_int8}
_COMPILE_SECONDS = 60
IN_PLACE = "_out"


@dataclass(frozen=True)
class Done:
    """What a source made: its outputs by the names of the program's; `written` says which elements of an output it
    wrote, where that is known."""

    outputs: dict[str, np.ndarray]
    written: dict[str, np.ndarray] = field(default_factory=dict)


def run_source(text: str, language: str, target: str | None, program: Program,
               inputs: Mapping[str, np.ndarray], folder: Path) -> Done:
    """The source's outputs by the names of the program's.

    Raises `unsupported` for a language that cannot run here or a missing compiler, `bad_input` for a source whose
    parameters are not those of the program, `tool_failed` where it raises or does not compile.
    """
    if language == "numpy":
        return _numpy(text, target, program, inputs)
    if language in ("c", "c++"):
        return _native(text, language, target, program, inputs, folder)
    raise EnlistError("unsupported", f"{language} cannot be run here", allowed=", ".join(RUNNABLE),
                      fix="give example inputs with their outputs: the translation is then compared with those")


def _numpy(text: str, target: str | None, program: Program, inputs: Mapping[str, np.ndarray]) -> Done:
    names: dict[str, Any] = {"__name__": "source"}
    copies = {n: a.copy() for n, a in inputs.items()}
    outputs = program.with_role("output")
    try:
        exec(compile(text, "source", "exec"), names)
        function = names.get(target or program.name) or next(
            (v for k, v in reversed(names.items()) if callable(v) and getattr(v, "__module__", "") == "source"
             and not k.startswith(("_", "get_"))), None)
        if function is None:
            raise EnlistError("not_found", f"the source has no function {target or program.name}",
                              fix="name the function")
        sizes = size_values(program)
        room = shapes(program, sizes)
        for tensor in outputs:
            copies.setdefault(tensor.name, np.zeros(room[tensor.name], stored_dtype(tensor.dtype)))
        given: dict[str, Any] = {}
        for name, parameter in signature(function).parameters.items():
            if name in copies or name in sizes:
                given[name] = copies[name] if name in copies else sizes[name]
            elif parameter.default is parameter.empty:
                raise EnlistError("bad_input", f"the source takes {name}, the program has no input of that name",
                                  allowed=", ".join(inputs), fix="name the program's inputs as the source does")
        result = function(**given)
    except EnlistError:
        raise
    except BaseException as error:  # the source is foreign
        raise EnlistError("tool_failed", f"the source raised {type(error).__name__}: {error}"[:500],
                          fix="run it by itself and mend it") from error
    places = {t.name: _place(t.name, given) for t in outputs}
    _unchanged(inputs, copies, set(places.values()))
    if result is None:
        missing = next((name for name, place in places.items() if place not in given), None)
        if missing:
            raise EnlistError("bad_input", f"the source returns nothing and has no parameter {missing} to write to",
                              fix="return the result, or name the program's output as the source's parameter")
        return Done({name: copies[place] for name, place in places.items()})
    found = result if isinstance(result, tuple | list) else (result,)
    if len(found) != len(outputs):
        raise EnlistError("bad_input", f"the source returns {len(found)} arrays, the program {len(outputs)}",
                          fix="declare the outputs in the order of the source's result")
    return Done({t.name: np.asarray(a) for t, a in zip(outputs, found, strict=True)})


def _place(output: str, parameters: Mapping[str, Any]) -> str:
    """The parameter of the source that holds an output of the program."""
    stem = output.removesuffix(IN_PLACE)
    return stem if output not in parameters and stem in parameters else output


def _unchanged(before: Mapping[str, np.ndarray], after: Mapping[str, np.ndarray], written: set[str]) -> None:
    """`bad_input` where the source wrote to what the program takes for an input alone."""
    for name, array in before.items():
        if name not in written and not np.array_equal(array, after[name], equal_nan=array.dtype.kind == "f"):
            raise EnlistError("bad_input", f"the source writes to {name}, which the program only reads",
                              fix=f"declare it as an output, or, where it is read too, as `input {name}` and `output "
                              f"{name}{IN_PLACE}`")


def _native(text: str, language: str, target: str | None, program: Program, inputs: Mapping[str, np.ndarray],
            folder: Path) -> Done:
    compiler = next((c for n in (("cc", "gcc", "clang") if language == "c" else ("c++", "g++", "clang++"))
                     if (c := shutil.which(n, path="/usr/local/bin:/usr/bin:/bin"))), None)
    if compiler is None:
        raise EnlistError("unsupported", f"no compiler for {language} is here", allowed="cc, gcc or clang in /usr/bin",
                          fix="install one, or give example inputs with their outputs")
    sizes = size_values(program)
    name, parameters = _signature(text, target)
    for size, value in sizes.items():
        text = re.sub(rf"(?m)^(\s*#\s*define\s+{re.escape(size)}\s+).*$", rf"\g<1>{value}", text)
    spelled = re.sub(rf"(?m)^(?:static\s+|inline\s+)*void\s+{re.escape(name)}\s*\(", f"void {name}(", text)
    if language == "c++":
        spelled = re.sub(rf"(?m)^void {re.escape(name)}\(", f'extern "C" void {name}(', spelled)
    library = _compiled(spelled, compiler, ".c" if language == "c" else ".cpp", folder)
    function = getattr(ctypes.CDLL(str(library)), name)
    function.restype = None
    first, second = (_called(function, parameters, program, inputs, sizes, fill) for fill in (0, 1))
    made, written = {}, {}
    for tensor in program.with_role("output"):
        place = _place(tensor.name, {p: None for _, p, _ in parameters})
        made[tensor.name] = first[place]
        if place not in inputs:
            # an element that nobody wrote holds what it was filled with
            untouched = (first[place] == 0) & (second[place] == 1)
            same = (first[place] == second[place]) | ((first[place] != first[place]) & (second[place] != second[place]))
            if not (untouched | same).all():
                raise EnlistError("bad_input", f"the source reads {place} before it writes it",
                                  fix=f"declare `input {place}` and `output {place}{IN_PLACE}`")
            written[tensor.name] = ~untouched
    return Done(made, written)


def _called(function: Any, parameters: list[tuple[str, str, bool]], program: Program,
            inputs: Mapping[str, np.ndarray], sizes: Mapping[str, int], fill: int) -> dict[str, np.ndarray]:
    """All arrays after a call; outputs hold `fill` before it."""
    room = shapes(program, sizes)
    held = {n: np.array(a, order="C", copy=True) for n, a in inputs.items()}
    places = set()
    for tensor in program.with_role("output"):
        place = _place(tensor.name, {p: None for _, p, _ in parameters})
        places.add(place)
        held.setdefault(place, np.full(room[tensor.name], fill, stored_dtype(tensor.dtype)))
    arguments = []
    for kind, parameter, pointer in parameters:
        if pointer and parameter in held:
            wanted = np.dtype(_TYPES[kind]) if kind in _TYPES else held[parameter].dtype
            if held[parameter].dtype != wanted:
                raise EnlistError("bad_input", f"{parameter} is {kind} in the source, {held[parameter].dtype} in the "
                                  "program", fix="give the program's tensor the source's dtype")
            arguments.append(held[parameter].ctypes.data_as(ctypes.c_void_p))
        elif not pointer and parameter in sizes:
            arguments.append(_TYPES.get(kind, ctypes.c_int)(sizes[parameter]))
        elif not pointer and parameter in held and held[parameter].shape == ():
            arguments.append(_TYPES.get(kind, ctypes.c_double)(held[parameter].item()))
        else:
            raise EnlistError("bad_input", f"the source takes {parameter}, the program has neither a tensor nor a size "
                              "of that name", allowed=", ".join([*held, *sizes]),
                              fix="name the program's tensors and sizes as the source does")
    missing = places - {p for _, p, pointer in parameters if pointer}
    if missing:
        raise EnlistError("bad_input", f"the source has no pointer {min(missing)} to write to",
                          fix="name the program's outputs as the source's parameters")
    function(*arguments)
    _unchanged(inputs, held, places)
    return held


def _compiled(text: str, compiler: str, suffix: str, folder: Path) -> Path:
    """A shared library of a text, made once for each different text."""
    stem = content_hash(text)[:16]
    source, library = folder / f"{stem}{suffix}", folder / f"{stem}.so"
    if library.is_file():
        return library
    source.write_text(text, encoding="utf-8")
    try:
        done = subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(source), "-lm"],
                              capture_output=True, text=True, timeout=_COMPILE_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnlistError("tool_failed", f"the compiler did not end: {error}", fix="compile it by itself") from error
    if done.returncode:
        raise EnlistError("tool_failed", f"the source does not compile: {done.stderr.strip()[:500]}",
                          fix="compile it by itself and mend it")
    return library


def _signature(text: str, target: str | None) -> tuple[str, list[tuple[str, str, bool]]]:
    """The name of the void function and its parameters: type, name, whether it is a pointer or an array."""
    bare = re.sub(r"/\*.*?\*/|//[^\n]*", "", text, flags=re.DOTALL)
    functions = re.findall(r"\bvoid\s+(\w+)\s*\(([^)]*)\)\s*\{", bare)
    chosen = next((f for f in functions if f[0] == target), None) if target else (functions[-1] if functions else None)
    if chosen is None:
        raise EnlistError("not_found", f"the source has no function `void {target or 'NAME'}(...)`",
                          allowed=", ".join(f[0] for f in functions) or "none", fix="let a void function write its "
                          "results through pointers")
    found = []
    for part in (p.strip() for p in chosen[1].split(",") if p.strip() not in ("", "void")):
        words = re.findall(r"\w+", part.partition("[")[0])
        kinds = [w for w in words[:-1] if w in _TYPES]
        found.append((kinds[-1] if kinds else words[0], words[-1], "*" in part or "[" in part))
    return chosen[0], found
