"""A campaign read from plain language."""

import pytest

from enlist.evals.campaign.wish import read_seeds, read_wish
from enlist.tools.runtime import registry
from enlist.tools.runtime.errors import EnlistError


@pytest.mark.parametrize(("text", "seeds"), [
    ("over three seeds", (0, 1, 2)), ("5 seeds each", (0, 1, 2, 3, 4)), ("with two different seeds", (0, 1)),
    ("über drei Seeds", (0, 1, 2)), ("Ten random seeds, please", tuple(range(10))), ("with seed 7", (7,)),
    ("one seed", (0,))])
def test_the_number_of_seeds_is_read(text, seeds):
    assert read_seeds(text) == (seeds, True)


@pytest.mark.parametrize("text", ["compare the solvers", "sunflower seeds", "3 solvers and many seedlings"])
def test_where_no_number_is_named_one_seed_is_taken(text):
    assert read_seeds(text) == ((0,), False)


@pytest.mark.usefixtures("words")
def test_environment_solvers_and_what_they_are_compared_to_are_read_by_their_spoken_names():
    wish = read_wish("benchmark the splitter against the first line reader on word counting over three seeds")
    (environment,) = wish.file.environments
    assert (environment.name, environment.seeds) == ("sample-words", (0, 1, 2))
    assert [s.baseline for s in wish.file.solvers] == ["first-line", "classical"]
    assert wish.file.against == "first-line" and wish.notes == ()


@pytest.mark.usefixtures("words")
def test_what_the_text_leaves_open_is_filled_in_and_said():
    wish = read_wish("run a benchmark and compare")
    assert {s.baseline for s in wish.file.solvers} == {"trivial", "random", "first-line", "classical"}
    assert len(wish.notes) == 3


def test_team_search_means_the_teaming_environment():
    wish = read_wish("benchmark the team search against greedy over three seeds")
    assert [e.name for e in wish.file.environments] == ["teaming"]
    assert wish.file.environments[0].seeds == (0, 1, 2) and wish.file.against == "greedy"
    assert len(wish.file.solvers) >= 2


def test_a_text_without_a_known_environment_is_refused_where_there_are_several(monkeypatch):
    one = registry.load_entry("enlist.environments", "teaming")
    monkeypatch.setattr(registry, "load_all", lambda group: {"teaming": one, "other": one})
    with pytest.raises(EnlistError) as fault:
        read_wish("benchmark my thing on chess")
    assert fault.value.allowed == "teaming, other"
    assert len(read_wish("rank them over all environments").file.environments) == 2
