"""`enlist run`: answer a request."""

from typing import Annotated

import typer

from enlist.evals.cli.answer import Answer, Json, JsonLines

app = typer.Typer(add_completion=False, rich_markup_mode=None)

Attach = Annotated[list[str] | None, typer.Option("--attach", metavar="PATH",
                                                     help="A file or folder to work on; may be repeated.")]
Seed = Annotated[int | None, typer.Option("--seed", metavar="N", help="Seed of team search.  [default: 0]")]
Seconds = Annotated[float | None, typer.Option("--budget-seconds", metavar="N", help="Wall seconds the run may take.")]
Dollars = Annotated[float | None, typer.Option("--budget-usd", metavar="N",
                                                help="US dollars its language models may cost.")]
Models = Annotated[str | None, typer.Option("--use-models", metavar="NAMES",
                                            help="Models of enlist.toml that it may ask, or none.")]
Address = Annotated[str | None, typer.Option("--address", metavar="RAY",
                                              help="A Ray cluster; without it a local Ray is started.")]

Snapshot = Annotated[str | None, typer.Option("--snapshot", metavar="ID",
                                               help="A pool that `enlist agents snapshot` pinned; else the newest.")]


@app.command(epilog="\b\nExample:\n  enlist run \"how far is this model from the limit?\" --attach model.py\n"
                    "  enlist run \"what failed?\" --attach app.log --json")
def run(
    ctx: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The request in plain language.")],
    attach: Attach = None,
    seed: Seed = None,
    budget_seconds: Seconds = None,
    budget_usd: Dollars = None,
    use_models: Models = None,
    address: Address = None,
    snapshot: Snapshot = None,
    out: Annotated[str | None, typer.Option("--out", metavar="DIR", help="Folder that the report is written below.")
                   ] = None,
    as_json: Json = False,
    as_lines: JsonLines = False,
) -> Answer:
    """Answer a request with a team of agents and write a report.

    Exit status: 0 done, 1 failed or partial (with a report), 2 bad usage, 3 budget spent, 130 interrupted.
    """
    from enlist.evals.cli.ended import answer_of
    from enlist.evals.cli.progress import Follower
    from enlist.evals.cli.settings import readable, settings, typed_paths
    from enlist.orchestrator.run import run as answer_request

    config = settings(seed=seed, budget_seconds=budget_seconds, budget_usd=budget_usd, use_models=use_models,
                      address=address, out=out)
    with Follower(ctx.obj) as follower:
        ended = answer_request(config, readable(text), typed_paths(attach), snapshot=snapshot, watch=follower.watch,
                               interrupt=follower.interrupt)
    return answer_of(ended)
