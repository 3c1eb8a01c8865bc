"""The two ends of a recording: what is there before the call, and the graph of what the outputs need.

What nobody uses is no work of the model, since any implementation may leave it out: nodes whose outputs nothing reads,
and outputs that nothing reads of a node with several. What was there before the call and has been written is an output.
"""

import dataclasses
import inspect
from collections.abc import Iterator
from typing import Any

from enlist.tools.solar.graph import Graph, Node
from enlist.tools.solar.pytorch.examples import ASSUMED
from enlist.tools.solar.pytorch.load import Loaded
from enlist.tools.solar.pytorch.recorder import Recorder


def leaves_by_name(loaded: Loaded, recorder: Recorder, structure: bool) -> None:
    """Name parameters, buffers, other tensors that modules hold, and inputs."""
    import torch

    def told(tensor: Any, role: str) -> tuple[str, str]:
        tag = loaded.seen.of(tensor, role) if structure else "dense"
        return (tag, ASSUMED) if tag != "dense" else ("dense", "")

    for name, parameter in loaded.module.named_parameters():
        recorder.outside(parameter, "parameter", name)
    for name, buffer in loaded.module.named_buffers():
        recorder.outside(buffer, "buffer", name, *told(buffer, "buffer"))
    for path, module in loaded.module.named_modules():
        for attribute, value in vars(module).items():
            if isinstance(value, torch.Tensor):
                recorder.outside(value, "constant", f"{path}.{attribute}".lstrip("."), *told(value, "buffer"))
    for name, tensor in arguments(loaded):
        recorder.outside(tensor, "input", name, *told(tensor, "input"))


def arguments(loaded: Loaded) -> Iterator[tuple[str, Any]]:
    """Tensors among a model's arguments, by the names that its forward gives them."""
    import torch

    try:
        bound = inspect.signature(loaded.module.forward).bind(*loaded.args, **loaded.kwargs).arguments
    except (TypeError, ValueError):  # the call will say what does not fit
        bound = {f"input{i}": value for i, value in enumerate(loaded.args)} | loaded.kwargs
    bound = {k: v for given, value in bound.items() for k, v in (
        value.items() if isinstance(value, dict) and given in ("kwargs", "keywords") else [(given, value)])}
    for name, value in bound.items():
        for path, leaf in torch.utils._pytree.tree_flatten_with_path(value)[0]:
            if isinstance(leaf, torch.Tensor):
                yield name + "".join(f"_{getattr(p, 'idx', getattr(p, 'key', p))}" for p in path), leaf


def finished(recorder: Recorder, outputs: Any, target: str, assumed: list[str]) -> Graph:
    """The graph of what `outputs` (any nest of tensors) and writes into the caller's tensors need."""
    made = dict.fromkeys(recorder.id_of(t) for t in tensors_in(outputs))
    made.update(dict.fromkeys(m.whole for m in recorder.memories.values() if m.outside and m.written))
    made.update(dict.fromkeys(recorder.kept))
    for tensor in made:
        known = recorder.tensors[tensor]
        role = "output" if known.role == "intermediate" else known.role
        recorder.tensors[tensor] = known.model_copy(update={"is_output": True, "role": role})
    nodes, used = _needed(recorder, {*made, *recorder.carried})
    kept = []
    for one in recorder.tensors.values():
        if one.id in used or one.role in ("parameter", "buffer", "input") or one.is_output:
            kept.append(one)
    return Graph(target=target, tensors=tuple(kept), nodes=nodes, assumed=tuple(assumed))


def _needed(recorder: Recorder, wanted: set[str]) -> tuple[tuple[Node, ...], set[str]]:
    """Nodes that make something wanted, and every tensor that they touch."""
    tensors = recorder.tensors
    waiting = list(wanted)
    for tensor in waiting:  # a view needs what it sees
        base = tensors[tensor].alias_of
        if base is not None and base not in wanted:
            wanted.add(base)
            waiting.append(base)
    kept: list[Node] = []
    for node in reversed(recorder.nodes):
        outputs = tuple(t for t in node.outputs if t in wanted)
        if not outputs:
            continue
        kept.append(node if outputs == node.outputs else node.model_copy(update={"outputs": outputs}))
        for tensor in (*node.inputs, *outputs):
            while tensor not in wanted or tensor in outputs:
                wanted.add(tensor)
                base = tensors[tensor].alias_of
                if base is None or base in wanted:
                    break
                tensor = base
    return tuple(reversed(kept)), wanted


def tensors_in(value: Any) -> list[Any]:
    """Tensors in any nest of lists, dicts, data classes and what PyTorch knows as a tree."""
    import torch

    found = []
    for leaf in torch.utils._pytree.tree_leaves(value):
        if isinstance(leaf, torch.Tensor):
            found.append(leaf)
        elif dataclasses.is_dataclass(leaf) and not isinstance(leaf, type):
            found += tensors_in([getattr(leaf, f.name, None) for f in dataclasses.fields(leaf)])
        elif isinstance(leaf, dict):
            found += tensors_in(list(leaf.values()))
    return found
