"""Questions from which something is missing, of the six classes, and what the table says they come to.

Each is asked as of a moment, the table's snapshot. Gold flights follow the rules of docs/questions.md, reckoned here
from the rows alone; where the rules ask back, no answer is right but a question back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from random import Random

from kgplatform.evaluation.airport.asking import Asked
from kgplatform.evaluation.airport.rows import Flight, FlightTable

CLASSES = ("1", "2", "3", "4", "5", "6")
_CHINESE = 0.3
_LISTED = 12
_NEVER = datetime(1, 1, 1)  # noqa: DTZ001 (before all moments of a table without zones)
_SPOKEN = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
_HAN = "零一二三四五六七八九"


def ambiguous(table: FlightTable, count: int, rng: Random) -> list[Asked]:
    """So many questions, the classes in turn, no two of the same text."""
    makers: Sequence[Callable[[FlightTable, str, Random], Asked]] = (
        _by_time, _at_gate, _next, _airline_and_time, _board_of_airline, _number,
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


def _at_gate(table: FlightTable, language: str, rng: Random) -> Asked:
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
