"""SPARQL text made readable without parsing it: long IRIs as prefixed names, and as HTML with its parts marked."""

from __future__ import annotations

import re
from collections.abc import Mapping

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


_LOCAL = re.compile(r"[A-Za-z_][\w\-]*", re.ASCII)
_DECLARATION = re.compile(r"\bPREFIX\s+(\S*):", re.IGNORECASE)


def compact(text: str, prefixes: Mapping[str, str]) -> str:
    """The query with prefixed names for the IRIs that the prefixes cover, and the declarations of those it uses."""
    declared = set(_DECLARATION.findall(text))
    used: dict[str, None] = {}

    def shorter(match: re.Match[str]) -> str:
        found = match.group()
        if match.lastgroup == "n":
            used[found.partition(":")[0]] = None
        if match.lastgroup != "i":
            return found
        for name, namespace in prefixes.items():
            local = found[1:-1].removeprefix(namespace)
            if len(local) < len(found) - 2 and _LOCAL.fullmatch(local) and name not in declared:
                used[name] = None
                return f"{name}:{local}"
        return found

    if declared:  # it has a style of its own
        return text
    short = _PART.sub(shorter, text)
    lines = [f"PREFIX {name}: <{prefixes[name]}>\n" for name in used if name in prefixes]
    return "".join(lines) + short
