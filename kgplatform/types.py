"""The core types: what flows through the platform, frozen, with pyoxigraph's own terms.

On the way in: `Document` → `Chunk` → `Extraction` (`Mention`, `Claim`) → `Statement` with `Evidence`.
On the way out: `Question` → `Query` → `Solutions` → `Answer`.
Offsets are always code points in ``Document.text``, so that evidence can be shown in place.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

Term: TypeAlias = NamedNode | BlankNode | Literal | Triple
"""What a variable of a solution may be bound to."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text with its origin; the IRI comes from ``sha256`` of the file's bytes and, in a file of several, the part."""

    iri: NamedNode
    text: str
    title: str
    media_type: str
    source: str
    sha256: str
    language: str
    author: str | None = None
    created: str | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document; ``document.text[start:end] == text``, always. Its IRI names its evidence graph."""

    iri: NamedNode
    document: NamedNode
    index: int
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Mention:
    """A name in a document: ``document.text[start:end] == text``. ``name`` is the text without articles and noise."""

    text: str
    start: int
    end: int
    type: NamedNode
    name: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement as read, before linking: over mentions, with the offsets of the passage that says it."""

    subject: Mention
    predicate: NamedNode
    object: Mention | Literal
    start: int
    end: int
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Refusal:
    """Something read but not accepted: what, and why in one sentence."""

    text: str
    reason: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What an answer or an extraction cost: model calls, tokens and seconds of wall clock."""

    calls: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        """The sum of both."""
        return Usage(
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.seconds + other.seconds,
        )


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was read in one chunk, by which method; kept as it is, statements are its projection."""

    chunk: NamedNode
    mentions: tuple[Mention, ...] = ()
    claims: tuple[Claim, ...] = ()
    refused: tuple[Refusal, ...] = ()
    keywords: tuple[str, ...] = ()
    method: str = "built-in"
    model: str | None = None
    prompt_sha256: str | None = None
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage that supports a statement: ``document.text[start:end] == quote``."""

    chunk: NamedNode
    document: NamedNode
    title: str
    source: str
    quote: str
    start: int
    end: int
    score: float = 1.0


@dataclass(frozen=True, slots=True)
class Statement:
    """A triple with the passages it came from; confidence in 0..1."""

    triple: Triple
    evidence: tuple[Evidence, ...] = ()
    confidence: float = 1.0


@dataclass(frozen=True, slots=True)
class Entity:
    """A thing of the graph with its names (``skos:altLabel``) and classes."""

    iri: NamedNode
    label: str
    types: tuple[NamedNode, ...] = ()
    aliases: tuple[str, ...] = ()
    description: str = ""


@dataclass(frozen=True, slots=True)
class Hit:
    """A found item; scores compare within one retriever only, ``rank`` counts from 1."""

    iri: NamedNode
    text: str
    score: float
    rank: int
    retriever: str


@dataclass(frozen=True, slots=True)
class Linked:
    """Words of a question linked to a term; ``score`` in 0..1; ``kind``: entity, class, property or value."""

    text: str
    iri: NamedNode
    label: str
    score: float
    kind: str
    start: int = 0
    end: int = 0


class QuestionKind(StrEnum):
    """What form of answer a question wants."""

    LIST = "list"
    COUNT = "count"
    AGGREGATE = "aggregate"
    BOOLEAN = "boolean"
    SUPERLATIVE = "superlative"
    PASSAGE = "passage"


class Verdict(StrEnum):
    """How a question ended."""

    ANSWERED = "answered"
    UNANSWERABLE = "unanswerable"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Question:
    """A question in natural language."""

    text: str
    language: str
    kind: QuestionKind = QuestionKind.LIST
    linked: tuple[Linked, ...] = ()


class IssueKind(StrEnum):
    """What a checked query can have wrong with it."""

    SYNTAX = "syntax"
    REFUSED = "refused"
    UNKNOWN_CLASS = "unknown-class"
    UNKNOWN_PROPERTY = "unknown-property"
    UNKNOWN_TERM = "unknown-term"
    UNKNOWN_GRAPH = "unknown-graph"
    IMPOSSIBLE = "impossible"
    LITERAL_FORM = "literal-form"
    UNBOUND = "unbound"
    CARTESIAN = "cartesian"
    REPEATED_ROWS = "repeated-rows"
    UNLIMITED = "unlimited"
    EMPTY = "empty"
    SUSPICIOUS = "suspicious"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Issue:
    """Something wrong with a query: the term it is about, what is allowed there, line and column (0: not known)."""

    kind: IssueKind
    message: str
    subject: str = ""
    allowed: tuple[str, ...] = ()
    line: int = 0
    fatal: bool = True
    column: int = 0


@dataclass(frozen=True, slots=True)
class Attempt:
    """One draft of a query and what the checker said of it."""

    query: str
    issues: tuple[Issue, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """A SPARQL query with the drafts before it and its reading in words."""

    text: str
    reading: str = ""
    attempts: tuple[Attempt, ...] = ()


@dataclass(frozen=True, slots=True)
class Solutions:
    """The rows of a SELECT (``rows[i][j]`` belongs to ``variables[j]``; None: unbound), or the boolean of an ASK."""

    variables: tuple[str, ...] = ()
    rows: tuple[tuple[Term | None, ...], ...] = ()
    boolean: bool | None = None
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Clarification:
    """A question back to the asker, with the readings to choose from, and the thing that each is, where it is one."""

    question: str
    options: tuple[str, ...] = ()
    things: tuple[NamedNode | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Consulted:
    """A source that was asked for an answer: ``graph``, ``passages`` or ``web``, what it gave, and how sure (0..1).

    ``outcome``: ``answered``, ``unsure`` (an answer below the least confidence), ``nothing`` or ``down``.
    """

    source: str
    outcome: str
    confidence: float = 0.0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which source an answer was taken from, and why.

    ``domain`` is what the question is about, ``open`` where ``certainty`` (0..1) is too low to say; ``changes`` how
    fast its facts change; ``chosen`` a source, several joined by ``+``, or ``none``; ``premise`` what it wrongly takes
    for granted.
    """

    domain: str
    certainty: float
    changes: str
    order: tuple[str, ...]
    chosen: str
    consulted: tuple[Consulted, ...] = ()
    reasons: tuple[str, ...] = ()
    premise: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back for a question, with everything needed to check it.

    ``question_class`` is the number of the class of incomplete questions it is of, ``none`` where nothing is missing;
    empty where the ontology tells no classes.
    """

    text: str
    question: Question
    verdict: Verdict
    confidence: float
    using: str
    query: Query | None = None
    solutions: Solutions = field(default_factory=Solutions)
    values: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    clarification: Clarification | None = None
    model: str | None = None
    usage: Usage = field(default_factory=Usage)
    trace: tuple[str, ...] = ()
    question_class: str = ""
    choice: Choice | None = None

    @property
    def confidence_level(self) -> str:
        """``high`` from 0.75, ``medium`` from 0.4, else ``low``."""
        return "high" if self.confidence >= 0.75 else "medium" if self.confidence >= 0.4 else "low"
