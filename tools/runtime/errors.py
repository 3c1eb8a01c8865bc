"""The closed vocabulary of faults.

Every fault that a user, a caller or the executor may meet is an `EnlistError` whose `code` is a key of `FAULTS`. The
code fixes the exit status and the kind of fault: `user` faults are mended by the user, `deterministic` ones come back
when the same thing is tried again, `limit` ones may pass with a larger limit, `transient` ones may pass on a retry.
A fault inside a run is data: it is recorded with its code and does not raise across the run.
"""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

FaultKind = Literal["user", "deterministic", "limit", "transient", "control"]


@dataclass(frozen=True)
class Fault:
    """What a code means: its process exit status, its kind and one line for the docs."""

    exit_code: int
    kind: FaultKind
    meaning: str


FAULTS: dict[str, Fault] = {
    "bad_input": Fault(2, "user", "an argument, request or file that cannot be read as what it must be"),
    "not_found": Fault(2, "user", "a named thing that does not exist here"),
    "not_installed": Fault(2, "user", "a known capability, extra or program that is not installed"),
    "version_mismatch": Fault(2, "user", "versions differ from those that a run or a cluster was made with"),
    "store_newer": Fault(2, "user", "the store was written by a newer Enlist"),
    "lease_held": Fault(2, "user", "the run is alive elsewhere"),
    "sandbox_unavailable": Fault(1, "user", "no sandbox of the level that this code needs"),
    "unsupported": Fault(1, "deterministic", "a valid input that this tool does not handle"),
    "tool_failed": Fault(1, "deterministic", "the tool, or the user's code inside it, raised"),
    "invalid_output": Fault(1, "deterministic", "what came back is not what was declared"),
    "timeout": Fault(1, "limit", "the time limit passed; the process tree was killed"),
    "resource_limit": Fault(1, "limit", "memory, disk, processes or output over the limit"),
    "budget_exhausted": Fault(3, "limit", "the budget of the request is spent"),
    "worker_died": Fault(1, "transient", "a process or node died under the work"),
    "unschedulable": Fault(1, "user", "no node can give the resources asked for"),
    "conflict": Fault(1, "deterministic", "the same id was written before with other content"),
    "stale_attempt": Fault(1, "control", "a newer attempt of the run is writing; this one must stop"),
    "cancelled": Fault(130, "control", "stopped on request"),
    "undecided": Fault(4, "control", "no verdict could be reached"),
    "internal": Fault(1, "deterministic", "a defect of Enlist"),
}


class EnlistError(Exception):
    """A fault with a stable code: what was given, what is allowed, what to do.

    Args:
        code: a key of `FAULTS`.
        message: one sentence, the thing that happened.
        given: what was given, allowed: what would have been right, fix: what to do now (each optional).
        details: more for a log (a traceback, the child's last output); never needed to understand the message.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        given: str | None = None,
        allowed: str | None = None,
        fix: str | None = None,
        details: str | None = None,
    ) -> None:
        if code not in FAULTS:
            raise ValueError(f"unknown fault code {code!r}; one of {sorted(FAULTS)}")
        self.code, self.message, self.given, self.allowed, self.fix, self.details = (
            code, message, given, allowed, fix, details)
        super().__init__(self.sentence())

    @property
    def exit_code(self) -> int:
        return FAULTS[self.code].exit_code

    @property
    def kind(self) -> FaultKind:
        return FAULTS[self.code].kind

    def sentence(self) -> str:
        """The fault as one readable paragraph."""
        parts = [self.message.rstrip(".")]
        if self.given is not None:
            parts.append(f"given: {self.given}")
        if self.allowed is not None:
            parts.append(f"allowed: {self.allowed}")
        if self.fix is not None:
            parts.append(f"to fix: {self.fix}")
        return "; ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """JSON form; `from_dict` reads it back in another process."""
        return {"code": self.code, "message": self.message, "given": self.given, "allowed": self.allowed,
                "fix": self.fix, "details": self.details}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "EnlistError":
        return cls(data["code"], data["message"], given=data.get("given"), allowed=data.get("allowed"),
                   fix=data.get("fix"), details=data.get("details"))

    def __reduce__(self) -> tuple[Any, ...]:
        return (EnlistError.from_dict, (self.to_dict(),))


@contextmanager
def boundary(where: str) -> Iterator[None]:
    """Let an `EnlistError` pass and turn anything else into `internal`, naming `where` and keeping the traceback."""
    try:
        yield
    except EnlistError:
        raise
    except Exception as error:
        raise EnlistError("internal", f"{where}: {type(error).__name__}: {error}",
                          details=traceback.format_exc()) from error
