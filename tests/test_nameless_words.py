"""Words that look like names and are none, and classes that a name has no right to: the built-in reader leaves them."""

from __future__ import annotations

import pytest
from pyoxigraph import NamedNode

from kgplatform.extraction.chinese import names_with_suffix, points, tag
from tests.test_builtin_extraction import PLACES, read, said

KINDS = {
    word: NamedNode(f"http://example.org/o#{name}")
    for word, name in {
        **{
            "河": "River",
            "寺": "Temple",
            "山": "Mountain",
            "城": "City",
            "园": "Garden",
            "人": "Person",
            "国": "Country",
        },
        **{"机场": "Airport", "客机": "Aircraft", "景区": "Area", "单位": "Organization", "作者": "Author"},
    }.items()
}


def found(text: str) -> set[str]:
    return {text[start:end] for start, end, _, _ in names_with_suffix(tag(text), KINDS)}


@pytest.mark.parametrize(
    "text",
    [
        "沿河一排老房子",
        "我们一早上山",
        "下午进城",
        "南浔人爱吃面",
        "万国来朝",
        "所有作者都来自北京",
        "这是国家级景区",
        "全国重点文物保护单位",
        "机坪供客机使用",
        "指对方机场所在地区",
    ],
)
def test_words_that_say_what_is_done_or_which_one_is_meant_are_no_names(text: str) -> None:
    assert found(text) == set()


@pytest.mark.parametrize(
    ("text", "name"), [("我们去了雁荡山。", "雁荡山"), ("灵隐寺在杭州。", "灵隐寺"), ("浦东机场很大。", "浦东机场")]
)
def test_names_with_the_same_class_words_are_still_found(text: str, name: str) -> None:
    assert name in found(text)


def test_what_points_is_told_from_what_names() -> None:
    assert all(points(words) for words in ("同一机场", "对方机场", "省级景区", "重点单位", "一些作者"))
    assert not any(points(words) for words in ("不夜城", "国家博物馆", "多伦多机场"))


def classes(text: str, **options: str) -> dict[str, str]:
    extraction = read(text, PLACES, **options)
    return {mention.name: mention.type.value.rpartition("#")[2] for mention in extraction.mentions}


def test_a_name_takes_no_class_from_what_stands_elsewhere_in_its_sentence() -> None:
    """Only what the same is said of before it, with its value, is like it."""
    alone = classes("沈万三旧居建于1742年,是从灵隐寺迁来的。")
    assert alone.get("沈万三旧居") != "Temple"


def test_what_a_label_gives_is_not_what_the_next_line_is_about() -> None:
    text = "作者:湖州老顾\n门票30元"
    assert not any(subject == "湖州" for subject, _, _ in said(read(text, PLACES)))
