"""The declarations of both specialists. Prior qualities and seconds are guesses until a campaign measures them."""

from enlist.agents.specialist import Knob, Setting, Specialist

ROUNDS = Knob("rounds", "how often it may act", (Setting(1, 0.01), Setting(2)))
TIME_LIMIT = Knob("time_limit", "wall seconds that each tool call may take", (Setting(120, 0.01), Setting(60)))

ANALYST = Specialist(
    name="campaign-analyst", version="1", duty="analyst", capability="benchmark_campaign",
    route="bootstrap over the journal",
    summary="runs the solvers over the environments, journaled and resumable, and ranks them with intervals",
    reads=("campaign",), writes=("leaderboard",), tools=("campaign-leaderboard",),
    knobs=(
        Knob("samples", "samples that it runs at most; of more it draws so many with a fixed seed",
             (Setting(120, 0.02), Setting(40, 0.0, 0.4), Setting(400, 0.02, 3.0))),
        Knob("retries", "how often a sample that failed is tried again", (Setting(1, 0.01), Setting(0), Setting(2))),
        Knob("sample_seconds", "wall seconds that a solver may take on a task, where no campaign file says",
             (Setting(60, 0.01), Setting(20), Setting(180, 0.01, 1.2))),
        TIME_LIMIT),
    act="enlist.evals.campaign.analyst:act", check="enlist.evals.campaign.analyst:check", quality=0.85, seconds=120.0)

VERIFIER = Specialist(
    name="campaign-verifier", version="1", duty="verifier", capability="benchmark_campaign",
    route="plain recomputation with other draws",
    summary="reads the samples again and computes means, intervals and tests in plain Python with other draws",
    reads=("leaderboard",), writes=("checks",), tools=("campaign-leaderboard",),
    knobs=(Knob("draws", "draws of its own bootstrap and sign flips",
                (Setting(2000, 0.02), Setting(1000, 0.01, 0.7), Setting(4000, 0.02, 1.5))), ROUNDS, TIME_LIMIT),
    act="enlist.evals.campaign.verifier:act", check="enlist.evals.campaign.verifier:check", quality=0.85, seconds=3.0)
