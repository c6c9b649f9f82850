"""The airport example: the committed week is possible, and questions about its delays and counts are answered."""

import csv
import subprocess
import sys
from collections import defaultdict
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path

import pytest
from flights import workspace

from kgplatform.types import Verdict

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "airport"
SNAPSHOT = "2025-03-15T12:00:00"
HAPPENED = ("actual_block_time", "actual_on_ramp", "actual_off_ramp", "tow_in_request", "tow_off")
HAPPENED += ("actual_final_approach", "boarding", "push_back", "take_off")
Row = dict[str, str]


def _read(name):
    with (FOLDER / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _time(text):
    return datetime.fromisoformat(text)


def _generate(*arguments):
    command = [sys.executable, "-B", str(FOLDER / "make_flights.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


@pytest.fixture(scope="module")
def flights():
    return _read("flights.csv")


@pytest.fixture(scope="module")
def by_uid(flights):
    return {row["flight_uid"]: row for row in flights}


def test_file_has_the_promised_columns_size_and_days(flights):
    text = (FOLDER / "flights.csv").read_text(encoding="utf-8")
    assert len(text.splitlines()[0].split(",")) == 40
    assert len(text.encode()) < 2_000_000
    assert len(flights) >= 3000
    days = {row["scheduled_block_time"][:10] for row in flights}
    assert days == {f"2025-03-{day}" for day in range(10, 17)}
    assert len({row["flight_uid"] for row in flights}) == len(flights)


def test_generator_writes_the_committed_file_byte_for_byte(tmp_path):
    output = tmp_path / "flights.csv"
    assert _generate("--output", str(output)).returncode == 0
    assert output.read_bytes() == (FOLDER / "flights.csv").read_bytes()
    assert _generate("--seed", "8", "--output", str(output)).returncode == 0
    assert output.read_bytes() != (FOLDER / "flights.csv").read_bytes()
    result = _generate("--output", str(tmp_path / "missing" / "flights.csv"))
    assert result.returncode == 2
    assert "missing" in result.stderr.splitlines()[-1]
    assert "Traceback" not in result.stderr


def test_airlines_and_airports_are_those_of_the_tables(flights):
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


def test_an_aircraft_keeps_its_airline_and_has_time_to_turn_round(by_uid):
    owners = {(row["aircraft_registration"], row["airline"], row["aircraft_category"]) for row in by_uid.values()}
    assert len({owner[0] for owner in owners} - {""}) == len(owners)
    paired = [row for row in by_uid.values() if row["connecting_flight_uid"]]
    assert len(paired) > 0.9 * len(by_uid)
    for row in paired:
        other = by_uid[row["connecting_flight_uid"]]
        assert other["connecting_flight_uid"] == row["flight_uid"]
        assert other["flight_number"] == row["connecting_flight_number"]
        assert other["aircraft_registration"] == row["aircraft_registration"]
        assert {other["direction"], row["direction"]} == {"arrival", "departure"}
        if row["direction"] == "departure" and row["actual_block_time"]:
            ground = _time(row["actual_block_time"]) - _time(other["actual_block_time"])
            assert ground >= timedelta(minutes=int(row["mtt"])), row["flight_uid"]


def test_times_of_a_flight_come_in_order_and_none_after_the_snapshot(flights):
    chains = (
        ("actual_final_approach", "actual_block_time", "actual_off_ramp"),
        ("actual_on_ramp", "boarding", "push_back", "take_off"),
        ("actual_on_ramp", "push_back", "actual_off_ramp"),
        ("expected_on_ramp", "expected_off_ramp"),
        ("tow_in_request", "actual_on_ramp"),
    )
    foreign = {
        "arrival": ("boarding", "push_back", "take_off", "expected_tow_in", "previous_ramp"),
        "departure": ("actual_final_approach", "tow_off", "expected_tow_off"),
    }
    for row in flights:
        for chain in chains:
            times = [row[name] for name in chain if row[name]]
            assert times == sorted(times), (row["flight_uid"], chain)
        if row["take_off"]:
            assert row["take_off"] > row["push_back"] == row["actual_block_time"]
        assert all(row[name] <= row["modified"] <= SNAPSHOT for name in HAPPENED), row["flight_uid"]
        assert not any(row[name] for name in foreign[row["direction"]])
        if row["flight_state"] in ("CNX", "DIV"):
            assert not any(row[name] for name in (*HAPPENED, "ramp", "expected_block_time"))
            assert row["best_block_time"] == row["scheduled_block_time"]
        else:
            done = row["flight_state"] in ("ARR", "DEP")
            assert done == bool(row["actual_block_time"])
            assert row["expected_block_time"]
            assert done or row["expected_block_time"] > SNAPSHOT
    states = {row["flight_state"] for row in flights}
    assert states == {"SCH", "EXP", "BRD", "GCL", "DEP", "AIR", "LND", "ARR", "CNX", "DIV"}
    late = sorted(_time(row["best_block_time"]) - _time(row["scheduled_block_time"]) for row in flights)
    assert timedelta(minutes=-45) <= late[0] < timedelta(0)
    assert timedelta(minutes=90) < late[-1] <= timedelta(minutes=185)
    assert timedelta(minutes=-2) <= late[len(late) // 2] <= timedelta(minutes=10)


def test_fog_bulletin_agrees_with_the_table(flights):
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


def test_no_ramp_holds_two_aircraft_at_once(by_uid):
    def times(row, edge):
        return [_time(row[name]) for name in (f"expected_{edge}_ramp", f"actual_{edge}_ramp") if row[name]]

    stays = defaultdict(set)
    for row in by_uid.values():
        if not row["ramp"]:
            continue
        aircraft = row["aircraft_registration"]
        stays[row["ramp"]].add((min(times(row, "on")), max(times(row, "off")), aircraft))
        arrival = by_uid.get(row["connecting_flight_uid"])
        if row["previous_ramp"] and arrival and arrival["ramp"] != row["previous_ramp"]:
            stays[row["previous_ramp"]].add((min(times(arrival, "off")), max(times(row, "on")), aircraft))
    assert len(stays) > 100
    for ramp, intervals in stays.items():
        for earlier, later in pairwise(sorted(intervals)):
            assert later[0] >= earlier[1] + timedelta(minutes=10), (ramp, earlier, later)


def test_stands_gates_and_bus_gates_are_as_the_bulletins_say(flights):
    schengen = {f"B{n:02}" for n in range(1, 9)} | {f"C{n}" for n in range(21, 25)}
    others = {f"D{n:02}" for n in range(2, 8)}
    for row in flights:
        remote, freighter = row["ramp"][:1] in set("AJPRS"), row["flight_nature"] == "F"
        bus = bool(row["ramp"]) and remote and not freighter
        assert row["bus_service_needed"] == ("remote" if bus else "none")
        assert bool(row["bus_gate"]) == bus
        assert row["gate"] == ("" if remote else row["ramp"])
        pier = row["gate"][:1]
        assert row["pier"] == (row["gate"] or row["bus_gate"])[:1]
        assert pier not in ("B", "C") or row["eu_indicator"] == "S"
        assert pier not in ("E", "F", "G") or row["eu_indicator"] != "S"
        assert pier != "H" or row["airline"] == "easyJet"
        if bus:
            assert row["bus_gate"] in (schengen if row["eu_indicator"] == "S" else others)
        if row["airline"] == "Emirates" and row["ramp"]:
            assert row["gate"] in ("E18", "G09") or row["bus_gate"]
        if freighter:
            assert row["ramp"][:1] in ("R", "S", "")
            assert not any(row[name] for name in ("boarding", "expected_tow_in", "expected_tow_off"))
    assert {"S", "I"} <= {row["eu_indicator"] for row in flights if row["gate"][:1] == "D"}


@pytest.fixture(scope="module")
def kg(tmp_path_factory):
    with workspace(tmp_path_factory.getbasetemp() / "two-days") as made:
        made.search = lambda *_a, **_k: []  # no passages here, and no embedder to load
        yield made


def ask(kg, text):
    return kg.ask(text, now=SNAPSHOT)


@pytest.fixture(scope="module")
def delays(kg):
    """The minutes by which the flights of the day are later than planned, by flight."""
    rows = kg.query(
        """SELECT ?uid ?planned ?at ?state WHERE {
             ?f airport:flightUid ?uid ; airport:scheduledBlockTime ?planned ; airport:flightState ?state .
             OPTIONAL { ?f airport:actualBlockTime ?actual } OPTIONAL { ?f airport:bestBlockTime ?best }
             BIND(COALESCE(?actual, ?best) AS ?at) FILTER(STRSTARTS(STR(?planned), "2025-03-15") && BOUND(?at)) }"""
    ).rows
    return {
        uid.value: int((_time(at.value) - _time(planned.value)).total_seconds() // 60)
        for uid, planned, at, state in rows
        if not str(state).endswith(("Cancelled>", "Diverted>"))
    }


@pytest.mark.parametrize(
    ("longest", "which"),
    [
        ("What is the longest delay today?", "Which flight has the longest delay today?"),
        pytest.param("今天最长的延误是多少？", "今天延误最久的航班是哪个？", marks=pytest.mark.slow),
        pytest.param("What is the longest delay today?", "most delayed flight today", marks=pytest.mark.slow),
    ],
)
def test_the_longest_delay_is_told_in_minutes_and_its_flight_named(kg, delays, longest, which):
    answer = ask(kg, longest)
    assert (answer.verdict, answer.values) == (Verdict.ANSWERED, (str(max(delays.values())),))
    assert {delays[value] for value in ask(kg, which).values} == {max(delays.values())}


@pytest.mark.parametrize(
    "text",
    [
        "Which airline has the most delays?",
        pytest.param("哪个航空公司延误的航班最多？", marks=pytest.mark.slow),
        pytest.param("What is the average delay today?", marks=pytest.mark.slow),
        pytest.param("Why are flights delayed?", marks=pytest.mark.slow),
        "航班为什么延误？",
    ],
)
def test_what_is_not_told_of_delays_is_refused_and_nothing_else_is_said(kg, text):
    answer = ask(kg, text)
    assert (answer.verdict, answer.values) == (Verdict.UNANSWERABLE, ())


def test_delays_are_counted_and_said_to_be_there(kg, delays):
    late = sum(minutes > 0 for minutes in delays.values())
    assert ask(kg, "How many delays are there today?").values == (str(late),)
    assert ask(kg, "Are there any delays?").values == ("Yes",)


@pytest.mark.parametrize(
    ("count", "about"),
    [
        ("How many flights are there on 15 March 2025?", "介绍一下KLM"),
        pytest.param("2025年3月15日有多少航班？", "Tell me about KLM", marks=pytest.mark.slow),
    ],
)
def test_all_flights_of_a_day_are_counted_and_an_airline_is_told_of(kg, count, about):
    rows = kg.query(
        """SELECT ?f WHERE { ?f airport:bestBlockTime ?at . FILTER(STRSTARTS(STR(?at), "2025-03-15")) }"""
    ).rows
    assert len(rows) > 400
    assert ask(kg, count).values == (str(len(rows)),)
    answer = ask(kg, about)
    assert "KL" in answer.text
    assert not any(value.startswith("2025") for value in answer.values)  # no board is shown
