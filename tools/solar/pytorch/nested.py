"""What lies in lists and dicts, named by the way to it: the keys of "state.h" or "layers.0"."""

from collections.abc import Sequence
from typing import Any


def at(held: Any, keys: Sequence[str]) -> Any:
    """What lies where the keys lead; None where they lead nowhere."""
    for key in keys:
        if isinstance(held, dict):
            held = held.get(key, held.get(int(key)) if key.isdecimal() else None)
        elif isinstance(held, list | tuple) and key.isdecimal() and int(key) < len(held):
            held = held[int(key)]
        else:
            return None
    return held


def put(held: Any, keys: Sequence[str], value: Any) -> Any:
    """What was held, with `value` where the keys lead; lists and dicts on the way are made where none are.

    Raises `LookupError` where a list would have a gap, and where something else is in the way.
    """
    if not keys:
        return value
    first, rest = keys[0], keys[1:]
    if isinstance(held, dict):
        key: Any = int(first) if first.isdecimal() and first not in held and int(first) in held else first
        return {**held, key: put(held.get(key), rest, value)}
    if held is None and not first.isdecimal():
        return {first: put(None, rest, value)}
    if not (held is None or isinstance(held, list | tuple)):
        raise LookupError(f"nothing can be put at {first}: the argument is neither a list nor a dict")
    many = list(held or ())
    if not first.isdecimal() or int(first) > len(many):
        raise LookupError(f"nothing can be put at {first}: lists count from 0 without gaps")
    place = int(first)
    many[place:place + 1] = [put(many[place] if place < len(many) else None, rest, value)]
    if isinstance(held, tuple):
        return type(held)(*many) if hasattr(held, "_fields") else tuple(many)
    return many
