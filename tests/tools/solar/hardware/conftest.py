"""A device of nobody's, whose sheet adds up; tests break it."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml

SHEET = """
sources: {sheet: "Example Corp. X1 data sheet, table 2"}
architectures:
  x1: {tensor.bf16: 4096, vector.fp32: 256, special: 16}
devices:
  - name: Example X1
    maker: Example
    kind: accelerator
    architecture: x1
    aliases: [X1, Example family]
    verified: false
    units: {count: 100, what: core, source: sheet}
    clocks: {boost: {value: 1.5, unit: GHz, source: sheet}}
    peaks:
      tensor.bf16: {value: 614.4, unit: TFLOP/s, dense: true, clock: boost, source: sheet}
      vector.fp32: {value: 38.4, unit: TFLOP/s, dense: true, clock: boost, source: sheet}
    dram_bandwidth: {value: 2.4576, unit: TB/s, source: sheet}
    dram_capacity: {value: 64, unit: GiB, source: sheet}
    memory: {bus: {value: 4096, unit: bit, source: sheet}, rate: {value: 4.8, unit: Gtransfer/s, source: sheet}}
    caches:
      - {name: registers, capacity: {value: 25, unit: MiB, source: sheet}}
      - {name: L2, capacity: {value: 64, unit: MiB, source: sheet}}
    interconnect: {name: link, bandwidth: 200, unit: GB/s, links: 8, per_link: 25, peers: 8, topology: switch,
                   source: sheet}
"""


@pytest.fixture
def sheet() -> Callable[..., str]:
    """The sheet as text, after `change(device, whole)`."""

    def write(change: Callable[[dict[str, Any], dict[str, Any]], object] | None = None) -> str:
        data = yaml.safe_load(SHEET)
        if change is not None:
            change(data["devices"][0], data)
        return yaml.safe_dump(data)

    return write
