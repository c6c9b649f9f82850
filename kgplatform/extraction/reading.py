"""What is known of a document before statements are read from it: its names, its shape, and whom it is about."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from dataclasses import dataclass, field

from pyoxigraph import NamedNode

from kgplatform.extraction.byline import Byline, find_byline
from kgplatform.extraction.classing import Span
from kgplatform.extraction.lexicon import Cue, Lexicon, label_key
from kgplatform.extraction.names import NameFinder
from kgplatform.extraction.people import people_in
from kgplatform.extraction.structure import Section, bare_heading, sections, sentence_spans
from kgplatform.text import has_han, normalise
from kgplatform.types import Claim, Document, Mention, Refusal
from kgplatform.vocab import local_name

_MAX_REFUSALS = 200
_HEAD = 300
_WORD_LIST = re.compile(
    r"\b(?:glossary|terminology|vocabulary|dictionary|abbreviations|acronyms|legend)\b"
    r"|术语|词汇表|词典|缩略语|缩写表|名词解释|字段说明",
    re.IGNORECASE,
)


@dataclass(slots=True)
class Reading:
    """A document while it is read; ``text`` has the offsets of the document's text."""

    document: Document
    text: str
    lexicon: Lexicon
    finder: NameFinder
    mentions: list[Mention] = field(default_factory=list)
    strangers: list[Span] = field(default_factory=list)
    sentences: list[tuple[int, int]] = field(default_factory=list)
    sections: list[Section] = field(default_factory=list)
    main: Mention | None = None
    structured: bool = False
    byline: Byline | None = None
    claims: dict[tuple[str, str, str], Claim] = field(default_factory=dict)
    refused: dict[Refusal, int] = field(default_factory=dict)
    _starts: list[int] = field(default_factory=list)

    def refresh(self) -> None:
        """Takes over the names as the finder now has them."""
        self.mentions = [
            item
            for item in self.finder.mentions()
            if not self._in_byline(item.start, item.end) and not self._in_own_title(item)
        ]
        self.strangers = [item for item in self.finder.names.strangers if not self._in_byline(item.start, item.end)]
        self._starts = [mention.start for mention in self.mentions]

    def take(self, byline: Byline) -> None:
        """Keeps the byline; its lines are read as what they are and not as sentences."""
        self.byline = byline
        cut: list[tuple[int, int]] = []
        for start, end in self.sentences:
            cut += [(start, min(end, byline.start)), (max(start, byline.end), end)]
        self.sentences = [(start, end) for start, end in cut if self.text[start:end].strip()]
        self.refresh()

    def _in_byline(self, start: int, end: int) -> bool:
        return self.byline is not None and start < self.byline.end and self.byline.start < end

    def _in_own_title(self, mention: Mention) -> bool:
        """Whether a part of the title was taken for another work: "Study of Rivers" in "A Study of Rivers"."""
        title = self.document.title
        if mention.type != self.lexicon.titled or mention.start > len(title) + _HEAD or mention.name == title:
            return False
        start = self.text.find(title) if mention.name in title else -1
        return 0 <= start <= mention.start and mention.end <= start + len(title)

    def within(self, start: int, end: int) -> list[Mention]:
        """The mentions that begin in ``[start, end)``, in order."""
        return self.mentions[bisect_left(self._starts, start) : bisect_left(self._starts, end)]

    def before(self, position: int) -> list[Mention]:
        """The mentions that begin before the position, in order."""
        return self.mentions[: bisect_right(self._starts, position - 1)]

    def strange_between(self, start: int, end: int) -> bool:
        """Whether a name of unknown class lies in the stretch."""
        return any(start <= span.start and span.end <= end for span in self.strangers)

    def claim(self, claim: Claim) -> None:
        """Keeps the claim, once for each subject, property, object and place it is said."""
        object_ = claim.object.name if isinstance(claim.object, Mention) else str(claim.object)
        if isinstance(claim.object, Mention) and normalise(claim.object.name) == normalise(claim.subject.name):
            return
        key = (f"{claim.subject.name}\x1f{claim.start}", claim.predicate.value, object_)
        self.claims.setdefault(key, claim)

    def refuse(self, start: int, end: int, reason: str) -> None:
        """Keeps what was read but not accepted, with the reason and the place."""
        if len(self.refused) < _MAX_REFUSALS:
            self.refused.setdefault(Refusal(" ".join(self.document.text[start:end].split())[:300], reason), start)

    def label_cues(self, label: str) -> tuple[Cue, ...]:
        """The properties that a label or heading names; qualifying words before or after the name are overlooked."""
        text = bare_heading(label)
        if re.search(r"\b(?:and|or)\b|[&和与及]", text):
            return ()
        key = label_key(text)
        if has_han(key):
            return self.lexicon.labels.get(key) or self.lexicon.labels.get(key.replace("的", ""), ())
        words = key.split()
        for first in range(len(words)):
            if cues := self.lexicon.labels.get(" ".join(words[first:])):
                return cues if first <= 1 else ()
        if len(words) > 1 and words[-1].endswith("ed"):
            return self.lexicon.labels.get(" ".join(words[:-1]), ())
        return ()


def read_names(document: Document, text: str, lexicon: Lexicon, finder: NameFinder) -> Reading:
    """The document with its names found, its parts told apart, and its main entity, if it has one."""
    reading = Reading(document, text, lexicon, finder)
    finder.find()
    reading.refresh()
    reading.sentences = sentence_spans(text)
    reading.sections = sections(text, lambda words: bool(reading.label_cues(words)))
    reading.main = _main(reading)
    return reading


def settle_main(reading: Reading) -> None:
    """Finds the main entity again, when more names have a class than before."""
    if reading.main is None:
        reading.main = _most_named(reading)


def _main(reading: Reading) -> Mention | None:
    head = reading.document.title + "\n" + reading.text[:_HEAD]
    for class_, _, pattern in reading.lexicon.keys:
        match = pattern.search(reading.document.title)
        if match and re.search(r"\d", match.group()) and re.search(r"[A-Za-z]", match.group()):
            reading.structured = True
            named = next((item for item in reading.mentions if item.name == match.group()), None)
            return named or _placed(reading, match.group(), class_)
    voted = _class_by_labels(reading, head)
    byline = _byline_of(reading)
    if byline is not None and voted in (None, reading.lexicon.titled):
        reading.take(byline)
        voted = reading.lexicon.titled
    if voted is None and _is_described(reading):
        voted = reading.lexicon.titled
    if voted is not None and reading.document.title:
        reading.structured = True
        return _placed(reading, _own_title(reading), voted)
    return _most_named(reading)


def _byline_of(reading: Reading) -> Byline | None:
    """The byline, where the ontology knows works that have a title and authors."""
    return find_byline(reading.document.text) if _authored(reading) is not None else None


def _authored(reading: Reading) -> Cue | None:
    """The property from works that have a title to their authors."""
    titled = reading.lexicon.titled
    return reading.lexicon.best(reading.label_cues("Authors"), titled) if titled is not None else None


def _is_described(reading: Reading) -> bool:
    """Whether labels describe a work: one names its authors, and another says something else of it."""
    authored, lexicon, titled = _authored(reading), reading.lexicon, reading.lexicon.titled
    if authored is None or titled is None:
        return False
    ranges = {class_ for term in lexicon.ontology.properties_of(titled) for class_ in term.ranges}
    people = others = 0
    for line in (line for section in reading.sections for line in section.lines if line.kind == "label"):
        cue = lexicon.best(reading.label_cues(line.label), titled)
        if cue is not None and cue.term.iri == authored.term.iri:
            people += len(people_in(reading.document.text, line.start, line.end, told=True))
        elif cue is not None or lexicon.class_words.get(label_key(line.label)) in ranges:
            others += 1
    return bool(people and others)


def _own_title(reading: Reading) -> str:
    """The document's title; the lines above its byline where they say more, or where the title is a file's name."""
    title = _title_name(reading.document.title)
    above = _title_name(reading.byline.title) if reading.byline is not None else ""
    lines = {_title_name(line.strip("# ")) for line in reading.text.split("\n")}
    if not above or (title in lines and not normalise(above).startswith(normalise(title))):
        return title or above
    return above


def _class_by_labels(reading: Reading, head: str) -> NamedNode | None:
    """The class whose properties the labels and headings of the document name, if at least two of them do.

    A glossary explains such words and describes nothing by them.
    """
    if _WORD_LIST.search(reading.document.title):
        return None
    votes: Counter[NamedNode] = Counter()
    for section in reading.sections:
        labels = {line.label for line in section.lines if line.kind == "label"}
        labels |= {section.heading.text} if section.heading else set()
        for label in labels:
            votes.update({class_ for cue in reading.label_cues(label) for class_ in cue.term.domains})
    for class_, term, pattern in reading.lexicon.keys:
        if pattern.search(head) and re.search(rf"\b{re.escape(local_name(term.iri.value))[:4]}", head, re.IGNORECASE):
            votes[class_] += 2
    for match in re.finditer(r"\b[Tt]his (\w+)\b|本(论?文章?|课程|[\u4e00-\u9fff]{2})", reading.text[:6000]):
        word = match[1] or ("论文" if match[2] in ("文", "论文", "文章") else match[2])
        class_named = reading.lexicon.class_words.get(word) or reading.lexicon.han_suffixes.get(word)
        if class_named is not None and votes[class_named]:
            votes[class_named] += 1
    ranked = votes.most_common(2)
    if not ranked or ranked[0][1] < 3 or (len(ranked) > 1 and ranked[1][1] == ranked[0][1]):
        return None
    return ranked[0][0]


def _title_name(title: str) -> str:
    quoted = re.search(r"《([^》]+)》", title)
    return quoted[1] if quoted else " ".join(title.split()).strip(' *_#"“”')


def _placed(reading: Reading, name: str, class_: NamedNode) -> Mention:
    """A mention of the name at its first place in the text, else of the text's first line."""
    pattern = r"\s+".join(re.escape(word) for word in name.split())
    match = re.search(pattern, reading.text, re.IGNORECASE)
    start, end = match.span() if match else (0, len(reading.text.split("\n", 1)[0]))
    aliases = tuple(reading.finder.names.aliases.get(name, ()))
    return Mention(reading.document.text[start:end], start, end, class_, name, aliases)


def _most_named(reading: Reading) -> Mention | None:
    """The entity in the title that the text names most often."""
    title = reading.document.title
    found = {
        mention.name: mention for mention in reversed(reading.mentions) if mention.text.casefold() in title.casefold()
    }
    counts = Counter(mention.name for mention in reading.mentions)
    best = max(found, key=lambda name: (counts[name], -found[name].start), default=None)
    return found[best] if best is not None and counts[best] >= 2 else None
