"""Values in running text and in cells: numbers with units, prices, times of day, dates, years.

Two doors. `values_in` finds what looks like a value in a text, so that it can be bound to a property.
`literal_of` turns a piece of text that is known to be a value of a property into the literal that the
property's range asks for. Both are used by every way of extraction, so a price is one price whoever read it.

Lexical forms: XML Schema 1.1 Part 2, §3.3 (https://www.w3.org/TR/xmlschema11-2/).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import Final

from pyoxigraph import Literal, NamedNode

from kgplatform.documents.parts import iso_date
from kgplatform.extraction.times import ONE_CLOCK, OPEN_CLOSE, SPAN, clock, hours, span
from kgplatform.ontology import OntologyProperty
from kgplatform.text import singular
from kgplatform.vocab import (
    RDF,
    XSD,
    XSD_BOOLEAN,
    XSD_DATE,
    XSD_DATETIME,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_GYEAR,
    XSD_INTEGER,
    XSD_STRING,
)

_CURRENCIES: Final = {
    "CNY": "¥ ￥ rmb cny yuan 元 块 块钱 元人民币 人民币",
    "EUR": "€ eur euro euros 欧元",
    "USD": "$ usd us$ dollar dollars 美元",
    "GBP": "£ gbp pound pounds 英镑",
    "SEK": "sek kr kronor 瑞典克朗",
    "JPY": "jpy yen 日元",
}
_MEASURES: Final = {
    ("s", 1): "s sec second seconds 秒 秒钟",
    ("s", 60): "min mins minute minutes 分钟 分",
    ("s", 3600): "h hr hrs hour hours 小时 个小时 个钟头 钟头",
    ("s", 86400): "day days 天",
    ("m", 0.001): "mm millimetre millimetres millimeter millimeters 毫米",
    ("m", 0.01): "cm centimetre centimetres centimeter centimeters 厘米",
    ("m", 1): "m metre metres meter meters 米",
    ("m", 1000): "km kilometre kilometres kilometer kilometers 公里 千米",
    ("m²", 1): "m² m2 sqm 平方米 平米",
    ("m²", 10_000): "ha hectare hectares 公顷",
    ("m²", 1_000_000): "km² km2 平方公里 平方千米",
    ("g", 1): "g gram grams 克",
    ("g", 1000): "kg kilogram kilograms 公斤 千克",
    ("star", 1): "star stars 星 星级",
    ("room", 1): "room rooms guestroom 间房 间客房 间",
    ("people", 1): "people inhabitants residents persons 人 口人",
    ("credit", 1): "credit credits ects hp 学分",
    ("degree", 1): "degree degrees ° 度",
    ("percent", 1): "% percent 个百分点",
}
_CURRENCY_OF: Final = {form: code for code, forms in _CURRENCIES.items() for form in forms.split()}
_MEASURE_OF: Final = {form: measure for measure, forms in _MEASURES.items() for form in forms.split()}

_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?"
_HAN_NUMBER = r"[一二两三四五六七八九十百]{1,5}"
_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_DATE = re.compile(
    r"(?<!\d)\d{4}\s*(?:[-/.]\s*\d{1,2}\s*[-/.]|年\s*\d{1,2}\s*月)\s*\d{1,2}(?!\d)日?"
    r"|\b\d{1,2}(?:st|nd|rd|th)?\s+(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?,?\s+\d{4}\b"
    r"|\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?\s+\d{1,2}(?:st|nd|rd|th)?,?\s+\d{4}\b"
)
_YEAR = re.compile(r"(?<![\d.,:/-])(?:(?P<zh>\d{3,4})\s*年|(?P<en>[12]\d{3}))(?![\d:/]|\.\d|,\d{3})")
_CUED_YEAR = re.compile(r"(?<=\bin )(?P<year>\d{3})\b(?![.,:]\d|%)(?P<next>\s[a-z]+)?")
_MONEY = re.compile(
    rf"(?P<before>[¥￥€£$]|(?:RMB|CNY|EUR|USD|GBP|SEK)\s?)\s?(?P<one>{_NUMBER})"
    rf"|(?<![\d.,])(?P<two>{_NUMBER})\s?(?P<after>元人民币|元|块钱|块|欧元|美元|英镑|日元"
    r"|(?:yuan|RMB|CNY|euros?|EUR|USD|dollars?|pounds?|GBP|SEK|kronor|yen)\b|[€£])",
    re.IGNORECASE,
)
_COUNTED = r"(?=(?:个)?(?:分钟|小时|钟头|公里|米|学分|星级?|间|天))"
_UNIT = (
    r"个小时|个钟头|个百分点|平方公里|平方千米|平方米|分钟|小时|公里|千米|公斤|学分|间客房|间房|星级|厘米|毫米|公顷"
    r"|[秒米天星间人度分克]|[a-zA-Z°²%][a-zA-Z²]{0,14}2?|[^\W\d]{1,4}"
)
_QUANTITY = re.compile(
    rf"(?P<number>(?<![a-zA-Z\d_.,:/-])(?:{_NUMBER})|(?<![一二两三四五六七八九十百几第])(?:{_HAN_NUMBER}){_COUNTED})"
    rf"(?:\s?-?(?P<unit>{_UNIT}))?"
)
_URL = re.compile(r"https?://[^\s<>\"，。）)]+[^\s<>\"，。）).,;]")
_HAN_DIGITS: Final = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"两": 2}
_TRUE: Final = frozenset({"true", "yes", "y", "1", "是", "有", "真"})
_FALSE: Final = frozenset({"false", "no", "n", "0", "否", "无", "假", "none"})
_RANGES: Final = (XSD_INTEGER, XSD_DECIMAL, XSD_DOUBLE, XSD_BOOLEAN, XSD_DATE, XSD_DATETIME, XSD_GYEAR)
_INTEGERS: Final = frozenset(
    f"{XSD}{name}" for name in ("int", "long", "short", "nonNegativeInteger", "positiveInteger", "unsignedInt")
)


@dataclass(frozen=True, slots=True)
class Value:
    """Something in a text that looks like a value.

    ``kind`` is ``money``, ``span`` (of hours), ``clock``, ``date``, ``year``, ``number`` or ``url``; ``lexical`` is
    its plain form; ``unit`` a currency code for money, else the word or sign after the number.
    """

    kind: str
    start: int
    end: int
    lexical: str
    unit: str = ""


def han_number(text: str) -> int | None:
    """The number that Chinese numerals below a thousand write, None if they write none.

    >>> [han_number(text) for text in ("五", "十二", "两", "三十五", "一百二十", "百")]
    [5, 12, 2, 35, 120, 100]
    """
    total, current = 0, 0
    for character in text:
        if character in _HAN_DIGITS:
            current = _HAN_DIGITS[character]
        elif character in "十百":
            total += (current or 1) * (10 if character == "十" else 100)
            current = 0
        else:
            return None
    return total + current if text else None


def values_in(text: str, start: int = 0, end: int | None = None) -> list[Value]:
    """The values in ``text[start:end]``, in order, none inside another."""
    found: list[Value] = []
    for value in _candidates(text, start, len(text) if end is None else end):
        if not any(value.start < other.end and other.start < value.end for other in found):
            found.append(value)
    return sorted(found, key=lambda value: value.start)


def _candidates(text: str, start: int, end: int) -> Iterator[Value]:
    for match in _URL.finditer(text, start, end):
        yield Value("url", *match.span(), match.group())
    yield from _spans(text, start, end)
    for match in _DATE.finditer(text, start, end):
        if day := iso_date(match.group()):
            yield Value("date", *match.span(), day)
    for match in _MONEY.finditer(text, start, end):
        sign = (match["before"] or match["after"]).strip().lower()
        yield Value("money", *match.span(), (match["one"] or match["two"]).replace(",", ""), _CURRENCY_OF[sign])
    for match in ONE_CLOCK.finditer(text, start, end):
        if moment := clock(match.group()):
            yield Value("clock", *match.span(), moment)
    for match in _YEAR.finditer(text, start, end):
        yield Value("year", *match.span(), (match["zh"] or match["en"]).zfill(4))
    yield from _quantities(text, start, end)


def _spans(text: str, start: int, end: int) -> Iterator[Value]:
    for pattern in (SPAN, OPEN_CLOSE):
        for match in pattern.finditer(text, start, end):
            if lexical := span(match):
                yield Value("span", *match.span(), lexical)


def _quantities(text: str, start: int, end: int) -> Iterator[Value]:
    for match in _CUED_YEAR.finditer(text, start, end):
        if (match["next"] or "").strip() not in _MEASURE_OF:
            yield Value("year", *match.span("year"), match["year"].zfill(4))
    for match in _QUANTITY.finditer(text, start, end):
        number = match["number"].replace(",", "")
        if not number[0].isdigit():
            counted = han_number(number)
            if counted is None:
                continue
            number = str(counted)
        unit = match["unit"] or ""
        known = unit.lower() in _MEASURE_OF
        stop = match.end() if known else match.end("number")
        yield Value("number", match.start(), stop, number, unit)


@lru_cache(maxsize=2048)
def converted(number: str, unit: str, wanted: str) -> str | None:
    """The number in the wanted unit; None where the units do not measure the same.

    >>> converted("1.5", "hours", "min"), converted("90", "分钟", "h"), converted("12", "yuan", "CNY")
    ('90', '1.5', '12')
    """
    if _same_unit(unit, wanted):
        return number
    have, want = _MEASURE_OF.get(unit.lower()), _MEASURE_OF.get(wanted.lower())
    if have is None or want is None or have[0] != want[0]:
        return None
    return f"{float(number) * have[1] / want[1]:.6g}"


def _same_unit(unit: str, wanted: str) -> bool:
    first, second = singular(unit.casefold()), singular(wanted.casefold())
    return first == second or _CURRENCY_OF.get(unit.lower(), unit) == wanted or unit == wanted


def is_currency(unit: str | None) -> bool:
    """Whether the unit of a property is a currency."""
    return unit is not None and (unit in _CURRENCIES or unit.lower() in _CURRENCY_OF)


def accepts(term: OntologyProperty, value: Value) -> bool:
    """Whether a found value can be a value of the datatype property at all, by kind, unit, range and pattern."""
    range_ = _range(term)
    if value.kind == "money":
        return is_currency(term.unit) and converted(value.lexical, value.unit, term.unit or "") is not None
    if value.kind == "number":
        return _accepts_number(term, value, range_)
    if value.kind == "year":
        return range_ == XSD_GYEAR
    if value.kind == "date":
        return range_ == XSD_DATE
    if range_ != XSD_STRING or not term.pattern:
        return False
    return _full(term.pattern, value.lexical)


def _accepts_number(term: OntologyProperty, value: Value, range_: NamedNode) -> bool:
    if range_ not in (XSD_INTEGER, XSD_DECIMAL, XSD_DOUBLE) or is_currency(term.unit):
        return False
    if range_ == XSD_INTEGER and "." in value.lexical and not value.lexical.endswith(".0"):
        return False
    measured = value.unit.lower() in _MEASURE_OF
    if term.unit:
        return converted(value.lexical, value.unit, term.unit) is not None if value.unit else False
    return not measured or value.unit in ("分",)


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    try:
        return re.compile(pattern)
    except re.error:
        return None


def _full(pattern: str, text: str) -> bool:
    compiled = _compiled(pattern)
    return compiled is None or compiled.fullmatch(text) is not None


def _range(term: OntologyProperty) -> NamedNode:
    for range_ in term.ranges:
        if range_.value in _INTEGERS:
            return XSD_INTEGER
        if range_.value in (f"{XSD}float",):
            return XSD_DOUBLE
        if range_ in _RANGES:
            return range_
    return XSD_STRING


def literal_of(text: str, term: OntologyProperty, *, language: str = "") -> Literal:
    """The literal of the property's range that the text writes.

    Raises:
        ValueError: the text writes no such value; the message says why, in one clause.
    """
    plain = " ".join(text.split())
    if not plain:
        raise ValueError("there is no value")
    range_ = _range(term)
    if not term.ranges and _ISO_DATE.fullmatch(plain):
        return Literal(_date(plain), datatype=XSD_DATE)  # of anything, what is written as a date is one
    if range_ == XSD_STRING:
        return _string(plain, term, language)
    if range_ in (XSD_INTEGER, XSD_DECIMAL, XSD_DOUBLE):
        return Literal(_number(plain, term, range_), datatype=range_)
    reader = {XSD_BOOLEAN: _boolean, XSD_DATE: _date, XSD_DATETIME: _moment, XSD_GYEAR: _year}[range_]
    return Literal(reader(plain), datatype=range_)


def _string(text: str, term: OntologyProperty, language: str) -> Literal:
    if any(range_.value == f"{RDF}langString" for range_ in term.ranges) and language:
        return Literal(text, language=language)
    if not term.pattern or _full(term.pattern, text):
        normal = hours(text) if term.pattern and SPAN.fullmatch(text) else None
        return Literal(normal if normal and _full(term.pattern or "", normal) else text)
    for form in (hours(text), clock(text), text.upper(), text.replace(" ", "")):
        if form and _full(term.pattern, form):
            return Literal(form)
    raise ValueError(f"{text!r} does not have the form {term.pattern}")


def _number(text: str, term: OntologyProperty, range_: NamedNode) -> str:
    if range_ == XSD_DOUBLE and re.fullmatch(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?", text):
        return text
    number = text if re.fullmatch(r"[+-]?\d+(?:\.\d+)?", text) else _measured(text, term)
    if range_ == XSD_INTEGER:
        if float(number) != int(float(number)):
            raise ValueError(f"{text!r} is not a whole number")
        return str(int(float(number)))
    return number


def _measured(text: str, term: OntologyProperty) -> str:
    found = [value for value in values_in(text) if value.kind in ("money", "number", "year")]
    if len(found) != 1:
        raise ValueError(f"{text!r} is not a number" if not found else f"{text!r} holds several numbers")
    value = found[0]
    if value.kind == "year":
        return str(int(value.lexical))
    if term.unit and value.unit:
        number = converted(value.lexical, value.unit, term.unit)
        if number is None and (value.kind == "money" or value.unit.lower() in _MEASURE_OF):
            raise ValueError(f"{text!r} is not measured in {term.unit}")
        return number or value.lexical
    return value.lexical


def _boolean(text: str) -> str:
    plain = text.casefold()
    if plain in _TRUE:
        return "true"
    if plain in _FALSE:
        return "false"
    raise ValueError(f"{text!r} is neither yes nor no")


def _date(text: str) -> str:
    day = iso_date(text)
    if day is None:
        raise ValueError(f"{text!r} is not a date")
    return day


def _moment(text: str) -> str:
    form = text.replace("/", "-").replace("年", "-").replace("月", "-").replace("日", "")
    try:
        moment = datetime.fromisoformat(form)
    except ValueError as error:
        raise ValueError(f"{text!r} is not a date with a time") from error
    return moment.isoformat().replace("+00:00", "Z")


def _year(text: str) -> str:
    if re.fullmatch(r"-?\d{1,4}", text):
        return text.zfill(4) if not text.startswith("-") else f"-{text[1:].zfill(4)}"
    found = {value.lexical for value in values_in(text) if value.kind == "year"}
    day = iso_date(text)
    if day:
        found = {str(date.fromisoformat(day).year)}
    if len(found) != 1:
        raise ValueError(f"{text!r} is not a year")
    return found.pop()
