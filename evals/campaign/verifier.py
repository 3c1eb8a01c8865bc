"""How the verifier works: read the samples again and compute every claim by another route.

Means and counts by exact fractions; intervals by a plain percentile bootstrap and tests by random sign flips, both with
Python's own generator, so that neither the numerical library nor the draws are those of the analyst.
"""

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from random import Random
from typing import Any

from enlist.agents.graph import Draft, State
from enlist.agents.work import Work
from enlist.evals.campaign.content import Settled, Table
from enlist.evals.campaign.tool import DIFFERENCE, SCORE, SUCCESSES, read_table
from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.findings import Check, Finding

ROUTE = "plain recomputation with other draws"
RELATIVE = 1e-9
OF_WIDTH, ABSOLUTE = 0.4, 0.01  # how far an interval's end may lie from the second one: BCa and percentile differ
OF_P = 0.05
Groups = dict[str, list[Fraction]]


def act(work: Work, state: State) -> Draft:
    """A check for every finding of the campaigns upstream."""
    made: list[Check] = []
    by_id = {f.id: f for f in work.upstream_findings()}
    draws = int(work.knobs["draws"] or 1000)
    for _, outcome in work.upstream_outcomes("campaign-leaderboard"):
        ref = ArtifactRef.model_validate(outcome["input"]["table"])
        table = read_table(work.memory.open_artifact(ref).read_bytes())
        found = [by_id[f["id"]] for f in outcome["findings"] if f["id"] in by_id]
        family = [float(f.conditions["p"] or 0) for f in found if f.predicate == DIFFERENCE]
        made += [_check(finding, table, family, draws) for finding in found]
    return Draft(data={"checked": len(made)}, checks=tuple(made))


def check(work: Work, state: State) -> list[str]:
    """Every claim has a verdict."""
    judged = {c.finding for c in state["draft"].checks}
    missing = [f for f in work.upstream_findings() if f.id not in judged]
    return [f"{len(missing)} findings have no check"] if missing else []


def _check(finding: Finding, table: Table, family: list[float], draws: int) -> Check:
    said = finding.conditions
    mine = [s for s in table.samples if (s.environment, s.solver) == (said["environment"], said["solver"])
            and s.counted]
    if finding.predicate == SUCCESSES:
        right = sum(s.verdict == "ok" for s in mine)
        wrong = right != finding.value or len(mine) != said["samples"]
        return _verdict(finding, f"counted {right} of {len(mine)}", wrong)
    if finding.predicate == SCORE:
        groups = _grouped({_place(s): Fraction(s.value) for s in mine}, mine)
    else:
        other = {_place(s): Fraction(s.value) for s in table.samples if s.counted
                 and (s.environment, s.solver) == (said["environment"], said["against"])}
        groups = _grouped({_place(s): Fraction(s.value) - other[_place(s)] for s in mine if _place(s) in other}, mine)
    return _check_mean(finding, groups, family, draws)


def _check_mean(finding: Finding, groups: Groups, family: list[float], draws: int) -> Check:
    said: Mapping[str, Any] = finding.conditions
    values = [v for group in groups.values() for v in group]
    if not values:
        return _verdict(finding, "no samples stand behind it", True)
    mean = float(sum(values) / len(values))
    if abs(mean - float(finding.value or 0)) > RELATIVE * max(1.0, abs(mean)) or len(groups) != said["tasks"]:
        return _verdict(finding, f"the mean is {mean:.6g} over {len(groups)} tasks", True)
    low, high = _interval(groups, draws)
    slack = OF_WIDTH * (high - low) + ABSOLUTE
    if abs(low - said["low"]) > slack or abs(high - said["high"]) > slack:
        return _verdict(finding, f"a second bootstrap gives {low:.3f} to {high:.3f}", True)
    if finding.predicate == DIFFERENCE:
        p = _flipped(groups, draws)
        adjusted = _holm(family, said["p"])
        if abs(p - said["p"]) > OF_P or abs(adjusted - said["adjusted_p"]) > RELATIVE:
            return _verdict(finding, f"sign flips give p = {p:.3f}, adjusted {adjusted:.3g} from the stated ones", True)
    return _verdict(finding, f"the same mean, and {low:.3f} to {high:.3f} by a second bootstrap", False)


def _place(sample: Settled) -> tuple[int, str]:
    return sample.seed, sample.task


def _grouped(values: Mapping[tuple[int, str], Fraction], samples: list[Settled]) -> Groups:
    groups: Groups = defaultdict(list)
    for sample in samples:
        if _place(sample) in values:
            groups[sample.group].append(values[_place(sample)])
    return dict(groups)


def _interval(groups: Groups, draws: int) -> tuple[float, float]:
    sums = [(float(sum(group)), len(group)) for group in groups.values()]
    random, means = Random(1), []
    for _ in range(draws):
        drawn = random.choices(sums, k=len(sums))
        means.append(sum(s for s, _ in drawn) / sum(n for _, n in drawn))
    means.sort()
    return means[int(0.025 * draws)], means[min(draws - 1, int(0.975 * draws))]


def _flipped(groups: Groups, draws: int) -> float:
    sums = [float(sum(group)) for group in groups.values() if sum(group)]
    if not sums:
        return 1.0
    observed, random = abs(sum(sums)) * (1 - 1e-9), Random(2)
    hits = sum(abs(sum(s if random.random() < 0.5 else -s for s in sums)) >= observed for _ in range(draws))
    return hits / draws


def _holm(family: list[float], p: float) -> float:
    """Holm's adjusted p by its definition: the largest of (m - i) p_i, from i = 0, over the p_i up to this one."""
    ordered = sorted(family)
    return max(min(1.0, (len(ordered) - i) * q) for i, q in enumerate(ordered) if q <= p)


def _verdict(finding: Finding, reason: str, wrong: bool) -> Check:
    return Check(finding=finding.id, status="refuted" if wrong else "confirmed", route=ROUTE, reason=reason)
