"""Every environment that ships has a campaign that ships, and every shipped campaign can be planned."""

from pathlib import Path

import pytest

from enlist.evals.campaign.file import read_file
from enlist.evals.campaign.plan import make_plan
from enlist.orchestrator.sniff import sniff
from enlist.tools.runtime import registry

FILES = sorted((Path(__file__).parents[3] / "evals" / "campaigns").glob("*.yaml"))


def test_every_environment_that_ships_has_a_campaign_of_its_name() -> None:
    ours = {name for name, point in registry.entries("enlist.environments").items()
            if point.value.startswith("enlist.")}
    assert ours and {name for name in ours if f"{name}.yaml" in {f.name for f in FILES}} == ours


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_an_attached_campaign_is_known_by_its_content(path: Path) -> None:
    data = path.read_bytes()
    assert sniff(data, "attached.txt", len(data)).kinds == ("campaign",)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_a_shipped_campaign_plans_all_that_it_names(path: Path) -> None:
    file = read_file(path)
    plan = make_plan(file, limit=1)
    assert plan.samples and all(not rows.not_run for rows in plan.rows)
    for rows in plan.rows:
        assert len(rows.solvers) >= 2
