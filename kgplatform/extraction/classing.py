"""Of which class a name is: by the class word in it, after it, or said of it in an apposition."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pyoxigraph import NamedNode

from kgplatform.extraction.gazetteer import Gazetteer
from kgplatform.extraction.lexicon import Lexicon
from kgplatform.text import singular

PARENTHESIS = re.compile(r"\s?[（(]([^()（）\n]{1,80})[)）]")
_APPOSITION = re.compile(
    r"\s?(?:,|\s(?:is|was|are))\s(?:(?:also|now|still)\s)?(?:an?|the|one of the)\s([a-z][\w'’ -]{2,60})", re.IGNORECASE
)
_HAN_APPOSITION = re.compile(
    r"\s?(?:[，,]\s?(?:是|为)?|\s?是|\s?为)(?:[一这]?[种座家个款条片所项套]|中国|全国)([^，。,.;；\n]{0,30})"
)
_NOUN_PHRASE_END = re.compile(
    r"[\s,.;:)]*(?:$|[,.;:)]|(?:in|at|on|of|near|that|which|who|where|with|by|for|from|and|between|about|\w+ed|beside)\b|\d)"
)
_OBJECT_OF = re.compile(r"\b(?:in|of|from|at|near|on|to|by|and|with|than)\s(?:the\s)?$")


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch that is or may be a name; ``type`` None: a name of unknown class. ``name`` empty: the text itself."""

    start: int
    end: int
    type: NamedNode | None = None
    name: str = ""
    strength: int = 0


class NameClasses:
    """Tells the classes of candidate names in one text."""

    def __init__(self, text: str, lexicon: Lexicon, known: Gazetteer) -> None:
        self.text = text
        self.lexicon = lexicon
        self.known = known

    def headed(self, span: Span) -> Span | None:
        """The candidate with the class that its last or first word names, or the class word after it."""
        words = self.text[span.start : span.end].split(" ")
        parts = [singular(re.sub(r"['’]s$", "", word).casefold()) for word in words]
        if len(words) >= 3 and parts[0] in self.lexicon.class_words and parts[1] == "of":
            return Span(span.start, span.end, self.lexicon.class_words[parts[0]], strength=2)
        end = span.end
        for length in range(min(4, len(words) - 1), 0, -1):
            class_ = self.lexicon.class_words.get(" ".join(parts[-length:]))
            if class_ is not None and not words[-1].casefold().endswith(
                "s" if words[-1].casefold() != parts[-1] else "\0"
            ):
                return Span(span.start, end, class_, strength=2)
        return self._with_class_word_after(span.start, end, words) or self._prefixed(span.start, end, parts)

    def _with_class_word_after(self, start: int, end: int, words: list[str]) -> Span | None:
        """The name together with a class word in small letters after it: "Qiantang Renjia restaurant"."""
        match = re.match(r" ([a-z]+(?: [a-z]+)?)(?![\w-])", self.text[end : end + 40])
        if match is None or self.known.get(" ".join(words)):
            return None
        if len(words) == 1 and re.search(r"\b[Aa]n? $", self.text[max(0, start - 4) : start]):
            return None
        following = match[1].split()
        for length in (2, 1):
            word = " ".join(following[:length])
            class_ = self.lexicon.class_words.get(word)
            if len(following) >= length and class_ is not None and singular(word) == word:
                whole = Span(start, end + 1 + len(word), class_, strength=1)
                return whole if len(words) == 1 else Span(start, end + 1 + len(word), class_, " ".join(words), 1)
        return None

    def _prefixed(self, start: int, end: int, parts: list[str]) -> Span | None:
        class_ = self.lexicon.class_words.get(parts[0]) if 2 <= len(parts) <= 4 else None
        if class_ is None or len(parts[0]) < 3 or "of" in parts:
            return None
        label = {word.text.casefold() for word in self.lexicon.ontology.classes[class_].words}
        first, _, rest = self.text[start:end].partition(" ")
        name = f"{parts[0].capitalize()} {rest}" if first.casefold() != parts[0] else ""  # "Piers B" and C
        return Span(start, end, class_, name, 1) if parts[0] in label else None

    def apposed(self, span: Span) -> Span | None:
        """The candidate with the class that "…, a water town in" or "是一种…模型" after it names."""
        rest = self.text[span.end : span.end + 144].replace("**", "")
        rest = PARENTHESIS.sub("", rest, count=1) if PARENTHESIS.match(rest) else rest
        match = _APPOSITION.match(rest)
        if (
            match
            and not rest.lstrip().startswith(",")
            and _OBJECT_OF.search(self.text[max(0, span.start - 12) : span.start])
        ):
            return None
        if match and (class_ := self._noun_phrase(match[1] + rest[match.end() : match.end() + 12])):
            return Span(span.start, span.end, class_, strength=1)
        match = _HAN_APPOSITION.match(rest)
        if match and (class_ := self._han_noun_phrase(match[1])):
            return Span(span.start, span.end, class_, strength=1)
        return None

    def _noun_phrase(self, text: str) -> NamedNode | None:
        words = list(re.finditer(r"[\w'’-]+", text))[:8]
        if re.search(r"minute|hour|mile|\bkm\b|\bday", text):
            return None
        for last in range(len(words)):
            if words[last].group() in ("of", "in", "that", "which", "with", "at", "on", "for", "by", "where", "and"):
                return None
            if not _NOUN_PHRASE_END.match(text[words[last].end() :]):
                continue
            for first in range(max(0, last - 2), last + 1):
                phrase = " ".join(singular(word.group().casefold()) for word in words[first : last + 1])
                if phrase in self.lexicon.class_words:
                    return self.lexicon.class_words[phrase]
            return None
        return None

    def _han_noun_phrase(self, text: str) -> NamedNode | None:
        for length in range(min(6, len(text)), 0, -1):
            word = text[-length:]
            if word in self.lexicon.han_suffixes and (length > 1 or len(text) == 1):
                return self.lexicon.han_suffixes[word]
        return None
