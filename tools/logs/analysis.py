"""Logs to an incident model: reading, framing, templates, counting, signals, inference, and every claim read again."""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from enlist.tools.logs.batch import Accounting, Ref, Source
from enlist.tools.logs.cited import seen_again, verified
from enlist.tools.logs.clock.context import shifts
from enlist.tools.logs.counting import Counted, Options, counted, windowed
from enlist.tools.logs.incident.infer import infer
from enlist.tools.logs.incident.model import Incident
from enlist.tools.logs.reading import Found, found
from enlist.tools.logs.signals.found import Grid, grid, signals
from enlist.tools.logs.signals.signal import Signal
from enlist.tools.logs.signals.tally import Series, Tally


@dataclass(frozen=True)
class Analysis:
    """An incident model with all it was made from; `cited` are the lines that its claims name, as they were read again;
    `plain` are the names of sources that are plain files."""

    incident: Incident
    cited: dict[Ref, str]
    account: Accounting
    sources: dict[int, Source]
    series: dict[tuple[str, int], Series]
    texts: dict[int, str]
    signals: list[Signal]
    grid: Grid | None
    seconds: float
    plain: frozenset[str] = frozenset()


def analyse(paths: Sequence[str | os.PathLike[str]], options: Options | None = None,
            progress: Callable[[int], None] | None = None, *, workers: int = 1,
            budget: float | None = None) -> Analysis:
    """Read logs and say what happened; the same for any number of workers.

    Args:
        progress: called with the bytes read so far.
        workers: tasks at a time of the Ray that is in use; 1: none, all is read here.
        budget: seconds after which no more is read; what is read until then is spread over the logs, and the notes say
            how much it was.

    Raises:
        EnlistError: `not_found` or `bad_input` where a path cannot be read at all.
    """
    options = options or Options()
    begun = time.perf_counter()
    account = Accounting()
    every = [windowed(one, options) for one in found(paths, account, options.limits)]
    return concluded(counted(every, account, options, progress, workers, None if budget is None else begun + budget),
                     every, options, begun)


def _aligned(series: dict[tuple[str, int], Series], tally: Tally) -> dict[str, int]:
    """Move services whose zone was assumed to where the others are; by how many seconds each was moved."""
    spans: dict[str, tuple[int, int]] = {}
    for (service, _), one in series.items():
        if one.times:
            low, high = min(t for t, _ in one.times.values()), max(t for _, t in one.times.values())
            known = spans.get(service, (low, high))
            spans[service] = min(low, known[0]), max(high, known[1])
    sure = [s for s in spans if 2 * tally.how[s, "stated"] > sum(n for (name, _), n in tally.how.items() if name == s)]
    moved = shifts(spans, sure)
    for (service, _), one in series.items():
        if service in moved:
            one.moved(moved[service], tally.width)
    return {service: off // 1_000_000_000 for service, off in moved.items()}


def concluded(counted: Counted, every: Sequence[Found], options: Options, begun: float) -> Analysis:
    """The end of an analysis, once everything is counted."""
    miner, tally = counted.miner, counted.tally
    miner.fit()
    shapes = {statement // 2 for _, statement in tally.series}
    template_of = {shape: miner.template_of(shape) for shape in shapes}
    series = tally.by_template(template_of)
    texts = {template: miner.text(template if template >= 0 else ~template) for _, template in series}
    for service, seconds in sorted(_aligned(series, tally).items()):
        counted.account.note(service, f"names no zone; lies {seconds} s beside the others and was moved by that")
    at = grid(series, tally.width)
    if at is None:
        incident, every_signal = Incident(None, unknown=("when: no record has a time",)), []
    else:
        every_signal = signals(series, texts, at)
        incident = infer(every_signal, series, texts, at)
    cited = seen_again({ref for claim in incident.claims for ref in claim.lines}, every, options)
    incident = verified(incident, cited)
    return Analysis(incident, cited, counted.account, counted.sources, series, texts, every_signal, at,
                    time.perf_counter() - begun, frozenset(one.name for one in every if one.path is not None))
