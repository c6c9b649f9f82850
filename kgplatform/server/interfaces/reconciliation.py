"""``/reconcile``: tables of names matched with the things of the graph, as OpenRefine and other programs ask for it.

A thing is known to the service by what comes after the base of the workspace in its IRI, one from elsewhere by its
whole IRI. Names are compared by the pairs of neighbouring letters that they share, in any language and script. Nothing
is kept of a request, and a batch is limited, so that memory is bounded by the number of names in the graph.

Specification: Reconciliation Service API 0.2 (W3C Community Group, 10 April 2023).
"""

from __future__ import annotations

import json
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from html import escape
from itertools import chain, islice, pairwise
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from flask import Blueprint, Response, g, jsonify, redirect, request
from pyoxigraph import Literal, NamedNode

from kgplatform.entities import NAMING, Labels, Reference, describe
from kgplatform.server import addresses
from kgplatform.server.frame import Lately, Remembered, language, tongues
from kgplatform.server.places import texts
from kgplatform.sparql.functions import likeness
from kgplatform.sparql.protocol import ProtocolError
from kgplatform.store.oxigraph import DEFAULT_GRAPH
from kgplatform.text import normalise
from kgplatform.types import Term
from kgplatform.vocab import ALT_LABEL, TYPE, XSD, XSD_DATE, XSD_DATETIME, XSD_INTEGER

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph

MOST_QUERIES: Final = 500
"""So many names are looked up in one request, and so many things are told of in one."""
_BATCH: Final = 100
_MOST_LETTERS: Final = 200
_MOST_CANDIDATES: Final = 50
_CANDIDATES: Final = 10
_LOOKED_AT, _WITH_A_VALUE = 100, 300
_LEAST, _MATCH, _OTHER_TYPE = 0.4, 0.95, 0.5
_MOST_PROPERTIES: Final = 30
_MOST_VALUES: Final = 100
_SUGGESTED: Final = 20
_SHOWN_FACTS: Final = 6
_PREVIEW: Final = {"width": 430, "height": 220}
_PASSWORD: Final = {"type": "basic", "description": "any name, and as password a token of this server"}
"""How reading is allowed, in a scheme of OpenAPI 2, which the specification takes: it has no Bearer."""
_NUMBERS: Final = frozenset(f"{XSD}{name}" for name in ("decimal", "double", "float"))
_FRAMED: Final = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"


class ReconciliationIndex:
    """The names of things by the pairs of letters in them, for looking up the nearest of hundreds of thousands."""

    def __init__(self, names: Iterable[tuple[str, str]]) -> None:
        """``names``: the IRIs of things, each with a name of theirs."""
        listed = list(dict.fromkeys((thing, form) for thing, name in names if (form := normalise(name))))
        self._things = [thing for thing, _ in listed]
        self._forms = [form for _, form in listed]
        places: dict[tuple[str, str], array[int]] = defaultdict(lambda: array("i"))
        for place, form in enumerate(self._forms):
            for pair in _pairs(form):
                places[pair].append(place)
        self._places = {pair: np.frombuffer(found, dtype=np.int32) for pair, found in places.items()}
        self._lengths = np.array([len(form) + 1 for form in self._forms], dtype=np.float32)

    def nearest(self, text: str) -> list[tuple[str, float]]:
        """The things whose names are like the text, with how like (0..1), the likest first."""
        wanted = normalise(text[:_MOST_LETTERS])
        found = [self._places[pair] for pair in _pairs(wanted) if pair in self._places] if wanted else []
        if not found:
            return []
        shared = np.bincount(np.concatenate(found), minlength=len(self._forms))
        alike = 2 * shared / (self._lengths + len(wanted) + 1)
        near = np.argpartition(-alike, min(_LOOKED_AT, len(alike) - 1))[:_LOOKED_AT]
        best: dict[str, float] = {}
        for place in near[alike[near] >= _LEAST / 2].tolist():
            thing, score = self._things[place], likeness(wanted, self._forms[place])
            if score >= _LEAST:
                best[thing] = max(score, best.get(thing, 0.0))
        return sorted(best.items(), key=lambda item: (-item[1], item[0]))


def _pairs(form: str) -> set[tuple[str, str]]:
    return set(pairwise(f" {form} "))


@dataclass(frozen=True, slots=True)
class ReconciliationQuery:
    """What is looked for: a name or none, the types that it may have, how strictly, and values that it should have."""

    text: str
    types: tuple[NamedNode, ...] = ()
    strictness: str = "any"
    values: tuple[tuple[NamedNode, object], ...] = ()
    limit: int = _CANDIDATES


class Reconciliation:
    """What the service knows and says, in the language of the request."""

    def __init__(self, kg: KnowledgeGraph, lately: Lately) -> None:
        self._kg = kg
        self._lately = lately
        self._kept = Remembered(kg)

    def manifest(self, root: str) -> dict[str, object]:
        """What the service offers, at the address ``root`` (without a slash at its end)."""
        there, totals = f"{root}/reconcile", self._lately.totals()
        classes = sorted(filter(totals.get, totals), key=lambda iri: (-totals[iri], iri.value))
        return {
            "versions": ["0.2"],
            "name": f"kgplatform ({self._kg.base})",
            "identifierSpace": self._kg.base,
            "schemaSpace": "http://www.w3.org/2002/07/owl#",
            "documentation": f"{root}/about",
            "batchSize": _BATCH,
            **({"authentication": _PASSWORD} if g.rights.tokens and not g.rights.public_reads else {}),
            "defaultTypes": [self._named(iri) for iri in classes[:_SUGGESTED]],
            "view": {"url": f"{there}/view?id={{{{id}}}}"},
            "preview": {"url": f"{there}/preview?id={{{{id}}}}", **_PREVIEW},
            "suggest": {
                kind: {"service_url": there, "service_path": f"/suggest/{kind}"}
                for kind in ("entity", "type", "property")
            },
            "extend": {"propose_properties": {"service_url": there, "service_path": "/properties"}},
        }

    def iri(self, given: object) -> NamedNode:
        """The IRI of a thing, class or property that the service gave out.

        Raises:
            ProtocolError: 400, it is none.
        """
        text = str(given.get("id", "")) if isinstance(given, dict) else str(given)
        absolute = "://" in text or text.startswith("urn:")
        try:
            return NamedNode(text if absolute else f"{self._kg.base}{text}")
        except ValueError as error:
            raise ProtocolError(400, "Bad request", f"{text[:80]!r} is no identifier of this service") from error

    def _id(self, iri: NamedNode) -> str:
        return iri.value.removeprefix(self._kg.base)

    @property
    def _labels(self) -> Labels:
        """The words for terms, each looked up once in a request."""
        if "reconciliation" not in g:
            g.reconciliation = Labels(self._kg.dataset, self._kg.ontology, tongues())
        found: Labels = g.reconciliation
        return found

    def _named(self, iri: NamedNode) -> dict[str, str]:
        return {"id": self._id(iri), "name": self._labels.of(iri).text}

    def _types(self, iri: NamedNode) -> list[NamedNode]:
        return [term for term in self._kg.store.objects(iri, TYPE) if isinstance(term, NamedNode)]

    def _index(self) -> ReconciliationIndex:
        terms = {iri.value for kind in (self._kg.ontology.classes, self._kg.ontology.properties) for iri in kind}

        def make() -> ReconciliationIndex:
            names = (pair for predicate in (*NAMING, ALT_LABEL) for pair in texts(self._kg.store, predicate))
            return ReconciliationIndex((thing, name) for thing, name in names if thing not in terms)

        return self._kept.get("index", make)

    # names to things

    def query(self, given: object) -> ReconciliationQuery:
        """The query as a client wrote it: a text, or an object of the specification.

        Raises:
            ProtocolError: 400, it is neither.
        """
        item = given if isinstance(given, dict) else {"query": given}
        text, types = item.get("query", ""), item.get("type") or ()
        limit = str(item.get("limit", _CANDIDATES)).removesuffix(".0")  # a number, which some clients write as 3.0
        if not isinstance(text, str | int | float) or not limit.isdecimal():
            raise ProtocolError(400, "Bad request", "a query is an object with `query`, a text, and perhaps `limit`")
        listed = types if isinstance(types, list) else [types] if types else []
        values = item.get("properties") or []
        if not isinstance(values, list) or not all(isinstance(one, dict) and "pid" in one for one in values):
            raise ProtocolError(400, "Bad request", "`properties` is a list of objects with `pid` and `v`")
        return ReconciliationQuery(
            text=str(text),
            types=tuple(map(self.iri, listed[:_MOST_PROPERTIES])),
            strictness=str(item.get("type_strict", "any")),
            values=tuple((self.iri(one["pid"]), one.get("v")) for one in values[:_MOST_PROPERTIES]),
            limit=max(1, min(int(limit[:6]), _MOST_CANDIDATES)),
        )

    def candidates(self, asked: ReconciliationQuery) -> list[dict[str, object]]:
        """The candidates, best first; ``match`` is true of one that is meant beyond doubt."""
        near = self._near(asked.text) if normalise(asked.text) else self._having(asked.values)
        scored = [(iri, self._score(iri, alike, asked)) for iri, alike in near]
        ranked = sorted((one for one in scored if one[1] > 0), key=lambda one: (-one[1], one[0].value))
        sure = [iri for iri, score in ranked if score >= _MATCH]
        return [
            {
                **self._named(iri),
                "score": round(100 * score, 2),
                "match": sure == [iri],
                "type": [self._named(class_) for class_ in self._types(iri)],
            }
            for iri, score in ranked[: asked.limit]
        ]

    def _near(self, text: str) -> list[tuple[NamedNode, float]]:
        """The things by likeness of names; an identifier of the service stands for its thing."""
        known = [(iri, 1.0) for iri in self._known(text)]
        return known or [(NamedNode(thing), alike) for thing, alike in self._index().nearest(text)]

    def _known(self, text: str) -> list[NamedNode]:
        """The thing that an identifier of the service stands for, if it stands for one."""
        with suppress(ProtocolError):
            if self._kg.store.mentions(iri := self.iri(text)):
                return [iri]
        return []

    def _score(self, iri: NamedNode, alike: float, asked: ReconciliationQuery) -> float:
        score = alike
        if asked.types:
            own = {above for class_ in self._types(iri) for above in (class_, *self._kg.ontology.superclasses(class_))}
            if not (own.issuperset(asked.types) if asked.strictness == "all" else own.intersection(asked.types)):
                score *= _OTHER_TYPE if asked.strictness == "should" else 0.0
        if asked.values:
            held = sum(self._holds(iri, predicate, value) for predicate, value in asked.values)
            least = 0.6 if normalise(asked.text) else 0.0
            score *= least + (1 - least) * held / len(asked.values)
        return score

    def _having(self, values: Iterable[tuple[NamedNode, object]]) -> list[tuple[NamedNode, float]]:
        """The things that have most of the values, where no name says which are meant."""
        found: Counter[NamedNode] = Counter()
        for predicate, value in values:
            several = value[:_LOOKED_AT] if isinstance(value, list) else [value]
            terms = (term for one in several for term in self._terms(one))
            quads = chain.from_iterable(self._kg.store.quads(None, predicate, term, DEFAULT_GRAPH) for term in terms)
            found.update({quad.subject for quad in islice(quads, _WITH_A_VALUE) if isinstance(quad.subject, NamedNode)})
        return [(iri, 1.0) for iri, _ in found.most_common(_LOOKED_AT)]

    def _terms(self, value: object) -> list[Term]:
        """What may stand in the graph for the value: a thing by its identifier or name, or a literal."""
        if isinstance(value, dict):
            return [self.iri(value)]
        text = ("true" if value else "false") if isinstance(value, bool) else str(value)[:_MOST_LETTERS]
        kinds = ("boolean", "integer", "decimal", "double", "date", "dateTime", "gYear", "anyURI")
        typed = [Literal(text, datatype=NamedNode(f"{XSD}{kind}")) for kind in kinds]
        named = [NamedNode(thing) for thing, alike in self._index().nearest(text) if alike >= 1]
        return [Literal(text), *typed, *(Literal(text, language=one) for one in tongues()), *named]

    def _holds(self, iri: NamedNode, predicate: NamedNode, value: object) -> bool:
        """True if the thing has the value: a literal, a thing by its name, or one by its identifier."""
        for one in value if isinstance(value, list) else [value]:
            for term in islice(self._kg.store.objects(iri, predicate), _MOST_VALUES):
                if isinstance(one, dict) and isinstance(term, NamedNode) and self._id(term) == one.get("id"):
                    return True
                if normalise(self._labels.reference(term).label) == normalise(str(one)):
                    return True
        return False

    # suggestions

    def suggested(self, kind: str, prefix: str, cursor: int) -> list[dict[str, object]]:
        """What begins with the letters typed so far or holds them: things, classes (``type``) or properties."""
        ontology = self._kg.ontology
        if kind == "entity":
            found = dict.fromkeys((*self._known(prefix), *self._lately.called(prefix, cursor + _SUGGESTED)))
            things = [iri for iri in found if iri not in ontology.classes and iri not in ontology.properties]
            return [{**self._named(iri), "notable": [*map(self._named, self._types(iri))]} for iri in things[cursor:]]
        known: Mapping[NamedNode, Any] = ontology.classes if kind == "type" else ontology.properties
        wanted = normalise(prefix)
        terms = [iri for iri, term in known.items() if any(wanted in normalise(word.text) for word in term.words)]
        terms = terms or [iri for iri in known if self._id(iri) == prefix]
        terms.sort(key=lambda iri: (len(self._labels.of(iri).text), iri.value))
        return [dict(self._named(iri)) for iri in terms[cursor : cursor + _SUGGESTED]]

    def properties(self, type_: NamedNode, limit: int) -> list[dict[str, str]]:
        """The properties that things of the class may have."""
        return [self._named(term.iri) for term in self._kg.ontology.properties_of(type_)[:limit] if not term.internal]

    # data of things

    def extended(self, given: object) -> dict[str, object]:
        """The values that things have for properties, as ``extend`` asks for them.

        Raises:
            ProtocolError: 400, it is no such question; 413, it asks of too many things.
        """
        ids, wanted = (given.get("ids"), given.get("properties")) if isinstance(given, dict) else (None, None)
        if not isinstance(ids, list) or not isinstance(wanted, list):
            raise ProtocolError(400, "Bad request", "`extend` is an object with `ids` and `properties`, two lists")
        _check_size(len(ids))
        predicates = [self.iri(one) for one in wanted[:_MOST_PROPERTIES]]
        rows = {
            str(one): {
                self._id(predicate): [
                    self._value(term) for term in islice(self._kg.store.objects(self.iri(one), predicate), _MOST_VALUES)
                ]
                for predicate in predicates
            }
            for one in ids
        }
        return {"meta": [self._named(predicate) for predicate in predicates], "rows": rows}

    def _value(self, term: Term) -> dict[str, object]:
        if isinstance(term, NamedNode):
            return dict(self._named(term))
        if isinstance(term, Literal):
            with suppress(ValueError):  # a literal may be typed as a number or date and be none
                if term.datatype == XSD_INTEGER:
                    return {"int": int(term.value)}
                if term.datatype.value in _NUMBERS and isfinite(number := float(term.value)):
                    return {"float": number}
                if term.datatype in (XSD_DATE, XSD_DATETIME):  # what the specification calls a date has a time
                    return {"date": datetime.fromisoformat(term.value).isoformat()}
            return {"str": term.value}
        return {"str": self._labels.reference(term).label}

    def preview(self, iri: NamedNode) -> str:
        """A small page about the thing, to be shown in a frame of any program.

        Raises:
            NotFoundError: nothing is known about it.
        """
        parts: Any = {"dataset": self._kg.dataset, "ontology": self._kg.ontology, "max_values": 3, "max_subjects": 1}
        view = describe(iri, **parts, find_evidence=lambda *_: None, language=tongues()[0])
        rows = "".join(
            f"<li>{escape(fact.predicate.label)}: {_joined(value.value for value in fact.values)}</li>"
            for fact in view.facts[:_SHOWN_FACTS]
        )
        return (
            f'<!doctype html><html lang="{language()}"><meta charset="utf-8"><title>{escape(view.label)}</title>'
            f"<body style='font:14px sans-serif'><b>{escape(view.label)}</b> ({_joined(view.types)})"
            f"<p>{escape(view.description)}</p><ul>{rows}</ul>"
        )


def _joined(references: Iterable[Reference]) -> str:
    return escape(", ".join(one.label for one in references))


def _check_size(number: int) -> None:
    if number > MOST_QUERIES:
        raise ProtocolError(413, "Too many", f"{number:,} in one request; at most {MOST_QUERIES} are answered")


def _read(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ProtocolError(400, "Bad request", f"`{name}` is no JSON: {error}") from error


def _number(name: str, usual: int, most: int) -> int:
    given = request.args.get(name, "")
    return min(int(given[:6]), most) if given.isdecimal() else usual


def blueprint(kg: KnowledgeGraph, lately: Lately) -> Blueprint:
    """The routes of the service."""
    routes = Blueprint("reconcile", __name__, url_prefix="/reconcile")
    asked = Reconciliation(kg, lately)

    @routes.route("", methods=["GET", "POST"], strict_slashes=False)
    def reconcile() -> Response:
        given: Mapping[str, str] = request.values
        if "queries" in given:
            queries = _read(given["queries"], "queries")
            if not isinstance(queries, dict):
                raise ProtocolError(400, "Bad request", "`queries` is an object with a query under each key")
            _check_size(len(queries))
            return jsonify({key: {"result": asked.candidates(asked.query(one))} for key, one in queries.items()})
        if "query" in given:
            text = given["query"]
            one = _read(text, "query") if text.lstrip().startswith("{") else text
            return jsonify({"result": asked.candidates(asked.query(one))})
        if "extend" in given:
            return jsonify(asked.extended(_read(given["extend"], "extend")))
        return jsonify(asked.manifest(request.url_root.rstrip("/")))

    @routes.get("/suggest/<any(entity, type, property):kind>")
    def suggest(kind: str) -> Response:
        prefix = request.args.get("prefix", "").strip()[:_MOST_LETTERS]
        return jsonify({"result": asked.suggested(kind, prefix, _number("cursor", 0, 1_000)) if prefix else []})

    @routes.get("/properties")
    def properties() -> Response:
        type_ = request.args.get("type", "")
        limit = _number("limit", _MOST_PROPERTIES, 1_000)
        return jsonify({"type": type_, "limit": limit, "properties": asked.properties(asked.iri(type_), limit)})

    @routes.get("/preview")
    def preview() -> Response:
        text = asked.preview(asked.iri(request.args.get("id", "")))
        return Response(text, headers={"Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": _FRAMED})

    @routes.get("/view")
    def view() -> Any:
        return redirect(addresses.of_iri(asked.iri(request.args.get("id", "")), kg.base), 303)

    return routes
