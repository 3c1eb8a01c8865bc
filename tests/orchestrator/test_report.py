"""Reports: what a file or a user says cannot become markup, sentences point at their claims, nothing half written."""

import json
import re
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from enlist.orchestrator.plan import Nearest
from enlist.orchestrator.report.content import Asked, Claim, Content, Unfinished
from enlist.orchestrator.report.files import write_report
from enlist.orchestrator.report.html import render_html
from enlist.orchestrator.report.markdown import render_markdown
from enlist.orchestrator.request import Constraints
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.findings import Check, Finding, RequestEvidence
from enlist.tools.runtime.memory import open_memory
from enlist.tools.runtime.section import Section, Sentence, Table

EVIL = "</td><script>alert(1)</script> | [x](javascript:y) `z` *w* \u202e\x1b[31m\n# heading"
ABOUT = {"id": "r1", "attempts": 1, "cost": {"seconds": 1.0, "tokens": 0, "usd": 0.0}, "sandbox": {}, "reenlisted": [],
         "enlist": "0"}


def content(status: str = "refuted") -> Content:
    claim = Finding.make(template="{subject} takes {value} s", capability="c", subject=EVIL, predicate="p", value=2.0,
                         unit="s", tier="analytic", evidence=(RequestEvidence(quote=EVIL),))
    check = Check(finding=claim.id, status=status, route="r", reason=EVIL)  # type: ignore[arg-type]
    return Content(
        request=Asked(text=EVIL, attachments=(), measurements=(), constraints=Constraints()), plan=None, team=None,
        missing=(), nearest=(Nearest(capability="c", status="installed", score=0.5, reason=EVIL),), notes=(EVIL,),
        sections=(Section(title=EVIL, lead=(Sentence(text=EVIL, findings=(claim.id,)),), assumptions=(
            Sentence(text=EVIL),), tables=(Table(title=EVIL, columns=(EVIL, "n"), rows=((EVIL, 0.123456),)),),
            notes=(EVIL,), next=f"echo {EVIL}"),),
        claims=(Claim(finding=claim, status=status, checks=(check,)),),  # type: ignore[arg-type]
        unfinished=(Unfinished(role="a", code="timeout", message=EVIL, given=EVIL, fix=EVIL),))


def test_hostile_text_stays_text_in_html() -> None:
    page = render_html(content(), "partial", ABOUT)
    assert "<script" not in page and "alert(1)" in page
    body = page.removeprefix("<!doctype html>\n").replace('<meta charset="utf-8">', "")
    body = re.sub(r"<meta [^>]*>", "", body).replace("<br>", "<br/>").replace("\x1b", "")
    ElementTree.fromstring(body)  # every element is closed where it must be


def test_hostile_text_stays_text_in_markdown() -> None:
    page = render_markdown(content(), "partial", ABOUT)
    outside_code = "\n".join(line for line in page.split("\n") if not line.startswith("    "))
    assert not re.search(r"(?<!\\)<script", outside_code) and not re.search(r"(?<!\\)\]\(javascript", outside_code)
    assert [line for line in outside_code.split("\n") if line.startswith("# ")] == [page.split("\n")[0]]
    rows = [line for line in outside_code.split("\n") if line.startswith("| ") and "0.1235" in line]
    assert rows and len(re.findall(r"(?<!\\)\|", rows[0])) == 3


@pytest.mark.parametrize("status", ["confirmed", "refuted", "not_checked"])
def test_the_headline_counts_verdicts_and_doubt_is_spelt_out(status: str) -> None:
    page = render_markdown(content(status), "done", ABOUT)
    numbers = dict.fromkeys(("confirmed", "refuted", "not checked"), 0) | {status.replace("_", " "): 1}
    assert "1 claims: " + ", ".join(f"{n} {word}" for word, n in numbers.items()) in page
    assert (f"F1 {status}: " in page.replace("\\", "")) == (status != "confirmed")


def test_a_report_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = open_memory(f"sqlite://{tmp_path / 'store.db'}")
    written = write_report(memory, tmp_path / "out", "r1", "done", content(), ABOUT)
    document = json.loads(Path(written.paths()["json"]).read_text())
    assert document["run"]["status"] == "done" and Content.model_validate(document["content"]) == content()
    before = Path(written.paths()["md"]).read_bytes()
    monkeypatch.setattr("os.fsync", lambda descriptor: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(EnlistError, match="No space left"):
        write_report(memory, tmp_path / "out", "r1", "failed", content("confirmed"), ABOUT)
    assert Path(written.paths()["md"]).read_bytes() == before
    assert sorted(p.name for p in (tmp_path / "out" / "r1").iterdir()) == ["report.html", "report.json", "report.md"]
