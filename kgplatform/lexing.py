"""A linear scan of SPARQL text before any parser sees it.

The parser in the store recurses: ten kilobytes of nested braces end the process, and no exception can be
caught. So the text is lexed first (SPARQL 1.1 §19.8, terminals), aware of comments, strings and IRIs, and
length, depth and tokens are bounded. The same scan tells updates, SERVICE and LOAD from words in strings.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_CHARACTERS = 1_000_000
MAX_DEPTH = 200
MAX_TOKENS = 200_000

_TOKEN = re.compile(
    r"""
      (?P<comment>\#[^\n]*)
    | (?P<iri><[^<>"{}|^`\\\x00-\x20]*>)
    | (?P<long>\"{3}(?:\"{0,2}(?:[^"\\]|\\.))*\"{3}|'{3}(?:'{0,2}(?:[^'\\]|\\.))*'{3})
    | (?P<string>"(?:[^"\\\n\r]|\\.)*"|'(?:[^'\\\n\r]|\\.)*')
    | (?P<variable>[?$]\w+)
    | (?P<name>[^\W\d_][\w\-.]*:[\w\-.:%\\]*|:[\w\-.:%\\]+|_:[\w\-.]+)
    | (?P<lang>@[A-Za-z]+(?:-[A-Za-z0-9]+)*)
    | (?P<word>[^\W\d]\w*)
    | (?P<open>[{(\[])
    | (?P<close>[})\]])
    | (?P<other>\S)
    """,
    re.VERBOSE | re.DOTALL,
)

_QUERY_FORMS = frozenset({"SELECT", "ASK", "CONSTRUCT", "DESCRIBE"})
_UPDATE_FORMS = frozenset({"INSERT", "DELETE", "LOAD", "CLEAR", "CREATE", "DROP", "COPY", "MOVE", "ADD", "WITH"})
_PROLOGUE = frozenset({"PREFIX", "BASE", "VERSION"})


@dataclass(frozen=True, slots=True)
class Scan:
    """What a scan saw: the ``form`` (SELECT, ASK, …, UPDATE or empty), upper-case keywords, and reasons to refuse."""

    form: str
    keywords: frozenset[str]
    prefixes: frozenset[str]
    issues: tuple[str, ...]

    @property
    def is_update(self) -> bool:
        """Whether the text is a SPARQL Update request."""
        return self.form == "UPDATE"

    @property
    def reaches_network(self) -> bool:
        """Whether the text asks the store to fetch something: SERVICE or LOAD."""
        return bool(self.keywords & {"SERVICE", "LOAD"})


def scan(text: str) -> Scan:
    """What the text is and whether it is safe to parse; never fails and never recurses."""
    if len(text) > MAX_CHARACTERS:
        return Scan(
            "", frozenset(), frozenset(), (f"the query has {len(text):,} characters; {MAX_CHARACTERS:,} are allowed",)
        )
    words: list[str] = []
    prefixes: set[str] = set()
    depth = deepest = tokens = 0
    for match in _TOKEN.finditer(text):
        tokens += 1
        kind = match.lastgroup
        if kind == "word":
            words.append(match.group().upper())
        elif kind == "name":
            prefixes.add(match.group().split(":", 1)[0])
        elif kind == "open":
            depth += 1
            deepest = max(deepest, depth)
        elif kind == "close":
            depth -= 1
        if tokens > MAX_TOKENS:
            break
    return Scan(_form(words), frozenset(words), frozenset(prefixes), _issues(deepest, tokens))


def _form(words: list[str]) -> str:
    for word in words:
        if word in _QUERY_FORMS:
            return word
        if word in _UPDATE_FORMS:
            return "UPDATE"
        if word not in _PROLOGUE:
            return ""
    return ""


def _issues(deepest: int, tokens: int) -> tuple[str, ...]:
    issues = []
    if deepest > MAX_DEPTH:
        issues.append(f"the query nests {deepest} deep; {MAX_DEPTH} is allowed")
    if tokens > MAX_TOKENS:
        issues.append(f"the query has more than {MAX_TOKENS:,} tokens")
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
