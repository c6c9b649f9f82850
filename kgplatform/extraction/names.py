"""Names in a document: where they are, of which class, and by what other names the same thing goes.

Every rule asks the ontology's own words. A name gets a class because the entity is known, because a class word
ends or begins it ("Lingyin Temple", "灵隐寺", "Lake Tai"), because an apposition says so ("Xitang, a water
town"), because it has the form of a key ("SF1625"), or because one of its other names has a class.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from pyoxigraph import NamedNode

from kgplatform.extraction.chinese import PROPER_TAGS, STOP_TOKENS, Token, describes, names_with_suffix, points, tag
from kgplatform.extraction.classing import PARENTHESIS, NameClasses, Span
from kgplatform.extraction.gazetteer import Gazetteer, Known
from kgplatform.extraction.lexicon import FUNCTION_WORDS, Lexicon, tokens
from kgplatform.text import has_han, singular
from kgplatform.types import Mention

_WORD = r"(?:[A-Z][\w'’]*(?:[-–&.][\w'’]+)*|[A-Z]\.)"
_NUMBER = r"\d[\w.]*(?=[ ,.;:)]|$)"
_JOIN = r"(?:of[ ]the|of|the|and[ ]the|de|du|des|von|van|&|within[ ]a)"
_SHORTENED = r"(?:I|We|You|He|She|It|They|That|There|Here|What|Who|Let|Don|Can|Won|Isn|Doesn)['’](?:ve|m|d|ll|re|s|t)\b"
_CAPITALS = re.compile(rf"(?<![\w#@/.])(?!{_SHORTENED}){_WORD}(?:(?:[ ]{_JOIN})?[ ]{_WORD}|[ ]{_NUMBER})*")
_TITLE = re.compile(rf"{_WORD}(?:(?:[ ](?:{_JOIN}|in|for|and|with|to|a|an|by|on)){{0,2}}[ ]{_WORD}|[ ]{_NUMBER})*")
_ALSO = re.compile(
    r",?\s?(?:\(?(?:a\.?k\.?a\.?|also (?:known as|called)|or simply)\s|[，,]?(?:又|也|俗)[名称叫作]{1,2}|[，,]?简称)"
    r"[“\"「]?([A-Z][\w'’-]*(?:[ ][A-Z][\w'’-]*){0,5}|[\u4e00-\u9fff]{2,8}?(?=[，。,.、；;”」)）]))"
)
_TRAILING_JOIN = re.compile(r"(?:[\s,;]+|\s+(?:and|or|och|&))+$", re.IGNORECASE)
_TITLE_MARKS = re.compile(r"《([^《》\n]{2,160})》")
_LEADING_WORDS = (
    "the a an this that these those in on at from to of by for with and or but as if when while where after before its "
    "his her their our my your it he she we they i you"
)
_LEADING = frozenset(_LEADING_WORDS.split())
_OPENING = re.compile(r"(?:[.!?:\n•*#>|\"“(–—-]\s*|^)$")
_INTRODUCED = re.compile(
    r"(?:\s?[（(][^()（）\n]{1,60}[)）])?"
    r"(?:, (?:an?|the) |\*{0,2} (?:is an? |is located|lies |belongs to|stands |is in ))"
)
_ROAD = re.compile(r"[东西南北中]?[街路巷弄道](?!口)|大道|大街")
_HAN_CLAUSE = re.compile(r"(?:^|[\n。！？!?；;,，:：、📍①-⑳】\s])(?P<name>[\u3400-\u9fff·]{2,8})$")
_MARKED = re.compile(
    r"\*\*(?P<bold>[\u3400-\u9fff·]{2,6})\*\*|【(?P<boxed>[\u3400-\u9fff·]{2,6})】"
    r"|^[^\n:：]{0,14}[:：]\s?(?P<tail>[\u3400-\u9fff·]{2,6})\s*$"
    r"|^\s*(?:[①-⑳]|[-*•]|\d{1,2}[.、)])\s*(?P<item>[\u3400-\u9fff·]{2,6})(?=[:：(（,，])",
    re.MULTILINE,
)
_AREAS = "市县"
_NO_NOUNS = frozenset(("v", "vd", "d", "p", "c", "r", "u", "ud", "df"))
_LONGER = re.compile(r"[ ](?:North|South|East|West|Central)\b")
_DIGIT_AND_LETTER = re.compile(r"(?=.*\d)(?=.*[A-Za-z])")


@dataclass(slots=True)
class Names:
    """What was found: names by class, names without, and the other names of each."""

    spans: list[Span] = field(default_factory=list)
    strangers: list[Span] = field(default_factory=list)
    aliases: dict[str, dict[str, None]] = field(default_factory=dict)
    tokens: list[Token] = field(default_factory=list)


class NameFinder:
    """Finds the names of one document; ``text`` has single line breaks inside paragraphs made blanks."""

    def __init__(self, text: str, lexicon: Lexicon, known: Gazetteer) -> None:
        self.text = text
        self.lexicon = lexicon
        self.known = known
        self.local = Gazetteer()
        self._classes = NameClasses(text, lexicon, known)
        self.names = Names(tokens=tag(text) if has_han(text) else [])
        found = re.findall(r"[^\W\d_\u3400-\u9fff]{3,}", text)
        self._capitals = Counter(word for word in found if word[0].isupper())
        closed = {type_ for individual in lexicon.ontology.individuals.values() for type_ in individual.types}
        # 三潭印月 is no month: the things of a closed list are those on it
        self._suffixes = {word: class_ for word, class_ in lexicon.han_suffixes.items() if class_ not in closed}
        self._small = frozenset(word for word in found if word[0].islower()) | FUNCTION_WORDS

    def find(self) -> Names:
        """The names, none inside another; typed ones first, longer ones before shorter."""
        candidates = list(self._capitalised())
        known = [item for item in self._known(self.known) if not self._part_of_another(item, candidates)]
        typed = [*known, *self._codes(), *self._suffixed(), *self._titles()]
        typed += [span for item in candidates if (span := self._classes.headed(item))]
        free = [item for item in candidates if not _overlaps_any(item, typed)]
        typed += [span for item in free if (span := self._classes.apposed(item))]
        opening = list(self._before_phrases(typed))
        typed += [item for item in opening if item.type]
        free += [*self._proper_nouns(), *self._marked(), *(item for item in opening if not item.type)]
        self.names.spans = _longest(typed)
        self._take_aliases(free)
        for span in self.names.spans:
            self._learn(span)
        self.settle(free)
        return self.names

    def settle(self, strangers: list[Span]) -> None:
        """Gives every name in the document the class that it has anywhere in it; the rest stay strangers."""
        again = [*self.names.spans, *self._known(self.local)]
        self.names.spans = _longest(again)
        self.names.strangers = [span for span in _longest(strangers) if not _overlaps_any(span, self.names.spans)]

    def learn(self, span: Span, type_: NamedNode) -> None:
        """Notes the class of a stranger, for all its occurrences; `settle` applies it. A Chinese verb is no name."""
        words = self.tokens_in(span.start, span.end)
        if len(words) == 1 and words[0].tag in _NO_NOUNS:
            return
        self.local.add(self.text[span.start : span.end], type_)

    def mentions(self) -> list[Mention]:
        """The typed names as mentions, in the order of the text."""
        return [self._mention(span) for span in sorted(self.names.spans, key=lambda span: span.start) if span.type]

    def _mention(self, span: Span) -> Mention:
        text = self.text[span.start : span.end]
        name = span.name or clean_name(text)
        assert span.type is not None
        aliases = [alias for alias in self.names.aliases.get(name, ()) if alias != name]
        return Mention(text, span.start, span.end, span.type, name, tuple(aliases))

    # where names are

    def _known(self, gazetteer: Gazetteer) -> Iterator[Span]:
        for start, end, known in gazetteer.find(self.text):
            if has_han(self.text[start:end]) and (
                (end - start == 2 and self._inside_token(start, end)) or _ROAD.match(self.text, end)
            ):
                continue
            if gazetteer is self.local and _LONGER.match(self.text, end) and " " not in self.text[start:end]:
                continue
            yield Span(start, end, known.type, self._canonical(known, start, end), 3)

    def _canonical(self, known: Known, start: int, end: int) -> str:
        written = clean_name(self.text[start:end])
        return known.name if known.name.casefold() != written.casefold() else written

    def _inside_token(self, start: int, end: int) -> bool:
        return any(
            item.start <= start and end <= item.end and len(item.text) > end - start for item in self._near(start)
        )

    def _near(self, position: int) -> list[Token]:
        first = bisect_left(self.names.tokens, position + 1, key=lambda item: item.end)
        return self.names.tokens[first : first + 2]

    def _codes(self) -> Iterator[Span]:
        for class_, _term, pattern in self.lexicon.keys:
            for match in pattern.finditer(self.text):
                if not _DIGIT_AND_LETTER.search(match.group()) or self._is_labelled(match.start()):
                    continue
                title = self._title_after(match.end())
                if title:
                    self.names.aliases.setdefault(match.group(), {})[title] = None
                    self.local.add(title, class_, stands_for=match.group())
                end = match.end() + (1 + len(title) if title else 0)
                yield Span(match.start(), end, class_, match.group(), 5)

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

    def tokens_in(self, start: int, end: int) -> list[Token]:
        """The Chinese words that lie in the stretch."""
        found: list[Token] = []
        for item in self._tokens_from(start):
            if item.end > end:
                break
            found.append(item)
        return found

    def _tokens_from(self, position: int) -> Iterator[Token]:
        first = bisect_left(self.names.tokens, position, key=lambda item: item.start)
        yield from itertools.islice(self.names.tokens, first, None)

    def _suffixed(self) -> Iterator[Span]:
        for start, end, class_, _ in names_with_suffix(self.names.tokens, self._suffixes):
            if re.fullmatch(r"[A-Z]*\d+[\u4e00-\u9fff]", self.text[start:end]):
                continue
            if self.text[start - 1 : start] == "#" or _ROAD.match(self.text, end) or self._is_a_seat(start, end):
                continue
            yield Span(start, end, class_, strength=2)

    def _is_a_seat(self, start: int, end: int) -> bool:
        """Whether a short name is also that of a city or county: 昆山 is no mountain where there is a 昆山市."""
        name = self.text[start:end]
        return end - start == 2 and any(
            name + area in self.text or self.known.get(name + area) is not None for area in _AREAS
        )

    def _titles(self) -> Iterator[Span]:
        if self.lexicon.titled is None:
            return
        for match in _TITLE_MARKS.finditer(self.text):
            yield Span(match.start(), match.end(), self.lexicon.titled, match[1], 6)

    def _proper_nouns(self) -> list[Span]:
        return [
            Span(item.start, item.end)
            for item in self.names.tokens
            if item.tag in PROPER_TAGS
            and item.tag != "eng"
            and len(item.text) >= 2
            and item.text not in self.lexicon.han_suffixes
            and not (describes(item.text) and item.text[-1] in self.lexicon.han_suffixes)
        ]

    def _marked(self) -> Iterator[Span]:
        """Short Chinese words that head a line or are set apart in it, and that the text says again."""
        for match in _MARKED.finditer(self.text):
            group = match.lastgroup or "tail"
            name = match[group]
            label = name in self.lexicon.labels or name in self.lexicon.han_suffixes or name in STOP_TOKENS
            if not label and self.text.count(name) > 1:
                for place in itertools.islice(re.finditer(name, self.text), 40):
                    yield Span(*place.span())

    def _before_phrases(self, typed: list[Span]) -> Iterator[Span]:
        """What opens a Chinese clause and is followed by a form of a property: "知味观" in "知味观创办于1913年"."""
        pattern = self.lexicon.han_phrases
        for match in pattern.finditer(self.text) if pattern else ():
            opening = _HAN_CLAUSE.search(self.text[max(0, match.start() - 10) : match.start()])
            if opening is None:
                continue
            span = Span(match.start() - len(opening["name"]), match.start())
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

    def _part_of_another(self, span: Span, candidates: list[Span]) -> bool:
        """Whether a known word is only part of a longer name: "Transformer" in "the Vision Transformer"."""
        if " " in self.text[span.start : span.end] or has_han(self.text[span.start : span.end]):
            return False
        for item in candidates:
            if item.start < span.start and item.end == span.end:
                return not self._opens(item.start)
        return False

    def _capitalised(self) -> Iterator[Span]:
        for match in _CAPITALS.finditer(self.text):
            start, words = match.start(), match.group().split(" ")
            bracketed = self.text[start - 1 : start] in "(（" and self.text[match.end() : match.end() + 1] in ")）"
            while words and self._leads(words[0].casefold().rstrip("."), start, bracketed=bracketed and start > 0):
                start += len(words[0]) + 1
                words = words[1:]
            if not words or not words[0][0].isupper() or all(_is_no_name(word) for word in words):
                continue
            text = " ".join(words)
            trimmed = re.sub(r"(?:['’]s|\.)$", "", text) if not re.search(r"\b[A-Z]\.$", text) else text
            if self._worth(trimmed, start) or _INTRODUCED.match(self.text, start + len(trimmed)):
                yield Span(start, start + len(trimmed))

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

    def _take_aliases(self, free: list[Span]) -> None:
        """Reads other names in parentheses and after "also called"; a class found on either side is good for both."""
        for span in [*self.names.spans, *free]:
            own = span.name or clean_name(self.text[span.start : span.end])
            found = [alias for alias in self._aliases_after(span) if alias.casefold() != own.casefold()]
            type_ = span.type or next((known.type for alias in found if (known := self._any(alias))), None)
            if type_ is None or not found:
                continue
            if span.type is None:
                self.names.spans.append(Span(span.start, span.end, type_, strength=1))
            for alias in found:
                self.names.aliases.setdefault(own, {})[alias] = None
                self.local.add(alias, type_, stands_for=own)

    def _any(self, name: str) -> Known | None:
        known = self.known.get(name) or self.local.get(name)
        if known is None and has_han(name):
            for length in range(min(4, len(name) - 1), 1, -1):
                if name[-length:] in self._suffixes:
                    return Known(self._suffixes[name[-length:]], name, capital=False)
        return known

    def _aliases_after(self, span: Span) -> Iterator[str]:
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

    def _says_the_class(self, part: str, span: Span) -> str | None:
        """The part if its last word is of the class of the name, as Chinese is read: "(Tuisi Yuan)" after a garden."""
        alias = part.strip(" \"“”'‘’")
        if span.type is None or not re.fullmatch(r"[A-Z][\w'’]*(?: [A-Z][\w'’]*){1,3}", alias):
            return None
        heard = self.lexicon.heard_suffixes.get(alias.rpartition(" ")[2].casefold(), frozenset())
        return alias if any(self.lexicon.ontology.fits(span.type, (class_,)) for class_ in heard) else None

    def _learn(self, span: Span) -> None:
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


def _is_no_name(word: str) -> bool:
    return word.casefold() in FUNCTION_WORDS or word[0].isdigit()


def clean_name(text: str) -> str:
    """A name without article, outer marks and line breaks."""
    name = " ".join(text.split()).strip(" .,;:，。；：、\"“”'‘’《》*_#")
    return re.sub(r"^(?:the|a|an)\s+(?=\S)", "", name, flags=re.IGNORECASE)


def _alias(part: str, name: str, *, han: bool) -> str | None:
    """The part of a parenthesis as another name; None for remarks."""
    text = re.sub(r"^\s*(?:a\.?k\.?a\.?|also|or|又名|又称|又叫|简称|英文名?|in Chinese:?)\s*[:：]?\s*", "", part).strip(
        " \"“”'‘’「」"
    )
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


def _overlaps_any(span: Span, others: list[Span]) -> bool:
    return any(span.start < other.end and other.start < span.end for other in others)


def _longest(spans: list[Span]) -> list[Span]:
    """The spans without those inside or across longer or, of equal length, stronger ones."""
    kept: list[Span] = []
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
