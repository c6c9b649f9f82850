"""Plain text and Markdown: the text as written, its title and what its head says of author and date."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from kgplatform.documents.decoding import decode
from kgplatform.documents.parts import Part, file_title, iso_date, one_line

TEXT_TYPE: Final = "text/plain"
MARKDOWN_TYPE: Final = "text/markdown"
_TITLE_LENGTH = 100
_HEAD_LINES = 10
_HEAD_LINE = re.compile(
    r"^\s*[【\[]?(?:(?P<title>title|标题|题目)|(?P<author>author|by|作者)"
    r"|(?P<created>date|time|created|published|日期|时间|发布时间|发布日期|发表时间))[】\]]?\s*[:：]\s*(?P<value>\S.*)$",
    re.IGNORECASE,
)
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?P<head>.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_HEADING = re.compile(r"^#{1,6}[ \t]+(?P<title>[^\s#].*)$", re.MULTILINE)
_UNDERLINED = re.compile(r"^(?P<title>[^\s>*+\-#|][^\n]*)\n=+[ \t]*$", re.MULTILINE)
_MARKS = re.compile(r"[*_`]{1,3}|!?\[([^\]]*)\]\([^)]*\)")
_DECORATION = " \t#*=-_~【】[]"


def read_text(path: Path, data: bytes) -> list[Part]:
    """The one document of a plain-text file; its first line is the title where it is short enough for one.

    Raises:
        ReadError: binary content, or an encoding that cannot be told.
    """
    text = decode(data, path=path)
    head = _head(text)
    title = head.get("title") or _first_line(text) or file_title(path)
    return [_part(text, title, TEXT_TYPE, head)]


def read_markdown(path: Path, data: bytes) -> list[Part]:
    """The one document of a Markdown file, text kept as written; title from front matter or the first heading.

    Raises:
        ReadError: binary content, or an encoding that cannot be told.
    """
    text = decode(data, path=path)
    front = _FRONT_MATTER.match(text)
    head = _head(front["head"]) if front else {}
    body = text[front.end() :] if front else text
    title = head.get("title") or _first_heading(body) or _first_line(body) or file_title(path)
    return [_part(text, title, MARKDOWN_TYPE, head)]


def _part(text: str, title: str, media_type: str, head: dict[str, str]) -> Part:
    created = head.get("created")
    return Part(text, title, media_type, author=head.get("author"), created=iso_date(created) if created else None)


def _head(text: str) -> dict[str, str]:
    """What the first lines name as title, author and date; the first of each counts."""
    found: dict[str, str] = {}
    for line in text[:4000].split("\n")[:_HEAD_LINES]:
        match = _HEAD_LINE.match(line[:300])
        if match and match.lastgroup:
            kind = next(name for name in ("title", "author", "created") if match[name])
            found.setdefault(kind, one_line(match["value"]).strip("\"'"))
    return found


def _first_heading(text: str) -> str:
    matches = [match for match in (_HEADING.search(text), _UNDERLINED.search(text)) if match]
    if not matches:
        return ""
    first = min(matches, key=lambda match: match.start())
    title = first["title"][: _TITLE_LENGTH * 10].rstrip("# \t")
    return one_line(_MARKS.sub(lambda match: match[1] or "", title))


def _first_line(text: str) -> str:
    lines = (line for line in text.split("\n", 200) if line.strip())
    line = next((line for line in lines if not _HEAD_LINE.match(line[:300])), "")
    title = one_line(line[: _TITLE_LENGTH * 4]).strip(_DECORATION)
    return title if len(title) <= _TITLE_LENGTH else ""
