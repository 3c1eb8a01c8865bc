"""Capture by tracing a call: the backward pass, whole training steps, and models that torch.export cannot follow.

`make_fx` runs the model on meta tensors and records the operators that eager PyTorch dispatches, forward and, through
`torch.autograd.grad`, backward. Attention is kept whole by an operator of our own, since its kernels differ by device.
An optimizer's step is one operator per parameter. Everything up to the loss is the phase forward.
"""

import re
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.graph import Graph, Node, Tensor
from enlist.tools.solar.pytorch.load import Loaded, user_code

if TYPE_CHECKING:
    from enlist.tools.solar.pytorch.capture import Reader

Training = Literal["backward", "step"]
_OPTIMIZERS = {"SGD": ("sgd_step", 0), "AdamW": ("adamw_step", 2), "Adam": ("adam_step", 2)}
"""By class: the operator of its step, and its states per parameter."""


def traced(loaded: Loaded, name: str, reader: "Reader") -> Graph:
    """The forward pass by the operators that one call dispatches, for models that torch.export cannot follow."""
    module, _, trace = _trace(loaded, name, None)
    reader.mode = "mode: one forward pass in eval mode, without gradients; traced by a call, not exported"
    _read(reader, trace, module, lambda index: "forward")
    return reader.finish(f"{name}:{loaded.name}")


def trained(loaded: Loaded, name: str, training: Training, reader: "Reader") -> Graph:
    """Forward and backward pass of all parameters, and with "step" the optimizer's.

    Raises `bad_input` where nothing has a gradient, `unsupported` for an optimizer that is not known, `tool_failed`
    where the user's code raises.
    """
    if not any(p.requires_grad for p in loaded.module.parameters()):
        raise EnlistError("bad_input", f"{name} has no parameter with a gradient, so there is nothing to train",
                          given=f"{sum(1 for _ in loaded.module.parameters())} parameters",
                          allowed="a module with parameters that require gradients", fix="leave --training away")
    module, boundary, trace = _trace(loaded, name, training)
    _read(reader, trace, module, lambda index: "forward" if index <= boundary else "backward")
    reader.mode = "mode: one training step (forward, backward" + (
        ", optimizer)" if training == "step" else ")") + ", in train mode"
    if training == "step":
        _optimizer(loaded, reader, trace)
    return reader.finish(f"{name}:{loaded.name}")


def _trace(loaded: Loaded, name: str, training: Training | None) -> tuple[dict[str, Any], int, Any]:
    """Parameters and buffers by name, the index of the node that makes the loss, and the traced module."""
    import torch
    from torch.fx.experimental.proxy_tensor import make_fx

    state = {**dict(loaded.module.named_parameters(remove_duplicate=True)),
             **dict(loaded.module.named_buffers(remove_duplicate=True))}
    leaves, tree = torch.utils._pytree.tree_flatten((loaded.args, loaded.kwargs))
    places = [i for i, leaf in enumerate(leaves) if isinstance(leaf, torch.Tensor)]

    def run(state: dict[str, Any], tensors: list[Any]) -> Any:
        filled = list(leaves)
        for place, tensor in zip(places, tensors, strict=True):
            filled[place] = tensor
        args, kwargs = torch.utils._pytree.tree_unflatten(filled, tree)
        out = torch.func.functional_call(loaded.module, state, args, kwargs, tie_weights=True)
        outputs = [t for t in torch.utils._pytree.tree_leaves(out) if isinstance(t, torch.Tensor)]
        if training is None:
            return outputs
        floating = [t for t in outputs if t.is_floating_point() and t.requires_grad]
        if not floating:
            raise EnlistError("bad_input", f"{name}: no output depends on a parameter by gradients",
                              allowed="a model whose output is differentiable", fix="leave --training away")
        loss = floating[0] if len(floating) == 1 and floating[0].dim() == 0 else sum(t.sum() for t in floating)
        wanted = [n for n, p in state.items() if p.requires_grad]
        gradients = torch.autograd.grad(loss, [state[n] for n in wanted], allow_unused=True)
        return [loss, *[g for g in gradients if g is not None]]

    given = {n: t.detach().requires_grad_(training is not None and t.requires_grad) for n, t in state.items()}
    for key, tensor in given.items():
        loaded.seen.carry(state[key], tensor)
    mode = torch.enable_grad() if training else torch.no_grad()
    with user_code(name, "in forward or backward"), torch.device("meta"), mode, _whole_attention():
        trace = make_fx(run, tracing_mode="real", _allow_non_fake_inputs=True)(given, [leaves[i] for i in places])
    order = list(trace.graph.nodes)
    out = torch.utils._pytree.tree_leaves(order[-1].args)
    boundary = order.index(out[0]) if training and out else len(order)
    return {"state": given, "tensors": [leaves[i] for i in places], "outputs": out}, boundary, trace


def _read(reader: "Reader", trace: Any, given: dict[str, Any], phase: Any) -> None:
    """Tensors and nodes of a trace, in order."""
    buffers = {n for n, _ in reader.loaded.module.named_buffers()}
    flat = [*given["state"].items(), *[(f"input{i}", t) for i, t in enumerate(given["tensors"])]]
    placeholders = [n for n in trace.graph.nodes if n.op == "placeholder"]
    for node, (name, real) in zip(placeholders, flat, strict=True):
        role = "input" if name.startswith("input") and name not in given["state"] else (
            "buffer" if name in buffers else "parameter")
        reader.add(node.name, node.meta["val"], role, name, like=real)
    for index, node in enumerate(trace.graph.nodes):
        if node.op == "get_attr":
            real = getattr(trace, node.target)
            reader.add(node.name, real, "constant", node.target, like=real)
        elif node.op == "call_function" and getattr(node.target, "__name__", "") != "getitem":
            reader.call(node, phase(index))
    for out in given["outputs"]:
        reader.give(out.name)


def _optimizer(loaded: Loaded, reader: "Reader", trace: Any) -> None:
    """One operator per parameter that has a gradient, with the states that the optimizer keeps for it."""
    kind, op, states = _chosen(loaded)
    gradients = iter(reader.given[1:])  # the first output is the loss
    parameters = [t for t in reader.tensors.values() if t.role == "parameter"]
    for parameter in parameters:
        gradient = next((g for g in gradients if reader.tensors[g].shape == parameter.shape), None)
        if gradient is None:
            continue
        kept = []
        for number in range(states):
            state = Tensor(id=f"{parameter.id}_state{number}", shape=parameter.shape, strides=parameter.strides,
                           dtype=parameter.dtype, role="buffer", name=f"optimizer.{parameter.name}.{number}")
            reader.tensors[state.id] = state
            kept.append(state.id)
        outputs = []
        for source in (parameter.id, *kept):
            made = reader.tensors[source].model_copy(update={
                "id": f"{source}_new", "role": "output", "is_output": True, "name": "", "structure": "dense"})
            reader.tensors[made.id] = made
            outputs.append(made.id)
        reader.nodes.append(Node(
            id=f"{parameter.id}_step", op=op, where=parameter.name.rpartition(".")[0], phase="optimizer",
            inputs=(parameter.id, gradient, *kept), slots=("param", "grad", *("state",) * len(kept)),
            outputs=tuple(outputs)))
    reader.mode += f"; optimizer {kind}"


def _chosen(loaded: Loaded) -> tuple[str, str, int]:
    import sys

    maker = getattr(sys.modules.get("enlist_user_model"), "get_optimizer", None)
    if maker is None:
        return "AdamW (the file has no get_optimizer)", *_OPTIMIZERS["AdamW"]
    with user_code(loaded.name, "in get_optimizer"):
        made = maker(list(loaded.module.parameters()))
    kind = type(made).__name__
    if kind not in _OPTIMIZERS:
        raise EnlistError("unsupported", f"the step of the optimizer {kind} is not known", given=kind,
                          allowed=", ".join(_OPTIMIZERS), fix="use --training backward, or one of these optimizers")
    op, states = _OPTIMIZERS[kind]
    return kind, op, states + (1 if kind == "SGD" and any(g.get("momentum") for g in made.param_groups) else 0)


@cache
def _attention_operators() -> Any:
    """Attention as an operator of its own, with its backward pass; only shapes matter."""
    import torch

    @torch.library.custom_op("enlist::scaled_dot_product_attention", mutates_args=())
    def attention(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, attn_mask: torch.Tensor | None,
                  is_causal: bool) -> torch.Tensor:
        return query.new_empty((*query.shape[:-1], value.shape[-1]))

    @torch.library.custom_op("enlist::scaled_dot_product_attention_backward", mutates_args=())
    def backward(grad: torch.Tensor, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor,
                 attn_mask: torch.Tensor | None, is_causal: bool) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        return query.new_empty(query.shape), key.new_empty(key.shape), value.new_empty(value.shape)

    attention.register_fake(lambda query, key, value, attn_mask, is_causal: query.new_empty(
        (*query.shape[:-1], value.shape[-1])))
    backward.register_fake(lambda grad, query, key, value, attn_mask, is_causal: (
        query.new_empty(query.shape), key.new_empty(key.shape), value.new_empty(value.shape)))

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs[:3])
        ctx.attn_mask, ctx.is_causal = inputs[3], inputs[4]

    def differentiate(ctx: Any, grad: Any) -> Any:
        return *backward(grad, *ctx.saved_tensors, ctx.attn_mask, ctx.is_causal), None, None

    attention.register_autograd(differentiate, setup_context=setup)
    return attention


def _whole_attention() -> Any:
    """A mode under which scaled_dot_product_attention is one operator."""
    import torch
    from torch.overrides import TorchFunctionMode

    whole = torch.nn.functional.scaled_dot_product_attention
    ours = _attention_operators()

    class Whole(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is not whole:
                return func(*args, **(kwargs or {}))
            given = dict(zip(("query", "key", "value", "attn_mask", "dropout_p", "is_causal"), args, strict=False))
            given |= kwargs or {}
            return ours(given["query"], given["key"], given["value"], given.get("attn_mask"),
                        bool(given.get("is_causal", False)))

    return Whole()


def plain(op: str) -> str:
    """The name of an operator without our namespace and without the mark of writing in place."""
    op = op.removeprefix("enlist::")
    return op[:-1] if re.fullmatch(r"[a-z]\w*[a-z0-9]_", op) else op


