import contextlib
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.sandbox import (
    LEVELS,
    Job,
    Level,
    LevelReport,
    Limits,
    best,
    collect,
    python_job,
    read_json,
    sandbox,
)


@pytest.mark.parametrize("level", ["full", *(pytest.param(level, marks=pytest.mark.slow) for level in LEVELS[1:])])
def test_torch_and_enlist_work_inside_and_prints_do_no_harm(
        level: Level, tmp_path: Path, level_report: Callable[[Level], LevelReport]) -> None:
    level_report(level)
    script = tmp_path / "script.py"
    script.write_text("print('{noise')\nimport torch, json\nfrom enlist.tools.runtime.ids import content_hash\n"
                      "json.dump([torch.ones(3).sum().item(), content_hash([])], open('result.json', 'w'))")
    result = sandbox(level).run(python_job(tmp_path, script=script, limits=Limits(seconds=120, memory_bytes=2 << 30)))
    assert result.code == 0, result
    # the second is the SHA-256 of "[]", by coreutils
    assert read_json(tmp_path) == [3.0, "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945"]


def test_a_python_job_sees_no_variable_of_the_caller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "secret")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy")
    job = python_job(tmp_path, module="platform", environment={"MINE": "1"})
    assert {"SOME_API_KEY", "HTTPS_PROXY"}.isdisjoint(job.environment)
    assert (job.environment["HOME"], job.environment["MINE"]) == (str(tmp_path), "1")


def test_a_module_runs_with_its_arguments_and_scratch_files_are_not_collected(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import sys, tempfile\nopen('out', 'w').write(sys.argv[1])\n"
                                      "tempfile.NamedTemporaryFile(delete=False).close()")
    job = python_job(tmp_path, module="mine", arguments=("word",), environment={"PYTHONPATH": str(tmp_path)})
    assert best().run(job).code == 0
    assert {name: path.read_text() for name, path in collect(tmp_path).items() if name != "mine.py"} == {"out": "word"}


def test_a_program_that_is_not_inside_is_told_with_the_way_to_have_it(
        tmp_path: Path, level_report: Callable[[Level], LevelReport]) -> None:
    level_report("full")
    tool = tmp_path / "tool"
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    work = tmp_path / "work"
    work.mkdir()
    with pytest.raises(EnlistError) as caught:
        sandbox("full").run(Job((str(tool),), work))
    assert caught.value.code == "not_found" and "read_only" in str(caught.value)


@pytest.mark.parametrize("argv", [(), ("a\0b",)])
def test_a_job_without_a_command_is_bad_input(argv: tuple[str, ...], tmp_path: Path) -> None:
    with pytest.raises(EnlistError) as caught:
        best().run(Job(argv, tmp_path))
    assert caught.value.code == "bad_input"


def test_a_work_folder_that_is_missing_or_a_link_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("/tmp")
    for work in (tmp_path / "missing", tmp_path / "link"):
        with pytest.raises(EnlistError) as caught:
            best().run(Job(("/bin/true",), work))
        assert caught.value.code == "bad_input"


def test_jobs_of_several_threads_do_not_meet(tmp_path: Path) -> None:
    """`--die-with-parent` and descriptors are per thread and per process: jobs started at once must not mix."""
    outputs: dict[int, bytes] = {}

    def run(number: int) -> None:
        work = tmp_path / str(number)
        work.mkdir()
        outputs[number] = best().run(Job(("/bin/sh", "-c", f"sleep 0.2; echo {number}"), work)).stdout

    threads = [threading.Thread(target=run, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outputs == {number: f"{number}\n".encode() for number in range(6)}


def test_no_descriptor_is_left_open_after_a_job(tmp_path: Path) -> None:
    best()
    before = set(os.listdir("/proc/self/fd"))
    best().run(Job(("/bin/true",), tmp_path))
    assert set(os.listdir("/proc/self/fd")) == before


def test_peak_memory_is_near_what_the_job_held(tmp_path: Path) -> None:
    held = 100 << 20
    (tmp_path / "hold.py").write_text(f"import time\nheld = b'x' * {held}\ntime.sleep(0.5)")
    result = best().run(python_job(tmp_path, script=tmp_path / "hold.py"))
    assert held <= result.peak_memory_bytes <= held + (64 << 20)


def test_a_callback_that_raises_ends_the_job_and_passes_the_fault_on(tmp_path: Path) -> None:
    def cancelled() -> bool:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        best().run(Job(("/bin/sh", "-c", f"sleep 86399 # {tmp_path}"), tmp_path), cancelled)
    time.sleep(0.1)
    lines = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline") if path.exists()]
    assert not any(str(tmp_path).encode() in line for line in lines)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_inputs_become_the_jobs_own_but_a_file_with_a_name_elsewhere_does_not(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "input").write_text("x")
    (tmp_path / "precious").write_text("x")
    os.link(tmp_path / "precious", work / "alias")
    (work / "link").symlink_to(tmp_path / "precious")
    assert best().run(Job(("/bin/sh", "-c", "echo y >> input"), work)).code == 0
    assert (work / "input").read_text() == "xy\n"
    assert os.stat(tmp_path / "precious").st_uid == 0


@pytest.mark.parametrize("level", LEVELS)
def test_when_the_supervisor_is_killed_the_job_dies_and_reads_as_killed(
        level: Level, tmp_path: Path, level_report: Callable[[Level], LevelReport]) -> None:
    level_report(level)

    def kill_supervisor_once_begun() -> bool:
        if (tmp_path / "begun").exists():
            for supervisor in psutil.Process().children():
                with contextlib.suppress(psutil.ZombieProcess):  # killed on an earlier call
                    if "supervise" in supervisor.cmdline():
                        supervisor.kill()
        return False

    job = Job(("/bin/sh", "-c", "touch begun; exec sleep 86398"), tmp_path)
    result = sandbox(level).run(job, kill_supervisor_once_begun)
    assert (result.ending, result.code) == ("signalled", -9)
    end = time.monotonic() + 10
    while any(process.info["cmdline"] == ["sleep", "86398"] for process in psutil.process_iter(["cmdline"])):
        assert time.monotonic() < end
        time.sleep(0.05)
