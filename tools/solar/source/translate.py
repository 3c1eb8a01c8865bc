"""Any language into the Affine Loop IR by a language model. A translation counts only after it was run.

The model proposes a program; it is parsed, validated, and run beside the source (`check`, in a sandbox). The first
fault or difference goes back to the model, a few times. What never equals the source is refused.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.loops.parser import parse
from enlist.tools.solar.loops.program import Program
from enlist.tools.solar.loops.validate import validate
from enlist.tools.solar.source.equality import Compared
from enlist.tools.solar.source.running import LANGUAGES

ROUNDS = 4
_LONGEST = 60_000  # characters of source that a question holds


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
    input a: float32[N, M]            # parameters that are read, by the source's names and in its order
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
Every element is assigned with = before it is reduced into. Inputs are never assigned.

Source:
{source}
"""


def translate(source: str, language: str, proposer: Proposer | None,
              check: Callable[[Program], Compared], rounds: int = ROUNDS) -> Translation:
    """The program that equals a source.

    Args:
        language: one of `LANGUAGES`.
        proposer: asks a language model; None where none is configured.
        check: runs program and source and compares; must run the source in a sandbox (`loop-equals`).

    Raises `not_installed` without a model, `bad_input` for an unknown language, `unsupported` where the source cannot
    be run and no examples were given, `invalid_output` where no proposal equalled the source.
    """
    if language not in LANGUAGES:
        raise EnlistError("bad_input", "not a language that can be translated", given=language,
                          allowed=", ".join(LANGUAGES), fix="name one of these")
    if proposer is None:
        raise EnlistError(
            "not_installed", f"translating {language} needs a language model, and none is configured",
            allowed="a model, a .loop file, or NumPy of the subset, which needs no model",
            fix="configure a model, or write the loops by hand as FILE.loop (docs/loop-ir.md)")
    if len(source) > _LONGEST:
        raise EnlistError("bad_input", "the source is too long to translate", given=f"{len(source)} characters",
                          allowed=f"{_LONGEST}", fix="give the one function alone")
    task = _TASK.format(language=language, source=source)
    question, last = task, "no answer"
    for number in range(1, rounds + 1):
        text = _program_text(proposer(question))
        try:
            program = parse(text, "proposal")
            validate(program)
            compared = check(program)
            if compared.equal:
                return Translation(program, compared, number)
            last = compared.difference
        except EnlistError as error:
            if error.code in ("unsupported", "sandbox_unavailable", "not_installed", "cancelled", "not_found"):
                raise
            last = error.sentence()
        question = f"{task}\nYour last answer:\n```\n{text}\n```\nIt is wrong: {last}\nAnswer with the mended program."
    raise EnlistError("invalid_output", f"no translation equalled the source in {rounds} rounds; the last one: {last}",
                      fix="write the loops by hand as FILE.loop, or try another model")


def _program_text(answer: str) -> str:
    """The program in an answer: its first fenced block, else from the word `program` on."""
    fenced = re.search(r"```[\w+-]*\n(.*?)```", answer, re.DOTALL)
    if fenced:
        return fenced[1]
    start = re.search(r"(?m)^\s*program\s", answer)
    return answer[start.start():] if start else answer
