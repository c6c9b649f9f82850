"""What a question is about, how sure that is, and how fast the facts of it change.

A domain is what ``core:domain`` of a class or ontology says, else the ontology that a term is of. How fast facts change
says ``core:changeRate`` of a property, class or ontology; the settings may say otherwise for any of them by name.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.errors import ConfigError
from kgplatform.questions.mentions import Reading
from kgplatform.questions.names import Name, NameIndex
from kgplatform.text import normalise
from kgplatform.vocab import CORE, OWL, RDF, RDFS, local_name

OPEN: Final = "open"
"""The domain of a question that is of none for certain."""
RATES: Final = ("static", "slow", "fast", "real-time")
"""How fast facts change, the slowest first."""
_DOMAIN, _CHANGES = f"{CORE}domain", f"{CORE}changeRate"


@dataclass(frozen=True, slots=True)
class Domains:
    """What an ontology says of domains and rates of change; ``set_rates`` are those of the settings, by name.

    ``imports``: the domains whose terms a domain uses as its own, for its ontology imports theirs.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    imports: Mapping[str, frozenset[str]] = field(default_factory=dict)
    rates: Mapping[str, str] = field(default_factory=dict)
    set_rates: Mapping[str, str] = field(default_factory=dict)

    def domain(self, iri: NamedNode) -> str:
        """The domain of a term: its own, else that of its ontology; empty where none is known."""
        return self.names.get(iri.value) or self.names.get(_space(iri.value), "")

    def rate(self, iri: NamedNode) -> str:
        """How fast facts of a term change; empty where nothing is said of it."""
        for name in (iri.value, local_name(iri.value), self.domain(iri)):
            if found := self.set_rates.get(normalise(name)):
                return found
        return self.rates.get(iri.value) or self.rates.get(_space(iri.value), "")

    def rate_of_open(self) -> str:
        """How fast facts change that are of no domain."""
        return self.set_rates.get(OPEN, "static")


@dataclass(frozen=True, slots=True)
class Topic:
    """What a question is about, with the likelihood (0..1) of that, and how fast facts of it change."""

    domain: str
    certainty: float
    changes: str


def read_domains(triples: Iterable[Triple], changes: Sequence[str] = ()) -> Domains:
    """The domains and rates that an ontology's triples and the settings (``name=rate``) tell.

    Raises:
        ConfigError: a setting is not of that form, or its rate is none.
    """
    names: dict[str, str] = {}
    labels: dict[str, str] = {}
    rates: dict[str, str] = {}
    ontologies: set[str] = set()
    imported: dict[str, set[str]] = defaultdict(set)
    for triple in triples:
        subject, predicate, value = triple.subject, triple.predicate.value, triple.object
        if not isinstance(subject, NamedNode):
            continue
        if predicate == f"{RDF}type" and value == NamedNode(f"{OWL}Ontology"):
            ontologies.add(subject.value)
        if predicate == f"{OWL}imports" and isinstance(value, NamedNode):
            imported[subject.value].add(value.value)
        if isinstance(value, Literal):
            _note(subject.value, predicate, value, names, labels, rates)
    spaces = {iri: _space(f"{iri.rstrip('#/')}{'' if iri.endswith(('#', '/')) else '#'}x") for iri in ontologies}
    for iri in ontologies:
        name = names.get(iri) or labels.get(iri) or local_name(iri.rstrip("#/"))
        for space in {spaces[iri], iri, f"{iri.rstrip('#/')}/"}:
            names.setdefault(space, name)
            if iri in rates:
                rates.setdefault(space, rates[iri])
    uses = {names[iri]: frozenset(names[other] for other in found if other in names) for iri, found in imported.items()}
    return Domains(names, uses, rates, _set(changes))


def _note(
    iri: str, predicate: str, value: Literal, names: dict[str, str], labels: dict[str, str], rates: dict[str, str]
) -> None:
    plain = value.language in (None, "en")
    if predicate == _DOMAIN and (plain or iri not in names):
        names[iri] = value.value
    elif predicate == f"{RDFS}label" and (plain or iri not in labels):
        labels[iri] = value.value
    elif predicate == _CHANGES and value.value in RATES:
        rates[iri] = value.value


def _set(changes: Sequence[str]) -> dict[str, str]:
    found = {}
    for item in changes:
        name, equals, rate = (part.strip() for part in item.rpartition("="))
        if not equals or not name or rate not in RATES:
            raise ConfigError(
                f"questions.changes holds {item!r}; write NAME=RATE, where RATE is {', '.join(RATES)}",
                setting="questions.changes",
            )
        found[normalise(name)] = rate
    return found


def _space(iri: str) -> str:
    """The namespace of a term."""
    return iri[: max(iri.rfind("#"), iri.rfind("/")) + 1]


def topic(reading: Reading, names: NameIndex, domains: Domains, *, least: float = 0.9) -> Topic:
    """What the question is about: the domain that most of its content words are of, if they are enough."""
    shares: dict[str, float] = defaultdict(float)
    rates: dict[str, list[str]] = defaultdict(list)
    covered: set[int] = set()
    for mention in reading.mentions:
        weight = sum(reading.weights[mention.first : mention.last]) or 0.5
        covered |= set(range(mention.first, mention.last))
        for share, term in _terms(mention.options[0].names if mention.options else (), names):
            domain = domains.domain(term)
            shares[domain] += weight * share
            rates[domain].append(domains.rate(term))
    rest = sum(w for i, w in enumerate(reading.weights) if i not in covered and i not in reading.cues.used)
    total = sum(shares.values()) + rest
    shares.pop("", None)
    with_uses = {
        name: shares[name] + sum(shares.get(used, 0.0) for used in domains.imports.get(name, ())) for name in shares
    }
    best = max(shares, key=lambda name: (round(with_uses[name], 6), shares[name], name), default="")
    certainty = round(with_uses[best] / total, 3) if best and total else 0.0
    if certainty < least:
        return Topic(OPEN, certainty, domains.rate_of_open())
    known = [rate for rate in rates[best] if rate]
    return Topic(best, certainty, max(known, key=RATES.index, default="static"))


def _terms(found: Sequence[Name], names: NameIndex) -> list[tuple[float, NamedNode]]:
    """The terms of the ontology that a mention leads to, with their shares: a thing counts as its classes."""
    terms: list[NamedNode] = []
    for name in found[:3]:
        if name.predicate is not None:
            terms.append(name.predicate)
        elif name.kind in ("class", "property") and isinstance(name.term, NamedNode):
            terms.append(name.term)
        else:
            terms.extend(names.types(name.term)[:2])
    unique = list(dict.fromkeys(terms))
    return [(1.0 / len(unique), term) for term in unique]
