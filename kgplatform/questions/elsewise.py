"""What things of a graph are called that no label says: shortened, or in the letters of another language."""

from __future__ import annotations

from typing import Final

from pyoxigraph import NamedNode

from kgplatform.questions.facts import GraphFacts
from kgplatform.questions.schema import SchemaView
from kgplatform.questions.shortening import ShortNames
from kgplatform.questions.transliterating import Romanised

_SHORTENED: Final = 0.9


class Elsewise:
    """Finds things by what their labels can be turned into; the tables are made when first looked at."""

    def __init__(self, facts: GraphFacts, schema: SchemaView) -> None:
        self._short = ShortNames(facts, schema)
        self._romanised = Romanised(facts, schema)

    def named(self, phrase: str, key: str) -> list[tuple[NamedNode, float]]:
        """The things that a phrase, whose normalised form is ``key``, may name, with how surely (0..1)."""
        if key.isascii():
            return self._romanised.named(phrase)
        return [(iri, _SHORTENED) for iri in self._short.named(key)]
