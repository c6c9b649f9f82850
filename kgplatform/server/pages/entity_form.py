"""``/edit``: a form for an entity, made from its class: what the ontology says it may have, what shapes ask of it.

A new entity (``?class=``) or one that is there (``?iri=``). What is written is stated by hand, in the name of whoever
wrote it, and is a source like a passage; what is taken out is struck out, whatever document says it. Each edit has a
page at ``/edits/<id>``, where the last one of an entity can be undone. An edit that shapes forbid is not made.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from flask import Blueprint, redirect, request
from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.entities import Labels, find_iri
from kgplatform.errors import ConfigError, NotFoundError
from kgplatform.ontology.schema import TermIndex, label_of
from kgplatform.server import addresses
from kgplatform.server.access import UNNAMED, Role, client, require
from kgplatform.server.frame import Members, language, page, tongues
from kgplatform.server.pages.terms import Terms
from kgplatform.server.result_tables import cell
from kgplatform.server.words import phrase
from kgplatform.sparql.protocol import ProtocolError
from kgplatform.store.oxigraph import DEFAULT_GRAPH, literal
from kgplatform.text import has_han
from kgplatform.types import Term
from kgplatform.vocab import ALT_LABEL, LABEL, TYPE, entity_iri, local_name
from kgplatform.workspace.review import EntityEdits, key_of, new_faults, worded

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph

_NAMES: Final = {LABEL: "name", ALT_LABEL: "also"}
_MOST_CHOICES: Final = 80
_MOST_OFFERED: Final = 200
_LONGEST: Final = 10_000
_COOKIE: Final = "kgplatform_name"
_KINDS: Final = {
    **dict.fromkeys(("integer", "int", "long", "nonNegativeInteger", "positiveInteger", "short"), "whole"),
    **dict.fromkeys(("decimal", "double", "float"), "number"),
    **{"date": "date", "boolean": "truth", "gYear": "year"},
}


@dataclass(slots=True)
class EditField:
    """A property in the form: how it is written, its values by key, what may be chosen, and what is wrong with it."""

    property: NamedNode
    label: str
    comment: str
    kind: str
    unit: str = ""
    needed: bool = False
    single: bool = False
    bounds: dict[str, str] = field(default_factory=dict)
    choices: tuple[tuple[str, str], ...] = ()
    values: list[tuple[str, str]] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)


class EntityForm:
    """The form of one entity, or of a new one of a class."""

    def __init__(self, kg: KnowledgeGraph, terms: Terms, class_: NamedNode, entity: NamedNode | None) -> None:
        self._kg = kg
        self._terms = terms
        self.class_ = class_
        self.entity = entity
        self._labels = Labels(kg.dataset, kg.ontology, tongues())
        self._demands = terms.book.demands(class_)
        self.held = self._stated()
        self.fields = [*self._fields()]
        self.troubles: list[str] = []

    def _stated(self) -> dict[str, Triple]:
        """What is stated of the entity, by the keys that the form has; conclusions are nobody's to change."""
        if self.entity is None:
            return {}
        listed = (quad.triple for quad in self._kg.store.quads(self.entity, None, None, DEFAULT_GRAPH))
        return {key_of(triple): triple for triple in listed if self._kg.dataset.is_stated(triple)}

    def _fields(self) -> Iterator[EditField]:
        known = {term.iri: term for term in self._kg.ontology.properties_of(self.class_)}
        used = {triple.predicate for triple in self.held.values()} & self._kg.ontology.properties.keys()
        others = (iri for iri in used if not self._kg.ontology.properties[iri].internal)
        for iri in dict.fromkeys((*_NAMES, *known, *sorted(others, key=str))):
            found = self._field(iri)
            held = [(key, triple) for key, triple in self.held.items() if triple.predicate == iri]
            found.values = [(key, self.shown(triple.object)) for key, triple in held]
            yield found

    def _field(self, iri: NamedNode) -> EditField:
        term, asks = self._kg.ontology.properties.get(iri), self._demands.get(iri, {})
        numbers = {name: [int(v.value) for v in asks.get(name, ()) if isinstance(v, Literal)] for name in _COUNTS}
        ranges = term.ranges if term else ()
        kind = (
            "thing"
            if term and term.is_object
            else next((_KINDS.get(local_name(r.value), "text") for r in ranges), "text")
        )
        bounds = {to: value.value for name, to in _BOUNDS for value in asks.get(name, ()) if isinstance(value, Literal)}
        choices = self._choices(asks.get("in", ()), ranges if kind == "thing" else ())
        return EditField(
            property=iri,
            label=phrase(_NAMES[iri], language()) if iri in _NAMES else self._labels.of(iri).text,
            comment=label_of(term.comments, language(), "") if term else "",
            kind="choice" if choices else kind,
            unit=(term.unit or "") if term else "",
            needed=iri == LABEL or max(numbers["minCount"], default=0) > 0,
            single=bool(term and term.functional) or min(numbers["maxCount"], default=2) == 1,
            bounds=bounds,
            choices=choices,
        )

    def _choices(self, listed: Iterable[Term], ranges: Iterable[NamedNode]) -> tuple[tuple[str, str], ...]:
        """What shapes list, or the named values of a closed class."""
        found: list[Term] = list(listed)
        wanted = frozenset(ranges)
        if not found and wanted:
            named = self._kg.ontology.individuals.values()
            found = [one.iri for one in named if any(self._kg.ontology.is_a(type_, wanted) for type_ in one.types)]
        if not 0 < len(found) <= _MOST_CHOICES:
            return ()
        pairs = (
            (term.value, self._labels.reference(term).label) for term in found if isinstance(term, NamedNode | Literal)
        )
        return tuple(sorted(pairs, key=lambda pair: pair[1].casefold()))

    def shown(self, term: Term) -> str:
        """A value as it stands in its input: the name of a thing that no other has, else its IRI; a literal's text."""
        if not isinstance(term, NamedNode):
            return term.value if isinstance(term, Literal) else str(term)
        name = self._labels.of(term).text
        try:
            return name if find_iri(self._kg.store, name) == term else term.value
        except NotFoundError:
            return term.value

    def offered(self, found: EditField) -> list[str]:
        """Names of things that the property may have, to choose from while writing."""
        term = self._kg.ontology.properties.get(found.property)
        classes = term.ranges if term and found.kind == "thing" else ()
        things = (
            iri
            for class_ in classes
            for iri in islice(Members(self._kg.store, self._kg.ontology, class_), _MOST_OFFERED)
        )
        return list(dict.fromkeys(self._labels.of(iri).text for iri in islice(things, _MOST_OFFERED)))

    def read(self) -> tuple[list[Triple], list[Triple]]:
        """What the request states and strikes out; what is wrong with it is noted at its fields."""
        if self.entity is None:
            names = [text for text in request.form.getlist(LABEL.value) if text.strip()]
            self.entity = entity_iri(self._kg.base, self.class_, names[0].strip()[:500]) if names else None
            if self.entity is None:
                self._of(LABEL).troubles.append("a name is needed")
                return [], []
            if self._kg.store.mentions(self.entity):
                self._of(LABEL).troubles.append(f"{names[0].strip()!r} is there already")
                return [], []
            stated: dict[Triple, None] = {Triple(self.entity, TYPE, self.class_): None}
            stated |= dict.fromkeys(self._fixed(self.entity))
        else:
            stated = {}
        struck: dict[Triple, None] = {}
        for found in self.fields:
            self._changed(found, stated, struck)
            found.added = [
                text.strip()[:_LONGEST] for text in request.form.getlist(found.property.value) if text.strip()
            ]
            for text in found.added:
                stated |= dict.fromkeys(self._written(found, text, None))
            if found.needed and not (found.added or any(text for _, text in found.values)):
                found.troubles.append("a value is needed")
        both = stated.keys() & struck.keys()
        return [one for one in stated if one not in both], [one for one in struck if one not in both]

    def _changed(self, found: EditField, stated: dict[Triple, None], struck: dict[Triple, None]) -> None:
        """The values that were there: as they were, written anew, or emptied."""
        now = []
        for key, before in found.values:
            text = request.form.get(key)
            text = before if text is None else text.strip()[:_LONGEST]
            now.append((key, text))
            if text == before:
                continue
            old = self.held[key]
            struck[old] = None
            if text:
                stated |= dict.fromkeys(self._written(found, text, old.object))
        found.values = now

    def _written(self, found: EditField, text: str, old: Term | None) -> tuple[Triple, ...]:
        assert self.entity is not None
        try:
            if found.property in _NAMES or (isinstance(old, Literal) and old.language):
                tag = old.language if isinstance(old, Literal) and old.language else "zh" if has_han(text) else "en"
                return (Triple(self.entity, found.property, literal(text, language=tag)),)
            if found.kind == "choice" and (same := self._choice(found, text)) is not None:
                return (Triple(self.entity, found.property, same),)
            return worded(self._kg.dataset, self._kg.ontology, self.entity, found.property, text)
        except (NotFoundError, ConfigError) as error:
            found.troubles.append(str(error))
            return ()

    def _choice(self, found: EditField, text: str) -> Term | None:
        listed = self._demands.get(found.property, {}).get("in", ())
        same = next((term for term in listed if isinstance(term, NamedNode | Literal) and term.value == text), None)
        return same or next((NamedNode(value) for value, _ in found.choices if value == text and not listed), None)

    def _fixed(self, entity: NamedNode) -> Iterator[Triple]:
        """What shapes say that each thing of the class has (``sh:hasValue``)."""
        for path, asks in self._demands.items():
            if isinstance(path, NamedNode):
                yield from (Triple(entity, path, value) for value in asks.get("hasValue", ()))

    def _of(self, iri: NamedNode) -> EditField:
        return next(found for found in self.fields if found.property == iri)

    def check(self, stated: list[Triple], struck: list[Triple]) -> bool:
        """Whether nothing is wrong: neither with what was written nor, by the shapes, with what would come of it."""
        assert self.entity is not None
        index = TermIndex(self._kg.ontology, self._kg.loaded.triples)
        shapes = self._terms.book.shapes
        if not any(found.troubles for found in self.fields):
            for fault in new_faults(self._kg.dataset, self.entity, stated, struck, shapes=shapes, vocabulary=index):
                field_ = next((found for found in self.fields if found.property == fault.path), None)
                (field_.troubles if field_ else self.troubles).append(fault.told(language()))
        return not self.troubles and not any(found.troubles for found in self.fields)


_COUNTS: Final = ("minCount", "maxCount")
_BOUNDS: Final = (("minInclusive", "min"), ("maxInclusive", "max"), ("pattern", "pattern"))


def blueprint(kg: KnowledgeGraph, terms: Terms) -> Blueprint:
    """The routes of the form, and of edits."""
    routes = Blueprint("editing", __name__)
    edits = EntityEdits(kg.dataset)

    @routes.get("/edit")
    def edit() -> Any:
        require(Role.WRITE)
        return _page(kg, _form(kg, terms))

    @routes.post("/edit")
    def save() -> Any:
        require(Role.WRITE)
        form = _form(kg, terms)
        stated, struck = form.read()
        if form.entity is None or not form.check(stated, struck):
            return _page(kg, form, status=400)
        person = _person()
        made = edits.make(form.entity, stated, struck, person)
        _settled(kg)
        place = addresses.of_iri(form.entity, kg.base)
        response = redirect(addresses.of_iri(made.iri, kg.base) if made else place, 303)
        response.set_cookie(_COOKIE, person, max_age=31_536_000, samesite="Lax", httponly=True)
        return response

    @routes.get("/edits/<name>")
    def shown(name: str) -> Any:
        made = edits.find(_edit_iri(kg, name))
        labels = Labels(kg.dataset, kg.ontology, tongues())
        rows = [
            (is_new, [cell(term, labels, kg.base) for term in (one.subject, one.predicate, one.object)])
            for is_new, listed in ((False, made.struck), (True, made.stated))
            for one in listed
        ]
        may_undo = client().role >= Role.WRITE and edits.of(made.entity)[0].iri == made.iri
        thing = labels.reference(made.entity)
        return page("edit_made.html", kg.base, edit=made, thing=thing, name=name, may_undo=may_undo, rows=rows)

    @routes.post("/edits/<name>/undo")
    def undo(name: str) -> Any:
        require(Role.WRITE)
        made = edits.find(_edit_iri(kg, name))
        types = [term for term in kg.store.objects(made.entity, TYPE) if isinstance(term, NamedNode)]
        edits.undo(made)
        _settled(kg)
        is_left = kg.store.mentions(made.entity)
        place = addresses.of_iri(made.entity if is_left or not types else types[0], kg.base)
        return redirect(place, 303)

    return routes


def _settled(kg: KnowledgeGraph) -> None:
    kg.inference.run()
    kg.versions.rest()


def _edit_iri(kg: KnowledgeGraph, name: str) -> NamedNode:
    if not name.isalnum():
        raise NotFoundError(f"no edit is kept as {name[:40]!r}", name=name)
    return NamedNode(f"{kg.base}edit/{name}")


def _person() -> str:
    """Who edits: as the token says; on a server without tokens the name that was written, else none."""
    known = client().name
    return (request.form.get("person", "").strip()[:80] or known) if known in UNNAMED else known


def _form(kg: KnowledgeGraph, terms: Terms) -> EntityForm:
    """The form that the request is about.

    Raises:
        NotFoundError: it names no class and no entity.
        ProtocolError: it names a term of the ontology, which the ontology's file says, not a person.
    """
    entity = addresses.given_iri("iri")
    if entity is None:
        return EntityForm(kg, terms, terms.named(request.values.get("class", "").strip(), is_class=True), None)
    if entity in kg.ontology.classes or entity in kg.ontology.properties:
        raise ProtocolError(400, "Bad request", "a class or property is changed in the file of its ontology")
    types = [term for term in kg.store.objects(entity, TYPE) if isinstance(term, NamedNode)]
    known = [term for term in types if term in kg.ontology.classes]
    special = [one for one in known if not any(one != other and kg.ontology.is_a(other, (one,)) for other in known)]
    if not types:
        raise NotFoundError(f"nothing is known about “{entity.value}”", name=entity.value)
    return EntityForm(kg, terms, (special or types)[0], entity)


def _page(kg: KnowledgeGraph, form: EntityForm, *, status: int = 200) -> Any:
    labels, known = Labels(kg.dataset, kg.ontology, tongues()), client().name
    is_new = not form.held
    return page(
        "edit.html",
        kg.base,
        status=status,
        form=form,
        is_new=is_new,
        class_=labels.reference(form.class_),
        thing=None if is_new or form.entity is None else labels.reference(form.entity),
        offered={found.property: form.offered(found) for found in form.fields},
        person=request.values.get("person", "") or request.cookies.get(_COOKIE, "") if known in UNNAMED else known,
        may_name=known in UNNAMED,
    )
