"""What a person reads when a run has ended: the answer or the reason first, doubts, notes, and what next."""

from pathlib import Path
from typing import Any

import pytest

from enlist.evals.cli import ended as shown
from enlist.evals.cli.ended import answer_of
from enlist.evals.cli.terminal import Terminal
from enlist.orchestrator.plan import Edge, Plan, Planning, Role
from enlist.orchestrator.report.content import Asked, Claim, Content, Unfinished
from enlist.orchestrator.request import Constraints, Request
from enlist.orchestrator.run import Ended
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.events import NewEvent
from enlist.tools.runtime.findings import Check, Finding, RequestEvidence
from enlist.tools.runtime.memory import open_memory
from enlist.tools.runtime.section import Section, Sentence

PLAN = Plan(roles=(Role(id="analyst", capability="c", duty="analyst"), Role(id="verifier", capability="c",
                                                                        duty="verifier"),
                   Role(id="writer", capability=None, duty="writer")),
            edges=(Edge(source="analyst", target="verifier", artifact="x"),
                   Edge(source="analyst", target="writer", artifact="x"),
                   Edge(source="verifier", target="writer", artifact="checks")))
ROOT = Unfinished(role="analyst", code="bad_input", message="the file is no model", fix="attach model.py")
DERIVED = Unfinished(role="verifier", code="unsupported", message="nothing to work on: the roles before it failed",
                     given="analyst")


def content(**fields: Any) -> Content:
    return Content(**{"request": Asked(text="t", attachments=(), measurements=(), constraints=Constraints()),
                      "plan": PLAN, "missing": (), "nearest": (), "team": None, **fields})


def section(title: str, assumptions: int, lead: int = 1) -> Section:
    return Section(title=title, assumptions=tuple(Sentence(text=f"{title}-assumed-{n}.") for n in range(assumptions)),
                   lead=tuple(Sentence(text=f"{title}-lead-{n}.") for n in range(lead)))


def claim(number: int, status: str, reason: str) -> Claim:
    finding = Finding.make(template="{subject} takes {value} s", capability="c", subject="m", predicate="p",
                           value=number, tier="analytic", evidence=(RequestEvidence(quote="t"),))
    check = Check(finding=finding.id, status=status, route="r", reason=reason)  # type: ignore[arg-type]
    return Claim(finding=finding, status=status, checks=(check,))  # type: ignore[arg-type]


def ended(content: Content | None, status: str = "done", error: EnlistError | None = None) -> Ended:
    return Ended(run="r1", status=status, content=content, written=None,  # type: ignore[arg-type]
                 cost={"seconds": 1.0, "tokens": 0.0, "usd": 0.0}, reenlisted=(), levels={}, error=error,
                 next="enlist show r1")


@pytest.fixture
def read(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """What a person reads of a run that has ended, on a terminal wide enough for every line."""
    monkeypatch.setenv("COLUMNS", "400")

    def call(end: Ended) -> str:
        with Terminal() as terminal:
            terminal.answer(answer_of(end))
        return capsys.readouterr().out

    return call


def test_one_line_of_assumptions_stands_before_the_lead(read: Any) -> None:
    lines = read(ended(content(sections=(section("a", 9, 2),)))).splitlines()
    assert lines[0] == "Assumed: " + " ".join(f"a-assumed-{n}." for n in range(5))
    assert lines[1:3] == ["a-lead-0.", "a-lead-1."] and lines[3].startswith("Every role finished.")


def test_of_several_sections_each_has_its_own_assumptions_directly_before_its_lead(read: Any) -> None:
    lines = read(ended(content(sections=(section("a", 1), section("b", 2), section("c", 0))))).splitlines()
    assert lines[:5] == ["a: Assumed: a-assumed-0.", "a: a-lead-0.", "b: Assumed: b-assumed-0. b-assumed-1.",
                         "b: b-lead-0.", "c: c-lead-0."]


def test_what_does_not_fit_the_terminal_is_counted(read: Any) -> None:
    said = read(ended(content(sections=(section("a", 0, 20), section("b", 1, 20)))))
    assert said.count("-lead-") == shown.MOST_LINES and f"({40 - shown.MOST_LINES} more in the report)" in said


def test_claims_that_are_not_confirmed_say_why_those_of_one_reason_together(read: Any) -> None:
    claims = (claim(1, "not_checked", "no second route"), claim(2, "not_checked", "no second route"),
              claim(3, "refuted", "counted 4"), claim(4, "confirmed", "counted 4 again"))
    said = read(ended(content(claims=claims), "partial"))
    assert "Not checked: 2 claims: no second route\n" in said and "Refuted: m takes 3 s: counted 4\n" in said
    assert said.index("Refuted: m") < said.index("Not checked: 2") and "counted 4 again" not in said
    many = read(ended(content(claims=tuple(claim(n, "not_checked", f"reason {n}") for n in range(8))), "partial"))
    assert many.count("Not checked: ") == 5 and "(3 more reasons in the report)" in many


def test_notes_are_seen_briefly(read: Any) -> None:
    said = read(ended(content(notes=("analyst: no data sheet for X9",))))
    assert "Note: analyst: no data sheet for X9\n" in said
    many = read(ended(content(notes=tuple(f"n{n}" for n in range(7)))))
    assert many.count("Note: ") == 5 and "(2 more notes in the report)" in many


def test_a_failure_says_its_reason_and_fix_first_and_nothing_that_follows_from_it(read: Any) -> None:
    said = read(ended(content(unfinished=(ROOT, DERIVED), sections=(section("a", 1),)), "failed"))
    assert said.startswith("Failed: the file is no model. To fix: attach model.py.")
    assert "nothing to work on" not in said and "verifier" not in said
    assert said.index("Failed:") < said.index("a-lead-0")


def test_a_role_that_failed_by_itself_is_shown_beside_another(read: Any) -> None:
    own = Unfinished(role="verifier", code="timeout", message="it took too long")
    writer = Unfinished(role="writer", code="internal", message="a defect")
    assert "it took too long" in read(ended(content(unfinished=(own,)), "partial"))
    assert "a defect" in read(ended(content(unfinished=(ROOT, DERIVED, writer)), "failed"))


def test_the_fault_that_ended_a_run_is_its_first_reason(read: Any) -> None:
    fault = EnlistError("unschedulable", "no node has 9 GPUs", fix="add one")
    assert read(ended(content(unfinished=(ROOT,)), "failed", fault)).startswith(
        "Failed: no node has 9 GPUs. To fix: add one.\n- the file is no model.")


@pytest.mark.parametrize(("status", "unfinished", "following"), [
    ("failed", (ROOT, DERIVED), "attach model.py"), ("failed", (), "enlist runs"), ("done", (), "enlist runs")])
def test_a_run_never_points_at_itself(read: Any, status: str, unfinished: Any, following: str) -> None:
    said = read(ended(content(unfinished=unfinished), status))
    assert "enlist show r1" not in said and said.endswith(f"Next:\n  {following}\n")


def test_a_run_shown_again_names_its_report_and_not_itself(enlist: Any, tmp_path: Path) -> None:
    first = enlist("run", "translate this poem", "--json").document
    memory = open_memory(f"sqlite://{tmp_path / 'home' / 'store.db'}")
    report = next(e.data for e in memory.events(first["run"]) if e.kind == "report.finished")
    memory.commit("r2", 0, [
        NewEvent(kind="run.accepted", data={"request": Request(text="t").model_dump(mode="json"), "pins": {}}),
        NewEvent(kind="run.planned", data={"planning": Planning(plan=PLAN).model_dump(mode="json"), "pins": {},
                                           "team": None}),
        NewEvent(kind="report.finished", data=report), NewEvent(kind="run.finished", data={"status": "done"})])
    memory.close()
    for run in (first["run"], "r2"):
        said = enlist("show", run)
        assert f"enlist show {run}" not in said.out + enlist("show", run, "--json").out
    assert enlist("show", "r2", "--json").document["next"] == f"read {report['folder']}/report.html"


def test_an_empty_path_is_refused_and_not_taken_for_the_current_folder() -> None:
    import pytest

    from enlist.evals.cli.settings import typed_paths
    from enlist.tools.runtime.errors import EnlistError

    assert [str(p) for p in typed_paths(["a", "."])] == ["a", "."] and typed_paths(None) == []
    with pytest.raises(EnlistError, match="a path is empty"):
        typed_paths(["a", ""])


def test_an_answer_that_cannot_be_written_ends_without_a_traceback(tmp_path) -> None:  # type: ignore[no-untyped-def]
    import subprocess
    import sys

    for where in ("/dev/full", "&-"):
        done = subprocess.run(["bash", "-c", f"{sys.prefix}/bin/enlist runs >{where}"], text=True,
                              capture_output=True, env={"ENLIST_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"})
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == (1 if where == "/dev/full" else 0)
