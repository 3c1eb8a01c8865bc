"""Every installed specialist and tool holds its contract, and each knob changes what the executor does."""

import json
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from enlist.agents.calls import Outcome, declared
from enlist.agents.conformance import check_routes, check_specialist
from enlist.agents.graph import run_agent
from enlist.agents.language import questions as models
from enlist.agents.pool import shipped, specialists
from enlist.agents.specialist import Specialist
from enlist.agents.work import Assignment, Input
from enlist.orchestrator.capabilities import load_capabilities
from enlist.tools.runtime import registry
from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.findings import Check, Finding
from enlist.tools.runtime.memory import open_memory
from enlist.tools.runtime.runner import InlineContext
from enlist.tools.runtime.tool import input_hash
from enlist.tools.runtime.tool_conformance import check_tool

MODEL = """
import torch
from torch import nn
class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)
    def forward(self, x):
        return torch.relu(self.inner(x))
def get_inputs():
    return [torch.rand(16, 64)]
def get_init_inputs():
    return [64]
"""
IMPORTING = MODEL.replace("import torch\n", "import torch\nfrom widths import WIDTH\n", 1)
WIDTHS = "WIDTH = 64\n"


@dataclass
class Recording:
    """A `Work` that runs tools in this process (the models here are ours) and records what was asked of it."""

    memory: Any
    knobs: dict[str, Any]
    request: dict[str, Any]
    inputs: tuple[Input, ...]
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    outcomes: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    fail_first: str | None = None

    @property
    def assignment(self) -> Assignment:
        return Assignment(memory="", run="r", attempt=1, role="role", capability="speed_of_light", agent="a",
                          specialist="s", knobs=self.knobs, inputs=self.inputs, upstream={}, request=self.request)

    def call(self, tool: str, step: str, data: dict[str, Any], limit: float | None = None) -> Outcome:
        one = declared(tool)
        self.calls.append((tool, step, repr(data), self.knobs.get("time_limit")))
        if self.fail_first == tool:
            self.fail_first = None
            raise EnlistError("tool_failed", "under load")
        given = one.parse(data)
        output = one.function()(given, InlineContext(self.memory, lambda s, t: None, lambda: False))
        found = tuple(one.make_findings("speed_of_light", given, output, lambda p: {
            "kind": "tool", "tool": tool, "version": one.version, "input_sha256": input_hash(given), "pointer": p}))
        self.outcomes.append(("role", {"tool": tool, "step": step, "input": given.model_dump(mode="json"),
                                       "output": output.model_dump(mode="json"),
                                       "findings": [f.model_dump(mode="json") for f in found]}))
        return Outcome(key=step, tool=tool, given=given, output=output, findings=found, seconds=0, level=None)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def upstream_outcomes(self, tool: str | None = None) -> list[tuple[str, dict[str, Any]]]:
        return [o for o in self.outcomes if tool in (None, o[1]["tool"])]

    def upstream_findings(self) -> list[Finding]:
        return [Finding.model_validate(f) for _, o in self.outcomes for f in o["findings"]]

    def upstream_checks(self) -> list[Check]:
        return self.checks


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return open_memory(f"sqlite://{tmp_path_factory.mktemp('knobs') / 'store.db'}")


def put(memory: Any, name: str, text: str) -> ArtifactRef:
    return memory.put_bytes(text.encode(), media_type="text/x-python", name=name)


def request(memory: Any, *devices: str, stated: bool = False) -> dict[str, Any]:
    said = [{"quantity": "time", "value": 0.0098, "quote": "9.8 ms", "device": None}] if stated else []
    return {"text": "it takes 9.8 ms", "attachments": [], "measurements": said,
            "constraints": {"devices": list(devices), "dtype": None, "training": False, "batch": None, "length": None}}


def analyst_work(memory: Any, knobs: dict[str, Any], *devices: str, source: str = MODEL) -> Recording:
    files = (Input(ref=put(memory, "model.py", source), kinds=("python-model",)),
             Input(ref=put(memory, "widths.py", WIDTHS), kinds=("source-code",)))
    return Recording(memory, knobs, request(memory, *devices, stated=True), files)


def behaviour(specialist: Specialist, work: Recording) -> tuple[Any, ...]:
    """What an agent did: its calls, notes, what it drafted, or the fault it ended with."""
    try:
        draft, rounds, complaints = run_agent(specialist, work)  # type: ignore[arg-type]
    except EnlistError as error:
        return (error.code, tuple(work.calls))
    return (tuple(work.calls), rounds, tuple(complaints), repr(draft), tuple(work.notes))


def defaults(specialist: Specialist) -> dict[str, Any]:
    return {k.name: k.settings[0].value for k in specialist.knobs}


@pytest.fixture(autouse=True)
def no_journal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("enlist.agents.graph.stopper", lambda memory, run, attempt: lambda: False)


def variants(specialist: Specialist, name: str) -> list[dict[str, Any]]:
    knob = next(k for k in specialist.knobs if k.name == name)
    return [{**defaults(specialist), name: s.value} for s in knob.settings]


def all_differ(seen: list[tuple[Any, ...]]) -> bool:
    return len({repr(s) for s in seen}) == len(seen) >= 2


def test_every_installed_tool_holds_the_contract() -> None:
    tools = registry.load_all("enlist.tools")
    assert {"solar-capture", "solar-bounds", "solar-check"} <= set(tools)
    for tool in tools.values():
        check_tool(tool)


def test_every_installed_specialist_holds_the_contract() -> None:
    found = specialists()
    assert {"light-analyst", "light-verifier", "writer"} <= set(found)
    for specialist in found.values():
        check_specialist(specialist, load_capabilities())
    check_routes(list(found.values()))


@pytest.mark.parametrize("knob", ["devices", "precision", "siblings", "rounds", "time_limit"])
def test_analysts_that_differ_in_one_knob_behave_differently(memory: Any, knob: str) -> None:
    analyst = specialists()["light-analyst"]
    scene = {"devices": ("H100", "no such device")} if knob == "rounds" else {"devices": ("H100",)}
    source = IMPORTING if knob == "siblings" else MODEL
    assert all_differ([behaviour(analyst, analyst_work(memory, knobs, *scene["devices"], source=source))
                       for knobs in variants(analyst, knob)])


def test_an_analyst_with_two_rounds_recovers_from_an_unknown_device_and_says_so(memory: Any) -> None:
    analyst = specialists()["light-analyst"]
    work = analyst_work(memory, {**defaults(analyst), "rounds": 2}, "H100 PCIe", "Abacus 9000")
    draft, rounds, complaints = run_agent(analyst, work)  # type: ignore[arg-type]
    assert rounds == 2 and not complaints
    assert {b["device"] for b in draft.data["bounds"]} == {"H100 PCIe"}
    assert any("Abacus 9000" in note for note in work.notes)


@pytest.mark.parametrize("knob", ["recount", "stated", "rounds", "time_limit"])
def test_verifiers_that_differ_in_one_knob_behave_differently(memory: Any, knob: str) -> None:
    analyst, verifier = specialists()["light-analyst"], specialists()["light-verifier"]
    seen = []
    for knobs in variants(verifier, knob):
        work = analyst_work(memory, defaults(analyst), "H100")
        run_agent(analyst, work)  # type: ignore[arg-type]
        work.calls, work.knobs = [], knobs
        work.fail_first = "solar-check" if knob == "rounds" else None
        seen.append(behaviour(verifier, work))
    assert all_differ(seen)


def test_a_verifier_confirms_a_ratio_to_a_stated_time_by_reading_the_request_again(memory: Any) -> None:
    analyst, verifier = specialists()["light-analyst"], specialists()["light-verifier"]
    work = analyst_work(memory, defaults(analyst), "H100")
    run_agent(analyst, work)  # type: ignore[arg-type]
    work.knobs = defaults(verifier)
    draft, _, complaints = run_agent(verifier, work)  # type: ignore[arg-type]
    made = {f.id for f in work.upstream_findings() if f.tier == "stated"}
    assert not complaints and made
    assert {c.status for c in draft.checks if c.finding in made} == {"confirmed"}
    work.request["text"] = "it takes a while"
    draft, _, _ = run_agent(verifier, work)  # type: ignore[arg-type]
    assert {c.status for c in draft.checks if c.finding in made} == {"refuted"}


def test_a_verifier_confirms_no_ratio_to_a_bound_that_it_could_not_check(memory: Any) -> None:
    analyst, verifier = specialists()["light-analyst"], specialists()["light-verifier"]
    work = analyst_work(memory, defaults(analyst), "H100")
    run_agent(analyst, work)  # type: ignore[arg-type]
    work.knobs, work.fail_first = {**defaults(verifier), "rounds": 1}, "solar-check"
    draft, _, _ = run_agent(verifier, work)  # type: ignore[arg-type]
    assert {c.status for c in draft.checks} == {"not_checked"} and len(draft.checks) == 6


def stated(work: Recording, *times: tuple[float, str, str | None]) -> None:
    work.request["measurements"] = [{"quantity": "time", "value": v, "quote": q, "device": d} for v, q, d in times]
    work.request["text"] = " and ".join(q for _, q, _ in times)


def ratios(work: Recording) -> dict[str, float]:
    """Stated over bound, times bound: the time that each device was given."""
    found = [f for f in work.upstream_findings() if f.tier == "stated"]
    bounds = {f.conditions["device"]: f.value for f in work.upstream_findings() if f.predicate == "fused lower bound"}
    return {str(f.conditions["device"]): round(float(f.value or 0) * float(bounds[f.conditions["device"]] or 0), 9)
            for f in found}


def test_a_stated_time_is_held_only_against_the_device_that_it_was_stated_for(memory: Any) -> None:
    analyst, verifier = specialists()["light-analyst"], specialists()["light-verifier"]
    work = analyst_work(memory, defaults(analyst), "A100 SXM 80GB", "H100")
    stated(work, (900e-6, "900us on an A100", "A100"), (600e-6, "0.6 ms on an H100 SXM", "H100 SXM"))
    run_agent(analyst, work)  # type: ignore[arg-type]
    assert ratios(work) == {"A100 SXM 80GB": 900e-6, "H100 SXM": 600e-6}
    work.knobs = defaults(verifier)
    draft, _, _ = run_agent(verifier, work)  # type: ignore[arg-type]
    assert {c.status for c in draft.checks} == {"confirmed"}


def test_a_time_for_a_device_without_a_data_sheet_is_held_against_nothing(memory: Any) -> None:
    work = analyst_work(memory, defaults(specialists()["light-analyst"]), "Abacus 9000", "H100 PCIe")
    stated(work, (5e-3, "5 ms on an Abacus 9000", "Abacus 9000"))
    run_agent(specialists()["light-analyst"], work)  # type: ignore[arg-type]
    assert ratios(work) == {}


def test_another_device_is_no_answer_to_a_question_about_an_unknown_one(memory: Any) -> None:
    work = analyst_work(memory, defaults(specialists()["light-analyst"]), "Abacus 9000")
    with pytest.raises(EnlistError, match="no data sheet for Abacus 9000") as fault:
        run_agent(specialists()["light-analyst"], work)  # type: ignore[arg-type]
    assert fault.value.kind == "user" and "H100 SXM" in (fault.value.allowed or "")
    assert not work.upstream_findings()


@pytest.mark.parametrize(("name", "value", "said"), [
    ("batch", 8, "first dimension of x: 8"), ("training", True, "one training step")])
def test_the_bounds_follow_what_the_request_restricts(memory: Any, name: str, value: object, said: str) -> None:
    work = analyst_work(memory, defaults(specialists()["light-analyst"]), "H100")
    work.request["constraints"][name] = value
    run_agent(specialists()["light-analyst"], work)  # type: ignore[arg-type]
    (outcome, *_) = [o for _, o in work.upstream_outcomes("solar-bounds")]
    assert said in " ".join(outcome["output"]["assumed"])


def test_a_size_that_the_inputs_do_not_have_is_said_and_not_followed(memory: Any) -> None:
    work = analyst_work(memory, defaults(specialists()["light-analyst"]), "H100")
    work.request["constraints"]["length"] = 4096
    run_agent(specialists()["light-analyst"], work)  # type: ignore[arg-type]
    assert any("length=4096 was named" in note for note in work.notes) and ratios(work)


def test_a_class_that_the_request_names_is_the_target(memory: Any) -> None:
    source = MODEL.replace("class Model", "class Net").replace("nn.Linear(width, width)", "nn.Linear(width, 2 * width)")
    work = analyst_work(memory, defaults(specialists()["light-analyst"]), "H100", source=source)
    work.request["text"] = "how far is Net from the limit?"
    run_agent(specialists()["light-analyst"], work)  # type: ignore[arg-type]
    assert {f.subject for f in work.upstream_findings()} == {"model.py:Net"}


class Parrot:
    """A model that says sentences again in other words, or with another number."""

    def __init__(self, change: str = "") -> None:
        self.change = change

    def ask(self, question: models.Ask) -> models.Answer:
        sentences = json.loads(question.text.split("\n")[1])
        words = [s.replace("at least", "no less than") + self.change for s in sentences]
        return models.Answer(text=json.dumps({"final_answer": words}), model="parrot", tokens_in=1, tokens_out=1, usd=0)


def answers(monkeypatch: pytest.MonkeyPatch, model: Parrot) -> None:
    monkeypatch.setattr("enlist.agents.writing.rewording.language_model", lambda work, capability: model)


def writer_work(memory: Any, knobs: dict[str, Any], *, refute: bool = False) -> Recording:
    analyst = specialists()["light-analyst"]
    work = analyst_work(memory, {**defaults(analyst), "precision": "sweep"}, "H100", "A100 SXM 80GB")
    run_agent(analyst, work)  # type: ignore[arg-type]
    if refute:
        work.checks = [Check(finding=f.id, status="refuted", route="test", reason="no")
                       for f in work.upstream_findings()]
    work.knobs = knobs
    return work


@pytest.mark.parametrize("knob", ["rows", "figures", "order", "refuted", "wording"])
def test_writers_that_differ_in_one_knob_behave_differently(memory: Any, knob: str,
                                                            monkeypatch: pytest.MonkeyPatch) -> None:
    answers(monkeypatch, Parrot())
    writer = specialists()["writer"]
    if knob == "rows":  # the tables of a model with two operators are short
        monkeypatch.setattr("enlist.agents.writing.writer._sections", lambda work: long_sections())
    if knob == "order":
        monkeypatch.setattr("enlist.agents.writing.writer._sections", lambda work: long_sections()[::-1])
    assert all_differ([behaviour(writer, writer_work(memory, knobs, refute=knob == "refuted"))
                       for knobs in variants(writer, knob)])


def long_sections() -> list[Any]:
    from enlist.tools.runtime.section import Section, Table

    table = Table(title="t", columns=("n",), rows=tuple((n,) for n in range(40)))
    return [Section(title=title, tables=(table,)) for title in ("a", "b")]


def test_a_models_wording_is_refused_where_it_changes_a_number(memory: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = specialists()["writer"]
    plain, _, _ = run_agent(writer, writer_work(memory, defaults(writer)))  # type: ignore[arg-type]
    knobs = {**defaults(writer), "wording": "model"}
    answers(monkeypatch, Parrot(" It is 42."))
    work = writer_work(memory, knobs)
    lied, _, _ = run_agent(writer, work)  # type: ignore[arg-type]
    assert lied.data == plain.data and any("changed a number" in n for n in work.notes)
    answers(monkeypatch, Parrot())
    honest, _, _ = run_agent(writer, writer_work(memory, knobs))  # type: ignore[arg-type]
    assert honest.data != plain.data


def test_the_pool_has_one_card_for_each_distinct_combination_of_knobs() -> None:
    pool = shipped()
    shapes = {(str(pool.specialist[n]), tuple(sorted(map(repr, pool.knobs[n].items())))) for n in range(len(pool))}
    assert len(shapes) == len(pool) >= 100
    assert 0 < pool.without_model().sum() < len(pool)
    assert not pool.synthetic.any()
    assert all(str(a) < str(b) for a, b in pairwise(pool.ids))


def test_hand_written_cards_are_read_and_bad_ones_are_named(tmp_path: Path) -> None:
    from enlist.agents.pool_files import read_pool

    card = shipped().card(0)
    (tmp_path / "pool.json").write_text(f"[{card.model_dump_json()}]")
    assert read_pool(tmp_path / "pool.json").card(0) == card
    (tmp_path / "bad.yaml").write_text("- {id: x}\n")
    with pytest.raises(EnlistError, match="card 0") as fault:
        read_pool(tmp_path / "bad.yaml")
    assert fault.value.code == "bad_input"
