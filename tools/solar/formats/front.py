"""Which front end reads a file, told from its imports alone, and the one call that captures with any of them.

A file is never run to find that out. One that imports JAX goes through the jaxpr, one that imports PyTorch through its
exporter, Affine Loop IR is parsed, and Python that imports nothing but NumPy and the standard library is translated.
Where a file imports both JAX and PyTorch, the target's own code decides: the package whose names it uses more.
"""

import ast
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from inspect import signature
from pathlib import Path
from typing import Any, Literal

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.tool import load
from enlist.tools.solar.graph import Graph
from enlist.tools.solar.source.languages import without_model

Front = Literal["pytorch", "jaxpr", "loops", "source"]
Training = Literal["backward", "step"]

_ENTRIES: Mapping[Front, str] = {
    "pytorch": "enlist.tools.solar.pytorch.capture:capture", "jaxpr": "enlist.tools.solar.jaxpr.capture:capture",
    "loops": "enlist.tools.solar.loops.capture:capture_loops",
    "source": "enlist.tools.solar.source.capture:capture_numpy"}
"""Takes (path, target) and, by keyword, those of name, inputs, training, structure that it knows."""

_LABEL: Mapping[Front, str] = {
    "pytorch": "the PyTorch front end", "jaxpr": "the JAX front end", "loops": "the Affine Loop IR",
    "source": "the translator of NumPy"}
LOOP_SUFFIX = ".loop"
_NETWORK = re.compile(r"name resolution|Name or service not known|Network is unreachable|Max retries exceeded|"
                      r"huggingface|hf\.co|offline mode|couldn't connect|Connection refused", re.IGNORECASE)
_OTHER_SOURCE = {".c": "c", ".h": "c", ".cc": "c++", ".cpp": "c++", ".cxx": "c++", ".hpp": "c++", ".cu": "cuda",
                 ".cuh": "cuda", ".hip": "cuda", ".txt": "pseudo-code", ".md": "pseudo-code"}


def front_of(text: str, name: str, target: str | None = None) -> Front:
    """The front end for a file's `text`; text that is no Python goes to PyTorch's, whose error names the line."""
    suffix = Path(name).suffix.lower()
    if suffix == LOOP_SUFFIX:
        return "loops"
    if suffix in _OTHER_SOURCE:
        return "source"
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "pytorch"
    packages = _bound_names(tree)
    found = set(packages.values())
    if "jax" in found and "torch" in found:
        return "jaxpr" if _prefers_jax(tree, packages, target) else "pytorch"
    if "jax" in found:
        return "jaxpr"
    if "triton" in found and "torch" not in found:
        return "source"
    return "pytorch" if found - {"numpy"} - sys.stdlib_module_names else "source"


def language_of(text: str, name: str) -> str | None:
    """The language of a file that only a language model can translate; None for what a front end reads."""
    suffix = Path(name).suffix.lower()
    if suffix in _OTHER_SOURCE:
        return _OTHER_SOURCE[suffix]
    if suffix == LOOP_SUFFIX or front_of(text, name) != "source":
        return None
    try:
        found = set(_bound_names(ast.parse(text)).values())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return "triton" if "triton" in found else None


def capture(path: Path, target: str | None = None, name: str | None = None, *, inputs: str | None = None,
            training: Training | None = None, structure: bool = True) -> Graph:
    """The graph of a file by the front end that `front_of` names. Runs user code: only inside a sandbox.

    Args:
        path: the file; `name` is what to call it in messages.
        inputs: shapes, as in "x=float32[16,1024];ids=int64[16,512]", or sizes by name, as in "batch=8".
        training: "backward" adds the backward pass, "step" the optimizer too.
        structure: look for structure (triangular, zero) in the example inputs.

    Raises what the front end raises; `unsupported` for an option that it has no notion of; `not_installed` for a front
    end or a package that is not there, and for another language, which a model must translate first.
    """
    name = name or path.name
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise EnlistError("bad_input", f"{name} cannot be read as text: {error}", allowed="a source file in UTF-8",
                          fix="save it as UTF-8 text") from error
    front = front_of(text, name, target)
    language = language_of(text, name) if front == "source" else None
    if language is not None:
        raise without_model(language, name)
    function = _entry(front, name)
    taken = signature(function).parameters
    options: dict[str, Any] = {"inputs": inputs, "training": training, "structure": structure}
    given = {option: value for option, value in options.items() if value not in (None, True)}
    for option, value in given.items():
        if option not in taken:
            raise EnlistError("unsupported", f"{name}: {_LABEL[front]} has no notion of {option}", given=str(value),
                              allowed=", ".join(o for o in options if o in taken) or "the file as it is",
                              fix=f"leave {option} away, or write it out in the file")
    if "name" in taken:
        given["name"] = name
    with _missing(name):
        return function(path, target, **given)


def _entry(front: Front, name: str) -> Callable[..., Graph]:
    """The capturing function of a front end, imported now."""
    try:
        return load(_ENTRIES[front])
    except ModuleNotFoundError as error:
        raise EnlistError("not_installed", f"{name} is for {_LABEL[front]}, which is not installed here: {error}",
                          fix="install Enlist with that front end, or hand in the model in PyTorch") from error


@contextmanager
def _missing(name: str) -> Iterator[None]:
    """Say what a file lacks here, a package or the network, where that is why its code raised."""
    try:
        yield
    except EnlistError as error:
        if error.code != "tool_failed":
            raise
        seen: list[BaseException] = []
        cause: BaseException | None = error
        while cause is not None:
            seen.insert(0, cause)  # the one that all began with comes first
            cause = cause.__cause__ or cause.__context__
        absent = next((e.name.partition(".")[0] for e in seen if isinstance(e, ModuleNotFoundError) and e.name), "")
        if absent and absent != "enlist":
            raise EnlistError(
                "not_installed", f"{name} needs the package {absent}, which is not installed here", given=error.given,
                fix=f"install {absent} into Enlist's environment, put the module beside the file, or write the model "
                "out in plain PyTorch", details=error.details) from error
        reached = next((str(e).strip().splitlines()[0] for e in seen if _NETWORK.search(str(e))), "")
        if reached:
            raise EnlistError(
                "tool_failed", f"{name} loads something from the network (weights of a hub?), which the sandbox does "
                f"not have: {reached[:200]}", given=error.given,
                allowed="code that makes its weights itself: only their shapes matter",
                fix="build the model from its configuration with random weights", details=error.details) from error
        raise


def _bound_names(tree: ast.Module) -> dict[str, str]:
    """Names that imports anywhere in the file bind, each with the package it comes from."""
    bound: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                bound[(alias.asname or alias.name).partition(".")[0]] = alias.name.partition(".")[0]
        elif isinstance(node, ast.ImportFrom):
            package = (node.module or ".").partition(".")[0] if not node.level else "."
            bound.update({alias.asname or alias.name: package for alias in node.names})
    return {name: "jax" if package in ("flax", "haiku", "equinox", "jaxlib", "optax") else package
            for name, package in bound.items()}


def _prefers_jax(tree: ast.Module, packages: dict[str, str], target: str | None) -> bool:
    """Whether the target (the whole file where there is none of that name) uses names of JAX more than of PyTorch."""
    named: list[ast.AST] = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)
             and node.name == (target or "Model")]
    used = [packages.get(n.id) for root in (named or [tree]) for n in ast.walk(root) if isinstance(n, ast.Name)]
    return used.count("jax") > used.count("torch")
