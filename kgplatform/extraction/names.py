"""Names in a document: where they are, of which class, and by what other names the same thing goes.

Every rule asks the ontology's own words. A name gets a class because the entity is known, because a class word
ends or begins it ("Lingyin Temple", "灵隐寺", "Lake Tai"), because an apposition says so ("Xitang, a water
town"), because it has the form of a key ("SF1625"), or because one of its other names has a class.
"""

from __future__ import annotations

import itertools
import logging
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final

from pyoxigraph import NamedNode

from kgplatform.extraction.han_tagger import NAMED, TaggedName, carried_tagger
from kgplatform.extraction.ontology_lexicon import FUNCTION_WORDS, Lexicon, tokens
from kgplatform.lexicon import LexiconSection
from kgplatform.text import has_han, normalise, singular
from kgplatform.types import Mention

# Chinese words (jieba, which takes about a second to load) and the names they make with a class word at the end

_NAME_TAGS: Final = ("n", "j", "b", "i", "l", "g", "zg", "z", "vn", "an", "eng", "Ng", "s")
PROPER_TAGS: Final = ("ns", "nr", "nz", "nt", "nrt", "nrfg", "eng")
_LEXICON: Final = LexiconSection("extraction", "names")
STOP_TOKENS: Final = _LEXICON.words("stop_tokens")
_POINTS: Final = _LEXICON.pattern("points")
_ACTS: Final = _LEXICON.words("acts")
"""One of these before a word of one character says what is done: 沿河, 上山, 进城."""
_LIKE: Final = _LEXICON.words("like")
_PEOPLE: Final = _LEXICON.text("people")
"""After a name it means those who live there or belong to it: 南浔人."""
_CITY_ENDINGS: Final = _LEXICON.words("city_endings")
_STOP_CHARACTERS: Final = _LEXICON.words("stop_characters")
_LINKS: Final = _LEXICON.words("links")
"""No part of a name, whatever part of speech they are taken for."""
CERTAIN: Final = 5
"""The strength from which on a name is one by its form: a code, a title in its marks."""
_HAN_ONLY = re.compile(r"[\u3400-\u9fff·]+")


@dataclass(frozen=True, slots=True)
class TaggedWord:
    """A word of a Chinese text with its part of speech in jieba's tag set."""

    text: str
    tag: str
    start: int

    @property
    def end(self) -> int:
        """The offset after the last character."""
        return self.start + len(self.text)


@lru_cache(maxsize=1)
def _tagger() -> Any:
    import jieba
    import jieba.posseg

    jieba.setLogLevel(logging.WARNING)
    return jieba.posseg


def tag(text: str) -> list[TaggedWord]:
    """The words of the text; what stands between Chinese passages is kept in larger pieces."""
    tokens: list[TaggedWord] = []
    position = 0
    for word, flag in itertools.chain.from_iterable(map(_cut, _BLOCKS.split(text))):
        tokens.append(TaggedWord(word, flag, position))
        position += len(word)
    return tokens


_BLOCKS: Final = re.compile(r"([\u4E00-\u9FD5a-zA-Z0-9+#&\._]+)")
"""What jieba cuts by itself, whatever stands around it."""


@lru_cache(maxsize=8192)  # a document is cut as a whole and by its sentences
def _cut(block: str) -> Sequence[tuple[str, str]]:
    return [(pair.word, pair.flag) for pair in _tagger().cut(block)] if block else ()


def _nameish(token: TaggedWord) -> bool:
    if token.text in STOP_TOKENS or token.text in _LINKS or not token.text.strip():
        return False
    if token.tag == "eng":
        return any(character.isupper() or character.isdigit() for character in token.text)
    if not _HAN_ONLY.fullmatch(token.text):
        return bool(re.fullmatch(r"[A-Z]*\d+", token.text))
    if token.tag in ("a", "v", "zg", "q", "f", "vg", "ag", "ng", "tg") and len(token.text) == 1:
        return token.text not in _STOP_CHARACTERS
    return token.tag.startswith(_NAME_TAGS) and token.tag not in ("ng", "nrx")


def points(words: str) -> bool:
    """Whether Chinese words say which one or of what rank and name nothing: 同一机场, 所有作者, 国家级景区."""
    return _POINTS.match(words) is not None


def describes(words: str) -> bool:
    """Whether Chinese words that end in a class word of one character only say what is done or how it is: 上山, 小河.

    >>> describes("上山"), describes("小河"), describes("西塘沿河"), describes("太湖")
    (True, True, True, False)
    """
    return words[-2:-1] == "沿" or (len(words) == 2 and (words[0] in _ACTS or words[0] in _LIKE))


def names_with_suffix(
    tokens: list[TaggedWord], suffixes: Mapping[str, NamedNode]
) -> Iterator[tuple[int, int, NamedNode, str]]:
    """Names that end in a class word: start, end, class and the class word; only those that are more than the word."""
    longest = max(map(len, suffixes), default=0)
    for index, token in enumerate(tokens):
        if not has_han(token.text):
            continue
        word = _suffix_at(tokens, index, suffixes, longest)
        if word is None or (len(token.text) == 2 and word in _CITY_ENDINGS):
            continue
        first, proper = _expand(tokens, index, token.end - len(word), suffixes)
        start = tokens[first].start
        single = [item for item in tokens[first:index] if item.end <= token.end - len(word)]
        proper = proper or (len(word) > 1 and len(single) > 1 and all(len(item.text) == 1 for item in single))
        proper = proper or _stands_alone(tokens, first, index, word)
        written = "".join(item.text for item in tokens[first : index + 1])
        if (
            token.end - start <= len(word)
            or written[0].isdigit()
            or word == _PEOPLE
            or points(written)
            or (len(word) == 1 and describes(written))
            or not _is_a_name(start, token, word, proper=proper)
        ):
            continue
        yield start, token.end, suffixes[word], word


def _stands_alone(tokens: list[TaggedWord], first: int, index: int, word: str) -> bool:
    """Whether the words are what a clause begins with and says something of: "枕水度假酒店在…"."""
    given = tokens[index].end - len(word) - tokens[first].start
    opens = first == 0 or not has_han(tokens[first - 1].text)
    says = index + 1 < len(tokens) and tokens[index + 1].tag[0] in "pvd"
    return given >= 2 and len(word) >= 2 and opens and says


def _suffix_at(tokens: list[TaggedWord], index: int, suffixes: Mapping[str, NamedNode], longest: int) -> str | None:
    """The longest class word that ends with this token."""
    joined = ""
    for token in reversed(tokens[max(0, index - 3) : index + 1]):
        joined = token.text + joined
        if len(joined) >= longest:
            break
    for length in range(min(longest, len(joined)), 0, -1):
        word = joined[-length:]
        if word not in suffixes or (length == 1 and not _single_ok(tokens[index])):
            continue
        if length > len(tokens[index].text) and not _at_boundary(tokens, index, length):
            continue
        if length == 2 and len(tokens[index].text) == 3 and word[-1] in suffixes:
            continue
        return word
    return None


def _at_boundary(tokens: list[TaggedWord], index: int, length: int) -> bool:
    """Whether a class word over several words begins where one of them does."""
    start = tokens[index].end - length
    return any(item.start == start for item in tokens[max(0, index - 3) : index])


def _single_ok(token: TaggedWord) -> bool:
    return len(token.text) == 1 or token.tag in PROPER_TAGS


def _expand(
    tokens: list[TaggedWord], index: int, suffix_start: int, suffixes: Mapping[str, NamedNode]
) -> tuple[int, bool]:
    """The first token of the name that ends at ``index``, and whether a proper noun is among its words."""
    first = index
    while first > 0 and tokens[first].start > suffix_start:
        first -= 1
    proper = tokens[first].start < suffix_start and tokens[first].tag in PROPER_TAGS
    if tokens[first].start < suffix_start and not _nameish(tokens[first]):
        return index + 0, False
    if tokens[first].start < suffix_start and len(tokens[first].text) >= 3 and tokens[first].tag in PROPER_TAGS:
        return first, True
    while first > 0 and _nameish(tokens[first - 1]) and tokens[first - 1].text not in suffixes:
        previous = tokens[first - 1]
        if previous.tag == "ns" and len(previous.text) >= 3 and previous.text[-1] in suffixes:
            break
        if previous.end != tokens[first].start:
            break
        first -= 1
        proper = proper or previous.tag in PROPER_TAGS
    return first, proper


def _is_a_name(start: int, token: TaggedWord, word: str, *, proper: bool) -> bool:
    """Whether what stands before the class word makes a name of it and not a description."""
    given = token.end - len(word) - start
    if proper:
        return given >= 1
    return given >= 3 or (given >= 2 and len(word) == 1 and len(token.text) > 1 and token.tag.startswith("n"))


# Known names

_LATIN_TOKEN = re.compile(r"[^\W_\u3400-\u9fff]+(?:['’][^\W_\u3400-\u9fff]+)*")
_MAX_TOKENS: Final = 16
_POSSESSIVE: Final = re.compile(r"['’]s$")
_MIN_LATIN: Final = 3


@dataclass(frozen=True, slots=True)
class KnownName:
    """A known name: its class, the name to use for the entity, and whether it is written with a capital."""

    type: NamedNode
    name: str
    capital: bool


@lru_cache(maxsize=65_536)
def latin_key(text: str) -> str:
    """The words of a Latin name, in the normal form, one blank between."""
    return " ".join(_LATIN_TOKEN.findall(normalise(text)))


class Gazetteer:
    """Names with their classes, looked up wherever they occur in a text, longest first."""

    def __init__(self, names: Mapping[str, NamedNode] | None = None) -> None:
        self._latin: dict[str, KnownName] = {}
        self._han: dict[str, dict[str, KnownName]] = {}
        self._longest = 1
        self.classes: set[NamedNode] = set()
        """The classes of the names that were added later: those that a workspace knows."""
        for name, type_ in (names or {}).items():
            self.add(name, type_)
        self.classes.clear()

    def add(self, name: str, type_: NamedNode, *, stands_for: str | None = None, replace: bool = True) -> None:
        """Makes the name known; ``stands_for`` is the entity's own name where this is only an alias."""
        known = KnownName(type_, stands_for or name, any(character.isupper() for character in name))
        self.classes.add(type_)
        if has_han(name):
            key = re.sub(r"\s", "", normalise(name))
            if len(key) >= 2 and (replace or key not in self._han.get(key[:2], {})):
                self._han.setdefault(key[:2], {})[key] = known
            return
        key = latin_key(name)
        long_enough = len(key) >= _MIN_LATIN or (len(key) == 2 and name.isupper())
        if long_enough and not key.isdigit() and (replace or key not in self._latin):
            self._latin[key] = known
            self._longest = min(max(self._longest, key.count(" ") + 1), _MAX_TOKENS)

    def remove(self, name: str) -> None:
        """Forgets the name, where it is known."""
        key = re.sub(r"\s", "", normalise(name))
        self._han.get(key[:2], {}).pop(key, None)
        self._latin.pop(latin_key(name), None)

    def get(self, name: str) -> KnownName | None:
        """What is known under the name."""
        if has_han(name):
            key = re.sub(r"\s", "", normalise(name))
            return self._han.get(key[:2], {}).get(key)
        return self._latin.get(latin_key(name))

    def find(self, text: str) -> Iterator[tuple[int, int, KnownName]]:
        """The known names in the text with their places; of two that begin alike, the longer."""
        yield from self._find_latin(text)
        if self._han:
            yield from self._find_han(text)

    def _find_latin(self, text: str) -> Iterator[tuple[int, int, KnownName]]:
        if not self._latin:
            return
        found = [(match.start(), match.end(), latin_key(match.group())) for match in _LATIN_TOKEN.finditer(text)]
        position = 0
        while position < len(found):
            step = 1
            for length in range(min(self._longest, len(found) - position), 0, -1):
                words = " ".join(part for _, _, part in found[position : position + length])
                start, end = found[position][0], found[position + length - 1][1]
                known = self._latin.get(words)
                if known is None and _POSSESSIVE.search(words):  # KLM in "KLM's fleet"
                    known, end = self._latin.get(words[:-2]), end - 2
                if known and self._written_well(text, start, end, known):
                    yield start, end, known
                    step = length
                    break
            position += step

    @staticmethod
    def _written_well(text: str, start: int, end: int, known: KnownName) -> bool:
        written = text[start:end]
        if known.capital and not (written[0].isupper() or written[0].isdigit()):
            return False
        return not re.search(r"[\n.;:,，。；：()（）]", written)

    def _find_han(self, text: str) -> Iterator[tuple[int, int, KnownName]]:
        position = 0
        while position < len(text) - 1:
            options = self._han.get(text[position : position + 2].casefold())
            best = (
                max(
                    (key for key in options if text[position : position + len(key)].casefold() == key),
                    key=len,
                    default="",
                )
                if options
                else ""
            )
            if best and options:
                yield position, position + len(best), options[best]
            position += len(best) or 1


# Classes of names

PARENTHESIS = re.compile(r"\s?[（(]([^()（）\n]{1,80})[)）]")
_APPOSITION = _LEXICON.pattern("apposition", re.IGNORECASE)
_HAN_APPOSITION = _LEXICON.pattern("han_apposition")
_NOUN_PHRASE_END = _LEXICON.pattern("noun_phrase_end")
_OBJECT_OF = _LEXICON.pattern("object_of")


@dataclass(frozen=True, slots=True)
class TypedSpan:
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

    def headed(self, span: TypedSpan) -> TypedSpan | None:
        """The candidate with the class that its last or first word names, or the class word after it."""
        words = self.text[span.start : span.end].split(" ")
        parts = [singular(re.sub(r"['’]s$", "", word).casefold()) for word in words]
        if len(words) >= 3 and parts[0] in self.lexicon.class_words and parts[1] == "of":
            return TypedSpan(span.start, span.end, self.lexicon.class_words[parts[0]], strength=2)
        end = span.end
        for length in range(min(4, len(words) - 1), 0, -1):
            class_ = self.lexicon.class_words.get(" ".join(parts[-length:]))
            if class_ is not None and not words[-1].casefold().endswith(
                "s" if words[-1].casefold() != parts[-1] else "\0"
            ):
                return TypedSpan(span.start, end, class_, strength=2)
        return self._with_class_word_after(span.start, end, words) or self._prefixed(span.start, end, parts)

    def _with_class_word_after(self, start: int, end: int, words: list[str]) -> TypedSpan | None:
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
                whole = TypedSpan(start, end + 1 + len(word), class_, strength=1)
                return whole if len(words) == 1 else TypedSpan(start, end + 1 + len(word), class_, " ".join(words), 1)
        return None

    def _prefixed(self, start: int, end: int, parts: list[str]) -> TypedSpan | None:
        class_ = self.lexicon.class_words.get(parts[0]) if 2 <= len(parts) <= 4 else None
        if class_ is None or len(parts[0]) < 3 or "of" in parts:
            return None
        label = {word.text.casefold() for word in self.lexicon.ontology.classes[class_].words}
        first, _, rest = self.text[start:end].partition(" ")
        name = f"{parts[0].capitalize()} {rest}" if first.casefold() != parts[0] else ""  # "Piers B" and C
        return TypedSpan(start, end, class_, name, 1) if parts[0] in label else None

    def apposed(self, span: TypedSpan) -> TypedSpan | None:
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
            return TypedSpan(span.start, span.end, class_, strength=1)
        match = _HAN_APPOSITION.match(rest)
        if match and (class_ := self._han_noun_phrase(match[1])):
            return TypedSpan(span.start, span.end, class_, strength=1)
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


# Names, their classes and other names

_WORD = r"(?:[A-Z][\w'’]*(?:[-–&.][\w'’]+)*|[A-Z]\.)"
_NUMBER = r"\d[\w.]*(?=[ ,.;:)]|$)"
_JOIN = r"(?:of[ ]the|of|the|and[ ]the|de|du|des|von|van|&|within[ ]a)"
_SHORTENED = r"(?:I|We|You|He|She|It|They|That|There|Here|What|Who|Let|Don|Can|Won|Isn|Doesn)['’](?:ve|m|d|ll|re|s|t)\b"
_CAPITALS = re.compile(rf"(?<![\w#@/.])(?!{_SHORTENED}){_WORD}(?:(?:[ ]{_JOIN})?[ ]{_WORD}|[ ]{_NUMBER})*")
_TITLE = re.compile(rf"{_WORD}(?:(?:[ ](?:{_JOIN}|in|for|and|with|to|a|an|by|on)){{0,2}}[ ]{_WORD}|[ ]{_NUMBER})*")
_ALSO = _LEXICON.pattern("also")
_TRAILING_JOIN = re.compile(r"(?:[\s,;]+|\s+(?:and|or|och|&))+$", re.IGNORECASE)
_TITLE_MARKS = re.compile(r"《([^《》\n]{2,160})》")
_LEADING = _LEXICON.words("leading")
_OPENING = re.compile(r"(?:[.!?:\n•*#>|\"“(–—-]\s*|^)$")
_INTRODUCED = _LEXICON.pattern("introduced")
_ROAD = _LEXICON.pattern("road")
_CALLED = _LEXICON.pattern("called")
_HAN_CLAUSE = re.compile(r"(?:^|[\n。！？!?；;,，:：、📍①-⑳】\s])(?P<name>[\u3400-\u9fff·]{2,8})$")
_AREAS = _LEXICON.text("areas")
_NO_NOUNS = frozenset(("v", "vd", "d", "p", "c", "r", "u", "ud", "df"))
_LONGER = _LEXICON.pattern("longer")
_DIGIT_AND_LETTER = re.compile(r"(?=.*\d)(?=.*[A-Za-z])")


@dataclass(slots=True)
class FoundNames:
    """What was found: names by class, names without, and the other names of each; Chinese words, and names in them."""

    tokens: list[TaggedWord] = field(default_factory=list)
    tagged: list[TaggedName] = field(default_factory=list)
    spans: list[TypedSpan] = field(default_factory=list)
    strangers: list[TypedSpan] = field(default_factory=list)
    aliases: dict[str, dict[str, None]] = field(default_factory=dict)


class MentionFinder:
    """Finds the names of one document; ``text`` has single line breaks inside paragraphs made blanks."""

    def __init__(self, text: str, lexicon: Lexicon, known: Gazetteer) -> None:
        self.text = text
        self.lexicon = lexicon
        self.known = known
        self.local = Gazetteer()
        self._classes = NameClasses(text, lexicon, known)
        self.names = FoundNames(tag(text), carried_tagger().names(text)) if has_han(text) else FoundNames()
        found = re.findall(r"[^\W\d_\u3400-\u9fff]{3,}", text)
        self._capitals = Counter(word for word in found if word[0].isupper())
        closed = {type_ for individual in lexicon.ontology.individuals.values() for type_ in individual.types}
        # 三潭印月 is no month: the things of a closed list are those on it
        self._suffixes = {word: class_ for word, class_ in lexicon.han_suffixes.items() if class_ not in closed}
        self._small = frozenset(word for word in found if word[0].islower()) | FUNCTION_WORDS

    def find(self) -> FoundNames:
        """The names, none inside another; typed ones first, longer ones before shorter."""
        candidates = list(self._capitalised())
        known = [item for item in self._known(self.known) if not self._part_of_another(item, candidates)]
        typed = [*known, *self._codes(), *self._suffixed(), *self._titles()]
        typed += [span for item in candidates if (span := self._classes.headed(item))]
        typed += [item for item in self._tagged() if item.type and not _overlaps_any(item, typed)]
        free = [item for item in candidates if not _overlaps_any(item, typed)]
        typed += [span for item in free if (span := self._classes.apposed(item))]
        opening = list(self._before_phrases(typed))
        typed += [item for item in opening if item.type]
        free += [*self._tagged(), *(item for item in opening if not item.type)]
        free = [replace(item, type=None) for item in free]
        self.names.spans = _longest(typed)
        self._take_aliases(free)
        for span in self.names.spans:
            self._learn(span)
        self.settle(free)
        return self.names

    def settle(self, strangers: list[TypedSpan]) -> None:
        """Gives every name in the document the class that it has anywhere in it; the rest stay strangers."""
        again = [*self.names.spans, *self._known(self.local)]
        self.names.spans = _longest(again)
        self.names.strangers = [span for span in _longest(strangers) if not _overlaps_any(span, self.names.spans)]

    def forget(self, names: Set[str]) -> None:
        """Takes back what was taken for names; the words may still name something whose class nobody knows."""
        for name in names:
            self.local.remove(name)
        self.names.spans = [span for span in self.names.spans if self.text[span.start : span.end] not in names]

    def learn(self, span: TypedSpan, type_: NamedNode) -> None:
        """Notes the class of a stranger, for all its occurrences; `settle` applies it. A Chinese verb is no name."""
        words = self.tokens_in(span.start, span.end)
        if len(words) == 1 and words[0].tag in _NO_NOUNS:
            return
        self.local.add(self.text[span.start : span.end], type_)

    def mentions(self) -> list[Mention]:
        """The typed names as mentions, in the order of the text."""
        return [self._mention(span) for span in sorted(self.names.spans, key=lambda span: span.start) if span.type]

    def _mention(self, span: TypedSpan) -> Mention:
        text = self.text[span.start : span.end]
        name = span.name or clean_name(text)
        assert span.type is not None
        aliases = [alias for alias in self.names.aliases.get(name, ()) if alias != name]
        return Mention(text, span.start, span.end, span.type, name, tuple(aliases))

    # where names are

    def _known(self, gazetteer: Gazetteer) -> Iterator[TypedSpan]:
        for start, end, known in gazetteer.find(self.text):
            if has_han(self.text[start:end]) and (
                (end - start == 2 and self._inside_token(start, end)) or _ROAD.match(self.text, end)
            ):
                continue
            if gazetteer is self.local and _LONGER.match(self.text, end) and " " not in self.text[start:end]:
                continue
            yield TypedSpan(start, end, known.type, self._canonical(known, start, end), 3)

    def _canonical(self, known: KnownName, start: int, end: int) -> str:
        written = clean_name(self.text[start:end])
        return known.name if known.name.casefold() != written.casefold() else written

    def _inside_token(self, start: int, end: int) -> bool:
        return any(
            item.start <= start and end <= item.end and len(item.text) > end - start for item in self._near(start)
        )

    def _near(self, position: int) -> list[TaggedWord]:
        first = bisect_left(self.names.tokens, position + 1, key=lambda item: item.end)
        return self.names.tokens[first : first + 2]

    def _codes(self) -> Iterator[TypedSpan]:
        for class_, _term, pattern in self.lexicon.keys:
            for match in pattern.finditer(self.text):
                if not _DIGIT_AND_LETTER.search(match.group()) or self._is_labelled(match.start()):
                    continue
                title = self._title_after(match.end())
                if title:
                    self.names.aliases.setdefault(match.group(), {})[title] = None
                    self.local.add(title, class_, stands_for=match.group())
                end = match.end() + (1 + len(title) if title else 0)
                yield TypedSpan(match.start(), end, class_, match.group(), 5)

    def _is_labelled(self, position: int) -> bool:
        before = self.text[max(0, position - 30) : position]
        return (
            bool(re.search(r"[:：]\s?$", before))
            and any(label and label in before.casefold() for label in self.lexicon.value_cues)
            and not before.rstrip(":： ").endswith(("requisites", "先修课程"))
        )

    def _title_after(self, position: int) -> str:
        """The title after a code: capitalised words, or Chinese words up to a verb."""
        if not self.text.startswith(" ", position):
            return ""
        match = _TITLE.match(self.text, position + 1)
        if match and match.group().split()[0].casefold() not in FUNCTION_WORDS:
            return self._before_next_code(match.group()).rstrip(".")
        title = ""
        for item in self._tokens_from(position + 1):
            ends = item.tag.startswith("v") and item.tag != "vn" and (len(item.text) > 1 or item.text in "是讲有为")
            if not has_han(item.text) or ends or item.text[0] in "是为的在" or len(title) + len(item.text) > 16:
                break
            title += item.text
        return title.rstrip("和与及或")

    def _before_next_code(self, title: str) -> str:
        """The title up to another code: "Algebra and Geometry" of "Algebra and Geometry and SF1625 Calculus"."""
        for _class, _term, pattern in self.lexicon.keys:
            following = next((code for code in pattern.finditer(title) if _DIGIT_AND_LETTER.search(code.group())), None)
            if following is not None:
                title = _TRAILING_JOIN.sub("", title[: following.start()])
        return title

    def tokens_in(self, start: int, end: int) -> list[TaggedWord]:
        """The Chinese words that lie in the stretch."""
        found: list[TaggedWord] = []
        for item in self._tokens_from(start):
            if item.end > end:
                break
            found.append(item)
        return found

    def _tokens_from(self, position: int) -> Iterator[TaggedWord]:
        first = bisect_left(self.names.tokens, position, key=lambda item: item.start)
        yield from itertools.islice(self.names.tokens, first, None)

    def _suffixed(self) -> Iterator[TypedSpan]:
        for start, end, class_, word in names_with_suffix(self.names.tokens, self._suffixes):
            if re.fullmatch(r"[A-Z]*\d+[\u4e00-\u9fff]", self.text[start:end]):
                continue
            if (person := self._person_before(start, end - len(word), class_)) is not None:
                yield person
                continue
            start = self._tagged_start(start, end, word)
            if self.text[start - 1 : start] == "#" or _ROAD.match(self.text, end) or self._is_a_seat(start, end):
                continue
            yield TypedSpan(start, end, class_, strength=2)

    def _person_before(self, start: int, end: int, class_: NamedNode) -> TypedSpan | None:
        """The person whom a title follows, without the title: 钟毓敏 of 文学院钟毓敏老师."""
        person = self.lexicon.kinds.get("person")
        if person is None or not self.lexicon.ontology.is_a(class_, (person,)):
            return None
        first = bisect_left(self.names.tagged, end, key=lambda item: item.end)
        tagged = self.names.tagged[first] if first < len(self.names.tagged) else None
        if tagged is None or tagged.end != end or tagged.start < start or NAMED.get(tagged.tag) != "person":
            return None
        return TypedSpan(tagged.start, tagged.end, class_, strength=2)

    def _tagged_start(self, start: int, end: int, word: str) -> int:
        """Where the tagger has the name begin that ends there: 拱宸桥 of 从拱宸桥."""
        first = bisect_left(self.names.tagged, end, key=lambda item: item.end)
        tagged = self.names.tagged[first] if first < len(self.names.tagged) else None
        same = tagged is not None and tagged.end == end and end - tagged.start > len(word)
        return max(start, tagged.start) if tagged is not None and same else start

    def _is_a_seat(self, start: int, end: int) -> bool:
        """Whether a short name is also that of a city or county: 昆山 is no mountain where there is a 昆山市."""
        name = self.text[start:end]
        return end - start == 2 and any(
            name + area in self.text or self.known.get(name + area) is not None for area in _AREAS
        )

    def _titles(self) -> Iterator[TypedSpan]:
        if self.lexicon.titled is None:
            return
        for match in _TITLE_MARKS.finditer(self.text):
            yield TypedSpan(match.start(), match.end(), self.lexicon.titled, match[1], 6)

    def _tagged(self) -> list[TypedSpan]:
        """The names that the tagger finds, with the class of the ontology for what it takes them for, if any."""
        kinds = self.lexicon.kinds
        return [
            TypedSpan(item.start, item.end, self._told(item) or kinds.get(NAMED.get(item.tag, "")), strength=1)
            for item in self.names.tagged
            if self._names(item.start, item.end)
        ]

    def _told(self, item: TaggedName) -> NamedNode | None:
        """The class that the end of a place's or organisation's name says: 青岛站 is a station, 开封博物馆 a museum."""
        if NAMED.get(item.tag) not in ("place", "organisation"):
            return None
        words = self.text[item.start : item.end]
        ends = (words[-size:] for size in (4, 3, 2, 1) if size + (size == 1) < len(words))  # 昆山 is no mountain
        return next((self._suffixes[end] for end in ends if end in self._suffixes), None)

    def _names(self, start: int, end: int) -> bool:
        """Whether Chinese words name one thing: they are no class word, and say more than what is done or how it is."""
        words, suffixes = self.text[start:end], self.lexicon.han_suffixes
        return words not in suffixes and words not in STOP_TOKENS and not (describes(words) and words[-1] in suffixes)

    def _before_phrases(self, typed: list[TypedSpan]) -> Iterator[TypedSpan]:
        """What opens a Chinese clause and is followed by a form of a property: "知味观" in "知味观创办于1913年"."""
        pattern = self.lexicon.han_phrases
        for match in pattern.finditer(self.text) if pattern else ():
            opening = _HAN_CLAUSE.search(self.text[max(0, match.start() - 10) : match.start()])
            if opening is None:
                continue
            span = TypedSpan(match.start() - len(opening["name"]), match.start())
            words = self.tokens_in(span.start, span.end)
            plain = all(word.tag[0] not in "rpucdm" and word.text not in STOP_TOKENS for word in words)
            if plain and len(words) <= 4 and not points(opening["name"]) and not _overlaps_any(span, typed):
                yield replace(span, type=self._ending(opening["name"]), strength=1)

    def _ending(self, name: str) -> NamedNode | None:
        """The class of the class word that ends a Chinese name."""
        for length in range(min(4, len(name) - 2), 1, -1):
            if name[-length:] in self._suffixes:
                return self._suffixes[name[-length:]]
        return None

    def _part_of_another(self, span: TypedSpan, candidates: list[TypedSpan]) -> bool:
        """Whether a known word is only part of a longer name: "Transformer" in "the Vision Transformer"."""
        if " " in self.text[span.start : span.end] or has_han(self.text[span.start : span.end]):
            return False
        for item in candidates:
            if item.start < span.start and item.end == span.end:
                return not self._opens(item.start)
        return False

    def _capitalised(self) -> Iterator[TypedSpan]:
        for match in _CAPITALS.finditer(self.text):
            start, words = match.start(), match.group().split(" ")
            bracketed = self.text[start - 1 : start] in "(（" and self.text[match.end() : match.end() + 1] in ")）"
            while words and self._leads(words[0].casefold().rstrip("."), start, bracketed=bracketed and start > 0):
                start += len(words[0]) + 1
                words = words[1:]
            if all(w.casefold() in FUNCTION_WORDS or w[0].isdigit() for w in words) or not words[0][0].isupper():
                continue
            text = " ".join(words)
            trimmed = re.sub(r"(?:['’]s|\.)$", "", text) if not re.search(r"\b[A-Z]\.$", text) else text
            if self._worth(trimmed, start) or _INTRODUCED.match(self.text, start + len(trimmed)):
                yield TypedSpan(start, start + len(trimmed))

    def _leads(self, word: str, start: int, *, bracketed: bool) -> bool:
        """Whether a capitalised word only leads to the name: "The", or "Second" where it opens the sentence."""
        return word in _LEADING or (word in FUNCTION_WORDS and not bracketed and self._opens(start))

    def _opens(self, start: int) -> bool:
        return start == 0 or bool(_OPENING.search(self.text[max(0, start - 3) : start]))

    def _worth(self, text: str, start: int) -> bool:
        if " " in text or any(character.isupper() for character in text[1:]):
            return len(text) > 1
        if len(text) < 3:
            return False
        if not self._opens(start) or re.search(rf"[a-z,] \*{{0,2}}{re.escape(text)}\b", self.text):
            return True
        return self._capitals.get(text, 0) >= 3 and text.casefold() not in self._small

    # by what other names they go

    def _take_aliases(self, free: list[TypedSpan]) -> None:
        """Reads other names in parentheses and after "also called"; a class found on either side is good for both."""
        for span in [*self.names.spans, *free]:
            own = span.name or clean_name(self.text[span.start : span.end])
            found = [alias for alias in self._aliases_after(span) if alias.casefold() != own.casefold()]
            type_ = span.type or next((known.type for alias in found if (known := self._any(alias))), None)
            if type_ is None or not found:
                continue
            if span.type is None:
                self.names.spans.append(TypedSpan(span.start, span.end, type_, strength=1))
            for alias in found:
                self.names.aliases.setdefault(own, {})[alias] = None
                self.local.add(alias, type_, stands_for=own)

    def _any(self, name: str) -> KnownName | None:
        known = self.known.get(name) or self.local.get(name)
        if known is None and has_han(name):
            for length in range(min(4, len(name) - 1), 1, -1):
                if name[-length:] in self._suffixes:
                    return KnownName(self._suffixes[name[-length:]], name, capital=False)
        return known

    def _aliases_after(self, span: TypedSpan) -> Iterator[str]:
        rest = self.text[span.end : span.end + 102].removeprefix("**")
        match = PARENTHESIS.match(rest)
        if match:
            han = has_han(self.text[span.start : span.end])
            for part in re.split(r"[,，;；/、]", match[1]):
                if alias := _alias(part, self.text[span.start : span.end], han=han) or self._says_the_class(part, span):
                    yield alias
        match = _ALSO.match(rest)
        if match:
            yield match[1].strip()

    def _says_the_class(self, part: str, span: TypedSpan) -> str | None:
        """The part if its last word is of the class of the name, as Chinese is read: "(Tuisi Yuan)" after a garden."""
        alias = part.strip(" \"“”'‘’")
        if span.type is None or not re.fullmatch(r"[A-Z][\w'’]*(?: [A-Z][\w'’]*){1,3}", alias):
            return None
        heard = self.lexicon.heard_suffixes.get(alias.rpartition(" ")[2].casefold(), frozenset())
        return alias if any(self.lexicon.ontology.fits(span.type, (class_,)) for class_ in heard) else None

    def _learn(self, span: TypedSpan) -> None:
        """Makes the name, and what is left of it without a long class word, known for the rest of the document."""
        if span.type is None:
            return
        text = clean_name(self.text[span.start : span.end])
        self.local.add(text, span.type, stands_for=span.name or text, replace=False)
        short = self._short(text)
        if short and self.known.get(short) is None:
            self.local.add(short, span.type, stands_for=span.name or text, replace=False)

    def _short(self, text: str) -> str:
        if has_han(text):
            return ""
        words = text.split(" ")
        head = singular(words[-1].casefold())
        if len(words) != 2 or head not in self.lexicon.class_words or tokens(words[0])[0] in FUNCTION_WORDS:
            return ""
        if words[0].endswith(("'s", "’s")) or singular(words[0].casefold()) in self.lexicon.class_words:
            return ""
        return "" if re.search(rf"\b(?:in|from|of) {re.escape(words[0])}\b(?! [A-Z])", self.text) else words[0]


def clean_name(text: str) -> str:
    """A name without article, outer marks and line breaks."""
    name = " ".join(text.split()).strip(" .,;:，。；：、\"“”'‘’《》*_#")
    return re.sub(r"^(?:the|a|an)\s+(?=\S)", "", name, flags=re.IGNORECASE)


def _alias(part: str, name: str, *, han: bool) -> str | None:
    """The part of a parenthesis as another name; None for remarks."""
    text = _CALLED.sub("", part).strip(" \"“”'‘’「」")
    if not text or text.casefold() in FUNCTION_WORDS:
        return None
    if has_han(text):
        return text if re.fullmatch(r"[\u3400-\u9fff·]{2,12}", text) and (not han or part.strip() != text) else None
    words = text.split()
    capital = all(word[0].isupper() or word in ("of", "the", "and", "in", "de", "s") for word in words)
    if not capital or not re.fullmatch(r"[^\W\d_][\w'’ .&-]{1,60}", text) or re.search(r"\b(?:19|20)\d\d\b", text):
        return None
    initials = "".join(word[0] for word in re.split(r"[ -]", name) if word and word[0].isalpha())
    short = text.isupper() and " " not in text and text[0].casefold() == initials[:1].casefold()
    return (
        text
        if han or short or part.strip() != text or len(words) == len(name.split(" ")) or words[0] == name.split(" ")[0]
        else None
    )


def _overlaps_any(span: TypedSpan, others: list[TypedSpan]) -> bool:
    return any(span.start < other.end and other.start < span.end for other in others)


def _longest(spans: list[TypedSpan]) -> list[TypedSpan]:
    """The spans without those inside or across longer or, of equal length, stronger ones."""
    kept: list[TypedSpan] = []
    taken: set[int] = set()
    for span in sorted(
        spans, key=lambda item: (-(item.end - item.start) - 100 * (item.strength >= 5), -item.strength, item.start)
    ):
        places = range(span.start, span.end)
        if not taken.isdisjoint(places):
            continue
        taken.update(places)
        kept.append(span)
    return sorted(kept, key=lambda item: item.start)
