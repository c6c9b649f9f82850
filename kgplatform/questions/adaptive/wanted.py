"""What a question asks a text for: the kind of answer, the names it asks about, and what it asks of them.

A *name* may be said by a passage's title or the sentence before; a *relation* ("designed", "mayor", 门票) has to be
said by the sentence that answers, else it is another fact about the same thing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from kgplatform.questions.adaptive.spans import ASKING_WORDS, Sought, names_in, sought, tagger
from kgplatform.questions.wording import FUNCTION_WORDS, senses, stem
from kgplatform.retrieval.terms import analyzer
from kgplatform.text import has_han

_LONGEST: Final = 2_000
_WORD = re.compile(r"[^\W_㐀-鿿豈-﫿]+(?:['’][^\W_]+)?")
_HAN_RUN = re.compile(r"[㐀-鿿豈-﫿]+")
_HAN_ASKING = re.compile(
    "什么时候|什么地方|什么|是不是|是否|有没有|为什么|为何|怎么样?|怎样|如何|是谁|由谁|被谁|哪一?[年个位里儿些天座条家]?|何[时处人]"
    "|多[少高长宽远深大久重]|谁|几|吗|呢|请问|的是"
)
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
_LIGHT: Final = frozenset(
    "是 有 在 了 的 和 与 叫 由 被 用 从 到 于 把 去 要 能 会 可以 为 一 个 里 上 中 而 成 哪 过 这 那 做 离 得".split()  # noqa: SIM905
)
_CHOICE = re.compile(r"\b(?:,|:)?\s*([\w][\w'’.&\- ]{0,60}?)\s+or\s+([\w][\w'’.&\- ]{0,60}?)\s*\?*$", re.IGNORECASE)
_FOCUS = re.compile(
    r"\b(?:what|which|how many|how much)\s+((?:[a-z][\w'’-]*\s+){0,3}?[a-z][\w'’-]*)\s+"
    r"(?=(?:is|are|was|were|did|does|do|has|have|had|can|could|will|would|of|in|on|at|that|who|to|for|from|live|lived)\b|[a-z]+(?:ed|s)\b)"
)
_HAN_FOCUS = re.compile(r"(?:多少|几|哪[一两]?|什么)([一-龥]{1,3})")


@dataclass(frozen=True, slots=True)
class Term:
    """A content word of a question: its stem (a Chinese word as it is), and whether it belongs to a name."""

    form: str
    is_name: bool
    senses: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Wanted:
    """A question as it is held against sentences.

    ``focus``: the stems of what a name or number is to be of ("which *hotel*", "how many *rooms*"); ``cased``: names
    can be told by their capitals.
    """

    text: str
    kind: Sought
    terms: tuple[Term, ...]
    names: tuple[str, ...]
    focus: frozenset[str]
    cased: bool
    is_han: bool

    @property
    def relations(self) -> tuple[Term, ...]:
        """The terms that the answering sentence itself has to say."""
        return tuple(term for term in self.terms if not term.is_name)


def wanted(question: str) -> Wanted:
    """The question, taken apart; of an endless one the first 2,000 characters."""
    question = question[:_LONGEST]
    kind, is_han = sought(question), has_han(question)
    names = tuple(names_in(question))
    implied = frozenset(_IMPLIED.get(kind, "").split())
    found = _han_terms(question, kind, implied) if is_han else []
    found += _latin_terms(question, names, implied)
    terms: dict[str, Term] = {}
    for term in found:
        if term.form not in terms or term.is_name:
            terms[term.form] = term
    cased = any(character.isupper() for character in question)
    return Wanted(question, kind, tuple(terms.values()), names, _focus(question), cased, is_han)


def _latin_terms(question: str, names: tuple[str, ...], implied: frozenset[str]) -> list[Term]:
    named = {word.casefold() for name in names for word in _WORD.findall(name)}
    found = []
    for match in _WORD.finditer(question):
        plain = match.group().casefold()
        if plain in FUNCTION_WORDS - named or plain in ASKING_WORDS or plain in implied:
            continue
        is_name = plain in named
        found += [Term(form, is_name, frozenset() if is_name else _senses(plain)) for form in _stems(plain)]
    return found


@lru_cache(maxsize=16_384)
def _stems(word: str) -> tuple[str, ...]:
    return tuple(analyzer().analyze(word.removesuffix("'s").removesuffix("’s")))


def _senses(word: str) -> frozenset[str]:
    return frozenset(senses().get((stem(word),), ()))


def _han_terms(question: str, kind: Sought, implied: frozenset[str]) -> list[Term]:
    """The words of a Chinese question: verbs, what follows 的, and what is counted are what it asks; the rest names."""
    found: list[Term] = []
    runs = _HAN_ASKING.split(question)
    for place, run in enumerate(runs):
        said = [(word, tag) for word, tag in tagger().cut(run) if _HAN_RUN.fullmatch(word)]
        after_of = False
        own: list[Term] = []
        for word, tag in said:
            if word == "的":
                after_of = True
            elif word not in _LIGHT and word not in implied:
                asks = tag.startswith("v") or after_of or (place > 0 and kind is Sought.NUMBER)
                own.append(Term(word, not asks, frozenset(senses().get((word,), ()))))
        last = own[-1] if len(own) > 1 and place + 1 < len(runs) and kind is Sought.NUMBER else None
        found += [replace(t, is_name=False) if t is last and all(x.is_name for x in own) else t for t in own]
    return found


def _focus(question: str) -> frozenset[str]:
    found: set[str] = set()
    for match in _FOCUS.finditer(question):
        words = [word for word in match[1].split() if word.casefold() not in FUNCTION_WORDS]
        found |= {form for word in words[-1:] for form in _stems(word.casefold())}
    found |= set(_HAN_FOCUS.findall(question))
    return frozenset(found)


def options(question: str) -> tuple[str, ...]:
    """The names that a question lets choose between ("…, A or B?"); empty where it does not."""
    match = _CHOICE.search(question.strip())
    if match is None:
        return ()
    first, second = match[1].strip(), match[2].strip()
    first = re.split(r"[,:]\s*", first)[-1]
    capital = re.search(r"((?:[A-ZÀ-Þ0-9][\w'’.&-]*\s*)+)$", first)
    first = capital[1].strip() if capital else first
    return (first, second) if first and second and len(first.split()) < 8 else ()
