"""The class of a question from which something is missing: by rules, or by a model that is shown the classes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from pyoxigraph import NamedNode

from kgplatform import lexicon
from kgplatform.errors import ModelError
from kgplatform.models import prompts
from kgplatform.questions.dialogue.request import NamedConstraint, ParsedQuestion, masked, said_in
from kgplatform.questions.dialogue.scheme import NONE, BoundScheme, Now
from kgplatform.questions.parser.vocabulary import parts
from kgplatform.types import ChatModel, Usage

# Which class a question is of, by rules over what was found in it and the words that the ontology gives its classes.
#
# The rules: an incomplete code outranks all; what is whole is of no class; a "next" outranks a time, a time outranks a
# place, a time with an owner is a class of its own, and so is an owner alone in a short question.


_SHORT = 6
_SHORT_ZH = 14


@dataclass(frozen=True, slots=True)
class Classified:
    """The class of a question: its number and way, ``none`` for both where nothing is missing; and by what."""

    notation: str
    way: str
    by: str = "built-in"


def classify(parsed: ParsedQuestion, frame: BoundScheme) -> Classified:
    """The class of a question, by rules."""
    way = _way(parsed, frame)
    found = frame.scheme.of_way(way)
    return Classified(found.notation, way) if found else Classified(NONE, NONE)


def _way(parsed: ParsedQuestion, frame: BoundScheme) -> str:
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


def _summed(parsed: ParsedQuestion) -> bool:
    """Whether it counts, compares or sums up, and so is about many."""
    cues = parsed.reading.cues
    return cues.counting is not None or bool(cues.superlatives) or bool(cues.aggregate) or cues.each is not None


def _whole(parsed: ParsedQuestion) -> bool:
    """Whether the question says which things it means, or means all of them."""
    if parsed.identifiers or parsed.codes or _summed(parsed):
        return True
    when = parsed.window
    return when is not None and not when.relative and when.whole


def _cued(parsed: ParsedQuestion, frame: BoundScheme, way: str) -> bool:
    found = frame.scheme.of_way(way)
    text = parsed.text if parsed.window is None else masked(parsed.text, parsed.window.spans)
    return found is not None and said_in(text, found.cues, parsed.language) is not None


def _timed(parsed: ParsedQuestion, frame: BoundScheme) -> bool:
    """Whether a time says which thing is meant, or is asked for."""
    if parsed.other and parsed.window is None:
        return False
    return parsed.window is not None or _cued(parsed, frame, "window")


def _placed(parsed: ParsedQuestion, frame: BoundScheme) -> bool:
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


def _elsewhere(parsed: ParsedQuestion, frame: BoundScheme) -> bool:
    """Whether something besides place and direction restricts what is meant."""
    return any(not item.by(frame.scheme.places) for item in other_constraints(parsed, frame))


def _brief(parsed: ParsedQuestion, frame: BoundScheme) -> bool:
    """Whether an owner is named in few words, with nothing asked but where."""
    if parsed.other or not _few_words(parsed):
        return False
    own = {frame.scheme.owner, *frame.scheme.places, *board_words(parsed, frame)}
    foreign = [p for p in parsed.asked if p not in own]
    return not foreign and not [c for c in other_constraints(parsed, frame) if not c.by(p for p in own if p)]


def other_constraints(parsed: ParsedQuestion, frame: BoundScheme) -> list[NamedConstraint]:
    """The constraints without the scheme's own words, and without what only repeats the words of a board question."""
    cues = {w.text.casefold() for way in ("place", "ownerPlace") if (c := frame.scheme.of_way(way)) for w in c.cues}
    return [
        item
        for item in parsed.constraints
        if not any(term == value for _, value in item.pairs for term, _ in frame.scheme.said)
        and item.text.strip().casefold() not in cues
    ]


def board_words(parsed: ParsedQuestion, frame: BoundScheme) -> tuple[NamedNode, ...]:
    """The properties of the question that share their word with a board question: to board, and the time of it."""
    found = []
    for way in ("place", "ownerPlace"):
        cues = frame.scheme.of_way(way)
        for word in cues.cues if cues else ():
            if said_in(parsed.text, (word,), parsed.language) is not None:
                names = frame.names.terms.get(tuple(parts(word.text)), ())
                found += [n.term for n in names if n.kind == "property" and isinstance(n.term, NamedNode)]
    return tuple(dict.fromkeys(found))


def _few_words(parsed: ParsedQuestion) -> bool:
    named = [(item.start, item.end) for item in parsed.constraints]
    own = [t for t in parsed.reading.tokens if not any(start <= t.start < end for start, end in named)]
    return len(own) <= (_SHORT_ZH if parsed.language == "zh" else _SHORT)


# Which class a question is of, by a language model that is shown the classes with their examples.

_PROMPT: Final = lexicon.expression("question_class.prompt")
_NUMBER = re.compile(r"(?<![\w.])(\w+)(?![\w])")


@dataclass(frozen=True, slots=True)
class _Shown:
    """A class as the prompt shows it."""

    notation: str
    label: str
    comment: str
    examples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ModelClass:
    """The class with what it cost to ask, and why the built-in rules were used where they were."""

    classified: Classified
    usage: Usage
    note: str = ""


def classify_by_model(parsed: ParsedQuestion, frame: BoundScheme, now: Now, model: ChatModel) -> ModelClass:
    """The class that the model gives, or that of the built-in rules where its reply names none."""
    scheme, places = frame.scheme, [_label(frame, place) for place in frame.scheme.places]
    messages, _ = prompts.render_messages(
        _PROMPT,
        about=_label(frame, scheme.about),
        classes=_shown(frame, parsed.language),
        code=_label(frame, scheme.code),
        identifier=_label(frame, scheme.identifier),
        owner=_label(frame, scheme.owner),
        place=", ".join(places),
        ways={item.way: item.notation for item in scheme.classes},
        whole=NONE,
        question=" ".join(parsed.text.split()),
        now=now.moment.isoformat(sep=" ", timespec="minutes"),
    )
    try:
        completion = model.complete(messages)
    except ModelError as error:
        return ModelClass(classify(parsed, frame), Usage(), f"the model gave no class ({error})")
    notation = read_reply(completion.text, frame)
    if notation is None:
        said = " ".join(completion.text.split())[:60]
        return ModelClass(classify(parsed, frame), completion.usage, f"the model named no class ({said!r})")
    way = next((item.way for item in frame.scheme.classes if item.notation == notation), NONE)
    if way == "code" and parsed.partial is None:
        return ModelClass(classify(parsed, frame), completion.usage, "the model saw a part of a code; there is none")
    return ModelClass(Classified(notation, way, model.name), completion.usage)


def _label(frame: BoundScheme, term: NamedNode | None) -> str:
    """What a term is called in the language of the prompt; empty where the scheme has none."""
    return frame.names.schema.label(term, "en") if term else ""


def _shown(frame: BoundScheme, language: str) -> list[_Shown]:
    return [
        _Shown(
            item.notation,
            item.label(language),
            next(
                (w.text for w in item.comments if w.language == language),
                item.comments[0].text if item.comments else "",
            ),
            tuple(example.text for example in item.examples),
        )
        for item in frame.scheme.classes
    ]


def read_reply(reply: str, frame: BoundScheme) -> str | None:
    """The class that a reply names: alone, after "class", or by its name; None if it names none, or several."""
    known = {item.notation.casefold(): item.notation for item in frame.scheme.classes} | {NONE: NONE}
    text = re.sub(r"```\w*|<think>.*?</think>", " ", reply, flags=re.DOTALL).strip()
    named = [known[m.casefold()] for m in lexicon.pattern("question_class.said").findall(text) if m.casefold() in known]
    if named:
        return named[-1]
    found = [known[m.casefold()] for m in _NUMBER.findall(text) if m.casefold() in known]
    if len(set(found)) == 1:
        return found[0]
    labels = {w.text.casefold(): item.notation for item in frame.scheme.classes for w in item.words}
    by_name = {notation for label, notation in labels.items() if label in text.casefold()}
    return by_name.pop() if len(by_name) == 1 and not found else None
