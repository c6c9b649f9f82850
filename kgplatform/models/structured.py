"""JSON out of what a language model wrote: finding it, mending it, and holding it against a JSON Schema.

Only the schema keywords that the platform's own prompts use are checked: ``type``, ``required``,
``properties``, ``items``, ``enum``. The code that reads the reply checks the meaning of it anyway; this check
only has to tell a reply of the wrong shape from one that is worth reading, so a full validator is not needed.
See https://json-schema.org/draft/2020-12/json-schema-validation.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from kgplatform.errors import ModelReplyError
from kgplatform.models.mending import joined, mended, without_thinking
from kgplatform.protocols import Message
from kgplatform.text import has_han

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
    as far as nothing of it is lost. An object that is cut off is not mended.

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
    almost = mended(visible)
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
