"""The commands by name, each imported only when it is the one that runs.

Ours stand in a table with the line that `enlist --help` shows. Plug-ins add theirs by the entry-point group
`enlist.commands`; their line is the summary of their distribution, read without importing them.
"""

import importlib
from collections.abc import Callable
from importlib.metadata import EntryPoint
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from enlist.evals.cli.terminal import one_line
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.registry import entries

COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("run", "Answer a request with a team of agents and write a report."),
    "team": ("team", "Show the plan and the team for a request; run nothing."),
    "show": ("show", "Show a run, or follow it while it works."),
    "resume": ("resume", "Go on with a run that was interrupted."),
    "stop": ("stop", "Ask a run to stop; it can be resumed."),
    "runs": ("runs", "List runs, newest first."),
    "sol": ("sol", "Speed of light: how fast code could run, and how far it is."),
    "logs": ("logs", "Logs: what happened, when, where it began and why."),
    "tool": ("tool", "Call one tool, without agents."),
    "tools": ("tools", "List tools, or show one."),
    "mcp": ("mcp", "Serve the tools to other programs by MCP."),
    "agents": ("agents", "List agents, show a card, pin the pool."),
    "capabilities": ("capabilities", "List what can be asked for, or show one."),
    "campaign": ("campaign", "Benchmark solvers over environments and compare them."),
    "envs": ("envs", "List benchmark environments, or show one."),
    "models": ("models", "List the language models that runs may ask."),
    "memory": ("memory", "Search what runs have found."),
    "config": ("config", "Show each setting and where it comes from."),
    "metrics": ("metrics", "Print what the runs amount to as Prometheus text."),
    "doctor": ("doctor", "Tell what works here, what is missing and how to get it."),
    "gc": ("gc", "Delete old runs and files that nothing refers to."),
}
GROUP = "enlist.commands"


def load_command(app: typer.Typer) -> Callable[..., Any]:
    """The command behind a typer application: the one it holds, or a group of several."""
    return typer.main.get_command(app)


class Commands(TyperGroup):
    """A group whose commands are names and lines until one of them is called."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for name, (_, line) in COMMANDS.items():
            self.commands[name] = TyperCommand(name, help=line, rich_markup_mode=None)

    def list_commands(self, ctx: Any) -> list[str]:
        """Ours in the order of the table, then those of plug-ins."""
        for name, point in entries(GROUP).items():
            if name not in COMMANDS:
                self.commands[name] = TyperCommand(name, help=_summary(point), rich_markup_mode=None)
        return list(self.commands)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The real command that the first word names, imported now."""
        name = args[0]
        if name in COMMANDS:
            module = importlib.import_module(f"enlist.evals.cli.{COMMANDS[name][0]}")
            return name, load_command(module.app), args[1:]
        self.list_commands(ctx)
        if name in entries(GROUP):
            return name, _plugged_in(name, entries(GROUP)[name]), args[1:]
        return super().resolve_command(ctx, args)


def _package(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.value


def _summary(point: EntryPoint) -> str:
    known: Any = point.dist.metadata if point.dist is not None else {}
    summary = known["Summary"] if "Summary" in known else ""  # noqa: SIM401 (metadata is no mapping)
    return one_line(f"{summary} (from {_package(point)})".strip())


def _plugged_in(name: str, point: EntryPoint) -> Any:
    """A plug-in's command: a typer application or a function with typer's annotations."""
    try:
        found = point.load()
        if not isinstance(found, typer.Typer):
            function, found = found, typer.Typer(add_completion=False, rich_markup_mode=None)
            found.command(name)(function)
        return load_command(found)
    except Exception as error:  # a third party's import may raise anything
        raise EnlistError("not_installed", f"the command {name!r} does not load: {type(error).__name__}: {error}",
                          given=f"{point.value} from {_package(point)}",
                          fix=f"reinstall or uninstall {_package(point)}; see `enlist doctor`") from error
