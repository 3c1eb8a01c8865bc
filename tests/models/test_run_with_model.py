"""A whole run whose wording a real, small model may smooth: it finds what a run without a model finds."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.model
ROOT = Path(__file__).parents[2]


def run(folder: Path, settings: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The document of a run and the content of its report."""
    home = folder / "home"
    home.mkdir(parents=True)
    (home / "enlist.toml").write_text(settings)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("RAY_", "ENLIST_"))}
    done = subprocess.run(
        [str(Path(sys.executable).parent / "enlist"), "run", "How far is this model from the limit of an H100?",
         "--attach", "examples/gpt2.py", "--json"],
        cwd=ROOT, env={**kept, "ENLIST_HOME": str(home), "ENLIST_OUT": str(folder / "out")}, capture_output=True,
        text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    return document, json.loads(Path(document["report"]["json"]).read_text())["content"]


def test_a_run_with_a_real_model_finds_what_a_run_without_one_finds(llamacpp: Any, tmp_path: Path) -> None:
    plain, plain_content = run(tmp_path / "plain", "")
    worded, worded_content = run(
        tmp_path / "worded", f'[models.small]\nendpoint = "{llamacpp.url}"\nmodel = "smollm2"\n'
        'capabilities = ["wording"]\ntimeout = 300\nfirst_byte_seconds = 120\nusd_per_million_in = 0.0\n'
        "usd_per_million_out = 0.0\n")
    assert plain["status"] == worded["status"] == "done"
    assert worded["findings"] == plain["findings"] and worded_content["claims"] == plain_content["claims"]
    assert worded["cost"]["tokens"] > 0 == plain["cost"]["tokens"]  # it was asked, and answered
    assert worded["reenlisted"] == []
