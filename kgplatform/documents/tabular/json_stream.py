"""JSON read value by value, so that an array of any length passes through a small buffer (RFC 8259, RFC 6901)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, TextIO, TypeAlias

from kgplatform.errors import ReadError

Json: TypeAlias = "dict[str, Json] | list[Json] | str | bool | None"
"""A value; numbers are kept as they are written."""

_CHUNK = 1 << 18
LARGEST_VALUE: Final = 16 << 20
_DEEPEST_WALK = 6
_MOST_ARRAYS = 1000
_CONSTANTS = {"NaN": None, "Infinity": "INF", "-Infinity": "-INF"}
DECODER: Final = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_CONSTANTS.get, strict=False)


class JsonStream:
    """A JSON text, of which a part at a time is in memory.

    Each method reads on from where the last one stopped, and raises `ReadError` with the line where the text is
    not JSON or one value of it is larger than 16 million characters.
    """

    def __init__(self, handle: TextIO, path: Path) -> None:
        self._handle = handle
        self._path = path
        self._buffer = ""
        self._at = 0
        self._ended = False
        self._lines = 1

    def peek(self) -> str:
        """The next character that is not blank; empty at the end."""
        while True:
            while self._at < len(self._buffer):
                if self._buffer[self._at] not in " \t\r\n\ufeff":
                    return self._buffer[self._at]
                self._at += 1
            if self._ended:
                return ""
            self._more()

    def value(self) -> Json:
        """The next value, whole."""
        self.peek()
        while True:
            try:
                found, end = DECODER.raw_decode(self._buffer, self._at)
            except json.JSONDecodeError as error:
                if self._ended or not self._may_be_cut(error):
                    raise self._wrong(error.msg, error.pos) from error
            except RecursionError as error:
                raise self._wrong("is nested too deeply") from error
            else:
                if end < len(self._buffer) or self._ended:
                    self._at = end
                    value: Json = found
                    return value
            self._more()

    def keys(self) -> Iterator[str]:
        """The names in the object that comes next; the caller reads the value of each before asking for another."""
        self._take("{")
        if self.peek() == "}":
            self._take("}")
            return
        while True:
            if self.peek() != '"':
                raise self._wrong("a name in quotation marks is expected")
            key = self.value()
            self._take(":")
            yield str(key)
            if self._take(",", "}") == "}":
                return

    def items(self) -> Iterator[None]:
        """A step for each value in the array that comes next; the caller reads it before asking for another."""
        self._take("[")
        if self.peek() == "]":
            self._take("]")
            return
        while True:
            yield None
            if self._take(",", "]") == "]":
                return

    def skip(self, depth: int = 0) -> None:
        """Passes over the next value."""
        sign = self.peek()
        if depth < _DEEPEST_WALK and sign == "[":
            for _ in self.items():
                self.value()
        elif depth < _DEEPEST_WALK and sign == "{":
            for _ in self.keys():
                self.skip(depth + 1)
        else:
            self.value()

    def seek(self, steps: Sequence[str]) -> bool:
        """Goes to the value that the steps of a JSON Pointer lead to; whether there is one."""
        if not steps:
            return bool(self.peek())
        sign = self.peek()
        if sign == "{":
            for key in self.keys():
                if key == steps[0]:
                    return self.seek(steps[1:])
                self.skip()
        elif sign == "[" and steps[0].isdecimal():
            for place, _ in enumerate(self.items()):
                if place == int(steps[0]):
                    return self.seek(steps[1:])
                self.skip()
        return False

    def arrays(self, pointer: str = "") -> Iterator[str]:
        """The JSON Pointers of the arrays that begin with an object, as far as they lie in objects only."""
        sign = self.peek()
        depth = pointer.count("/")
        if sign == "[":
            yield from self._array(pointer)
        elif sign == "{" and depth < _DEEPEST_WALK:
            for count, key in enumerate(self.keys()):
                if count < _MOST_ARRAYS:
                    yield from self.arrays(f"{pointer}/{key.replace('~', '~0').replace('/', '~1')}")
                else:
                    self.skip()
        else:
            self.skip()

    def _array(self, pointer: str) -> Iterator[str]:
        for place, _ in enumerate(self.items()):
            if place == 0 and self.peek() == "{":
                yield pointer
            self.value()

    def finish(self) -> None:
        """Makes sure that nothing follows."""
        if self.peek():
            raise self._wrong("more text follows where the JSON should end")

    def _take(self, *signs: str) -> str:
        sign = self.peek()
        if sign not in signs:
            raise self._wrong(f"{' or '.join(signs)} is expected" + ("" if sign else ", but the text ends"))
        self._at += 1
        return sign

    def _may_be_cut(self, error: json.JSONDecodeError) -> bool:
        """Whether more text could mend the error: it is in an open string or at the end of what has been read."""
        return error.msg.startswith("Unterminated string") or error.pos >= len(self._buffer) - 16

    def _more(self) -> None:
        kept = len(self._buffer) - self._at
        if kept > LARGEST_VALUE:
            raise self._wrong("a value is larger than 16 million characters; split it or use JSON lines")
        self._lines += self._buffer.count("\n", 0, self._at)
        read = self._handle.read(max(_CHUNK, kept))
        self._buffer = self._buffer[self._at :] + read
        self._at = 0
        self._ended = not read

    def _wrong(self, message: str, position: int | None = None) -> ReadError:
        line = self._lines + self._buffer.count("\n", 0, self._at if position is None else position)
        return ReadError(f"line {line}: {message[0].lower()}{message[1:]}", path=self._path)


def steps_of(pointer: str, *, path: Path) -> tuple[str, ...]:
    """The steps of a JSON Pointer (RFC 6901): ``/a~1b/0`` is ``("a/b", "0")``; a missing first slash is let pass."""
    if len(pointer) > 2000:
        raise ReadError("the path behind # is too long", path=path)
    if pointer in ("", "/"):
        return ()
    parts = pointer.removeprefix("/").split("/")
    return tuple(part.replace("~1", "/").replace("~0", "~") for part in parts)
