"""Branches and loops that a model writes with `torch.cond`, `scan`, `map`, `while_loop`, and recurrent layers.

A branch whose condition is known without data is taken; else the lesser of both is priced (`branches`), since a lower
bound must hold for either. A loop's body is in the graph once with its number of turns; a `while_loop` whose turns
depend on data may not turn at all, so none is counted, which is said in the assumptions.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from enlist.tools.solar.pytorch.branches import cheaper
from enlist.tools.solar.pytorch.flex import flex_attention, flex_on_meta
from enlist.tools.solar.pytorch.recorder import Recorder
from enlist.tools.solar.pytorch.recurrent import KINDS, recurrent
from enlist.tools.solar.pytorch.turns import Turns, repeated
from enlist.tools.solar.pytorch.watch import recording
from enlist.tools.solar.rules.table import RULES

_MOST_TURNS = 100_000


@contextmanager
def loops_once(recorder: Recorder) -> Iterator[None]:
    """A mode under which loops and branches are recorded as said above."""
    import torch
    from torch.overrides import TorchFunctionMode

    turns = Turns(recorder)
    handlers: dict[str, Callable[..., Any]] = {
        "cond": _cond, "while_loop": _while, "scan": _scan, "map_impl": _map, "associative_scan": _associative}

    class Once(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            name = getattr(func, "__name__", "")
            if isinstance(func, torch._ops.HigherOrderOperator) and name in handlers:
                with self:
                    return handlers[name](recorder, turns, *args, **(kwargs or {}))
            if isinstance(func, torch._ops.HigherOrderOperator) and name == "flex_attention":
                return flex_attention(recorder, *args, **(kwargs or {}))
            if name in KINDS and len(args) == 9 and isinstance(args[3], bool) and name not in RULES:
                return recurrent(recorder, turns, name, *args)
            return func(*args, **(kwargs or {}))

    with flex_on_meta(), Once():
        yield


def _scan(recorder: Recorder, turns: Turns, body: Any, init: Any, xs: Any, additional_inputs: Any = ()) -> Any:
    steps = xs[0].shape[0]
    with repeated(recorder, steps):
        made = body(*(turns.carry(i) for i in init), *(turns.slice(x) for x in xs), *additional_inputs)
        turns.handed(made[:len(init)])
        carry, parts = made[:len(init)], made[len(init):]
        stacked = [turns.stack(p, steps) for p in parts]
    return (*carry, *stacked)


def _map(recorder: Recorder, turns: Turns, body: Any, xs: Any, rest: Any = ()) -> Any:
    steps = xs[0].shape[0]
    with repeated(recorder, steps):
        made = body(*(turns.slice(x) for x in xs), *rest)
        if hasattr(made, "untyped_storage"):
            return turns.stack(made, steps, "any")
        return tuple(turns.stack(p, steps, "any") for p in made)


def _associative(recorder: Recorder, turns: Turns, body: Any, xs: Any, additional_inputs: Any = ()) -> Any:
    """A scan needs one combination less than it has elements, in whatever order."""
    steps = xs[0].shape[0]
    with repeated(recorder, steps - 1):
        parts = [turns.slice(x) for x in xs]
        return tuple(turns.stack(p, steps) for p in body(*parts, *parts, *additional_inputs))


def _while(recorder: Recorder, turns: Turns, condition: Any, body: Any, carried: Any, additional: Any = ()) -> Any:
    steps = _count(recorder, condition, body, carried, additional)
    if steps is None:
        recorder.choices.append("while_loop: how often it turns depends on data; no turn is counted, the least")
    if not steps:
        return tuple(carried)
    with repeated(recorder, steps):
        carried = [turns.carry(c) for c in carried]
        condition(*carried, *additional)
        made = tuple(body(*carried, *additional))
        turns.handed(made)
    for value in made:
        if hasattr(value, "untyped_storage"):
            recorder.values.forget(value)
    return made


def _count(recorder: Recorder, condition: Any, body: Any, carried: Any, additional: Any) -> int | None:
    """Turns of a loop whose condition is known without data, by running it apart; None where it is not."""
    import torch

    apart = recorder.apart()
    with recording(apart, alone=True), torch.no_grad():
        for steps in range(_MOST_TURNS):
            going = condition(*carried, *additional)
            if isinstance(going, torch.Tensor):
                known = apart.values.of(going)
                if known is None:
                    return None
                going = bool(known)
            if not going:
                return steps
            carried = tuple(body(*carried, *additional))
    return None


def _cond(recorder: Recorder, turns: Turns, predicate: Any, true_fn: Any, false_fn: Any, operands: Any = ()) -> Any:
    import torch

    known = recorder.values.of(predicate) if isinstance(predicate, torch.Tensor) else torch.tensor(bool(predicate))
    if known is not None:
        return (true_fn if bool(known) else false_fn)(*operands)
    return cheaper(recorder, (true_fn, false_fn), operands)
