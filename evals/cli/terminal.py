"""The terminal: the one place that writes to standard output and standard error.

In the machine modes (`--json`, `--jsonl`) everything that any library prints goes to standard error, and only documents
reach standard output. Text that came from outside is shown without control characters, so that a file name or a log
line cannot drive the terminal.
"""

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, TextIO

from enlist.tools.runtime.errors import EnlistError

if TYPE_CHECKING:
    from rich.console import Console

    from enlist.evals.cli.answer import Answer

Mode = Literal["human", "json", "jsonl"]

GAP = 2  # blanks between the columns of a table

# C0 but newline, DEL, C1, marks and overrides of writing direction, lone surrogates
_UNSAFE = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f"
                     r"\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def plain(text: str) -> str:
    """`text` with every character that could drive a terminal replaced by U+FFFD, and tabs by a blank."""
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text.replace("\t", " ").replace("\r\n", "\n"))


def one_line(text: str) -> str:
    """`plain` text on one line."""
    return plain(" ".join(text.split(" "))).replace("\n", " ")


def share_out(needs: Sequence[int], width: int, keep: Sequence[int]) -> list[int]:
    """Column widths that sum to at most `width` where the columns `keep` leave room for that: the others get what they
    need if it fits, and else the narrow ones first and equal shares for the rest, each at least 4."""
    left, shares = width - sum(needs[n] for n in keep), list(needs)
    others = sorted((n for n in range(len(needs)) if n not in keep), key=lambda n: needs[n])
    for place, n in enumerate(others):
        shares[n] = min(needs[n], max(4, left // (len(others) - place)))
        left -= shares[n]
    return shares


def cut_short(text: str, width: int) -> str:
    """`text` cut to at most `width` cells with an ellipsis. A number is shown whole or not at all: half of one is
    another number."""
    from rich.cells import set_cell_size

    kept = set_cell_size(text, width - 1).rstrip()
    following = text[len(kept):len(kept) + 1]
    if kept and not following.isspace():
        kept = re.sub(r"[-+]?\d[\d.,eE+-]*$", "", kept)
    return kept.rstrip() + "…"


class Terminal:
    """Where a command writes, as a context."""

    def __init__(self, mode: Mode = "human") -> None:
        self.mode = mode
        self._documents: TextIO | None = None

    def __enter__(self) -> "Terminal":
        if self.mode != "human":
            sys.stdout.flush()
            self._documents = os.fdopen(os.dup(1), "w", encoding="ascii")
            os.dup2(2, 1)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        if self._documents is not None:
            sys.stdout.flush()
            os.dup2(self._documents.fileno(), 1)
            self._documents.close()

    @cached_property
    def out(self) -> "Console":
        """Standard output for people."""
        return _console(sys.stdout)

    @cached_property
    def err(self) -> "Console":
        """Standard error: progress and faults."""
        return _console(sys.stderr)

    def answer(self, answer: "Answer") -> None:
        """Print a command's answer in this terminal's mode; the last line of a stream is of kind `result`."""
        if self.mode == "human":
            answer.show(self)
        elif answer.rows is not None:
            self.rows(answer.rows)
        else:
            document = answer.document
            if self.mode == "jsonl":
                document = {"kind": "result", **(document if isinstance(document, dict) else {"results": document})}
            self.document(document)

    def document(self, data: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> None:
        """Print one JSON document, indented for `--json`, on one line for `--jsonl`."""
        if self._documents is None:
            raise ValueError("documents belong to the machine modes")
        text = json.dumps(data, indent=2 if self.mode == "json" else None, ensure_ascii=True, allow_nan=False)
        self._documents.write(text + "\n")
        self._documents.flush()

    def rows(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Print one JSON object a line."""
        if self._documents is None:
            raise ValueError("documents belong to the machine modes")
        for row in rows:
            self._documents.write(json.dumps(row, ensure_ascii=True, allow_nan=False) + "\n")
        self._documents.flush()

    def fault(self, error: EnlistError) -> None:
        """Print a fault: one short block on standard error, or a document."""
        known = {"code": error.code, "message": error.message, "given": error.given, "allowed": error.allowed,
                 "fix": error.fix}
        if self.mode != "human":
            self.document({"kind": "error", "error": known} if self.mode == "jsonl" else {"error": known})
            return
        lines = [f"error: {one_line(error.message)} ({error.code})"]
        lines += [f"  {label:<8} {one_line(text)}" for label, text in
                  (("given:", error.given), ("allowed:", error.allowed), ("to fix:", error.fix)) if text]
        print("\n".join(lines), file=sys.stderr)

    def line(self, text: str = "", style: str = "") -> None:
        """Print one line; a long one is left to the terminal to wrap, so that it can be copied whole."""
        from rich.text import Text

        self.out.print(Text(one_line(text), style=style), soft_wrap=True)

    def text(self, text: str) -> None:
        """Print lines as they are."""
        for line in text.split("\n"):
            self.line(line)

    def paragraph(self, text: str, indent: int = 0, style: str = "") -> None:
        """Print text wrapped at words to the terminal's width."""
        for line in self._wrapped(one_line(text), self.out.width - indent):
            self.line(" " * indent + line, style)

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[object]], keep: Sequence[int] = (0,)) -> None:
        """Print a table, one line a row, within the terminal's width: columns at the positions `keep` are shown whole,
        the others share what is left and are cut with an ellipsis, never inside a number."""
        from rich.cells import cell_len, set_cell_size
        from rich.text import Text

        cells = [[one_line(str(cell)) for cell in row] for row in [columns, *rows]]
        needs = [max(cell_len(row[n]) for row in cells) for n in range(len(columns))]
        widths = share_out(needs, self.out.width - GAP * (len(columns) - 1), keep)
        for number, row in enumerate(cells):
            shown = [cell if cell_len(cell) <= width else cut_short(cell, width)
                     for cell, width in zip(row, widths, strict=True)]
            padded = (" " * GAP).join(set_cell_size(cell, width) for cell, width in zip(shown, widths, strict=True))
            self.out.print(Text(padded.rstrip(), style="" if number else "bold"), soft_wrap=True)

    def fields(self, pairs: Mapping[str, object]) -> None:
        """Print names and values, a long value wrapped beside its name."""
        left = max(len(name) for name in pairs) + GAP
        for name, value in pairs.items():
            for number, line in enumerate(self._wrapped(plain(str(value)), self.out.width - left) or [""]):
                self.line(f"{'' if number else name:<{left}}{line}")

    def _wrapped(self, text: str, width: int) -> list[str]:
        from rich.text import Text

        return [line.plain.rstrip() for line in Text(text).wrap(self.out, max(20, width))]

    def note(self, text: str) -> None:
        """Print one line on standard error: progress and asides."""
        print(one_line(text), file=sys.stderr, flush=True)

    @contextmanager
    def working(self, text: str) -> Iterator[None]:
        """Say on standard error what is being done while it is done."""
        if self.mode != "human":
            yield
        elif self.err.is_terminal:
            with self.err.status(plain(text)):
                yield
        else:
            self.note(f"{text} ...")
            yield

    def flush(self) -> None:
        """Hand everything to the operating system now; raises BrokenPipeError where the reader has gone."""
        sys.stdout.flush()
        if self._documents is not None:
            self._documents.flush()

    def abandon(self) -> None:
        """Drop what is still to be written: its reader has gone."""
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        if self._documents is not None:
            os.dup2(nothing, self._documents.fileno())
        os.close(nothing)


def _console(stream: TextIO) -> "Console":
    from rich.console import Console

    class Quiet(Console):
        """A console that tells its caller when the reader has gone, where rich would end the process."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    return Quiet(file=stream, markup=False, highlight=False, emoji=False)
