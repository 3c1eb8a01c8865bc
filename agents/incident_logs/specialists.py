"""The declarations of both specialists. Prior qualities and seconds are guesses until a campaign measures them."""

from enlist.agents.specialist import Knob, Setting, Specialist

TIME_LIMIT = Knob("time_limit", "wall seconds that each tool call may take",
                  (Setting(300, 0.01), Setting(60), Setting(120), Setting(600, 0.01, 1.05)))

ANALYST = Specialist(
    name="log-analyst", version="1", duty="analyst", capability="incident_logs", route="counted statements",
    summary="counts every statement against its own baseline and follows complaints to where the trouble began",
    reads=("log",), writes=("incident",), tools=("logs-summary",),
    knobs=(
        Knob("window", "whether times that the request names bound what is read", (Setting("asked", 0.02),
                                                                                  Setting("whole"))),
        Knob("rounds", "how often it may act", (Setting(1, 0.01), Setting(2))),
        TIME_LIMIT),
    act="enlist.agents.incident_logs.analyst:act", check="enlist.agents.incident_logs.analyst:check",
    quality=0.75, seconds=8.0)

VERIFIER = Specialist(
    name="log-verifier", version="1", duty="verifier", capability="incident_logs", route="bytes of the files",
    summary="reads each cited line again from the bytes of its file and holds it against the claim",
    reads=("incident",), writes=("checks",), tools=("logs-recheck",),
    knobs=(
        Knob("lines", "cited lines that are read again of each claim",
             (Setting("all", 0.03), Setting("first", 0.0, 0.7))),
        Knob("rounds", "how often it may act", (Setting(2, 0.01), Setting(1))),
        TIME_LIMIT),
    act="enlist.agents.incident_logs.verifier:act", check="enlist.agents.incident_logs.verifier:check",
    quality=0.85, seconds=4.0)
