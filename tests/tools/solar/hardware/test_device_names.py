"""Devices by the names that people use for them."""

from pathlib import Path

import pytest

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.hardware import devices, resolve


@pytest.mark.parametrize("name", ["H100 PCIe", "h100-pcie", "H100PCIE", "nvidia h100 pcie"])
def test_case_spaces_and_hyphens_do_not_matter(name: str) -> None:
    assert [d.name for d in resolve([name])] == ["H100 PCIe"]


def test_a_family_gives_its_variants_once() -> None:
    assert [d.name for d in resolve(["H100", "h100 sxm"])] == ["H100 SXM", "H100 PCIe"]
    assert sorted(d.name for d in resolve(["A100"])) == [
        "A100 PCIe 40GB", "A100 PCIe 80GB", "A100 SXM 40GB", "A100 SXM 80GB"]


def test_every_device_is_found_by_its_name_and_no_name_means_two() -> None:
    for device in devices():
        assert resolve([device.name]) == (device,)


def test_an_unknown_device_names_the_nearest_ones() -> None:
    with pytest.raises(EnlistError, match="H100 PCIe") as caught:
        resolve(["H100 PCI"])
    assert caught.value.code == "not_found" and "H100 PCIe" in (caught.value.fix or "")


def test_a_missing_sheet_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(EnlistError) as caught:
        devices(tmp_path / "mine.yaml")
    assert caught.value.code == "not_found"


def test_the_page_lists_every_device_that_ships_with_its_figures() -> None:
    page = (Path(__file__).parents[4] / "docs" / "speed-of-light-hardware.md").read_text(encoding="utf-8")
    rows = {cells[1].strip(): cells for line in page.splitlines() if len(cells := line.split("|")) == 10}
    for device in devices():
        cells = rows[device.name]
        assert cells[3].strip() == f"{device.peak('tensor.bf16') / 1e12:.4g} T"
        assert cells[5].strip() == f"{device.dram_capacity.value / 2**30:.4g} GiB"
        assert cells[6].strip() == f"{device.dram_bandwidth.value / 1e9:.5g} GB/s"
        assert cells[8].strip() == ("yes" if device.verified else "no")
    assert len(rows) == len(devices()) + 2  # heading and rule


def test_the_sheet_on_the_page_is_one(tmp_path: Path) -> None:
    page = (Path(__file__).parents[4] / "docs" / "speed-of-light-hardware.md").read_text(encoding="utf-8")
    (tmp_path / "page.yaml").write_text(page.partition("```yaml\n")[2].partition("```")[0], encoding="utf-8")
    (found,) = resolve(["X1"], tmp_path / "page.yaml")
    assert found.peak("tensor.bf16") == 614e12
