"""The page: one file that loads nothing, with every term in it and nothing of a hostile name let loose."""

import re
import xml.etree.ElementTree as xml
from collections.abc import Callable
from html.parser import HTMLParser

import pytest

from enlist.tools.solar.graph import Graph
from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.pricing.bounds import bounds
from enlist.tools.solar.report.analysis import Question, analyse
from enlist.tools.solar.report.drawing import READABLE, graph_svg
from enlist.tools.solar.report.page import page
from enlist.tools.solar.report.words import answer_lines, explained

Stack = Callable[..., Graph]
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "m.py:<script>alert(1)</script>\"'&"


class Tags(HTMLParser):
    """Tags with their attributes, and that each is closed."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def tags(text: str) -> list[tuple[str, dict[str, str | None]]]:
    parser = Tags()
    parser.feed(text)
    assert not parser.open
    return parser.found


def test_the_page_loads_nothing_and_runs_only_its_own_script(stack: Stack) -> None:
    text = page([analyse(stack(), Question(resolve(["H100 SXM", "A100"]), measured_s=1e-3))])
    found = tags(text)
    assert not [a for _, a in found for name in a if name in ("src", "srcset", "data", "action")]
    assert all((a["href"] or "").startswith("#") for tag, a in found if "href" in a)
    assert "url(" not in text and "@import" not in text
    policy = next(a["content"] for _, a in found if a.get("http-equiv") == "Content-Security-Policy")
    assert policy and policy.startswith("default-src 'none'") and "script-src 'sha256-" in policy
    assert [tag for tag, _ in found].count("script") == 1


def test_every_term_stands_in_the_page_with_the_number_to_sort_by(stack: Stack) -> None:
    made = analyse(stack(5), Question(resolve(["H100 SXM"])))
    text = page([made])
    for term in made.one.terms:
        assert f'data-v="{term.seconds!r}"' in text and term.where in text


def test_a_hostile_name_stays_text(stack: Stack) -> None:
    text = page([analyse(stack(where=HOSTILE, target=HOSTILE), Question(resolve(["H100 SXM"])), label=HOSTILE)] * 2)
    assert [tag for tag, _ in tags(text)].count("script") == 1 and "alert(1)</script>" not in text


@pytest.mark.parametrize(("layers", "where"), [(3, "layers.{n}"), (400, "layers.{n}.part"), (2000, "blocks.{n}"),
                                               (700, "")])
def test_a_graph_of_any_size_is_drawn_with_a_readable_number_of_boxes(stack: Stack, layers: int, where: str) -> None:
    graph = stack(layers, 64, 8, where)
    (one,) = bounds(graph, resolve(["H100 SXM"])).devices
    root = xml.fromstring(graph_svg(graph, one.terms))
    boxes = root.findall(f"{SVG}g")
    assert 0 < len(boxes) <= READABLE and (len(boxes) == 2 * layers or 2 * layers > READABLE)
    counts = [re.search(r"(\d+) operators", b.find(f"{SVG}title").text or "") for b in boxes]  # type: ignore
    assert sum(int(c[1]) if c else 1 for c in counts) == 2 * layers
    assert len(root.findall(f"{SVG}path")) == len(boxes) - 1  # a chain: each box hangs on the one before


def test_boxes_stand_below_what_they_depend_on_and_not_on_each_other(stack: Stack) -> None:
    graph = stack(20)
    root = xml.fromstring(graph_svg(graph, bounds(graph, resolve(["H100 SXM"])).devices[0].terms))
    places = [(float(r.get("x", 0)), float(r.get("y", 0))) for g in root.findall(f"{SVG}g")
              for r in g.findall(f"{SVG}rect")[:1]]
    assert len(set(places)) == 40 and [y for _, y in places] == sorted(y for _, y in places)


def test_an_empty_graph_is_drawn_too(stack: Stack) -> None:
    graph = stack(1).model_copy(update={"nodes": ()})
    assert xml.fromstring(graph_svg(graph, ())).find(f"{SVG}g") is None


def test_the_first_five_lines_say_all_within_eighty_columns(stack: Stack) -> None:
    made = analyse(stack(2, 4096, 4096), Question(resolve(["H100 SXM"]), measured_s=0.02))
    lines = answer_lines(made.title, made.one)
    assert len(lines) == 5 and max(map(len, lines)) <= 80
    assert lines[0] == "stack.py:Model on H100 SXM"
    assert all(word in lines[1] for word in ("fused", "unfused")) and "20 ms is" in lines[3]
    assert made.one.limiting_roof in lines[4]


def test_the_largest_terms_are_explained_by_the_roof_that_decides(stack: Stack) -> None:
    said = explained(analyse(stack(2, 4096, 4096), Question(resolve(["H100 SXM"]))).one)
    assert said[0].startswith("linear in layers.0 and 1 more like it") and "fusion would not" in said[0]
    assert said[1].startswith("relu") and "Memory decides" in said[1] and "Fusing" in said[1]
    assert " each at " in said[0] and " each " in said[1]
    alone = explained(analyse(stack(1, 4096, 4096), Question(resolve(["H100 SXM"]))).one)
    assert len(alone) == 2 and not any(" each" in paragraph for paragraph in alone)
