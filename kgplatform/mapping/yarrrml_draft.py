"""A drafted mapping as YARRRML, for a person to edit, and the checks of a mapping against table and ontology."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.errors import ReadError
from kgplatform.extraction.table_draft import ColumnMapping, TableMapping
from kgplatform.mapping.cell_functions import ENTITY, PARAMETERS, REFERENCE, VALUE
from kgplatform.mapping.rml import FUNCTIONS, FunctionCall, TableRules, TermKind, TripleRule, decoded, reference
from kgplatform.ontology.schema import Ontology
from kgplatform.vocab import (
    DCTERMS,
    FOAF,
    OWL,
    PREFIXES,
    PROV,
    RDF,
    RDFS,
    SCHEMA,
    SKOS,
    TYPE,
    VOID,
    WGS84,
    local_name,
    slug,
)

_DIGEST = re.compile(r"^# draft ([0-9a-f]{16})\n", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_][\w\-]*")


def drafted(mapping: TableMapping, ontology: Ontology, location: str) -> str:
    """The mapping as a YARRRML file; its head says in words what becomes of each column."""
    prefixes = _Prefixes()
    maps = list(_maps(mapping, prefixes, _source(location)))
    head = ["prefixes:", *(f"  {name}: {_quoted(iri)}" for name, iri in prefixes.used()), "mappings:"]
    body = "\n".join([*head, *maps]) + "\n"
    said = "".join(f"# {line}\n" for line in mapping.describe(ontology).splitlines())
    note = "# Drafted from the names of the columns. Edit it: a file that was edited is never written over.\n"
    digest = hashlib.sha256((said + note + body).encode()).hexdigest()[:16]
    return f"# draft {digest}\n{said}{note}{body}"


def is_untouched(text: str) -> bool:
    """Whether the text is a draft that nobody edited, so that a newer one may take its place."""
    found = _DIGEST.match(text)
    return found is not None and hashlib.sha256(text[found.end() :].encode()).hexdigest()[:16] == found[1]


def _source(location: str) -> str:
    name = location if "://" in location else PurePosixPath(location).name
    kind = PurePosixPath(location.partition("#")[0]).suffix.lstrip(".") or "csv"
    return f"[[{_quoted(f'{name}~{kind}')}]]"


class _Prefixes:
    """Short names for namespaces, as far as they are used."""

    def __init__(self) -> None:
        self._names = {iri: name for name, iri in PREFIXES.items()} | {FUNCTIONS: "kgp"}
        self._used: dict[str, str] = {}

    def short(self, iri: str) -> str:
        """The prefixed name of a term, or the IRI in full where it has none."""
        local = local_name(iri)
        namespace = iri.removesuffix(local)
        if not _NAME.fullmatch(local) or not namespace:
            return _quoted(iri)
        if namespace not in self._names:
            self._names[namespace] = self._fresh(namespace)
        self._used[namespace] = self._names[namespace]
        return f"{self._names[namespace]}:{local}"

    def _fresh(self, namespace: str) -> str:
        words = re.findall(r"[a-z]{2,}", namespace.partition("://")[2].lower())
        stem = words[-1][:12] if words else "terms"
        taken = set(self._names.values())
        return next(name for n in range(len(taken) + 2) if (name := f"{stem}{n or ''}") not in taken)

    def used(self) -> Iterable[tuple[str, str]]:
        """The names in use with their namespaces, sorted."""
        return sorted((name, iri) for iri, name in self._used.items())


def _maps(mapping: TableMapping, prefixes: _Prefixes, source: str) -> Iterator[str]:
    """The triples map of the rows, and one for each column that names what other columns are about."""
    row = slug(local_name(mapping.type.value)) or "row"
    yield from (f"  {row}:", f"    sources: {source}", f"    subjects: {_entity(mapping, prefixes)}", "    po:")
    yield f"      - [a, {prefixes.short(mapping.type.value)}]"
    for item in mapping.columns:
        if item.via is None:
            yield from (f"      - {line}" for line in _column(item, prefixes))
    yield from (f"      - {line}" for line in _fallback(mapping, prefixes))
    for owner in dict.fromkeys(item.via for item in mapping.columns if item.via is not None):
        named = mapping.columns[owner]
        yield f"  {row}_{slug(named.column)}:"
        yield from (f"    sources: {source}", f"    subjects: {_object(named, prefixes)}", "    po:")
        for item in mapping.columns:
            if item.via == owner:
                yield from (f"      - {line}" for line in _column(item, prefixes))


def _entity(mapping: TableMapping, prefixes: _Prefixes) -> str:
    key = mapping.columns[mapping.key] if mapping.key is not None else None
    names = [item for item in mapping.columns if item.role == "name"]
    given = [("class", prefixes.short(mapping.type.value))]
    given += [("key", _cell(key))] if key is not None and key.role != "name" else []
    given += [("name", _cell(item)) for item in names]
    given += [("part", _cell(mapping.columns[index])) for index in mapping.together]
    return _function("entity", given, prefixes)


def _column(item: ColumnMapping, prefixes: _Prefixes) -> Iterator[str]:
    """The predicates and objects that a column gives."""
    if item.role in ("name", "alias"):
        given = [("text", _cell(item))]
        given += [("language", item.language)] if item.language else []
        given += [("split", '"yes"')] if item.role == "alias" else []
        label = f"{RDFS}label" if item.role == "name" else f"{SKOS}altLabel"
        yield _po(label, _function("text", given, prefixes), prefixes)
    if item.term is None:
        return
    if item.term.is_object:
        yield _po(item.term.iri.value, _object(item, prefixes), prefixes)
        return
    given = [("property", prefixes.short(item.term.iri.value)), ("text", _cell(item))]
    given += [("whole", '"yes"')] if item.role == "name" else []
    yield _po(item.term.iri.value, _function("value", given, prefixes), prefixes)


def _fallback(mapping: TableMapping, prefixes: _Prefixes) -> Iterator[str]:
    """The key as the label of what has no name, here or elsewhere."""
    key = mapping.columns[mapping.key] if mapping.key is not None else None
    if key is None or key.role == "name":
        return
    names = [item for item in mapping.columns if item.role == "name"]
    given = [("text", _cell(key)), *(("unless", _cell(item)) for item in names)]
    given += [] if names else [("class", prefixes.short(mapping.type.value))]
    yield _po(f"{RDFS}label", _function("otherwise", given, prefixes), prefixes)


def _object(item: ColumnMapping, prefixes: _Prefixes) -> str:
    property_ = item.term.iri if item.term is not None else NamedNode(f"{RDFS}seeAlso")
    given = [("property", prefixes.short(property_.value))]
    given += [("class", prefixes.short(item.range.value))] if item.range is not None else []
    return _function("reference", [*given, ("name", _cell(item))], prefixes)


def _po(predicate: str, object_: str, prefixes: _Prefixes) -> str:
    return f"p: {prefixes.short(predicate)}\n        o: {object_}"


def _function(name: str, given: Iterable[tuple[str, str]], prefixes: _Prefixes) -> str:
    parameters = ", ".join(f"[{prefixes.short(FUNCTIONS + parameter)}, {value}]" for parameter, value in given)
    return f"{{function: {prefixes.short(FUNCTIONS + name)}, parameters: [{parameters}]}}"


def _cell(item: ColumnMapping) -> str:
    return _quoted(reference(item.column))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


_SHARED: Final = (RDF, RDFS, OWL, SKOS, DCTERMS, PROV, FOAF, SCHEMA, VOID, WGS84)
"""Vocabularies that every graph may use, whatever its ontology declares."""


def check_columns(mapping: TableRules, rules: tuple[TripleRule, ...], columns: Sequence[str], table: str) -> None:
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


def check_calls(mapping: TableRules, rules: tuple[TripleRule, ...], ontology: Ontology) -> None:
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


def _fault(call: FunctionCall, ontology: Ontology) -> str:
    name = call.function.removeprefix(FUNCTIONS)
    if call.function not in PARAMETERS:
        known = [item.removeprefix(FUNCTIONS) for item in PARAMETERS]
        return f"there is no function kgp:{name}{_near(name, known)}"
    allowed = PARAMETERS[call.function]
    given = {parameter.removeprefix(FUNCTIONS): term for parameter, term in call.given}
    for parameter, term in given.items():
        if parameter not in allowed:
            return f"kgp:{name} takes no kgp:{parameter}{_near(parameter, allowed)}"
        if term.kind is TermKind.EXECUTION:
            return f"kgp:{name} is given the result of another function; it takes columns and constants"
    if call.function == ENTITY and "class" not in given:
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


def unknown_terms(rules: Iterable[TripleRule], ontology: Ontology) -> Iterator[tuple[str, str]]:
    """The properties and classes that the ontology does not have, each with what is to be said about it."""
    seen: set[str] = set()
    for rule in rules:
        if rule.predicate.kind is not TermKind.CONSTANT:
            continue
        if rule.predicate.value == TYPE.value and rule.object.kind is TermKind.CONSTANT:
            kind, iri, known = "class", rule.object.value, [item.value for item in ontology.classes]
        else:
            kind, iri, known = "property", rule.predicate.value, [item.value for item in ontology.properties]
        if iri in seen or iri in known or iri.startswith(_SHARED):
            continue
        seen.add(iri)
        near = difflib.get_close_matches(iri, known, n=1)
        yield iri, f"the ontology has no {kind} {iri}{f'; did you mean {near[0]}?' if near else ''}"
