"""A tool called from the command line: paths become artifacts at the edge, and nothing else does."""

import sys
import types
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from enlist.evals.cli.paths import admit
from enlist.tools.runtime import registry
from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.ids import bytes_hash
from enlist.tools.runtime.memory import open_memory
from enlist.tools.runtime.tool import Tool, ToolContext, ToolModel

NO_REF = {"sha256": "0" * 64, "name": "a", "bytes": 0}


class Part(ToolModel):
    file: ArtifactRef
    title: str = ""


class Given(ToolModel):
    """Every way in which a field may take an artifact, and some in which it may not."""

    one: ArtifactRef
    many: tuple[ArtifactRef, ...] = ()
    maybe: ArtifactRef | None = None
    named: dict[str, ArtifactRef] = {}  # noqa: RUF012
    part: Part | None = None
    parts: list[Part] = []  # noqa: RUF012
    pair: tuple[str, ArtifactRef] | None = None
    either: ArtifactRef | str = ""
    text: str = ""


class Made(ToolModel):
    sizes: dict[str, int]
    copy_of: ArtifactRef


def probe(given: Given, ctx: ToolContext) -> Made:
    ctx.progress(0.5, "half way")
    refs = {"one": given.one, **{f"many{n}": ref for n, ref in enumerate(given.many)}}
    return Made(sizes={name: len(ctx.open_artifact(ref).read_bytes()) for name, ref in refs.items()},
                copy_of=ctx.put_artifact(b"made", media_type="text/plain", name="\x1b[31mmade.txt"))


@pytest.fixture
def probe_tool(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tool `probe`, installed for one test."""
    module = types.ModuleType("enlist_probe")
    module.__dict__.update(probe=probe, PROBE=Tool(
        name="probe", version="1", summary="measure files", input=Given, output=Made, run="enlist_probe:probe",
        example={"one": NO_REF}, check_route="none"))
    monkeypatch.setitem(sys.modules, "enlist_probe", module)
    monkeypatch.setattr(registry, "entries", lambda group: {
        "probe": EntryPoint(name="probe", value="enlist_probe:PROBE", group=group)})


@pytest.mark.usefixtures("probe_tool")
def test_paths_alone_and_in_lists_become_artifacts(enlist: Any, tmp_path: Path) -> None:
    (tmp_path / "a b.txt").write_bytes(b"12345")
    (tmp_path / "c.txt").write_bytes(b"123")
    said = enlist("tool", "probe", "--input", '{"one": "a b.txt", "many": ["c.txt", "a b.txt"]}', "--json")
    assert said.code == 0, said.err
    assert said.document["sizes"] == {"one": 5, "many0": 3, "many1": 5}
    assert said.document["copy_of"]["sha256"] == bytes_hash(b"made")


@pytest.mark.usefixtures("probe_tool")
def test_people_are_told_where_the_artifacts_lie(enlist: Any, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"1")
    (tmp_path / "input.json").write_text('{"one": "a.txt"}')
    said = enlist("tool", "probe", "--input", "@input.json")
    assert said.code == 0 and '"one": 1' in said.out and "\x1b" not in said.out + said.err
    path = next(line.rpartition(": ")[2] for line in said.err.splitlines() if "made.txt" in line)
    assert Path(path).read_bytes() == b"made"


@pytest.mark.usefixtures("probe_tool")
@pytest.mark.parametrize(("input", "code", "word"), [
    ('{"one": "absent.txt"}', "not_found", "absent.txt"), ('{"one": "folder"}', "bad_input", "folder"),
    ('{"one": 3}', "bad_input", "one"), ('{"none": "x"}', "bad_input", "one"), ("[]", "bad_input", "dictionary"),
    ("{", "bad_input", "JSON"), ("@absent", "bad_input", "absent"), ("@folder", "bad_input", "folder"),
    ("[" * 100_000, "bad_input", "JSON")], ids=range(9))
def test_an_input_that_cannot_be_read_is_the_users_to_mend(
        enlist: Any, tmp_path: Path, input: str, code: str, word: str) -> None:
    (tmp_path / "folder").mkdir()
    said = enlist("tool", "probe", "--input", input, "--json")
    assert said.code == 2 and said.document["error"]["code"] == code
    assert word in str(said.document["error"])


def test_every_shape_of_field_takes_a_path_and_strings_stay_strings(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_bytes(b"content")
    memory = open_memory(f"sqlite://{tmp_path / 'store.db'}")
    name = str(path)
    admitted = Given.model_validate(admit(Given, {
        "one": name, "many": [name], "maybe": name, "named": {"k": name}, "part": {"file": name, "title": name},
        "parts": [{"file": name}], "pair": [name, name], "either": name, "text": name}, memory))
    memory.close()
    expected = bytes_hash(b"content")
    for ref in (admitted.one, admitted.many[0], admitted.maybe, admitted.named["k"], admitted.part.file,  # type: ignore
                admitted.parts[0].file, admitted.pair[1]):  # type: ignore
        assert ref.sha256 == expected
    assert admitted.text == admitted.either == admitted.pair[0] == admitted.part.title == name  # type: ignore


def test_a_reference_is_passed_on_untouched(tmp_path: Path) -> None:
    memory = open_memory(f"sqlite://{tmp_path / 'store.db'}")
    assert admit(Given, {"one": NO_REF, "unknown": "x"}, memory) == {"one": NO_REF, "unknown": "x"}
    with pytest.raises(EnlistError, match="not there"):
        admit(Given, {"one": "no such file"}, memory)
    memory.close()
