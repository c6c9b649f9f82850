"""Which pieces of a question may mean a class, a property or a coded value, and how surely.

A piece is a run of up to four tokens (for Chinese: up to three words); what it is compared with are the labels and the
comments of the ontology. Where the embedding does not know the language, a dictionary's glosses stand for the words.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import Literal, NamedNode

from kgplatform.errors import WorkspaceError
from kgplatform.lexicon import LEXICONS
from kgplatform.models.embed import CARRIED_SHA256
from kgplatform.ontology.schema import Word
from kgplatform.questions.forms.fact_graph import NOTHING, FactGraph
from kgplatform.questions.forms.question_language import glossed, in_english, languages, segments
from kgplatform.questions.forms.question_text import (
    Read,
    TextToken,
    factors_between,
    light_words,
    mask_of,
    read,
    tokens_of,
    union,
    unit_of,
)
from kgplatform.questions.name_index import BRACKETS, acronym
from kgplatform.retrieval import index
from kgplatform.text import has_han
from kgplatform.types import Embedder
from kgplatform.vocab import local_name, words_of_iri

_LONGEST_RUN = 4
_FLOOR = 0.25
_MOST_CODES = 60
_COMMENT_WEIGHT = 0.85
_CODE_WEIGHT = 0.95
_AT_ONCE = 128
_LONG = 40
# "D = defender", "GK goalkeeper", "1 Monday", "A（草地）": what follows a code in a comment, up to the next mark
_EXPLAINING = (
    r"(?<![\w]){code}(?![\w])[\s\"'”’]*(?:=|:|：|＝|-|–|—|means?|for|stands for|is|\(|（|为|是|即|代表|表示)?"
    r"\s*[\"'“‘]?([^,;.，；。、)）\"”]{{2,40}})"
)
_NEXT_CODE = re.compile(r"(?:or|and|或|和)?\s*\w{1,3}")
_WORDS = re.compile(r"[A-Za-z]{2,}")
_CLAUSE = re.compile(r"[;.。；](?=\s|$|[^\d])")


@dataclass(frozen=True, slots=True)
class Meaning:
    """How likely a piece of the question means a term: 0..1, and which tokens it is."""

    score: float
    mask: int
    worded: bool = False
    """Whether words of the label themselves are in the question."""


NO_MEANING = Meaning(0.0, 0)


class KeptVectors:
    """The vectors of what an ontology says, kept in a file so that only texts that are new to it cost a model's time.

    The file is no more than a short cut: one that is missing, damaged or of another model counts for nothing and is
    written anew, and where nothing can be written the vectors are computed in each process.
    """

    def __init__(self, path: Path | None, model: str, dimensions: int) -> None:
        """``model`` is all that the vectors of a text depend on; ``path=None`` keeps them in no file."""
        self._path, self._dimensions = path, dimensions
        self._noted = {"format": _FORMAT, "model": f"{model} {_glosses_digest()}"}

    def of(self, texts: Sequence[str], embed: Callable[[Sequence[str]], NDArray[np.float32]]) -> NDArray[np.float32]:
        """The vectors, one row each; ``embed`` is given the texts that the file does not have."""
        known = self._known()
        keys = {
            text: hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest() for text in texts
        }
        new = [text for text, key in keys.items() if key not in known]
        if new:
            known.update(zip((keys[text] for text in new), embed(new), strict=True))
            self._keep({key: known[key] for key in keys.values()})
        return np.stack([known[keys[text]] for text in texts]) if texts else np.zeros((0, 1), dtype=np.float32)

    def _known(self) -> dict[str, NDArray[np.float32]]:
        held = index.load(self._path) if self._path else None
        if held is None:
            return {}
        vectors, keys = held[0].get("vectors"), held[1].pop("keys", None)
        if held[1] != self._noted or vectors is None or vectors.dtype != np.float32 or not isinstance(keys, list):
            return {}
        fits = vectors.shape == (len(keys), self._dimensions) and np.isfinite(vectors).all()
        return dict(zip(keys, vectors, strict=True)) if fits else {}

    def _keep(self, known: Mapping[str, NDArray[np.float32]]) -> None:
        if self._path is not None:
            with suppress(WorkspaceError):
                index.save(self._path, {"vectors": np.stack(list(known.values()))}, self._noted | {"keys": list(known)})


_FORMAT = 1
"""To be raised when a text is put into other words for the same model: kept vectors count for nothing then."""


@cache
def _glosses_digest() -> str:
    found = sorted(Path(LEXICONS).glob("glosses.*"))
    return hashlib.blake2b(b"".join(path.read_bytes() for path in found), digest_size=16).hexdigest()


@dataclass(frozen=True, slots=True)
class _Phrase:
    """One way of saying a term: as it is, its language, its stems, its Chinese, whether it is a comment."""

    text: str
    language: str
    stems: tuple[str, ...]
    han: str
    weight: float


@dataclass(frozen=True, slots=True)
class Definition:
    """What a comment says that a word means of a kind: a property within bounds, or without these what ranks it.

    "A major river is longer than 750 km", "a good restaurant is one rated above 2.5", "the largest state by area".
    """

    stems: tuple[str, ...]
    kind: NamedNode
    predicate: NamedNode
    low: float | None = None
    high: float | None = None
    strict: bool = True

    @property
    def ranks(self) -> bool:
        """Whether it says by what things are ranked, and no bounds."""
        return self.low is None and self.high is None

    def said_in(self, read: Read) -> int:
        """The tokens of a question that are the word, or in English mean it; 0 where none is."""
        said = [token.stem for token in read.tokens]
        for start in range(len(said) - len(self.stems) + 1):
            if tuple(said[start : start + len(self.stems)]) == self.stems:
                return mask_of(start, start + len(self.stems))
        if glossed(read.text, read.language) is None:
            return 0
        for start, end, senses in segments(read.text, read.language):
            if any(tuple(token.stem for token in tokens_of(sense)) == self.stems for sense in senses):
                return sum(1 << i for i, token in enumerate(read.tokens) if token.start < end and token.end > start)
        return 0


def definitions(graph: FactGraph) -> Iterator[Definition]:
    """What the comments of classes, and of properties with numbers, define."""
    for class_, found in graph.schema.classes.items():
        members = graph.classes.get(class_, NOTHING)
        sized = [p for p, temporal in graph.ordered.items() if not temporal and members & graph.subjects[p]]
        for comment in found.comments if sized else ():
            yield from _defined(comment, class_, sized, graph, own=False)
    for predicate, temporal in graph.ordered.items():
        for class_ in () if temporal else graph.of(predicate):
            for comment in graph.schema.properties[predicate].comments if predicate in graph.schema.properties else ():
                yield from _defined(comment, class_, [predicate], graph, own=True)


def _defined(
    comment: Word, class_: NamedNode, sized: Sequence[NamedNode], graph: FactGraph, *, own: bool
) -> Iterator[Definition]:
    language = comment.language if comment.language in languages() else "en"
    for clause in _CLAUSE.split(comment.text):
        asked = read(clause, language, None)
        numbers = [quantity for quantity in asked.quantities if quantity.kind == "number"]
        if len(numbers) == 1 and (found := _meant(asked, numbers[0].unit, sized, graph, own=own)):
            value = numbers[0].value * found[1]
            more, less = asked.cue("more", "at_least"), asked.cue("less", "at_most")
            strict = not asked.cue("at_least", "at_most")
            word = _before_label(clause, language, class_, graph)
            if word and bool(more) != bool(less):
                low, high = (value, None) if more else (None, value)
                yield Definition(word, class_, found[0], low, high, strict)
        elif not numbers and (found := _meant(asked, "", sized, graph, own=own)):
            for place, token in enumerate(asked.tokens):
                if asked.cue("most", "least") >> place & 1:
                    yield Definition((token.stem,), class_, found[0])


def _meant(
    asked: Read, unit: str, sized: Sequence[NamedNode], graph: FactGraph, *, own: bool
) -> tuple[NamedNode, float] | None:
    """The property that a clause names, else the one with its unit, else its own; with the factor to that unit."""
    said = {token.stem for token in asked.tokens}
    known = graph.schema.properties
    properties = {predicate: known[predicate] for predicate in sized if predicate in known}
    named = [
        predicate
        for predicate, found in properties.items()
        if any({token.stem for token in tokens_of(word.text)} <= said for word in found.words)
    ]
    factors = {one: max(factors_between(unit, found), key=itemgetter(1)) for one, found in properties.items()}
    fitting = [predicate for predicate in factors if unit_of(unit) and factors[predicate][1] == 1]
    alike = next((found for found in (named, fitting, list(factors) if own else ()) if len(found) == 1), None)
    return (alike[0], factors[alike[0]][0]) if alike else None


def _before_label(clause: str, language: str, class_: NamedNode, graph: FactGraph) -> tuple[str, ...]:
    """The stems of the word before the label of a class: *a major river*, 主要河流."""
    known = graph.schema.classes.get(class_)
    labels = sorted((word.text for word in known.words), key=len, reverse=True) if known else []
    signs = (re.escape(label) if has_han(label) else rf"(?<!\w){re.escape(label)}" for label in labels)
    found = next((match for sign in signs if (match := re.search(sign, clause, re.IGNORECASE))), None)
    if found is None:
        return ()
    before = clause[: found.start()]
    cuts = languages()[language].segments(before) if has_han(before) else ()
    parts = [before[start:end] for start, end in cuts] or before.split()
    word = next((part for part in reversed(parts) if part not in light_words(language)), "")
    stems = tuple(token.stem for token in tokens_of(word))
    return () if set(stems) & light_words(language) else stems


class Vocabulary:
    """The terms of an ontology as they may be said, with the vectors of their phrases."""

    def __init__(self, graph: FactGraph, embedder: Embedder | None, kept: Path | None = None) -> None:
        """Embeds every label and comment once; ``kept`` is the file that keeps their vectors."""
        self._embedder = embedder
        self.definitions = tuple(definitions(graph))
        self._keys: list[object] = []
        self._phrases: list[_Phrase] = []
        schema = graph.schema
        for iri, property_ in schema.properties.items():
            if property_.count:
                self._term(iri, property_.words, property_.comments)
        for class_, found in schema.classes.items():
            if graph.classes.get(class_):
                self._term(class_, found.words, found.comments)
        for predicate, objects in graph.objects.items():
            if len(objects) <= _MOST_CODES:
                self._codes(predicate, objects, graph)
        said = {f"{phrase.language} {phrase.text}": phrase for phrase in self._phrases}
        texts = [f"{phrase.language} {phrase.text}" for phrase in self._phrases]
        if embedder is None:
            self._vectors = self._embed(texts)
        else:
            known = KeptVectors(kept, f"{embedder.name} {CARRIED_SHA256}", embedder.dimensions)
            self._vectors = known.of(
                texts, lambda new: self._embed([in_english(said[key].text, said[key].language) for key in new])
            )
        self._by_stem: dict[str, list[int]] = {}
        for number, phrase in enumerate(self._phrases):
            for stem in phrase.stems:
                self._by_stem.setdefault(stem, []).append(number)
        self._cache: dict[str, NDArray[np.float32]] = {}

    def _codes(self, predicate: NamedNode, objects: Iterable[int], graph: FactGraph) -> None:
        """The values of a property with few of them, as they are and as a comment explains them."""
        for item in objects:
            term = graph.terms[item]
            if isinstance(term, Literal) and not term.datatype.value.endswith("#boolean") and len(term.value) < _LONG:
                own = () if predicate in graph.ordered else (term.value,)  # a number is found as one
                for said in (*own, *_explained(term.value, graph.schema.properties.get(predicate))):
                    self._keys.append((predicate, item))
                    self._phrases.append(_phrase(said, _CODE_WEIGHT))

    def _term(self, iri: NamedNode, words: Iterable[Any], comments: Iterable[Any]) -> None:
        labels = {word.text: word.language for word in words}
        texts = {BRACKETS.sub(" ", text).strip() or text: language for text, language in labels.items()}
        texts |= {short: language for text, language in labels.items() if (short := acronym(text))}
        readable = words_of_iri(iri.value)
        if (
            not any(has_han(t) is False for t in texts)
            and _WORDS.search(readable)
            and not re.search(r"\d", local_name(iri.value))
        ):
            texts[readable] = ""
        for text, language in texts.items():
            self._keys.append(iri)
            self._phrases.append(_phrase(text, 1.0, language))
        for comment in comments:
            for piece in re.split(r"[.;。；]\s*", comment.text)[:3]:
                if 3 <= len(piece) <= 160:
                    self._keys.append(iri)
                    self._phrases.append(_phrase(piece, _COMMENT_WEIGHT, comment.language))

    def _embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if self._embedder is None or not texts:
            return np.zeros((len(texts), 1), dtype=np.float32)
        # some at a time: with more the carried model takes torch, which takes seconds to load
        parts = [self._embedder.embed(texts[start : start + _AT_ONCE]) for start in range(0, len(texts), _AT_ONCE)]
        return np.concatenate(parts).astype(np.float32)

    def meanings(self, read: Read) -> dict[object, tuple[Meaning, ...]]:
        """For each term that something in the question may mean, the likeliest pieces, best first; at most two."""
        pieces = list(_pieces(read))
        texts = list(dict.fromkeys(text for text, _ in pieces))
        found: dict[object, dict[int, Meaning]] = {}

        def keep(key: object, meaning: Meaning) -> None:
            known = found.setdefault(key, {})
            held = known.get(meaning.mask, NO_MEANING)
            if (held.score, held.worded) < (meaning.score, meaning.worded):
                known[meaning.mask] = meaning

        if texts and self._embedder is not None and len(self._phrases):
            fresh = [text for text in texts if text not in self._cache]
            if fresh:
                self._cache.update(zip(fresh, self._embed(fresh), strict=True))
            vectors = np.stack([self._cache[text] for text in texts])
            if len(self._cache) > 20_000:
                self._cache.clear()
            near = vectors @ self._vectors.T
            places = {text: place for place, text in enumerate(texts)}
            # likeness tells no number
            digits = union(1 << place for place, token in enumerate(read.tokens) if token.text.isdigit())
            for text, mask in pieces:
                row = near[places[text]]
                for number in map(int, np.flatnonzero(row > _FLOOR + 0.12)):
                    phrase = self._phrases[number]
                    score = float((row[number] - _FLOOR) / (1 - _FLOOR)) * phrase.weight
                    keep(self._keys[number], Meaning(min(score, 1.0), mask & ~digits or mask))
        for number, meaning in self._by_words(read):
            keep(self._keys[number], meaning)
        return {key: tuple(_distinct(known.values())) for key, known in found.items()}

    def _by_words(self, read: Read) -> Iterable[tuple[int, Meaning]]:
        """The terms of which the question has words."""
        light = light_words(read.language)
        stems = [tuple(languages()[read.language].stems(token.stem)) for token in read.tokens]
        told: dict[int, int] = {}
        for place, token in enumerate(read.tokens):
            if token.stem not in light or token.han:
                for number in chain.from_iterable(self._by_stem.get(stem, ()) for stem in stems[place]):
                    told[number] = told.get(number, 0) | 1 << place
        for number, mask in told.items():
            phrase = self._phrases[number]
            heavy = [s for s in phrase.stems if s not in light] or list(phrase.stems)
            said = {stem for i in range(len(stems)) if mask >> i & 1 for stem in stems[i]}
            if phrase.han:
                length, mask = _longest_common(read.tokens, phrase.han)
                share = length / len(phrase.han)
                if length < 2 and len(phrase.han) > 1:
                    continue
            else:
                share = sum(s in said for s in heavy) / len(heavy)
            if share >= 0.3 and (phrase.weight == 1.0 or share >= 0.5):
                yield number, Meaning(min(1.0, (0.25 + 0.75 * share) * phrase.weight), mask, worded=phrase.weight > 0.9)


def _longest_common(tokens: Sequence[TextToken], phrase: str) -> tuple[int, int]:
    """The longest run of a Chinese phrase that is in the question: its length and its tokens."""
    best, mask = 0, 0
    for start in range(len(tokens)):
        for offset in range(len(phrase)):
            length = 0
            while (
                start + length < len(tokens)
                and offset + length < len(phrase)
                and tokens[start + length].text == phrase[offset + length]
            ):
                length += 1
            if length > best:
                best, mask = length, mask_of(start, start + length)
    return best, mask


def _distinct(meanings: Iterable[Meaning]) -> list[Meaning]:
    kept: list[Meaning] = []
    for meaning in sorted(meanings, key=lambda m: (-m.score, m.mask.bit_count(), m.mask)):
        if all(not meaning.mask & other.mask for other in kept):
            kept.append(meaning)
        if len(kept) == 2:
            break
    return kept


def _phrase(text: str, weight: float, language: str = "") -> _Phrase:
    plain = re.sub(r"\s+", " ", text).strip()
    stems = tuple(token.stem for token in tokens_of(plain))
    return _Phrase(plain, language, stems, plain if has_han(plain) and not _WORDS.search(plain) else "", weight)


def _explained(code: str, property_: Any) -> list[str]:
    """What a comment says a code means: ``D = defender``, ``GK goalkeeper``, "1 Monday", "A（草地）"."""
    if property_ is None:
        return []
    found = []
    for comment in property_.comments:
        match = re.search(_EXPLAINING.format(code=re.escape(code)), comment.text)
        if match and not _NEXT_CODE.fullmatch(match[1].strip()):
            found.append(match[1].strip())
    return found


def _pieces(read: Read) -> Iterable[tuple[str, int]]:
    """The runs of tokens that may mean something, in English, with their places."""
    tokens = read.tokens
    count = len(tokens)
    if glossed(read.text, read.language):
        words = [
            (senses, sum(1 << i for i, t in enumerate(tokens) if t.start < end and t.end > start))
            for start, end, senses in segments(read.text, read.language)
        ]
        words = [(senses, mask) for senses, mask in words if mask]
        for first in range(len(words)):
            mask, said = 0, [""]
            for senses, places in words[first : first + 3]:
                mask |= places
                said = [f"{before} {sense}".strip() for before in said for sense in (senses or ("",))][:4]
                if mask & read.content:
                    yield from ((text, mask) for text in said if text)
        return
    for first in range(count):
        for last in range(first + 1, min(count, first + _LONGEST_RUN) + 1):
            mask = mask_of(first, last)
            ends = (1 << first) | (1 << (last - 1))
            asks = mask & read.cue("who", "where", "when", "amount", "count")
            if (mask & read.content and (ends & read.content)) or (asks and mask == asks):
                yield " ".join(token.text for token in tokens[first:last]).casefold(), mask
