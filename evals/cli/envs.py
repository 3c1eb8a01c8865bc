"""`enlist envs`: the benchmark environments."""

import inspect
from typing import Annotated, Any

import typer

from enlist.evals.cli.answer import Answer, Json

app = typer.Typer(add_completion=False, rich_markup_mode=None, help="List benchmark environments, or show one.",
                  epilog="\b\nExample:\n  enlist envs list")
GROUP = "enlist.environments"


@app.command("list", epilog="\b\nExample:\n  enlist envs list --json")
def list_environments(as_json: Json = False) -> Answer:
    """List the installed environments."""
    from enlist.tools.runtime import registry

    rows = [{"environment": name, "version": found.version, "summary": _summary(found)}
            for name, found in registry.load_all(GROUP).items()]
    broken = registry.faults(GROUP)

    def show(terminal: Any) -> None:
        terminal.table(("environment", "version", "summary"), [tuple(row.values()) for row in rows])
        for name, reason in broken.items():
            terminal.note(f"environment {name} does not load: {reason}")
        terminal.line("Next: enlist envs show NAME")

    return Answer({"environments": rows, "broken": broken}, show)


@app.command("show", epilog="\b\nExample:\n  enlist envs show teaming")
def show_environment(name: Annotated[str, typer.Argument(metavar="NAME", help="The environment's name.")],
                     as_json: Json = False) -> Answer:
    """Show an environment: what it measures, its solvers, and its first validation task."""
    from enlist.evals.cli.settings import readable
    from enlist.tools.runtime import registry

    found = registry.load_entry(GROUP, readable(name))
    first = next(iter(found.tasks("validation", 0)), None)
    document = {"environment": found.name, "version": found.version, "summary": _summary(found),
                "baselines": sorted(found.baselines()), "mutants": sorted(found.mutants()),
                "first_task": first.text if first else None}
    return Answer(document, lambda terminal: terminal.fields(
        {key: ", ".join(value) if isinstance(value, list) else value for key, value in document.items()}))


def _summary(found: Any) -> str:
    return (inspect.getdoc(found if inspect.isclass(found) else type(found)) or "").split("\n")[0]
