"""The report's files: Markdown, self-contained HTML and JSON, each written whole or not at all."""

import os
import tempfile
from pathlib import Path
from typing import Any

from enlist.orchestrator.report.content import Content
from enlist.orchestrator.report.html import render_html
from enlist.orchestrator.report.markdown import render_markdown
from enlist.orchestrator.request import Strict
from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.ids import canonical_json
from enlist.tools.runtime.memory.protocol import Memory


class Written(Strict):
    """Where a report was written, and its three documents as artifacts of the store."""

    folder: str
    md: ArtifactRef
    html: ArtifactRef
    json_: ArtifactRef

    def paths(self) -> dict[str, str]:
        """The paths of the files by kind."""
        return {kind: str(Path(self.folder) / f"report.{kind}") for kind in ("md", "html", "json")}

    @classmethod
    def of(cls, data: dict[str, Any]) -> "Written":
        return cls.model_validate(data)


def write_report(memory: Memory, out: Path, run: str, status: str, content: Content, about: dict[str, Any]) -> Written:
    """Write `report.md`, `report.html` and `report.json` below `out`/`run`, and keep them in the store.

    Raises:
        EnlistError: `bad_input` where the folder cannot be written to; the run is then still resumable.
    """
    document = {"content": content.model_dump(mode="json"), "run": {**about, "status": status}}
    texts = {"md": render_markdown(content, status, about), "html": render_html(content, status, about),
             "json": canonical_json(document) + "\n"}
    media = {"md": "text/markdown", "html": "text/html", "json": "application/json"}
    folder = (out / run).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for kind, text in texts.items():
            _replace(folder / f"report.{kind}", text.encode("utf-8", "replace"))
    except OSError as error:
        raise EnlistError("bad_input", f"the report cannot be written: {error.strerror}", given=str(folder),
                          fix=f"name another folder: ENLIST_OUT=FOLDER enlist resume {run}") from error
    refs = {kind: memory.put_bytes(text.encode("utf-8", "replace"), media_type=media[kind], name=f"report.{kind}")
            for kind, text in texts.items()}
    return Written(folder=str(folder), md=refs["md"], html=refs["html"], json_=refs["json"])


def check_folder(out: Path) -> None:
    """Refuse a folder for reports that cannot be written to, before anything is done."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise EnlistError("bad_input", f"no report can be written there: {error.strerror}", given=str(out),
                          allowed="a folder that can be written to", fix="name another folder with --out") from error


def _replace(path: Path, data: bytes) -> None:
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
