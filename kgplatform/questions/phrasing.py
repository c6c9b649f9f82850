"""An answer in the words of a model, which may say nothing that rows and passages do not hold.

The guard looks at names and numbers: capitalised names, quoted ones, every name of the graph that stands in the text,
digits and number words. One that is in neither the rows, the passages nor the question, and the wording is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from kgplatform import prompts
from kgplatform.errors import ModelError
from kgplatform.protocols import ChatModel
from kgplatform.questions.names import NameIndex
from kgplatform.questions.synthesis import unsupported
from kgplatform.text import normalise
from kgplatform.types import Evidence, Usage

_LONGEST = 2_000
_QUOTE = 300
_FEW = 5
_POLARITY = {"yes": True, "是": True, "no": False, "否": False}
_DENIED = re.compile(r"\b(?:no|not|none|never)\b|n['’]t\b|不|没|否|无|未", re.IGNORECASE)
_NUMBER_WORDS: Mapping[str, int] = {
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
}
_HAN_NUMBERS = dict(zip("二两三四五六七八九十", (2, 2, 3, 4, 5, 6, 7, 8, 9, 10), strict=True))
_WORD_NUMBER = re.compile(rf"\b({'|'.join(_NUMBER_WORDS)})\b", re.IGNORECASE)
_HAN_NUMBER = re.compile(
    r"(?<![一二两三四五六七八九十百千万第])([二两三四五六七八九十])(?=[个家条座位名部本项种处间门])"
)


@dataclass(frozen=True, slots=True)
class Phrased:
    """The answer as it is given; ``note`` says why the model's wording was not taken, then it is the plain one."""

    text: str
    usage: Usage
    note: str = ""


def phrased(
    question: str,
    plain: str,
    *,
    values: Sequence[str],
    rows: int,
    evidence: Iterable[Evidence],
    names: NameIndex,
    model: ChatModel,
    language: str,
) -> Phrased:
    """The answer in the model's words, unless it cannot be reached or says more than it was given."""
    quotes = [item.quote for item in evidence]
    messages, _ = prompts.render_messages(
        "phrase-answer",
        question=question,
        language=language,
        result=plain,
        passages=[" ".join(quote.split())[:_QUOTE] for quote in quotes[:3]],
    )
    try:
        completion = model.complete(messages)
    except ModelError as error:
        return Phrased(plain, Usage(), f"worded without the model: {error}")
    text = completion.text.strip()[:_LONGEST]
    made_up = invented(text, [plain, question, str(rows), *quotes, *values], names)
    missing = () if made_up else omitted(text, values)
    if made_up or missing or not text:
        wrong = f"said {', '.join(made_up[:3])}" if made_up else f"left out {', '.join(missing[:3]) or 'everything'}"
        return Phrased(plain, completion.usage, f"the model's wording was dropped: it {wrong}")
    return Phrased(text, completion.usage)


def omitted(text: str, values: Sequence[str]) -> tuple[str, ...]:
    """The answer values that a wording leaves out: of a few none may be missing, of many some have to be there.

    A yes has to stay a yes, and a no a no.
    """
    if len(values) == 1 and (polarity := _POLARITY.get(values[0].casefold())) is not None:
        return () if bool(_DENIED.search(text)) is not polarity else tuple(values)
    plain = normalise(text)
    bare = text.replace(",", "").replace("，", "")
    missing = tuple(value for value in values if normalise(value) not in plain and value not in bare)
    if len(values) <= _FEW:
        return missing
    return () if len(missing) < len(values) else missing


def invented(text: str, allowed: Sequence[str], names: NameIndex) -> tuple[str, ...]:
    """The names and numbers of a text that stand nowhere in the allowed texts, those of the graph among them."""
    source = " ".join(allowed)
    plain = normalise(source)
    numbers = set(re.findall(r"\d+(?:\.\d+)?", source.replace(",", "")))
    said = [
        *((word, _NUMBER_WORDS[word.casefold()]) for word in _WORD_NUMBER.findall(text)),
        *((word, _HAN_NUMBERS[word]) for word in _HAN_NUMBER.findall(text)),
    ]
    counted = [word for word, number in said if str(number) not in numbers and normalise(word) not in plain]
    known = [
        item.text
        for item in names.link(text)
        if item.kind == "entity" and _is_name(item.text) and normalise(item.text) not in plain
    ]
    return tuple(dict.fromkeys((*unsupported(text, allowed), *counted, *known)))


def _is_name(text: str) -> bool:
    """Whether a word that a thing is called by is used as a name: capitalised, or in Chinese of two characters."""
    return text != text.casefold() if text.isascii() else len(text) > 1
