"""Device figures: published ones pass, the usual slips do not."""

from collections.abc import Callable
from importlib.resources import files

import pytest
import yaml

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.solar.hardware import devices, parse_devices, resolve

PUBLISHED = {  # dense FLOP/s and byte/s of NVIDIA's data sheets, rounded as printed there
    ("A100 SXM 80GB", "tensor.bf16"): 312e12, ("A100 SXM 80GB", "tensor.tf32"): 156e12,
    ("A100 SXM 80GB", "vector.fp32"): 19.5e12, ("H100 SXM", "tensor.bf16"): 989e12,
    ("H100 SXM", "tensor.fp8"): 1979e12, ("H100 SXM", "vector.fp32"): 67e12,
    ("H100 PCIe", "tensor.bf16"): 756e12, ("H100 PCIe", "vector.fp32"): 51e12,
}


@pytest.mark.parametrize(("device", "roof"), PUBLISHED)
def test_a_peak_is_the_published_dense_one(device: str, roof: str) -> None:
    (found,) = (d for d in devices() if d.name == device)
    assert found.peak(roof) == pytest.approx(PUBLISHED[device, roof], rel=0.005)


def test_every_figure_names_its_source() -> None:
    for device in devices():
        for figure in (device.sms, device.dram_bandwidth, device.dram_capacity, device.l2, *device.clocks.values(),
                       *device.peaks.values()):
            assert figure.source.startswith("NVIDIA")


def altered(change: Callable[[dict], None]) -> str:
    data = yaml.safe_load(files("enlist.tools.solar").joinpath("hardware", "nvidia.yaml").read_text(encoding="utf-8"))
    change(data["devices"][1])
    return yaml.safe_dump(data)


@pytest.mark.parametrize(("factor", "hint"), [(2.0, "sparsity"), (0.5, "multiply-adds"), (1.08, "1.08")])
def test_a_peak_that_does_not_add_up_is_refused(factor: float, hint: str) -> None:
    def slip(device: dict) -> None:
        device["peaks"]["tensor.bf16"]["value"] *= factor

    with pytest.raises(EnlistError, match=hint) as caught:
        parse_devices(altered(slip))
    assert caught.value.code == "bad_input"


def test_a_figure_marked_sparse_is_refused() -> None:
    with pytest.raises(EnlistError):
        parse_devices(altered(lambda d: d["peaks"]["tensor.bf16"].update(dense=False)))


@pytest.mark.parametrize("name", ["H100 PCIe", "h100-pcie", "H100PCIE", "nvidia h100 pcie"])
def test_case_spaces_and_hyphens_do_not_matter(name: str) -> None:
    assert [d.name for d in resolve([name])] == ["H100 PCIe"]


def test_a_family_gives_its_variants_once() -> None:
    assert [d.name for d in resolve(["H100", "h100 sxm"])] == ["H100 SXM", "H100 PCIe"]


def test_an_unknown_device_names_the_nearest_ones() -> None:
    with pytest.raises(EnlistError, match="H100 PCIe") as caught:
        resolve(["H100 PCI"])
    assert caught.value.code == "not_found" and caught.value.fix is not None
