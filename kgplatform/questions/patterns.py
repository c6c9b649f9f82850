"""The triple patterns of a query, read from its tokens: enough to check them, without executing or recursing.

The grammar followed is SPARQL 1.1 §19.8, TriplesBlock; expressions in FILTER, BIND and HAVING are passed over (their
EXISTS groups are read), property paths give every IRI they mention.
"""

# ruff: noqa: E501
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

TOKEN = re.compile(
    r"""(?P<comment>\#[^\n]*)
    | (?P<iri><[^<>"{}|^`\\\x00-\x20]*>)
    | (?P<string>\"{3}(?:\"{0,2}(?:[^"\\]|\\.))*\"{3}|'{3}(?:'{0,2}(?:[^'\\]|\\.))*'{3}|"(?:[^"\\\n\r]|\\.)*"|'(?:[^'\\\n\r]|\\.)*')
    | (?P<variable>[?$]\w+)
    | (?P<blank>_:[\w\-.]*[\w\-])
    | (?P<name>(?:[^\W\d_](?:[\w\-.]*[\w\-])?)?:(?:[\w:%\\](?:[\w\-:%\\.]*[\w\-:%\\])?)?)
    | (?P<lang>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)
    | (?P<number>[+-]?(?:\d+\.\d+|\.\d+|\d+)(?:[eE][+-]?\d+)?)
    | (?P<word>[^\W\d]\w*)
    | (?P<datatype>\^\^)
    | (?P<mark>&&|\|\||!=|<=|>=|\S)""",
    re.VERBOSE | re.DOTALL,
)
_Raw = tuple[str, str, tuple[int, int]]
_RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_GROUPS = frozenset(("OPTIONAL", "UNION", "MINUS", "WHERE", "EXISTS", "NOT", "DISTINCT", "REDUCED", "ASK", "SILENT"))
_CLAUSES = frozenset(
    ("GROUP", "ORDER", "HAVING", "LIMIT", "OFFSET", "VALUES", "SELECT", "FROM", "CONSTRUCT", "DESCRIBE")
)


@dataclass(frozen=True, slots=True)
class Item:
    """A token that stands for a term: an ``iri`` (written out), ``variable``, ``literal`` or other.

    ``line`` and ``column`` count from 1.
    """

    kind: str
    value: str
    line: int
    datatype: str = ""
    language: str = ""
    column: int = 0


@dataclass(frozen=True, slots=True)
class Pattern:
    """A triple pattern; ``predicates`` holds every IRI of the path, ``plain`` if it is a single one followed forwards."""

    subject: Item
    predicates: tuple[Item, ...]
    object: Item
    plain: bool
    inverse: bool = False


@dataclass(frozen=True, slots=True)
class Patterns:
    """What a query says: its triple patterns, all IRIs, what it projects and what it binds.

    ``mentioned`` are the variables outside of patterns, ``together`` those of one expression, ``calls`` the IRIs that
    are called as functions, ``values`` the IRIs that VALUES gives a single variable, ``graphs`` those of GRAPH and FROM.
    """

    triples: tuple[Pattern, ...]
    terms: tuple[Item, ...]
    projected: tuple[Item, ...]
    bound: frozenset[str]
    mentioned: tuple[Item, ...] = ()
    together: tuple[frozenset[str], ...] = ()
    calls: tuple[Item, ...] = ()
    values: Mapping[str, tuple[Item, ...]] = field(default_factory=dict)
    graphs: tuple[Item, ...] = ()


@dataclass(slots=True)
class _Walk:
    items: list[Item]
    at: int = 0
    triples: list[Pattern] = field(default_factory=list)


def patterns_of(text: str, prefixes: Mapping[str, str]) -> Patterns:
    """The patterns of a query's text; on text that is no SPARQL, whatever can be read of it."""
    known = dict(prefixes)
    items = list(_items(text, known))
    projected = _projection(items)
    walk = _Walk(items)
    while walk.at < len(items):
        _step(walk)
    bound = (
        {item.value for p in walk.triples for item in (p.subject, p.object) if item.kind == "variable"}
        | _assigned(items)
        | {i.value for p in walk.triples for i in p.predicates if i.kind == "variable"}
    )
    calls = [(item, after.value) for item, after in pairwise(items)]
    return Patterns(
        triples=tuple(walk.triples),
        terms=tuple(i for i in items if i.kind == "iri"),
        projected=projected,
        bound=frozenset(bound),
        mentioned=tuple(i for i in items if i.kind == "variable"),
        together=tuple(_together(items)),
        calls=tuple(item for item, after in calls if item.kind == "iri" and after == "(" and item.value != _RDF_TYPE),
        values=_values(items),
        graphs=tuple(
            after
            for item, after in pairwise(items)
            if item.kind == "word" and item.value in ("GRAPH", "FROM", "NAMED") and after.kind == "iri"
        ),
    )


def _together(items: list[Item]) -> Iterator[frozenset[str]]:
    """The variables of each FILTER, BIND and row of VALUES: what is joined by more than patterns."""
    for start, item in enumerate(items):
        if item.kind == "word" and item.value == "AS":
            yield _named(items, start)
        if item.kind != "word" or item.value not in ("FILTER", "BIND", "VALUES"):
            continue
        found: set[str] = set()
        depth = 0
        for later in items[start + 1 :]:
            if later.kind == "variable":
                found.add(later.value)
            depth += (later.value in ("(", "{")) - (later.value in (")", "}")) if later.kind == "mark" else 0
            if depth <= 0 and later.kind == "mark" and later.value in (")", "}"):
                break
        yield frozenset(found)


def _named(items: list[Item], at: int) -> frozenset[str]:
    """The variables of ``(expression AS ?variable)``, found from its AS."""
    found = {items[at + 1].value} if at + 1 < len(items) and items[at + 1].kind == "variable" else set()
    depth = 0
    for item in reversed(items[:at]):
        depth += (item.value == ")") - (item.value == "(") if item.kind == "mark" else 0
        if depth < 0:
            break
        if item.kind == "variable":
            found.add(item.value)
    return frozenset(found)


def _values(items: list[Item]) -> dict[str, tuple[Item, ...]]:
    """The IRIs of ``VALUES ?x { … }``."""
    found: dict[str, tuple[Item, ...]] = {}
    for start, item in enumerate(items[:-2]):
        if item.kind == "word" and item.value == "VALUES" and items[start + 1].kind == "variable":
            end = next((i for i in range(start + 3, len(items)) if items[i].value == "}"), len(items))
            found[items[start + 1].value] = tuple(i for i in items[start + 3 : end] if i.kind == "iri")
    return found


def _items(text: str, prefixes: dict[str, str]) -> Iterator[Item]:
    """The tokens as items; prologue read into the prefixes, literals joined with their tag or datatype."""
    raw = list(_places(text))
    at = 0
    while at < len(raw):
        kind, value, place = raw[at]
        upper = value.upper()
        if kind == "word" and upper == "PREFIX" and at + 2 < len(raw) and raw[at + 2][0] == "iri":
            prefixes[raw[at + 1][1].rstrip(":")] = raw[at + 2][1][1:-1]
            at += 3
            continue
        if kind == "word" and upper == "BASE":
            at += 2
            continue
        if kind == "string":
            item, used = _literal(raw, at, prefixes)
            yield item
            at += used
            continue
        yield _plain(kind, value, place, prefixes)
        at += 1


def _places(text: str) -> Iterator[_Raw]:
    """The tokens but for comments, each with its line and column."""
    line, line_start = 1, 0
    last = 0
    for match in TOKEN.finditer(text):
        breaks = text.count("\n", last, match.start())
        if breaks:
            line += breaks
            line_start = text.rfind("\n", 0, match.start()) + 1
        last = match.start()
        if match.lastgroup != "comment":
            yield match.lastgroup or "", match.group(), (line, match.start() - line_start + 1)


def _plain(kind: str, value: str, place: tuple[int, int], prefixes: Mapping[str, str]) -> Item:
    line, column = place
    if kind == "iri":
        return Item("iri", value[1:-1], line, column=column)
    if kind == "name":
        prefix, _, local = value.partition(":")
        if prefix in prefixes:
            return Item("iri", prefixes[prefix] + local.replace("\\", ""), line, column=column)
        return Item("unknown", value, line, column=column)
    if kind == "variable":
        return Item("variable", value[1:], line, column=column)
    if kind == "number":
        return Item("literal", value, line, datatype="number", column=column)
    if kind == "word":
        if value == "a":
            return Item("iri", _RDF_TYPE, line, column=column)
        if value in ("true", "false"):
            return Item("literal", value, line, datatype="boolean", column=column)
        return Item("word", value.upper(), line, column=column)
    return Item("blank" if kind == "blank" else "mark", value, line, column=column)


def _literal(raw: list[_Raw], at: int, prefixes: Mapping[str, str]) -> tuple[Item, int]:
    _, value, (line, column) = raw[at]
    quotes = 3 if value[:3] in ('"""', "'''") and len(value) >= 6 else 1
    content = value[quotes:-quotes]
    if at + 1 < len(raw) and raw[at + 1][0] == "lang":
        return Item("literal", content, line, language=raw[at + 1][1][1:], column=column), 2
    if at + 2 < len(raw) and raw[at + 1][0] == "datatype":
        datatype = _plain(raw[at + 2][0], raw[at + 2][1], (line, column), prefixes).value
        return Item("literal", content, line, datatype=datatype, column=column), 3
    return Item("literal", content, line, column=column), 1


def _projection(items: list[Item]) -> tuple[Item, ...]:
    """The plain variables after the first SELECT."""
    start = next((i for i, item in enumerate(items) if item.kind == "word" and item.value == "SELECT"), None)
    if start is None:
        return ()
    found: list[Item] = []
    depth = 0
    for item in items[start + 1 :]:
        if item.value == "{" or (item.kind == "word" and item.value in ("WHERE", "FROM")):
            break
        depth += (item.value == "(") - (item.value == ")") if item.kind == "mark" else 0
        if item.kind == "variable" and depth == 0:
            found.append(item)
    return tuple(found)


def _assigned(items: list[Item]) -> set[str]:
    """Variables given a value by AS or VALUES, or bound by GRAPH."""
    found: set[str] = set()
    for i, item in enumerate(items[:-1]):
        following = items[i + 1]
        if item.kind != "word":
            continue
        if item.value in ("AS", "GRAPH", "VALUES") and following.kind == "variable":
            found.add(following.value)
        elif item.value == "VALUES" and following.value == "(":
            for later in items[i + 2 :]:
                if later.value == ")":
                    break
                if later.kind == "variable":
                    found.add(later.value)
    return found


def _step(walk: _Walk) -> None:
    item = walk.items[walk.at]
    if item.kind == "word":
        _word(walk, item)
    elif item.kind in ("iri", "variable", "blank", "literal", "unknown") or (item.kind == "mark" and item.value == "["):
        _triples(walk)
    else:
        walk.at += 1


def _word(walk: _Walk, item: Item) -> None:
    walk.at += 1
    if item.value in ("FILTER", "BIND", "HAVING"):
        _expression(walk)
    elif item.value == "VALUES":
        _until(walk, "}")
    elif item.value in ("GRAPH", "SERVICE"):
        walk.at += 1
    elif item.value in ("SELECT", "GROUP", "ORDER", "LIMIT", "OFFSET", "FROM"):
        while walk.at < len(walk.items) and walk.items[walk.at].value not in ("{", "}"):
            if walk.items[walk.at].kind == "word" and walk.items[walk.at].value in ("WHERE", *_CLAUSES - {"SELECT"}):
                break
            walk.at += 1


def _expression(walk: _Walk) -> None:
    """Passes over a bracketed expression or call; stops at an EXISTS group, which is read like any other."""
    depth = 0
    while walk.at < len(walk.items):
        item = walk.items[walk.at]
        if item.value == "{" and item.kind == "mark":
            return
        if item.kind == "mark":
            depth += (item.value == "(") - (item.value == ")")
            if item.value == "}":
                return
        walk.at += 1
        if depth == 0 and item.value == ")":
            return


def _until(walk: _Walk, mark: str) -> None:
    while walk.at < len(walk.items):
        walk.at += 1
        if walk.items[walk.at - 1].value == mark:
            return


def _triples(walk: _Walk) -> None:
    """Reads ``s p o ; p o , o`` up to the full stop or brace that ends it."""
    subject = walk.items[walk.at]
    walk.at += 1
    while walk.at < len(walk.items):
        predicates, plain, inverse = _path(walk)
        if not predicates:
            return
        while walk.at < len(walk.items):
            object_ = walk.items[walk.at]
            if object_.kind == "word" or object_.value in ("}", "{", "."):
                return
            walk.at += 1
            walk.triples.append(Pattern(subject, predicates, object_, plain, inverse))
            if not _follows(walk, ","):
                break
        if not _follows(walk, ";"):
            return
        while _follows(walk, ";"):
            pass


def _follows(walk: _Walk, mark: str) -> bool:
    if walk.at < len(walk.items) and walk.items[walk.at].kind == "mark" and walk.items[walk.at].value == mark:
        walk.at += 1
        return True
    return False


def _path(walk: _Walk) -> tuple[tuple[Item, ...], bool, bool]:
    """The IRIs of a verb or property path; a term directly after a term (no operator between) is the object."""
    found: list[Item] = []
    marks: list[str] = []
    depth = 0
    expects = True
    while walk.at < len(walk.items):
        item = walk.items[walk.at]
        if item.kind in ("iri", "variable", "unknown"):
            if not expects:
                break
            found.append(item)
            expects = False
        elif item.kind == "mark" and item.value in ("(", "^", "!", "/", "|"):
            if item.value == "(" and not expects:
                break
            expects = True
        elif item.kind == "mark" and (item.value in ("*", "+", "?") or (item.value == ")" and depth)):
            pass
        else:
            break
        if item.kind == "mark":
            depth += (item.value == "(") - (item.value == ")")
            marks.append(item.value)
        walk.at += 1
    return tuple(found), not marks, marks == ["^"]
