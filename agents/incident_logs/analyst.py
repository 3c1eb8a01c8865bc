"""How the analyst works: one call over all attached logs, within the window that the request names."""

import re

from enlist.agents.graph import Draft, State
from enlist.agents.work import Work
from enlist.tools.runtime.errors import EnlistError

_STAMP = re.compile(r"\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?")
_BETWEEN = re.compile(rf"(?:between|from)\s+({_STAMP.pattern})\s+(?:and|to|until)\s+({_STAMP.pattern})", re.IGNORECASE)
_AROUND = re.compile(rf"(?:around|about|at|near)\s+({_STAMP.pattern})", re.IGNORECASE)


def act(work: Work, state: State) -> Draft:
    """What happened in the attached logs."""
    logs = [one.ref.model_dump() for one in work.inputs if "log" in one.kinds]
    if not logs:
        raise EnlistError("bad_input", "no attached file is a log",
                          given=", ".join(one.ref.name for one in work.inputs) or "no attachment",
                          allowed="lines of text with times, JSON lines, archives of such",
                          fix="attach it with --attach")
    window = _window(str(work.request["text"])) if work.knobs["window"] == "asked" else {}
    outcome = work.call("logs-summary", "summary", {"logs": logs, **window})
    document = outcome.output.model_dump()["document"]
    return Draft(data={"incident": document["incident"], "claims": len(document["claims"]),
                       "verified": sum(c["verified"] for c in document["claims"]),
                       "candidates": [[c["component"], c["cause"]] for c in document["candidates"]],
                       "accounted": sum(document["accounting"]["by_category"].values()),
                       "read": document["accounting"]["lines_read"]})


def check(work: Work, state: State) -> list[str]:
    """Invariants: every line is accounted for, and every claim's lines were found again."""
    data = state["draft"].data
    complaints = []
    if data["accounted"] != data["read"]:
        complaints.append(f"{data['read'] - data['accounted']} lines are in no category")
    if data["verified"] < data["claims"]:
        complaints.append(f"{data['claims'] - data['verified']} claims cite lines that were not found again")
    return complaints


def _window(text: str) -> dict[str, str]:
    if found := _BETWEEN.search(text):
        return {"since": found[1], "until": found[2]}
    if found := _AROUND.search(text):
        return {"around": found[1]}
    return {}
