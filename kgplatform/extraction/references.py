"""Words that stand for a name met before: "the temple", "it", "本文"; and whom a sentence without a name is about."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right

from kgplatform.extraction.reading import Reading
from kgplatform.ontology import OntologyProperty
from kgplatform.text import has_han
from kgplatform.types import Mention

_DEFINITE = re.compile(r"\b(?:[Tt]he|[Tt]his)\s([a-z]+(?:\s[a-z]+)?)\b")
_HAN_DEFINITE = re.compile(r"(?:本|该|这[家座个条]?)(论文|文|[\u4e00-\u9fff]{1,3})")
_PRONOUN = re.compile(r"(?:[\"“(*-]\s*)?(It|它)(?=[\s'’\u4e00-\u9fff])")
_CLAUSE = re.compile(r"[,，、;；:：]\s*")
_OBJECT_OF = re.compile(
    r"\b(?:in|from|at|near|on|to|by|than|like|unlike|around|via|with)\s(?:the\s)?"
    r"(?:[\w'’-]+(?:\s\w+)?\s(?:or|and)\s)?$"
)
_NEW_SUBJECT = re.compile(r":\s|\b(?:it|which|they|that|this|he|she|we|you|I)\b")
_TOPIC_TAGS = "njilgfsv"
_NO_TOPIC_WORDS = """
    景区 成人 旺季 淡季 平日 周末 大门 是 有 要 需 全价 单人 整体 去 最 可以 里 里面 内 建议 现在
"""
_NO_TOPIC = frozenset(_NO_TOPIC_WORDS.split())


class Referents:
    """Finds what definite descriptions and pronouns stand for in a document that is being read."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self._starts = [start for start, _ in reading.sentences]
        self._cache: dict[tuple[int, int], list[Mention]] = {}
        self._headings = [section.heading for section in reading.sections if section.heading is not None]
        self._breaks = [line.start for line in self._headings]

    def in_sentence(self, start: int, end: int) -> list[Mention]:
        """The names of the sentence and the words that stand for one, in order."""
        if (start, end) not in self._cache:
            found = self.reading.within(start, end)
            found = [*found, *self._definite(start, end, found), *self._pronoun(start, end)]
            self._cache[(start, end)] = sorted(found, key=lambda mention: mention.start)
        return self._cache[(start, end)]

    def _definite(self, start: int, end: int, found: list[Mention]) -> list[Mention]:
        text, lexicon = self.reading.text, self.reading.lexicon
        stand_ins: list[Mention] = []
        for match in _DEFINITE.finditer(text, start, end):
            words = match[1].split()
            for phrase in (match[1], words[0]):
                class_ = lexicon.class_words.get(phrase)
                stop = match.start(1) + len(phrase)
                if class_ is None or any(mention.start < stop and match.start() < mention.end for mention in found):
                    continue
                if (
                    antecedent := self._last(class_, match.start(), this=match.group().lower().startswith("this"))
                ) is not None:
                    stand_ins.append(self._stand_in(match.start(), stop, antecedent))
                break
        for match in _HAN_DEFINITE.finditer(text, start, end):
            word = "论文" if match[1] in ("文", "论文") else match[1]
            for length in range(len(word), 0, -1):
                class_ = lexicon.han_suffixes.get(word[:length])
                antecedent = self._last(class_, match.start(), this=True) if class_ is not None else None
                if antecedent is not None:
                    stop = match.start(1) + (len(match[1]) if word != match[1] else length)
                    stand_ins.append(self._stand_in(match.start(), stop, antecedent))
                    break
        return stand_ins

    def _last(self, class_: object, position: int, *, this: bool) -> Mention | None:
        """The nearest name before of that class; the main entity where "this" can mean it."""
        ontology, main = self.reading.lexicon.ontology, self.reading.main
        if main is not None and main.type == class_:
            return main
        if this:
            return None
        low = self._paragraph(position)
        for mention in reversed(self.reading.before(position)):
            if mention.start < low:
                return None
            if class_ in ontology.superclasses(mention.type):
                return mention
        return None

    def _paragraph(self, position: int) -> int:
        """Where to stop looking back: two paragraphs up, never above the last heading."""
        up = self.reading.text.rfind("\n\n", 0, position)
        up = self.reading.text.rfind("\n\n", 0, up) if up > 0 else 0
        index = bisect_right(self._breaks, position) - 1
        return max(up, self._breaks[index] if index >= 0 else 0, 0)

    def _pronoun(self, start: int, end: int) -> list[Mention]:
        match = _PRONOUN.match(self.reading.text, start, end)
        before = self._previous(start)
        if match is None or before is None:
            return []
        mentions = self.in_sentence(*before)
        if not mentions or mentions[0].start - before[0] > 25:
            return []
        return [self._stand_in(match.start(1), match.end(1), mentions[0])]

    def _previous(self, start: int) -> tuple[int, int] | None:
        index = bisect_left(self._starts, start) - 1
        if index < 0:
            return None
        before = self.reading.sentences[index]
        return None if "\n" in self.reading.text[before[1] : start] else before

    def _stand_in(self, start: int, end: int, antecedent: Mention) -> Mention:
        text = self.reading.document.text[start:end]
        return Mention(text, start, end, antecedent.type, antecedent.name, antecedent.aliases)

    # whom a fact is about

    def subject(
        self, term: OntologyProperty, mentions: list[Mention], sentence: tuple[int, int], position: int
    ) -> Mention | None:
        """Whom a property said at the position is about: a name in its sentence, its heading, the title."""
        ontology, text = self.reading.lexicon.ontology, self.reading.text
        start = sentence[0]
        fitting = [
            item
            for item in mentions
            if item.start < position
            and ontology.is_a(item.type, term.domains)
            and not self._aside(item, mentions, start)
        ]
        resumed = self._resumed(fitting, sentence, position)
        if resumed is not None:
            return resumed
        if fitting:
            nearest = self._outermost(fitting)
            between = text[fitting[-1].end : position]
            if self.reading.strange_between(fitting[-1].end, position) or re.search(r"[;；。]", between):
                return None
            if self._other_topic(fitting[-1].end, position) or _NEW_SUBJECT.search(between):
                return None
            return nearest if len(between) <= 120 else None
        if any(item.start < position for item in mentions) or self.reading.strange_between(start, position):
            return None
        if self._other_topic(start, position):
            return None
        return self._carried(term, sentence, position)

    def _resumed(self, fitting: list[Mention], sentence: tuple[int, int], position: int) -> Mention | None:
        """Whom a later clause of a Chinese sentence goes on about: "楼外楼在西湖边,始建于…" about the first name."""
        text = self.reading.text
        for topic in reversed(fitting):
            lead = re.split(r"[,，:：。;；]", text[sentence[0] : topic.start])[-1]
            between = text[topic.end : position]
            if len(lead) > 2 or not has_han(topic.text) or len(re.findall("[,，]", between)) > 3:
                continue
            opens = re.search(r"[,，]\s?[就也都又]?$", between) or re.match(r"\*{0,2}由[^,，。;；]{1,16}$", between)
            return topic if opens and not re.search(r"[。;；!！?？]", between) else None
        return None

    def _aside(self, mention: Mention, mentions: list[Mention], start: int) -> bool:
        """Whether the name only says where or than what: not what an English sentence is about."""
        lead = self.reading.text[max(start, mention.start - 40) : mention.start]
        if re.search(r"\bof\s(?:the\s)?$", lead):
            earlier = any(item.start < mention.start for item in mentions)
            return earlier or self.reading.strange_between(start, mention.start)
        return bool(_OBJECT_OF.search(lead))

    def _main_near(self, position: int) -> bool:
        """Whether the paragraph names the main entity before the position."""
        low = max(self.reading.text.rfind("\n\n", 0, position), 0)
        main = self.reading.main
        return main is not None and any(item.name == main.name for item in self.reading.within(low, position))

    def _outermost(self, fitting: list[Mention]) -> Mention:
        """The last name, or the one it qualifies: in "西栅的白莲塔" the last, in "the museum in Dongzha" the first."""
        last = fitting[-1]
        if has_han(last.text) or has_han(self.reading.text[last.end : last.end + 3]):
            clause = max(self.reading.text.rfind(sign, 0, last.start) for sign in ",，。;；:：\n")
            return next(item for item in fitting if item.start > clause)
        for earlier in reversed(fitting[:-1]):
            gap = self.reading.text[earlier.end : last.start]
            if not re.fullmatch(
                r"(?:\s?[（(][^()（）]{0,60}[)）])?,?\s(?:is\s|stands\s|lies\s)?(?:on|in|at|near|beside)\s(?:the\s)?|\s?[（(]",
                gap,
            ):
                break
            last = earlier
        return last

    def _other_topic(self, start: int, position: int) -> bool:
        """Whether the Chinese clause of the position has a noun of its own in front: "东栅" in "东栅门票110元"."""
        text = self.reading.text
        if not has_han(text[start : position + 4]):
            return False
        clauses = _CLAUSE.split(text[start:position])
        if len(clauses) > 4:
            return True
        low = position - len(clauses[-1])
        return any(
            token.tag[:1] in _TOPIC_TAGS and token.text not in _NO_TOPIC and has_han(token.text)
            for token in self.reading.finder.tokens_in(low, position)
        )

    def _carried(self, term: OntologyProperty, sentence: tuple[int, int], position: int) -> Mention | None:
        """The subject of the sentence before, of the heading, or of the document, where the sentence names none."""
        ontology = self.reading.lexicon.ontology
        lead = self.reading.text[sentence[0] : position]
        if len(lead) > (12 if has_han(lead) else 40):
            return None
        before = self._previous(sentence[0])
        if before is not None:
            fitting = [item for item in self.in_sentence(*before) if ontology.is_a(item.type, term.domains)]
            if len({item.name for item in fitting}) == 1 and fitting[0].start - before[0] <= 25:
                return fitting[0]
            if fitting or (self.reading.strange_between(*before) and not self._main_near(sentence[0])):
                return None
        index = bisect_right(self._breaks, sentence[0]) - 1
        if index >= 0:
            line = self._headings[index]
            named = [
                item for item in self.reading.within(line.start, line.end) if ontology.is_a(item.type, term.domains)
            ]
            if named:
                return named[-1]
            if self.reading.strange_between(line.start, line.end):
                return None
        main = self.reading.main
        if main is None or not ontology.is_a(main.type, term.domains):
            return None
        if self.reading.structured:
            return main
        recent = (item for item in reversed(self.reading.before(position)) if ontology.is_a(item.type, term.domains))
        last = next(recent, main)
        return main if last.name == main.name else None
