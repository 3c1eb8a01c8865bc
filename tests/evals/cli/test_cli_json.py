"""With --json standard output is one document, whatever happens, and the exit status is the documented one."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from enlist.evals.cli.commands import COMMANDS
from enlist.tools.runtime.errors import FAULTS, EnlistError

# A call of every command that ends well without Ray; each with the keys of its document.
GOOD: dict[str, tuple[list[str], set[str]]] = {
    "team": (["team", "translate this poem"],
             {"plan", "missing", "nearest", "team", "utility", "upper_bound", "search"}),
    "runs": (["runs"], {"runs"}),
    "tools": (["tools", "list"], {"tools", "broken"}),
    "agents": (["agents", "list"], {"total", "distinct", "without_model", "specialists", "of", "offset",
                                    "snapshot"}),
    "snapshot": (["agents", "snapshot"], {"snapshot"}),
    "capabilities": (["capabilities", "list"], {"capabilities", "known"}),
    "envs": (["envs", "list"], {"environments", "broken"}),
    "campaign": (["campaign", "list"], {"campaigns"}),
    "memory": (["memory", "search", "anything"], {"records"}),
    "config": (["config", "show"], {"settings", "models"}),
    "models": (["models"], {"models"}),
    "logs": (["logs", "summarize", "logs.log"], {"incident", "undecided", "root_cause", "candidates", "timeline",
                                                 "claims", "impact",
                                                 "unknown", "accounting", "cost", "red_herrings", "start_utc",
                                                 "end_utc"}),
    "gc": (["gc", "--keep", "1"], {"dry_run", "runs", "runs_kept", "artifacts", "artifact_bytes", "waiting",
                                   "waiting_bytes", "grace_seconds"}),
}
BAD: dict[str, list[str]] = {
    "run": ["run", ""], "team": ["team", "x", "--attach", "absent"], "show": ["show", "absent"],
    "resume": ["resume", "absent"], "stop": ["stop", "absent"], "runs": ["runs", "--limit", "none"],
    "tool": ["tool", "absent"], "tools": ["tools", "show", "absent"], "agents": ["agents", "show", "absent"],
    "capabilities": ["capabilities", "show", "absent"], "envs": ["envs", "show", "absent"],
    "memory": ["memory", "search", "x", "--kind", "absent"], "config": ["config", "absent"],
    "doctor": ["doctor", "absent"], "gc": ["gc"],
    "logs": ["logs", "summarize", "absent"], "campaign": ["campaign", "run", "absent.yaml"],
    "models": ["models", "--use-models", "absent"], "metrics": ["metrics", "--limit", "none"],
    "mcp": ["mcp", "--tools", "absent"], "sol": ["sol", "model.py", "--device", "absent"]}


@pytest.mark.parametrize("name", GOOD)
def test_a_command_that_ends_well_prints_one_document(enlist: Any, name: str) -> None:
    call, keys = GOOD[name]
    Path("logs.log").write_text("2026-01-01T00:00:00Z INFO up\n")
    said = enlist(*call, "--json")
    assert said.code == 0, said.err
    assert set(said.document) == keys


@pytest.mark.parametrize("name", COMMANDS)
def test_a_users_mistake_is_one_document_and_exit_status_2(enlist: Any, name: str) -> None:
    said = enlist(*BAD[name], "--json")
    assert said.code == 2
    assert set(said.document) == {"error"}
    assert set(said.document["error"]) == {"code", "message", "given", "allowed", "fix"}
    assert said.document["error"]["fix"], "says what to do"
    assert "Traceback" not in said.err


@pytest.mark.parametrize("name", COMMANDS)
def test_a_users_mistake_is_a_short_block_on_standard_error(enlist: Any, name: str) -> None:
    said = enlist(*BAD[name])
    assert said.code == 2 and said.out == ""
    assert "Traceback" not in said.err
    block = said.err[said.err.index("error: "):].splitlines()
    assert len(block) <= 4 and block[-1].startswith("  to fix:")


@pytest.mark.parametrize("code", FAULTS)
def test_each_fault_ends_with_its_documented_exit_status(
        enlist: Any, monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    def fail(**flags: Any) -> None:
        raise EnlistError(code, "it happened", details="a secret traceback")

    monkeypatch.setattr("enlist.evals.cli.settings.settings", fail)
    said = enlist("runs", "--json")
    assert said.code == FAULTS[code].exit_code
    assert said.document["error"]["code"] == code
    assert "secret" not in said.out + said.err


def test_a_defect_is_named_as_ours_and_its_traceback_is_kept_for_debugging(
        enlist: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(**flags: Any) -> None:
        raise ZeroDivisionError("in the works")

    monkeypatch.setattr("enlist.evals.cli.settings.settings", fail)
    said = enlist("runs")
    assert said.code == 1 and "in the works" in said.err and "Traceback" not in said.err
    monkeypatch.setenv("ENLIST_DEBUG", "1")
    assert "Traceback" in enlist("runs").err


def test_an_interruption_ends_with_130(enlist: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(**flags: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("enlist.evals.cli.settings.settings", interrupt)
    assert enlist("runs").code == 130
    said = enlist("runs", "--json")
    assert said.code == 130 and said.document["error"]["code"] == "cancelled"


def test_documents_are_ascii_so_that_any_encoding_carries_them(enlist: Any) -> None:
    said = enlist("capabilities", "show", "日本語\x9b\x7f", "--json")
    assert said.out.isascii() and "日本語" in said.document["error"]["given"]


def test_what_a_library_prints_does_not_reach_standard_output(tmp_path: Path) -> None:
    code = ("import os, sys\nfrom enlist.evals.cli import settings\nfrom enlist.evals.cli.main import main\n"
            "old = settings.settings\n"
            "def noisy(**flags):\n    print('noise'); os.system('echo noise'); return old(**flags)\n"
            "settings.settings = noisy\nsys.exit(main(['runs', '--json']))")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True,
                          env={**os.environ, "ENLIST_HOME": str(tmp_path)})
    assert json.loads(done.stdout) == {"runs": []}
    assert done.stderr.count("noise") == 2


def test_lines_end_in_a_result_or_an_error(enlist: Any) -> None:
    said = enlist("run", "translate this poem", "--jsonl")
    lines = [json.loads(line) for line in said.out.splitlines()]
    assert lines[0]["kind"] == "run.accepted" and lines[-1]["kind"] == "result"
    assert [line["seq"] for line in lines[:-1]] == list(range(1, len(lines)))
    said = enlist("run", "", "--jsonl")
    assert [json.loads(line)["kind"] for line in said.out.splitlines()] == ["error"]


def test_a_store_with_a_password_is_shown_without_it(enlist: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENLIST_MEMORY", "postgresql://me:hunter2@host/base")
    assert "hunter2" not in enlist("config", "show", "--json").out
