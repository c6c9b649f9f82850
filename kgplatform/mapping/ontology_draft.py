"""An ontology drafted from data that comes without one (RDF or tables), for a person to edit: OWL 2 in Turtle.

Datatypes, functional properties and keys are read off the values; what was guessed says so in its comment. A language
model may word the terms (labels and comments in English and Chinese, local names that the draft coined), and nothing
else; the label that came from the data stays as a lexical form (``skos:altLabel``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import pyoxigraph as ox
from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Triple

from kgplatform.documents.tables.table_source import (
    ColumnProfile,
    ValueType,
    samples_of,
    type_of,
)
from kgplatform.errors import ModelReplyError
from kgplatform.models.json_replies import json_of, mismatch
from kgplatform.models.prompts import render_messages
from kgplatform.text import has_han, normalise
from kgplatform.types import ChatModel, Term
from kgplatform.vocab import (
    ALT_LABEL,
    COMMENT,
    CORE,
    LABEL,
    OWL,
    PREFIXES,
    RDF,
    RDFS,
    SKOS,
    SUBCLASS_OF,
    TYPE,
    XSD_BOOLEAN,
    XSD_DATE,
    XSD_DATETIME,
    XSD_DECIMAL,
    XSD_GYEAR,
    XSD_INTEGER,
    XSD_STRING,
    local_name,
    words_of_iri,
)

_LANG_STRING = NamedNode(f"{RDF}langString")
_EXAMPLES = 2
_DATATYPES = {
    ValueType.INTEGER: XSD_INTEGER,
    ValueType.DECIMAL: XSD_DECIMAL,
    ValueType.BOOLEAN: XSD_BOOLEAN,
    ValueType.DATE: XSD_DATE,
    ValueType.DATE_TIME: XSD_DATETIME,
    ValueType.G_YEAR: XSD_GYEAR,
    ValueType.CODE: XSD_STRING,
    ValueType.TEXT: XSD_STRING,
}


@dataclass(frozen=True, slots=True)
class Profile:
    """What is common to values: their datatype, how many differ (0: not counted), and some of them as examples."""

    datatype: NamedNode
    count: int
    distinct: int
    examples: tuple[str, ...]

    @property
    def is_unique(self) -> bool:
        """Whether every value occurs once."""
        return self.count > 1 and self.count == self.distinct


def of_column(column: ColumnProfile) -> Profile:
    """The profile of a column's values as those of a property."""
    return Profile(_DATATYPES[column.type], column.values, column.distinct, column.samples[:_EXAMPLES])


def of_literals(literals: Sequence[Literal], name: str) -> Profile:
    """The profile of literals: the datatype that most say; plain text is looked at as cells are."""
    texts = [item.value for item in literals]
    if any(item.language for item in literals):
        return _profile(_LANG_STRING, texts)
    said = Counter(item.datatype for item in literals)
    if len(said) == 1 and XSD_STRING in said:
        cells = [text.strip() for text in texts if text.strip()]
        return _profile(_DATATYPES[type_of(cells, name)], cells)
    if {XSD_INTEGER, XSD_DECIMAL} == said.keys():
        return _profile(XSD_DECIMAL, texts)
    return _profile(said.most_common(1)[0][0] if len(said) == 1 else XSD_STRING, texts)


def _profile(datatype: NamedNode, texts: Sequence[str]) -> Profile:
    return Profile(datatype, len(texts), len(set(texts)), samples_of(texts)[:_EXAMPLES])


_FEW = 20
_UNION, _FIRST, _REST = NamedNode(f"{OWL}unionOf"), NamedNode(f"{RDF}first"), NamedNode(f"{RDF}rest")
_NIL, _CLASS = NamedNode(f"{RDF}nil"), NamedNode(f"{OWL}Class")


@dataclass(frozen=True, slots=True)
class DraftedClass:
    """A class to propose, with the names of some of its members and the properties that tell them apart."""

    iri: NamedNode
    label: str
    count: int
    key: tuple[NamedNode, ...] = ()
    parents: tuple[NamedNode, ...] = ()
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DraftedProperty:
    """A property to propose; ``ranges`` are classes, or there is a ``profile`` of its values."""

    iri: NamedNode
    label: str
    domains: tuple[NamedNode, ...]
    count: int
    ranges: tuple[NamedNode, ...] = ()
    profile: Profile | None = None
    functional: bool = False
    unit: str | None = None


@dataclass(frozen=True, slots=True)
class OntologyDraft:
    """An ontology to propose; ``remarks`` say what could not be made of the data.

    ``labels``, ``other_words`` and ``comments`` are words by term, where there are better ones than the draft's own.
    ``is_from_data``: the IRIs of the terms are those that data uses, so that they cannot be others.
    """

    iri: NamedNode
    source: str
    classes: tuple[DraftedClass, ...]
    properties: tuple[DraftedProperty, ...]
    labels: dict[NamedNode, tuple[Literal, ...]] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()
    other_words: dict[NamedNode, tuple[Literal, ...]] = field(default_factory=dict)
    comments: dict[NamedNode, tuple[Literal, ...]] = field(default_factory=dict)
    is_from_data: bool = False

    @property
    def terms(self) -> list[DraftedClass | DraftedProperty]:
        """Classes and properties."""
        return [*self.classes, *self.properties]

    @property
    def namespace(self) -> str:
        """What the IRIs of coined terms begin with."""
        return self.iri.value.rstrip("#/") + "#"


def as_turtle(draft: OntologyDraft) -> bytes:
    """The draft as OWL in Turtle."""
    prefixes = {name: PREFIXES[name] for name in ("rdf", "rdfs", "owl", "xsd", "skos")}
    return ox.serialize(_triples(draft), format=RdfFormat.TURTLE, prefixes={**prefixes, "": draft.namespace}) or b""


def _triples(draft: OntologyDraft) -> Iterable[Triple]:
    yield Triple(draft.iri, TYPE, NamedNode(f"{OWL}Ontology"))
    yield Triple(draft.iri, COMMENT, Literal(f"Drafted from {draft.source}; to be edited by a person.", language="en"))
    for class_ in draft.classes:
        yield Triple(class_.iri, TYPE, _CLASS)
        yield from _words(draft, class_.iri, class_.label)
        yield Triple(class_.iri, COMMENT, _comment(class_.label, class_.count))
        for parent in class_.parents:
            yield Triple(class_.iri, SUBCLASS_OF, parent)
        for example in class_.examples:
            yield Triple(class_.iri, NamedNode(f"{SKOS}example"), tagged(example))
        if class_.key:
            yield from _list(class_.iri, NamedNode(f"{OWL}hasKey"), class_.key)
    for term in draft.properties:
        yield from _property(draft, term)


def _property(draft: OntologyDraft, term: DraftedProperty) -> Iterable[Triple]:
    kind = "DatatypeProperty" if term.profile else "ObjectProperty"
    yield Triple(term.iri, TYPE, NamedNode(f"{OWL}{kind}"))
    if term.functional:
        yield Triple(term.iri, TYPE, NamedNode(f"{OWL}FunctionalProperty"))
    yield from _words(draft, term.iri, term.label)
    distinct = term.profile.distinct or None if term.profile else None
    yield Triple(term.iri, COMMENT, _comment(term.label, term.count, distinct))
    yield from _end(term.iri, "domain", term.domains)
    if term.profile:
        yield Triple(term.iri, NamedNode(f"{RDFS}range"), term.profile.datatype)
        if term.unit:
            yield Triple(term.iri, NamedNode(f"{CORE}unit"), Literal(term.unit))
        for example in term.profile.examples:
            yield Triple(term.iri, NamedNode(f"{SKOS}example"), Literal(example))
    else:
        yield from _end(term.iri, "range", term.ranges)


def _comment(label: str, count: int, distinct: int | None = None) -> Literal:
    """What the data shows of a term, in the language of its label."""
    if has_han(label):
        values = "" if distinct is None else f"；不同取值：{distinct}"
        return Literal(f"由数据草拟；数据中出现：{count}{values}。", language="zh")
    values = "" if distinct is None else f"; different values: {distinct}"
    return Literal(f"Drafted; in the data: {count}{values}.", language="en")


def _end(subject: NamedNode, name: str, classes: tuple[NamedNode, ...]) -> Iterable[Triple]:
    """Domain or range: the class, or the union of several; ``owl:Thing`` where there are none or very many."""
    predicate = NamedNode(f"{RDFS}{name}")
    if len(classes) == 1:
        yield Triple(subject, predicate, classes[0])
    elif not classes or len(classes) > _FEW:
        yield Triple(subject, predicate, NamedNode(f"{OWL}Thing"))
    else:
        union = BlankNode()
        yield Triple(subject, predicate, union)
        yield Triple(union, TYPE, _CLASS)
        yield from _list(union, _UNION, classes)


def _list(subject: NamedNode | BlankNode, predicate: NamedNode, items: tuple[NamedNode, ...]) -> Iterable[Triple]:
    nodes = [BlankNode() for _ in items]
    yield Triple(subject, predicate, nodes[0])
    for place, (node, item) in enumerate(zip(nodes, items, strict=True)):
        yield Triple(node, _FIRST, item)
        rest: Term = nodes[place + 1] if place + 1 < len(nodes) else _NIL
        yield Triple(node, _REST, rest)


def _words(draft: OntologyDraft, iri: NamedNode, label: str) -> Iterable[Triple]:
    """The labels that the data gives the term, else one from its name."""
    for literal in draft.labels.get(iri) or (tagged(label),):
        yield Triple(iri, LABEL, literal)
    for literal in draft.other_words.get(iri, ()):
        yield Triple(iri, ALT_LABEL, literal)
    for literal in draft.comments.get(iri, ()):
        yield Triple(iri, COMMENT, literal)


def tagged(text: str) -> Literal:
    """The text with its language."""
    return Literal(text, language="zh" if has_han(text) else "en")


def term_name(words: str, *, is_class: bool) -> str:
    """A local name from words: ``HotelRoom`` for a class, ``starRating`` for a property; Chinese stays as it is.

    >>> term_name("star_rating", is_class=False), term_name("hotel room", is_class=True), term_name("房", is_class=True)
    ('starRating', 'HotelRoom', '房')
    """
    parts = [part for part in re.split(r"[\W_]+", words) if part]
    if not parts:
        return ""
    shaped = [part if part.isupper() and len(part) <= 4 else part[0].upper() + part[1:] for part in parts]
    name = "".join(shaped)[:80]
    if not is_class:
        is_acronym = len(parts[0]) > 1 and parts[0].isupper()
        name = name if is_acronym else name[0].lower() + name[1:]
    return f"x{name}" if name[0].isdigit() else name


def label_of_iri(iri: NamedNode) -> str:
    """Words for an IRI, never empty and not too long for a label."""
    return (words_of_iri(iri.value) or iri.value)[:100]


PROMPT: Final = "name-ontology-terms"
_BATCH = 25
_WORDING_LONGEST = {"label": 60, "comment": 300}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]{0,59}")
_WORDS = ("name", "label_en", "label_zh", "comment_en", "comment_zh")
REPLY_SCHEMA: Final[dict[str, object]] = {
    "type": "object",
    "required": ["terms"],
    "additionalProperties": False,
    "properties": {
        "terms": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", *_WORDS],
                "additionalProperties": False,
                "properties": {"id": {"type": "string"}, **{name: {"type": "string"} for name in _WORDS}},
            },
        }
    },
}
_LEAST: Final[dict[str, object]] = {
    "type": "object",
    "required": ["terms"],
    "properties": {"terms": {"type": "array", "items": {"type": "object"}}},
}


@dataclass(frozen=True, slots=True)
class _Wording:
    """What the model proposes for one term, held against what may be proposed."""

    name: str
    labels: tuple[Literal, ...]
    comments: tuple[Literal, ...]


def worded(draft: OntologyDraft, model: ChatModel) -> OntologyDraft:
    """The draft with the words that the model proposes; remarks say for which terms its reply was of no use.

    Raises:
        ModelUnavailableError: the model cannot be reached.
    """
    ids = _ids(draft)
    proposed: dict[NamedNode, _Wording] = {}
    remarks: list[str] = []
    terms = draft.terms
    for start in range(0, len(terms), _BATCH):
        batch = terms[start : start + _BATCH]
        try:
            proposed.update(_asked(draft, batch, ids, model))
        except ModelReplyError as error:
            remarks.append(f"the model's words for {len(batch)} terms cannot be used, they stay as drafted: {error}")
    left = [ids[term.iri] for term in terms if term.iri not in proposed]
    if left and len(left) < len(terms):
        shown = ", ".join(left[:5]) + (" …" if len(left) > 5 else "")
        remarks.append(f"the model proposed nothing of use for {shown}: as drafted")
    return _applied(draft, proposed, (*draft.remarks, *remarks), model.name)


def _ids(draft: OntologyDraft) -> dict[NamedNode, str]:
    """A short name for each term, unique in the draft."""
    found: dict[NamedNode, str] = {}
    taken: set[str] = set()
    for term in draft.terms:
        name, number = local_name(term.iri.value) or "term", 2
        stem = name
        while name in taken:
            name, number = f"{stem}-{number}", number + 1
        taken.add(name)
        found[term.iri] = name
    return found


def _asked(
    draft: OntologyDraft,
    batch: Sequence[DraftedClass | DraftedProperty],
    ids: Mapping[NamedNode, str],
    model: ChatModel,
) -> Iterator[tuple[NamedNode, _Wording]]:
    messages, _ = render_messages(
        PROMPT,
        source=draft.source,
        known=[class_.label for class_ in draft.classes[:60]],
        classes=[
            {"id": ids[term.iri], "label": _line(term.label), "samples": [_line(item) for item in term.examples]}
            for term in batch
            if isinstance(term, DraftedClass)
        ],
        properties=[_property_shown(term, draft, ids) for term in batch if isinstance(term, DraftedProperty)],
    )
    completion = model.complete(messages, schema=REPLY_SCHEMA)
    reply = json_of(completion.text, model=model.name)
    wrong = mismatch(reply, _LEAST)
    if wrong:
        raise ModelReplyError(wrong, model=model.name, reply=completion.text)
    by_id = {ids[term.iri]: term for term in batch}
    found: dict[NamedNode, _Wording] = {}
    listed = reply["terms"]
    for item in listed if isinstance(listed, list) else ():  # of objects, as `_LEAST` has it
        term = by_id.get(str(item.get("id")))
        if term is not None and term.iri not in found:
            wording = _checked(item, is_class=isinstance(term, DraftedClass))
            if wording.labels:
                found[term.iri] = wording
    yield from found.items()


def _property_shown(term: DraftedProperty, draft: OntologyDraft, ids: Mapping[NamedNode, str]) -> dict[str, object]:
    labels = {class_.iri: class_.label for class_ in draft.classes}
    profile = term.profile
    value = local_name(profile.datatype.value) if profile else _listed(term.ranges, labels)
    samples = [_line(item) for item in profile.examples] if profile else []
    subject = _listed(term.domains, labels)
    return {"id": ids[term.iri], "label": _line(term.label), "subject": subject, "value": value, "samples": samples}


def _listed(iris: Sequence[NamedNode], labels: Mapping[NamedNode, str]) -> str:
    return " or ".join(_line(labels.get(iri, local_name(iri.value))) for iri in iris[:4]) or "anything"


def _line(text: str) -> str:
    """Data in one line of the prompt, cut."""
    return " ".join(text.split())[:80]


def _checked(item: Mapping[str, Any], *, is_class: bool) -> _Wording:
    """What may be used of the words: single lines, in the language they are said to be in, not too long."""
    texts = {name: " ".join(str(item.get(name) or "").split()) for name in _WORDS}
    kept: dict[str, list[Literal]] = {"label": [], "comment": []}
    for kind, found in kept.items():
        for language in ("en", "zh"):
            text = texts[f"{kind}_{language}"]
            fits = normalise(text) and len(text) <= _WORDING_LONGEST[kind] and has_han(text) == (language == "zh")
            if fits and text.isprintable():
                found.append(Literal(text, language=language))
    name = texts["name"]
    right = _NAME.fullmatch(name) is not None and name[0].isupper() == is_class
    return _Wording(name if right else "", tuple(kept["label"]), tuple(kept["comment"]))


def _applied(
    draft: OntologyDraft, proposed: Mapping[NamedNode, _Wording], remarks: tuple[str, ...], model: str
) -> OntologyDraft:
    moved = _moved(draft, proposed)

    def at(iri: NamedNode) -> NamedNode:
        return moved.get(iri, iri)

    labels = {at(iri): found for iri, found in draft.labels.items()}
    other: dict[NamedNode, tuple[Literal, ...]] = {}
    comments: dict[NamedNode, tuple[Literal, ...]] = {}
    for term in draft.terms:
        wording = proposed.get(term.iri)
        if wording is not None:
            before = draft.labels.get(term.iri) or (tagged(term.label),)
            labels[at(term.iri)] = wording.labels
            other[at(term.iri)] = tuple(item for item in before if item not in wording.labels)
            comments[at(term.iri)] = wording.comments
    return replace(
        draft,
        source=f"{draft.source}, words by {model}" if proposed else draft.source,
        classes=tuple(
            replace(c, iri=at(c.iri), key=tuple(map(at, c.key)), parents=tuple(map(at, c.parents)))
            for c in draft.classes
        ),
        properties=tuple(
            replace(p, iri=at(p.iri), domains=tuple(map(at, p.domains)), ranges=tuple(map(at, p.ranges)))
            for p in draft.properties
        ),
        labels=labels,
        other_words=other,
        comments=comments,
        remarks=remarks,
    )


def _moved(draft: OntologyDraft, proposed: Mapping[NamedNode, _Wording]) -> dict[NamedNode, NamedNode]:
    """The new IRIs of terms that the draft coined; what the data itself names so keeps its name."""
    taken = {term.iri.value for term in draft.terms}
    moved: dict[NamedNode, NamedNode] = {}
    for iri, wording in () if draft.is_from_data else proposed.items():
        target = draft.namespace + wording.name
        if wording.name and iri.value.startswith(draft.namespace) and target not in taken:
            taken.add(target)
            moved[iri] = NamedNode(target)
    return moved
