"""What is asked of a code that recurs, day by day: that of now's day first, then the other days."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime

from pyoxigraph import Literal, NamedNode

from kgplatform.questions.dialogue.frames import Frame, Now
from kgplatform.questions.dialogue.looking import as_moment
from kgplatform.questions.dialogue.parsing import Parsed, said_in
from kgplatform.questions.dialogue.phrases import day_text, moment_text, phrase
from kgplatform.questions.dialogue.replies import Reply
from kgplatform.types import Solutions, Term

_WHERE = re.compile(
    r"\bwhere\b(?!.*\b(?:to|go|goes|going|come|comes|coming|fly|flies|flying|headed|heading|bound)\b)|在哪(?!.*[去飞来])",
    re.IGNORECASE,
)
_MOST = 6
_LIKELY, _NEAR = 0.6, 0.9


@dataclass(frozen=True, slots=True)
class _Day:
    """One thing: when it is due, and its values of each property asked."""

    thing: NamedNode
    at: datetime
    values: tuple[tuple[Term, ...], ...]


def by_day(parsed: Parsed, frame: Frame, now: Now, run: Callable[[str], Solutions]) -> Reply | None:
    """The values asked of a code, for each day of it or those said; None where something else is asked."""
    if len(parsed.codes) != 1 or parsed.identifiers or not _plain(parsed, frame):
        return None
    asked, timetable, when = _asked(parsed, frame), frame.scheme.timetable, parsed.window
    if not asked or timetable is None or (when is not None and not (when.whole and when.relative)):
        return None
    query = _query(parsed, frame, timetable, asked)
    solutions = run(query)
    days = _days(solutions, len(asked))
    if parsed.window is not None:
        days = [item for item in days if parsed.window.low <= item.at <= parsed.window.high]
    if not any(found for item in days for found in item.values):
        return None
    days.sort(key=lambda item: (item.at.date() != now.moment.date(), item.at < now.moment, item.at))
    kept = {item.thing for item in days}
    rows = tuple(row for row in solutions.rows if row[0] in kept)
    shown = [value for item in days for found in item.values for value in found]
    return Reply(
        text=_text(days, asked, parsed.language, frame),
        values=tuple(dict.fromkeys(frame.names.label(value, parsed.language) for value in shown)),
        query=query,
        solutions=Solutions(solutions.variables, rows, solutions.boolean, solutions.truncated),
    )


def _plain(parsed: Parsed, frame: Frame) -> bool:
    """Whether the question only asks for values, under no condition besides the direction."""
    cues = parsed.reading.cues
    summed = cues.counting is not None or cues.superlatives or cues.aggregate or cues.each is not None
    terms = {term for term, _ in frame.scheme.said}
    conditions = [c for c in parsed.constraints if not any(value in terms for _, value in c.pairs)]
    lost = [name for name in parsed.missing if name.casefold() not in {c.casefold() for c in parsed.codes}]
    return not (summed or cues.boolean or cues.negations or conditions or lost)


def _asked(parsed: Parsed, frame: Frame) -> list[NamedNode]:
    """The properties asked for, by name or by "when" or "where"; none where the question names something else."""
    scheme, terms = frame.scheme, frame.names.schema.properties
    asked = [p for p in parsed.asked if p not in (scheme.code, scheme.identifier)]
    for found in _left(parsed, frame):
        if not found:
            return []
        asked += [] if set(found) & set(asked) else found[:1]
    derived = not asked
    when = scheme.of_way("window")
    timed = any((t := terms.get(p)) and t.temporal for p in asked)
    if when and said_in(parsed.text, when.cues, parsed.language) and not timed and scheme.moment:
        asked.append(scheme.moment)
    if derived and not asked and _WHERE.search(parsed.text):
        asked = list(scheme.shown_places)
    return asked[:4]


def _left(parsed: Parsed, frame: Frame) -> Iterator[list[NamedNode]]:
    """For each name of a property or class that is not taken yet: the properties of the things that it may mean."""
    reading = parsed.reading
    for mention in reading.mentions:
        best = mention.options[0]
        start, end = reading.tokens[mention.first].start, reading.tokens[mention.last - 1].end
        taken = [*parsed.spans, *((item.start, item.end) for item in parsed.constraints)]
        if any(low < end and start < high for low, high in taken):
            continue
        near = [o for o in mention.options if o.score >= _NEAR * best.score and o.score >= _LIKELY]
        found = [n.term for o in near for n in o.names if isinstance(n.term, NamedNode)]
        if best.score < _LIKELY or frame.scheme.about in found or frame.scheme.code in found:
            continue
        yield [
            p
            for term in found
            for p in ((term,) if frame.has(term) else frame.scheme.places)
            if p == term or term in frame.range_of(p)
        ]


def _query(parsed: Parsed, frame: Frame, timetable: NamedNode, asked: list[NamedNode]) -> str:
    code = Literal(parsed.codes[0])
    wanted = "".join(f"\n  OPTIONAL {{ ?thing {p} ?value{n} }}" for n, p in enumerate(asked))
    names = " ".join(f"?value{n}" for n in range(len(asked)))
    return (
        f"SELECT DISTINCT ?thing ?due {names} WHERE {{\n  ?thing {frame.scheme.code} {code} ; {timetable} ?due ."
        f"{wanted}\n}} ORDER BY ?due LIMIT 200"
    )


def _days(solutions: Solutions, width: int) -> list[_Day]:
    found: dict[NamedNode, tuple[datetime, list[list[Term]]]] = {}
    for row in solutions.rows:
        at = as_moment(row[1].value) if isinstance(row[1], Literal) else None
        if not isinstance(row[0], NamedNode) or at is None:
            continue
        _, columns = found.setdefault(row[0], (at, [[] for _ in range(width)]))
        for column, value in zip(columns, row[2 : 2 + width], strict=True):
            if value is not None and value not in column:
                column.append(value)
    return [_Day(thing, at, tuple(tuple(c) for c in columns)) for thing, (at, columns) in found.items()]


def _text(days: list[_Day], asked: list[NamedNode], language: str, frame: Frame) -> str:
    lines = [
        phrase("day", language, day=day_text(item.at, language), what=_line(item, asked, language, frame))
        for item in days
    ]
    stop, joint = ("。", "；") if language == "zh" else (".", "; ")
    if len(lines) == 1:
        return f"{lines[0]}{stop}"
    others = joint.join(lines[1 : _MOST + 1]) + ("…" if len(lines) > _MOST + 1 else "")
    return f"{lines[0]}{stop} {phrase('days', language, others=others)}"


def _line(item: _Day, asked: list[NamedNode], language: str, frame: Frame) -> str:
    """The values of one day, each with the name of its property where there are several."""
    said = []
    for predicate, found in zip(asked, item.values, strict=True):
        values = ", ".join(_value(value, item.at, language, frame) for value in found)
        if values:
            said.append(f"{frame.names.schema.label(predicate, language)} {values}")
    return ("，" if language == "zh" else ", ").join(said) or phrase("nothing_said", language)


def _value(value: Term, day: datetime, language: str, frame: Frame) -> str:
    at = as_moment(value.value) if isinstance(value, Literal) and "T" in value.value else None
    if at is not None:
        return moment_text(at, language, day=at.date() != day.date())
    return frame.names.label(value, language)
