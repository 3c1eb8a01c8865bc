"""What the program tells of this machine and of the pool."""

from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from enlist.agents.pool import shipped
from enlist.evals.cli import examination
from enlist.evals.cli.agents import distinct_behaviours
from enlist.tools.runtime import registry
from enlist.tools.runtime.memory import open_memory
from enlist.tools.runtime.memory.protocol import NewRecord


def checks(said: Any) -> dict[str, dict[str, str]]:
    return {check["name"]: check for check in said.document["checks"]}


def test_the_doctor_names_versions_levels_and_extras(enlist: Any) -> None:
    said = enlist("doctor", "--json")
    found = checks(said)
    assert found["ray"]["found"] == version("ray") and found["torch"]["found"] == version("torch")
    assert {"Python", "store", "memory", "cores", "sandbox full", "sandbox landlock", "sandbox basic", "agents",
            "extra postgres"} <= set(found)
    assert said.code == (0 if said.document["ok"] else 1)
    assert all(check["fix"] for check in found.values() if check["state"] != "ok")


def test_an_absent_package_is_named_with_how_to_get_it_and_ends_with_1(
        enlist: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    present = examination._installed
    monkeypatch.setattr(examination, "_installed", lambda name: None if name == "langgraph" else present(name))
    said = enlist("doctor", "--json")
    assert said.code == 1 and not said.document["ok"]
    assert checks(said)["langgraph"] == {"name": "langgraph", "state": "broken", "found": "not installed",
                                         "fix": "pip install langgraph"}


def test_a_store_that_cannot_be_opened_is_a_result_and_not_the_end(enlist: Any, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "store.db").write_bytes(b"no database at all" * 100)
    said = enlist("doctor", "--json")
    assert said.code == 1 and checks(said)["store"]["state"] == "broken" and "cores" in checks(said)


@pytest.mark.parametrize("where", ["environment", "file"])
def test_a_sandbox_level_that_does_not_exist_keeps_the_main_job_from_running(
        enlist: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, where: str) -> None:
    monkeypatch.setenv("ENLIST_SANDBOX", "foo" if where == "environment" else "")
    if where == "file":
        (tmp_path / "enlist.toml").write_text('sandbox = "foo"\n')
    said = enlist("doctor", "--json")
    chosen = checks(said)["sandbox chosen"]
    assert said.code == 1 and not said.document["ok"] and chosen["state"] == "broken" and "'foo'" in chosen["found"]
    assert "full, landlock, basic" in chosen["fix"]
    assert {"environment": "ENLIST_SANDBOX", "file": "enlist.toml"}[where] in chosen["fix"]
    assert "The main job can run" not in enlist("doctor").out


def test_a_sandbox_level_that_does_not_work_here_keeps_the_main_job_from_running(
        enlist: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from enlist.tools.runtime.sandbox import availability

    monkeypatch.setattr(availability, "_tried", lambda level, user: availability.LevelReport(
        level, level != "full", "no bubblewrap", "install it"))
    for level, code in (("basic", 0), ("full", 1)):
        monkeypatch.setenv("ENLIST_SANDBOX", level)
        chosen = checks(enlist("doctor", "--json"))["sandbox chosen"]
        assert chosen["state"] == ("broken" if code else "ok")
    assert "install it" in chosen["fix"]


def test_a_plug_in_that_does_not_load_is_named_and_stops_nothing(enlist: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib.metadata import EntryPoint

    broken = EntryPoint(name="sick", value="no_such_module_at_all:X", group="enlist.tools")
    real = registry.entries
    monkeypatch.setattr(registry, "entries", lambda group: {**real(group), **(
        {"sick": broken} if group == "enlist.tools" else {})})
    registry.faults.cache_clear()
    try:
        said = enlist("doctor", "--json")
        assert "no_such_module_at_all" in checks(said)["tool sick"]["found"] and checks(said)["tool sick"]["fix"]
        assert "sick" in enlist("tools", "list", "--json").document["broken"]
    finally:
        registry.faults.cache_clear()


def test_agents_are_counted_by_behaviour_and_paged(enlist: Any) -> None:
    pool = shipped()
    said = enlist("agents", "list", "--json").document
    assert said["distinct"] == len({(s, tuple(sorted(k.items()))) for s, k in zip(
        pool.specialist.tolist(), pool.knobs, strict=True)}) == distinct_behaviours(pool)
    assert said["without_model"] == sum(model == "" for model in pool.model.tolist())
    assert sum(row["agents"] for row in said["specialists"]) == said["total"] == len(pool)
    assert len(enlist("agents", "list").out.splitlines()) < 30
    name = said["specialists"][0]["specialist"]
    pages = [enlist("agents", "list", "--specialist", name, "--limit", "7", "--offset", str(at), "--json").document
             for at in (0, 7)]
    ids = [row["agent"] for page in pages for row in page["agents"]]
    assert len(set(ids)) == 14 and set(ids) <= set(pool.ids.tolist())


def test_a_card_is_shown_by_its_id(enlist: Any) -> None:
    id = str(shipped().ids[0])
    assert enlist("agents", "show", id, "--json").document["id"] == id
    assert id in enlist("agents", "show", id).out


def test_agents_are_shown_with_the_track_record_of_the_newest_snapshot(enlist: Any, tmp_path: Path) -> None:
    pool = shipped()
    id, capability = str(pool.ids[0]), str(pool.capability[0])
    assert enlist("agents", "show", id, "--json").document["track"] == {}
    memory = open_memory(f"sqlite://{tmp_path / 'home' / 'store.db'}")
    for name, bad in (("sold", 9.0), ("snew", 1.0)):
        memory.commit("", 0, [], [NewRecord(kind="snapshot", id=name, data={"tracks": {
            id: {capability: {"quality": None, "reliability": {"good": 3.0, "bad": bad}}}}})])
    memory.close()
    assert enlist("agents", "show", id, "--json").document["track"][capability]["reliability"] == {
        "good": 3.0, "bad": 1.0}
    listed = enlist("agents", "list", "--specialist", str(pool.specialist[0]), "--json").document
    assert listed["snapshot"].startswith("snew-")
    assert {row["agent"]: row["reliability"] for row in listed["agents"]}[id] == {capability: 0.75}  # 3 of 3 + 1
    assert "0.75" in enlist("agents", "list", "--specialist", str(pool.specialist[0])).out


def test_each_setting_names_its_origin(enlist: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ENLIST_SEED", "7")
    (tmp_path / "enlist.toml").write_text('out = "elsewhere"\n')
    rows = {row["name"]: row for row in enlist("config", "show", "--json").document["settings"]}
    assert rows["seed"] == {**rows["seed"], "value": 7, "origin": "environment ENLIST_SEED"}
    assert rows["out"]["value"] == "elsewhere" and rows["out"]["origin"] == "file enlist.toml"
    assert rows["address"]["origin"] == "default"
