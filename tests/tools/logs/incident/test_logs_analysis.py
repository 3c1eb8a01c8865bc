"""The whole analysis on a small incident written here: a migration holds locks in a database that a shop waits for."""

import random
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from enlist.tools.logs.analysis import Analysis, analyse

BEGIN = datetime(2026, 3, 4, 5)
BAD = range(1500, 2400)


def write(folder: Path, incident: bool) -> None:
    rng = random.Random(4)
    logs: dict[str, list[str]] = {"web": [], "orders-db": [], "payments": []}
    for second in range(3600):
        bad = incident and second in BAD

        def say(service: str, text: str, at: int = second) -> None:
            stamp = (BEGIN + timedelta(seconds=at)).strftime("%Y-%m-%dT%H:%M:%S")
            logs[service].append(f"{stamp}.{rng.randrange(1000):03d}Z {text}")

        for _ in range(3):
            say("web", f"INFO request {rng.randrange(10**6)} took {rng.randrange(5, 40) * (20 if bad else 1)} ms")
        say("payments", f"INFO charge {rng.randrange(10**6)} accepted")
        if second % 7 == 0:
            say("orders-db", f"INFO checkpoint complete in {rng.randrange(9)} ms")
        if rng.random() < 0.01:
            say("web", "ERROR client closed connection")
        if second == 700:
            say("payments", "INFO deployed version 3.4.1")
        if incident and second == 1490:
            say("orders-db", "INFO migration add_index started by batch-admin")
        if incident and second == 2400:
            say("orders-db", "INFO migration cancelled, transaction rolled back")
        if bad and rng.random() < 0.6:
            say("web", "ERROR call to orders-db failed: timeout after 5000 ms")
        if bad and rng.random() < 0.3:
            say("orders-db", f"WARN process {rng.randrange(9999)} still waiting for lock on transaction {second}")
    for service, lines in logs.items():
        (folder / f"{service}.log").write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Analysis:
    folder = tmp_path_factory.mktemp("locked")
    write(folder, incident=True)
    return analyse([folder])


def test_the_cause_is_in_the_database_that_the_shop_complains_of(locked: Analysis) -> None:
    best = locked.incident.candidates[0]
    assert (best.component, best.cause) == ("orders-db", "lock_contention")
    assert "migration" in best.trigger and best.confidence > 0.5


def test_the_incident_has_its_time(locked: Analysis) -> None:
    assert locked.incident.found and locked.incident.start and locked.incident.end
    start, end = ((t / 1e9) % 86_400 - 5 * 3600 for t in (locked.incident.start, locked.incident.end))
    assert abs(start - BAD.start) < 35 and abs(end - BAD.stop) < 35


def test_every_claim_was_read_again_at_its_lines(locked: Analysis) -> None:
    assert locked.incident.claims and all(c.verified for c in locked.incident.claims)


def test_a_change_elsewhere_is_told_and_rejected(locked: Analysis) -> None:
    assert any("3.4.1" in h.text and h.service == "payments" for h in locked.incident.herrings)


def test_the_trigger_comes_before_the_symptoms_and_recovery_after(locked: Analysis) -> None:
    kinds = [e.kind for e in locked.incident.timeline]
    assert kinds[0] == "trigger" and kinds.index("first_symptom") < kinds.index("recovery") > kinds.index("propagation")


def test_every_line_is_accounted_for(locked: Analysis) -> None:
    assert locked.account.balanced() and locked.account.records == locked.account.lines_read


def test_without_an_incident_there_is_none(tmp_path: Path) -> None:
    write(tmp_path, incident=False)
    assert analyse([tmp_path]).incident.found is False
