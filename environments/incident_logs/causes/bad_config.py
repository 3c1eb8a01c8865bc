"""A setting is changed to a value that does not bear the load: it is read without complaint and hurts minutes later."""

from random import Random

from enlist.environments.incident_logs.model import Incident, System
from enlist.environments.incident_logs.routine import reload
from enlist.environments.incident_logs.telling import Mode, Story, utc
from enlist.environments.incident_logs.words import FIRST

_KINDS: tuple[tuple[str, int, int, Mode, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        "pool.max",
        64,
        3,
        "slow",
        (
            "borrowed {setting} slot after {ms}00 ms, {n} waiting",
            "all {after} slots busy, request {id} parked",
            "waiters for a slot: {n}",
        ),
        (
            "{n} callers in line for {after} slots",
            "a slot was free only after {ms}00 ms",
            "{id} waits for one of {after}",
        ),
    ),
    (
        "timeout.ms",
        3000,
        30,
        "errors",
        (
            "aborted own call for {path} after {after} ms",
            "read gave up at {after} ms, {bytes} bytes so far",
            "{n} calls cut at {after} ms",
        ),
        (
            "cut {path} off at {after} ms",
            "only {bytes} bytes came within {after} ms",
            "{after} ms were too short for {id}",
        ),
    ),
    (
        "limit.per.s",
        900,
        9,
        "errors",
        (
            "shed request {id}: above {after} per second",
            "admission denied for {path}, bucket empty",
            "{n} requests over the limit of {after}",
        ),
        (
            "{id} turned away, more than {after} in this second",
            "no admission for {path}",
            "bucket ran dry, {n} sent home",
        ),
    ),
)


def incident(system: System, rng: Random, start: float, span: float) -> Incident:
    """Reload with a harmful value, shortage at the component, callers fail, the old value comes back."""
    component = system.pick(rng, "app", "auth", "gateway", "db")
    story = Story(system, rng, start, span, "bad_config", component)
    kind, before, after, mode, first, second = _KINDS[int(rng.random() * len(_KINDS))]
    setting = f"{FIRST[int(rng.random() * len(FIRST))]}.{kind}"
    before += 4 * int(rng.random() * 10)
    story.add(
        "trigger",
        component,
        story.at,
        f"At {utc(story.at)} {setting} of {component.name} went from {before} to {after}.",
        emits=reload(system, rng, component, story.at, setting, str(before), str(after)),
        decisive=True,
    )
    feels = story.after(story.at, 30, 240)
    mended = story.after(feels, 800, 1600)
    short = story.flood(
        component, feels, mended, "warn", first, second, per_s=0.07, most=60, setting=setting, after=after
    )
    symptom = story.add(
        "first_symptom",
        component,
        feels,
        f"From {utc(feels)} {component.name} runs short under {setting}={after}.",
        floods=(short,),
        decisive=True,
    )
    last = story.spread(feels, mended, mode, failing=0.4, latency=120.0 if mode == "slow" else 1.0, symptom=symptom)
    story.detect(story.after(last, 60, 260))
    undone = story.after(mended, -90, -20)
    control = system.pick(rng, "control")
    said = story.say(
        ("restored previous settings of {name}", "settings of {name} set back to the revision before"),
        ("{name} has its old settings again", "went back one revision for {name}"),
        name=component.name,
    )
    story.mitigate(
        control,
        undone,
        f"At {utc(undone)} the settings of {component.name} were set back.",
        story.line(control, undone, "info", said),
    )
    story.recover(
        mended, ("{setting}={before} in effect",), ("{setting} is {before} again",), setting=setting, before=before
    )
    story.entities += [setting, str(after)]
    return story.incident()
