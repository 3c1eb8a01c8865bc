"""Recorded answers: what was asked once need not be asked again, and a run with a model can be repeated without it.

An answer lies in a file named by the hash of the model's name, its name at the endpoint, and the question; never of the
key. "record" asks what is not there yet and keeps it; "replay" asks nobody.
"""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from enlist.agents.language.questions import Answer, Ask, LanguageModel
from enlist.agents.language.settings import ModelSettings
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.ids import content_hash


@dataclass(frozen=True)
class Recorded:
    """A model whose answers are kept in `folder`."""

    model: LanguageModel
    settings: ModelSettings
    folder: Path
    mode: Literal["record", "replay"] = "record"

    def ask(self, question: Ask) -> Answer:
        """The recorded answer, at no cost; else the model's, kept. `not_found` in replay where there is none."""
        name = content_hash([self.settings.name, self.settings.model, question.model_dump(mode="json")])
        path = self.folder / f"{name}.json"
        if path.is_file():
            try:
                kept = Answer.model_validate_json(path.read_bytes())
            except ValidationError as error:
                raise EnlistError("bad_input", "a recorded answer is damaged", given=str(path),
                                  fix="remove the file and record it again") from error
            return kept.model_copy(update={"tokens_in": 0, "tokens_out": 0, "usd": 0.0, "estimated": False})
        if self.mode == "replay":
            raise EnlistError("not_found", "no answer to this question was recorded", given=path.name,
                              allowed=f"the answers in {self.folder}", fix="record it with a model first")
        answer = self.model.ask(question)
        self.folder.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=self.folder, suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(answer.model_dump_json().encode())
        os.replace(temporary, path)
        return answer
