"""`enlist agents`: the pool that teams are enlisted from."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from enlist.evals.cli.answer import Answer, Json

if TYPE_CHECKING:
    from enlist.agents.pool import Pool
    from enlist.evals.cli.terminal import Terminal

app = typer.Typer(add_completion=False, rich_markup_mode=None, help="List agents, show a card, pin the pool.",
                  epilog="\b\nExample:\n  enlist agents list --specialist NAME --limit 10")


@app.command("list", epilog="\b\nExample:\n  enlist agents list\n  enlist agents list --specialist NAME --limit 10")
def list_agents(
    specialist: Annotated[str | None, typer.Option("--specialist", metavar="NAME",
                                                   help="List those of one specialist.")] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", min=1, help="How many lines.")] = 20,
    offset: Annotated[int, typer.Option("--offset", metavar="N", min=0, help="How many to pass over first.")] = 0,
    as_json: Json = False,
) -> Answer:
    """Count the agents by specialist, or list those of one."""
    from enlist.evals.cli.settings import readable

    pool, snapshot_id = _newest()
    counts = _counts(pool)
    if specialist is None:
        rows, what = counts, "specialists"
    else:
        name = readable(specialist)
        _known(name, [row["specialist"] for row in counts])
        rows = [{"agent": id, "reliability": _reliability(pool, id)}
                for id in map(str, pool.ids[pool.specialist == name])]
        what = "agents"
    page = rows[offset:offset + limit]
    document = {"total": len(pool), "distinct": distinct_behaviours(pool),
                "without_model": int(pool.without_model().sum()), what: page, "of": len(rows), "offset": offset,
                "snapshot": snapshot_id}

    def show(terminal: "Terminal") -> None:
        terminal.line(f"{document['distinct']} agents that behave differently, of {len(counts)} specialists; "
                      f"{document['without_model']} need no model", "bold")
        if specialist is None:
            terminal.table(("specialist", "duty", "capability", "agents", "no model"), [
                (r["specialist"], r["duty"], r["capability"], r["agents"], r["without_model"]) for r in page])
        else:
            for row in page:
                known = "; ".join(f"{c} {mean:.2f}" for c, mean in row["reliability"].items())
                terminal.line(row["agent"] + (f"  reliability: {known}" if known else ""))
        if offset + limit < len(rows):
            terminal.line(f"... {len(rows) - offset - limit} more: --offset {offset + limit}")
        terminal.line("Next: enlist agents show ID" if specialist else "Next: enlist agents list --specialist NAME")

    return Answer(document, show)


@app.command("show", epilog="\b\nExample:\n  enlist agents show writer --json")
def show_agent(agent: Annotated[str, typer.Argument(metavar="ID", help="An agent's id.")], as_json: Json = False
               ) -> Answer:
    """Print an agent's card, with the track record of the newest snapshot."""
    from enlist.evals.cli.settings import readable

    pool, _ = _newest()
    card = pool.card(pool.find(readable(agent))).model_dump(mode="json")

    def show(terminal: "Terminal") -> None:
        terminal.line(card["id"], "bold")  # whole, to be copied
        terminal.fields({name: value if isinstance(value, str) else json.dumps(value)
                         for name, value in card.items() if name != "id"})

    return Answer(card, show)


@app.command(epilog="\b\nExample:\n  enlist agents snapshot")
def snapshot(ctx: typer.Context, as_json: Json = False) -> Answer:
    """Pin the pool and its track records; print the id.

    `enlist run --snapshot ID` then enlists from the pool as it is now.
    """
    from enlist.evals.cli.settings import settings, store
    from enlist.orchestrator.snapshots import take_snapshot

    with store(settings()) as memory, ctx.obj.working("reading the journals of all runs"):
        id = take_snapshot(memory)
    return Answer({"snapshot": id}, lambda terminal: terminal.line(id))


def _newest() -> "tuple[Pool, str]":
    """The pool that a run would enlist from now, and the id that pins it."""
    from enlist.evals.cli.settings import settings, store
    from enlist.orchestrator.snapshots import pinned_pool

    with store(settings()) as memory:
        return pinned_pool(memory, None)


def _reliability(pool: "Pool", agent: str) -> dict[str, float]:
    """The mean posterior reliability of an agent by capability, where runs have told something."""
    return {capability: track.reliability.mean for capability, track in pool.tracks.get(agent, {}).items()
            if track.reliability is not None}


def distinct_behaviours(pool: "Pool") -> int:
    """How many agents differ in specialist or in a knob that the executor honours; synthetic cards do not count."""
    return len({(str(pool.specialist[p]), json.dumps(dict(pool.knobs[p]), sort_keys=True))
                for p in range(len(pool)) if not pool.synthetic[p]})


def _counts(pool: "Pool") -> list[dict[str, Any]]:
    rows = []
    for name in sorted(set(pool.specialist.tolist())):
        mine = pool.specialist == name
        first = int(mine.nonzero()[0][0])
        rows.append({"specialist": name, "duty": str(pool.duty[first]), "capability": str(pool.capability[first]),
                     "agents": int(mine.sum()), "without_model": int((mine & pool.without_model()).sum())})
    return rows


def _known(name: str, names: list[str]) -> None:
    from enlist.tools.runtime.errors import EnlistError
    from enlist.tools.runtime.naming import nearest

    if name not in names:
        raise EnlistError("not_found", "no specialist of this name is installed", given=repr(name),
                          allowed="for example " + ", ".join(nearest(name, names) or names[:5]),
                          fix="see `enlist agents list`")
