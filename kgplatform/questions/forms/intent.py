"""What a question is after, told from its whole wording: which properties and classes, and which operations.

The carried sentence model with low-rank adapters (Hu et al. 2021, LoRA) in its upper layers maps a question, its names
replaced by their classes, and the description of each property and class to vectors; their cosine says how likely the
property is in the query, the cosine with the question's vector turned a little how likely it is what is asked for, and
a linear head how likely each operation is. All of it is learnt on the questions of many schemas and graphs
(``python -m benchmarks.train_questions``).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import Literal, NamedNode

from kgplatform.models.embed import CARRIED_SHA256, MiniLM, carried_path
from kgplatform.ontology.schema import Word
from kgplatform.questions.forms.fact_graph import FactGraph
from kgplatform.questions.forms.question_language import glossed, in_english
from kgplatform.questions.forms.question_text import Read
from kgplatform.questions.forms.relevance import KeptVectors

Floats: TypeAlias = NDArray[np.float32]

OPERATIONS = (
    "count", "most", "least", "negation", "ask", "group", "avg", "sum", "compare", "columns", "none", "listed",
    "second", "third",
)  # fmt: skip
"""What the head tells, in the order of its rows; ``none``: that the graph has no answer; ``second``, ``third``: that
the query has so many properties or more."""

WEIGHTS = Path(__file__).parent / "intent.safetensors"

_SURE_NAME = 0.75
_LONGEST_COMMENT = 120
_FEW_VALUES, _SHOWN_VALUES, _LONGEST_VALUE = 30, 6, 25


@dataclass(frozen=True)
class Intent:
    """How likely each property and class is in the query of a question, and each operation; 0..1."""

    terms: Mapping[NamedNode, float] = field(default_factory=dict)
    operations: Mapping[str, float] = field(default_factory=dict)
    asked: Mapping[NamedNode, float] = field(default_factory=dict)
    """How likely each is what is asked for: the property whose values are given, or the class of the things."""


NO_INTENT = Intent()


class IntentModel:
    """The sentence model with its adapters, and the head."""

    def __init__(self, path: Path = WEIGHTS) -> None:
        """Reads the model that is carried along and what was learnt on top of it; ``identity`` tells it from others.

        Raises:
            OSError, ValueError, KeyError, ImportError: one of the two is not there or damaged.
        """
        from safetensors.numpy import load

        learnt = path.read_bytes()
        found = load(learnt)
        self.identity = f"{CARRIED_SHA256} {hashlib.blake2b(learnt, digest_size=16).hexdigest()}"
        adapters = {name: values for name, values in found.items() if name.startswith("encoder.")}
        self._model = MiniLM(carried_path(), adapters=adapters)
        self._head, self._shift = found["head.weight"].astype(np.float32), found["head.bias"].astype(np.float32)
        self._turn = found["asked.up"].astype(np.float32) @ found["asked.down"].astype(np.float32)
        self._lines = [(float(found[f"{of}scale"][0]), float(found[f"{of}bias"][0])) for of in ("", "asked.")]

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""
        return int(self._head.shape[1])

    def vectors(self, texts: Sequence[str]) -> Floats:
        """The means of the texts' token vectors, one row each."""
        return self._model.embed([text or "?" for text in texts])

    def intent(self, question: str, terms: Sequence[NamedNode], vectors: Floats) -> Intent:
        """What a question is after, among terms whose vectors are of unit length."""
        own = self.vectors([question])[0]
        said = _sigmoid(self._head @ own + self._shift)
        used, asked = (
            _sigmoid(scale * (vectors @ (turned / np.linalg.norm(turned))) + bias).tolist() if len(terms) else []
            for turned, (scale, bias) in zip((own, own + self._turn @ own), self._lines, strict=True)
        )
        operations = dict(zip(OPERATIONS, said.tolist(), strict=True))
        return Intent(dict(zip(terms, used, strict=True)), operations, dict(zip(terms, asked, strict=True)))


def _sigmoid(values: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-values)), dtype=np.float32)


@cache
def shipped_model() -> IntentModel | None:
    """The model that comes with the package; None where the sentence model cannot be read."""
    try:
        return IntentModel()
    except (OSError, ValueError, KeyError, ImportError):
        return None


class IntentReader:
    """Tells what questions on one graph are after."""

    def __init__(self, graph: FactGraph, model: IntentModel | None, kept: Path | None = None) -> None:
        """Describes every property and class that the data uses, once; ``kept`` is the file that keeps the vectors."""
        self._graph, self._model = graph, model
        self.terms = terms_of(graph)
        if model is not None and self.terms:
            told = [_untranslated(graph, term) for term in self.terms]
            terms = dict(zip(told, self.terms, strict=True))
            found = KeptVectors(kept, model.identity, model.dimensions).of(
                told, lambda new: model.vectors([description(graph, terms[text]) for text in new])
            )
            self._vectors = np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True), dtype=np.float32)

    def intent(self, read: Read) -> Intent:
        """What a question is after; nothing where there is no model."""
        if self._model is None or not self.terms:
            return NO_INTENT
        return self._model.intent(unnamed(read, self._graph), self.terms, self._vectors)


def terms_of(graph: FactGraph) -> list[NamedNode]:
    """The properties and classes that the data uses."""
    schema = graph.schema
    return [*(p for p in graph.forward if p in schema.properties), *(c for c in graph.classes if c in schema.classes)]


def description(graph: FactGraph, term: NamedNode) -> str:
    """A property or class in English: its names, what it is of and leads to, the beginning of its comment."""
    schema = graph.schema
    property_ = schema.properties.get(term)
    found = property_ or schema.classes[term]
    of = [in_english(schema.label(class_, "en")) for class_ in schema.domains(term)[:2]] if property_ else []
    to = ", ".join(in_english(word) for word in _leads_to(graph, term))
    return described(found.words, found.comments, of=of, to=to)


def _leads_to(graph: FactGraph, term: NamedNode) -> list[str]:
    """The class that a property leads to; of one that leads to values the commonest, or what they are if many."""
    schema = graph.schema
    property_ = schema.properties.get(term)
    if property_ is None or property_.is_object:
        return [schema.label(class_, "en") for class_ in (schema.ranges(term)[:1] if property_ else ())]
    held = graph.backward[term]
    values = sorted((graph.terms[item] for item in held), key=lambda v: (-len(held[graph.number_of[v]]), str(v)))
    texts = [v.value for v in values if isinstance(v, Literal) and len(v.value) <= _LONGEST_VALUE][:_SHOWN_VALUES]
    if texts and len(values) <= _FEW_VALUES and term not in graph.ordered and term not in graph.truths:
        return texts
    return [v.datatype.value.rpartition("#")[2] for v in values[:1] if isinstance(v, Literal)]


def _untranslated(graph: FactGraph, term: NamedNode) -> str:
    """All that the description of a term depends on; telling it takes no dictionary."""
    schema = graph.schema
    property_ = schema.properties.get(term)
    found = property_ or schema.classes[term]
    of = [schema.label(class_, "en") for class_ in schema.domains(term)[:2]] if property_ is not None else ()
    return repr((property_ is not None, found.words, found.comments, of, _leads_to(graph, term)))


def described(names: Sequence[Word], comments: Sequence[Word], *, of: Sequence[str], to: str) -> str:
    """The words by which the model knows a property or class; ``of`` and ``to`` are what it is of and leads to."""
    text = ", ".join(_in_english(names)[:4])
    text += f" of {' or '.join(of)}" if of else ""
    text += f" : {to}" if to else ""
    told = _in_english(comments)
    return f"{text}. {told[0][:_LONGEST_COMMENT]}" if told else text


def _in_english(words: Sequence[Word]) -> list[str]:
    """Those in English, each once, or all by their glosses where none is."""
    texts = [word.text for word in words if glossed(word.text, word.language) is None]
    return list(dict.fromkeys(texts or (in_english(word.text, word.language) for word in words)))


def unnamed(read: Read, graph: FactGraph) -> str:
    """The question in English with the class of each thing that it names in the place of the name."""
    text = read.text
    for start, end, classes in _named_places(read, graph):
        narrow = min(classes, key=lambda class_: (len(graph.classes[class_]), str(class_)))
        text = f"{text[:start]} {graph.schema.label(narrow, 'en')} {text[end:]}"
    return in_english(re.sub(r"\s+", " ", text).strip(), read.language)


def worded_in_english(read: Read, graph: FactGraph) -> str:
    """The question word by word in English, its names as they are; for readers that know its language no better."""
    text, rest = "", len(read.text)
    for start, end, _ in _named_places(read, graph, exact=True):
        text = f"{read.text[start:end]} {in_english(read.text[end:rest], read.language)} {text}"
        rest = start
    return re.sub(r"\s+", " ", f"{in_english(read.text[:rest], read.language)} {text}").strip()


def _named_places(read: Read, graph: FactGraph, *, exact: bool = False) -> list[tuple[int, int, set[NamedNode]]]:
    """Where a question surely names things, the last first, with the classes of these."""
    places, taken = [], 0
    for anchor in sorted(read.anchors, key=lambda a: -a.score * a.mask.bit_count()):
        if anchor.score < _SURE_NAME or anchor.mask & taken or exact > anchor.exact:
            continue
        classes = {class_ for item in anchor.items for class_ in graph.kinds_of.get(item, ())}
        if classes:
            tokens = [token for i, token in enumerate(read.tokens) if anchor.mask >> i & 1]
            places.append((tokens[0].start, tokens[-1].end, classes))
            taken |= anchor.mask
    return sorted(places, key=lambda place: -place[0])
