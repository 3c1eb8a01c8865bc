"""What this machine's CPU reaches, roof by roof, by plain kernels run in turn.

A roof is the best of all kernels of the run times `MARGIN`: what code that is a little better, or a moment that is a
little quieter, could reach. The kernels take turns, so that another load on the machine meets all of them alike, and
each keeps its best, its third best and its median: where the median is far below the best the run was disturbed
(`spread`), and where the third best is, the roof was met by luck (`repeated`).
"""

import datetime
import os
import platform
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.hardware.kernels import Buffers, Kernel, compute_kernels, dram_kernels, memory_kernels
from enlist.tools.solar.hardware.native import compiled

MARGIN = 1.15
_DRAM_OVER_CACHE = 4  # buffers of this many last-level caches come from DRAM
_LEAST_DRAM, _MOST_OF_MEMORY = 128 << 20, 1 / 8
_SECONDS, _QUICK_SECONDS = 25.0, 6.0  # of taking turns; the calls are short, so that some are not interrupted
_LEAST_ROUNDS = 3
_PRODUCT, _QUICK_PRODUCT = 768, 384
_WARM_BYTES = 64 << 20  # read from a cache in one call


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Level(_Strict):
    """One level of cache over all CPUs that this process may use; capacity in bytes."""

    name: str
    capacity: int = Field(gt=0)


class Measured(_Strict):
    """One kernel of a run: operations or bytes per second, the best, third best and median of `runs`."""

    roof: str
    kernel: str
    best: float = Field(gt=0)
    third: float = Field(gt=0)
    median: float = Field(gt=0)
    runs: int = Field(gt=0)


class Calibration(_Strict):
    """One run: the machine, the load average before and after, and every kernel."""

    cpu: str
    threads: int = Field(gt=0)
    date: str
    load: tuple[float, float]
    memory: int = Field(gt=0)
    caches: tuple[Level, ...]
    kernels: tuple[Measured, ...]

    @property
    def roofs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(k.roof for k in self.kernels))

    def fastest(self, roof: str) -> Measured:
        """The kernel that reached most of a roof."""
        return max((k for k in self.kernels if k.roof == roof), key=lambda k: k.best)

    def passed(self, level: str) -> str:
        """The roof whose kernels put most through a cache: its own, or one further out, as all of DRAM passes."""
        names = [c.name for c in self.caches] + ["dram"]
        able = [n for n in names[names.index(level):] if n in self.roofs]
        return max(able, key=lambda n: self.fastest(n).best)

    def roof(self, roof: str) -> float:
        """The upper limit taken for a roof, per second."""
        return MARGIN * self.fastest(roof).best

    def spread(self, roof: str) -> float:
        """Best over median of the fastest kernel: how much the run was disturbed by what else the machine did."""
        return self.fastest(roof).best / self.fastest(roof).median

    def settled(self) -> "Calibration":
        """The same run with third bests for bests: roofs that no single lucky moment made."""
        return self.model_copy(update={"kernels": tuple(
            k.model_copy(update={"best": k.third}) for k in self.kernels)})

    def repeated(self, roof: str) -> float:
        """Best over third best of the fastest kernel: near 1 where the roof was reached again and again."""
        return self.fastest(roof).best / self.fastest(roof).third


class Run:
    """Kernels that take turns; other work may be done between the rounds, and meets the machine as they do."""

    def __init__(self, kernels: Iterable[Kernel], caches: Sequence[Level]) -> None:
        self.caches, self._before = tuple(caches), _load()
        self._rates: dict[Kernel, list[float]] = {}
        for kernel in kernels:
            try:
                kernel.call()  # a first time, for what libraries prepare
            except (RuntimeError, AttributeError):  # a product that this build of torch lacks for this dtype
                continue
            self._rates[kernel] = []
        if not {"vector.fp32", "dram"} <= {k.roof for k in self._rates}:
            raise EnlistError("not_installed", "this CPU cannot be calibrated without torch or a C compiler",
                              fix="pip install torch, or install a C compiler")

    def round(self) -> None:
        """Every kernel once."""
        for kernel, found in self._rates.items():
            start = time.perf_counter()
            kernel.call()
            found.append(kernel.amount / (time.perf_counter() - start))

    def result(self) -> Calibration:
        """What was reached in all rounds so far."""
        return Calibration(
            cpu=cpu_model(), threads=usable_cpus(), date=datetime.datetime.now(datetime.UTC).isoformat("T", "minutes"),
            load=(self._before, _load()), memory=_memory(), caches=self.caches,
            kernels=tuple(_measured(k, sorted(found, reverse=True)) for k, found in self._rates.items()))


def _measured(kernel: Kernel, rates: list[float]) -> Measured:
    """A kernel with its rates, the best first."""
    return Measured(roof=kernel.roof, kernel=kernel.name, best=rates[0], third=rates[min(2, len(rates) - 1)],
                    median=rates[len(rates) // 2], runs=len(rates))


@contextmanager
def prepared(folder: Path, *, quick: bool = False) -> Iterator[Run]:
    """The kernels of this CPU, ready to take turns on all of its threads; `folder` takes the compiled ones.

    Raises `not_installed` where there is neither torch nor a C compiler.
    """
    threads, caches = usable_cpus(), cache_levels()
    with tempfile.TemporaryDirectory(dir=folder) as scratch, _torch_threads(threads):
        native = compiled(Path(scratch), threads)
        size = min(max(_LEAST_DRAM, _DRAM_OVER_CACHE * caches[-1].capacity), _memory() * _MOST_OF_MEMORY)
        kernels = [*dram_kernels(Buffers.of(int(size)), native),
                   *compute_kernels(native, _QUICK_PRODUCT if quick else _PRODUCT)]
        for level in caches[1:]:
            inside = Buffers.of(level.capacity // 4 // 4096 * 4096)  # two buffers fill half of it
            kernels += memory_kernels(level.name, inside, native, max(1, _WARM_BYTES // inside.size))
        yield Run(kernels, caches)


def measure(folder: Path, *, quick: bool = False) -> Calibration:
    """Calibrate this CPU: about a quarter of a minute when `quick`, half a minute otherwise; see `prepared`."""
    with prepared(folder, quick=quick) as run:
        end = time.perf_counter() + (_QUICK_SECONDS if quick else _SECONDS)
        turns = 0
        while turns < _LEAST_ROUNDS or time.perf_counter() < end:
            run.round()
            turns += 1
        return run.result()


@contextmanager
def _torch_threads(threads: int) -> Iterator[None]:
    try:
        import torch
    except ImportError:
        yield
        return
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def usable_cpus() -> int:
    """CPUs that this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def cpu_model() -> str:
    """The CPU's name as the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def cache_levels() -> list[Level]:
    """Data caches from the first level out, summed over the usable CPUs; 32 MiB where the system does not say."""
    cpus = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]
    instances: dict[int, dict[str, int]] = {}
    for cpu in cpus:
        for place in Path(f"/sys/devices/system/cpu/cpu{cpu}/cache").glob("index*"):
            said = {name: _read(place / name) for name in ("level", "type", "size", "shared_cpu_list")}
            if said["type"] in ("Data", "Unified") and said["size"].endswith("K"):
                level = instances.setdefault(int(said["level"]), {})
                level[said["shared_cpu_list"]] = int(said["size"][:-1]) << 10
    found = [Level(name=f"L{n}", capacity=sum(parts.values())) for n, parts in sorted(instances.items())]
    return found or [Level(name="L2", capacity=32 << 20)]


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return ""


def _memory() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _load() -> float:
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else 0.0
