"""An answer taken from passages word for word: the sentence that answers most likely, with its place.

Which sentence that is, and how likely it answers, is learnt: see ``weights.json`` and `MEASURES`. What a question and
a sentence mean tells a model of many languages, so that each may be in another (`AnsweringModel`).
"""

from __future__ import annotations

import json
import math
import re
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from kgplatform import lexicon
from kgplatform.errors import ModelUnavailableError
from kgplatform.extraction.values import UNITS, is_currency, values_in
from kgplatform.models.embed import unit_length
from kgplatform.models.multilingual import MultilingualE5
from kgplatform.questions.parser.vocabulary import FUNCTION_WORDS
from kgplatform.retrieval.index import analyzer, content_words, latin, pairs, question_stems
from kgplatform.text import has_han, normalise, sentences
from kgplatform.types import Evidence, Usage

Floats: TypeAlias = NDArray[np.float32]

# What is said of a question in passages: the types that both ways of answering from passages share.

LEVELS: Final = {"high": 0.75, "medium": 0.4, "low": 0.0}
"""The least confidence of each level."""
QUOTED: Final = 0.5
"""The least confidence of a sentence that is quoted as the closest where nothing answers for sure."""


@dataclass(frozen=True, slots=True)
class PassageAnswer:
    """An answer from passages: sentences that end in ``[n]``, the n-th of ``evidence``; the values alone.

    No ``text``: the passages do not tell. ``by`` is the model that wrote it, or ``built-in``.
    """

    text: str = ""
    values: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    confidence: float = 0.0
    by: str = "built-in"
    notes: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)

    def is_enough(self, least: str) -> bool:
        """Whether there is an answer of at least that level of confidence."""
        return bool(self.text) and self.confidence >= LEVELS[least]


def terms_of(text: str) -> frozenset[str]:
    """The stems of a text's English words and the pairs of its Chinese characters."""
    return frozenset((*analyzer().analyze(latin(text)), *pairs(text)))


def cited_text(sentences: Sequence[tuple[str, Sequence[int]]]) -> str:
    """Sentences with the numbers of their passages behind each."""
    return " ".join(f"{text.strip()} {''.join(f'[{number}]' for number in numbers)}" for text, numbers in sentences)


# What kind of answer a question wants from a text, and the stretches of a sentence that are of that kind.


class Sought(StrEnum):
    """The kind of answer."""

    PERSON = "person"
    TIME = "time"
    PLACE = "place"
    NUMBER = "number"
    REASON = "reason"
    WAY = "way"
    TRUTH = "truth"
    NAME = "name"


_ENGLISH: Final = (
    (Sought.REASON, r"\bwhy\b|\bwhat (?:is|was) the reason\b"),
    (Sought.NUMBER, r"\bhow (?:many|much|old|tall|long|far|high|large|big|deep|wide|often|fast|heavy)\b"),
    (Sought.TIME, r"\bwhen\b|\b(?:what|which|in what|in which) (?:year|date|day|month|century|decade|time)s?\b"),
    (Sought.PERSON, r"\bwho(?:m|se)?\b(?! (?:is|was|are|were) (?:an?|the) \w+\?)"),
    (Sought.PLACE, r"\bwhere\b|\b(?:what|which) (?:city|country|town|state|county|province|village|continent|place)\b"),
    (
        Sought.NUMBER,
        r"\bwhat(?:['’]?s| (?:is|was|are|were)) the (?:[\w'-]+ ){0,3}?(?:population|number|prices?|height|length|area"
        r"|size|age|costs?|total|fees?|fares?|rent|rates?|speed|weight|depth|width|distance|limit|fine|allowance|capacity)\b"
        r"|\bwhat\b.*\b(?:costs?|charged?|paid|pay|weighs?)\b",
    ),
    (Sought.WAY, r"\bhow\b"),
    (Sought.NAME, r"\bwhat\b|\bwhich\b"),
    (Sought.TRUTH, r"^\W*(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should)\b"),
)
_CHINESE: Final = (
    (Sought.REASON, "为什么|为何|何以|原因"),
    (
        Sought.TIME,
        "什么时候|什么时间|何时|哪[一]?年|哪天|几点|几月|几号|星期几|周几|礼拜几|哪几天|哪个(?:朝代|世纪|年代)",
    ),
    (Sought.NUMBER, "多少|几[个家座位名人条间年岁次所]|多[高大长久远深宽重]|几"),
    (Sought.PERSON, "谁|何人|哪位"),
    (Sought.PLACE, "哪里|哪儿|何处|什么地方|哪个(?:城市|国家|省|县|市|镇)|在哪"),
    (Sought.WAY, "怎么|怎样|如何"),
    (Sought.TRUTH, "吗|是否|是不是|有没有|能不能|可不可以"),
    (Sought.NAME, "什么|哪"),
)
_MONTH = lexicon.expression("extractive.month")
_OF_OTHER = lexicon.expression("extractive.of_other")
_WORD_NUMBER: Final = lexicon.expression("extractive.word_number")
_TIME = lexicon.pattern("extractive.time", month=_MONTH, of_other=_OF_OTHER, word_number=_WORD_NUMBER)
_UNIT: Final = lexicon.expression("extractive.unit")
_HAN_UNIT: Final = lexicon.expression("extractive.han_unit")
_NUMBER = lexicon.pattern("extractive.number", unit=_UNIT, han_unit=_HAN_UNIT, word_number=_WORD_NUMBER)


def _by_kind(said: Mapping[str, Mapping[str, str]]) -> dict[str, re.Pattern[str]]:
    """The expression for each kind of values, in any language."""
    kinds = next(iter(said.values()))
    texts = {kind: "|".join(dict.fromkeys(of[kind] for of in said.values())) for kind in kinds}
    parts = {"{{month}}": _MONTH, "{{word_number}}": _WORD_NUMBER}
    for part, value in parts.items():
        texts = {kind: text.replace(part, value) for kind, text in texts.items()}
    return {kind: re.compile(text, re.IGNORECASE) for kind, text in texts.items()}


_ASKED: Final = _by_kind(lexicon.phrases("values_asked"))
_TOLD: Final = _by_kind(lexicon.phrases("values_told"))
_OF_UNITS: Final = frozenset(("money", "duration", "length", "area", "weight", "year"))
_MEASURES_OF: Final = {"s": "duration", "m": "length", "m²": "area", "g": "weight"}
_ALSO: Final = {"span": ("clock", "duration"), "clock": ("date",), "year": ("date",), "date": ("year",)}
"""Which other kinds a value of a kind is."""
_SPANS_WORD = r"[A-ZÀ-Þ][\w'’&-]*"
_NAME = lexicon.pattern("extractive.name", 0, spans_word=_SPANS_WORD)
_QUOTED = re.compile(r"[“\"「『《]([^”\"」』》]{1,60})[”\"」』》]")
_OPENERS: Final = lexicon.word_set("extractive.openers")
ASKING_WORDS: Final = lexicon.word_set("extractive.asking_words")


def sought(question: str) -> Sought:
    """The kind of answer that a question wants."""
    rules = _CHINESE if has_han(question) else _ENGLISH
    for kind, pattern in rules:
        if re.search(pattern, question, re.IGNORECASE):
            return kind
    return Sought.NAME


def spans(kind: Sought, sentence: str, question: str) -> list[tuple[int, int]]:
    """The places in a sentence that may be the answer, in order; never words of the question itself."""
    plain = f" {normalise(question)} "
    found = []
    for start, end in _of_kind(kind, sentence, question):
        text = normalise(sentence[start:end])
        if text and (f" {text} " not in plain if not has_han(text) else text not in plain):
            found.append((start, end))
    return sorted(dict.fromkeys(found))


def fits(kind: Sought, sentence: str, question: str) -> bool:
    """Whether a sentence holds something of the kind."""
    if kind is Sought.REASON:
        return lexicon.pattern("extractive.reason").search(sentence) is not None
    if kind is Sought.WAY:
        return lexicon.pattern("extractive.way").search(sentence) is not None
    return kind is Sought.TRUTH or bool(spans(kind, sentence, question))


def names_in(text: str) -> list[str]:
    """What is written like a name: capitalised inside a sentence, in quotes, or with digits."""
    found = [match[1] for match in _QUOTED.finditer(text)]
    for match in _NAME.finditer(text):
        words = match.group().split()
        while words and words[0].casefold() in _OPENERS | ASKING_WORDS:
            words = words[1:]
        opening = not text[: match.start()].strip() and len(match.group().split()) == 1
        if words and not opening:
            found.append(" ".join(words))
    found += re.findall(r"(?<![A-Za-z0-9])\d[\w.,-]*\b", text)
    return [name for name in dict.fromkeys(found) if name]


def _of_kind(kind: Sought, sentence: str, question: str) -> Iterator[tuple[int, int]]:
    if kind is Sought.TIME:
        yield from (match.span() for match in _TIME.finditer(sentence))
    elif kind is Sought.NUMBER:
        yield from _numbers(sentence, question)
    elif kind in (Sought.PERSON, Sought.PLACE, Sought.NAME):
        yield from _names(kind, sentence)


def _numbers(sentence: str, question: str) -> Iterator[tuple[int, int]]:
    """The numbers of the unit asked for; of no unit in particular, those that are no years."""
    kinds = _kinds_asked(question) & _OF_UNITS
    years = {match.span() for match in _TIME.finditer(sentence)}
    for match in _NUMBER.finditer(sentence):
        if kinds and not _kinds_told(match.group()) & {*kinds, *(("number",) if "money" in kinds else ())}:
            continue
        if not kinds and any(a <= match.start() and match.end() <= b for a, b in years):
            continue
        yield match.span()


@lru_cache(maxsize=256)
def _kinds_asked(question: str) -> frozenset[str]:
    """The kinds of values that a question may want."""
    return frozenset(kind for kind, said in _ASKED.items() if said.search(question))


@lru_cache(maxsize=4_096)
def _kinds_told(sentence: str) -> frozenset[str]:
    """The kinds of values that a sentence has."""
    found = {kind for kind, said in _TOLD.items() if said.search(sentence)}
    for value in values_in(sentence):
        size = UNITS.get(value.unit.lower().replace(" ", "_"), ("", 1.0))[0]
        found.add("money" if is_currency(size) else _MEASURES_OF.get(size, value.kind))
    return frozenset((*found, *(other for kind in found for other in _ALSO.get(kind, ()))))


def _names(kind: Sought, sentence: str) -> Iterator[tuple[int, int]]:
    if has_han(sentence):
        yield from _han_names(kind, sentence)
    for match in _NAME.finditer(sentence):
        start, end = match.span()
        words = match.group()
        first = words.split()[0]
        while words and (first.casefold() in _OPENERS or first.casefold() in FUNCTION_WORDS):
            words = words[len(first) :].lstrip()
            first = words.split()[0] if words else ""
        start = end - len(words)
        if end - start > 1:
            yield start, end
    if kind is Sought.NAME:
        yield from (match.span(1) for match in _QUOTED.finditer(sentence))
        yield from (match.span(1) for match in lexicon.pattern("extractive.common", 0).finditer(sentence))


def _han_names(kind: Sought, sentence: str) -> Iterator[tuple[int, int]]:
    """Names of persons and places as a tagger sees them; for other things what follows "is", "is called"."""
    if kind is Sought.NAME:
        yield from (match.span(1) for match in lexicon.pattern("extractive.han_after", 0).finditer(sentence))
        return
    if kind is Sought.PLACE:
        yield from (match.span(1) for match in lexicon.pattern("extractive.han_place", 0).finditer(sentence))
    else:
        yield from (match.span(1) for match in lexicon.pattern("extractive.han_person_by").finditer(sentence))
    wanted = ("nr",) if kind is Sought.PERSON else ("ns", "nt")
    place = 0
    for word, tag in tagger().cut(sentence):
        if tag.startswith(wanted) and len(word) > 1:
            yield place, place + len(word)
        place += len(word)


@cache
def tagger() -> Any:
    """Cuts Chinese into words with their parts of speech; it takes a second to load."""
    import jieba
    from jieba import posseg

    jieba.setLogLevel(60)
    return posseg.POSTokenizer()


# What a question asks a text for: the kind of answer, the names it asks about, and what it asks of them.

_LONGEST: Final = 2_000
_WORD = lexicon.pattern("extractive.word")
_IMPLIED: Final = {
    Sought.TIME: "year date day month century decade time take place happen 时间 日期 年份 年代",
    Sought.PLACE: "city country town state county province village continent place located situated lie lies location"
    " find found 位于 位置 地点 坐落 地方 城市 国家",
    Sought.NUMBER: "tall high long far deep wide old large big often fast heavy cost costs price height length area"
    " size age 全长 总长 高度 长度 价格 距离 多少 钱 时间",
    Sought.PERSON: "person people name 人",
    Sought.NAME: "name called title 名字 名称 称为",
}
"""Words that say no more than the kind of answer does."""


@dataclass(frozen=True, slots=True)
class TextQuestion:
    """A question as it is held against sentences.

    ``terms``: the stems of its content words (Chinese words as they are); ``named``: those of them that belong to
    names; ``focus``: what a name or number is to be of ("which *hotel*", "how many *rooms*").
    """

    text: str
    kind: Sought
    terms: tuple[str, ...]
    named: frozenset[str]
    names: tuple[str, ...]
    focus: frozenset[str]


def wanted(question: str) -> TextQuestion:
    """The question, taken apart; of an endless one the first 2,000 characters."""
    question = question[:_LONGEST]
    kind = sought(question)
    names = tuple(names_in(question))
    implied = frozenset(_IMPLIED.get(kind, "").split())
    named = {word.casefold() for name in names for word in _WORD.findall(name)}
    found: dict[str, bool] = {}
    for run in lexicon.pattern("extractive.han_asking").split(question) if has_han(question) else ():
        for word, tag in tagger().cut(run):
            if has_han(word) and word not in lexicon.word_set("extractive.light") and word not in implied:
                found.setdefault(word, not tag.startswith("v"))
    for plain in (match.group().casefold() for match in _WORD.finditer(question)):
        if plain in named or not (plain in FUNCTION_WORDS or plain in ASKING_WORDS or plain in implied):
            for form in _stems(plain):
                found[form] = found.get(form, False) or plain in named
    is_name = frozenset(form for form, one in found.items() if one)
    return TextQuestion(question, kind, tuple(found), is_name, names, _focus(question))


@lru_cache(maxsize=16_384)
def _stems(word: str) -> tuple[str, ...]:
    return tuple(analyzer().analyze(word.removesuffix("'s").removesuffix("’s")))


@lru_cache(maxsize=4_096)
def _han_words(text: str) -> frozenset[str]:
    """The Chinese words of a text."""
    return frozenset(w for w, _ in tagger().cut(text) if has_han(w)) if has_han(text) else frozenset()


def _focus(question: str) -> frozenset[str]:
    found: set[str] = set()
    for match in lexicon.pattern("extractive.focus", 0).finditer(question):
        words = [word for word in match[1].split() if word.casefold() not in FUNCTION_WORDS]
        found |= {form for word in words[-1:] for form in _stems(word.casefold())}
    found |= set(lexicon.pattern("extractive.han_focus").findall(question))
    return frozenset(found)


# Sentences of passages rated as the answer to a question: a sum of what is measured of each, with weights that were
# learnt from questions whose answering sentence is known (benchmarks/passage_answers.py), others where they are
# compared by words alone.

ANSWERING: Final = Path(__file__).with_name("answering.safetensors")
WEIGHTS: Final = Path(__file__).with_name("weights.json")
MEASURES: Final = (
    "likeness", "matched", "letters", "words", "around", "open_words", "open_letters", "fitting", "telling", "document",
    "before", "place",
)  # fmt: skip
"""What is measured of a sentence, in the order of `RatedSentence.measures`.

``likeness``: the cosine of question and sentence; ``matched``: the mean, over the question's tokens, of the greatest
cosine to one of the sentence (ColBERT's late interaction), both as `AnsweringModel` tells them; ``letters``, ``words``:
the shares of the rest's letter groups and words that the sentence says, rare ones more; ``around``: the share of words
that it or, fading, what stands before it says; ``open_words``, ``open_letters``: what it says of those that a reader
who comes to it has not in mind; ``fitting``: 1 if it holds something of the kind asked for, -1 if not; ``telling``: the
same of finer kinds of values, as phone numbers or days of the week; ``document``: the share of all words that its
document says; ``before``: that of the sentence before; ``place``: 1 for the first passage found, ½ for the second.
"""
SIGNS: Final = (*MEASURES, "misfit", "untold", "margin", "share", "known")
"""What tells how sure the best sentence is: its measures; ``misfit``, ``untold``: -1 where nothing in it is of the kind
asked for; ``margin``: how far it is above the next; ``share``: its share of the softmax over all; ``known``: 1 where
its document says every name of the question."""
_MOST_COMPARED: Final = 24
BESIDE: Final = 0.5
"""What the mean of what stands before a sentence counts beside its own."""
_LONGEST_READ, _LONGEST_BEFORE, _LONGEST_TOLD = 100, 40, 100
"""Tokens of a question or sentence and of what stands before it that are read; letters of the sentence before it."""
_REMEMBERED: Final = 2_000
_ALL: Final = 0.999
"""A sentence that says all words of the question, and has what is asked for, is surely one (docs/results.md)."""
_ALONE: Final = 2.0
"""The margin of a sentence that is the only one."""
_LONGEST_SENTENCE: Final = 600
_EARLIER: Final = 5
_FADING: Final = 0.8
"""What a word counts that the sentence before says; two before, the square of it."""
_NARROWEST: Final = 60
"""Nobody breaks lines of a text sooner."""
_BREAK: Final = re.compile(r"\n\s*([^\W_㐀-鿿豈-﫿]+|\S)")
_TOLD_BY_KIND: Final = (Sought.NUMBER, Sought.TIME, Sought.PERSON, Sought.PLACE, Sought.REASON)


@dataclass(frozen=True, slots=True)
class RatedSentence:
    """A sentence of a passage, ``passage.quote[start:end]``, with what was measured of it and its score.

    ``heading``: the nearest above it; ``earlier``: at most `_EARLIER` sentences between the two, the nearest first.
    """

    passage: int
    start: int
    end: int
    text: str
    title: str
    heading: str
    earlier: tuple[str, ...]
    measures: tuple[float, ...] = ()
    score: float = 0.0


@cache
def weights(by: str) -> Mapping[str, Mapping[str, float]]:
    """The learnt weights ``rank`` and ``sure``, by measure and sign; ``by``: ``meaning``, or ``words`` alone."""
    return cast(Mapping[str, Mapping[str, float]], json.loads(WEIGHTS.read_text(encoding="utf-8"))[by])


class AnsweringModel:
    """How near a question is to a sentence that answers it, of whatever languages both are.

    `MultilingualE5` with low-rank adapters (Hu et al. 2021, LoRA), learnt on questions whose answering sentence is
    known, besides ones that nothing answers. A sentence is read behind its title, its heading and what is said before.
    Safe to use from several threads.
    """

    def __init__(self, path: Path = ANSWERING) -> None:
        """Reads the model that is carried along and what was learnt on top of it.

        Raises:
            ModelUnavailableError, OSError, ValueError, KeyError: one of the two is not there or damaged.
        """
        from safetensors.numpy import load

        found = load(path.read_bytes())
        self._middle = found.pop("middle").astype(np.float32)
        self._model = MultilingualE5(adapters=found)
        self._read: OrderedDict[tuple[str, str], Floats] = OrderedDict()
        self._lock = threading.Lock()

    def nearness(self, question: str, sentences: Sequence[RatedSentence]) -> list[tuple[float, float]]:
        """``likeness`` and ``matched`` (see `MEASURES`) of each sentence."""
        asked = self._states([asked_ids(self._model, question)])[0]
        parts = unit_length(asked[1:-1])
        whole = asked.mean(axis=0)
        whole /= np.linalg.norm(whole) or 1.0
        found = self._sentences(sentences)
        return [(float(item[0] @ whole), float((parts @ item[1:].T).max(axis=1).mean())) for item in found]

    def _sentences(self, sentences: Sequence[RatedSentence]) -> list[Floats]:
        """For each sentence the vector of the whole and below it those of its tokens; the latest are remembered."""
        keys = [(before(item), item.text) for item in sentences]
        with self._lock:
            known = {key: self._read[key] for key in keys if key in self._read}
        new = {key: item_ids(self._model, *key) for key in dict.fromkeys(keys) if key not in known}
        for (key, (_, start)), states in zip(new.items(), self._states([ids for ids, _ in new.values()]), strict=True):
            whole = states[start:].mean(axis=0) + BESIDE * states[:start].mean(axis=0)
            known[key] = unit_length(np.vstack([whole, states[start:]])).astype(np.float16)
        with self._lock:
            self._read |= known
            while len(self._read) > _REMEMBERED:
                self._read.popitem(last=False)
        return [known[key].astype(np.float32) for key in keys]

    def _states(self, coded: Sequence[Sequence[int]]) -> list[Floats]:
        return [states - self._middle for states in self._model.states_of(coded)]


def asked_ids(model: MultilingualE5, question: str) -> list[int]:
    """The numbers of a question's tokens, as the model learnt to read them."""
    return [*model.coded(f"query: {question}")[:-1][:_LONGEST_READ], model.end]


def item_ids(model: MultilingualE5, earlier: str, text: str) -> tuple[list[int], int]:
    """The numbers of a sentence's tokens behind those of what stands before it, and where its own begin."""
    ahead = model.coded(f"passage: {earlier}")[:-1][:_LONGEST_BEFORE]
    return [*ahead, *model.coded(text)[1:-1][:_LONGEST_READ], model.end], len(ahead)


def before(item: RatedSentence) -> str:
    """What a sentence is read behind: its title, its heading and the end of the sentence before it."""
    return f"{item.title}. {item.heading} {item.earlier[0][-_LONGEST_TOLD:] if item.earlier else ''}"


@cache
def answering_model() -> AnsweringModel | None:
    """The model that comes with the package; None where what it is learnt on top of is not installed."""
    try:
        return AnsweringModel()
    except (ModelUnavailableError, OSError, ValueError, KeyError):
        return None


def rated(asked: TextQuestion, passages: Sequence[Evidence], model: AnsweringModel | None) -> list[RatedSentence]:
    """The sentences of the passages, the best first."""
    weight = weights("meaning" if model else "words")["rank"]
    read = measured(asked, passages, list(candidates(passages)), model)
    scored = [replace(item, score=_score(item, weight)) for item in read]
    return sorted(scored, key=lambda item: (-round(item.score, 6), item.passage, item.start))


def _score(item: RatedSentence, weight: Mapping[str, float]) -> float:
    return sum(weight[name] * value for name, value in zip(MEASURES, item.measures, strict=True))


def candidates(passages: Sequence[Evidence]) -> Iterator[RatedSentence]:
    """The sentences of the passages, each once where passages overlap.

    A title that is but the beginning of the text says nothing of what the document is about, and is left out.
    """
    cut = [[(a, b, " ".join(item.quote[a:b].split())) for a, b in _pieces(item.quote)] for item in passages]
    untitled = {
        passage.document
        for passage, found in zip(passages, cut, strict=True)
        if any(_is_sentence(text) and (text in passage.title or passage.title in text) for _, _, text in found)
    }
    seen: set[tuple[str, int, str]] = set()
    for number, (passage, found) in enumerate(zip(passages, cut, strict=True)):
        heading, earlier = "", tuple[str, ...]()
        title = "" if passage.document in untitled else passage.title
        for start, end, text in found:
            if _is_sentence(text):
                place = (passage.document.value, passage.start + end, text)
                if place not in seen:
                    yield RatedSentence(number, start, end, text, title, heading, earlier)
                seen.add(place)
            if text.startswith("#"):
                heading, earlier = text.strip("# "), ()
            else:
                earlier = (text, *earlier)[:_EARLIER]


def _pieces(quote: str) -> Iterator[tuple[int, int]]:
    """The sentences, those over several lines cut at breaks that are meant: what follows would have had room."""
    widest = max([_NARROWEST, *map(_width, quote.splitlines())])
    for start, end in sentences(quote):
        for match in _BREAK.finditer(quote, start, end):
            before = quote[start : match.start()].rstrip()
            if _width(before.rpartition("\n")[2]) + 1 + _width(match[1]) <= widest:
                yield start, start + len(before)
                start = match.start(1)
        yield start, end


def _width(text: str) -> int:
    return len(text.encode("gb18030", "replace"))


def _is_sentence(text: str) -> bool:
    """Whether a text says something: no heading, no row of a menu, nothing endless."""
    long_enough = len(text) >= 6 if has_han(text) else text.count(" ") >= 3 - any(map(str.isdigit, text))
    return (
        long_enough and len(text) <= _LONGEST_SENTENCE and not text.startswith("#") and not text.endswith(("?", "？"))
    )


@lru_cache(maxsize=4_096)
def _letters(text: str) -> frozenset[str]:
    """The groups of three letters of a text's words, and its Chinese characters alone and in pairs."""
    words = [f"^{word}$" for word in re.findall(r"[^\W\d_]+|\d+", latin(text).casefold())]
    groups = [word[at : at + 3] for word in words for at in range(len(word) - 2)]
    return frozenset((*groups, *(c for c in text if has_han(c)), *pairs(text)))


@lru_cache(maxsize=4_096)
def _words(text: str) -> frozenset[str]:
    """The stems of a text's words, and its Chinese words."""
    return frozenset(analyzer().analyze(latin(text))) | _han_words(text)


@dataclass(frozen=True, slots=True)
class _Rarity:
    """What words count: more, the fewer of the sentences say them."""

    sentences: int
    said: Counter[str]

    def share(self, asked: frozenset[str], held: frozenset[str]) -> float:
        """The share of what is asked that is held; 0 where nothing is asked."""
        total = sum(map(self._of, asked))
        return sum(map(self._of, asked & held)) / total if total else 0.0

    def weighed(self, held: Mapping[str, float]) -> float:
        """The mean of what is held of each word."""
        total = sum(map(self._of, held))
        return sum(self._of(word) * share for word, share in held.items()) / total if total else 0.0

    def open(self, asked: frozenset[str], told: Mapping[str, float], held: frozenset[str]) -> float:
        """The share that is held of what the reader has not in mind."""
        weights = {word: self._of(word) * (1.05 - told.get(word, 0.0)) for word in asked}
        return sum(weights[word] for word in asked & held) / sum(weights.values()) if weights else 0.0

    def _of(self, word: str) -> float:
        return math.log(1 + (self.sentences + 1) / (1 + self.said[word]))


def measured(
    asked: TextQuestion, passages: Sequence[Evidence], found: Sequence[RatedSentence], model: AnsweringModel | None
) -> list[RatedSentence]:
    """The sentences with what is measured of them; of many only the nearest are compared in meaning."""
    plain = "".join(lexicon.pattern("extractive.han_asking").split(asked.text)) if has_han(asked.text) else asked.text
    words, letters = frozenset(question_stems(plain)) | _han_words(plain), _letters(" ".join(content_words(plain)))
    of_words = _Rarity(len(found), Counter(word for item in found for word in _words(item.text)))
    of_letters = _Rarity(len(found), Counter(group for item in found for group in _letters(item.text)))
    documents: dict[str, set[str]] = {}
    for item in found:
        said = documents.setdefault(passages[item.passage].document.value, set())
        said |= _words(item.text) | _words(item.title)
    result = []
    for item in found:
        spoken, spelled = _words(item.text), _letters(item.text)
        rest = of_letters.share(letters - _letters(item.title), spelled)
        own = of_words.share(words - _words(item.title), spoken)
        told = _told_before(item, _words)
        around = of_words.weighed({word: max(told.get(word, 0.0), float(word in spoken)) for word in words})
        unsaid = of_words.open(words, told, spoken)
        unspelled = of_letters.open(letters, _told_before(item, _letters), spelled)
        fitting = 0.0
        if asked.kind in _TOLD_BY_KIND:
            fitting = 1.0 if fits(asked.kind, item.text, asked.text) else -1.0
        document = of_words.share(words, frozenset(documents[passages[item.passage].document.value]))
        before = of_words.share(words, _words(item.earlier[0]) if item.earlier else frozenset())
        measures = (
            *(rest, own, around, unsaid, unspelled, fitting, _telling(asked.text, item.text)),
            *(document, before, 1 / (1 + item.passage)),
        )
        result.append(replace(item, measures=(0.0, 0.0, *measures)))
    if model is None or not result:
        return result
    weight = weights("words")["rank"]
    result = sorted(result, key=lambda item: -_score(item, weight))[:_MOST_COMPARED]
    near = model.nearness(asked.text, result)
    return [replace(item, measures=(*two, *item.measures[2:])) for item, two in zip(result, near, strict=True)]


def _told_before(item: RatedSentence, parts: Callable[[str], frozenset[str]]) -> dict[str, float]:
    """How well the reader has each word in mind who comes to the sentence: by title, heading and what was said."""
    told = dict.fromkeys(parts(item.title), _FADING)
    told.update(dict.fromkeys(parts(item.heading), 1.0))
    for back, text in enumerate(item.earlier, start=1):
        for word in parts(text):
            told[word] = max(told.get(word, 0.0), _FADING**back)
    return told


def _telling(question: str, sentence: str) -> float:
    """Whether a sentence has a value of a kind asked for: 1 or -1; ½ for a number without unit, 0 if no kind is."""
    kinds, told = _kinds_asked(question), _kinds_told(sentence)
    if not kinds:
        return 0.0
    return 1.0 if told & kinds else 0.5 if "number" in told and _OF_UNITS & kinds else -1.0


def signs(asked: TextQuestion, ranked: Sequence[RatedSentence], passages: Sequence[Evidence]) -> tuple[float, ...]:
    """What tells how sure the best of the sentences is, in the order of `SIGNS`."""
    best = ranked[0]
    document = passages[best.passage].document
    near = normalise(" ".join(f"{item.title} {item.quote}" for item in passages if item.document == document))
    known = all(normalise(name) in near for name in asked.names)
    margin = best.score - ranked[1].score if len(ranked) > 1 else _ALONE
    share = 1 / sum(math.exp(item.score - best.score) for item in ranked)
    unfit = (min(0.0, best.measures[MEASURES.index(name)]) for name in ("fitting", "telling"))
    return *best.measures, *unfit, margin, share, float(known)


def _confidence(
    asked: TextQuestion, ranked: Sequence[RatedSentence], passages: Sequence[Evidence], model: AnsweringModel | None
) -> float:
    weight = weights("meaning" if model else "words")["sure"]
    total = weight["bias"] + sum(
        weight[name] * value for name, value in zip(SIGNS, signs(asked, ranked, passages), strict=True)
    )
    confidence = 1 / (1 + math.exp(-total))
    best = dict(zip(MEASURES, ranked[0].measures, strict=True))
    literal = best["words"] > _ALL and best["fitting"] >= 0 and best["telling"] in (0, 1)
    return round(max(confidence, LEVELS["high"]) if literal else confidence, 3)


# the stretch that answers

_RATING_WORD = lexicon.pattern("extractive.rating_word")
_GAP: Final = 30.0
_RIVALS: Final = 4
_AS_GOOD: Final = 0.05
_MUCH: Final = 0.5
_CONTESTED: Final = 0.7
_HAN_GAP: Final = 10.0


def _value(asked: TextQuestion, text: str) -> str:
    """The stretch of a sentence that answers best; empty where there is none of the kind."""
    anchors = [(term, place) for term in asked.terms for place in _found(term, text)]
    scored = [(_worth(asked, text, span, anchors), -span[0], span) for span in spans(asked.kind, text, asked.text)]
    if not scored:
        return ""
    _, _, (start, end) = max(scored)
    return text[start:end].strip(" ,.;:，。；：、*").removesuffix("'s").removesuffix("’s")


def _is_family(one: str, other: str) -> bool:
    """Whether two stems are of one word family: the same beginning, endings of at most three letters."""
    least = max(4, min(len(one), len(other)) - 1)
    return one[:least] == other[:least] and abs(len(one) - len(other)) <= 3


def _found(term: str, text: str) -> list[tuple[int, int]]:
    """Where a text says a term."""
    if has_han(term):
        return [match.span() for match in re.finditer(re.escape(term), text)]
    return [
        match.span()
        for match in _RATING_WORD.finditer(text)
        if term in (forms := _stems(match.group())) or (len(term) >= 4 and any(_is_family(term, f) for f in forms))
    ]


def _worth(
    asked: TextQuestion, text: str, span: tuple[int, int], anchors: Sequence[tuple[str, tuple[int, int]]]
) -> float:
    """How well a stretch answers: by its nearness to the question's words, and what stands before it."""
    start, end = span
    scale = _HAN_GAP if has_han(text[start:end]) else _GAP
    near: dict[str, float] = {}
    for term, (a, b) in anchors:
        if a < end and b > start and not asked.focus:
            continue  # the stretch holds a word of the question: it is not said of it
        between = text[end:a] if a >= end else text[b:start]
        gap = max(0, len(between)) / scale + len(lexicon.pattern("extractive.clause", 0).findall(between)) * 0.5
        near[term] = max(near.get(term, 0.0), (1.0 if term in asked.named else 2.0) / (1.0 + gap))
    worth = sum(near.values()) / (sum(1.0 if term in asked.named else 2.0 for term in asked.terms) or 1.0)
    lead = text[max(0, start - 30) : start]
    if asked.kind is Sought.PERSON and lexicon.pattern("extractive.by").search(lead):
        worth += 0.35
    if asked.kind is Sought.PLACE and lexicon.pattern("extractive.in").search(lead):
        worth += 0.3
    if asked.focus and _is_of(asked.focus, text, span):
        worth += 0.4
    if asked.kind in (Sought.PERSON, Sought.PLACE, Sought.NAME) and text[start:end].islower():
        worth -= 0.2 if asked.kind is Sought.NAME else 0.5
    if asked.kind is Sought.PERSON and re.search(r"\d", text[start:end]):
        worth -= 0.5
    if asked.focus & lexicon.word_set("extractive.whole") and re.search(r"[,，]\s*$", lead):
        worth += 0.9  # "in Ford County, Kansas": the preposition is Kansas's too, and the comma parts nothing
    return worth


def _is_of(focus: frozenset[str], text: str, span: tuple[int, int]) -> bool:
    """Whether a stretch is one of what was asked for by name: the word stands in it or beside it."""
    around = text[max(0, span[0] - 16) : span[1] + 16]
    if any(has_han(form) and form in around for form in focus):
        return True
    words = _RATING_WORD.findall(text[span[0] : span[1]])
    words += _RATING_WORD.findall(text[span[1] :])[:2] + _RATING_WORD.findall(text[: span[0]])[-1:]
    return any(form in focus for word in words for form in _stems(word))


def extracted(question: str, passages: Sequence[Evidence], *, model: AnsweringModel | None = None) -> PassageAnswer:
    """The sentence that answers most likely, and how likely it does; none where the passages have no sentence.

    Without a ``model`` (see `answering_model`) questions and sentences are compared by their words alone.
    """
    asked = wanted(question)
    ranked = rated(asked, passages, model)
    if not ranked:
        return PassageAnswer(notes=("no passage has a sentence",))
    best = ranked[0]
    passage = passages[best.passage]
    quote = passage.quote[best.start : best.end]
    cited = replace(
        passage,
        quote=quote,
        start=passage.start + best.start,
        end=passage.start + best.end,
        before=passage.quote[: best.start],
        after=passage.quote[best.end :],
    )
    value = _value(asked, best.text)
    confidence = _confidence(asked, ranked, passages, model)
    if value and any(_contradicts(asked, best, other, value) for other in ranked[1:_RIVALS]):
        confidence = min(confidence, _CONTESTED)
    return PassageAnswer(cited_text([(best.text, [1])]), (value,) if value else (), (cited,), confidence)


def _contradicts(asked: TextQuestion, best: RatedSentence, other: RatedSentence, value: str) -> bool:
    """True if a sentence that says as much of the question gives another value."""
    letters = MEASURES.index("letters")
    as_good = other.measures[letters] >= max(_MUCH, best.measures[letters] - _AS_GOOD)
    return as_good and bool(found := _value(asked, other.text)) and normalise(found) != normalise(value)
