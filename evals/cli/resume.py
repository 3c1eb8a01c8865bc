"""`enlist resume`: go on with a run that was interrupted."""

from typing import Annotated

import typer

from enlist.evals.cli.answer import Answer, Json, JsonLines
from enlist.evals.cli.run import Address, Seconds

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog="\b\nExample:\n  enlist resume r1kf0c7vd3m2a9xq --budget-seconds 600")
def resume(
    ctx: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's id, from `enlist runs`.")],
    accept_changed: Annotated[bool, typer.Option("--accept-changed", help="Go on although versions have changed.")
                              ] = False,
    budget_seconds: Seconds = None,
    address: Address = None,
    as_json: Json = False,
    as_lines: JsonLines = False,
) -> Answer:
    """Go on with a run that was interrupted, killed or out of time; finished work is kept."""
    from enlist.evals.cli.ended import answer_of
    from enlist.evals.cli.progress import Follower
    from enlist.evals.cli.settings import readable, settings
    from enlist.orchestrator.run import resume as go_on

    config = settings(budget_seconds=budget_seconds, address=address)
    with Follower(ctx.obj) as follower:
        ended = go_on(config, readable(run), accept_changed=accept_changed, watch=follower.watch,
                      interrupt=follower.interrupt)
    return answer_of(ended)
