"""What holds of bounds of any graph: random graphs of thirty operators over matrices, with views, slices, equal
expressions, dead ends and structure, on devices of random bandwidth and cache."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from enlist.tools.solar.graph import Graph, Node, Tensor
from enlist.tools.solar.hardware import Device, resolve
from enlist.tools.solar.pricing.bounds import DeviceBounds, bounds

(PCIE,) = resolve(["H100 PCIe"])
SIZES = (1, 24, 160)
OPERATORS = ("mm", "mm", "linear", "add", "mul", "relu", "exp", "softmax", "layer_norm", "sum", "t", "slice", "select",
             "cat", "triu", "zeros", "cumsum")
SLACK = 1 + 1e-9


class Growing:
    """A graph that grows by one operator at a time; every choice is drawn."""

    def __init__(self, draw: st.DrawFn) -> None:
        self.draw = draw
        self.tensors: list[Tensor] = []
        self.nodes: list[Node] = []
        for role, count in (("input", 2), ("parameter", 2)):
            for _ in range(count):
                self.tensor((self.size(), self.size()), role)

    def size(self) -> int:
        return self.draw(st.sampled_from(SIZES))

    def tensor(self, shape: Sequence[int], role: str = "intermediate", strides: Sequence[int] | None = None,
               alias_of: str | None = None) -> Tensor:
        lies, step = [], 1
        for n in reversed(shape):
            lies.append(step)
            step *= max(1, n)
        made = Tensor(id=f"t{len(self.tensors)}", shape=tuple(shape), dtype="float32", role=role, alias_of=alias_of,
                      strides=tuple(reversed(lies) if strides is None else strides))  # type: ignore[arg-type]
        self.tensors.append(made)
        return made

    def one(self, *shape: int | None) -> Tensor:
        """A tensor with these sizes, None for any; made new where there is none."""
        fit = [t for t in self.tensors if all(s is None or s == n for s, n in zip(shape, t.shape, strict=True))]
        return self.draw(st.sampled_from(fit)) if fit else self.tensor([s or 24 for s in shape], "input")

    def node(self, op: str, operands: Sequence[Tensor], shape: Sequence[int], slots: Sequence[str] = ("self", "other"),
             view: Sequence[int] | None = None, **attributes: object) -> None:
        out = self.tensor(shape, strides=view, alias_of=operands[0].id if view is not None else None)
        self.nodes.append(Node(id=f"n{len(self.nodes)}", op=op, inputs=tuple(t.id for t in operands),
                               slots=tuple(slots[:len(operands)]), outputs=(out.id,),
                               attributes=attributes))  # type: ignore[arg-type]

    def grow(self) -> None:
        op, a = self.draw(st.sampled_from(OPERATORS)), self.one(None, None)
        rows, columns = a.shape
        if op in ("mm", "linear"):
            b = self.one(columns, None) if op == "mm" else self.one(None, columns)
            self.node(op, (a, b), (rows, b.shape[1 if op == "mm" else 0]),
                      ("self", "mat2") if op == "mm" else ("input", "weight"))
        elif op in ("add", "mul"):
            self.node(op, (a, self.one(rows, columns)), a.shape)
        elif op == "t":
            self.node(op, (a,), (columns, rows), view=a.strides[::-1])
        elif op == "slice":
            end = self.draw(st.integers(1, rows))
            self.node(op, (a,), (end, columns), view=a.strides, dim=0, start=0, end=end)
        elif op == "select":  # a column, kept as one
            at = self.draw(st.integers(0, columns - 1))
            self.node("slice", (a,), (rows, 1), view=a.strides, dim=1, start=at, end=at + 1)
        elif op == "cat":
            b = self.one(None, columns)
            self.node(op, (a, b), (rows + b.shape[0], columns), ("tensors", "tensors"), dim=0)
        elif op == "zeros":
            self.node(op, (), (rows, columns))
        else:
            more = {"softmax": {"dim": -1}, "layer_norm": {"normalized_shape": [columns]}, "cumsum": {"dim": 1},
                    "sum": {"dim": [1], "keepdim": True}}.get(op, {})
            self.node(op, (a,), (rows, 1) if op == "sum" else a.shape, ("input",), **more)


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    growing = Growing(draw)
    for _ in range(30):
        growing.grow()
    made = [n.outputs[0] for n in growing.nodes]
    shown = {made[-1], *draw(st.lists(st.sampled_from(made), max_size=3))}
    tensors = tuple(t.model_copy(update={"is_output": True, "role": "output"}) if t.id in shown else t
                    for t in growing.tensors)
    return reached(Graph(target="random", assumed=(), tensors=tensors, nodes=tuple(growing.nodes)))


def reached(graph: Graph) -> Graph:
    """Without what no output needs, as capture leaves it."""
    wanted, kept = {t.id for t in graph.tensors if t.is_output}, []
    for node in reversed(graph.nodes):
        if wanted & set(node.outputs):
            kept.append(node)
            wanted.update(node.inputs)
    return graph.model_copy(update={"nodes": tuple(reversed(kept)), "tensors": tuple(
        t for t in graph.tensors if t.id in wanted)})


def device(bandwidth: float, cache: float) -> Device:
    """H100 PCIe with its bandwidth and its caches scaled; caches are small, so that they matter."""
    return PCIE.model_copy(update={
        "dram_bandwidth": PCIE.dram_bandwidth.model_copy(update={"value": PCIE.dram_bandwidth.value * bandwidth}),
        "caches": tuple(c.model_copy(update={"capacity": c.capacity.model_copy(
            update={"value": c.capacity.value * cache / 1e4})}) for c in PCIE.caches)})


def seconds(one: DeviceBounds) -> tuple[float, float, float]:
    return one.fused_s, one.cache_aware_s, one.unfused_s


@settings(max_examples=12, deadline=None)
@given(graphs(), st.floats(1e-3, 1), st.floats(1, 10), st.floats(1, 10))
def test_bounds_are_in_order_and_no_better_device_or_narrower_dtype_raises_one(graph: Graph, slow: float, wider: float,
                                                                              larger: float) -> None:
    before, faster, roomier = bounds(graph, [device(slow, 1), device(slow * wider, 1), device(slow, larger)]).devices
    fused, aware, unfused = seconds(before)
    assert 0 <= fused <= aware * SLACK and aware <= unfused * SLACK
    (narrow,) = bounds(graph, [device(slow, 1)], dtype="bf16").devices
    for other in (faster, roomier, narrow):
        assert all(new <= old * SLACK for new, old in zip(seconds(other), seconds(before), strict=True))


@settings(max_examples=12, deadline=None)
@given(graphs(), st.data())
def test_fewer_outputs_never_raise_a_bound(graph: Graph, data: st.DataObject) -> None:
    shown = [t.id for t in graph.tensors if t.is_output]
    hidden = data.draw(st.sampled_from(shown))
    fewer = reached(graph.model_copy(update={"tensors": tuple(
        t.model_copy(update={"is_output": False, "role": "intermediate"}) if t.id == hidden else t
        for t in graph.tensors)}))
    less, whole = (bounds(g, [device(0.01, 1)]).devices[0] for g in (fewer, graph))
    assert less.fused_s <= whole.fused_s * SLACK and less.unfused_s <= whole.unfused_s * SLACK


@settings(max_examples=12, deadline=None)
@given(graphs(), st.data())
def test_a_graph_in_two_parts_takes_no_less_than_the_whole(graph: Graph, data: st.DataObject) -> None:
    """What the second part uses of the first is an output of that one and an input of the other."""
    if len(graph.nodes) < 2:
        return
    cut = data.draw(st.integers(1, len(graph.nodes) - 1))
    first, second = graph.nodes[:cut], graph.nodes[cut:]
    inside = {t for n in first for t in n.outputs}
    crossing = inside & {t for n in second for t in n.inputs}
    one = tuple(t.model_copy(update={"is_output": True, "role": "output"}) if t.id in crossing else t
                for t in graph.tensors if t.id in inside or not any(t.id in n.outputs for n in second))
    other = tuple(t.model_copy(update={"role": "input", "is_output": False, "alias_of": None}) if t.id in crossing
                  else t for t in graph.tensors if t.id in crossing or t.id not in inside)
    parts = [reached(Graph(target="part", assumed=(), tensors=tensors, nodes=nodes))
             for tensors, nodes in ((one, first), (other, second))]
    total = sum(bounds(part, [device(0.01, 1)]).devices[0].fused_s for part in parts)
    assert total * SLACK >= bounds(graph, [device(0.01, 1)]).devices[0].fused_s
