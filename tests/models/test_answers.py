"""The same questions to the same weights under three servers: what Enlist's client relies on holds for each."""

import json
from typing import Any

import httpx
import jsonschema
import pytest

pytestmark = pytest.mark.model
SCHEMA = {"type": "object", "properties": {"colour": {"enum": ["red", "green", "blue"]},
                                           "number": {"type": "integer"}},
          "required": ["colour", "number"], "additionalProperties": False}


@pytest.fixture(params=["llamacpp", "vllm", "ray_serve"], scope="module")
def server(request: pytest.FixtureRequest) -> Any:
    return request.getfixturevalue(request.param)


def asked(text: str, **more: Any) -> dict[str, Any]:
    return {"model": "smollm2", "temperature": 0, "max_tokens": 24, "messages": [{"role": "user", "content": text}],
            **more}


def post(server: Any, question: dict[str, Any]) -> dict[str, Any]:
    answer = httpx.post(f"{server.url}/chat/completions", json=question, timeout=900)
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def streamed(server: Any, question: dict[str, Any]) -> list[dict[str, Any]]:
    with httpx.stream("POST", f"{server.url}/chat/completions", json={**question, "stream": True},
                      timeout=900) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = [line.removeprefix("data: ") for line in answer.iter_lines() if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def test_the_model_is_listed_under_the_name_it_was_given(server: Any) -> None:
    listed = httpx.get(f"{server.url}/models", timeout=60).json()
    assert [model["id"] for model in listed["data"]] == ["smollm2"]


def test_a_plain_answer_has_text_and_counts_its_tokens(server: Any) -> None:
    answer = post(server, asked("Say hello."))
    assert answer["choices"][0]["message"]["content"].strip()
    usage = answer["usage"]
    assert 0 < usage["completion_tokens"] <= 24 and usage["prompt_tokens"] > 0


def test_a_streamed_answer_is_the_plain_answer_in_pieces(server: Any) -> None:
    pieces = [choice["delta"].get("content") or "" for event in streamed(server, asked("Count to five."))
              for choice in event["choices"]]
    whole = post(server, asked("Count to five."))["choices"][0]["message"]["content"]
    assert len([piece for piece in pieces if piece]) > 1
    assert "".join(pieces) == whole


def test_an_answer_asked_as_a_schema_fits_it(server: Any) -> None:
    form = {"type": "json_schema", "json_schema": {"name": "choice", "schema": SCHEMA, "strict": True}}
    answer = post(server, asked("Choose a colour and a number.", response_format=form, max_tokens=64))
    jsonschema.validate(json.loads(answer["choices"][0]["message"]["content"]), SCHEMA)


def test_a_request_that_is_wrong_is_refused_as_such(server: Any) -> None:
    answer = httpx.post(f"{server.url}/chat/completions", json={"model": "smollm2", "messages": "no list"}, timeout=60)
    assert 400 <= answer.status_code < 500
