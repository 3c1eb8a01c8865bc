"""A model that is asked while its role lives on: signs of life are given, stops are heard, and time is kept.

The client waits in a thread of its own, since a socket cannot be made to look at the journal. The role goes on when its
time is over or it is stopped; the thread ends by the client's own deadlines.
"""

import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from dataclasses import dataclass

from enlist.agents.language.client import Client
from enlist.agents.language.questions import Answer, Ask
from enlist.agents.language.settings import ModelSettings
from enlist.tools.runtime.errors import EnlistError

LOOK = 0.2  # seconds between two looks at the thread and the journal
GRACE = 2.0  # seconds beyond its time that the client gets to end by itself


@dataclass
class Attended:
    """A client with somebody beside it.

    Attributes:
        alive: is told that the model is still asked. stopped: whether the role was stopped.
        seconds_left: how long a question may take now, or None for as long as the client likes.
    """

    client: Client
    alive: Callable[[str], None]
    stopped: Callable[[], bool]
    seconds_left: Callable[[], float | None] = lambda: None

    @property
    def settings(self) -> ModelSettings:
        return self.client.settings

    def worst_case(self, question: Ask) -> tuple[int, float]:
        """As the client's."""
        return self.client.worst_case(question)

    def ask(self, question: Ask) -> Answer:
        """One answer; `cancelled` where the role is stopped meanwhile, `timeout` where its time is over."""
        left = self.seconds_left()
        limit = self.settings.timeout if left is None else max(0.1, min(self.settings.timeout, left))
        client = Client(self.settings.model_copy(update={"timeout": limit}), self.client.seed, self.client.sleep,
                        self.client.attempts)
        done: Future[Answer] = Future()

        def ask() -> None:
            try:
                done.set_result(client.ask(question))
            except BaseException as error:  # the caller's to judge
                done.set_exception(error)

        threading.Thread(target=ask, name=f"model-{self.settings.name}", daemon=True).start()
        until = time.monotonic() + limit + GRACE
        while not wait([done], timeout=LOOK).done:
            self.alive(f"model {self.settings.name} is asked")
            if self.stopped():
                raise EnlistError("cancelled", f"stopped while model {self.settings.name} was asked")
            if time.monotonic() > until:
                raise EnlistError("timeout", f"model {self.settings.name} gave no answer in time",
                                  allowed=f"{limit:.1f} s", fix="give the run more time, or leave the model out")
        return done.result()
