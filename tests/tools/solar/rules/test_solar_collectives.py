"""Collectives of PyTorch: closed forms of the bytes on links, by topology, and from a model's code to the roof `link`.

Closed forms of p devices and a buffer of n bytes: an all-reduce sends n into a switch that adds, and 2 (p - 1) / p n
where only devices add (rings reach it); an all-gather of shards of n brings in (p - 1) n; a reduce-scatter and an
exchange send (p - 1) / p n.
"""

from collections.abc import Callable, Iterator

import pytest

from enlist.tools.solar.graph import Graph, Node, Tensor
from enlist.tools.solar.hardware import Device, resolve
from enlist.tools.solar.pricing.bounds import Bounds, bounds
from enlist.tools.solar.report.words import explained

SWITCH, MESH = resolve(["H100 SXM", "MI300X"])
SHAPE = (64, 1 << 16)
BYTES = 2 * 64 * (1 << 16)


def handed(op: str, peers: int | None, out: tuple[int, int] = SHAPE, **more: object) -> Graph:
    """One collective of `peers` devices on a bfloat16 input."""
    def tensor(name: str, shape: tuple[int, int], role: str) -> Tensor:
        return Tensor(id=name, shape=shape, strides=(shape[1], 1), dtype="bfloat16", role=role, name=name,  # type: ignore[arg-type]
                      is_output=role == "output")

    told = {"group_name": "0"} | ({"peers": peers} if peers is not None else {}) | more
    return Graph(target="t", assumed=(), tensors=(tensor("x", SHAPE, "input"), tensor("y", out, "output")), nodes=(
        Node(id="n", op=f"_c10d_functional::{op}", inputs=("x",), slots=("input",), outputs=("y",),
             attributes=told),))  # type: ignore[arg-type]


def linked(made: Bounds) -> int:
    return sum(r.amount for r in made.devices[0].roofs if r.roof == "link")


@pytest.mark.parametrize("peers", [2, 4, 8])
@pytest.mark.parametrize(("op", "device", "least"), [
    ("all_reduce", SWITCH, lambda p: BYTES), ("all_reduce", MESH, lambda p: 2 * (p - 1) * BYTES // p),
    ("all_gather_into_tensor", SWITCH, lambda p: (p - 1) * BYTES),
    ("all_gather_into_tensor", MESH, lambda p: (p - 1) * BYTES),
    ("reduce_scatter_tensor", MESH, lambda p: (p - 1) * BYTES // p),
    ("all_to_all_single", SWITCH, lambda p: (p - 1) * BYTES // p), ("broadcast", MESH, lambda p: BYTES)])
def test_bytes_on_links_are_the_closed_form(op: str, device: Device, least: Callable[[int], int], peers: int) -> None:
    made = bounds(handed(op, peers), [device])
    (term,) = made.devices[0].terms
    assert device.interconnect is not None and made.unmodelled == ()
    assert linked(made) == term.link_bytes == least(peers)
    assert made.devices[0].fused_s >= least(peers) / device.interconnect.bandwidth > 0
    assert made.devices[0].estimate_s >= made.devices[0].fused_s


def test_one_device_alone_sends_nothing() -> None:
    assert linked(bounds(handed("all_reduce", 1), [SWITCH])) == 0


def test_what_depends_on_the_rank_or_on_an_unknown_group_is_named_as_not_modelled() -> None:
    for graph in (handed("all_to_all_single", 2, input_split_sizes=[60, 4], output_split_sizes=[32, 32]),
                  handed("all_reduce", None)):
        made = bounds(graph, [SWITCH])
        assert made.unmodelled == (graph.nodes[0].op,) and linked(made) == 0


def test_a_term_that_links_decide_says_so_in_words() -> None:
    one = bounds(handed("all_reduce", 8), [SWITCH]).devices[0]
    (paragraph,) = explained(one)
    assert one.limiting_roof == "link" and "link decides: 8.39 MB at 450 GB/s" in paragraph
    assert "Fewer exchanges" in paragraph


@pytest.fixture
def _processes() -> Iterator[None]:
    """Whatever group the model's code opens is closed again."""
    yield
    import torch.distributed as dist

    if dist.is_initialized():
        dist.destroy_process_group()


@pytest.mark.usefixtures("_processes")
def test_a_sharded_layer_of_a_model_reaches_the_links(graph_of: Callable[..., Graph]) -> None:
    text = ("import torch\nimport torch.distributed as dist\n"
            "import torch.distributed._functional_collectives as functional\nfrom torch import nn\n"
            "from torch.testing._internal.distributed.fake_pg import FakeStore\n\n\n"
            "class Model(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
            "        if not dist.is_initialized():\n"
            "            dist.init_process_group('fake', store=FakeStore(), rank=0, world_size=4)\n"
            "        self.up, self.down = nn.Linear(1024, 512), nn.Linear(512, 1024, bias=False)\n\n"
            "    def forward(self, x):\n"
            "        return functional.all_reduce(self.down(torch.relu(self.up(x))), 'sum', dist.group.WORLD)\n\n\n"
            "def get_inputs():\n    return [torch.randn(256, 1024)]\n")
    graph = graph_of(text=text)
    for device, factor in ((SWITCH, 1.0), (MESH, 2 * 3 / 4)):
        made = bounds(graph, [device])
        assert made.unmodelled == () and linked(made) == 4 * 256 * 1024 * factor
        assert made.flop["tensor.fp32"] == 2 * 2 * 256 * 1024 * 512
        assert made.fused_bytes == 4 * (2 * 256 * 1024 + 2 * 512 * 1024 + 512)
