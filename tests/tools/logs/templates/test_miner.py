"""Messages in, statements out: what is one template, what gives a message back, and what does not depend on order."""

import json
import pickle
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enlist.tools.logs.templates import Limits, Miner
from enlist.tools.runtime.errors import EnlistError

PIECES = st.sampled_from(
    ["failed", "user", "for", "0x1f", "12", "a=b", "a=", "[x]", "(1.2 KB)", "<*>", "<", "*", "*>", "{", "}", '"k": 1',
     '{"b": 1,"a": "z"}', '{"a":{"d":[1,2],"c":null},"b":"\\""}', "\x02", "\t", "  ", "10.0.0.1:80", "é", "\n", ",",
     "'q'", "a: b", "]", ")", '"w w"', "node-7", "/a/b/c", "-", "bob", "alice", "carol", "\ud800"])
MESSAGES = st.one_of(
    st.text(), st.lists(PIECES, max_size=8).map(" ".join), st.lists(PIECES, max_size=8).map("".join))


def mined(messages: list[str], **limits: int) -> Miner:
    miner = Miner(Limits(**limits)) if limits else Miner()
    miner.add(messages)
    return miner


def texts(miner: Miner) -> dict[str, int]:
    return {miner.text(id): count for id, count in miner.counts().items()}


@settings(max_examples=60, deadline=None)
@given(st.lists(MESSAGES, max_size=8), MESSAGES)
def test_template_and_parameters_give_any_message_back(messages: list[str], other: str) -> None:
    comes_back(messages, other)


@pytest.mark.slow
@settings(max_examples=2000, deadline=None)
@given(st.lists(MESSAGES, max_size=14), MESSAGES)
def test_thousands_of_messages_come_back(messages: list[str], other: str) -> None:
    comes_back(messages, other)


def comes_back(messages: list[str], other: str) -> None:
    miner = Miner()
    numbers = miner.add(messages)
    for message, number in zip(messages, numbers, strict=True):
        id, parameters = miner.parameters(message)
        assert id == miner.template_of(number)
        assert miner.render(id, parameters) == message
    assert miner.render(*miner.parameters(other)) == other
    assert sum(miner.counts().values()) == len(messages)


@settings(max_examples=30, deadline=None)
@given(st.lists(MESSAGES, max_size=12), st.integers(0, 12), st.integers(0, 12), st.randoms(use_true_random=False))
def test_any_order_and_any_split_give_the_same_templates(
    messages: list[str], first: int, second: int, chance: random.Random
) -> None:
    whole = mined(messages).counts()
    shuffled = chance.sample(messages, len(messages))
    one, two, three = sorted((first, second))[0], sorted((first, second))[1], len(messages)
    parts = [mined(shuffled[a:b]) for a, b in ((0, one), (one, two), (two, three))]
    left = mined([])
    for part in parts:
        left.merge(part)
    right = mined(shuffled[one:two])
    right.merge(mined(shuffled[two:]))
    right.merge(parts[0])
    assert left.counts() == whole == right.counts()


@settings(max_examples=25, deadline=None)
@given(st.lists(MESSAGES, max_size=20), st.integers(0, 20), st.integers(1, 6))
def test_order_does_not_matter_where_shapes_become_coarser_either(messages: list[str], at: int, most: int) -> None:
    whole = mined(messages, shapes=most)
    first, second = mined(messages[at:], shapes=most), mined(messages[:at], shapes=most)
    first.merge(second)
    assert (first.level, first.counts()) == (whole.level, whole.counts())
    for message in messages:
        assert first.render(*first.parameters(message)) == message


def test_numbers_of_another_miner_are_told_as_numbers_here() -> None:
    here, there = mined(["disk full on sda1"]), Miner()
    numbers = there.add(["link up on port 3", "disk full on sdb9", "link up on port 4"])
    told = here.merge(there)
    assert [here.text(here.template_of(told[n])) for n in numbers] == [
        "link up on port <*>", "disk full on <*>", "link up on port <*>"]


@pytest.mark.parametrize(("one", "other"), [
    ("backup of volume 3 succeeded", "backup of volume 4 failed"),
    ("link eth0 is up", "link eth1 is down"),
    ("session opened for user bob", "session closed for user bob"),
    ("Accepted key for bob", "Rejected key for bob"),
    ("worker 4 started", "worker 4 stopped"),
])
def test_opposite_outcomes_stay_two_templates_however_many_lines(one: str, other: str) -> None:
    miner = Miner()
    first = miner.add([one.replace("bob", f"user{n}x") for n in range(50)])
    second = miner.add([other.replace("bob", f"user{n}x") for n in range(50)])
    assert len({miner.template_of(n) for n in first}) == 1
    assert {miner.template_of(n) for n in first}.isdisjoint(miner.template_of(n) for n in second)


def test_many_names_in_one_place_are_a_slot_and_few_are_not() -> None:
    names = ["alice", "bob", "carol", "dave", "erin", "frank", "grace", "heidi"]
    assert texts(mined([f"login refused for {name} from 10.0.0.{n}" for n, name in enumerate(names)])) == {
        "login refused for <*> from <*>": 8}
    assert len(texts(mined(["running on battery power", "running on mains power"]))) == 2


def test_a_word_that_is_a_value_elsewhere_is_a_value_here_too() -> None:
    names = ["alice", "bob", "carol", "dave", "erin", "frank", "grace"]
    known = [f"token of customer {name} expired" for name in names]
    few = ["parcel bob arrived there", "parcel erin arrived there"]
    assert len(texts(mined(few))) == 2
    assert texts(mined(known + few))["parcel <*> arrived there"] == 2
    assert len(texts(mined([*known, "parcel big arrived there", "parcel small arrived there"]))) == 3


@pytest.mark.parametrize("messages", [
    ["peers 10.0.0.1:80, 10.0.0.2:80 left", "peers 10.0.0.1:80 left", "peers 10.0.0.1:80, 10.0.0.2:80, db3:80 left"],
    ["sent 812 bytes to client", "sent 1396 bytes (1.36 KB) to client"],
    ["reader.exe - disk 4 is full", "writer.exe *64 - disk 5 is full"],
    ["[pool 1 of a b] org.acme.Store: lease 4 renewed", "lease 5 renewed"],
    ["value (auth) is 5", "value (session) is 6", "value (x) is 7", "value () is 8"],
    ["self check enable..........1", "self check enable.....0"],
    ["took 5 ms", "took <1 sec", "took 00:05"],
    ["open ids [1 2 3]", "open ids [7]"],
    ["disk  sda1 full", "disk sda2 full"],
    ["key a1b2c3d4e5f6 expired", "key 00112233 expired", "key deadbeef0 expired"],
    ["job 123e4567-e89b-12d3-a456-426614174000 lost", "job 123e4567-e89b-beef-a456-426614174fff lost"],
])
def test_values_of_any_length_and_number_are_one_template(messages: list[str]) -> None:
    miner = mined(messages)
    assert len(miner.counts()) == 1
    for message in messages:
        assert miner.render(*miner.parameters(message)) == message


def test_json_with_shuffled_keys_is_one_template() -> None:
    chance = random.Random(5)
    fields = {"level": "info", "request": "r1", "took_ms": 12, "tags": ["a", "b"], "user": {"name": "bob", "id": 7}}
    messages = []
    for n in range(200):
        order = chance.sample(list(fields), len(fields))
        separators = chance.choice([(",", ":"), (", ", ": ")])
        messages.append("payload " + json.dumps({key: fields[key] for key in order} | {"n": n}, separators=separators))
    miner = mined(messages)
    assert len(miner.counts()) == 1
    for message in messages:
        assert miner.render(*miner.parameters(message)) == message


def test_parameters_are_what_was_filled_in() -> None:
    """Reports 49 and 80 of a known miner: parameters were wrong, or none although the template had slots."""
    miner = mined([f"User {name} logged in from 10.0.0.{n} after {n} tries" for n, name in enumerate(
        ["ann", "ben", "cid", "dan", "eve", "fay", "gus"])])
    id, parameters = miner.parameters("User eve logged in from 10.0.0.4 after 4 tries")
    assert miner.text(id) == "User <*> logged in from <*> after <*> tries"
    assert parameters == ["eve", "10.0.0.4", "4"]


def test_a_message_that_was_never_added_gets_the_template_with_most_text() -> None:
    """Report 111 of a known miner: the template with most slots was chosen."""
    names = ["alice", "bob", "carol", "dave", "erin", "frank", "grace"]
    miner = mined([*(f"login refused for {name} from 10.0.0.1" for name in names), "login refused for\nreasons"])
    assert "login refused for<*>" in texts(miner)
    id, parameters = miner.parameters("login refused for zoe from 10.0.0.9")
    assert (miner.text(id), parameters) == ("login refused for <*> from <*>", ["zoe", "10.0.0.9"])
    id, parameters = miner.parameters("login refused for failed from 10.0.0.9")
    assert (miner.text(id), parameters) == ("<*>", ["login refused for failed from 10.0.0.9"])


def test_early_messages_get_the_text_that_later_ones_led_to() -> None:
    """Report 32 of a known miner: what was mined early kept the text of its time."""
    miner = Miner()
    [early] = miner.add(["token of alice expired today"])
    assert miner.text(miner.template_of(early)) == "token of alice expired today"
    miner.add([f"token of {name} expired today" for name in ("bob", "carol", "dave", "erin")])
    assert miner.text(miner.template_of(early)) == "token of <*> expired today"


@pytest.mark.parametrize("message", [
    "", " ", "\t", "a\tb  c ", "x" * 1_000_000, "word " * 200_000, "日本語 のログ 12", "a\nb\n\nc", "<*>", "a<*>b <*>",
    "%s {}", "\ud800 lone", "{" * 3000, '{"a": ' * 100, "0" * 5000])
def test_odd_messages_come_back_exactly(message: str) -> None:
    miner = mined([message, "something else"])
    assert miner.render(*miner.parameters(message)) == message


def test_the_text_of_a_template_tells_its_slots_apart_from_what_was_written() -> None:
    miner = mined(["see <*> in 3 places"])
    [id] = miner.counts()
    assert miner.text(id).count("<*>") == len(miner.parameters("see <*> in 3 places")[1])


def test_ids_are_a_function_of_the_text() -> None:
    one, other = mined(["b 1", "a x failed"]), mined(["a x failed", "c", "b 2"])
    assert {one.text(id): id for id in one.counts()}.items() <= {other.text(id): id for id in other.counts()}.items()


def test_words_without_end_are_kept_within_the_limit_and_said() -> None:
    chance = random.Random(3)
    word = lambda: "".join(chance.choices("ghijklmnopqrst", k=9))  # noqa: E731
    miner = Miner(Limits(shapes=200, cached=100))
    assert miner.coarseness().startswith("every shape")
    for _ in range(20):
        messages = [f"{word()} {word()} for {word()} failed" for _ in range(100)]
        miner.add(messages)
        assert len(miner._numbers) <= 200 and len(miner._by_key) <= 100 and len(miner._by_digits) <= 100
    assert "more than can be kept" in miner.coarseness()
    assert any("failed" in text for text in texts(miner))
    assert sum(miner.counts().values()) == 2000


def test_a_miner_travels_to_another_process() -> None:
    miner = mined(["a 1", "b failed"])
    again = pickle.loads(pickle.dumps(miner))
    assert again.add(["a 2"]) == miner.add(["a 3"])
    assert again.counts() == miner.counts()


def test_unknown_numbers_and_ids_are_refused_with_what_is_allowed() -> None:
    miner = mined(["a 1"])
    with pytest.raises(EnlistError, match="shape number"):
        miner.template_of(9)
    with pytest.raises(EnlistError, match="no template"):
        miner.text(12345)
    [id] = miner.counts()
    with pytest.raises(EnlistError, match="parameters"):
        miner.render(id, [])
