"""Sandboxes: where code and files that are not ours run. `levels()` says what works here, `best()` picks, `python_job`
describes a run of this interpreter, `collect` and `read_json` read what a job left."""

from enlist.tools.runtime.sandbox.availability import best, levels, sandbox
from enlist.tools.runtime.sandbox.contract import LEVELS, Ending, Job, Level, LevelReport, Limits, Result, Sandbox
from enlist.tools.runtime.sandbox.outputs import collect, read_json
from enlist.tools.runtime.sandbox.python import python_folders, python_job

__all__ = ["LEVELS", "Ending", "Job", "Level", "LevelReport", "Limits", "Result", "Sandbox", "best", "collect",
           "levels", "python_folders", "python_job", "read_json", "sandbox"]
