"""A chain's name for all that begins with it: 全聚德有多少家店, "all the Brightway branches"."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.questions.graphs import Search
from kgplatform.questions.names import Name, NameIndex, Span
from kgplatform.questions.tokens import Token
from kgplatform.questions.wording import FUNCTION_WORDS, HAN_FUNCTION, stem
from kgplatform.text import has_han, normalise, singular

_BEHIND_ZH: Final = re.compile(
    r"(?:在(?P<where>[^，,。？?的有]{1,8}?))?(?:的|[一总]共|都|全部|所有|各|旗下|[有开]了?|哪些|哪几|多少|几|[家个间])*"
    r"(?:家店|门店|分店|连锁店|店铺|分号|分行|网点|间店|店(?=[，,。？?吗呢]|$))"
)
_MANY_ZH: Final = re.compile(r"的?(?:一共|总共|都)?有?(?:哪些|哪几[家个间]|几[家个间]|多少[家个间]?)(?=\W|$)")
_BEHIND_EN: Final = re.compile(r"['’]?s?\s+(?:branch|branche|location|outlet|store|shop|site)s?\b", re.IGNORECASE)
_BEFORE_EN: Final = re.compile(
    r"\b(?:branches|locations|outlets|stores|shops)\s+(?:of|does|do|has|have|belong(?:s|ing)? to)\s+(?:the\s+)?$",
    re.IGNORECASE,
)
_LEAST: Final = 2
_WAYS, _SHARE = 3, 0.05
"""After a chain's name its branches go on in few ways; after that of a town what is in it goes on in many."""
_CERTAIN: Final = 3
_WHOLE: Final = 0.96
_TERM: Final = 0.7


@dataclass(frozen=True, slots=True)
class Chain:
    """Tokens ``first`` to before ``last`` with the name of a chain, its class as a stretch, and what else is said."""

    first: int
    last: int
    search: Search
    span: Span
    used: frozenset[int]


def chain(text: str, tokens: list[Token], names: NameIndex, called: Sequence[Span]) -> Chain | None:
    """The chain whose branches a question asks for; None if it asks for none.

    ``called``: the stretches that are names, of which none that is longer may hold that of the chain.
    """
    if not any(pattern.search(text) for pattern in (_BEHIND_ZH, _MANY_ZH, _BEHIND_EN, _BEFORE_EN)):
        return None
    for first in range(len(tokens)):
        for last in range(min(len(tokens), first + 8), first, -1):
            phrase = text[tokens[first].start : tokens[last - 1].end]
            cue = _cue(text, tokens[first].start, tokens[last - 1].end, phrase, names)
            longer = any(s.first <= first and last <= s.last and s.last - s.first > last - first for s in called)
            class_ = _class_of(phrase, names) if cue is not None and not longer else None
            if cue is not None and class_ is not None:
                places = (i for i, t in enumerate(tokens) if t.start < cue[1] and t.end > cue[0])
                function = "CONTAINS" if has_han(phrase) and len(phrase) >= _CERTAIN else "STRSTARTS"
                search = Search(-1, function, normalise(phrase))
                span = Span(first, last, (Name(class_, 1.0, "class"),))
                return Chain(first, last, search, span, frozenset(places))
    return None


def _cue(text: str, start: int, end: int, phrase: str, names: NameIndex) -> tuple[int, int] | None:
    """Where the words around a phrase ask for the branches of what it names."""
    if match := _BEHIND_ZH.match(text, end):
        where = match["where"]
        return match.span() if not where or _everywhere(where, names) else None
    whole = any(name.kind == "entity" and name.score > _WHOLE for name in names.exact.get(normalise(phrase), ()))
    found = (_MANY_ZH.match(text, end) if not whole else None) or _BEHIND_EN.match(text, end)
    match = found or _BEFORE_EN.search(text[:start])
    return match.span() if match else None


def _everywhere(where: str, names: NameIndex) -> bool:
    """Whether a word that is no name of its own is what names begin with throughout: the town that all are in."""
    return normalise(where) not in names.exact and len(names.beginning(where)) >= _LEAST


def _class_of(phrase: str, names: NameIndex) -> NamedNode | None:
    """The class of the things whose names begin with a phrase; None where these are too few, or a motley crowd."""
    key = normalise(phrase)
    words = key.split()
    dull = len(key) < _LEAST or all(w in FUNCTION_WORDS or w in HAN_FUNCTION for w in words) or key in HAN_FUNCTION
    if dull or any(n.kind == "class" and n.score > _TERM for n in names.terms.get((stem(singular(key)),), ())):
        return None
    found = [k for k in names.beginning(key) if has_han(key) or k == key or not k[len(key)].isalnum()]
    things = [(k, n.term) for k in found for n in names.exact[k] if n.kind == "entity" and n.score > _WHOLE]
    counted = Counter(class_ for _, term in things for class_ in set(names.types(term)))
    if not counted:
        return None
    class_, number = min(counted.items(), key=lambda item: (-item[1], names.schema.count(item[0]), item[0].value))
    ways = {k[len(key) : len(key) + 1] for k, term in things if class_ in names.types(term)} if has_han(key) else set()
    return class_ if number >= _LEAST and len(ways) <= max(_WAYS, _SHARE * number) else None
