"""A store that only some of the nodes can use is refused before any work is done, with what to do."""

from pathlib import Path

import pytest

pytestmark = [pytest.mark.cluster, pytest.mark.postgres]
TEXT = "one two three\n"


def test_artifacts_in_a_folder_that_a_node_does_not_see_are_refused(cluster, postgres, side_effects: Path) -> None:
    folder = cluster.folder / "driver" / "artifacts"
    if not cluster.isolates:
        pytest.skip("this user may not hide a folder from a process")
    cluster.environment.update(postgres, ENLIST_ARTIFACTS=str(folder))
    cluster.start(workers=1)
    code, document = cluster.answer(cluster.ask(TEXT))
    fault = document["error"]
    assert (code, fault["code"]) == (2, "not_found") and "ENLIST_ARTIFACTS" in fault["fix"], document
    assert "node" in fault["message"] and side_effects.read_text() == ""
    cluster.ended.clear()
    assert cluster.events()[-1].kind == "run.interrupted"
    cluster.stop()


def test_postgres_without_a_place_for_artifacts_is_refused_before_a_run_is_made(cluster, postgres) -> None:
    cluster.environment.update(postgres)
    code, document = cluster.answer(cluster.ask(TEXT, address=False))
    assert (code, document["error"]["code"]) == (2, "bad_input")
    assert "ENLIST_ARTIFACTS" in document["error"]["fix"] and cluster.events() == []
