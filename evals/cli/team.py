"""`enlist team`: the plan and the team for a request, without running it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from enlist.evals.cli.answer import Answer, Json
from enlist.evals.cli.run import Attach, Seed, Snapshot

if TYPE_CHECKING:
    from enlist.evals.cli.terminal import Terminal
    from enlist.orchestrator.plan import Planning
    from enlist.orchestrator.team import Team

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog="\b\nExample:\n  enlist team \"how far is this model from the limit?\" --attach model.py")
def team(
    ctx: typer.Context,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The request in plain language.")],
    attach: Attach = None,
    pool: Annotated[Path | None, typer.Option("--pool", metavar="PATH",
                                              help="Agent cards to enlist from: YAML, JSON, .npz, .parquet.")] = None,
    seed: Seed = None,
    snapshot: Snapshot = None,
    as_json: Json = False,
) -> Answer:
    """Show the plan and the team for a request, without running it: those that `enlist run` would take."""
    from enlist.agents.pool_files import read_pool
    from enlist.evals.cli.settings import readable, settings, typed_paths
    from enlist.orchestrator.run import team_only
    from enlist.tools.runtime.errors import EnlistError

    if pool is not None and snapshot is not None:
        raise EnlistError("bad_input", "two pools are named", given=f"--pool {pool} --snapshot {snapshot}",
                          allowed="one of --pool and --snapshot", fix="leave one of them away")

    with ctx.obj.working("planning and searching for a team"):
        planning, found = team_only(settings(seed=seed), readable(text), typed_paths(attach),
                                    read_pool(pool) if pool else None, snapshot)
    document = document_of(planning, found)
    return Answer(document, lambda terminal: _show(document, terminal))


def document_of(planning: "Planning", found: "Team | None") -> dict[str, Any]:
    """The command's JSON: the planning with the team's members and how the search went."""
    chosen = found.model_dump(mode="json") if found else {}
    return {**planning.model_dump(mode="json"), "team": chosen.get("members", []),
            **{key: chosen.get(key) for key in ("utility", "upper_bound", "search")}}


def _show(document: dict[str, Any], terminal: "Terminal") -> None:
    if document["plan"] is None:
        terminal.line("Nothing installed here answers this request.", "bold")
    else:
        for member in document["team"]:
            terminal.line(f"{member['role']}: {member['agent']}", "bold")
            if member["runner_up"] is not None:
                terminal.line(f"    ahead of {member['runner_up']} by {member['margin']:.4f}")
        search, bound = document["search"], document["upper_bound"]
        terminal.line(f"Utility {document['utility']:.4f}; no team exceeds {bound['value']:.4f} ({bound['name']}).")
        terminal.line(f"Searched {search['iterations']} iterations, stopped by {search['stopped_by']}.")
        edges = [f"{e['from']} -> {e['to']} ({e['artifact']})" for e in document["plan"]["edges"]]
        if edges:
            terminal.paragraph("Hand-overs: " + ", ".join(edges))
    for missing in document["missing"]:
        terminal.paragraph(f"Missing {missing['capability']}: {missing['reason']}")
    if document["plan"] is None or document["missing"]:
        terminal.table(("nearest", "status", "score", "why"), [
            (n["capability"], n["status"].replace("_", " "), f"{n['score']:.2f}", n["reason"])
            for n in document["nearest"]])
