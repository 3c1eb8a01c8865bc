"""A campaign read from a request: environments, solvers and seeds that the text names, matched against what is
installed. What the text leaves open is filled in, and said."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from enlist.environments.contract import Environment, Spoken
from enlist.evals.campaign.file import CampaignFile, EnvironmentEntry, SolverEntry
from enlist.evals.campaign.plan import GROUP
from enlist.orchestrator.planning.lexicon import tokens
from enlist.tools.runtime import registry
from enlist.tools.runtime.errors import EnlistError

NUMBERS = {word: number for number, words in enumerate((
    ("one", "einen", "un", "une"), ("two", "zwei", "deux", "dos"), ("three", "drei", "trois", "tres"),
    ("four", "vier", "quatre", "cuatro"), ("five", "fünf", "cinq", "cinco"), ("six", "sechs", "seis"),
    ("seven", "sieben", "sept", "siete"), ("eight", "acht", "huit", "ocho"), ("nine", "neun", "neuf", "nueve"),
    ("ten", "zehn", "dix", "diez")), start=1) for word in words} | {"twenty": 20, "zwanzig": 20, "several": 3}
_COUNT = re.compile(rf"\b(\d{{1,4}}|{'|'.join(NUMBERS)})\s+(?:(?:random|different|distinct|fixed)\s+)?"
                    r"(?:seeds?|saat\w*|semillas?|graines?)\b", re.I)
_ONE = re.compile(r"\bseed\s+(?:=\s*)?(\d{1,9})\b", re.I)
_ALL = re.compile(r"\b(?:all|every|each)\b[\w\s]{0,20}\benv(?:ironment)?s?\b", re.I)
_AGAINST = re.compile(r"\b(?:against|versus|vs\.?|gegen|contre|contra|compared? (?:to|with))\b", re.I)


@dataclass(frozen=True)
class Wish:
    """The campaign that a text asks for, and what it left open."""

    file: CampaignFile
    notes: tuple[str, ...]


def read_wish(text: str) -> Wish:
    """The campaign in a text.

    Raises:
        EnlistError: `bad_input` where no installed environment is named and several are there.
    """
    installed: dict[str, Environment] = registry.load_all(GROUP)
    notes: list[str] = []
    environments = _environments(text, installed, notes)
    seeds, said = read_seeds(text)
    if not said:
        notes.append("no number of seeds was named: one is taken")
    names = {name: _names(installed[e], name) for e in environments for name in installed[e].baselines()}
    solvers = [name for name, words in names.items() if _place(text, words) is not None]
    behind = _AGAINST.search(text)
    against = next((n for n in solvers if behind and _place(text[behind.end():], names[n]) is not None), None)
    if len(solvers) < 2:
        solvers = sorted(names)
        notes.append("fewer than two solvers were named by names that are installed: all of "
                     f"{', '.join(environments)} run ({', '.join(solvers)})")
    return Wish(CampaignFile(
        name="asked", environments=tuple(EnvironmentEntry(name=e, seeds=seeds) for e in environments),
        solvers=tuple(SolverEntry(baseline=name) for name in solvers), against=against), tuple(notes))


def read_seeds(text: str) -> tuple[tuple[int, ...], bool]:
    """The seeds that a text names ("three seeds" are 0, 1 and 2; "seed 7" is 7), and whether it names any."""
    if match := _COUNT.search(text):
        count = int(match[1]) if match[1].isdigit() else NUMBERS[match[1].lower()]
        if count:
            return tuple(range(count)), True
    if match := _ONE.search(text):
        return (int(match[1]),), True
    return (0,), False


def _environments(text: str, installed: Mapping[str, Environment], notes: list[str]) -> list[str]:
    named = [name for name, found in installed.items()
             if _place(text, (*_names(found, name), name.replace("-", " "))) is not None]
    if named:
        return named
    if _ALL.search(text):
        return list(installed)
    if len(installed) == 1:
        (only,) = installed
        notes.append(f"no environment was named: {only} is the one that is installed")
        return [only]
    raise EnlistError("bad_input", "the request names no environment that is installed", given=text[:200],
                      allowed=", ".join(installed) or "none is installed",
                      fix="name one, or attach a campaign file (docs/campaigns.md)")


def _names(environment: Environment, name: str) -> tuple[str, ...]:
    spoken = environment.spoken() if isinstance(environment, Spoken) else {}
    return (name, *spoken.get(name, ()))


def _place(text: str, names: Iterable[str]) -> int | None:
    """Where the first of these names stands in the text, by stems in sequence; None where none does."""
    read = [token.stem for token in tokens(text)]
    for name in names:
        wanted = [token.stem for token in tokens(name)]
        if wanted and (place := _find(read, wanted)) is not None:
            return place
    return None


def _find(read: Sequence[str], wanted: Sequence[str]) -> int | None:
    return next((i for i in range(len(read) - len(wanted) + 1) if read[i:i + len(wanted)] == list(wanted)), None)
