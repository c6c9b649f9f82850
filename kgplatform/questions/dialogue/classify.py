"""Which class a question is of, by rules over what was found in it and the words that the ontology gives its classes.

The rules: an incomplete code outranks all; what is whole is of no class; a "next" outranks a time, a time outranks a
place, a time with an owner is a class of its own, and so is an owner alone in a short question.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from pyoxigraph import NamedNode

from kgplatform.questions.dialogue.frames import Frame
from kgplatform.questions.dialogue.parsing import Constraint, Parsed, masked, said_in
from kgplatform.questions.dialogue.scheme import NONE
from kgplatform.questions.wording import parts

_SHORT = 6
_SHORT_ZH = 14


@dataclass(frozen=True, slots=True)
class Classified:
    """The class of a question: its number and way, ``none`` for both where nothing is missing; and by what."""

    notation: str
    way: str
    by: str = "built-in"


def classify(parsed: Parsed, frame: Frame) -> Classified:
    """The class of a question, by rules."""
    way = _way(parsed, frame)
    found = frame.scheme.of_way(way)
    return Classified(found.notation, way) if found else Classified(NONE, NONE)


def _way(parsed: Parsed, frame: Frame) -> str:
    if parsed.partial is not None and (parsed.about or not _summed(parsed)):
        return "code"
    if _cued(parsed, frame, "next") and not _summed(parsed):
        return "next"
    if _whole(parsed):
        return NONE
    owned = bool(frame.scheme.owner and parsed.by((frame.scheme.owner,)))
    if _timed(parsed, frame):
        return "ownerWindow" if owned else "window"
    if owned:
        return "ownerPlace" if _brief(parsed, frame) else NONE
    return "place" if _placed(parsed, frame) else NONE


def _summed(parsed: Parsed) -> bool:
    """Whether it counts, compares or sums up, and so is about many."""
    cues = parsed.reading.cues
    return cues.counting is not None or bool(cues.superlatives) or bool(cues.aggregate) or cues.each is not None


def _whole(parsed: Parsed) -> bool:
    """Whether the question says which things it means, or means all of them."""
    if parsed.identifiers or parsed.codes or _summed(parsed):
        return True
    when = parsed.window
    return when is not None and not when.relative and when.whole


def _cued(parsed: Parsed, frame: Frame, way: str) -> bool:
    found = frame.scheme.of_way(way)
    text = parsed.text if parsed.window is None else masked(parsed.text, parsed.window.spans)
    return found is not None and said_in(text, found.cues, parsed.language) is not None


def _timed(parsed: Parsed, frame: Frame) -> bool:
    """Whether a time says which thing is meant, or is asked for."""
    if parsed.other and parsed.window is None:
        return False
    return parsed.window is not None or _cued(parsed, frame, "window")


def _placed(parsed: Parsed, frame: Frame) -> bool:
    """Whether a place says which thing is meant, or a place is spoken of without being named."""
    named = bool(parsed.by(frame.scheme.places))
    if parsed.other and not named:
        return False
    if not named:
        cued = _cued(parsed, frame, "place") or (
            _few_words(parsed) and bool(set(parsed.asked) & set(frame.scheme.places))
        )
        return cued and not _elsewhere(parsed, frame)
    return not _elsewhere(parsed, frame) and (parsed.about or _few_words(parsed) or _cued(parsed, frame, "place"))


def _elsewhere(parsed: Parsed, frame: Frame) -> bool:
    """Whether something besides place and direction restricts what is meant."""
    return any(not item.by(frame.scheme.places) for item in other_constraints(parsed, frame))


def _of_scheme(pairs: Iterable[tuple[NamedNode, object]], frame: Frame) -> bool:
    return any(term == value for _, value in pairs for term, _ in frame.scheme.said)


def _brief(parsed: Parsed, frame: Frame) -> bool:
    """Whether an owner is named in few words, with nothing asked but where."""
    if parsed.other or not _few_words(parsed):
        return False
    own = {frame.scheme.owner, *frame.scheme.places, *board_words(parsed, frame)}
    foreign = [p for p in parsed.asked if p not in own]
    return not foreign and not [c for c in other_constraints(parsed, frame) if not c.by(p for p in own if p)]


def other_constraints(parsed: Parsed, frame: Frame) -> list[Constraint]:
    """The constraints without the scheme's own words, and without what only repeats the words of a board question."""
    cues = {w.text.casefold() for way in ("place", "ownerPlace") if (c := frame.scheme.of_way(way)) for w in c.cues}
    return [
        item
        for item in parsed.constraints
        if not _of_scheme(item.pairs, frame) and item.text.strip().casefold() not in cues
    ]


def board_words(parsed: Parsed, frame: Frame) -> tuple[NamedNode, ...]:
    """The properties of the question that share their word with a board question: to board, and the time of it."""
    found = []
    for way in ("place", "ownerPlace"):
        cues = frame.scheme.of_way(way)
        for word in cues.cues if cues else ():
            if said_in(parsed.text, (word,), parsed.language) is not None:
                names = frame.names.terms.get(tuple(parts(word.text)), ())
                found += [n.term for n in names if n.kind == "property" and isinstance(n.term, NamedNode)]
    return tuple(dict.fromkeys(found))


def _few_words(parsed: Parsed) -> bool:
    named = [(item.start, item.end) for item in parsed.constraints]
    own = [t for t in parsed.reading.tokens if not any(start <= t.start < end for start, end in named)]
    return len(own) <= (_SHORT_ZH if parsed.language == "zh" else _SHORT)
