"""Airlines and airports of the example, read from ``airlines.csv`` and ``airports.csv``."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path

HOME = "AMS"
FOLDER = Path(__file__).resolve().parent

SCHENGEN = frozenset(
    [
        "Austria",
        "Belgium",
        "Bulgaria",
        "Croatia",
        "Czechia",
        "Denmark",
        "Estonia",
        "Finland",
        "France",
        "Germany",
        "Greece",
        "Hungary",
        "Iceland",
        "Italy",
        "Latvia",
        "Liechtenstein",
        "Lithuania",
        "Luxembourg",
        "Malta",
        "Netherlands",
        "Norway",
        "Poland",
        "Portugal",
        "Romania",
        "Slovakia",
        "Slovenia",
        "Spain",
        "Sweden",
        "Switzerland",
    ]
)
EU_OUTSIDE_SCHENGEN = frozenset({"Ireland", "Cyprus"})
# Where travellers and bags count as already screened in this example.
SCREENED_ELSEWHERE = frozenset({"United Kingdom", "United States", "Canada", "Singapore"})

EARTH_RADIUS_KM = 6371.0
CRUISE_KM_PER_MINUTE = 13.6
CLIMB_AND_TAXI_MINUTES = 40


@dataclass(frozen=True, slots=True)
class Airline:
    """One row of ``airlines.csv``."""

    iata_code: str
    icao_code: str
    name: str
    country: str
    main_ground_handler: str
    callsign: str


@dataclass(frozen=True, slots=True)
class Airport:
    """One row of ``airports.csv``."""

    iata_code: str
    name: str
    city: str
    country: str
    latitude: float
    longitude: float

    @property
    def eu_indicator(self) -> str:
        """Return S (Schengen), E (European Union outside Schengen) or I (international)."""
        if self.country in SCHENGEN:
            return "S"
        return "E" if self.country in EU_OUTSIDE_SCHENGEN else "I"

    @property
    def safe_town(self) -> str:
        """Return J when transfers from here skip a second security check, P when they do not."""
        screened = self.eu_indicator in "SE" or self.country in SCREENED_ELSEWHERE
        return "J" if screened else "P"


@dataclass(frozen=True, slots=True)
class Tables:
    """Airlines and airports by IATA code."""

    airlines: dict[str, Airline]
    airports: dict[str, Airport]

    def airline(self, code: str) -> Airline:
        """Return the airline with this IATA code, or raise ValueError naming the table."""
        if code not in self.airlines:
            raise ValueError(f"airlines.csv has no airline {code!r}: add a row for it")
        return self.airlines[code]

    def airport(self, code: str) -> Airport:
        """Return the airport with this IATA code, or raise ValueError naming the table."""
        if code not in self.airports:
            raise ValueError(f"airports.csv has no airport {code!r}: add a row for it")
        return self.airports[code]

    def block_minutes(self, code: str) -> int:
        """Return the scheduled block time between home and this airport, in steps of 5 minutes."""
        distance = great_circle_km(self.airport(HOME), self.airport(code))
        minutes = CLIMB_AND_TAXI_MINUTES + distance / CRUISE_KM_PER_MINUTE
        return 5 * round(minutes / 5)


def great_circle_km(start: Airport, end: Airport) -> float:
    """Return the distance between two airports on a sphere (haversine formula)."""
    lat1, lat2 = math.radians(start.latitude), math.radians(end.latitude)
    half_lat = (lat2 - lat1) / 2
    half_lon = math.radians(end.longitude - start.longitude) / 2
    chord = math.sin(half_lat) ** 2 + math.cos(lat1) * math.cos(lat2) * math.sin(half_lon) ** 2
    return 2 * EARTH_RADIUS_KM * math.asin(math.sqrt(chord))


def read_tables(folder: Path = FOLDER) -> Tables:
    """Return both tables of ``folder``; raises OSError or ValueError when one cannot be read."""
    airlines = {row["iata_code"]: Airline(**row) for row in _rows(folder / "airlines.csv")}
    airports = {row["iata_code"]: _airport(row) for row in _rows(folder / "airports.csv")}
    return Tables(airlines=airlines, airports=airports)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _airport(row: dict[str, str]) -> Airport:
    return Airport(
        iata_code=row["iata_code"],
        name=row["name"],
        city=row["city"],
        country=row["country"],
        latitude=float(row["latitude"]),
        longitude=float(row["longitude"]),
    )
