"""The modes under which user code runs: one redirects every device to meta, one records what is dispatched.

In inference mode composite operators arrive whole: those that are priced as one stay so, the others are taken apart as
eager PyTorch takes them apart. With gradients PyTorch takes all of them apart before they arrive. A file that says
`.cuda()` or `device="cuda"` runs as one that does not, since no device's memory is touched.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

from enlist.tools.solar.graph import Attribute
from enlist.tools.solar.pytorch.recorder import Given, Recorder, same
from enlist.tools.solar.pytorch.shapes import no_kernel, tried
from enlist.tools.solar.pytorch.values import MOST, Values
from enlist.tools.solar.rules.aten import WHOLE

_SILENT = frozenset(("_assert_tensor_metadata", "_assert_async", "_assert_scalar", "record_stream",
                     "sym_constrain_range_for_size", "sym_constrain_range", "detach_", "requires_grad_", "set_",
                     "lift_fresh", "lift", "_local_scalar_dense", "equal", "resize_"))
"""Operators that do nothing on a device that a graph should tell of."""
_INDEXES = frozenset(("index", "_unsafe_index", "index_put", "_index_put_impl_"))
_DROPS = frozenset(("dropout", "feature_dropout", "alpha_dropout", "feature_alpha_dropout"))
_WHOLE = WHOLE | {"batch_norm"} - {"dropout"}
_UNNAMED = frozenset(("device", "layout", "pin_memory", "non_blocking", "generator"))


@dataclass(frozen=True)
class About:
    """What is the same for every call of an operator: its name without namespace and mark of writing in place, the
    names of its arguments, which of them it writes, whether what it writes is read no more, whether it is taken apart,
    whether it draws random numbers, whether it makes tensors on a device of choice."""

    op: str
    silent: bool
    names: tuple[str, ...]
    written: frozenset[str]
    overwrites: bool
    apart: bool
    seeded: bool
    makes: bool


@lru_cache(maxsize=4096)
def about(func: Any) -> About:
    """By its schema; "linear" for aten.linear.default, other namespaces keep theirs."""
    import torch

    schema = func._schema
    names = tuple(a.name for a in schema.arguments)
    written = frozenset(a.name for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write)
    op = schema.name.removeprefix("aten::")
    plain = op[:-1] if written and op.endswith("_") and not op.endswith("__") else op
    composite = torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd")
    silent = op in _SILENT or torch.Tag.inplace_view in func.tags
    return About(plain, silent, names, written, bool(written) and plain == op and "out" in func._overloadname,
                 composite and op not in _WHOLE, torch.Tag.nondeterministic_seeded in func.tags, "device" in names)


@contextmanager
def recording(recorder: Recorder, alone: bool = False) -> Iterator[None]:
    """Record what runs inside; `alone` keeps it from a recording that is going on around it."""
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

    meta = torch.device("meta")
    mapped = torch.utils._pytree.tree_map_only

    class Dispatched(TorchDispatchMode):
        supports_higher_order_operators = True

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if not hasattr(func, "_schema"):
                raise NotImplementedError(f"the higher-order operator {func} has no shapes without data")
            known = about(func)
            if known.apart:
                if known.op in _DROPS and not args[2]:
                    return args[0]
                with self:  # by eager's own kernel; torch's decompositions in Python make copies where eager makes none
                    return func._op_dk(torch._C.DispatchKey.CompositeImplicitAutograd, *args, **kwargs)
            return _run(known, func, args, kwargs)

    def _run(known: About, func: Any, args: Any, kwargs: Any) -> Any:
        given = _given(recorder, known, args, kwargs)
        placed = mapped(torch.Tensor, recorder.meta, args)
        if known.op in _INDEXES:
            placed = (placed[0], [at for i in args[1] for at in _positions(i)], *placed[2:])
        options = mapped(torch.Tensor, recorder.meta, kwargs)
        if known.makes:
            options = {k: v for k, v in options.items() if k not in ("pin_memory", "generator")} | {"device": meta}
        elif "generator" in options:
            options = {k: v for k, v in options.items() if k != "generator"}
        try:
            result = func(*placed, **options)
        except Exception as error:
            real = recorder.values.follow(known.op, func, args, kwargs, known.seeded)
            if real is not None:
                return mapped(torch.Tensor, recorder.meta, real)
            result = tried(func, args, kwargs, recorder.values.of) if no_kernel(error) else None
            if result is None:
                raise
            recorder.choices.append(f"shapes of {known.op}: as the CPU makes them of zeros")
        outputs = [t for t in torch.utils._pytree.tree_leaves(result) if isinstance(t, torch.Tensor)]
        _follow(known, func, args, kwargs, outputs)
        if known.silent or (not outputs and not known.written):
            return result
        if known.written:
            targets = [t for t, slot in zip(given.tensors, given.slots, strict=True) if slot in known.written]
            owned = {t.untyped_storage()._cdata for t in targets}
            more = [t for t in outputs if t.untyped_storage()._cdata not in owned]
            recorder.write(known.op, given, targets, more, known.overwrites)
        elif not all(recorder.owner(t) or any(same(t, i) for i in given.tensors) for t in outputs):
            if known.op in ("index", "index_select"):
                given.attributes.update(_places(recorder, known.op, args))
            recorder.emit(_named(known.op, given), given, outputs)
        return result

    def _follow(known: About, func: Any, args: Any, kwargs: Any, outputs: list[Any]) -> None:
        """Keep the values of small tensors that follow from constants alone."""
        values = recorder.values
        small = sum(t.numel() for t in outputs) <= MOST
        real = values.follow(known.op, func, args, kwargs, known.seeded) if small else None
        if real is not None:
            leaves = [t for t in torch.utils._pytree.tree_leaves(real) if isinstance(t, torch.Tensor)]
            for made, value in zip(outputs, leaves, strict=False):
                values.note(made, value)
        elif known.written:
            for made in outputs:
                values.forget(made)

    def _positions(index: Any) -> list[Any]:
        """Where a mask is true, if that is known; it stands for as many indices as it has dimensions."""
        value = recorder.values.of(index) if isinstance(index, torch.Tensor) and index.dtype == torch.bool else None
        if value is None:
            return [recorder.meta(index) if isinstance(index, torch.Tensor) else index]
        return [torch.empty(at.shape, dtype=at.dtype, device="meta") for at in value.nonzero(as_tuple=True)]

    with ExitStack() as modes:
        if alone:
            modes.enter_context(_disable_current_modes())
        modes.enter_context(Dispatched())
        yield


def _given(recorder: Recorder, known: About, args: Any, kwargs: Any) -> Given:
    import torch

    given = Given([], [], [], {})
    for slot, value in chain(zip(known.names, args, strict=False), kwargs.items()):
        many = value if isinstance(value, list | tuple) else (value,)
        tensors = [v for v in many if isinstance(v, torch.Tensor)]
        for tensor in tensors:
            given.tensors.append(recorder.meta(tensor))
            given.slots.append(slot)
            given.ids.append(recorder.id_of(tensor))
        if not tensors and slot not in _UNNAMED:
            given.attributes[slot] = plain(value)
        if slot == "group_name":
            given.attributes["peers"] = _peers(value)
    return given


def _peers(group: Any) -> int | None:
    """How many devices are in a group of torch.distributed; None for one that is not known here."""
    from torch.distributed.distributed_c10d import _resolve_process_group

    try:
        return int(_resolve_process_group(group).size())
    except (RuntimeError, ValueError, KeyError, TypeError):
        return None


def _places(recorder: Recorder, op: str, args: Any) -> dict[str, Attribute]:
    """Along which dimension, and from where to where, known indices choose, if they choose along one."""
    if op == "index_select":
        dim, index = args[1] % max(1, args[0].dim()), args[2]
    else:
        many = [(d, i) for d, i in enumerate(args[1]) if i is not None]
        dim, index = many[0] if len(many) == 1 else (0, None)
    known = None if index is None or index.dim() != 1 or index.dtype.is_floating_point else recorder.values.of(index)
    if known is None or not known.numel() or str(known.dtype) == "torch.bool":
        return {}
    size = args[0].shape[dim]
    at = known + (known < 0) * size
    return {"places": [dim, int(at.min()), int(at.max()) + 1]}


def _named(op: str, given: Given) -> str:
    """Batch norm by whether it makes its own statistics or folds known ones into a scale and a shift."""
    if op in ("batch_norm", "native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm"):
        return "_native_batch_norm_legit" if given.attributes.get("training") else "batch_norm"
    return op


def plain(value: Any) -> Attribute:
    """An argument as JSON can say it."""
    import torch

    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if isinstance(value, list | tuple):
        return [plain(v) for v in value]  # type: ignore[return-value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return str(value)  # JSON has neither
    return value if isinstance(value, bool | int | float | str | None) else str(value)


@contextmanager
def redirected(device: str, values: Values | None = None) -> Iterator[None]:
    """Every device that code names is `device`; numbers in `values`, known although nothing has data, can be asked
    for."""
    import torch
    from torch.overrides import TorchFunctionMode

    tensor = torch.Tensor
    stays = {tensor.cuda, tensor.cpu, tensor.pin_memory, tensor.xpu}
    asks = {tensor.tolist: "tolist", tensor.numpy: "numpy", tensor.__array__: "__array__"}

    class Redirected(TorchFunctionMode):
        def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if func in stays:
                return args[0]
            if func in asks:
                value = values.of(args[0]) if values is not None else None
                if value is not None:
                    return getattr(value, asks[func])(*args[1:], **kwargs)
            elif func is tensor.to:
                args, kwargs = _without_device(args, kwargs)
                if len(args) == 1 and not kwargs:
                    return args[0]
            elif kwargs.get("device") is not None:
                kwargs = kwargs | {"device": device}
            return func(*args, **kwargs)

    def _without_device(args: Any, kwargs: Any) -> tuple[Any, Any]:
        kept = [a for a in args[1:] if not isinstance(a, str | torch.device)]
        if kept and type(kept[0]) is int:
            kept = kept[1:]
        if kept and isinstance(kept[0], torch.Tensor):
            kept[0] = kept[0].dtype
        if "other" in kwargs:
            kept, kwargs = [kwargs["other"].dtype], {k: v for k, v in kwargs.items() if k != "other"}
        return (args[0], *kept), {k: v for k, v in kwargs.items() if k not in ("device", "non_blocking")}

    with Redirected():
        yield


@contextmanager
def places(module: Any) -> Iterator[Callable[[], str]]:
    """A function that names the module of `module` whose forward runs now, "" for itself."""
    import torch

    names = {id(m): n for n, m in module.named_modules()}
    stack = [""]

    def enter(inner: Any, args: Any) -> None:
        stack.append(names.get(id(inner), stack[-1]))

    def leave(inner: Any, args: Any, result: Any) -> None:
        if len(stack) > 1:
            stack.pop()

    hooks = torch.nn.modules.module
    handles = (hooks.register_module_forward_pre_hook(enter),
               hooks.register_module_forward_hook(leave, always_call=True))
    try:
        yield lambda: stack[-1]
    finally:
        for handle in handles:
            handle.remove()
