"""Agents that stall, freeze, crash, overspend or claim what is refuted, in real runs on Ray: the sample plug-in's
`sample-shaky` does what its text says, and `sample-steady` takes its place."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil
import pytest

from enlist.tools.runtime.memory import open_memory

SCRIPT = Path(__file__).parent / "troubled_runs.py"
ANALYST = "letter_count.analyst"
QUICK = ({"name": "lie", "text": "one two\nlie\n"}, {"name": "lie again", "text": "one two\nlie again\n"},
         {"name": "overspend", "text": "one two\noverspend\n", "usd": 1.0},
         {"name": "stall", "text": "one two\nstall\n", "stall": 4.0})
LONG = ({"name": "freeze", "text": "one two\nfreeze\n", "stall": 4.0}, {"name": "crash", "text": "one two\ncrash\n"},
        {"name": "late", "text": "one two\nstall\n", "seconds": 12.0})
Told = dict[str, dict[str, Any]]


def perform(folder: Path, environment: dict[str, str], runs: tuple[dict[str, Any], ...]) -> Told:
    """What runs came to, one after another over one local Ray; nothing of them lives on."""
    done = subprocess.run([sys.executable, str(SCRIPT)], input=json.dumps({"folder": str(folder), "runs": runs}),
                          env=environment, text=True, capture_output=True, timeout=570)
    assert done.returncode == 0, done.stderr[-3000:]
    told: Told = json.loads(done.stdout)  # all of it: Ray's remarks on dead workers must not be there
    return told


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory, sample_plugin: dict[str, str]) -> Told:
    return perform(tmp_path_factory.mktemp("quick"), sample_plugin, QUICK)


@pytest.fixture(scope="module")
def told_at_length(tmp_path_factory: pytest.TempPathFactory, sample_plugin: dict[str, str]) -> Told:
    return perform(tmp_path_factory.mktemp("long"), sample_plugin, LONG)


def letters(run: dict[str, Any]) -> int:
    """The right answer, counted here."""
    (attached,) = run["report"]["content"]["request"]["attachments"]
    text = next(r["text"] for r in (*QUICK, *LONG) if f"{r['name']}.txt" == attached["ref"]["name"])
    return len(re.findall("[a-z]", text))


def claims(run: dict[str, Any]) -> list[tuple[int, str]]:
    return [(c["finding"]["value"], c["status"]) for c in run["document"]["findings"]]


def only_change(run: dict[str, Any], cause: str) -> dict[str, Any]:
    (change,) = run["document"]["reenlisted"]
    assert (change["role"], change["cause"], change["attempt"]) == (ANALYST, cause, 1)
    assert change["replaced"].startswith("sample-shaky/") and change["by"].startswith("sample-steady/")
    for page in (run["markdown"].replace("\\", ""), run["html"]):
        assert "Agents that were replaced" in page and change["by"] in page and change["replaced"] in page
    assert run["report"]["run"]["reenlisted"] == [change]
    return change


def seq(run: dict[str, Any], kind: str, role: str) -> list[int]:
    return [e["seq"] for e in run["events"] if e["kind"] == kind and e["role"] == role]


def test_refuted_claims_are_made_anew_and_the_report_has_both(told: Told) -> None:
    run = told["lie"]
    change = only_change(run, "refuted")
    assert run["document"]["status"] == "done" and claims(run) == [(letters(run), "confirmed")]
    old = {f["id"]: f for f in run["findings"]}[change["refuted"][0]]
    new = run["document"]["findings"][0]["finding"]
    assert old["value"] == letters(run) + 1 and new["supersedes"] == old["id"]
    (aside,) = run["report"]["content"]["superseded"]
    assert (aside["finding"]["id"], aside["status"]) == (old["id"], "refuted")
    for page in (run["markdown"].replace("\\", ""), run["html"]):
        assert "Claims that were refuted and made anew" in page and old["text"] in page
    sections = json.dumps(run["report"]["content"]["sections"])
    assert new["text"] in sections and old["text"] not in sections
    (writer,) = seq(run, "role.started", "writer")
    assert writer > max(seq(run, "role.finished", ANALYST)) and len(seq(run, "role.finished", ANALYST)) == 2
    assert len(seq(run, "role.finished", "letter_count.verifier")) == 2


def test_claims_that_nobody_can_make_right_stay_refuted_and_say_so(told: Told) -> None:
    run = told["lie again"]
    only_change(run, "refuted")
    assert run["document"]["status"] == "partial" and claims(run) == [(letters(run) + 2, "refuted")]
    assert any("stand as refuted" in note for note in run["document"]["notes"])


def test_an_agent_that_overspends_is_replaced_within_the_runs_budget(told: Told) -> None:
    run = told["overspend"]
    change = only_change(run, "overspent")
    assert run["document"]["status"] == "done" and claims(run) == [(letters(run), "confirmed")]
    assert change["cost"]["usd"] == run["usd"]["spent"] == 0.75 and run["usd"]["spent"] <= run["usd"]["limit"] == 1.0
    assert change["reason"].startswith("budget_exhausted")


def test_an_agent_that_stalls_is_ended_and_replaced(told: Told) -> None:
    run = told["stall"]
    change = only_change(run, "stalled")
    assert run["document"]["status"] == "done" and claims(run) == [(letters(run), "confirmed")]
    assert change["cost"]["seconds"] >= 4.0
    (worker,) = (e["data"]["process"]["owner"] for e in run["events"] if e["role"] == ANALYST and "process" in
                 e["data"] and e["data"].get("filling") == 1)
    assert not psutil.pid_exists(worker["pid"])


@pytest.mark.slow
def test_a_frozen_worker_is_ended_and_in_the_end_its_agent_replaced(told_at_length: Told) -> None:
    """SIGSTOP is nobody's fault: the agent is tried again as after a crash, until the bound."""
    run = told_at_length["freeze"]
    assert run["document"]["status"] == "done" and claims(run) == [(letters(run), "confirmed")]
    failed = [e["data"] for e in run["events"] if e["kind"] == "role.failed"]
    assert {d["error"]["code"] for d in failed} == {"worker_died"} and "was frozen" in failed[0]["error"]["message"]
    assert run["document"]["reenlisted"][-1]["by"].startswith("sample-steady/")
    workers = [e["data"]["process"]["owner"] for e in run["events"] if "process" in e["data"]]
    assert not [w for w in workers if psutil.pid_exists(w["pid"])]


@pytest.mark.slow
def test_an_agent_that_crashes_its_worker_is_tried_three_times_and_replaced(told_at_length: Told) -> None:
    run = told_at_length["crash"]
    assert run["document"]["status"] == "done" and claims(run) == [(letters(run), "confirmed")]
    by_agent = [e["data"]["agent"] for e in run["events"] if e["kind"] == "role.failed"]
    assert {by_agent.count(agent) for agent in by_agent} == {3}
    assert run["document"]["reenlisted"][-1]["by"].startswith("sample-steady/")


@pytest.mark.slow
def test_a_role_that_outstays_its_share_ends_and_the_run_says_that_the_budget_was_spent(told_at_length: Told) -> None:
    run = told_at_length["late"]
    assert run["document"]["status"] == "budget" and run["document"]["next"].startswith("enlist resume")
    (failed,) = [e["data"] for e in run["events"] if e["kind"] == "role.failed" and e["role"] == ANALYST
                 and not e["data"].get("final")]
    assert failed["cause"] == "overspent" and failed["error"]["code"] == "budget_exhausted"


@pytest.mark.slow
def test_a_run_killed_in_the_middle_of_a_rework_goes_on_with_it(tmp_path: Path, sample_plugin: dict[str, str]) -> None:
    environment = {**sample_plugin, "ENLIST_HOME": str(tmp_path / "home"), "ENLIST_OUT": str(tmp_path / "out")}
    text = tmp_path / "notes.txt"
    text.write_text("one two\nlie\nwait\n")
    enlist = str(Path(sys.executable).parent / "enlist")
    driver = subprocess.Popen([enlist, "run", "count the letters in this text", "--attach", str(text), "--json"],
                              env=environment, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    store, until = tmp_path / "home" / "store.db", time.monotonic() + 120
    run, again = "", False
    while not again and time.monotonic() < until:
        assert driver.poll() is None
        time.sleep(0.1)
        if store.exists():
            memory = open_memory(f"sqlite://{store}")
            events = memory.events(run) if (run := next(iter(memory.runs()), "")) else []
            memory.close()
            again = any(e.kind == "note" and e.data.get("filling") == 2 for e in events)
    below = psutil.Process(driver.pid).children(recursive=True)
    os.kill(driver.pid, signal.SIGKILL)
    driver.communicate()
    psutil.wait_procs(below, timeout=15)
    done = subprocess.run([enlist, "resume", run, "--json"], env=environment, cwd=tmp_path, text=True,
                          capture_output=True, timeout=300)
    document = json.loads(done.stdout)
    assert (done.returncode, document["status"]) == (0, "done")
    (change,) = document["reenlisted"]
    assert change["cause"] == "refuted" and change["attempt"] == 1
    assert [c["status"] for c in document["findings"]] == ["confirmed"]
    memory = open_memory(f"sqlite://{store}")
    fillings = [(e.attempt, e.data["agent"].split("/")[0]) for e in memory.events(run)
                if e.kind == "role.started" and e.role == ANALYST]
    memory.close()
    assert fillings == [(1, "sample-shaky"), (1, "sample-steady"), (2, "sample-steady")]
