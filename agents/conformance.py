"""What every specialist must hold, ours or a third party's: `check_specialist` raises AssertionError at the first
lack."""

from collections.abc import Collection

from enlist.agents.cards import AgentCard
from enlist.agents.pool import cards_of
from enlist.agents.specialist import Specialist
from enlist.tools.runtime import registry
from enlist.tools.runtime.tool import load


def check_specialist(specialist: Specialist, capabilities: Collection[str]) -> None:
    """The declaration, its functions, its tools and the cards it yields."""
    name = specialist.name
    assert specialist.version and specialist.summary and specialist.route, f"{name}: version, summary, route are said"
    assert (specialist.capability is None) == (specialist.duty == "writer"), f"{name}: only a writer has no capability"
    assert specialist.capability is None or specialist.capability in capabilities, f"{name}: unknown capability"
    assert specialist.reads and specialist.writes, f"{name}: reads and writes must name artifact kinds"
    for function in (specialist.act, specialist.check):
        assert callable(load(function)), f"{name}: {function} is no function"
    for tool in specialist.tools:
        assert tool in registry.entries("enlist.tools"), f"{name}: tool {tool} is not installed"
    assert specialist.cpus == 0, f"{name}: an agent that holds a CPU can starve its own tools"
    for knob in specialist.knobs:
        values = [repr(s.value) for s in knob.settings]
        assert len(values) >= 2 and len(set(values)) == len(values), f"{name}: knob {knob.name} needs distinct settings"
    cards = cards_of(specialist)
    assert len({card.id for card in cards}) == len(cards), f"{name}: two agents share an id"
    for card in cards[:50]:
        assert AgentCard.model_validate_json(card.model_dump_json()) == card, f"{name}: a card changes through JSON"


def check_routes(specialists: Collection[Specialist]) -> None:
    """Each capability has a verifier whose route is not its analysts'."""
    for analyst in (s for s in specialists if s.duty == "analyst"):
        routes = {s.route for s in specialists if s.duty == "verifier" and s.capability == analyst.capability}
        assert routes - {analyst.route}, f"{analyst.name}: no verifier of {analyst.capability} goes another way"
