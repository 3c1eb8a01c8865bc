"""`enlist memory`: full-text search over what runs have found."""

from typing import Annotated, Any, get_args

import typer

from enlist.evals.cli.answer import Answer, Json

app = typer.Typer(add_completion=False, rich_markup_mode=None, help="Search what runs have found.",
                  epilog="\b\nExample:\n  enlist memory search \"cannot run faster\"")


@app.callback()
def _memory() -> None:
    """Search what runs have found."""


@app.command(epilog="\b\nExample:\n  enlist memory search \"cannot run faster\" --kind finding --limit 5")
def search(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Words; all must occur.")],
    run: Annotated[str | None, typer.Option("--run", metavar="RUN", help="Only this run.")] = None,
    kind: Annotated[str | None, typer.Option("--kind", metavar="KIND",
                                              help="Only records of this kind, such as finding or check.")] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many, best first.")] = 20,
    as_json: Json = False,
) -> Answer:
    """Search the text of findings, checks and other records."""
    from enlist.evals.cli.settings import readable, settings, store
    from enlist.tools.runtime.errors import EnlistError
    from enlist.tools.runtime.memory.protocol import RecordKind

    kinds = get_args(RecordKind)
    if kind is not None and kind not in kinds:
        raise EnlistError("bad_input", "there are no records of this kind", given=kind, allowed=", ".join(kinds),
                          fix="give one of them, or leave --kind away")
    with store(settings()) as memory:
        found = memory.search(readable(text), kind=kind, run=readable(run) if run else None, limit=limit)
    rows = [record.model_dump(mode="json") for record in found]

    def show(terminal: Any) -> None:
        if not rows:
            terminal.line("Nothing found.")
            return
        for row in rows:
            terminal.line(f"{row['run'] or '-'}  {row['kind']}", "bold")
            terminal.paragraph(row["text"], indent=2)
        terminal.line("Next: enlist show RUN")

    return Answer({"records": rows}, show)
