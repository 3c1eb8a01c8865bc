"""`enlist show`: a run as it stands, or followed while it works."""

import time
from typing import TYPE_CHECKING, Annotated

import typer

from enlist.evals.cli.answer import Answer, Json, JsonLines

if TYPE_CHECKING:
    from enlist.evals.cli.progress import Follower
    from enlist.tools.runtime.memory.protocol import Memory

app = typer.Typer(add_completion=False, rich_markup_mode=None)
TICK = 0.3  # seconds between two looks into the store


@app.command(epilog="\b\nExample:\n  enlist show r1kf0c7vd3m2a9xq\n  enlist show r1kf0c7vd3m2a9xq --follow")
def show(
    ctx: typer.Context,
    run: Annotated[str, typer.Argument(metavar="RUN", help="The run's id, from `enlist runs`.")],
    follow: Annotated[bool, typer.Option("--follow", help="Show events as they appear, until the run ends.")] = False,
    as_json: Json = False,
    as_lines: JsonLines = False,
) -> Answer:
    """Show a run, from any terminal and without Ray.

    With --follow the exit status is the run's, else 0.
    """
    from enlist.evals.cli.ended import answer_of
    from enlist.evals.cli.progress import Follower
    from enlist.evals.cli.settings import readable, settings, store
    from enlist.orchestrator.run import show as as_it_stands

    config, run = settings(), readable(run)
    with store(config) as memory:
        if follow:
            as_it_stands(memory, config, run)  # refuses an unknown run before it waits for one
            with Follower(ctx.obj, f"following {run}") as follower:
                follow_run(memory, run, follower)
        return answer_of(as_it_stands(memory, config, run), None if follow else 0)


def follow_run(memory: "Memory", run: str, follower: "Follower") -> None:
    """Hand events to the follower until the run ends, nobody drives it, or nobody reads."""
    seen = 0
    with follower.interrupt:
        while not follower.interrupt.asked():
            driven = is_driven(memory, run)  # before the events, so that the last ones are not missed
            events = memory.events(run, after=seen)
            follower.watch(events)
            seen = events[-1].seq if events else seen
            if not driven:
                return
            time.sleep(TICK)


def is_driven(memory: "Memory", run: str) -> bool:
    """Whether a live process holds the lease of a run."""
    from enlist.tools.runtime.memory.leases import is_over
    from enlist.tools.runtime.memory.owner import owner_alive

    lease = memory.lease(run)
    return lease is not None and not is_over(lease, time.time(), owner_alive)
