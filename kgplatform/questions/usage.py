"""How the data uses every class and property, in the detail that a translator with a model is told.

Made from the same pass over the graph as the schema view, when it is first asked for: the built-in translator needs
none of it. What a class of things is called, which values a property has *on that class*, how many a thing has of
them, and a real pair of names for each relation between things.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from pyoxigraph import Literal, NamedNode

from kgplatform.ontology import Ontology
from kgplatform.questions.facts import GraphFacts, Statement
from kgplatform.questions.schema import THING, SchemaView
from kgplatform.types import Term
from kgplatform.vocab import RDF, XSD, local_name, words_of_iri

_ENUMERATION: Final = 30
_SAMPLES: Final = 3
_MEMBERS: Final = 30
_LONG: Final = 60
_CODES = frozenset(("id", "identifier", "number", "no", "code", "key", "uid", "编号", "代码", "号", "phone", "电话"))
_AMOUNT = re.compile(r"-?(?:0|[1-9]\d{0,8})(?:\.\d+)?")
_LANGUAGE_STRING: Final = f"{RDF}langString"
_MEASURED: Final = frozenset(
    f"{XSD}{name}"
    for name in ("integer", "decimal", "double", "float", "date", "dateTime", "gYear", "gYearMonth", "time")
)


@dataclass(frozen=True, slots=True)
class ClassUse:
    """What the things of a class are called.

    ``names`` are labels as they are written, tag and all, the first that of ``witness``; ``languages`` count them by
    tag; ``nameless`` are the things without a label; ``aliased`` those with further names; ``members`` is every thing
    of a small class.
    """

    names: tuple[Literal, ...] = ()
    witness: NamedNode | None = None
    languages: tuple[tuple[str, int], ...] = ()
    nameless: int = 0
    aliased: int = 0
    members: tuple[NamedNode, ...] = ()


@dataclass(frozen=True, slots=True)
class PropertyUse:
    """How the things of one class have one property.

    ``things`` have it, with ``statements`` in all and at most ``most`` each. ``targets`` counts the classes or
    datatypes of its values; ``samples`` are values, all of them where ``closed``. ``low`` and ``high`` are the ends of
    measured values, ``example`` names two things that it relates; ``numeric_text``: texts that are amounts.
    """

    subject: NamedNode
    predicate: NamedNode
    things: int
    statements: int
    most: int
    distinct: int
    targets: tuple[tuple[NamedNode, int], ...]
    samples: tuple[Term, ...] = ()
    closed: bool = False
    low: str = ""
    high: str = ""
    example: tuple[Term, Term] | None = None
    numeric_text: bool = False

    @property
    def literal(self) -> bool:
        """Whether the values are mostly literals."""
        return self.targets[0][0].value.startswith(XSD) or self.targets[0][0].value == _LANGUAGE_STRING


@dataclass(frozen=True, slots=True)
class Usage:
    """The use of every class and of every property on every class."""

    classes: Mapping[NamedNode, ClassUse]
    properties: Mapping[NamedNode, tuple[PropertyUse, ...]]

    def on(self, class_: NamedNode) -> tuple[PropertyUse, ...]:
        """How things of the class itself have properties, most used first."""
        return self.properties.get(class_, ())


@dataclass(slots=True)
class _Tally:
    statements: int = 0
    values: Counter[Term] = field(default_factory=Counter)
    targets: Counter[NamedNode] = field(default_factory=Counter)
    example: tuple[Term, Term] | None = None


def usage(facts: GraphFacts, schema: SchemaView) -> Usage:
    """The use that the facts make of the schema's classes and properties."""
    tallies: dict[tuple[NamedNode, NamedNode], _Tally] = defaultdict(_Tally)
    owned: Counter[tuple[NamedNode, Term]] = Counter()
    statements: Iterable[Statement] = facts.statements
    for subject, predicate, object_ in statements:
        owned[predicate, subject] += 1
        targets = (object_.datatype,) if isinstance(object_, Literal) else facts.types.get(object_, (THING,))
        for class_ in facts.types.get(subject, (THING,)):
            tally = tallies[class_, predicate]
            tally.statements += 1
            tally.values[object_] += 1
            for target in targets:
                tally.targets[target] += 1
            if tally.example is None and not isinstance(object_, Literal):
                tally.example = (subject, object_)
    things, most = _per_thing(owned, facts)
    found: dict[NamedNode, list[PropertyUse]] = defaultdict(list)
    for (class_, predicate), tally in tallies.items():
        if predicate in schema.properties:
            pair = (class_, predicate)
            found[class_].append(_use(class_, predicate, tally, things=things[pair], most=most[pair]))
    return Usage(
        classes=_classes(facts, schema),
        properties={
            iri: tuple(sorted(uses, key=lambda use: (-use.things, use.predicate.value))) for iri, uses in found.items()
        },
    )


def _per_thing(
    owned: Counter[tuple[NamedNode, Term]], facts: GraphFacts
) -> tuple[Counter[tuple[NamedNode, NamedNode]], dict[tuple[NamedNode, NamedNode], int]]:
    """By class and property: how many things have it, and the most values that one of them has."""
    things: Counter[tuple[NamedNode, NamedNode]] = Counter()
    most: dict[tuple[NamedNode, NamedNode], int] = defaultdict(int)
    for (predicate, subject), count in owned.items():
        for class_ in facts.types.get(subject, (THING,)):
            things[class_, predicate] += 1
            most[class_, predicate] = max(most[class_, predicate], count)
    return things, most


def _use(class_: NamedNode, predicate: NamedNode, tally: _Tally, *, things: int, most: int) -> PropertyUse:
    common = tally.values.most_common(_ENUMERATION + 1)
    closed = len(common) <= _ENUMERATION and tally.statements > 2 * len(common)
    targets = tuple(sorted(tally.targets.items(), key=lambda item: (-item[1], item[0].value)))
    measured = targets[0][0].value in _MEASURED
    low, high = _ends(tally.values) if measured else ("", "")
    shown = [value for value, _ in common[: _ENUMERATION if closed else _SAMPLES]]
    if closed:
        shown.sort(key=_order)
    return PropertyUse(
        subject=class_,
        predicate=predicate,
        things=things,
        statements=tally.statements,
        most=most,
        distinct=len(tally.values),
        targets=targets,
        samples=tuple(shown),
        closed=closed and len(common) > 0,
        low=low,
        high=high,
        example=tally.example,
        numeric_text=targets[0][0].value == f"{XSD}string" and _amounts(tally.values),
    )


def _amounts(values: Iterable[Term]) -> bool:
    """Whether texts are amounts and no codes: plain numbers, none of them with a leading zero or of many digits."""
    texts = [str(getattr(value, "value", "")) for value in values]
    return bool(texts) and all(_AMOUNT.fullmatch(text) for text in texts)


def _order(term: Term) -> tuple[bool, float, str]:
    try:
        return (False, float(getattr(term, "value", "")), "")
    except ValueError:
        return (True, 0.0, str(term))


def _ends(values: Iterable[Term]) -> tuple[str, str]:
    """The least and the greatest of the literals, as they are written."""
    written = [value.value for value in values if isinstance(value, Literal) and value.datatype.value in _MEASURED]
    ordered = sorted(written, key=_magnitude)
    return (ordered[0], ordered[-1]) if ordered else ("", "")


def _magnitude(text: str) -> tuple[float, str]:
    try:
        number = float(text)
    except ValueError:
        return (0.0, text)
    return (number if number == number else 0.0, text)


@dataclass(slots=True)
class _Called:
    """What the things of one class are called, as it is counted."""

    members: list[NamedNode] = field(default_factory=list)
    names: list[Literal] = field(default_factory=list)
    witness: NamedNode | None = None
    languages: Counter[str] = field(default_factory=Counter)
    nameless: int = 0
    aliased: int = 0


def _classes(facts: GraphFacts, schema: SchemaView) -> dict[NamedNode, ClassUse]:
    found: dict[NamedNode, _Called] = defaultdict(_Called)
    for node, types in facts.types.items():
        labels = () if node in facts.keyed else facts.labels.get(node, ())
        for class_ in types:
            _count(found[class_], node, labels, aliased=node in facts.aliases)
    return {iri: _class_use(found[iri]) for iri in schema.classes}


def _count(called: _Called, node: object, labels: tuple[Literal, ...], *, aliased: bool) -> None:
    called.nameless += not labels
    called.aliased += aliased
    if isinstance(node, NamedNode):
        if len(called.members) <= _MEMBERS:
            called.members.append(node)
        if labels and called.witness is None:
            called.witness = node
    for label in labels:
        called.languages[label.language or ""] += 1
        if len(called.names) < _SAMPLES:
            called.names.append(label)


def _class_use(called: _Called) -> ClassUse:
    members = tuple(sorted(called.members, key=str)) if len(called.members) <= _MEMBERS else ()
    return ClassUse(
        names=tuple(called.names),
        witness=called.witness,
        languages=tuple(called.languages.most_common()),
        nameless=called.nameless,
        aliased=called.aliased,
        members=members,
    )


def named(term: object, facts: GraphFacts) -> str:
    """What a thing is called, for showing an example: a label, else the words of its IRI."""
    labels = facts.labels.get(term)
    if labels:
        return labels[0].value[:_LONG]
    text = str(term).strip("<>")
    return words_of_iri(text)[:_LONG] or local_name(text)[:_LONG]


def names_things(predicate: NamedNode) -> bool:
    """Whether a property is called a code, number or identifier, so that its digits are no amount."""
    last = words_of_iri(predicate.value).split()[-1:]
    return bool(last) and last[0] in _CODES


def declared(schema: SchemaView, ontology: Ontology, predicate: NamedNode) -> tuple[str, ...]:
    """What the ontology says of a property that the data alone does not: functional, transitive, its inverse."""
    term, axioms = schema.properties[predicate], ontology.properties.get(predicate)
    said = []
    if axioms is not None and axioms.functional:
        said.append("functional")
    if term.transitive:
        said.append("transitive")
    if term.symmetric:
        said.append("symmetric")
    return tuple(said)
