"""Block keys against the same rule written as a regular expression."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from enlist.tools.logs.templates.keys import CUT, LONGEST, collapse, cut, key_of, same_digits

TEXT = st.one_of(st.text(), st.text(alphabet="0123456789abcdefABCDEFxXgz._- \n"), st.text(alphabet="0xX1f "))


def slowly(line: str) -> str:
    """The rule as its docstring says it, word by word."""
    def word(found: re.Match[str]) -> str:
        text = found[0]
        if re.fullmatch(r"(?=.*[0-9])[0-9a-fA-F]+|[0-9][0-9a-fA-FxX]*|[a-fA-F]{8,}", text):
            return "0"
        return re.sub("[0-9]+", "0", text)

    return re.sub(r"[0-9A-Za-z\x80-\U0010ffff]+", word, line)


@settings(max_examples=120, deadline=None)
@given(TEXT)
def test_keys_of_a_block_are_the_keys_of_its_lines(text: str) -> None:
    block = collapse(text.encode("utf-8", "surrogatepass"))
    assert block.decode("utf-8", "surrogatepass") == slowly(text)
    assert collapse(same_digits(text.encode("utf-8", "surrogatepass"))) == block
    assert collapse(block) == block
    assert [key_of(line) for line in text.split("\n")] == block.decode("utf-8", "surrogatepass").split("\n")


@pytest.mark.parametrize(("line", "key"), [
    ("from 10.0.0.17:8080 in 12 ms", "from 0.0.0.0:0 in 0 ms"),
    ("0x7ffe1200 and deadbeef1 and dead", "0 and 0 and dead"),
    ("id 123e4567-e89b-12d3-a456-426614174000", "id 0-0-0-0-0"),
    ("node17 v2beta1 sha256", "node0 v0beta0 sha0"),
    ("1920x1080 x86 0x", "0 x0 0"),
    ("mask ffffffff of FEEDFACE, deadbee", "mask 0 of 0, deadbee"),
    ("", ""), ("7", "0"), ("a", "a"), ("é12é", "é0é"),
])
def test_what_is_a_number(line: str, key: str) -> None:
    assert key_of(line) == key


def test_a_message_is_cut_at_its_first_line_end_and_at_the_limit() -> None:
    assert cut("one\ntwo") == "one" + CUT
    assert cut("x" * LONGEST) == "x" * LONGEST
    assert cut("x" * (LONGEST + 1)) == "x" * LONGEST + CUT
    assert cut("y" * LONGEST + "\n") == "y" * LONGEST + CUT
