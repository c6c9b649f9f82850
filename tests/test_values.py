"""Values in text and cells: what is found, what it becomes, what is refused."""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from kgplatform.extraction.times import clock, hours
from kgplatform.extraction.values import accepts, converted, han_number, literal_of, values_in
from kgplatform.ontology import OntologyProperty
from kgplatform.vocab import XSD


def prop(range_: str, *, unit: str | None = None, pattern: str | None = None) -> OntologyProperty:
    return OntologyProperty(
        iri=NamedNode("http://example.org/p"),
        is_object=False,
        ranges=(NamedNode(f"{XSD}{range_}"),),
        unit=unit,
        pattern=pattern,
    )


HOURS = r"\d{2}:\d{2}-\d{2}:\d{2}(, \d{2}:\d{2}-\d{2}:\d{2})*"


@pytest.mark.parametrize(
    ("text", "kind", "lexical", "unit"),
    [
        ("the ticket is ¥150 now", "money", "150", "CNY"),
        ("costs 1,200 yuan", "money", "1200", "CNY"),
        ("门票150元", "money", "150", "CNY"),
        ("about 40 RMB", "money", "40", "CNY"),
        ("€12.50 each", "money", "12.50", "EUR"),
        ("opens 8:00-17:30", "span", "08:00-17:30", ""),
        ("from 9am to 5pm", "span", "09:00-17:00", ""),
        ("开放时间是9:00到22:00", "span", "09:00-22:00", ""),
        ("It opens at 7:30 and closes at 17:30", "span", "07:30-17:30", ""),
        ("早上8点开门", "clock", "08:00", ""),
        ("建于1874年", "year", "1874", ""),
        ("founded in 326 by a monk", "year", "0326", ""),
        ("on 9 November 2023", "date", "2023-11-09", ""),
        ("发布于2024年5月3日", "date", "2024-05-03", ""),
        ("worth 7.5 credits", "number", "7.5", "credits"),
        ("坐车十分钟", "number", "10", "分钟"),
        ("见 https://example.org/a。", "url", "https://example.org/a", ""),
    ],
)
def test_values_in_finds_the_value_with_kind_and_unit(text: str, kind: str, lexical: str, unit: str) -> None:
    assert [(value.kind, value.lexical, value.unit) for value in values_in(text)] == [(kind, lexical, unit)]


def test_values_in_keeps_no_value_inside_another() -> None:
    found = values_in("2024年5月3日 9:00-17:00, 150元, 7.5 credits")
    assert [value.kind for value in found] == ["date", "span", "money", "number"]
    assert all(first.end <= second.start for first, second in pairwise(found))


@pytest.mark.parametrize(
    ("text", "term", "lexical"),
    [
        ("150元", prop("decimal", unit="CNY"), "150"),
        ("1.5 hours", prop("decimal", unit="min"), "90"),
        ("90分钟", prop("decimal", unit="h"), "1.5"),
        ("345", prop("integer", unit="room"), "345"),
        ("1,200", prop("integer"), "1200"),
        ("8:00 - 17:30", prop("string", pattern=HOURS), "08:00-17:30"),
        ("1848年", prop("gYear"), "1848"),
        ("founded in 326", prop("gYear"), "0326"),
        ("2024/5/3", prop("date"), "2024-05-03"),
        ("2025-03-10 02:50", prop("dateTime"), "2025-03-10T02:50:00"),
        ("是", prop("boolean"), "true"),
        ("No", prop("boolean"), "false"),
        ("sf1625", prop("string", pattern=r"[A-Z]{2}\d{4}"), "SF1625"),
        ("1e3", prop("double"), "1e3"),
    ],
)
def test_literal_of_writes_the_form_the_range_asks_for(text: str, term: OntologyProperty, lexical: str) -> None:
    literal = literal_of(text, term)
    assert literal.value == lexical
    assert literal.datatype == term.ranges[0]


@pytest.mark.parametrize(
    ("text", "term", "reason"),
    [
        ("many", prop("decimal"), "is not a number"),
        ("3 or 4", prop("integer"), "holds several numbers"),
        ("4.5", prop("integer"), "is not a whole number"),
        ("20 km", prop("decimal", unit="min"), "is not measured in min"),
        ("€12", prop("decimal", unit="CNY"), "is not measured in CNY"),
        ("maybe", prop("boolean"), "neither yes nor no"),
        ("soon", prop("date"), "is not a date"),
        ("25:00", prop("dateTime"), "is not a date with a time"),
        ("long ago", prop("gYear"), "is not a year"),
        ("hello", prop("string", pattern=r"\d+"), "does not have the form"),
        ("  ", prop("string"), "there is no value"),
    ],
)
def test_literal_of_says_why_a_text_is_no_value(text: str, term: OntologyProperty, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        literal_of(text, term)


def test_accepts_tells_units_apart() -> None:
    price, minutes, year = prop("decimal", unit="CNY"), prop("decimal", unit="min"), prop("gYear")
    money, ride, built = values_in("150元")[0], values_in("20 minutes")[0], values_in("1874年")[0]
    assert [accepts(term, money) for term in (price, minutes, year)] == [True, False, False]
    assert [accepts(term, ride) for term in (price, minutes, year)] == [False, True, False]
    assert [accepts(term, built) for term in (price, minutes, year)] == [False, False, True]


@given(st.integers(0, 23), st.integers(0, 59))
def test_a_clock_time_reads_as_written_and_again_the_same(hour: int, minute: int) -> None:
    written = f"{hour:02d}:{minute:02d}"
    assert clock(written) == written
    assert clock(f"{hour}:{minute:02d}") == written


@given(st.integers(1, 99))
def test_chinese_numerals_below_a_hundred_are_read(number: int) -> None:
    digits = "零一二三四五六七八九"
    tens, ones = divmod(number, 10)
    written = ("" if tens == 0 else "十" if tens == 1 else f"{digits[tens]}十") + (digits[ones] if ones else "")
    assert han_number(written) == number


@given(st.decimals(min_value=Decimal("0.5"), max_value=1000, places=1))
def test_conversion_there_and_back_is_the_same_number(number: Decimal) -> None:
    minutes = converted(str(number), "hours", "min")
    assert minutes is not None
    assert float(converted(minutes, "min", "h") or 0) == pytest.approx(float(number), rel=1e-4)


def test_units_that_measure_different_things_do_not_convert() -> None:
    assert converted("5", "km", "min") is None


def test_hours_joins_several_spans() -> None:
    assert hours("9:00-11:30，13:00-17:00") == "09:00-11:30, 13:00-17:00"
    assert hours("all day") is None
