"""Capture a PyTorch model as a `Graph`: one call on meta tensors, every operator that eager PyTorch would run.

Runs in the child that may run the user's code. The call takes no tensor memory and needs no exporter, so a model that
sets attributes, writes in place or is wrapped in `torch.compile` is followed as it is. Operators that are priced as
one (attention, convolution, softmax, ...) stay whole, other composite ones are taken apart exactly as eager PyTorch
does it. Where the values of tensors decide what runs, there is no single graph: that is refused with the user's line.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.graph import Graph
from enlist.tools.solar.pytorch.assumed import sentences
from enlist.tools.solar.pytorch.eager import refuse_autocast, refuse_mixed_dtypes
from enlist.tools.solar.pytorch.finish import finished, leaves_by_name
from enlist.tools.solar.pytorch.higher_order import loops_once
from enlist.tools.solar.pytorch.load import Loaded, choosing, load_model, user_code, user_line
from enlist.tools.solar.pytorch.recorder import Recorder
from enlist.tools.solar.pytorch.shapes import by_values, no_kernel
from enlist.tools.solar.pytorch.training import Training, run_training
from enlist.tools.solar.pytorch.watch import places, recording, redirected

_NEEDS_DATA = ("DataDependentOutputException", "DynamicOutputShapeException", "GuardOnDataDependentSymNode")
_NEEDS_DATA_TEXT = ("meta tensor", "meta device type tensor", "data-dependent", "data-independent", "no data!")


def capture(path: Path, target: str | None = None, name: str | None = None, *, inputs: str | None = None,
            training: Training | None = None, dynamic: str | None = None, structure: bool = True) -> Graph:
    """The graph of a model file's forward pass in eval mode without gradients, or of training.

    Args:
        path, target, name: as `load_model` has them.
        inputs: other inputs than those of get_inputs, or other sizes of them (`inputs.given`).
        training: "backward" adds the gradients of all parameters, "step" the optimizer too; in train mode.
        dynamic: dimensions that are symbols, as in "batch,length": each is captured at a second size (`sweep`).
        structure: whether what is known of example inputs and constants (triangles, zeros) is kept.

    Raises `bad_input` and `tool_failed` as `load_model` does, and `unsupported` where the control flow or a shape
    depends on data, so that there is no single graph; `tool_failed` also for mixed dtypes (`refuse_mixed_dtypes`),
    `unsupported` also for autocast (`refuse_autocast`) and for a symbol that cannot vary.
    """
    name = name or path.name
    import torch

    with refuse_autocast(), _defaults(), torch.compiler.set_stance("force_eager"):
        loaded = load_model(path, target, name, inputs, training is not None)
        graph = _recorded(loaded, name, training, structure)
    refuse_mixed_dtypes(graph)
    if dynamic:
        from enlist.tools.solar.pytorch.sweep import varied  # which captures

        said = varied(path, target, dynamic, name=name, inputs=inputs, training=training, structure=structure)
        graph = graph.model_copy(update={"assumed": (*graph.assumed, *said)})
    return graph


@contextmanager
def _defaults() -> Iterator[None]:
    """What a file sets for all of PyTorch ends with its capture."""
    import torch

    dtype, grad = torch.get_default_dtype(), torch.is_grad_enabled()
    try:
        yield
    finally:
        torch.set_default_device(None)
        torch.set_default_dtype(dtype)
        torch.set_grad_enabled(grad)


def _recorded(loaded: Loaded, name: str, training: Training | None, structure: bool) -> Graph:
    """The graph of one call. A model that differentiates inside its forward pass runs with gradients on."""
    try:
        return _once(loaded, name, training, structure, inference=training is None)
    except RuntimeError as error:
        if training is not None or not _wants_gradients(error):
            raise
        return _once(loaded, name, training, structure, inference=False)


def _once(loaded: Loaded, name: str, training: Training | None, structure: bool, inference: bool) -> Graph:
    import torch

    with places(loaded.module) as where:
        recorder = Recorder(where)
        leaves_by_name(loaded, recorder, structure)
        with ExitStack() as modes:
            modes.enter_context(_told(loaded, name, "in forward or backward" if training else "in forward"))
            modes.enter_context(torch.inference_mode() if inference else torch.enable_grad())
            modes.enter_context(redirected("meta", recorder.values))
            if training is None:
                modes.enter_context(recording(recorder))
                modes.enter_context(loops_once(recorder))
                outputs: Any = loaded.module(*loaded.args, **loaded.kwargs)
                mode = "one forward pass in eval mode, without gradients"
            else:
                outputs, mode = run_training(loaded, name, training, recorder)
    return finished(recorder, outputs, f"{name}:{loaded.name}", sentences(recorder, loaded, mode))


@contextmanager
def _told(loaded: Loaded, name: str, when: str) -> Iterator[None]:
    """Tell a graph break from an error of the user's."""
    try:
        with user_code(name, when):
            yield
    except EnlistError as error:
        cause = error.__cause__
        if error.code != "tool_failed" or cause is None:
            raise
        if _wants_gradients(cause):
            raise cause from None  # tried again with gradients
        missing = no_kernel(cause)
        if missing and not by_values(missing):
            raise EnlistError(
                "unsupported", f"{name} calls {missing}, which says nothing of the shapes that it makes",
                given=user_line(name, cause), allowed="operators that run on meta tensors",
                fix="register a fake kernel for it (torch.library.register_fake), or write the part in plain PyTorch",
                details=error.details) from cause
        reason = f"values of a tensor decide how much {missing} makes" if missing else _data_dependence(cause)
        if reason is None:
            raise
        raise EnlistError("unsupported", f"{name} has no single graph: {reason}", given=user_line(name, cause),
                          allowed="control flow and shapes that follow from input shapes and constants",
                          fix="write the branch with torch.where or torch.cond, a selection by a mask with a fixed "
                              "size, a number that is read with .item() as an argument; or take a part without "
                              f"branches on data that get_inputs() fits: {choosing(loaded.classes)}",
                          details=error.details) from cause


def _wants_gradients(error: BaseException) -> bool:
    """Whether a forward pass differentiates, which inference mode forbids."""
    return isinstance(error, RuntimeError) and ("nference tensor" in str(error) or "not require grad" in str(error))


def _data_dependence(error: BaseException) -> str | None:
    """The reason, if `error` or what it came from says that values of tensors were needed."""
    seen: BaseException | None = error
    while seen is not None:
        text = str(seen).strip()
        if type(seen).__name__ in _NEEDS_DATA or any(words in text for words in _NEEDS_DATA_TEXT):
            return f"values of a tensor decide ({type(seen).__name__}: {text.splitlines()[0][:160] if text else ''})"
        seen = seen.__cause__ or seen.__context__
    return None

