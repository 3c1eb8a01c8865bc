"""Whole campaigns on a local Ray, with the sample plug-in's environment: resumed, killed, refused, out of budget."""

import json
import os
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from enlist.evals.campaign.journal import State
from enlist.tools.runtime.memory import open_memory

COUNTS = "import json, sys\nprint(json.dumps({'words': len(json.load(sys.stdin)['payload']['text'].split())}))\n"
RECORDS = """import json, os, sys, time
task = json.load(sys.stdin)
descriptor = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND)
time.sleep(0.3)
os.write(descriptor, (task["id"] + " " + str(task["seed"]) + "\\n").encode())
print(json.dumps({"words": len(task["payload"]["text"].split())}))
"""


def write(folder: Path, solvers: str, *, options: str = "{count: 2}", seeds: int = 1, more: str = "") -> str:
    """A campaign file of `sample-words`, with two scripts beside it that count words."""
    (folder / "counts.py").write_text(COUNTS)
    (folder / "records.py").write_text(RECORDS)
    (folder / "campaign.yaml").write_text(
        f"name: words\nenvironments: [{{name: sample-words, seeds: {seeds}, options: {options}}}]\n"
        f"solvers: [{solvers}]\n{more}")
    return "campaign.yaml"


def board(document: Any) -> dict[str, Any]:
    return {row["solver"]: row for row in document["content"]["boards"][0]["rows"]}


def state(folder: Path) -> State:
    memory = open_memory(f"sqlite://{folder / 'home' / 'store.db'}")
    try:
        return State.read(memory, memory.records("plan")[-1].run)
    finally:
        memory.close()


def start(plugin: dict[str, str], folder: Path, file: str, **variables: str) -> subprocess.Popen[bytes]:
    """`enlist campaign run` in the background."""
    variables |= {"ENLIST_HOME": str(folder / "home"), "ENLIST_OUT": str(folder / "out")}
    return subprocess.Popen(["enlist", "campaign", "run", file, "--json"], cwd=folder, stdout=subprocess.DEVNULL,
                            stderr=subprocess.DEVNULL, env={**plugin, **variables})


def until_settled(folder: Path, count: int) -> State:
    """Wait until so many samples are settled."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if (folder / "home" / "store.db").exists():
            memory = open_memory(f"sqlite://{folder / 'home' / 'store.db'}")
            found = [r.run for r in memory.records("plan")]
            seen = State.read(memory, found[-1]) if found else State()
            memory.close()
            if len(seen.outcomes) >= count:
                return seen
        time.sleep(0.1)
    raise AssertionError(f"{count} samples were not settled in time")


def test_a_campaign_runs_once_and_is_shown_compared_and_exported(program: Any, tmp_path: Path) -> None:
    file = write(tmp_path, "classical, {command: [python, counts.py], files: [counts.py]}")
    code, document = program("run", file)
    assert code == 0 and document["status"] == "done"
    rows = board(document)
    assert {name: row["score"]["mean"] for name, row in rows.items() if name != "random"} == {
        "classical": 1.0, "counts.py": 1.0}
    assert rows["classical"]["kinds"] == ["oracle"] and rows["random"]["kinds"] == ["random"]
    assert document["run"]["tries"] == 2 * 3 and all(Path(p).is_file() for p in document["leaderboard"].values())

    again, second = program("run", file)
    assert again == 0 and second["run"]["tries"] == 6 and second["content"] == document["content"]
    id = document["campaign"]
    assert program("show", id)[1]["content"] == document["content"]
    assert program("list")[1]["campaigns"][0] == {"campaign": id, "name": "words", "status": "done", "settled": 6,
                                                  "samples": 6}
    assert program("diff", id, document["leaderboard"]["json"])[1]["regressions"] == []
    code, exported = program("export", id)
    assert code == 0 and len(exported["logs"]) == 3
    assert json.loads(Path(exported["logs"][0]).read_text())["version"] == 2


@pytest.mark.slow  # several starts of Ray
def test_a_driver_that_is_killed_is_followed_by_one_that_does_only_the_rest(
        sample_plugin: dict[str, str], program: Any, tmp_path: Path, side_effects: Path) -> None:
    file = write(tmp_path, f"{{command: [python, records.py, {side_effects}], files: [records.py]}}, classical",
                 options="{count: 6}", seeds=2)
    basic = {"ENLIST_SANDBOX": "basic"}  # the only level at which a solver may write outside of its folder
    done: set[str] = set()
    for settled in (4, 14):
        driver = start(sample_plugin, tmp_path, file, **basic)
        done |= set(until_settled(tmp_path, settled).outcomes)
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    killed = state(tmp_path)
    code, document = program("run", file, **basic)
    assert code == 0 and document["run"]["settled"] == 36 and len(killed.outcomes) < 36

    memory = open_memory(f"sqlite://{tmp_path / 'home' / 'store.db'}")
    settled_at: dict[str, int] = {}
    for event in memory.events(document["campaign"]):
        if event.data.get("what") == "settled":
            settled_at[event.data["sample"]] = event.seq
        assert event.data.get("what") != "started" or event.data["sample"] not in settled_at, "tried again when settled"
    lost = sum(State.read(memory, document["campaign"]).starts.values()) - 36
    memory.close()
    assert done <= set(settled_at)
    times = Counter(side_effects.read_text().splitlines())
    assert len(times) == 12 and sum(times.values()) - 12 <= lost

    whole = tmp_path / "whole"
    whole.mkdir()
    write(whole, f"{{command: [python, records.py, {side_effects}], files: [records.py]}}, classical",
          options="{count: 6}", seeds=2)
    assert program("run", str(whole / file), ENLIST_HOME=str(whole / "home"), **basic)[1]["content"] == \
        document["content"]


@pytest.mark.slow  # a campaign that takes its time
def test_a_second_driver_is_refused_and_an_interrupt_can_be_resumed(
        sample_plugin: dict[str, str], program: Any, tmp_path: Path) -> None:
    file = write(tmp_path, "{name: slow, command: [python, -c, 'import time; time.sleep(1); print(0)']}",
                 options="{count: 12}", more="disposition: error\n")
    driver = start(sample_plugin, tmp_path, file)
    until_settled(tmp_path, 2)
    code, refused = program("run", file)
    assert code == 2 and refused["error"]["code"] == "lease_held"
    driver.send_signal(signal.SIGINT)
    assert driver.wait(60) == 130
    assert sum(state(tmp_path).faults.values()) == 0  # what was running counts as nothing
    code, document = program("run", file)
    assert code == 0 and document["run"]["settled"] == 12 * 3
    assert board(document)["slow"]["verdicts"] == {"invalid": 12}


@pytest.mark.slow  # waits for hanging solvers
def test_hanging_and_crashing_solvers_get_their_disposition_and_leave_no_process(program: Any, tmp_path: Path) -> None:
    marker = f"sleep-{os.getpid()}"
    hangs = f"import subprocess, sys, time; subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)', " \
            f"'{marker}']); time.sleep(600)"
    solvers = (f'classical, {{name: hangs, command: [python, -c, "{hangs}"]}}, '
               "{name: crashes, command: [python, -c, 'import os; os.kill(os.getpid(), 11)']}")
    file = write(tmp_path, solvers, options="{count: 1}", more="limits: {seconds: 3}\nretries: 1\n")
    code, document = program("run", file)
    rows = board(document)
    assert code == 0 and document["run"]["tries"] == 2 + 2 * 2
    assert (rows["hangs"]["verdicts"], rows["crashes"]["verdicts"]) == ({"timeout": 1}, {"invalid": 1})
    assert rows["classical"]["score"]["mean"] == 1.0
    alive = [p for p in Path("/proc").glob("[0-9]*/cmdline") if marker.encode() in _bytes(p)]
    assert alive == []

    file = write(tmp_path, solvers, options="{count: 1}",
                 more="limits: {seconds: 3}\nretries: 1\ndisposition: skip\n")
    code, document = program("run", file)
    rows = board(document)
    assert code == 0 and document["run"]["tries"] == 4
    assert rows["hangs"]["score"] is None and rows["hangs"]["skipped"] == 1 and rows["crashes"]["skipped"] == 1


@pytest.mark.slow  # several starts of Ray
@pytest.mark.parametrize("fault", ["error", "dies"])
def test_a_broken_scorer_is_our_error_and_does_not_run_the_solver_again(
        program: Any, tmp_path: Path, side_effects: Path, fault: str) -> None:
    file = write(tmp_path, f"{{name: recorder, command: [python, records.py, {side_effects}], files: [records.py]}}",
                 options=f"{{count: 2, fault: {fault}}}", more="retries: 2\n")
    code, document = program("run", file, ENLIST_SANDBOX="basic")
    assert code == 1 and document["status"] == "partial" and document["run"]["settled"] == 0
    assert board(document)["recorder"]["score"] is None and board(document)["recorder"]["missing"] == 2
    assert len(document["run"]["given_up"]) == 2 * 3 and document["run"]["tries"] == 6 * 3
    assert sorted(side_effects.read_text().splitlines()) == ["text-0 0", "text-1 0"]
    assert program("run", file, ENLIST_SANDBOX="basic")[0] == 1  # nothing is tried for ever


@pytest.mark.slow  # several starts of Ray
def test_a_budget_that_is_spent_ends_the_campaign_until_it_is_raised(program: Any, tmp_path: Path) -> None:
    slow = "{name: slow, command: [python, -c, 'import time; time.sleep(2); print(0)']}"
    file = write(tmp_path, slow, options="{count: 8}", more="disposition: error\nbudget: {seconds: 6}\n")
    code, document = program("run", file)
    assert code == 3 and document["status"] == "budget" and 0 < document["run"]["settled"] < 24
    assert document["error"]["code"] == "budget_exhausted"
    assert program("run", file)[0] == 3
    write(tmp_path, slow, options="{count: 8}", more="disposition: error\nbudget: {seconds: 600}\n")
    code, later = program("run", file)
    assert code == 0 and later["campaign"] == document["campaign"]
    assert later["run"]["cost"]["seconds"] > document["run"]["cost"]["seconds"]


@pytest.mark.slow  # a team starts in a run of its own
def test_an_agent_and_a_team_answer_tasks_by_their_findings(program: Any, tmp_path: Path) -> None:
    file = write(tmp_path, "classical, {agent: sample-analyst/rounds=1/time_limit=60}, {team: {seed: 0}}",
                 options="{count: 1}")
    code, document = program("run", file)
    rows = board(document)
    assert code == 0, document["run"]["given_up"]
    assert rows["team"]["score"]["mean"] == 1.0
    agent = "sample-analyst/rounds=1/time_limit=60"
    assert rows[f"agent {agent}"]["score"]["mean"] == 1.0
    memory = open_memory(f"sqlite://{tmp_path / 'home' / 'store.db'}")
    lessons = [record.data for record in memory.records("track")]
    memory.close()
    assert {d["agent"] for d in lessons} == {agent}  # a team's score is nobody's alone
    assert [d["value"] for d in lessons] == [1.0] * rows[f"agent {agent}"]["samples"]


@pytest.mark.slow  # a whole run
def test_a_request_with_a_campaign_attached_is_answered_with_confirmed_claims(
        sample_plugin: dict[str, str], tmp_path: Path) -> None:
    write(tmp_path, "classical, first-line, {command: [python, counts.py], files: [counts.py]}", options="{count: 4}")
    done = subprocess.run(
        ["enlist", "run", "run these solvers over the environments and rank them", "--attach", "campaign.yaml",
         "--attach", "counts.py", "--json"], capture_output=True, text=True, cwd=tmp_path, timeout=300,
        env={**sample_plugin, "ENLIST_HOME": str(tmp_path / "home")})
    document = json.loads(done.stdout)
    assert done.returncode == 0 and document["status"] == "done", done.stderr
    statuses = Counter(claim["status"] for claim in document["findings"])
    assert set(statuses) == {"confirmed"} and statuses["confirmed"] == 4 * 2 + 3
    means = {c["finding"]["conditions"]["solver"]: c["finding"]["value"] for c in document["findings"]
             if c["finding"]["predicate"] == "mean score"}
    assert means["classical"] == means["counts.py"] == 1.0 and means["first-line"] < 1.0


@pytest.mark.slow  # a whole run
def test_a_benchmark_is_asked_for_in_plain_language(sample_plugin: dict[str, str], tmp_path: Path) -> None:
    done = subprocess.run(
        ["enlist", "run", "benchmark the solvers splitter and first line reader of sample-words over two seeds",
         "--json"], capture_output=True, text=True, cwd=tmp_path, timeout=300,
        env={**sample_plugin, "ENLIST_HOME": str(tmp_path / "home")})
    document = json.loads(done.stdout)
    assert document["status"] == "done", done.stderr
    assert {c["status"] for c in document["findings"]} == {"confirmed"}
    samples = {c["finding"]["conditions"]["solver"]: c["finding"]["conditions"]["samples"]
               for c in document["findings"] if c["finding"]["predicate"] == "successes"}
    assert samples == {"classical": 12, "first-line": 12, "random": 12}  # two seeds of six texts
    assert document["next"].startswith("enlist campaign show c")


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
