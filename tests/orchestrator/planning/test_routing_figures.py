"""Routing on requests that other hands wrote.

The blind sets were written from the capability names alone; nobody who tunes the planner reads the second, and it is
scored as a whole only. The floors lie a little below what was measured (docs/planning.md), so that a change which
loses requests is seen.
"""

import json
from pathlib import Path

import pytest

from enlist.orchestrator.capabilities import load_capabilities
from enlist.orchestrator.planning.measure import Example, Outcome, figures, load_examples, main, outcomes, part
from enlist.tools.runtime.errors import EnlistError

DATA = Path(__file__).parents[2] / "data" / "routing"
READ = [DATA / f"requests{name}.yaml" for name in ("-blind", "", "-tuning", "-near", "-long")]
FLOORS = {
    "requests-blind-2": {"top1": 0.95, "decline_recall": 0.88, "decline_precision": 0.92, "multi_f1": 0.92},
    "requests-blind": {"top1": 0.92, "decline_recall": 0.92, "decline_precision": 0.90, "multi_f1": 0.90},
    "requests": {"top1": 0.97, "decline_recall": 0.95, "decline_precision": 0.94, "multi_f1": 0.95},
    "requests-tuning": {"top1": 0.95, "decline_recall": 0.95, "decline_precision": 0.91, "multi_f1": 0.93},
    "requests-near": {"top1": 0.92, "decline_recall": 0.84, "decline_precision": 0.95},
    "requests-long": {"top1": 0.7, "decline_recall": 0.7, "decline_precision": 0.84},
}


@pytest.mark.parametrize("name", FLOORS)
def test_each_set_is_routed_at_least_as_well_as_was_measured(name):
    measured = figures(outcomes(load_examples(DATA / f"{name}.yaml"), load_capabilities()))
    assert {k: v.value for k, v in measured.items() if v.value < FLOORS[name].get(k, 0.0)} == {}


@pytest.mark.parametrize("name", ["requests-blind", "requests-blind-2"])
def test_a_blind_set_is_what_was_asked_for(name):
    blind = load_examples(DATA / f"{name}.yaml")
    assert len(blind) >= 150 and {c for e in blind for c in e.capabilities} == set(load_capabilities())
    assert 0.3 <= sum(not e.capabilities for e in blind) / len(blind) <= 0.4


def test_the_figures_of_a_small_set_are_those_worked_out_by_hand():
    def case(asked, matched):
        return Outcome(example=Example(id="x", text="x", capabilities=asked), matched=matched)

    found = figures([case(("a",), ("a",)), case(("a",), ("b",)), case(("a", "b"), ("a", "c")), case(("a",), ()),
                     case((), ()), case((), ("a",))])
    assert found["top1"].value == 2 / 4
    assert found["decline_recall"].value == 1 / 2
    assert found["decline_precision"].value == 1 / 2
    assert found["multi_f1"].value == 1 / 2
    assert found["exact"].value == 2 / 6
    assert found["misrouted"].value == 3 / 6
    # Wilson 95 % interval of 1 in 2, from the closed form with z = 1.96
    assert (found["decline_recall"].low, found["decline_recall"].high) == pytest.approx((0.0945, 0.9055), abs=1e-4)


def test_the_figures_in_the_docs_are_those_that_the_command_prints(capsys):
    page = (Path(__file__).parents[3] / "docs" / "planning.md").read_text("utf-8")
    main([str(DATA / "requests-blind-2.yaml"), "--whole", "--confusion"])
    figures_of_blind, _, confusion = capsys.readouterr().out.strip().partition("\n\n")
    assert figures_of_blind in page and confusion in page
    main([*map(str, READ), "--whole"])
    assert capsys.readouterr().out.strip() in page


@pytest.mark.slow  # a thousand requests at 60 ms
def test_the_figures_with_meaning_in_the_docs_are_those_that_the_command_prints(capsys):
    page = (Path(__file__).parents[3] / "docs" / "planning.md").read_text("utf-8")
    main([str(DATA / "requests-blind-2.yaml"), *map(str, READ), "--whole", "--meaning"])
    assert capsys.readouterr().out.strip() in page


def test_the_whole_of_a_set_is_scored_without_a_word_of_its_requests(tmp_path, capsys):
    strayed = [Example(id=f"r{i}", text="tell me a joke", capabilities=("uncertainty",)) for i in range(20)]
    (tmp_path / "r.yaml").write_text(json.dumps([e.model_dump() for e in strayed]))
    main([str(tmp_path / "r.yaml"), "--whole"])
    assert "joke" not in capsys.readouterr().out
    main([str(tmp_path / "r.yaml")])
    shown = capsys.readouterr().out.count("tell me a joke")
    assert 0 < shown == sum(part(e) == "read" for e in strayed) < 20  # a third is held back
    main([str(tmp_path / "r.yaml"), "--json", "--confusion"])
    assert json.loads(capsys.readouterr().out)["confusion"] == [["uncertainty", "decline", 20]]


def test_a_malformed_file_of_requests_is_refused(tmp_path):
    (tmp_path / "r.yaml").write_text("- {id: 1}\n")
    with pytest.raises(EnlistError) as fault:
        load_examples(tmp_path / "r.yaml")
    assert fault.value.code == "bad_input"
