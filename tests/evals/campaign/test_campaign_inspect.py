"""Inspect's own reader opens what is exported. Inspect stays out of the product and of its environment: the reader runs
in a virtual environment that the test makes."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from enlist.evals.campaign.content import tabulate
from enlist.evals.campaign.inspect_log import export

RUN = {"status": "done", "accepted": 1_700_000_000.0}
INSPECT = "inspect-ai==0.3.285"
READER = """
import json, sys
from inspect_ai.log import list_eval_logs, read_eval_log, read_eval_log_sample
found = []
for info in list_eval_logs(sys.argv[1]):
    log = read_eval_log(info)
    assert read_eval_log(info, header_only=True).samples is None
    sample = read_eval_log_sample(info, id=log.samples[0].id, epoch=1)
    found.append({"status": log.status, "task": log.eval.task, "solver": log.eval.solver,
                  "error": log.error.message if log.error else None, "seeds": log.eval.metadata["seeds"],
                  "metrics": {n: m.value for n, m in log.results.scores[0].metrics.items()},
                  "samples": {s.id: s.scores["score"].value for s in log.samples if s.scores},
                  "first": sample.id, "verdict": sample.metadata["verdict"]})
print(json.dumps(found))
"""


def exported(made: Any, folder: Path, run: dict[str, Any] = RUN, **changes: Any) -> list[Path]:
    return export(tabulate(made({"good": [1.0, 0.5, 0.75], "bad one": [0.0, 0.25, 0.0]}, **changes)), run, folder)


def test_each_row_is_one_log_with_its_samples_and_its_interval(made: Any, tmp_path: Path) -> None:
    paths = exported(made, tmp_path)
    logs = {log["eval"]["solver"]: log for log in (json.loads(p.read_text()) for p in paths)}
    assert set(logs) == {"good", "bad one"} and all(log["version"] == 2 for log in logs.values())
    metrics = logs["good"]["results"]["scores"][0]["metrics"]
    assert metrics["mean"]["value"] == 0.75
    assert metrics["low95"]["value"] < 0.75 < metrics["high95"]["value"]
    assert [s["scores"]["score"]["value"] for s in logs["good"]["samples"]] == [1.0, 0.5, 0.75]
    assert exported(made, tmp_path) == paths  # the same campaign, the same names


@pytest.fixture(scope="module")
def inspect_python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with Inspect; where no package index can be reached the tests of this module say so and do not run."""
    folder = tmp_path_factory.mktemp("inspect")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    made = subprocess.run([str(folder / "bin" / "pip"), "install", "--quiet", INSPECT], capture_output=True, text=True)
    if made.returncode != 0:
        pytest.skip(f"pip cannot install {INSPECT}: {made.stderr.strip().splitlines()[-1]}")
    return folder / "bin" / "python"


@pytest.mark.slow  # installs Inspect with a hundred packages
def test_inspects_own_reader_opens_every_log(made: Any, tmp_path: Path, inspect_python: Path) -> None:
    exported(made, tmp_path / "done", repeats=2)
    exported(made, tmp_path / "partial", {**RUN, "status": "partial"})
    found = {}
    for folder in ("done", "partial"):
        read = subprocess.run([str(inspect_python), "-c", READER, str(tmp_path / folder)], capture_output=True,
                              text=True, check=True)
        found[folder] = {log["solver"]: log for log in json.loads(read.stdout)}
    good = found["done"]["good"]
    assert (good["status"], good["task"], good["seeds"], good["first"]) == ("success", "made", [0, 1], "t0 seed 0")
    assert good["samples"] == {f"t{n} seed {seed}": value for seed in (0, 1) for n, value in enumerate((1, .5, .75))}
    assert good["metrics"]["mean"] == 0.75 and good["verdict"] == "ok"
    assert found["partial"]["bad one"]["status"] == "error" and "given up" in found["partial"]["bad one"]["error"]
