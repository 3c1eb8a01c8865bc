"""`enlist metrics`: what the runs of the store amount to, as Prometheus text.

Once, or over HTTP for Prometheus to scrape; `exposition` says what stands in it.
"""

from typing import Annotated, Any

import typer

from enlist.evals.cli.answer import Answer, Json

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog="\b\nExample:\n  enlist metrics --limit 500\n  enlist metrics --port 9464")
def metrics(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="Reckon over so many of the newest runs.")
                     ] = 1000,
    port: Annotated[int | None, typer.Option("--port", min=0, max=65535, help="Serve them at /metrics of this port "
                                             "until interrupted.")] = None,
    host: Annotated[str, typer.Option("--host", help="Address to serve at.")] = "127.0.0.1",
    as_json: Json = False,
) -> Answer:
    """Print the store's metrics as Prometheus text: runs, roles, tools, re-enlistments, tokens, dollars."""
    from enlist.evals.cli.metrics_of_runs import Reckoned, exposition, reckon, serve
    from enlist.evals.cli.settings import settings, store

    known: dict[str, Reckoned] = {}
    with store(settings()) as memory:
        if port is not None:
            serve(host, port, lambda: exposition(reckon(memory, limit, known)), ctx.obj.note)
        sums = reckon(memory, limit, known)
    rows = [{"metric": name, "labels": dict(labels), "value": value} for (name, labels), value in sorted(sums.items())]

    def show(terminal: Any) -> None:
        terminal.text(exposition(sums).rstrip("\n"))

    return Answer({"metrics": rows}, show)
