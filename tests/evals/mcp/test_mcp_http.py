"""The official client, and hostile ones, at the socket of a real `enlist mcp --http`."""

import base64
import hashlib
import json
import socket
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
import httpx
import pytest
from mcp import MCPError

from enlist.evals.cli.main import main
from enlist.tools.runtime.memory import open_memory

TOKEN = "a-token-of-the-tests-0123456789"
HEADERS = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json, text/event-stream"}
LIST = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_official_client_lists_and_calls_in_both_eras_of_the_protocol(place: Any, mode: str) -> None:
    async def use() -> tuple[Any, Any, Any]:
        async with place.http(mode) as client:
            tools = (await client.list_tools()).tools
            good = await client.call_tool("sample-recount", {"text": {"name": "a.txt", "file_text": "one two three"}})
            return tools, good, await client.call_tool("sample-recount", {"text": {"name": "a.txt"}})

    tools, good, bad = anyio.run(use)
    assert "solar-capture" in {tool.name for tool in tools} and good.structured_content == {"words": 3}
    assert bad.is_error and bad.structured_content["error"]["code"] == "bad_input"
    assert "path of a file" not in json.dumps([tool.input_schema for tool in tools])


def test_a_file_that_a_call_made_is_read_by_its_link_and_passed_on_by_its_reference(place: Any) -> None:
    async def use() -> tuple[bytes, Any]:
        async with place.http() as client:
            first = await client.call_tool("rough-maker", {})
            second = await client.call_tool("rough-maker", {"file": first.structured_content["file"]})
            link = next(block for block in second.content if block.type == "resource_link")
            read = await client.read_resource(link.uri)
            return base64.b64decode(read.contents[0].blob), second

    content, result = anyio.run(use)
    assert content == b"made here!!"
    assert result.structured_content["file"]["sha256"] == hashlib.sha256(content).hexdigest()


def test_over_http_nothing_of_the_server_is_read_by_path_or_by_a_hash_that_it_never_gave(place: Any) -> None:
    memory = open_memory(f"sqlite://{place.folder / 'home' / 'store.db'}")
    secret = memory.put_bytes(b"of another user", media_type="text/plain", name="secret").model_dump()
    memory.close()
    bad: list[Any] = [str(place.folder / "notes.txt"), "../notes.txt", "file:///etc/passwd", {"path": "notes.txt"},
                      {**secret, "sha256": "../" * 21 + "x"}, {"name": "a/../b", "file_text": ""},
                      {"name": "..", "file_text": ""}, {"name": "a\0b", "file_text": ""}, secret]

    async def use() -> list[Any]:
        async with place.http() as client:
            results = [await client.call_tool("sample-recount", {"text": text}) for text in bad]
            for uri in (f"enlist-artifact:{secret['sha256']}", "enlist-artifact:../../token", "file:///etc/passwd"):
                with pytest.raises(MCPError, match="no file of this name"):
                    await client.read_resource(uri)
            return results

    codes = [result.structured_content["error"]["code"] for result in anyio.run(use)]
    assert codes == ["bad_input"] * (len(bad) - 1) + ["not_found"]


def test_nobody_passes_without_the_token(place: Any) -> None:
    for authorization in (None, "Bearer", f"Bearer {TOKEN[:-1]}", f"Bearer {TOKEN}x", f"Basic {TOKEN}", TOKEN,
                          "Bearer \xe9"):
        headers = {} if authorization is None else {"Authorization": authorization.encode("latin-1")}
        for path in ("/mcp", "/", f"/mcp?token={TOKEN}"):
            answer = httpx.post(place.url.removesuffix("/mcp") + path, json=LIST, headers=headers)
            assert answer.status_code == 401 and answer.headers["www-authenticate"] == "Bearer" and not answer.content
    assert httpx.post(place.url, json=LIST, headers=HEADERS).status_code == 200


def test_foreign_hosts_and_web_pages_are_refused(place: Any) -> None:
    assert httpx.post(place.url, json=LIST, headers={**HEADERS, "Host": "evil.example:80"}).status_code == 421
    assert httpx.post(place.url, json=LIST, headers={**HEADERS, "Origin": "http://evil.example"}).status_code == 403
    assert httpx.post(place.url, json=LIST, headers={**HEADERS, "Origin": "http://localhost:3000"}).status_code == 200


def test_a_huge_body_is_refused_whether_its_length_is_told_or_not(place: Any) -> None:
    url = urlsplit(place.url)
    with socket.create_connection((url.hostname, url.port)) as told:  # refused by its header: no byte of it is sent
        told.sendall(f"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
                     f"Content-Type: application/json\r\nContent-Length: {1 << 40}\r\n\r\n".encode())
        assert told.recv(64).startswith(b"HTTP/1.1 413")
    chunks = (b" " * (1 << 20) for _ in range(17))
    assert httpx.post(place.url, content=chunks, headers={**HEADERS, "Content-Type": "application/json"},
                      timeout=60).status_code == 413


@pytest.mark.parametrize("mode", ["auto", pytest.param("legacy", marks=pytest.mark.slow)])
def test_a_lost_client_takes_its_tool_along_and_leaves_its_place(place: Any, sleeping: Any, mode: str) -> None:
    async def use() -> Any:
        async with place.http(mode) as client, anyio.create_task_group() as group:
            for _ in range(2):  # all the places that there are
                group.start_soon(client.call_tool, "rough-long", {"record": str(sleeping.path)})
            assert await anyio.to_thread.run_sync(sleeping.begun)
            group.cancel_scope.cancel()
        assert await anyio.to_thread.run_sync(sleeping.gone)
        async with place.http(mode) as client:
            return await client.call_tool("sample-counted", {"text": {"name": "a", "file_text": "one two"}})

    assert anyio.run(use).structured_content == {"words": 2}


@pytest.mark.parametrize("era", ["2026-07-28", "2025-06-18"])
@pytest.mark.slow
def test_a_client_whose_connection_breaks_without_a_word_takes_its_tool_along(
        place: Any, sleeping: Any, era: str) -> None:
    headers = {**HEADERS, "MCP-Protocol-Version": era, "Mcp-Method": "tools/call", "Mcp-Name": "rough-long"}
    about = {"io.modelcontextprotocol/protocolVersion": era, "io.modelcontextprotocol/clientCapabilities": {}}
    if era == "2025-06-18":
        headers["Mcp-Session-Id"] = httpx.post(place.url, json=LIST, headers=HEADERS).headers["mcp-session-id"]
        httpx.post(place.url, json={"jsonrpc": "2.0", "method": "notifications/initialized"}, headers=headers)
    body = json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {
        "name": "rough-long", "arguments": {"record": str(sleeping.path)}, "_meta": about}})
    url = urlsplit(place.url)
    lines = [f"{key}: {value}" for key, value in {**headers, "Content-Type": "application/json"}.items()]
    with socket.create_connection((url.hostname, url.port)) as lost:
        lost.sendall("\r\n".join(["POST /mcp HTTP/1.1", "Host: 127.0.0.1", *lines, f"Content-Length: {len(body)}",
                                  "", body]).encode())
        assert sleeping.begun()
    assert sleeping.gone()


@pytest.mark.parametrize(("arguments", "variable", "word"), [
    ((), None, "needs a token"), (("--token-file", "absent"), None, "cannot be read"), ((), "short", "too short"),
    (("--tools", "solar-captrue"), TOKEN, "solar-capture")], ids=range(4))
def test_it_does_not_start_without_a_token_or_with_a_tool_that_is_not_there(
        monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path,
        arguments: tuple[str, ...], variable: str | None, word: str) -> None:
    monkeypatch.setenv("ENLIST_HOME", str(tmp_path))
    monkeypatch.delenv("ENLIST_MCP_TOKEN", raising=False)
    if variable is not None:
        monkeypatch.setenv("ENLIST_MCP_TOKEN", variable)
    assert main(["mcp", "--http", "--port", "0", *arguments]) == 2
    said = capfd.readouterr()
    assert word in said.err and not said.out
