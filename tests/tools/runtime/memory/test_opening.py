"""Locators: each store gives one that opens it again, and anything else is told the allowed forms."""

from pathlib import Path

import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory import open_memory
from enlist.tools.runtime.memory.conformance import note
from enlist.tools.runtime.memory.sqlite import SqliteMemory


@pytest.mark.parametrize("name", ["store.db", "with blank.db", "percent%20.db", "frage?#&=.db", "商店.db"])
def test_a_sqlite_locator_opens_the_same_store(tmp_path: Path, name: str) -> None:
    memory = SqliteMemory(tmp_path / name, tmp_path / f"artifacts of {name}")
    memory.commit("a", 0, [note(n=7)])
    ref = memory.put_bytes(b"x", media_type="text/plain", name="x")
    again = open_memory(memory.locator())
    assert [event.data for event in again.events("a")] == [{"n": 7}]
    assert again.open_artifact(ref) == memory.open_artifact(ref)
    assert again.locator() == memory.locator()


def test_artifacts_lie_beside_the_store_unless_said_otherwise(tmp_path: Path) -> None:
    memory = open_memory(f"sqlite://{tmp_path}/store.db")
    ref = memory.put_bytes(b"x", media_type="text/plain", name="x")
    assert memory.open_artifact(ref).is_relative_to(tmp_path / "artifacts")


@pytest.mark.parametrize("locator", [
    "", "store.db", "/abs/store.db", "sqlite://relative/store.db", "sqlite://", "sqlite:///", "mysql://host/db",
    "sqlite:///a/store.db?artefacts=/x", "actor:name", "actor:name?node=1", "http://[broken"])
def test_a_bad_locator_is_told_the_allowed_forms(locator: str) -> None:
    with pytest.raises(EnlistError) as caught:
        open_memory(locator)
    assert caught.value.code == "bad_input"
    assert all(form in caught.value.sentence() for form in ("sqlite:///", "postgresql://", "actor:"))


def test_a_password_in_a_bad_locator_is_not_shown() -> None:
    with pytest.raises(EnlistError) as caught:
        open_memory("mysql://user:secret@host/db")
    assert "secret" not in caught.value.sentence()
