"""Answers that fit a JSON schema: asked for, checked, and repaired a bounded number of times.

An answer that does not fit is sent back with the fault, at most `REPAIRS` times; nothing is filled in. This is apart
from the client's tries over transport faults.
"""

import json
import re
from typing import Any

import jsonschema
from jsonschema.exceptions import best_match

from enlist.agents.language.questions import Answer, Ask, LanguageModel
from enlist.tools.runtime.errors import EnlistError

REPAIRS = 2
SHOWN = 400  # characters of an unfit answer that are quoted back
_FENCE = re.compile(r"^\s*```(?:json)?\s*\n(.*?)\n\s*```\s*$", re.S)


def ask_json(model: LanguageModel, question: Ask,
             accept: dict[str, Any] | None = None) -> tuple[Any, list[Answer]]:
    """A JSON value that fits `accept` (default: the question's schema), and all answers that it took.

    Raises:
        EnlistError: `invalid_output` where no answer fits; faults of the model's client as they are.
    """
    if question.json_schema is None:
        raise EnlistError("internal", "a question for JSON needs a schema")
    answers: list[Answer] = []
    asked = question
    for _ in range(1 + REPAIRS):
        answers.append(model.ask(asked))
        value, fault = read_json(answers[-1].text, accept or question.json_schema)
        if fault is None:
            return value, answers
        asked = question.model_copy(update={"text": (
            f"{question.text}\n\nYour last answer was refused: {fault}\nIt began: {answers[-1].text[:SHOWN]!r}\n"
            "Answer again with JSON that fits the schema, and nothing else.")})
    raise EnlistError("invalid_output", f"the model's answers fit the schema in none of {len(answers)} tries",
                      given=answers[-1].text[:SHOWN], allowed="JSON that fits the schema", details=fault)


def read_json(text: str, schema: dict[str, Any]) -> tuple[Any, str | None]:
    """The value in a text (a fenced block is taken as its content) and why it does not fit, or None."""
    fenced = _FENCE.match(text)
    try:
        value = json.loads(fenced[1] if fenced else text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        return None, f"it is no JSON: {str(error)[:200]}"
    fault = best_match(jsonschema.Draft202012Validator(schema).iter_errors(value))
    return value, None if fault is None else f"{fault.json_path}: {fault.message[:200]}"


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")
