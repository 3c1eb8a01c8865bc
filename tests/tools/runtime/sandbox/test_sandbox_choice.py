from collections.abc import Iterator

import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.sandbox import Level, LevelReport, availability, best, levels, sandbox


@pytest.fixture
def fresh() -> Iterator[None]:
    """Levels are tried anew in the test, and again after it."""
    availability._tried.cache_clear()
    yield
    availability._tried.cache_clear()


def test_without_bubblewrap_the_report_names_it_and_how_to_get_it(
        fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    report = levels()[0]
    assert (report.level, report.available) == ("full", False)
    assert "bubblewrap" in report.reason and "apt-get install bubblewrap" in report.fix
    with pytest.raises(EnlistError) as caught:
        sandbox("full")
    assert caught.value.code == "sandbox_unavailable"
    assert best().level != "full"


def test_a_bubblewrap_that_cannot_make_namespaces_is_unavailable_with_its_own_words(
        fresh: None, monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create new namespace' >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    report = levels()[0]
    assert not report.available
    assert "No permissions to create new namespace" in report.reason


def test_a_bubblewrap_that_isolates_nothing_is_found_out(
        fresh: None, monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text('#!/bin/sh\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    report = levels()[0]
    assert not report.available


def _none_works(level: Level, user: int) -> LevelReport:
    return LevelReport(level, False, f"no {level} here", f"get {level}")


def test_best_says_what_is_missing_for_each_level_that_would_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ENLIST_SANDBOX", raising=False)
    monkeypatch.setattr(availability, "_tried", _none_works)
    with pytest.raises(EnlistError) as caught:
        best("landlock")
    sentence = caught.value.sentence()
    assert caught.value.code == "sandbox_unavailable"
    assert "no full here" in sentence and "get landlock" in sentence and "no basic here" not in sentence


def test_the_variable_forces_a_level_but_never_below_what_the_code_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENLIST_SANDBOX", "basic")
    assert best().level == "basic"
    with pytest.raises(EnlistError) as caught:
        best("landlock")
    assert caught.value.code == "sandbox_unavailable"


def test_a_misspelt_level_in_the_variable_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENLIST_SANDBOX", "strong")
    with pytest.raises(EnlistError) as caught:
        best()
    assert caught.value.code == "bad_input" and "landlock" in str(caught.value)
