"""The core types: what flows through the platform, frozen, with pyoxigraph's own terms.

On the way in: `Document` → `Chunk` → `Extraction` (`Mention`, `Claim`) → `Statement` with `Evidence`.
On the way out: `Question` → `Query` → `Solutions` → `Answer`.
Offsets are always code points in ``Document.text``, so that evidence can be shown in place.

The protocols at the end are the seams: what an object must offer to take the place of a built-in part; pass an object.
Caching, recording, retrying and counting are wrappers that are themselves a `ChatModel`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from enum import StrEnum
from html import escape
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from kgplatform import tabular
from kgplatform.tabular import Value

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Term: TypeAlias = NamedNode | BlankNode | Literal | Triple
"""What a variable of a solution may be bound to."""

Progress: TypeAlias = Callable[[int, int, str], None]
"""Told how far something that takes long is, of how much (0: not known), and what is in hand."""


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
    """A name in a document: ``document.text[start:end] == text``. ``name`` is the text without articles and noise.

    The text of a name that a given statement has, and its passage has not, is empty.
    """

    text: str
    start: int
    end: int
    type: NamedNode
    name: str
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """A statement as read, before linking, with the offsets of the passage that says it; ``given``: in which file."""

    subject: Mention
    predicate: NamedNode
    object: Mention | Literal
    start: int
    end: int
    confidence: float = 1.0
    given: str = ""


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
        return Usage(*(one + more for one, more in zip(astuple(self), astuple(other), strict=True)))


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was read in one chunk, by which method; kept as it is, statements are its projection.

    ``candidates`` are statements that were read and not taken, as too unsure; a person may accept one.
    """

    chunk: NamedNode
    mentions: tuple[Mention, ...] = ()
    claims: tuple[Claim, ...] = ()
    refused: tuple[Refusal, ...] = ()
    keywords: tuple[str, ...] = ()
    method: str = "built-in"
    model: str | None = None
    prompt_sha256: str | None = None
    usage: Usage = field(default_factory=Usage)
    candidates: tuple[Claim, ...] = ()


EDITED = "edit"
"""The ``source`` of evidence that is a person's word: its ``title`` is the person, its ``document`` the edit."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage, ``document.text[start:end] == quote``; or a sentence, with its passage ``before`` and ``after`` it.

    ``given``: the file of statements that says what it is evidence of; empty: the passage was read so.
    """

    chunk: NamedNode
    document: NamedNode
    title: str
    source: str
    quote: str
    start: int
    end: int
    score: float = 1.0
    before: str = ""
    after: str = ""
    given: str = ""


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


class NoAnswer(StrEnum):
    """Why there is no answer from the graph, or none yet."""

    UNKNOWN_WORD = "unknown-word"
    TWO_READINGS = "two-readings"
    NO_ROWS = "no-rows"
    OFF_TOPIC = "off-topic"


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

    @property
    def _columns(self) -> tuple[str, ...]:
        return self.variables if self.boolean is None else ("boolean",)

    def values(self) -> list[tuple[Value, ...]]:
        """The rows as Python values: numbers, dates, booleans, text, None; the boolean of an ASK as one row."""
        if self.boolean is not None:
            return [(self.boolean,)]
        return [tuple(map(tabular.python_value, row)) for row in self.rows]

    def to_pandas(self) -> Any:
        """The rows as a ``pandas.DataFrame``, typed by column; decimals become floats."""
        return tabular.pandas_frame(self._columns, self.values())

    def to_polars(self) -> Any:
        """The rows as a ``polars.DataFrame``, typed by column; decimals become floats.

        Raises:
            ConfigError: polars is not installed.
        """
        return tabular.polars_frame(self._columns, self.values())

    def _repr_html_(self) -> str:
        if self.boolean is not None:
            return f"<p>{str(self.boolean).lower()}</p>"
        rows = [[tabular.term_cell(term) for term in row] for row in self.rows]
        return tabular.html_table(self.variables, rows, more=self.truncated)


RunQuery: TypeAlias = Callable[[str], Solutions]
"""Runs a query and returns its rows."""


@dataclass(frozen=True, slots=True)
class Clarification:
    """A question back to the asker, with the readings to choose from, and the thing that each is, where it is one."""

    question: str
    options: tuple[str, ...] = ()
    things: tuple[NamedNode | None, ...] = ()


_NO_CHOICE = Clarification("")
_MOST_SHOWN, _MOST_QUOTED = 5, 300
"""So many passages are shown with an answer in a notebook, and so many characters of each."""


@dataclass(frozen=True, slots=True)
class Consulted:
    """``graph``, ``passages`` or ``web`` with its ``outcome``: ``answered``, ``unsure``, ``nothing`` or ``down``."""

    source: str
    outcome: str
    confidence: float = 0.0
    note: str = ""


@dataclass(frozen=True, slots=True)
class Choice:
    """Which source an answer was taken from, and why.

    ``domain`` is what it is about, ``open`` where ``certainty`` (0..1) is too low to say; ``changes`` how fast its
    facts change; ``chosen`` a source, several joined by ``+``, or ``none``; ``premise`` what it wrongly presupposes.
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
    """What came back for a question, with all that checks it; ``question_class``: ``none`` if nothing is missing."""

    text: str
    question: Question
    verdict: Verdict
    confidence: float
    using: str
    query: Query | None = None
    solutions: Solutions = field(default_factory=Solutions)
    values: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    # of each row that was looked at, the places of its passages in `evidence`, from 0 on
    row_evidence: tuple[tuple[int, ...], ...] = ()
    clarification: Clarification | None = None
    model: str | None = None
    usage: Usage = field(default_factory=Usage)
    trace: tuple[str, ...] = ()
    question_class: str = ""
    choice: Choice | None = None
    reason: NoAnswer | None = None

    @property
    def confidence_level(self) -> str:
        """``high`` from 0.75, ``medium`` from 0.4, else ``low``."""
        return "high" if self.confidence >= 0.75 else "medium" if self.confidence >= 0.4 else "low"

    def to_pandas(self) -> Any:
        """The rows that the answer rests on, as `Solutions.to_pandas`."""
        return self.solutions.to_pandas()

    def to_polars(self) -> Any:
        """The rows that the answer rests on, as `Solutions.to_polars`; raises as that."""
        return self.solutions.to_polars()

    def _repr_html_(self) -> str:
        said = self.text or (self.clarification.question if self.clarification else "")
        options = "".join(f"<li>{escape(option)}</li>" for option in (self.clarification or _NO_CHOICE).options)
        rows = self.solutions._repr_html_() if self.solutions.rows else ""
        passages = "".join(
            f"<blockquote>{escape(item.quote[:_MOST_QUOTED])}<br><small>{escape(item.title)}</small></blockquote>"
            for item in self.evidence[:_MOST_SHOWN]
        )
        return f"<p>{escape(said)}</p>{f'<ul>{options}</ul>' if options else ''}{rows}{passages}"


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation with a model; role is ``system``, ``user`` or ``assistant``."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Completion:
    """What a model wrote, and what it cost (``calls`` is 0 for a cached reply)."""

    text: str
    usage: Usage


@runtime_checkable
class ChatModel(Protocol):
    """A language model that completes a conversation."""

    name: str

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, object] | None = None) -> Completion:
        """The model's reply; with ``schema`` (JSON Schema), a reply that is a JSON text of that shape.

        Raises:
            ModelUnavailableError: the server cannot be reached or refuses.
            ModelReplyError: the reply is empty, or not JSON although a schema was given.
        """


@runtime_checkable
class SamplingModel(ChatModel, Protocol):
    """A language model that can be asked the same several times and reply otherwise."""

    def sample(self, number: int) -> ChatModel:
        """The model for one of several independent replies: to the same request, another for every number."""


@runtime_checkable
class KeepingModel(ChatModel, Protocol):
    """A language model whose replies are kept, so that parts of one can be the replies to other requests."""

    def kept_replies(self) -> Mapping[str, object]:
        """The replies about the same, by their keys."""

    def ask(self, messages: Sequence[Message], *, schema: Mapping[str, object] | None = None) -> Completion:
        """The reply, which is not kept; raises as ``complete``."""

    def take(self, messages: Sequence[Message], made: Completion, *, schema: Mapping[str, object] | None) -> None:
        """Keeps what is the reply to a request."""


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into vectors of unit length; similar texts, similar directions."""

    name: str

    @property
    def dimensions(self) -> int:
        """How many numbers a vector has."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of the texts, one row each: shape ``(len(texts), dimensions)``, unit length."""


@runtime_checkable
class Extractor(Protocol):
    """Reads the mentions and claims of one chunk."""

    method: str

    def extract(self, chunk: Chunk, document: Document) -> Extraction:
        """What the chunk says in the terms of the ontology; offsets are the document's."""


@runtime_checkable
class StretchExtractor(Extractor, Protocol):
    """An extractor that reads neighbouring chunks together, where that costs less than one by one."""

    def stretches(self, chunks: Sequence[Chunk]) -> list[list[Chunk]]:
        """The chunks in groups of neighbours, in order."""

    def read(self, chunks: Sequence[Chunk], document: Document) -> list[Extraction]:
        """What the chunks of one group say, an extraction for each."""


@runtime_checkable
class Retriever(Protocol):
    """Finds the chunks that fit a question."""

    name: str

    def retrieve(self, question: str, k: int) -> list[Hit]:
        """At most ``k`` hits, best first."""


class Chunker(Protocol):
    """Cuts a document into chunks, in order."""

    def __call__(self, document: Document) -> list[Chunk]:
        """The chunks; ``document.text[chunk.start:chunk.end] == chunk.text``."""
