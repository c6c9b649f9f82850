"""How the question sets word things: a question with its gold answer, a flight and a day in both languages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from random import Random
from typing import Final

from kgplatform.evaluation.airport.rows import Flight, FlightTable

NONE: Final = "none"
"""The class of a question that nothing is missing from."""

_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and what is right: any of ``answers`` is a whole right answer; none: asking back is right.

    ``set`` is straightforward, ambiguous or reasoning; ``kind`` the template's family; ``label`` the question class.
    ``options``: names of which some must be offered where the question has to be asked back. ``sql`` and ``query``
    (SPARQL) ask the same, where one column of one flight is wanted.
    """

    set: str
    kind: str
    language: str
    text: str
    answers: tuple[tuple[str, ...], ...]
    label: str = NONE
    options: tuple[str, ...] = ()
    sql: str = ""
    query: str = ""


def day_text(day: date, language: str) -> str:
    """A day as people write it."""
    if language == "zh":
        return f"{day.year}年{day.month}月{day.day}日"
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def flight_text(flight: Flight, table: FlightTable, language: str, rng: Random) -> str:
    """A flight named so that only it can be meant: by its UID, or by number and day where that is enough."""
    by_day = only_one_that_day(flight, table) and rng.random() < 0.6
    if not by_day:
        return rng.choice(
            (f"航班{flight.uid}", flight.uid) if language == "zh" else (f"flight {flight.uid}", flight.uid)
        )
    day = day_text(flight.day, language)
    if language == "zh":
        return rng.choice((f"{day}的{flight.number}航班", f"{day}{flight.number}"))
    return rng.choice((f"flight {flight.number} on {day}", f"{flight.number} on {day}"))


def only_one_that_day(flight: Flight, table: FlightTable) -> bool:
    """Whether its number and scheduled day name the flight, whichever of its block times is meant."""
    best = datetime.fromisoformat(flight["best_block_time"]).date()
    same = [other for other in table.flights if other.number == flight.number and other is not flight]
    days = {datetime.fromisoformat(o[c]).date() for o in same for c in ("scheduled_block_time", "best_block_time")}
    return best == flight.day and flight.day not in days


def right(table: FlightTable, values: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The gold answers: the values themselves, and the same under their other names where all have the same kind."""
    own = tuple(values)
    others = [table.names(value) for value in own]
    if len(own) == 1:
        return tuple((name,) for name in others[0])
    return (own,)


def uids_and_numbers(flights: Sequence[Flight]) -> tuple[tuple[str, ...], ...]:
    """The gold answers of a question for flights: their UIDs, or their numbers."""
    uids = tuple(dict.fromkeys(flight.uid for flight in flights))
    numbers = tuple(dict.fromkeys(flight.number for flight in flights))
    return (uids, numbers)
