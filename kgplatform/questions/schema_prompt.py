"""What a model sees of a schema within a budget: prefixes, relevant terms, and solved questions like the new one."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pyoxigraph import Literal, NamedNode

from kgplatform.ontology.schema import Ontology, Word, label_of
from kgplatform.questions.parser.vocabulary import stem
from kgplatform.questions.usage import (
    THING,
    ClassUse,
    GraphFacts,
    PropertyUse,
    SchemaClass,
    SchemaProperty,
    SchemaUsage,
    SchemaView,
    declared,
    named,
    names_things,
)
from kgplatform.text import count_tokens, language_of, words
from kgplatform.types import Embedder, Linked, Term
from kgplatform.vocab import LABEL, RDF, RDFS, SKOS, XSD, local_name, words_of_iri

# Prefixes for a prompt: short names for the namespaces of a schema, declared in a query that uses them.

_LOCAL = re.compile(r"[A-Za-z_][\w-]*\Z")
_ALPHABETIC = re.compile(r"[a-z][a-z0-9]{1,15}")
_DULL = frozenset(("http", "https", "www", "org", "com", "net", "ontology", "vocab", "schema", "example", "id", "w3id"))
_WRITTEN = re.compile(r"<([^<>\s\"{}|^`\\]+:[^<>\s\"{}|^`\\]*)>")
_DECLARED = re.compile(r"^\s*PREFIX\s+([\w-]*):\s*<([^<>]*)>\s*", re.IGNORECASE | re.MULTILINE)
_BARE = frozenset(f"{XSD}{name}" for name in ("integer", "decimal", "double", "boolean"))
_STANDARD = {"rdf": RDF, "rdfs": RDFS, "xsd": XSD, "skos": SKOS}


@dataclass(frozen=True, slots=True)
class Prefixes:
    """Namespaces by prefix, as a prompt declares them."""

    namespaces: Mapping[str, str]

    def short(self, iri: NamedNode) -> str:
        """The IRI with its prefix, or in angle brackets where it has none."""
        for prefix, namespace in self.namespaces.items():
            if iri.value.startswith(namespace) and _LOCAL.match(iri.value[len(namespace) :]):
                return f"{prefix}:{iri.value[len(namespace) :]}"
        return str(iri)

    def written(self, term: Term, *, most: int = 60) -> str:
        """A term as a query may write it; a literal that is too long is cut, which dots after the quotes show."""
        if isinstance(term, NamedNode):
            return self.short(term)
        if not isinstance(term, Literal):
            return str(term)
        if term.datatype.value in _BARE:
            return term.value
        cut = len(term.value) > most
        shown = str(Literal(term.value[:most] if cut else term.value))
        if term.language:
            shown += f"@{term.language}"
        elif term.datatype.value != f"{XSD}string":
            shown += f"^^{self.short(term.datatype)}"
        return shown + ("…" if cut else "")

    def lines(self) -> list[str]:
        """The declarations, less those that whoever reads SPARQL knows."""
        own = [item for item in self.namespaces.items() if item[0] not in _STANDARD]
        return [f"PREFIX {prefix}: <{namespace}>" for prefix, namespace in own]

    def shortened(self, query: str) -> str:
        """A query with these prefixes, undeclared, for IRIs written out; to be shown, not to be run as it stands."""
        bare = _DECLARED.sub(lambda m: "" if self.namespaces.get(m[1]) == m[2] else m[0], query)
        return _WRITTEN.sub(lambda match: self.short(NamedNode(match[1])), bare)


def prefixes_for(terms: Iterable[NamedNode], known: Mapping[str, str]) -> Prefixes:
    """Prefixes for the namespaces of the terms: those known already by their names, others by a word of their own."""
    used: Counter[str] = Counter(namespace_of(term.value) for term in terms)
    by_namespace = {namespace: prefix for prefix, namespace in known.items() if prefix}
    found: dict[str, str] = dict(_STANDARD)
    for namespace, _ in used.most_common():
        if not namespace or namespace in found.values():
            continue
        prefix = by_namespace.get(namespace) or _prefix(namespace)
        number = 2
        base = prefix
        while prefix in found:
            prefix, number = f"{base}{number}", number + 1
        found[prefix] = namespace
    return Prefixes(found)


def namespace_of(iri: str) -> str:
    """The IRI up to its last ``#`` or ``/``."""
    cut = max(iri.rfind("#"), iri.rfind("/"))
    return iri[: cut + 1]


def _prefix(namespace: str) -> str:
    parts = [word for word in _ALPHABETIC.findall(namespace.casefold()) if word not in _DULL]
    return parts[-1] if parts else "ns"


# How much each class and property has to do with a question: by its words, by what was linked, and by its meaning.

_LINKED = 1.0
_WORD = 0.8
_MEANING = 0.6
_NEIGHBOUR = 0.35
_ALIKE = 0.25


def knows(embedder: Embedder, language: str) -> bool:
    """Whether an embedder was trained on a language; one that does not say is taken to know all."""
    languages = frozenset(getattr(embedder, "languages", None) or ())
    return not languages or language in languages


Relevance: TypeAlias = Mapping[NamedNode, float]
"""How much classes and properties have to do with one question; 0 where they are missing: nothing speaks for them."""


class TermVectors:
    """The words of a schema's terms, and their vectors where there is an embedder that knows the language."""

    def __init__(self, schema: SchemaView, embedder: Callable[[], Embedder | None] = lambda: None) -> None:
        self._schema = schema
        self._embedder = embedder

    def relevance(
        self,
        question: str,
        linked: Iterable[Linked],
        types_of: Callable[[NamedNode], Sequence[NamedNode]],
        *,
        by_meaning: bool = True,
    ) -> Relevance:
        """How much each term has to do with the question."""
        scores: dict[NamedNode, float] = defaultdict(float)
        for item in linked:
            for iri in (item.iri, *types_of(item.iri)):
                scores[iri] = max(scores[iri], _LINKED * item.score)
        for iri, score in self._by_words(question).items():
            scores[iri] += _WORD * score
        if by_meaning:
            for iri, score in self._by_meaning(question).items():
                scores[iri] += _MEANING * score
        return self._with_neighbours(scores)

    def _by_words(self, question: str) -> dict[NamedNode, float]:
        """The share of a term's words, rare ones counting more, that the question has."""
        wanted = {stem(word) for word in words(question)}
        found = {}
        for iri, own in self._words.items():
            shared = sum(self._rarity[word] for word in own & wanted)
            if shared:
                found[iri] = shared / math.sqrt(sum(self._rarity[word] for word in own) * self._highest)
        return found

    @cached_property
    def _words(self) -> dict[NamedNode, frozenset[str]]:
        terms: dict[NamedNode, SchemaClass | SchemaProperty] = {**self._schema.classes, **self._schema.properties}
        return {
            iri: frozenset(
                stem(part)
                for text in (words_of_iri(iri.value), *(word.text for word in term.words[:8]))
                for part in words(text)
            )
            for iri, term in terms.items()
        }

    @cached_property
    def _rarity(self) -> dict[str, float]:
        counts = Counter(word for own in self._words.values() for word in own)
        return {word: math.log(1 + len(self._words) / count) for word, count in counts.items()}

    @cached_property
    def _highest(self) -> float:
        return max(self._rarity.values(), default=1.0)

    def _by_meaning(self, question: str) -> dict[NamedNode, float]:
        embedder = self._embedder()
        if embedder is None or not knows(embedder, language_of(question)):
            return {}
        vectors = self._vectors
        if vectors is None:
            return {}
        likeness = vectors @ embedder.embed([question])[0]
        return {iri: float(x) for iri, x in zip(self._words, likeness, strict=True) if x > _ALIKE}

    @cached_property
    def _vectors(self) -> NDArray[np.float32] | None:
        embedder = self._embedder()
        if embedder is None or not self._words:
            return None
        schema = self._schema
        texts = []
        for iri in self._words:
            term = schema.classes.get(iri) or schema.properties[iri]
            texts.append(f"{schema.label(iri)}. {label_of(term.comments, 'en', '')}"[:300])
        return embedder.embed(texts)

    def _with_neighbours(self, scores: Relevance) -> Relevance:
        """With a share for the classes one step away, which may be on the way between two that matter."""
        spread = dict(scores)
        for edge in self._schema.edges:
            if edge.literal:
                continue
            for near, far in ((edge.subject, edge.object), (edge.object, edge.subject)):
                share = _NEIGHBOUR * scores.get(near, 0.0)
                if share > spread.get(far, 0.0):
                    spread[far] = share
        return spread


# The schema as text for a prompt, in three forms and within a budget: what a translator must know, and no more.
#
# ``rules``: a block for each class, with a line for each property, in the direction that the data uses it.
# ``create``: the same as statements that would create it, in the manner of SQL.
# ``demonstration``: one line for each class, properties in brackets.
#
# Where all of it fits the budget, all of it is shown; else the slice that the question is about: classes and properties
# that its words, its links and (if there is an embedder) its meaning point at, with what joins them, then what is used
# most. So a graph of thousands of properties fits as well.

_COMMENT: Final = 400
_FEW: Final = 8
_NAMED: Final = 12
"""Of how many things all names are shown; of those without values of their own, which are codes, whatever they are."""
_AS_ABOVE: Final = "  as above: "
_WORDS: Final = 3
_LISTED: Final = 0.5
"""How relevant a class has to be for a slice to list all its things."""


@dataclass(frozen=True, slots=True)
class _Line:
    """A line about a property of a class, long and short, and how much it matters."""

    use: PropertyUse
    long: str
    short: str
    score: float


class SchemaText:
    """Renders the schema of one version of a graph."""

    def __init__(
        self,
        schema: SchemaView,
        facts: GraphFacts,
        ontology: Ontology,
        usage: SchemaUsage,
        *,
        known: Mapping[str, str],
        about: str = "",
        named_by: Callable[[NamedNode, Literal], NamedNode] = lambda _node, _literal: LABEL,
    ) -> None:
        self.schema = schema
        self.usage = usage
        self.prefixes: Prefixes = prefixes_for([*schema.classes, *schema.properties], known)
        self._facts = facts
        self._ontology = ontology
        self.about = about
        self._named_by = named_by
        self._wholes: dict[tuple[str, str], str] = {}

    def text(
        self,
        *,
        style: str = "rules",
        language: str = "en",
        budget_tokens: int = 3500,
        relevance: Callable[[], Relevance] | None = None,
        view: str = "auto",
    ) -> str:
        """The schema in a style: whole if it fits and is wanted, else the slice that matters most.

        ``relevance`` is only asked for where a slice is cut.
        """
        if view != "slice":
            whole = self._whole(style, language)
            if view == "full" or count_tokens(whole) <= budget_tokens:
                return _cut(whole, budget_tokens)
        known = relevance() if relevance is not None else None
        writer = _Writer(self, style, language, known)
        lines = {iri: self._lines(iri, writer, known) for iri in self._listed()}
        return _cut(writer.assembled(self._chosen(lines, writer, known, budget_tokens)), budget_tokens)

    def _whole(self, style: str, language: str) -> str:
        """All of the schema, made once for each style and language."""
        if (style, language) not in self._wholes:
            writer = _Writer(self, style, language)
            lines = {iri: [line.long for line in self._lines(iri, writer, None)] for iri in self._listed()}
            self._wholes[style, language] = writer.assembled(lines)
        return self._wholes[style, language]

    def _listed(self) -> list[NamedNode]:
        """The classes with things of their own or below them, most things first; what has no class last."""
        listed = sorted(self.schema.classes, key=lambda iri: (-self.schema.count(iri), iri.value))
        return [*listed, THING] if self.usage.on(THING) else listed

    def _lines(self, iri: NamedNode, writer: _Writer, relevance: Relevance | None) -> list[_Line]:
        return [
            _Line(use, writer.property(use, short=False), writer.property(use, short=True), _score(use, relevance))
            for use in self.usage.on(iri)
        ]

    def _chosen(
        self, lines: Mapping[NamedNode, list[_Line]], writer: _Writer, relevance: Relevance | None, budget: int
    ) -> dict[NamedNode, list[str]]:
        """The lines that matter most: at length for most of the budget, then in short."""
        left = budget - count_tokens("\n".join(writer.opening()))
        floor = left * 0.25
        chosen: dict[NamedNode, dict[NamedNode, str]] = defaultdict(dict)
        classes = sorted(
            lines, key=lambda iri: (-(relevance.get(iri, 0.0) if relevance else 0.0), -self.schema.count(iri))
        )
        ranked = sorted(
            (line for found in lines.values() for line in found),
            key=lambda line: (-line.score, -line.use.things, line.use.predicate.value),
        )
        for line in ranked:
            new = line.use.subject not in chosen
            text = line.long if left > floor and line.score > 0 else line.short
            cost = count_tokens(text) + 1 + (writer.cost(line.use.subject) if new else 0)
            if cost > left:
                continue
            left -= cost
            chosen[line.use.subject][line.use.predicate] = text
        for iri in classes:
            if iri not in chosen and (cost := writer.cost(iri)) <= left:
                left -= cost
                chosen[iri] = {}
        return {iri: list(chosen[iri].values()) for iri in lines if iri in chosen}

    # what the writers ask

    def comment(self, comments: Iterable[Word], language: str) -> str:
        """A comment in the language, on one line."""
        return " ".join(label_of(comments, language, "").split())[:_COMMENT]

    def naming(self, use: ClassUse) -> NamedNode | None:
        """The property that holds the names of a class, if another line does not show it anyway."""
        if use.witness is None:
            return None
        predicate = self._named_by(use.witness, use.names[0])
        return None if predicate in self.schema.properties else predicate

    def example(self, use: PropertyUse) -> str:
        """Two things that a property relates, by name."""
        if use.example is None:
            return ""
        return f'"{named(use.example[0], self._facts)}" → "{named(use.example[1], self._facts)}"'

    def axioms(self, predicate: NamedNode) -> tuple[str, ...]:
        """What the ontology says of a property besides its words."""
        inverse = self.schema.properties[predicate].inverse
        said = declared(self.schema, self._ontology, predicate)
        if inverse is None or inverse not in self.schema.properties:
            return said
        return (*said, f"inverse of {self.prefixes.short(inverse)}")

    def parents(self, iri: NamedNode) -> list[NamedNode]:
        """The classes right above a class, of those that are shown."""
        term = self._ontology.classes.get(iri)
        return [parent for parent in (term.parents if term else ()) if parent in self.schema.classes and parent != iri]

    def name(self, node: NamedNode, language: str) -> Term:
        """What a thing is called in the language, or in any; the thing where it has no name."""
        labels = self._facts.labels.get(node, ())
        return next((label for label in labels if label.language == language), next(iter(labels), node))


def _score(use: PropertyUse, relevance: Relevance | None) -> float:
    if relevance is None:
        return 0.0
    target = max((relevance.get(iri, 0.0) for iri, _ in use.targets), default=0.0)
    subject = relevance.get(use.subject, 0.0)
    return relevance.get(use.predicate, 0.0) + 0.4 * subject + 0.6 * min(target, subject)


def _cut(text: str, budget: int) -> str:
    """The whole lines of a text that fit a budget."""
    left, kept = budget, []
    for line in text.splitlines():
        left -= count_tokens(line) + 1
        if left < 0:
            break
        kept.append(line)
    return "\n".join(kept)


class _Writer:
    """Puts classes and properties into the words of a style."""

    def __init__(self, schema_text: SchemaText, style: str, language: str, relevance: Relevance | None = None) -> None:
        self._source = schema_text
        self._style = style
        self._language = language
        self._relevance = relevance
        self._short = schema_text.prefixes.short
        self._explained: dict[NamedNode, PropertyUse] = {}
        self._costs: dict[NamedNode, int] = {}

    def opening(self) -> list[str]:
        """The declarations of prefixes, and what the graph is about."""
        about = [f"# {self._source.about}"] if self._source.about else []
        return [*self._source.prefixes.lines(), *about]

    def assembled(self, chosen: Mapping[NamedNode, list[str]]) -> str:
        """The text of the classes with the lines chosen for them."""
        blocks = ["\n".join(self.opening())]
        for iri, lines in chosen.items():
            head, foot = self._frame(iri)
            if self._style == "demonstration":
                listed = [line.partition("\n")[0] for line in lines]
                notes = [note for line in lines for note in line.split("\n")[1:]]
                blocks.append("\n".join([f"{head}({', '.join(listed)})", *foot, *notes]))
            else:
                same = [line.removeprefix(_AS_ABOVE) for line in lines if line.startswith(_AS_ABOVE)]
                above = [_AS_ABOVE + ", ".join(same)] if same else []
                own = (line for line in lines if not line.startswith(_AS_ABOVE))
                blocks.append("\n".join([head, *own, *above, *foot]))
        return "\n\n".join(blocks) if self._style != "demonstration" else "\n".join(blocks)

    def cost(self, iri: NamedNode) -> int:
        """The tokens that a class takes without its properties."""
        if iri not in self._costs:
            head, foot = self._frame(iri)
            self._costs[iri] = count_tokens(head) + sum(count_tokens(line) + 1 for line in foot) + 2
        return self._costs[iri]

    def _frame(self, iri: NamedNode) -> tuple[str, list[str]]:
        """What stands before and after the properties of a class."""
        facts = self._facts_of(iri)
        name = "(no class)" if iri == THING else self._short(iri)
        above = ", ".join(self._short(p) for p in self._source.parents(iri))
        if self._style == "create":
            head = f"CREATE CLASS {name} (" + (f"  -- {facts[0]}" if facts else "")
            return head, [f"){f' SUBCLASS OF {above}' if above else ''};", *(f"  -- {fact}" for fact in facts[1:])]
        if self._style == "demonstration":
            return f"# {name}", [f"#   {fact}" for fact in facts]
        head = f"class {name}{f' < {above}' if above else ''}: {facts[0]}"
        return head, [f"  {fact}" for fact in facts[1:]]

    def _facts_of(self, iri: NamedNode) -> list[str]:
        """How many things a class has and what it is called; how its things are called; which they are, if few."""
        if iri == THING:
            return ["things without a class"]
        source = self._source
        term, use = source.schema.classes[iri], source.usage.classes.get(iri, ClassUse())
        words = _words(term.words, local_name(iri.value), self._language)
        below = source.schema.count(iri) - term.count
        count = f"{source.schema.count(iri):,} things" + (f", {below:,} of narrower classes" if below else "")
        if self._relevance is not None and not self._relevance.get(iri, 0.0):
            return [count]
        parts = [count, words, source.comment(term.comments, self._language).rstrip(".。")]
        facts = ["; ".join(filter(None, parts))]
        if term.key:
            facts.append(f"told apart by {', '.join(self._short(p) for p in term.key)}")
        naming = source.naming(use)
        if naming is not None:
            facts.append(f"named by {self._short(naming)}{self._names(iri, use)}")
        return facts

    def _names(self, iri: NamedNode, use: ClassUse) -> str:
        """The names of a class, all if they are few, and the language tags; that of most is said once."""
        source, tags = self._source, dict(use.languages)
        told = self._relevance is None or self._relevance.get(iri, 0.0) >= _LISTED
        few = len(use.members) <= _NAMED or not any(item.literal for item in source.usage.on(iri))
        whole = told and few and len(use.members) == source.schema.classes[iri].count > 0
        names = [source.name(node, self._language) for node in use.members] if whole else list(use.names)
        usual = "" if "" in tags else max(tags, key=lambda tag: (tag == self._language, tags[tag]), default="")
        shown = ", ".join(source.prefixes.written(name).removesuffix(f"@{usual or '-'}") for name in names)
        said = f" @{usual}" if len(tags) == 1 and usual else "".join(f" @{t} ×{n:,}" for t, n in tags.items() if t)
        said += " (further names: skos:altLabel)" if use.aliased else ""
        return f"{said}: all {shown}" if whole else f"{said}, e.g. {shown}"

    def property(self, use: PropertyUse, *, short: bool) -> str:
        """A property of a class: where it leads, how many there are, its words, and values as they are written."""
        target, predicate = self._target(use), self._short(use.predicate)
        first = not short and use.predicate not in self._explained
        known = use if short else self._explained.setdefault(use.predicate, use)
        if self._style == "rules" and self._relevance is None and not first and _alike(use, known):
            return f"{_AS_ABOVE}{predicate}"
        said = "" if short else "; ".join(self._said(use, words=first))
        if self._style == "create":
            return f"  {predicate} {target},{f'  -- {said}' if said else ''}"
        if self._style == "demonstration":
            note = f"\n#   {predicate}: {said}" if said else ""
            return f"{predicate} {':' if use.literal else '->'} {target}{note}"
        return f"  -[{predicate}]-> {target}{f': {said}' if said else ''}"

    def _target(self, use: PropertyUse) -> str:
        several = "[]" if use.most > 1 and self._style == "create" else ""
        names = [
            "(a thing without a class)" if iri == THING else self._short(iri).removeprefix("xsd:")
            for iri, _ in use.targets[:6]
        ]
        return " | ".join(names) + several

    def _said(self, use: PropertyUse, *, words: bool) -> list[str]:
        source = self._source
        term = source.schema.properties[use.predicate]
        total = source.schema.classes[use.subject].count if use.subject in source.schema.classes else use.things
        said = [f"up to {use.most}"] if use.most > 1 else []
        said += [f"{use.things:,} of {total:,}"] if use.things < total else []
        if words:
            said.append(_words(term.words, local_name(use.predicate.value), self._language))
            said += [source.comment(term.comments, self._language), *source.axioms(use.predicate)]
            said.append(f"unit: {term.unit}" if term.unit else "")
        said.append(self._values(use, first=words))
        return [part.rstrip(".。") for part in said if part]

    def _values(self, use: PropertyUse, *, first: bool) -> str:
        if not use.literal:
            example = self._source.example(use) if first else ""
            return f"e.g. {example}" if example else ""
        written = self._source.prefixes.written
        if use.numeric_text:
            listed = ", ".join(map(written, use.samples[:3]))
            if names_things(use.predicate):
                return f"digits kept as text, to be written in quotes; e.g. {listed}"
            return f"numbers kept as text: compare and calculate with xsd:decimal(?value); e.g. {listed}"
        ends = f"{use.low} to {use.high}" if use.low != use.high else ""
        if ends and (not use.closed or len(use.samples) >= _FEW):
            bare = use.samples and '"' not in written(use.samples[0])
            return ends if bare or not use.samples else f"{ends}, e.g. {written(use.samples[0])}"
        return ("one of " if use.closed else "e.g. ") + ", ".join(map(written, use.samples))


def _alike(use: PropertyUse, known: PropertyUse) -> bool:
    """Whether a property is used on a class as on the one before, so that nothing has to be said again."""
    targets = {iri for iri, _ in use.targets} <= {iri for iri, _ in known.targets}
    values = not use.closed or bool(use.low) or set(use.samples) <= set(known.samples)
    return targets and values and use.most == known.most


def _words(words: Iterable[Word], fallback: str, language: str) -> str:
    """The labels and lexical forms of a term in the language, or in any; each once, less what its name says already."""
    own = [word for word in words if word.language in (language, "")] or list(words)
    listed = dict.fromkeys(word.text for word in own)
    plain = [text for text in listed if text.replace(" ", "").casefold() != fallback.casefold()]
    return " / ".join(f'"{text}"' for text in plain[:_WORDS])
