"""A linear scan of SPARQL text before any parser sees it.

The parser in the store recurses: ten kilobytes of nested braces, or five thousand OPTIONALs side by side, end the
process, and no exception can be caught. So the text is lexed first (SPARQL 1.1 §19.8, terminals), aware of comments,
strings, IRIs and escapes in names, and length, depth, breadth and tokens are bounded. The same scan tells updates,
SERVICE and LOAD from words in strings.

The scan must never see less than the parser does. A quotation mark that no string closes, or a backslash outside
strings and names, is an error that the parser cannot get past, so the scan ends there. Where the parser reads ``<``
as a comparison although the terminals make an IRI of it (``?a<'>'``), the text is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

MAX_CHARACTERS = 1_000_000
_SHORT = 20_000
MAX_DEPTH = 200
MAX_TOKENS = 200_000
MAX_CLAUSES = 500
"""OPTIONAL, UNION, BIND and their kin: each nests in the one before once parsed."""
MAX_OPERATORS = 5_000
"""Signs that join two things, and in queries the triples too: a chain of them is as deep as it is long."""

_TERMINALS = r"""
      (?P<comment>\#[^\n\r]*+)
    | (?P<iri><(?:[^<>"{}|^`\\\x00-\x20]|\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8})*+>)
    | (?P<long>\"{3}(?:\"{0,2}+(?:[^"\\]|\\.))*+\"{3}|'{3}(?:'{0,2}+(?:[^'\\]|\\.))*+'{3})
    | (?P<string>"(?:[^"\\\n\r]|\\[^\n\r])*+"|'(?:[^'\\\n\r]|\\[^\n\r])*+')
    | (?P<stray>["'\\])
    | (?P<variable>[?$]\w++)
    | (?P<word>[^\W\d][\w\-.]*+(?P<local>:(?:[\w\-.:%]|\\[_~.\-!$&'()*+,;=/?\#@%])*+)?)
    | (?P<name>:(?:[\w\-.:%]|\\[_~.\-!$&'()*+,;=/?\#@%])*+)
    | (?P<lang>@[A-Za-z]++(?:-[A-Za-z0-9]++)*+)
    {numbers}
    | (?P<open>[{(\[]|<<(?![^<>"{}|^`\\\x00-\x20]*+>))
    | (?P<close>[})\]]|>>)
    | (?P<mark>\S)
    """
_NUMBERS = r"| (?P<number>[+-]?(?:\d++\.\d++|\.\d++|\d++)(?:[eE][+-]?\d++)?+) | (?P<datatype>\^\^)"
_TOKEN = re.compile(_TERMINALS.replace("{numbers}", ""), re.VERBOSE | re.DOTALL)
_READ_TOKEN = re.compile(_TERMINALS.replace("{numbers}", _NUMBERS), re.VERBOSE | re.DOTALL)
"""The same terminals with numbers in one piece, for readers; the scan counts every sign of them."""
_PIECE = re.compile(r"\w+|[-.]")

QUERY_FORMS = frozenset({"SELECT", "ASK", "CONSTRUCT", "DESCRIBE"})
_UPDATE_FORMS = frozenset({"INSERT", "DELETE", "LOAD", "CLEAR", "CREATE", "DROP", "COPY", "MOVE", "ADD", "WITH"})
_PROLOGUE = frozenset({"PREFIX", "BASE", "VERSION"})
_CLAUSES = frozenset({"OPTIONAL", "UNION", "MINUS", "BIND", "FILTER", "EXISTS", "VALUES", "GRAPH", "LATERAL"})
_PLAIN = frozenset(
    {"PREFIX", "BASE", "SELECT", "DISTINCT", "REDUCED", "WHERE", "A", "OPTIONAL", "UNION", "GRAPH", "LIMIT", "OFFSET"}
)
"""What a query may say whose variables are all in scope at its end (SPARQL 1.1 §18.2.1)."""
_OPERATORS = frozenset("+-*/|&!^=<>?")
_TRIPLES = frozenset(".;,")
_COMPARED = re.compile(r"(?!<[A-Za-z][A-Za-z0-9+.\-]*://)<.*['(\[#]", re.DOTALL)
"""An IRI that could be a comparison with something that has brackets, quotation marks or a comment in it."""


_JOINED = re.compile(r"[-.]")
_BRACE = re.compile(r"(?:\s|\#[^\n\r]*+)*+\{")
_DECLARATION = r"\s*+PREFIX\s++((?:[A-Za-z][A-Za-z0-9_\-]*+)?+):\s*+<[^<>\"{}|^`\\\x00-\x20]*+>"
_DECLARED = re.compile(f"(?:{_DECLARATION.replace('((', '(?:(')})++", re.IGNORECASE | re.ASCII)
"""Prefixes at the head of a text, where each is three tokens; programs send the same every time."""


@lru_cache(maxsize=256)
def _declared(head: str) -> tuple[str, ...]:
    return tuple(re.findall(_DECLARATION, head, re.IGNORECASE | re.ASCII))


@dataclass(frozen=True, slots=True)
class Scan:
    """What a scan saw: the ``form`` (SELECT, ASK, …, UPDATE or empty), upper-case keywords, and reasons to refuse.

    ``variables`` are in the order of their first use; ``selects_all`` is whether the query begins ``SELECT *``,
    ``star`` where that ``*`` stands, and ``shows_all`` whether ``*`` is sure to mean all of them.
    """

    form: str
    keywords: frozenset[str]
    prefixes: frozenset[str]
    issues: tuple[str, ...]
    variables: tuple[str, ...] = ()
    selects_all: bool = False
    star: int = -1
    shows_all: bool = False

    @property
    def is_update(self) -> bool:
        """Whether the text is a SPARQL Update request."""
        return self.form == "UPDATE"

    @property
    def reaches_network(self) -> bool:
        """Whether the text asks the store to fetch something: SERVICE or LOAD."""
        return bool(self.keywords & {"SERVICE", "LOAD"})


@dataclass(slots=True)
class _Seen:
    """What the scan has come across so far."""

    words: list[str] = field(default_factory=list)
    prefixes: set[str] = field(default_factory=set)
    variables: dict[str, None] = field(default_factory=dict)
    brackets: list[str] = field(default_factory=list)
    deepest: int = 0
    tokens: int = 0
    clauses: int = 0
    operators: int = 0
    triples: int = 0
    selects_all: bool = False
    star: int = -1
    compared: str = ""
    last: str = ""
    before_rows: bool = False

    def declare(self, text: str) -> int:
        """Notes the prefixes that the text begins with; where what follows them starts."""
        if (head := _DECLARED.match(text)) is None:
            return 0
        names = _declared(head.group())
        self.tokens, self.words, self.prefixes, self.last = 3 * len(names), ["PREFIX"] * len(names), set(names), ">"
        return head.end()

    def take(self, match: re.Match[str]) -> None:
        """Notes one token."""
        self.tokens += 1
        kind, token = match.lastgroup, match.group()
        rows_follow = False
        if kind == "variable":
            self.variables[token[1:]] = None
            rows_follow = self.before_rows
        elif kind in ("word", "local"):
            rows_follow = self._word(match, token) == "VALUES"
        elif kind == "mark":
            self._sign(token, match.start())
        elif kind == "open":
            self._open(token)
            rows_follow = self.before_rows and token == "("
        elif kind == "iri":
            self._iri(token)
        elif kind == "close":
            del self.brackets[-1:]
            rows_follow = self.before_rows and token == ")"
        elif kind == "name":
            self.prefixes.add("")
        elif kind == "comment":
            return
        self.before_rows = rows_follow
        self.last = token

    def _word(self, match: re.Match[str], token: str) -> str:
        """Notes a word or a name; the word in capitals."""
        prefix, colon, _ = token.partition(":")
        word = prefix.upper()
        if not colon:
            for part in (word,) if word.isalpha() else _JOINED.split(word):
                self.words.append(part)
                self.clauses += part in _CLAUSES
            return word
        self.prefixes.add(prefix)
        # the parser also reads ``SERVICE:x {`` as the keyword and a name
        if word == "LOAD" or (word == "SERVICE" and _BRACE.match(match.string, match.end())):
            self.words.append(word)
        return ""

    def _open(self, token: str) -> None:
        self.brackets.append("rows" if token == "{" and self.before_rows else token)
        self.deepest = max(self.deepest, len(self.brackets))

    def _iri(self, token: str) -> None:
        if self.brackets[-2:-1] == ["rows"]:  # of VALUES: terms, no comparisons
            return
        operand = self.last[-1:].isalnum() or self.last[-1:] in ("_", '"', "'", ")", ">", ":", ".")
        if operand and self.brackets[-1:] == ["("] and _COMPARED.match(token):
            self.compared = self.compared or token

    def _sign(self, token: str, place: int) -> None:
        self.operators += token in _OPERATORS
        self.triples += token in _TRIPLES
        if token == "*" and not self.brackets and self.last.upper() in ("SELECT", "DISTINCT", "REDUCED"):
            self.selects_all = True
            self.star = place


def scan(text: str) -> Scan:
    """What the text is and whether it is safe to parse; never fails and never recurses."""
    return _known(text) if len(text) <= _SHORT else _scanned(text)  # each of several floors wants to know


@lru_cache(maxsize=256)
def _known(text: str) -> Scan:
    return _scanned(text)


def _scanned(text: str) -> Scan:
    if len(text) > MAX_CHARACTERS:
        issue = f"the query has {len(text):,} characters; {MAX_CHARACTERS:,} are allowed"
        return Scan("", frozenset(), frozenset(), (issue,))
    seen = _Seen()
    start = seen.declare(text)
    for match in _TOKEN.finditer(text, start):
        if match.lastgroup == "stray" or seen.tokens > MAX_TOKENS:
            break
        seen.take(match)
    form = _form(seen.words)
    keywords = frozenset(seen.words)
    return Scan(
        form,
        keywords,
        frozenset(seen.prefixes),
        _issues(seen, has_patterns=form != "UPDATE" or "WHERE" in keywords),
        tuple(seen.variables),
        seen.selects_all,
        seen.star,
        seen.selects_all and bool(seen.variables) and keywords <= _PLAIN and seen.words.count("SELECT") == 1,
    )


@dataclass(frozen=True, slots=True)
class Landmark:
    """A word, bracket or semicolon of SPARQL text: upper-case text, where it stands, and how many brackets are open.

    A bracket has the depth of what it stands in, not of what it encloses.
    """

    text: str
    start: int
    end: int
    depth: int


def landmarks(text: str) -> Iterator[Landmark]:
    """The words, brackets and semicolons, in their order, without those in comments, strings, IRIs and names."""
    depth = 0
    for match in _TOKEN.finditer(text):
        kind, token = match.lastgroup, match.group()
        if kind == "stray":
            return
        if kind == "close":
            depth = max(0, depth - 1)
        if kind in ("open", "close") or (kind == "word" and match["local"] is None) or token == ";":
            yield Landmark(token.upper(), match.start(), match.end(), depth)
        if kind == "open":
            depth += 1


@dataclass(frozen=True, slots=True)
class SparqlToken:
    """A token of SPARQL text as it is written, and where it stands.

    Kinds: ``word`` (no colon in it), ``name`` (prefixed), ``blank``, ``iri``, ``variable``, ``string``, ``lang``,
    ``datatype`` (the two carets), ``number``, ``open`` and ``close`` (brackets), ``mark``, ``comment``.
    """

    kind: str
    text: str
    start: int
    end: int


def tokens(text: str, *, comments: bool = False) -> Iterator[SparqlToken]:
    """The tokens in their order; they end at a quotation mark that no string closes."""
    for match in _READ_TOKEN.finditer(text):
        kind, written, start = match.lastgroup or "mark", match.group(), match.start()
        if kind == "stray":
            return
        if kind in ("word", "local"):
            kind = "word" if match["local"] is None else "name"
        if kind == "name":
            name = written.rstrip(".")
            name += "." * name.endswith("\\")
            yield SparqlToken("blank" if name.startswith("_:") else "name", name, start, start + len(name))
            for place in range(start + len(name), match.end()):
                yield SparqlToken("mark", ".", place, place + 1)
        elif kind == "word":
            for piece in _PIECE.finditer(written):
                sort = "mark" if piece[0] in "-." else "number" if piece[0].isdecimal() else "word"
                yield SparqlToken(sort, piece[0], start + piece.start(), start + piece.end())
        elif comments or kind != "comment":
            yield SparqlToken("string" if kind == "long" else kind, written, start, match.end())


def prologue_length(listed: Sequence[SparqlToken]) -> int:
    """How many of the tokens are declarations of prefixes and of a base."""
    place = 0
    while place < len(listed) and listed[place].text.upper() in ("PREFIX", "BASE"):
        place += 3 if listed[place].text.upper() == "PREFIX" else 2
    return place


def declared_prefixes(listed: Iterable[SparqlToken]) -> dict[str, str]:
    """The prefixes that are declared anywhere among the tokens, with the IRIs they stand for; the last one counts."""
    listed = list(listed)
    declarations = zip(listed, listed[1:], listed[2:], strict=False)
    return {
        name.text[:-1]: iri.text[1:-1]
        for word, name, iri in declarations
        if word.text.upper() == "PREFIX" and name.text.endswith(":") and iri.kind == "iri"
    }


def _form(words: list[str]) -> str:
    for word in words:
        if word in QUERY_FORMS:
            return word
        if word in _UPDATE_FORMS:
            return "UPDATE"
        if word not in _PROLOGUE:
            return ""
    return ""


def _issues(seen: _Seen, *, has_patterns: bool) -> tuple[str, ...]:
    issues = []
    if seen.deepest > MAX_DEPTH:
        issues.append(f"the query nests {seen.deepest} deep; {MAX_DEPTH} is allowed")
    if seen.tokens > MAX_TOKENS:
        issues.append(f"the query has more than {MAX_TOKENS:,} tokens")
    if seen.clauses > MAX_CLAUSES:
        issues.append(f"the query has {seen.clauses:,} clauses such as OPTIONAL and FILTER; {MAX_CLAUSES} are allowed")
    joined = seen.operators + (seen.triples if has_patterns else 0)
    if joined > MAX_OPERATORS:
        issues.append(f"the query joins {joined:,} triples and operands; {MAX_OPERATORS:,} are allowed")
    if seen.compared:
        issues.append(
            f"{seen.compared} can be read as an IRI or as a comparison; put a blank after <, or write it in full"
        )
    return tuple(issues)


def read_only_issues(text: str) -> tuple[str, ...]:
    """Why the text may not run on a read-only path; empty when it may."""
    seen = scan(text)
    if seen.issues:
        return seen.issues
    if seen.is_update:
        return ("this is an update, not a query; use `kgplatform update`",)
    if seen.reaches_network:
        return ("SERVICE reaches another server, which is switched off",)
    return ()


def triple_nesting(text: str) -> int:
    """How deep triple terms (``<<( … )>>``) nest in SPARQL or Turtle text; parsers recurse into them too."""
    depth = deepest = 0
    for match in _TOKEN.finditer(text):
        if match.lastgroup == "stray":
            break
        if match.group() == "<<":
            depth += 1
            deepest = max(deepest, depth)
        elif match.group() == ">>":
            depth = max(0, depth - 1)
    return deepest
