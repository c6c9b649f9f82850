"""What really happened: delays, cancellations and diversions, and what was known at the snapshot."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby, pairwise
from random import Random

from airport_network import CARGO, TURNAROUND_MINUTES
from airport_timetable import Leg

# Times are local without a zone, as airport systems show them.
NOW = datetime.fromisoformat("2025-03-15T12:00")
FOG_START = datetime.fromisoformat("2025-03-12T06:00")
FOG_END = datetime.fromisoformat("2025-03-12T10:00")

MAX_DELAY_MINUTES = 180
CANCELLED_SHARE, CANCELLED_IN_FOG = 0.012, 0.13
DIVERTED_SHARE, DIVERTED_IN_FOG = 0.0015, 0.12
KNOWN_AHEAD = timedelta(hours=4)
EXPECTED_AHEAD = timedelta(hours=8)

# Minutes of delay by quantile, read linearly between the points.
Spread = tuple[tuple[float, float], ...]
OFF_BLOCK: Spread = ((0, -6), (0.15, -2), (0.5, 4), (0.75, 14), (0.9, 35), (0.97, 80), (1, 175))
EN_ROUTE: Spread = ((0, -28), (0.2, -12), (0.5, -3), (0.8, 8), (0.95, 26), (1, 60))
IN_BLOCK: Spread = ((0, -30), (0.2, -14), (0.5, -3), (0.75, 8), (0.9, 30), (0.97, 75), (1, 170))
FOG: Spread = ((0, 10), (0.5, 35), (1, 90))
ESTIMATE: Spread = ((0, -4), (0.5, 0), (1, 4))


@dataclass(slots=True)
class Movement:
    """One leg as flown: ``block`` is when it came on or went off blocks, None if it did not."""

    leg: Leg
    cancelled: bool = False
    diverted: bool = False
    block: datetime | None = None
    expected: datetime | None = None
    partner: Movement | None = None
    final_approach: datetime | None = None
    landing: datetime | None = None
    boarding: datetime | None = None
    push_back: datetime | None = None
    take_off: datetime | None = None

    @property
    def operates(self) -> bool:
        """Return whether the aircraft uses a ramp in Amsterdam for this flight."""
        return not (self.cancelled or self.diverted)

    @property
    def actual_block(self) -> datetime | None:
        """Return the block time if it lies before the snapshot."""
        return known(self.block)


def known(moment: datetime | None) -> datetime | None:
    """Return the moment if it is not after the snapshot, else None."""
    return moment if moment is not None and moment <= NOW else None


def draw(spread: Spread, rng: Random) -> timedelta:
    """Return a duration in whole minutes drawn from a table of quantiles."""
    share = rng.random()
    for (low, start), (high, end) in pairwise(spread):
        if share <= high:
            return timedelta(minutes=round(start + (end - start) * (share - low) / (high - low)))
    return timedelta(minutes=spread[-1][1])


def minutes(low: int, high: int, rng: Random) -> timedelta:
    """Return a whole number of minutes from low to high."""
    return timedelta(minutes=low + int(rng.random() * (high - low + 1)))


def fly(legs: list[Leg], rng: Random) -> list[Movement]:
    """Return one movement per leg, in the order of the legs, with turnarounds paired."""
    movements = [Movement(leg) for leg in legs]
    by_trip = sorted(movements, key=lambda m: (m.leg.trip, m.leg.scheduled))
    for _, trip in groupby(by_trip, key=lambda m: m.leg.trip):
        first, second = trip
        _disturb(first, second, rng)
        if not first.leg.route.based:
            _pair(first, second)
    by_aircraft = sorted(movements, key=lambda m: (m.leg.registration, m.leg.scheduled))
    for _, chain in groupby(by_aircraft, key=lambda m: m.leg.registration):
        _fly_chain(list(chain), rng)
    return movements


def _disturb(first: Movement, second: Movement, rng: Random) -> None:
    """Cancel or divert a trip with the likelihood of its hour."""
    start = first.leg.scheduled
    fog = _in_fog(start)
    diverted = rng.random() < (DIVERTED_IN_FOG if fog else DIVERTED_SHARE)
    cancelled = rng.random() < (CANCELLED_IN_FOG if fog else CANCELLED_SHARE)
    if first.leg.arrives and diverted and start < NOW - timedelta(hours=MAX_DELAY_MINUTES // 60):
        # The aircraft never came, so the flight it should have made is cancelled.
        first.diverted = second.cancelled = True
    elif cancelled and start < NOW + timedelta(hours=18):
        first.cancelled = second.cancelled = True


def _in_fog(moment: datetime) -> bool:
    return FOG_START <= moment < FOG_END


def _pair(arrival: Movement, departure: Movement) -> None:
    arrival.partner, departure.partner = departure, arrival


def _fly_chain(chain: list[Movement], rng: Random) -> None:
    """Fly one aircraft's legs in order: a late arrival makes its departure late."""
    last: Movement | None = None
    for movement in chain:
        if not movement.operates:
            continue
        if movement.leg.arrives:
            _arrive(movement, last, rng)
        else:
            if last is not None and movement.partner is None:
                _pair(last, movement)
            _depart(movement, rng)
        last = movement


def _arrive(movement: Movement, out: Movement | None, rng: Random) -> None:
    """Set the times of an arrival; a based aircraft brings part of its delay home."""
    scheduled = movement.leg.scheduled
    if out is not None and out.leg.trip == movement.leg.trip and out.block is not None:
        carried = max(timedelta(0), out.block - out.leg.scheduled) * 0.7
        late = timedelta(minutes=carried // timedelta(minutes=1)) + draw(EN_ROUTE, rng)
    else:
        late = draw(IN_BLOCK, rng)
    block = scheduled + _capped(late + _fog_delay(scheduled, rng))
    movement.block = block
    movement.landing = block - minutes(5, 14, rng)
    movement.final_approach = movement.landing - minutes(3, 5, rng)
    movement.expected = _expected(movement, block, rng)


def _depart(movement: Movement, rng: Random) -> None:
    """Set the times of a departure, never before its aircraft can be ready."""
    scheduled = movement.leg.scheduled
    block = scheduled + _capped(draw(OFF_BLOCK, rng) + _fog_delay(scheduled, rng))
    category = movement.leg.route.category
    ground = timedelta(minutes=TURNAROUND_MINUTES[category])
    arrival = movement.partner
    if arrival is not None and arrival.block is not None:
        block = max(block, arrival.block + ground)
    movement.block = movement.push_back = block
    movement.take_off = block + minutes(9, 22, rng)
    if movement.leg.route.nature != CARGO:
        movement.boarding = block - minutes(25, 30, rng) - timedelta(minutes=3 * int(category) - 9)
    movement.expected = _expected(movement, block, rng)
    if movement.actual_block is None and arrival is not None and arrival.expected is not None:
        on_block = arrival.actual_block or arrival.expected
        movement.expected = max(movement.expected, on_block + ground)


def _capped(late: timedelta) -> timedelta:
    return min(late, timedelta(minutes=MAX_DELAY_MINUTES))


def _fog_delay(scheduled: datetime, rng: Random) -> timedelta:
    return draw(FOG, rng) if _in_fog(scheduled) else timedelta(0)


def _expected(movement: Movement, block: datetime, rng: Random) -> datetime:
    """Return the last estimate made before the block time, or at the snapshot."""
    scheduled = movement.leg.scheduled
    estimate = block + draw(ESTIMATE, rng)
    if block <= NOW:
        return estimate
    if block > NOW + KNOWN_AHEAD and scheduled > NOW:
        return scheduled
    return max(estimate, NOW + timedelta(minutes=1))


def state(movement: Movement, flight_minutes: int) -> str:
    """Return the flight's state code at the snapshot."""
    if not movement.operates:
        return "CNX" if movement.cancelled else "DIV"
    soon = movement.expected is not None and movement.expected <= NOW + EXPECTED_AHEAD
    waiting = "EXP" if soon else "SCH"
    if movement.leg.arrives:
        return _arrival_state(movement, flight_minutes, waiting)
    if movement.actual_block:
        return "DEP"
    if known(movement.boarding) and movement.block:
        return "GCL" if movement.block - timedelta(minutes=12) <= NOW else "BRD"
    return waiting


def _arrival_state(movement: Movement, flight_minutes: int, waiting: str) -> str:
    if movement.actual_block:
        return "ARR"
    if known(movement.landing):
        return "LND"
    if movement.landing and movement.landing - timedelta(minutes=flight_minutes) <= NOW:
        return "AIR"
    return waiting


def modified(movement: Movement, actuals: Iterable[datetime | None], rng: Random) -> datetime:
    """Return when the row last changed: after its last actual time, never after the snapshot."""
    happened = [moment for moment in actuals if moment is not None]
    scheduled = movement.leg.scheduled
    if movement.diverted:
        return scheduled + minutes(10, 60, rng)
    if movement.cancelled and movement.partner is not None and movement.partner.diverted:
        return movement.partner.leg.scheduled + minutes(61, 90, rng)
    if movement.cancelled:
        return min(scheduled - minutes(40, 400, rng), NOW - minutes(5, 240, rng))
    if happened:
        return min(max(happened) + minutes(0, 3, rng), NOW)
    horizon = 30 if scheduled <= NOW + EXPECTED_AHEAD else 1800
    return NOW - minutes(1, horizon, rng)
