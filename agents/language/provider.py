"""The model that a role's agent may ask, made from what the run pinned: within its budget, attended, and remembered.

What the way to the model or the endpoint does wrong ends as `ModelDown`: the executor then gives the role to an agent
that does without. What a model says wrong is the asker's to refuse.
"""

import time
from pathlib import Path
from typing import Literal

from enlist.agents.calls import stopper
from enlist.agents.language.attended import Attended
from enlist.agents.language.budgeted import Budgeted
from enlist.agents.language.client import Client
from enlist.agents.language.kept import Kept
from enlist.agents.language.questions import Answer, Ask, LanguageModel
from enlist.agents.language.replay import Recorded
from enlist.agents.language.settings import serving
from enlist.agents.signs import filling_id
from enlist.agents.work import Work
from enlist.tools.runtime.errors import EnlistError

OURS = frozenset({"budget_exhausted", "cancelled", "stale_attempt"})  # faults that say nothing of the model
PART = 0.5  # of the time that a role has left, for one question: it must be able to go on without


class ModelDown(EnlistError):
    """No answer can be had from the model of a capability; a fault with the code of what went wrong."""

    def __init__(self, capability: str, error: EnlistError) -> None:
        super().__init__(error.code, error.message, given=error.given, allowed=error.allowed, fix=error.fix,
                         details=error.details)
        self.capability = capability


class Served:
    """A model as an agent has it."""

    def __init__(self, capability: str, model: LanguageModel) -> None:
        self._capability, self._model = capability, model

    def ask(self, question: Ask) -> Answer:
        """One answer; `ModelDown` where none can be had, `budget_exhausted` where it cannot be paid."""
        try:
            return self._model.ask(question)
        except EnlistError as error:
            if error.code in OURS:
                raise
            raise ModelDown(self._capability, error) from error


def language_model(work: Work, capability: str) -> LanguageModel:
    """The model that serves a capability in this role; `ModelDown` where the run has none."""
    mine = work.assignment
    settings = serving(mine.models, capability)
    if settings is None:
        raise ModelDown(capability, EnlistError(
            "not_installed", "the run has no language model for this", given=capability,
            fix="add a model with this capability to enlist.toml; agents without one do the work"))
    client = Client(settings, seed=mine.filling)
    attended = Attended(client, work.alive, stopper(work.memory, mine.run, mine.attempt,
                                                    filling_id(mine.role, mine.filling)), lambda: _time_left(work))
    paid = Budgeted(attended, work.account)
    if mine.model_replay:
        mode, folder = read_replay(mine.model_replay)
        return Served(capability, Recorded(paid, settings, folder, mode))
    return Served(capability, Kept(paid, settings, work.memory))


def read_replay(value: str) -> tuple[Literal["record", "replay"], Path]:
    """`record:FOLDER` or `replay:FOLDER`; `bad_input` for anything else, or a folder to replay that is not there."""
    mode, _, folder = value.partition(":")
    if mode not in ("record", "replay") or not folder:
        raise EnlistError("bad_input", "how models are recorded cannot be read", given=value,
                          allowed="record:FOLDER or replay:FOLDER", fix="correct ENLIST_MODEL_REPLAY")
    path = Path(folder).expanduser().absolute()
    if mode == "replay" and not path.is_dir():
        raise EnlistError("not_found", "there are no recorded answers here", given=str(path),
                          fix="record some first with ENLIST_MODEL_REPLAY=record:FOLDER")
    return ("record", path) if mode == "record" else ("replay", path)


def _time_left(work: Work) -> float | None:
    deadline = work.assignment.deadline
    return None if deadline is None else PART * (deadline - time.time())
