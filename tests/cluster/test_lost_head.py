"""The head of a cluster dies: the driver ends in bounded time, and the run goes on where it stood on a new cluster."""

import signal
from pathlib import Path

import pytest

pytestmark = [pytest.mark.cluster, pytest.mark.postgres]
QUICK, SLOW = "one two three\n", "four five\nsleep 15\n"
BOUND_S = 55.0  # Ray itself would kill the driver after 60 s, without a word


@pytest.mark.parametrize("dies", ["gcs_server", "the whole node"])
def test_a_run_goes_on_on_a_new_cluster(cluster, postgres, object_store, side_effects: Path, dies: str) -> None:
    cluster.environment.update(postgres, **object_store)
    cluster.start(workers=1)
    code, whole = cluster.answer(cluster.ask(QUICK, SLOW))
    assert (code, whole["status"]) == (0, "done"), whole
    side_effects.write_text("")

    driver = cluster.ask(QUICK, SLOW)
    cluster.wait_for(lambda events: sum(e.kind == "tool.progress" for e in events) >= 2, driver)
    head, run = cluster.nodes[0], cluster.events()[0].run
    if dies == "the whole node":
        head.kill()
    else:
        (gcs,) = head.named("gcs/gcs_server")
        gcs.send_signal(signal.SIGKILL)
    code, left = cluster.answer(driver, patience=BOUND_S)
    assert (code, left["status"], left["error"]["code"]) == (130, "interrupted", "worker_died")
    assert "head" in left["error"]["message"] and run in left["error"]["fix"]
    cluster.stop()

    cluster.start(workers=1)
    code, document = cluster.answer(cluster.drive("resume", run))
    assert (code, document.get("status")) == (0, "done") and document["content"] == whole["content"], document
    executed = side_effects.read_text().split()
    assert (executed.count("started"), executed.count("finished")) == (3, 2)
    cluster.stop()
