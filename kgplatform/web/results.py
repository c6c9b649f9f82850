"""What a query found, as the scripts of the Query page take it: each term once, rows as numbers of terms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from kgplatform.describing import Labels
from kgplatform.types import Solutions, Term
from kgplatform.vocab import RDF, XSD
from kgplatform.web import addresses
from kgplatform.web.needs import Graph
from kgplatform.web.overview import Lately
from kgplatform.web.palette import Palette

_NUMBERS = frozenset(
    f"{XSD}{name}"
    for name in ("integer", "decimal", "double", "float", "int", "long", "short", "byte", "nonNegativeInteger")
)
_DATES = frozenset(f"{XSD}{name}" for name in ("date", "dateTime", "gYear", "gYearMonth"))
_PLAIN = frozenset((f"{XSD}string", f"{RDF}langString"))
_WKT = "http://www.opengis.net/ont/geosparql#wktLiteral"
_CLASSED = 3000
"""So many things at most are coloured by their class: more than any picture shows."""

Record = dict[str, object]


class Shown:
    """The terms of a result as they are shown in a language (of several the first that has a name), each made once."""

    def __init__(self, kg: Graph, lately: Lately, language: str | Sequence[str]) -> None:
        self._kg = kg
        self._labels = Labels(kg.dataset, kg.ontology, language)
        self._palette = Palette(lately.overview())
        self._prefixes = sorted(kg.store.prefixes.items(), key=lambda pair: -len(pair[1]))
        self._numbers: dict[Term, int] = {}
        self._records: list[Record] = []
        self._classes: dict[NamedNode, int] = {}
        self._classed = 0

    def rows(self, solutions: Solutions, *, named: int | None = None) -> Record:
        """The columns with what they hold, the rows, and the terms and classes that these point to.

        What only rows after the first ``named`` hold is given by its IRI alone, for `things` to tell of later: a name
        costs more than a row.
        """
        rows = [
            [None if term is None else self._number(term, bare=named is not None and number >= named) for term in row]
            for number, row in enumerate(solutions.rows)
        ]
        kinds = [self._kind(rows, column) for column in range(len(solutions.variables))]
        return {
            "columns": [{"name": name, "kind": kind} for name, kind in zip(solutions.variables, kinds, strict=True)],
            "rows": rows,
            "terms": self._records,
            "classes": self._palette.records(self._classes, self._labels, self._kg.base),
            "truncated": solutions.truncated,
        }

    def things(self, iris: Sequence[NamedNode]) -> Record:
        """What `rows` left out of these things, in their order, and the classes that this points to."""
        terms = [self._thing(iri) for iri in iris]
        return {"terms": terms, "classes": self._palette.records(self._classes, self._labels, self._kg.base)}

    def _number(self, term: Term, *, bare: bool = False) -> int:
        if term not in self._numbers:
            self._numbers[term] = len(self._records)
            if bare and isinstance(term, NamedNode):
                self._records.append({"k": "thing", "v": term.value, "b": 1})
            else:
                self._records.append(self._record(term))
        return self._numbers[term]

    def _record(self, term: Term) -> Record:
        if isinstance(term, NamedNode):
            return self._thing(term)
        if isinstance(term, Literal):
            return self._literal(term)
        if isinstance(term, BlankNode):
            return {"k": "blank", "v": str(term)}
        return {"k": "statement", "v": str(term)}

    def _thing(self, iri: NamedNode) -> Record:
        word = self._labels.of(iri)
        found: Record = {
            "k": "thing",
            "v": iri.value,
            "l": word.text,
            "h": addresses.of_iri(iri, self._kg.base),
            "n": prefixed(iri.value, self._prefixes),
        }
        if word.language:
            found["g"] = word.language
        if iri in self._kg.ontology.properties:
            found["p"] = 1
        elif self._classed < _CLASSED:
            self._classed += 1
            class_ = self._palette.class_of(self._kg, iri)
            if class_ is not None:
                found["c"] = self._classes.setdefault(class_, len(self._classes))
        return found

    def _literal(self, term: Literal) -> Record:
        found: Record = {"k": "text", "v": term.value}
        if term.language:
            found["g"] = term.language
        elif term.datatype.value not in _PLAIN:
            found["d"] = prefixed(term.datatype.value, self._prefixes)
            found["k"] = _kind_of(term.datatype.value)
        return found

    def _kind(self, rows: Sequence[Sequence[int | None]], column: int) -> str:
        """What most of the values of a column are, if nearly all are; else ``mixed``."""
        counts = Counter(str(self._records[row[column]]["k"]) for row in rows if row[column] is not None)  # type: ignore[index]
        if not counts:
            return "none"
        kind, number = counts.most_common(1)[0]
        return kind if number * 20 >= counts.total() * 19 else "mixed"


def _kind_of(datatype: str) -> str:
    if datatype in _NUMBERS:
        return "number"
    if datatype in _DATES:
        return "date"
    if datatype == f"{XSD}boolean":
        return "truth"
    return "place" if datatype == _WKT else "text"


def prefixed(iri: str, prefixes: Iterable[tuple[str, str]]) -> str:
    """The IRI as a prefixed name where a prefix covers it and the rest is plain, else in angle brackets.

    >>> prefixed("http://example.org/a#b", [("e", "http://example.org/a#")])
    'e:b'
    """
    for name, namespace in prefixes:
        local = iri[len(namespace) :] if iri.startswith(namespace) else ""
        if local and local.replace("_", "a").replace("-", "a").isalnum() and local[0] != "-":
            return f"{name}:{local}"
    return f"<{iri}>"


def of_triples(triples: Sequence[Triple], *, truncated: bool) -> Solutions:
    """The triples as rows of subject, predicate and object."""
    rows = tuple((item.subject, item.predicate, item.object) for item in triples)
    return Solutions(("subject", "predicate", "object"), rows, truncated=truncated)
