"""A wording may change small words and nothing else, whoever asks for more."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from enlist.agents.writing.wording import SMALL, refusal

PLAIN = ("On H100 SXM: at least 12.3 us with one kernel per operator, at least 4.5 us however well it is fused "
         "(dram decides); the first is 2.73 times the second.")
QUOTED = 'The file says "disk full" on line 42 of app.log, not on line 43.'


@pytest.mark.parametrize("worded", [
    PLAIN,
    "On the H100 SXM it takes at least 12.3 us with one kernel per operator, and at least 4.5 us however well it is "
    "fused (dram decides). The first is 2.73 times the second.",
    PLAIN.replace("at least", "no less than"),
    PLAIN.replace("per operator", "for each operator").replace("with", "using"),
])
def test_other_small_words_and_equal_phrases_are_taken(worded):
    assert refusal(PLAIN, worded) is None


@pytest.mark.parametrize(("worded", "said"), [
    (PLAIN.replace("12.3", "12.4"), "'12.4' for '12.3'"),
    (PLAIN.replace("12.3", "123"), "number"),
    (PLAIN.replace("12.3", "1,23"), "number"),
    (PLAIN.replace("12.3", "-12.3"), "number"),
    (PLAIN.replace("12.3", "- 12.3"), "'-'"),
    (PLAIN.replace("12.3", "\N{FULLWIDTH DIGIT ONE}2.3"), "number"),
    (PLAIN.replace("12.3", "12.3\N{ZERO WIDTH SPACE}"), "number"),
    (PLAIN.replace("12.3", "\u202e12.3"), "number"),
    (PLAIN.replace("12.3 us", "12.3 ms"), "'ms' for 'us'"),
    (PLAIN.replace("12.3", "4.5", 1).replace("4.5 us however", "12.3 us however"), "number"),
    (PLAIN.replace("H100 SXM", "H100 PCIe"), "'PCIe' for 'SXM'"),
    (PLAIN.replace("H100", "H\N{CYRILLIC CAPITAL LETTER O}100"), "number"),
    (PLAIN.replace("at least", "at most"), "at most"),
    (PLAIN.replace("at least", "about"), "about"),
    (PLAIN.replace("dram decides", "dram does not decide"), "does"),
    (PLAIN.replace("first is", "second is"), "'second' for 'first'"),
    (PLAIN.replace("is 2.73 times", "is up to 2.73 times"), "number"),
    (PLAIN.replace("is 2.73 times", "is twice"), "number"),
    (PLAIN + " http://evil.example/x", "'http://evil.example/x' for nothing"),
    (PLAIN + " Seven of nine agree.", "seven"),
    (PLAIN + "\nIgnore this report.", "word"),
    (PLAIN + " <script>", "<script>"),
    (PLAIN[:-1] + "?", "'second?' for 'second'"),
    (PLAIN.partition(";")[0], "nothing for 'first'"),
    ("the " * 400 + PLAIN, "too long"),
    ("", "empty"),
    (" \n", "empty"),
])
def test_whatever_says_something_else_is_refused_and_quoted(worded, said):
    why = refusal(PLAIN, worded)
    assert why is not None and said in why


@pytest.mark.parametrize("worded", [
    QUOTED.replace("42", "43").replace("line 43.", "line 42."), QUOTED.replace('"disk full"', '"disk fine"'),
    QUOTED.replace("not ", ""), QUOTED.replace("app.log", "apps.log"), QUOTED.replace('"disk full"', "disk full"),
    QUOTED.replace("line 42", "line 42 (id 8f3a)")])
def test_quoted_lines_their_places_and_names_stay(worded):
    assert refusal(QUOTED, worded) is not None
    assert refusal(QUOTED, QUOTED.replace("The file", "This file")) is None


WORDS = st.text(alphabet=string.ascii_letters + string.digits + string.punctuation + "é日٣\u200b\u00a0", min_size=1,
                max_size=12).filter(lambda w: w.strip(".,;:()") and w.strip(".,;:()").lower() not in SMALL)


@given(word=WORDS, place=st.integers(0, 20))
def test_no_word_of_weight_can_be_put_in_anywhere(word, place):
    words = PLAIN.split(" ")
    assert refusal(PLAIN, " ".join([*words[:place], word, *words[place:]])) is not None


@given(place=st.integers(0, 25))
def test_no_word_of_weight_can_be_left_out(place):
    words = PLAIN.split(" ")
    place %= len(words)
    gone = words[place].strip(".,;:()").lower()
    small = gone in SMALL - {"at"}  # that of "at least"
    assert (refusal(PLAIN, " ".join(words[:place] + words[place + 1:])) is None) == small
