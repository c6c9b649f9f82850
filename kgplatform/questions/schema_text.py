"""The schema as text for a prompt, in three forms and within a budget: what a translator must know, and no more.

``rules``: a block for each class, with a line for each property, in the direction that the data uses it.
``create``: the same as statements that would create it, in the manner of SQL.
``demonstration``: one line for each class, properties in brackets.

Where all of it fits the budget, all of it is shown; else the slice that the question is about: classes and properties
that its words, its links and (if there is an embedder) its meaning point at, with what joins them, then what is used
most. So a graph of thousands of properties fits as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from pyoxigraph import Literal, NamedNode

from kgplatform.ontology import Ontology, Word, label_of
from kgplatform.questions.abbreviating import Prefixes, prefixes_for
from kgplatform.questions.facts import GraphFacts
from kgplatform.questions.relevance import Relevance
from kgplatform.questions.schema import THING, SchemaView
from kgplatform.questions.usage import ClassUse, PropertyUse, Usage, declared, named, names_things
from kgplatform.text import count_tokens
from kgplatform.vocab import LABEL, local_name

_INCOMING: Final = 12
_COMMENT: Final = 400
_WORDS: Final = 5
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
        usage: Usage,
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
        self._about = about
        self._named_by = named_by
        self._incoming = self._referrers()
        self._wholes: dict[tuple[str, str], str] = {}

    def text(
        self,
        *,
        style: str = "rules",
        language: str = "en",
        budget_tokens: int = 6000,
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
        self,
        lines: Mapping[NamedNode, list[_Line]],
        writer: _Writer,
        relevance: Relevance | None,
        budget: int,
    ) -> dict[NamedNode, list[str]]:
        """The lines that matter most: at length for most of the budget, then in short."""
        left = budget - count_tokens("\n".join(writer.opening()))
        floor = left * 0.25
        chosen: dict[NamedNode, dict[NamedNode, str]] = defaultdict(dict)
        classes = sorted(lines, key=lambda iri: (-(relevance.of(iri) if relevance else 0.0), -self.schema.count(iri)))
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

    def _referrers(self) -> dict[NamedNode, list[tuple[PropertyUse, int]]]:
        found: dict[NamedNode, list[tuple[PropertyUse, int]]] = defaultdict(list)
        for uses in self.usage.properties.values():
            for use in uses:
                for target, count in () if use.literal else use.targets:
                    found[target].append((use, count))
        return {iri: sorted(uses, key=lambda item: -item[1]) for iri, uses in found.items()}

    # what the writers ask

    def comment(self, comments: Iterable[Word], language: str) -> str:
        """A comment in the language, on one line."""
        return " ".join(label_of(comments, language, "").split())[:_COMMENT]

    def referrers(self, iri: NamedNode) -> list[tuple[PropertyUse, int]]:
        """The uses of properties that lead to things of a class, with how often they do."""
        return self._incoming.get(iri, [])[:_INCOMING]

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

    def member(self, node: NamedNode) -> str:
        """A thing with its IRI and name."""
        labels = self._facts.labels.get(node)
        return f"{self.prefixes.short(node)} {self.prefixes.written(labels[0])}" if labels else str(node)

    @property
    def about(self) -> str:
        """What the ontology says of itself."""
        return self._about


def _score(use: PropertyUse, relevance: Relevance | None) -> float:
    if relevance is None:
        return 0.0
    target = max((relevance.of(iri) for iri, _ in use.targets), default=0.0)
    subject = relevance.of(use.subject)
    return relevance.of(use.predicate) + 0.4 * subject + 0.6 * min(target, subject)


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
        self._explained: set[NamedNode] = set()
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
                blocks.append("\n".join([head, *lines, *foot]))
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
        if self._style == "create":
            above = ", ".join(self._short(p) for p in self._source.parents(iri))
            head = f"CREATE CLASS {name} (" + (f"  -- {facts[0]}" if facts else "")
            named_ = [f"  -- {fact}" for fact in facts[1:]]
            return head, [f"){f' SUBCLASS OF {above}' if above else ''};", *named_, *self._arrivals(iri, "-- ")]
        if self._style == "demonstration":
            return f"# {name}", [f"#   {fact}" for fact in facts]
        above = ", ".join(self._short(p) for p in self._source.parents(iri))
        head = f"class {name}: {'; '.join(facts[:1])}"
        listed = [f"  narrower than {above}"] if above else []
        return head, [*listed, *(f"  {fact}" for fact in facts[1:]), *self._arrivals(iri, "  ")]

    def _facts_of(self, iri: NamedNode) -> list[str]:
        """How many things a class has and what it is called; how its things are called; which they are, if few."""
        if iri == THING:
            return ["things without a class"]
        source = self._source
        term, use = source.schema.classes[iri], source.usage.classes.get(iri, ClassUse())
        words = _words(term.words, local_name(iri.value))
        parts = [f"{source.schema.count(iri):,} things", words, source.comment(term.comments, self._language)]
        facts = ["; ".join(filter(None, parts))]
        narrower = [iri_ for iri_ in source.schema.classes if iri in source.parents(iri_)]
        if narrower and term.count < source.schema.count(iri):
            listed = ", ".join(map(self._short, narrower))
            facts.append(f"{term.count:,} of them have no narrower class; narrower: {listed}")
        if term.key:
            facts.append(f"told apart by {', '.join(self._short(p) for p in term.key)}")
        naming = source.naming(use)
        if naming is not None:
            names = ", ".join(source.prefixes.written(name) for name in use.names)
            tags = ", ".join(f"@{tag} ×{n:,}" if tag else f"no tag ×{n:,}" for tag, n in use.languages)
            also = " (further names: skos:altLabel)" if use.aliased else ""
            facts.append(f"named by {self._short(naming)}: {names} ({tags}){also}")
        wanted = self._relevance is None or self._relevance.of(iri) >= _LISTED
        if wanted and use.members and len(use.members) == term.count and use.names:
            facts.append(f"all of them: {'; '.join(map(source.member, use.members))}")
        return facts

    def _arrivals(self, iri: NamedNode, mark: str) -> list[str]:
        found = self._source.referrers(iri)
        if not found:
            return []
        listed = (f"{self._short(use.subject)} -[{self._short(use.predicate)}]->" for use, _ in found)
        return [f"{mark}reached from: {'; '.join(dict.fromkeys(listed))}"]

    def property(self, use: PropertyUse, *, short: bool) -> str:
        """A property of a class: where it leads, how many there are, its words, and values as they are written."""
        target = self._target(use)
        if short:
            return self._short_line(use, target)
        first = use.predicate not in self._explained
        said = self._said(use, words=first)
        self._explained.add(use.predicate)
        predicate = self._short(use.predicate)
        if self._style == "create":
            return f"  {predicate} {target},  -- {'; '.join(said)}"
        if self._style == "demonstration":
            return f"{predicate} {'->' if not use.literal else ':'} {target}\n#   {predicate}: {'; '.join(said)}"
        return f"  -[{predicate}]-> {target}: {'; '.join(said)}"

    def _short_line(self, use: PropertyUse, target: str) -> str:
        predicate = self._short(use.predicate)
        if self._style == "create":
            return f"  {predicate} {target},"
        if self._style == "demonstration":
            return f"{predicate} {'->' if not use.literal else ':'} {target}"
        return f"  -[{predicate}]-> {target}"

    def _target(self, use: PropertyUse) -> str:
        several = "[]" if use.most > 1 and self._style == "create" else ""
        names = [self._short(iri) if iri != THING else "(a thing without a class)" for iri, _ in use.targets[:6]]
        return " | ".join(names) + several

    def _said(self, use: PropertyUse, *, words: bool) -> list[str]:
        source = self._source
        term = source.schema.properties[use.predicate]
        total = source.schema.classes[use.subject].count if use.subject in source.schema.classes else use.things
        many = "1 each" if use.most == 1 else f"up to {use.most} each"
        share = many if use.things >= total else f"{many}, {use.things:,} of {total:,} have it"
        said = [share]
        if words:
            said += [_words(term.words, local_name(use.predicate.value)), source.comment(term.comments, self._language)]
            said += source.axioms(use.predicate)
            said.append(f"unit: {term.unit}" if term.unit else "")
        said.append(self._values(use))
        return [part.rstrip(".。") for part in said if part]

    def _values(self, use: PropertyUse) -> str:
        if not use.literal:
            example = self._source.example(use)
            return f"e.g. {example}" if example else ""
        written = self._source.prefixes.written
        if use.numeric_text:
            listed = ", ".join(map(written, use.samples[:3]))
            if names_things(use.predicate):
                return f"digits kept as text, to be written in quotes; e.g. {listed}"
            return f"numbers kept as text: compare and calculate with xsd:decimal(?value); e.g. {listed}"
        few = use.closed and len(use.samples) < 8
        parts = [f"{use.low} to {use.high}"] if use.low != use.high and not few else []
        if not parts or use.closed or use.distinct < len(use.samples):
            parts.append(("one of " if use.closed else "e.g. ") + ", ".join(map(written, use.samples)))
        elif use.samples:
            parts.append(f"e.g. {written(use.samples[0])}")
        return ", ".join(parts)


def _words(words: Iterable[Word], fallback: str) -> str:
    """The labels and lexical forms of a term, each once, less what its name says already."""
    listed = list(dict.fromkeys(word.text for word in words))
    plain = [text for text in listed if text.replace(" ", "").casefold() != fallback.casefold()]
    return " / ".join(f'"{text}"' for text in plain[:_WORDS])
