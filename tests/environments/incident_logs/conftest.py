"""One small stream, written once: a story on a system, its truth, and its files."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from enlist.environments.incident_logs.catalog import Plot
from enlist.environments.incident_logs.model import Incident
from enlist.environments.incident_logs.reference import Reference
from enlist.environments.incident_logs.write import write


@dataclass(frozen=True)
class Written:
    plot: Plot
    incident: Incident
    reference: Reference
    folder: Path

    def text(self) -> dict[str, str]:
        return {name: (self.folder / name).read_text(encoding="utf-8") for name in self.reference.lines}

    def said(self, fact: str) -> list[str]:
        """The lines of a fact, as they stand in the files."""
        found = next(f for f in self.reference.facts if f.id == fact)
        text = {name: self.text()[name].split("\n") for name in found.lines}
        return [text[name][n - 1] for name, numbers in found.lines.items() for n in numbers]


def _written(plot: Plot, folder: Path) -> Written:
    incident, (start, span) = plot.incident(), plot.window()
    return Written(plot, incident, write(incident, folder, start=start, span=span, lines=plot.lines,
                                         control=plot.control), folder)


@pytest.fixture(scope="session")
def written() -> Callable[[Plot, Path], Written]:
    """Writes a plot into a folder."""
    return _written


@pytest.fixture(scope="session")
def told(tmp_path_factory: pytest.TempPathFactory) -> Written:
    return _written(Plot("lock_contention", "mesh", 11, 1500), tmp_path_factory.mktemp("told"))
