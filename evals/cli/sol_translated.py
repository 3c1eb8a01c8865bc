"""Sources of `enlist sol` that no front end reads: a configured language model translates them into loop nests.

The check runs in the sandbox (`loop-equals`). A source becomes the program that equalled it, as a `.loop` file of the
same name; the sentence that says so goes with every number.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from enlist.agents.language.questions import LanguageModel
from enlist.agents.speed_of_light.translation import SECONDS, TRANSLATION_MODEL, Foreign, Translated, translated
from enlist.evals.cli.settings import store
from enlist.evals.cli.sol_capture import Shelf, shelf
from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.config import Config
from enlist.tools.runtime.errors import EnlistError, boundary
from enlist.tools.runtime.runner import run_tool
from enlist.tools.solar.formats.front import LOOP_SUFFIX, language_of
from enlist.tools.solar.formats.opened import Source
from enlist.tools.solar.graph import Graph
from enlist.tools.solar.loops.tool import EQUALS, EqualsInput, EqualsOutput, Language


@dataclass(frozen=True)
class Ready:
    """A source that a front end reads, and the translation that it came from, if it did."""

    source: Source
    translation: Translated | None = None

    def marked(self, graph: Graph) -> Graph:
        """The graph with the sentence of its translation."""
        if self.translation is None:
            return graph
        sizes = () if self.source.inputs else ("sizes of the translation: the model's; --input names others",)
        return graph.model_copy(update={"assumed": (self.translation.sentence, *sizes, *graph.assumed)})

    def entry(self) -> dict[str, Any]:
        """What JSON says of the translation; empty where there was none."""
        made = self.translation
        if made is None:
            return {}
        return {"translation": {"program": made.text, "rounds": made.rounds, "compared": None if made.compared is None
                                else {"shapes": made.compared.shapes, "inputs": made.compared.inputs,
                                      "at": list(made.compared.at)}}}


Fault = tuple[str, EnlistError]
"""A file as typed, and why it cannot be analysed."""


def ready(typed: Sequence[Source | Fault], config: Config, vouched: bool,
          say: Callable[[str], None]) -> list[Ready | Fault]:
    """Every source as a front end can read it, or why it cannot be; `vouched` takes translations that cannot be
    compared."""
    languages = [language_of(s.content.decode("utf-8", "replace"), s.name)
                 if isinstance(s, Source) and s.fault is None else None for s in typed]
    if not any(languages):
        return [Ready(s) if isinstance(s, Source) else s for s in typed]
    with _model(config) as found, shelf() as kept:
        made: list[Ready | Fault] = []
        for source, language in zip(typed, languages, strict=True):
            if not isinstance(source, Source) or language is None:
                made.append(Ready(source) if isinstance(source, Source) else source)
                continue
            try:
                with boundary(f"translating {source.name}"):
                    made.append(_translated(source, cast(Language, language), found, kept, vouched, say))
            except EnlistError as error:
                if error.code == "cancelled":
                    raise
                made.append((source.file, error))
        return made


@contextmanager
def _model(config: Config) -> Iterator[tuple[LanguageModel | None, str]]:
    """The model that translates, and its name; none where none is configured, and then no store is opened."""
    from enlist.agents.language.direct import direct_model
    from enlist.agents.language.settings import configured, serving

    if serving(configured(config), TRANSLATION_MODEL) is None:
        yield None, ""
        return
    with store(config) as memory:
        found = direct_model(config, TRANSLATION_MODEL, memory)
        yield (found[0], found[1].name) if found is not None else (None, "")


def _translated(source: Source, language: Language, found: tuple[LanguageModel | None, str], kept: Shelf, vouched: bool,
                say: Callable[[str], None]) -> Ready:
    model, name = found
    if model is not None:
        say(f"language model {name} is asked to translate {source.name} ...")

    def put(name: str, content: bytes) -> ArtifactRef:
        return kept.put_bytes(content, media_type="text/plain", name=name)

    def equals(given: EqualsInput) -> EqualsOutput:
        ran = run_tool(EQUALS, "enlist.tools.solar.loops.tool:EQUALS", given, kept, limit=SECONDS)
        return cast(EqualsOutput, ran.output)

    made = translated(Foreign(source.name, source.content, language, source.target), model, name, put, equals, vouched)
    return Ready(replace(source, name=Path(source.name).stem + LOOP_SUFFIX, content=made.text.encode(), target=None),
                 made)
