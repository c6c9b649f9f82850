"""Straightforward questions: every column of the table, filters, counts, extremes, in templates with paraphrases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from random import Random

from kgplatform.evaluation.airport.asking import Asked, day_text, flight_text, right, uids_and_numbers
from kgplatform.evaluation.airport.columns import ASKED, FRAMES_EN, FRAMES_ZH, Column
from kgplatform.evaluation.airport.rows import Flight, FlightTable

_CHINESE = 0.3
_LOOKUPS = 0.8
_MOST = 25
_PATIENCE = 20


def straightforward(table: FlightTable, count: int, rng: Random) -> list[Asked]:
    """So many questions, no two of the same text, the columns taken in turn; fewer from a table too small for them."""
    found: dict[str, Asked] = {}
    lookups, others = _lookups(table, rng), _others(table, rng)
    for source, wanted in ((lookups, round(count * _LOOKUPS)), (others, count)):
        for asked in islice(source, _PATIENCE * count):
            if len(found) >= wanted:
                break
            if asked is not None:
                found.setdefault(asked.text, asked)
    return list(found.values())


def _lookups(table: FlightTable, rng: Random) -> Iterator[Asked]:
    """One column of one flight."""
    having = {column.name: [f for f in table.flights if f[column.name]] for column in ASKED}
    while True:
        for column in ASKED:
            if having[column.name]:
                yield _lookup(column, rng.choice(having[column.name]), table, rng)


def _lookup(column: Column, flight: Flight, table: FlightTable, rng: Random) -> Asked:
    language = "zh" if rng.random() < _CHINESE else "en"
    frames, own, name = (
        (FRAMES_ZH, column.ask_zh, column.zh) if language == "zh" else (FRAMES_EN, column.ask_en, column.en)
    )
    frame = rng.choice(own) if own and rng.random() < 0.5 else rng.choice(frames)
    said = flight_text(flight, table, language, rng)
    text = frame.format(c=name, f=said)
    text = text[0].upper() + text[1:]
    values = list(right(table, [flight[column.name]]))
    if column.name == "connecting_flight_uid":
        values += [(flight["connecting_flight_number"],)] if flight["connecting_flight_number"] else []
    return Asked(
        "straightforward",
        f"lookup {column.name}",
        language,
        text,
        tuple(values),
        sql=table.sql(flight, column.name, by_day=flight.uid not in said),
        query=table.query(flight.uid, column.name),
    )


def _others(table: FlightTable, rng: Random) -> Iterator[Asked | None]:
    """Filters, counts and extremes."""
    makers: Sequence[Callable[[FlightTable, str, Random], Asked | None]] = (
        _count_of_airline, _on_ramp, _to_airport, _in_state, _at_gate, _most, _count_of_day, _of_aircraft, _handled,
    )  # fmt: skip
    while True:
        for maker in makers:
            yield maker(table, "zh" if rng.random() < _CHINESE else "en", rng)


def _on_day(table: FlightTable, rng: Random, column: str) -> tuple[Flight, list[Flight]]:
    """A flight with the column, and the flights with the same value whose day (by schedule and best time) is its."""
    chosen = rng.choice([f for f in table.flights if f[column] and _settled(f)])
    same = [f for f in table.flights if f[column] == chosen[column] and chosen.day.isoformat() in _days(f)]
    return chosen, same


def _days(flight: Flight) -> set[str]:
    """The days that the flight's times lie in."""
    return {flight[column][:10] for column in ("scheduled_block_time", "best_block_time")}


def _settled(flight: Flight) -> bool:
    return len(_days(flight)) == 1


def _filtered(kind: str, language: str, text: str, flights: Sequence[Flight]) -> Asked | None:
    """A question for flights; none where a day's edge would make several answers right, or too many are right."""
    if not flights or len(flights) > _MOST or not all(map(_settled, flights)):
        return None
    return Asked("straightforward", kind, language, text, uids_and_numbers(flights))


def _count_of_airline(table: FlightTable, language: str, rng: Random) -> Asked | None:
    chosen, same = _on_day(table, rng, "airline")
    if not all(map(_settled, same)):
        return None
    airline, day = chosen["airline"], day_text(chosen.day, language)
    frames = (
        (f"{day}{airline}有多少个航班？", f"{airline}在{day}运营了多少航班？")
        if language == "zh"
        else (f"How many flights did {airline} operate on {day}?", f"How many {airline} flights were there on {day}?")
    )
    return Asked("straightforward", "count airline", language, rng.choice(frames), ((str(len(same)),),))


def _on_ramp(table: FlightTable, language: str, rng: Random) -> Asked | None:
    chosen, same = _on_day(table, rng, "ramp")
    ramp, day = chosen["ramp"], day_text(chosen.day, language)
    spoken = ramp[0] + ramp[1:].lstrip("0") if rng.random() < 0.4 else ramp
    frames = (
        (f"{day}哪些航班停在{spoken}机位？",)
        if language == "zh"
        else (f"Which flights were on ramp {spoken} on {day}?", f"List the flights parked on ramp {spoken} on {day}.")
    )
    return _filtered("flights on ramp", language, rng.choice(frames), same)


def _to_airport(table: FlightTable, language: str, rng: Random) -> Asked | None:
    chosen, same = _on_day(table, rng, "destination")
    if chosen["direction"] != "departure":
        return None
    codes = [name for name in table.names(chosen["destination"]) if len(name) == 3 and name.isupper()]
    airport = rng.choice((chosen["destination"], *codes))
    day = day_text(chosen.day, language)
    frames = (
        (f"{day}哪些航班飞往{airport}？",)
        if language == "zh"
        else (f"Which flights went to {airport} on {day}?", f"List the flights with destination {airport} on {day}.")
    )
    return _filtered("flights to airport", language, rng.choice(frames), same)


def _in_state(table: FlightTable, language: str, rng: Random) -> Asked | None:
    state, words = rng.choice((("cancelled", ("cancelled", "取消")), ("diverted", ("diverted", "备降"))))
    such = [f for f in table.flights if f["flight_state"] == state]
    if not such:
        return None
    chosen = rng.choice(such)
    airline = chosen["airline"]
    same = [f for f in table.flights if f["flight_state"] == state and f["airline"] == airline]
    text = (
        f"{airline}有多少个航班的状态是{words[1]}？"
        if language == "zh"
        else f"How many flights of {airline} have the state {words[0]}?"
    )
    return Asked("straightforward", "count state", language, text, ((str(len(same)),),))


def _at_gate(table: FlightTable, language: str, rng: Random) -> Asked | None:
    chosen, same = _on_day(table, rng, "gate")
    gate, day = chosen["gate"], day_text(chosen.day, language)
    frames = (
        (f"{day}哪些航班使用登机口{gate}？",)
        if language == "zh"
        else (f"Which flights used gate {gate} on {day}?", f"Show the flights with gate {gate} on {day}.")
    )
    return _filtered("flights at gate", language, rng.choice(frames), same)


def _most(table: FlightTable, language: str, rng: Random) -> Asked | None:
    column, en, zh = rng.choice(
        (
            ("airline", "airline", "航空公司"),
            ("gate", "gate", "登机口"),
            ("ramp", "ramp", "机位"),
            ("main_ground_handler", "ground handler", "地面服务商"),
            ("pier", "pier", "指廊"),
        )
    )
    counts = Counter(f[column] for f in table.flights if f[column])
    top = max(counts.values())
    best = sorted(value for value, number in counts.items() if number == top)
    text = f"哪个{zh}的航班最多？" if language == "zh" else f"Which {en} has the most flights?"
    return Asked("straightforward", "most flights", language, text, right(table, best))


def _count_of_day(table: FlightTable, language: str, rng: Random) -> Asked | None:
    chosen, same = _on_day(table, rng, "direction")
    departs = chosen["direction"] == "departure"
    airline = rng.choice([f for f in same if _settled(f)])["airline"]
    same = [f for f in same if f["airline"] == airline]
    if not all(map(_settled, same)):
        return None
    day = day_text(chosen.day, language)
    en, zh = ("departures", "离港") if departs else ("arrivals", "到港")
    text = f"{day}{airline}有多少个{zh}航班？" if language == "zh" else f"How many {en} did {airline} have on {day}?"
    return Asked("straightforward", "count direction", language, text, ((str(len(same)),),))


def _of_aircraft(table: FlightTable, language: str, rng: Random) -> Asked | None:
    chosen, same = _on_day(table, rng, "aircraft_registration")
    aircraft, day = chosen["aircraft_registration"], day_text(chosen.day, language)
    text = (
        f"{day}飞机{aircraft}执飞了哪些航班？"
        if language == "zh"
        else f"Which flights did aircraft {aircraft} fly on {day}?"
    )
    return _filtered("flights of aircraft", language, text, same)


def _handled(table: FlightTable, language: str, rng: Random) -> Asked | None:
    chosen = rng.choice(table.flights)
    handler = chosen["main_ground_handler"]
    same = [f for f in table.flights if f["main_ground_handler"] == handler]
    text = f"{handler}为多少个航班提供地面服务？" if language == "zh" else f"How many flights does {handler} handle?"
    return Asked("straightforward", "count handler", language, text, ((str(len(same)),),))
