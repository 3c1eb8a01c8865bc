"""An analysis as the JSON document of `enlist logs summarize --json`; its keys are fixed for scripts."""

from datetime import UTC, datetime
from typing import Any

from enlist.tools.logs.analysis import Analysis
from enlist.tools.logs.batch import Ref
from enlist.tools.logs.incident.causes import causes


def iso(ns: int | None) -> str | None:
    """ISO 8601 in UTC with milliseconds."""
    if ns is None:
        return None
    return datetime.fromtimestamp(ns // 1_000_000 / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def line(ref: Ref, analysis: Analysis) -> dict[str, Any]:
    """Where a line is."""
    source = analysis.sources.get(ref.source)
    return {"file": source.name if source else "", "line": ref.line, "byte": ref.byte}


def title_of(cause: str) -> str:
    """A cause's name as people say it."""
    known = causes().get(cause)
    return known.title if known else "an unknown mechanism"


def document(analysis: Analysis) -> dict[str, Any]:
    """The document. `undecided`: the signs of trouble are weak (exit status 4)."""
    incident, account = analysis.incident, analysis.account
    candidates = [{"component": c.component, "cause": c.cause, "confidence": c.confidence, "trigger": c.trigger or None,
                   "why": list(c.why), "evidence": list(c.claims)} for c in incident.candidates]
    best = candidates[0] if candidates else None
    root = None if best is None or incident.found is False else {
        k: best[k] for k in ("component", "cause", "trigger", "confidence")}
    skipped = {c: n for c, n in sorted(account.by_category.items()) if n and c not in ("record", "unparsed")}
    return {
        "incident": incident.found is not False, "undecided": incident.found is None,
        "start_utc": iso(incident.start), "end_utc": iso(incident.end),
        "root_cause": root,
        "candidates": candidates,
        "timeline": [{"time_utc": iso(e.time), "service": e.service, "event": e.kind, "claim": e.text,
                      "evidence": e.claim}
                     for e in incident.timeline],
        "claims": [{"text": c.text, "lines": [line(ref, analysis) for ref in c.lines], "verified": bool(c.verified),
                    "holds": list(c.holds)}
                   for c in incident.claims],
        "red_herrings": [{"text": h.text, "service": h.service, "why_rejected": h.why_rejected, "evidence": h.claim}
                         for h in incident.herrings],
        "impact": incident.impact,
        "unknown": list(incident.unknown),
        "accounting": {
            "lines_read": account.lines_read, "records": account.records, "bytes_read": account.bytes_read,
            "by_category": {c: n for c, n in sorted(account.by_category.items()) if n},
            "skipped_by_reason": skipped, "replaced_characters": account.replaced,
            "files": len(analysis.sources), "files_skipped": account.skipped, "notes": account.notes},
        "cost": {"seconds": round(analysis.seconds, 3), "tokens": 0, "usd": 0.0},
    }
