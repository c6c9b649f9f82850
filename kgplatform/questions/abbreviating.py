"""Prefixes for a prompt: short names for the namespaces of a schema, declared in a query that uses them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyoxigraph import Literal, NamedNode

from kgplatform.types import Term
from kgplatform.vocab import RDF, RDFS, XSD

_LOCAL = re.compile(r"[A-Za-z_][\w-]*\Z")
_ALPHABETIC = re.compile(r"[a-z][a-z0-9]{1,15}")
_DULL = frozenset(("http", "https", "www", "org", "com", "net", "ontology", "vocab", "schema", "example", "id", "w3id"))
_DECLARED = re.compile(r"\bPREFIX\s+([\w-]*)\s*:", re.IGNORECASE)
_USED = re.compile(r"(?<![\w<:/#-])([A-Za-z][\w-]*):[A-Za-z_]")
_QUOTED = re.compile(r"<[^<>\s]*>|\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|#[^\n]*")
_WRITTEN = re.compile(r"<([^<>\s\"{}|^`\\]+:[^<>\s\"{}|^`\\]*)>")
_NUMBERS = frozenset(f"{XSD}{name}" for name in ("integer", "decimal", "double"))
_STANDARD = {"rdf": RDF, "rdfs": RDFS, "xsd": XSD}


@dataclass(frozen=True, slots=True)
class Prefixes:
    """Namespaces by prefix, as a prompt declares them."""

    namespaces: Mapping[str, str]

    def short(self, iri: NamedNode) -> str:
        """The IRI with its prefix, or in angle brackets where it has none."""
        for prefix, namespace in self.namespaces.items():
            if iri.value.startswith(namespace) and _LOCAL.match(iri.value[len(namespace) :]):
                return f"{prefix}:{iri.value[len(namespace) :]}"
        return str(iri)

    def written(self, term: Term, *, most: int = 60) -> str:
        """A term as a query may write it; a literal that is too long is cut, which dots after the quotes show."""
        if isinstance(term, NamedNode):
            return self.short(term)
        if not isinstance(term, Literal):
            return str(term)
        if term.datatype.value in _NUMBERS:
            return term.value
        cut = len(term.value) > most
        shown = str(Literal(term.value[:most] if cut else term.value))
        if term.language:
            shown += f"@{term.language}"
        elif term.datatype.value != f"{XSD}string":
            shown += f"^^{self.short(term.datatype)}"
        return shown + ("…" if cut else "")

    def lines(self) -> list[str]:
        """The declarations."""
        return [f"PREFIX {prefix}: <{namespace}>" for prefix, namespace in self.namespaces.items()]

    def shortened(self, query: str) -> str:
        """A query with the prefixes for IRIs that are written out, to be shown; not one to be run as it stands."""
        return _WRITTEN.sub(lambda match: self.short(NamedNode(match[1])), query)

    def declared_in(self, query: str) -> str:
        """The query with those of the prefixes declared that it uses without declaring them."""
        known = {prefix.casefold() for prefix in _DECLARED.findall(query)}
        used = set(_USED.findall(_QUOTED.sub(" ", query)))
        missing = [p for p in self.namespaces if p in used and p.casefold() not in known]
        return "\n".join([*(f"PREFIX {p}: <{self.namespaces[p]}>" for p in missing), query])


def prefixes_for(terms: Iterable[NamedNode], known: Mapping[str, str]) -> Prefixes:
    """Prefixes for the namespaces of the terms: those known already by their names, others by a word of their own."""
    used: Counter[str] = Counter(namespace_of(term.value) for term in terms)
    by_namespace = {namespace: prefix for prefix, namespace in known.items() if prefix}
    found: dict[str, str] = dict(_STANDARD)
    for namespace, _ in used.most_common():
        if not namespace or namespace in found.values():
            continue
        prefix = by_namespace.get(namespace) or _prefix(namespace)
        number = 2
        base = prefix
        while prefix in found:
            prefix, number = f"{base}{number}", number + 1
        found[prefix] = namespace
    return Prefixes(found)


def namespace_of(iri: str) -> str:
    """The IRI up to its last ``#`` or ``/``."""
    cut = max(iri.rfind("#"), iri.rfind("/"))
    return iri[: cut + 1]


def _prefix(namespace: str) -> str:
    parts = [word for word in _ALPHABETIC.findall(namespace.casefold()) if word not in _DULL]
    return parts[-1] if parts else "ns"
