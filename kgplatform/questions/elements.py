"""A query taken apart into the conditions of its outermost group, and put together again with some of them.

The grammar followed is SPARQL 1.1 §19.8, GroupGraphPattern: each triple of a block is a condition of its own, and each
FILTER, BIND, VALUES, OPTIONAL, MINUS, GRAPH, group and union is one. Nothing is executed and nothing recurses.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from kgplatform.questions.patterns import TOKEN

_OPENING = {"{": "}", "(": ")", "[": "]"}
_GROUPS = frozenset(("OPTIONAL", "MINUS", "GRAPH", "SERVICE"))
_PATH_MARKS = frozenset("^!/|")
_PATH_ENDS = frozenset("*+?")


class Form(StrEnum):
    """What a condition is."""

    PATTERN = "pattern"
    FILTER = "filter"
    VALUES = "values"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Element:
    """A condition: its text, which stands on its own, its line (from 1), the variables it speaks of.

    Of a pattern, ``object`` is the text of its object and ``head`` what is before it.
    """

    form: Form
    text: str
    line: int
    variables: frozenset[str]
    head: str = ""
    object: str = ""


@dataclass(frozen=True, slots=True)
class TakenApart:
    """A query as its ``prologue`` (prefixes), ``head`` up to the brace, elements, and ``tail`` from the closing one."""

    prologue: str
    head: str
    elements: tuple[Element, ...]
    tail: str

    def query(self, elements: Iterable[Element]) -> str:
        """The query with these conditions instead of its own."""
        body = "\n".join(f"  {_ended(element)}" for element in elements)
        return f"{self.prologue}{self.head}{{\n{body}\n}}{self.tail[1:]}"

    def rows(self, elements: Iterable[Element], limit: int) -> str:
        """A query for the plain solutions of these conditions, at most ``limit`` of them."""
        body = "\n".join(f"  {_ended(element)}" for element in elements)
        return f"{self.prologue}SELECT * {{\n{body}\n}} LIMIT {limit}"

    def values(self, variable: str, elements: Iterable[Element], limit: int) -> str:
        """A query for the different values of a variable under these conditions."""
        body = "\n".join(f"  {_ended(element)}" for element in elements)
        return f"{self.prologue}SELECT DISTINCT ?{variable} {{\n{body}\n}} LIMIT {limit}"


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


def _ended(element: Element) -> str:
    closed = element.form is not Form.PATTERN and not element.text.endswith("]")
    return element.text if closed else f"{element.text} ."


def taken_apart(text: str) -> TakenApart | None:
    """The query in its parts; None where it has no group or its brackets do not match."""
    tokens = [
        _Token(match.lastgroup or "", match.group(), match.start(), match.end())
        for match in TOKEN.finditer(text)
        if match.lastgroup != "comment"
    ]
    start = _query_start(tokens)
    opening = next((i for i in range(start, len(tokens)) if tokens[i].text == "{"), -1)
    if opening < 0:
        return None
    closing = _closing(tokens, opening)
    if closing >= len(tokens):
        return None
    first = tokens[start].start if start < len(tokens) else 0
    elements = _Reader(text, tokens[:closing], opening + 1).elements()
    return TakenApart(text[:first], text[first : tokens[opening].start], tuple(elements), text[tokens[closing].start :])


def _query_start(tokens: list[_Token]) -> int:
    """Where the prologue ends."""
    at = 0
    while at < len(tokens) and tokens[at].text.upper() in ("PREFIX", "BASE"):
        at += 3 if tokens[at].text.upper() == "PREFIX" else 2
    return at


def _closing(tokens: list[_Token], opening: int) -> int:
    """The bracket that closes this one; past the end where none does."""
    waiting: list[str] = []
    for at in range(opening, len(tokens)):
        token = tokens[at]
        if token.kind == "mark" and token.text in _OPENING:
            waiting.append(_OPENING[token.text])
        elif token.kind == "mark" and waiting and token.text == waiting[-1]:
            waiting.pop()
            if not waiting:
                return at
    return len(tokens)


class _Reader:
    """Reads the conditions of a group one after the other."""

    def __init__(self, text: str, tokens: list[_Token], at: int) -> None:
        self._text = text
        self._tokens = tokens
        self._at = at

    def elements(self) -> list[Element]:
        found: list[Element] = []
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

    def _clause(self, word: str) -> Element:
        start = self._at
        self._at += 1
        if word in _GROUPS or word == "VALUES":
            self._to_group()
        else:
            self._expression()
        form = {"FILTER": Form.FILTER, "VALUES": Form.VALUES}.get(word, Form.OTHER)
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

    def _union(self) -> Element:
        start = self._at
        self._at = min(_closing(self._tokens, self._at) + 1, len(self._tokens))
        while self._at + 1 < len(self._tokens) and self._tokens[self._at].text.upper() == "UNION":
            self._at = min(_closing(self._tokens, self._at + 1) + 1, len(self._tokens))
        return self._made(Form.OTHER, start, self._at)

    def _block(self) -> list[Element]:
        """The triples of one subject."""
        subject = self._term()
        found: list[Element] = []
        while self._at < len(self._tokens) and not self._ends():
            path = self._path()
            if path[0] == path[1]:
                break
            while self._at < len(self._tokens) and not self._ends():
                found.append(self._triple(subject, path, self._term()))
                if not self._passes(","):
                    break
            if not self._passes(";"):
                break
            while self._passes(";"):
                pass
        return found or [self._made(Form.OTHER, *subject)]

    def _triple(self, subject: tuple[int, int], path: tuple[int, int], object_: tuple[int, int]) -> Element:
        head = f"{self._words(subject)} {self._words(path)}"
        value = self._words(object_)
        spans = [*range(*subject), *range(*path), *range(*object_)]
        return Element(Form.PATTERN, f"{head} {value}", self._line(path[0]), self._variables(spans), head, value)

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

    def _made(self, form: Form, first: int, last: int) -> Element:
        return Element(form, self._words((first, last)), self._line(first), self._variables(range(first, last)))

    def _words(self, span: tuple[int, int]) -> str:
        first, last = span
        return self._text[self._tokens[first].start : self._tokens[last - 1].end] if last > first else ""

    def _line(self, at: int) -> int:
        return self._text.count("\n", 0, self._tokens[at].start) + 1

    def _variables(self, places: Iterable[int]) -> frozenset[str]:
        return frozenset(self._tokens[i].text[1:] for i in places if self._tokens[i].kind == "variable")
