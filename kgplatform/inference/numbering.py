"""Terms as numbers, so that many statements can be compared and joined without looking at a single IRI."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import NamedNode

Pairs: TypeAlias = tuple[NDArray[np.int32], NDArray[np.int32]]
"""The subjects and the objects of as many statements."""


class Numbering:
    """A number for each term that was met, written as in N-Triples.

    Of what may be the subject of a conclusion, the number is positive; of literals and of the ontology's own terms,
    negative. So a join needs no look at the terms to know what is admitted.
    """

    def __init__(self, terms: Iterable[NamedNode]) -> None:
        """``terms`` are those of the ontology."""
        self._terms = frozenset(str(term).encode() for term in terms)
        self._numbers: dict[bytes, int] = {}
        self._texts: list[bytes] = [b""]

    def number(self, text: bytes) -> int:
        """The number of a term."""
        known = self._numbers.get(text)
        if known is not None:
            return known
        new = len(self._texts)
        if text[:1] != b"<" or text in self._terms:
            new = -new
        self._texts.append(text)
        self._numbers[text] = new
        return new

    def text(self, number: int) -> bytes:
        """The term of that number, as in N-Triples."""
        return self._texts[abs(number)]

    def pairs(self, triples: bytes) -> Pairs:
        """The subjects and objects of the triples, which are N-Triples text."""
        parts = [line.split(b" ", 2) for line in io.BytesIO(triples)]
        return _numbers(self.number(part[0]) for part in parts), _numbers(self.number(part[2][:-3]) for part in parts)

    def premises(self, triples: bytes, *, within: bytes = b"") -> Pairs:
        """Those of the triples that may be concluded from, as `Admission` says.

        Left out are those with a blank node or a triple as a part, and those about a term of the ontology; with
        ``within`` also those that relate a thing to itself, or to one whose IRI does not begin so.
        """
        subjects: list[int] = []
        objects: list[int] = []
        number = self.number
        for line in io.BytesIO(triples):
            subject, _, rest = line.split(b" ", 2)
            object_ = rest[:-3]  # less " .\n"
            if subject[:1] != b"<" or object_[:2] in (b"_:", b"<<"):
                continue
            if within and (subject == object_ or not (subject.startswith(within) and object_.startswith(within))):
                continue
            one = number(subject)
            if one > 0:
                subjects.append(one)
                objects.append(number(object_))
        return _numbers(subjects), _numbers(objects)


def _numbers(values: Iterable[int]) -> NDArray[np.int32]:
    return np.fromiter(values, dtype=np.int32)
