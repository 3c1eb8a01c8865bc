"""What a run is refused for before it is made: paths, addresses, seeds and folders that cannot be right."""

import os
import socket
from pathlib import Path
from typing import Any

import pytest

from enlist.orchestrator.attach import attach
from enlist.orchestrator.cluster import check_address
from enlist.orchestrator.report.files import check_folder
from enlist.orchestrator.run import run
from enlist.tools.runtime import config
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory import open_memory


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    return open_memory(f"sqlite://{tmp_path / 'store.db'}")


def refusal(memory: Any, *paths: Path) -> EnlistError:
    with pytest.raises(EnlistError) as fault:
        attach(memory, paths)
    assert fault.value.fix and len(fault.value.sentence()) < 600
    return fault.value


def test_a_folder_stands_for_its_regular_files_and_nothing_twice(memory: Any, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    (folder / "deep").mkdir(parents=True)
    (folder / ".git").mkdir()
    for name, text in (("b.txt", "b"), ("deep/a.txt", "a"), (".hidden", "h"), (".git/config", "g"), ("c.txt", "b")):
        (folder / name).write_text(text)
    (folder / "link").symlink_to("/etc/passwd")
    found = attach(memory, [folder, folder / "b.txt"])
    assert [a.ref.name for a in found] == ["b.txt", "deep/a.txt"]


@pytest.mark.parametrize("name", ["missing.py", "x" * 5000, "nul\0.py", "a file/below.py"])
def test_a_path_that_leads_nowhere_is_refused_by_name(memory: Any, tmp_path: Path, name: str) -> None:
    (tmp_path / "a file").write_text("")
    assert refusal(memory, tmp_path / name).exit_code == 2


def test_an_empty_folder_a_pipe_and_a_device_are_refused(memory: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "empty", tmp_path / "pipe", Path("/dev/zero")):
        assert refusal(memory, path).code == "bad_input"


def test_a_folder_with_too_much_in_it_is_refused_without_reading_it_all(memory: Any) -> None:
    assert "more than 1000" in refusal(memory, Path("/")).message


def test_empty_and_binary_files_are_attached_and_said_to_be_so(memory: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    (tmp_path / "junk").write_bytes(bytes(range(256)) * 64)
    for one in attach(memory, [tmp_path / "empty", tmp_path / "junk"]):
        assert one.kinds == () and one.note


def test_an_address_without_a_cluster_is_refused_at_once() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, but nobody listens
        with pytest.raises(EnlistError, match="nothing answers") as fault:
            check_address(f"127.0.0.1:{taken.getsockname()[1]}")
    assert fault.value.exit_code == 2
    for bad in ("ray://x:1", "nowhere", "x:y", ":1", "h:99999999"):
        with pytest.raises(EnlistError):
            check_address(bad)
    check_address("")
    check_address("auto")


def test_a_folder_for_reports_is_tried_before_anything_is_done(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EnlistError, match="no report can be written"):
        check_folder(tmp_path / "file")
    check_folder(tmp_path / "new" / "folder")
    assert list((tmp_path / "new" / "folder").iterdir()) == []


@pytest.mark.parametrize(("flags", "text"), [({"seed": -1}, "seed"), ({"address": "nowhere"}, "address"),
                                             ({"out": "/dev/null/x"}, "report")])
def test_a_run_that_cannot_be_is_not_made(tmp_path: Path, flags: dict[str, Any], text: str,
                                          monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENLIST_HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    settings = config.read(flags)
    with pytest.raises(EnlistError, match=text) as fault:
        run(settings, "how far is this from the limit of an H100?")
    assert fault.value.exit_code == 2
    memory = open_memory(settings.locator())
    assert memory.runs() == []
