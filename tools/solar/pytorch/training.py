"""The backward pass and whole training steps, recorded as they run on meta tensors.

The forward pass runs in train mode with gradients on, `torch.autograd.grad` of the loss is the phase backward. The loss
is what the model returns if that is one number, else the sum of its floating outputs. Gradients are taken of all
parameters that want one; of a model without any, of its floating inputs. Nodes of the backward pass name the module
whose forward they belong to. An optimizer's step is one operator per parameter where its rule is known (SGD, Adam,
AdamW), else what its `step()` runs.
"""

import sys
from collections.abc import Callable
from typing import Any, Literal

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.graph import Tensor
from enlist.tools.solar.pytorch.attention import whole_attention
from enlist.tools.solar.pytorch.finish import arguments, tensors_in
from enlist.tools.solar.pytorch.higher_order import loops_once
from enlist.tools.solar.pytorch.load import Loaded, user_code
from enlist.tools.solar.pytorch.recorder import Recorder
from enlist.tools.solar.pytorch.watch import recording

Training = Literal["backward", "step", "step:adamw", "step:adam", "step:sgd"]
_STEPS = {"SGD": "sgd_step", "Adam": "adam_step", "AdamW": "adamw_step"}
"""By class: the operator of its step on one parameter."""
_STATES = {"SGD": (), "Adam": ("exp_avg", "exp_avg_sq"), "AdamW": ("exp_avg", "exp_avg_sq")}


def run_training(loaded: Loaded, name: str, training: str, recorder: Recorder) -> tuple[list[Any], str]:
    """Run forward and backward pass, and with "step" the optimizer. Returns the outputs and words for the mode.

    Raises `bad_input` where nothing has a gradient or the way of training is not known; what the user's code raises.
    """
    import torch

    kind, _, optimizer = training.partition(":")
    if kind not in ("backward", "step") or optimizer not in ("", "adamw", "adam", "sgd"):
        raise EnlistError("bad_input", f"no way of training: {training}", given=training,
                          allowed="backward, step, step:adamw, step:adam, step:sgd", fix="give one of these")
    trained = {n: p for n, p in loaded.module.named_parameters() if p.requires_grad}
    if not trained:
        trained = {n: t.requires_grad_() for n, t in arguments(loaded) if t.is_floating_point() or t.is_complex()}
    recorder.where = _places(recorder, recorder.where)
    with recording(recorder):
        with whole_attention(recorder), loops_once(recorder):
            outputs = loaded.module(*loaded.args, **loaded.kwargs)
        loss, words = _loss(tensors_in(outputs), name)
        recorder.phase = "backward"
        gradients = torch.autograd.grad(loss, list(trained.values()), allow_unused=True)
    made = {n: g for n, g in zip(trained, gradients, strict=True) if g is not None}
    if kind == "backward":
        return [loss, *made.values()], f"forward and backward pass in train mode, {words}"
    recorder.phase = "optimizer"
    chosen = _step(loaded, name, optimizer, recorder, made)
    return [loss], f"one training step (forward, backward, optimizer) in train mode, {words}, optimizer {chosen}"


def _loss(outputs: list[Any], name: str) -> tuple[Any, str]:
    floating = [t for t in outputs if t.requires_grad]
    if not floating:
        raise EnlistError("bad_input", f"{name}: no output depends on a parameter or a floating input by gradients",
                          given=f"{len(outputs)} outputs without gradients", allowed="a model that is differentiable",
                          fix="leave --training away, or take out no_grad, detach and argmax on the way to the output")
    if floating[0].dim() == 0:
        return floating[0], "loss as the model returns it"
    return sum((t.sum() for t in floating[1:]), floating[0].sum()), "loss taken as the sum of the outputs"


def _places(recorder: Recorder, forward: Callable[[], str]) -> Callable[[], str]:
    """The module that runs, and in the backward pass the one whose forward pass made the gradient function, which runs
    as often as that did."""
    import torch

    by_sequence: dict[int, tuple[str, int]] = {}

    def where() -> str:
        if recorder.phase == "forward":
            place = forward()
            by_sequence[torch._C._autograd._get_sequence_nr() - 1] = (place, recorder.repeat)
            return place
        node = torch._C._current_autograd_node()
        place, recorder.repeat = by_sequence.get(node._sequence_nr(), ("", 1)) if node is not None else ("", 1)
        return place

    return where


def _step(loaded: Loaded, name: str, wanted: str, recorder: Recorder, gradients: dict[str, Any]) -> str:
    """Record the optimizer's step. Returns its name."""
    parameters = dict(loaded.module.named_parameters())
    if not set(gradients) <= set(parameters):
        raise EnlistError("bad_input", f"{name} has no parameter with a gradient, so there is nothing to step",
                          given=f"{len(parameters)} parameters", allowed="a module with parameters",
                          fix="use --training backward")
    maker = getattr(sys.modules.get("enlist_user_model"), "get_optimizer", None)
    if wanted or maker is None:
        kind = {"": "AdamW", "adamw": "AdamW", "adam": "Adam", "sgd": "SGD"}[wanted]
        states, told = _STATES[kind], kind + ("" if wanted else " (the file has no get_optimizer)")
    else:
        with user_code(name, "in get_optimizer"):
            made = maker(list(loaded.module.parameters()))
        kind = told = type(made).__name__
        if kind not in _STEPS or not type(made).__module__.startswith("torch.optim"):
            return _real_step(made, name, recorder, parameters, gradients)
        options = made.param_groups[0]
        states = _STATES[kind] + (("momentum_buffer",) if options.get("momentum") else ()) + (
            ("max_exp_avg_sq",) if options.get("amsgrad") else ())
    for parameter, gradient in gradients.items():
        _update(recorder, _STEPS[kind], parameter, parameters[parameter], gradient, states)
    return told


def _update(recorder: Recorder, op: str, name: str, parameter: Any, gradient: Any, states: tuple[str, ...]) -> None:
    """One parameter with its states, written anew."""
    held = [recorder.id_of(parameter)]
    first = recorder.tensors[held[0]]
    for state in states:
        made = Tensor(id=f"{first.id}.{state}", shape=first.shape, strides=first.strides, dtype=first.dtype,
                      role="buffer", name=f"optimizer.{state}.{name}")
        recorder.tensors[made.id] = made
        held.append(made.id)
    new = []
    for tensor in held:
        made = recorder.tensors[tensor].model_copy(update={
            "id": f"{tensor}.new", "role": "output", "is_output": True, "name": "", "alias_of": None})
        recorder.tensors[made.id] = made
        recorder.kept.append(made.id)
        new.append(made.id)
    recorder.node(f"{first.id}.step", op, [held[0], recorder.id_of(gradient), *held[1:]],
                  ["param", "grad", *["state"] * len(states)], new, where=name.rpartition(".")[0])


def _real_step(optimizer: Any, name: str, recorder: Recorder, parameters: dict[str, Any],
               gradients: dict[str, Any]) -> str:
    """Run an optimizer's own step, the second one: the first one makes its states."""
    import torch

    for parameter, gradient in gradients.items():
        parameters[parameter].grad = gradient.detach()
    with user_code(name, "in the optimizer's step"), torch.no_grad():
        optimizer.step()
        names = {id(p): n for n, p in parameters.items()}
        for parameter, states in optimizer.state.items():
            for state, value in states.items():
                if isinstance(value, torch.Tensor) and value.numel() > 1:
                    recorder.outside(value, "buffer", f"optimizer.{state}.{names.get(id(parameter), '')}")
        with recording(recorder):
            optimizer.step()
    return type(optimizer).__name__
