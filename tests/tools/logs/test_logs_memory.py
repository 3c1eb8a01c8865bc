"""Memory does not grow with the number of lines."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

PEAK = """
import json, resource, sys
from enlist.tools.logs.analysis import analyse
made = analyse([sys.argv[1]])
print(json.dumps([made.account.lines_read, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss]))
"""


def peak(path: Path, lines: int) -> int:
    """KiB at the peak of analysing a log of some lines, one each 100 ms."""
    with path.open("w") as file:
        for i in range(lines):
            ms = 100 * i
            file.write(f"2026-03-{1 + ms // 86_400_000:02d}T{ms // 3_600_000 % 24:02d}:{ms // 60_000 % 60:02d}:"
                       f"{ms // 1000 % 60:02d}.{ms % 1000:03d}Z INFO request "
                       f"{i * 7919 % 1_000_003} took {i % 400} ms\n")
    ended = subprocess.run([sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, check=True)
    read, most = json.loads(ended.stdout)
    assert read == lines
    return int(most)


@pytest.mark.slow
def test_a_million_lines_take_about_the_memory_of_a_tenth(tmp_path: Path) -> None:
    few, many = peak(tmp_path / "few.log", 100_000), peak(tmp_path / "many.log", 1_000_000)
    assert many < few + (60 << 10)
