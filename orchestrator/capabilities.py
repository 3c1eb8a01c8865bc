"""Capabilities: the things that can be asked for, ours from `capabilities.yaml` and those that plug-ins add.

A capability names what it reads and writes in a shared vocabulary of artifact kinds, and carries the words that people
use when they ask for it. Whether agents for it are installed is the caller's to know: planning takes that as a set.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import ConfigDict, Field, ValidationError

from enlist.orchestrator.request import Strict
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.registry import load_all

_FILE = Path(__file__).with_name("capabilities.yaml")
GROUP = "enlist.capabilities"


class Capability(Strict):
    """One thing that can be asked for.

    Attributes:
        id: stable name.
        since: which release brings its tool; `plugin` for a third party's.
        reads, writes: artifact kinds; the first written kind is what a verifier checks.
        needs: kinds of which at least one must be attached or come from another role; empty where none is needed.
        fan_out: True: one analyst per attached target; False: one analyst sees all attachments together.
        companions: kinds that go to each analyst beside its target, such as the modules that a model imports.
        terms: weight to words and phrases, where 3 decides alone; `a + b` counts where both parts stand anywhere.
        phrases: example requests.
        not_yet: reason to terms of wishes that belong here and that the installed part does not answer; the plan's
            `missing` gives the reason, and words that only support do not carry such a request.
        looks_like: phrases that look like it and are not (`not` in YAML).
    """

    id: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    since: Literal["first", "next", "later", "plugin"] = "plugin"
    method: str = ""
    asks: str
    reads: tuple[str, ...]
    writes: tuple[str, ...] = Field(min_length=1)
    needs: tuple[str, ...] = ()
    fan_out: bool = True
    companions: tuple[str, ...] = ()
    terms: dict[float, tuple[str, ...]] = Field(default_factory=dict)
    phrases: tuple[str, ...] = ()
    not_yet: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    looks_like: tuple[str, ...] = Field(default=(), alias="not")

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)


def load_capabilities() -> dict[str, Capability]:
    """All capabilities by id: shipped ones in the order of their file, then those of plug-ins by id.

    A plug-in registers an object in the entry-point group `enlist.capabilities`: a Capability, a list of them, or a
    callable that returns either. `conflict` where a plug-in takes an id that is in use, `bad_input` where its object is
    something else.
    """
    found = dict(_shipped())
    added: dict[str, Capability] = {}
    for name, entry in load_all(GROUP).items():
        for capability in _from_entry(name, entry):
            if capability.id in found or capability.id in added:
                raise EnlistError("conflict", "a plug-in brings a capability whose id is taken",
                                  given=f"{capability.id!r} from entry point {name!r}",
                                  fix="rename it in the plug-in or uninstall the plug-in")
            added[capability.id] = capability
    return found | dict(sorted(added.items()))


def artifact_kinds() -> Mapping[str, str]:
    """The shipped vocabulary of artifact kinds: name to meaning."""
    kinds: dict[str, str] = _document()["artifacts"]
    return kinds


@cache
def elsewhere() -> dict[float, tuple[str, ...]]:
    """Weight to words of requests that no capability serves, as in `Capability.terms`."""
    return {float(weight): tuple(terms) for weight, terms in _document()["elsewhere"].items()}


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = yaml.load(_FILE.read_text("utf-8"), yaml.CSafeLoader)
    return document


@cache
def _shipped() -> dict[str, Capability]:
    try:
        return {item["id"]: Capability.model_validate(item) for item in _document()["capabilities"]}
    except ValidationError as error:
        raise EnlistError("internal", "the shipped capabilities.yaml is malformed", given=str(error)) from error


def _from_entry(name: str, entry: Any) -> list[Capability]:
    value = entry() if callable(entry) and not isinstance(entry, Capability) else entry
    items = [value] if isinstance(value, Capability) else list(value) if isinstance(value, Iterable) else [value]
    for item in items:
        if not isinstance(item, Capability):
            raise EnlistError("bad_input", f"entry point {name!r} of {GROUP} is no capability",
                              given=type(item).__name__,
                              allowed="a Capability, a list of them, or a callable for either",
                              fix="correct the plug-in or uninstall it")
    return items
