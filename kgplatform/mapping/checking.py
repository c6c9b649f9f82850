"""Whether a mapping fits the table and the ontology, said before a row is read."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from kgplatform.errors import ReadError
from kgplatform.mapping.columns import decoded
from kgplatform.mapping.functions import PARAMETERS, REFERENCE, VALUE
from kgplatform.mapping.rules import Call, Kind, Rule, TableRules
from kgplatform.mapping.yarrrml import FUNCTIONS
from kgplatform.ontology import Ontology
from kgplatform.vocab import DCTERMS, FOAF, OWL, PROV, RDF, RDFS, SCHEMA, SKOS, TYPE, VOID, WGS84

_SHARED: Final = (RDF, RDFS, OWL, SKOS, DCTERMS, PROV, FOAF, SCHEMA, VOID, WGS84)
"""Vocabularies that every graph may use, whatever its ontology declares."""


def check_columns(mapping: TableRules, rules: tuple[Rule, ...], columns: Sequence[str], table: str) -> None:
    """Passes rules that take no other columns than the table has.

    Raises:
        ReadError: the table has no such column; the message names the nearest.
    """
    for name in (decoded(column) for column in mapping.columns(rules)):
        if name not in columns:
            raise ReadError(
                f"{_place(mapping, name)}{table} has no column {name!r}{_near(name, columns)}", path=mapping.path
            )


def _place(mapping: TableRules, name: str) -> str:
    """The line of the mapping that first refers to the column."""
    for number, line in enumerate(mapping.text.splitlines(), start=1):
        if f"$({name})" in line or f"{{{name}}}" in line or f'"{name}"' in line:
            return f"line {number}: "
    return ""


def _near(name: str, known: Iterable[str]) -> str:
    listed = list(known)
    near = difflib.get_close_matches(name, listed, n=1)
    if not near:
        near = [item for item in listed if item.casefold() == name.casefold()]
    if near:
        return f"; did you mean {near[0]!r}?"
    shown = ", ".join(repr(item) for item in listed[:8])
    return f"; it has {shown}{' …' if len(listed) > 8 else ''}"


def check_calls(mapping: TableRules, rules: tuple[Rule, ...], ontology: Ontology) -> None:
    """Passes rules whose calls of this platform's functions can be carried out.

    Raises:
        ReadError: a function, a parameter or a property is not known, or is given another function's result.
    """
    for rule in rules:
        for _, call in mapping.calls_of(rule):
            if call.is_ours:
                reason = _fault(call, ontology)
                if reason:
                    raise ReadError(reason, path=mapping.path)


def _fault(call: Call, ontology: Ontology) -> str:
    name = call.function.removeprefix(FUNCTIONS)
    if call.function not in PARAMETERS:
        known = [item.removeprefix(FUNCTIONS) for item in PARAMETERS]
        return f"there is no function kgp:{name}{_near(name, known)}"
    allowed = PARAMETERS[call.function]
    given = {parameter.removeprefix(FUNCTIONS): term for parameter, term in call.given}
    for parameter, term in given.items():
        if parameter not in allowed:
            return f"kgp:{name} takes no kgp:{parameter}{_near(parameter, allowed)}"
        if term.kind is Kind.EXECUTION:
            return f"kgp:{name} is given the result of another function; it takes columns and constants"
    if "class" in allowed and "property" not in allowed and "class" not in given:
        return f"kgp:{name} needs a kgp:class"
    if call.function in (REFERENCE, VALUE):
        return _unknown_property(name, given["property"].value if "property" in given else "", ontology)
    return ""


def _unknown_property(function: str, iri: str, ontology: Ontology) -> str:
    if not iri:
        return f"kgp:{function} needs a kgp:property"
    if iri in {item.value for item in ontology.properties}:
        return ""
    return f"the ontology has no property {iri}{_near(iri, (item.value for item in ontology.properties))}"


def unknown_terms(rules: Iterable[Rule], ontology: Ontology) -> Iterator[tuple[str, str]]:
    """The properties and classes that the ontology does not have, each with what is to be said about it."""
    seen: set[str] = set()
    for rule in rules:
        if rule.predicate.kind is not Kind.CONSTANT:
            continue
        if rule.predicate.value == TYPE.value and rule.object.kind is Kind.CONSTANT:
            kind, iri, known = "class", rule.object.value, [item.value for item in ontology.classes]
        else:
            kind, iri, known = "property", rule.predicate.value, [item.value for item in ontology.properties]
        if iri in seen or iri in known or iri.startswith(_SHARED):
            continue
        seen.add(iri)
        near = difflib.get_close_matches(iri, known, n=1)
        yield iri, f"the ontology has no {kind} {iri}{f'; did you mean {near[0]}?' if near else ''}"
