"""Answers that the store keeps: the same question to the same model is asked once, and a run that goes on pays nothing
for what it asked before it was killed.

Questions are asked at temperature 0, so the first answer stands for all. An answer is a record of no run, named by the
hash of the endpoint, the model and the question; never of the key. Faults are not kept.
"""

from dataclasses import dataclass

from enlist.agents.language.questions import Answer, Ask, LanguageModel
from enlist.agents.language.settings import ModelSettings
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.ids import content_hash
from enlist.tools.runtime.memory.protocol import Memory, NewRecord

FREE = {"tokens_in": 0, "tokens_out": 0, "usd": 0.0, "estimated": False}


@dataclass(frozen=True)
class Kept:
    """A model before which the store is asked."""

    model: LanguageModel
    settings: ModelSettings
    memory: Memory

    def ask(self, question: Ask) -> Answer:
        """The kept answer, at no cost; else the model's, kept."""
        id = content_hash([self.settings.endpoint, self.settings.model, self.settings.schema_mode,
                           question.model_dump(mode="json")])
        record = self.memory.record("answer", "", id)
        if record is not None:
            return Answer.model_validate(record.data).model_copy(update={**FREE, "model": self.settings.name})
        answer = self.model.ask(question)
        try:
            self.memory.commit("", 0, [], [NewRecord(kind="answer", id=id, data=answer.model_dump(mode="json"))])
        except EnlistError as error:
            if error.code != "conflict":  # another process was first, with another answer: ours is as good
                raise
        return answer
