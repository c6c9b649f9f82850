"""Plain text, Markdown and JSON: the text as written, and what its head or its fields say of title, author and date.

Of JSON and JSON Lines, each object is a document: its title, author, time and content, and the rest as lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Final, TypeAlias

from kgplatform.documents.encoding import decode
from kgplatform.documents.parts import (
    DocumentPart,
    clean,
    date_of_timestamp,
    file_title,
    iso_date,
    one_line,
    with_title,
)
from kgplatform.documents.readers.html import looks_like_markup, text_of
from kgplatform.documents.tables.delimited import encoding_of_file, opened_text
from kgplatform.documents.tables.json_tables import JsonStream, json_arrays, steps_of
from kgplatform.errors import ReadError

TEXT_TYPE: Final = "text/plain"
MARKDOWN_TYPE: Final = "text/markdown"
_TITLE_LENGTH = 100
_HEAD_LINES = 10
_HEAD_LINE = re.compile(
    r"^\s*[【\[]?(?:(?P<title>title|标题|题目)|(?P<subject>subject|主题)|(?P<author>author|by|作者)"
    r"|(?P<created>date|time|created|published|日期|时间|发布时间|发布日期|发表时间))[】\]]?\s*[:：]\s*(?P<value>\S.*)$",
    re.IGNORECASE,
)
_FROM = re.compile(r"^(?:from|发件人)[ \t]*[:：][ \t]*\S", re.IGNORECASE | re.MULTILINE)
_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(?P<head>.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_HEADING = re.compile(r"^#{1,6}[ \t]+(?P<title>[^\s#].*)$", re.MULTILINE)
_UNDERLINED = re.compile(r"^(?P<title>[^\s>*+\-#|][^\n]*)\n=+[ \t]*$", re.MULTILINE)
_MARKS = re.compile(r"[*_`]{1,3}|!?\[([^\]]*)\]\([^)]*\)")
_DECORATION = " \t#*=-_~"
_FRAMED = re.compile(r"【([^【】]*)】|\[([^\[\]]*)\]")


def read_text(path: Path, data: bytes) -> list[DocumentPart]:
    """The one document of a plain-text file; its first line is the title where it is short enough for one.

    Raises:
        ReadError: binary content, or an encoding that cannot be told.
    """
    text = decode(data, path=path)
    head = _head(text)
    title = head.get("title") or _first_line(text) or file_title(path)
    return [_part(text, title, TEXT_TYPE, head)]


def read_markdown(path: Path, data: bytes) -> list[DocumentPart]:
    """The one document of a Markdown file, text kept as written; title from front matter or the first heading.

    Raises:
        ReadError: binary content, or an encoding that cannot be told.
    """
    text = decode(data, path=path)
    front = _FRONT_MATTER.match(text)
    head = _head(front["head"]) if front else {}
    body = text[front.end() :] if front else text
    title = head.get("title") or _first_heading(body) or _head(body.lstrip().partition("\n")[0]).get("title")
    return [_part(text, title or _first_line(body) or file_title(path), MARKDOWN_TYPE, head)]


def _part(text: str, title: str, media_type: str, head: dict[str, str]) -> DocumentPart:
    created = head.get("created")
    return DocumentPart(
        text, title, media_type, author=head.get("author"), created=iso_date(created) if created else None
    )


def _head(text: str) -> dict[str, str]:
    """What the first lines name as title, author and date; the first of each counts."""
    found: dict[str, str] = {}
    for line in text[:4000].split("\n")[:_HEAD_LINES]:
        match = _HEAD_LINE.match(line[:300])
        if match and match.lastgroup:
            kind = next(name for name in ("title", "subject", "author", "created") if match[name])
            found.setdefault(kind, one_line(match["value"]).strip("\"'"))
    if "subject" in found and _FROM.search(text[:4000]):  # of a mail; a syllabus has another subject
        found.setdefault("title", found["subject"])
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
    if framed := _FRAMED.fullmatch(title):
        title = (framed[1] or framed[2] or "").strip()
    return title if len(title) <= _TITLE_LENGTH else ""


Json: TypeAlias = "dict[str, Json] | list[Json] | str | int | float | bool | None"
"""A value of JSON."""

JSON_TYPE: Final = "application/json"
_MAX_DEPTH = 60
_MAX_PLACES = 10
_PERSON_NAMES = ("name", "nickname", "username", "nick_name", "screen_name", "昵称", "姓名")
_PERSON_FIELDS = 4
_WORK_FIELDS = frozenset(
    ("year", "venue", "journal", "booktitle", "doi", "isbn", "publisher", "abstract", "年份", "期刊", "摘要")
)
_ROLES: Final[dict[str, tuple[str, ...]]] = {
    "title": ("title", "headline", "subject", "标题", "题目"),
    "author": ("author", "authors", "creator", "nickname", "username", "user", "作者", "用户"),
    "created": (
        *("time", "date", "created", "created_at", "createdat", "published", "published_at", "datepublished"),
        *("timestamp", "publish_time", "pubdate", "发布时间", "发表时间", "时间", "日期"),
    ),
    "content": ("content", "text", "body", "article", "articlebody", "正文", "内容"),
}


def read_json(path: Path, data: bytes, *, pointer: str = "", usual: str = "") -> list[DocumentPart]:
    """The documents of a JSON or JSON Lines file: one for an object, several for a list of them.

    ``pointer`` is a JSON Pointer (RFC 6901) to where the documents are; in it ``*`` stands for every item of a list and
    every value of an object: ``/pages/*/posts``. In JSON Lines it leads on from each line. ``usual`` is one that counts
    where there is no ``pointer``, for files that have something there.

    What is not title, author, time or content follows the content as lines ``name: value``, so that nothing is lost.
    A list wrapped in an object, as interfaces reply (``{"code": 0, "data": […]}``), counts as that list.

    Raises:
        ReadError: not JSON (with line and column), nested too deeply, without any text, or nothing is at the pointer.
    """
    text = decode(data, path=path)
    parts = [_structured_part(item, number, path) for number, item in enumerate(_items(text, path, pointer, usual))]
    kept = [part for part in parts if part.text.strip()]
    if not kept:
        raise ReadError("holds no text: expected an object with a content, or a list of them", path=path)
    return kept


def _items(text: str, path: Path, pointer: str, usual: str) -> list[Json]:
    values = _values(text, path)
    if not pointer and usual and (found := [item for value in values for item in items_at(value, usual)]):
        return found
    if not pointer:
        listed = _unwrapped(values[0]) if len(values) == 1 else values
        return listed if isinstance(listed, list) else [listed]
    found = [item for value in values for item in items_at(value, pointer)]
    if not found:
        raise ReadError(f"there is nothing at #{pointer}{_known_places(values)}", path=path)
    return found


def holds_texts(path: Path, pointer: str) -> bool:
    """Whether what is at a JSON Pointer in a file are texts to be read rather than rows of a table.

    They are where ``*`` is in the pointer, which tables do not know, or where the first item has a content.
    """
    if "*" in pointer.split("/"):
        return True
    try:
        status = path.stat()
    except OSError:
        return False
    return _begins_with_text(path, pointer, status.st_mtime_ns, status.st_size)


def record_arrays(path: Path) -> tuple[str, ...]:
    """The JSON Pointers of the arrays of objects in a file; none if one of them holds texts, or it is not JSON."""
    try:
        status = path.stat()
    except OSError:
        return ()
    return _record_arrays(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=64)
def _record_arrays(path: Path, changed: int, size: int) -> tuple[str, ...]:
    with suppress(ReadError):  # it is told when the file is read
        found = json_arrays(path)
        return () if any(_begins_with_text(path, pointer, changed, size) for pointer in found) else found
    return ()


@lru_cache(maxsize=64)
def _begins_with_text(path: Path, pointer: str, _changed: int, _size: int) -> bool:
    try:
        with opened_text(path, encoding_of_file(path)) as handle:
            stream = JsonStream(handle, path)
            if not stream.seek(steps_of(pointer, path=path)):
                return False
            if stream.peek() == "[" and next(stream.items(), stream) is stream:
                return False
            first = stream.value()
    except ReadError:
        return False
    if isinstance(first, dict) and first and all(isinstance(value, dict) for value in first.values()):
        first = next(iter(first.values()))  # records under keys of their own
    return isinstance(first, dict) and _key(first, "content") is not None


def items_at(value: Json, pointer: str) -> list[Json]:
    """The items of the lists that a JSON Pointer leads to, and what else it leads to; ``*`` in it is any step."""
    reached = [value]
    for step in pointer.lstrip("/").split("/") if pointer.strip("/") else ():
        name = step.replace("~1", "/").replace("~0", "~")
        reached = [inner for outer in reached for inner in _stepped(outer, name)]
    return [item for inner in reached for item in (inner if isinstance(inner, list) else [inner])]


def _stepped(value: Json, name: str) -> list[Json]:
    if isinstance(value, dict):
        return [value[name]] if name in value else list(value.values()) if name == "*" else []
    if isinstance(value, list):
        if name == "*":
            return value
        return [value[int(name)]] if name.isdecimal() and int(name) < len(value) else []
    return []


def _known_places(values: list[Json]) -> str:
    """Where else there would be lists of objects, for a message."""
    found: list[str] = []
    waiting = [("", value) for value in values[:1]]
    while waiting and len(found) < _MAX_PLACES:
        place, value = waiting.pop(0)
        if isinstance(value, list) and any(isinstance(item, dict) for item in value):
            found.append(f"#{place or '/'}")
            waiting += [(f"{place}/*", item) for item in value[:1]]
        elif isinstance(value, dict) and place.count("/") < _MAX_PLACES:
            waiting += [(f"{place}/{key.replace('~', '~0').replace('/', '~1')}", item) for key, item in value.items()]
    return f"; lists are at {', '.join(found)}" if found else ""


def _values(text: str, path: Path) -> list[Json]:
    if path.suffix.lower() in (".jsonl", ".ndjson"):
        return _json_lines(text, path)
    try:
        value = _parsed(text, path)
    except json.JSONDecodeError as error:
        if error.msg == "Extra data" and _first_line_is_json(text, path):
            return _json_lines(text, path)
        raise ReadError(f"line {error.lineno}, column {error.colno}: {error.msg}", path=path) from error
    return [value]


def _first_line_is_json(text: str, path: Path) -> bool:
    first = next((line for line in text.split("\n") if line.strip()), "")
    try:
        _parsed(first, path)
    except json.JSONDecodeError:
        return False
    return True


def _json_lines(text: str, path: Path) -> list[Json]:
    items: list[Json] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            items.append(_parsed(line, path))
        except json.JSONDecodeError as error:
            raise ReadError(f"line {number}, column {error.colno}: {error.msg}", path=path) from error
    return items


def _parsed(text: str, path: Path) -> Json:
    try:
        value: Json = json.loads(text)
    except RecursionError as error:
        raise ReadError("is nested too deeply", path=path) from error
    except json.JSONDecodeError:
        raise
    except ValueError as error:  # a number of thousands of digits
        raise ReadError(f"holds a number that is too long ({error})", path=path) from error
    return value


def _unwrapped(value: Json) -> Json:
    """The list inside an object that holds nothing else but numbers and flags."""
    if not isinstance(value, dict):
        return value
    lists = [inner for inner in value.values() if isinstance(inner, list) and inner]
    others = [inner for inner in value.values() if not isinstance(inner, (list, bool, int, float)) and inner]
    alone = len(lists) == 1 and not others and all(isinstance(item, dict) for item in lists[0])
    return lists[0] if alone else value


def _structured_part(item: Json, number: int, path: Path) -> DocumentPart:
    if not isinstance(item, dict):
        text = item if isinstance(item, str) else "\n".join(_lines("", item, path))
        return DocumentPart(clean(text), file_title(path), JSON_TYPE, number=number)
    keys = {role: key for role in _ROLES if (key := _key(item, role)) is not None}
    title = one_line(_as_text(item[keys["title"]])) if "title" in keys else ""
    created = _date(item[keys["created"]]) if "created" in keys else None
    content = _content(item[keys["content"]], path) if "content" in keys else ""
    used = {keys[role] for role in ("title", "author", "content") if role in keys}
    if "author" in keys and ("content" not in keys or _are_several(item[keys["author"]]) or _is_of_a_work(item)):
        used.discard(keys["author"])  # who wrote a work is said of it; who posted a note is not
    if created is not None:
        used.add(keys["created"])
    rest = [line for key, value in item.items() if key not in used for line in _lines(key, value, path)]
    body = "\n\n".join(block for block in (content, "\n".join(rest)) if block)
    author = one_line(_as_text(item[keys["author"]])) if "author" in keys else ""
    text = with_title(clean(body), clean(title))
    title = clean(title) or _structured_first_line(text) or file_title(path)
    return DocumentPart(text, title, JSON_TYPE, clean(author) or None, created, number)


def _key(item: Mapping[str, object], role: str) -> str | None:
    """The key of the object that plays the role, by the order of preference; its value must be of a fit form."""
    by_name = {key.strip().lower(): key for key in item}
    for name in _ROLES[role]:
        key = by_name.get(name)
        if key is not None and _fits(item[key], role):
            return key
    return None


def _fits(value: object, role: str) -> bool:
    if role == "author" and isinstance(value, dict):
        return _person(value) != ""
    if role == "created":
        return isinstance(value, (str, int, float)) and not isinstance(value, bool)
    if isinstance(value, list):
        return role in ("author", "content") and bool(value) and all(isinstance(entry, str) for entry in value)
    return isinstance(value, str)


def _person(value: Mapping[str, object]) -> str:
    """The name in an object about a person, if that is all or most of what it says in words."""
    named = [value[key] for key in _PERSON_NAMES if isinstance(value.get(key), str)]
    words = [key for key, inner in value.items() if isinstance(inner, (str, list, dict)) and inner]
    return str(named[0]) if named and len(words) <= _PERSON_FIELDS else ""


def _as_text(value: Json) -> str:
    if isinstance(value, dict):
        return _person(value)
    return ", ".join(str(entry) for entry in value) if isinstance(value, list) else str(value)


def _is_of_a_work(item: Mapping[str, object]) -> bool:
    """Whether the object says where and when something was published."""
    return any(key.strip().lower() in _WORK_FIELDS for key in item)


def _are_several(value: Json) -> bool:
    """Whether an author's field is a list of people rather than one name."""
    return isinstance(value, list) or (
        isinstance(value, str) and bool(re.search(r"[,;、，；]\s?\S|\s(?:and|&)\s", value))
    )


def _content(value: Json, path: Path) -> str:
    text = "\n\n".join(str(entry) for entry in value) if isinstance(value, list) else str(value)
    return text_of(text, path=path) if looks_like_markup(text) else text


def _date(value: Json) -> str | None:
    if isinstance(value, str) and not value.strip().isdigit():
        return iso_date(value)
    if isinstance(value, str) and len(value.strip()) <= 8:
        return iso_date(value.strip())
    if isinstance(value, (str, int, float)):
        text = str(value).strip()
        return date_of_timestamp(float(text)) if len(text) <= 20 else None
    return None


def _lines(name: str, value: Json, path: Path, depth: int = 0) -> Iterator[str]:
    """The value as lines ``name: value``, the names of inner values joined by dots."""
    if depth > _MAX_DEPTH:
        raise ReadError("is nested too deeply", path=path)
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _lines(f"{name}.{key}" if name else key, inner, path, depth + 1)
    elif isinstance(value, list) and all(not isinstance(entry, (dict, list)) for entry in value):
        if value:
            entries = [_scalar(entry) for entry in value]
            yield _line(name, ("; " if any("," in entry for entry in entries) else ", ").join(entries))
    elif isinstance(value, list) and (people := [_person(entry) if isinstance(entry, dict) else "" for entry in value]):
        if all(people):
            yield _line(name, "; ".join(people))
        for entry in value:
            yield from _lines(name, _without_name(entry) if all(people) else entry, path, depth + 1)
    elif value is not None and value != "":
        yield _line(name, _scalar(value))


def _without_name(value: Json) -> Json:
    """What else an object about a person says."""
    name = _person(value) if isinstance(value, dict) else ""
    return {key: inner for key, inner in value.items() if inner != name} if isinstance(value, dict) else value


def _line(name: str, value: str) -> str:
    return f"{name}: {value}" if name else value


def _scalar(value: Json) -> str:
    return json.dumps(value) if isinstance(value, bool) or value is None else str(value)


def _structured_first_line(text: str) -> str:
    line = one_line(next((line for line in text.split("\n") if line.strip()), ""))
    return line if len(line) <= 100 else ""
