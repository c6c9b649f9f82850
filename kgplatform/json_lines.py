"""Files of JSON Lines that people write: what is wrong with a line is told, and does not stop the rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from kgplatform.errors import ReadError

Item = TypeVar("Item")


def read_json_lines(path: Path, parse: Callable[[str, int], Item], *, what: str) -> tuple[list[Item], list[str]]:
    """What ``parse`` makes of each line that is not blank, and a sentence for each that it refuses by a ValueError.

    ``parse`` gets the line and its number, from 1; ``what`` says what a line is, for the message.

    Raises:
        ReadError: the file cannot be read, or none of its lines can be used; the message says why of the first.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}", path=path) from error
    except UnicodeDecodeError as error:
        raise ReadError(f"is not UTF-8: byte {error.start}", path=path) from error
    found: list[Item] = []
    problems: list[str] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            found.append(parse(line, number))
        except ValueError as error:
            problems.append(f"line {number}: {error}")
        except RecursionError:
            problems.append(f"line {number}: is nested too deeply")
    if not found:
        raise ReadError(f"holds no {what} that can be used: {problems[0] if problems else 'it is empty'}", path=path)
    return found, problems


def id_of(item: Mapping[str, object], number: int | None = None) -> str:
    """The ``id`` of a line; of one without, its number where it is given, for an id may be missing then.

    Raises:
        ValueError: there is none, or it is neither text nor a whole number.
    """
    found = item.get("id")
    if found is None or found == "":
        if number is None or found == "":
            raise ValueError("has no id")
        return str(number)
    if isinstance(found, bool) or not isinstance(found, str | int):
        raise ValueError("its id is neither text nor a number")
    return str(found)
