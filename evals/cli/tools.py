"""`enlist tools`: the tools that agents and people may call."""

import json
from typing import Annotated, Any

import typer

from enlist.evals.cli.answer import Answer, Json

app = typer.Typer(add_completion=False, rich_markup_mode=None, help="List tools, or show one.",
                  epilog="\b\nExample:\n  enlist tools list")
GROUP = "enlist.tools"


@app.command("list", epilog="\b\nExample:\n  enlist tools list --json")
def list_tools(as_json: Json = False) -> Answer:
    """List the installed tools."""
    from enlist.tools.runtime import registry

    rows = [{"tool": name, "version": tool.version, "isolation": tool.isolation, "summary": tool.summary}
            for name, tool in registry.load_all(GROUP).items()]
    broken = registry.faults(GROUP)

    def show(terminal: Any) -> None:
        terminal.table(("tool", "isolation", "summary"), [(r["tool"], r["isolation"], r["summary"]) for r in rows])
        for name, reason in broken.items():
            terminal.note(f"tool {name} does not load: {reason}")
        terminal.line("Next: enlist tools show NAME")

    return Answer({"tools": rows, "broken": broken}, show)


@app.command("show", epilog="\b\nExample:\n  enlist tools show solar-bounds")
def show_tool(name: Annotated[str, typer.Argument(metavar="NAME", help="The tool's name.")],
              as_json: Json = False) -> Answer:
    """Show a tool: what it takes, what it gives, its limits, how its claims are checked, and an example."""
    from enlist.evals.cli.settings import readable
    from enlist.tools.runtime import registry

    tool = registry.load_entry(GROUP, readable(name))
    document = {
        "tool": tool.name, "version": tool.version, "summary": tool.summary, "isolation": tool.isolation,
        "deterministic": tool.deterministic, "effects": sorted(tool.effects), "time_limit": tool.time_limit,
        "resources": {"cpus": tool.resources.cpus, "memory_bytes": tool.resources.memory_bytes,
                      "gpus": tool.resources.gpus, "custom": tool.resources.custom},
        "errors": list(tool.errors), "check_route": tool.check_route, "example": tool.example,
        "input": tool.input.model_json_schema(), "output": tool.output.model_json_schema()}

    def show(terminal: Any) -> None:
        terminal.fields({key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                         for key, value in document.items() if key not in ("input", "output", "example")})
        for key, model in (("input", tool.input), ("output", tool.output)):
            terminal.line(f"{key}:", "bold")
            for field, info in model.model_fields.items():
                terminal.line(f"  {field}: {_type_name(info.annotation)}{'' if info.is_required() else ' (optional)'}")
        terminal.line("example:", "bold")
        terminal.text(json.dumps(document["example"], indent=2, ensure_ascii=False))
        terminal.line(f"Next: enlist tool {tool.name} --input @input.json")

    return Answer(document, show)


def _type_name(annotation: Any) -> str:
    return annotation.__name__ if isinstance(annotation, type) and not hasattr(annotation, "__args__") else str(
        annotation).replace("typing.", "")
