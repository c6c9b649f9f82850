"""SPARQL queries by name: the ``.rq`` files of folder ``sparql``, each complete as it stands.

A file begins with a header in the convention of grlc (https://grlc.io/), a line for each fact::

    #+ summary: The statements about an entity, both ways.
    #+ parameters: entity
    #+ returns: predicate, neighbour, outgoing

``parameters`` are variables of the query that the store binds to values; they are never filled in as text.
A query without parameters may leave that line out. In subfolder ``examples`` a query shows how a question is
put into SPARQL: its summary is the question, and it need not say what it returns.
"""

from __future__ import annotations

import difflib
import importlib
import re
import sys
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from kgplatform.errors import NotFoundError, QueryError

_HERE = Path(__file__).resolve().parent
_ROOT = _HERE / "_files" if (_HERE / "_files").is_dir() else _HERE.parent


def folder(name: str) -> Path:
    """The path of a shipped folder: ``ontology``, ``sparql`` or ``templates``."""
    path = _ROOT / name
    if not path.is_dir():
        raise FileNotFoundError(f"{path}: the installation lacks its {name} folder; install kgplatform again")
    return path


def examples() -> Path | None:
    """The folder of sample inputs, which only a checkout has; None in an installed wheel."""
    path = _HERE.parent / "examples"
    return path if path.is_dir() else None


def from_checkout(module: str) -> Any:
    """A module that lies beside the package and is not shipped: a source study, or the W3C's tests.

    Raises:
        NotFoundError: the package was installed without them.
    """
    root = _HERE.parent
    if not (root / module.replace(".", "/")).with_suffix(".py").is_file():
        raise NotFoundError(
            "this runs from a checkout of the source only: clone the repository, or unpack the source distribution, "
            "and call it there after `make setup`",
            name=module,
        )
    if str(root) not in sys.path:
        sys.path.append(str(root))
    return importlib.import_module(module)


_HEADER_LINE = re.compile(r"#\+\s*(?P<key>[\w-]+)\s*:\s*(?P<value>.*?)\s*")
_VARIABLE = re.compile(r"[?$](\w+)")
_NAME = re.compile(r"[\w-]+(?:/[\w-]+)*")
_KNOWN = ("summary", "parameters", "returns")


@dataclass(frozen=True, slots=True)
class NamedQuery:
    """A query of the folder; ``text`` is the whole file, header and all, which is legal SPARQL."""

    name: str
    text: str
    summary: str
    parameters: tuple[str, ...]
    returns: str


def names(*, folder: Path | None = None) -> list[str]:
    """The names of all queries, sorted; one in a subfolder has a name with a slash."""
    root = _root(folder)
    return sorted(path.relative_to(root).with_suffix("").as_posix() for path in root.rglob("*.rq"))


@lru_cache(maxsize=256)
def load(name: str, *, folder: Path | None = None) -> NamedQuery:
    """The query of that name; ``folder`` in place of the shipped one.

    Raises:
        NotFoundError: there is no such query; the message names the nearest.
        QueryError: its header is faulty.
    """
    path = _root(folder) / f"{name}.rq"
    if _NAME.fullmatch(name) is None or not path.is_file():
        near = difflib.get_close_matches(name, names(folder=folder), n=1, cutoff=0.5)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise NotFoundError(f"there is no query {name!r}{hint}", name=name)
    try:
        return parse(name, path.read_text(encoding="utf-8-sig"))
    except UnicodeDecodeError as error:
        raise QueryError(f"query {name!r} is not UTF-8 (byte {error.start})", query="") from error


def parse(name: str, text: str) -> NamedQuery:
    """The query in the text of a ``.rq`` file.

    Raises:
        QueryError: the header lacks something, repeats itself, or names a parameter that the query does not have.
    """
    header = _header(name, text)
    for key in ("summary",) if name.startswith("examples/") else ("summary", "returns"):
        if not header.get(key):
            raise QueryError(f"query {name!r} has no line '#+ {key}: …' at its head", query=text)
    parameters = tuple(part for part in re.split(r"[\s,]+", header.get("parameters", "")) if part)
    code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    variables = set(_VARIABLE.findall(code))
    for parameter in parameters:
        if parameter not in variables:
            raise QueryError(f"query {name!r} has a parameter {parameter!r} but no variable ?{parameter}", query=text)
    return NamedQuery(name, text, header["summary"], parameters, header.get("returns", ""))


def _header(name: str, text: str) -> dict[str, str]:
    """The facts in the lines before the first one that is not a comment."""
    header: dict[str, str] = {}
    for line in text.splitlines():
        if line.strip() and not line.startswith("#"):
            break
        if not line.startswith("#+"):
            continue
        match = _HEADER_LINE.fullmatch(line)
        if match is None or match["key"] not in _KNOWN:
            raise QueryError(f"query {name!r}: {line!r} is none of {', '.join(_KNOWN)}", query=text)
        if match["key"] in header:
            raise QueryError(f"query {name!r} has two lines '#+ {match['key']}: …'", query=text)
        header[match["key"]] = match["value"]
    return header


def _root(given: Path | None) -> Path:
    return folder("sparql") if given is None else given
