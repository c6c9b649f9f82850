"""A document while it is read: its lines and sections, its names, its main entity, and what pronouns stand for."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from pyoxigraph import NamedNode

from kgplatform.extraction.han_tagger import NAMED
from kgplatform.extraction.names import CERTAIN, MentionFinder, TypedSpan
from kgplatform.extraction.ontology_lexicon import Cue, Lexicon, label_key
from kgplatform.extraction.people import Byline, find_byline, people_in
from kgplatform.extraction.sentence_network import ScoredSentence, ScoredSpan, SentenceNetwork, seen_sentence
from kgplatform.lexicon import LexiconSection
from kgplatform.text import has_han, language_of, normalise, sentences
from kgplatform.types import Claim, Document, Mention, Refusal
from kgplatform.vocab import local_name

# Lines and sections

_HEADING = re.compile(r"^\s*(?:#{1,6}\s+(?P<marked>.+?)\s*#*|【(?P<boxed>[^】]{1,40})】)\s*$")
_LEXICON: Final = LexiconSection("extraction", "context")
_NUMBERED = _LEXICON.pattern("numbered")
_ITEM = re.compile(r"^\s*(?:[-•●▪◦‣·>]|\*(?!\*)|\[\d{1,3}\]|\d{1,3}[.)、]|[①-⑳])\s*(?=\S)")
_LABEL = re.compile(
    r"^(?P<label>[^:：|\n。.!?]{1,40}?)\s*(?:\*\*)?\s*(?:[:：](?!(?<=\d[:：])\d)|\|)\s*(?:\*\*)?\s*(?P<value>\S[^\n]*)$"
)
_MARKS = re.compile(r"^[\s*_|#>-]+")
_RUN_IN = re.compile(r"[ \t]*(\*\*|__)(?P<name>[^\s*_][^*_\n]{1,60})(?<!\s)\1(?!\s*[:：])(?=.*\w)")
_MAX_BARE_HEADING: Final = 60
_MAX_SENTENCE: Final = 1500  # what has no end for longer is no sentence; reading it would take time with its square


@dataclass(frozen=True, slots=True)
class TextLine:
    """A line: ``kind`` is ``heading``, ``label``, ``item``, ``row`` or ``text``; its content begins at ``start``."""

    kind: str
    start: int
    end: int
    text: str
    label: str = ""


@dataclass(frozen=True, slots=True)
class DocumentSection:
    """A heading with the lines below it, up to the next heading of any rank."""

    heading: TextLine | None
    lines: tuple[TextLine, ...]


_WHOLE_WIDTH: Final = dict(zip(",:;!?", "，：；！？", strict=True))
_HALF_WIDTH: Final = re.compile(r"(?<=[\u3400-\u9fff”」』）)])[,:;!?]|[,;!?](?=[\u3400-\u9fff“「『])")


def flowing(text: str) -> str:
    """The text with line breaks inside a paragraph made blanks, and half-width commas between Chinese in full width.

    Offsets stay what they are. A break counts as inside when the line before it is long and the next one begins in
    small letters or midway.
    """
    lines = text.split("\n")
    pieces: list[str] = []
    for number, line in enumerate(lines[:-1]):
        following = lines[number + 1]
        inside = len(line) >= 60 and following.strip() and not _ITEM.match(following) and not _HEADING.match(following)
        inside = (
            inside and not _LABEL.match(following) and not following.lstrip().startswith("|") and " | " not in following
        )
        han = has_han(line[-1:]) and has_han(following[:1])
        pieces.append(line + (" " if inside and not han and not line.startswith("#") else "\n"))
    flowing = "".join(pieces) + lines[-1]
    return _HALF_WIDTH.sub(lambda match: _WHOLE_WIDTH[match.group()], flowing) if language_of(text) == "zh" else flowing


def lines_of(text: str) -> Iterator[TextLine]:
    """The lines of the text that hold something, each with its kind."""
    position = 0
    for raw in text.split("\n"):
        if raw.strip():
            yield _line(raw, position)
        position += len(raw) + 1


def _line(raw: str, position: int) -> TextLine:
    end = position + len(raw.rstrip())
    heading = _HEADING.match(raw)
    if heading:
        group = "marked" if heading["marked"] else "boxed"
        return TextLine("heading", position + heading.start(group), position + heading.end(group), heading[group])
    item = _ITEM.match(raw)
    start = position + (item.end() if item else len(raw) - len(raw.lstrip()))
    marks = _MARKS.match(raw, start - position)
    start += marks.end() - (start - position) if marks else 0
    content = raw[start - position :].rstrip()
    if content.count("|") >= 2 or set(content) <= set("|-: "):
        return TextLine("row", start, end, content)
    label = _LABEL.match(content)
    if label and not re.match(r"https?$|\d+$", label["label"]):
        return TextLine("label", start + label.start("value"), end, label["value"], label["label"].strip(" *"))
    if item:
        return TextLine("item", start, end, content)
    return TextLine("text", start, end, content)


def sections(text: str, is_label: Callable[[str], bool]) -> list[DocumentSection]:
    """The text cut at its headings; a short bare line counts as a heading if ``is_label`` knows its words.

    So do words in bold that a paragraph begins with.
    """
    found: list[DocumentSection] = []
    heading: TextLine | None = None
    lines: list[TextLine] = []
    for line in lines_of(text):
        bare = (
            line.kind in ("text", "item") and len(line.text) <= _MAX_BARE_HEADING and is_label(bare_heading(line.text))
        )
        run_in = _RUN_IN.match(text, text.rfind("\n", 0, line.start) + 1) if line.kind == "text" else None
        if line.kind == "heading" or bare or run_in:
            found.append(DocumentSection(heading, tuple(lines)))
            heading, lines = line, []
        if run_in:
            heading, lines = TextLine("heading", *run_in.span("name"), run_in["name"]), [line]
        elif heading is not line:
            lines.append(line)
    found.append(DocumentSection(heading, tuple(lines)))
    return found


def bare_heading(text: str) -> str:
    """The words of a heading without its number and marks."""
    return _NUMBERED.sub("", text.strip(" *#:：")).strip()


def sentence_spans(text: str) -> list[tuple[int, int]]:
    """The sentences of the text, cut at line ends too: where lines flow on, `flowing` has joined them."""
    found: list[tuple[int, int]] = []
    for start, end in sentences(text):
        position = start
        for piece in text[start:end].split("\n"):
            if piece.strip():
                left = len(piece) - len(piece.lstrip())
                stop = position + len(piece.rstrip())
                for first in range(position + left, stop, _MAX_SENTENCE):
                    found.append((first, min(first + _MAX_SENTENCE, stop)))
            position += len(piece) + 1
    return found


# A document while it is read

_MAX_REFUSALS = 200
_HEAD = 300
_NAMED_SHARE = 0.5
_TYPED_SHARE: Final = 0.7
"""From this share on a stretch becomes a name of the likely class (P .93 in English, .77 in Chinese)."""
_NO_NAME: Final = 0.2
_OPENED: Final = re.compile(r"\s?[(（]$")
"""Below this share at every place a name is taken back."""
_AT_ONCE, _KEPT = 64, 256
WORD_LIST = _LEXICON.pattern("word_list", re.IGNORECASE)


@dataclass(slots=True)
class DocumentReading:
    """A document while it is read; ``text`` has the offsets of the document's text."""

    document: Document
    text: str
    lexicon: Lexicon
    finder: MentionFinder
    network: SentenceNetwork | None = None
    takes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """What the examples that were learnt from have as the ends of each property, beside what the ontology admits."""
    classes: Mapping[str, tuple[NamedNode, ...]] = field(default_factory=dict)
    """Of which class these are where nothing else tells it."""
    mentions: list[Mention] = field(default_factory=list)
    strangers: list[TypedSpan] = field(default_factory=list)
    sentences: list[tuple[int, int]] = field(default_factory=list)
    sections: list[DocumentSection] = field(default_factory=list)
    main: Mention | None = None
    structured: bool = False
    byline: Byline | None = None
    claims: dict[tuple[str, str, str], Claim] = field(default_factory=dict)
    refused: dict[Refusal, int] = field(default_factory=dict)
    possible: dict[tuple[str, str, str], Claim] = field(default_factory=dict)
    labelled: frozenset[tuple[str, str, str]] = frozenset()
    """The claims of labels, tables and bylines; the others are of sentences."""
    told: list[tuple[int, int]] = field(default_factory=list)
    """Where the columns of a table say what a number is: it is no amount of a sentence."""
    headers: list[tuple[int, int]] = field(default_factory=list)
    """The rows that name the columns of a table: nothing is stated there."""
    _starts: list[int] = field(default_factory=list)
    _scored: list[ScoredSentence] = field(default_factory=list)

    def refresh(self) -> None:
        """Takes over the names as the finder now has them."""
        self.mentions = [
            item
            for item in self.finder.mentions()
            if not self._in_byline(item.start, item.end) and not self._in_own_title(item)
        ]
        self.strangers = [item for item in self.finder.names.strangers if not self._in_byline(item.start, item.end)]
        self._starts = [mention.start for mention in self.mentions]

    def scored(self) -> Iterator[ScoredSentence]:
        """The sentences as the network sees them, in order; none without the sentence model.

        What the words of a long text are to the network is large, so it is not kept.
        """
        if self.network is None or self._scored:
            yield from self._scored
            return
        tagged, labels = self.finder.names.tagged, self.lexicon.class_labels.rows
        for first in range(0, len(self.sentences), _AT_ONCE):
            some = self.sentences[first : first + _AT_ONCE]
            seen = [one for start, end in some if (one := seen_sentence(self.text, start, end, tagged)) is not None]
            scored = self.network.scored(seen, labels)
            if len(self.sentences) <= _KEPT:
                self._scored += scored
            yield from scored

    def release(self) -> None:
        """Lets go of what only reading needs: the vectors of all words."""
        self._scored.clear()

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

    def claim(self, claim: Claim) -> None:
        """Keeps the claim, once for each subject, property, object and place it is said."""
        object_ = claim.object.name if isinstance(claim.object, Mention) else str(claim.object)
        if isinstance(claim.object, Mention) and normalise(claim.object.name) == normalise(claim.subject.name):
            return
        key = (f"{claim.subject.name}\x1f{claim.start}", claim.predicate.value, object_)
        if key not in self.claims:
            self.claims[key] = claim

    def offer(self, claim: Claim) -> None:
        """Keeps as a candidate what is too unsure to be claimed, the surest of each statement."""
        object_ = claim.object.name if isinstance(claim.object, Mention) else str(claim.object)
        key = (claim.subject.name, claim.predicate.value, object_)
        if key not in self.possible or self.possible[key].confidence < claim.confidence:
            self.possible[key] = claim

    def refuse(self, start: int, end: int, reason: str) -> None:
        """Keeps what was read but not accepted, with the reason and the place."""
        if len(self.refused) < _MAX_REFUSALS:
            self.refused.setdefault(Refusal(" ".join(self.document.text[start:end].split())[:300], reason), start)

    def label_cues(self, label: str) -> tuple[Cue, ...]:
        """The properties that a label or heading names; qualifying words before or after the name are overlooked."""
        text = bare_heading(label)
        if _JOINED.search(text):
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


def read_names(reading: DocumentReading) -> None:
    """Finds the names of the document, its parts, and its main entity, if it has one."""
    finder, text = reading.finder, reading.text
    finder.find()
    reading.refresh()
    reading.sentences = sentence_spans(text)
    reading.sections = sections(text, lambda words: bool(reading.label_cues(words)))
    reading.main = _main(reading)


def judge_names(reading: DocumentReading) -> None:
    """Takes back the names that the network takes for none, and gives those that it finds the class it sees in them.

    What is known, goes by a code, stands in the marks of a title or is tagged as a name, but a person's, is not judged.
    """
    finder = reading.finder
    spans = {(span.start, span.end): span for sentence in reading.scored() for span in sentence.spans}
    certain = {(item.start, item.end) for item in finder.names.tagged if NAMED.get(item.tag) != "person"}
    certain |= {(item.start, item.end) for item in finder.names.spans if item.strength >= CERTAIN}
    likeliest: dict[str, float] = {}
    for item in finder.names.spans:
        place, name = (item.start, item.end), reading.text[item.start : item.end]
        judged = place in spans and place not in certain and finder.known.get(name) is None
        likeliest[name] = max(likeliest.get(name, 0.0), spans[place].share if judged else 1.0)
    finder.forget({name for name, share in likeliest.items() if share < _NO_NAME})
    taken = [(item.start, item.end) for item in finder.names.spans]
    for span in spans.values():
        before = bisect_left(taken, (span.end, 0))
        if not (before and taken[before - 1][1] > span.start) and (class_ := _class_seen(reading, span)) is not None:
            finder.learn(TypedSpan(span.start, span.end), class_)
    _learn_coded(reading, {span.end: span for span in sorted(spans.values(), key=lambda span: span.share)})
    _learn_short_forms(reading)
    finder.settle(reading.strangers)
    reading.refresh()


def _learn_coded(reading: DocumentReading, spans: Mapping[int, ScoredSpan]) -> None:
    """Makes a name known as the thing whose code stands in brackets behind it: "声呐原理（OE3020）"."""
    finder, text = reading.finder, reading.text
    coded = [(item, item.type) for item in finder.names.spans if item.strength >= CERTAIN and item.name]
    for code, class_ in coded:
        bracket = _OPENED.search(text, max(0, code.start - 2), code.start)
        closed = bracket is not None and text[code.end : code.end + 1] in (")", "）")
        span = spans.get(bracket.start()) if bracket is not None and closed else None
        if span is None or span.share < _NO_NAME:
            continue
        name = text[span.start : span.end]
        known = finder.known.get(name) or finder.local.get(name)
        type_ = known.type if known is not None else _class_seen(reading, span)
        if class_ is not None and (type_ is None or reading.lexicon.ontology.fits(type_, (class_,))):
            finder.forget({name})
            finder.local.add(name, class_, stands_for=code.name)
            finder.names.aliases.setdefault(code.name, {})[name] = None


def _learn_short_forms(reading: DocumentReading) -> None:
    """Makes "昆山" known where the text says "昆山市" of a place in an address, or its title says "昆山" alone."""
    finder, place = reading.finder, reading.lexicon.kinds.get("place")
    whole: dict[str, dict[str, NamedNode]] = defaultdict(dict)
    for mention in reading.mentions if place is not None else ():
        stem = _stem(mention.text, reading.lexicon)
        if stem and place is not None and reading.lexicon.ontology.is_a(mention.type, (place,)):
            whole[stem].setdefault(mention.text, mention.type)
    for stem, longer in whole.items():
        best = next((name for name in longer if stem in reading.document.title or _is_chained(reading, name)), None)
        if best is not None and finder.known.get(stem) is None:
            finder.local.add(stem, longer[best], stands_for=best)
            finder.names.aliases.setdefault(best, {})[stem] = None


def _stem(name: str, lexicon: Lexicon) -> str:
    """A Chinese name without its class word: "昆山" of "昆山市"; empty where less than two characters are left."""
    for length in range(min(3, len(name) - 2), 0, -1):
        if name[-length:] in lexicon.han_suffixes:
            stem = name[:-length]
            return stem if len(stem) in (2, 3) and stem[-1] not in lexicon.han_suffixes else ""
    return ""


def _is_chained(reading: DocumentReading, name: str) -> bool:
    """Whether the name is a link of an address: directly before or after another name."""
    places = [item for item in reading.mentions if item.text == name]
    ends = {item.end for item in reading.mentions}
    return any(item.start in ends or reading.within(item.end, item.end + 1) for item in places)


def _class_seen(reading: DocumentReading, span: ScoredSpan) -> NamedNode | None:
    """The class that the network sees in a stretch that is surely a name; things that go by a key have it as name."""
    if span.share < _TYPED_SHARE or not span.is_name or span.classes is None:
        return None
    if not any(map(str.isalpha, reading.text[span.start : span.end])):
        return None
    class_, ontology = reading.lexicon.class_labels.likely(span.classes), reading.lexicon.ontology
    if class_ is None or 2 * len(ontology.subclasses(class_)) > len(ontology.domain_classes):
        return None  # that it is anything at all tells nothing
    goes_by_key = class_ in reading.finder.known.classes and bool(ontology.classes[class_].key)
    return None if goes_by_key else class_


def settle_main(reading: DocumentReading) -> None:
    """Finds the main entity again, when more names have a class than before."""
    if reading.main is None:
        reading.main = _most_named(reading)


def _main(reading: DocumentReading) -> Mention | None:
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
        title = _own_title(reading)
        return _placed(reading, title if voted == reading.lexicon.titled else _named_part(reading, title), voted)
    return _most_named(reading)


def _named_part(reading: DocumentReading, title: str) -> str:
    """The part of a title that names something which the text names again: "Tollan Ltd" of "Tollan Ltd at a glance"."""
    network, below = reading.network, reading.text[reading.text.find("\n") + 1 :]
    seen = seen_sentence(title, 0, len(title), ()) if network is not None else None
    if network is None or seen is None:
        return title
    likely = [
        (span.share, title[span.start : span.end])
        for span in network.spans(seen, network.rows([seen])[0], np.zeros((0, 0), np.float32), least=1.0)
        if span.share >= _NAMED_SHARE and title[span.start : span.end] in below
    ]
    return max(likely, default=(0.0, title))[1]


def _byline_of(reading: DocumentReading) -> Byline | None:
    """The byline, where the ontology knows works that have a title and authors."""
    return find_byline(reading.document.text) if _authored(reading) is not None else None


def _authored(reading: DocumentReading) -> Cue | None:
    """The property from works that have a title to their authors."""
    titled = reading.lexicon.titled
    return reading.lexicon.best(reading.label_cues("Authors"), titled) if titled is not None else None


def _is_described(reading: DocumentReading) -> bool:
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


def _own_title(reading: DocumentReading) -> str:
    """The document's title; the lines above its byline where they say more, or where the title is a file's name."""
    title = _title_name(reading.document.title)
    above = _title_name(reading.byline.title) if reading.byline is not None else ""
    lines = {_title_name(line.strip("# ")) for line in reading.text.split("\n")}
    if not above or (title in lines and not normalise(above).startswith(normalise(title))):
        return title or above
    return above


def _class_by_labels(reading: DocumentReading, head: str) -> NamedNode | None:
    """The class whose properties the labels and headings of the document name, if at least two of them do.

    A glossary explains such words and describes nothing by them.
    """
    if WORD_LIST.search(reading.document.title):
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


def _placed(reading: DocumentReading, name: str, class_: NamedNode) -> Mention:
    """A mention of the name at its first place in the text, else of the text's first line."""
    pattern = r"\s+".join(re.escape(word) for word in name.split())
    match = re.search(pattern, reading.text, re.IGNORECASE)
    start, end = match.span() if match else (0, len(reading.text.split("\n", 1)[0]))
    aliases = tuple(reading.finder.names.aliases.get(name, ()))
    return Mention(reading.document.text[start:end], start, end, class_, name, aliases)


def _most_named(reading: DocumentReading) -> Mention | None:
    """The entity in the title that the text names most often."""
    title = reading.document.title
    found = {
        mention.name: mention for mention in reversed(reading.mentions) if mention.text.casefold() in title.casefold()
    }
    counts = Counter(mention.name for mention in reading.mentions)
    best = max(found, key=lambda name: (counts[name], -found[name].start), default=None)
    return found[best] if best is not None and counts[best] >= 2 else None


# Definite descriptions and pronouns

_DEFINITE = re.compile(r"\b(?:[Tt]he|[Tt]his)\s([a-z]+(?:\s[a-z]+)?)\b")
_HAN_DEFINITE = _LEXICON.pattern("han_definite")
_PRONOUN = _LEXICON.pattern("pronoun")
_JOINED = _LEXICON.pattern("joined")


class Referents:
    """Finds what definite descriptions and pronouns stand for in a document that is being read."""

    def __init__(self, reading: DocumentReading) -> None:
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
