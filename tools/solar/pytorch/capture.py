"""Capture a PyTorch model as a `Graph`: export on meta tensors, keep the operators that a person would name.

Runs in the child that may run the user's code. `torch.export` traces the forward pass without data; composite
operators that are priced as one (`operators.WHOLE`) stay whole, other composite ones are taken apart exactly as eager
PyTorch does it. In-place writes come out as `*_scatter` operators that share their base's storage.
"""

import operator
from pathlib import Path
from typing import Any

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.dtypes import FLOATS
from enlist.tools.solar.graph import Graph, Node, Phase, Role, Tensor
from enlist.tools.solar.pytorch.eager import refuse_autocast, refuse_mixed_dtypes
from enlist.tools.solar.pytorch.examples import ASSUMED
from enlist.tools.solar.pytorch.load import Loaded, choosing, load_model, user_code, user_line
from enlist.tools.solar.pytorch.training import Training, plain, traced, trained
from enlist.tools.solar.rules.aten import IN_PLACE, WHOLE
from enlist.tools.solar.rules.structure import STRUCTURES

_ALIASES = {"_unsafe_view", "alias", "detach", "lift", "lift_fresh_copy", "lift_fresh"}
_ASSERTIONS = {"_assert_tensor_metadata", "_assert_async", "_assert_scalar", "sym_constrain_range_for_size"}


def capture(path: Path, target: str | None = None, name: str | None = None, *, inputs: str | None = None,
            training: Training | None = None, structure: bool = True) -> Graph:
    """The graph of a model file's forward pass in eval mode without gradients, or of training.

    Args:
        path, target, name: as `load_model` has them.
        inputs: other inputs than those of get_inputs.
        training: "backward" adds the gradients of all parameters, "step" the optimizer too; in train mode.
        structure: whether what is known of example inputs and constants (triangles, zeros) is kept.

    Raises `bad_input` and `tool_failed` as `load_model` does, and `unsupported` where the control flow or a shape
    depends on data, so that there is no single graph; `tool_failed` also for mixed dtypes (`refuse_mixed_dtypes`),
    `unsupported` also for autocast (`refuse_autocast`).
    """
    name = name or path.name
    with refuse_autocast():
        loaded = load_model(path, target, name, inputs, training is not None)
        if training is None:
            graph = _forward(loaded, name, structure)
        else:
            graph = trained(loaded, name, training, Reader(loaded, structure))
    refuse_mixed_dtypes(graph)
    return graph


def _forward(loaded: Loaded, name: str, structure: bool) -> Graph:
    """By torch.export; where only the export cannot follow, by the operators that one call dispatches."""
    try:
        return Reader(loaded, structure).graph(_export(loaded, name), name)
    except EnlistError as error:
        if error.code != "unsupported" or "no single graph: torch.export" not in error.message:
            raise
        return traced(loaded, name, Reader(loaded, structure))


def _export(loaded: Loaded, name: str) -> Any:
    import torch

    try:
        with torch.device("meta"), torch.no_grad():
            program = torch.export.export(loaded.module, loaded.args, loaded.kwargs, strict=False)
            _drop_dropout(program)
            return program.run_decompositions(_decompositions())
    except EnlistError:
        raise
    except Exception as error:
        reason = _data_dependence(error) or _export_only(loaded, error)
        if reason is None:
            with user_code(name, "in forward"):
                raise
        raise EnlistError("unsupported", f"{name} has no single graph: {reason}", given=user_line(name, error),
                          allowed="control flow and shapes that follow from input shapes and constants; no attributes "
                                  "set in forward",
                          fix="write the branch with torch.where or torch.cond, or take a part without branches on "
                              f"data that get_inputs() fits: {choosing(loaded.classes)}",
                          details=str(error)[-4000:]) from error


def _data_dependence(error: BaseException) -> str | None:
    """The graph-break reason, if `error` or what it came from says that values of tensors were needed."""
    seen: BaseException | None = error
    while seen is not None:
        kinds = {k.__name__ for k in type(seen).__mro__}
        text = str(seen).strip()
        if kinds & {"GuardOnDataDependentSymNode", "DataDependentOutputException", "DynamicOutputShapeException",
                    "UnsupportedOperatorException", "Unsupported", "UserError"} or "meta tensor" in text:
            first = text.splitlines()[0][:300] if text else ""
            return f"{type(seen).__name__}: {first}"
        seen = seen.__cause__ or seen.__context__
    return None


def _export_only(loaded: Loaded, error: BaseException) -> str | None:
    """The first line of `error`, if the model itself runs and only torch.export cannot follow it."""
    import torch

    try:
        with torch.device("meta"), torch.no_grad():
            loaded.module(*loaded.args, **loaded.kwargs)
    except Exception:
        return None
    return f"torch.export: {(str(error).strip().splitlines() or [type(error).__name__])[0][:300]}"


def _decompositions() -> dict[Any, Any]:
    """Eager's own decompositions of composite operators, without the ones that are priced whole."""
    import torch

    composite = torch._C._dispatch_has_kernel_for_dispatch_key
    return {op: rule for op, rule in torch.export.default_decompositions().items()
             if isinstance(op, torch._ops.OpOverload) and composite(op.name(), "CompositeImplicitAutograd")
             and op._schema.name.removeprefix("aten::") not in WHOLE}


def _drop_dropout(program: Any) -> None:
    """Make dropout in eval mode a view: eager returns its input, the decomposition would copy it."""
    import torch

    aten = torch.ops.aten
    for node in program.graph.nodes:
        if node.target in (aten.dropout.default, aten.feature_dropout.default, aten.alpha_dropout.default) and (
                not node.args[2]):
            node.target, node.args = aten.view.default, (node.args[0], list(node.meta["val"].shape))


class Reader:
    """Turns one exported program into tensors and nodes."""

    def __init__(self, loaded: Loaded, structure: bool = True) -> None:
        self.loaded, self.structure = loaded, structure
        self.mode = "mode: one forward pass in eval mode, without gradients"
        self.tensors: dict[str, Tensor] = {}
        self.nodes: list[Node] = []
        self.storages: dict[int, str] = {}  # a parameter's storage to the tensor that was first to have it
        self.given: list[str] = []  # outputs in order
        self.tied: dict[str, str] = {}  # a parameter that shares another one's storage to that one

    def graph(self, program: Any, name: str) -> Graph:
        for node in program.graph.nodes:
            if node.op == "placeholder":
                self._placeholder(node, program)
            elif node.op == "call_function" and node.target is not operator.getitem:
                self.call(node)
            elif node.op == "get_attr":
                real = getattr(program.graph_module, node.target)
                self.add(node.name, real, "constant", node.target, like=real)
        for spec in program.graph_signature.output_specs:
            self.give(getattr(spec.arg, "name", ""))
        return self.finish(f"{name}:{self.loaded.name}")

    def give(self, made: str) -> None:
        """Mark a tensor as an output."""
        known = self.tensors.get(self.tied.get(made, made))
        if known is not None:
            role = "output" if known.role == "intermediate" else known.role
            self.tensors[known.id] = known.model_copy(update={"is_output": True, "role": role})
            self.given.append(known.id)

    def finish(self, target: str) -> Graph:
        """The graph of all that was read."""
        return Graph(target=target, tensors=tuple(self.tensors.values()), nodes=tuple(self.nodes),
                     assumed=tuple(self._assumed()))

    def _placeholder(self, node: Any, program: Any) -> None:
        value = node.meta.get("val")
        if not hasattr(value, "stride"):
            return  # a number that the user passed; it is in the operators' attributes
        spec = next(s for s in program.graph_signature.input_specs if getattr(s.arg, "name", None) == node.name)
        real: Any = None
        role: Role = {"PARAMETER": "parameter", "BUFFER": "buffer", "USER_INPUT": "input"}.get(  # type: ignore
            spec.kind.name, "constant")
        if role in ("parameter", "buffer"):
            module, _, leaf = spec.target.rpartition(".")
            real = getattr(self.loaded.module.get_submodule(module), leaf)
            first = self.storages.setdefault(real.untyped_storage()._cdata, node.name)
            if first != node.name and self.tensors[first].shape == tuple(value.shape):
                self.tied[node.name] = first
                return
        if real is None and role == "input":
            real = self._argument(node.name)
        self.add(node.name, value, role, spec.target or node.name, like=real)

    def _argument(self, name: str) -> Any:
        """The example input that a placeholder stands for, if it is a tensor."""
        import inspect

        bound = inspect.signature(self.loaded.module.forward).bind_partial(*self.loaded.args, **self.loaded.kwargs)
        found = bound.arguments.get(name)
        return found if hasattr(found, "untyped_storage") else None

    def call(self, node: Any, phase: Phase = "forward") -> None:
        """One operator."""
        op = plain(_op_name(node.target))
        if op in _ASSERTIONS:
            return
        outputs = self._outputs(node)
        inputs, slots, attributes = self._arguments(node)
        base = self._base(node, op, inputs, slots)
        for tensor, value in outputs:
            self.add(tensor, value, "intermediate", "", base)
        stack = list((node.meta.get("nn_module_stack") or {}).values())
        self.nodes.append(Node(id=node.name, op=op, where=stack[-1][0] if stack else "", inputs=tuple(inputs),
                               slots=tuple(slots), outputs=tuple(t for t, _ in outputs), attributes=attributes,
                               phase=phase))

    def _base(self, node: Any, op: str, inputs: list[str], slots: list[str]) -> str | None:
        """The input whose storage the outputs share, if any."""
        if not inputs:
            return None
        if getattr(node.target, "is_view", False) or op in _ALIASES or op in IN_PLACE:
            return inputs[0]
        if op == "copy":  # the value that a scatter then writes; it is the scatter that moves it
            source = inputs[slots.index("src")]
            same = self.tensors[source].shape == tuple(node.meta["val"].shape)
            return source if same and self.tensors[source].dtype == _dtype(node.meta["val"]) else None
        return None

    def _outputs(self, node: Any) -> list[tuple[str, Any]]:
        """Ids and values of the tensors that the node makes and that somebody uses."""
        value = node.meta.get("val")
        if hasattr(value, "stride"):
            return [(node.name, value)]
        if not isinstance(value, list | tuple):
            return []
        picks = {u.args[1]: u.name for u in node.users if u.target is operator.getitem}
        return [(picks[i], v) for i, v in enumerate(value) if i in picks and hasattr(v, "stride")]

    def _arguments(self, node: Any) -> tuple[list[str], list[str], dict[str, Any]]:
        import torch

        schema = getattr(node.target, "_schema", None)
        names = [a.name for a in schema.arguments] if schema else [f"arg{i}" for i in range(len(node.args))]
        inputs: list[str] = []
        slots: list[str] = []
        attributes: dict[str, Any] = {}
        for slot, value in [*zip(names, node.args, strict=False), *node.kwargs.items()]:
            many = value if isinstance(value, list | tuple) else [value]
            nodes = [v for v in many if isinstance(v, torch.fx.Node)]
            known = [t for n in nodes if (t := self.tied.get(n.name, n.name)) in self.tensors]
            inputs += known
            slots += [slot] * len(known)
            if not nodes and slot not in ("device", "layout", "pin_memory"):
                attributes[slot] = [_plain(v) for v in value] if isinstance(value, list | tuple) else _plain(value)
        return inputs, slots, attributes

    def add(self, tensor: str, value: Any, role: Role, name: str, alias_of: str | None = None,
            like: Any = None) -> None:
        """A tensor with the shape of `value`, and the structure of `like` where that is known."""
        tag = self.loaded.seen.of(like) if self.structure and like is not None else "dense"
        shape, strides = tuple(value.shape), tuple(value.stride())
        if not all(isinstance(n, int) for n in (*shape, *strides)):
            raise EnlistError("unsupported", "a shape depends on the values of a tensor", given=f"{tensor} {shape}",
                              allowed="shapes that follow from input shapes and constants",
                              fix="avoid nonzero, unique and boolean indexing, or bound them to a fixed size")
        self.tensors[tensor] = Tensor(id=tensor, shape=shape, strides=strides, dtype=_dtype(value), role=role,
                                      name=name, alias_of=alias_of, structure=tag if tag in STRUCTURES else "dense",
                                      structure_from=ASSUMED if tag in STRUCTURES else "")

    def _assumed(self) -> list[str]:
        inputs = [t for t in self.tensors.values() if t.role == "input"]
        listed = ", ".join(f"{t.name} {t.dtype} {list(t.shape)}" for t in inputs)
        lines = [f"inputs: {listed}" if inputs else "inputs: none"]
        if inputs and inputs[0].shape:
            first = inputs[0]
            lines.append(f"first dimension of {first.name}: {first.shape[0]} (taken as batch)")
            if len(first.shape) == (2 if first.dtype in ("int64", "int32") else 3 if first.dtype in FLOATS else 0):
                lines.append(f"second dimension of {first.name}: {first.shape[1]} (taken as sequence length)")
        lines.append(f"dtype: {self._floats()}")
        lines.append(self.mode)
        lines.append(f"constructed on the {self.loaded.constructed_on} device" + (
            "" if self.loaded.constructed_on == "meta" else ", because it could not be made on the meta device"))
        return lines

    def _floats(self) -> str:
        """The floating dtypes of parameters and inputs, apart where they differ."""
        of = {role: " and ".join(sorted({t.dtype for t in self.tensors.values() if t.role == role
                                         and t.dtype in FLOATS})) for role in ("parameter", "input")}
        if of["parameter"] and of["input"] and of["parameter"] != of["input"]:
            return f"parameters {of['parameter']}, inputs {of['input']}"
        return of["parameter"] or of["input"] or "no floating tensors"


def _op_name(target: Any) -> str:
    """ "linear" for aten.linear.default; other namespaces keep theirs."""
    schema = getattr(target, "_schema", None)
    return schema.name.removeprefix("aten::") if schema else f"higher_order::{getattr(target, '__name__', target)}"


def _dtype(value: Any) -> str:
    return str(value.dtype).removeprefix("torch.")


def _plain(value: Any) -> Any:
    import torch

    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)  # JSON has neither
    return value if isinstance(value, bool | int | float | str | None) else str(value)
