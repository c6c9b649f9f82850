"""Sentences from rows, in the question's language: nothing is said that the rows do not hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from pyoxigraph import BlankNode, Literal

from kgplatform.text import normalise, singular
from kgplatform.types import Solutions, Term

_SHOWN = 12
_LEFT = 6
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NAME_EN = re.compile(r"\b[A-ZÀ-Þ][\w'’.-]*(?:\s+(?:of|the|de|and)?\s*[A-ZÀ-Þ][\w'’.-]*)*")
_JOINING = re.compile(r"\s+(?:of|the|de|and)\s+(?:the\s+)?")
_QUOTED = re.compile(r"[「『“\"《]([^」』”\"》]{1,60})[」』”\"》]")
_COUNTABLE = re.compile(r"credit|point|star|hour|minute|second|day|week|month|year|night|seat|page")
_FRACTION = re.compile(r"-?\d+\.\d{3,}")
_PADDED = re.compile(r"^(-?)0+(?=\d)")
_DAY = re.compile(r"(-?\d{4,})-(\d\d)-(\d\d)(?:T(\d\d:\d\d)(:\d\d)?(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)?")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_UNITS_ZH = {
    "CNY": "元", "EUR": "欧元", "USD": "美元", "GBP": "英镑", "JPY": "日元", "min": "分钟", "h": "小时", "s": "秒",
    "day": "天", "m": "米", "km": "公里", "km²": "平方公里", "kg": "公斤", "people": "人", "room": "间", "star": "星",
    "degree": "度",
}  # fmt: skip

_WORDS = {
    "en": {
        "yes": "Yes.",
        "no": "No.",
        "many": "{count} found, among them {shown}.",
        "nothing": "The graph does not say.",
        "unlinked": "I could not link {words} to anything in the graph.",
        "nearest": " Closest names: {names}.",
        "left": "I could not link {words} to anything in the graph, so the question stays open.",
        "left_out": "(Not understood and left out: {words}.)",
        "which": "“{words}” is only part of what the graph knows. Which one do you mean?",
        "why": "The graph says what is so, not why: nothing in it is called a reason or a cause.",
        "zero": "0",
        "and": ", ",
        "cell": " · ",
    },
    "zh": {
        "yes": "是。",
        "no": "否。",
        "many": "共 {count} 个，其中有：{shown}。",
        "nothing": "图谱中没有相关信息。",
        "unlinked": "图谱中找不到与“{words}”对应的内容。",
        "nearest": "最接近的名称：{names}。",
        "left": "图谱中找不到与“{words}”对应的内容，因此无法回答。",
        "left_out": "（未理解、未计入：{words}。）",
        "which": "“{words}”只是图谱中某些名称的一部分，您指的是哪一个？",
        "why": "图谱只说明是什么，没有说明为什么：其中没有称为原因的内容。",
        "zero": "0",
        "and": "、",
        "cell": " · ",
    },
}


def phrases(language: str) -> Mapping[str, str]:
    """The built-in wording in a language, English where it has none."""
    return _WORDS.get(language, _WORDS["en"])


def value_of(term: Term, label: Callable[[Term], str]) -> str:
    """A term as an answer value: a label, or a literal as it is written."""
    return term.value if isinstance(term, Literal) else label(term)


def values_of(solutions: Solutions, label: Callable[[Term], str], language: str) -> tuple[str, ...]:
    """The flat list of answer values, each once, in the order of the rows; columns after each other."""
    if solutions.boolean is not None:
        said = phrases(language)["yes" if solutions.boolean else "no"]
        return (said.rstrip("。."),)
    found = [
        value_of(term, label)
        for row in solutions.rows
        for term in row
        if term is not None and not isinstance(term, BlankNode)
    ]
    return tuple(dict.fromkeys(found))


def said(
    solutions: Solutions,
    label: Callable[[Term], str],
    language: str,
    *,
    unit: str = "",
    total: int | None = None,
    left: Sequence[str] = (),
) -> str:
    """The rows as a sentence: all of a short list, the number and the first ones of a long one.

    ``left`` are words of the question that the rows do not answer to: they are named after it.
    """
    told = [word for word in dict.fromkeys(left) if len(word) > 1]
    rows = _said(solutions, label, language, unit, total)
    if not told:
        return rows
    words = phrases(language)
    note = words["left_out"].format(words=words["and"].join(told[:_LEFT]))
    return f"{rows}{note}" if language == "zh" else f"{rows} {note}"


def _said(solutions: Solutions, label: Callable[[Term], str], language: str, unit: str, total: int | None) -> str:
    words = phrases(language)
    if solutions.boolean is not None:
        return words["yes" if solutions.boolean else "no"]
    rows = [[written(value_of(t, label), t, unit, language) for t in row if t is not None] for row in solutions.rows]
    lines = list(dict.fromkeys(words["cell"].join(row) for row in rows if row))
    if not lines:
        return words["nothing"]
    if len(lines) <= _SHOWN:
        text = words["and"].join(lines)
        return text + ("。" if language == "zh" else ".") if not text.endswith((".", "。")) else text
    count = f"{total or len(lines)}{'+' if solutions.truncated else ''}"
    return words["many"].format(count=count, shown=words["and"].join(lines[:_SHOWN]))


def written(value: str, term: Term, unit: str, language: str) -> str:
    """A value as people write it: numbers short and with their unit, days in words."""
    if isinstance(term, Literal) and term.datatype.value.endswith(("#dateTime", "#date")):
        return _day(value, language)
    if isinstance(term, Literal) and term.datatype.value.endswith("#gYear"):
        return _PADDED.sub(r"\1", value)
    if not isinstance(term, Literal) or not term.datatype.value.endswith(("#integer", "#decimal", "#double", "#float")):
        return value
    number = f"{float(value):.2f}".rstrip("0").rstrip(".") if _FRACTION.fullmatch(value) else value
    if language == "zh":
        return f"{number}{_UNITS_ZH[unit]}" if unit in _UNITS_ZH else f"{number} {unit}".strip()
    if language == "en" and _COUNTABLE.fullmatch(unit) and number not in ("1", "-1") and singular(unit) == unit:
        unit = f"{unit}s"
    return f"{number} {unit}".strip()


def _day(value: str, language: str) -> str:
    """A date or moment as people write it: 15 Mar 2025 12:00, 2025年3月15日 12:00; as it is if it is none."""
    match = _DAY.fullmatch(value)
    if match is None or not 1 <= int(match[2]) <= len(_MONTHS):
        return value
    year, month, day = match[1], int(match[2]), int(match[3])
    date = f"{year}年{month}月{day}日" if language == "zh" else f"{day} {_MONTHS[month - 1]} {year}"
    seconds = match[5] if match[5] not in (None, ":00") else ""
    zone = {"Z": " UTC"}.get(match[6] or "", f" {match[6]}" if match[6] else "")
    return f"{date} {match[4]}{seconds}{zone}" if match[4] else date


def unsupported(text: str, allowed: Iterable[str]) -> tuple[str, ...]:
    """The names and numbers in a text that occur nowhere in the allowed texts: what a model made up."""
    source = " ".join(allowed)
    plain = normalise(source)
    numbers = {_digits(match) for match in _NUMBER.findall(source)}
    found = [number for number in _NUMBER.findall(text) if _digits(number) not in numbers]
    for match in _NAME_EN.finditer(text):
        name = match.group().rstrip(".'’-")
        opening = match.start() == 0 or text[: match.start()].rstrip().endswith((".", "!", "?", ":", "\n", "-", "*"))
        if normalise(name) in plain or (opening and " " not in name):
            continue
        found += [part for part in _JOINING.split(name) if normalise(part) not in plain]
    found += [name for name in _QUOTED.findall(text) if normalise(name) not in plain]
    return tuple(dict.fromkeys(found))


def _digits(number: str) -> str:
    plain = number.replace(",", "")
    return plain.rstrip("0").rstrip(".") if "." in plain else plain
