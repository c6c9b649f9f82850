"""Ramps: which exist, who stands where and when, and who is towed. No ramp is ever shared."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from airport_network import CARGO
from airport_operations import NOW, Movement, known, minutes
from airport_tables import Tables

BUFFER = timedelta(minutes=10)
LONG_STAY = timedelta(minutes=240)
TOW_MINUTES = timedelta(minutes=15)
UNLOADING = timedelta(minutes=60)
PREPARATION = timedelta(minutes=95)
SCHENGEN_ONLY, OTHERS_ONLY, EVERYONE = "S", "N", "SN"
REMOTE_SHARE = {"3": 0.12, "4": 0.08}
NIGHT_HOUR = 20

BUS_GATES = {
    "S": [f"B{n:02}" for n in range(1, 9)] + [f"C{n:02}" for n in range(21, 25)],
    "N": [f"D{n:02}" for n in range(2, 8)],
}


@dataclass(frozen=True, slots=True)
class Ramp:
    """One parking position: its largest aircraft category and the passengers it can serve."""

    name: str
    largest: str
    zones: str
    remote: bool = False
    cargo: bool = False

    @property
    def area(self) -> str:
        """Return the letter of the pier or apron."""
        return self.name[0]


@dataclass(frozen=True, slots=True)
class Event:
    """A moment on the ramp as estimated and as it happens."""

    expected: datetime
    happens: datetime

    @property
    def actual(self) -> datetime | None:
        """Return when it happened, or None if it lies after the snapshot."""
        return known(self.happens)

    def shifted(self, by: timedelta, noise: timedelta) -> Event:
        """Return a related event; one that has not happened is expected after the snapshot."""
        happens = self.happens + by + noise
        expected = self.expected + by
        if happens > NOW:
            expected = max(expected, NOW + timedelta(minutes=1))
        return Event(expected, happens)

    @property
    def bounds(self) -> tuple[datetime, datetime]:
        """Return the earlier and the later of the two times known at the snapshot."""
        shown = self.actual or self.expected
        return min(shown, self.expected), max(shown, self.expected)


@dataclass(slots=True)
class Stay:
    """An aircraft on one ramp: the flights it serves there, and the ramp once one is chosen."""

    on: Event
    off: Event
    category: str
    airline: str
    zones: frozenset[str]
    cargo: bool
    remote: bool
    ramp: Ramp | None = None

    @property
    def reserved(self) -> tuple[datetime, datetime]:
        """Return the widest interval any known time of the stay can claim."""
        return self.on.bounds[0], self.off.bounds[1]


@dataclass(slots=True)
class Placement:
    """Where a flight is on the ground; ``before`` is the stay its aircraft was towed from."""

    stay: Stay
    before: Stay | None = None
    towed_off: bool = False
    towed_in: bool = False


def all_ramps() -> list[Ramp]:
    """Return every ramp of the example airport."""
    ramps = [Ramp(f"B{n:02}", "3", SCHENGEN_ONLY) for n in range(13, 29)]
    ramps += [Ramp(f"C{n:02}", "4", SCHENGEN_ONLY) for n in range(4, 19)]
    ramps += [Ramp(f"D{n:02}", "4", EVERYONE) for n in range(10, 32)]
    ramps += [Ramp(f"D{n:02}", "7", EVERYONE) for n in range(41, 47)]
    ramps += [Ramp(f"E{n:02}", "9" if n == 18 else "8", OTHERS_ONLY) for n in range(2, 25, 2)]
    ramps += [Ramp(f"F{n:02}", "8", OTHERS_ONLY) for n in range(2, 10)]
    ramps += [Ramp(f"G{n:02}", "9" if n == 9 else "8", OTHERS_ONLY) for n in range(2, 10)]
    ramps += [Ramp(f"H{n:02}", "4", EVERYONE) for n in range(1, 8)]
    ramps += [Ramp(f"A{n}", "4", EVERYONE, remote=True) for n in range(31, 47)]
    ramps += [Ramp(f"J{n}", "9", EVERYONE, remote=True) for n in range(80, 97)]
    ramps += [Ramp(f"P{n:02}", "8", EVERYONE, remote=True) for n in range(1, 17)]
    for letter, first in (("R", 70), ("S", 72)):
        numbers = range(first, first + 14)
        ramps += [Ramp(f"{letter}{n}", "9", "", remote=True, cargo=True) for n in numbers]
    return ramps


def place(movements: list[Movement], tables: Tables, rng: Random) -> dict[str, Placement]:
    """Return the placement of every operating flight by its uid, ramps chosen."""
    placements: dict[str, Placement] = {}
    stays: list[Stay] = []
    for movement in movements:
        if movement.operates and (movement.leg.arrives or movement.partner is None):
            stays += _plan(movement, placements, tables, rng)
    _choose_ramps(stays, rng)
    return placements


def zone(movement: Movement, tables: Tables) -> str:
    """Return S for a flight within Schengen, N for any other."""
    return "S" if tables.airport(movement.leg.route.airport).eu_indicator == "S" else "N"


def _plan(movement: Movement, placements: dict[str, Placement], tables: Tables, rng: Random) -> list[Stay]:
    """Return the stays of one aircraft on the ground and note which flight uses which."""
    arrival = movement if movement.leg.arrives else None
    departure = movement.partner if arrival else movement
    on = _on_block(arrival) if arrival else None
    off = _off_ramp(departure, rng) if departure else None
    if on is None or off is None:
        return [_one_legged(movement, placements, on, off, tables, rng)]
    assert arrival is not None  # both events exist
    assert departure is not None
    flights = (arrival, departure)
    if _is_towed(on, off, arrival, rng):
        return _towed(flights, placements, on, off, tables, rng)
    stay = _stay(flights, on, off, tables, remote=_sent_remote(arrival, rng))
    placements[arrival.leg.uid] = placements[departure.leg.uid] = Placement(stay)
    return [stay]


def _on_block(arrival: Movement) -> Event:
    assert arrival.expected is not None  # it operates
    assert arrival.block is not None
    return Event(arrival.expected, arrival.block)


def _off_ramp(departure: Movement, rng: Random) -> Event:
    """Return when the ramp is clear: the end of the push, a little after off-block."""
    assert departure.expected is not None  # it operates
    assert departure.block is not None
    return Event(departure.expected, departure.block).shifted(minutes(1, 3, rng), timedelta(0))


def _one_legged(
    movement: Movement,
    placements: dict[str, Placement],
    on: Event | None,
    off: Event | None,
    tables: Tables,
    rng: Random,
) -> Stay:
    """Return the stay of an aircraft that comes from the hangar, or goes there."""
    if on is None:
        assert off is not None  # a departure has an off-ramp event
        on = off.shifted(-PREPARATION, minutes(-5, 5, rng))
    if off is None:
        off = on.shifted(UNLOADING, minutes(0, 12, rng))
    stay = _stay((movement,), on, off, tables, remote=False)
    arrives = movement.leg.arrives
    tows = not stay.cargo  # a freighter stays where it is loaded
    placements[movement.leg.uid] = Placement(stay, towed_off=tows and arrives, towed_in=tows and not arrives)
    return stay


def _is_towed(on: Event, off: Event, arrival: Movement, rng: Random) -> bool:
    """Return whether a long stay is split; half of the night stays remain where they are."""
    if arrival.leg.route.nature == CARGO:
        return False
    if min(off.happens - on.happens, off.expected - on.expected) < LONG_STAY:
        return False
    return arrival.leg.scheduled.hour < NIGHT_HOUR or rng.random() < 0.5


def _towed(
    flights: tuple[Movement, Movement],
    placements: dict[str, Placement],
    on: Event,
    off: Event,
    tables: Tables,
    rng: Random,
) -> list[Stay]:
    """Return the stays of a towed aircraft: gate, parking, gate; or remote stand, then gate."""
    arrival, departure = flights
    tow_in = off.shifted(-PREPARATION, minutes(-8, 8, rng))
    last = _stay((departure,), tow_in, off, tables, remote=False)
    if rng.random() < 0.25:
        tow_off = tow_in.shifted(-TOW_MINUTES, timedelta(0))
        first = _stay((arrival,), on, tow_off, tables, remote=True)
        stays = [first, last]
    else:
        tow_off = on.shifted(UNLOADING, minutes(0, 15, rng))
        first = _stay((arrival,), on, tow_off, tables, remote=_sent_remote(arrival, rng))
        parking = _stay(flights, tow_off, tow_in, tables, remote=True)
        stays = [first, parking, last]
    placements[arrival.leg.uid] = Placement(first, towed_off=True)
    placements[departure.leg.uid] = Placement(last, before=stays[-2], towed_in=True)
    return stays


def _sent_remote(arrival: Movement, rng: Random) -> bool:
    return rng.random() < REMOTE_SHARE.get(arrival.leg.route.category, 0.02)


def _stay(flights: tuple[Movement, ...], on: Event, off: Event, tables: Tables, *, remote: bool) -> Stay:
    route = flights[0].leg.route
    return Stay(
        on=on,
        off=off,
        category=route.category,
        airline=route.airline,
        zones=frozenset(zone(movement, tables) for movement in flights),
        cargo=route.nature == CARGO,
        remote=remote,
    )


def _choose_ramps(stays: list[Stay], rng: Random) -> None:
    """Give each stay, in order of time, the best fitting ramp that is free long enough."""
    ramps = all_ramps()
    free_from: dict[str, datetime] = {}
    for stay in sorted(stays, key=lambda s: s.reserved):
        start, end = stay.reserved
        choices = [
            (_dislike(ramp, stay), rng.random(), ramp.name, ramp)
            for ramp in ramps
            if _suits(ramp, stay) and (ramp.name not in free_from or free_from[ramp.name] <= start)
        ]
        if not choices:
            raise ValueError(f"no free ramp at {start} for category {stay.category}: add ramps")
        stay.ramp = min(choices)[3]
        free_from[stay.ramp.name] = end + BUFFER


def _suits(ramp: Ramp, stay: Stay) -> bool:
    if ramp.cargo or stay.cargo:
        return ramp.cargo and stay.cargo
    return ramp.largest >= stay.category and stay.zones <= set(ramp.zones)


def _dislike(ramp: Ramp, stay: Stay) -> int:
    """Return how badly a ramp fits: the wrong kind first, then the room it wastes."""
    wasted = int(ramp.largest) - int(stay.category)
    if ramp.area == "H":
        return wasted + (0 if stay.airline == "U2" else 50) + 100 * stay.remote
    if ramp.area == "J" and not stay.remote:
        wasted += 20
    spare = 5 * (stay.zones == {"S"} and "N" in ramp.zones and not ramp.remote)
    return wasted + spare + 10 * (stay.airline == "U2") + 100 * (ramp.remote != stay.remote)
