"""Source code: Python by its syntax tree, other languages by what only they write."""

import ast
import re
import warnings

from enlist.orchestrator.sniff.found import Sniffed

_PYTHON_LINE = re.compile(r"^(?:async def|def|class) \w+.*|^(?:from [\w.]+ import|import [\w.]+)|^@\w[\w.]*|"
                          r"^if __name__ ==", re.M)
_C_LINE = re.compile(r"^\s*#\s*include\s*[<\"]|\b(?:int|void|float|double)\s+\w+\s*\([^)]*\)\s*\{|\b__global__\b|"
                     r"\btemplate\s*<|^\s*#\s*(?:define|pragma)\s", re.M)
_NESTED_LOOPS = re.compile(r"\bfor\s*\([^)]*\)\s*\{?\s*(?:[^;{}]*;\s*)?for\s*\(", re.S)
_TRAINING_CALLS = {"backward", "init_process_group", "fully_shard"}
_TRAINING_NAMES = {"DistributedDataParallel", "FullyShardedDataParallel", "DDP", "FSDP", "deepspeed", "Accelerator"}


def sniff_python(text: str, name: str, cut: bool) -> Sniffed | None:
    """Python, or None. A file with an error in it is still read, by its words, and the note names the line."""
    by_name = name.lower().endswith((".py", ".pyi"))
    lines = len(_PYTHON_LINE.findall(text))
    if not by_name and lines < 2:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        if not by_name and (not lines or _C_LINE.search(text)):
            return None
        note = None if cut else f"syntax error on line {line}" if line else "cannot be parsed"
        return Sniffed(_kinds_by_words(text), "text/x-python", note)
    if not by_name and not any(isinstance(n, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom)
                               for n in tree.body):
        return None
    return Sniffed(_kinds_by_tree(tree), "text/x-python")


def _kinds_by_tree(tree: ast.Module) -> tuple[str, ...]:
    modules: set[str] = set()
    names: set[str] = set()
    calls: set[str] = set()
    bases: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            modules.add(node.module.split(".")[0])
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            calls.add(node.func.attr)
        elif isinstance(node, ast.ClassDef):
            bases |= {b.attr if isinstance(b, ast.Attribute) else getattr(b, "id", "") for b in node.bases}
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
    functions = any(isinstance(n, ast.FunctionDef) for n in tree.body)
    return _ranked(model=bool({"Model", "get_inputs"} & _bound(tree)),
                   layers=bool({"Module", "LightningModule"} & bases),
                   training=bool((_TRAINING_CALLS & calls and ("step" in calls or "init_process_group" in calls))
                                 or (_TRAINING_NAMES & names and "step" in calls)),
                   jax="jax" in modules and functions, triton="triton" in modules,
                   array="numpy" in modules and "torch" not in modules and functions)


def _kinds_by_words(text: str) -> tuple[str, ...]:
    def has(pattern: str) -> bool:
        return bool(re.search(pattern, text, re.M))

    return _ranked(model=has(r"^class Model\b|^def get_inputs\b|^(?:Model|get_inputs)\s*="),
                   layers=has(r"\(\s*(?:torch\.)?(?:nn\.)?Module\s*\)"),
                   training=(has(r"\.backward\(") and has(r"\.step\(")) or has(r"init_process_group\("),
                   jax=has(r"^(?:import|from) jax\b"), triton=has(r"^(?:import|from) triton\b"),
                   array=has(r"^import numpy\b") and not has(r"^import torch\b"))


def _bound(tree: ast.Module) -> set[str]:
    """The names that a module's top level defines, assigns or imports."""
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def _ranked(*, model: bool, layers: bool, training: bool, jax: bool, triton: bool, array: bool) -> tuple[str, ...]:
    """The kinds of a Python file, best first. One without Model and get_inputs is also a module that others may import,
    whatever it defines; one with nothing to work on is that first."""
    kinds = [kind for kind, is_it in (
        ("training-script", training), ("python-model", model), ("torch-layers", layers and not model),
        ("jax-function", jax), ("kernel-source", triton), ("source-code", triton or array or (layers and not model)),
        ("python-module", not model)) if is_it]
    return tuple(kinds) if kinds != ["python-module"] else ("python-module", "source-code")


def sniff_source(text: str, name: str, cut: bool) -> Sniffed | None:
    """C, C++, CUDA or HIP, or None."""
    ending = name.lower().rpartition(".")[2]
    marks = len(_C_LINE.findall(text))
    if not marks or (marks < 2 and ending not in {"c", "cc", "cpp", "cxx", "h", "hpp", "cu", "cuh", "hip"}):
        return None
    if re.search(r"\b__global__\b|<<<.+?>>>|\b__shared__\b", text):
        return Sniffed(("kernel-source", "source-code"), "text/x-cuda")
    kinds = ("source-code", "loop-nest") if _NESTED_LOOPS.search(text) else ("source-code",)
    return Sniffed(kinds, "text/x-c")
