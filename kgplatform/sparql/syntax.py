"""What a query says, read from its tokens without executing it and without recursion.

`patterns_of` gives the triple patterns and terms of a whole query (SPARQL 1.1 §19.8, TriplesBlock): expressions are
passed over, except for the groups of their EXISTS; of a property path every IRI is given. `split_query` gives the
elements of the outermost group (§19.8, GroupGraphPattern): each triple of a block, FILTER, BIND, VALUES, OPTIONAL,
MINUS, GRAPH, group and union is one; and a query can be put together again with some of them. `syntax_error` is what
the store's parser complains of.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise

from kgplatform.errors import QuerySyntaxError
from kgplatform.sparql.tokens import SparqlToken, prologue_length, scan, tokens
from kgplatform.vocab import TYPE

_PLACE = re.compile(r"error at (\d+):(\d+): (.*)", re.DOTALL)
_KEYWORD = re.compile(r"expected ([A-Z_]+)")
PARSER_PLACE = re.compile(r"^Parser error (?:at|between) line (\d+) (?:between )?columns? (\d+)[^:]*: (.*)", re.DOTALL)
"""Where a parser of RDF stopped."""


def syntax_error(error: SyntaxError, query: str) -> QuerySyntaxError:
    """The store's complaint as one line with its place; lists of expected characters are left out."""
    message = str(error)
    match = _PLACE.search(message) or PARSER_PLACE.search(message)
    line, column, reason = (int(match[1]), int(match[2]), match[3]) if match else (0, 0, message)
    if "Prefix not found" in reason:
        reason, column = _undeclared(query, line, column)
    elif (keyword := _KEYWORD.fullmatch(reason)) and column > len(keyword[1]):
        column -= len(keyword[1])  # the parser counts from behind the word that it looked for
        reason = "unexpected here" + _nearest(query, line, column)
    elif len(reason) > 160 or reason.startswith("expected one of"):
        reason = "unexpected here" + _nearest(query, line, column)
    return QuerySyntaxError(" ".join(reason.split()), query=query, line=line, column=column)


def _undeclared(query: str, line: int, column: int) -> tuple[str, int]:
    """What is wrong, and where the name begins behind which the parser stopped."""
    lines = query.splitlines()
    before = lines[line - 1][: max(0, column - 1)] if 0 < line <= len(lines) else ""
    match = re.search(r"([\w\-.]*:)[^\s:<>{}()]*$", before)
    if match is None:
        return "a prefix is used that is not declared", column
    return f"the prefix {match[1]} is not declared", match.start() + 1


def _nearest(query: str, line: int, column: int) -> str:
    lines = query.splitlines()
    if not 0 < line <= len(lines):
        return ""
    rest = lines[line - 1][max(0, column - 1) :].strip()[:30]
    return f": {rest!r}" if rest else " (the text ends too early)"


_CLAUSES = frozenset(
    ("GROUP", "ORDER", "HAVING", "LIMIT", "OFFSET", "VALUES", "SELECT", "FROM", "CONSTRUCT", "DESCRIBE")
)


@dataclass(frozen=True, slots=True)
class SyntaxItem:
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
class TriplePattern:
    """A triple pattern; ``predicates`` are all IRIs of its path, ``plain`` if it is a single one followed forwards."""

    subject: SyntaxItem
    predicates: tuple[SyntaxItem, ...]
    object: SyntaxItem
    plain: bool
    inverse: bool = False


@dataclass(frozen=True, slots=True)
class QueryPatterns:
    """What a query says: its triple patterns, all IRIs, what it projects and what it binds.

    ``mentioned`` are the variables outside of patterns, ``together`` those of one expression, ``calls`` the IRIs that
    are called as functions, ``values`` those that VALUES gives a single variable, ``graphs`` those of GRAPH and FROM.
    """

    triples: tuple[TriplePattern, ...]
    terms: tuple[SyntaxItem, ...]
    projected: tuple[SyntaxItem, ...]
    bound: frozenset[str]
    mentioned: tuple[SyntaxItem, ...] = ()
    together: tuple[frozenset[str], ...] = ()
    calls: tuple[SyntaxItem, ...] = ()
    values: Mapping[str, tuple[SyntaxItem, ...]] = field(default_factory=dict)
    graphs: tuple[SyntaxItem, ...] = ()


@dataclass(slots=True)
class _Walk:
    items: list[SyntaxItem]
    at: int = 0
    triples: list[TriplePattern] = field(default_factory=list)


def patterns_of(text: str, prefixes: Mapping[str, str]) -> QueryPatterns:
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
    return QueryPatterns(
        triples=tuple(walk.triples),
        terms=tuple(i for i in items if i.kind == "iri"),
        projected=projected,
        bound=frozenset(bound),
        mentioned=tuple(i for i in items if i.kind == "variable"),
        together=tuple(_together(items)),
        calls=tuple(item for item, after in calls if item.kind == "iri" and after == "(" and item.value != TYPE.value),
        values=_values(items),
        graphs=tuple(
            after
            for item, after in pairwise(items)
            if item.kind == "word" and item.value in ("GRAPH", "FROM", "NAMED") and after.kind == "iri"
        ),
    )


def _together(items: list[SyntaxItem]) -> Iterator[frozenset[str]]:
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


def _named(items: list[SyntaxItem], at: int) -> frozenset[str]:
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


def _values(items: list[SyntaxItem]) -> dict[str, tuple[SyntaxItem, ...]]:
    """The IRIs of ``VALUES ?x { … }``."""
    found: dict[str, tuple[SyntaxItem, ...]] = {}
    for start, item in enumerate(items[:-2]):
        if item.kind == "word" and item.value == "VALUES" and items[start + 1].kind == "variable":
            end = next((i for i in range(start + 3, len(items)) if items[i].value == "}"), len(items))
            found[items[start + 1].value] = tuple(i for i in items[start + 3 : end] if i.kind == "iri")
    return found


def _items(text: str, prefixes: dict[str, str]) -> Iterator[SyntaxItem]:
    """The tokens as items; prologue read into the prefixes, literals joined with their tag or datatype."""
    raw = list(tokens(text))
    places = _places(text, raw)
    at = 0
    while at < len(raw):
        token, word = raw[at], raw[at].text.upper() if raw[at].kind == "word" else ""
        if word == "PREFIX" and at + 2 < len(raw) and raw[at + 2].kind == "iri":
            prefixes[raw[at + 1].text.rstrip(":")] = raw[at + 2].text[1:-1]
            at += 3
        elif word == "BASE":
            at += 2
        elif token.kind == "string":
            item, used = _literal(raw, at, places[at], prefixes)
            yield item
            at += used
        else:
            yield _plain(token, places[at], prefixes)
            at += 1


def _places(text: str, raw: Iterable[SparqlToken]) -> list[tuple[int, int]]:
    """The line and column of each token."""
    places = []
    line, line_start, last = 1, 0, 0
    for token in raw:
        if breaks := text.count("\n", last, token.start):
            line += breaks
            line_start = text.rfind("\n", 0, token.start) + 1
        last = token.start
        places.append((line, token.start - line_start + 1))
    return places


def _plain(token: SparqlToken, place: tuple[int, int], prefixes: Mapping[str, str]) -> SyntaxItem:
    kind, value = token.kind, token.text
    line, column = place
    if kind == "iri":
        return SyntaxItem("iri", value[1:-1], line, column=column)
    if kind == "name":
        prefix, _, local = value.partition(":")
        if prefix in prefixes:
            return SyntaxItem("iri", prefixes[prefix] + local.replace("\\", ""), line, column=column)
        return SyntaxItem("unknown", value, line, column=column)
    if kind == "variable":
        return SyntaxItem("variable", value[1:], line, column=column)
    if kind == "number":
        return SyntaxItem("literal", value, line, datatype="number", column=column)
    if kind == "word":
        if value == "a":
            return SyntaxItem("iri", TYPE.value, line, column=column)
        if value in ("true", "false"):
            return SyntaxItem("literal", value, line, datatype="boolean", column=column)
        return SyntaxItem("word", value.upper(), line, column=column)
    return SyntaxItem("blank" if kind == "blank" else "mark", value, line, column=column)


def _literal(
    raw: Sequence[SparqlToken], at: int, place: tuple[int, int], prefixes: Mapping[str, str]
) -> tuple[SyntaxItem, int]:
    value, (line, column) = raw[at].text, place
    quotes = 3 if value[:3] in ('"""', "'''") and len(value) >= 6 else 1
    content = value[quotes:-quotes]
    if at + 1 < len(raw) and raw[at + 1].kind == "lang":
        return SyntaxItem("literal", content, line, language=raw[at + 1].text[1:], column=column), 2
    if at + 2 < len(raw) and raw[at + 1].kind == "datatype":
        datatype = _plain(raw[at + 2], place, prefixes).value
        return SyntaxItem("literal", content, line, datatype=datatype, column=column), 3
    return SyntaxItem("literal", content, line, column=column), 1


def _projection(items: list[SyntaxItem]) -> tuple[SyntaxItem, ...]:
    """The plain variables after the first SELECT."""
    start = next((i for i, item in enumerate(items) if item.kind == "word" and item.value == "SELECT"), None)
    if start is None:
        return ()
    found: list[SyntaxItem] = []
    depth = 0
    for item in items[start + 1 :]:
        if item.value == "{" or (item.kind == "word" and item.value in ("WHERE", "FROM")):
            break
        depth += (item.value == "(") - (item.value == ")") if item.kind == "mark" else 0
        if item.kind == "variable" and depth == 0:
            found.append(item)
    return tuple(found)


def _assigned(items: list[SyntaxItem]) -> set[str]:
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


def _word(walk: _Walk, item: SyntaxItem) -> None:
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
            walk.triples.append(TriplePattern(subject, predicates, object_, plain, inverse))
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


def _path(walk: _Walk) -> tuple[tuple[SyntaxItem, ...], bool, bool]:
    """The IRIs of a verb or property path; a term directly after a term (no operator between) is the object."""
    found: list[SyntaxItem] = []
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


_OPENING = {"{": "}", "(": ")", "[": "]", "<<": ">>"}
_GROUP_CLAUSES = frozenset(("OPTIONAL", "MINUS", "GRAPH", "SERVICE"))
_PATH_MARKS = frozenset("^!/|")
_PATH_ENDS = frozenset("*+?")


class ElementKind(StrEnum):
    """What a condition is."""

    PATTERN = "pattern"
    FILTER = "filter"
    VALUES = "values"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class GroupElement:
    """A condition: its text, which stands on its own, its line (from 1), the variables it speaks of.

    Of a pattern, ``object`` is the text of its object and ``head`` what is before it.
    """

    form: ElementKind
    text: str
    line: int
    variables: frozenset[str]
    head: str = ""
    object: str = ""


@dataclass(frozen=True, slots=True)
class SplitQuery:
    """A query as its ``prologue`` (prefixes), ``head`` up to the brace, elements, and ``tail`` from the closing one."""

    prologue: str
    head: str
    elements: tuple[GroupElement, ...]
    tail: str

    def query(self, elements: Iterable[GroupElement]) -> str:
        """The query with these conditions instead of its own."""
        body = "\n".join(f"  {_ended(element)}" for element in elements)
        return f"{self.prologue}{self.head}{{\n{body}\n}}{self.tail[1:]}"

    def selecting(self, *names: str) -> SplitQuery:
        """The SELECT with these variables too among its columns; one of all variables has them anyway."""
        if "*" in self.head:
            return self
        end = next(
            (token.start for token in tokens(self.head) if token.text.upper() in ("FROM", "WHERE")), len(self.head)
        )
        added = " ".join(f"?{name}" for name in names)
        return replace(self, head=f"{self.head[:end].rstrip()} {added} {self.head[end:].lstrip()}")

    def rows(self, elements: Iterable[GroupElement], limit: int) -> str:
        """A query for the plain solutions of these conditions, at most ``limit`` of them."""
        body = "\n".join(f"  {_ended(element)}" for element in elements)
        return f"{self.prologue}SELECT * {{\n{body}\n}} LIMIT {limit}"

    def values(self, variable: str, elements: Iterable[GroupElement], limit: int) -> str:
        """A query for the different values of a variable under these conditions."""
        body = "\n".join(f"  {_ended(element)}" for element in elements)
        return f"{self.prologue}SELECT DISTINCT ?{variable} {{\n{body}\n}} LIMIT {limit}"


def _ended(element: GroupElement) -> str:
    closed = element.form is not ElementKind.PATTERN and not element.text.endswith("]")
    return element.text if closed else f"{element.text} ."


def split_query(text: str) -> SplitQuery | None:
    """The query in its parts; None where it has no group or its brackets do not match."""
    listed = list(tokens(text))
    start = prologue_length(listed)
    opening = _group_opening(listed, start)
    closing = _closing(listed, opening)
    if closing >= len(listed):
        return None
    first = listed[start].start
    elements = _Reader(text, listed[:closing], opening + 1).elements()
    return SplitQuery(text[:first], text[first : listed[opening].start], tuple(elements), text[listed[closing].start :])


@dataclass(frozen=True, slots=True)
class NestedGroup:
    """A group in braces inside a condition: what stands before its brace, and its conditions or those of its SELECT."""

    head: str
    elements: tuple[GroupElement, ...]
    is_query: bool = False


def groups_in(element: GroupElement) -> tuple[NestedGroup, ...]:
    """The groups of an OPTIONAL, MINUS, GRAPH or union, in their order."""
    text, listed = element.text, list(tokens(element.text))
    found: list[NestedGroup] = []
    at = last = 0
    while at < len(listed):
        if listed[at].text != "{":
            at = _closing(listed, at) + 1 if listed[at].text == "(" else at + 1
            continue
        closing = min(_closing(listed, at), len(listed) - 1)
        is_query = listed[at + 1].text.upper() == "SELECT"
        opening = _group_opening(listed, at + 1) if is_query else at
        inner = listed[: _closing(listed, opening) if is_query else closing]
        elements = _Reader(text, inner, opening + 1, element.line).elements()
        found.append(NestedGroup(text[last : listed[at].start], tuple(elements), is_query))
        at, last = closing + 1, listed[closing].end
    return tuple(found)


def _group_opening(listed: Sequence[SparqlToken], start: int) -> int:
    """The brace of a query's WHERE, not one in an expression or a CONSTRUCT template; past the end if there is none."""
    at = start
    while at < len(listed):
        if listed[at].text == "{" and (at != start + 1 or listed[start].text.upper() != "CONSTRUCT"):
            return at
        at = _closing(listed, at) + 1 if listed[at].text in ("{", "(") else at + 1
    return len(listed)


def all_columns(text: str, limit: int) -> str:
    """``SELECT *`` over the pattern of a SELECT or ASK; empty where it has none."""
    parts = split_query(text)
    if parts is None or scan(text).form not in ("SELECT", "ASK"):
        return ""
    body = text[len(parts.prologue) + len(parts.head) : len(text) - len(parts.tail) + 1]
    values = next((token.start for token in tokens(parts.tail) if token.text.upper() == "VALUES"), None)
    data = "" if values is None else f"\n{parts.tail[values:].strip()}"
    return f"{parts.prologue}SELECT * WHERE {body}\nLIMIT {limit}{data}"


def _closing(listed: Sequence[SparqlToken], opening: int) -> int:
    """The bracket that closes this one; past the end where none does."""
    waiting: list[str] = []
    for at in range(opening, len(listed)):
        token = listed[at].text
        if token in _OPENING:
            waiting.append(_OPENING[token])
        elif waiting and token == waiting[-1]:
            waiting.pop()
            if not waiting:
                return at
    return len(listed)


class _Reader:
    """Reads the conditions of a group one after the other."""

    def __init__(self, text: str, listed: Sequence[SparqlToken], at: int, line: int = 1) -> None:
        self._text = text
        self._tokens = listed
        self._at = at
        self._first = line

    def elements(self) -> list[GroupElement]:
        found: list[GroupElement] = []
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            if token.text in (".", ";", ","):
                self._at += 1
            elif token.kind == "word" and token.text not in ("a", "true", "false"):
                found.append(self._clause(token.text.upper()))
            elif token.text == "{":
                found.append(self._union())
            else:
                found += self._block()
        return found

    def _clause(self, word: str) -> GroupElement:
        start = self._at
        self._at += 1
        if word in _GROUP_CLAUSES or word == "VALUES":
            self._to_group()
        else:
            self._expression()
        form = {"FILTER": ElementKind.FILTER, "VALUES": ElementKind.VALUES}.get(word, ElementKind.OTHER)
        return self._made(form, start, self._at)

    def _to_group(self) -> None:
        """Past the next group in braces."""
        while self._at < len(self._tokens) and self._tokens[self._at].text != "{":
            self._at = _closing(self._tokens, self._at) + 1 if self._tokens[self._at].text == "(" else self._at + 1
        self._at = min(_closing(self._tokens, self._at) + 1, len(self._tokens))

    def _expression(self) -> None:
        """Past a bracketed expression, a call, or an EXISTS group."""
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            if token.text in ("(", "{"):
                self._at = min(_closing(self._tokens, self._at) + 1, len(self._tokens))
                return
            self._at += 1

    def _union(self) -> GroupElement:
        start = self._at
        self._at = min(_closing(self._tokens, self._at) + 1, len(self._tokens))
        while self._at + 1 < len(self._tokens) and self._tokens[self._at].text.upper() == "UNION":
            self._at = min(_closing(self._tokens, self._at + 1) + 1, len(self._tokens))
        return self._made(ElementKind.OTHER, start, self._at)

    def _block(self) -> list[GroupElement]:
        """The triples of one subject; those of one in brackets, which cannot be named twice, in one piece."""
        subject = self._term()
        found: list[GroupElement] = []
        end = self._at
        while self._at < len(self._tokens) and not self._ends():
            path = self._path()
            if path[0] == path[1]:
                break
            while self._at < len(self._tokens) and not self._ends():
                found.append(self._triple(subject, path, self._term()))
                end = self._at
                if not self._passes(","):
                    break
            if not self._passes(";"):
                break
            while self._passes(";"):
                pass
        if len(found) > 1 and self._tokens[subject[0]].text in ("[", "("):
            return [self._made(ElementKind.PATTERN, subject[0], end)]
        return found or [self._made(ElementKind.OTHER, *subject)]

    def _triple(self, subject: tuple[int, int], path: tuple[int, int], object_: tuple[int, int]) -> GroupElement:
        head = f"{self._words(subject)} {self._words(path)}"
        value = self._words(object_)
        spans = [*range(*subject), *range(*path), *range(*object_)]
        return GroupElement(
            ElementKind.PATTERN, f"{head} {value}", self._line(path[0]), self._variables(spans), head, value
        )

    def _term(self) -> tuple[int, int]:
        """The tokens of one term: a bracketed one whole, a literal with its tag or datatype."""
        start = self._at
        token = self._tokens[start]
        if token.text in _OPENING:
            self._at = min(_closing(self._tokens, start) + 1, len(self._tokens))
            return start, self._at
        self._at += 1
        if token.kind == "string" and self._at < len(self._tokens):
            following = self._tokens[self._at].kind
            self._at += {"lang": 1, "datatype": 2}.get(following, 0)
        return start, self._at

    def _path(self) -> tuple[int, int]:
        """The tokens of a verb or path: a term directly after a term is the object."""
        start = self._at
        expects = True
        while self._at < len(self._tokens):
            token = self._tokens[self._at]
            if token.text == "(" and expects:
                self._at = min(_closing(self._tokens, self._at) + 1, len(self._tokens))
                expects = False
            elif token.kind == "mark" and token.text in _PATH_MARKS:
                self._at += 1
                expects = True
            elif token.kind == "mark" and token.text in _PATH_ENDS and not expects:
                self._at += 1
            elif expects and (token.kind in ("iri", "name", "variable") or token.text == "a"):
                self._at += 1
                expects = False
            else:
                break
        return start, self._at

    def _passes(self, mark: str) -> bool:
        if self._at < len(self._tokens) and self._tokens[self._at].text == mark:
            self._at += 1
            return True
        return False

    def _ends(self) -> bool:
        token = self._tokens[self._at]
        return token.text in (".", "{", "}") or (token.kind == "word" and token.text not in ("a", "true", "false"))

    def _made(self, form: ElementKind, first: int, last: int) -> GroupElement:
        return GroupElement(form, self._words((first, last)), self._line(first), self._variables(range(first, last)))

    def _words(self, span: tuple[int, int]) -> str:
        first, last = span
        return self._text[self._tokens[first].start : self._tokens[last - 1].end] if last > first else ""

    def _line(self, at: int) -> int:
        return self._text.count("\n", 0, self._tokens[at].start) + self._first

    def _variables(self, places: Iterable[int]) -> frozenset[str]:
        return frozenset(self._tokens[i].text[1:] for i in places if self._tokens[i].kind == "variable")
