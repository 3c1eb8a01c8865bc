"""How well requests are routed, measured on requests that were written without sight of the planner or before it.

    python -m enlist.orchestrator.planning.measure FILE... [--whole] [--confusion] [--json]

A file lists requests: `id`, `text`, `attach` (artifact kinds), `capabilities` (what is asked for; none: decline).
`--whole` prints figures only and no request's outcome, so that a file that nobody may look into can be scored. Without
it, misrouted requests are listed, but for a third of them by the SHA-256 of their id: whoever tunes the planner holds
these back and scores them apart (`held`).

Figures: `top1`: of requests in scope, those whose best match is among what is asked for. `decline_recall`: of requests
out of scope, those declined. `decline_precision`: of declined requests, those out of scope. `multi_f1`: mean over
requests for several capabilities of the F1 of the matched set. `exact`: of all requests, those whose set is exactly
right. `misrouted`: of all requests, those routed to anything that was not asked for, rather than declined;
`misrouted_en` and `misrouted_other` tell requests in English from all others. Shares come with their Wilson 95 %
interval. The confusion table is Markdown.
"""

import argparse
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from math import sqrt
from pathlib import Path

import yaml
from pydantic import TypeAdapter, ValidationError

from enlist.orchestrator.capabilities import Capability, load_capabilities
from enlist.orchestrator.planning.language import language
from enlist.orchestrator.planning.meaning import Meaning
from enlist.orchestrator.planning.route import route
from enlist.orchestrator.request import Strict
from enlist.tools.runtime.errors import EnlistError

PARTS = ("read", "held")


class Example(Strict):
    """A request with what it asks for; `note` says why it was written."""

    id: str
    text: str
    attach: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    note: str = ""


class Share(Strict):
    """A part of a whole, and the Wilson 95 % interval of its rate; both ends None for a mean that is no count."""

    value: float
    count: int
    low: float | None = None
    high: float | None = None


class Outcome(Strict):
    """An example and the capabilities that it was routed to, best first."""

    example: Example
    matched: tuple[str, ...]


def load_examples(path: Path) -> list[Example]:
    """The examples of a YAML file; `bad_input` names the first entry that is malformed."""
    try:
        return TypeAdapter(list[Example]).validate_python(yaml.safe_load(path.read_text("utf-8")))
    except (OSError, yaml.YAMLError, ValidationError) as error:
        raise EnlistError("bad_input", "the requests cannot be read", given=str(path),
                          allowed="a YAML list of requests", fix=str(error)) from error


def part(example: Example) -> str:
    """`held` for a third of all ids, by the SHA-256 of the id, else `read`."""
    return PARTS[hashlib.sha256(example.id.encode()).digest()[-1] % 3 == 0]


def outcomes(examples: Sequence[Example], capabilities: Mapping[str, Capability],
             meaning: Meaning | None = None) -> list[Outcome]:
    """Each example routed."""
    return [Outcome(example=e, matched=tuple(m.capability for m in route(
        e.text, e.attach, capabilities, meaning).matched)) for e in examples]


def figures(routed: Sequence[Outcome]) -> dict[str, Share]:
    """The figures of the module's docstring."""
    inside = [o for o in routed if o.example.capabilities]
    outside = [o for o in routed if not o.example.capabilities]
    declined = [o for o in routed if not o.matched]
    several = [o for o in inside if len(o.example.capabilities) > 1]
    english = [o for o in routed if language(o.example.text) == "en"]
    other = [o for o in routed if language(o.example.text) != "en"]
    return {
        "top1": _share([o.matched[:1] != () and o.matched[0] in o.example.capabilities for o in inside]),
        "decline_recall": _share([not o.matched for o in outside]),
        "decline_precision": _share([not o.example.capabilities for o in declined]),
        "multi_f1": Share(value=sum(_f1(o) for o in several) / max(1, len(several)), count=len(several)),
        "exact": _share([set(o.matched) == set(o.example.capabilities) for o in routed]),
        "misrouted": _share([_strayed(o) for o in routed]),
        "misrouted_en": _share([_strayed(o) for o in english]),
        "misrouted_other": _share([_strayed(o) for o in other]),
    }


def _strayed(outcome: Outcome) -> bool:
    return not set(outcome.matched) <= set(outcome.example.capabilities)


def _f1(outcome: Outcome) -> float:
    asked, matched = set(outcome.example.capabilities), set(outcome.matched)
    return 2 * len(asked & matched) / (len(asked) + len(matched))


def _share(hits: Sequence[bool]) -> Share:
    """A rate with its Wilson score interval (Wilson 1927), z = 1.96."""
    n = len(hits)
    if n == 0:
        return Share(value=0.0, count=0)
    rate, z = sum(hits) / n, 1.96
    middle = (rate + z * z / (2 * n)) / (1 + z * z / n)
    reach = z * sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return Share(value=rate, count=n, low=max(0.0, middle - reach), high=min(1.0, middle + reach))


def confusion(routed: Sequence[Outcome]) -> list[tuple[str, str, int]]:
    """(asked for, routed to, how often) for all requests that were not routed exactly."""
    wrong = [o for o in routed if set(o.matched) != set(o.example.capabilities)]
    pairs = Counter((_name(o.example.capabilities), _name(o.matched)) for o in wrong)
    return [(asked, matched, n) for (asked, matched), n in sorted(pairs.items(), key=lambda item: (-item[1], item[0]))]


def _name(capabilities: Sequence[str]) -> str:
    return " + ".join(sorted(capabilities)) or "decline"


def table(counts: Sequence[tuple[str, str, int]]) -> str:
    """A confusion table in Markdown."""
    rows = [f"| {asked} | {matched} | {n} |" for asked, matched, n in counts]
    return "\n".join(["| asked for | routed to | requests |", "|---|---|---|", *rows])


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the figures of the files, and what was misrouted where it may be seen."""
    parser = argparse.ArgumentParser(prog="python -m enlist.orchestrator.planning.measure",
                                     description="Measure routing on files of requests.")
    parser.add_argument("requests", type=Path, nargs="+")
    parser.add_argument("--whole", action="store_true", help="figures only, no request's outcome")
    parser.add_argument("--meaning", action="store_true", help="weigh in meaning (extra `embedding`)")
    parser.add_argument("--confusion", action="store_true", help="print what was routed to what, in Markdown")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(arguments)
    capabilities = load_capabilities()
    meaning = Meaning(capabilities) if given.meaning else None
    columns: dict[str, list[Outcome]] = {}
    for path in given.requests:
        routed = outcomes(load_examples(path), capabilities, meaning)
        columns[path.stem] = routed
        if not given.whole:
            columns |= {f"{path.stem}:{name}": [o for o in routed if part(o.example) == name] for name in PARTS}
    measured = {name: figures(routed) for name, routed in columns.items()}
    whole = [o for path in given.requests for o in columns[path.stem]]
    if given.json:
        print(json.dumps({"figures": {name: {k: v.model_dump() for k, v in found.items()}
                                      for name, found in measured.items()},
                          "confusion": confusion(whole) if given.confusion else None}, indent=2))
        return
    print("| figure | " + " | ".join(columns) + " |\n|---" + "|---" * len(columns) + "|")
    for figure in figures(()):
        print(f"| {figure} | " + " | ".join(_cell(found[figure]) for found in measured.values()) + " |")
    if given.confusion:
        print("\n" + table(confusion(whole)))
    if not given.whole:
        print("\nmisrouted, but for the held third:")
        for o in whole:
            if part(o.example) == "read" and set(o.matched) != set(o.example.capabilities):
                print(f"{o.example.id}: {_name(o.example.capabilities)} -> {_name(o.matched)}: {o.example.text}")


def _cell(share: Share) -> str:
    interval = "" if share.low is None else f" [{share.low:.2f}, {share.high:.2f}]"
    return f"{share.value:.3f}{interval} n={share.count}"


if __name__ == "__main__":
    try:
        main()
    except EnlistError as error:
        raise SystemExit(f"{error.sentence()}") from error
