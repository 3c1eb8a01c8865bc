"""Plans have the shape that the request implies: single, chain, fan-out and fan-in, join; or none, with the reason."""

import os
import random
import subprocess
import sys

import pytest

from enlist.orchestrator.plan import Edge, Plan, Role, validate
from enlist.orchestrator.planning import plan_request, read_request
from enlist.orchestrator.request import Request
from enlist.tools.runtime.errors import EnlistError

BOUND = "How far is my model from the speed of light on an H100?"
CHAIN = "Tell me the roofline lower bound of the run time, then write a faster kernel."


def edges(plan):
    return {(e.source, e.target, e.artifact) for e in plan.edges}


def test_one_capability_gets_an_analyst_a_verifier_and_a_writer(capabilities, attach):
    model = attach("model.py", "python-model")
    planning = plan_request(Request(text=BOUND, attachments=(model,)), capabilities, capabilities)
    assert {r.id for r in planning.plan.roles} == {"speed_of_light.analyst", "speed_of_light.verifier", "writer"}
    assert edges(planning.plan) == {("speed_of_light.analyst", "speed_of_light.verifier", "bounds"),
                                    ("speed_of_light.analyst", "writer", "bounds"),
                                    ("speed_of_light.verifier", "writer", "checks")}
    assert planning.plan.role("speed_of_light.analyst").inputs == (model.ref.sha256,)
    assert planning.missing == ()


def test_what_one_writes_and_the_other_reads_makes_a_chain(capabilities, attach):
    planning = plan_request(Request(text=CHAIN, attachments=(attach("m.py", "python-model"),)), capabilities,
                            capabilities)
    assert ("speed_of_light.analyst", "kernel_optimization.analyst", "bounds") in edges(planning.plan)
    order = planning.plan.order()
    assert order.index("speed_of_light.analyst") < order.index("kernel_optimization.analyst")


def test_several_models_fan_out_to_one_analyst_each_and_fan_in_to_one_verifier(capabilities, attach):
    models = [attach(f"m{i}.py", "python-model") for i in range(3)]
    sibling = attach("layers.py", "python-module", "source-code")
    plan = plan_request(Request(text=BOUND, attachments=(*models, sibling)), capabilities, capabilities).plan
    analysts = [r for r in plan.roles if r.duty == "analyst"]
    assert [r.id for r in analysts] == [f"speed_of_light.analyst.{i}" for i in (1, 2, 3)]
    assert [r.inputs for r in analysts] == [(m.ref.sha256, sibling.ref.sha256) for m in models]
    (verifier,) = (r for r in plan.roles if r.duty == "verifier")
    assert plan.upstream(verifier.id) == tuple(sorted(r.id for r in analysts))


def test_more_than_sixteen_targets_are_named_as_missing(capabilities, attach):
    models = tuple(attach(f"m{i:02}.py", "python-model") for i in range(18))
    planning = plan_request(Request(text=BOUND, attachments=models), capabilities, capabilities)
    assert sum(r.duty == "analyst" for r in planning.plan.roles) == 16
    assert [("m16.py" in m.reason, "m17.py" in m.reason) for m in planning.missing] == [(True, False), (False, True)]


def test_a_chain_of_fanned_out_analysts_pairs_them_by_attachment(capabilities, attach):
    models = tuple(attach(f"m{i}.py", "python-model") for i in range(2))
    plan = plan_request(Request(text=CHAIN, attachments=models), capabilities, capabilities).plan
    handed = {(s, t) for s, t, kind in edges(plan) if kind == "bounds" and "kernel" in t}
    assert handed == {(f"speed_of_light.analyst.{i}", f"kernel_optimization.analyst.{i}") for i in (1, 2)}


def test_log_streams_of_one_incident_stay_together(capabilities, attach):
    logs = tuple(attach(f"{n}.log", "log") for n in "abc")
    plan = plan_request(Request(text="What caused the outage last night?", attachments=logs), capabilities,
                        capabilities).plan
    assert len(plan.role("incident_logs.analyst").inputs) == 3


def test_unrelated_wishes_join_at_one_writer(capabilities, attach):
    text = "Find the root cause of the outage in the log. Also which formula belongs in cell D14 of the spreadsheet?"
    request = Request(text=text, attachments=(attach("a.log", "log"), attach("b.xlsx", "workbook")))
    plan = plan_request(request, capabilities, capabilities).plan
    assert {r.capability for r in plan.roles if r.duty == "analyst"} == {"incident_logs", "formula_suggestion"}
    assert [r.id for r in plan.roles if r.duty == "writer"] == ["writer"]
    assert set(plan.upstream("writer")) == {r.id for r in plan.roles} - {"writer"}
    assert not any("analyst" in s and "analyst" in t for s, t, _ in edges(plan))


def test_only_uninstalled_matches_give_no_plan(capabilities, attach):
    planning = plan_request(Request(text=BOUND, attachments=(attach("m.py", "python-model"),)), capabilities, ())
    assert planning.plan is None
    assert [(m.capability, m.reason) for m in planning.missing] == [("speed_of_light", "known, not installed")]
    assert planning.nearest[0].status == "not_installed"


def test_installed_parts_of_a_mixed_request_run_and_the_rest_is_named(capabilities, attach):
    planning = plan_request(Request(text=CHAIN, attachments=(attach("m.py", "python-model"),)), capabilities,
                            {"speed_of_light"})
    assert {r.capability for r in planning.plan.roles if r.capability} == {"speed_of_light"}
    assert [m.capability for m in planning.missing] == ["kernel_optimization"]


def test_what_must_be_attached_is_said(capabilities):
    planning = plan_request(Request(text=BOUND), capabilities, capabilities)
    assert planning.plan is None
    assert planning.missing[0].reason.startswith("needs a python-model: attach a .py file with Model and get_inputs")


@pytest.mark.parametrize(("name", "source"), [
    ("t.csv", "kernel,time_ms\ngemm,1.5\nsoftmax,0.3\n"),
    ("helpers.py", "SIZE = 3\n"),
])
def test_what_the_installed_analyst_cannot_read_is_no_target(capabilities, sniffed, name, source):
    planning = plan_request(Request(text=BOUND, attachments=(sniffed(name, source),)), capabilities,
                            {"speed_of_light"})
    assert planning.plan is None
    assert "attach a .py file with Model and get_inputs" in planning.missing[0].reason


@pytest.mark.parametrize(("name", "source"), [
    ("nest.c", "#include <math.h>\nvoid f(float *a) { for (i = 0; i < 9; i++) for (j = 0; j < 9; j++) a[i] += 1; }\n"),
    ("k.cu", "__global__ void k(float *a) { a[0] = 1; }\n"),
    ("ops.py", "import numpy as np\ndef f(a):\n    return a\n"),
    ("f.py", "import jax\ndef f(x):\n    return x\n")])
def test_source_in_other_languages_is_a_target(capabilities, sniffed, name, source):
    file = sniffed(name, source)
    assert targets(capabilities, file) == [(file.ref.sha256,)]


def targets(capabilities, *files):
    """The first input of each analyst: what it works on."""
    plan = plan_request(Request(text=BOUND, attachments=files), capabilities, {"speed_of_light"}).plan
    return [role.inputs for role in plan.roles if role.duty == "analyst"]


BESIDE = {
    "layers.py": "from torch import nn\nclass Block(nn.Module):\n    pass\n",
    "cell.py": "import torch\nclass Cell(torch.nn.Module):\n    pass\ndef broken(:\n",
    "ops.py": "import numpy as np\ndef f(a):\n    return a\n",
    "tri.py": "import triton\n@triton.jit\ndef k(x):\n    pass\n",
    "jit.py": "import jax\ndef f(x):\n    return x\n",
    "train.py": "loss.backward()\noptimizer.step()\n",
    "sizes.py": "WIDTH = 3\n",
}
MODEL = "from layers import Block\nclass Model(Block):\n    pass\ndef get_inputs():\n    return []\n"


@pytest.mark.parametrize("name", BESIDE)
def test_a_python_file_without_model_and_inputs_accompanies_one_that_has_them(capabilities, sniffed, name):
    sibling, model = sniffed(name, BESIDE[name]), sniffed("sib.py", MODEL)
    for files in ((sibling, model), (model, sibling)):
        assert targets(capabilities, *files) == [(model.ref.sha256, sibling.ref.sha256)]


@pytest.mark.parametrize("second", [MODEL, "class Model:\n    pass\n", "def get_inputs():\n    return []\n"])
def test_two_files_with_model_or_inputs_are_two_targets_with_the_same_companions(capabilities, sniffed, second):
    one, two, layers = sniffed("a.py", MODEL), sniffed("b.py", second), sniffed("layers.py", BESIDE["layers.py"])
    assert targets(capabilities, layers, one, two) == [(one.ref.sha256, layers.ref.sha256),
                                                       (two.ref.sha256, layers.ref.sha256)]


def test_layers_alone_are_the_target(capabilities, sniffed):
    layers = sniffed("layers.py", BESIDE["layers.py"])
    assert targets(capabilities, layers) == [(layers.ref.sha256,)]


@pytest.mark.parametrize("device", ["h100 sxm", "H100 PCIe", "A100", "B200", "RTX 4090", "MI300X"])
@pytest.mark.parametrize("wish", ["limit on {}", "limits of the {}", "bound on {}", "{}: bounds?", "headroom {}",
                                  "{} headroom", "roofline {}", "{}: roofline!"])
def test_a_limit_of_a_model_on_a_device_is_a_matter_of_the_speed_of_light(capabilities, attach, device, wish):
    request = read_request(wish.format(device), (attach("m.py", "python-model"),))
    planning = plan_request(request, capabilities, {"speed_of_light"})
    assert {r.capability for r in planning.plan.roles if r.capability} == {"speed_of_light"}
    assert planning.missing == ()
    assert request.constraints.devices == (device,)


@pytest.mark.parametrize("text", [
    "what is the peak memory of this model?", "how much memory does this model need on an H100?",
    "how much VRAM does it use on an H100?", "does it fit in 80 GB?", "memory footprint on A100 and H100",
    "how much energy does this model use on an H100?", "what is the power draw on an H100?",
    "power limit on h100", "how many GB does this model use at peak?", "will it fit on an RTX 4090?",
    "does this model OOM on a 24 GB card?", "what does one step cost in dollars on an H100?",
    "how accurate is this model on an H100?"])
def test_memory_energy_and_money_are_declined_and_the_nearest_says_so(capabilities, attach, text):
    for files in ((attach("m.py", "python-model"),), ()):
        planning = plan_request(read_request(text, files), capabilities, {"speed_of_light"})
        assert (planning.plan, planning.missing) == (None, ())
        assert planning.nearest[0].capability == "speed_of_light"
        assert "not counted yet" in planning.nearest[0].reason


def test_a_wish_for_memory_hides_no_other_wish(capabilities, attach):
    text = "What is the peak memory on an H100? Also find the root cause of the outage in the log."
    planning = plan_request(read_request(text, (attach("a.log", "log"),)), capabilities, capabilities)
    assert {r.capability for r in planning.plan.roles if r.capability} == {"incident_logs"}


@pytest.mark.parametrize("text", [
    "which GPU would let this model reach 0.5 ms per step?", "which hardware would meet a target of 2 ms?",
    "cheapest GPU that runs this in 5 ms", "Which accelerator do I need for 3 ms per step, how fast could it be?",
    "recommend hardware for a latency of 5 ms, close to the hardware limit", "Which GPU is needed to hit 10 ms?",
    "how many H100s do I need for 1000 tokens/s, theoretically?"])
def test_finding_hardware_for_a_target_gives_bounds_and_says_what_is_missing(capabilities, attach, text):
    planning = plan_request(read_request(text, (attach("m.py", "python-model"),)), capabilities, {"speed_of_light"})
    assert planning.plan.role("speed_of_light.analyst")
    assert [(m.capability, m.reason) for m in planning.missing] == [(
        "speed_of_light", "finding hardware for a target is not installed yet; bounds of the known devices are")]


def test_a_wish_for_memory_beside_one_for_headroom_is_named_as_missing(capabilities, attach):
    text = "What is the peak memory, and how much headroom is left on an H100?"
    planning = plan_request(read_request(text, (attach("m.py", "python-model"),)), capabilities, {"speed_of_light"})
    assert planning.plan.role("speed_of_light.analyst")
    assert [m.reason for m in planning.missing] == ["memory is not counted yet; bounds on run time are"]


@pytest.mark.parametrize("text", ["how far from the peak memory bandwidth of an H100 is it?", "is it memory bound?",
                                  "which GPU is it closest to the roofline on, H100 or A100?"])
def test_memory_bandwidth_and_a_comparison_of_devices_are_answered(capabilities, attach, text):
    planning = plan_request(read_request(text, (attach("m.py", "python-model"),)), capabilities, {"speed_of_light"})
    assert planning.plan.role("speed_of_light.analyst")
    assert planning.missing == ()


@pytest.mark.parametrize("text", ["", " \n", "asdf qwer zxcv", "What is the speed of light in vacuum?",
                                  "turn on the light and run", "\x00\x00", "🎉🎉🎉", "مرحبا كيف حالك", "a" * 1_000_000])
def test_nonsense_gets_no_plan_and_nothing_missing(capabilities, text):
    planning = plan_request(read_request(text), capabilities, capabilities)
    assert (planning.plan, planning.missing) == (None, ())
    assert all(0 <= n.score < 0.5 for n in planning.nearest)
    assert len(planning.nearest) <= 3


def test_a_look_alike_is_named_as_out_of_scope(capabilities):
    planning = plan_request(Request(text="What is the speed of light in vacuum?"), capabilities, capabilities)
    assert (planning.nearest[0].capability, planning.nearest[0].status) == ("speed_of_light", "out_of_scope")


def test_the_wish_at_either_end_of_a_very_long_text_is_found(capabilities, attach):
    padding = "bla " * 250_000
    for text in (f"{BOUND}\n{padding}", f"{padding}\n{BOUND}"):
        request = read_request(text, (attach("m.py", "python-model"),))
        assert plan_request(request, capabilities, capabilities).plan.role("speed_of_light.analyst")


def test_odd_characters_and_one_wrong_letter_do_not_hide_a_wish(capabilities, attach):
    model = (attach("模型.py", "python-model"),)
    for text in ("What is the ROOFLINE\x00 of my model\u202e?", "ｗｈａｔ ｉｓ ｔｈｅ ｒｏｏｆｌｉｎｅ",
                 "whats the rofline of this", "🚀 roofline 🚀"):
        plan = plan_request(Request(text=text, attachments=model), capabilities, capabilities).plan
        assert plan.role("speed_of_light.analyst")


def test_the_order_of_attachments_changes_nothing(capabilities, attach):
    files = [attach(f"m{i}.py", "python-model") for i in range(5)] + [attach("x.log", "log")]
    plans = set()
    for seed in range(4):
        random.Random(seed).shuffle(files)
        request = Request(text=CHAIN, attachments=tuple(files))
        plans.add(plan_request(request, capabilities, capabilities).model_dump_json())
    assert len(plans) == 1


@pytest.mark.parametrize("damage", ["twice", "unknown", "kind", "circle", "writers", "lost", "unchecked"])
def test_a_plan_that_does_not_hold_together_is_refused(capabilities, damage):
    analyst = Role(id="a", capability="speed_of_light", duty="analyst", reads=("bounds",), writes=("bounds",))
    verifier = Role(id="v", capability="speed_of_light", duty="verifier", reads=("bounds",), writes=("checks",))
    writer = Role(id="w", capability=None, duty="writer", reads=("bounds", "checks"))
    a_v = Edge(source="a", target="v", artifact="bounds")
    v_w = Edge(source="v", target="w", artifact="checks")
    a_w = Edge(source="a", target="w", artifact="bounds")
    good = Plan(roles=(analyst, verifier, writer), edges=(a_v, v_w))
    assert validate(good, capabilities) is good
    twin = writer.model_copy(update={"id": "w2"})
    tea = analyst.model_copy(update={"capability": "tea"})
    bad = {
        "twice": good.model_copy(update={"roles": (analyst, *good.roles)}),
        "unknown": good.model_copy(update={"roles": (tea, verifier, writer)}),
        "kind": good.model_copy(update={"edges": (a_v, v_w, a_w.model_copy(update={"artifact": "tea"}))}),
        "circle": good.model_copy(update={"edges": (a_v, v_w, Edge(source="a", target="a", artifact="bounds"))}),
        "writers": good.model_copy(update={"roles": (*good.roles, twin)}),
        "lost": good.model_copy(update={"edges": (a_v,)}),
        "unchecked": good.model_copy(update={"edges": (a_w, v_w)}),
    }[damage]
    with pytest.raises(EnlistError) as fault:
        validate(bad, capabilities)
    assert fault.value.code == "bad_input"


def test_equal_requests_give_byte_identical_plans_in_processes_with_other_hash_seeds(capabilities):
    program = (
        "from enlist.orchestrator.capabilities import load_capabilities as load\n"
        "from enlist.orchestrator.planning import plan_request, read_request\n"
        "c = load()\n"
        "for x in c.values():\n"
        "    print(plan_request(read_request('; then '.join(x.phrases)), c, c).model_dump_json())\n")
    printed = {subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed}, check=True,
                              capture_output=True, text=True).stdout for seed in ("1", "2")}
    assert len(printed) == 1
    assert printed.pop().count("\n") == len(capabilities)
