"""`enlist config`: the settings in force and where each comes from."""

from typing import Any
from urllib.parse import urlsplit

import typer

from enlist.evals.cli.answer import Answer, Json

app = typer.Typer(add_completion=False, rich_markup_mode=None, help="Show each setting and where it comes from.",
                  epilog="\b\nExample:\n  enlist config show")


@app.callback()
def _config() -> None:
    """Show each setting and where it comes from."""


@app.command(epilog="\b\nExample:\n  ENLIST_SEED=7 enlist config show")
def show(as_json: Json = False) -> Answer:
    """Show each setting, its value and its origin: flag, environment, file or default."""
    from enlist.agents.language.settings import read_model
    from enlist.evals.cli.settings import settings
    from enlist.tools.runtime.config import FILE, OPTIONS

    config = settings()
    rows = [{"name": name, "value": _without_password(setting.value), "origin": setting.origin,
             "variable": OPTIONS[name].variable, "meaning": OPTIONS[name].meaning}
            for name, setting in config.settings.items()]
    models = [{**read_model(table).model_dump(mode="json"), "origin": table.origin} for table in config.models.values()]

    def render(terminal: Any) -> None:
        terminal.table(("name", "value", "origin"), [
            *((r["name"], "" if r["value"] is None else r["value"], r["origin"]) for r in rows),
            *((f"models.{m['name']}", f"{m['model']} at {m['endpoint']}", m["origin"]) for m in models)])
        terminal.line(f"Set one by its variable (such as {rows[0]['variable']}) or by name in {FILE}.")

    return Answer({"settings": rows, "models": models}, render)


def _without_password(value: Any) -> Any:
    """A locator without the password that it may carry."""
    if not isinstance(value, str) or "://" not in value:
        return value
    password = urlsplit(value).password
    return value.replace(f":{password}@", ":***@") if password else value
