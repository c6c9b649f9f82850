"""YARRRML as people write it, made plain for the engine: prefixes spelled out, sources numbered, columns encoded.

https://rml.io/yarrrml/spec/
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from kgplatform.errors import ReadError
from kgplatform.mapping.columns import with_encoded
from kgplatform.mapping.sources import GIVEN, Sources
from kgplatform.vocab import PREFIXES

FUNCTIONS = "https://w3id.org/kgplatform/function#"
"""Where the functions of this platform begin; the prefix ``kgp`` stands for it."""

_KNOWN_PREFIXES = {**PREFIXES, "kgp": FUNCTIONS, "grel": "http://users.ugent.be/~bjdmeest/function/grel.ttl#"}
_TOP = {"mapping": "mappings", "m": "mappings"}
_KEYS = {
    "subject": "subjects",
    "s": "subjects",
    "predicateobject": "predicateobjects",
    "po": "predicateobjects",
    "source": "sources",
}
_Tree: TypeAlias = Any


def prepared(text: str, path: Path) -> tuple[str, Sources]:
    """The mapping for the engine (as JSON, which is YAML), and its sources.

    Raises:
        ReadError: not YAML, or not a mapping.
    """
    tree = _loaded(text, path)
    found = next((tree[key] for key in ("mappings", *_TOP) if key in tree), None)
    if not isinstance(found, dict) or not found:
        raise ReadError("is no YARRRML mapping: it has no `mappings`", path=path)
    prefixes = {**_KNOWN_PREFIXES, **_texts(tree.get("prefixes"), "prefixes", path)}
    sources = Sources(path)
    named = tree.get("sources") if isinstance(tree.get("sources"), dict) else {}
    keys = {name: _source(value, sources, path) for name, value in (named or {}).items()}
    maps = {}
    for name, value in found.items():
        if not isinstance(value, dict):
            raise ReadError(f"the triples map {name!r} holds no keys", path=path)
        plain = {_KEYS.get(key, key): part for key, part in value.items() if key not in ("graphs", "graph", "g")}
        given = plain.pop("sources", None)
        plain = _spelled(plain, prefixes)
        if "subjects" not in plain:
            raise ReadError(f"the triples map {name!r} has no `subjects`", path=path)
        plain["sources"] = [{"access": key} for key in _used(given, keys, sources, path)]
        maps[str(name)] = plain
    if not any(plain.get("predicateobjects") for plain in maps.values()):
        raise ReadError("says nothing about any row: no triples map has a `po`", path=path)
    return json.dumps({"mappings": maps}, ensure_ascii=False), sources


def _loaded(text: str, path: Path) -> dict[str, _Tree]:
    try:
        tree = YAML(typ="safe", pure=True).load(text)
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise ReadError(f"line {line}: is not YAML: {error.problem or error.context}", path=path) from error
    except (YAMLError, ValueError, RecursionError) as error:
        raise ReadError(f"is not YAML: {str(error).splitlines()[0]}", path=path) from error
    if not isinstance(tree, dict):
        raise ReadError("is no YARRRML mapping: it has no `mappings`", path=path)
    return {str(key): value for key, value in tree.items()}


def _texts(value: _Tree, what: str, path: Path) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise ReadError(f"`{what}` must give a text for each name", path=path)
    return {str(key): item for key, item in value.items()}


def _source(value: _Tree, sources: Sources, path: Path) -> str:
    """The key of a source in one of the ways to write one: ``[file~csv]``, or a map with ``access``, ``table``."""
    if isinstance(value, list) and value and isinstance(value[0], str):
        return sources.key(value[0].split("~")[0])
    if isinstance(value, Mapping):
        if "query" in value:
            raise ReadError("a source is an SQL query; name its `table` instead", path=path)
        access, table = value.get("access"), value.get("table")
        if access or table:
            return sources.key("#".join(str(part) for part in (access, table) if part))
    raise ReadError(f"no file is named by the source {str(value)[:60]!r}", path=path)


def _used(given: _Tree, keys: Mapping[str, str], sources: Sources, path: Path) -> list[str]:
    """The keys of the sources of a triples map; of the file that is given when it names none."""
    if given is None:
        return [sources.key(GIVEN)]
    if isinstance(given, Mapping) or (isinstance(given, list) and given and _is_file(given[0])):
        return [_source(given, sources, path)]
    found = []
    for item in given if isinstance(given, list) else [given]:
        if isinstance(item, str):
            found.append(keys[item] if item in keys else sources.key(item.split("~")[0]))
        else:
            found.append(_source(item, sources, path))
    return found


def _is_file(item: _Tree) -> bool:
    """Whether the first item of a list says that it is one source: a file with its format, then an iterator."""
    return isinstance(item, str) and "~" in item


def _spelled(value: _Tree, prefixes: Mapping[str, str]) -> _Tree:
    """The tree with prefixed names spelled out and references encoded."""
    if isinstance(value, Mapping):
        return {str(key): _spelled(item, prefixes) for key, item in value.items()}
    if isinstance(value, list):
        return [_spelled(item, prefixes) for item in value]
    if value is None or isinstance(value, bool):
        return {True: "true", False: "false", None: ""}[value]
    text = str(value)
    prefix, colon, rest = text.partition(":")
    if colon and prefix in prefixes and not rest.startswith("//"):
        text = prefixes[prefix] + rest
    return with_encoded(text)
