"""What answering needs to know of a graph, built in one go for one version of its store."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kgplatform.dataset import EvidenceDataset
from kgplatform.ontology import Ontology
from kgplatform.questions.briefing import Briefer
from kgplatform.questions.dialogue.frames import Frame
from kgplatform.questions.dialogue.scheme import Scheme
from kgplatform.questions.facts import read_facts
from kgplatform.questions.indexing import name_index
from kgplatform.questions.names import NameIndex
from kgplatform.questions.schema import SchemaView, schema_view
from kgplatform.questions.translate_builtin import BuiltinTranslator


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What answering needs to know of a graph; good for one version of the store."""

    schema: SchemaView
    names: NameIndex
    translator: BuiltinTranslator
    briefer: Briefer
    frames: tuple[Frame, ...] = ()


def knowledge(dataset: EvidenceDataset, ontology: Ontology, schemes: Iterable[Scheme] = ()) -> Knowledge:
    """The schema view, name index and translator of what is stated, from one pass over it, with the schemes bound."""
    with _no_collection():
        facts = read_facts(dataset, ontology)
        schema = schema_view(facts, ontology)
        names = name_index(facts, schema)
        frames = tuple(Frame(scheme, names) for scheme in schemes if schema.count(scheme.about))
        return Knowledge(schema, names, BuiltinTranslator(names), Briefer(dataset, names, ontology), frames)


@contextmanager
def _no_collection() -> Iterator[None]:
    """No cyclic garbage collection inside: half a million tuples are made here, all kept, none in a cycle."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()
