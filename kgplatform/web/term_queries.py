"""Queries to begin with for a class or a property, made from what its things really have: none of them is empty."""

from __future__ import annotations

from dataclasses import dataclass

from pyoxigraph import NamedNode

from kgplatform.describing import Labels
from kgplatform.vocab import TYPE
from kgplatform.web.frame import language
from kgplatform.web.needs import Graph
from kgplatform.web.profiles import ClassProfile, PropertyProfile
from kgplatform.web.results import prefixed
from kgplatform.web.words import phrase

_FEW = 3


@dataclass(frozen=True, slots=True)
class Example:
    """A query and what it gives, in words."""

    title: str
    text: str


def of_class(kg: Graph, class_: NamedNode, profile: ClassProfile, labels: Labels) -> list[Example]:
    """Things with their most used properties; how many there are; how many by a value that several share."""
    if not profile.things.total:
        return []
    name, kind = _named(kg, class_), labels.of(class_).text
    a = _member(kg, class_)
    found = [
        Example(
            phrase("query_count", language(), class_=kind),
            f"SELECT (COUNT(DISTINCT ?thing) AS ?number) WHERE {{\n  ?thing {a} {name} .\n}}\n",
        )
    ]
    uses = sorted(profile.uses.items(), key=lambda pair: (-pair[1].things, pair[0].value))
    told = [(predicate, use) for predicate, use in uses if not _internal(kg, predicate)]
    columns = [predicate for predicate, _ in told[:_FEW]]
    lines = "".join(
        f"  OPTIONAL {{ ?thing {_named(kg, one)} ?value{at} }}\n" for at, one in enumerate(columns, start=1)
    )
    names = " ".join(f"?value{at}" for at, _ in enumerate(columns, start=1))
    text = (
        f"SELECT ?thing ?label {names} WHERE {{\n  ?thing {a} {name} .\n"
        f"  OPTIONAL {{ ?thing rdfs:label ?label }}\n{lines}}}\nLIMIT 100\n"
    )
    found.insert(0, Example(phrase("query_list", language(), class_=kind), text))
    shared = next((p for p, use in told if use.values > use.things // 2 and use.low is None and use.things > 1), None)
    if shared is not None:
        by = by_frequency(f"?thing {a} {name} ;\n         {_named(kg, shared)} ?value .", "COUNT(DISTINCT ?thing)")
        found.append(Example(phrase("query_by", language(), class_=kind, by=labels.of(shared).text), by))
    counted = next((p for p, use in told if use.low is not None and use.high != use.low), None)
    if counted is not None:
        most = (
            f"SELECT ?thing ?value WHERE {{\n  ?thing {a} {name} ;\n         {_named(kg, counted)} ?value .\n}}\n"
            "ORDER BY DESC(?value)\nLIMIT 10\n"
        )
        found.append(Example(phrase("query_most", language(), class_=kind, by=labels.of(counted).text), most))
    return found


def of_property(kg: Graph, predicate: NamedNode, profile: PropertyProfile, labels: Labels) -> list[Example]:
    """The statements of a property, and its values by how often they occur."""
    if not profile.looked:
        return []
    name, label = _named(kg, predicate), labels.of(predicate).text
    found = [
        Example(
            phrase("query_statements", language(), by=label),
            f"SELECT ?thing ?value WHERE {{\n  ?thing {name} ?value .\n}}\nLIMIT 100\n",
        )
    ]
    if profile.repeated:
        text = by_frequency(f"?thing {name} ?value .", "COUNT(*)")
        found.append(Example(phrase("query_values", language(), by=label), text))
    return found


def by_frequency(pattern: str, count: str) -> str:
    """The query for values by how often they occur in the pattern."""
    return (
        f"SELECT ?value ({count} AS ?number) WHERE {{\n  {pattern}\n}}\n"
        "GROUP BY ?value\nORDER BY DESC(?number)\nLIMIT 100\n"
    )


def _named(kg: Graph, iri: NamedNode) -> str:
    return prefixed(iri.value, sorted(kg.store.prefixes.items(), key=lambda pair: -len(pair[1])))


def _member(kg: Graph, class_: NamedNode) -> str:
    """``a``; with a path over subclasses where things may be typed by a class below only."""
    return "a/rdfs:subClassOf*" if len(kg.ontology.subclasses(class_)) > 1 else "a"


def _internal(kg: Graph, predicate: NamedNode) -> bool:
    term = kg.ontology.properties.get(predicate)
    return predicate == TYPE or (term is not None and term.internal)
