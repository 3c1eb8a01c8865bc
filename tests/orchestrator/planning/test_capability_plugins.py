"""The shipped capabilities are whole, and plug-ins add theirs."""

import pytest

from enlist.orchestrator import capabilities as module
from enlist.orchestrator.capabilities import Capability, artifact_kinds, load_capabilities
from enlist.orchestrator.planning import plan_request
from enlist.orchestrator.request import Request
from enlist.tools.runtime.errors import EnlistError

TEA = Capability(id="tea_tasting", asks="name a tea by its leaves", reads=("images",), writes=("answer",),
                 terms={3: ("oolong", "tea + leaves")})


def test_every_kind_that_a_capability_names_is_in_the_vocabulary():
    named = {k for c in load_capabilities().values() for k in (*c.reads, *c.writes, *c.needs, *c.companions)}
    assert named <= set(artifact_kinds())
    only_sniffed = {"loop-nest", "timings"}  # known by content, read by nothing yet
    assert set(artifact_kinds()) - named == {"checks", "report"} | only_sniffed


def test_every_capability_is_found_by_each_of_its_example_requests(capabilities):
    lost = []
    for capability in capabilities.values():
        for phrase in capability.phrases:
            found = plan_request(Request(text=phrase), capabilities, capabilities).nearest
            if not found or found[0].capability != capability.id:
                lost.append((capability.id, phrase))
    assert not lost


@pytest.mark.parametrize("entry", [TEA, [TEA], lambda: TEA, lambda: [TEA]])
def test_a_plugin_brings_a_capability_in_any_of_the_agreed_forms(monkeypatch, attach, entry):
    monkeypatch.setattr(module, "load_all", lambda group: {"tea": entry} if group == module.GROUP else {})
    found = load_capabilities()
    plan = plan_request(Request(text="Is this oolong?", attachments=(attach("a.png", "images"),)), found,
                        {"tea_tasting"}).plan
    assert plan.role("tea_tasting.analyst").reads == ("images",)


def test_a_plugin_cannot_take_a_shipped_id(monkeypatch):
    stolen = TEA.model_copy(update={"id": "speed_of_light"})
    monkeypatch.setattr(module, "load_all", lambda group: {"tea": stolen})
    with pytest.raises(EnlistError) as fault:
        load_capabilities()
    assert fault.value.code == "conflict"


def test_a_plugin_that_is_no_capability_is_named(monkeypatch):
    monkeypatch.setattr(module, "load_all", lambda group: {"tea": 7})
    with pytest.raises(EnlistError, match="tea"):
        load_capabilities()
