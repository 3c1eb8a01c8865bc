"""`enlist doctor`: what works here, what is missing and how to get it."""

from typing import Any

import typer

from enlist.evals.cli.answer import Answer, Json

app = typer.Typer(add_completion=False, rich_markup_mode=None)
MARKS = {"ok": "ok", "missing": "--", "broken": "!!"}


@app.command(epilog="\b\nExample:\n  enlist doctor\n  enlist doctor --json")
def doctor(ctx: typer.Context, as_json: Json = False) -> Answer:
    """Tell what works here, what is missing and how to get it.

    Exit status: 0 where the main job can run, else 1.
    """
    from enlist.evals.cli.examination import examine

    with ctx.obj.working("looking at this machine"):
        found = examine()
    able = not any(one.state == "broken" for one in found)
    document = {"ok": able, "checks": [one.document() for one in found]}

    def show(terminal: Any) -> None:
        terminal.line("The main job can run here." if able else "The main job cannot run here; see below.", "bold")
        terminal.table(("", "what", "found"), [
            (MARKS[one.state], one.name, one.found) for one in found], keep=(0, 1))
        for one in found:
            if one.fix:
                terminal.paragraph(f"{one.name}: {one.fix}")
        terminal.line('Next: enlist run "..." --attach FILE' if able else "Next: mend what is marked !!")

    return Answer(document, show, 0 if able else 1)
