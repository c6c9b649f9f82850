"""What annotated examples taught: weights that the network of sentences continues with, and how things are named.

The file of it holds plain arrays and JSON, never trusted to be code.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, lru_cache
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
from kgplatform.text import sentences
from kgplatform.types import Claim, Mention

# Names of entities

_ANY: Final = ""
_LEAST_TAILS: Final = 3
"""A way in which names go on has twice as many names at least."""


@dataclass
class Namings:
    """How often what is written, in squeezed form, stands for each value; and how properties write dates and numbers.

    ``values`` is by role ("s", or "o" with the property; empty: any) and what is written. ``rests``: by what values
    go on behind what is written, where the text says it elsewhere, as *Albany* is *Albany, Oregon* beside *Oregon*, by
    the marks around it; ``completed``: by role, how often values go on so where a text says it, or not. ``tails``: by
    role, how many names go on in each way that no text says, as *English* is *English language*; or do not ("").
    """

    values: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    forms: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    rests: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    completed: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    tails: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    @classmethod
    def learnt(cls, places: Sequence[tuple[str, str, str, str]]) -> Namings:
        """What places teach where examples' values stand: role, what is written, value, text."""
        found, ends = cls(), set[tuple[str, str, str]]()
        for role, written, value, text in places:
            if role.startswith("o") and _is_value(written):
                found.forms[_kind(role, written)][form_of(value, written)] += 1
                continue
            for name in (role, _ANY):
                found.values[f"{name}\t{squeezed(written)}"][value] += 1
            if rest := _rest(written, value, text):
                found.rests[rest[0]][rest[1]] += 1
            elif value.startswith(written):
                ends.add((role, written, value.removeprefix(written)))
        for role, _, tail in ends:
            found.tails[role][tail] += 1
        for role, written, value, text in places:
            full = [more for _, rest, more in found._rests() if rest in text and value.endswith(more)]
            if full or found._fitting(written, text):
                found.completed[role]["full" if full else "plain"] += 1
        return found

    def name(self, role: str, written: str, text: str) -> str:
        """The value that is written there."""
        forms = self.forms.get(_kind(role, written))
        if forms and _is_value(written):
            return formed(written, max(sorted(forms), key=lambda form: forms[form]))
        key = squeezed(written)
        known: Mapping[str, int] = next(filter(None, (self.values.get(f"{one}\t{key}") for one in (role, _ANY))), {})
        best = max(known, key=lambda value: (known[value] * (0.5 + _told(value, key, text)), value), default="")
        if best and _told(best, key, text) >= 0.5:
            return best
        told, tails = (table.get(role, Counter()) for table in (self.completed, self.tails))
        if told["full"] > told["plain"] + 1 and (fits := self._fitting(written, text)):
            *_, before, more = min(fits)
            within = f"(?:{re.escape(before)}{_WITHIN}){{0,2}}?"
            literally = re.search(re.escape(written) + within + re.escape(more), text)
            return literally[0] if literally else written + more
        tail, count = max(tails.items(), key=lambda item: (item[1], item[0]), default=("", 0))
        return best or (written + tail if 2 * count > max(_LEAST_TAILS, tails.total()) else written)

    def _rests(self) -> Iterator[tuple[int, str, str]]:
        """By what names go on: how often, and without and with the marks around it."""
        for marks, counts in self.rests.items():
            before, _, after = marks.partition("\t")
            yield from ((count, rest, f"{before}{rest}{after}") for rest, count in counts.items())

    def _fitting(self, written: str, text: str) -> list[tuple[int, int, str, str]]:
        """By what a name without such marks may go on that its sentences say: how far, how rare, mark and all."""
        said = _said_with(written, text)
        return [
            (abs(said.find(rest) - said.find(written)), -count, before, more)
            for count, rest, more in self._rests()
            if rest in said and written not in rest and (before := more[: more.index(rest)]).strip() not in written
        ]

    @classmethod
    def of(cls, kept: Mapping[str, Mapping[str, Mapping[str, int]]]) -> Namings:
        """What ``vars`` gives, read from JSON; raises AttributeError and TypeError where it is something else."""
        tables = ({key: Counter(counts) for key, counts in table.items()} for table in kept.values())
        return cls(**dict(zip(kept, tables, strict=True)))


_WITHIN: Final = r"[^\W\d_a-z][\w'’-]*(?: [^\W\d_a-z][\w'’-]*){0,3}"
_MORE: Final = re.compile(r"(\W+)(\w.*?)(\W*)", re.DOTALL)


def _rest(written: str, value: str, text: str) -> tuple[str, str] | None:
    """The marks around what a value goes on by behind what is written, and that; None if no text says it elsewhere."""
    is_name = value.startswith(written) and not _is_value(written)
    more = _MORE.fullmatch(value.removeprefix(written)) if is_name else None
    said = _said_with(written, text.replace(value, written))
    return (f"{more[1]}\t{more[3]}", more[2]) if more and more[2] in said else None


def _said_with(written: str, text: str) -> str:
    """The sentences of a text in which a name stands."""
    return " ".join(sentence for sentence in _sentences(text) if written in sentence)


@lru_cache(maxsize=8)  # the names of one text come one after the other
def _sentences(text: str) -> tuple[str, ...]:
    return tuple(text[start:end] for start, end in sentences(text))


def _is_value(written: str) -> bool:
    return day_of(written) is not None or number_of(written) is not None


def _kind(role: str, written: str) -> str:
    """The role, with how much of a date is written: a year may be completed in another form than a day."""
    day = day_of(written)
    return f"{role} {sum(part > 0 for part in day)}" if day else role


def _told(value: str, written: str, text: str) -> float:
    """Which share of the words that a value adds to what is written, in squeezed form, the text says; .5 of none."""
    added = [word for word in value.split() if squeezed(word) not in written] if squeezed(value) != written else []
    there = squeezed(text) if added else ""
    return sum(squeezed(word) in there for word in added) / len(added) if added else 0.5


# What was learnt

VERSION: Final = 4
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
            "namings": vars(self.namings),
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
            if some is reading.possible or key not in reading.labelled:
                some[key] = _named(reading, claim, namings)


def _named(reading: DocumentReading, claim: Claim, namings: Namings) -> Claim:
    role, said = "o" + claim.predicate.value, reading.text
    subject = _renamed(claim.subject, namings.name("s", claim.subject.name, said))
    if isinstance(claim.object, Mention):
        return replace(
            claim, subject=subject, object=_renamed(claim.object, namings.name(role, claim.object.name, said))
        )
    name = namings.name(role, claim.object.value, said)
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
