"""`enlist campaign`: benchmark solvers over environments, unattended and resumable."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from enlist.evals.cli.answer import Answer, Json

if TYPE_CHECKING:
    from enlist.evals.campaign.campaign import CampaignEnded
    from enlist.evals.campaign.compare import Comparison
    from enlist.evals.cli.terminal import Terminal
    from enlist.tools.runtime.events import Event

app = typer.Typer(add_completion=False, rich_markup_mode=None,
                  help="Benchmark solvers over environments and compare them.",
                  epilog="\b\nExample:\n  enlist campaign run evals/campaigns/teaming-quick.yaml")
MOST_CHANGES = 20

Campaign = Annotated[str, typer.Argument(metavar="ID|JSON", help="A campaign's id from `enlist campaign list`, or "
                                             "the path of a leaderboard.json.")]
Out = Annotated[str | None, typer.Option("--out", metavar="DIR", help="Folder that files are written below.")]


@app.command(epilog="\b\nExample:\n  enlist campaign run evals/campaigns/teaming-quick.yaml\n"
                    "  enlist campaign run my.yaml --limit 2 --json")
def run(
    ctx: typer.Context,
    file: Annotated[str, typer.Argument(metavar="FILE", help="The campaign file (docs/campaigns.md).")],
    limit: Annotated[int | None, typer.Option("--limit", metavar="N", min=1, help="Only the first N tasks of each "
                                                 "environment and seed.")] = None,
    sample: Annotated[int | None, typer.Option("--sample", metavar="N", min=1, help="Only N tasks in all, drawn with "
                                                  "a fixed seed.")] = None,
    address: Annotated[str | None, typer.Option("--address", metavar="RAY",
                                                 help="A Ray cluster; without it a local Ray is started.")] = None,
    out: Out = None,
    as_json: Json = False,
) -> Answer:
    """Run a campaign, or go on with it where it stopped.

    The same file with the same versions is the same campaign; one that is complete does nothing. Exit status: 0 done,
    1 partial (samples were given up), 2 bad file, 3 budget spent, 130 interrupted.
    """
    from enlist.evals.campaign.campaign import EXIT_CODES, run_campaign
    from enlist.evals.cli.progress import Listened
    from enlist.evals.cli.settings import readable, settings, typed_paths

    config = settings(address=address, out=out)
    with _Progress(ctx.obj) as progress:
        ended = run_campaign(config, typed_paths([readable(file)])[0], limit=limit, sample=sample,
                             watch=progress.watch, interrupt=Listened(ctx.obj))
    return _answer(ended, EXIT_CODES[ended.status])


@app.command(epilog="\b\nExample:\n  enlist campaign show c0123456789abcdef")
def show(campaign: Campaign, as_json: Json = False) -> Answer:
    """Show a campaign's leaderboard as it stands, from any terminal and without Ray."""
    from enlist.evals.cli.settings import settings, store

    with store(settings()) as memory:
        return _answer(_read(memory, campaign), 0)


@app.command(epilog="\b\nExample:\n  enlist campaign diff c0123456789abcdef cfedcba9876543210\n"
                    "  enlist campaign diff old/leaderboard.json new/leaderboard.json")
def diff(before: Campaign, after: Campaign, as_json: Json = False) -> Answer:
    """Compare two campaigns, solver by solver on the tasks that both have.

    Exit status: 0, or 1 where a solver got worse beyond chance.
    """
    from enlist.evals.campaign.compare import compare
    from enlist.evals.cli.settings import settings, store

    with store(settings()) as memory:
        found = compare(_read(memory, before).content, _read(memory, after).content)
    return Answer(found.model_dump(mode="json"), lambda terminal: _show_diff(found, terminal),
                  1 if found.regressions else 0)


@app.command("list", epilog="\b\nExample:\n  enlist campaign list")
def list_campaigns(as_json: Json = False) -> Answer:
    """List the campaigns of the store, newest first."""
    from enlist.evals.campaign.campaign import campaigns, status_now
    from enlist.evals.campaign.journal import State
    from enlist.evals.cli.settings import settings, store

    rows: list[dict[str, Any]] = []
    with store(settings()) as memory:
        for id in reversed(campaigns(memory)):
            record, state = memory.record("plan", id, "campaign"), State.read(memory, id)
            data: dict[str, Any] = record.data if record is not None else {}
            rows.append({"campaign": id, "name": data["file"]["name"], "status": status_now(memory, id, state),
                         "settled": len(state.outcomes), "samples": data["samples"]})

    def render(terminal: "Terminal") -> None:
        if not rows:
            terminal.line("No campaigns yet. Next: enlist campaign run FILE")
            return
        terminal.table(("campaign", "status", "settled", "of", "name"), [
            (r["campaign"], r["status"], r["settled"], r["samples"], r["name"]) for r in rows], keep=(0, 1))
        terminal.line("Next: enlist campaign show ID")

    return Answer({"campaigns": rows}, render)


@app.command(epilog="\b\nExample:\n  enlist campaign export c0123456789abcdef --out logs")
def export(campaign: Campaign, out: Out = None, as_json: Json = False) -> Answer:
    """Write a campaign as logs of Inspect, one for each solver and environment.

    `inspect view --log-dir DIR` then shows them.
    """
    from enlist.evals.campaign.inspect_log import export as write_logs
    from enlist.evals.cli.settings import settings, store

    config = settings(out=out)
    with store(config) as memory:
        ended = _read(memory, campaign)
    folder = Path(config["out"]) / ended.campaign / "inspect"
    written = [str(path) for path in write_logs(ended.content, ended.about, folder, ended.plan)]

    def render(terminal: "Terminal") -> None:
        for path in written:
            terminal.line(path)
        terminal.line(f"Next: inspect view --log-dir {Path(written[0]).parent}" if written else "Nothing is settled.")

    return Answer({"campaign": ended.campaign, "logs": written}, render)


def _read(memory: Any, campaign: str) -> "CampaignEnded":
    """A campaign by its id, or out of a leaderboard.json."""
    from enlist.evals.campaign.campaign import from_document, show_campaign
    from enlist.evals.cli.settings import readable
    from enlist.evals.cli.tool import read_input

    campaign = readable(campaign)
    return from_document(read_input(f"@{campaign}")) if campaign.endswith(".json") else show_campaign(memory, campaign)


def _answer(ended: "CampaignEnded", code: int) -> Answer:
    return Answer(ended.document(), lambda terminal: _show(ended, terminal), code)


def _show(ended: "CampaignEnded", terminal: "Terminal") -> None:
    from enlist.evals.campaign import wording
    from enlist.evals.campaign.campaign import spent_of

    content, run, costs = ended.content, ended.about, spent_of(ended.about)
    for board in content.boards:
        terminal.line(wording.heading(board), "bold")
        terminal.paragraph(wording.reading(content, board))
        mine = wording.spent_by_row(board, costs)
        terminal.table(("solver", "score", "s/success", "verdicts"), [
            (wording.named(row), wording.estimated(row.score),
             wording.amount(mine[row.solver].seconds_per_success.value), wording.verdicts(row)) for row in board.rows],
            keep=(1, 2))
        for row in board.rows:
            if row.difference:
                terminal.paragraph(f"{row.solver} - {content.against}: {wording.differing(row.difference)}")
        for line in wording.absences(board):
            terminal.paragraph(line)
        terminal.line()
    for name, reason in list(run["given_up"].items())[:5]:
        terminal.paragraph(f"Given up: {name}: {reason}")
    if ended.error is not None:
        terminal.fault(ended.error)
    if ended.written is not None:
        for path in (ended.written.paths()[kind] for kind in ("html", "md", "json")):
            terminal.line(f"Leaderboard: {path}")
    terminal.line(f"Campaign {ended.campaign}: {ended.status}, {run['settled']} of {run['samples']} samples, "
                  f"{run['cost']['seconds']:.1f} s. Next:")
    terminal.line("  run the same command to go on" if ended.status in ("interrupted", "budget")
                  else f"  enlist campaign export {ended.campaign}")


def _show_diff(found: "Comparison", terminal: "Terminal") -> None:
    from enlist.evals.campaign import wording

    for line in found.changed or ("the same versions",):
        terminal.line(f"Changed: {line}" if found.changed else "Made with the same versions.")
    for pair in found.solvers:
        flag = "  REGRESSION" if pair.regression else ""
        terminal.paragraph(f"{pair.environment} {pair.solver}: {wording.differing(pair.difference)}, "
                           f"{pair.better} tasks better, {pair.worse} worse{flag}",
                           style="bold" if pair.regression else "")
        for task in pair.tasks[:MOST_CHANGES]:
            terminal.line(f"  seed {task.seed} {task.task}: {task.before:.3f} -> {task.after:.3f} "
                          f"({task.verdict_before} -> {task.verdict_after})")
        if len(pair.tasks) > MOST_CHANGES:
            terminal.line(f"  ... {len(pair.tasks) - MOST_CHANGES} more with --json")
    for line in found.only:
        terminal.line(line)


class _Progress:
    """Samples as they end, on standard error: each as a line, or a bar where that is a terminal."""

    def __init__(self, terminal: "Terminal") -> None:
        self.terminal, self.ended = terminal, 0
        self._bar: Any = None

    def __enter__(self) -> "_Progress":
        if self.terminal.mode == "human" and self.terminal.err.is_terminal:
            self._bar = self.terminal.err.status("planning; Ray starts")
            self._bar.start()
        else:
            self.terminal.note("planning; Ray starts ...")
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def watch(self, events: "list[Event]") -> None:
        for event in events:
            if event.data.get("what") in ("settled", "failed"):
                self.ended += event.data["what"] == "settled"
                if self._bar is not None:
                    self._bar.update(f"{self.ended} settled; {event.data['text']}"[:100])
                else:
                    self.terminal.note(f"{self.ended} settled; {event.data['text']}")
