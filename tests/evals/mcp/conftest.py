"""A third party's rough tools, installed apart, and `enlist mcp` with them: over stdio and at a real socket."""

import os
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

TOKEN = "a-token-of-the-tests-0123456789"

ROUGH = '''
"""Tools that print, that leave a grandchild and sleep, and that make a file."""
import subprocess, sys, time
from pathlib import Path
from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.tool import Tool, ToolModel

class Given(ToolModel):
    record: str = ""
    file: ArtifactRef | None = None

class Made(ToolModel):
    text: str = ""
    file: ArtifactRef | None = None

def loud(given, ctx):
    print("this is no protocol", flush=True)
    subprocess.run([sys.executable, "-c", "print('nor is this')"])
    return Made(text="said")

def sleeper(given, ctx):
    child = subprocess.Popen(["sleep", "600"])
    with open(given.record, "a") as file:
        file.write(f"{child.pid}\\n")
    time.sleep(600)

def maker(given, ctx):
    content = ctx.open_artifact(given.file).read_bytes() if given.file else b"made here"
    return Made(file=ctx.put_artifact(content + b"!", media_type="text/plain", name="made.txt"))

def tool(name, run, **more):
    return Tool(name=name, version="1", summary=name, input=Given, output=Made, run=f"enlist_rough:{run}", example={},
                check_route="none", **more)

LOUD = tool("rough-loud", "loud")
SHORT = tool("rough-short", "sleeper", isolation="process", time_limit=2.0)
LONG = tool("rough-long", "sleeper", isolation="process", time_limit=300.0)
MAKER = tool("rough-maker", "maker")
'''
TOOLS = {"rough-loud": "LOUD", "rough-short": "SHORT", "rough-long": "LONG", "rough-maker": "MAKER"}


@dataclass(frozen=True)
class Place:
    """The environment of `enlist mcp`, its folder of files, and a server at a socket."""

    environment: dict[str, str]
    folder: Path
    url: str

    def stdio(self, *arguments: str) -> Any:
        """How the official client starts `enlist mcp` by itself."""
        from mcp.client.stdio import StdioServerParameters

        return StdioServerParameters(command="enlist", args=["mcp", *arguments], env=self.environment, cwd=self.folder)

    @asynccontextmanager
    async def http(self, mode: str = "auto", token: str = TOKEN) -> AsyncIterator[Any]:
        """The official client at the server's socket."""
        import httpx2
        from mcp import Client
        from mcp.client.streamable_http import streamable_http_client

        async with (httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}, timeout=120) as web,
                    Client(streamable_http_client(self.url, http_client=web), mode=mode) as client):
            yield client


@dataclass(frozen=True)
class Grandchildren:
    """The processes that sleepers have left, by the file in which they stand."""

    path: Path

    def begun(self) -> bool:
        """Whether there was one within a minute."""
        return _until(lambda: self.path.read_text().endswith("\n"))

    def gone(self) -> bool:
        """Whether all were ended within a minute; far below the sleepers' own ten."""
        return _until(lambda: not self._alive())

    def _alive(self) -> list[psutil.Process]:
        alive = []
        for pid in map(int, self.path.read_text().split()):
            with suppress(psutil.NoSuchProcess):
                process = psutil.Process(pid)
                if process.name() == "sleep" and process.status() != psutil.STATUS_ZOMBIE:
                    alive.append(process)
        return alive


def _until(happens: Callable[[], bool]) -> bool:
    end = time.monotonic() + 60
    while not happens():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


@pytest.fixture(scope="module")
def place(sample_plugin: dict[str, str]) -> Iterator[Place]:
    """`enlist mcp` with the sample plug-in and the rough tools, serving over HTTP for the tests of a module."""
    with tempfile.TemporaryDirectory(prefix="enlist-mcp-") as name:
        folder = Path(name)
        os.chmod(folder, 0o755)
        (folder / "enlist_rough.py").write_text(ROUGH)
        info = folder / "enlist_rough-1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: enlist-rough\nVersion: 1\n")
        (info / "entry_points.txt").write_text("[enlist.tools]\n" + "".join(
            f"{tool} = enlist_rough:{declared}\n" for tool, declared in TOOLS.items()))
        (folder / "notes.txt").write_text("one two\nthree  four\tfive\n")
        (folder / "token").write_text(TOKEN + "\n")
        environment = {**sample_plugin, "ENLIST_HOME": str(folder / "home"),
                       "PYTHONPATH": os.pathsep.join([str(folder), sample_plugin["PYTHONPATH"]])}
        server = subprocess.Popen(["enlist", "mcp", "--http", "--port", "0", "--token-file", "token", "--at-once", "2"],
                                  cwd=folder, env=environment, stderr=subprocess.PIPE, text=True)
        assert server.stderr is not None
        said = server.stderr.readline()
        assert " tools at http://127.0.0.1:" in said, said + server.stderr.read()
        yield Place(environment, folder, said.split()[-1])
        server.terminate()
        server.communicate(timeout=30)


@pytest.fixture
def sleeping(place: Place) -> Iterator[Grandchildren]:
    """An empty file to which a sleeper, which runs as another user, writes the process id of its grandchild."""
    handle, name = tempfile.mkstemp(prefix="pids-", dir=place.folder)
    os.close(handle)
    os.chmod(name, 0o666)
    found = Grandchildren(Path(name))
    yield found
    for process in found._alive():  # what a failed test has left
        process.kill()
