"""The declarations of both specialists. Prior qualities and seconds are guesses until a campaign measures them."""

from enlist.agents.specialist import Knob, Setting, Specialist

TIME_LIMIT = Knob("time_limit", "wall seconds that each tool call may take",
                  (Setting(60, 0.01), Setting(30), Setting(120, 0.01, 1.05), Setting(180, 0.01, 1.1)))

ANALYST = Specialist(
    name="light-analyst", version="1", duty="analyst", capability="speed_of_light", route="exported graph",
    summary="captures the model's operators by torch.export and bounds its run time by the roofs of each device",
    reads=("python-model",), writes=("bounds",),
    tools=("solar-capture", "solar-bounds", "loop-equals", "loop-lift"),
    knobs=(
        Knob("devices", "devices to bound: those named in the request (an H100 where none is), or all known",
             (Setting("named", 0.02), Setting("all", 0.0, 1.1))),
        Knob("precision", "dtypes to price the model in: its own, or also the 16-bit ones",
             (Setting("as-written", 0.01), Setting("sweep", 0.0, 1.2))),
        Knob("siblings", "whether files attached beside the model are there for it to import",
             (Setting(True, 0.01), Setting(False))),
        Knob("rounds", "how often it may act: a second round leaves out devices that no data sheet covers",
             (Setting(2, 0.02, 1.05), Setting(1))),
        TIME_LIMIT),
    act="enlist.agents.speed_of_light.analyst:act", check="enlist.agents.speed_of_light.analyst:check",
    quality=0.85, seconds=10.0)

VERIFIER = Specialist(
    name="light-verifier", version="1", duty="verifier", capability="speed_of_light", route="dispatched operators",
    summary="calls the model on meta tensors, counts its work with torch's own formulas and prices the bounds again",
    reads=("bounds",), writes=("checks",), tools=("solar-check",),
    knobs=(
        Knob("recount", "how often each model is counted; two counts that differ check nothing",
             (Setting(1, 0.02), Setting(2, 0.021, 2.0))),
        Knob("stated", "whether ratios to a time that the user stated are worked out again",
             (Setting(True, 0.03), Setting(False))),
        Knob("rounds", "how often it may act: a second round counts again what failed under load",
             (Setting(2, 0.01), Setting(1))),
        TIME_LIMIT),
    act="enlist.agents.speed_of_light.verifier:act", check="enlist.agents.speed_of_light.verifier:check",
    quality=0.85, seconds=8.0)
