"""What speaks for and against two names being of one thing: their classes, and the codes in them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from pyoxigraph import NamedNode

from kgplatform.linking.names import Name
from kgplatform.linking.wording import Words, row
from kgplatform.ontology import Ontology
from kgplatform.text import normalise


class Kinship:
    """Which classes a thing may have at once."""

    def __init__(self, ontology: Ontology) -> None:
        self._ontology = ontology
        inside = ontology.classes
        self._tops = {iri for iri in inside if not any(p in inside for p in inside[iri].parents)}

    def comparable(self, first: NamedNode, second: NamedNode) -> bool:
        """Whether one class is the other or above it."""
        above = self._ontology.superclasses
        return (first in above(second) or second in above(first)) and not self.disjoint(first, second)

    def related(self, first: NamedNode, second: NamedNode) -> bool:
        """Whether the classes are comparable, or share one below the topmost, and nothing keeps them apart."""
        if self.comparable(first, second):
            return True
        shared = self._ontology.superclasses(first) & self._ontology.superclasses(second)
        below_top = {iri for iri in shared if iri in self._ontology.classes and iri not in self._tops}
        return bool(below_top) and not self.disjoint(first, second)

    def disjoint(self, first: NamedNode, second: NamedNode) -> bool:
        """Whether nothing can be of both classes."""
        return self._ontology.disjoint(first, second)


class Codes:
    """The codes in names: values of a property that is the key of the class and has a pattern."""

    def __init__(self, ontology: Ontology) -> None:
        self._ontology = ontology
        self._patterns: dict[NamedNode, tuple[re.Pattern[str], ...]] = {}

    def own(self, name: Name) -> frozenset[str]:
        """The codes in the name itself."""
        texts = list(name.forms) or [name.text.upper()]
        return frozenset(code for text in texts for code in self._found(text, name.type))

    def given(self, name: Name) -> frozenset[str]:
        """The codes in the name itself, else the one that it is also called by."""
        own = self.own(name)
        other = frozenset(code for text in name.aliases for code in self._found(text, name.type))
        return own or (other if len(other) == 1 else frozenset())

    def without(self, name: Name) -> Words:
        """The words of the name without its codes."""
        codes = {word for code in self.own(name) for word in row(normalise(code))}
        return tuple(word for word in row(name.text) if word not in codes)

    def _found(self, text: str, type_: NamedNode) -> Iterator[str]:
        patterns = self._of_class(type_)
        plain = unicodedata.normalize("NFKC", text).strip() if patterns else ""
        for pattern in patterns:
            for match in pattern.finditer(plain):
                code = match.group()
                # two or three capitals inside a name are rarely a code
                if code == plain or re.search(r"[\d-]", code):
                    yield code

    def _of_class(self, type_: NamedNode) -> tuple[re.Pattern[str], ...]:
        if type_ not in self._patterns:
            above = [self._ontology.classes.get(iri) for iri in self._ontology.superclasses(type_)]
            keys = sorted({key for term in above if term for key in term.key}, key=str)
            forms = [self._ontology.properties[key].pattern for key in keys if key in self._ontology.properties]
            self._patterns[type_] = tuple(re.compile(f"(?<![^\\W_])(?:{form})(?![^\\W_])") for form in forms if form)
        return self._patterns[type_]
