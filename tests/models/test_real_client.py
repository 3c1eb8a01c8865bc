"""Enlist's own client before real servers: it streams, counts, and asks by schema."""

from typing import Any

import pytest

from enlist.agents.language.client import Client
from enlist.agents.language.questions import Ask
from enlist.agents.language.settings import ModelSettings
from enlist.agents.language.structured import ask_json

pytestmark = pytest.mark.model
SCHEMA = {"type": "object", "properties": {"colour": {"enum": ["red", "green", "blue"]}}, "required": ["colour"],
          "additionalProperties": False}


@pytest.fixture(params=["llamacpp", "vllm", "ray_serve"], scope="module")
def client(request: pytest.FixtureRequest) -> Any:
    server = request.getfixturevalue(request.param)
    return Client(ModelSettings(name="small", endpoint=server.url, model="smollm2", timeout=900,
                                first_byte_seconds=600, idle_seconds=300))


def test_a_question_is_answered_and_counted_by_the_server(client: Client) -> None:
    answer = client.ask(Ask(system="Answer briefly.", text="Say hello.", most_tokens=24))
    assert answer.text.strip() and not answer.estimated and 0 < answer.tokens_out <= 24 and answer.tokens_in > 0
    assert client.attempts[-1] == "200" and answer.usd == 0


def test_an_answer_by_schema_fits_at_the_first_try(client: Client) -> None:
    question = Ask(system="Choose.", text="Choose a colour.", json_schema=SCHEMA, most_tokens=64)
    value, answers = ask_json(client, question)
    assert value["colour"] in ("red", "green", "blue") and len(answers) == 1
