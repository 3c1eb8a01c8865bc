"""Collectives of a sharded PyTorch model (torch.distributed's functional ones): what moves between devices.

Capture adds to each the number of devices in its group as `peers`. The bytes are those of the device at hand: an
all-gather is handed its shard, a reduce-scatter and an exchange the whole. Nothing is added up here: a switch may add
what passes through it. Uneven exchanges are not modelled, because what a device keeps then depends on its rank.
"""

from enlist.tools.solar.work import Call, Rule, Work

_SPLITS = ("output_split_sizes", "input_split_sizes")


def collective(kind: str, peers: int) -> Work:
    """The work of a collective of `peers` devices: bytes on links, and what any copy reads and writes in memory."""
    return Work("vector", collective=kind, peers=peers)


def _moved(kind: str) -> Rule:
    def rule(call: Call) -> Work | None:
        peers = call.attribute("peers", call.attribute("group_size", None))
        splits = [call.attribute(name, []) for name in _SPLITS]
        if peers is None or any(len(set(sizes)) > 1 for sizes in splits):
            return None
        return collective(kind, int(peers))

    return rule


def _waited(call: Call) -> Work:
    """What waits for a collective hands on the same memory."""
    tensor = call.node.inputs[0]
    return Work("move", reads={tensor: 0}, writes=0, launches=0)


RULES: dict[str, Rule] = {f"_c10d_functional::{name}": rule for name, rule in {
    "all_reduce": _moved("all_reduce"), "all_gather_into_tensor": _moved("all_gather"),
    "reduce_scatter_tensor": _moved("reduce_scatter"), "all_to_all_single": _moved("all_to_all"),
    "broadcast": _moved("broadcast"), "wait_tensor": _waited, "_wrap_tensor_autograd": _waited}.items()}
