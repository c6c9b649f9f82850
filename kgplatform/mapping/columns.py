"""Names of columns inside mappings: any text there is, in a form that no reader of mappings stumbles over.

A reference to a column is written ``$(name)`` in YARRRML and ``{name}`` in RML. Names may hold brackets, quotes,
spaces; what is handed to the engine holds their UTF-8 bytes as hexadecimal digits instead.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_YARRRML = re.compile(r"(?<!\\)\$\(((?:[^()\\]|\\.|\((?:[^()\\]|\\.)*\))+)\)")
_RML = re.compile(r"(?<!\\)\{((?:[^{}\\]|\\.)+)\}")
_MARK = "c_"


def encoded(name: str) -> str:
    """The name as it goes to the engine.

    >>> encoded("price"), decoded(encoded("价格 (¥)"))
    ('c_7072696365', '价格 (¥)')
    """
    return _MARK + name.encode("utf-8", "surrogatepass").hex()


def decoded(name: str) -> str:
    """The name that `encoded` was given."""
    return bytes.fromhex(name.removeprefix(_MARK)).decode("utf-8", "surrogatepass")


def is_encoded(name: str) -> bool:
    """Whether the text is a name as it goes to the engine."""
    return re.fullmatch(rf"{_MARK}(?:[0-9a-f]{{2}})+", name) is not None


def reference(name: str) -> str:
    r"""The reference to a column as YARRRML writes it.

    >>> reference("price"), reference("height (m)")
    ('$(price)', '$(height \\(m\\))')
    """
    return "$(" + re.sub(r"([()\\])", r"\\\1", name) + ")"


def with_encoded(text: str) -> str:
    """The YARRRML text with its references encoded."""
    return _YARRRML.sub(lambda found: f"$({encoded(_plain(found[1]))})", text)


def referred(text: str) -> Iterator[str]:
    """The names of the columns that a YARRRML text refers to."""
    return (_plain(found) for found in _YARRRML.findall(text))


def template_encoded(text: str) -> str:
    """The RML template with its references encoded."""
    return _RML.sub(lambda found: "{" + encoded(_plain(found[1])) + "}", text)


def template_columns(template: str) -> tuple[str, ...]:
    """The encoded names in a template, in order."""
    return tuple(_RML.findall(template))


def filled(template: str, cell: Callable[[str], str]) -> str:
    """The template with the cells of its columns; empty where one of them is."""
    cells = {name: cell(name) for name in template_columns(template)}
    if not all(cells.values()):
        return ""
    return _RML.sub(lambda found: cells[found[1]], template).replace("\\{", "{").replace("\\}", "}")


def _plain(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name)
