"""Solved questions: which of them are most like a new one, and the new one answered by the query of one of its kind.

They are those that come with the platform and those of a workspace, which people confirmed or wrote.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pyoxigraph import Literal, NamedNode

from kgplatform import lexicon, resources
from kgplatform.questions.forms.question_text import TextToken, tokens_of
from kgplatform.questions.name_index import NameIndex
from kgplatform.questions.parser.vocabulary import stem
from kgplatform.questions.schema_prompt import knows
from kgplatform.sparql.syntax import patterns_of
from kgplatform.sparql.tokens import SparqlToken, declared_prefixes, prologue_length, tokens
from kgplatform.text import language_of, normalise, words
from kgplatform.types import Embedder, Linked
from kgplatform.vocab import LABEL, OWL, PREFIXES, RDF, RDFS, SKOS, TYPE

# Solved questions to show a model: those shipped, those of the workspace, and the ones most like a new question.
#
# Likeness is that of the words left when the names are taken out ("which hotels are in <town>" and "which inns are in
# <city>" ask the same way), and of the meaning where there is an embedder that knows the language.

_SOLVED_STANDARD = (OWL, RDF, RDFS, SKOS)
_NAMES = ("entity", "value")
_LIMITED = re.compile(r"\b(?:LIMIT|OFFSET)\s+\d", re.IGNORECASE)
_COUNTED = re.compile(rf"\b(?:{'|'.join(lexicon.numbers('answer_text.number_words'))})\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Solved:
    """A question with the query that answers it."""

    question: str
    query: str

    @classmethod
    def read(cls, item: resources.NamedQuery) -> Solved:
        """A query with its summary, less other comments."""
        lines = (line for line in item.text.splitlines() if not line.startswith("#"))
        return cls(item.summary, "\n".join(lines).strip())


@lru_cache(maxsize=1)
def shipped_examples() -> tuple[Solved, ...]:
    """The solved examples of folder ``sparql/examples``."""
    found = (resources.load(name) for name in resources.names() if name.startswith("examples/"))
    return tuple(map(Solved.read, found))


def similar(
    question: str,
    examples: Sequence[Solved],
    names: NameIndex,
    limit: int,
    *,
    embedder: Callable[[], Embedder | None] = lambda: None,
    leave_out_same: bool = False,
) -> list[Solved]:
    """The examples most like the question whose terms the graph knows and that follow the rules, best first.

    ``leave_out_same`` leaves out the question itself, which matters where answers are measured.
    """
    known = {iri.value for iri in (*names.schema.classes, *names.schema.properties)}
    usable = [item for item in dict.fromkeys(examples) if _fits(item.query, known) and follows_rules(item)]
    if leave_out_same:
        usable = [item for item in usable if normalise(item.question) != normalise(question)]
    if not usable or limit < 1:
        return []
    wanted = without_names(question, names)
    plain = [without_names(item.question, names) for item in usable]
    scores = [_shared(wanted, other) for other in plain]
    model = embedder() if len(usable) > limit else None
    if model is not None and knows(model, language_of(question)):
        vectors = model.embed([wanted, *plain])
        scores = [score + float(max(0.0, x)) for score, x in zip(scores, vectors[1:] @ vectors[0], strict=True)]
    ranked = sorted(zip(scores, usable, strict=True), key=lambda pair: (-pair[0], pair[1].question))
    return [item for _, item in ranked[:limit]]


def follows_rules(item: Solved) -> bool:
    """Whether a solved question is as a model is told to answer: no limit that is not asked for, and no mere names."""
    asks_number = any(character.isnumeric() for character in item.question) or _COUNTED.search(item.question)
    read = patterns_of(item.query, PREFIXES)
    shown = {variable.value for variable in read.projected}
    names = any(p.plain and p.predicates[0].value == LABEL.value and p.object.value in shown for p in read.triples)
    return not names and bool(asks_number or not _LIMITED.search(item.query))


def without_names(question: str, names: NameIndex) -> str:
    """The question with the names of things and values replaced by the class or property that they are of.

    Its own name for a class stays, so that what is asked for is still seen.
    """
    parts, end = [], 0
    for item in names.link(question):
        if item.kind not in _NAMES or item.start < end:
            continue
        of = names.types(item.iri)[:1] if item.kind == "entity" else (item.iri,)
        label = names.schema.label(of[0]) if of else "thing"
        parts += [question[end : item.start], f"<{label}>"]
        end = item.end
    return "".join([*parts, question[end:]])


def _shared(one: str, other: str) -> float:
    own, wanted = ({stem(word) for word in words(text)} for text in (one, other))
    return len(own & wanted) / (1 + len(own | wanted))


def _fits(query: str, known: Iterable[str]) -> bool:
    """Whether the properties and classes of a query are those of the graph, and it has any of its own."""
    read = patterns_of(query, PREFIXES)
    used = {i.value for p in read.triples for i in p.predicates if i.kind == "iri"}
    used |= {p.object.value for p in read.triples if p.plain and p.predicates[0].value == TYPE.value}
    own = {value for value in used if ":" in value and not value.startswith(_SOLVED_STANDARD)}
    return bool(own) and own <= set(known)


# A question that says what a solved one says, but for the names and numbers in it, has its query, but for these.

_UNSURE_NAME = 0.6
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_MOST_PIECES = 64


@dataclass(frozen=True, slots=True)
class _Slot:
    """A piece of a solved question that its query speaks of: the tokens of the query that do, and the classes."""

    places: tuple[int, ...]
    kind: str
    classes: frozenset[NamedNode] = frozenset()


def retold(question: str, examples: Sequence[Solved], names: NameIndex) -> tuple[Solved, str] | None:
    """The solved question that a question repeats, other names and numbers perhaps, with the query that is now meant.

    The words are the same in the same order, case, endings and punctuation apart; each other name is one of the same
    class and stands for one thing, and the query says all of them. None where there is no such solved question.
    """
    said = _said(question)
    known = {iri.value for iri in (*names.schema.classes, *names.schema.properties)}
    named: dict[int, list[Linked]] | None = None
    for item in reversed(examples):  # a workspace's own come last, and count more
        own = _said(item.question)
        if not _may_match(own, said) or not _fits(item.query, known):
            continue
        named = _named(question, said, names) if named is None else named
        written = list(tokens(item.query))
        pieces = list(_pieces(item.question, own, written, names))
        fillings = _filled(pieces, said, named, names)
        if fillings is not None:
            return item, _rewritten(item.query, written, fillings)
    return None


def _said(text: str) -> tuple[TextToken, ...]:
    """The words, numbers and Han characters of a text, without its marks; none of a text that is long."""
    found = tuple(token for token in tokens_of(text) if token.stem[0].isalnum())
    return found if len(found) <= _MOST_PIECES else ()


def _may_match(own: Sequence[TextToken], said: Sequence[TextToken]) -> bool:
    """Whether most words are the same: a quick look before names are looked up."""
    stems = {token.stem for token in own}
    return bool(own) and 2 * sum(token.stem in stems for token in said) >= min(len(own), len(said))


def _named(text: str, said: Sequence[TextToken], names: NameIndex) -> dict[int, list[Linked]]:
    """The things and values that a text names, by the token at which their names begin."""
    at = {token.start: place for place, token in enumerate(said)}
    found: dict[int, list[Linked]] = {}
    for item in names.link(text):
        if item.kind in _NAMES and item.start in at and item.score >= _UNSURE_NAME:
            found.setdefault(at[item.start], []).append(item)
    return found


def _pieces(
    text: str, own: Sequence[TextToken], written: Sequence[SparqlToken], names: NameIndex
) -> Iterator[str | _Slot]:
    """The stems of a solved question's words, with a slot for each name and number that its query speaks of."""
    spoken = _spoken_of(written)
    named, end = _named(text, own, names), 0
    for place, token in enumerate(own):
        if token.start < end:
            continue
        slot = None
        for item in named.get(place, ()):
            key = item.iri.value if item.kind == "entity" else item.label.casefold()
            if places := spoken.get(("iri" if item.kind == "entity" else "string", key)):
                slot = _Slot(places, item.kind, frozenset(_classes(item, names)))
                end = item.end
                break
        if slot is None and (places := spoken.get(("number", token.stem))):
            slot = _Slot(places, "number")
        yield slot or token.stem


def _classes(item: Linked, names: NameIndex) -> Iterable[NamedNode]:
    return names.types(item.iri) if item.kind == "entity" else (item.iri,)


def _spoken_of(written: Sequence[SparqlToken]) -> dict[tuple[str, str], tuple[int, ...]]:
    """The places of a query's tokens by what they say: IRIs whole, strings without their marks, numbers."""
    namespaces = {**PREFIXES, **declared_prefixes(written)}
    found: dict[tuple[str, str], tuple[int, ...]] = {}
    for place in range(prologue_length(written), len(written)):
        token = written[place]
        match token.kind:
            case "iri":
                key = ("iri", token.text[1:-1])
            case "name":
                prefix, _, local = token.text.partition(":")
                key = ("iri", namespaces.get(prefix, f"{prefix}:") + local)
            case "string":
                key = ("string", token.text.strip(token.text[0]).casefold())
            case _:
                key = (token.kind, token.text)
        found[key] = (*found.get(key, ()), place)
    return found


def _filled(
    pieces: Sequence[str | _Slot], said: Sequence[TextToken], named: Mapping[int, list[Linked]], names: NameIndex
) -> dict[int, str] | None:
    """What the slots' tokens of the query become for a question; None where it does not say the same."""
    found: dict[int, str] = {}
    place = 0
    for piece in pieces:
        if place >= len(said):
            return None
        first, end = said[place], said[place].end
        if isinstance(piece, str):
            if first.stem != piece:
                return None
        else:
            new = first.stem if _NUMBER.fullmatch(first.stem) else ""
            if piece.kind != "number":
                new, end = _name_for(piece, named.get(place, ()), names)
            if not new or any(found.get(number, new) != new for number in piece.places):
                return None  # nothing fits, or one thing of the solved question is two here
            found |= dict.fromkeys(piece.places, new)
        while place < len(said) and said[place].start < end:
            place += 1
    return found if place == len(said) else None


def _name_for(slot: _Slot, named: Iterable[Linked], names: NameIndex) -> tuple[str, int]:
    """The one thing or value of the slot's kind that is named, as a query has it, and where its name ends; or ""."""
    fits = [
        item
        for item in named
        if item.kind == slot.kind and (not slot.classes or slot.classes & frozenset(_classes(item, names)))
    ]
    best = [item for item in fits if item.score >= max(other.score for other in fits)]
    terms = {str(item.iri if slot.kind == "entity" else Literal(item.label)) for item in best}
    return (terms.pop(), best[0].end) if len(terms) == 1 else ("", 0)


def _rewritten(query: str, written: Sequence[SparqlToken], fillings: Mapping[int, str]) -> str:
    """The query with those of its tokens replaced, the rest as it is written."""
    text, end = "", 0
    for place in sorted(fillings):
        token = written[place]
        text += query[end : token.start] + fillings[place]
        end = token.end
    return text + query[end:]
