"""Load a user's model file, in the child that is allowed to run it.

The file follows KernelBench: a class `Model`, `get_inputs()` and `get_init_inputs()`. Objects are made on torch's meta
device, so that no tensor memory is taken; what cannot be made there (it calls `.item()`, NumPy, ...) is made on the CPU
and moved. Faults name the user's own line.
"""

import ast
import inspect
import linecache
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.pytorch.examples import Seen
from enlist.tools.solar.pytorch.inputs import given
from enlist.tools.solar.pytorch.watch import recording, redirected

_CONVENTION = "a class Model, get_inputs() and get_init_inputs()"


@dataclass(frozen=True)
class Loaded:
    """A module and its example inputs on the meta device, the device on which they were constructed, and the names of
    the `nn.Module` classes that the file offers."""

    name: str
    module: Any
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    constructed_on: str
    classes: tuple[str, ...] = ()
    seen: Seen = field(default_factory=Seen)


def load_model(path: Path, target: str | None = None, name: str | None = None, inputs: str | None = None,
               training: bool = False) -> Loaded:
    """The model of a file, in eval mode unless for training.

    Args:
        path: a Python file.
        target: a class or function in it, instead of `Model`.
        name: what to call the file in messages (artifacts have hashes for names).
        inputs: other inputs than those of get_inputs (`inputs.given`).

    Raises `bad_input` (not Python, no such target, no inputs) and `tool_failed` (the user's code raised).
    """
    import torch

    name = name or path.name
    file = _execute(path, name)
    made = _pick(file, name, target)
    get_inputs, get_init = getattr(file, "get_inputs", None), getattr(file, "get_init_inputs", list)
    if not callable(get_inputs) and not inputs:
        raise EnlistError("bad_input", f"{name} has no get_inputs(), so the shapes are unknown", given=_found(file),
                          allowed=_CONVENTION, fix="add get_inputs() that returns the list of arguments of forward, or "
                          "give the shapes: --input 'x=float32[16,1024]'")

    def construct() -> tuple[Any, Any]:
        if isinstance(made, type):
            init: Any = get_init()
            module = made(**init) if isinstance(init, dict) else made(*init)
        else:
            module = made if isinstance(made, torch.nn.Module) else _wrap(made)
        return module, get_inputs() if callable(get_inputs) else None

    seen = Seen()
    try:
        with torch.no_grad(), redirected("meta", seen.recorder.values), recording(seen.recorder):
            module, examples = construct()
        device = "meta"
    except Exception:  # many things work on the CPU only; if this does not either, its error is the user's own
        seen = Seen()
        with user_code(name, "while the model and its inputs were constructed"), torch.no_grad(), redirected("cpu"):
            module, examples = construct()
        device = "cpu"
    if not isinstance(module, torch.nn.Module):
        raise EnlistError("bad_input", f"{name}: {target or 'Model'} made a {type(module).__name__}",
                          allowed="a torch.nn.Module or a function")
    leaves = torch.utils._pytree.tree_leaves
    seen.look([*module.buffers(), *leaves(examples)])
    seen.hold([*module.parameters(), *leaves([vars(m) for m in module.modules()]), *leaves(dict(vars(file))),
               *leaves(examples)])
    module = module.train(training).to("meta")
    kwargs = examples if isinstance(examples, dict) else {}
    if isinstance(examples, torch.Tensor):
        examples = [examples]
    args, kwargs = torch.utils._pytree.tree_map_only(torch.Tensor, seen.moved, (
        () if kwargs or examples is None else tuple(examples), kwargs))
    if inputs:
        args, kwargs = given(inputs, module, None if examples is None else (args, kwargs))
    return Loaded(target or "Model", module, args, kwargs, device, modules(file), seen)


@contextmanager
def user_code(name: str, when: str) -> Iterator[None]:
    """Turn what a user's code raises (or its exit) into `tool_failed` with their own last line."""
    try:
        yield
    except EnlistError:
        raise
    except (Exception, SystemExit) as error:
        first = next(iter(str(error).strip().splitlines()), "(no message)")[:300]
        raise EnlistError("tool_failed", f"{name} raised {type(error).__name__} {when}: {first}",
                          given=user_line(name, error), fix="make it run in plain PyTorch on the CPU first",
                          details=traceback.format_exc()[-4000:]) from error


def user_line(name: str, error: BaseException) -> str | None:
    """ "file:line: text" of the deepest frame in the user's file or a module that lies beside it, if any."""
    beside = sys.path[0]  # where the file and those it imports are laid out
    frames = [f for f in traceback.extract_tb(error.__traceback__)
              if f.filename == name or (beside and str(Path(f.filename).parent) == beside)]
    if not frames:
        return None
    last = frames[-1]
    file = name if last.filename == name else Path(last.filename).name
    return f"{file}:{last.lineno}: {(last.line or '').strip()}"


def _execute(path: Path, name: str) -> ModuleType:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise EnlistError("bad_input", f"{name} cannot be read as text: {error}", allowed="a Python file") from error
    try:
        tree = ast.parse(text, filename=name)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise EnlistError("bad_input", f"{name} is not Python: {getattr(error, 'msg', error)}",
                          given=f"{name}:{line}: {(getattr(error, 'text', '') or '').strip()}",
                          allowed="a file that Python 3 can read") from error
    import torch

    module = ModuleType("enlist_user_model")
    module.__file__ = name
    sys.modules[module.__name__] = module  # dataclasses and torch look a class's module up by name
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)  # tracebacks quote the line
    with user_code(name, "while it was imported"):
        exec(compile(tree, name, "exec"), module.__dict__)
    torch.set_default_device(None)  # every device is meta here
    return module


def _pick(file: ModuleType, name: str, target: str | None) -> Any:
    made = getattr(file, target or "Model", None)
    if not callable(made):
        found = modules(file)
        allowed = f"{_CONVENTION}, or one of its nn.Module classes: {', '.join(found)}" if found else _CONVENTION
        raise EnlistError("bad_input", f"{name} has no {target or 'Model'}", given=_found(file), allowed=allowed,
                          fix=choosing(found) if found else "name the class Model, or give `target` with the name of a "
                                                            "function")
    return made


def modules(file: ModuleType) -> tuple[str, ...]:
    """Names of the `nn.Module` classes that a file defines or imports, without torch's own; the last one first, since
    a whole model tends to stand below its parts."""
    import torch

    return tuple(n for n, v in reversed(vars(file).items()) if isinstance(v, type) and issubclass(v, torch.nn.Module)
                 and not v.__module__.startswith("torch."))[:12]


def choosing(classes: tuple[str, ...]) -> str:
    """How a user says which class of a file to take."""
    example = classes[0] if classes else "Net"
    others = f" (or {', '.join(classes[1:])})" if classes[1:] else ""
    return (f"name the class: `enlist sol PATH/TO/FILE.py::{example}`{others}, or in a request, as in 'how far is "
            f"{example} from the limit of an H100?'")


def _found(file: ModuleType) -> str:
    own = [n for n, v in vars(file).items() if getattr(v, "__module__", None) == file.__name__ and callable(v)]
    return f"the file defines {', '.join(own[:12])}" if own else "the file defines no class or function"


def _wrap(function: Callable[..., Any]) -> Any:
    import torch

    class Function(torch.nn.Module):
        def forward(self, *args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

    with suppress(TypeError, ValueError):  # a builtin may not tell its arguments
        own = inspect.signature(function)
        first = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        Function.forward.__signature__ = own.replace(parameters=[first, *own.parameters.values()])  # type: ignore
    return Function()
