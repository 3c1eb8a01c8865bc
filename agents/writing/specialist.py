"""The writer's declaration and its knobs."""

from enlist.agents.specialist import Knob, Setting, Specialist

WORDING_MODEL = "wording"

WRITER = Specialist(
    name="writer", version="1", duty="writer", capability=None, route="rendering",
    summary="joins the sections of all capabilities into one report; adds no claim",
    reads=("checks", "bounds"), writes=("report",), tools=(),
    knobs=(
        Knob("rows", "rows that a table keeps", (Setting(10, 0.02), Setting(5), Setting(20, 0.01, 1.1))),
        Knob("figures", "whether figures are drawn", (Setting(True, 0.02, 1.1), Setting(False))),
        Knob("order", "what the sections are sorted by", (Setting("plan", 0.01), Setting("title"))),
        Knob("refuted", "what becomes of sentences that rest on a refuted claim",
             (Setting("mark", 0.01), Setting("drop"))),
        Knob("wording", "who words the sentences", (Setting("plain"), Setting("model", 0.02, 3.0, WORDING_MODEL))),
    ),
    act="enlist.agents.writing.writer:act", check="enlist.agents.writing.writer:check",
    quality=0.8, seconds=1.0)
