"""What pricing returns: bounds of a graph on devices, each number with the terms that it is made of."""

from enlist.tools.runtime.tool import ToolModel
from enlist.tools.solar.graph import Phase

NOTHING_MEASURED = "nothing was measured"


class Term(ToolModel):
    """One operator of the unfused bound; `roof` is the slowest one, `seconds` its time over all `repeat` runs.

    `bytes` (of DRAM), `flop` and `link_bytes` (sent or received over links) are over all runs too; `flop_by_roof` is by
    the unit that serves them. `moved` names the tensors with the bytes of each. `loose_by` is how many times the
    estimate of the operator is longer than its bound. `less` names the structure that lowered its FLOP.
    """

    node: str
    op: str
    where: str
    phase: Phase
    repeat: int
    roof: str
    flop: int
    flop_by_roof: dict[str, int]
    special: int
    bytes: int
    link_bytes: int
    moved: dict[str, int]
    seconds: float
    estimate_s: float
    loose_by: float | None
    less: str


class Roof(ToolModel):
    """One roof of the fused bound of a phase: `amount` is FLOP, bytes ("dram", "llc", "link"), or evaluations
    ("special"); `peak` is per second."""

    roof: str
    phase: Phase
    amount: int
    peak: float
    seconds: float


class Transfer(ToolModel):
    """One storage that must cross the DRAM bus in the fused bound of a phase, and which way."""

    tensor: str
    name: str
    role: str
    bytes: int
    phase: Phase = "forward"
    way: str = "in"


class Headroom(ToolModel):
    """A stated time against the bounds; ratios are stated / bound, None where nothing was measured."""

    measured_s: float | None
    over_fused: float | None
    over_unfused: float | None
    status: str


class PeakUsed(ToolModel):
    """A roof that decides something here: its rate, and the line of the data sheet that it is from."""

    per_second: float
    unit: str
    clock: str
    source: str


class Fidelities(ToolModel):
    """Lower bounds in seconds, from the least to the most that is known of the implementation."""

    fused_s: float
    cache_aware_s: float
    unfused_s: float


class MemoryBound(ToolModel):
    """Bytes that DRAM must hold at the same time at least; `saved` (for backward) is what eager autograd keeps beyond
    that, an estimate. `fits` compares the total with the device's capacity."""

    weights: int
    inputs: int
    outputs: int
    gradients: int
    optimizer: int
    kv_cache: int
    total: int
    saved: int
    fits: bool


class DeviceBounds(ToolModel):
    """The bounds on one device. The terms' seconds add up to `unfused_s`. `estimate_s` is no bound.

    `strict` are the bounds with float32 multiplied in float32. `launch_s` is the part of the estimate that starts
    kernels. `energy_j` is the sheet's power over the estimate, an upper end. `mfu` is the FLOP of matrix products over
    measured time and peak, without recomputation; `hfu` with it.
    """

    device: str
    cls: dict[str, str]
    dtype_peaks: dict[str, PeakUsed]
    unfused_s: float
    fused_s: float
    cache_aware_s: float
    strict: Fidelities
    estimate_s: float
    launches: int
    launch_s: float
    spread: float | None
    limiting_roof: str
    roofs: tuple[Roof, ...]
    flop: dict[str, int]
    arithmetic_intensity: float | None
    ridge_flop_per_byte: float
    terms: tuple[Term, ...]
    headroom: Headroom
    memory: MemoryBound
    energy_j: float | None
    mfu: float | None
    hfu: float | None


class Coverage(ToolModel):
    """Shares in [0, 1] of what was priced by a rule: of operators, of FLOP (an unmodelled operator counted as one per
    output element) and of unfused bytes."""

    ops: float
    flop: float
    bytes: float


class Bounds(ToolModel):
    """Bounds of one graph on several devices; FLOP and bytes do not depend on the device.

    `flop` is by the roof that the work asks for; `matrix_flop` is by family (matmul, convolution, attention), without
    the vector work beside it; `special` counts evaluations of special functions.
    """

    target: str
    assumed: tuple[str, ...]
    flop: dict[str, int]
    matrix_flop: dict[str, int]
    special: int
    repriced_as: str | None
    unfused_bytes: int
    fused_bytes: int
    transfers: tuple[Transfer, ...]
    coverage: Coverage
    unmodelled: tuple[str, ...]
    devices: tuple[DeviceBounds, ...]
