"""CPU seconds of `enlist --help` against bare typer programs with as many commands, in alternating runs.

One peer has typer's defaults, the other prints plain help as ours does. Prints JSON: the medians and the ratios, of
which the one to the default is to stay below 2.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from enlist.evals.cli.commands import COMMANDS

ROUNDS = 11
PEERS = {"default": "name='bare'", "plain": "name='bare', add_completion=False, rich_markup_mode=None"}
OURS = "import sys; from enlist.evals.cli.main import main; sys.exit(main(['--help']))"


def bare_program(options: str) -> str:
    """A typer program with the same commands and lines, each a function of three options, in one file."""
    lines = ["import typer", f"app = typer.Typer({options})"]
    for name, (_, line) in COMMANDS.items():
        lines += [f"@app.command({name!r}, help={line!r})",
                  f"def {name}_(text: str, limit: int = 20, json: bool = False) -> None:", "    pass"]
    return "\n".join([*lines, "app(['--help'])"])


def cpu_seconds(command: list[str]) -> float:
    """User and system seconds of one process and its children."""
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        commands = [[sys.executable, "-c", OURS]]
        for name, options in PEERS.items():
            peer = Path(folder) / f"{name}.py"
            peer.write_text(bare_program(options))
            commands.append([sys.executable, str(peer)])
        rounds = [[cpu_seconds(command) for command in commands] for _ in range(1 + ROUNDS)]
    # The first round fills the caches of the file system and of bytecode.
    mine, bare, plain = (statistics.median(side) for side in zip(*rounds[1:], strict=True))
    print(json.dumps({
        "benchmark": "cli_help", "rounds": ROUNDS, "enlist_cpu_s": round(mine, 4), "bare_typer_cpu_s": round(bare, 4),
        "bare_plain_typer_cpu_s": round(plain, 4), "ratio": round(mine / bare, 3), "at_most": 2.0,
        "ratio_to_plain": round(mine / plain, 3)}))


if __name__ == "__main__":
    main()
