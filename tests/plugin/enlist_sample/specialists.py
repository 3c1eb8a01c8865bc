"""The two specialists of the plug-in."""

from enlist.agents.specialist import Knob, Setting, Specialist
from enlist_sample.capability import KINDS

ROUNDS = Knob("rounds", "how often it may act", (Setting(1, 0.01), Setting(2)))
TIME_LIMIT = Knob("time_limit", "wall seconds that each tool call may take", (Setting(60, 0.01), Setting(30)))

ANALYST = Specialist(
    name="sample-analyst", version="1", summary="splits texts at white space", duty="analyst", capability="word_count",
    route="split", reads=KINDS, writes=("word-counts",), tools=("sample-counted",), knobs=(ROUNDS, TIME_LIMIT),
    act="enlist_sample.work:count", check="enlist_sample.work:check_counts", seconds=1.0)
VERIFIER = Specialist(
    name="sample-verifier", version="1", summary="looks at each character again", duty="verifier",
    capability="word_count", route="characters", reads=("word-counts",), writes=("checks",), tools=("sample-recount",),
    knobs=(ROUNDS, TIME_LIMIT), act="enlist_sample.work:verify", check="enlist_sample.work:check_verdicts", seconds=1.0)
