"""Extraction without a model: names and statements by the ontology's own words, in English and Chinese.

A document is read as a whole, once, and each chunk gets what was said in it: a heading far above may be what a
sentence is about. Deterministic. `QuietExtractor` leaves out the noise of posts: emoji, tags, slang, platform phrases.
"""

from __future__ import annotations

import re
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Any, Final

from pyoxigraph import NamedNode

from kgplatform.extraction.context import DocumentReading, Referents, flowing, judge_names, read_names, settle_main
from kgplatform.extraction.key_values import place_by_headings, read_labelled
from kgplatform.extraction.learnt.reader import Learnt, name_as_taught
from kgplatform.extraction.names import Gazetteer, MentionFinder, TaggedWord
from kgplatform.extraction.ontology_lexicon import FUNCTION_WORDS, Lexicon, compile_lexicon
from kgplatform.extraction.sentence_frames import read_frames
from kgplatform.extraction.sentence_network import SentenceNetwork, carried_network
from kgplatform.lexicon import LexiconSection
from kgplatform.models.embed import one_thread
from kgplatform.ontology.schema import Ontology
from kgplatform.text import has_han
from kgplatform.types import Chunk, Claim, Document, Extraction, Extractor, Mention, StretchExtractor

# Keywords

_WORD = re.compile(r"[^\W\d_]{4,}(?:[-'][^\W\d_]+)*")
_HASHTAG = re.compile(r"#([^\s#]{2,30})(?=\s|#|$)")
_LEXICON: Final = LexiconSection("extraction", "builtin")
_COMMON = _LEXICON.words("common")


def keywords(text: str, names: list[str], tokens: list[TaggedWord], *, most: int = 12) -> tuple[str, ...]:
    """The keywords of a text: its tags, its names by frequency, then content words used at least twice."""
    found = Counter[str]()
    for match in _HASHTAG.finditer(text):
        found[match[1]] += 3
    for name in names:
        found[name] += 3
    if has_han(text):
        found.update(
            token.text
            for token in tokens
            if len(token.text) >= 2 and token.tag.startswith(("n", "vn")) and has_han(token.text)
        )
    words = Counter(match.group().casefold() for match in _WORD.finditer(text) if not has_han(match.group()))
    for word, count in words.items():
        if count >= 2 and word not in _COMMON and word not in FUNCTION_WORDS:
            found[word] += count
    ranked = sorted(found.items(), key=lambda item: (-item[1], text.find(item[0]), item[0]))
    listed: list[str] = []
    for word, _ in ranked:
        if all(word.casefold() != other.casefold() for other in listed):
            listed.append(word)
    return tuple(listed[:most])


Known = Mapping[str, NamedNode] | Callable[[], Mapping[str, NamedNode]]
"""Names of entities that are known already, each with its class; or what gives them when asked."""

_KEPT_READINGS: Final = 8


class BuiltinExtractor:
    """Reads chunks with rules that take all their words from the ontology.

    ``known`` are the names of entities that the graph already has, with their classes. It is asked once for
    each document, so that names found in earlier documents help with later ones. ``learnt`` is what annotated
    examples taught the network of sentences.
    """

    def __init__(
        self, ontology: Ontology | Lexicon, *, known: Known | None = None, learnt: Learnt | None = None
    ) -> None:
        """Reads by the words of the ontology, or by these as they were taken from it before."""
        self._lexicon = ontology if isinstance(ontology, Lexicon) else compile_lexicon(ontology)
        self._ontology = self._lexicon.ontology
        self._learnt = learnt
        self.method = "learnt" if learnt is not None else "built-in"
        self._known = known if known is not None else {}
        self._readings: OrderedDict[tuple[str, int], DocumentReading] = OrderedDict()
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:  # for another process, with the names as they are known now
        known = dict(self._known() if callable(self._known) else self._known)
        return partial(BuiltinExtractor, self._lexicon, known=known, learnt=self._learnt), ()

    def extract(self, chunk: Chunk, document: Document) -> Extraction:
        """What the chunk says in the terms of the ontology; offsets are the document's."""
        reading = self._reading(document)
        claims = tuple(claim for claim in reading.claims.values() if chunk.start <= claim.start < chunk.end)
        mentions = dict.fromkeys(mention for mention in reading.mentions if chunk.start <= mention.start < chunk.end)
        for claim in claims:
            mentions.update(dict.fromkeys(_mentions_of(claim)))
        tokens = [token for token in reading.finder.names.tokens if chunk.start <= token.start < chunk.end]
        names = [mention.name for mention in mentions]
        return Extraction(
            chunk=chunk.iri,
            mentions=tuple(sorted(mentions, key=lambda mention: (mention.start, mention.end, mention.name))),
            claims=claims,
            refused=tuple(item for item, start in reading.refused.items() if chunk.start <= start < chunk.end),
            keywords=keywords(chunk.text, names, tokens),
            method=self.method,
            candidates=tuple(item for item in reading.possible.values() if chunk.start <= item.start < chunk.end),
        )

    def _reading(self, document: Document) -> DocumentReading:
        key = (document.iri.value, hash(document.text))
        with self._lock:
            found = self._readings.get(key)
            if found is None:
                network = carried_network() if self._learnt is None else self._learnt.network
                takes = self._learnt.takes if self._learnt is not None else {}
                with one_thread():
                    found = self._readings[key] = self.read(document, network, takes)
                    found.classes = self._learnt.classes if self._learnt is not None else {}
                    read_frames(found, Referents(found))
                    place_by_headings(found)
                    if self._learnt is not None:
                        name_as_taught(found, self._learnt.namings)
                    found.release()
                while len(self._readings) > _KEPT_READINGS:
                    self._readings.popitem(last=False)
            return found

    def read(
        self, document: Document, network: SentenceNetwork | None, takes: Mapping[str, frozenset[str]]
    ) -> DocumentReading:
        """The document as it is read before the frames of its sentences are filled; to be released after that."""
        text = flowing(document.text)
        finder = MentionFinder(text, self._lexicon, self._gazetteer())
        reading = DocumentReading(document, text, self._lexicon, finder, network, takes)
        read_names(reading)
        judge_names(reading)
        settle_main(reading)
        read_labelled(reading)
        reading.labelled = frozenset(reading.claims)
        return reading

    def _gazetteer(self) -> Gazetteer:
        gazetteer = Gazetteer(self._lexicon.names)
        known = self._known() if callable(self._known) else self._known
        for name, type_ in known.items():
            if type_ in self._ontology.classes:
                gazetteer.add(name, type_)
        return gazetteer


def _mentions_of(claim: Claim) -> list[Mention]:
    return [claim.subject, claim.object] if isinstance(claim.object, Mention) else [claim.subject]


# Noise of posts: nothing is cut out, blanks keep every offset as written

_EMOJI_LETTERS = (
    "\U0001f000-\U0001faff\U0001f1e6-\U0001f1ff\u2600-\u26ff\u2700-\u2767\u2794-\u27bf\u2b05-\u2b07\u2b1b\u2b1c\u2b50\u2b55"
    "\u231a\u231b\u23e9-\u23fa\u25aa\u25ab\u25fb-\u25fe\u3030\u303d\u3297\u3299"
)
_EMOJI = re.compile(
    f"[{_EMOJI_LETTERS}][{_EMOJI_LETTERS}\u200d\ufe0e\ufe0f\u20e3\U000e0020-\U000e007f]*|[0-9#*]\ufe0f?\u20e3"
)
_STICKER = _LEXICON.pattern("sticker")
_TAG = r"#[^\s#，,。.!！?？;；:：、()（）\[\]{}<>\"'`*|/\\]{1,40}(?:#|(?=[\s#]|$))"
_TAGS = re.compile(rf"(?:(?<=\s)|^){_TAG}(?:[ \t]*{_TAG})+", re.MULTILINE)
_TAG_LINE = re.compile(rf"^[ \t]*{_TAG}[ \t]*$", re.MULTILINE)
_TAG_MARK = re.compile(r"(?:(?<=[\s，。！？])|^)#(?=[^\s#\d!]\S)|(?<=[\u4e00-\u9fff])#(?=[\s，。！？]|$)", re.MULTILINE)
_SLANG = _LEXICON.pattern("slang", re.IGNORECASE)
_HEADLINE = _LEXICON.pattern("headline", re.IGNORECASE | re.MULTILINE)
_BOILERPLATE = _LEXICON.pattern("boilerplate", re.IGNORECASE | re.MULTILINE)
_MARKS = re.compile(r"(?<=[!！?？])[!！?？]+")
_CLAUSE_END: Final = frozenset("。！？!?；;，,、\n~～|")
_CLAUSE_LETTERS: Final = 40


@dataclass(frozen=True, slots=True)
class Noise:
    """What says nothing; ``kind``: ``emoji``, ``tag``, ``slang``, ``headline``, ``boilerplate`` or ``marks``."""

    kind: str
    start: int
    end: int


def noise_in(text: str) -> list[Noise]:
    """The places of a text that say nothing, in order; they do not overlap.

    >>> [text[n.start : n.end] for text in ("西栅很美，记得点赞收藏哦！",) for n in noise_in(text)]
    ['记得点赞收藏哦']
    """
    kept: list[Noise] = []
    for noise in sorted(_found(text), key=lambda noise: (noise.start, -noise.end)):
        start = max(noise.start, kept[-1].end) if kept else noise.start
        if start < noise.end:
            kept.append(Noise(noise.kind, start, noise.end))
    return kept


def without_noise(text: str) -> str:
    """The text with blanks in the place of its noise: of the same length, line ends kept.

    >>> without_noise("OMG Xizha 😀😀 #wuzhen #travel")
    '    Xizha                   '
    """
    pieces: list[str] = []
    position = 0
    for noise in noise_in(text):
        pieces += [text[position : noise.start], _blank(text[noise.start : noise.end])]
        position = noise.end
    return "".join((*pieces, text[position:]))


def _blank(text: str) -> str:
    return "".join("\n" if letter == "\n" else " " for letter in text)


def _found(text: str) -> Iterator[Noise]:
    kinds = ("emoji", _EMOJI), ("emoji", _STICKER), ("tag", _TAGS), ("tag", _TAG_LINE), ("tag", _TAG_MARK)
    for kind, pattern in (*kinds, ("slang", _SLANG), ("headline", _HEADLINE), ("marks", _MARKS)):
        for match in pattern.finditer(text):
            yield Noise(kind, *match.span())
    for match in _BOILERPLATE.finditer(text):
        yield Noise("boilerplate", *_clause(text, *match.span()))


def _clause(text: str, start: int, end: int) -> tuple[int, int]:
    """The clause around a phrase, if it is short; a long one says something else besides, so only the phrase goes."""
    first, last = start, end
    while first > 0 and not _is_clause_end(text, first - 1) and start - first <= _CLAUSE_LETTERS:
        first -= 1
    while last < len(text) and not _is_clause_end(text, last) and last - end <= _CLAUSE_LETTERS:
        last += 1
    if start - first > _CLAUSE_LETTERS or last - end > _CLAUSE_LETTERS:
        return start, end
    while first < start and text[first].isspace():
        first += 1
    return first, last


def _is_clause_end(text: str, position: int) -> bool:
    letter = text[position]
    if letter == ".":
        return text[position + 1 : position + 2].isspace() or position + 1 == len(text)
    return letter in _CLAUSE_END


class QuietExtractor:
    """An extractor around another one, which gets texts without their noise."""

    def __init__(self, extractor: Extractor) -> None:
        self.method = extractor.method
        self._extractor = extractor

    def extract(self, chunk: Chunk, document: Document) -> Extraction:
        """What the chunk says apart from its noise; offsets are the document's, texts are as written there."""
        return self.read([chunk], document)[0]

    def stretches(self, chunks: Sequence[Chunk]) -> list[list[Chunk]]:
        """The chunks in the groups of the extractor inside."""
        inside = self._extractor
        return inside.stretches(chunks) if isinstance(inside, StretchExtractor) else [[chunk] for chunk in chunks]

    def read(self, chunks: Sequence[Chunk], document: Document) -> list[Extraction]:
        """What neighbouring chunks say apart from their noise."""
        text = _quiet(document.text)
        title = " ".join(without_noise(document.title).split()) or document.title
        if text == document.text and title == document.title:
            return self._read(chunks, document)
        seen = [replace(chunk, text=text[chunk.start : chunk.end]) for chunk in chunks]
        return [
            replace(
                found,
                mentions=tuple(_as_written(mention, document) for mention in found.mentions),
                claims=tuple(_claim_as_written(claim, document) for claim in found.claims),
                candidates=tuple(_claim_as_written(claim, document) for claim in found.candidates),
            )
            for found in self._read(seen, replace(document, text=text, title=title))
        ]

    def _read(self, chunks: Sequence[Chunk], document: Document) -> list[Extraction]:
        inside = self._extractor
        if isinstance(inside, StretchExtractor):
            return inside.read(chunks, document)
        return [inside.extract(chunk, document) for chunk in chunks]


def _as_written(mention: Mention, document: Document) -> Mention:
    written = document.text[mention.start : mention.end]
    return mention if written == mention.text else replace(mention, text=written)


def _claim_as_written(claim: Claim, document: Document) -> Claim:
    object_ = _as_written(claim.object, document) if isinstance(claim.object, Mention) else claim.object
    return replace(claim, subject=_as_written(claim.subject, document), object=object_)


@lru_cache(maxsize=8)  # the chunks of one document come one after the other
def _quiet(text: str) -> str:
    return without_noise(text)


def quietly(extractor_for: Callable[[Document], Extractor], noise: str) -> Callable[[Document], Extractor]:
    """Who reads a document, with or (where ``noise`` is ``skip``) without its noise."""
    return extractor_for if noise != "skip" else lambda document: QuietExtractor(extractor_for(document))
