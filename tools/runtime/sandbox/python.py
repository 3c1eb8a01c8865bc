"""Jobs that run this interpreter with what is installed in it, Enlist included, and none of the user's environment."""

import importlib.util
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from enlist.tools.runtime.sandbox.contract import Job, Limits
from enlist.tools.runtime.sandbox.outputs import SCRATCH
from enlist.tools.runtime.sandbox.system import PYTHON_HOME, within

_ROOMS = ("tools", "agents", "orchestrator", "environments", "evals")


def python_folders() -> tuple[Path, ...]:
    """The folders that this interpreter and its packages need: environment, base installation, and the source folders
    of an editable Enlist (those alone, not the repository around them)."""
    folders = [os.path.abspath(sys.prefix), os.path.abspath(sys.base_prefix), PYTHON_HOME]
    for room in _ROOMS:
        spec = importlib.util.find_spec(f"enlist.{room}")
        folders += [os.path.abspath(path) for path in (spec.submodule_search_locations or ())] if spec else []
    kept: list[str] = []
    for folder in sorted(set(folders)):
        if not any(within(folder, other) for other in kept):
            kept.append(folder)
    return tuple(Path(folder) for folder in kept)


def python_job(work: Path, *, module: str | None = None, script: Path | None = None, arguments: Sequence[str] = (),
               read_only: Iterable[Path] = (), environment: Mapping[str, str] | None = None, stdin: bytes = b"",
               limits: Limits | None = None) -> Job:
    """A job that runs `module` (as `python -m`) or `script` with this interpreter in `work`.

    `script` is made readable where it lies; a private file is better copied into `work`. The result of such a job is a
    file in `work` (see `read_json`), so whatever it prints does no harm. HOME is `work`, temporary files go to a
    scratch folder in it, one thread per numeric library; `environment` adds to that.
    """
    if (module is None) == (script is None):
        raise ValueError("give either module or script")
    work = Path(os.path.abspath(work))
    scratch = work / SCRATCH
    scratch.mkdir(exist_ok=True)
    command = ["-m", module] if module is not None else [os.path.abspath(script or "")]
    readable = [*python_folders(), *(Path(os.path.abspath(path)) for path in read_only)]
    if script is not None and not within(os.path.abspath(script), str(work)):
        readable.append(Path(os.path.abspath(script)))
    variables = {"HOME": str(work), "TMPDIR": str(scratch), "PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8",
                 "USER": "enlist", "LOGNAME": "enlist", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONSAFEPATH": "1",
                 "PYTHONNOUSERSITE": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
                 **(environment or {})}
    return Job((os.path.abspath(sys.executable), *command, *arguments), work, tuple(readable), variables, stdin,
               limits or Limits())
