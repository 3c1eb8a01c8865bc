"""The child's side of a tool call: read the job, run the function, leave a result file.

Runs as `python -m enlist.tools.runtime.child` in a folder that holds `job.json`. The result is a file of its own, so
that what the tool or the user's code prints does no harm. The parent trusts nothing here: it checks the result against
the declared schema and takes artifacts only from `out/`.
"""

import hashlib
import json
import os
import sys
import traceback
from pathlib import Path

from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.tool import Tool, load

RESULT, JOB, PROGRESS, INPUTS, OUTPUTS = "result.json", "job.json", "progress.jsonl", "in", "out"


class ChildContext:
    """The `ToolContext` inside a child; the parent kills, so `cancelled` is always False here."""

    def __init__(self, work: Path) -> None:
        self.work = work

    def progress(self, share: float, text: str) -> None:
        with (self.work / PROGRESS).open("a", encoding="utf-8") as file:
            file.write(json.dumps({"share": share, "text": text}) + "\n")

    def cancelled(self) -> bool:
        return False

    def put_artifact(self, data: bytes, *, media_type: str, name: str) -> ArtifactRef:
        digest = hashlib.sha256(data).hexdigest()
        (self.work / OUTPUTS).mkdir(exist_ok=True)
        (self.work / OUTPUTS / digest).write_bytes(data)
        return ArtifactRef(sha256=digest, media_type=media_type, name=name, bytes=len(data))

    def open_artifact(self, ref: ArtifactRef) -> Path:
        path = self.work / INPUTS / ref.sha256
        if not path.is_file():
            raise EnlistError("not_found", f"artifact {ref.name!r} was not handed to this tool", given=ref.sha256)
        return path


def run_job(work: Path) -> dict[str, object]:
    """The result document of the job in `work`: {"output": ...} or {"error": ...}."""
    job = json.loads((work / JOB).read_text(encoding="utf-8"))
    tool: Tool = load(job["tool"])
    try:
        output = tool.function()(tool.parse(job["input"]), ChildContext(work))
        return {"output": output.model_dump(mode="json")}
    except EnlistError as error:
        return {"error": error.to_dict()}
    except BaseException as error:  # also SystemExit and KeyboardInterrupt raised by a user's code
        return {"error": EnlistError("tool_failed", f"{tool.name}: {type(error).__name__}: {error}"[:2000],
                                     fix="run the attached file by itself in plain Python and mend what it raises",
                                     details=traceback.format_exc()[-4000:]).to_dict()}


def main() -> None:
    work = Path.cwd()
    result = run_job(work)
    temporary = work / (RESULT + ".part")
    temporary.write_text(json.dumps(result, allow_nan=False), encoding="utf-8")
    os.replace(temporary, work / RESULT)
    sys.stdout.flush()
    os._exit(0)  # threads and exit hooks of a user's code have no say in how this ends


if __name__ == "__main__":
    main()
