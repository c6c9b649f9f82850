"""What a mapping says, as values: rules that each make one triple of a row, and the functions they call."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from kgplatform.mapping.columns import template_columns
from kgplatform.mapping.sources import Sources
from kgplatform.mapping.yarrrml import FUNCTIONS


class Kind(StrEnum):
    """How a term is made, by the name that RML has for it."""

    CONSTANT = "http://w3id.org/rml/constant"
    TEMPLATE = "http://w3id.org/rml/template"
    REFERENCE = "http://w3id.org/rml/reference"
    EXECUTION = "http://w3id.org/rml/functionExecution"
    PARENT = "http://w3id.org/rml/parentTriplesMap"


IRI = "http://w3id.org/rml/IRI"
LITERAL = "http://w3id.org/rml/Literal"
DATATYPE = "http://w3id.org/rml/datatypeMap"
LANGUAGE = "http://w3id.org/rml/languageMap"


@dataclass(frozen=True, slots=True)
class TermMap:
    """How a term is made of a row: a constant, a template, a column, a function, or another map's subject."""

    kind: Kind
    value: str
    form: str = IRI

    @property
    def columns(self) -> tuple[str, ...]:
        """The (encoded) columns it is made of, those of functions left out."""
        if self.kind is Kind.REFERENCE:
            return (self.value,)
        return template_columns(self.value) if self.kind is Kind.TEMPLATE else ()


@dataclass(frozen=True, slots=True)
class Join:
    """A condition under which rows of two sources belong together: equal cells."""

    child: str
    parent: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One triple for each row of a source, as far as no cell that it takes is empty."""

    identity: str
    source: str
    subject: TermMap
    predicate: TermMap
    object: TermMap
    tag: str = ""
    tag_map: TermMap | None = None
    joins: tuple[Join, ...] = ()

    @property
    def terms(self) -> tuple[TermMap, ...]:
        """All its term maps."""
        found = (self.subject, self.predicate, self.object)
        return (*found, self.tag_map) if self.tag_map is not None else found

    @property
    def columns(self) -> tuple[str, ...]:
        """The (encoded) columns of the source that it takes, those of functions left out."""
        found = [column for term in self.terms for column in term.columns]
        return tuple(dict.fromkeys([*found, *(join.child for join in self.joins)]))


@dataclass(frozen=True, slots=True)
class Call:
    """A function with what it is given, in order: for each parameter a constant, a template or a column."""

    function: str
    given: tuple[tuple[str, TermMap], ...]

    @property
    def is_ours(self) -> bool:
        """Whether the function is one of this platform's."""
        return self.function.startswith(FUNCTIONS)

    @property
    def columns(self) -> tuple[str, ...]:
        """The (encoded) columns it takes, in order."""
        return tuple(dict.fromkeys(column for _, term in self.given for column in term.columns))


@dataclass(frozen=True, slots=True)
class TableRules:
    """A mapping as read: its rules in the order of its triples maps, the calls by name, and its sources."""

    path: Path
    rules: tuple[Rule, ...]
    calls: Mapping[str, Call]
    sources: Sources
    text: str = field(repr=False, default="")

    def of(self, given: frozenset[str]) -> tuple[Rule, ...]:
        """The rules of these sources."""
        return tuple(rule for rule in self.rules if rule.source in given)

    def parent(self, rule: Rule) -> Rule:
        """The rule whose subject is the object of this one."""
        return next(other for other in self.rules if other.identity == rule.object.value)

    def calls_of(self, rule: Rule) -> Iterator[tuple[str, Call]]:
        """The functions that a rule calls, those inside functions left out."""
        for term in rule.terms:
            if term.kind is Kind.EXECUTION:
                yield term.value, self.calls[term.value]

    def columns(self, rules: tuple[Rule, ...]) -> tuple[str, ...]:
        """The (encoded) columns that the rules take, with those of functions, in order."""
        found: dict[str, None] = {}
        for rule in rules:
            found |= dict.fromkeys(rule.columns)
            for name, _ in self.calls_of(rule):
                found |= dict.fromkeys(self._within(name))
        return tuple(found)

    def _within(self, name: str) -> Iterator[str]:
        call = self.calls[name]
        yield from call.columns
        for _, term in call.given:
            if term.kind is Kind.EXECUTION:
                yield from self._within(term.value)
