"""`enlist capabilities`: the things that can be asked for."""

from typing import Annotated, Any

import typer

from enlist.evals.cli.answer import Answer, Json

app = typer.Typer(add_completion=False, rich_markup_mode=None, help="List what can be asked for, or show one.",
                  epilog="\b\nExample:\n  enlist capabilities list")


@app.command("list", epilog="\b\nExample:\n  enlist capabilities list\n  enlist capabilities list --all")
def list_capabilities(everything: Annotated[bool, typer.Option("--all", help="Also what is not installed.")] = False,
                      as_json: Json = False) -> Answer:
    """List what can be asked for here."""
    rows = _rows()
    shown = [row for row in rows if everything or row["status"] == "installed"]

    def show(terminal: Any) -> None:
        terminal.table(("capability", "status", "asks"), [
            (r["capability"], r["status"].replace("_", " "), r["asks"]) for r in shown])
        if len(shown) < len(rows):
            terminal.line(f"{len(rows) - len(shown)} more are known and not installed: --all")
        terminal.line("Next: enlist capabilities show NAME")

    return Answer({"capabilities": shown, "known": len(rows)}, show)


@app.command("show", epilog="\b\nExample:\n  enlist capabilities show speed_of_light")
def show_capability(name: Annotated[str, typer.Argument(metavar="NAME", help="The capability's id.")],
                    as_json: Json = False) -> Answer:
    """Show a capability: what it reads and writes, example requests, and whether agents for it are installed."""
    from enlist.evals.cli.settings import readable
    from enlist.orchestrator.capabilities import load_capabilities
    from enlist.tools.runtime.errors import EnlistError
    from enlist.tools.runtime.naming import nearest

    known, id = load_capabilities(), readable(name)
    if id not in known:
        raise EnlistError("not_found", "no capability of this id is known", given=repr(id),
                          allowed="for example " + ", ".join(nearest(id, known) or list(known)[:5]),
                          fix="see `enlist capabilities list --all`")
    one = known[id]
    status = next(row["status"] for row in _rows() if row["capability"] == id)
    document = {"capability": id, "status": status, "since": one.since, "asks": one.asks, "reads": list(one.reads),
                "writes": list(one.writes), "needs": list(one.needs), "phrases": list(one.phrases),
                "looks_like": list(one.looks_like)}
    return Answer(document, lambda terminal: terminal.fields(
        {key: "; ".join(value) if isinstance(value, list) else value for key, value in document.items()}))


def _rows() -> list[dict[str, Any]]:
    from enlist.agents.pool import capabilities_served, shipped
    from enlist.orchestrator.capabilities import load_capabilities

    served = capabilities_served(shipped())
    return [{"capability": id, "status": "installed" if id in served else "not_installed", "asks": one.asks}
            for id, one in load_capabilities().items()]
