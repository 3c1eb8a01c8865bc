"""Entry of the `enlist` program: runs one command, prints its answer or its fault, and returns the exit status.

Exit status: 0 done, 1 failed, partial or a verdict, 2 bad usage or unreadable input, 3 budget spent, 4 undecided, 130
interrupted. With `--json` standard output holds exactly one JSON document, faults included. ENLIST_DEBUG=1 shows the
traceback of a fault.
"""

import os
import sys
import traceback
from collections.abc import Sequence

import typer

from enlist.evals.cli.answer import Answer
from enlist.evals.cli.commands import COMMANDS, Commands, load_command
from enlist.evals.cli.terminal import Mode, Terminal
from enlist.tools.runtime.errors import EnlistError

# typer exports its usage errors only by this subclass; newer versions carry their own copy of click.
USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]
INTERRUPTED = 130

app = typer.Typer(name="enlist", cls=Commands, add_completion=False, rich_markup_mode=None,
                  context_settings={"help_option_names": ["-h", "--help"]},
                  epilog="\b\nExample:\n  enlist run \"how far is this model from the limit of an H100?\" "
                         "--attach model.py\n  enlist doctor")


@app.callback(invoke_without_command=True)
def _root(ctx: typer.Context, version: bool = typer.Option(False, "--version", help="Print the version and exit.")
          ) -> None:
    """Plan the roles a job needs, enlist the best specialist agents, and report with checked evidence."""
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"enlist {installed('enlist')}")
        raise typer.Exit
    if ctx.invoked_subcommand is None:
        typer.echo(ctx.get_help())
        raise typer.Exit


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program on `arguments` (those of the process where None) and return its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    for name in ("stdout", "stderr"):  # closed by the caller: what is written goes nowhere
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 (for the life of the process)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    with Terminal(mode_of(given)) as terminal:
        try:
            code = _run(given, terminal)
            terminal.flush()
            _leave(code)
            return code
        except BrokenPipeError:
            terminal.abandon()
            return 0
        except SystemExit as end:  # how typer ends where the reader has gone, and how a plug-in's command may end
            if not isinstance(end.__context__, BrokenPipeError):
                raise
            terminal.abandon()
            return 0
        except OSError as error:  # a full disk, a descriptor that was closed
            terminal.abandon()
            print(f"enlist: the answer cannot be written: {error.strerror}", file=sys.stderr)
            return 1


def _leave(code: int) -> None:
    """End at once where a run had to give up a call of Ray: what is left of Ray would crash the process at its end."""
    cluster = sys.modules.get("enlist.orchestrator.cluster")  # where no run was made it was never imported
    if cluster is not None and cluster.gave_up():
        sys.stderr.flush()
        os._exit(code)


def mode_of(arguments: Sequence[str]) -> Mode:
    """How a command line wants its answer. A plug-in's command keeps standard output to itself."""
    words = list(arguments[:arguments.index("--")] if "--" in arguments else arguments)
    command = next((word for word in words if not word.startswith("-")), None)
    if command is None or command in COMMANDS:
        for mode in ("jsonl", "json"):
            if f"--{mode}" in words:
                return mode
    return "human"


def _run(arguments: list[str], terminal: Terminal) -> int:
    try:
        answer = load_command(app)(args=arguments, prog_name="enlist", standalone_mode=False, obj=terminal)
    except EnlistError as error:
        return _fault(terminal, error)
    except (KeyboardInterrupt, typer.Abort):
        return _fault(terminal, EnlistError("cancelled", "interrupted", fix="`enlist runs` names a run to resume"))
    except USAGE_ERROR as error:
        return _fault(terminal, _usage(error, arguments))
    except BrokenPipeError:
        raise
    except Exception as error:
        return _fault(terminal, EnlistError(
            "internal", f"a defect of Enlist: {type(error).__name__}: {error}", details=traceback.format_exc(),
            fix="run again with ENLIST_DEBUG=1 and report what it shows"))
    if isinstance(answer, Answer):
        terminal.answer(answer)
        return answer.code
    if answer == INTERRUPTED:
        return _fault(terminal, EnlistError("cancelled", "interrupted", fix="`enlist runs` names a run to resume"))
    return answer if isinstance(answer, int) else 0


def _fault(terminal: Terminal, error: EnlistError) -> int:
    if os.environ.get("ENLIST_DEBUG"):
        traceback.print_exc()
        if error.details:
            print(error.details, file=sys.stderr)
    terminal.fault(error)
    return error.exit_code


def _usage(error: Exception, arguments: Sequence[str]) -> EnlistError:
    """A fault of the command line itself as one of ours."""
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "enlist"
    said = error.format_message() if hasattr(error, "format_message") else str(error)
    return EnlistError("bad_input", said, given=" ".join(arguments)[:200] or None, fix=f"see `{path} --help`")
