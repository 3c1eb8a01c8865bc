"""Any language into the Affine Loop IR by a language model. A translation counts only after it was run.

The model proposes a program; it is parsed here, and validated and run beside the source by `check`, in a sandbox. The
first fault or difference goes back to the model, a few times. What never equals the source is refused.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.loops.parser import parse
from enlist.tools.solar.loops.program import Program
from enlist.tools.solar.source.equality import Compared
from enlist.tools.solar.source.languages import LANGUAGES, without_model

ROUNDS = 4
_LONGEST = 60_000  # characters of source that a question holds, and of a program that an answer may be
_SHOWN = 8_000  # characters of a refused answer that go back
_MENDABLE = frozenset(("bad_input", "tool_failed", "timeout", "resource_limit", "invalid_output"))


class Proposer(Protocol):
    """Answers a question in words; a language model behind any client."""

    def __call__(self, question: str, /) -> str: ...


@dataclass(frozen=True)
class Translation:
    """A program whose outputs equalled the source's, and on how much that rests."""

    program: Program
    compared: Compared
    rounds: int


_TASK = """Translate the {language} source below into one program of the Affine Loop IR. Answer with the program in one
fenced block and nothing else.

    program NAME
    size N = 64, M = 32               # every size of the source, by the source's name, with a value
    input a: float32[N, M], t: float32[]  # parameters that are read, by the source's names; [] for a single number
    temp s: float32[N]
    output c: float32[N]              # results, in the source's order; by the parameter's name where it is one
    for i in 0..N {{                  # upper end excluded; `step 2` and `step -1` may follow
      s[i] = 0
      for j in 0..min(M, i + 1) {{ if j % 2 == 0 {{ s[i] += a[i, j] }} }}
      c[i] = select(s[i] > 0, sqrt(s[i]), 0)
    }}

Assignments: = += *= max= min=. Functions: min max exp log sqrt tanh erf sin cos abs floor pow select, and dtypes as
casts. dtypes: float64 float32 float16 bfloat16 int64 int32 int8 bool. Bounds, guards and indices are affine in loop
variables (// and % by constants too); an index may be read from an integer tensor: a[ids[i], j]. A scalar is t[].
Every element is assigned with = before it is reduced into. Inputs are never assigned: of an array x that the source
changes in place, `input x` is what it held before and `output x_out` what it holds afterwards. Of an output
exactly those elements are assigned that the source writes.

Source:
{source}
"""


def translate(source: str, language: str, proposer: Proposer | None,
              check: Callable[[Program], Compared], rounds: int = ROUNDS, name: str = "source") -> Translation:
    """The program that equals a source.

    Args:
        language: one of `LANGUAGES`.
        proposer: asks a language model; None where none is configured.
        check: validates a program, runs it and its source and compares; must do so in a sandbox (`loop-equals`).
        name: what to call the source in messages.

    Raises `not_installed` without a model, `bad_input` for an unknown language, `unsupported` where the source cannot
    be run and no examples were given, `invalid_output` where no proposal equalled the source; what `proposer` raises.
    """
    if language not in LANGUAGES:
        raise EnlistError("bad_input", "not a language that can be translated", given=language,
                          allowed=", ".join(LANGUAGES), fix="name one of these")
    if proposer is None:
        raise without_model(language, name)
    if len(source) > _LONGEST:
        raise EnlistError("bad_input", "the source is too long to translate", given=f"{len(source)} characters",
                          allowed=f"{_LONGEST}", fix="give the one function alone")
    task = _TASK.format(language=language, source=source)
    question, last, late = task, "no answer", 0
    for number in range(1, rounds + 1):
        text = _program_text(proposer(question))
        try:
            if len(text) > _LONGEST:
                raise EnlistError("bad_input", "the program is too long", allowed=f"{_LONGEST} characters")
            program = parse(text, "proposal")
            compared = check(program)
            if compared.equal:
                return Translation(program, compared, number)
            last = compared.difference
        except EnlistError as error:
            late += error.code == "timeout"
            if error.code not in _MENDABLE or late > 1:  # twice too long: the source itself hardly ends
                raise
            last = error.sentence()
        question = (f"{task}\nYour last answer:\n```\n{text[:_SHOWN]}\n```\nIt is wrong: {last}\n"
                    "Answer with the mended program.")
    raise EnlistError("invalid_output",
                      f"no translation of {name} equalled it in {rounds} rounds; the last one: {last}",
                      fix="write the loops by hand as FILE.loop, or try another model")


def _program_text(answer: str) -> str:
    """The program in an answer: its first fenced block, else from the word `program` on."""
    fenced = re.search(r"```[\w+-]*\n(.*?)```", answer, re.DOTALL)
    if fenced:
        return fenced[1]
    start = re.search(r"(?m)^\s*program\s", answer)
    return answer[start.start():] if start else answer
