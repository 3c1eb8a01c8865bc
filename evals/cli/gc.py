"""`enlist gc`: delete finished runs and the files that nothing refers to any more."""

from typing import Annotated, Any

import typer

from enlist.evals.cli.answer import Answer, Json

app = typer.Typer(add_completion=False, rich_markup_mode=None)
DAY, HOUR = 86_400.0, 3_600.0  # seconds


@app.command(epilog="\b\nExample:\n  enlist gc --keep 20\n  enlist gc --keep 20 --older-than 30 --yes")
def gc(
    ctx: typer.Context,
    keep: Annotated[int | None, typer.Option("--keep", metavar="N", min=0,
                                             help="Keep this many of the newest runs.")] = None,
    older_than: Annotated[float | None, typer.Option("--older-than", metavar="DAYS", min=0,
                                                     help="Only runs older than these days.")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete; without it only tell what would be deleted.")] = False,
    as_json: Json = False,
) -> Answer:
    """Delete finished runs and the files that nothing refers to.

    Runs that are alive or can be resumed stay. Where both rules are given, both must hold. Files go only a day after
    they were last stored; report folders stay.
    """
    from enlist.evals.cli.settings import settings, store
    from enlist.tools.runtime.errors import EnlistError
    from enlist.tools.runtime.memory.retention import GRACE_S, collect_garbage

    if keep is None and older_than is None:
        raise EnlistError("bad_input", "what to keep is not said", allowed="--keep N, --older-than DAYS, or both",
                          fix="for example enlist gc --keep 20")
    config = settings()
    with store(config) as memory, ctx.obj.working("looking through the store"):
        found = collect_garbage(memory, keep_runs=keep, dry_run=not yes,
                                older_than_s=None if older_than is None else older_than * DAY)
        waiting = [size for sha256, size in memory.unused_artifacts(0.0, forgotten=found.runs)
                   if sha256 not in found.artifacts]
    document = {"dry_run": found.dry_run, "runs": list(found.runs), "runs_kept": found.runs_kept,
                "artifacts": list(found.artifacts), "artifact_bytes": found.artifact_bytes,
                "waiting": len(waiting), "waiting_bytes": sum(waiting), "grace_seconds": GRACE_S}

    def show(terminal: Any) -> None:
        verb = "Would delete" if found.dry_run else "Deleted"
        terminal.line(f"{verb} {len(found.runs)} runs and {len(found.artifacts)} files "
                      f"({found.artifact_bytes / 1e6:.1f} MB); {found.runs_kept} runs stay.")
        terminal.paragraph(f"Files of deleted runs go only {GRACE_S / HOUR:.0f} hours after they were last stored: "
                           f"{len(waiting)} ({sum(waiting) / 1e6:.1f} MB) wait for that; run gc again then.")
        terminal.paragraph(f"Report folders (below {config['out']}) are not touched.")
        if found.dry_run and (found.runs or found.artifacts):
            terminal.line("Next: the same with --yes")

    return Answer(document, show)
