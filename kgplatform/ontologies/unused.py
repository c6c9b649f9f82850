"""What an ontology says that the platform has no use for: reported by kind, with how often and one example.

Used are (see ``docs/ontologies.md``): names, comments and examples; the class and property hierarchies; domains and
ranges, unions in them; keys; functional, inverse, symmetric, transitive and other characteristics; chains; disjoint
classes; equivalences of named terms, unions and intersections; the restrictions that shapes are made of
(`kgplatform.checking.implied`); and statements about named things. What is left is HermiT's business, or nobody's.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.vocab import CORE, DCTERMS, OWL, RDF, RDFS, SKOS, SUBCLASS_OF, TYPE, local_name

_UNNAMED = "urn:kgplatform:node:"
_SWRL = "http://www.w3.org/2003/11/swrl#"
_REPLACED_BY = "http://purl.obolibrary.org/obo/IAO_0100001"
_EXPRESSIONS = {
    f"{OWL}complementOf": "complement (owl:complementOf)",
    f"{OWL}datatypeComplementOf": "complement of a datatype (owl:datatypeComplementOf)",
    f"{OWL}disjointUnionOf": "disjoint union (owl:disjointUnionOf)",
    f"{OWL}oneOf": "closed list (owl:oneOf)",
    f"{OWL}hasSelf": "restriction to itself (owl:hasSelf)",
    f"{OWL}onProperties": "restriction over several properties (owl:onProperties)",
    f"{OWL}withRestrictions": "facets of a datatype (owl:withRestrictions)",
    f"{OWL}propertyDisjointWith": "disjoint properties (owl:propertyDisjointWith)",
    f"{OWL}targetIndividual": "negative statement (owl:NegativePropertyAssertion)",
    f"{OWL}targetValue": "negative statement (owl:NegativePropertyAssertion)",
}
_TYPES = {
    f"{OWL}AllDisjointProperties": "disjoint properties (owl:AllDisjointProperties)",
    f"{OWL}AllDifferent": "different things (owl:AllDifferent)",
    f"{OWL}ReflexiveProperty": "reflexive property (owl:ReflexiveProperty)",
    f"{OWL}Axiom": "annotation of an axiom (owl:Axiom)",
    f"{OWL}Annotation": "annotation of an annotation (owl:Annotation)",
    f"{_SWRL}Imp": "rule (SWRL)",
}
_TERM_TYPES = frozenset(
    (
        *(f"{RDFS}Class", f"{RDF}Property", f"{RDFS}Datatype"),
        *(f"{OWL}{name}" for name in ("Class", "ObjectProperty", "DatatypeProperty", "AnnotationProperty")),
    )
)
_READ = frozenset(
    (
        *(f"{SKOS}{name}" for name in ("prefLabel", "altLabel", "definition", "example")),
        *(f"{RDFS}{name}" for name in ("label", "comment", "subClassOf", "subPropertyOf", "domain", "range")),
        *(f"{DCTERMS}isReplacedBy", _REPLACED_BY, f"{OWL}deprecated", f"{RDF}type"),
    )
)
_MADE_SHAPES = ("someValuesFrom", "allValuesFrom", "hasValue", "minCardinality", "maxCardinality", "cardinality",
                "minQualifiedCardinality", "maxQualifiedCardinality", "qualifiedCardinality")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Unused:
    """A kind of axiom without a use, how many there are, and a term that one of them is about."""

    kind: str
    count: int
    example: str


def unused_axioms(triples: Iterable[Triple], unread: Mapping[str, int] | None = None) -> list[Unused]:
    """The axioms of no use, most frequent kind first; ``unread`` are those that a reader left out already."""
    axioms = _Axioms(triples)
    found: dict[str, list[str]] = defaultdict(list)
    for kind, example in (*axioms.expressions(), *axioms.types(), *axioms.restrictions(), *axioms.annotations()):
        found[kind].append(example)
    listed = [Unused(kind, len(about), min(about)) for kind, about in found.items()]
    listed += [Unused(f"{kind} (not read from OWL/XML)", count, "") for kind, count in (unread or {}).items()]
    return sorted(listed, key=lambda item: (-item.count, item.kind))


class _Axioms:
    """The triples, asked for who refers to what, so that an axiom can be named by the term it is about."""

    def __init__(self, triples: Iterable[Triple]) -> None:
        self.triples = tuple(triples)
        self.facts: dict[object, dict[str, list[object]]] = defaultdict(lambda: defaultdict(list))
        self.parents: dict[object, list[tuple[object, str]]] = defaultdict(list)
        self.terms: set[object] = set()
        for triple in self.triples:
            self.facts[triple.subject][triple.predicate.value].append(triple.object)
            if _is_unnamed(triple.object):
                self.parents[triple.object].append((triple.subject, triple.predicate.value))
            if triple.predicate == TYPE and getattr(triple.object, "value", "") in _TERM_TYPES:
                self.terms.add(triple.subject)

    def about(self, node: object) -> str:
        """The named term that a node belongs to, or that it names first."""
        seen: set[object] = set()
        above = node
        while _is_unnamed(above) and above not in seen:
            seen.add(above)
            above = next((subject for subject, _ in self.parents[above]), above)
        if not _is_unnamed(above):
            return str(getattr(above, "value", above))
        waiting = [node]
        while waiting:
            item = waiting.pop()
            for name, objects in self.facts.get(item, {}).items():
                for value in objects if name != TYPE.value else ():
                    if isinstance(value, NamedNode) and not _is_unnamed(value) and not value.value.startswith(RDF):
                        return value.value
                    if value not in seen:
                        seen.add(value)
                        waiting.append(value)
        return ""

    def expressions(self) -> Iterator[tuple[str, str]]:
        for triple in self.triples:
            kind = _EXPRESSIONS.get(triple.predicate.value)
            if kind:
                yield kind, self.about(triple.subject)

    def types(self) -> Iterator[tuple[str, str]]:
        for triple in self.triples:
            kind = _TYPES.get(getattr(triple.object, "value", "")) if triple.predicate == TYPE else None
            if kind:
                yield kind, self.about(triple.subject)

    def restrictions(self) -> Iterator[tuple[str, str]]:
        """Restrictions that no shape is made of: inside other expressions, or over an unnamed property."""
        for node, said in list(self.facts.items()):
            properties = said.get(f"{OWL}onProperty")
            names = [name for name in _MADE_SHAPES if f"{OWL}{name}" in said]
            if not properties or not names or f"{OWL}hasSelf" in said:
                continue
            kind = f"owl:{names[0]}"
            if any(_is_unnamed(item) for item in properties):
                yield f"restriction of an unnamed property ({kind})", self.about(node)
            elif not any(self._is_held(subject, name) for subject, name in self.parents[node]):
                yield f"restriction inside an expression ({kind})", self.about(node)
            elif names[0] == "allValuesFrom" and any(_is_unnamed(item) for item in said[f"{OWL}allValuesFrom"]):
                yield f"restriction to an expression ({kind})", self.about(node)

    def _is_held(self, subject: object, predicate: str) -> bool:
        direct = predicate in (SUBCLASS_OF.value, f"{OWL}equivalentClass")
        return direct and isinstance(subject, NamedNode) and not _is_unnamed(subject)

    def annotations(self) -> Iterator[tuple[str, str]]:
        """What is said of terms in words that nothing reads."""
        for triple in self.triples:
            name = triple.predicate.value
            if triple.subject not in self.terms or name in _READ or name.startswith((OWL, CORE, _SWRL)):
                continue
            what = "annotation" if isinstance(triple.object, Literal) else "reference"
            yield f"{what} {local_name(name)} ({name})", str(getattr(triple.subject, "value", ""))


def _is_unnamed(node: object) -> bool:
    return not isinstance(node, NamedNode | Literal) or str(node.value).startswith(_UNNAMED)


def summary(found: Iterable[Unused]) -> str:
    """One line on them; empty if there are none."""
    listed = list(found)
    if not listed:
        return ""
    shown = ", ".join(f"{item.count} {item.kind.partition(' (')[0]}" for item in listed[:4])
    more = f" and {len(listed) - 4} other kinds" if len(listed) > 4 else ""
    return f"of no use to the platform: {shown}{more}; `kgplatform ontology check` lists them"
