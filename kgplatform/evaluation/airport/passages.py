"""Rows of a flight table as passages, one question each: how often a retriever finds the row that is asked about.

A passage is the row's cells with the names of their columns. A question asks for one cell, and says which row it means
by the flight and the day: in the *plain* style as the table writes them, in the *spoken* style as people do ("KLM 1228
from Paris on Wednesday 12 March"). `Jargon` turns the second into the first: it knows the airlines, airports and terms
of the trade, no flight.
"""

from __future__ import annotations

import csv
import random
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from pathlib import Path
from typing import Final

from kgplatform.errors import ReadError
from kgplatform.evaluation.retrieval import GoldPassages
from kgplatform.text import normalise

ROWS: Final = 1350
_KEY: Final = "flight_uid"
_NEEDED: Final = (_KEY, "flight_number", "airline", "direction", "origin", "destination")
_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_ASKED: Final[Mapping[str, tuple[str, str]]] = {
    "ramp": ("ramp", "stand"),
    "gate": ("gate", "gate"),
    "pier": ("pier", "pier"),
    "main_ground_handler": ("main ground handler", "handler"),
    "aircraft_registration": ("aircraft registration", "tail number"),
    "aircraft_category": ("aircraft category", "size class"),
    "connecting_flight_number": ("connecting flight number", "other flight of the turnaround"),
    "scheduled_block_time": ("scheduled block time", "scheduled time on or off blocks"),
    "actual_block_time": ("actual block time", "actual time on or off blocks"),
    "expected_on_ramp": ("expected on ramp time", "expected time on stand"),
    "actual_off_ramp": ("actual off ramp time", "time it left the stand"),
    "boarding": ("boarding time", "time boarding began"),
    "push_back": ("push back time", "time of pushback"),
    "take_off": ("take off time", "time airborne"),
    "actual_final_approach": ("actual final approach time", "time on final"),
    "flight_state": ("flight state", "status"),
    "mtt": ("mtt", "minimum turnaround time"),
    "eu_indicator": ("eu indicator", "Schengen status"),
}


class Style(StrEnum):
    """How the questions are worded."""

    PLAIN = "plain"
    SPOKEN = "spoken"


@dataclass(frozen=True, slots=True)
class RowPassage:
    """A row as a passage; ``id`` is its flight_uid."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class RowSet:
    """The passages, and one question for each of them."""

    passages: tuple[RowPassage, ...]
    questions: tuple[GoldPassages, ...]


def row_set(table: Path, airports: Path, *, rows: int = ROWS, style: Style = Style.PLAIN, seed: int = 11) -> RowSet:
    """So many rows of a flight table as passages with their questions, the same for a seed.

    Raises:
        ReadError: a table cannot be read, or lacks a column.
    """
    everything = _read(table, _NEEDED)
    cities = {row["iata_code"]: row["city"] for row in _read(airports, ("iata_code", "city"))}
    draw = random.Random(seed)
    chosen = sorted(draw.sample(everything, min(rows, len(everything))), key=lambda row: row[_KEY])
    passages = tuple(RowPassage(row[_KEY], row_text(row)) for row in chosen)
    questions = (_question(row, cities, style, draw) for row in chosen)
    asked = zip(chosen, questions, strict=True)
    return RowSet(passages, tuple(GoldPassages(row[_KEY], text, (row[_KEY],), ()) for row, text in asked))


def row_text(row: Mapping[str, str]) -> str:
    """The row's cells that are not empty, each with the name of its column."""
    return "; ".join(f"{column}: {value}" for column, value in row.items() if value)


def _question(row: Mapping[str, str], cities: Mapping[str, str], style: Style, draw: random.Random) -> str:
    column = draw.choice([name for name in _ASKED if row.get(name)])
    plain, spoken = _ASKED[column]
    day = date.fromisoformat(f"{row[_KEY][:4]}-{row[_KEY][4:6]}-{row[_KEY][6:8]}")
    if style is Style.PLAIN:
        return f"What is the {plain} of {row['direction']} flight {row['flight_number']} on {day.isoformat()}?"
    way, other = ("from", row["origin"]) if row["direction"] == "arrival" else ("to", row["destination"])
    flight = draw.choice((_spaced(row["flight_number"]), _by_airline(row), _padded(row["flight_number"])))
    said = draw.choice((f"{day.day} {_MONTHS[day.month - 1]}", f"{_MONTHS[day.month - 1]} {day.day}"))
    if draw.random() < 0.5:
        said = f"{_DAYS[day.weekday()]} {said}"
    return f"What was the {spoken} for {flight} {way} {cities.get(other, other)} on {said}?"


_FLIGHT = re.compile(r"([A-Z][A-Z0-9]|[0-9][A-Z])(\d{1,4})")


def _spaced(flight: str) -> str:
    found = _FLIGHT.fullmatch(flight)
    return f"{found[1]} {found[2]}" if found else flight


def _padded(flight: str) -> str:
    found = _FLIGHT.fullmatch(flight)
    return f"{found[1]}{found[2]:0>4}" if found else flight


def _by_airline(row: Mapping[str, str]) -> str:
    found = _FLIGHT.fullmatch(row["flight_number"])
    return f"{row['airline']} {found[2]}" if found else row["flight_number"]


def _read(path: Path, needed: Sequence[str]) -> list[dict[str, str]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            missing = [name for name in needed if name not in (reader.fieldnames or ())]
            if missing:
                raise ReadError(f"there is no column {', '.join(missing)}", path=path)
            return list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ReadError(f"cannot be read ({error})", path=path) from error


class Jargon:
    """Says a question in the terms of the table: codes for airlines, airports and flights, columns for words, ISO days.

    ``year`` is the one that a day without a year is of.
    """

    def __init__(self, airlines: Mapping[str, str], airports: Mapping[str, str], *, year: int) -> None:
        self._airlines = {normalise(name): code for name, code in airlines.items()}
        self._codes = {code.casefold() for code in airlines.values()}
        self._airports = dict(airports)
        self._year = year
        names = sorted((re.escape(name) for name in airlines if name), key=len, reverse=True)
        codes = sorted((re.escape(code) for code in self._codes), reverse=True)
        self._flight = re.compile(rf"\b({'|'.join([*names, *codes])})\s*0*(\d{{1,4}})\b", re.IGNORECASE)
        cities = sorted((re.escape(city) for city in airports), key=len, reverse=True)
        self._city = re.compile(rf"\b(?:(from|to)\s+)?({'|'.join(cities)})\b", re.IGNORECASE) if cities else None
        self._columns = {spoken.casefold(): plain for plain, spoken in _ASKED.values()}
        spoken = sorted((re.escape(words) for words in self._columns), key=len, reverse=True)
        self._column = re.compile(rf"\b({'|'.join(spoken)})\b", re.IGNORECASE)

    @classmethod
    def of(cls, airlines: Path, airports: Path, *, year: int) -> Jargon:
        """The jargon of the tables of airlines (by name and callsign) and airports (by city).

        Raises:
            ReadError: a table cannot be read, or lacks a column.
        """
        codes: dict[str, str] = {}
        for row in _read(airlines, ("iata_code", "name", "callsign")):
            for name in (row["callsign"], row["name"]):
                if name:
                    codes[name] = row["iata_code"]
        cities: dict[str, list[str]] = {}
        for row in _read(airports, ("iata_code", "city")):
            cities.setdefault(row["city"].casefold(), []).append(row["iata_code"])
        return cls(codes, {city: " ".join(found) for city, found in cities.items()}, year=year)

    def __call__(self, question: str) -> str:
        """The question in the table's terms; what it does not know stays as it is."""
        text = self._flight.sub(self._flight_code, _dated(question, self._year))
        if self._city is not None:
            text = self._city.sub(self._airport, text)
        return self._column.sub(lambda found: self._columns[found[1].casefold()], text)

    def _airport(self, found: re.Match[str]) -> str:
        """The codes of the city's airports, and whether the flight arrives from there or departs to there."""
        way = {"from": "arrival from ", "to": "departure to "}.get((found[1] or "").casefold(), "")
        return way + self._airports[found[2].casefold()]

    def _flight_code(self, found: re.Match[str]) -> str:
        airline = found[1]
        code = airline.upper() if airline.casefold() in self._codes else self._airlines[normalise(airline)]
        return f"{code}{int(found[2])}"


_MONTH = "|".join(_MONTHS)
_DAY_MONTH = re.compile(
    rf"\b(?:(\d{{1,2}})(?:st|nd|rd|th)?\s+({_MONTH})|({_MONTH})\s+(\d{{1,2}}))(?:,?\s+(\d{{4}}))?\b"
)


def _dated(text: str, year: int) -> str:
    """The text with its days in ISO form; a day that there is not stays."""

    def iso(found: re.Match[str]) -> str:
        day, month = int(found[1] or found[4]), _MONTHS.index(found[2] or found[3]) + 1
        try:
            return date(int(found[5] or year), month, day).isoformat()
        except ValueError:
            return found[0]

    return _DAY_MONTH.sub(iso, text)


def first_hits(found: Iterable[tuple[str, Sequence[str]]], k: int = 10) -> tuple[float, float]:
    """The share of questions whose row came first, and whose row was among the first ``k``."""
    rows = [(wanted, list(ids[:k])) for wanted, ids in found]
    if not rows:
        return 0.0, 0.0
    first = sum(ids[:1] == [wanted] for wanted, ids in rows) / len(rows)
    return first, sum(wanted in ids for wanted, ids in rows) / len(rows)
