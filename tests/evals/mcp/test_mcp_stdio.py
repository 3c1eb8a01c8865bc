"""The official client over standard input and output of a real `enlist mcp`."""

import base64
import json
import subprocess
from typing import Any

import anyio
import anyio.to_thread
import pytest
from jsonschema import Draft202012Validator
from mcp import Client

from enlist.tools.runtime.registry import entries


def test_every_tool_is_listed_with_schemas_that_take_its_own_example_a_path_and_content(place: Any) -> None:
    async def listed() -> Any:
        async with Client(place.stdio()) as client:
            return (await client.list_tools()).tools

    tools = {tool.name: tool for tool in anyio.run(listed)}
    assert set(tools) == {*entries("enlist.tools"), "sample-counted", "sample-recount", "sample-one-by-one",
                          "sample-without-others", "rough-loud", "rough-short", "rough-long", "rough-maker"}
    for tool in tools.values():
        Draft202012Validator.check_schema(tool.input_schema)
        Draft202012Validator.check_schema(tool.output_schema)
        Draft202012Validator(tool.input_schema).validate(tool.meta["enlist"]["example"])
    counted = tools["sample-counted"]
    assert counted.meta["enlist"]["time_limit_seconds"] == 60 and counted.meta["enlist"]["isolation"] == "process"
    assert "at most 60 s and 512 MiB" in counted.description
    schema = Draft202012Validator(counted.input_schema)
    for text in ("notes.txt", {"name": "a", "file_text": "b"}, {"name": "a", "file_base64": "Yg=="}):
        assert schema.is_valid({"text": text})
    assert not schema.is_valid({"text": {"name": "a", "file_words": "b"}})


def test_a_file_comes_by_path_as_text_or_in_base64_and_a_plug_ins_tool_counts_its_words(place: Any) -> None:
    async def counts() -> list[Any]:
        async with Client(place.stdio("--tools", "sample-counted")) as client:
            return [await client.call_tool("sample-counted", {"text": text}) for text in (
                "notes.txt", {"name": "a.txt", "file_text": "żółw i 龟"},
                {"name": "a.txt", "file_base64": base64.b64encode(b"a b c d").decode()})]

    results = anyio.run(counts)
    assert [result.structured_content for result in results] == [{"words": 5}, {"words": 3}, {"words": 4}]
    assert json.loads(results[0].content[0].text) == {"words": 5}
    assert results[0].meta["enlist"]["sandbox"] == "basic"


@pytest.mark.slow
def test_what_cannot_be_called_is_told_with_what_is_allowed_and_how_to_mend_it(place: Any) -> None:
    bad = [({"txt": "notes.txt"}, "bad_input", "text"), ({"text": "absent.txt"}, "not_found", "absent.txt"),
           ({"text": {"name": "../notes.txt", "file_text": ""}}, "bad_input", "folder"),
           ({"text": {"name": "a", "file_base64": "no base64!"}}, "bad_input", "base64"),
           ({"text": {"name": "a", "file_text": "x" * (8 << 20) + "y"}}, "resource_limit", "8388608")]

    async def call() -> list[Any]:
        async with Client(place.stdio("--tools", "sample-counted")) as client:
            return [await client.call_tool("sample-counted", given) for given, _, _ in bad]

    for result, (_, code, word) in zip(anyio.run(call), bad, strict=True):
        error = result.structured_content["error"]
        assert result.is_error and error["code"] == code and word in str(error)
        assert error["given"] and error["fix"] and code in result.content[0].text


def test_a_tool_over_its_time_is_killed_with_its_children(place: Any, sleeping: Any) -> None:
    async def call() -> Any:
        async with Client(place.stdio()) as client:
            return await client.call_tool("rough-short", {"record": str(sleeping.path)})

    result = anyio.run(call)
    assert result.structured_content["error"]["code"] == "timeout" and sleeping.begun() and sleeping.gone()


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_cancelled_call_kills_the_tool_and_the_server_goes_on(place: Any, sleeping: Any, mode: str) -> None:
    async def cancel() -> Any:
        async with Client(place.stdio(), mode=mode) as client:
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "rough-long", {"record": str(sleeping.path)})
                assert await anyio.to_thread.run_sync(sleeping.begun)
                group.cancel_scope.cancel()
            assert await anyio.to_thread.run_sync(sleeping.gone)
            return await client.call_tool("sample-counted", {"text": "notes.txt"})

    assert anyio.run(cancel).structured_content == {"words": 5}


@pytest.mark.parametrize("how", ["closes", pytest.param("is killed", marks=pytest.mark.slow)])
def test_a_client_that_is_lost_takes_its_tools_along(place: Any, sleeping: Any, how: str) -> None:
    server = subprocess.Popen(["enlist", "mcp"], cwd=place.folder, env=place.environment, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True)
    assert server.stdin and server.stdout
    server.stdin.write(_hello() + _call("rough-long", record=str(sleeping.path)))
    server.stdin.flush()
    assert sleeping.begun()
    if how == "closes":
        server.stdin.close()
    else:
        server.kill()
    assert server.wait(timeout=60) in (0, -9) and sleeping.gone()
    server.stdout.close()


def test_nothing_but_the_protocol_reaches_standard_output(place: Any) -> None:
    server = subprocess.Popen(["enlist", "mcp"], cwd=place.folder, env=place.environment, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert server.stdin and server.stdout and server.stderr
    server.stdin.write(_hello() + "no json\n" + _call("rough-loud"))
    server.stdin.flush()
    messages = []
    while not messages or messages[-1].get("id") != 2:
        messages.append(json.loads(server.stdout.readline()))
    server.stdin.close()
    messages += [json.loads(line) for line in server.stdout]
    assert all(message["jsonrpc"] == "2.0" for message in messages)
    assert next(m for m in messages if m.get("id") == 2)["result"]["structuredContent"]["text"] == "said"
    told = server.stderr.read()
    assert "this is no protocol" in told and "nor is this" in told
    assert server.wait(timeout=60) == 0
    server.stdout.close(), server.stderr.close()


def _hello() -> str:
    about = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}
    return (json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": about}) + "\n"
            + json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\n")


def _call(tool: str, **arguments: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 2, "method": "tools/call",
                       "params": {"name": tool, "arguments": arguments}}) + "\n"
