"""What a command hands to the terminal: a JSON document, how to show it to a person, and the exit status."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from enlist.evals.cli.terminal import Terminal

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
"""The flag of every command. `main` reads it before the command runs, because faults obey it too."""

JsonLines = Annotated[bool, typer.Option("--jsonl", help="Stream one JSON object a line.")]


@dataclass(frozen=True)
class Answer:
    """`document` is what `--json` prints, a list where there are several answers; `show` prints the same for people.
    `rows`: what the machine modes print in its place, one JSON object a line, where there may be millions."""

    document: dict[str, Any] | list[dict[str, Any]]
    show: Callable[["Terminal"], None]
    code: int = 0
    rows: Iterable[dict[str, Any]] | None = None
