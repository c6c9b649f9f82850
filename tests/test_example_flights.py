"""The airport example: the committed week is what the generator writes, and it is possible."""

from __future__ import annotations

import csv
import subprocess
import sys
from collections import defaultdict
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "airport"
NOW = "2025-03-15T12:00:00"
BUFFER = timedelta(minutes=10)
HAPPENED = (
    "actual_block_time",
    "actual_on_ramp",
    "actual_off_ramp",
    "tow_in_request",
    "tow_off",
    "actual_final_approach",
    "boarding",
    "push_back",
    "take_off",
)
HEADER = (
    "flight_uid,flight_number,airline,direction,origin,destination,aircraft_registration,aircraft_category,gate,"
    "bus_gate,bus_service_needed,ramp,previous_ramp,pier,main_ground_handler,connecting_flight_number,"
    "connecting_flight_uid,scheduled_block_time,best_block_time,expected_block_time,actual_block_time,"
    "expected_on_ramp,actual_on_ramp,expected_off_ramp,actual_off_ramp,expected_tow_in,expected_tow_off,"
    "tow_in_request,tow_off,actual_final_approach,boarding,push_back,take_off,flight_state,flight_nature,mtt,"
    "mtt_single_leg,eu_indicator,safe_town_airport,modified"
)

Row = dict[str, str]


def _read(name: str) -> list[Row]:
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def _on_ramp(row: Row) -> list[datetime]:
    return [_time(row[name]) for name in ("expected_on_ramp", "actual_on_ramp") if row[name]]


def _off_ramp(row: Row) -> list[datetime]:
    return [_time(row[name]) for name in ("expected_off_ramp", "actual_off_ramp") if row[name]]


def _generate(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-B", str(FOLDER / "make_flights.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture(scope="module")
def flights() -> list[Row]:
    return _read("flights.csv")


@pytest.fixture(scope="module")
def by_uid(flights: list[Row]) -> dict[str, Row]:
    return {row["flight_uid"]: row for row in flights}


def test_generator_writes_the_committed_file_byte_for_byte(tmp_path: Path) -> None:
    output = tmp_path / "flights.csv"
    assert _generate("--output", str(output)).returncode == 0
    assert output.read_bytes() == (FOLDER / "flights.csv").read_bytes()


def test_another_seed_writes_another_week(tmp_path: Path) -> None:
    output = tmp_path / "flights.csv"
    assert _generate("--seed", "8", "--output", str(output)).returncode == 0
    assert output.read_bytes() != (FOLDER / "flights.csv").read_bytes()
    assert output.read_text(encoding="utf-8").splitlines()[0] == HEADER


def test_generator_names_a_path_it_cannot_write_in_one_line(tmp_path: Path) -> None:
    result = _generate("--output", str(tmp_path / "missing" / "flights.csv"))
    assert result.returncode == 2
    assert "missing" in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr


def test_file_has_the_promised_columns_size_and_days(flights: list[Row]) -> None:
    text = (FOLDER / "flights.csv").read_text(encoding="utf-8")
    assert text.splitlines()[0] == HEADER
    assert len(text.encode()) < 2_000_000
    assert len(flights) >= 3000
    days = {row["scheduled_block_time"][:10] for row in flights}
    assert days == {f"2025-03-{day}" for day in range(10, 17)}
    assert len({row["flight_uid"] for row in flights}) == len(flights)


def test_airlines_and_airports_are_those_of_the_tables(flights: list[Row]) -> None:
    airlines = {row["name"]: row for row in _read("airlines.csv")}
    airports = {row["iata_code"] for row in _read("airports.csv")}
    assert len(airlines) >= 30
    for row in flights:
        airline = airlines[row["airline"]]
        number = row["flight_number"].removeprefix(airline["iata_code"])
        assert number.isdigit()
        assert 1 <= len(number) <= 4
        assert row["main_ground_handler"] == airline["main_ground_handler"]
        home = "destination" if row["direction"] == "arrival" else "origin"
        assert row[home] == "AMS"
        assert {row["origin"], row["destination"]} <= airports
    assert {row["airline"] for row in flights} == set(airlines)
    assert {row[end] for row in flights for end in ("origin", "destination")} == airports


def test_registration_keeps_its_airline_and_category(flights: list[Row]) -> None:
    owners = defaultdict(set)
    for row in flights:
        owners[row["aircraft_registration"]].add((row["airline"], row["aircraft_category"]))
    assert "" not in owners
    assert all(len(owner) == 1 for owner in owners.values())


def test_connecting_flights_exist_and_point_at_each_other(by_uid: dict[str, Row]) -> None:
    paired = [row for row in by_uid.values() if row["connecting_flight_uid"]]
    assert len(paired) > 0.9 * len(by_uid)
    for row in paired:
        other = by_uid[row["connecting_flight_uid"]]
        assert other["connecting_flight_uid"] == row["flight_uid"]
        assert other["flight_number"] == row["connecting_flight_number"]
        assert other["aircraft_registration"] == row["aircraft_registration"]
        assert {other["direction"], row["direction"]} == {"arrival", "departure"}


def test_departure_leaves_its_aircraft_the_minimum_turnaround(by_uid: dict[str, Row]) -> None:
    for row in by_uid.values():
        arrival = by_uid.get(row["connecting_flight_uid"])
        if row["direction"] == "arrival" or not arrival or not row["actual_block_time"]:
            continue
        ground = _time(row["actual_block_time"]) - _time(arrival["actual_block_time"])
        assert ground >= timedelta(minutes=int(row["mtt"])), row["flight_uid"]


def test_no_ramp_holds_two_aircraft_at_once(by_uid: dict[str, Row]) -> None:
    stays = defaultdict(set)
    for row in by_uid.values():
        if not row["ramp"]:
            continue
        aircraft = row["aircraft_registration"]
        stays[row["ramp"]].add((min(_on_ramp(row)), max(_off_ramp(row)), aircraft))
        arrival = by_uid.get(row["connecting_flight_uid"])
        if row["previous_ramp"] and arrival and arrival["ramp"] != row["previous_ramp"]:
            parked = (min(_off_ramp(arrival)), max(_on_ramp(row)), aircraft)
            stays[row["previous_ramp"]].add(parked)
    assert len(stays) > 100
    for ramp, intervals in stays.items():
        for earlier, later in pairwise(sorted(intervals)):
            assert later[0] >= earlier[1] + BUFFER, (ramp, earlier, later)


def test_remote_stands_have_buses_and_contact_stands_have_gates(flights: list[Row]) -> None:
    for row in flights:
        freighter = row["flight_nature"] == "F"
        remote = row["ramp"][:1] in set("AJPRS")
        bus = bool(row["ramp"]) and remote and not freighter
        assert (row["bus_service_needed"] == "remote") == bus == bool(row["bus_gate"])
        assert row["bus_service_needed"] in ("remote", "none")
        assert bool(row["gate"]) == (bool(row["ramp"]) and not remote)
        if row["gate"]:
            assert row["gate"] == row["ramp"]
        assert row["pier"] == (row["gate"] or row["bus_gate"])[:1]


def test_times_of_a_flight_come_in_order(flights: list[Row]) -> None:
    chains = (
        ("actual_final_approach", "actual_block_time", "actual_off_ramp"),
        ("actual_on_ramp", "boarding", "push_back", "take_off"),
        ("actual_on_ramp", "push_back", "actual_off_ramp"),
        ("expected_on_ramp", "expected_off_ramp"),
        ("tow_in_request", "actual_on_ramp"),
    )
    for row in flights:
        for chain in chains:
            times = [row[name] for name in chain if row[name]]
            assert times == sorted(times), (row["flight_uid"], chain)
        if row["take_off"]:
            assert row["take_off"] > row["push_back"] == row["actual_block_time"]


def test_nothing_has_happened_after_the_snapshot(flights: list[Row]) -> None:
    for row in flights:
        happened = [row[name] for name in HAPPENED if row[name]]
        assert all(moment <= row["modified"] <= NOW for moment in happened), row["flight_uid"]
        assert row["modified"] <= NOW
        if row["flight_state"] not in ("CNX", "DIV"):
            assert row["expected_block_time"]
            done = row["flight_state"] in ("ARR", "DEP")
            assert done == bool(row["actual_block_time"])
            assert done or row["expected_block_time"] > NOW


def test_delays_stay_between_half_an_hour_early_and_three_hours_late(flights: list[Row]) -> None:
    late = [_time(row["best_block_time"]) - _time(row["scheduled_block_time"]) for row in flights]
    assert timedelta(minutes=-45) <= min(late) < timedelta(0)
    assert timedelta(minutes=90) < max(late) <= timedelta(minutes=185)
    assert timedelta(minutes=-2) <= sorted(late)[len(late) // 2] <= timedelta(minutes=10)


def test_flights_that_do_not_come_have_no_times_and_every_state_occurs(flights: list[Row]) -> None:
    states = {row["flight_state"] for row in flights}
    assert states == {"SCH", "EXP", "BRD", "GCL", "DEP", "AIR", "LND", "ARR", "CNX", "DIV"}
    for row in flights:
        if row["flight_state"] in ("CNX", "DIV"):
            assert not any(row[name] for name in (*HAPPENED, "ramp", "expected_block_time"))
            assert row["best_block_time"] == row["scheduled_block_time"]


def test_each_direction_has_only_its_own_columns(flights: list[Row]) -> None:
    foreign = {
        "arrival": ("boarding", "push_back", "take_off", "expected_tow_in", "previous_ramp"),
        "departure": ("actual_final_approach", "tow_off", "expected_tow_off"),
    }
    for row in flights:
        assert not any(row[name] for name in foreign[row["direction"]])


def test_fog_bulletin_agrees_with_the_table(flights: list[Row]) -> None:
    bulletin = (FOLDER / "bulletins" / "fog-12-march.md").read_text(encoding="utf-8")
    text = " ".join(bulletin.split())
    start, end = "2025-03-12T06:00:00", "2025-03-12T10:00:00"
    foggy = [row for row in flights if start <= row["scheduled_block_time"] < end]
    cancelled = sum(row["flight_state"] == "CNX" for row in foggy)
    diverted = [row for row in foggy if row["flight_state"] == "DIV"]
    assert f"Of the {len(foggy)} flights" in text
    assert f"{cancelled} were cancelled and {len(diverted)} were diverted" in text
    for row in diverted:
        assert f"{row['flight_number']} of {row['airline']}" in text
        assert row["connecting_flight_number"] in text
    for number in ("KL1421", "KL983", "KL1301", "KL1375", "KL1473", "KL819", "HV5757", "HV6881"):
        assert number in text
        state = [row["flight_state"] for row in flights if row["flight_uid"] == f"20250312-{number}-D"]
        assert state == ["CNX"]


def test_pier_and_freighter_bulletins_agree_with_the_table(flights: list[Row]) -> None:
    for row in flights:
        pier = row["gate"][:1]
        if pier in ("B", "C"):
            assert row["eu_indicator"] == "S"
        if pier in ("E", "F", "G"):
            assert row["eu_indicator"] != "S"
        assert pier != "H" or row["airline"] == "easyJet"
        if row["airline"] == "Emirates" and row["ramp"]:
            assert row["gate"] in ("E18", "G09") or row["bus_gate"]
        if row["flight_nature"] == "F":
            assert row["ramp"][:1] in ("R", "S", "")
            assert not any(row[name] for name in ("boarding", "expected_tow_in", "expected_tow_off"))
    assert {"S", "I"} <= {row["eu_indicator"] for row in flights if row["gate"][:1] == "D"}


def test_bus_gates_follow_the_bulletin_on_schengen(flights: list[Row]) -> None:
    schengen = {f"B{n:02}" for n in range(1, 9)} | {f"C{n}" for n in range(21, 25)}
    others = {f"D{n:02}" for n in range(2, 8)}
    for row in flights:
        if row["bus_gate"]:
            assert row["bus_gate"] in (schengen if row["eu_indicator"] == "S" else others)
