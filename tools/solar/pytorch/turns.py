"""Loops whose body is in the graph once: slices, stacks and the number of turns.

The body runs once on meta tensors while the recorder counts its nodes `turns` times. `Slice` is what one turn sees of a
stacked tensor, `Stack` what it writes of the stacked result; the gradient of one is the other. Gradient functions made
inside a loop run as often as their forward did (`training.run_training`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from enlist.tools.solar.pytorch.recorder import Given, Recorder
from enlist.tools.solar.rules.steps import APART, ORDER, TURNS


@contextmanager
def repeated(recorder: Recorder, turns: int) -> Iterator[None]:
    """What runs inside runs `turns` times as often as what runs around it."""
    before, outer = recorder.repeat, recorder.loop
    recorder.repeat = before * max(1, turns)
    if outer is None:
        recorder.loop, recorder.loops = recorder.loops, recorder.loops + 1
    try:
        yield
    finally:
        recorder.repeat, recorder.loop = before, outer


class Turns:
    """Slices and stacks of one recorder."""

    def __init__(self, recorder: Recorder) -> None:
        import torch

        self._recorder = recorder
        self._before = 1

        def cut(stacked: Any) -> Any:
            with _unwatched(), torch.no_grad():
                part = stacked.detach().select(0, 0)
            recorder.emit("loop_slice", Given([stacked], ["self"], [recorder.id_of(stacked)], {}), [part])
            return part

        def joined(part: Any, turns: int, order: str = "any", first: Any = None) -> Any:
            with _unwatched(), torch.no_grad():
                stacked = torch.empty((turns, *part.shape), dtype=part.dtype, device="meta")
            if first is not None:  # made before the loop
                inside = recorder.repeat, recorder.loop
                recorder.repeat, recorder.loop = self._before, None
                recorder.stack(first, stacked)
                recorder.repeat, recorder.loop = inside
            recorder.stack(part, stacked, {TURNS: turns, ORDER: order, APART: int(first is not None)})
            return stacked

        class Carry(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, state: Any, anchor: Any) -> Any:
                with _unwatched(), torch.no_grad():
                    made = torch.empty_like(state, device="meta")
                recorder.carry(state, made)
                return made

            @staticmethod
            def backward(ctx: Any, gradient: Any) -> Any:
                recorder.carried.append(recorder.id_of(gradient))
                return gradient if ctx.needs_input_grad[0] else None, None

        class Slice(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, stacked: Any) -> Any:
                ctx.turns = stacked.shape[0]
                return cut(stacked)

            @staticmethod
            def backward(ctx: Any, gradient: Any) -> Any:
                return joined(gradient, ctx.turns)

        class Stack(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, part: Any, turns: int, order: str, first: Any) -> Any:
                ctx.place = None if first is None else -1 if order == "reverse" else 0
                return joined(part, turns, order, first)

            @staticmethod
            def backward(ctx: Any, gradient: Any) -> Any:
                alone = None if ctx.place is None else gradient.select(0, ctx.place)
                return cut(gradient), None, None, alone

        self.slice, self._stack, self._carry = Slice.apply, Stack.apply, Carry.apply

    def carry(self, state: Any, anchor: Any = None) -> Any:
        """What a turn is handed by the one before; nothing is known of it, whatever the first one begins with. Its
        gradient is made if that of `anchor`, something that the body uses, is."""
        import torch

        return self._carry(state, anchor) if isinstance(state, torch.Tensor) else state

    def handed(self, states: Any) -> None:
        """What a turn hands to the next one is needed, whether or not anything after the loop uses it."""
        import torch

        self._recorder.carried += [self._recorder.id_of(s) for s in states if isinstance(s, torch.Tensor)]

    def stack(self, part: Any, turns: int, order: str = "forward", first: Any = None, before: int = 1) -> Any:
        """All turns' values of `part` in a new first dimension, made in this order: "forward", "reverse", or "any"
        where turns do not know each other; `first` is the one that was made before the loop, where operators ran
        `before` times."""
        self._before = before
        return self._stack(part, turns, order, first)


def _unwatched() -> Any:
    from torch.utils._python_dispatch import _disable_current_modes

    return _disable_current_modes()
