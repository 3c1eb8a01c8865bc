"""The ground floor's small contracts: errors, ids, artifacts, findings, tools, the registry, configuration."""

import hashlib
import json
import os
import pickle
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enlist.tools.runtime import config, registry
from enlist.tools.runtime.artifacts import ArtifactFolder
from enlist.tools.runtime.errors import FAULTS, EnlistError, boundary
from enlist.tools.runtime.findings import Finding, RequestEvidence, ToolEvidence
from enlist.tools.runtime.ids import canonical_json, content_hash, new_run_id
from enlist.tools.runtime.runner import artifacts_in
from enlist.tools.runtime.tool import Tool, ToolModel
from enlist.tools.runtime.tool_conformance import check_tool

JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False,
                                                                                      allow_infinity=False),
                    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10)


def test_the_vocabulary_of_faults_is_closed() -> None:
    with pytest.raises(ValueError, match="unknown fault code"):
        EnlistError("oops", "no such code")
    assert {f.exit_code for f in FAULTS.values()} == {1, 2, 3, 4, 130}


def test_an_error_says_what_was_given_allowed_and_to_do_and_crosses_processes() -> None:
    error = EnlistError("bad_input", "no such colour", given="blau", allowed="red, blue", fix="say blue")
    for copy in (pickle.loads(pickle.dumps(error)), EnlistError.from_dict(json.loads(json.dumps(error.to_dict())))):
        assert copy.sentence() == "no such colour; given: blau; allowed: red, blue; to fix: say blue"
        assert (copy.exit_code, copy.kind) == (2, "user")


def test_a_boundary_classifies_what_is_not_ours_and_passes_what_is() -> None:
    with pytest.raises(EnlistError) as fault, boundary("the cellar"):
        raise ZeroDivisionError("by nought")
    assert fault.value.code == "internal" and "the cellar: ZeroDivisionError" in fault.value.message
    with pytest.raises(EnlistError) as fault, boundary("the cellar"):
        raise EnlistError("timeout", "too slow")
    assert fault.value.code == "timeout"


@given(JSON)
def test_canonical_json_reads_back_and_ignores_the_order_of_keys(value: object) -> None:
    assert json.loads(canonical_json(value)) == value
    if isinstance(value, dict):
        assert content_hash(dict(reversed(list(value.items())))) == content_hash(value)


def test_a_number_that_is_none_has_no_hash() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        content_hash(float("nan"))


def test_run_ids_sort_by_time(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = []
    for second in (1.0, 2.0, 1e9, 1.8e9, 3e10):
        monkeypatch.setattr("time.time", lambda second=second: second)
        ids.append(new_run_id())
    assert ids == sorted(ids) and len({len(i) for i in ids}) == 1


def test_artifacts_are_kept_once_by_content_and_an_altered_one_is_found_out(tmp_path: Path) -> None:
    folder = ArtifactFolder(tmp_path)
    (tmp_path / "source").write_bytes(b"abc" * 1000)
    one = folder.put_bytes(b"abc" * 1000, media_type="text/plain", name="a")
    two = folder.put_file(tmp_path / "source", media_type="text/plain", name="b")
    assert one.sha256 == two.sha256 == hashlib.sha256(b"abc" * 1000).hexdigest()
    assert folder.open(two).read_bytes() == b"abc" * 1000
    assert not list(tmp_path.glob(".put-*"))
    folder.path(one.sha256).write_bytes(b"abd" * 1000)
    with pytest.raises(EnlistError, match="altered"):
        folder.open(one)
    folder.path(one.sha256).unlink()
    with pytest.raises(EnlistError, match="not in this store"):
        folder.open(one)


def finding(value: float = 1.5, **more: object) -> Finding:
    return Finding.make(template="{subject} takes {value:g} {unit} on {device}", **{
        "capability": "c", "subject": "m", "predicate": "time", "value": value, "unit": "s",
        "conditions": {"device": "d"}, "tier": "analytic", "evidence": (RequestEvidence(quote="q"),), **more})


def test_a_finding_is_what_it_says_and_not_how_sure_or_in_what_words() -> None:
    assert finding().text == "m takes 1.5 s on d"
    assert finding().id == finding(confidence=0.5).id
    assert len({finding().id, finding(2.5).id, finding(tier="computed").id, finding(unit="ms").id,
                finding(evidence=(ToolEvidence(tool="t", version="1", input_sha256="0"),)).id}) == 5


class Given(ToolModel):
    count: int


class Taken(ToolModel):
    total: int


def add(given: Given, ctx: object) -> Taken:
    return Taken(total=given.count + 1)


def tool(**more: object) -> Tool:
    return Tool(**{"name": "adds-one", "version": "1", "summary": "Adds one", "input": Given, "output": Taken,  # type: ignore[arg-type]
                   "run": f"{__name__}:add", "example": {"count": 1}, "check_route": "subtract", **more})


def test_a_bad_argument_is_answered_with_field_rule_and_example() -> None:
    with pytest.raises(EnlistError) as fault:
        tool().parse({"count": "many"})
    assert "'count'" in fault.value.message and "{'count': 1}" in (fault.value.allowed or "")
    with pytest.raises(EnlistError, match="did you mean 'count'"):
        tool().parse({"count": 1, "cuont": 2})


def test_a_declaration_that_cannot_hold_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown fault codes"):
        tool(errors=("explodes",))
    with pytest.raises(ValueError, match="no effects"):
        tool(effects=frozenset({"network"}))


class Loose(ToolModel):
    model_config = {"extra": "allow"}  # noqa: RUF012

    count: int


def test_the_tool_suite_catches_a_lax_tool() -> None:
    for bad, why in (({"input": Loose}, "forbid extra"), ({"name": "Adds One"}, "lower case"),
                     ({"check_route": ""}, "route"), ({"time_limit": 0}, "limits")):
        with pytest.raises(AssertionError, match=why):
            check_tool(tool(**{"run": "math:sqrt", **bad}))


def test_artifact_references_are_found_wherever_they_stand(tmp_path: Path) -> None:
    ref = ArtifactFolder(tmp_path).put_bytes(b"x", media_type="text/plain", name="x")
    assert list(artifacts_in({"a": [ref, {"b": (ref,)}], "c": 1})) == [ref, ref]


def test_a_plug_in_that_does_not_load_is_named_and_takes_nothing_down(monkeypatch: pytest.MonkeyPatch) -> None:
    points = [EntryPoint("good", "math:pi", "enlist.tools"), EntryPoint("bad", "no_such_module:X", "enlist.tools")]
    monkeypatch.setattr(registry, "entry_points", lambda group: points)
    for cached in (registry.entries, registry.faults):
        cached.cache_clear()
    try:
        assert list(registry.load_all("enlist.tools")) == ["good"]
        assert "no_such_module" in registry.faults("enlist.tools")["bad"]
        with pytest.raises(EnlistError, match="god") as fault:
            registry.load_entry("enlist.tools", "god")
        assert "good" in (fault.value.allowed or "")
    finally:
        monkeypatch.undo()
        for cached in (registry.entries, registry.faults):
            cached.cache_clear()


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for option in config.OPTIONS.values():
        monkeypatch.delenv(option.variable, raising=False)
    monkeypatch.setenv("ENLIST_HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_flag_beats_the_environment_beats_the_file_beats_the_default(bare: Path,
                                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    assert (config.read()["seed"], config.read().settings["seed"].origin) == (0, "default")
    (bare / "home" / "enlist.toml").write_text("seed = 1\nout = 'there'\n")
    assert config.read()["seed"] == 1 and config.read()["out"] == "there"
    (bare / "enlist.toml").write_text("seed = 2\n")
    assert config.read()["seed"] == 2 and config.read()["out"] == "there"
    monkeypatch.setenv("ENLIST_SEED", "3")
    assert config.read().settings["seed"] == config.Setting("seed", 3, "environment ENLIST_SEED")
    assert config.read({"seed": 4, "out": None}).settings["seed"] == config.Setting("seed", 4, "flag")


@pytest.mark.parametrize(("text", "named"), [("sead = 1", "seed"), ("seed = 'x'", "int"), ("seed = ", "TOML"),
                                             ("seed = true", "int"), ("out = 3", "str")])
def test_a_file_that_cannot_be_right_is_refused_by_name(bare: Path, text: str, named: str) -> None:
    (bare / "enlist.toml").write_text(text)
    with pytest.raises(EnlistError) as fault:
        config.read()
    assert fault.value.code == "bad_input" and named in fault.value.sentence()


def test_a_home_with_odd_characters_is_still_found(bare: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from enlist.tools.runtime.memory import open_memory

    odd = bare / "ho me?x#y%41 ü"
    monkeypatch.setenv("ENLIST_HOME", str(odd))
    open_memory(config.read().locator()).close()
    assert (odd / "store.db").is_file() and os.listdir(bare).count(odd.name) == 1
