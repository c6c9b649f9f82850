"""How the languages write amounts: numbers, units, plurals, measure words, days and moments."""

from __future__ import annotations

import re
import tomllib
from typing import Any, Final

from kgplatform import lexicon


def _file(name: str) -> dict[str, Any]:
    return tomllib.loads((lexicon.LEXICONS.parent / "words" / f"{name}.toml").read_text(encoding="utf-8"))


_CHINESE: Final = _file("counting_zh")
_IRREGULAR: Final[dict[str, str]] = _file("counting_en")["irregular"]
_AFTER_HEAD = re.compile(f" ({'|'.join(_file('counting_en')['questions']['prepositions'])}) ")
_KINDS = lexicon.read(name="units")["measures"]
MEASURED: Final = frozenset(w for kind in ("s", "m", "m²", "g") for v in _KINDS[kind].values() for w in v.split())
"""Units of time, length, area and mass: a thing has six credits, but not six minutes."""
_CURRENCIES = lexicon.read(name="units")["currencies"]
_SYMBOLS: Final = {
    **{form: code for code, forms in _CURRENCIES.items() for form in (code, *forms.split())},
    **{form: forms.split()[0] for kind in _KINDS.values() for forms in kind.values() for form in forms.split()},
}
_WITH_UNIT = re.compile(r"(?P<label>.*\S)(?:\s+|(?=[(（]\W*[\u3400-\u9fff]))[(（](?P<unit>[^()（）]+)[)）]")
_MONTHS = lexicon.words("amounts.months")
_MONTH = re.compile(rf"\b({'|'.join(_MONTHS)})\b", re.IGNORECASE)
_DAY_ZH = lexicon.expression("amounts.day_zh")
_YEAR_ZH = lexicon.expression("amounts.year_zh")
_DAY = re.compile(r"(-?\d{4,})-(\d\d)-(\d\d)(?:T(\d\d:\d\d)(:\d\d)?(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)?")
_PADDED = re.compile(r"^(-?)0+(?=\d)")
_DIGITS: Final = lexicon.numbers("amounts.digits")
_SCALES: Final = lexicon.numbers("amounts.scales")
_MYRIADS: Final = lexicon.numbers("amounts.myriads")
_DECIMALS = 6
"""What has more was computed: a stated number is written as it is."""


def han_number(text: str) -> int | None:
    """The number that Chinese characters write; None if they write none.

    A last digit is of the scale below the one before it, unless 零 stands between.

    >>> [han_number(text) for text in ("一千万", "三万五", "一千零五", "十二", "两亿三千万", "二〇一八", "万")]
    [10000000, 35000, 1005, 12, 230000000, 2018, None]
    """
    if not lexicon.pattern("amounts.written").fullmatch(text) or text[0] in _MYRIADS or text[0] in "百千":
        return None
    if not lexicon.pattern("amounts.measured").search(text):
        return int("".join(str(_DIGITS[c]) for c in text))
    total, part, digit, scale = 0, 0, 0, 1
    for place, character in enumerate(text):
        if character in _DIGITS:
            bare = place == len(text) - 1 and place and text[place - 1] not in "零〇"
            digit = _DIGITS[character] * (scale // 10 if bare and scale >= 100 else 1)
        elif character in _SCALES:
            scale = _SCALES[character]
            part += (digit or 1) * scale
            digit = 0
        else:
            scale = _MYRIADS[character]
            total = (total + part + digit) * scale if scale > total else total + (part + digit) * scale
            part = digit = 0
    return total + part + digit


def measure(noun: str) -> str:
    """The measure word of a Chinese noun.

    >>> measure("石桥"), measure("酒店"), measure("街道"), measure("事物")
    ('座', '家', '条', '个')
    """
    return max(
        ((end, word) for end, word in _CHINESE["measures"].items() if noun.endswith(end)),
        default=("", "个"),
        key=lambda pair: len(pair[0]),
    )[1]


def unit(symbol: str, language: str, *, several: bool = True) -> str:
    """A unit as it stands after a number.

    >>> unit("room", "en"), unit("min", "en"), unit("room", "zh"), unit("room", "en", several=False)
    ('rooms', 'min', '间', 'room')
    """
    if language == "zh":
        return str(_CHINESE["units"].get(symbol, symbol))
    is_word = symbol.islower() and symbol.isascii() and (len(symbol) > 3 or symbol in _IRREGULAR)
    return plural(symbol) if several and is_word and not symbol.endswith("s") else symbol


def label_with_unit(label: str) -> tuple[str, str]:
    """A label without the unit that stands in brackets behind it, and the symbol of that; empty if there is none.

    >>> label_with_unit("main span (m)"), label_with_unit("全长（米）"), label_with_unit("author(s)")
    (('main span', 'm'), ('全长', 'm'), ('author(s)', ''))
    """
    found = _WITH_UNIT.fullmatch(label.strip())
    symbol = (
        next((_SYMBOLS[unit] for unit in (found["unit"], found["unit"].lower()) if unit in _SYMBOLS), "")
        if found
        else ""
    )
    return (found["label"], symbol) if found and symbol else (label, "")


def brief(value: float, unit: str = "") -> str:
    """A number to six digits, its thousands apart where it is an amount: it has a unit, or more digits than a year.

    >>> brief(6000, "CNY"), brief(1998), brief(25000), brief(0.5)
    ('6,000', '1998', '25,000', '0.5')
    """
    apart = "," if unit or abs(value) >= 10_000 else ""
    return f"{value:{apart}.0f}" if float(value).is_integer() else f"{value:{apart}.6g}"


def plural(noun: str) -> str:
    """The plural of an English noun, of its head where words follow that.

    >>> plural("dish"), plural("city"), plural("hotel"), plural("person"), plural("place to eat")
    ('dishes', 'cities', 'hotels', 'people', 'places to eat')
    """
    if after := _AFTER_HEAD.search(noun):
        return plural(noun[: after.start()]) + noun[after.start() :]
    for whole, several in _IRREGULAR.items():
        if noun.endswith(whole):
            return noun.removesuffix(whole) + several
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def amount(text: str, symbol: str, language: str) -> str:
    """A number with its unit: its thousands apart where it is an amount, of what was computed two decimals.

    >>> amount("1900", "CNY", "en"), amount("1900.0", "CNY", "zh"), amount("1829.166666666", "", "en")
    ('1,900 CNY', '1,900元', '1829.17')
    """
    value, (whole, _, rest) = float(text), text.partition(".")
    if "e" in text.casefold() or not whole.lstrip("+-").isdigit():
        shown = brief(value, symbol)
    else:
        places = 2 if len(rest.rstrip("0")) > _DECIMALS else len(rest.rstrip("0"))
        apart = "," if symbol or abs(value) >= 10_000 else ""
        shown = f"{value:{apart}.{places}f}"
    shown = shown.rstrip("0").rstrip(".") if "." in shown else shown
    after = unit(symbol, language, several=shown not in ("1", "-1"))
    return f"{shown}{after}" if language == "zh" and not after.isascii() else f"{shown} {after}".strip()


def day(value: str, language: str) -> str:
    """A date or moment as people write it: 15 March 2025, 12:00; as it is if it is none.

    >>> day("2025-03-15T12:00:00Z", "en"), day("2025-03-15", "zh")
    ('15 March 2025, 12:00 UTC', '2025年3月15日')
    """
    match = _DAY.fullmatch(value)
    if match is None or not 1 <= int(match[2]) <= len(_MONTHS):
        return value
    month, of_month = int(match[2]), int(match[3])
    seconds = match[5] if match[5] not in (None, ":00") else ""
    zone = {"Z": " UTC"}.get(match[6] or "", f" {match[6]}" if match[6] else "")
    if language == "zh":
        date, gap = _DAY_ZH.format(year=match[1], month=month, day=of_month), " "
    else:
        date, gap = f"{of_month} {_MONTHS[month - 1]} {match[1]}", ", "
    return f"{date}{gap}{match[4]}{seconds}{zone}" if match[4] else date


def with_short_months(text: str) -> str:
    """The text with Mar for March."""
    return _MONTH.sub(lambda match: match[0][:3], text)


def year(value: str, language: str) -> str:
    """A year without the noughts before it.

    >>> year("0977", "en"), year("1998", "zh")
    ('977', '1998年')
    """
    plain = _PADDED.sub(r"\1", value)
    return _YEAR_ZH.format(year=plain) if language == "zh" and plain.isdigit() else plain
