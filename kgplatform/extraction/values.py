"""Values in texts: prices, hours, years, amounts with their units, and what they are for a property."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from functools import lru_cache
from math import prod
from typing import Final

from pyoxigraph import Literal, NamedNode

from kgplatform.documents.parts import iso_date
from kgplatform.extraction.ontology_lexicon import FUNCTION_WORDS
from kgplatform.lexicon import LexiconSection, read
from kgplatform.lexicon.amounts import han_number
from kgplatform.ontology.schema import OntologyProperty
from kgplatform.text import has_han, singular
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

# Times of day and spans of hours

_LEXICON: Final = LexiconSection("extraction", "values")
NOT_THE_VALUE = _LEXICON.pattern("not_the_value", re.IGNORECASE)
PARTIAL = _LEXICON.pattern("partial")
_FREE = _LEXICON.pattern("free", re.IGNORECASE)
NOT_FREE = _LEXICON.pattern("not_free")
_AFTERNOON, _NIGHT = _LEXICON.words("afternoon"), _LEXICON.words("night")
_CLOCK = _LEXICON.text("clock")
_DASH = _LEXICON.text("dash")
_HOUR = _LEXICON.text("han_hour")
_TEXT_OF_SPAN = (
    rf"(?P<opens>{_CLOCK}|{_HOUR}|(?:[01]?\d|2[0-4])(?={_DASH}[01]?\d(?::[0-5]\d)?\s*[ap]\.?m)){_DASH}"
    rf"(?P<closes>{_CLOCK}|{_HOUR})"
)
SPAN = re.compile(rf"(?<![\d.])(?<!\d:)(?:{_TEXT_OF_SPAN})(?![\d:])", re.IGNORECASE)
OPEN_CLOSE = _LEXICON.pattern("open_close", re.IGNORECASE)
ONE_CLOCK = re.compile(rf"(?<![\d.])(?<!\d:)({_CLOCK})(?![\d:])", re.IGNORECASE)
_EARLIEST, _LATE, _SMALL_HOURS = 5, 11, 3
"""No opening in words is before the first; what opens from the second on may close at night, up to the third."""
_CLOCK_PARTS = _LEXICON.pattern("clock_parts", re.IGNORECASE)


def clock(text: str) -> str | None:
    """A time of day as ``HH:MM``; None where there is none.

    >>> clock("8:30"), clock("5 pm"), clock("晚上9点半"), clock("noonish")
    ('08:30', '17:00', '21:30', None)
    """
    match = _CLOCK_PARTS.search(text)
    if match is None:
        return None
    hour = int(match["hour"]) if match["hour"].isdecimal() else han_number(match["hour"]) or 0
    minute = 30 if match["half"] else int(match["minute"] or match["han"] or 0)
    afternoon = match["part"] in _AFTERNOON or (match["half_day"] or "").lower() == "p"
    if (afternoon and hour < 12) or (match["part"] in _NIGHT and hour == 12):
        hour += 12
    if (match["half_day"] or "").lower() == "a" and hour == 12:
        hour = 0
    return f"{hour:02d}:{minute:02d}" if hour <= 24 and minute < 60 else None


def hours(text: str) -> str | None:
    """Spans of hours as ``HH:MM-HH:MM``, several joined by a comma; None where there is none.

    >>> hours("8:00-17:30"), hours("9am to 5pm"), hours("9:00到22:00"), hours("9-11:30am, 1pm-5pm")
    ('08:00-17:30', '09:00-17:00', '09:00-22:00', '09:00-11:30, 13:00-17:00')
    """
    found = [lexical for match in SPAN.finditer(text) if (lexical := span(match))]
    return ", ".join(found) or None


def span(match: re.Match[str]) -> str | None:
    """The span that a match of `SPAN` or `OPEN_CLOSE` writes; None where it is none.

    It ends in the afternoon where the hour would else be before the opening, unless that is or may be one of a night:
    9:00-5:00, 九点到五点, but 22:00-6:00, 9:00-02:00 and 12:00-2:00.
    """
    opens, closes = clock(match["opens"]), clock(match["closes"])
    if not opens or not closes or opens == closes:
        return None
    hour = match["closes"].strip()[0]
    is_bare = hour in "123456789" or hour in _HAN_NUMERALS
    later = f"{int(closes[:2]) + 12}{closes[2:]}"
    is_later = is_bare and closes < opens < later <= "24" and not _may_be_night(float(opens[:2]), float(closes[:2]))
    return f"{opens}-{later if is_later else closes}"


def _may_be_night(opens: float, closes: float) -> bool:
    """Whether what opens about noon may close in the small hours as well as in the afternoon."""
    return opens >= _LATE and closes <= _SMALL_HOURS


def _said_spans(text: str, start: int, end: int) -> Iterator[FoundValue]:
    """Spans of hours in words or bare numbers, where something says that they are hours: *open from nine to five*.

    Only such as have one meaning: *six to ten* may be of the morning or of the evening.
    """
    for match in _SAID_SPAN.finditer(text, start, end):
        opens, closes = _said_clock(match["opens"]), _said_clock(match["closes"])
        behind = _WORD_BEHIND.match(text, match.end())
        is_told = match["cue"] is not None or any(" " in match[side] for side in ("opens", "closes"))
        is_counted = behind is not None and behind[1] not in FUNCTION_WORDS | _BEHIND_HOURS
        is_clear = not _may_be_night(opens, closes)
        closes += 12 * (closes < opens)
        if is_told and is_clear and not is_counted and _EARLIEST <= opens <= 12 <= closes > opens:
            lexical = "-".join(f"{int(hour):02d}:{hour % 1 * 60:02.0f}" for hour in (opens, closes))
            yield FoundValue("span", match.start("opens"), match.end(), lexical)


def _said_clock(text: str) -> float:
    """The hour that words write, half past nine being 9.5."""
    *before, word = text.casefold().split()
    hour = _SAID_HOURS.get(word) or _SAID_NUMBERS.get(word) or int(word)
    return hour + prod(_PARTS_OF_HOUR[said] for said in before) * bool(before)


# Values in text and cells. Lexical forms: XML Schema 1.1 Part 2, §3.3 (https://www.w3.org/TR/xmlschema11-2/).
# `values_in` and `literal_of` serve every way of extraction, so that a price is one price whoever read it.

_UNITS: Final = read("units")
CURRENCIES: Final[Mapping[str, str]] = _UNITS["currencies"]
"""The codes (ISO 4217) of the currencies that prices are read in, with the words and signs for each."""
_CURRENCY_OF: Final = {form: code for code, forms in CURRENCIES.items() for form in forms.split()}
_MEASURE_OF: Final = {
    form.replace("_", " ").lower(): (kind, float(factor))
    for kind, factors in _UNITS["measures"].items()
    for factor, forms in factors.items()
    for form in forms.split()
}
UNITS: Final[Mapping[str, tuple[str, float]]] = {
    **{form.replace(" ", "_"): size for form, size in _MEASURE_OF.items()},
    **{form.lower(): (code, 1.0) for code, forms in CURRENCIES.items() for form in (code, *forms.split())},
}
"""Each word for a unit in small letters (square_metres): the currency or kind, and how many of the first of that."""
SYMBOLS: Final = {
    (kind, float(factor)): forms.split()[0]
    for kind, factors in _UNITS["measures"].items()
    for factor, forms in factors.items()
}
"""How the units that `UNITS` gives are written: GWh."""

_SCALES: Final = {form: Decimal(factor) for factor, forms in _UNITS["scales"].items() for form in forms.split()}


def is_scale(word: str) -> bool:
    """Whether a word multiplies a unit: *million*."""
    return word.casefold() in _SCALES


_SCALED = re.compile(rf"\s?-?(?P<scale>{'|'.join(sorted(_SCALES, key=len, reverse=True))})(?![a-z])", re.IGNORECASE)
_COMPOUND = "|".join(form for form in sorted(_MEASURE_OF, key=len, reverse=True) if re.search("[ /]", form))
_UNIT_BEHIND = re.compile(
    rf"\s?-?(?:of\s)?(?P<unit>(?i:{_COMPOUND})(?![a-z])|{_LEXICON.text('unit')})",
)

_ISO_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_DATE = _LEXICON.pattern("date")
_YEAR = _LEXICON.pattern("year")
_CUED_YEAR = re.compile(r"(?<=\bin )(?P<year>\d{3})\b(?![.,:]\d|%)(?P<next>\s[a-z]+)?")
_MONEY = _LEXICON.pattern("money", re.IGNORECASE)
_QUANTITY = _LEXICON.pattern("quantity")
_SAID_NUMBERS: Final = {word: int(value) for word, (value,) in _LEXICON.table("said_numbers").items()}
_SAID_NUMBER = "|".join(sorted(_SAID_NUMBERS, key=len, reverse=True))
_SAID = re.compile(
    rf"\b(?P<said>(?:an? )?(?:{_SAID_NUMBER})(?:(?: and |[ -])(?:{_SAID_NUMBER}))*|half an?|an?)(?P<half> and a half)?"
    rf"[ -](?:(?P<unit>{_LEXICON.text('said_unit')})\b(?P<more> and a half\b)?|(?P<counted>(?-i:[a-z]{{3,}})))",
    re.IGNORECASE,
)
_SAID_HOURS: Final = {word: int(hour) for word, (hour,) in _LEXICON.table("said_hours").items()}
_PARTS_OF_HOUR: Final = {word: float(part) for word, (part,) in _LEXICON.table("parts_of_hour").items()}
_HOUR_WORDS = "|".join([*(word for word, number in _SAID_NUMBERS.items() if number <= 12), *_SAID_HOURS])
_SAID_CLOCK = rf"(?:{_LEXICON.text('part_of_hour')})?(?:{_HOUR_WORDS}|1[0-2]|[1-9])\b"
_SAID_SPAN = re.compile(
    rf"(?:(?P<cue>{_LEXICON.text('hours_cue')})\b[^.;!?\n]{{0,30}}?)?(?<![\w:.,-])(?P<opens>{_SAID_CLOCK})"
    rf"(?: (?:{_LEXICON.text('until')}) |\s?[-–]\s?)(?P<closes>{_SAID_CLOCK})(?![:.,]\d|%|-)",
    re.IGNORECASE,
)
_GOES_ON = re.compile(r"\s?[-–—~～]\s?\d")
_BEHIND_HOURS: Final = _LEXICON.words("behind_hours")
_WORD_BEHIND = re.compile(r"\s([a-z]+)")
_CODE_BEFORE = re.compile(r"\b(?P<code>[A-Z]{2,3}|[A-Z][a-z]\.?)\s?$")
_HALF_OF = _LEXICON.pattern("half_of")
_PER_ONE = _LEXICON.pattern("per_one")
_URL = re.compile(r"https?://[^\s<>\"，。）)]+[^\s<>\"，。）).,;]")
_HAN_NUMERALS: Final = frozenset(_LEXICON.text("numeral"))
_TRUE: Final = _LEXICON.words("true")
_FALSE: Final = _LEXICON.words("false")
_RANGES: Final = (XSD_INTEGER, XSD_DECIMAL, XSD_DOUBLE, XSD_BOOLEAN, XSD_DATE, XSD_DATETIME, XSD_GYEAR)
_INTEGERS: Final = frozenset(
    f"{XSD}{name}" for name in ("int", "long", "short", "nonNegativeInteger", "positiveInteger", "unsignedInt")
)


@dataclass(frozen=True, slots=True)
class FoundValue:
    """Something in a text that looks like a value.

    ``kind`` is ``money``, ``span`` (of hours), ``clock``, ``date``, ``year``, ``number`` or ``url``; ``lexical`` is
    its plain form; ``unit`` a currency code for money, else the word or sign after the number.
    """

    kind: str
    start: int
    end: int
    lexical: str
    unit: str = ""

    def written(self, text: str) -> str:
        """What the text has there; a number that is said in words, in digits."""
        if self.kind in ("number", "money") and text[self.start] in _HAN_NUMERALS:
            return f"{self.lexical} {self.unit}".rstrip()
        if self.kind == "number" and not text[self.start].isdigit():
            return f"{self.lexical} {self.unit}".rstrip()
        return text[self.start : self.end]


def said_number(words: Sequence[str]) -> float:
    """The number that English words write, in small letters; *a* is one and *half* what it says.

    >>> [said_number(words.split()) for words in ("half an", "a hundred and twenty", "two thousand five hundred")]
    [0.5, 120, 2500]
    """
    if words[0] == "half":
        return 0.5
    total, part = 0, 0
    for word in words:
        value = _SAID_NUMBERS.get(word, int(word in ("a", "an")))
        if value >= 1000:
            total, part = total + (part or 1) * value, 0
        else:
            part = (part or 1) * value if value == 100 else part + value
    return total + part


def values_in(text: str, start: int = 0, end: int | None = None) -> list[FoundValue]:
    """The values in ``text[start:end]``, in order, none inside another."""
    found: list[FoundValue] = []
    for value in _candidates(text, start, len(text) if end is None else end):
        place = bisect_left(found, value.start, key=lambda other: other.start)
        if all(other.end <= value.start or value.end <= other.start for other in found[max(0, place - 1) : place + 1]):
            found.insert(place, value)
    return found


def _candidates(text: str, start: int, end: int) -> Iterator[FoundValue]:
    for match in _URL.finditer(text, start, end):
        yield FoundValue("url", *match.span(), match.group())
    yield from _spans(text, start, end)
    for match in _DATE.finditer(text, start, end):
        if day := iso_date(match.group()):
            yield FoundValue("date", *match.span(), day)
    for match in _MONEY.finditer(text, start, end):
        sign = (match["before"] or match["after"]).strip().lower()
        amount = (match["one"] or match["two"]).replace(",", "")
        amount = amount if amount[0].isdigit() else str(han_number(amount) or "")
        if amount:
            amount, stop = _scaled(amount, text, match.end())
            yield FoundValue("money", match.start(), stop, amount, _CURRENCY_OF[sign])
    for match in ONE_CLOCK.finditer(text, start, end):
        if moment := clock(match.group()):
            yield FoundValue("clock", *match.span(), moment)
    for match in _YEAR.finditer(text, start, end):
        if match["zh"] or _unit_at(text, match.end())[0] not in _MEASURE_OF:
            yield FoundValue("year", *match.span(), (match["zh"] or match["en"]).zfill(4))
    yield from _said_amounts(text, start, end)
    yield from _quantities(text, start, end)


def _spans(text: str, start: int, end: int) -> Iterator[FoundValue]:
    for pattern in (SPAN, OPEN_CLOSE):
        for match in pattern.finditer(text, start, end):
            if lexical := span(match):
                yield FoundValue("span", *match.span(), lexical)
    yield from _said_spans(text, start, end)


def _said_amounts(text: str, start: int, end: int) -> Iterator[FoundValue]:
    for match in _SAID.finditer(text, start, end):
        words, counted = re.findall(r"[a-z]+", match["said"].casefold()), match["counted"]
        if counted is None or (words[-1] in _SAID_NUMBERS and words != ["one"] and counted not in FUNCTION_WORDS):
            said = said_number(words) + 0.5 * bool(match["half"] or match["more"])
            end_ = match.end() if counted is None else match.end("said")
            yield FoundValue("number", match.start(), end_, f"{said:g}", match["unit"] or counted)
    for match in _HALF_OF.finditer(text, start, end):
        yield FoundValue("number", *match.span(), "0.5", match["half_unit"])


def _quantities(text: str, start: int, end: int) -> Iterator[FoundValue]:
    for match in _CUED_YEAR.finditer(text, start, end):
        if (match["next"] or "").strip() not in _MEASURE_OF:
            yield FoundValue("year", *match.span("year"), match["year"].zfill(4))
    for match in _QUANTITY.finditer(text, start, end):
        number = match["number"].replace(",", "")
        if not number[0].isdigit():
            counted = han_number(number)
            if counted is None:
                continue
            number = str(counted)
        unit = match["unit"] or ""
        if unit.startswith("个半"):
            number, unit = f"{float(number) + 0.5:g}", unit.removeprefix("个半")
        number, scaled = _scaled(number, text, match.end("number"))
        stop = match.end()
        if scaled > match.end("number") or text[stop : stop + 1] in ("/", " "):  # million people, square metres
            unit, stop = _unit_at(text, scaled)
        begin, known = match.start(), unit.lower() in _MEASURE_OF or _currency(unit) is not None
        if not known and (before := _CODE_BEFORE.search(text, max(start, begin - 5), begin)):
            unit = before["code"]  # CHF 45, Rs 500; the number of CS 482 is no amount either
            begin = before.start() if _currency(unit) else begin
        currency = _currency(unit)
        yield FoundValue("money" if currency else "number", begin, stop if known else scaled, number, currency or unit)


def _currency(unit: str) -> str | None:
    """The code of the currency that is written so."""
    return unit if unit in CURRENCIES else _CURRENCY_OF.get(unit)


def _scaled(number: str, text: str, position: int) -> tuple[str, int]:
    """The number times the million or 万 that stands at the position, and where that ends."""
    match = _SCALED.match(text, position)
    if match is None:
        return number, position
    product = Decimal(number) * _SCALES[match["scale"].lower()]
    return f"{product.normalize():f}", match.end()


def _unit_at(text: str, position: int) -> tuple[str, int]:
    """The word or sign of a unit that stands at the position, and where it ends."""
    match = _UNIT_BEHIND.match(text, position)
    return (match["unit"].lower(), match.end()) if match is not None else ("", position)


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


def is_bare(value: FoundValue) -> bool:
    """Whether it is a number of which nothing says what it counts: *for 45 a head*."""
    return value.kind == "number" and (
        not value.unit or value.unit.casefold() in FUNCTION_WORDS or _PER_ONE.match(value.unit) is not None
    )


def is_currency(unit: str | None) -> bool:
    """Whether the unit of a property is a currency."""
    return unit is not None and (unit in CURRENCIES or unit.lower() in _CURRENCY_OF)


def is_length(unit: str | None) -> bool:
    """Whether the unit of a property is one of length."""
    return unit is not None and _MEASURE_OF.get(unit.lower(), ("", 1))[0] == "m"


def accepts(term: OntologyProperty, value: FoundValue) -> bool:
    """Whether a found value can be a value of the datatype property at all, by kind, unit, range and pattern."""
    range_ = datatype_of(term)
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


def _accepts_number(term: OntologyProperty, value: FoundValue, range_: NamedNode) -> bool:
    if range_ not in (XSD_INTEGER, XSD_DECIMAL, XSD_DOUBLE) or is_currency(term.unit):
        return False
    if range_ == XSD_INTEGER and "." in value.lexical and not value.lexical.endswith(".0"):
        return False
    measured = _MEASURE_OF.get(value.unit.lower(), ("people", 1))[0] != "people"
    if term.unit:
        return converted(value.lexical, value.unit, term.unit) is not None if value.unit else False
    return not measured or value.unit in ("分",) or _is_named(value.unit, term)


def _is_named(unit: str, term: OntologyProperty) -> bool:
    """Whether a label of the property says the unit: ageing in months, 学分."""
    labels = [word.text.casefold() for word in term.words]
    if has_han(unit):
        return any(unit in label for label in labels)
    return any(singular(unit.casefold()) in map(singular, re.findall(r"\w+", label)) for label in labels)


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    try:
        return re.compile(pattern)
    except re.error:
        return None


def _full(pattern: str, text: str) -> bool:
    compiled = _compiled(pattern)
    return compiled is None or compiled.fullmatch(text) is not None


def datatype_of(term: OntologyProperty) -> NamedNode:
    """What the property's values are read as: a number, a day, a moment, a year, truth, else a string."""
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
    range_ = datatype_of(term)
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
    if not found and term.unit and is_currency(term.unit) and _FREE.search(f"it: {text}"):
        return "0"
    if not found:
        raise ValueError(f"{text!r} is not a number")
    value = found[0]
    if len(found) > 1 or _GOES_ON.match(text, value.end):  # 1046-8188 is no 1046, and 45-60 no 45
        raise ValueError(f"{text!r} holds several numbers")
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
