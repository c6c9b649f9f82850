"""Annotated examples, read from a JSON Lines file: a text and the triples it says.

A line is an object with ``text`` and ``triples``, a list of ``[subject, property, object]``. The property is an IRI,
a local name or a label of the ontology. Optional ``types`` gives the classes of subject and object of each triple.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pyoxigraph import NamedNode

from kgplatform.json_lines import read_json_lines
from kgplatform.ontology import Ontology
from kgplatform.vocab import local_name

MAX_CHARACTERS = 4_000
"""Longer texts are no examples: what is said where could not be told."""


@dataclass(frozen=True, slots=True)
class Said:
    """A triple of an example; the classes of subject and object where the example gives them."""

    subject: str
    predicate: NamedNode
    object: str
    subject_class: NamedNode | None = None
    object_class: NamedNode | None = None


@dataclass(frozen=True, slots=True)
class Example:
    """A text with what it says in terms of the ontology; ``unsaid`` are the names in the ``left_out`` others."""

    text: str
    said: tuple[Said, ...]
    line: int = 0
    unsaid: tuple[str, ...] = ()
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class ExampleSet:
    """The examples of a file that can be used, and a sentence for each line that cannot."""

    examples: tuple[Example, ...]
    problems: tuple[str, ...] = ()


class Names:
    """The terms of an ontology by IRI, local name and label, whatever the case, blanks and underscores."""

    def __init__(self, ontology: Ontology) -> None:
        self._properties = _by_name({item.iri: [w.text for w in item.words] for item in ontology.domain_properties})
        self._classes = _by_name({item.iri: [w.text for w in item.words] for item in ontology.domain_classes})

    def property(self, name: str) -> NamedNode | None:
        """The property of that IRI, local name or label; None where there is none."""
        return self._properties.get(name) or self._properties.get(_plain(name))

    def class_(self, name: object) -> NamedNode | None:
        """The class of that IRI, local name or label; None where there is none."""
        if not isinstance(name, str):
            return None
        return self._classes.get(name) or self._classes.get(_plain(name))


def _by_name(terms: Mapping[NamedNode, list[str]]) -> dict[str, NamedNode]:
    found: dict[str, NamedNode] = {}
    for rank in range(3):  # IRIs before local names before labels
        for iri in sorted(terms, key=lambda item: item.value):
            names = ([iri.value], [_plain(local_name(iri.value))], [_plain(word) for word in terms[iri]])[rank]
            for name in names:
                found.setdefault(name, iri)
    return found


def _plain(name: str) -> str:
    return "".join(name.replace("_", " ").split()).casefold()


def read_examples(path: Path, ontology: Ontology) -> ExampleSet:
    """The examples of a file whose triples the ontology can say.

    Raises:
        ReadError: the file cannot be read, or none of its lines can be used; the message says why of the first.
    """
    names = Names(ontology)
    found, problems = read_json_lines(path, lambda line, number: _example(line, number, names), what="example")
    return ExampleSet(tuple(found), tuple(problems))


def _example(line: str, number: int, names: Names) -> Example:
    try:
        item = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise ValueError(f"is not JSON: {getattr(error, 'msg', 'too deep')}") from error
    if not isinstance(item, dict):
        raise ValueError("is not an object")
    text, triples = item.get("text"), item.get("triples")
    if not isinstance(text, str) or not text.strip():
        raise ValueError("has no text")
    if len(text) > MAX_CHARACTERS:
        raise ValueError(f"its text is longer than {MAX_CHARACTERS:,} characters")
    if not isinstance(triples, list):
        raise ValueError("has no list of triples")
    types = item.get("types")
    classes = types if isinstance(types, list) and len(types) == len(triples) else [None] * len(triples)
    unknown: list[str] = []
    unsaid: list[str] = []
    said: dict[tuple[str, NamedNode, str], Said] = {}
    for triple, kinds in zip(triples, classes, strict=True):
        one = _said(triple, kinds, names)
        if isinstance(one, str):
            unknown.append(one)
            unsaid.extend((str(triple[0]), str(triple[2])))
        else:
            said.setdefault((one.subject, one.predicate, one.object), one)
    if triples and not said:
        raise ValueError(f"the ontology has no property {unknown[0]!r}")
    return Example(text, tuple(said.values()), number, tuple(dict.fromkeys(unsaid)), len(unknown))


def _said(triple: object, kinds: object, names: Names) -> Said | str:
    """The triple in terms of the ontology; the name of its property where the ontology has none."""
    if not isinstance(triple, list) or len(triple) != 3:
        raise ValueError("holds a triple that is not [subject, property, object]")
    subject, predicate, object_ = (str(part).strip() if isinstance(part, str | int | float) else "" for part in triple)
    if not subject or not predicate or not object_:
        raise ValueError("holds a triple with an empty part")
    iri = names.property(predicate)
    if iri is None:
        return predicate
    first, last = (kinds[0], kinds[-1]) if isinstance(kinds, list) and len(kinds) >= 2 else (None, None)
    return Said(subject, iri, object_, names.class_(first), names.class_(last))
