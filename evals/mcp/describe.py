"""What a client is told of a tool: its schemas, and its limits and isolation.

The input schema is that of the tool's pydantic model, but where the tool wants an artifact a client may hand over the
content itself, or, where client and server are the same user of one machine, a path.
"""

from typing import TYPE_CHECKING, Any

from enlist.evals.mcp.intake import INLINE_LIMIT
from enlist.tools.runtime.artifacts import ArtifactRef
from enlist.tools.runtime.tool import Tool

if TYPE_CHECKING:
    import mcp_types

NAME = {"type": "string", "description": "the file's name, without folders; its ending tells what it is"}


def describe(name: str, tool: Tool, *, paths: bool) -> "mcp_types.Tool":
    """The MCP declaration of a tool that is registered as `name`; `paths`: whether a client may name files here."""
    import mcp_types

    minutes = f"at most {tool.time_limit:g} s and {tool.resources.memory_bytes >> 20} MiB"
    place = "in the server's process" if tool.isolation == "inline" else f"in a child ({tool.isolation}), {minutes}"
    return mcp_types.Tool(
        name=name, title=name, description=f"{tool.summary}. Runs {place}.",
        input_schema=input_schema(tool, paths=paths),
        output_schema=tool.output.model_json_schema(mode="serialization"),
        annotations=mcp_types.ToolAnnotations(
            read_only_hint="writes-files" not in tool.effects, destructive_hint=False,
            idempotent_hint=tool.deterministic, open_world_hint="network" in tool.effects),
        _meta={"enlist": {  # type: ignore[call-arg] # by its name on the wire
            "version": tool.version, "isolation": tool.isolation, "time_limit_seconds": tool.time_limit,
            "memory_bytes": tool.resources.memory_bytes, "errors": list(tool.errors), "example": tool.example,
            "check_route": tool.check_route}})


def input_schema(tool: Tool, *, paths: bool) -> dict[str, Any]:
    """The JSON schema of what a client may send."""
    schema = tool.input.model_json_schema()
    reference = ArtifactRef.model_json_schema()
    for key, definition in schema.get("$defs", {}).items():
        if definition == reference:
            schema["$defs"][key] = {"title": "File", "anyOf": _file_forms(reference, paths=paths)}
    return schema


def _file_forms(reference: dict[str, Any], *, paths: bool) -> list[dict[str, Any]]:
    def inline(field: str, what: str) -> dict[str, Any]:
        return {"type": "object", "required": ["name", field], "additionalProperties": False, "properties": {
            "name": NAME, field: {"type": "string", "description": f"{what}; at most {INLINE_LIMIT >> 20} MiB"}}}

    forms = [inline("file_text", "the content as text"), inline("file_base64", "the content in base64"),
             {**reference, "description": "a file that an earlier call gave back, as it was given"}]
    return [{"type": "string", "description": "the path of a file on this machine"}, *forms] if paths else forms
