"""Words and letters: normalising names, telling languages apart, cutting sentences, counting tokens; JSON Lines.

No model. Everything here treats Chinese and space-separated scripts alike where it can, and says so where it cannot.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from kgplatform.errors import ReadError

_HAN_RANGES = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_HAN = re.compile(rf"[{_HAN_RANGES}]")
_LETTER = re.compile(r"[^\W\d_]", re.UNICODE)
_OTHER = rf"(?:(?![{_HAN_RANGES}])[^\W_])+"
_WORD = re.compile(rf"[{_HAN_RANGES}]|{_OTHER}(?:['\u2019]{_OTHER})?", re.UNICODE)
_SPACE = re.compile(r"\s+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_]{2})\.(?=[^\W\d_]{2})")
_IDENTIFIER = re.compile(r"\w*(?:[a-z][A-Z]|_)\w*", re.ASCII)
_ARTICLE = re.compile(r"^(?:(?:the|a|an)\s+)+", re.IGNORECASE)
_ACCENT = re.compile(r"(?<=[a-z])[\u0300-\u036f]+")
_SENTENCE_END = re.compile(
    r"[。！？!?；;…]+[”’」』）)\"']*|(?<!\.)\.++[\"'”’)]*+(?=\s|$)|\n\s*\n+|\n(?=\s*[-*#>•|])|(?<=[\u4e00-\u9fff])\n(?=[\u4e00-\u9fff])"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|vs|etc|e\.g|i\.e|Fig|No|approx|al|Inc|Ltd|Co|Jr|Sr|Mt|a\.m|p\.m)|\b[A-Z])\.$"
)
_GOES_ON = re.compile(r" +[a-zà-öø-ÿ]")
_PLAIN = re.compile(r"[0-9A-Za-z\u4e00-\u9fff]+(?: [0-9A-Za-z\u4e00-\u9fff]+)*")
_TRIM = " \t.,:;!?，。：；！？、\"“”‘'’()（）[]【】《》<>"
_SWEDISH_WORDS = """
och att det som på är av för med den till en ett kursen inte om eller ska kan var från har hur vad vilka vilken hos
där när så vid också mellan efter under över genom utan samt dessa denna detta deras sina ges får måste skall
studenten ger finns
"""
_SWEDISH = frozenset(_SWEDISH_WORDS.split())
_NEIGHBOURS_WORDS = """
der die das und ist nicht ein eine mit für auf dem den og ikke er på af til at som det hva hvad hvor jeg vi ei ja on
ovat että mutta sekä het een van niet
"""
_NEIGHBOURS = frozenset(_NEIGHBOURS_WORDS.split())
"""Function words of languages that share words or letters with Swedish: German, Danish, Norwegian, Finnish, Dutch."""
_SWEDISH_LETTER = re.compile("[åäöÅÄÖ]")
_NEIGHBOUR_LETTER = re.compile("[æøßüÆØÜ]")


def normalise(name: str) -> str:
    """A form under which two spellings of one name are equal: NFKC, case-folded, no article, single blanks.

    Apostrophes and hyphens count as written the plain way; accents are kept off Latin letters.

    >>> normalise("The  West-Lake")
    'west lake'
    >>> normalise("ＳＦ１６２５") == normalise("sf1625")
    True
    """
    if _PLAIN.fullmatch(name):  # most names: what follows would only change their case, and the article
        plain = name.lower()
        return plain if not plain.startswith(("a ", "an ", "the ")) else _ARTICLE.sub("", plain)
    text = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    text = re.sub(r"[\u2010-\u2015\-_/]+", " ", text.replace("\u2019", "'").replace("\u2018", "'"))
    text = unicodedata.normalize("NFC", _ACCENT.sub("", unicodedata.normalize("NFD", text)))
    before = ""
    while text != before:  # what an article hid may be trimmed in turn
        before = text
        text = _ARTICLE.sub("", _SPACE.sub(" ", text).strip(_TRIM))
    return text


def words_of_identifier(identifier: str) -> str:
    """The words in a column or local name, blank-separated and lower case.

    >>> words_of_identifier("actualOnRamp"), words_of_identifier("flight_UID"), words_of_identifier("manager.name")
    ('actual on ramp', 'flight uid', 'manager name')
    """
    return _SPACE.sub(" ", _CAMEL.sub(" ", identifier).replace("_", " ").replace("-", " ")).strip().casefold()


def spoken_label(label: str) -> str:
    """The label of a term, its words apart where it is an identifier.

    >>> spoken_label("headOfState"), spoken_label("head of state")
    ('head of state', 'head of state')
    """
    return words_of_identifier(label) if _IDENTIFIER.fullmatch(label) else label


def has_han(text: str) -> bool:
    """Whether a Chinese character occurs."""
    return _HAN.search(text) is not None


def language_of(text: str) -> str:
    """The language of a text, as a BCP 47 tag: ``zh``, ``sv`` or ``en``.

    Chinese when at least a fifth of the letters are Han characters (a Chinese text about Latin-named things
    has about a third); Swedish when its function words are more than twelve per cent of the words, or half of that
    where å, ä and ö are common too; else English.

    >>> [language_of(text) for text in ("乌镇很美", "Vilka kurser ges på våren?", "Der Fluß ist schön", "A boat")]
    ['zh', 'sv', 'en', 'en']
    """
    sample = text[:20_000]
    letters = len(_LETTER.findall(sample))
    if letters and len(_HAN.findall(sample)) / letters >= 0.2:
        return "zh"
    return "sv" if _is_swedish(sample, letters) else "en"


def _is_swedish(sample: str, letters: int) -> bool:
    tokens = [token.strip(".,;:!?()\"'”“") for token in sample.casefold().split()]
    swedish = sum(token in _SWEDISH for token in tokens)
    own_letters = len(_SWEDISH_LETTER.findall(sample))
    if not swedish or len(_NEIGHBOUR_LETTER.findall(sample)) > own_letters:
        return False
    if sum(token in _NEIGHBOURS for token in tokens) > swedish:
        return False
    share = swedish / len(tokens)
    return (len(tokens) >= 5 and share > 0.12) or (own_letters >= 0.01 * letters and share > 0.06)


def words(text: str) -> list[str]:
    """The words of a text, case-folded; each Han character is a word of its own."""
    return [match.group().casefold() for match in _WORD.finditer(text)]


def count_tokens(text: str) -> int:
    """About how many tokens a language model sees: one a Han character, four letters a token elsewhere."""
    han = len(_HAN.findall(text))
    return han + (len(text) - han + 3) // 4


def sentences(text: str, start: int = 0, end: int | None = None) -> Iterator[tuple[int, int]]:
    """The offsets of the sentences of ``text[start:end]``, in order, without surrounding blanks.

    Ends are 。！？； and their Latin forms, an empty line, a line break before a new item or heading, and a full stop
    before a blank; not after an abbreviation or initial, nor in brackets that a small letter follows.
    """
    stop = len(text) if end is None else end
    begin = start
    for match in _SENTENCE_END.finditer(text, start, stop):
        if match.group().startswith(".") and (
            _ABBREVIATION.search(text[max(begin, match.start() - 12) : match.start() + 1])
            or (match.group().endswith(")") and _GOES_ON.match(text, match.end()))
        ):
            continue
        yield from _trimmed(text, begin, match.end())
        begin = match.end()
    yield from _trimmed(text, begin, stop)


def _trimmed(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    if start < end:
        yield start, end


_PLURAL_IN_S = ("ouses", "auses", "ovies", "ookies", "menus")
"""Endings of plurals that only add an s to a word in -use, -ie or -u: houses, movies, menus."""


@lru_cache(maxsize=4096)
def singular(word: str) -> str:
    """The singular of a regular English noun; other words as they are.

    >>> [singular(w) for w in ("hotels", "dishes", "cities", "glass", "buses", "houses")]
    ['hotel', 'dish', 'city', 'glass', 'bus', 'house']
    """
    if word.endswith(_PLURAL_IN_S):
        return word[:-1]
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "sses", "xes", "zzes", "uses")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


Item = TypeVar("Item")


def with_article(label: str) -> str:
    """The label with its English article, where it takes one: a hotel, an inn, 酒店."""
    if not label[:1].isascii():
        return label
    return f"{'an' if label[:1].casefold() in 'aeiou' else 'a'} {label}"


def read_json_lines(
    path: Path, parse: Callable[[dict[str, Any], int], Item], *, what: str, key: Callable[[Item], str] | None = None
) -> tuple[list[Item], list[str]]:
    """What ``parse`` makes of the object in each line, and a sentence for each that it refuses by a ValueError.

    ``parse`` gets the object and the number of its line, from 1; ``what`` says what a line is, for the message. With a
    ``key``, of two lines that have it the second is refused.

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
    seen: set[str] = set()
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            made = parse(_json_object(line), number)
            if key and (name := key(made)) in seen:
                raise ValueError(f"the id {name!r} occurs twice")
        except ValueError as error:
            problems.append(f"line {number}: {error}")
            continue
        found.append(made)
        if key:
            seen.add(name)
    if not found:
        raise ReadError(f"holds no {what} that can be used: {problems[0] if problems else 'it is empty'}", path=path)
    return found, problems


def _json_object(line: str) -> dict[str, Any]:
    try:
        item = json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"is not JSON: {error.msg}") from error
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error
    if not isinstance(item, dict):
        raise ValueError("is not an object")
    return item


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
