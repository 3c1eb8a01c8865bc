"""The rules name no data set, vendor or product, and hold no literal of a labelled template."""

import ast
import csv
import os
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from enlist.tools.logs.templates.words import JOINING

RULES = Path(__file__).parents[4] / "tools" / "logs" / "templates"
SETS = ("loghub", "hdfs", "hadoop", "spark", "zookeeper", "bgl", "hpc", "thunderbird", "windows", "linux", "android",
        "healthapp", "apache", "proxifier", "openssh", "sshd", "openstack", "macos", "nginx", "postgres", "kubernetes",
        "docker", "kafka", "systemd", "yarn")
TERMS = {"status code"}  # of RFC 9110: `outcome` reads it, no template is made with it
LABELS = "ENLIST_LABELLED_LOGS"


def strings(source: str) -> Iterator[str]:
    """The strings of a module that are no docstrings."""
    tree = ast.parse(source)
    holders = (ast.Module, ast.ClassDef, ast.FunctionDef)
    said = {id(line.value) for node in ast.walk(tree) if isinstance(node, holders)
            for line in node.body if isinstance(line, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in said:
            yield node.value


def rules() -> list[str]:
    return [text for path in sorted(RULES.glob("*.py")) for text in strings(path.read_text(encoding="utf-8"))]


def literals(template: str) -> tuple[set[str], set[tuple[str, str]]]:
    """What would betray a labelled template: its identifiers, and its words with content two by two."""
    tokens = [re.sub(r"^\W+|\W+$", "", token) for token in re.split(r"\s+|<\*>", template)]
    plain = [re.fullmatch(r"[A-Z]?[a-z]+", token) is not None for token in tokens]
    names = {token for token, word in zip(tokens, plain, strict=True)
             if len(token) > 4 and not word and re.search("[A-Za-z]", token)}
    pairs = {(a.lower(), b.lower()) for (a, one), (b, two) in pairwise(zip(tokens, plain, strict=True))
             if one and two and not {a.lower(), b.lower()} & JOINING}
    return names, pairs


def betrayed(templates: list[str], texts: list[str]) -> set[str]:
    said = "\n".join(texts)
    words = [re.findall(r"[a-z]+", text.lower()) for text in texts]
    held = {pair for text in words for pair in pairwise(text)}
    names, pairs = set[str](), set[tuple[str, str]]()
    for template in templates:
        some, others = literals(template)
        names, pairs = names | some, pairs | others
    return {name for name in names if name in said} | {" ".join(pair) for pair in pairs & held}


def test_no_rule_names_a_set_a_vendor_or_a_product() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in RULES.glob("*.py")).lower()
    assert [name for name in SETS if re.search(rf"\b{name}\b", text)] == []


def test_the_search_finds_a_rule_that_was_made_for_a_template() -> None:
    templates = ["mod_proxy child <*> ready", "Lost lease for block <*>"]
    assert betrayed(templates, ["^mod_proxy "]) == {"mod_proxy"}
    assert betrayed(templates, [r"lost lease (\d+)"]) == {"lost lease"}
    assert betrayed(templates, ["lost found", "lease"]) == set()


@pytest.mark.slow
def test_no_rule_holds_a_literal_of_a_labelled_template() -> None:
    folder = os.environ.get(LABELS)
    if not folder:
        pytest.skip(f"labelled logs are not ours to ship: set {LABELS} to a folder of them")
    templates = []
    for path in sorted(Path(folder).rglob("*_templates.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            templates += [row["EventTemplate"] for row in csv.DictReader(file)]
    assert len(templates) > 100
    assert betrayed(templates, rules()) <= TERMS
