"""The end of a campaign and what the store shows of it afterwards, without Ray: outcomes are journaled by hand."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from enlist.evals.campaign import campaign, journal
from enlist.evals.campaign.driver import Driver, missing, open_attempt
from enlist.evals.campaign.file import parse
from enlist.evals.campaign.journal import Outcome, State
from enlist.evals.campaign.plan import Plan, make_plan
from enlist.orchestrator.driver import Lease
from enlist.orchestrator.state import RunState
from enlist.tools.runtime import registry
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory import open_memory
from enlist.tools.runtime.memory.protocol import Memory

TEXT = "name: words\nenvironments: [{name: sample-words, options: {count: 2}}]\nsolvers: [classical, trivial]\n"
pytestmark = pytest.mark.usefixtures("words")


@pytest.fixture
def memory(tmp_path: Any) -> Iterator[Memory]:
    opened = open_memory(f"sqlite://{tmp_path}/store.db")
    yield opened
    opened.close()


def finish(memory: Memory, plan: Plan, monkeypatch: pytest.MonkeyPatch, out: Any = None, *, settle: int = 99,
           end: EnlistError | None = None) -> campaign.CampaignEnded:
    """Drive a campaign in which the first `settle` missing samples end well, and the driver ends with `end`."""
    def drive(driver: Driver) -> None:
        for sample in missing(plan, State.read(memory, plan.id))[:settle]:
            memory.commit(plan.id, driver.attempt, [
                journal.started(sample.key, 0, sample.shown),
                journal.ended(sample.key, 0, sample.shown, cost={"seconds": 1.0}, outcome=Outcome(
                    sample=sample.key, verdict="ok", value=0.5, tries=1))])
        if end is not None:
            raise end

    monkeypatch.setattr(Driver, "drive", drive)
    with Lease(memory, plan.id) as lease:
        open_attempt(memory, plan, lease.attempt)
        return campaign.drive(memory, memory.locator(), plan, lease, lambda: False, lambda events: None, out)


def test_a_campaign_that_is_settled_is_done_and_its_journal_reads_as_a_run(memory, tmp_path, monkeypatch):
    plan = make_plan(parse(TEXT))
    ended = finish(memory, plan, monkeypatch, tmp_path)
    assert ended.status == "done" and missing(plan, State.read(memory, plan.id)) == []
    run = RunState.read(memory, plan.id)
    assert (run.status, run.request.text) == ("done", "campaign words")
    assert json.loads((tmp_path / plan.id / "leaderboard.json").read_text())["content"]["campaign"] == plan.id
    assert campaign.show_campaign(memory, plan.id).content == ended.content
    assert campaign.campaigns(memory) == [plan.id]


def test_what_is_left_is_done_by_the_next_driver_and_costs_add_up(memory, monkeypatch):
    plan = make_plan(parse(TEXT))
    spent = EnlistError("budget_exhausted", "the campaign's time is spent")
    first = finish(memory, plan, monkeypatch, settle=2, end=spent)
    assert (first.status, first.about["settled"], first.error) == ("budget", 2, spent)
    second = finish(memory, plan, monkeypatch)
    assert (second.status, second.about["settled"]) == ("done", 6)
    assert sum(row["seconds"] for row in second.about["spent"]) == 6.0


@pytest.mark.parametrize(("budget", "seconds", "spent"), [("{usd: 1.5}", 0.0, True), ("{usd: 2.5}", 0.0, False),
                                                          ("{usd: 0}", 0.0, True), ("{seconds: 9}", 9.0, True),
                                                          ("{seconds: 9}", 8.0, False), ("{}", 1e9, False)])
def test_a_budget_is_spent_by_what_the_books_say_over_all_drivers(memory, budget, seconds, spent):
    plan = make_plan(parse(TEXT + f"budget: {budget}\n"))
    for number in range(2):
        memory.commit(plan.id, 0, [], settle=journal.settlements("s", number, {"usd": 1.0}))
    driver = Driver(memory, "", plan, 0, lambda: False, lambda events: None)
    if spent:
        with pytest.raises(EnlistError) as fault:
            driver._check_budget(seconds)
        assert fault.value.code == "budget_exhausted" and fault.value.exit_code == 3
    else:
        driver._check_budget(seconds)


def test_a_stop_is_an_interruption_and_a_given_up_sample_makes_it_partial(memory, monkeypatch):
    plan = make_plan(parse(TEXT))
    assert finish(memory, plan, monkeypatch, settle=1, end=EnlistError("cancelled", "stopped")).status == "interrupted"
    assert finish(memory, plan, monkeypatch, settle=2).status == "partial"


def test_a_campaign_whose_driver_was_killed_is_shown_as_interrupted(memory):
    plan = make_plan(parse(TEXT))
    open_attempt(memory, plan, 0)
    assert campaign.show_campaign(memory, plan.id).status == "interrupted"


def test_a_campaign_of_other_versions_is_shown_by_the_leaderboard_that_it_wrote(memory, monkeypatch):
    plan = make_plan(parse(TEXT))
    ended = finish(memory, plan, monkeypatch)
    unfinished = make_plan(parse(TEXT), limit=1)
    open_attempt(memory, unfinished, 0)
    environment = registry.load_entry("enlist.environments", "sample-words")
    object.__setattr__(environment, "version", "2")
    try:
        shown = campaign.show_campaign(memory, plan.id)
        with pytest.raises(EnlistError) as fault:
            campaign.show_campaign(memory, unfinished.id)
    finally:
        object.__setattr__(environment, "version", "1")
    assert shown.content == ended.content and shown.plan is None
    assert fault.value.code == "version_mismatch" and fault.value.given == "environment sample-words"


def test_an_unknown_campaign_is_not_found(memory):
    with pytest.raises(EnlistError) as fault:
        campaign.show_campaign(memory, "c0")
    assert fault.value.code == "not_found"
