"""The flights of a workspace as rows of text, read statement by statement: what gold answers are computed from.

Nothing here goes through the translator or SPARQL, so that a gold answer and an answer do not share their mistakes.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from functools import cached_property
from typing import Final

from pyoxigraph import Literal, NamedNode

from kgplatform.errors import NotFoundError
from kgplatform.graph import KnowledgeGraph
from kgplatform.vocab import AIRPORT, ALT_LABEL, LABEL, SKOS, TYPE

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
