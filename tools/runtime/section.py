"""A section of a report: sentences that point at findings, tables and figures.

A tool renders its own outputs into a section; the writer joins sections and adds no claim. Every sentence that says
something about the user's matter names the findings it rests on.
"""

from pydantic import BaseModel, ConfigDict

Cell = str | float | int | None


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Sentence(_Strict):
    """One sentence and the ids of the findings it rests on; none only where it states no fact of the matter."""

    text: str
    findings: tuple[str, ...] = ()


class Table(_Strict):
    """A table; every row has as many cells as there are columns."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]


class Figure(_Strict):
    """A figure as a self-contained SVG element (no scripts, no outside references)."""

    title: str
    svg: str


class Section(_Strict):
    """One capability's part of a report; `assumptions` are read first, then `lead` (the answer), `next` is a command
    or step that would tell more."""

    title: str
    assumptions: tuple[Sentence, ...] = ()
    lead: tuple[Sentence, ...] = ()
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = ()
    next: str | None = None
