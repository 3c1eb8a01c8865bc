"""Tensors and nodes of a `Graph`, made from the operators of a run on meta tensors as they come.

Which tensor of the graph a tensor of the run is, is told by its memory (storage, offset, sizes, strides), so views and
what is written through them need no bookkeeping by the caller. A write makes a new tensor of the graph, for a graph has
no tensor that changes: the whole storage anew where all of it is written, else a scatter into it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from enlist.tools.solar.graph import ITEM_BITS, Attribute, Node, Phase, Role, Tensor
from enlist.tools.solar.pytorch.values import Values
from enlist.tools.solar.rules.aten import IN_PLACE
from enlist.tools.solar.rules.steps import LOOP

Key = tuple[Any, ...]

_UNREAD = frozenset(("copy", "fill", "zero", "uniform", "normal", "exponential", "random", "bernoulli", "geometric",
                     "cauchy", "log_normal"))
"""Operators in place that do not look at what they overwrite."""
_MAKES = {"zero": "zeros_like", "fill": "full_like", "uniform": "rand_like", "random": "rand_like",
          "exponential": "rand_like", "geometric": "rand_like", "normal": "randn_like", "cauchy": "randn_like",
          "log_normal": "randn_like"}
"""What they are when they do not write in place."""
_PARTS = frozenset(("split", "split_with_sizes", "chunk", "unbind"))
"""Operators that see a tensor as one part after the other."""
_SEES = frozenset(("select", "slice", "view", "expand", "unsqueeze", "squeeze", "transpose", "_to_copy", "permute"))
"""Operators whose result is zero where their operand is."""
_LONGEST_CHAIN = 32
"""Writes into one storage that stand behind each other as views; with more, every walk to the root would be long."""


@dataclass
class Memory:
    """One storage of the run: `whole` is the tensor of the graph that stands for its present contents, `views` those
    that see them by sizes and strides, `outside` tells that it was there before the call. `held` keeps its address from
    being used again."""

    held: Any
    whole: str
    whole_key: Key
    views: dict[Key, str]
    outside: bool
    written: bool = False
    depth: int = 0


@dataclass
class Given:
    """The arguments of one operator: its tensors, in which slots, what they are in the graph, and all the others."""

    tensors: list[Any]
    slots: list[str]
    ids: list[str]
    attributes: dict[str, Attribute]


class Recorder:
    """Takes operators in the order in which they run; `phase` and `repeat` are those of the nodes to come,
    `loop` is the outermost loop that they are in, of `loops` so far. `choices`
    are sentences about what was decided on the way, `kept` tensors that are outputs although nothing returns them,
    `carried` those that are needed although nothing seems to read them."""

    def __init__(self, where: Callable[[], str] = lambda: "") -> None:
        self.where = where
        self.phase: Phase = "forward"
        self.repeat = 1
        self.loop: int | None = None
        self.loops = 0
        self.tensors: dict[str, Tensor] = {}
        self.nodes: list[Node] = []
        self.makers: dict[str, Node] = {}
        self.memories: dict[int, Memory] = {}
        self.values = Values()
        self.choices: list[str] = []
        self.kept: list[str] = []
        self.carried: list[str] = []
        self._twins: dict[int, tuple[Any, Any]] = {}
        self._counts: dict[str, int] = {}

    def outside(self, tensor: Any, role: Role, name: str, structure: str = "dense", source: str = "") -> str:
        """The graph's tensor for one that is there before the call; made at its first mention."""
        made = self.meta(tensor)
        if made.untyped_storage()._cdata in self.memories:
            return self.id_of(made)
        prefix = {"parameter": "p_", "buffer": "b_"}.get(role, "")
        fresh = self._fresh(prefix + (name.replace(".", "_") or role))
        return self._own(fresh, made, role, name, True, structure, source)

    def id_of(self, tensor: Any) -> str:
        """The graph's tensor for the present contents of a tensor of the run."""
        made = self.meta(tensor)
        memory = self.memories.get(made.untyped_storage()._cdata)
        if memory is None:
            return self.outside(tensor, "constant", "")
        key = _key(made)
        if key not in memory.views:  # seen before it was written, or made by no operator that was recorded
            node = self._fresh("as_strided")
            memory.views[key] = self._add(node, made, "intermediate", "", memory.whole)
            self.node(node, "as_strided", [memory.whole], ["self"], [node])
        return memory.views[key]

    def known(self, tensor: Any) -> bool:
        """Whether the graph has a tensor for this one already."""
        memory = self.memories.get(tensor.untyped_storage()._cdata)
        return memory is not None and _key(tensor) in memory.views

    def owner(self, tensor: Any) -> bool:
        """Whether it is all that was made with its storage, and not a view."""
        memory = self.memories.get(tensor.untyped_storage()._cdata)
        return memory is not None and memory.whole_key == _key(tensor)

    def is_zero(self, tensor: Any) -> bool:
        """Whether a tensor of the run is known to be zero everywhere: made so by the model, or an input that is."""
        name: str | None = self.id_of(tensor)
        while name is not None and self.tensors[name].structure != "zero":
            maker = self.makers.get(name)
            if maker is not None and maker.op in ("zeros", "zeros_like", "new_zeros"):
                return True
            name = maker.inputs[0] if maker is not None and maker.op in _SEES else None
        return name is not None

    def mark(self, tensor: Any, attributes: dict[str, Attribute]) -> None:
        """Say more of the operator that has made a tensor of the run."""
        old = self.makers[self.id_of(tensor)]
        made = old.model_copy(update={"attributes": old.attributes | attributes})
        self.nodes[next(i for i in reversed(range(len(self.nodes))) if self.nodes[i] is old)] = made
        self.makers.update(dict.fromkeys(made.outputs, made))

    def meta(self, tensor: Any) -> Any:
        """The tensor itself where it is on the meta device, else its like there."""
        import torch

        if tensor.device.type == "meta":
            return tensor
        storage = tensor.untyped_storage()
        if storage._cdata not in self._twins:
            twin = torch.empty(storage.nbytes(), dtype=torch.uint8, device="meta").untyped_storage()
            self._twins[storage._cdata] = (twin, storage)
        made = torch.empty(0, dtype=tensor.dtype, device="meta").set_(
            self._twins[storage._cdata][0], tensor.storage_offset(), tensor.shape, tensor.stride())
        self.values.note(made, tensor)
        return made

    def real(self, tensor: Any) -> Any:
        """The tensor on the CPU of which one on the meta device is the like, None where there is none."""
        import torch

        address = tensor.untyped_storage()._cdata
        found = next((real for twin, real in self._twins.values() if twin._cdata == address), None)
        return None if found is None else torch.empty(0, dtype=tensor.dtype).set_(
            found, tensor.storage_offset(), tensor.shape, tensor.stride())

    def emit(self, op: str, given: Given, outputs: list[Any]) -> tuple[str, ...]:
        """A node with new tensors for `outputs`: views where they share a known storage, else with their own."""
        if op in _PARTS and len(given.tensors) == 1 and len(outputs) > 1:
            return self._parts(op, given, outputs)
        node = self._fresh(op.replace("::", "_"))
        made = []
        for place, tensor in enumerate(outputs):
            name = node if len(outputs) == 1 else f"{node}:{place}"
            storage = tensor.untyped_storage()._cdata
            memory = self.memories.get(storage)
            if memory is None and op in IN_PLACE and given.ids:  # written where the base lies, which is the least
                made.append(self._onto(name, tensor, given.ids[0]))
                continue
            if memory is None:
                made.append(self._own(name, tensor, "intermediate", "", False))
                continue
            parent = next((i for i, t in zip(given.ids, given.tensors, strict=True)
                           if t.untyped_storage()._cdata == storage), memory.whole)
            made.append(self._add(name, tensor, "intermediate", "", parent))
            memory.views[_key(tensor)] = name
        self.node(node, op, given.ids, given.slots, made, given.attributes)
        return tuple(made)

    def _parts(self, op: str, given: Given, outputs: list[Any]) -> tuple[str, ...]:
        """Each part of a split as the slice or selection that it is, so that it is known where it lies."""
        made: list[str] = []
        number, first = given.attributes.get("dim"), 0
        dim = (number if isinstance(number, int) else 0) % max(1, given.tensors[0].dim())
        for place, tensor in enumerate(outputs):
            if op == "unbind":
                made += self.emit("select", replace(given, attributes={"dim": dim, "index": place}), [tensor])
                continue
            end = first + tensor.shape[dim]
            made += self.emit("slice", replace(given, attributes={"dim": dim, "start": first, "end": end}), [tensor])
            first = end
        return tuple(made)

    def stack(self, part: Any, stacked: Any, told: dict[str, Attribute] | None = None) -> None:
        """What one turn of a loop writes of its stacked result; nothing moves beyond what made `part`. `told` are words
        for `rules.steps`."""
        storage = stacked.untyped_storage()._cdata
        if storage not in self.memories:
            self._own(self._fresh("stacked"), stacked, "intermediate", "", False)
        source, memory = self.id_of(part), self.memories[storage]
        piece, whole = self._fresh("loop_stack"), memory.whole
        self._add(piece, part, "intermediate", "", whole)
        self.node(piece, "loop_stack", [whole, source], ["self", "src"], [piece])
        self._renewed(memory, "as_strided", ["self", "src"], [whole, piece], dict(told or {}))

    def carry(self, state: Any, made: Any) -> None:
        """`made` is what a turn of a loop is handed: the first one `state`, the later ones what was there before."""
        node, before = self._fresh("as_strided"), self.id_of(state)
        storage, key = made.untyped_storage(), _key(made)
        self.memories[storage._cdata] = Memory(storage, node, key, {key: node}, False)
        self._add(node, made, "intermediate", "", before)
        self.node(node, "as_strided", [before], ["self"], [node])

    def apart(self) -> "Recorder":
        """A recorder that knows the same small values and keeps its own nodes."""
        made = Recorder(self.where)
        made.values, made._twins = self.values.copy(), self._twins
        return made

    def _onto(self, name: str, tensor: Any, base: str) -> str:
        """A tensor that has its own storage in the run, and shares that of `base` in the graph."""
        storage, key = tensor.untyped_storage(), _key(tensor)
        self.memories[storage._cdata] = Memory(storage, name, key, {key: name}, False)
        return self._add(name, tensor, "intermediate", "", base)

    def node(self, node: str, op: str, inputs: list[str], slots: list[str], outputs: list[str],
             attributes: dict[str, Attribute] | None = None, where: str | None = None) -> None:
        told: dict[str, Attribute] = {} if self.loop is None else {LOOP: self.loop}
        made = Node(id=node, op=op, where=self.where() if where is None else where, inputs=tuple(inputs),
                    slots=tuple(slots), outputs=tuple(outputs), attributes=(attributes or {}) | told,
                    repeat=self.repeat, phase=self.phase)
        self.nodes.append(made)
        self.makers.update(dict.fromkeys(outputs, made))

    def write(self, op: str, given: Given, written: list[Any], more: list[Any], overwrites: bool) -> None:
        """An operator that writes into tensors it is given: new tensors take the place of those in the graph. `more`
        are outputs with a storage of their own; `overwrites` says that the old contents are not read."""
        if overwrites or op in _UNREAD:
            kept = [i for i, t in enumerate(given.tensors) if not any(t is w for w in written)]
            given = Given([given.tensors[i] for i in kept], [given.slots[i] for i in kept],
                          [given.ids[i] for i in kept], given.attributes)
        op = _MAKES.get(op, op)
        if op == "copy" and given.ids and self.id_of(written[0]) == given.ids[0]:
            return  # onto itself, as `x[i] += y` ends
        if op == "copy" and len(written) == 1 and given.ids and not self._is_whole(written[0]):
            self._scatter(written[0], given.ids[0])  # the write itself moves the values
            return
        targets = [self.id_of(t) for t in written]
        node, made = self._fresh(op.replace("::", "_")), []
        for place, (tensor, target) in enumerate(zip([*written, *more], [*targets, *[""] * len(more)], strict=True)):
            name = node if len(written) + len(more) == 1 else f"{node}:{place}"
            if not target:
                self._own(name, tensor, "intermediate", "", False)
            else:
                self._add(name, tensor, "intermediate", "", target if op in IN_PLACE else None)
            made.append(name)
        self.node(node, op, given.ids, given.slots, made, given.attributes)
        for tensor, name in zip(written, made, strict=False):
            self._put(tensor, name, moved=op in IN_PLACE)

    def _put(self, tensor: Any, name: str, moved: bool) -> None:
        """`name` is the new contents of what `tensor` sees; `moved` says that the node has written into the storage."""
        memory = self.memories[tensor.untyped_storage()._cdata]
        if self._is_whole(tensor):
            memory.whole, memory.whole_key, memory.written = name, _key(tensor), True
            memory.views = {memory.whole_key: name}
        elif moved or not memory.outside:  # no data moves beyond what the node has moved
            self._renewed(memory, "as_strided", ["self", "src"], [memory.whole, name], {})
            memory.views[_key(tensor)] = name
        else:
            self._scatter(tensor, name)

    def _scatter(self, tensor: Any, source: str) -> None:
        """`source` is written over the part of a storage that `tensor` sees."""
        memory, key = self.memories[tensor.untyped_storage()._cdata], _key(tensor)
        maker = self.makers.get(memory.views.get(key, ""))
        direct = maker is not None and maker.op in ("slice", "select", "diagonal") and maker.inputs == (memory.whole,)
        op = f"{maker.op}_scatter" if maker is not None and direct else "as_strided_scatter"
        attributes = dict(maker.attributes) if maker is not None and direct else {}
        self._renewed(memory, op, ["self", "src"], [memory.whole, source], attributes)
        written = self.tensors[source]
        if written.shape == tuple(tensor.shape) and written.dtype == dtype_of(tensor):
            memory.views[key] = source

    def _renewed(self, memory: Memory, op: str, slots: list[str], inputs: list[str],
                 attributes: dict[str, Attribute]) -> None:
        """The contents of a storage after a part of it was written."""
        node = self._fresh(op)
        memory.depth += 1
        base = memory.whole if memory.depth < _LONGEST_CHAIN else self._root(memory.whole)
        self.tensors[node] = self.tensors[memory.whole].model_copy(update={
            "id": node, "role": "intermediate", "name": "", "alias_of": base, "is_output": False,
            "structure": "dense", "structure_from": ""})
        self.node(node, op, inputs, slots, [node], attributes)
        memory.whole, memory.written = node, True
        memory.views = {memory.whole_key: node}

    def _root(self, tensor: str) -> str:
        while (base := self.tensors[tensor].alias_of) is not None:
            tensor = base
        return tensor

    def _is_whole(self, tensor: Any) -> bool:
        """Whether a tensor sees all of its storage."""
        memory = self.memories[tensor.untyped_storage()._cdata]
        whole = self.tensors[memory.whole]
        return tensor.numel() == whole.distinct or tensor.numel() * tensor.element_size() == memory.held.nbytes()

    def _own(self, name: str, tensor: Any, role: Role, shown: str, outside: bool, structure: str = "dense",
             source: str = "") -> str:
        storage, key = tensor.untyped_storage(), _key(tensor)
        self.memories[storage._cdata] = Memory(storage, name, key, {key: name}, outside)
        return self._add(name, tensor, role, shown, None, structure, source)

    def _add(self, name: str, tensor: Any, role: Role, shown: str, alias_of: str | None = None,
             structure: str = "dense", source: str = "") -> str:
        self.tensors[name] = Tensor(id=name, shape=tuple(tensor.shape), strides=tuple(tensor.stride()),
                                    dtype=dtype_of(tensor), role=role, name=shown, alias_of=alias_of,
                                    structure=structure, structure_from=source)  # type: ignore[arg-type]
        return name

    def _fresh(self, name: str) -> str:
        count = self._counts.get(name, 0)
        self._counts[name] = count + 1
        made = f"{name}_{count}" if count else name
        return made if made not in self.tensors else self._fresh(name)


def dtype_of(tensor: Any) -> str:
    """Torch's name of a tensor's dtype; packed pairs of four-bit numbers count as the byte that they take."""
    name = str(tensor.dtype).removeprefix("torch.")
    return name if name in ITEM_BITS else {1: "uint8", 2: "int16", 4: "int32", 8: "int64"}.get(
        tensor.element_size(), "complex128")


def same(one: Any, other: Any) -> bool:
    """Whether two tensors of a run are the same memory seen in the same way."""
    return one.untyped_storage()._cdata == other.untyped_storage()._cdata and _key(one) == _key(other)


def _key(tensor: Any) -> Key:
    return (tensor.storage_offset(), tensor.shape, tensor.stride(), tensor.dtype, tensor.is_conj(), tensor.is_neg())
