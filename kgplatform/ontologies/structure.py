"""The structural check of an ontology, which needs no reasoner: words, domains and ranges, clashes, cycles, slips.

What it looks for is what the platform lives by (`kgplatform.ontology`), and the mistakes of OWL 2 DL that a reader can
see: one IRI as two kinds of thing (punning; https://www.w3.org/TR/owl2-new-features/#F12:_Punning allows some), terms
that nothing declares, classes that are below themselves.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise

from pyoxigraph import NamedNode, Triple

from kgplatform.checking.vocabulary import Vocabulary
from kgplatform.ontologies.issues import Grade, OntologyIssue, order
from kgplatform.ontology import Ontology, OntologyClass, OntologyProperty, Word
from kgplatform.text import normalise
from kgplatform.vocab import OWL, RDF, RDFS, SKOS, SUBCLASS_OF, TYPE, XSD

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
        self._vocabulary = Vocabulary(ontology, triples)

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
