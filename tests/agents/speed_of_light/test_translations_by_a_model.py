"""A model's translations of C: right ones count, wrong ones go back with the counter-example, and nothing escapes."""

import importlib.util
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import pytest

from enlist.agents.language.client import Client
from enlist.agents.language.settings import ModelSettings
from enlist.agents.speed_of_light import translation
from enlist.agents.speed_of_light.translation import Foreign, translated
from enlist.tools.runtime.artifacts import ArtifactFolder, ArtifactRef
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.runner import InlineContext, run_tool
from enlist.tools.solar.loops.parser import parse
from enlist.tools.solar.loops.tool import EQUALS, EqualsInput, EqualsOutput, run_equals

_PATH = Path(__file__).parents[1] / "language" / "fault_server.py"
_SPEC = importlib.util.spec_from_file_location("fault_server_of_translations", _PATH)
assert _SPEC and _SPEC.loader
faults = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(faults)

SOURCE = b"""void dot(const float *a, const float *b, float *c, int N) {
  c[0] = 0; for (int i = 0; i < N; i++) c[0] += a[i] * b[i]; }"""
RIGHT = """program dot
size N = 4096
input a: float32[N], b: float32[N]
output c: float32[1]
c[0] = 0
for i in 0..N { c[0] += a[i] * b[i] }"""
CONSTANT = RIGHT.replace("a[i] *", "1.001 * a[i] *")
BOUNDS = RIGHT.replace("0..N {", "0..N - 1 {")
ESCAPE = "```python\nimport os\nos.system('touch escaped')\n```"
ENDLESS = RIGHT.replace("c[0] = 0\n", "c[0] = 0\nfor j in 1..9000000000000 { c[0] = c[0] + 0 * j }\n")


class _Shelf:
    def __init__(self, root: Path) -> None:
        self.folder = ArtifactFolder(root)

    def put_bytes(self, data: bytes, *, media_type: str, name: str) -> ArtifactRef:
        return self.folder.put_bytes(data, media_type=media_type, name=name)

    def open_artifact(self, ref: ArtifactRef) -> Path:
        return self.folder.open(ref)


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Shelf:
    monkeypatch.chdir(tmp_path)
    return _Shelf(tmp_path / "shelf")


@contextmanager
def asking(shelf: _Shelf, *answers: str, sandboxed: bool = False, source: bytes = SOURCE, language: str = "c",
           vouched: bool = False) -> Iterator[tuple[Callable[[], translation.Translated], Any]]:
    """The translation of a source by an endpoint that gives these answers in turn."""
    def equals(given: EqualsInput) -> EqualsOutput:
        if sandboxed:
            ran = run_tool(EQUALS, "enlist.tools.solar.loops.tool:EQUALS", given, shelf, limit=translation.SECONDS)
            return cast(EqualsOutput, ran.output)
        return run_equals(given, InlineContext(shelf, lambda share, text: None, lambda: False))

    def put(name: str, data: bytes) -> ArtifactRef:
        return shelf.put_bytes(data, media_type="text/plain", name=name)

    with faults.FaultServer([faults.says(a, each=400) for a in answers]) as server:
        model = Client(ModelSettings(name="small", endpoint=server.address, model="served", max_tokens=2000))
        foreign = Foreign("dot.c", source, language, None)  # type: ignore[arg-type]
        yield lambda: translated(foreign, model, "small", put, equals, vouched), server


def test_a_right_translation_counts_and_says_where_it_comes_from(shelf: _Shelf) -> None:
    with asking(shelf, f"Here it is:\n```\n{RIGHT}\n```") as (ask, server):
        made = ask()
    assert parse(made.text) == parse(RIGHT) and made.rounds == 1 == len(server.requests)
    assert made.compared is not None and (made.compared.shapes, made.compared.inputs) == (3, 12)
    assert "by language model small" in made.sentence and "3 shapes (N=5; N=3; N=7)" in made.sentence


@pytest.mark.parametrize(("wrong", "told"), [
    (CONSTANT, "the source's"), (BOUNDS, "the source's"), ("I cannot do that.", "line 1"),
    (ESCAPE, "unexpected character"), (RIGHT.replace("b[i]", "b[i + 1]"), "goes above"),
    ("```\n" + "{" * 50_000 + "\n```", "line 1"), ("", "line 1"),
    ("```\n" + "# much\n" * 20_000 + "\n```", "too long")],
    ids=["constant", "bounds", "refusal", "escape", "outside", "brackets", "empty", "long"])
def test_a_wrong_answer_goes_back_with_what_is_wrong(shelf: _Shelf, wrong: str, told: str) -> None:
    with asking(shelf, wrong, RIGHT) as (ask, server):
        assert ask().rounds == 2
    again = server.requests[1]["messages"][1]["content"]
    assert told in again and "is wrong" in again
    assert not (Path.cwd() / "escaped").exists()


def test_what_stays_wrong_is_refused_after_a_few_rounds(shelf: _Shelf) -> None:
    with asking(shelf, CONSTANT) as (ask, server), pytest.raises(EnlistError, match="4 rounds") as caught:
        ask()
    assert caught.value.code == "invalid_output" and len(server.requests) == 4


def test_what_cannot_run_here_is_not_even_asked_for(shelf: _Shelf) -> None:
    with asking(shelf, RIGHT, source=b"__global__ void dot() {}", language="cuda") as (ask, server), pytest.raises(
            EnlistError, match="on no shape and no input") as caught:
        ask()
    assert caught.value.code == "unsupported" and not server.requests


@pytest.mark.parametrize("language", ["cuda", "triton", "pseudo-code"])
def test_who_vouches_gets_a_valid_program_that_says_so(shelf: _Shelf, language: str) -> None:
    with asking(shelf, RIGHT.replace("b[i]", "b[i + 1]"), RIGHT, language=language, vouched=True) as (ask, _):
        made = ask()
    assert made.rounds == 2 and made.compared is None and "not compared" in made.sentence
    assert "--assume-translation" in made.sentence


def test_vouching_does_not_spare_the_comparison_where_it_can_be_made(shelf: _Shelf) -> None:
    with asking(shelf, CONSTANT, vouched=True) as (ask, _), pytest.raises(EnlistError, match="4 rounds"):
        ask()


@pytest.mark.slow  # reason: each comparison starts a sandbox
@pytest.mark.parametrize(("source", "code", "word"), [
    (b"#include <stdlib.h>\nvoid dot(const float *a, const float *b, float *c, int N) "
     b"{ system(\"touch enlist-escaped\"); c[0] = 1e30; }", "invalid_output", "source's"),
    (b"void dot(const float *a, const float *b, float *c, int N) { for (;;) c[0] += 1; }", "timeout", "longer"),
    (b"void dot(const float *a, const float *b, float *c, int N) { *(volatile int *)0 = 1; }", "invalid_output",
     "without a result"),
    (b"void dot(const float *a, const float *b, float *c, int N) { this is no C }", "invalid_output", "not compile")],
    ids=["shell", "endless", "crash", "no C"])
def test_a_hostile_source_ends_in_the_sandbox(shelf: _Shelf, monkeypatch: pytest.MonkeyPatch, source: bytes, code: str,
                                              word: str) -> None:
    monkeypatch.setattr(translation, "SECONDS", 4.0)
    with (asking(shelf, RIGHT, sandboxed=True, source=source) as (ask, _),
          pytest.raises(EnlistError, match=word) as ended):
        ask()
    assert ended.value.code == code and not (Path.cwd() / "enlist-escaped").exists()


@pytest.mark.slow  # reason: runs into a time limit of seconds
def test_a_program_that_hardly_ends_is_stopped_and_mended(shelf: _Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translation, "SECONDS", 6.0)
    with asking(shelf, ENDLESS, RIGHT, sandboxed=True) as (ask, server):
        assert ask().rounds == 2
    assert "longer than" in server.requests[1]["messages"][1]["content"]
