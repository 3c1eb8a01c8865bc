"""Compare the bounds with the second count, finding by finding.

FLOP of matrix products, convolutions and attention must agree exactly, else every bound is refuted. Then each bound is
priced again from the count's launches and the data sheet. `not_checked` where the count cannot tell (operators without
a model, bounds that vector work decides, another dtype than the model's, FLOP that the two price in different dtypes)
and where the bound is lower than the count allows: with both times, if they are far apart.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Literal

from enlist.tools.runtime.findings import Check, CheckStatus, Finding
from enlist.tools.runtime.tool import ToolModel
from enlist.tools.solar.hardware import Device, resolve
from enlist.tools.solar.pricing.bounds import Bounds, DeviceBounds
from enlist.tools.solar.pytorch.check import Count, Launch
from enlist.tools.solar.report.amounts import amount, duration
from enlist.tools.solar.rules.lean import LEFT_OUT

ROUTE = "solar-check"
_FAR = 1.5  # a factor that no such difference explains
_TOLERANCE = 0.05  # the two routes see small helper outputs (norm statistics) and partial reads differently
Quantity = Literal["fused_s", "unfused_s"]


class Verdict(ToolModel):
    """One bound against the second count; `recounted_s` is None where it could not be priced."""

    device: str
    quantity: Quantity
    stated_s: float
    recounted_s: float | None
    status: CheckStatus
    reason: str


def verdicts(stated: Bounds, counted: Count) -> list[Verdict]:
    """A verdict for each bound of each device."""
    quantities: tuple[Quantity, ...] = ("fused_s", "unfused_s")
    return [_verdict(one, quantity, stated, counted) for one in stated.devices for quantity in quantities]


def checks(findings: Iterable[Finding], stated: Bounds, counted: Count) -> list[Check]:
    """The check of each finding that `solar-bounds` made."""
    by_claim = {(v.device, {"fused_s": "fused lower bound", "unfused_s": "unfused lower bound"}[v.quantity]): v
                for v in verdicts(stated, counted)}
    made = []
    for finding in findings:
        device = str(finding.conditions.get("device"))
        verdict = by_claim.get((device, finding.predicate))
        if verdict is not None:
            status, reason = verdict.status, verdict.reason
        else:
            status, reason = "not_checked", "a stated time cannot be checked without running the model on the device"
        made.append(Check(finding=finding.id, status=status, route=ROUTE, reason=reason))
    return made


def _verdict(one: DeviceBounds, quantity: Quantity, stated: Bounds, counted: Count) -> Verdict:
    value = one.fused_s if quantity == "fused_s" else one.unfused_s

    def decide(status: CheckStatus, reason: str, again: float | None = None) -> Verdict:
        return Verdict(device=one.device, quantity=quantity, stated_s=value, recounted_s=again, status=status,
                       reason=reason)

    if stated.unmodelled:
        return decide("not_checked", f"operators without a model: {', '.join(stated.unmodelled)}")
    for family, n in (("matmul", counted.matmul_flop), ("convolution", counted.convolution_flop),
                      ("attention", counted.attention_flop)):
        if stated.matrix_flop.get(family, 0) < n and (less := _structure(one, stated)):
            return decide("not_checked", f"structure lowers the FLOP of the bound ({less}); the second count "
                                         "multiplies all")
        if stated.matrix_flop.get(family, 0) != n:
            return decide("refuted", f"{family}: the graph has {stated.matrix_flop.get(family, 0)} FLOP, "
                                     f"the second count {n}")
    if stated.repriced_as:
        return decide("not_checked", f"matrix FLOP agree; the time is priced in {stated.repriced_as}, the count is not")
    (device,) = (d for d in resolve([one.device]) if d.name == one.device)
    again, of_vector = (_fused(counted, device), _vector_decides(one, counted)) if quantity == "fused_s" else (
        _unfused(counted, device), any(t.roof.startswith("vector") and t.op not in _MATRIX_OPS for t in one.terms))
    difference = value / again - 1 if again else float(value > 0)
    said = f"counted again: {duration(again)}, {difference:+.1%}" if again else "the second count finds no work"
    if abs(difference) <= _TOLERANCE:
        return decide("confirmed", f"matrix FLOP agree exactly; {said}", again)
    far = again > _FAR * value or value > _FAR * again
    if far and (roofs := _priced_apart(stated, counted)):
        return decide("not_checked", f"matrix FLOP agree but not the dtype that they are priced in ({roofs}): stated "
                                     f"{duration(value)}, counted again {duration(again)}", again)
    if of_vector:
        return decide("not_checked", f"matrix FLOP agree; vector FLOP decide and have no second count ({said})", again)
    if difference > 0:
        return decide("refuted", f"the bound is higher than the second count allows; {said}", again)
    if far:
        return decide("not_checked", "matrix FLOP agree but the second count is too far off to tell: stated "
                                     f"{duration(value)}, counted again {duration(again)}", again)
    return decide("not_checked", f"matrix FLOP agree and the bound is on the safe side; {said}", again)


def _structure(one: DeviceBounds, stated: Bounds) -> str:
    """What lowers the FLOP that the second count does not know of."""
    known = ("", "padding is not multiplied", "causal half", "no window touches a part of the input")
    left_out = [line for line in stated.assumed if line.startswith(LEFT_OUT)]
    return ", ".join([*left_out, *list(dict.fromkeys(t.less for t in one.terms if t.less not in known))[:3]])


def _priced_apart(stated: Bounds, counted: Count) -> str:
    """The tensor-core roofs on which the two routes put different FLOP; "" where there are none.

    The only roof of matrix work beside them is that of float32 products, so it differs only where one of these does.
    """
    again: Counter[str] = Counter()
    for launch in counted.launches:
        again[_roof(launch)] += launch.flop * launch.count
    roofs = sorted(r for r in {*stated.flop, *again} if r.startswith("tensor.") and stated.flop.get(r, 0) != again[r])
    return ", ".join(f"{r}: {amount(stated.flop.get(r, 0), 'FLOP')} and {amount(again[r], 'FLOP')}" for r in roofs)


_MATRIX_OPS = ("linear", "matmul", "mm", "addmm", "bmm", "baddbmm", "mv", "dot", "scaled_dot_product_attention")
_UNIT = {"float64": "fp64", "float32": "fp32", "tf32": "tf32", "float16": "fp16", "bfloat16": "bf16",
         "float8_e4m3fn": "fp8", "float8_e5m2": "fp8", "int8": "int8", "uint8": "int8"}


def _roof(launch: Launch) -> str:
    """PyTorch's defaults: float32 matrix products without TF32, convolutions and attention kernels with it."""
    if launch.dtype == "float32":
        return "tensor.tf32" if launch.family in ("convolution", "attention") else "tensor.fp32"
    return f"tensor.{_UNIT.get(launch.dtype, 'fp16')}"


def _unfused(counted: Count, device: Device) -> float:
    return sum(x.count * max(x.flop / device.peak(_roof(x)), x.bytes / device.dram_bandwidth.value)
               for x in counted.launches)


def _fused(counted: Count, device: Device) -> float:
    flop: Counter[str] = Counter()
    for launch in counted.launches:
        flop[device.serves(_roof(launch))] += launch.flop * launch.count
    moved = counted.parameter_bytes + counted.input_bytes + counted.output_bytes
    return max(moved / device.dram_bandwidth.value, *(n / device.peak(roof) for roof, n in flop.items()), 0.0)


def _vector_decides(one: DeviceBounds, counted: Count) -> bool:
    """Whether the largest roof is one where vector work, which the count does not have, is a good part."""
    (device,) = (d for d in resolve([one.device]) if d.name == one.device)
    matrix = sum(x.flop * x.count for x in counted.launches if device.serves(_roof(x)) == one.limiting_roof)
    return one.limiting_roof.startswith("vector") and matrix < one.roofs[0].amount * (1 - _TOLERANCE)
