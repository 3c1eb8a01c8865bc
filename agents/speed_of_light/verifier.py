"""How the verifier works: count the model's work by another route and hold every claim against it."""

from typing import Any

from enlist.agents.graph import Draft, State
from enlist.agents.work import Work
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.findings import Check, Finding
from enlist.tools.solar.confirm import ROUTE, checks
from enlist.tools.solar.pricing.bounds import Bounds
from enlist.tools.solar.pytorch.check import Count

STATED_ROUTE = "the request's own words"
FUSED = "fused lower bound"
RELATIVE = 1e-9  # of a division that is done again


def act(work: Work, state: State) -> Draft:
    """A check for every finding of the analysts upstream."""
    made: list[Check] = []
    captures = {(role, c["output"]["graph"]["sha256"]): c for role, c in work.upstream_outcomes("solar-capture")}
    by_id = {f.id: f for f in work.upstream_findings()}
    for role, outcome in work.upstream_outcomes("solar-bounds"):
        found = [by_id[f["id"]] for f in outcome["findings"] if f["id"] in by_id]
        capture = captures.get((role, outcome["input"]["graph"]["sha256"]))
        stated = Bounds.model_validate(outcome["output"])
        counted, reason = _count(work, role, capture, state["round"])
        if counted is None:
            made += [Check(finding=f.id, status="not_checked", route=ROUTE, reason=reason) for f in found]
        else:
            made += checks(found, stated, counted)
        if work.knobs["stated"]:
            made = _with_stated(work, made, found, stated)
    return Draft(data={"checked": len(made)}, checks=tuple(made))


def check(work: Work, state: State) -> list[str]:
    """Complaints: findings without a check, and counts that could not be made."""
    made = state["draft"].checks
    missing = {f.id for f in work.upstream_findings()} - {c.finding for c in made}
    complaints = [f"{len(missing)} findings have no check"] if missing else []
    return complaints + sorted({c.reason for c in made if c.reason.startswith("the second count failed")})


def _count(work: Work, role: str, capture: dict[str, Any] | None, round: int) -> tuple[Count | None, str]:
    """The second count of a captured model, or None and why there is none."""
    if capture is None:
        return None, "the model that these bounds are of is not in the journal"
    counts = []
    for n in range(int(work.knobs["recount"] or 1)):
        try:
            counts.append(work.call("solar-check", f"count:{role}:{round}:{n}", capture["input"]).output)
        except EnlistError as error:
            late = error.code == "timeout" and work.out_of_time()
            if late or error.kind in ("control", "transient"):
                raise  # this says nothing of the model: the count is made when the run goes on
            return None, f"the second count failed: {error.message}"
    if any(c != counts[0] for c in counts):
        return None, "two counts of the same model differ, so neither tells"
    return counts[0], ""


def _with_stated(work: Work, made: list[Check], found: list[Finding], bounds: Bounds) -> list[Check]:
    """`made` with the check of each ratio to a stated time replaced by one that reads the request and divides again."""
    ratios = {f.id: f for f in found if f.tier == "stated"}
    kept = [c for c in made if c.finding not in ratios]
    for finding in ratios.values():
        kept.append(_check_ratio(work, finding, bounds, _standing(finding, found, made)))
    return kept


def _standing(ratio: Finding, found: list[Finding], made: list[Check]) -> str:
    """The verdict on the fused bound that a ratio divides by."""
    device = ratio.conditions.get("device")
    bound = next((f.id for f in found if f.predicate == FUSED and f.conditions.get("device") == device), None)
    return next((c.status for c in made if c.finding == bound), "not_checked")


def _check_ratio(work: Work, finding: Finding, bounds: Bounds, standing: str) -> Check:
    def verdict(status: str, reason: str) -> Check:
        return Check.model_validate({"finding": finding.id, "status": status, "route": STATED_ROUTE, "reason": reason})

    device = next((d for d in bounds.devices if d.device == finding.conditions.get("device")), None)
    said = next((m for m in work.request["measurements"] if m["quantity"] == "time" and device is not None
                 and m["value"] == device.headroom.measured_s), None)
    if said is None or device is None:
        return verdict("not_checked", "the request states no such time, or the device has no bound")
    if said["quote"] not in work.request["text"]:
        return verdict("refuted", f"the request does not say {said['quote']!r}")
    again = said["value"] / device.fused_s
    if abs(again - float(finding.value or 0.0)) > RELATIVE * again:
        return verdict("refuted", f"{said['value']:.4g} s over {device.fused_s:.4g} s is {again:.4g}")
    if standing != "confirmed":
        return verdict(standing, f"the division is right, but the bound that it divides by is {standing}")
    return verdict("confirmed", f"{said['quote']!r} over the fused bound is {again:.4g}; the time itself is the user's "
                                "statement and was not measured here")
