"""Causes: each story holds what its reference says, on every shape; and a stream that does not is found out."""

import re
from dataclasses import replace
from random import Random

import pytest

from enlist.environments.incident_logs import check
from enlist.environments.incident_logs.catalog import Plot, blind_causes, causes
from enlist.environments.incident_logs.model import CAUSES, Emission, Event
from enlist.environments.incident_logs.systems import SHAPES, build
from enlist.environments.incident_logs.verify import problems

OWN = sorted(set(causes()) - blind_causes())


def held(told, incident=None, reference=None) -> list[str]:
    start, span = told.plot.window()
    return problems(incident or told.incident, reference or told.reference, told.folder, start=start, span=span,
                    lines=told.plot.lines)


def test_a_right_stream_has_no_problems(told) -> None:
    assert held(told) == []


def changed(told, fact: str, **update):
    """The truth with one fact changed."""
    facts = tuple(f.model_copy(update=update) if f.id == fact else f for f in told.reference.facts)
    return told.reference.model_copy(update={"facts": facts})


def test_a_truth_that_the_files_do_not_bear_out_is_found_out(told) -> None:
    first = told.reference.facts[0]
    name = next(iter(first.lines))
    for update, said in (({"lines": {}}, "has no lines"), ({"lines": {name: (10**6,)}}, "outside of the files"),
                         ({"lines": {name: (1,)}}, "none of its lines says"),
                         ({"time_ns": first.time_ns - 3_600 * 10**9}, "its first line at")):
        found = held(told, reference=changed(told, first.id, **update))
        assert len(found) >= 1 and any(said in one for one in found), (update, found)
    wrong = told.reference.model_copy(update={"entities": ("zz-99",), "lines": told.reference.lines | {name: 3}})
    assert any("zz-99" in one for one in held(told, reference=wrong))
    assert any("lines, not 3" in one for one in held(told, reference=wrong))


def test_a_story_that_breaks_a_rule_is_found_out(told) -> None:
    story, at = told.incident, told.incident.events[0].at
    bystander = next(s for s in story.system.services if s.role == "monitor")
    strayed = Event("stray", "propagation", bystander.name, at + 400, "x", weight="nice")
    early = Event("early", "recovery", bystander.name, at - 5, "x", weight="nice")
    late = Event("late", "detection", bystander.name, at + 10**6, "x", weight="nice")
    given = replace(story, events=(*story.events, strayed, early, late))
    found = " / ".join(held(told, incident=given))
    assert "stray: nothing that" in found and "early comes before" in found and "late at" in found
    naming = Emission(bystander.name, at, "info", "root cause: lock contention", tag="x")
    loud = replace(story.events[0], emits=(*story.events[0].emits, naming))
    assert any("names a class" in one for one in held(told, incident=replace(story, events=(loud, *story.events[1:]))))


def test_what_the_background_says_too_is_found_out(told) -> None:
    first = told.incident.events[0]
    said = replace(first.emits[0], text="health check passed")
    beat = replace(first.emits[0], text="health check passed", tag="nothing")
    extra = replace(told.incident.events[1], emits=(beat,))
    given = replace(told.incident, events=(replace(first, emits=(said,)), extra, *told.incident.events[2:]))
    assert any("the background says" in one for one in held(told, incident=given))


@pytest.mark.parametrize("cause", OWN)
@pytest.mark.parametrize("shape", SHAPES)
def test_a_story_has_a_quiet_trigger_a_symptom_at_the_component_and_an_end(cause: str, shape: str) -> None:
    for wording in (0, 1):
        system = build(shape, 3, wording=wording)
        story = causes()[cause](system, Random(3), 1e9, 7200.0)
        assert (story.cause, story.system) == (cause, system) and story.component in {s.name for s in system.services}
        trigger, symptom = story.event("trigger"), story.event("first_symptom")
        assert trigger and symptom and trigger.at <= symptom.at and trigger.decisive and symptom.decisive
        assert {one.level for one in trigger.emits} == {"info"} and not trigger.floods
        assert story.event("mitigation") and story.event("recovery") and story.event("detection")
        assert all(1e9 <= e.at <= 1e9 + 7200 for e in story.events)
        assert len({e.id for e in story.events}) == len(story.events)


@pytest.mark.parametrize("cause", OWN)
def test_the_two_wordings_of_a_cause_share_no_phrase(cause: str) -> None:
    said = []
    for wording in (0, 1):
        texts = set[str]()
        for seed in range(12):
            story = causes()[cause](build("mesh", seed, wording=wording), Random(seed), 1e9, 7200.0)
            texts |= {re.sub(r"\d+|[0-9a-f]{6,}", "#", one.text) for one in story.lines()}
            texts |= {re.sub(r"\d+", "#", text) for flood in story.floods() for text in flood.texts}
        said.append(texts)
    assert said[0] and said[1] and not said[0] & said[1]


def test_the_causes_are_of_the_closed_list_and_each_is_there_once() -> None:
    assert list(causes()) == [c for c in CAUSES if c in causes()] and len(OWN) >= 9


@pytest.mark.parametrize("number", [0, 1])
def test_the_commonest_check_passes_on_a_cause(number: int, capsys) -> None:
    faults = check._checked(Plot(OWN[number], "batch", 77, 800), tell=True)
    assert faults == [] and "first_symptom" in capsys.readouterr().out


@pytest.mark.slow  # every cause, shape and variant
def test_every_cause_holds_on_every_shape_in_every_variant(capsys) -> None:
    assert check.main(["--seeds", "1"]) == 0, capsys.readouterr().out
