"""Progress: the events of a run as they appear, for people on standard error or as JSON lines on standard output."""

from contextlib import ExitStack
from types import TracebackType
from typing import Any

from enlist.evals.cli.terminal import Terminal, one_line
from enlist.orchestrator.driver import Interrupt
from enlist.tools.runtime.events import Event


class Listened(Interrupt):
    """The wish to end, which also arises when nobody reads a stream any more: the run then stays resumable."""

    def __init__(self, terminal: Terminal) -> None:
        super().__init__(terminal.note)
        self.unheard = False

    def asked(self) -> bool:
        return self.unheard or super().asked()


class Follower:
    """Shows the events of one run. `watch` and `interrupt` are what `orchestrator.run` takes."""

    def __init__(self, terminal: Terminal, doing: str = "planning; Ray starts in the background") -> None:
        self.terminal, self.interrupt, self._doing = terminal, Listened(terminal), doing
        self._first: float | None = None
        self._stack = ExitStack()
        self._bar: Any = None
        self._task: Any = None

    def __enter__(self) -> "Follower":
        if self.terminal.mode == "human" and self.terminal.err.is_terminal:
            from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

            self._bar = self._stack.enter_context(Progress(
                SpinnerColumn(), TimeElapsedColumn(), TextColumn("{task.description}", markup=False),
                console=self.terminal.err, transient=True))
            self._task = self._bar.add_task(self._doing, total=None)
        elif self.terminal.mode == "human":
            self.terminal.note(f"{self._doing} ...")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._stack.close()

    def watch(self, events: list[Event]) -> None:
        """Show these events; never raises for a reader that has gone."""
        for event in events:
            if self._first is None:
                self._first = event.time
            if self.terminal.mode == "jsonl":
                self._stream(event)
            elif self.terminal.mode == "human":
                self._tell(event)

    def _stream(self, event: Event) -> None:
        if not self.interrupt.unheard:
            try:
                self.terminal.document(event.model_dump(mode="json"))
            except BrokenPipeError:
                self.terminal.abandon()
                self.interrupt.unheard = True

    def _tell(self, event: Event) -> None:
        said = describe(event)
        if said is None:
            return
        if self._bar is not None:
            self._bar.update(self._task, description=one_line(said))
        if event.kind == "tool.progress":
            return
        line = f"{max(0.0, event.time - (self._first or event.time)):7.1f} s  {said}"
        if self._bar is not None:
            self._bar.console.print(one_line(line), markup=False, soft_wrap=True)
        else:
            self.terminal.note(line)


def describe(event: Event) -> str | None:
    """What an event says to a person, None for those that say nothing."""
    role, data = event.role or "", event.data
    match event.kind:
        case "run.accepted":
            return f"run {event.run}"
        case "run.planned":
            members = (data.get("team") or {}).get("members", [])
            return f"planned: {len(members)} roles" if members else "nothing installed here fits the request"
        case "role.started":
            return f"{role}: {data.get('agent', '')} starts"
        case "role.finished":
            return f"{role}: finished"
        case "role.failed":
            return f"{role}: {'given up' if data.get('final') else 'failed'}: {data['error']['message']}"
        case "role.reenlisted":
            return f"{role}: {data['by']} replaces {data['replaced']}"
        case "tool.started":
            return f"{role}: tool {data['tool']}"
        case "tool.progress":
            return f"{role}: tool {data['tool']} {100 * data['share']:.0f} % {data['text']}"
        case "tool.finished":
            return f"{role}: tool {data['tool']} done in {data['seconds']:.1f} s"
        case "tool.failed":
            return f"{role}: tool {data['tool']} failed: {data['error']['message']}"
        case "report.started":
            return "writing the report"
        case "run.interrupted":
            return "interrupted"
        case "stop.requested":
            return "asked to stop"
        case "note":
            return str(data.get("text", "")) or None
    return None
