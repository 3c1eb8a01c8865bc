"""`enlist models`: the language models of `enlist.toml`, what they serve, and whether they answer."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from enlist.evals.cli.answer import Answer, Json
from enlist.evals.cli.run import Models

if TYPE_CHECKING:
    from enlist.agents.language.settings import ModelSettings

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog="\b\nExample:\n  enlist models --check")
def models(
    ctx: typer.Context,
    use_models: Models = None,
    check: Annotated[bool, typer.Option("--check", help="Ask each for one word; this may cost.")] = False,
    as_json: Json = False,
) -> Answer:
    """List the language models that runs may ask: where they are, what they serve and cost, whether keys are set."""
    from enlist.agents.language.settings import configured
    from enlist.evals.cli.settings import settings

    config = settings(use_models=use_models)
    rows = []
    for model in configured(config):
        row = {**model.model_dump(mode="json"), "origin": config.models[model.name].origin, "key": _key(model)}
        if check:
            with ctx.obj.working(f"asking {model.name}"):
                row["answers"] = _ask(model)
        rows.append(row)

    def show(terminal: Any) -> None:
        if not rows:
            terminal.paragraph("No model is configured: agents that need none do the work. See docs/models.md.")
            return
        terminal.table(("name", "model", "endpoint", "serves", "USD per million", "key",
                        *(["answers"] if check else [])), [
            (r["name"], r["model"], r["endpoint"], ", ".join(r["capabilities"]) or "nothing", _price(r), r["key"],
             *([r["answers"]] if check else [])) for r in rows])

    down = check and any(row["answers"] != "yes" for row in rows)
    return Answer({"models": rows}, show, 1 if down else 0)


def _key(model: "ModelSettings") -> str:
    from enlist.tools.runtime.errors import EnlistError

    try:
        return "none" if model.key() is None else "set"
    except EnlistError:
        return "not set"


def _price(row: dict[str, Any]) -> str:
    prices = (row["usd_per_million_in"], row["usd_per_million_out"])
    return "unknown" if None in prices else f"{prices[0]:g} in, {prices[1]:g} out"


def _ask(model: "ModelSettings") -> str:
    """ "yes", or why no answer can be had."""
    from enlist.agents.language.client import Client
    from enlist.agents.language.questions import Ask
    from enlist.tools.runtime.errors import EnlistError

    try:
        Client(model.model_copy(update={"timeout": min(model.timeout, 30.0)})).ask(
            Ask(system="Answer with one word.", text="Are you there?", most_tokens=8))
    except EnlistError as error:
        return error.sentence()
    return "yes"
