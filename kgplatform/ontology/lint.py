"""What is wrong with an ontology, what of it the platform has no use for, and its classes as a tree.

The structural check needs no reasoner: words, domains and ranges, clashes, cycles, slips. It looks for what the
platform lives by (`kgplatform.ontology.schema`), and for the mistakes of OWL 2 DL that a reader can see: one IRI as
two kinds of thing (punning; https://www.w3.org/TR/owl2-new-features/#F12:_Punning allows some), terms that nothing
declares, classes that are below themselves.

Used are (see ``docs/ontologies.md``): names, comments and examples; the class and property hierarchies; domains and
ranges, unions in them; keys; functional, inverse, symmetric, transitive and other characteristics; chains; disjoint
classes; equivalences of named terms, unions and intersections; the restrictions that shapes are made of
(`kgplatform.reasoning.shapes`); and statements about named things. What is left is HermiT's business, or nobody's: it
is reported by kind, with how often and one example.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import pairwise

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.ontology.schema import Ontology, OntologyClass, OntologyProperty, TermIndex, Word
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store
from kgplatform.text import normalise
from kgplatform.vocab import CORE, DCTERMS, OWL, RDF, RDFS, SKOS, SUBCLASS_OF, TYPE, XSD, local_name


@dataclass(frozen=True, slots=True)
class ClassNode:
    """A class at its depth: ``count`` things are of it or of a class below; ``repeated`` if shown above already."""

    iri: NamedNode
    label: str
    depth: int
    count: int
    properties: tuple[OntologyProperty, ...] = ()
    repeated: bool = False


def instance_counts(ontology: Ontology, store: Store) -> dict[NamedNode, int]:
    """How many things the graph has of each class, those of the classes below included, each once."""
    members: dict[NamedNode, set[object]] = {}
    for item in store.quads(None, TYPE, None, DEFAULT_GRAPH):
        if isinstance(item.object, NamedNode) and item.object in ontology.classes:
            members.setdefault(item.object, set()).add(item.subject)
    found: Counter[NamedNode] = Counter()
    for class_ in ontology.classes:
        below = [members[item] for item in ontology.subclasses(class_) if item in members]
        if below:
            found[class_] = len(set().union(*below))
    return dict(found)


def class_tree(ontology: Ontology, counts: Mapping[NamedNode, int]) -> Iterator[ClassNode]:
    """The classes from the top down, by label; a class with several parents comes under each, in full once."""
    children: dict[NamedNode | None, list[NamedNode]] = {}
    shown_classes = {term.iri for term in ontology.domain_classes}
    for iri in shown_classes:
        parents = [p for p in ontology.classes[iri].parents if p in shown_classes]
        for parent in parents or (None,):
            children.setdefault(parent, []).append(iri)
    seen: set[NamedNode] = set()
    own = _own_properties(ontology)

    def name(iri: NamedNode) -> tuple[str, str]:
        return ontology.label(iri).casefold(), iri.value

    waiting = [(iri, 0) for iri in sorted(children.get(None, ()), key=name, reverse=True)]
    rest = sorted(shown_classes, key=name, reverse=True)  # those on a cycle have no top
    while waiting or rest:
        if not waiting:
            left = rest.pop()
            waiting = [] if left in seen else [(left, 0)]
            continue
        iri, depth = waiting.pop()
        repeated = iri in seen
        seen.add(iri)
        yield ClassNode(iri, ontology.label(iri), depth, counts.get(iri, 0), own.get(iri, ()), repeated)
        if not repeated:
            waiting += [(child, depth + 1) for child in sorted(children.get(iri, ()), key=name, reverse=True)]


def _own_properties(ontology: Ontology) -> dict[NamedNode, tuple[OntologyProperty, ...]]:
    """The properties whose domain names the class itself, in display order."""
    found: dict[NamedNode, list[OntologyProperty]] = {}
    for term in ontology.domain_properties:
        for domain in term.domains:
            found.setdefault(domain, []).append(term)
    return {iri: tuple(terms) for iri, terms in found.items()}


class Grade(StrEnum):
    """An ``error`` makes the ontology say what cannot be meant; a ``warning`` makes the platform work less well."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


@dataclass(frozen=True, slots=True)
class OntologyIssue:
    """Something wrong with a term; ``kind`` is a stable short name such as ``missing-label``."""

    kind: str
    grade: Grade
    term: str
    message: str


_GRADES = tuple(Grade)


def order(issue: OntologyIssue) -> tuple[int, str, str, str]:
    """The key to sort issues by: worst first, then by kind and term."""
    return _GRADES.index(issue.grade), issue.kind, issue.term, issue.message


_LONGEST_LABEL = 120
_KINDS = {
    f"{OWL}Class": "class",
    f"{RDFS}Class": "class",
    f"{OWL}ObjectProperty": "object property",
    f"{OWL}DatatypeProperty": "datatype property",
    f"{OWL}AnnotationProperty": "annotation property",
    f"{RDFS}Datatype": "datatype",
}
_NAMES_CLASS = (SUBCLASS_OF.value, f"{RDFS}domain",
                *(f"{OWL}{name}" for name in ("disjointWith", "equivalentClass", "someValuesFrom", "allValuesFrom",
                                              "onClass", "complementOf")))  # fmt: skip
_NAMES_PROPERTY = (f"{RDFS}subPropertyOf", f"{OWL}inverseOf", f"{OWL}onProperty", f"{OWL}equivalentProperty",
                   f"{OWL}propertyDisjointWith")  # fmt: skip
_LISTS = {**dict.fromkeys((f"{OWL}unionOf", f"{OWL}intersectionOf", f"{OWL}disjointUnionOf"), "class"),
          **dict.fromkeys((f"{OWL}hasKey", f"{OWL}propertyChainAxiom"), "property")}  # fmt: skip
_OUTSIDE = (OWL, RDF, RDFS, XSD, SKOS, "urn:kgplatform:node:")


def structural(
    ontology: Ontology, triples: Iterable[Triple], *, used: frozenset[NamedNode] | None = None
) -> list[OntologyIssue]:
    """The issues, worst first; ``used`` are the terms that data uses: where given, the others are pointed out."""
    check = _Structure(ontology, tuple(triples))
    found = [
        *check.words(),
        *check.ends(),
        *check.clashes(),
        *check.namesakes(),
        *check.puns(),
        *check.undeclared(),
        *check.cycles(),
        *check.contradictions(),
        *check.patterns(),
        *(check.unused(used) if used is not None else ()),
    ]
    return sorted(dict.fromkeys(found), key=order)


class _Structure:
    def __init__(self, ontology: Ontology, triples: tuple[Triple, ...]) -> None:
        self._ontology = ontology
        self._triples = triples
        self._vocabulary = TermIndex(ontology, triples)

    @cached_property
    def _terms(self) -> tuple[OntologyClass | OntologyProperty, ...]:
        """The terms that the files themselves describe, bookkeeping ones left out."""
        terms: list[OntologyClass | OntologyProperty] = [*self._ontology.domain_classes]
        terms += self._ontology.domain_properties
        return tuple(term for term in terms if not self._is_foreign(term))

    def _is_foreign(self, term: OntologyClass | OntologyProperty) -> bool:
        """Whether the term is only declared, so that it can be referred to: nothing else is said of it."""
        said = self._said.get(term.iri, frozenset())
        return said <= {TYPE.value}

    @cached_property
    def _said(self) -> dict[object, frozenset[str]]:
        said: dict[object, set[str]] = defaultdict(set)
        for triple in self._triples:
            said[triple.subject].add(triple.predicate.value)
        return {subject: frozenset(found) for subject, found in said.items()}

    @cached_property
    def _languages(self) -> tuple[str, ...]:
        """The languages in which at least half of the terms have a label; a stray tag asks for nothing."""
        counts: dict[str, int] = defaultdict(int)
        for term in self._terms:
            for language in {word.language for word in term.words if word.language}:
                counts[language] += 1
        return tuple(sorted(item for item, count in counts.items() if count * 2 >= len(self._terms)))

    def words(self) -> Iterator[OntologyIssue]:
        """Labels and comments that are missing, altogether or in a language that others have; overlong ones."""
        for term in self._terms:
            for kind, words in (("label", term.words), ("comment", term.comments)):
                yield from self._missing(kind, term.iri, words)
            for word in term.words:
                if len(word.text) > _LONGEST_LABEL:
                    text = f"has a label of {len(word.text)} characters ({word.text[:40]!r} …): names are short"
                    yield _issue("long-label", Grade.WARNING, term.iri, text)
                elif not normalise(word.text):
                    yield _issue("empty-label", Grade.WARNING, term.iri, "has a label without a letter")
        for iri in sorted(self._nameless, key=lambda item: item.value):
            yield _issue("missing-label", Grade.WARNING, iri, "has no label: a class without one is left out")

    @cached_property
    def _nameless(self) -> set[NamedNode]:
        """The classes that the files describe, but do not name."""
        return {
            triple.subject
            for triple in self._triples
            if triple.predicate == TYPE
            and _KINDS.get(getattr(triple.object, "value", "")) == "class"
            and isinstance(triple.subject, NamedNode)
            and not triple.subject.value.startswith(_OUTSIDE)
            and triple.subject not in self._ontology.classes
            and not self._said[triple.subject] <= {TYPE.value}
        }

    def _missing(self, kind: str, iri: NamedNode, words: tuple[Word, ...]) -> Iterator[OntologyIssue]:
        if not words:
            way = "its local name is taken for one" if kind == "label" else "nobody is told what it means"
            grade = Grade.WARNING if kind == "label" else Grade.INFO
            yield _issue(f"missing-{kind}", grade, iri, f"has no {kind}: {way}")
            return
        for language in self._languages:
            if not any(word.language.split("-")[0] == language.split("-")[0] for word in words):
                yield _issue(f"missing-{kind}", Grade.INFO, iri, f"has no {kind} in {language}, as others have")

    def ends(self) -> Iterator[OntologyIssue]:
        """Properties without domain or range."""
        for term in self._ontology.domain_properties:
            if self._is_foreign(term):
                continue
            if not term.domains:
                text = "has no domain: no statement can be refused, and no class shows it"
                yield _issue("missing-domain", Grade.WARNING, term.iri, text)
            if not term.ranges:
                yield _issue("missing-range", Grade.WARNING, term.iri, "has no range: any value is taken")

    def clashes(self) -> Iterator[OntologyIssue]:
        """Words that two classes share, or two properties of one class: which is meant cannot be told."""
        yield from self._sharing([(None, self._ontology.domain_classes)])
        yield from self._sharing((c.iri, self._ontology.properties_of(c.iri)) for c in self._ontology.domain_classes)

    def _sharing(
        self, groups: Iterable[tuple[NamedNode | None, Sequence[OntologyClass | OntologyProperty]]]
    ) -> Iterator[OntologyIssue]:
        seen: set[tuple[str, str, str]] = set()
        for class_, terms in groups:
            by_word: dict[tuple[str, str], list[NamedNode]] = defaultdict(list)
            for term in terms:
                for form, language in {(normalise(w.text), w.language) for w in term.words}:
                    by_word[form, language].append(term.iri)
            for (form, _), iris in by_word.items():
                for first, second in pairwise(iris):
                    key = (form, first.value, second.value)
                    if form and key not in seen and not self._is_above(first, second):
                        seen.add(key)
                        where = f" of {self._ontology.label(class_)!r}" if class_ else ""
                        text = f"is called {form!r} as {second.value} is{where}: the word cannot tell them apart"
                        yield _issue("word-clash", Grade.WARNING, first, text)

    def _is_above(self, first: NamedNode, second: NamedNode) -> bool:
        """Whether one of the properties is above the other, or its inverse or equal: then a shared word is meant."""
        properties = self._ontology.properties
        one, other = properties.get(first), properties.get(second)
        if one is None or other is None:
            return second in self._ontology.superclasses(first) or first in self._ontology.superclasses(second)
        return second in one.parents or first in other.parents or one.inverse == second

    def puns(self) -> Iterator[OntologyIssue]:
        """IRIs that are declared as two kinds of thing."""
        kinds: dict[NamedNode, set[str]] = defaultdict(set)
        for triple in self._triples:
            if triple.predicate == TYPE and isinstance(triple.subject, NamedNode):
                kind = _KINDS.get(getattr(triple.object, "value", ""))
                if kind:
                    kinds[triple.subject].add(kind)
                elif triple.object in self._ontology.classes:
                    kinds[triple.subject].add("named value")
        for iri, found in kinds.items():
            if len(found) > 1 and not iri.value.startswith(_OUTSIDE):
                text = f"is declared as {' and as '.join(sorted(found))}"
                yield _issue("punning", Grade.WARNING if "named value" in found else Grade.ERROR, iri, text)

    def undeclared(self) -> Iterator[OntologyIssue]:
        """Terms that axioms name and nothing declares; in the ontology's own namespace they are slips."""
        for subject, named, kind in (*self._named(), *self._listed()):
            if named.value.startswith(_OUTSIDE) or named in self._datatypes or self._vocabulary.knows(named, kind):
                continue
            near = self._vocabulary.nearest(named, kind)
            grade = Grade.ERROR if self._vocabulary.is_own(named) else Grade.WARNING
            text = f"is used as a {kind} (by {_name(subject)}) and not declared{near}"
            yield _issue("undeclared", grade, named, text)
        yield from self._undeclared_ranges()

    def _named(self) -> Iterator[tuple[object, NamedNode, str]]:
        """The terms that axioms name, each with the subject of the axiom and the kind that it is used as."""
        for triple in self._triples:
            named, name = triple.object, triple.predicate.value
            if isinstance(named, NamedNode):
                if name in _NAMES_CLASS:
                    yield triple.subject, named, "class"
                elif name in _NAMES_PROPERTY:
                    yield triple.subject, named, "property"

    def _listed(self) -> Iterator[tuple[object, NamedNode, str]]:
        """The terms in the lists of unions, intersections, keys and chains."""
        firsts = {t.subject: t.object for t in self._triples if t.predicate.value == f"{RDF}first"}
        rests = {t.subject: t.object for t in self._triples if t.predicate.value == f"{RDF}rest"}
        for triple in self._triples:
            kind = _LISTS.get(triple.predicate.value)
            node: object = triple.object
            seen: set[object] = set()
            while kind and node in firsts and node not in seen:
                seen.add(node)
                item = firsts[node]  # type: ignore[index]
                if isinstance(item, NamedNode):
                    yield triple.subject, item, kind
                node = rests.get(node)  # type: ignore[call-overload]

    @cached_property
    def _datatypes(self) -> frozenset[object]:
        return frozenset(
            t.subject for t in self._triples if t.predicate == TYPE and t.object == NamedNode(f"{RDFS}Datatype")
        )

    def _undeclared_ranges(self) -> Iterator[OntologyIssue]:
        for term in self._ontology.properties.values():
            for range_ in term.ranges:
                if (
                    term.is_object
                    and range_ not in self._datatypes
                    and not range_.value.startswith(_OUTSIDE)
                    and not self._vocabulary.knows(range_, "class")
                ):
                    near = self._vocabulary.nearest(range_, "class")
                    text = f"is used as a class (the range of {term.iri.value}) and not declared{near}"
                    grade = Grade.ERROR if self._vocabulary.is_own(range_) else Grade.WARNING
                    yield _issue("undeclared", grade, range_, text)
                if not term.is_object and self._vocabulary.knows(range_, "class") and range_ in self._ontology.classes:
                    text = f"has the class {range_.value} as its range, but takes values: is it an owl:ObjectProperty?"
                    yield _issue("range-kind", Grade.ERROR, term.iri, text)

    def cycles(self) -> Iterator[OntologyIssue]:
        """Classes that are below themselves by others: each is then the same class under another name."""
        seen: set[NamedNode] = set()
        for iri in sorted(self._ontology.classes, key=lambda item: item.value):
            if iri in seen:
                continue
            above = self._ontology.superclasses(iri) - {iri}
            ring = {other for other in above if iri in self._ontology.superclasses(other)}
            if ring:
                seen |= ring
                chain = ", ".join(sorted(other.value for other in ring)[:4])
                text = f"is below itself, through {chain}: they are one class under several names"
                yield _issue("cycle", Grade.ERROR, iri, text)

    def contradictions(self) -> Iterator[OntologyIssue]:
        """Classes below two that are disjoint: what a reasoner finds too, where there is one."""
        pairs = self._ontology.disjoint_pairs
        for iri in sorted(self._ontology.classes, key=lambda item: item.value):
            above = self._ontology.superclasses(iri)
            met = sorted(sorted(item.value for item in pair) for pair in pairs if len(pair) == 2 and pair <= above)
            if met:
                text = f"can have no member: it is below {' and '.join(met[0])}, which share none"
                yield _issue("unsatisfiable", Grade.ERROR, iri, text)

    def namesakes(self) -> Iterator[OntologyIssue]:
        """Labels that a class and a property share: a question or a column may mean either."""
        classes: dict[tuple[str, str], NamedNode] = {}
        for class_ in self._ontology.domain_classes:
            for word in class_.words:
                classes.setdefault((normalise(word.text), word.language), class_.iri)
        for term in self._ontology.domain_properties:
            for word in term.words[:1]:
                same = classes.get((normalise(word.text), word.language))
                if same is not None and word.text and same not in term.ranges:
                    text = f"is called {word.text!r} as the class {same.value} is"
                    yield _issue("word-clash", Grade.INFO, term.iri, text)

    def patterns(self) -> Iterator[OntologyIssue]:
        """Patterns that are no regular expressions."""
        for term in self._ontology.properties.values():
            try:
                re.compile(term.pattern or "")
            except re.error as error:
                yield _issue("pattern", Grade.ERROR, term.iri, f"has a pattern that is no regular expression: {error}")

    def unused(self, used: frozenset[NamedNode]) -> Iterator[OntologyIssue]:
        """Terms that no statement of the data uses."""
        for term in self._ontology.domain_classes:
            if not self._ontology.subclasses(term.iri) & used:
                yield _issue("unused", Grade.INFO, term.iri, "nothing in the graph is of this class")
        for property_ in self._ontology.domain_properties:
            if property_.iri not in used and property_.inverse not in used:
                yield _issue("unused", Grade.INFO, property_.iri, "no statement in the graph uses it")


def _issue(kind: str, grade: Grade, term: NamedNode, message: str) -> OntologyIssue:
    return OntologyIssue(kind, grade, term.value, message)


def _name(subject: object) -> str:
    value = str(getattr(subject, "value", subject))
    return "an axiom" if value.startswith("urn:kgplatform:node:") else value


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
