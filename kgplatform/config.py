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
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, get_type_hints

from kgplatform.errors import ConfigError, WorkspaceError
from kgplatform.sections import FORMAT_VERSION as FORMAT_VERSION
from kgplatform.sections import LEVELS as LEVELS
from kgplatform.sections import POLICIES as POLICIES
from kgplatform.sections import PROMPT_STYLES as PROMPT_STYLES
from kgplatform.sections import SCHEMA_VIEWS as SCHEMA_VIEWS
from kgplatform.sections import SOURCES as SOURCES
from kgplatform.sections import TRANSLATORS as TRANSLATORS
from kgplatform.sections import CheckSettings as CheckSettings
from kgplatform.sections import CommunitySettings as CommunitySettings
from kgplatform.sections import CourseSettings as CourseSettings
from kgplatform.sections import DocumentSettings as DocumentSettings
from kgplatform.sections import EmbeddingSettings as EmbeddingSettings
from kgplatform.sections import ExtractionSettings as ExtractionSettings
from kgplatform.sections import FederationSettings as FederationSettings
from kgplatform.sections import InferenceSettings as InferenceSettings
from kgplatform.sections import LinkingSettings as LinkingSettings
from kgplatform.sections import MapSettings as MapSettings
from kgplatform.sections import ModelSettings as ModelSettings
from kgplatform.sections import PlaceSettings as PlaceSettings
from kgplatform.sections import QuestionSettings as QuestionSettings
from kgplatform.sections import RetrievalSettings as RetrievalSettings
from kgplatform.sections import ServerSettings as ServerSettings
from kgplatform.sections import Settings as Settings
from kgplatform.sections import VersionSettings as VersionSettings
from kgplatform.sections import WebSettings as WebSettings

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
    _checked_noise(settings.documents.noise)
    if settings.communities.reports not in ("built-in", "model"):
        raise ConfigError(
            f"communities.reports is {settings.communities.reports!r}; it must be built-in or model",
            setting="communities.reports",
        )
    _check_extraction(settings.extraction)
    _check_answering(settings)
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


def model_key(settings: ModelSettings | EmbeddingSettings, environment: Mapping[str, str] | None = None) -> str:
    """The key for the model's server, from the variable ``key_from`` names; ``none`` where unset (local servers)."""
    return (os.environ if environment is None else environment).get(settings.key_from, "") or "none"


def checked_policy(policy: str) -> str:
    """The policy as given, if it is one.

    Raises:
        ConfigError: it is none; the message offers the nearest.
    """
    if policy not in POLICIES:
        near = difflib.get_close_matches(policy, POLICIES, n=1)
        hint = f"; did you mean {near[0]}?" if near else f"; policies are {', '.join(POLICIES)}"
        raise ConfigError(f"checks.policy {policy!r} is no policy{hint}", setting="checks.policy")
    return policy


def _checked_noise(noise: str) -> None:
    if noise not in ("keep", "skip"):
        raise ConfigError(f"documents.noise is {noise!r}; it must be keep or skip", setting="documents.noise")


def _check_extraction(settings: ExtractionSettings) -> None:
    least = {"gleaning": 0, "schema_tokens": 200, "passage_tokens": 1, "demonstrations": 0}
    for name, low in least.items():
        value = getattr(settings, name)
        if value < low:
            raise ConfigError(f"extraction.{name} must be at least {low}, not {value}", setting=f"extraction.{name}")


def _check_answering(settings: Settings) -> None:
    for name, allowed in (("least_confidence", LEVELS), ("first", ("graph", "rate"))):
        value = getattr(settings.questions, name)
        if value not in allowed:
            raise ConfigError(
                f"questions.{name} is {value!r}; it must be one of {', '.join(allowed)}", setting=f"questions.{name}"
            )
    for setting, number in (("questions.passages", settings.questions.passages), ("web.pages", settings.web.pages)):
        if number < 1:
            raise ConfigError(f"{setting} must be at least 1, not {number}", setting=setting)


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
    text = with_ontology(workspace, ontology)
    partial = workspace / f"{FILE}.part"
    partial.write_text(text, encoding="utf-8")
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
