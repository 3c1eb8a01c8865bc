"""Names that people mistype: the nearest valid ones."""

import difflib
from collections.abc import Iterable


def nearest(given: str, valid: Iterable[str], count: int = 3) -> list[str]:
    """The valid names nearest to `given`, best first, at most `count`; case is ignored."""
    by_lower = {name.lower(): name for name in valid}
    return [by_lower[m] for m in difflib.get_close_matches(given.lower(), by_lower, n=count, cutoff=0.5)]
