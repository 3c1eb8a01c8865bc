"""The client: one chat completion from an OpenAI-compatible endpoint, streamed, with deadlines, retries and a cost.

The answer is read as a stream of server-sent events, so that a stalled endpoint is told from a slow one: the first
byte, each further one, and the whole have deadlines of their own. Faults that may pass (429, 408, 409, 5xx, a refused
or cut connection, a stall) are tried again a few times, after what Retry-After says or a random wait that doubles; the
server's other refusals are final. What a cut answer has cost is not known, so its worst case is what it cost.
"""

import json
import random
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any

from enlist.agents.language.questions import Answer, Ask
from enlist.agents.language.settings import ModelSettings
from enlist.tools.runtime.errors import EnlistError

TRIES = 4
SECRET = 8  # characters from which on a key is taken out of what the endpoint says; local servers take any word
CONNECT = 10.0  # seconds for a connection
FIRST_WAIT, LONGEST_WAIT = 0.5, 30.0  # seconds; the wait is drawn evenly from [0, FIRST_WAIT * 2**n]
PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
MOST_BYTES = 4 << 20  # of an answer
OVERHEAD = 16  # tokens that a chat template may add to each message


@dataclass
class Client:
    """Asks one model. Not for several threads at once.

    Attributes:
        settings: which model. seed: of the waits. sleep: waits so many seconds.
        attempts: what became of each request so far, for the journal ("200", "429", "cut stream").
    """

    settings: ModelSettings
    seed: int = 0
    sleep: Callable[[float], None] = time.sleep
    attempts: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._hidden = ""

    def ask(self, question: Ask) -> Answer:
        """One answer. What the endpoint says is rid of the key, should it say that back.

        Raises:
            EnlistError: `timeout` where a deadline passed at the last try, `worker_died` where the endpoint cannot be
                reached or keeps failing, `tool_failed` for a refusal that is final, `invalid_output` for what is no
                completion, `resource_limit` for an answer of over 4 MiB, `bad_input` for a missing key.
        """
        question = self._within(question)
        wasted_in = wasted_out = 0
        deadline = time.monotonic() + self.settings.timeout
        for number in range(TRIES):
            try:
                answer = self._once(question, deadline)
                return answer.model_copy(update={
                    "tokens_in": answer.tokens_in + wasted_in, "tokens_out": answer.tokens_out + wasted_out,
                    "usd": answer.usd + self.settings.usd(wasted_in, wasted_out),
                    "estimated": answer.estimated or wasted_in > 0})
            except _Passing as fault:
                self.attempts.append(fault.what)
                if fault.billed:
                    wasted_in, wasted_out = wasted_in + tokens_of(question), wasted_out + question.most_tokens
                wait = self._random.uniform(0, FIRST_WAIT * 2**number) if fault.after is None else fault.after
                wait = min(wait, LONGEST_WAIT)
                if number + 1 == TRIES or time.monotonic() + wait >= deadline:
                    raise fault.error(self.settings, number + 1) from fault
                self.sleep(wait)
        raise AssertionError("unreachable")

    def worst_case(self, question: Ask) -> tuple[int, float]:
        """Tokens and US dollars that a call can cost at most, if all tries are billed in full."""
        question = self._within(question)
        tokens = tokens_of(question)
        return TRIES * (tokens + question.most_tokens), self.settings.usd(TRIES * tokens, TRIES * question.most_tokens)

    def _within(self, question: Ask) -> Ask:
        """The question with no more tokens to answer than the model may give."""
        return question.model_copy(update={"most_tokens": min(question.most_tokens, self.settings.max_tokens)})

    def _once(self, question: Ask, deadline: float) -> Answer:
        import httpx

        mine = self.settings
        key = mine.key()
        self._hidden = key or ""
        left = max(0.05, deadline - time.monotonic())
        body: dict[str, Any] = {
            "model": mine.model, "max_tokens": question.most_tokens, "temperature": 0, "stream": True,
            "stream_options": {"include_usage": True},
            "messages": [{"role": "system", "content": question.system}, {"role": "user", "content": question.text}]}
        if question.json_schema is not None and mine.schema_mode:
            body["response_format"] = {"type": "json_schema", "json_schema": {
                "name": "answer", "strict": True, "schema": question.json_schema}}
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        started = False
        try:
            limits = httpx.Timeout(min(mine.idle_seconds, left), connect=min(CONNECT, left),
                                   read=min(mine.first_byte_seconds, left))
            with httpx.Client(timeout=limits, headers=headers, follow_redirects=False) as http, \
                    http.stream("POST", f"{mine.endpoint}/chat/completions", json=body) as response:
                if response.status_code != 200:
                    self._refused(response, deadline)
                started = True
                left = max(0.05, deadline - time.monotonic())
                response.request.extensions["timeout"]["read"] = min(mine.idle_seconds, left)  # the first byte has come
                answer = self._read(response, question, deadline)
                self.attempts.append("200")
                return answer
        except httpx.TimeoutException as error:
            what = "stalled stream" if started else "no connection" if isinstance(
                error, httpx.ConnectTimeout) else "no first byte"
            raise _Passing(what, code="timeout", billed=what != "no connection") from error
        except httpx.TransportError as error:
            what = "cut stream" if started else f"unreachable: {type(error).__name__}"
            raise _Passing(what, billed=started) from error
        except httpx.InvalidURL as error:
            raise EnlistError("bad_input", "the endpoint of the model is no address", given=mine.endpoint) from error

    def _refused(self, response: Any, deadline: float) -> None:
        data = b""
        for chunk in self._bounded(response, deadline):
            data += chunk
            if len(data) > 2000:
                break
        if response.status_code in PASSING:
            raise _Passing(str(response.status_code), after=retry_after(response.headers.get("retry-after")))
        self.attempts.append(str(response.status_code))
        raise EnlistError("tool_failed", f"model {self.settings.name} refuses the request",
                          given=f"status {response.status_code}", fix="check the key and the model's name",
                          details=self._hide(data.decode(errors="replace"))[:2000])

    def _hide(self, text: str) -> str:
        return text.replace(self._hidden, "***") if len(self._hidden) >= SECRET else text

    def _read(self, response: Any, question: Ask, deadline: float) -> Answer:
        """The answer out of the stream; also of an endpoint that answers with one JSON document."""
        parts: list[str] = []
        usage: dict[str, Any] = {}
        ended, size = False, 0
        whole = "json" in response.headers.get("content-type", "")
        lines = [b"".join(self._bounded(response, deadline)).decode(errors="replace")] if whole else \
            self._lines(self._bounded(response, deadline))
        for line in lines:
            if whole:
                data = line
            elif line.startswith("data:"):
                data = line[5:].strip()
            else:
                continue
            if data == "[DONE]":
                ended = True
                break
            event = _object(self._hide(data))
            if event.get("error"):
                raise _Passing(f"error in the stream: {str(event['error'])[:200]}", billed=True)
            usage = event["usage"] if isinstance(event.get("usage"), dict) else usage
            for choice in event.get("choices") or ():
                message = choice.get("message" if whole else "delta") or {}
                text = message.get("content") or ""
                if not isinstance(text, str):
                    raise _garbage("content that is no text", data)
                parts.append(text)
                size += len(text)
                ended = ended or bool(choice.get("finish_reason"))
        if not ended:
            raise _Passing("cut stream", billed=True)
        text = self._hide("".join(parts))
        tokens_in, tokens_out = _count(usage.get("prompt_tokens")), _count(usage.get("completion_tokens"))
        known = tokens_in is not None and tokens_out is not None
        if not known:
            tokens_in, tokens_out = tokens_of(question), min(question.most_tokens, len(text.encode()))
        assert tokens_in is not None and tokens_out is not None
        return Answer(text=text, model=self.settings.name, tokens_in=tokens_in, tokens_out=tokens_out,
                      usd=self.settings.usd(tokens_in, tokens_out), estimated=not known)

    def _bounded(self, response: Any, deadline: float) -> Iterator[bytes]:
        size = 0
        for chunk in response.iter_bytes():
            size += len(chunk)
            if size > MOST_BYTES:
                raise EnlistError("resource_limit", f"the answer of model {self.settings.name} is too long",
                                  given=f"over {MOST_BYTES >> 20} MiB", fix="ask for fewer tokens")
            if time.monotonic() > deadline:
                raise _Passing("too slow", code="timeout", billed=True)
            yield chunk

    @staticmethod
    def _lines(chunks: Iterator[bytes]) -> Iterator[str]:
        """Lines of a stream, whatever pieces it came in."""
        rest = b""
        for chunk in chunks:
            *whole, rest = (rest + chunk).split(b"\n")
            for line in whole:
                yield line.decode(errors="replace").rstrip("\r")
        if rest:
            yield rest.decode(errors="replace")


class _Passing(Exception):
    """A fault that may pass; `billed` where the endpoint may have done work; `after` is what Retry-After asks."""

    def __init__(self, what: str, *, code: str = "worker_died", after: float | None = None,
                 billed: bool = False) -> None:
        super().__init__(what)
        self.what, self.code, self.after, self.billed = what, code, after, billed

    def error(self, settings: ModelSettings, tries: int) -> EnlistError:
        return EnlistError(self.code, f"model {settings.name} gave no answer in {tries} tries", given=self.what,
                           fix="look at the endpoint, or leave the model out: agents without one do the work")


def tokens_of(question: Ask) -> int:
    """An upper estimate of the prompt's tokens: no common tokenizer makes more than one token of a byte."""
    schema = json.dumps(question.json_schema) if question.json_schema else ""
    return len(question.system.encode()) + len(question.text.encode()) + len(schema) + 2 * OVERHEAD


def retry_after(value: str | None, now: Callable[[], float] = time.time) -> float | None:
    """Seconds that a Retry-After header asks to wait (RFC 9110, section 10.2.3: seconds or a date); None for none."""
    if value is None:
        return None
    try:
        return max(0.0, float(int(value)))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now())
    except (TypeError, ValueError):
        return None


def _object(data: str) -> dict[str, Any]:
    try:
        event = json.loads(data)
    except ValueError:
        raise _garbage("an event that is no JSON", data) from None
    if not isinstance(event, dict) or not all(isinstance(c, dict) for c in event.get("choices") or ()):
        raise _garbage("an event that is no completion", data)
    return event


def _garbage(message: str, data: str) -> EnlistError:
    return EnlistError("invalid_output", f"the model's endpoint sends {message}", given=data[:200],
                       allowed="chat completions as OpenAI's API has them", fix="check the endpoint's address")


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None
