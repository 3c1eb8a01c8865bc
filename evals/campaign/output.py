"""Writing a leaderboard: JSON, Markdown and HTML in one folder, each file whole or not at all."""

import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from enlist.evals.campaign.content import Content, Spent
from enlist.evals.campaign.html import render_html
from enlist.evals.campaign.markdown import render_markdown
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.ids import canonical_json

KINDS = ("json", "md", "html")


@dataclass(frozen=True)
class Written:
    """Where a leaderboard was written."""

    folder: Path

    def paths(self) -> dict[str, str]:
        """The files by kind."""
        return {kind: str(self.folder / f"leaderboard.{kind}") for kind in KINDS}


def leaderboard_json(content: Content, run: dict[str, Any]) -> str:
    """`leaderboard.json`: the deterministic `content` and what happened, `run`."""
    return canonical_json({"content": content.model_dump(mode="json"), "run": run}) + "\n"


def write(out: Path, content: Content, run: dict[str, Any]) -> Written:
    """Write the three files below `out`/campaign id; `bad_input` where the folder cannot be written to."""
    costs = tuple(Spent.model_validate(s) for s in run["spent"])
    texts = {"json": leaderboard_json(content, run), "md": render_markdown(content, run, costs),
             "html": render_html(content, run, costs)}
    folder = (out / content.campaign).absolute()
    for kind, text in texts.items():
        replace_file(folder / f"leaderboard.{kind}", text.encode("utf-8", "replace"))
    return Written(folder)


def replace_file(path: Path, data: bytes) -> None:
    """Write a file by a temporary one and a rename; `bad_input` where that cannot be done."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(temporary, 0o644)
            os.replace(temporary, path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise EnlistError("bad_input", f"a file cannot be written: {error.strerror}", given=str(path),
                          fix="name another folder with --out") from error
