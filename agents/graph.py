"""The graph of an agent: act, check, act again, bounded.

A LangGraph `StateGraph` whose state is plain data. The journal makes it resumable: a graph that is run again calls the
same tools with the same keys and is answered from the journal, so its checkpoints are only a cache and none is needed.
"""

from dataclasses import dataclass, field
from typing import Any, TypedDict

from enlist.agents.calls import stopper
from enlist.agents.specialist import Specialist
from enlist.agents.work import Work
from enlist.tools.runtime.errors import EnlistError, boundary
from enlist.tools.runtime.findings import Check
from enlist.tools.runtime.tool import load


@dataclass(frozen=True)
class Draft:
    """What one act yields: JSON `data` for the roles below, and checks of others' findings."""

    data: dict[str, Any] = field(default_factory=dict)
    checks: tuple[Check, ...] = ()


class State(TypedDict):
    """`round` counts acts from 1; `complaints` are those about the last draft."""

    round: int
    complaints: list[str]
    draft: Draft


def run_agent(specialist: Specialist, work: Work) -> tuple[Draft, int, list[str]]:
    """The last draft, how many rounds it took, and the complaints that remained."""
    from langgraph.graph import END, START, StateGraph

    act, check = load(specialist.act), load(specialist.check)
    rounds = int(work.knobs.get("rounds") or 1)
    stopped = stopper(work.memory, work.assignment.run, work.assignment.attempt)

    def act_node(state: State) -> dict[str, Any]:
        if stopped():
            raise EnlistError("cancelled", f"role {work.assignment.role} was stopped")
        state = {**state, "round": state["round"] + 1}
        with boundary(f"{specialist.name} in role {work.assignment.role}"):
            return {"draft": act(work, state), "round": state["round"]}

    def check_node(state: State) -> dict[str, Any]:
        with boundary(f"check of {specialist.name} in role {work.assignment.role}"):
            return {"complaints": list(check(work, state))}

    def again(state: State) -> str:
        return "act" if state["complaints"] and state["round"] < rounds else END

    graph = StateGraph(State)
    graph.add_node("act", act_node)
    graph.add_node("check", check_node)
    graph.add_edge(START, "act")
    graph.add_edge("act", "check")
    graph.add_conditional_edges("check", again, ["act", END])
    end = graph.compile().invoke({"round": 0, "complaints": [], "draft": Draft()},
                                 {"recursion_limit": 4 * rounds + 8})
    return end["draft"], end["round"], end["complaints"]
