"""What the store's parser complains of, as one line with its place."""

from __future__ import annotations

import re

from kgplatform.errors import QuerySyntaxError

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
        reason = "this is not what SPARQL expects here" + _nearest(query, line, column)
    elif len(reason) > 160 or reason.startswith("expected one of"):
        reason = "this is not what SPARQL expects here" + _nearest(query, line, column)
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
