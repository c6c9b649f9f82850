"""JSON out of what a language model wrote: finding it, repairing it, and holding it against a JSON Schema.

Small models close a string with the wrong quote, write Chinese marks, forget a comma, write ``NaN`` or ``None``, say a
key twice, or are cut off in mid-sentence. `repaired` reads such a text by the grammar of JSON (RFC 8259) with those
liberties. Nothing is guessed: an item that is cut off is left out and returned as text, so that it can be counted.

Only the schema keywords that the platform's own prompts use are checked: ``type``, ``required``, ``properties``,
``items``, ``enum``. The code that reads the reply checks the meaning of it anyway; this check only has to tell a reply
of the wrong shape from one that is worth reading. See
https://json-schema.org/draft/2020-12/json-schema-validation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from kgplatform.errors import ModelReplyError
from kgplatform.text import has_han
from kgplatform.types import Message

_THINKING: Final = re.compile(r"\A(?:.*?</think(?:ing)?>|\s*<think(?:ing)?>.*)", re.DOTALL | re.IGNORECASE)
_STARTS: Final = re.compile(r"""\{(?=\s*(?:["'“‘}]|[A-Za-z_]\w*\s*:|$))|\[(?=\s*\{)""")
_BLANK: Final = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_BARE: Final = re.compile(r"[^\s,:：\[\]{}\"][^,:，：\[\]{}\n\"]*")
# A Chinese comma often follows a quotation inside a string; it parts two values only before what begins one.
_ENDS_STRING: Final = re.compile(r"""\Z|[:：,}\]]|，\s*(?:["“{\[\d]|true\b|false\b|null\b)""", re.IGNORECASE)
_CLOSES: Final = {'"': '"', "'": "'", "“": "”", "‘": "’"}
_WORDS: Final[dict[str, object]] = {
    "true": True,
    "false": False,
    "null": None,
    "none": None,
    "nan": None,
    "undefined": None,
    "infinity": None,
    "-infinity": None,
}
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_MOST_STARTS, _DEEPEST = 8, 40


@dataclass(frozen=True, slots=True)
class RepairedReply:
    """A value read out of a broken text; ``lost``: the pieces that could not be read; ``is_cut``: it has no end."""

    value: object
    lost: tuple[str, ...] = ()
    is_cut: bool = False

    @property
    def is_whole(self) -> bool:
        """Whether nothing of it is missing."""
        return not self.lost and not self.is_cut


def repaired(text: str) -> RepairedReply | None:
    """The largest object or list in a reply, whole or not; None where there is none at all.

    A key that occurs twice keeps both values: lists are joined, others become a list.

    >>> repaired("{'places': ['Wuzhen', 'Xi").value
    {'places': ['Wuzhen']}
    """
    visible = without_thinking(text)
    best: tuple[int, RepairedReply] | None = None
    position = 0
    for _ in range(_MOST_STARTS):
        start = _STARTS.search(visible, position)
        if start is None:
            break
        reader = _Reader(visible, start.start())
        value = reader.value()
        if best is None or reader.position - start.start() > best[0]:
            best = reader.position - start.start(), RepairedReply(value, tuple(reader.lost), reader.is_cut)
        position = max(reader.position, start.end())
    return best[1] if best else None


def without_thinking(text: str) -> str:
    """The text without the ``<think>`` block that reasoning models put first, and without outer blanks.

    Some servers leave out the opening tag; a block that was cut off has no closing tag and no reply after it.
    """
    return _THINKING.sub("", text, count=1).strip()


def joined(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    """The members of an object, of which models sometimes write one twice: then both count, as one list.

    RFC 8259, §4, leaves open what a repeated name means; the last one alone would silently lose the first.

    >>> joined([("a", [1]), ("b", 2), ("a", [3])])
    {'a': [1, 3], 'b': 2}
    """
    found: dict[str, object] = {}
    for key, value in pairs:
        before = found.get(key)
        if before is None or value is None or before == value:
            found[key] = before if value is None else value
        else:
            found[key] = [*_as_list(before), *_as_list(value)]
    return found


def _as_list(value: object) -> list[object]:
    return value if isinstance(value, list) else [value]


@dataclass(slots=True)
class _Reader:
    """Reads one value from a place on; ``is_cut`` once the text ended inside it."""

    text: str
    position: int
    lost: list[str] = field(default_factory=list)
    is_cut: bool = False
    depth: int = 0

    def value(self) -> object:
        self._skip()
        if self.position >= len(self.text):
            self.is_cut = True
            return None
        first = self.text[self.position]
        if first in "{[":
            return self._nested(first)
        if first in _CLOSES:
            return self._string(_CLOSES[first])
        return self._bare()

    def _nested(self, first: str) -> object:
        self.position += 1
        self.depth += 1
        try:
            if self.depth > _DEEPEST:
                self._lose(self.position)
                return None
            return self._object() if first == "{" else self._list()
        finally:
            self.depth -= 1

    def _object(self) -> dict[str, object]:
        pairs: list[tuple[str, object]] = []
        while not self._ends("}"):
            start = self.position
            key = self._key()
            self._skip()
            if self.text[self.position : self.position + 1] not in (":", "："):
                self._stray(start)
                continue
            self.position += 1
            value = self.value()
            if not (self.is_cut and not isinstance(value, (dict, list))):
                pairs.append((str(key), value))
            elif self.depth == 1:
                self._lose(start)
        return joined(pairs)

    def _key(self) -> object:
        first = self.text[self.position]
        return self._string(_CLOSES[first]) if first in _CLOSES else self._bare()

    def _stray(self, start: int) -> None:
        """Leaves out what is no pair of key and value."""
        if self.position == start:  # a bracket that closes nothing
            self.position += 1
        piece = self.text[start : self.position].strip()
        if piece:
            self.lost.append(piece)

    def _list(self) -> list[object]:
        found: list[object] = []
        while not self._ends("]"):
            start = self.position
            value = self.value()
            if self.is_cut and not isinstance(value, list):
                self._lose(start)
            elif self.position == start:
                self._stray(start)
            else:
                found.append(value)
        return found

    def _ends(self, bracket: str) -> bool:
        """Whether the object or list is over: closed, cut off, or closed by the bracket of what holds it."""
        if self.is_cut:
            return True
        while True:
            self._skip()
            if self.text[self.position : self.position + 1] not in (",", "，"):
                break
            self.position += 1
        if self.position >= len(self.text):
            self.is_cut = True
            return True
        first = self.text[self.position]
        if first == bracket:
            self.position += 1
        return first == bracket or (first in "}]" and self.depth > 1)

    def _string(self, close: str) -> str:
        self.position += 1
        kept: list[str] = []
        while self.position < len(self.text):
            letter = self.text[self.position]
            self.position += 1
            if letter == "\\":
                kept.append(self._escaped())
            elif letter == close and self._may_close(close):
                return "".join(kept)
            else:
                kept.append(letter)
        self.is_cut = True
        return "".join(kept)

    def _escaped(self) -> str:
        letter = self.text[self.position : self.position + 1]
        self.position += 1
        digits = self.text[self.position : self.position + 4]
        if letter == "u" and re.fullmatch(r"[0-9a-fA-F]{4}", digits):
            self.position += 4
            return chr(int(digits, 16))
        return _ESCAPES.get(letter, letter)

    def _may_close(self, close: str) -> bool:
        """Whether a quote ends its string: an apostrophe, or a quotation inside, is followed by more words."""
        after = _BLANK.match(self.text, self.position)
        place = after.end() if after else self.position
        rest = self.text[place : place + 1]
        if _ENDS_STRING.match(self.text, place):
            return True
        return close != "'" and rest in "\"'“" and "\n" in (after.group() if after else "")

    def _bare(self) -> object:
        """A word or number without quotes."""
        found = _BARE.match(self.text, self.position)
        if found is None:
            return None
        self.position = found.end()
        word = found.group().strip()
        if word.casefold() in _WORDS:
            return _WORDS[word.casefold()]
        try:
            return float(word) if re.search(r"[.eE]", word) else int(word)
        except ValueError:
            return word

    def _skip(self) -> None:
        blank = _BLANK.match(self.text, self.position)
        if blank is not None:
            self.position = blank.end()

    def _lose(self, start: int) -> None:
        piece = self.text[start:].strip()
        if self.lost and piece.endswith(self.lost[-1]):  # the same cut, seen from further out
            self.lost.pop()
        if piece:
            self.lost.append(piece)


_FENCE = re.compile(r"```[\w-]*[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL)
_STRING = r'"(?:\\.|[^"\\])*"'
_OPENING = re.compile(r'\{(?=\s*["}])|\[(?=\s*[\[{"\]])')
_BRACKET = re.compile(_STRING + r"|[{}\[\]]", re.DOTALL)
_TRAILING_COMMA = re.compile(r"(" + _STRING + r")|,(?=\s*[}\]])", re.DOTALL)
_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}
_INSTRUCTION = (
    "Reply with one JSON object and nothing else: no explanation, no code fence. "
    "The object must conform to this JSON Schema:\n{schema}"
)
_INSTRUCTION_ZH = "只回复一个 JSON 对象，不要解释，也不要代码块标记。该对象必须符合以下 JSON Schema：\n{schema}"


def json_of(text: str, *, model: str = "") -> dict[str, object]:
    r"""The JSON object in a reply, whatever stands around it.

    Code fences, prose before and after, trailing commas and raw line breaks in strings are tolerated. Of
    several objects the longest counts: drafts and examples in the prose are shorter than the reply itself. Where none
    is JSON, one that is whole but written with other quotes, marks or words (``'a'``, ``“a”：``, ``True``) is read
    as far as nothing of it is lost. An object that is cut off is not repaired.

    >>> json_of('Here it is:\n```json\n{"places": ["乌镇",],}\n```')
    {'places': ['乌镇']}

    Raises:
        ModelReplyError: there is no complete JSON object.
    """
    visible = without_thinking(text)
    for candidates in ([visible], _FENCE.findall(visible), list(_bracketed(visible))):
        for candidate in sorted(candidates, key=len, reverse=True):
            value = _decoded(candidate)
            if isinstance(value, dict):
                return value
    almost = repaired(visible)
    if almost is not None and almost.is_whole and isinstance(almost.value, dict):
        return almost.value
    message = f"{_named(model)} did not reply with a JSON object but with {_excerpt(visible)!r}"
    raise ModelReplyError(message, model=model, reply=text)


_DECODER = json.JSONDecoder(strict=False, parse_constant=lambda _: None, object_pairs_hook=joined)


def mismatch(value: object, schema: Mapping[str, object], place: str = "the reply") -> str | None:
    """What keeps a value from having the shape of a schema, as a clause; None if nothing does."""
    if not _has_type(value, schema.get("type")):
        return f"{place} is not of type {_type_names(schema['type'])}"
    allowed = schema.get("enum")
    if isinstance(allowed, list) and value not in allowed:
        return f"{place} is none of {', '.join(map(str, allowed))}"
    if isinstance(value, dict):
        return _object_mismatch(value, schema, place)
    if isinstance(value, list) and isinstance(items := schema.get("items"), dict):
        found = (mismatch(item, items, f"{place}[{index}]") for index, item in enumerate(value))
        return next(filter(None, found), None)
    return None


def instructed(messages: Sequence[Message], schema: Mapping[str, object]) -> list[Message]:
    """The conversation with the demand for JSON of that shape written into its last message."""
    kept = list(messages)
    last = kept.pop() if kept else Message("user", "")
    wording = _INSTRUCTION_ZH if has_han(last.content) else _INSTRUCTION
    demand = wording.format(schema=json.dumps(schema, ensure_ascii=False))
    return [*kept, Message(last.role, f"{last.content}\n\n{demand}".strip())]


def is_closed(schema: Mapping[str, object]) -> bool:
    """Whether every object in the schema requires all its properties and allows no others.

    Only such schemas may be sent as ``strict``:
    https://platform.openai.com/docs/guides/structured-outputs#supported-schemas.
    """
    properties = schema.get("properties")
    if schema.get("type") == "object":
        required = schema.get("required")
        if not isinstance(properties, dict) or not isinstance(required, list) or set(required) != set(properties):
            return False
        if schema.get("additionalProperties") is not False:
            return False
    inner = [*(properties.values() if isinstance(properties, dict) else ()), schema.get("items")]
    return all(is_closed(part) for part in inner if isinstance(part, dict))


def _decoded(text: str) -> object:
    """The JSON value that is the whole text; None if it is none."""
    for form in (text, _TRAILING_COMMA.sub(lambda match: match.group(1) or "", text)):
        try:
            return _DECODER.decode(form.strip())
        except (ValueError, RecursionError):
            continue
    return None


def _bracketed(text: str) -> Iterator[str]:
    """The outermost bracketed pieces that begin as JSON does; nothing from inside one that never closes."""
    position = 0
    while opening := _OPENING.search(text, position):
        depth = 0
        for token in _BRACKET.finditer(text, opening.start()):
            depth += {"{": 1, "[": 1, "}": -1, "]": -1}.get(token.group(), 0)
            if depth == 0:
                position = token.end()
                yield text[opening.start() : position]
                break
        else:
            return


def _has_type(value: object, wanted: object) -> bool:
    names = [wanted] if isinstance(wanted, str) else wanted
    if not isinstance(names, list):
        return True
    if isinstance(value, bool):
        return "boolean" in names
    if isinstance(value, float) and value.is_integer() and "integer" in names:
        return True
    return any(isinstance(value, _TYPES[name]) for name in names if name in _TYPES)


def _type_names(wanted: object) -> str:
    return wanted if isinstance(wanted, str) else " or ".join(map(str, wanted)) if isinstance(wanted, list) else ""


def _object_mismatch(value: Mapping[str, object], schema: Mapping[str, object], place: str) -> str | None:
    required = schema.get("required")
    for name in required if isinstance(required, list) else ():
        if name not in value:
            return f"{place} lacks {name!r}"
    properties = schema.get("properties")
    for name, part in properties.items() if isinstance(properties, dict) else ():
        if name in value and isinstance(part, dict) and (found := mismatch(value[name], part, f"{place}.{name}")):
            return found
    return None


def _excerpt(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= 80 else line[:79] + "…"


def _named(model: str) -> str:
    return f"model {model!r}" if model else "the model"
