"""The tool `campaign-leaderboard`: from the settled samples of a campaign to claims with intervals.

Running a campaign takes a cluster and minutes, so that is for the agent (`analyst`); what is claimed about it is this
pure function of the samples, which stand in one artifact.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from enlist.evals.campaign.content import Board, Table
from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.findings import Finding
from enlist.tools.runtime.section import Figure, Section, Sentence
from enlist.tools.runtime.section import Table as ShownTable
from enlist.tools.runtime.tool import Tool, ToolContext, ToolModel

SCORE, SUCCESSES, DIFFERENCE = "mean score", "successes", "paired difference"


class Samples(ToolModel):
    """`table`: the settled samples of a campaign, JSON, as the campaign's analyst keeps them."""

    table: ArtifactRef


class Leaderboard(ToolModel):
    """The leaderboard of the samples."""

    campaign: str
    against: str
    boards: tuple[Board, ...]
    missing: int


def leaderboard(given: Samples, ctx: ToolContext) -> Leaderboard:
    """Rows with intervals, and paired differences to the solver compared against."""
    from enlist.evals.campaign.content import tabulate

    content = tabulate(read_table(ctx.open_artifact(given.table).read_bytes()))
    return Leaderboard(campaign=content.campaign, against=content.against, boards=content.boards,
                       missing=len(content.missing))


def read_table(data: bytes) -> Table:
    """The samples in an artifact; `bad_input` for anything else."""
    try:
        return Table.model_validate(json.loads(data))
    except ValueError as error:  # JSON's and pydantic's
        raise EnlistError("bad_input", "this file does not hold the samples of a campaign", given=str(error)[:200],
                          allowed="the table that the campaign's analyst keeps",
                          fix="run the campaign again") from error


def findings(capability: str, given: Samples, output: Leaderboard, evidence: Callable[[str], Any]) -> list[Finding]:
    """Per row: its mean score with the interval, how many tasks it solved, and its difference to `against`."""
    made = []
    for b, board in enumerate(output.boards):
        for r, row in enumerate(board.rows):
            at = f"/boards/{b}/rows/{r}"
            about = {"capability": capability, "subject": f"{row.solver} in {board.environment}", "tier": "computed"}
            place = {"solver": row.solver, "environment": board.environment}
            if row.score is not None:
                made.append(Finding.make(
                    template="{subject} has a {predicate} of {value:.3f} (95 % interval {low:.3f} to {high:.3f}, "
                             "{tasks} independent tasks)",
                    predicate=SCORE, value=row.score.mean, unit="1", evidence=(evidence(f"{at}/score"),),
                    conditions={**place, "low": row.score.low, "high": row.score.high, "tasks": row.score.tasks},
                    **about))
                made.append(Finding.make(
                    template="{subject} succeeded in {value} of {samples} samples", predicate=SUCCESSES,
                    value=row.verdicts.get("ok", 0), unit="1", evidence=(evidence(f"{at}/verdicts"),),
                    conditions={**place, "samples": row.samples}, **about))
            if row.difference is not None:
                d = row.difference
                made.append(Finding.make(
                    template="{subject} differs from {against} by {value:+.3f} (95 % interval {low:+.3f} to "
                             "{high:+.3f}, adjusted p = {adjusted_p:.3g})",
                    predicate=DIFFERENCE, value=d.estimate.mean, unit="1", evidence=(evidence(f"{at}/difference"),),
                    conditions={**place, "against": d.against, "low": d.estimate.low, "high": d.estimate.high,
                                "p": d.p, "adjusted_p": d.adjusted_p, "tasks": d.estimate.tasks}, **about))
    return made


def section(calls: Sequence[tuple[Samples, Leaderboard, tuple[Finding, ...]]], request: Mapping[str, Any],
            names: Mapping[str, str]) -> list[Section]:
    """One section for each campaign: the scores best first, the differences, a table and a plot for each environment.
    """
    from enlist.evals.campaign import plots, wording

    sections = []
    for _, output, found in calls:
        scores = [f for f in found if f.predicate == SCORE]
        differences = [f for f in found if f.predicate == DIFFERENCE]
        tables = tuple(ShownTable(title=wording.heading(board), columns=("solver", "score", "difference", "verdicts"),
                                  rows=tuple((wording.named(r), wording.estimated(r.score),
                                              wording.differing(r.difference), wording.verdicts(r))
                                             for r in board.rows)) for board in output.boards)
        sections.append(Section(
            title=f"Leaderboard of campaign {output.campaign}", tables=tables,
            lead=tuple(Sentence(text=f"{f.text}.", findings=(f.id,)) for f in (*scores, *differences)),
            figures=tuple(Figure(title=f"Scores in {b.environment}", svg=plots.intervals(b)) for b in output.boards),
            notes=(*(line for board in output.boards for line in wording.absences(board)), wording.MEANING),
            next=f"enlist campaign show {output.campaign}"))
    return sections


LEADERBOARD = Tool(
    name="campaign-leaderboard", version="1", input=Samples, output=Leaderboard,
    summary="Turn a campaign's samples into a leaderboard with intervals and paired tests",
    run="enlist.evals.campaign.tool:leaderboard", findings="enlist.evals.campaign.tool:findings",
    section="enlist.evals.campaign.tool:section", errors=("bad_input",), time_limit=120.0,
    example={"table": {"sha256": "0" * 64, "media_type": "application/json", "name": "samples.json", "bytes": 0}},
    check_route="the verifier computes means, intervals and tests again in plain Python with other draws")
