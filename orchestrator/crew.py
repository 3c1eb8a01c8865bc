"""The crew: the Ray tasks in which agents fill roles, started, waited for and, where need be, ended.

`ray.cancel` asks the worker itself, which a frozen or busy one does not hear, and leaves the children of tools alive.
So a filling is ended by killing the processes that it named in the journal, on the node where they are. A node that
does not answer is told from a worker that does not, and is avoided from then on.
"""

from collections.abc import Sequence
from typing import Any, Protocol

from enlist.agents.role import run_role
from enlist.agents.signs import Condition, end_process
from enlist.tools.runtime.errors import EnlistError

ANSWER = 15.0  # seconds that a node gets to answer: it may have to start a process first


class Crew(Protocol):
    """Where roles run."""

    def start(self, role: str, document: str) -> None:
        """Begin to fill a role, as the JSON `Assignment` says."""

    def running(self) -> set[str]:
        """Roles that were begun and whose end was not seen yet."""

    def wait(self, seconds: float) -> dict[str, EnlistError | None]:
        """Roles whose tasks ended within `seconds`: None, or the fault of the worker where it could not tell."""

    def end(self, role: str, processes: Sequence[dict[str, Any]]) -> Condition:
        """End a role's task and the processes of it; how they were found: `frozen` where one was stopped or its node
        does not answer."""

    def drain(self, seconds: float) -> None:
        """Give the tasks a while to end by themselves."""

    def look_for_silent_nodes(self) -> None:
        """Ask every other node for a sign of life; those that give none are avoided."""

    def avoided(self) -> tuple[str, ...]:
        """Nodes that did not answer."""


class RayCrew:
    """Roles as Ray tasks without retries of Ray's own."""

    def __init__(self) -> None:
        import ray._private.worker

        # Ray prints on this process's stdout that a worker died, whatever log_to_driver says; documents go there.
        ray._private.worker.print_to_stdstream = lambda *arguments, **named: None
        self._running: dict[Any, str] = {}
        self._avoid: set[str] = set()

    def start(self, role: str, document: str) -> None:
        import ray

        options = {"num_cpus": 0, "max_retries": 0, "name": f"role:{role}", "scheduling_strategy": self._place()}
        self._running[ray.remote(run_role).options(**options).remote(document)] = role

    def running(self) -> set[str]:
        return set(self._running.values())

    def wait(self, seconds: float) -> dict[str, EnlistError | None]:
        import ray

        done, _ = ray.wait(list(self._running), num_returns=1, timeout=seconds)
        return {self._running.pop(reference): _outcome(reference) for reference in done}

    def end(self, role: str, processes: Sequence[dict[str, Any]]) -> Condition:
        import ray

        found = [self._end_process(one) for one in processes]
        for reference in [r for r, name in self._running.items() if name == role]:
            del self._running[reference]
            ray.cancel(reference, force=True)
        return "frozen" if "frozen" in found else "running" if "running" in found else "gone"

    def drain(self, seconds: float) -> None:
        import ray

        done, _ = ray.wait(list(self._running), num_returns=len(self._running), timeout=seconds)
        for reference in done:
            del self._running[reference]

    def avoided(self) -> tuple[str, ...]:
        return tuple(sorted(self._avoid))

    def look_for_silent_nodes(self) -> None:
        import ray

        others = [n["NodeID"] for n in ray.nodes() if n["Alive"] and n["NodeID"] != _node() and
                  n["NodeID"] not in self._avoid]
        asked = {_on(node, ray.remote(_node)).remote(): node for node in others}
        if asked:
            _, silent = ray.wait(list(asked), num_returns=len(asked), timeout=ANSWER)
            self._avoid |= {asked[reference] for reference in silent}

    def _end_process(self, process: dict[str, Any]) -> Condition:
        import ray

        node = process["node"]
        if node in (None, _node()):
            return end_process(process["owner"])
        if node in self._avoid or not any(n["NodeID"] == node and n["Alive"] for n in ray.nodes()):
            return "frozen"
        reference = _on(node, ray.remote(end_process)).remote(process["owner"])
        if not ray.wait([reference], timeout=ANSWER)[0]:
            self._avoid.add(node)
            return "frozen"  # should the node thaw, the task runs and ends the process then
        try:
            found: Condition = ray.get(reference)
        except ray.exceptions.RayError:
            return "frozen"
        return found

    def _place(self) -> Any:
        """Anywhere, or on a node that is not to be avoided, this one first."""
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        if not self._avoid:
            return "DEFAULT"
        good = [n["NodeID"] for n in ray.nodes() if n["Alive"] and n["NodeID"] not in self._avoid]
        if not good:
            return "DEFAULT"
        return NodeAffinitySchedulingStrategy(_node() if _node() in good else good[0], soft=True)


def _on(node: str, remote: Any) -> Any:
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return remote.options(num_cpus=0, max_retries=0, scheduling_strategy=NodeAffinitySchedulingStrategy(
        node, soft=False))


def _node() -> str:
    import ray

    return str(ray.get_runtime_context().get_node_id())


def _outcome(reference: Any) -> EnlistError | None:
    """None where a role's task returned; else the fault of its worker."""
    import ray
    from ray.exceptions import RayError

    try:
        ray.get(reference, timeout=30)
    except RayError as error:
        return EnlistError("worker_died", f"the worker of a role died: {type(error).__name__}",
                           details=str(error)[-2000:])
    return None
