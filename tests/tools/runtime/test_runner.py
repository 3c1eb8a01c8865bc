"""Running a tool's child: what it leaves behind, what its context does, and how its folder is cleared."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest


def ask(code: str, environment: dict[str, str]) -> str:
    """Run code in a process that has the sample plug-in."""
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


RUN = """
import sys, tempfile
from pathlib import Path
from enlist.tools.runtime import registry
from enlist.tools.runtime.artifacts import ArtifactFolder
from enlist.tools.runtime.runner import run_tool
class Shelf:
    def __init__(self): self.folder = ArtifactFolder(Path(tempfile.mkdtemp()))
    def put_bytes(self, data, *, media_type, name): return self.folder.put_bytes(data, media_type=media_type, name=name)
    def open_artifact(self, ref): return self.folder.open(ref)
shelf, said = Shelf(), []
ref = shelf.put_bytes(b"one two three", media_type="text/plain", name="a.txt")
tool = registry.load_entry("enlist.tools", "sample-counted")
ran = run_tool(tool, registry.entries("enlist.tools")["sample-counted"].value,
               tool.parse({"text": ref.model_dump()}), shelf, progress=lambda share, text: said.append((share, text)))
print(ran.output.words, ran.level, said)
"""


def test_a_process_tool_of_a_plug_in_runs_in_a_child_and_tells_its_progress(sample_plugin: dict[str, str]) -> None:
    assert ask(RUN, sample_plugin) == "3 basic [(0.5, 'read the text')]"


def test_a_plug_in_that_is_installed_editable_is_found_by_its_child(sample_plugin: dict[str, str],
                                                                     tmp_path_factory: pytest.TempPathFactory) -> None:
    installed = sample_plugin["PYTHONPATH"]
    finder = f"import sys; sys.path.append({installed!r})\n"  # as an editable install's .pth does, without PYTHONPATH
    without = {k: v for k, v in sample_plugin.items() if k != "PYTHONPATH"}
    assert ask(finder + RUN, without) == "3 basic [(0.5, 'read the text')]"


def test_a_work_folder_that_a_killed_caller_left_long_ago_is_removed_and_a_young_one_stays(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from enlist.tools.runtime import runner

    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name, age in (("enlist-tool-old", runner.STALE + 60), ("enlist-tool-young", 60.0), ("else-old", 1e6)):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (time.time() - age,) * 2)
    runner._sweep()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["else-old", "enlist-tool-young"]
