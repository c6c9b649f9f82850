"""Replies that are almost JSON: what is whole is kept, what is not is handed back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgplatform.models.mending import mended
from kgplatform.models.structured import json_of


@pytest.mark.parametrize(
    ("text", "value", "lost"),
    [
        ("{'a': 'it\\'s', 'b': 'don't'}", {"a": "it's", "b": "don't"}, ()),
        ('{"a": [1, 2,], }', {"a": [1, 2]}, ()),
        ('{"a": NaN, b: None, "c": True, "d": -1.5}', {"a": None, "b": None, "c": True, "d": -1.5}, ()),
        ('Sure!\n```json\n{"a": [{"x": 1}{"x": 2}]}\n```', {"a": [{"x": 1}, {"x": 2}]}, ()),
        ('{"a": "he said "hi" to me"}', {"a": 'he said "hi" to me'}, ()),
        ("{“名称”: “乌镇”}", {"名称": "乌镇"}, ()),
        ('{"k": "v"\n"l": 2}', {"k": "v", "l": 2}, ()),
        ('{"a": [1], "b": 2, "a": [3], "b": 4}', {"a": [1, 3], "b": [2, 4]}, ()),
        ('{"s": [{"x": "one"}, {"x": "tw', {"s": [{"x": "one"}]}, ('{"x": "tw',)),
        ('{"s": [{"x": "one", "l": ["p", "q', {"s": []}, ('{"x": "one", "l": ["p", "q',)),
        ('[{"x": 1}, {"x":', [{"x": 1}], ('{"x":',)),
        ('{"s": [{"q": "abc"]}', {"s": [{"q": "abc"}]}, ()),
    ],
)
def test_what_is_whole_is_read_and_what_is_cut_off_is_handed_back(
    text: str, value: object, lost: tuple[str, ...]
) -> None:
    found = mended(text)
    assert found is not None
    assert (found.value, found.lost) == (value, lost)


@pytest.mark.parametrize("text", ["", "no JSON here", "{]}]", "<think>{}</think>"])
def test_where_there_is_no_object_there_is_nothing(text: str) -> None:
    assert mended(text) is None


def test_a_key_that_is_said_twice_loses_neither_value() -> None:
    assert json_of('{"a": [1], "a": [2]}') == {"a": [1, 2]}
    assert json_of('{"a": "x", "a": "x"}') == {"a": "x"}


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(max_size=5), _VALUES, min_size=1, max_size=4))
def test_any_json_object_is_read_as_it_is(value: dict[str, object]) -> None:
    text = json.dumps(value, ensure_ascii=False)
    if "think" in text:
        return
    # a quotation mark before a bracket or comma cannot be told from the end of a string
    if '\\"' in text:
        return
    found = mended(text)
    assert found is not None
    assert (found.value, found.lost) == (value, ())


@given(st.text(max_size=60), st.integers(0, 60))
def test_no_text_breaks_it_and_a_cut_one_keeps_whole_items(text: str, cut: int) -> None:
    mended("{" + text)
    mended('{"a": ' + text)
    whole = '{"statements": [{"subject": "Wuzhen"}, {"subject": "Xitang"}], "keywords": ["town"]}'
    found = mended(whole[: cut + 2])
    if found is not None and isinstance(found.value, dict):
        assert all(item in ({"subject": "Wuzhen"}, {"subject": "Xitang"}) for item in found.value.get("statements", []))
