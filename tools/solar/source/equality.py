"""Whether a program does what its source does: both are run on the same arrays and every output is compared.

Runs foreign code: call `compare` inside a sandbox only. Languages that cannot run here are compared with example
outputs that a person gave; without any, nothing is claimed.
"""

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.loops.affine import size_values
from enlist.tools.solar.loops.interpreter import run
from enlist.tools.solar.loops.program import Program
from enlist.tools.solar.loops.validate import validate
from enlist.tools.solar.source.languages import RUNNABLE
from enlist.tools.solar.source.running import Done, run_source
from enlist.tools.solar.source.trials import FEWEST_SHAPES, VALUES, mismatch, random_inputs, resized_programs

Example = tuple[dict[str, np.ndarray], dict[str, np.ndarray]]


@dataclass(frozen=True)
class Compared:
    """How a comparison ended: `equal`, the first difference in words, on how many shapes and inputs; `at` are the sizes
    of each shape in words."""

    equal: bool
    difference: str
    shapes: int
    inputs: int
    at: tuple[str, ...] = ()


def compare(program: Program, text: str, language: str, target: str | None = None,
            examples: Sequence[Example] = ()) -> Compared:
    """Compare a program with its source.

    Raises `bad_input` for a program that is not valid, `unsupported` for a language that cannot run here and no
    examples, and what `run_source` raises.
    """
    validate(program)
    if language not in RUNNABLE:
        if not examples:
            raise EnlistError(
                "unsupported", f"{language} cannot be run here, so its translation cannot be checked",
                given="no example outputs", allowed=f"{', '.join(RUNNABLE)}, or examples",
                fix="give at least one example of inputs with the outputs that the source makes of them")
        return _with_examples(program, examples)
    tried = 0
    programs = resized_programs(program)
    at = tuple(_sizes(one) for one in programs)
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:
        for number, one in enumerate(programs):
            for values in VALUES:
                inputs = random_inputs(one, values, number)
                try:
                    right = run_source(text, language, target, one, inputs, Path(folder))
                    difference = _difference(one, inputs, right)
                except EnlistError as error:
                    raise EnlistError.from_dict(error.to_dict() | {
                        "message": f"at {at[number]}, {values} inputs: {error.message}"}) from error
                tried += 1
                if difference:
                    return Compared(False, f"at {at[number]}, {values} inputs: {difference}", number + 1, tried)
    if programs != [program] and len(programs) < FEWEST_SHAPES:
        return Compared(False, "the program is valid at one shape only", len(programs), tried)
    return Compared(True, "", len(programs), tried, at)


def _sizes(program: Program) -> str:
    return ", ".join(f"{n}={v}" for n, v in size_values(program).items()) or "the given shapes"


def _with_examples(program: Program, examples: Sequence[Example]) -> Compared:
    for inputs, outputs in examples:
        difference = _difference(program, inputs, Done(outputs))
        if difference:
            return Compared(False, difference, 1, len(examples))
    return Compared(True, "", 1, len(examples))


def _difference(program: Program, inputs: dict[str, np.ndarray], right: Done) -> str:
    done = run(program, inputs)
    for tensor in program.with_role("output"):
        if tensor.name not in right.outputs:
            return f"the example has no output {tensor.name}"
        made, mine = np.asarray(right.outputs[tensor.name]), done.written[tensor.name]
        theirs = right.written.get(tensor.name, mine | (made != 0))  # unknown: zeros need not be written
        if not np.array_equal(mine, theirs):
            place = tuple(np.argwhere(mine != theirs)[0])
            who, other = ("source", "program") if theirs[place] else ("program", "source")
            return f"output {tensor.name}[{', '.join(map(str, place))}] is written by the {who} and not by the {other}"
        found = mismatch(tensor.name, tensor.dtype, done.counts, done.outputs[tensor.name], made, mine)
        if found:
            return found
        if not mine.any() and mine.size:
            return f"output {tensor.name} is never written"
    return ""
