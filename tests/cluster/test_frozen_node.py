"""A node that freezes: Ray takes it for alive for minutes, the executor ends its role after a minute of silence, and
what the node says when it thaws is refused."""

import os
import signal
from pathlib import Path

import pytest

from enlist.orchestrator.node import processes

pytestmark = pytest.mark.cluster


def test_the_role_of_a_frozen_node_goes_on_elsewhere_and_a_late_word_is_refused(cluster, side_effects: Path) -> None:
    cluster.start()
    driver = cluster.ask("one two three\nsleep 8\n")
    cluster.wait_for(lambda events: any(e.kind == "tool.progress" for e in events), driver)
    (busy,) = [node for node in cluster.nodes[1:] if node.named("ray::tool")]
    frozen = processes(busy.id)
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    try:
        code, document = cluster.answer(driver)
        assert (code, document["status"]) == (0, "done"), document
    finally:
        for pid in processes(busy.id):
            os.kill(pid, signal.SIGCONT)
    cluster.ended.discard(document["run"])
    events = cluster.events()
    (failed,) = [e for e in events if e.kind == "role.failed"]
    assert failed.data["error"]["code"] == "worker_died" and "frozen" in failed.data["error"]["message"]
    assert not document["reenlisted"]  # nobody's fault: the same agent, elsewhere
    finished = [(e.kind, e.role, e.data.get("key")) for e in events if e.kind in ("role.finished", "tool.finished")]
    assert len(finished) == len(set(finished))
    cluster.stop()
