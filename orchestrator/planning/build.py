"""From matched capabilities to a plan: roles, who gets which attachment, and which kinds the edges hand over.

Each capability gets one analyst (or one per attached target) and one verifier; one writer serves the plan. Where one
capability reads what another writes and both are asked for, their analysts form a chain. All else joins at the writer.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

from enlist.orchestrator.capabilities import Capability, artifact_kinds
from enlist.orchestrator.plan import Edge, Missing, Nearest, Plan, Planning, Role, validate
from enlist.orchestrator.planning.meaning import Meaning
from enlist.orchestrator.planning.route import Evidence, route
from enlist.orchestrator.request import Attachment, Request

MOST_ANALYSTS = 16
"""Analysts of one capability; more attachments than that are named as missing, never dropped in silence."""
MOST_NEAREST = 3
WORKED_ON, MAY_ACCOMPANY, ACCOMPANIES = range(3)
WRITER, CHECKS, REPORT = "writer", "checks", "report"


def plan_request(request: Request, capabilities: Mapping[str, Capability], installed: Collection[str],
                 meaning: Meaning | None = None) -> Planning:
    """The plan for a request, what is missing of it, and the nearest capabilities; equal for equal requests.

    `installed` names the capabilities that agents can be enlisted for. The plan is None where no installed capability
    matches or where what it needs is not attached; `missing` says which and what to do. Where nothing matches at all,
    `missing` is empty and `nearest` names up to three capabilities, honest about how near they are.
    """
    kinds = {kind for attachment in request.attachments for kind in attachment.kinds}
    routing = route(request.text, kinds, capabilities, meaning)
    asked = [capabilities[e.capability] for e in routing.matched]
    missing = [Missing(capability=c.id, reason="known, not installed") for c in asked if c.id not in installed]
    missing += [Missing(capability=e.capability, reason=reason) for e in routing.matched if e.capability in installed
                for reason in e.not_yet]
    served = _with_what_they_need([c for c in asked if c.id in installed], request.attachments, missing)
    chain = _chain(served, {e.capability: e.first for e in routing.matched})
    plan = None
    if served:
        plan = validate(_assemble(served, chain, request.attachments, missing), capabilities)
    return Planning(plan=plan, missing=tuple(missing), nearest=_nearest(routing.matched, routing.near, installed))


def _with_what_they_need(served: list[Capability], attachments: Sequence[Attachment],
                         missing: list[Missing]) -> list[Capability]:
    """Those whose needs are attached or written by another one that is served; the rest join `missing`. What can only
    accompany other files fills no need."""
    while True:
        lacking = [c for c in served if c.needs and not set(c.needs) & (
            {k for a in attachments if _standing(a, c) != ACCOMPANIES for k in a.kinds}
            | {w for other in served if other is not c for w in other.writes})]
        if not lacking:
            return served
        for c in lacking:
            what = artifact_kinds().get(c.needs[0], "the file with --attach")
            others = f", or {', '.join(c.needs[1:])}" if len(c.needs) > 1 else ""
            missing.append(Missing(capability=c.id, reason=f"needs a {c.needs[0]}: attach {what}{others}"))
        served = [c for c in served if c not in lacking]


def _chain(served: Sequence[Capability], first: Mapping[str, int]) -> list[tuple[Capability, Capability, str]]:
    """Hand-overs between capabilities: (source, target, kind), without a circle; of two ways round, the one that the
    text names first comes first."""
    after: dict[str, set[str]] = {c.id: set() for c in served}
    links = []
    for source in sorted(served, key=lambda c: (first[c.id], c.id)):
        for target in served:
            kind = next((k for k in source.writes if k in target.reads), None)
            if kind is None or target is source or source.id in _reach(target.id, after):
                continue
            after[source.id].add(target.id)
            links.append((source, target, kind))
    return links


def _reach(start: str, after: Mapping[str, set[str]]) -> set[str]:
    found, stack = {start}, [start]
    while stack:
        new = after[stack.pop()] - found
        found |= new
        stack += new
    return found


def _assemble(served: Sequence[Capability], chain: Sequence[tuple[Capability, Capability, str]],
              attachments: Sequence[Attachment], missing: list[Missing]) -> Plan:
    roles: list[Role] = []
    edges: list[Edge] = []
    analysts: dict[str, list[Role]] = {}
    for c in served:
        analysts[c.id] = _analysts(c, attachments, missing)
        inputs = tuple(dict.fromkeys(sha for role in analysts[c.id] for sha in role.inputs))
        verifier = Role(id=f"{c.id}.verifier", capability=c.id, duty="verifier", reads=c.writes, writes=(CHECKS,),
                        inputs=inputs)
        roles += [*analysts[c.id], verifier]
        for analyst in analysts[c.id]:
            edges.append(_edge(analyst.id, verifier.id, c.writes[0]))
            edges += [_edge(analyst.id, WRITER, kind) for kind in c.writes]
        edges.append(_edge(verifier.id, WRITER, CHECKS))
    for source, target, kind in chain:
        edges += [_edge(a.id, b.id, kind)
                  for a, b in _pairs(analysts[source.id], analysts[target.id])]
    reads = tuple(dict.fromkeys([kind for c in served for kind in c.writes] + [CHECKS]))
    roles.append(Role(id=WRITER, capability=None, duty="writer", reads=reads, writes=(REPORT,)))
    return Plan(roles=tuple(roles), edges=tuple(edges))


def _edge(source: str, target: str, kind: str) -> Edge:
    return Edge.model_validate({"from": source, "to": target, "artifact": kind})


def _pairs(sources: Sequence[Role], targets: Sequence[Role]) -> list[tuple[Role, Role]]:
    """Analysts of the same attachment where all pair up so, else each with each."""
    by_target = {source.inputs[:1]: source for source in sources}
    if len(by_target) == len(sources) == len(targets) and all(t.inputs[:1] in by_target for t in targets):
        return [(by_target[target.inputs[:1]], target) for target in targets]
    return [(source, target) for target in targets for source in sources]


def _analysts(c: Capability, attachments: Sequence[Attachment], missing: list[Missing]) -> list[Role]:
    readable = sorted((a for a in attachments if set(a.kinds) & set(c.reads) | set(a.kinds) & set(c.companions)),
                      key=lambda a: (a.ref.name, a.ref.sha256))
    first = min((_standing(a, c) for a in readable), default=ACCOMPANIES)
    targets = [a for a in readable if _standing(a, c) == first and set(a.kinds) & set(c.reads)]
    beside = tuple(a.ref.sha256 for a in readable if a not in targets)
    if not c.fan_out or len(targets) < 2:
        shas = tuple(dict.fromkeys((*(a.ref.sha256 for a in targets), *beside)))
        return [_analyst(f"{c.id}.analyst", c, shas)]
    for left_out in targets[MOST_ANALYSTS:]:
        missing.append(Missing(capability=c.id, reason=f"{left_out.ref.name!r} was left out: at most {MOST_ANALYSTS} "
                                                       "attachments are analysed in one run; ask again with the rest"))
    return [_analyst(f"{c.id}.analyst.{i}", c, (a.ref.sha256, *beside))
            for i, a in enumerate(targets[:MOST_ANALYSTS], start=1)]


def _standing(attachment: Attachment, c: Capability) -> int:
    """What to do with an attachment: `WORKED_ON`; `MAY_ACCOMPANY` one of these, else worked on itself; `ACCOMPANIES`
    even those, by the best of its kinds."""
    concerned = [k for k in attachment.kinds if k in c.reads or k in c.companions]
    if not concerned or concerned[0] in c.companions:
        return ACCOMPANIES
    return MAY_ACCOMPANY if set(concerned) & set(c.companions) else WORKED_ON


def _analyst(id: str, c: Capability, inputs: tuple[str, ...]) -> Role:
    return Role(id=id, capability=c.id, duty="analyst", reads=c.reads, writes=c.writes, inputs=inputs)


def _nearest(matched: Sequence[Evidence], near: Sequence[Evidence], installed: Collection[str]) -> tuple[Nearest, ...]:
    """What matched, and beside it what came near, up to three in all or as many as matched.

    Those come first of which the text asks what is not answered yet. `out_of_scope`: the words that speak for the
    capability turn out to be about something else.
    """
    def status(e: Evidence) -> Literal["installed", "not_installed", "out_of_scope"]:
        if e.lures and not e.words:
            return "out_of_scope"
        return "installed" if e.capability in installed else "not_installed"

    others = sorted(near, key=lambda e: (not e.not_yet, status(e) != "out_of_scope", -e.total, e.capability))
    chosen = [*matched, *others[:max(0, MOST_NEAREST - len(matched))]]
    return tuple(Nearest(capability=e.capability, status=status(e), score=e.score, reason=e.reason) for e in chosen)
