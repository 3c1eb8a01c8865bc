"""A path on the command line: the file, its target, and the modules beside it that it imports."""

from pathlib import Path

import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.formats.opened import opened


def test_a_target_follows_two_colons(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("import torch\n")
    (one,) = opened(f"{tmp_path}/model.py::Net", "batch=4")
    assert (one.name, one.target, one.inputs, one.label) == ("model.py", "Net", "batch=4", "")
    assert one.resized("length", 8).inputs == "batch=4;length=8"


def test_modules_beside_the_file_go_with_it_and_no_others(tmp_path: Path) -> None:
    (tmp_path / "model.py").write_text("import torch, layers\nfrom json import loads\n")
    (tmp_path / "layers.py").write_text("from deeper import thing\nimport model\n")
    (tmp_path / "deeper.py").write_text("thing = 1\n")
    (tmp_path / "unused.py").write_text("secret = 1\n")
    (one,) = opened(str(tmp_path / "model.py"))
    assert dict(one.modules) == {n: (tmp_path / n).read_bytes() for n in ("layers.py", "deeper.py")}


@pytest.mark.parametrize(("typed", "code"), [
    ("absent.py", "not_found"), ("absent.py::Model", "not_found"), ("::Model", "bad_input"),
    ("model.py::", "bad_input"), (".", "bad_input"), ("", "bad_input"), ("a" * 5000, "bad_input"),
    ("a\0b", "not_found")])
def test_what_is_no_file_is_told_with_a_fix(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str, code: str) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(EnlistError) as caught:
        opened(typed)
    assert caught.value.code == code and caught.value.fix
