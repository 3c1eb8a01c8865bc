"""Export to Inspect: each solver in an environment as one EvalLog in Inspect's JSON log format, version 2.

The format is that of `inspect_ai.log.EvalLog` (inspect_ai 0.3.285, MIT licence); its own reader opens what is written
here, which a test does. Inspect's task is our environment, its sample our task with its seed, its model our solver.
Nothing of Inspect is needed to write.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from enlist.evals.campaign.content import Board, Content, Row, Settled
from enlist.evals.campaign.output import replace_file
from enlist.evals.campaign.plan import Plan
from enlist.tools.runtime.ids import content_hash

STATUS = {"done": "success", "partial": "error", "budget": "cancelled", "interrupted": "cancelled"}
MODEL = "enlist"


def export(content: Content, run: dict[str, Any], folder: Path, plan: Plan | None = None) -> list[Path]:
    """Write a log for each row of each board into `folder`; the same campaign gives the same names.

    Args:
        plan: where it is there, samples carry the text and payload of their task.
    """
    tasks = {(s.environment, s.task.seed, s.task.id): s.task for s in plan.samples} if plan else {}
    written = []
    for board in content.boards:
        for row in board.rows:
            samples = [s for s in content.samples if (s.environment, s.solver) == (board.environment, row.solver)]
            if samples:
                log = _log(content, run, board, row, samples, tasks)
                name = "_".join((log["eval"]["created"].replace(":", "-"), _plain(board.environment),
                                 log["eval"]["eval_id"][:10]))
                written.append(folder / f"{name}.json")
                replace_file(written[-1], (json.dumps(log, allow_nan=False, indent=1) + "\n").encode())
    return written


def _log(content: Content, run: dict[str, Any], board: Board, row: Row, samples: Sequence[Settled],
         tasks: Mapping[Any, Any]) -> dict[str, Any]:
    id = content_hash([content.campaign, board.environment, row.solver])
    began = datetime.fromtimestamp(run["accepted"] or 0.0, UTC).isoformat(timespec="seconds")
    status = STATUS.get(run["status"], "started")
    return {
        "version": 2, "status": status, "plan": {"name": "plan", "steps": [{"solver": row.solver, "params": {}}]},
        "eval": {
            "eval_id": id[:22], "run_id": content.campaign, "task_id": id[22:44], "created": began,
            "task": board.environment, "task_version": content.versions.get(f"environment {board.name}", "0"),
            "task_args": board.options, "solver": row.solver, "model": f"{MODEL}/{row.solver}",
            "dataset": {"name": f"{board.name} {board.split}", "samples": len(samples), "shuffled": False,
                        "sample_ids": [_sample_id(s) for s in samples]},
            "config": {"epochs": 1}, "packages": {"enlist": content.versions["enlist"]},
            "metadata": {"campaign": content.name, "split": board.split, "seeds": list(board.seeds),
                         "reference": list(row.kinds), "versions": content.versions}},
        "results": {"total_samples": row.samples + row.skipped + row.missing, "completed_samples": len(samples),
                    "scores": [{"name": "score", "scorer": "score", "params": {}, "scored_samples": row.samples,
                                "unscored_samples": row.skipped, "metrics": dict(_metrics(row))}]},
        "stats": {"started_at": began, "completed_at": began, "model_usage": {}},
        **({"error": {"message": f"{row.missing} samples were given up", "traceback": "", "traceback_ansi": ""}}
           if status == "error" else {}),
        "samples": [_sample(s, tasks.get((s.environment, s.seed, s.task))) for s in samples]}


def _metrics(row: Row) -> Iterator[tuple[str, dict[str, Any]]]:
    if row.score is not None:
        for name, value in (("mean", row.score.mean), ("low95", row.score.low), ("high95", row.score.high)):
            yield name, {"name": name, "value": value, "params": {}}


def _sample_id(sample: Settled) -> str:
    return f"{sample.task} seed {sample.seed}"


def _sample(sample: Settled, task: Any) -> dict[str, Any]:
    answer = f"answer.json {sample.answer.sha256}" if sample.answer is not None else None
    score = {"value": sample.value, "answer": answer, "explanation": sample.reason or sample.verdict,
             "metadata": {"verdict": sample.verdict, **sample.parts}}
    return {"id": _sample_id(sample), "epoch": 1, "target": "",
            "input": task.text if task is not None else f"{sample.environment} {_sample_id(sample)}",
            "messages": [], "output": {"model": f"{MODEL}/{sample.solver}", "choices": []},
            "scores": {"score": score} if sample.counted else {},
            "metadata": {"seed": sample.seed, "group": sample.group, "verdict": sample.verdict},
            "store": {}, "events": [], "model_usage": {}, "attachments": {}}


def _plain(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9.-]+", "-", name)
