"""Identities from elsewhere: which Wikidata item, GeoNames place or other thing is one of ours.

From a table (``name,id`` or ``iri,id``, with a ``score`` if there is one) or from a service that speaks the W3C
Reconciliation Service API (https://www.w3.org/community/reports/reconciliation/CG-FINAL-specs-0.2-20230410/), asked by
GET within the same limits as pages: the named host only, public addresses only, limited size and time.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlsplit

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.documents.fetch import WebRules, fetch
from kgplatform.errors import ReadError
from kgplatform.lexicon import LexiconSection
from kgplatform.network import Resolve, public_addresses
from kgplatform.store.oxigraph import checked_iri
from kgplatform.vocab import CORE, TYPE, XSD_DOUBLE

EXACT_MATCH: Final = NamedNode("http://www.w3.org/2004/02/skos/core#exactMatch")
_WIKIDATA, _GEONAMES = "http://www.wikidata.org/entity/", "https://sws.geonames.org/"
_LEXICON: Final = LexiconSection("linking", "external")
_NAME_COLUMNS, _ID_COLUMNS = _LEXICON.listed("name_columns"), _LEXICON.listed("id_columns")
_MOST_LETTERS = 3000
_MOST_IN_ONE = 10
_CANDIDATES = 3


@dataclass(frozen=True, slots=True)
class Identity:
    """Something of ours, by name or IRI, and what it is elsewhere: how sure (0..1) and by which method."""

    name: str
    target: NamedNode
    score: float
    method: str


@dataclass(frozen=True, slots=True)
class Identities:
    """What was found, and a sentence for each line or name that could not be used."""

    found: tuple[Identity, ...]
    problems: tuple[str, ...] = ()


def external_iri(text: str) -> NamedNode:
    """The IRI of an identifier: an IRI itself, a Wikidata item (``Q42``), or a GeoNames number.

    Raises:
        ValueError: it is none of these.
    """
    plain = text.strip()
    if re.fullmatch(r"(?:wd:|wikidata:)?Q[1-9]\d*", plain):
        return NamedNode(f"{_WIKIDATA}{plain.rpartition(':')[2]}")
    if re.fullmatch(r"(?:geonames:)?[1-9]\d*", plain):
        return NamedNode(f"{_GEONAMES}{plain.rpartition(':')[2]}/")
    if not re.fullmatch(r"https?://[^\s<>\"{}|\\^`]+", plain):
        raise ValueError(f"{plain[:80]!r} is no IRI, Wikidata item (Q42) or GeoNames number")
    return NamedNode(plain)


def read_identities(path: Path) -> Identities:
    """The identities in a CSV file, the delimiter found out.

    Raises:
        ReadError: the file cannot be read, has no header with a name or IRI and an id, or no line can be used.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}", path=path) from error
    except UnicodeDecodeError as error:
        raise ReadError(f"is not UTF-8: byte {error.start}", path=path) from error
    delimiter = max(",;\t", key=text.partition("\n")[0].count)
    rows = csv.DictReader(text.splitlines(), delimiter=delimiter)
    columns = {(name or "").strip().casefold(): name for name in rows.fieldnames or ()}
    ours = next((columns[name] for name in ("iri", "entity", *_NAME_COLUMNS) if name in columns), None)
    theirs = next((columns[name] for name in _ID_COLUMNS if name in columns), None)
    if ours is None or theirs is None:
        raise ReadError("needs a header with name or iri, and id", path=path)
    found: list[Identity] = []
    problems: list[str] = []
    for number, row in enumerate(rows, start=2):
        try:
            found.append(_identity(row, ours, theirs, columns.get("score")))
        except ValueError as error:
            problems.append(f"line {number}: {error}")
    if not found:
        raise ReadError(f"holds no identity that can be used: {problems[0] if problems else 'no lines'}", path=path)
    return Identities(tuple(found), tuple(problems))


def _identity(row: Mapping[str, str | None], ours: str, theirs: str, score: str | None) -> Identity:
    name = (row.get(ours) or "").strip()
    if not name:
        raise ValueError("has no name")
    given = (row.get(score) or "").strip() if score else ""
    try:
        sure = float(given) if given else 1.0
    except ValueError as error:
        raise ValueError(f"the score {given!r} is no number") from error
    if not 0 <= sure <= 1:
        raise ValueError(f"the score {given} is not between 0 and 1")
    return Identity(name, external_iri(row.get(theirs) or ""), sure, "file")


@dataclass(frozen=True, slots=True)
class Reconciler:
    """A reconciliation service: its address, the type to keep to, and the least score (0..1) of a match."""

    address: str
    type: str | None = None
    least: float = 0.9
    timeout_seconds: float = 20.0
    resolve: Resolve = public_addresses

    def ask(self, names: Sequence[str]) -> Identities:
        """The one candidate for each name that the service is sure of; what is unsure is told and left out.

        Raises:
            ReadError: the service cannot be reached, is not public, or answers with something else.
        """
        manifest = self._fetched("")
        space = manifest.get("identifierSpace")
        if not isinstance(space, str) or "://" not in space:
            raise ReadError("is not a reconciliation service: it names no identifierSpace", path=Path(self.address))
        found: list[Identity] = []
        problems: list[str] = []
        for some in _batches(list(dict.fromkeys(names))):
            for name, result in self._answers(some):
                identity, problem = self._chosen(name, result, space)
                if identity is not None:
                    found.append(identity)
                else:
                    problems.append(problem)
        return Identities(tuple(found), tuple(problems))

    def _answers(self, names: Sequence[str]) -> Iterator[tuple[str, list[Any]]]:
        asked: dict[str, dict[str, object]] = {}
        for number, name in enumerate(names):
            asked[f"q{number}"] = {"query": name, "limit": _CANDIDATES, **({"type": self.type} if self.type else {})}
        reply = self._fetched(f"queries={quote(json.dumps(asked, ensure_ascii=False))}")
        for number, name in enumerate(names):
            answer = reply.get(f"q{number}")
            result = answer.get("result") if isinstance(answer, dict) else None
            yield name, [item for item in result if isinstance(item, dict)] if isinstance(result, list) else []

    def _chosen(self, name: str, result: Sequence[Mapping[str, Any]], space: str) -> tuple[Identity | None, str]:
        """The candidate that the service calls a match, or that alone has the score; else why none was taken."""
        sure = [(item, _score(item)) for item in result if isinstance(item.get("id"), str)]
        good = [(item, score) for item, score in sure if score >= self.least]
        matches = [(item, score) for item, score in good if item.get("match") is True] or good
        if len(matches) != 1:
            what = f"{len(matches)} candidates" if matches else "no candidate"
            return None, f"{name}: {what} of at least {self.least:g}"
        item, score = matches[0]
        target = item["id"] if "://" in item["id"] else f"{space}{item['id']}"  # some name what is not theirs in full
        return Identity(name, checked_iri(target), score, "reconciliation"), ""

    def _fetched(self, query: str) -> dict[str, Any]:
        parts = urlsplit(self.address)
        host = parts.hostname or ""
        usual = parts.port is None
        rules = WebRules((host if usual else f"{host}:{parts.port}",), 5_000_000, self.timeout_seconds)
        glue = "&" if parts.query else "?"
        page = fetch(f"{self.address}{glue}{query}" if query else self.address, rules, resolve=self.resolve)
        try:
            value = json.loads(page.data.decode("utf-8-sig"))
        except ValueError as error:
            raise ReadError(f"does not answer with JSON ({error})", path=Path(self.address)) from error
        if not isinstance(value, dict):
            raise ReadError("does not answer with a JSON object", path=Path(self.address))
        return value


def _score(item: Mapping[str, Any]) -> float:
    """The score as 0..1; services give it as a percentage."""
    given = item.get("score")
    if isinstance(given, bool) or not isinstance(given, int | float):
        return 0.0
    return round(min(max(given / 100 if given > 1 else float(given), 0.0), 1.0), 4)


def _batches(names: Sequence[str]) -> Iterator[list[str]]:
    """So many names at a time as fit into one address."""
    some: list[str] = []
    for name in names:
        letters = sum(len(quote(item)) + 60 for item in (*some, name))
        if some and (len(some) == _MOST_IN_ONE or letters > _MOST_LETTERS):
            yield some
            some = []
        some.append(name)
    if some:
        yield some


def identity_triples(identities: Iterable[tuple[NamedNode, Identity]], base: str) -> list[Triple]:
    """The identities as statements, and each with its score and method."""
    found: list[Triple] = []
    for ours, identity in identities:
        node = NamedNode(
            f"{base}link/external/{quote(ours.value.rpartition('/')[2], safe='')}-{_tail(identity.target)}"
        )
        found += [
            Triple(ours, EXACT_MATCH, identity.target),
            Triple(node, TYPE, NamedNode(f"{CORE}Link")),
            Triple(node, NamedNode(f"{CORE}linkFrom"), ours),
            Triple(node, NamedNode(f"{CORE}linkTo"), identity.target),
            Triple(node, NamedNode(f"{CORE}score"), Literal(repr(identity.score), datatype=XSD_DOUBLE)),
            Triple(node, NamedNode(f"{CORE}method"), Literal(identity.method)),
        ]
    return list(dict.fromkeys(found))


def _tail(iri: NamedNode) -> str:
    return quote(re.sub(r"\W+", "-", iri.value.partition("://")[2]).strip("-"), safe="")
