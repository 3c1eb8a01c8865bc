"""The files of a leaderboard: narrow Markdown, self-contained HTML, whole JSON."""

import json
import re
import xml.etree.ElementTree as ElementTree

import pytest

from enlist.evals.campaign import plots
from enlist.evals.campaign.campaign import from_document
from enlist.evals.campaign.content import Spent, tabulate
from enlist.evals.campaign.output import write
from enlist.tools.runtime.errors import EnlistError

FREE = {"value": None, "low": None, "high": None}
LONG = "agent a-very-long-name/knob=value/another=value/and=more"


def spent(solver, seconds):
    per = {"value": seconds / 2, "low": seconds / 3, "high": None}
    return {"environment": "made", "solver": solver, "tries": 3, "seconds": seconds, "tokens": 0.0, "usd": 0.0,
            "seconds_per_success": per, "usd_per_success": FREE if solver == LONG else None}


@pytest.fixture
def written(made, tmp_path):
    content = tabulate(made({LONG: [1.0, 0.5, 0.9], "b<script>": [0.1, 0.2, 0.0]}, missing=("made seed 9 t9 b",)))
    run = {"status": "partial", "settled": 6, "samples": 7, "tries": 8, "cost": {"seconds": 12.5}, "accepted": 0.0,
           "spent": [spent(LONG, 3.0), spent("b<script>", 0.2)], "given_up": {"made seed 9 t9 b": "it hung"}}
    return content, run, write(tmp_path, content, run)


def test_the_markdown_reads_in_eighty_columns_and_says_all(written):
    text = (written[2].folder / "leaderboard.md").read_text()
    assert max(map(len, text.splitlines())) <= 80
    for said in ("0.800 [", "p=0.25", "it hung", "infinite", "none reported", "BCa", "enlist: 1"):
        assert said in text, said


def test_the_page_loads_nothing_and_runs_nothing(written):
    page = (written[2].folder / "leaderboard.html").read_text()
    assert "<script" not in page and "b&lt;script&gt;" in page
    assert not re.search(r'(?:src|href)=|url\(|@import', page)
    assert page.count("<svg") == 2


def test_the_plots_are_well_formed_and_put_the_better_solver_higher(written):
    board = written[0].boards[0]
    costs = {s["solver"]: Spent.model_validate(s) for s in written[1]["spent"]}
    for svg in (plots.intervals(board), plots.score_against_cost(board, costs)):
        circles = [c.attrib for c in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}circle")]
        assert len(circles) == 2
    assert float(circles[0]["cy"]) < float(circles[1]["cy"])  # the second plot: score upwards
    assert float(circles[0]["cx"]) > float(circles[1]["cx"])  # and cost to the right
    assert plots.score_against_cost(board, {}) == ""


def test_the_json_is_read_back_as_the_campaign(written):
    document = json.loads((written[2].folder / "leaderboard.json").read_text())
    ended = from_document(document)
    assert ended.content == written[0] and ended.status == "partial"
    with pytest.raises(EnlistError, match=r"no leaderboard\.json"):
        from_document({"content": {}})


def test_nothing_but_the_three_files_is_left(written):
    assert sorted(p.name for p in written[2].folder.iterdir()) == [f"leaderboard.{k}" for k in ("html", "json", "md")]


def test_a_folder_that_cannot_be_written_to_is_named(made, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(EnlistError) as fault:
        write(tmp_path / "file", tabulate(made({"a": [1.0]})), {
            "status": "done", "settled": 1, "samples": 1, "tries": 1, "cost": {"seconds": 1.0}, "spent": [],
            "given_up": {}})
    assert fault.value.code == "bad_input" and "file" in (fault.value.given or "")
