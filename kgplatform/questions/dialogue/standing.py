"""A question with its thing named by its identifier, where code and day together say which thing is meant."""

from __future__ import annotations

import re
from collections.abc import Callable

from pyoxigraph import Literal

from kgplatform.questions.dialogue.frames import Frame
from kgplatform.questions.dialogue.looking import Wanted, look_up
from kgplatform.questions.dialogue.parsing import Parsed
from kgplatform.text import has_han
from kgplatform.types import Solutions

_BEFORE = re.compile(r"\b(?:on|at|in|of|for|from)(?:\s+the)?\s*$", re.IGNORECASE)
_EDGES = re.compile(r"\s{2,}")


def standing_alone(parsed: Parsed, frame: Frame, run: Callable[[str], Solutions]) -> str:
    """The question with identifiers for its things and without their class word; as it is where that is not clear.

    ``KL787 on 14 March 2025`` becomes the identifier of the one flight that has this number on that day.
    """
    text = parsed.text
    if len(parsed.codes) == 1 and not parsed.identifiers and parsed.window is not None:
        found = _identifier(parsed, frame, run)
        if found:
            text = _replaced(parsed, found)
    elif not parsed.identifiers:
        return text
    return _EDGES.sub(" ", _bare(text, frame)).strip()


def _identifier(parsed: Parsed, frame: Frame, run: Callable[[str], Solutions]) -> str:
    """The identifier of the one thing with the code in the window, by timetable or else by best knowledge."""
    scheme, when = frame.scheme, parsed.window
    if scheme.code is None or when is None:
        return ""
    for moment in dict.fromkeys((scheme.timetable, scheme.moment)):
        if moment is None:
            continue
        code = ((scheme.code, Literal(parsed.codes[0])),)
        found = look_up(Wanted((code,), (moment,), when.low, when.high), frame, run).found
        labels = {frame.names.label(item.thing) for item in found}
        if len(labels) == 1 and labels <= frame.identifiers:
            return labels.pop()
    return ""


def _replaced(parsed: Parsed, identifier: str) -> str:
    """The question with the identifier where the code is, and the words of the window left out."""
    when = parsed.window
    assert when is not None
    codes = [span for span in parsed.spans if span not in when.spans]
    text = parsed.text
    for start, end in sorted((*when.spans, *codes[:1]), reverse=True):
        before, after = text[:start], text[end:]
        if (start, end) in codes:
            text = f"{before}{identifier}{after}"
            continue
        before = _BEFORE.sub("", before)
        if has_han(parsed.text):
            after = re.sub(r"^\s*的", "", after)
        text = f"{before.rstrip() if before.strip() and not has_han(parsed.text) else before}{after}"
    return text


def _bare(text: str, frame: Frame) -> str:
    """The text without the class word beside an identifier: "flight 20250314-KL787-D" is that identifier."""
    term = frame.names.schema.classes.get(frame.scheme.about)
    words = sorted({w.text for w in term.words} if term else set(), key=len, reverse=True)
    either = "|".join(re.escape(word) for word in words)
    if not either:
        return text
    wanted = "|".join(re.escape(item) for item in frame.identifiers if item in text)
    if not wanted:
        return text
    text = re.sub(rf"(?<![A-Za-z])(?:the\s+)?(?:{either})\s*({wanted})", r"\1", text, flags=re.IGNORECASE)
    return re.sub(rf"({wanted})\s*(?:次)?(?:{either})(?![A-Za-z号])", r"\1", text)
