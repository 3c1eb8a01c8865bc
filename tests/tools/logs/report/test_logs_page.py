"""The page: every claim is reached by a link, its lines are there as the files have them, nothing hostile passes."""

import re

import pytest

from enlist.tools.logs.analysis import analyse
from enlist.tools.logs.report.document import document
from enlist.tools.logs.report.masking import Masking
from enlist.tools.logs.report.page import page_of

HOSTILE = '<script>alert("x")</script> & <img src=x onerror=y>'


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("logs")
    lines = [f"2026-03-04T05:{i // 60:02d}:{i % 60:02d}Z INFO request {i} served" for i in range(1800)]
    bad = [f"2026-03-04T05:{20 + i // 60:02d}:{i % 60:02d}Z ERROR no space left on device {HOSTILE} for a@b.example"
           for i in range(300)]
    (folder / "api.log").write_text("\n".join(sorted(lines + bad)) + "\n")
    made = analyse([folder])
    masking = Masking()
    return page_of(made, document(made)), page_of(made, masking.document(document(made)), masking)


def test_every_link_has_its_place_and_the_lines_stand_there(html: tuple[str, str]) -> None:
    places, links = set(re.findall(r'id="(c\d+)"', html[0])), set(re.findall(r'href="#(c\d+)"', html[0]))
    assert links and links <= places
    assert "<svg" in html[0] and "no space left on device" in html[0]


def test_nothing_from_the_logs_is_markup_and_nothing_is_loaded(html: tuple[str, str]) -> None:
    assert "<script" not in html[0] and "<img" not in html[0] and "&lt;script&gt;" in html[0]
    assert "http://" not in html[0].replace("http://www.w3.org/2000/svg", "") and "default-src 'none'" in html[0]


def test_a_masked_page_holds_no_address(html: tuple[str, str]) -> None:
    assert "a@b.example" in html[0] and "a@b.example" not in html[1] and "&lt;email-1&gt;" in html[1]
