"""A role's account: nothing is spent that was not reserved, within the role's share and the run's limit."""

from pathlib import Path

import pytest

from enlist.agents.spending import Account
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.memory import open_memory
from enlist.tools.runtime.memory.protocol import Memory


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    memory = open_memory(f"sqlite://{tmp_path / 'store.db'}")
    memory.set_budget("r", "usd", 1.0)
    return memory


def account(memory: Memory, share: float | None, filling: int = 1) -> Account:
    return Account(memory, "r", 0, "role", filling, {} if share is None else {"usd": share})


def test_calls_under_way_count_against_the_share(memory: Memory) -> None:
    mine = account(memory, 0.5)
    mine.reserve("usd", "a", 0.3)
    with pytest.raises(EnlistError, match="more than its share") as fault:
        mine.reserve("usd", "b", 0.3)
    assert fault.value.code == "budget_exhausted" and memory.budget("r", "usd").reserved == pytest.approx(0.3)
    mine.settle("usd", "a", 0.1)
    mine.reserve("usd", "b", 0.4)
    assert memory.budget("r", "usd").spent == pytest.approx(0.1)


def test_the_runs_limit_holds_where_there_is_no_share(memory: Memory) -> None:
    mine = account(memory, None)
    mine.reserve("usd", "a", 0.8)
    with pytest.raises(EnlistError, match="budget of run"):
        mine.reserve("usd", "b", 0.3)


def test_what_cost_more_than_was_reserved_stands_and_ends_the_role(memory: Memory) -> None:
    mine = account(memory, 0.5)
    mine.reserve("usd", "a", 0.5)
    with pytest.raises(EnlistError, match="share"):
        mine.settle("usd", "a", 0.7)
    assert memory.budget("r", "usd").spent == 0.7
    assert [e.data["spent"] for e in memory.events("r")] == [{"usd": 0.7}]


def test_what_a_killed_filling_reserved_stays_reserved(memory: Memory) -> None:
    account(memory, None).reserve("usd", "a", 0.6)  # it may have been billed
    again = account(memory, None, filling=2)
    with pytest.raises(EnlistError):
        again.reserve("usd", "a", 0.6)
    again.reserve("usd", "a", 0.4)
