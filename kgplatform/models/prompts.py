"""Prompts: jinja2 templates in ``templates/prompts``, rendered strictly and hashed for the provenance.

The first line of a prompt lists its variables: ``{# variables: question, schema #}``. Giving another set than
that is an error, and so is a template that uses another. A line ``---`` parts what the system says from what
the user says. A folder of one's own may hold prompts of the same names, which then take precedence, or be
included by the shipped ones. Files that begin with ``_`` are only there to be included.

Templates run in jinja2's sandbox, since a workspace from elsewhere may bring its own.
https://jinja.palletsprojects.com/en/stable/sandbox/
"""

from __future__ import annotations

import difflib
import hashlib
import re
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import jinja2
from jinja2 import meta
from jinja2.sandbox import ImmutableSandboxedEnvironment

from kgplatform import resources
from kgplatform.errors import ConfigError, NotFoundError
from kgplatform.types import Message

_HEADER = re.compile(r"\A\{#-?\s*variables:\s*(?P<names>[\w\s,]*?)\s*-?#\}[ \t]*(?:\n|\Z)")
_SEPARATOR = re.compile(r"^---[ \t]*$", re.MULTILINE)
# Stands for the separator while rendering; no value that is filled in can hold it by chance or on purpose.
_MARK = f"\x1e{secrets.token_hex(16)}\x1e"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A rendered prompt; ``sha256`` is that of the template with all it includes, whatever was filled in."""

    name: str
    text: str
    sha256: str


@dataclass(frozen=True, slots=True)
class _Source:
    """A template's text, the variables it lists, and its hash."""

    text: str
    variables: frozenset[str]
    sha256: str


def names(*, folder: Path | None = None) -> list[str]:
    """The names of all prompts, sorted; those of ``folder`` included."""
    templates = _environment(folder).list_templates(extensions=["j2"])
    found = (template.removesuffix(".j2") for template in templates)
    return sorted(name for name in found if not name.rpartition("/")[2].startswith("_"))


def variables(name: str, *, folder: Path | None = None) -> frozenset[str]:
    """The variables that a prompt wants.

    Raises:
        NotFoundError: there is no such prompt.
        ConfigError: its first line does not list what it uses.
    """
    return _source(_environment(folder), name).variables


def render(name: str, /, *, folder: Path | None = None, **values: object) -> Prompt:
    """The prompt with its variables filled in; a separator line becomes an empty one.

    Raises:
        NotFoundError: there is no such prompt.
        ConfigError: the template is faulty, or the values are not those it lists.
    """
    source, parts = _rendered(name, folder, values)
    return Prompt(name, "\n\n".join(filter(None, parts)), source.sha256)


def render_messages(name: str, /, *, folder: Path | None = None, **values: object) -> tuple[list[Message], str]:
    """The prompt as a system and a user message, or as a user message only; and the template's SHA-256.

    Raises:
        NotFoundError: there is no such prompt.
        ConfigError: the template is faulty, or the values are not those it lists.
    """
    source, parts = _rendered(name, folder, values)
    roles = ["user"] if len(parts) == 1 else ["system", "user"]
    messages = [Message(role, text) for role, text in zip(roles, parts, strict=True) if text]
    return messages, source.sha256


def _rendered(name: str, folder: Path | None, values: Mapping[str, object]) -> tuple[_Source, list[str]]:
    environment = _environment(folder)
    source = _source(environment, name)
    _check_values(name, source.variables, values)
    try:
        text = environment.from_string(_SEPARATOR.sub(_MARK, source.text)).render(values)
    except jinja2.TemplateError as error:
        raise _faulty(name, error) from error
    return source, [part.strip() for part in text.split(_MARK)]


def _check_values(name: str, wanted: frozenset[str], values: Mapping[str, object]) -> None:
    missing, unknown = sorted(wanted - values.keys()), sorted(values.keys() - wanted)
    if not missing and not unknown:
        return
    wrong = [f"lacks {', '.join(missing)}"] if missing else []
    wrong += [f"does not know {', '.join(unknown)}"] if unknown else []
    listed = ", ".join(sorted(wanted)) or "none"
    raise ConfigError(f"prompt {name!r} {' and '.join(wrong)}; its variables are: {listed}", setting=name)


@lru_cache(maxsize=16)
def _environment(folder: Path | None) -> jinja2.Environment:
    shipped = jinja2.FileSystemLoader(resources.folder("templates") / "prompts")
    own = [jinja2.FileSystemLoader(folder)] if folder is not None else []
    return ImmutableSandboxedEnvironment(
        loader=jinja2.ChoiceLoader([*own, shipped]),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # the text goes to a model, not to a browser
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _source(environment: jinja2.Environment, name: str) -> _Source:
    """The template with its header checked against what it and its includes use."""
    text = _text(environment, name, f"{name}.j2")
    header = _HEADER.match(text)
    if header is None:
        message = f"prompt {name!r} does not begin with a line like {{# variables: question, schema #}}"
        raise ConfigError(message, setting=name)
    if len(_SEPARATOR.findall(text)) > 1:
        raise ConfigError(f"prompt {name!r} has more than one line '---'", setting=name)
    texts = _closure(environment, name, text)
    used = frozenset().union(*(meta.find_undeclared_variables(_parsed(environment, name, part)) for part in texts))
    listed = frozenset(re.findall(r"\w+", header["names"]))
    if used != listed:
        message = f"prompt {name!r} lists the variables {_listed(listed)} but uses {_listed(used)}"
        raise ConfigError(message, setting=name)
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    return _Source(text, listed, digest)


def _closure(environment: jinja2.Environment, name: str, text: str) -> list[str]:
    """The text and those of all templates it includes, each once."""
    texts, seen = [text], {f"{name}.j2"}
    for part in texts:
        for reference in meta.find_referenced_templates(_parsed(environment, name, part)):
            if reference is not None and reference not in seen:
                seen.add(reference)
                texts.append(_text(environment, name, reference))
    return texts


def _parsed(environment: jinja2.Environment, name: str, text: str) -> jinja2.nodes.Template:
    try:
        return environment.parse(text, name)
    except jinja2.TemplateSyntaxError as error:
        raise _faulty(name, error) from error


def _text(environment: jinja2.Environment, name: str, template: str) -> str:
    loader = environment.loader
    if loader is None:
        raise AssertionError("the environment is made with a loader")
    try:
        return loader.get_source(environment, template)[0]
    except jinja2.TemplateNotFound as error:
        if template != f"{name}.j2":
            raise ConfigError(f"prompt {name!r} includes {template!r}, which is not there", setting=name) from error
        known = [item.removesuffix(".j2") for item in environment.list_templates(extensions=["j2"])]
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise NotFoundError(f"there is no prompt {name!r}{hint}", name=name) from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"prompt {name!r}: {template} is not UTF-8", setting=name) from error


def _faulty(name: str, error: jinja2.TemplateError) -> ConfigError:
    line = f", line {error.lineno}" if isinstance(error, jinja2.TemplateSyntaxError) else ""
    return ConfigError(f"prompt {name!r}{line}: {error.message}", setting=name)


def _listed(found: frozenset[str]) -> str:
    return ", ".join(sorted(found)) or "(none)"
