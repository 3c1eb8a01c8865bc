"""No module runs faster on this CPU than its calibrated bound: the benchmark, as a test."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

BENCHMARK = Path(__file__).parents[3] / "benchmarks" / "solar_local.py"


@pytest.fixture(scope="module")
def benchmark() -> ModuleType:
    spec = importlib.util.spec_from_file_location("solar_local", BENCHMARK)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made  # its dataclasses look themselves up there
    spec.loader.exec_module(made)
    return made


def test_there_are_enough_different_modules(benchmark: ModuleType) -> None:
    assert len({benchmark.model_file(*case) for case in benchmark.CASES.values()}) >= 45


@pytest.mark.slow
def test_forty_modules_with_small_shapes_never_beat_their_bound(benchmark: ModuleType) -> None:
    found = benchmark.measure(rounds=6, most=40, quick=True)
    assert found["violations"] == [], "\n".join(found["lines"])
    if found["verdict"] == "undecided":
        pytest.skip(f"the machine is too busy, load {found['load']}: {found['decided']} modules decided")
    assert found["decided"] >= 40
