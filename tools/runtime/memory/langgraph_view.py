"""A run's memory as a LangGraph `BaseStore`, cut down to what one role may see.

Namespaces are (role, kind) with kind `finding` or `decision`. A role reads its upstream roles and itself; it writes
decisions of its own. Nothing is overwritten: a put of another value under the same key inserts a record that supersedes
the one before, and reads give the newest. Findings come from tools, so they cannot be put here.
"""

import asyncio
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.ids import content_hash
from enlist.tools.runtime.memory.checkpoints import MemorySaver
from enlist.tools.runtime.memory.protocol import Memory, NewRecord, Record

__all__ = ["MemorySaver", "RoleStore"]
KINDS = ("finding", "decision")
_MOST = 10_000  # records that a text search may rank before the role and filter are applied


class RoleStore(BaseStore):
    """What `role` of a run may see and decide.

    Args:
        memory, run, attempt: where; writes carry the attempt and raise `stale_attempt` as `Memory.commit` does.
        role: who reads and writes.
        upstream: the roles whose records it may read.

    Raises `bad_input` for a namespace out of reach, `unsupported` for delete and for a put that is no own decision.
    """

    def __init__(self, memory: Memory, run: str, attempt: int, role: str, upstream: Sequence[str] = ()) -> None:
        self._memory, self._run, self._attempt, self._role = memory, run, attempt, role
        self._roles = tuple(dict.fromkeys([*upstream, role]))

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Run operations one after the other."""
        return [self._run_op(op) for op in ops]

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """As `batch`, off the event loop."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _run_op(self, op: Op) -> Result:
        if isinstance(op, GetOp):
            self._check_reach(op.namespace)
            record = self._newest(op.namespace, op.key)
            return None if record is None else Item(**_fields(record))
        if isinstance(op, SearchOp):
            return self._search(op)
        if isinstance(op, PutOp):
            self._put(op)
            return None
        return self._namespaces(op)

    def _check_reach(self, namespace: tuple[str, ...]) -> None:
        """A namespace, or the beginning of one, must lie within the roles and kinds that may be read."""
        if (namespace and namespace[0] not in self._roles) or namespace[1:2] not in ((), *((kind,) for kind in KINDS)):
            raise EnlistError("bad_input", f"role {self._role!r} may not read there", given=str(namespace),
                              allowed=f"(role, kind) with role in {list(self._roles)} and kind in {list(KINDS)}",
                              fix="read an upstream role, or add an edge to the plan")

    def _read(self, prefix: tuple[str, ...]) -> list[Record]:
        roles = list(prefix[:1]) or list(self._roles)
        return [record for kind in prefix[1:2] or KINDS for record in self._memory.records(kind, self._run, roles)]

    def _newest(self, namespace: tuple[str, ...], key: str) -> Record | None:
        if len(namespace) != 2:
            return None
        same = [record for record in self._read(namespace) if _key(record) == key]
        return same[-1] if same else None

    def _search(self, op: SearchOp) -> list[SearchItem]:
        self._check_reach(op.namespace_prefix)
        visible = self._read(op.namespace_prefix) if len(op.namespace_prefix) <= 2 else []
        superseded = {(record.kind, record.supersedes) for record in visible}
        current = {(record.kind, record.id): record for record in visible
                   if (record.kind, record.id) not in superseded}
        if op.query is not None:
            ranked = self._memory.search(op.query, run=self._run, limit=_MOST)
            current = {(found.kind, found.id): found for found in ranked if (found.kind, found.id) in current}
        matching = [record for record in current.values() if _matches(_value(record), op.filter or {})]
        return [SearchItem(**_fields(record)) for record in matching[op.offset : op.offset + op.limit]]

    def _put(self, op: PutOp) -> None:
        if op.value is None:
            raise EnlistError("unsupported", "memory is append-only: nothing can be deleted",
                              given=f"{op.namespace} {op.key!r}", fix="put a new value; it supersedes the old one")
        own = (self._role, "decision")
        if tuple(op.namespace) != own:
            raise EnlistError("unsupported", f"role {self._role!r} may write its own decisions only",
                              given=str(op.namespace), allowed=str(own), fix=f"put under {own}; findings come from "
                              "tool calls")
        before = self._newest(own, op.key)
        if before is not None and _value(before) == op.value:
            return
        earlier = before.id if before else None
        self._memory.commit(self._run, self._attempt, [], [NewRecord(
            kind="decision", id=content_hash([self._role, op.key, op.value, earlier]), role=self._role,
            data={"key": op.key, "value": op.value}, text=_text([op.key, op.value]), supersedes=earlier)])

    def _namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        found = dict.fromkeys((record.role or "", record.kind)[: op.max_depth] for record in self._read(())
                              if all(_fits((record.role or "", record.kind), condition)
                                     for condition in op.match_conditions or ()))
        return sorted(found)[op.offset : op.offset + op.limit]


def _key(record: Record) -> str:
    return str(record.data["key"]) if _is_put(record) else record.id


def _value(record: Record) -> dict[str, Any]:
    return record.data["value"] if _is_put(record) else record.data


def _is_put(record: Record) -> bool:
    return record.kind == "decision" and record.data.keys() == {"key", "value"}


def _fields(record: Record) -> dict[str, Any]:
    moment = datetime.fromtimestamp(record.time, UTC)
    return {"namespace": (record.role or "", record.kind), "key": _key(record), "value": _value(record),
            "created_at": moment, "updated_at": moment}


def _text(value: Any) -> str:
    """The strings and numbers of a value, for full-text search."""
    if isinstance(value, dict):
        return " ".join(_text(part) for pair in value.items() for part in pair)
    if isinstance(value, list | tuple):
        return " ".join(_text(part) for part in value)
    return str(value)


def _matches(value: dict[str, Any], wanted: dict[str, Any]) -> bool:
    """LangGraph's filter: equality, or an object of comparisons ($eq, $ne, $gt, $gte, $lt, $lte)."""
    return all(_compares(value.get(key), operator, operand) for key, want in wanted.items()
               for operator, operand in (want.items() if isinstance(want, dict) else [("$eq", want)]))


def _compares(value: Any, operator: str, operand: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return (value == operand) == (operator == "$eq")
    try:
        orders = {"$gt": value > operand, "$gte": value >= operand, "$lt": value < operand, "$lte": value <= operand}
    except TypeError:
        return False  # values without an order between them do not match
    if operator not in orders:
        raise EnlistError("bad_input", "no such comparison", given=operator, allowed="$eq, $ne, $gt, $gte, $lt, $lte")
    return bool(orders[operator])


def _fits(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = condition.path
    if len(path) > len(namespace):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return all(want in ("*", have) for want, have in zip(path, part, strict=True))
