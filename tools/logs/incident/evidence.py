"""What speaks for each cause in a component: its own rare and new statements near the onset, and complaints about
it."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from enlist.tools.logs.incident.blame import Mentions
from enlist.tools.logs.incident.causes import Cause, causes
from enlist.tools.logs.incident.window import Episode
from enlist.tools.logs.signals.signal import Signal
from enlist.tools.logs.signals.words import is_change

_STRONG, _WEAK = 2.0, 0.5
_AFAR = 0.1
_DEEDS = 2
_INSIDE, _OUTSIDE = 0.15, 6.0


@dataclass(frozen=True, slots=True)
class Heard:
    """A statement about a component, how much it counts, and whether the component wrote it itself."""

    signal: Signal
    part: float
    own: bool


def heard(component: str, signals: Iterable[Signal], found: Episode, mentions: Mentions, lead: int) -> list[Heard]:
    """Statements about a component from some time before the first trouble to the end, each once."""
    begin, out = found.start - lead, []
    seen: set[tuple[str, int]] = set()
    for signal in signals:
        key = signal.service, signal.template
        inside = any(begin <= t <= found.end for t in signal.times) or begin <= signal.start <= found.end
        if key in seen or not inside or signal.kind == "shift":
            continue
        own = signal.service == component
        if own or component in mentions.of(f"{signal.text} {signal.example}", signal.service):
            seen.add(key)
            near = signal.share >= 0.6 and signal.start >= begin
            if own or signal.bad >= 0.5 or signal.count <= _DEEDS:  # what another does again and again is its own doing
                out.append(Heard(signal, 1.0 if near else _AFAR, own))
    return out


def said(cause: Cause, text: str) -> float:
    """How much of a cause's words a text holds."""
    strong = {m.lower() for m in cause.strong.findall(text)}
    weak = {m.lower() for m in cause.weak.findall(text)}
    return _STRONG * min(2, len(strong)) + _WEAK * min(3, len(weak))


def scores(statements: Sequence[Heard], changed: bool, silent: bool) -> dict[str, tuple[float, list[Signal]]]:
    """For each cause how much speaks for it, and the statements that do, most first.

    What many services write of a component in the same words counts once: complaints are averaged, its own statements
    are added up.

    Args:
        changed: somebody changed the component shortly before the first trouble.
        silent: the component wrote nothing at all: it is outside.
    """
    out = {}
    told = max(1, sum(not one.own for one in statements))
    for name, cause in causes().items():
        total, support = 0.0, []
        for one in statements:
            text = f"{one.signal.text} {one.signal.example}"
            amount = one.part * said(cause, text)
            if not one.own:
                amount *= 2.0 / told if one.signal.bad >= 0.5 else 0.7
            if amount > 0:
                total += amount
                support.append((amount, one.signal))
        if cause.by_change and not changed:
            total *= 0.5
        if silent:
            total = total + _OUTSIDE if cause.outside else _INSIDE * total
        elif cause.outside:
            total *= _INSIDE
        support.sort(key=lambda s: (-s[0], s[1].start, s[1].template))
        out[name] = total, [s for _, s in support[:4]]
    return out


def is_changed(statements: Sequence[Heard], onset: int) -> bool:
    """Whether somebody changed a component before its first trouble."""
    return any(one.own and one.part == 1.0 and one.signal.start <= onset and is_change(one.signal.example)
               for one in statements)
