import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from enlist.tools.runtime.sandbox import LEVELS, Job, Level, LevelReport, Result, sandbox
from enlist.tools.runtime.sandbox.abuses import ABUSES
from enlist.tools.runtime.sandbox.attempts import ATTEMPTS
from enlist.tools.runtime.sandbox.conformance import attempts_agree, checks, privileges_are_gone
from enlist.tools.runtime.sandbox.openings import KERNEL, PROCESSOR_TIME, SIGNALS, not_held

ABUSE_NAMES = {abuse.name for abuse in ABUSES}
# landlock is ended by the same means as basic: its abuses run in the long suite only
PAIRS = [pytest.param(level, name, marks=[pytest.mark.slow] if level == "landlock" and name in ABUSE_NAMES else [])
         for level in LEVELS for name in checks(())]


@pytest.mark.parametrize(("level", "name"), PAIRS)
def test_every_level_holds_what_its_report_promises(
        level: Level, name: str, tmp_path: Path, level_report: Callable[[Level], LevelReport]) -> None:
    report = level_report(level)
    found = checks(report.not_held).get(name)
    if found is None:
        assert SIGNALS in report.not_held  # killing everything would kill this test
        return
    found(sandbox(level), tmp_path)


RUN_AS_USER = """
import sys, tempfile
from pathlib import Path
from enlist.tools.runtime.sandbox import levels, sandbox
from enlist.tools.runtime.sandbox.conformance import checks, failures
report = next(r for r in levels() if r.level == {level!r})
if not report.available:
    sys.exit(report.reason)
wanted = {names!r}
for name, check in checks(report.not_held).items():
    if wanted and name not in wanted:
        continue
    with tempfile.TemporaryDirectory() as folder:
        try:
            check(sandbox({level!r}), Path(folder))
        except AssertionError as error:
            print(name, error)
"""


@pytest.mark.parametrize("level", LEVELS)
def test_an_ordinary_user_gets_the_same_walls(
        level: Level, level_report: Callable[[Level], LevelReport], as_ordinary_user: Callable[[str], str]) -> None:
    level_report(level)
    names = ("attempts agree with not_held", "privileges are gone", "the tree dies with the caller", "a fork bomb",
             "killing everything hurts nobody outside", "an orphan in a session of its own")
    assert as_ordinary_user(RUN_AS_USER.format(level=level, names=names)) == ""


@pytest.mark.slow  # the whole suite once more
@pytest.mark.parametrize("level", LEVELS)
def test_an_ordinary_user_passes_the_whole_suite(
        level: Level, level_report: Callable[[Level], LevelReport], as_ordinary_user: Callable[[str], str]) -> None:
    level_report(level)
    assert as_ordinary_user(RUN_AS_USER.format(level=level, names=())) == ""


class Nothing:
    """A sandbox that holds nothing: it only runs the command."""

    level: Level = "basic"

    def run(self, job: Job, cancelled: Callable[[], bool] = lambda: False) -> Result:
        started = time.monotonic()
        done = subprocess.run(job.argv, cwd=job.work, input=job.stdin, capture_output=True, env=dict(job.environment))
        return Result("exited", done.returncode, done.stdout, done.stderr, "basic", time.monotonic() - started, 0)


def test_the_suite_catches_a_sandbox_that_holds_nothing(tmp_path: Path) -> None:
    with pytest.raises(AssertionError) as caught:
        attempts_agree(Nothing(), tmp_path, not_held=())
    for attempt in ATTEMPTS:
        # a kernel without io_uring refuses it to everybody
        assert attempt.name in str(caught.value) or attempt.name == "set up io_uring"
    with pytest.raises(AssertionError):
        privileges_are_gone(Nothing(), tmp_path)


def test_the_suite_catches_a_report_that_is_too_dark(
        tmp_path: Path, level_report: Callable[[Level], LevelReport]) -> None:
    report = level_report("landlock")
    with pytest.raises(AssertionError, match="though listed as open"):
        attempts_agree(sandbox("landlock"), tmp_path, (*report.not_held, "network"))


def test_every_opening_but_two_has_an_attempt_that_tries_it() -> None:
    everything = {word for level in LEVELS for word in not_held(level, as_root=False, signals=True)}
    assert everything - {attempt.open_where for attempt in ATTEMPTS} == {KERNEL, PROCESSOR_TIME}


@pytest.mark.skipif(not os.environ.get("ENLIST_REQUIRE_FULL"), reason="ENLIST_REQUIRE_FULL is set where full must work")
def test_the_full_level_is_here_where_it_is_required(level_report: Callable[[Level], LevelReport]) -> None:
    assert level_report("full").available
