"""`enlist tool`: call one tool, without agents and without Ray."""

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from enlist.evals.cli.answer import Answer, Json

app = typer.Typer(add_completion=False, rich_markup_mode=None)


@app.command(epilog="\b\nExample:\n  enlist tool NAME --input '{\"file\": \"notes.txt\"}'\n"
                    "  enlist tool NAME --input @input.json\n\n"
                    "`enlist tools show NAME` prints the tool's input with an example.")
def tool(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The tool's name, from `enlist tools list`.")],
    input: Annotated[str, typer.Option("--input", metavar="JSON|@FILE", help="What the tool takes. Where it wants "
                                          "an artifact, give the path of a file.")] = "{}",
    as_json: Json = False,
) -> Answer:
    """Call one tool and print its output as JSON."""
    from enlist.evals.cli.paths import admit
    from enlist.evals.cli.settings import readable, settings, store
    from enlist.tools.runtime import registry
    from enlist.tools.runtime.runner import artifacts_in, run_tool

    name = readable(name)
    declared = registry.load_entry("enlist.tools", name)
    data = read_input(readable(input))
    with store(settings()) as memory:
        given = declared.parse(admit(declared.input, data, memory))
        with ctx.obj.working(f"tool {declared.name}"):
            ran = run_tool(declared, registry.entries("enlist.tools")[name].value, given, memory)
        document = ran.output.model_dump(mode="json")
        made = [f"{ref.name}: {memory.open_artifact(ref)}" for ref in artifacts_in(ran.output)]
    level = f", sandbox level {ran.level}" if ran.level else ""

    def show(terminal: Any) -> None:
        terminal.text(json.dumps(document, indent=2, ensure_ascii=False))
        for line in (*made, f"{ran.seconds:.2f} s{level}"):
            terminal.note(line)

    return Answer(document, show)


def read_input(text: str) -> Any:
    """The JSON of `--input`; `bad_input` where it is none."""
    if text.startswith("@"):
        try:
            text = Path(text[1:]).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise _refuse(f"the input file cannot be read: {error}", text) from error
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _refuse(f"the input is no JSON: {error}", text[:200]) from error


def _refuse(message: str, given: str) -> Exception:
    from enlist.tools.runtime.errors import EnlistError

    return EnlistError("bad_input", message, given=given, allowed="JSON, or @FILE that holds JSON",
                       fix="see `enlist tools show NAME` for an example")
