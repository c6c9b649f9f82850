"""Extraction without a model: names and statements by the ontology's own words, in English and Chinese.

The document is read as a whole, once, and each chunk gets what was said in it: a heading or title far above may
be what a sentence is about. Deterministic; what the same text says is the same on every machine.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.extraction.clauses import read_clauses
from kgplatform.extraction.facts import read_facts
from kgplatform.extraction.gazetteer import Gazetteer
from kgplatform.extraction.guessing import guess_classes
from kgplatform.extraction.keywords import keywords
from kgplatform.extraction.labelled import read_labelled
from kgplatform.extraction.learning.learnt import Learnt
from kgplatform.extraction.learning.reading import read_learnt
from kgplatform.extraction.lexicon import Lexicon, compile_lexicon
from kgplatform.extraction.names import NameFinder
from kgplatform.extraction.phrases import read_phrases
from kgplatform.extraction.reading import Reading, read_names, settle_main
from kgplatform.extraction.references import Referents
from kgplatform.extraction.relations import read_relations, type_strangers
from kgplatform.extraction.structure import flowing
from kgplatform.ontology import Ontology
from kgplatform.types import Chunk, Claim, Document, Extraction, Mention

Known = Mapping[str, NamedNode] | Callable[[], Mapping[str, NamedNode]]
"""Names of entities that are known already, each with its class; or what gives them when asked."""

_KEPT_READINGS: Final = 8
_ROUNDS: Final = 3  # a name that was given a class can give one to the name beside it; chains are short


class BuiltinExtractor:
    """Reads chunks with rules that take all their words from the ontology.

    ``known`` are the names of entities that the graph already has, with their classes. It is asked once for
    each document, so that names found in earlier documents help with later ones. ``learnt`` is what annotated
    examples taught; it reads beside the rules.
    """

    def __init__(
        self, ontology: Ontology | Lexicon, *, known: Known | None = None, learnt: Learnt | None = None
    ) -> None:
        """Reads by the words of the ontology, or by these as they were taken from it before."""
        self._lexicon = ontology if isinstance(ontology, Lexicon) else compile_lexicon(ontology)
        self._ontology = self._lexicon.ontology
        self._learnt = learnt
        self.method = "learnt" if learnt is not None else "built-in"
        self._known = known if known is not None else {}
        self._readings: OrderedDict[tuple[str, int], Reading] = OrderedDict()
        self._lock = threading.Lock()

    def extract(self, chunk: Chunk, document: Document) -> Extraction:
        """What the chunk says in the terms of the ontology; offsets are the document's."""
        reading = self._reading(document)
        claims = tuple(claim for claim in reading.claims.values() if chunk.start <= claim.start < chunk.end)
        mentions = dict.fromkeys(mention for mention in reading.mentions if chunk.start <= mention.start < chunk.end)
        for claim in claims:
            mentions.update(dict.fromkeys(_mentions_of(claim)))
        tokens = [token for token in reading.finder.names.tokens if chunk.start <= token.start < chunk.end]
        names = [mention.name for mention in mentions]
        return Extraction(
            chunk=chunk.iri,
            mentions=tuple(sorted(mentions, key=lambda mention: (mention.start, mention.end, mention.name))),
            claims=claims,
            refused=tuple(item for item, start in reading.refused.items() if chunk.start <= start < chunk.end),
            keywords=keywords(chunk.text, names, tokens),
            method=self.method,
        )

    def _reading(self, document: Document) -> Reading:
        key = (document.iri.value, hash(document.text))
        with self._lock:
            found = self._readings.get(key)
            if found is None:
                found = self._readings[key] = self._read(document)
                while len(self._readings) > _KEPT_READINGS:
                    self._readings.popitem(last=False)
            return found

    def _read(self, document: Document) -> Reading:
        text = flowing(document.text)
        reading = read_names(document, text, self._lexicon, NameFinder(text, self._lexicon, self._gazetteer()))
        guess_classes(reading)
        for _ in range(_ROUNDS):
            if not type_strangers(reading):
                break
        settle_main(reading)
        read_labelled(reading)
        referents = Referents(reading)
        read_relations(reading, referents)
        read_clauses(reading, referents)
        read_phrases(reading, referents)
        read_facts(reading, referents)
        if self._learnt is not None:
            read_learnt(reading, self._learnt, self._ontology)
        return reading

    def _gazetteer(self) -> Gazetteer:
        gazetteer = Gazetteer(self._lexicon.names)
        known = self._known() if callable(self._known) else self._known
        for name, type_ in known.items():
            if type_ in self._ontology.classes:
                gazetteer.add(name, type_)
        return gazetteer


def _mentions_of(claim: Claim) -> list[Mention]:
    return [claim.subject, claim.object] if isinstance(claim.object, Mention) else [claim.subject]
