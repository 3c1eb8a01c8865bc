"""`enlist stop`: ask a run to stop."""

from typing import Annotated

import typer

from enlist.evals.cli.answer import Answer, Json

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog="\b\nExample:\n  enlist stop r1kf0c7vd3m2a9xq")
def stop(run: Annotated[str, typer.Argument(metavar="RUN", help="The run's id, from `enlist runs`.")],
         as_json: Json = False) -> Answer:
    """Ask a run to stop, from any terminal; it can be resumed."""
    from enlist.evals.cli.settings import readable, settings
    from enlist.orchestrator.run import stop as ask

    said = ask(settings(), readable(run))
    return Answer({"run": run, "message": said}, lambda terminal: terminal.line(said))
