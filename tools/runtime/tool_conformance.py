"""What every tool must hold, ours or a third party's: `check_tool` raises AssertionError at the first lack.

    from enlist.tools.runtime.tool_conformance import check_tool
    check_tool(MY_TOOL)
"""

import json
import re
from typing import Any

from pydantic import BaseModel

from enlist.tools.runtime.errors import FAULTS, EnlistError
from enlist.tools.runtime.tool import Tool, input_hash, load


def check_tool(tool: Tool) -> None:
    """Names, schemas, errors and functions of a declaration. Does not run the tool."""
    assert re.fullmatch(r"[a-z][a-z0-9-]*", tool.name), f"{tool.name!r}: a tool's name is lower case with hyphens"
    assert tool.version and tool.summary and tool.check_route, f"{tool.name}: version, summary and route must be said"
    assert "\n" not in tool.summary and len(tool.summary) <= 120, f"{tool.name}: the summary is one line"
    assert tool.time_limit > 0 and tool.resources.memory_bytes > 0, f"{tool.name}: limits must be positive"
    assert set(tool.errors) <= set(FAULTS), f"{tool.name}: errors outside the vocabulary"
    for name in filter(None, (tool.run, tool.findings, tool.section)):
        assert callable(load(name)), f"{tool.name}: {name} is no function"
    for model in (tool.input, tool.output):
        _check_model(tool, model)
    _check_parsing(tool)


def _check_model(tool: Tool, model: type[BaseModel]) -> None:
    schema = model.model_json_schema()
    json.dumps(schema)
    assert schema.get("additionalProperties") is False, f"{tool.name}: {model.__name__} must forbid extra keys"


def _check_parsing(tool: Tool) -> None:
    given = tool.parse(tool.example)
    again = tool.parse(json.loads(given.model_dump_json()))
    assert input_hash(given) == input_hash(again), f"{tool.name}: an input changes on its way through JSON"
    bads: tuple[Any, ...] = ({**tool.example, "no_such_field": 1}, [], None, "text")
    for bad in bads:
        try:
            tool.parse(bad)
        except EnlistError as error:
            assert error.code == "bad_input" and error.allowed, f"{tool.name}: a bad input's error names an example"
        else:
            raise AssertionError(f"{tool.name}: accepts {bad!r}")
