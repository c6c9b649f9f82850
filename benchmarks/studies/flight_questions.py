"""The question sets of the study in one file of gold questions, the same for the same flights and seed."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any, Final

from benchmarks.studies.flights import (
    ASKED,
    FRAMES_EN,
    FRAMES_ZH,
    Asked,
    Column,
    Flight,
    FlightTable,
    day_text,
    flight_text,
    right,
    uids_and_numbers,
)
from kgplatform.errors import ReadError
from kgplatform.text import read_json_lines

# Straightforward questions: every column of the table, filters, counts, extremes, in templates with paraphrases.


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


# Questions from which something is missing, of the six classes, and what the table says they come to.
#
# Each is asked as of a moment, the table's snapshot. Gold flights follow the rules of docs/questions.md, reckoned here
# from the rows alone; where the rules ask back, no answer is right but a question back.


CLASSES = ("1", "2", "3", "4", "5", "6")
_LISTED = 12
_NEVER = datetime(1, 1, 1)  # noqa: DTZ001 (before all moments of a table without zones)
_SPOKEN = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
_HAN = "零一二三四五六七八九"


def ambiguous(table: FlightTable, count: int, rng: Random) -> list[Asked]:
    """So many questions, the classes in turn, no two of the same text."""
    makers: Sequence[Callable[[FlightTable, str, Random], Asked]] = (
        _by_time, _ambiguous_at_gate, _next, _airline_and_time, _board_of_airline, _number,
    )  # fmt: skip
    found: dict[str, Asked] = {}
    for maker in _in_turn(makers, count):
        asked = maker(table, "zh" if rng.random() < _CHINESE else "en", rng)
        found.setdefault(asked.text, asked)
        if len(found) >= count:
            break
    return list(found.values())


def _in_turn(makers: Sequence[Callable[..., Asked]], count: int) -> Iterator[Callable[..., Asked]]:
    """The makers over and over, with a bound for small tables."""
    for _ in range(count * 40):
        yield from makers


def _window(table: FlightTable, language: str, rng: Random) -> tuple[str, datetime, datetime]:
    """A time as said, with the window that it means."""
    now = table.snapshot
    day = now.replace(hour=0, minute=0)
    minutes = rng.choice((20, 30, 45, 90))
    hour, minute = rng.randint(6, 21), rng.choice((0, 15, 30, 45))
    at = day + timedelta(hours=hour, minutes=minute)
    near, end = timedelta(minutes=15), timedelta(seconds=59)
    options = [
        ("now", "现在", now - near, now + near),
        (f"in the next {minutes} minutes", f"未来{minutes}分钟内", now, now + timedelta(minutes=minutes)),
        (f"around {at:%H:%M}", f"{at:%H:%M}左右", at - near, at + near),
        (f"at {at:%H:%M}", f"{at:%H:%M}", at, at + end),
        ("this afternoon", "今天下午", day + timedelta(hours=12), day + timedelta(hours=18) - timedelta(seconds=1)),
        ("soon", "马上", now, now + timedelta(hours=1)),
        ("in the last half hour", "过去半小时", now - timedelta(minutes=30), now),
    ]  # fmt: skip
    en, zh, low, high = rng.choice(options)
    return (zh if language == "zh" else en), low, high


def _found(flights: Sequence[Flight]) -> tuple[tuple[str, ...], ...]:
    """A few flights are the answer; many, or none, are asked back or said to be none."""
    return (tuple(f.uid for f in flights),) if 0 < len(flights) <= _LISTED else ()


def _in_window(table: FlightTable, low: datetime, high: datetime) -> list[Flight]:
    """The flights of a window: by the timetable if it is one minute, else by the best time, the actual one if past."""
    if high - low < timedelta(minutes=1):
        return table.between(low, high, "scheduled_block_time")
    return table.between(low, high, "actual_block_time" if high == table.snapshot else "best_block_time")


def _by_time(table: FlightTable, language: str, rng: Random) -> Asked:
    """Class 1: a time, at most with a direction; or a gate with the question when."""
    departs = rng.random() < 0.6
    direction = "departure" if departs else "arrival"
    if rng.random() < 0.25:
        return _when_at_gate(table, language, rng)
    said, low, high = _window(table, language, rng)
    flights = [f for f in _in_window(table, low, high) if f["direction"] == direction]
    if language == "zh":
        text = rng.choice(
            (
                f"{said}有哪些航班{'出发' if departs else '到达'}？",
                f"{said}{'离港' if departs else '到港'}的是哪些航班？",
            )
        )
    else:
        verb = ("leave", "depart") if departs else ("arrive", "land")
        text = rng.choice(
            (f"Which flights {rng.choice(verb)} {said}?", f"What is {'departing' if departs else 'arriving'} {said}?")
        )
    return Asked("ambiguous", "time", language, text, _found(flights), "1")


def _when_at_gate(table: FlightTable, language: str, rng: Random) -> Asked:
    """A time is asked for, and a gate says which flight: the time outranks the gate."""
    gate = _gate(table, rng)
    coming = [f for f in _coming(table) if gate in (f["gate"], f["bus_gate"], f["ramp"])]
    departs = [f for f in coming if f["direction"] == "departure"]
    text = f"{gate}登机口的航班几点出发？" if language == "zh" else f"When does the flight at gate {gate} leave?"
    named = [f for f in departs if gate in (f["gate"], f["bus_gate"])]
    return Asked("ambiguous", "time at gate", language, text, _found(named) if len(named) == 1 else (), "1")


def _coming(table: FlightTable) -> list[Flight]:
    return table.between(table.snapshot, table.snapshot + timedelta(days=366))


def _gate(table: FlightTable, rng: Random) -> str:
    return rng.choice([f["gate"] for f in table.flights if f["gate"]])


def _spoken_code(code: str, rng: Random) -> str:
    """C05, or C5 as it is said."""
    return code[0] + code[1:].lstrip("0") if rng.random() < 0.5 else code


def _ambiguous_at_gate(table: FlightTable, language: str, rng: Random) -> Asked:
    """Class 2: a board question at a gate, named or not."""
    if rng.random() < 0.3:
        frames = (
            ("这个登机口是哪个航班？", "我的登机口是哪个航班？", "本登机口的航班是哪个？")
            if language == "zh"
            else ("Which flight is at this gate?", "What is boarding at my gate?", "Which flight is shown at our gate?")
        )
        text = rng.choice(frames)
        return Asked("ambiguous", "gate not named", language, text, (), "2")
    gate = _gate(table, rng)
    said = _spoken_code(gate, rng)
    boards = rng.random() < 0.4
    coming = [f for f in _coming(table) if gate in (f["gate"], f["bus_gate"])]
    if boards:
        coming = [f for f in coming if f["direction"] == "departure"]
    if language == "zh":
        text = (
            f"{said}登机口正在登机的是哪个航班？"
            if boards
            else rng.choice((f"{said}登机口是哪个航班？", f"登机口{said}停的是哪个航班？"))
        )
        coming = [f for f in coming if f["direction"] == "departure"] if "登机" in text and boards else coming
    else:
        text = (
            f"Which flight is boarding at gate {said}?"
            if boards
            else rng.choice((f"Which flight is at gate {said}?", f"What is at gate {said}?"))
        )
    return Asked("ambiguous", "gate", language, text, _found(coming[:1]), "2")


def _next(table: FlightTable, language: str, rng: Random) -> Asked:
    """Class 3: what follows a flight, on its ramp or in its turnaround, and the next of an airline or ramp."""
    kind = rng.choice(("after", "ramp after", "airline", "ramp"))
    if kind == "airline":
        airline = rng.choice(table.flights)["airline"]
        found = [f for f in _coming(table) if f["airline"] == airline][:1]
        text = f"{airline}的下一个航班是哪个？" if language == "zh" else f"What is the next {airline} flight?"
        return Asked("ambiguous", "next of airline", language, text, _found(found), "3")
    if kind == "ramp":
        ramp = rng.choice([f["ramp"] for f in table.flights if f["ramp"]])
        found = [f for f in _by_ramp(table) if f["ramp"] == ramp and _on(f) >= table.snapshot][:1]
        said = _spoken_code(ramp, rng)
        text = f"{said}机位的下一个航班是哪个？" if language == "zh" else f"Which flight is next on ramp {said}?"
        return Asked("ambiguous", "next on ramp", language, text, _found(found), "3")
    flight = rng.choice([f for f in table.flights if f["ramp"] and f["connecting_flight_uid"]])
    if kind == "after":
        text = (
            f"{flight.uid}之后的下一个航班是什么？"
            if language == "zh"
            else f"What is the next flight after {flight.uid}?"
        )
        return Asked("ambiguous", "next after", language, text, _found(following(flight, table)), "3")
    text = (
        f"{flight.uid}之后同一机位的下一个航班是哪个？"
        if language == "zh"
        else f"Which flight is next on the same ramp after {flight.uid}?"
    )
    return Asked("ambiguous", "next on same ramp", language, text, _found(next_on_ramp(flight, table)), "3")


def following(flight: Flight, table: FlightTable) -> list[Flight]:
    """The flight that follows: its later connecting flight, else the airline's next in the same direction."""
    partner = table.by_uid.get(flight["connecting_flight_uid"])
    if partner is not None and partner["best_block_time"] > flight["best_block_time"]:
        return [partner]
    same = [f for f in table.flights if f["airline"] == flight["airline"] and f["direction"] == flight["direction"]]
    later = [f for f in same if f["best_block_time"] > flight["best_block_time"]]
    return sorted(later, key=lambda f: (f["best_block_time"], f.uid))[:1]


def _on(flight: Flight) -> datetime:
    """When it is on its ramp: as happened, else as expected."""
    return flight.moment("actual_on_ramp") or flight.moment("expected_on_ramp") or _NEVER


def _by_ramp(table: FlightTable) -> list[Flight]:
    return sorted((f for f in table.flights if f["ramp"] and _on(f) > _NEVER), key=lambda f: (_on(f), f.uid))


def next_on_ramp(flight: Flight, table: FlightTable) -> list[Flight]:
    """The flight that is next on its ramp, by when it comes to stand there."""
    return [f for f in _by_ramp(table) if f["ramp"] == flight["ramp"] and _on(f) > _on(flight)][:1]


def _airline_and_time(table: FlightTable, language: str, rng: Random) -> Asked:
    """Class 4: an airline with a time, or with the question when."""
    airline = rng.choice(table.flights)["airline"]
    if rng.random() < 0.3:
        text = f"{airline}的航班几点出发？" if language == "zh" else f"When does the {airline} flight leave?"
        coming = [f for f in _coming(table) if f["airline"] == airline and f["direction"] == "departure"]
        return Asked("ambiguous", "when of airline", language, text, _found(coming) if len(coming) == 1 else (), "4")
    departs = rng.random() < 0.5
    said, low, high = _window(table, language, rng)
    direction = "departure" if departs else "arrival"
    flights = [f for f in _in_window(table, low, high) if f["airline"] == airline and f["direction"] == direction]
    if language == "zh":
        text = f"{said}有哪些{airline}航班{'出发' if departs else '到达'}？"
    else:
        text = f"Which {airline} flights {'leave' if departs else 'arrive'} {said}?"
    return Asked("ambiguous", "airline and time", language, text, _found(flights), "4")


def _board_of_airline(table: FlightTable, language: str, rng: Random) -> Asked:
    """Class 5: an airline alone, in few words: its departures of the next two hours, else the next one."""
    airline = rng.choice(table.flights)["airline"]
    now = table.snapshot
    own = [f for f in _coming(table) if f["airline"] == airline and f["direction"] == "departure"]
    soon = [f for f in own if f["best_block_time"] <= (now + timedelta(hours=2)).isoformat()] or own[:1]
    frames = (
        (f"{airline}登机口？", f"{airline}在哪里登机？", f"{airline}的登机口在哪？")
        if language == "zh"
        else (f"{airline} gate?", f"Where is {airline} boarding?", f"Which gate for {airline}?")
    )
    gold = _found(soon) if len(soon) == 1 else ()
    return Asked("ambiguous", "board of airline", language, rng.choice(frames), gold, "5")


def _number(table: FlightTable, language: str, rng: Random) -> Asked:
    """Class 6: a flight number in part: without its airline, with zeros before it, or said digit by digit."""
    flight = rng.choice([f for f in table.flights if len(_digits(f.number)) >= 3])
    digits = _digits(flight.number)
    said = rng.choice((digits, digits.zfill(4), _aloud(digits, language), digits[:-1] if len(digits) == 4 else digits))
    if language == "zh":
        text = rng.choice((f"{said}航班在哪个登机口？", f"航班{said}停在哪个机位？", f"{said}次航班的登机口是哪个？"))
    else:
        text = rng.choice(
            (
                f"Which gate does flight {said} use?",
                f"What is the ramp of flight {said}?",
                f"Which airline operates flight {said}?",
                f"When does flight {said} leave?",
            )
        )
    options = candidates(_plain(said), table)
    return Asked("ambiguous", "number in part", language, text, (), "6", options)


def _digits(number: str) -> str:
    match = re.fullmatch(r"(?:[A-Z]{2}|[A-Z]\d|\d[A-Z])(\d+)", number)
    return match[1] if match else ""


def _aloud(digits: str, language: str) -> str:
    if language == "zh":
        return "".join(_HAN[int(d)] for d in digits)
    return " ".join(_SPOKEN[int(d)] for d in digits)


def _plain(said: str) -> str:
    """The digits of a number as said."""
    words = {word: str(i) for i, word in enumerate(_SPOKEN)} | {c: str(i) for i, c in enumerate(_HAN)}
    if said.isdigit():
        return said
    return "".join(words[part] for part in (said.split() if " " in said else said))


def candidates(digits: str, table: FlightTable) -> tuple[str, ...]:
    """The flight numbers that digits may be: those of just this number, else those that hold it."""
    plain = digits.lstrip("0")
    numbers = sorted({flight.number for flight in table.flights})
    same = tuple(n for n in numbers if _digits(n) == plain)
    return same or tuple(n for n in numbers if plain in _digits(n))


# Questions that take more than one step: connections, the order on a ramp, durations, differences, other units.


def reasoning(table: FlightTable, count: int, rng: Random) -> list[Asked]:
    """So many questions, the kinds in turn, no two of the same text."""
    makers: Sequence[Callable[[FlightTable, str, Random], Asked | None]] = (
        _connection, _ramp_order, _stay, _delay, _stretch, _first, _last_hours, _hours, _apart,
    )  # fmt: skip
    found: dict[str, Asked] = {}
    for maker in _reasoning_in_turn(makers, count):
        asked = maker(table, "zh" if rng.random() < _CHINESE else "en", rng)
        if asked is not None:
            found.setdefault(asked.text, asked)
        if len(found) >= count:
            break
    return list(found.values())


def _reasoning_in_turn(
    makers: Sequence[Callable[[FlightTable, str, Random], Asked | None]], count: int
) -> Iterator[Callable[[FlightTable, str, Random], Asked | None]]:
    for _ in range(count * 40):
        yield from makers


def _with(table: FlightTable, rng: Random, *columns: str) -> Flight:
    return rng.choice([f for f in table.flights if all(f[c] for c in columns)])


def _minutes(flight: Flight, first: str, second: str) -> str:
    """The minutes from one moment of a flight to another, as a whole number if it is one."""
    start, end = flight.moment(first), flight.moment(second)
    assert start is not None
    assert end is not None
    return _reasoning_number((end - start) / timedelta(minutes=1))


def _reasoning_number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")


def _asked(kind: str, language: str, text: str, answers: tuple[tuple[str, ...], ...], label: str = "none") -> Asked:
    return Asked("reasoning", kind, language, text, answers, label)


def _connection(table: FlightTable, language: str, rng: Random) -> Asked | None:
    """A column of the connecting flight."""
    flight = _with(table, rng, "connecting_flight_uid")
    column, en, zh = rng.choice(
        (
            ("gate", "gate", "登机口"),
            ("destination", "destination", "目的机场"),
            ("origin", "origin", "始发机场"),
            ("scheduled_block_time", "scheduled block time", "计划挡轮时间"),
            ("flight_state", "flight state", "航班状态"),
        )
    )
    partner = table.by_uid.get(flight["connecting_flight_uid"])
    if partner is None or not partner[column]:
        return None
    said = flight_text(flight, table, language, rng)
    text = (
        f"{said}的衔接航班的{zh}是什么？"
        if language == "zh"
        else f"What is the {en} of the connecting flight of {said}?"
    )
    return _asked("connection", language, text, right(table, [partner[column]]))


def _ramp_order(table: FlightTable, language: str, rng: Random) -> Asked | None:
    flight = _with(table, rng, "ramp", "expected_on_ramp")
    after = next_on_ramp(flight, table)
    text = (
        f"{flight.uid}之后，同一机位的下一个航班是哪个？"
        if language == "zh"
        else f"Which flight comes next on the ramp of {flight.uid} after it?"
    )
    return _asked("ramp order", language, text, ((after[0].uid,), (after[0].number,)), "3") if after else None


def _stay(table: FlightTable, language: str, rng: Random) -> Asked:
    flight = _with(table, rng, "actual_on_ramp", "actual_off_ramp")
    said = flight_text(flight, table, language, rng)
    text = f"{said}停在机位上多少分钟？" if language == "zh" else f"How many minutes was {said} on its ramp?"
    return _asked("ramp stay", language, text, ((_minutes(flight, "actual_on_ramp", "actual_off_ramp"),),))


def _delay(table: FlightTable, language: str, rng: Random) -> Asked | None:
    flight = _with(table, rng, "actual_block_time")
    minutes = _minutes(flight, "scheduled_block_time", "actual_block_time")
    if minutes.startswith("-") or minutes == "0":
        return None
    said = flight_text(flight, table, language, rng)
    text = (
        f"{said}晚点多少分钟？"
        if language == "zh"
        else rng.choice((f"How many minutes late was {said}?", f"How late was {said}?"))
    )
    return _asked("delay", language, text, ((minutes,),))


def _stretch(table: FlightTable, language: str, rng: Random) -> Asked:
    first, second, en, zh = rng.choice(
        (
            ("boarding", "push_back", ("boarding", "push back"), ("登机", "推出")),
            ("push_back", "take_off", ("push back", "take off"), ("推出", "离地")),
            ("actual_final_approach", "actual_on_ramp", ("final approach", "on blocks"), ("最后进近", "实际入位")),
        )
    )
    flight = _with(table, rng, first, second)
    said = flight_text(flight, table, language, rng)
    text = (
        f"{said}从{zh[0]}到{zh[1]}用了多少分钟？"
        if language == "zh"
        else f"How many minutes were there between {en[0]} and {en[1]} of {said}?"
    )
    return _asked("stretch", language, text, ((_minutes(flight, first, second),),))


def _first(table: FlightTable, language: str, rng: Random) -> Asked | None:
    one, two = _with(table, rng, "take_off"), _with(table, rng, "take_off")
    if one["take_off"] == two["take_off"]:
        return None
    first = min((one, two), key=lambda f: f["take_off"])
    text = f"{one.uid}和{two.uid}哪个先离地？" if language == "zh" else f"Which took off first, {one.uid} or {two.uid}?"
    return _asked("first of two", language, text, ((first.uid,), (first.number,)))


def _last_hours(table: FlightTable, language: str, rng: Random) -> Asked:
    hours, departs = rng.choice((1, 2, 3, 4)), rng.random() < 0.5
    airline = rng.choice(("", "KLM"))
    low, high = table.snapshot - timedelta(hours=hours), table.snapshot
    flights = [
        f
        for f in table.between(low, high, "actual_block_time")
        if f["direction"] == ("departure" if departs else "arrival") and airline in ("", f["airline"])
    ]
    if language == "zh":
        text = f"过去{hours}小时有多少个{airline}航班{'出发' if departs else '到达'}？"
    else:
        span = "hour" if hours == 1 else f"{hours} hours"
        who = f"{airline} flights" if airline else "flights"
        text = f"How many {who} {'left' if departs else 'arrived'} in the last {span}?"
    return _asked("last hours", language, text, ((str(len(flights)),),))


def _hours(table: FlightTable, language: str, rng: Random) -> Asked:
    flight = _with(table, rng, "mtt")
    said = flight_text(flight, table, language, rng)
    text = f"{said}的MTT是多少小时？" if language == "zh" else f"How many hours is the MTT of {said}?"
    return _asked("unit", language, text, ((_reasoning_number(int(flight["mtt"]) / 60),),))


def _apart(table: FlightTable, language: str, rng: Random) -> Asked:
    one = _with(table, rng, "take_off")
    two = rng.choice([f for f in table.flights if f["take_off"] > one["take_off"]] or [one])
    start, end = one.moment("take_off"), two.moment("take_off")
    assert start is not None
    assert end is not None
    minutes = _reasoning_number((end - start) / timedelta(minutes=1))
    text = (
        f"{one.uid}和{two.uid}的离地时间相差多少分钟？"
        if language == "zh"
        else f"How many minutes are there between the take off of {one.uid} and the take off of {two.uid}?"
    )
    return _asked("apart", language, text, ((minutes,),))


# The question sets of the study in one file of gold questions, the same for the same flights and seed.


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many questions of each set."""

    straightforward: int = 1_350
    ambiguous: int = 220
    reasoning: int = 36


@dataclass(frozen=True, slots=True)
class StudyQuestion:
    """A question of the study with its id and the moment as of which it is asked."""

    id: str
    asked: Asked
    now: str


def make(table: FlightTable, *, seed: int = 7, sizes: Sizes | None = None) -> list[StudyQuestion]:
    """The questions of the three sets; the same for the same table and seed."""
    wanted = sizes or Sizes()
    now = table.snapshot.isoformat()
    sets = (
        straightforward(table, wanted.straightforward, Random(f"{seed} straightforward")),
        ambiguous(table, wanted.ambiguous, Random(f"{seed} ambiguous")),
        reasoning(table, wanted.reasoning, Random(f"{seed} reasoning")),
    )
    return [
        StudyQuestion(f"{asked.set}-{number:04}", asked, now)
        for questions in sets
        for number, asked in enumerate(questions, 1)
    ]


_TEXTS: Final = ("id", "question", "lang", "type", "kind", "now")
_SAID: Final = ("id", "question")
_LISTS: Final = ("answers", "alt_answers", "options")


def write(questions: Iterable[StudyQuestion], path: Path) -> None:
    """Writes the questions as JSON Lines that `evaluate questions` reads too.

    Raises:
        ReadError: the file cannot be written.
    """
    lines = (json.dumps(_record(item), ensure_ascii=False) for item in questions)
    part = path.with_name(path.name + ".part")
    try:
        part.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise ReadError(f"cannot be written: {error.strerror or error}", path=path) from error


def read(path: Path) -> tuple[list[StudyQuestion], list[str]]:
    """The questions of a file that `write` made, and a sentence for each line that is none.

    Raises:
        ReadError: the file cannot be read, or holds none.
    """
    return read_json_lines(path, _question, what="question", key=lambda question: question.id)


def _record(item: StudyQuestion) -> dict[str, object]:
    asked = item.asked
    first, *others = [list(answer) for answer in asked.answers] or [[]]
    return {
        "id": item.id,
        "question": asked.text,
        "lang": asked.language,
        "type": asked.set,
        "kind": asked.kind,
        "class": asked.label,
        "now": item.now,
        "answers": first,
        "alt_answers": others,
        "options": list(asked.options),
        "sql": asked.sql,
        "gold_sparql": asked.query,
    }


def _question(item: Mapping[str, Any], _number: int) -> StudyQuestion:
    missing = [name for name in (*_TEXTS, *_LISTS) if name not in item]
    if missing:
        raise ValueError(f"is no question of the study: it lacks {', '.join(missing)}")
    wrong = [name for name in _TEXTS if not isinstance(item[name], str) or (name in _SAID and not item[name].strip())]
    wrong += [name for name in _LISTS if not isinstance(item[name], list)]
    if wrong or not all(isinstance(answer, list) for answer in item["alt_answers"]):
        raise ValueError(f"is no question of the study: {wrong[0] if wrong else 'alt_answers'} is of the wrong type")
    answers = [item["answers"], *item["alt_answers"]]
    asked = Asked(
        set=item["type"],
        kind=item["kind"],
        language=item["lang"],
        text=item["question"],
        answers=tuple(tuple(map(str, answer)) for answer in answers if answer),
        label=str(item.get("class", "")),
        options=tuple(map(str, item["options"])),
        sql=str(item.get("sql", "")),
        query=str(item.get("gold_sparql", "")),
    )
    return StudyQuestion(item["id"], asked, item["now"])
