"""What a model is told for one question: the schema, what the names in it stand for, and what was tried already.

Every candidate of a name is listed with its class, how it is written, and what is stated around it, so that the
direction of a relation and the form of a value are seen and not guessed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, islice

from pyoxigraph import Literal, NamedNode

from kgplatform.dataset import EvidenceDataset
from kgplatform.ontology import Ontology, Word, label_of
from kgplatform.protocols import Embedder
from kgplatform.questions.abbreviating import Prefixes
from kgplatform.questions.names import Name, NameIndex
from kgplatform.questions.relevance import TermIndex
from kgplatform.questions.schema_text import SchemaText
from kgplatform.questions.tokens import tokens_of
from kgplatform.questions.usage import usage
from kgplatform.questions.wording import HAN_FUNCTION
from kgplatform.store import DEFAULT_GRAPH
from kgplatform.text import has_han, normalise
from kgplatform.types import Linked
from kgplatform.vocab import COMMENT, LABEL, TYPE

_CANDIDATES = 5
_AROUND = 10
_LOOKED_AT = 200
_CARDS = 6
_CERTAIN, _INSIDE, _NEAR = 0.95, 4, 0.6
_HAN_RUN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]{2,}")
_UNKNOWN = re.compile(r"[“\"'「『《]([^“”\"'」』》]{2,60})[”\"'」』》]|\b([A-Z][\w'’-]*(?:\s+[A-Z][\w'’-]*)*)")


@dataclass(frozen=True, slots=True)
class Brief:
    """The parts of a prompt that depend on the question: the schema, and a line for each candidate of a name."""

    schema: str
    names: tuple[str, ...]
    prefixes: Prefixes


class Briefer:
    """Briefs a model about questions over one version of a graph."""

    def __init__(self, dataset: EvidenceDataset, names: NameIndex, ontology: Ontology) -> None:
        self._dataset = dataset
        self._names = names
        self._ontology = ontology
        self._index: tuple[object, TermIndex] | None = None

    @cached_property
    def schema_text(self) -> SchemaText:
        """The schema with all its detail, made when a model first needs it."""
        names = self._names
        return SchemaText(
            names.schema,
            names.facts,
            self._ontology,
            usage(names.facts, names.schema),
            known=self._dataset.store.prefixes,
            about=self._about(),
            named_by=self._named_by,
        )

    def _about(self) -> str:
        """What the ontologies say of themselves, where conventions may be found."""
        found = []
        for iri in self._ontology.iris:
            quads = islice(self._dataset.store.quads(NamedNode(iri), COMMENT), 20)
            comments = [Word(q.object.value, q.object.language or "") for q in quads if isinstance(q.object, Literal)]
            if comments:
                found.append(" ".join(label_of(comments, "en", "").split())[:400])
        return " ".join(dict.fromkeys(found))

    def _named_by(self, node: NamedNode, literal: Literal) -> NamedNode:
        """The property that gives a thing a name, the label if that is one of several."""
        found = {quad.predicate for quad in self._dataset.store.quads(node, None, literal)}
        return LABEL if LABEL in found or not found else min(found, key=lambda p: p.value)

    def brief(
        self,
        question: str,
        linked: Sequence[Linked],
        *,
        style: str = "rules",
        view: str = "auto",
        language: str = "en",
        budget_tokens: int = 6000,
        embedder: Callable[[], Embedder | None] = lambda: None,
    ) -> Brief:
        """What is to be told about a question; ``linked`` are its names as far as they are known."""
        text = self.schema_text
        schema = text.text(
            style=style,
            language=language,
            budget_tokens=budget_tokens,
            relevance=lambda: self._terms(embedder).relevance(question, linked, self._names.types),
            view=view,
        )
        return Brief(schema, (*self._candidates(linked), *self._unknown(question, linked)), text.prefixes)

    def _terms(self, embedder: Callable[[], Embedder | None]) -> TermIndex:
        model = embedder()
        if self._index is None or self._index[0] is not model:
            self._index = (model, TermIndex(self._names.schema, lambda: model))
        return self._index[1]

    # names

    def _candidates(self, linked: Sequence[Linked]) -> list[str]:
        lines: list[str] = []
        cards = 0
        told: set[str] = set()
        for (text, _), found in groupby(linked, key=lambda item: (item.text, item.start)):
            if text.casefold() in told:
                continue
            told.add(text.casefold())
            listed = list(found)[:_CANDIDATES]
            described = []
            for item in listed:
                described.append(self._described(item, with_card=cards < _CARDS))
                cards += item.kind == "entity"
            more = self._namesakes(listed)
            ending = f"; and {more:,} more things are called so: match them by the label" if more else ""
            if len(described) == 1:
                lines.append(f'"{text}": {described[0]}{ending}')
            else:
                lines.append(f'"{text}" is one of:{ending}')
                lines += [f"  {entry}" for entry in described]
            lines += self._inside(text, {item.iri for item in listed})
        return lines

    def _inside(self, text: str, known: set[NamedNode]) -> list[str]:
        """The things that parts of a longer name stand for: "sensor switch" may be both a sensor and a switch."""
        found = []
        for span in self._names.things(tokens_of(text), text):
            best = span.names[0]
            if span.last - span.first < 2 and has_han(text):
                continue  # a single character is a word of another
            if best.kind != "entity" or best.score < _CERTAIN or not isinstance(best.term, NamedNode):
                continue
            if best.term not in known:
                known.add(best.term)
                classes = ", ".join(map(self.schema_text.prefixes.short, self._names.types(best.term))) or "thing"
                found.append(f'  in it, "{self._names.label(best.term)}": {classes} {best.term}')
        return found[:_INSIDE]

    def _namesakes(self, listed: Sequence[Linked]) -> int:
        """How many things have the same name besides those listed."""
        first = listed[0]
        if first.kind != "entity":
            return 0
        same = {name.term for name in self._names.exact.get(normalise(first.text), ()) if name.kind == "entity"}
        return max(0, len(same - {item.iri for item in listed}))

    def _described(self, item: Linked, *, with_card: bool) -> str:
        short = self.schema_text.prefixes.short
        if item.kind in ("class", "property"):
            return f"{item.kind} {short(item.iri)} (score {item.score})"
        if item.kind == "value":
            return self._value(item)
        classes = ", ".join(map(short, self._names.types(item.iri))) or "thing"
        names = ", ".join(str(label) for label in self._names.facts.labels.get(item.iri, ())[:4])
        card = self._card(item.iri) if with_card else ""
        said = f"{classes} {item.iri} named {names}" if names else f"{classes} {item.iri}"
        return f"{said} (score {item.score})" + (f"; {card}" if card else "")

    def _value(self, item: Linked) -> str:
        """A literal value: of which property, on which classes, and exactly how it is written."""
        prefixes = self.schema_text.prefixes
        key = normalise(item.label)
        terms = [
            name.term
            for name in self._names.exact.get(key, ())
            if name.predicate == item.iri and isinstance(name.term, Literal) and name.term.value == item.label
        ]
        written = ", ".join(prefixes.written(term, most=80) for term in terms) or str(Literal(item.label))
        owners = ", ".join(map(prefixes.short, self._owners(item.iri, terms)[:3])) or "things"
        return f"value {written} of {prefixes.short(item.iri)} on {owners} (score {item.score})"

    def _owners(self, predicate: NamedNode, terms: Iterable[Literal]) -> list[NamedNode]:
        return sorted(
            self._names.holders(predicate, terms), key=lambda iri: (-self._names.schema.count(iri), iri.value)
        )

    def _card(self, iri: NamedNode) -> str:
        """What is stated around a thing, each relation once, with its direction."""
        short, store = self.schema_text.prefixes.short, self._dataset.store
        out: dict[NamedNode, list[object]] = {}
        for quad in islice(store.quads(iri, graph=DEFAULT_GRAPH), _LOOKED_AT):
            if quad.predicate in self._names.schema.properties:
                out.setdefault(quad.predicate, []).append(quad.object)
        into: Counter[tuple[NamedNode, str]] = Counter()
        for quad in islice(store.quads(object_=iri, graph=DEFAULT_GRAPH), _LOOKED_AT):
            if quad.predicate in self._names.schema.properties and quad.predicate != TYPE:
                kinds = ", ".join(map(short, self._names.types(quad.subject)[:1])) or "thing"
                into[quad.predicate, kinds] += 1
        said = [f"-[{short(p)}]-> {self._shown(values)}" for p, values in sorted(out.items(), key=_by_iri)[:_AROUND]]
        more = " or more" if into.total() >= _LOOKED_AT else ""
        said += [f"<-[{short(p)}]- {count}{more} {kind}" for (p, kind), count in into.most_common(_AROUND)]
        return "; ".join(said)

    def _shown(self, values: Sequence[object]) -> str:
        first = values[0]
        if isinstance(first, Literal):
            shown = self.schema_text.prefixes.written(first, most=40)
        else:
            shown = f'"{self._names.label(first)}"'
        return shown if len(values) == 1 else f"{shown} and {len(values) - 1} more"

    def _unknown(self, question: str, linked: Sequence[Linked]) -> list[str]:
        """Names of the question that nothing has, with the nearest that there are."""
        lines = []
        for name in unlinked_names(question, linked):
            near = [self._near(item) for item in self._names.near(name, 3)[:_CANDIDATES] if item.score >= _NEAR]
            if near:
                lines.append(f'"{name}" is the name of nothing; nearest: {"; ".join(near)}')
        return lines[:_CANDIDATES]

    def _near(self, name: Name) -> str:
        short = self.schema_text.prefixes.short
        if isinstance(name.term, Literal):
            of = f" of {short(name.predicate)}" if name.predicate else ""
            return f"{self.schema_text.prefixes.written(name.term)}{of}"
        classes = ", ".join(map(short, self._names.types(name.term)[:1]))
        return f'{name.term} "{self._names.label(name.term)}" {classes}'.strip()


def _by_iri(item: tuple[NamedNode, list[object]]) -> str:
    return item[0].value


def unlinked_names(question: str, linked: Sequence[Linked]) -> list[str]:
    """What looks like a name and is linked to nothing: quoted or capitalised words, Chinese between what is linked."""
    taken = {place for item in linked for place in range(item.start, item.end)}
    found = []
    for match in _UNKNOWN.finditer(question):
        group = 1 if match[1] else 2
        start, end = match.span(group)
        if start > 0 and start not in taken and end - 1 not in taken:
            found.append(match[group])
    if has_han(question):
        free = "".join(" " if place in taken else character for place, character in enumerate(question))
        for function in sorted(HAN_FUNCTION, key=len, reverse=True):
            free = free.replace(function, " ") if len(function) > 1 else free
        found += [run for run in _HAN_RUN.findall(free) if len(run) > 2]
    return list(dict.fromkeys(found))
