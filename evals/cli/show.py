"""`enlist show`: a run as it stands, or followed while it works."""

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from enlist.evals.cli.answer import Answer, Json, JsonLines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from enlist.evals.cli.progress import Follower
    from enlist.evals.cli.terminal import Terminal
    from enlist.orchestrator.state import RunState, Status
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

    With --follow the exit status is the run's, else 0. With --jsonl the run's events come first, one a line.
    """
    from enlist.evals.cli.ended import answer_of
    from enlist.evals.cli.progress import Follower
    from enlist.evals.cli.settings import readable, settings, store
    from enlist.orchestrator.run import show as as_it_stands
    from enlist.orchestrator.state import ENDED, RunState

    config, run = settings(), readable(run)
    with store(config) as memory:
        if follow:
            as_it_stands(memory, config, run)  # refuses an unknown run before it waits for one
            with Follower(ctx.obj, f"following {run}") as follower:
                follow_run(memory, run, follower)
        elif ctx.obj.mode == "jsonl":
            as_it_stands(memory, config, run)  # refuses an unknown run before its events
            with Follower(ctx.obj) as follower:
                follower.watch(memory.events(run))
        state = RunState.read(memory, run)
        status = status_now(memory, state)
        ended = replace(as_it_stands(memory, config, run), status=status)
        if status in ("accepted", "running"):
            ended = replace(ended, next=f"enlist show {run} --follow")
        answer = answer_of(ended, None if follow else 0)
    roles = [] if status in ENDED else [f"{role}: {standing}" for role, standing in standings(state)]

    def render(terminal: "Terminal") -> None:
        for line in roles:
            terminal.line(line)
        answer.show(terminal)

    return replace(answer, show=render)


def standings(state: "RunState") -> "Iterator[tuple[str, str]]":
    """Each role of a run's plan with the agent that fills it and how far it is."""
    if state.planning is None or state.planning.plan is None:
        return
    for role in state.planning.plan.order():
        how = ("finished" if role in state.finished else "given up" if role in state.given_up
               else "started" if role in state.started else "waits")
        yield role, f"{how} ({state.members[role].agent})"


def status_now(memory: "Memory", state: "RunState") -> "Status":
    """The status of a run; one that says it is alive and that nobody drives was killed and could not say so."""
    if state.status in ("accepted", "running") and not is_driven(memory, state.run):
        return "interrupted"
    return state.status


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
