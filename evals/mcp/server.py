"""The MCP server: `tools/list`, `tools/call` and the files that calls made, over any transport of the official SDK.

Output is structured, with the same JSON as text for clients that know no structure. A fault of a tool is a result with
`isError` that carries our code, what was given, what is allowed and the fix, so that a model can mend its call.
"""

import base64
import json
from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from enlist.evals.mcp.calls import Calls
from enlist.evals.mcp.describe import describe
from enlist.tools.runtime import registry
from enlist.tools.runtime.errors import EnlistError
from enlist.tools.runtime.naming import nearest
from enlist.tools.runtime.tool import Tool

if TYPE_CHECKING:
    import mcp_types
    from mcp.server import Server

GROUP = "enlist.tools"
URI = "enlist-artifact:"
READ_LIMIT = 16 << 20  # bytes of a file that `resources/read` gives
LOST = "enlist.lost"  # where the HTTP edge tells, in a request's scope, that its client has gone
INSTRUCTIONS = ("Tools of Enlist. Where a tool wants a file, send {\"name\": \"model.py\", \"file_text\": \"...\"} or "
                "file_base64. Files that a call made are linked; pass their reference on as it is, or read the link.")


def served(names: list[str] | None) -> dict[str, Tool]:
    """The installed tools of these names, or all that load; `not_found` names the nearest."""
    if names is not None and not names:
        raise EnlistError("bad_input", "no tool is named to serve", allowed=", ".join(registry.entries(GROUP)),
                          fix="name some, or leave --tools out to serve all")
    return registry.load_all(GROUP) if names is None else {name: registry.load_entry(GROUP, name) for name in names}


def make_server(calls: Calls) -> "Server[Any]":
    """A server of the official SDK that serves `calls`."""
    import mcp_types
    from mcp import MCPError
    from mcp.server import Server

    listed = [describe(name, tool, paths=calls.paths) for name, tool in calls.tools.items()]

    async def list_tools(ctx: Any, params: Any) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(tools=listed)

    async def call_tool(ctx: Any, params: mcp_types.CallToolRequestParams) -> mcp_types.CallToolResult:
        if params.name not in calls.tools:
            hints = nearest(params.name, calls.tools) or list(calls.tools)
            raise MCPError(mcp_types.INVALID_PARAMS, f"no tool {params.name[:100]!r} is served here; "
                           f"for example {', '.join(hints[:8])}")
        lost = ctx.request.scope.get(LOST) if ctx.request is not None else None
        try:
            done = await calls.call(params.name, params.arguments or {}, lost or (lambda: False))
            text = _strict_json(done.output)
        except EnlistError as error:
            return _fault(error)
        links = [mcp_types.ResourceLink(uri=URI + ref.sha256, name=ref.name, mime_type=ref.media_type, size=ref.bytes)
                 for ref in done.files]
        return mcp_types.CallToolResult(
            content=[mcp_types.TextContent(text=text), *links], structured_content=done.output,
            _meta={"enlist": {"seconds": done.ran.seconds, "sandbox": done.ran.level}})  # type: ignore[call-arg]

    async def list_resources(ctx: Any, params: Any) -> mcp_types.ListResourcesResult:
        return mcp_types.ListResourcesResult(resources=[])  # a file is found by the link in the result of its call

    async def read_resource(ctx: Any, params: mcp_types.ReadResourceRequestParams) -> mcp_types.ReadResourceResult:
        ref = calls.known(str(params.uri).removeprefix(URI))
        if ref is None or ref.bytes > READ_LIMIT:
            raise MCPError(mcp_types.INVALID_PARAMS, f"no file of this name, or one over {READ_LIMIT} bytes; "
                           "allowed: the link of a file that a call of this server made")
        blob = base64.b64encode(calls.memory.open_artifact(ref).read_bytes()).decode()
        return mcp_types.ReadResourceResult(contents=[mcp_types.BlobResourceContents(
            uri=URI + ref.sha256, mime_type=ref.media_type, blob=blob)])

    return Server("enlist", version=version("enlist"), instructions=INSTRUCTIONS, on_list_tools=list_tools,
                  on_call_tool=call_tool, on_list_resources=list_resources, on_read_resource=read_resource)


def _strict_json(output: Mapping[str, Any]) -> str:
    """The output as JSON that every client can read: no NaN, no lone surrogates."""
    try:
        text = json.dumps(output, ensure_ascii=False, allow_nan=False)
        text.encode()
    except ValueError as error:
        raise EnlistError("invalid_output", f"the output cannot be written as JSON: {error}") from error
    return text


def _fault(error: EnlistError) -> "mcp_types.CallToolResult":
    import mcp_types

    told = {key: value if value is None else value.encode("utf-8", "replace").decode()
            for key, value in error.to_dict().items() if key != "details"}
    sentence = EnlistError.from_dict(told).sentence()
    return mcp_types.CallToolResult(content=[mcp_types.TextContent(text=f"{sentence} ({error.code})")],
                                    structured_content={"error": told}, is_error=True)


async def serve_stdio(calls: Calls) -> None:
    """Serve the one client at the other end of standard input and output until it closes; whatever else writes to
    standard output is sent to standard error meanwhile."""
    from mcp.server.stdio import stdio_server

    server = make_server(calls)
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())
