"""Questions that take more than one step: connections, the order on a ramp, durations, differences, other units."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from random import Random

from kgplatform.evaluation.airport.ambiguous import next_on_ramp
from kgplatform.evaluation.airport.asking import Asked, flight_text, right
from kgplatform.evaluation.airport.rows import Flight, FlightTable

_CHINESE = 0.3


def reasoning(table: FlightTable, count: int, rng: Random) -> list[Asked]:
    """So many questions, the kinds in turn, no two of the same text."""
    makers: Sequence[Callable[[FlightTable, str, Random], Asked | None]] = (
        _connection, _ramp_order, _stay, _delay, _stretch, _first, _last_hours, _hours, _apart,
    )  # fmt: skip
    found: dict[str, Asked] = {}
    for maker in _in_turn(makers, count):
        asked = maker(table, "zh" if rng.random() < _CHINESE else "en", rng)
        if asked is not None:
            found.setdefault(asked.text, asked)
        if len(found) >= count:
            break
    return list(found.values())


def _in_turn(
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
    return _number((end - start) / timedelta(minutes=1))


def _number(value: float) -> str:
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
    return _asked("unit", language, text, ((_number(int(flight["mtt"]) / 60),),))


def _apart(table: FlightTable, language: str, rng: Random) -> Asked:
    one = _with(table, rng, "take_off")
    two = rng.choice([f for f in table.flights if f["take_off"] > one["take_off"]] or [one])
    start, end = one.moment("take_off"), two.moment("take_off")
    assert start is not None
    assert end is not None
    minutes = _number((end - start) / timedelta(minutes=1))
    text = (
        f"{one.uid}和{two.uid}的离地时间相差多少分钟？"
        if language == "zh"
        else f"How many minutes are there between the take off of {one.uid} and the take off of {two.uid}?"
    )
    return _asked("apart", language, text, ((minutes,),))
