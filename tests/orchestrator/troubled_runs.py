"""Runs of the sample plug-in's troubled agents, many in one process over one local Ray; started by
`test_reenlist_runs.py`.

Reads {"folder", "runs": [{"name", "text", "seconds", "usd", "stall"}]} on standard input; prints a JSON object of
what each run came to: its document, its journal and the content of its report.
"""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from enlist.orchestrator import executor, run, shares
from enlist.orchestrator.cluster import Connection
from enlist.tools.runtime.config import read
from enlist.tools.runtime.memory import open_memory


class Borrowed:
    """The connection of the whole script, as each run sees it."""

    def __init__(self, *arguments: Any) -> None:
        pass

    def lost(self) -> bool:
        return False

    def guard(self, what: Callable[[], Any]) -> Any:
        return what()

    def ready(self) -> None:
        pass

    def close(self) -> None:
        pass


def one(folder: Path, wanted: dict[str, Any]) -> dict[str, Any]:
    text = folder / f"{wanted['name']}.txt"
    text.write_text(wanted["text"])
    shares.SILENCE_FLOOR, shares.SILENCE_FACTOR = wanted.get("stall", 60.0), 0.1
    config = read({"home": str(folder / "home"), "out": str(folder / "out"),
                          "budget_seconds": wanted.get("seconds", 0.0)})
    drive = executor.Executor.drive

    def with_money(self: executor.Executor) -> Any:
        if wanted.get("usd") is not None:
            self.memory.set_budget(self.run, "usd", wanted["usd"])
        return drive(self)

    run.Executor.drive = with_money  # type: ignore[method-assign]
    try:
        ended = run.run(config, "count the letters in this text", [text])
    finally:
        run.Executor.drive = drive  # type: ignore[method-assign]
    memory = open_memory(config.locator())
    document = ended.document()
    told = {"document": document, "events": [e.model_dump(mode="json") for e in memory.events(ended.run)],
            "usd": memory.budget(ended.run, "usd").model_dump(),
            "markdown": Path(document["report"]["md"]).read_text(),
            "html": Path(document["report"]["html"]).read_text(),
            "findings": [r.data for r in memory.records("finding", ended.run)]}
    told["report"] = json.loads(Path(document["report"]["json"]).read_text())
    memory.close()
    return told


def main() -> None:
    job = json.loads(sys.stdin.read())
    folder = Path(job["folder"])
    connection = Connection(folder / "home", "", "token")
    connection.ready()
    run.Connection = Borrowed  # type: ignore[assignment,misc]
    try:
        told = {wanted["name"]: one(folder, wanted) for wanted in job["runs"]}
    finally:
        connection.close()
    print(json.dumps(told))


if __name__ == "__main__":
    main()
