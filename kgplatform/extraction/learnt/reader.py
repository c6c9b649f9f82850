"""What annotated examples taught: weights that the network of sentences continues with, and how things are named.

The file of it holds plain arrays and JSON, never trusted to be code.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from pyoxigraph import NamedNode

from kgplatform.errors import WorkspaceError
from kgplatform.extraction.context import DocumentReading
from kgplatform.extraction.learnt.examples import day_of, form_of, formed, number_of
from kgplatform.extraction.learnt.stretches import squeezed
from kgplatform.extraction.sentence_network import (
    Floats,
    SentenceNetwork,
    Thresholds,
    carried_network,
    network_identity,
)
from kgplatform.extraction.values import literal_of
from kgplatform.types import Claim, Mention

# Names of entities

_ANY: Final = ""


@dataclass
class Namings:
    """How often what is written, in squeezed form, stands for each value; and how properties write dates and numbers.

    ``values`` is by role ("s", or "o" with the property; empty: any) and what is written.
    """

    values: dict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    forms: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def add(self, role: str, written: str, value: str) -> None:
        """Takes up one place where an example's value stands."""
        if role.startswith("o") and _is_value(written):
            self.forms[_kind(role, written)][form_of(value, written)] += 1
        else:
            for name in (role, _ANY):
                self.values[name, squeezed(written)][value] += 1

    def name(self, role: str, written: str, text: str) -> str:
        """The value that is written there."""
        forms = self.forms.get(_kind(role, written))
        if forms and _is_value(written):
            return formed(written, max(sorted(forms), key=lambda form: forms[form]))
        key = squeezed(written)
        for name in (role, _ANY):
            counts: Mapping[str, int] = self.values.get((name, key), {})
            if counts:
                return max(counts, key=lambda value: (_weight(counts, value, key, text), value))
        return written

    def kept(self) -> dict[str, object]:
        """What is worth keeping, as JSON values: names that differ from what is written, and forms."""
        values = {
            f"{role}\t{key}": dict(sorted(counts.items()))
            for (role, key), counts in sorted(self.values.items())
            if counts
        }
        return {"values": values, "forms": {role: dict(sorted(forms.items())) for role, forms in self.forms.items()}}

    @classmethod
    def of(cls, kept: Mapping[str, Mapping[str, Mapping[str, int]]]) -> Namings:
        """What `kept` gave, again; raises KeyError and ValueError where it is something else."""
        found = cls()
        for key, counts in kept["values"].items():
            role, written = key.split("\t")
            found.values[role, written] = Counter(counts)
        for role, forms in kept["forms"].items():
            found.forms[role] = Counter(forms)
        return found


def _is_value(written: str) -> bool:
    return day_of(written) is not None or number_of(written) is not None


def _kind(role: str, written: str) -> str:
    """The role, with how much of a date is written: a year may be completed in another form than a day."""
    day = day_of(written)
    return f"{role} {sum(part > 0 for part in day)}" if day else role


def _weight(counts: Mapping[str, int], value: str, written: str, text: str) -> float:
    """How good a reading the value is: as often as seen, less where the text lacks what the value adds."""
    if squeezed(value) == written:
        return counts[value]
    added = [word for word in value.split() if squeezed(word) not in written]
    if not added:
        return counts[value]
    there = squeezed(text)
    return counts[value] * (0.5 + sum(squeezed(word) in there for word in added) / len(added))


# What was learnt

VERSION: Final = 3
_ABOUT: Final = "about"


@dataclass(frozen=True)
class Learnt:
    """What examples taught; ``report`` has by property how many triples were said, read and read rightly.

    ``weights`` and ``signs`` are those of the network that were learnt anew. The report is of examples that were left
    out of the learning, ``apart`` of them. ``takes`` and ``classes``: see
    `DocumentReading`.
    """

    weights: Mapping[str, Floats]
    signs: Mapping[str, float]
    thresholds: Thresholds
    namings: Namings
    takes: Mapping[str, frozenset[str]]
    classes: Mapping[str, tuple[NamedNode, ...]]
    report: Mapping[str, tuple[int, int, int]]
    apart: int

    @cached_property
    def network(self) -> SentenceNetwork | None:
        """The network as it was taught; None where it is not there."""
        carried = carried_network()
        return carried.continued(self.weights, self.signs, self.thresholds) if carried is not None else None

    def save(self, path: Path) -> None:
        """Writes the file beside its place and moves it there.

        Raises:
            WorkspaceError: the disk refuses; the old file stays.
        """
        told = {
            "version": VERSION,
            "network": network_identity(),
            "signs": dict(self.signs),
            "thresholds": [getattr(self.thresholds, name) for name in ("statement", "candidate", "surer", "spreads")],
            "namings": self.namings.kept(),
            "takes": {key: sorted(kinds) for key, kinds in self.takes.items()},
            "classes": {key: [iri.value for iri in told] for key, told in self.classes.items()},
            "report": {iri: list(numbers) for iri, numbers in self.report.items()},
            "apart": self.apart,
        }
        about = json.dumps(told, ensure_ascii=False, sort_keys=True).encode("utf-8", "surrogatepass")
        part = path.with_name(f"{path.name}.{os.getpid()}.part")
        try:
            with part.open("wb") as file:
                held: dict[str, Any] = {_ABOUT: np.frombuffer(about, dtype=np.uint8)}
                held |= {name: rows.astype(np.float16) for name, rows in self.weights.items()}
                np.savez_compressed(file, allow_pickle=False, **held)
            part.replace(path)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise WorkspaceError(f"{path}: cannot be written: {error.strerror or error}", path=path) from error

    def __reduce__(self) -> tuple[Any, ...]:  # for another process, without the sentence model
        return Learnt, tuple(getattr(self, item.name) for item in fields(self))


def name_as_taught(reading: DocumentReading, namings: Namings) -> None:
    """Gives the things and values that sentences state the names that examples give them."""
    for some in (reading.claims, reading.possible):
        for key, claim in list(some.items()):
            if some is reading.possible or reading.ways.get(key):
                some[key] = _named(reading, claim, namings)


def _named(reading: DocumentReading, claim: Claim, namings: Namings) -> Claim:
    role = "o" + claim.predicate.value
    subject = _renamed(claim.subject, namings.name("s", claim.subject.name, reading.text))
    if isinstance(claim.object, Mention):
        object_ = _renamed(claim.object, namings.name(role, claim.object.name, reading.text))
        return replace(claim, subject=subject, object=object_)
    name = namings.name(role, claim.object.value, reading.text)
    try:
        term = reading.lexicon.ontology.properties[claim.predicate]
        literal = (
            literal_of(name, term, language=claim.object.language or "") if name != claim.object.value else claim.object
        )
    except ValueError:  # how the examples write it is none of the values that the ontology admits
        literal = claim.object
    return replace(claim, subject=subject, object=literal)


def _renamed(mention: Mention, name: str) -> Mention:
    return mention if mention.name == name else replace(mention, name=name, aliases=(*mention.aliases, mention.text))


def load(path: Path) -> Learnt | None:
    """What the file holds; None: there is none.

    Raises:
        WorkspaceError: it is damaged, or another version wrote it.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            arrays = {name: held[name] for name in held.files}
        about = json.loads(arrays.pop(_ABOUT).tobytes().decode("utf-8", "surrogatepass"))
        if about["version"] != VERSION or about["network"] != network_identity():
            raise _unusable(path, "was written by another version")
        return Learnt(
            {name: rows.astype(np.float32) for name, rows in arrays.items()},
            {str(sign): float(weight) for sign, weight in about["signs"].items()},
            Thresholds(*about["thresholds"]),
            Namings.of(about["namings"]),
            {key: frozenset(kinds) for key, kinds in about["takes"].items()},
            {key: tuple(map(NamedNode, told)) for key, told in about["classes"].items()},
            {iri: (said, read, right) for iri, (said, read, right) in about["report"].items()},
            int(about["apart"]),
        )
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, zipfile.BadZipFile, EOFError) as error:
        raise _unusable(path, "is damaged") from error


def _unusable(path: Path, why: str) -> WorkspaceError:
    return WorkspaceError(f"{path} {why}; run `kgplatform learn` again, or delete it", path=path)
