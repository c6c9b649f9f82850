"""The published timetable of the week: legs with flight numbers, times and aircraft."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from random import Random

from airport_network import TURNAROUND_MINUTES, Route
from airport_tables import Tables

FIRST_DAY = date(2025, 3, 10)
LAST_DAY = date(2025, 3, 16)
# Days simulated around the week, so that aircraft of its first morning have already arrived.
MARGIN_DAYS = 2
TURNAROUND_AWAY_MINUTES = 45
LAST_RETURN = time(23, 30)

REGISTRATION_PREFIX = {
    "Netherlands": "PH-", "United Kingdom": "G-", "Ireland": "EI-", "France": "F-", "Germany": "D-",
    "Switzerland": "HB-", "Austria": "OE-", "Spain": "EC-", "Portugal": "CS-", "Italy": "EI-",
    "Sweden": "SE-", "Finland": "OH-", "Poland": "SP-", "Latvia": "YL-", "Serbia": "YU-",
    "Romania": "YR-", "Croatia": "9A-", "Greece": "SX-", "Iceland": "TF-", "Türkiye": "TC-",
    "Israel": "4X-", "Jordan": "JY-", "Egypt": "SU-", "Morocco": "CN-", "Kenya": "5Y-",
    "United Arab Emirates": "A6-", "Qatar": "A7-", "Saudi Arabia": "HZ-", "United States": "N",
    "Canada": "C-", "Suriname": "PZ-", "India": "VT-", "Singapore": "9V-", "Indonesia": "PK-",
    "Hong Kong": "B-", "China": "B-", "Taiwan": "B-", "South Korea": "HL",
}  # fmt: skip
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@dataclass(slots=True)
class Leg:
    """One flight of the timetable; ``trip`` joins the two flights sold as one rotation."""

    route: Route
    number: int
    arrives: bool
    scheduled: datetime
    trip: int
    registration: str = ""

    @property
    def flight_number(self) -> str:
        """Return the airline's code and number, such as KL1001."""
        return f"{self.route.airline}{self.number}"

    @property
    def uid(self) -> str:
        """Return day, flight number and A or D: unique, because a number flies once a day."""
        return f"{self.scheduled:%Y%m%d}-{self.flight_number}-{'A' if self.arrives else 'D'}"

    @property
    def in_week(self) -> bool:
        """Return whether the flight is scheduled in the week that is written out."""
        return FIRST_DAY <= self.scheduled.date() <= LAST_DAY


@dataclass(slots=True)
class Fleet:
    """The aircraft of one airline and category: when each is free for its next trip."""

    prefix: str
    taken: set[str]
    free_from: dict[str, datetime] = field(default_factory=dict)

    def pick(self, start: datetime, rng: Random) -> str:
        """Return the aircraft that became free last before ``start``, or a new one."""
        ready = [name for name, since in self.free_from.items() if since <= start]
        if ready:
            return max(ready, key=lambda name: self.free_from[name])
        name = _new_registration(self.prefix, self.taken, rng)
        self.taken.add(name)
        return name


def build_timetable(routes: list[Route], tables: Tables, rng: Random) -> list[Leg]:
    """Return every leg of the simulated days in order of time, each with an aircraft."""
    trips = [legs for route in routes for legs in _trips(route, tables, rng)]
    trips.sort(key=lambda legs: (legs[0].scheduled, legs[0].uid))
    fleets: dict[tuple[str, str], Fleet] = {}
    taken: set[str] = set()
    for index, (first, second) in enumerate(trips):
        first.trip = second.trip = index
        fleet = _fleet(first.route, fleets, taken, tables)
        registration = fleet.pick(first.scheduled, rng)
        first.registration = second.registration = registration
        fleet.free_from[registration] = second.scheduled + _rest(second.route, tables)
    legs = [leg for trip in trips for leg in trip]
    return sorted(legs, key=lambda leg: (leg.scheduled, leg.uid))


def _trips(route: Route, tables: Tables, rng: Random) -> Iterator[tuple[Leg, Leg]]:
    """Yield a route's pairs of legs: out and back if based here, in and out if visiting."""
    day = FIRST_DAY - timedelta(days=MARGIN_DAYS)
    gaps = [_gap(route, clock, tables, rng) for clock in route.clocks]
    while day <= LAST_DAY + timedelta(days=1):
        for index, clock in enumerate(route.clocks):
            if not _flies(route, index, day):
                continue
            start = datetime.combine(day, time.fromisoformat(clock))
            number = route.first_number + 2 * index
            first = Leg(route, number, not route.based, start, trip=0)
            yield first, Leg(route, number + 1, route.based, start + gaps[index], trip=0)
        day += timedelta(days=1)


def _flies(route: Route, index: int, day: date) -> bool:
    """Return whether the route's clock of this index is served; short routes rest two days."""
    weekday = day.isoweekday()
    if str(weekday) not in route.weekdays:
        return False
    if route.category > "4" or len(route.weekdays) < 7:
        return True
    return (weekday + route.first_number // 2 + 3 * index) % 7 not in (0, 3)


def _gap(route: Route, clock: str, tables: Tables, rng: Random) -> timedelta:
    """Return the time between a trip's two legs as seen from Amsterdam."""
    start = datetime.combine(FIRST_DAY, time.fromisoformat(clock))
    ground = TURNAROUND_MINUTES[route.category]
    if route.stays_overnight:
        away = datetime.combine(FIRST_DAY + timedelta(days=1), time(6, 30)) - start
        return away + timedelta(minutes=5 * int(rng.random() * 12))
    if not route.based:
        return timedelta(minutes=ground + 5 * int(2 + rng.random() * 6))
    block = timedelta(minutes=tables.block_minutes(route.airport))
    back = start + 2 * block + timedelta(minutes=TURNAROUND_AWAY_MINUTES)
    if route.category in "34" and back > datetime.combine(FIRST_DAY, LAST_RETURN):
        # Too late to come home: the crew sleeps there and flies the first wave back.
        morning = datetime.combine(FIRST_DAY + timedelta(days=1), time(6, 15))
        return morning + block + timedelta(minutes=5 * int(rng.random() * 8)) - start
    if route.category not in "34":
        back += timedelta(minutes=60)
    if back.time() < time(5, 0):
        back = datetime.combine(back.date(), time(5, 0)) + timedelta(minutes=back.minute)
    return back - start


def _rest(route: Route, tables: Tables) -> timedelta:
    """Return how long after a trip its aircraft can start the next one."""
    minutes = TURNAROUND_MINUTES[route.category] + 5
    if not route.based:
        minutes += 2 * tables.block_minutes(route.airport) + TURNAROUND_AWAY_MINUTES
    return timedelta(minutes=minutes)


def _fleet(
    route: Route,
    fleets: dict[tuple[str, str], Fleet],
    taken: set[str],
    tables: Tables,
) -> Fleet:
    country = tables.airline(route.airline).country
    if country not in REGISTRATION_PREFIX:
        raise ValueError(f"no registration prefix for {country!r}: add it to REGISTRATION_PREFIX")
    key = (route.airline, route.category)
    return fleets.setdefault(key, Fleet(REGISTRATION_PREFIX[country], taken))


def _new_registration(prefix: str, taken: set[str], rng: Random) -> str:
    """Return an unused invented registration, with digits where the country uses digits."""
    while True:
        if prefix in ("N", "HL", "B-"):
            name = f"{prefix}{1000 + int(rng.random() * 9000)}"
        else:
            length = 4 if prefix in ("G-", "F-", "D-", "C-") else 3
            name = prefix + "".join(LETTERS[int(rng.random() * 26)] for _ in range(length))
        if name not in taken:
            return name
