"""How rows become a sentence: days, units and what was left out, in the language of the question."""

from __future__ import annotations

import pytest
from pyoxigraph import Literal, NamedNode

from kgplatform.questions.synthesis import said
from kgplatform.types import Solutions
from kgplatform.vocab import XSD


def sentence(value: str, datatype: str, language: str, *, unit: str = "", left: tuple[str, ...] = ()) -> str:
    literal = Literal(value, datatype=NamedNode(f"{XSD}{datatype}"))
    return said(Solutions(("value",), ((literal,),)), str, language, unit=unit, left=left)


@pytest.mark.parametrize(
    ("value", "datatype", "en", "zh"),
    [
        ("2025-03-12T14:39:00", "dateTime", "12 Mar 2025 14:39.", "2025年3月12日 14:39。"),
        ("2025-03-12T14:39:05Z", "dateTime", "12 Mar 2025 14:39:05 UTC.", "2025年3月12日 14:39:05 UTC。"),
        ("2025-03-12T14:39:00+02:00", "dateTime", "12 Mar 2025 14:39 +02:00.", "2025年3月12日 14:39 +02:00。"),
        ("1998-11-05", "date", "5 Nov 1998.", "1998年11月5日。"),
        ("2025-13-40", "date", "2025-13-40.", "2025-13-40。"),
        ("1998", "gYear", "1998.", "1998。"),
        ("1998-11-05", "string", "1998-11-05.", "1998-11-05。"),
    ],
)
def test_days_and_moments_are_written_as_people_write_them(value: str, datatype: str, en: str, zh: str) -> None:
    assert (sentence(value, datatype, "en"), sentence(value, datatype, "zh")) == (en, zh)


@pytest.mark.parametrize(
    ("unit", "en", "zh"),
    [
        ("CNY", "120 CNY.", "120元。"),
        ("min", "120 min.", "120分钟。"),
        ("credit", "120 credits.", "120 credit。"),
        ("学分", "120 学分.", "120 学分。"),
        ("", "120.", "120。"),
    ],
)
def test_units_are_in_the_language_of_the_question_where_it_has_a_word(unit: str, en: str, zh: str) -> None:
    assert (sentence("120", "decimal", "en", unit=unit), sentence("120", "decimal", "zh", unit=unit)) == (en, zh)


def test_words_that_the_rows_do_not_answer_to_are_named() -> None:
    left = ("dollars", "x", "dollars")
    assert sentence("120", "decimal", "en", unit="CNY", left=left) == "120 CNY. (Not understood and left out: dollars.)"
    assert sentence("120", "decimal", "zh", unit="CNY", left=("美金",)) == "120元。（未理解、未计入：美金。）"
