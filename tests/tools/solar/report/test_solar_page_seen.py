"""The page of `enlist sol --html` as a telephone shows it: Chromium, 400 pixels wide, by its DevTools protocol."""

import json
import os
import shutil
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from enlist.tools.solar.graph import Graph
from enlist.tools.solar.hardware import resolve
from enlist.tools.solar.report.analysis import Question, analyse
from enlist.tools.solar.report.page import page

pytestmark = pytest.mark.browser
WIDTH = 400
CHROMIUM = next((found for name in ("chromium", "chromium-browser", "google-chrome") if (found := shutil.which(name))),
                None)


class Tab:
    """One tab of a browser; `events` are what it has said by itself."""

    def __init__(self, socket: Any) -> None:
        self._socket, self._last = socket, 0
        self.events: list[dict[str, Any]] = []

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._last += 1
        self._socket.send(json.dumps({"id": self._last, "method": method, "params": parameters}))
        return self._until(lambda said: said.get("id") == self._last)

    def wait(self, event: str) -> None:
        if not any(said["method"] == event for said in self.events):
            self._until(lambda said: said.get("method") == event)

    def value(self, expression: str) -> Any:
        said = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in said["result"], said
        return said["result"]["result"].get("value")

    def _until(self, found: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        while True:
            said: dict[str, Any] = json.loads(self._socket.recv(timeout=30))
            if "method" in said:
                self.events.append(said)
            if found(said):
                return said


@pytest.fixture
def tab(tmp_path: Path) -> Iterator[Tab]:
    """A tab as wide as a telephone that has told everything from the start."""
    if CHROMIUM is None:
        pytest.skip("no Chromium is installed (chromium, chromium-browser or google-chrome on the PATH)")
    client = pytest.importorskip("websockets.sync.client", reason="websockets speaks with Chromium")
    profile = tmp_path / "profile"
    browser = subprocess.Popen(
        [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
         "--remote-debugging-port=0", f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        address = _address(profile, browser)
        with client.connect(address, max_size=None) as socket:
            made = Tab(socket)
            for domain in ("Page", "Runtime", "Log", "Network"):
                made.ask(f"{domain}.enable")
            made.ask("Emulation.setDeviceMetricsOverride", width=WIDTH, height=800, deviceScaleFactor=1, mobile=True)
            yield made
    finally:
        os.killpg(browser.pid, signal.SIGKILL)
        browser.wait()


def _address(profile: Path, browser: "subprocess.Popen[bytes]") -> str:
    """Where the first tab listens, once the browser has said so."""
    told = profile / "DevToolsActivePort"
    for _ in range(600):
        assert browser.poll() is None, "Chromium ended at once"
        if told.is_file() and (lines := told.read_text().splitlines()):
            with urllib.request.urlopen(f"http://127.0.0.1:{lines[0]}/json/list") as answer:
                tabs = [one for one in json.load(answer) if one["type"] == "page"]
            if tabs:
                return str(tabs[0]["webSocketDebuggerUrl"])
        time.sleep(0.05)
    raise AssertionError("Chromium opened no tab")


@pytest.mark.parametrize("many", [1, 3])
def test_a_telephone_shows_the_page_whole_and_its_script_runs_without_a_fault(
        tab: Tab, stack: Callable[..., Graph], tmp_path: Path, many: int) -> None:
    question = Question(resolve(["H100 SXM", "A100 SXM 80GB"]), measured_s=0.01)
    made = [analyse(stack(layers=6 * (n + 1), where="a.very.long.name.of.a.module.that.does.not.end.{n}"), question,
                    "m" * 60 + ".py") for n in range(many)]
    (tmp_path / "page.html").write_text(page(made), encoding="utf-8")
    tab.ask("Page.navigate", url=(tmp_path / "page.html").as_uri())
    tab.wait("Page.loadEventFired")
    assert tab.value("window.innerWidth") == WIDTH
    assert tab.value("document.documentElement.scrollWidth") <= WIDTH
    assert tab.value("document.body.innerText.includes('H100 SXM')")
    plots = "[...document.querySelectorAll('svg')].map(s => [s.getBoundingClientRect().width, s.childElementCount])"
    drawn = tab.value(plots)
    assert len(drawn) >= 2 * many and all(width > 100 and inside > 3 for width, inside in drawn)
    tab.value("document.querySelectorAll('th').forEach(cell => cell.click())")  # sorting is the script's own work
    faults = [said for said in tab.events if said["method"] in ("Runtime.exceptionThrown", "Log.entryAdded") or (
        said["method"] == "Runtime.consoleAPICalled" and said["params"]["type"] in ("error", "warning"))]
    asked = [said["params"]["request"]["url"] for said in tab.events if said["method"] == "Network.requestWillBeSent"]
    assert faults == [] and [url for url in asked if not url.startswith(("file:", "data:"))] == []
