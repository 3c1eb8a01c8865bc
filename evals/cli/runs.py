"""`enlist runs`: the runs of the store."""

import time
from typing import Annotated, Any

import typer

from enlist.evals.cli.answer import Answer, Json

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog="\b\nExample:\n  enlist runs --limit 5")
def runs(limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many, newest first.")] = 20,
         as_json: Json = False) -> Answer:
    """List runs, newest first."""
    from enlist.evals.cli.settings import settings, store
    from enlist.evals.cli.show import status_now
    from enlist.evals.cli.terminal import Terminal
    from enlist.orchestrator.state import RunState

    rows: list[dict[str, Any]] = []
    with store(settings()) as memory:
        for id in memory.runs(limit):
            state = RunState.read(memory, id)
            rows.append({"run": id, "status": status_now(memory, state), "accepted": memory.events(id, limit=1)[0].time,
                         "text": state.request.text if state.request else ""})

    def show(terminal: Terminal) -> None:
        if not rows:
            terminal.line('No runs yet. Next: enlist run "..." --attach FILE')
            return
        terminal.table(("run", "status", "accepted", "request"), [
            (r["run"], r["status"], time.strftime("%Y-%m-%d %H:%M", time.localtime(r["accepted"])), r["text"])
            for r in rows], keep=(0, 1, 2))
        terminal.line("Next: enlist show RUN")

    return Answer({"runs": rows}, show)
