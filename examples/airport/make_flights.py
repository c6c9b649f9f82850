"""Write ``flights.csv``: one invented week at Amsterdam, seen on Saturday 15 March 2025 at noon.

Run ``python make_flights.py`` to write the file next to this script; the same seed always
writes the same bytes. ``--seed`` makes another week, ``--output`` writes elsewhere.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path
from random import Random

from airport_network import CARGO, SINGLE_LEG_MINUTES, TURNAROUND_MINUTES, routes
from airport_operations import Movement, fly, known, minutes, modified, state
from airport_stands import BUS_GATES, Placement, place, zone
from airport_tables import FOLDER, HOME, Tables, read_tables
from airport_timetable import build_timetable

DEFAULT_SEED = 7
COLUMNS = [
    "flight_uid",
    "flight_number",
    "airline",
    "direction",
    "origin",
    "destination",
    "aircraft_registration",
    "aircraft_category",
    "gate",
    "bus_gate",
    "bus_service_needed",
    "ramp",
    "previous_ramp",
    "pier",
    "main_ground_handler",
    "connecting_flight_number",
    "connecting_flight_uid",
    "scheduled_block_time",
    "best_block_time",
    "expected_block_time",
    "actual_block_time",
    "expected_on_ramp",
    "actual_on_ramp",
    "expected_off_ramp",
    "actual_off_ramp",
    "expected_tow_in",
    "expected_tow_off",
    "tow_in_request",
    "tow_off",
    "actual_final_approach",
    "boarding",
    "push_back",
    "take_off",
    "flight_state",
    "flight_nature",
    "mtt",
    "mtt_single_leg",
    "eu_indicator",
    "safe_town_airport",
    "modified",
]

Row = dict[str, str]


def make_rows(seed: int, tables: Tables) -> list[Row]:
    """Return the rows of the week in order of scheduled time, one per flight."""
    rng = Random(seed)
    movements = fly(build_timetable(routes(), tables, rng), rng)
    placements = place(movements, tables, rng)
    return [
        _row(movement, placements.get(movement.leg.uid), tables, rng) for movement in movements if movement.leg.in_week
    ]


def write_flights(path: Path, rows: Sequence[Row]) -> None:
    """Write the rows as CSV with Unix line ends; raises OSError when that fails."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _row(movement: Movement, placement: Placement | None, tables: Tables, rng: Random) -> Row:
    row = _identity(movement, tables) | _connection(movement)
    row |= _block_times(movement) | _flight_times(movement)
    ramp_times = _ramp_times(placement, rng) if placement else {}
    row |= {name: _iso(moment) for name, moment in ramp_times.items()}
    if placement:
        row |= _location(movement, placement, tables, rng)
    row["flight_state"] = state(movement, tables.block_minutes(movement.leg.route.airport))
    happened = [
        movement.actual_block,
        known(movement.take_off),
        known(movement.final_approach),
        known(movement.boarding),
        *(ramp_times.get(name) for name in ("actual_on_ramp", "actual_off_ramp", "tow_in_request")),
    ]
    row["modified"] = _iso(modified(movement, happened, rng))
    return row


def _identity(movement: Movement, tables: Tables) -> Row:
    leg = movement.leg
    airline = tables.airline(leg.route.airline)
    airport = tables.airport(leg.route.airport)
    ends = (airport.iata_code, HOME) if leg.arrives else (HOME, airport.iata_code)
    return {
        "flight_uid": leg.uid,
        "flight_number": leg.flight_number,
        "airline": airline.name,
        "direction": "arrival" if leg.arrives else "departure",
        "origin": ends[0],
        "destination": ends[1],
        "aircraft_registration": leg.registration,
        "aircraft_category": leg.route.category,
        "bus_service_needed": "none",
        "main_ground_handler": airline.main_ground_handler,
        "flight_nature": leg.route.nature,
        "mtt": str(TURNAROUND_MINUTES[leg.route.category]),
        "mtt_single_leg": str(SINGLE_LEG_MINUTES[leg.route.category]),
        "eu_indicator": airport.eu_indicator,
        "safe_town_airport": airport.safe_town,
    }


def _connection(movement: Movement) -> Row:
    """Return the other flight of the turnaround, when it is in the week too."""
    partner = movement.partner
    if partner is None or not partner.leg.in_week:
        return {}
    return {
        "connecting_flight_number": partner.leg.flight_number,
        "connecting_flight_uid": partner.leg.uid,
    }


def _block_times(movement: Movement) -> Row:
    scheduled = movement.leg.scheduled
    return {
        "scheduled_block_time": _iso(scheduled),
        "best_block_time": _iso(movement.actual_block or movement.expected or scheduled),
        "expected_block_time": _iso(movement.expected),
        "actual_block_time": _iso(movement.actual_block),
    }


def _flight_times(movement: Movement) -> Row:
    return {
        "actual_final_approach": _iso(known(movement.final_approach)),
        "boarding": _iso(known(movement.boarding)),
        "push_back": _iso(known(movement.push_back)),
        "take_off": _iso(known(movement.take_off)),
    }


def _ramp_times(placement: Placement, rng: Random) -> dict[str, datetime | None]:
    """Return when the aircraft is on its ramp, and the tows that bring or take it."""
    on, off = placement.stay.on, placement.stay.off
    times = {
        "expected_on_ramp": on.expected,
        "actual_on_ramp": on.actual,
        "expected_off_ramp": off.expected,
        "actual_off_ramp": off.actual,
    }
    if placement.towed_off:
        times |= {"expected_tow_off": off.expected, "tow_off": off.actual}
    if placement.towed_in:
        request = on.happens - timedelta(minutes=20) - minutes(5, 15, rng)
        times |= {"expected_tow_in": on.expected, "tow_in_request": known(request)}
    return times


def _location(movement: Movement, placement: Placement, tables: Tables, rng: Random) -> Row:
    """Return the ramp, and the gate or bus gate that passengers use for it."""
    ramp = placement.stay.ramp
    if ramp is None:
        raise ValueError(f"flight {movement.leg.uid} was given no ramp")
    row = {"ramp": ramp.name}
    if placement.before and placement.before.ramp:
        row["previous_ramp"] = placement.before.ramp.name
    if movement.leg.route.nature == CARGO:
        return row
    if not ramp.remote:
        return row | {"gate": ramp.name, "pier": ramp.area}
    gates = BUS_GATES[zone(movement, tables)]
    bus_gate = gates[int(rng.random() * len(gates))]
    return row | {"bus_gate": bus_gate, "pier": bus_gate[0], "bus_service_needed": "remote"}


def _iso(moment: datetime | None) -> str:
    return moment.isoformat() if moment else ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the file and return 0; a bad table or path ends with one line and status 2."""
    parser = argparse.ArgumentParser(description="Write an invented week of flights as CSV.")
    parser.add_argument("--seed", type=int, default=DEFAULT_SEED, help="default: %(default)s")
    parser.add_argument("--output", type=Path, default=FOLDER / "flights.csv")
    options = parser.parse_args(arguments)
    try:
        write_flights(options.output, make_rows(options.seed, read_tables()))
    except (OSError, ValueError) as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
