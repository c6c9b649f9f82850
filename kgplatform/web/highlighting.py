"""SPARQL text as HTML with its parts marked, without parsing it."""

from __future__ import annotations

import re

from markupsafe import Markup, escape

_PART = re.compile(
    r"""
      (?P<c>\#[^\n]*)
    | (?P<i><[^<>"{}|^`\\\x00-\x20]*>)
    | (?P<s>\"{3}.*?\"{3}|'{3}.*?'{3}|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')
    | (?P<v>[?$]\w+)
    | (?P<n>[^\W\d_][\w\-.]*:[\w\-.%]*|:[\w\-.%]+)
    | (?P<k>[^\W\d]\w*)
    | (?P<d>[+-]?\d+(?:\.\d+)?)
    """,
    re.VERBOSE | re.DOTALL,
)


def highlight(text: str) -> Markup:
    """The text, escaped, with ``<span class="q-…">`` round comments, IRIs, strings, variables, names and keywords."""
    pieces: list[Markup] = []
    end = 0
    for match in _PART.finditer(text):
        pieces.append(escape(text[end : match.start()]))
        pieces.append(Markup('<span class="q-{}">{}</span>').format(match.lastgroup, match.group()))
        end = match.end()
    pieces.append(escape(text[end:]))
    return Markup("").join(pieces)
