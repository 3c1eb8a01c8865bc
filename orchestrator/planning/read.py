"""Reading a request: the text as typed, with the measurements and constraints that it states."""

from collections.abc import Iterable

from enlist.orchestrator.planning.constraints import read_constraints
from enlist.orchestrator.planning.measurements import read_measurements
from enlist.orchestrator.request import Attachment, Budget, Request


def read_request(text: str, attachments: Iterable[Attachment] = (), budget: Budget | None = None) -> Request:
    """A request whose measurements and constraints are those that `text` states; quotes are substrings of `text`."""
    return Request(text=text, attachments=tuple(attachments), budget=budget or Budget(),
                   measurements=read_measurements(text), constraints=read_constraints(text))
