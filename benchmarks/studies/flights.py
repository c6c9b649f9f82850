"""The columns of the flight table as people ask for them: a name and paraphrases in English and Chinese."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import cached_property
from random import Random
from typing import Final

from pyoxigraph import Literal, NamedNode

from kgplatform.errors import NotFoundError
from kgplatform.graph import KnowledgeGraph
from kgplatform.vocab import AIRPORT, ALT_LABEL, LABEL, SKOS, TYPE

# The flights of a workspace as rows of text, read statement by statement: what gold answers are computed from.
#
# Nothing here goes through the translator or SPARQL, so that a gold answer and an answer do not share their mistakes.


COLUMNS: Final = {
    "flight_uid": "flightUid",
    "flight_number": "flightNumber",
    "airline": "operatedBy",
    "direction": "direction",
    "origin": "origin",
    "destination": "destination",
    "aircraft_registration": "aircraft",
    "aircraft_category": "aircraftCategory",
    "gate": "gate",
    "bus_gate": "busGate",
    "bus_service_needed": "busServiceNeeded",
    "ramp": "ramp",
    "previous_ramp": "previousRamp",
    "pier": "pier",
    "main_ground_handler": "mainGroundHandler",
    "connecting_flight_number": "connectingFlightNumber",
    "connecting_flight_uid": "connectingFlight",
    "scheduled_block_time": "scheduledBlockTime",
    "best_block_time": "bestBlockTime",
    "expected_block_time": "expectedBlockTime",
    "actual_block_time": "actualBlockTime",
    "expected_on_ramp": "expectedOnRamp",
    "actual_on_ramp": "actualOnRamp",
    "expected_off_ramp": "expectedOffRamp",
    "actual_off_ramp": "actualOffRamp",
    "expected_tow_in": "expectedTowIn",
    "expected_tow_off": "expectedTowOff",
    "tow_in_request": "towInRequest",
    "tow_off": "towOff",
    "actual_final_approach": "actualFinalApproach",
    "boarding": "boarding",
    "push_back": "pushBack",
    "take_off": "takeOff",
    "flight_state": "flightState",
    "flight_nature": "flightNature",
    "mtt": "mtt",
    "mtt_single_leg": "mttSingleLeg",
    "eu_indicator": "euIndicator",
    "safe_town_airport": "safeTownAirport",
    "modified": "modified",
}
"""The columns of a flight, in the order of the table, and the property of the ontology that each is."""

_CODES = tuple(NamedNode(f"{AIRPORT}{name}") for name in ("airportCode", "iataCode", "registration"))
_NOTATION = NamedNode(f"{SKOS}notation")


@dataclass(frozen=True, slots=True)
class Flight:
    """One row: the text of each cell that is not empty."""

    cells: Mapping[str, str]

    def __getitem__(self, column: str) -> str:
        return self.cells.get(column, "")

    def moment(self, column: str) -> datetime | None:
        """The cell as a moment; None where it is empty."""
        return datetime.fromisoformat(self[column]) if self[column] else None

    @property
    def uid(self) -> str:
        """The identifier."""
        return self["flight_uid"]

    @property
    def number(self) -> str:
        """The flight number."""
        return self["flight_number"]

    @property
    def day(self) -> date:
        """The day it is scheduled for."""
        return datetime.fromisoformat(self["scheduled_block_time"]).date()


@dataclass(frozen=True)
class FlightTable:
    """The flights by UID; ``also`` holds the other names of a cell's value: codes, labels in other languages.

    ``iris`` are the IRIs of the flights by UID, ``comments`` what the ontology says of a column, in English.
    """

    flights: tuple[Flight, ...]
    also: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    iris: Mapping[str, str] = field(default_factory=dict)
    comments: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def by_uid(self) -> Mapping[str, Flight]:
        """The flights by their UID."""
        return {flight.uid: flight for flight in self.flights}

    @cached_property
    def snapshot(self) -> datetime:
        """When the table was written down: its last change."""
        return max(moment for flight in self.flights if (moment := flight.moment("modified")))

    def sql(self, flight: Flight, column: str, *, by_day: bool = False) -> str:
        """The SQL that asks for a cell of a flight: by its UID, or by its number and day, as the question names it."""
        by_uid = f"flight_uid = '{flight.uid}'"
        by_number = f"flight_number = '{flight.number}' AND date(scheduled_block_time) = '{flight.day}'"
        return f"SELECT {column} FROM flights WHERE {by_number if by_day else by_uid}"

    def query(self, uid: str, column: str) -> str:
        """The SPARQL that asks for a cell; empty where the flight has no IRI."""
        iri = self.iris.get(uid)
        if iri is None:
            return ""
        if column == "aircraft_category":
            patterns = f"{iri} <{AIRPORT}aircraft> ?aircraft . ?aircraft <{AIRPORT}aircraftCategory> ?value ."
        else:
            patterns = f"{iri} <{AIRPORT}{COLUMNS[column]}> ?value ."
        return f"SELECT DISTINCT ?value WHERE {{ {patterns} }}"

    def names(self, value: str) -> tuple[str, ...]:
        """All names of a cell's value, its own first."""
        return tuple(dict.fromkeys((value, *self.also.get(value, ()))))

    def between(self, low: datetime, high: datetime, column: str = "best_block_time") -> list[Flight]:
        """The flights whose moment lies in a window, both ends included, in the order of time."""
        found = [(moment, f.uid, f) for f in self.flights if (moment := f.moment(column)) and low <= moment <= high]
        return [flight for _, _, flight in sorted(found, key=lambda item: item[:2])]

    def near(self, moment: datetime, minutes: int) -> list[Flight]:
        """The flights within so many minutes of a moment."""
        span = timedelta(minutes=minutes)
        return self.between(moment - span, moment + span)


def read_flights(kg: KnowledgeGraph) -> FlightTable:
    """The flights of a workspace that uses the airport ontology.

    Raises:
        NotFoundError: the workspace has no flights with the columns that a question needs.
    """
    columns = {NamedNode(f"{AIRPORT}{name}"): column for column, name in COLUMNS.items()}
    cells: dict[object, dict[str, str]] = defaultdict(dict)
    things: dict[object, set[str]] = defaultdict(set)
    names = _Names(kg)
    for kind in kg.store.quads(None, TYPE, NamedNode(f"{AIRPORT}Flight")):
        for quad in kg.store.quads(kind.subject):
            column = columns.get(quad.predicate)
            if column is None:
                continue
            text = names.own(quad.object)
            cells[quad.subject].setdefault(column, text)
            things[text] |= names.all(quad.object)
        _of_aircraft(kg, cells[kind.subject])
    wanted = ("flight_uid", "flight_number", "scheduled_block_time", "best_block_time", "modified")
    rows = [Flight(found) for found in cells.values() if all(found.get(column) for column in wanted)]
    if not rows:
        raise NotFoundError("the workspace has no flights of the airport ontology; add a flight table", name="flights")
    rows.sort(key=lambda flight: flight.uid)
    also = {text: tuple(sorted(found - {text})) for text, found in things.items() if isinstance(text, str)}
    iris = {found["flight_uid"]: str(thing) for thing, found in cells.items() if "flight_uid" in found}
    return FlightTable(tuple(rows), also, iris, _comments(kg))


def _comments(kg: KnowledgeGraph) -> dict[str, str]:
    """What the ontology says of each column, in English."""
    found = {}
    for column, name in COLUMNS.items():
        term = kg.ontology.properties.get(NamedNode(f"{AIRPORT}{name}"))
        said = [word.text for word in term.comments if word.language == "en"] if term else []
        unit = f" In {term.unit}." if term and term.unit else ""
        found[column] = f"{said[0]}{unit}" if said else ""
    return found


def _of_aircraft(kg: KnowledgeGraph, cells: dict[str, str]) -> None:
    """Adds the size of the aircraft, which is a property of it and not of the flight."""
    registration = cells.get("aircraft_registration")
    if not registration or "aircraft_category" in cells:
        return
    for quad in kg.store.quads(None, _CODES[2], Literal(registration)):
        for size in kg.store.quads(quad.subject, NamedNode(f"{AIRPORT}aircraftCategory")):
            if isinstance(size.object, Literal):
                cells["aircraft_category"] = size.object.value


class _Names:
    """What things are called."""

    def __init__(self, kg: KnowledgeGraph) -> None:
        self._kg = kg
        self._known: dict[object, tuple[str, frozenset[str]]] = {}

    def own(self, term: object) -> str:
        """The English label of a thing, or the literal as written."""
        return self._of(term)[0]

    def all(self, term: object) -> set[str]:
        """Every name of a thing; none for a literal."""
        return set(self._of(term)[1])

    def _literals(self, term: NamedNode, predicate: NamedNode) -> list[Literal]:
        return [q.object for q in self._kg.store.quads(term, predicate) if isinstance(q.object, Literal)]

    def _of(self, term: object) -> tuple[str, frozenset[str]]:
        if not isinstance(term, NamedNode):
            return term.value if isinstance(term, Literal) else str(term), frozenset()
        if term not in self._known:
            labels = self._literals(term, LABEL)
            english = [label.value for label in labels if label.language in ("en", None)]
            also = [item.value for p in (ALT_LABEL, _NOTATION, *_CODES) for item in self._literals(term, p)]
            own = next(iter(sorted(english)), term.value)
            self._known[term] = own, frozenset((*(label.value for label in labels), *also))
        return self._known[term]


def in_order(flights: Sequence[Flight], column: str) -> list[Flight]:
    """The flights that have the moment, in the order of it."""
    return sorted((f for f in flights if f[column]), key=lambda flight: (flight[column], flight.uid))


# How the question sets word things: a question with its gold answer, a flight and a day in both languages.


NONE: Final = "none"
"""The class of a question that nothing is missing from."""

_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and what is right: any of ``answers`` is a whole right answer; none: asking back is right.

    ``set`` is straightforward, ambiguous or reasoning; ``kind`` the template's family; ``label`` the question class.
    ``options``: names of which some must be offered where the question has to be asked back. ``sql`` and ``query``
    (SPARQL) ask the same, where one column of one flight is wanted.
    """

    set: str
    kind: str
    language: str
    text: str
    answers: tuple[tuple[str, ...], ...]
    label: str = NONE
    options: tuple[str, ...] = ()
    sql: str = ""
    query: str = ""


def day_text(day: date, language: str) -> str:
    """A day as people write it."""
    if language == "zh":
        return f"{day.year}年{day.month}月{day.day}日"
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def flight_text(flight: Flight, table: FlightTable, language: str, rng: Random) -> str:
    """A flight named so that only it can be meant: by its UID, or by number and day where that is enough."""
    by_day = only_one_that_day(flight, table) and rng.random() < 0.6
    if not by_day:
        return rng.choice(
            (f"航班{flight.uid}", flight.uid) if language == "zh" else (f"flight {flight.uid}", flight.uid)
        )
    day = day_text(flight.day, language)
    if language == "zh":
        return rng.choice((f"{day}的{flight.number}航班", f"{day}{flight.number}"))
    return rng.choice((f"flight {flight.number} on {day}", f"{flight.number} on {day}"))


def only_one_that_day(flight: Flight, table: FlightTable) -> bool:
    """Whether its number and scheduled day name the flight, whichever of its block times is meant."""
    best = datetime.fromisoformat(flight["best_block_time"]).date()
    same = [other for other in table.flights if other.number == flight.number and other is not flight]
    days = {datetime.fromisoformat(o[c]).date() for o in same for c in ("scheduled_block_time", "best_block_time")}
    return best == flight.day and flight.day not in days


def right(table: FlightTable, values: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """The gold answers: the values themselves, and the same under their other names where all have the same kind."""
    own = tuple(values)
    others = [table.names(value) for value in own]
    if len(own) == 1:
        return tuple((name,) for name in others[0])
    return (own,)


def uids_and_numbers(flights: Sequence[Flight]) -> tuple[tuple[str, ...], ...]:
    """The gold answers of a question for flights: their UIDs, or their numbers."""
    uids = tuple(dict.fromkeys(flight.uid for flight in flights))
    numbers = tuple(dict.fromkeys(flight.number for flight in flights))
    return (uids, numbers)


# The columns of the flight table as people ask for them: a name and paraphrases in English and Chinese.


@dataclass(frozen=True, slots=True)
class Column:
    """A column's name in both languages, and whole questions for it with ``{f}`` for the flight."""

    name: str
    en: str
    zh: str
    ask_en: tuple[str, ...] = ()
    ask_zh: tuple[str, ...] = ()


ASKED: tuple[Column, ...] = (
    Column("flight_uid", "flight UID", "航班唯一标识"),
    Column(
        "airline",
        "airline",
        "航空公司",
        ("Which airline operates {f}?", "Who operates {f}?"),
        ("{f}由哪家航空公司运营？",),
    ),
    Column("direction", "direction", "进出港方向", ("Is {f} an arrival or a departure?",), ("{f}是到港还是离港？",)),
    Column("origin", "origin", "始发机场", ("Where does {f} come from?",), ("{f}从哪里来？",)),
    Column(
        "destination", "destination", "目的机场", ("Where does {f} go?", "Where does {f} fly to?"), ("{f}飞往哪里？",)
    ),
    Column(
        "aircraft_registration",
        "aircraft registration",
        "飞机注册号",
        ("Which aircraft flies {f}?", "With which plane is {f} flown?"),
        ("{f}用哪架飞机？",),
    ),
    Column("aircraft_category", "aircraft category", "机型类别", ("What is the category of the aircraft of {f}?",), ()),
    Column("gate", "gate", "登机口", ("Which gate does {f} use?", "At which gate is {f}?"), ("{f}在哪个登机口？",)),
    Column("bus_gate", "bus gate", "摆渡登机口", ("Which bus gate does {f} use?",), ("{f}使用哪个摆渡登机口？",)),
    Column("bus_service_needed", "bus service needed", "摆渡车服务", (), ("{f}是否需要摆渡车？",)),
    Column(
        "ramp", "ramp", "机位", ("On which ramp is {f} parked?", "Which stand does {f} use?"), ("{f}停在哪个机位？",)
    ),
    Column(
        "previous_ramp", "previous ramp", "原机位", ("What was the previous ramp of {f}?",), ("{f}的前一机位是哪个？",)
    ),
    Column("pier", "pier", "指廊", ("At which pier is {f}?",), ("{f}在哪个指廊？",)),
    Column(
        "main_ground_handler",
        "main ground handler",
        "主要地面服务商",
        ("Who handles {f}?", "Which company handles {f} on the ground?"),
        ("谁负责{f}的地面服务？",),
    ),
    Column("connecting_flight_number", "connecting flight number", "衔接航班号", (), ()),
    Column(
        "connecting_flight_uid",
        "connecting flight",
        "衔接航班",
        ("Which flight does {f} connect to?",),
        ("{f}的连班是哪个？",),
    ),
    Column(
        "scheduled_block_time", "scheduled block time", "计划挡轮时间", ("When is {f} scheduled?",), ("{f}计划几点？",)
    ),
    Column("best_block_time", "best block time", "最佳挡轮时间"),
    Column(
        "expected_block_time",
        "expected block time",
        "预计挡轮时间",
        ("When is {f} expected?",),
        ("{f}的预计时间是什么？",),
    ),
    Column("actual_block_time", "actual block time", "实际挡轮时间", (), ("{f}的实际时间是什么？",)),
    Column("expected_on_ramp", "expected on ramp time", "预计入位时间"),
    Column(
        "actual_on_ramp",
        "actual on ramp time",
        "实际入位时间",
        ("When was {f} on blocks?",),
        ("{f}什么时候停入机位？",),
    ),
    Column("expected_off_ramp", "expected off ramp time", "预计离位时间"),
    Column(
        "actual_off_ramp",
        "actual off ramp time",
        "实际离位时间",
        ("When was {f} off blocks?",),
        ("{f}什么时候离开机位？",),
    ),
    Column("expected_tow_in", "expected tow in time", "预计拖入时间"),
    Column("expected_tow_off", "expected tow off time", "预计拖出时间"),
    Column("tow_in_request", "tow in request time", "请求拖入时间", ("When was the tow in of {f} requested?",), ()),
    Column("tow_off", "tow off time", "拖出时间", ("When was {f} towed off?",), ()),
    Column(
        "actual_final_approach",
        "actual final approach",
        "实际最后进近时间",
        ("When did {f} begin its final approach?",),
        (),
    ),
    Column("boarding", "boarding time", "登机时间", ("When does boarding of {f} start?",), ("{f}几点登机？",)),
    Column("push_back", "push back time", "推出时间", ("When was {f} pushed back?",), ("{f}什么时候推出？",)),
    Column("take_off", "take off time", "离地时间", ("When did {f} take off?",), ("{f}何时离地？",)),
    Column("flight_state", "flight state", "航班状态", ("What is the status of {f}?",), ("{f}现在是什么状态？",)),
    Column("flight_nature", "flight nature", "航班性质", ("What kind of flight is {f}?",), ("{f}是什么性质的航班？",)),
    Column("mtt", "MTT", "最短过站时间", ("What is the minimum turnaround time of {f}?",), ()),
    Column("mtt_single_leg", "MTT single leg", "单程最短停留时间"),
    Column("eu_indicator", "EU indicator", "欧盟标识"),
    Column("safe_town_airport", "safe town airport", "安全机场标识"),
    Column("modified", "modified time", "更新时间", ("When was {f} last updated?",), ("{f}的最后更新时间是什么？",)),
)
"""All but the flight number, which is how flights are named in the questions."""

FRAMES_EN = (
    "What is the {c} of {f}?",
    "Tell me the {c} of {f}.",
    "Could you tell me the {c} of {f}, please?",
    "I need the {c} for {f}.",
    "{f}: what is the {c}?",
    "Give me {f}'s {c}.",
)
FRAMES_ZH = (
    "{f}的{c}是什么？",
    "请问{f}的{c}是什么？",
    "请告诉我{f}的{c}。",
    "查一下{f}的{c}。",
)
