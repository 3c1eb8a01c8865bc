"""JSON in messages, sorted and put back, against the standard library's reader."""

import json
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from enlist.tools.logs.templates.objects import canonical, restore

VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(), inner, max_size=4)), max_leaves=12)


def shuffled(value: object, chance: random.Random) -> object:
    if isinstance(value, dict):
        return {key: shuffled(value[key], chance) for key in chance.sample(list(value), len(value))}
    return [shuffled(item, chance) for item in value] if isinstance(value, list) else value


@settings(max_examples=30, deadline=None)
@given(st.dictionaries(st.text(), VALUES, max_size=4), st.text(max_size=5), st.randoms(use_true_random=False))
def test_any_order_and_spacing_gives_one_text_of_the_same_value(
    value: dict[str, object], around: str, chance: random.Random
) -> None:
    before = around.replace("{", "")
    written = before + json.dumps(shuffled(value, chance), indent=chance.choice([None, 2])) + around
    text, layout = canonical(written)
    assert (restore(text, layout) if layout else text) == written
    if len(value) > 0:
        found, _ = json.JSONDecoder().raw_decode(text[len(before):])
        assert found == value


@settings(max_examples=80, deadline=None)
@given(st.text(alphabet='{}[]:,"\\ ab1\n', max_size=40))
def test_what_only_looks_like_json_comes_back_too(text: str) -> None:
    sorted_text, layout = canonical(text)
    assert (restore(sorted_text, layout) if layout else sorted_text) == text
