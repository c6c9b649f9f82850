"""The rows of a workspace's flights as passages, found by the nine traditional retrievers of the airport study."""

from __future__ import annotations

import csv
import hashlib
import random
import re
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import date, datetime
from enum import StrEnum
from itertools import combinations
from pathlib import Path
from typing import Final

from pyoxigraph import Literal, NamedNode

from benchmarks.studies.flight_questions import StudyQuestion
from benchmarks.studies.flights import COLUMNS, Asked, FlightTable
from benchmarks.studies.judging import Remembering
from benchmarks.studies.left_out import STUDIED
from benchmarks.studies.outcomes import StudyOutcome
from benchmarks.studies.setting import Setting
from kgplatform.errors import ConfigError, ModelError, QueryRejectedError, ReadError
from kgplatform.evaluation.metrics import best_score
from kgplatform.evaluation.retrievers import GoldPassages
from kgplatform.models import prompts
from kgplatform.retrieval.index import ChunkIndex
from kgplatform.retrieval.sources import Corpus
from kgplatform.text import normalise
from kgplatform.types import Answer, ChatModel, Chunk, Message, Retriever, Solutions, Term, Usage, Verdict

# Whether an answer to a question of the study is right, and whether anything in it is made up.


def is_right(asked: Asked, answer: Answer) -> bool:
    """Whether the answer is a gold one; where asking back is right, whether it asks back, for the right things."""
    if asked.answers:
        return answer.verdict is Verdict.ANSWERED and best_score(asked.answers, list(answer.values)).exact == 1.0
    if len(asked.options) == 1:
        return asked.options[0] in answer.text
    if asked.options:
        offered = answer.clarification.options if answer.clarification else ()
        return bool(offered) and all(any(name in shown for name in asked.options) for shown in offered)
    return answer.verdict is not Verdict.ANSWERED


def invented(answer: Answer, label_of: Callable[[Term, str], str]) -> tuple[str, ...]:
    """The values of an answer that neither stand in its rows nor are reckoned from them."""
    if answer.solutions.boolean is not None:
        return ()
    language = answer.question.language
    terms = [term for row in answer.solutions.rows for term in row if term is not None]
    known = {term.value if isinstance(term, Literal) else label_of(term, language) for term in terms}
    known |= {str(len(answer.solutions.rows))}
    numbers = set(_reckoned(answer.solutions))
    return tuple(v for v in answer.values if v not in known and not _is_one_of(v, numbers))


def _reckoned(solutions: Solutions) -> Iterator[float]:
    """The lengths of time between the moments of a row and of the rows, and its numbers in other units of time."""
    moments: list[datetime] = []
    for row in solutions.rows[:4]:
        for term in row:
            if not isinstance(term, Literal):
                continue
            try:
                moments.append(datetime.fromisoformat(term.value))
            except ValueError:
                try:
                    number = float(term.value)
                except ValueError:
                    continue
                yield from (number / 60, number * 60, number, number / 3600, number * 3600)
    for one, other in combinations(moments, 2):
        seconds = abs((other - one).total_seconds())
        yield from (seconds, seconds / 60, seconds / 3600, seconds / 86_400)


def _is_one_of(value: str, numbers: set[float]) -> bool:
    try:
        number = abs(float(value))
    except ValueError:
        return False
    return any(abs(number - known) < 0.006 for known in numbers)


# Rows of a flight table as passages, one question each: how often a retriever finds the row that is asked about.
#
# A passage is the row's cells with the names of their columns. A question asks for one cell, and says which row it
# means
# by the flight and the day: in the *plain* style as the table writes them, in the *spoken* style as people do ("KLM
# 1228
# from Paris on Wednesday 12 March"). `Jargon` turns the second into the first: it knows the airlines, airports and
# terms
# of the trade, no flight.


ROWS: Final = 1350
_KEY: Final = "flight_uid"
_NEEDED: Final = (_KEY, "flight_number", "airline", "direction", "origin", "destination")
_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_DAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")

_ASKED: Final[Mapping[str, tuple[str, str]]] = {
    "ramp": ("ramp", "stand"),
    "gate": ("gate", "gate"),
    "pier": ("pier", "pier"),
    "main_ground_handler": ("main ground handler", "handler"),
    "aircraft_registration": ("aircraft registration", "tail number"),
    "aircraft_category": ("aircraft category", "size class"),
    "connecting_flight_number": ("connecting flight number", "other flight of the turnaround"),
    "scheduled_block_time": ("scheduled block time", "scheduled time on or off blocks"),
    "actual_block_time": ("actual block time", "actual time on or off blocks"),
    "expected_on_ramp": ("expected on ramp time", "expected time on stand"),
    "actual_off_ramp": ("actual off ramp time", "time it left the stand"),
    "boarding": ("boarding time", "time boarding began"),
    "push_back": ("push back time", "time of pushback"),
    "take_off": ("take off time", "time airborne"),
    "actual_final_approach": ("actual final approach time", "time on final"),
    "flight_state": ("flight state", "status"),
    "mtt": ("mtt", "minimum turnaround time"),
    "eu_indicator": ("eu indicator", "Schengen status"),
}


class Style(StrEnum):
    """How the questions are worded."""

    PLAIN = "plain"
    SPOKEN = "spoken"


@dataclass(frozen=True, slots=True)
class RowPassage:
    """A row as a passage; ``id`` is its flight_uid."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class RowSet:
    """The passages, and one question for each of them."""

    passages: tuple[RowPassage, ...]
    questions: tuple[GoldPassages, ...]


def row_set(table: Path, airports: Path, *, rows: int = ROWS, style: Style = Style.PLAIN, seed: int = 11) -> RowSet:
    """So many rows of a flight table as passages with their questions, the same for a seed.

    Raises:
        ReadError: a table cannot be read, or lacks a column.
    """
    everything = _read(table, _NEEDED)
    cities = {row["iata_code"]: row["city"] for row in _read(airports, ("iata_code", "city"))}
    draw = random.Random(seed)
    chosen = sorted(draw.sample(everything, min(rows, len(everything))), key=lambda row: row[_KEY])
    passages = tuple(RowPassage(row[_KEY], row_text(row)) for row in chosen)
    questions = (_question(row, cities, style, draw) for row in chosen)
    asked = zip(chosen, questions, strict=True)
    return RowSet(passages, tuple(GoldPassages(row[_KEY], text, (row[_KEY],), ()) for row, text in asked))


def row_text(row: Mapping[str, str]) -> str:
    """The row's cells that are not empty, each with the name of its column."""
    return "; ".join(f"{column}: {value}" for column, value in row.items() if value)


def _question(row: Mapping[str, str], cities: Mapping[str, str], style: Style, draw: random.Random) -> str:
    column = draw.choice([name for name in _ASKED if row.get(name)])
    plain, spoken = _ASKED[column]
    day = date.fromisoformat(f"{row[_KEY][:4]}-{row[_KEY][4:6]}-{row[_KEY][6:8]}")
    if style is Style.PLAIN:
        return f"What is the {plain} of {row['direction']} flight {row['flight_number']} on {day.isoformat()}?"
    way, other = ("from", row["origin"]) if row["direction"] == "arrival" else ("to", row["destination"])
    flight = draw.choice((_spaced(row["flight_number"]), _by_airline(row), _padded(row["flight_number"])))
    said = draw.choice((f"{day.day} {_MONTHS[day.month - 1]}", f"{_MONTHS[day.month - 1]} {day.day}"))
    if draw.random() < 0.5:
        said = f"{_DAYS[day.weekday()]} {said}"
    return f"What was the {spoken} for {flight} {way} {cities.get(other, other)} on {said}?"


_FLIGHT = re.compile(r"([A-Z][A-Z0-9]|[0-9][A-Z])(\d{1,4})")


def _spaced(flight: str) -> str:
    found = _FLIGHT.fullmatch(flight)
    return f"{found[1]} {found[2]}" if found else flight


def _padded(flight: str) -> str:
    found = _FLIGHT.fullmatch(flight)
    return f"{found[1]}{found[2]:0>4}" if found else flight


def _by_airline(row: Mapping[str, str]) -> str:
    found = _FLIGHT.fullmatch(row["flight_number"])
    return f"{row['airline']} {found[2]}" if found else row["flight_number"]


def _read(path: Path, needed: Sequence[str]) -> list[dict[str, str]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            missing = [name for name in needed if name not in (reader.fieldnames or ())]
            if missing:
                raise ReadError(f"there is no column {', '.join(missing)}", path=path)
            return list(reader)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ReadError(f"cannot be read ({error})", path=path) from error


class Jargon:
    """Says a question in the terms of the table: codes for airlines, airports and flights, columns for words, ISO days.

    ``year`` is the one that a day without a year is of.
    """

    def __init__(self, airlines: Mapping[str, str], airports: Mapping[str, str], *, year: int) -> None:
        self._airlines = {normalise(name): code for name, code in airlines.items()}
        self._codes = {code.casefold() for code in airlines.values()}
        self._airports = dict(airports)
        self._year = year
        names = sorted((re.escape(name) for name in airlines if name), key=len, reverse=True)
        codes = sorted((re.escape(code) for code in self._codes), reverse=True)
        self._flight = re.compile(rf"\b({'|'.join([*names, *codes])})\s*0*(\d{{1,4}})\b", re.IGNORECASE)
        cities = sorted((re.escape(city) for city in airports), key=len, reverse=True)
        self._city = re.compile(rf"\b(?:(from|to)\s+)?({'|'.join(cities)})\b", re.IGNORECASE) if cities else None
        self._columns = {spoken.casefold(): plain for plain, spoken in _ASKED.values()}
        spoken = sorted((re.escape(words) for words in self._columns), key=len, reverse=True)
        self._column = re.compile(rf"\b({'|'.join(spoken)})\b", re.IGNORECASE)

    @classmethod
    def of(cls, airlines: Path, airports: Path, *, year: int) -> Jargon:
        """The jargon of the tables of airlines (by name and callsign) and airports (by city).

        Raises:
            ReadError: a table cannot be read, or lacks a column.
        """
        codes: dict[str, str] = {}
        for row in _read(airlines, ("iata_code", "name", "callsign")):
            for name in (row["callsign"], row["name"]):
                if name:
                    codes[name] = row["iata_code"]
        cities: dict[str, list[str]] = {}
        for row in _read(airports, ("iata_code", "city")):
            cities.setdefault(row["city"].casefold(), []).append(row["iata_code"])
        return cls(codes, {city: " ".join(found) for city, found in cities.items()}, year=year)

    def __call__(self, question: str) -> str:
        """The question in the table's terms; what it does not know stays as it is."""
        text = self._flight.sub(self._flight_code, _dated(question, self._year))
        if self._city is not None:
            text = self._city.sub(self._airport, text)
        return self._column.sub(lambda found: self._columns[found[1].casefold()], text)

    def _airport(self, found: re.Match[str]) -> str:
        """The codes of the city's airports, and whether the flight arrives from there or departs to there."""
        way = {"from": "arrival from ", "to": "departure to "}.get((found[1] or "").casefold(), "")
        return way + self._airports[found[2].casefold()]

    def _flight_code(self, found: re.Match[str]) -> str:
        airline = found[1]
        code = airline.upper() if airline.casefold() in self._codes else self._airlines[normalise(airline)]
        return f"{code}{int(found[2])}"


_MONTH = "|".join(_MONTHS)
_DAY_MONTH = re.compile(
    rf"\b(?:(\d{{1,2}})(?:st|nd|rd|th)?\s+({_MONTH})|({_MONTH})\s+(\d{{1,2}}))(?:,?\s+(\d{{4}}))?\b"
)


def _dated(text: str, year: int) -> str:
    """The text with its days in ISO form; a day that there is not stays."""

    def iso(found: re.Match[str]) -> str:
        day, month = int(found[1] or found[4]), _MONTHS.index(found[2] or found[3]) + 1
        try:
            return date(int(found[5] or year), month, day).isoformat()
        except ValueError:
            return found[0]

    return _DAY_MONTH.sub(iso, text)


def first_hits(found: Iterable[tuple[str, Sequence[str]]], k: int = 10) -> tuple[float, float]:
    """The share of questions whose row came first, and whose row was among the first ``k``."""
    rows = [(wanted, list(ids[:k])) for wanted, ids in found]
    if not rows:
        return 0.0, 0.0
    first = sum(ids[:1] == [wanted] for wanted, ids in rows) / len(rows)
    return first, sum(wanted in ids for wanted, ids in rows) / len(rows)


# The rival that queries a table: the flights in SQLite, a model that writes SQL, and nothing but SELECT let through.
#
# Two prompts, as the study has them: a demonstration prompt (the table as a comment above the question) and a create
# representation prompt (the table as its CREATE statement). Both say what a column holds: the ontology's comment, which
# the graph's prompt shows too, and the values, all where they are few. EM compares the statements, EX their rows.


STYLES: Final = ("odp", "crp")
_PROMPT: Final = "query-flight-table"
_NUMBERS: Final = ("mtt", "mtt_single_leg")
_FEW, _SAMPLES = 12, 2
_VALUE, _COMMENT = 40, 200
_MOMENT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+")
_SECONDS: Final = 5.0
_ROWS: Final = 1_000
_STEPS: Final = 10_000
_ALLOWED: Final = frozenset((sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_RECURSIVE))
_HARMLESS: Final = frozenset(
    [
        "abs",
        "avg",
        "coalesce",
        "count",
        "date",
        "datetime",
        "group_concat",
        "ifnull",
        "instr",
        "julianday",
        "length",
        "like",
        "lower",
        "max",
        "min",
        "nullif",
        "replace",
        "round",
        "row_number",
        "rank",
        "strftime",
        "substr",
        "substring",
        "sum",
        "time",
        "total",
        "trim",
        "unixepoch",
        "upper",
        "iif",
        "cast",
    ]
)
_STATEMENT = re.compile(r"\b(?:select|with)\b.*", re.IGNORECASE | re.DOTALL)
_FENCED = re.compile(r"```(?:sql|sqlite)?\s*(.*?)```", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class SqlAnswer:
    """What a model wrote for a question, the rows it gave, and how it compares: EX by rows, EM by statement.

    ``match`` is None where no gold statement is known; ``problem`` says why there are no rows.
    """

    question: StudyQuestion
    statement: str
    rows: tuple[tuple[str, ...], ...]
    exact: bool
    match: bool | None
    usage: Usage
    problem: str = ""


class SqlTable:
    """The flights as one table of an SQLite database in memory that can only be read."""

    def __init__(self, table: FlightTable) -> None:
        self._connection = sqlite3.connect(":memory:", check_same_thread=False)
        columns = ", ".join(COLUMNS)
        marks = ", ".join("?" for _ in COLUMNS)
        with self._connection:
            self._connection.execute(create_statement())
            rows = (tuple(flight[column] or None for column in COLUMNS) for flight in table.flights)
            self._connection.executemany(f"INSERT INTO flights ({columns}) VALUES ({marks})", rows)
        self._connection.execute("PRAGMA query_only = ON")
        self._connection.set_authorizer(_authorised)

    def rows(self, statement: str) -> tuple[tuple[str, ...], ...]:
        """The rows of one SELECT, as text, a thousand at most.

        Raises:
            QueryRejectedError: the statement is none, does something else than read, or takes longer than five seconds.
        """
        ends = time.monotonic() + _SECONDS
        self._connection.set_progress_handler(lambda: int(time.monotonic() > ends), _STEPS)
        try:
            with closing(self._connection.execute(statement)) as cursor:
                found = cursor.fetchmany(_ROWS)
        except (sqlite3.Error, sqlite3.Warning) as error:
            raise QueryRejectedError((str(error),), query=statement) from error
        return tuple(tuple("" if cell is None else str(cell) for cell in row) for row in found)

    def close(self) -> None:
        """Lets go of the table."""
        self._connection.close()


def _authorised(action: int, first: str | None, second: str | None, *_: object) -> int:
    """Lets SELECT and harmless functions through; attaching, writing, pragmas and extensions are refused."""
    if action in _ALLOWED:
        return sqlite3.SQLITE_OK
    if action == sqlite3.SQLITE_FUNCTION and (second or first or "").casefold() in _HARMLESS:
        return sqlite3.SQLITE_OK
    return sqlite3.SQLITE_DENY


@dataclass(frozen=True, slots=True)
class Column:
    """A column as the prompts show it: what it holds, in a sentence, and its values as far as shown."""

    name: str
    comment: str = ""
    values: str = ""

    @property
    def kind(self) -> str:
        """Its type in SQLite."""
        return "INTEGER" if self.name in _NUMBERS else "TEXT"


def columns_of(table: FlightTable) -> tuple[Column, ...]:
    """The columns with what they hold: all values where they are few, else two of them; of moments none."""
    found = []
    for name in COLUMNS:
        values = sorted({flight[name] for flight in table.flights if flight[name]}, key=lambda text: (len(text), text))
        shown = values if len(values) <= _FEW else values[:: max(1, len(values) // _SAMPLES)][:_SAMPLES]
        shown = [] if all(map(_MOMENT.fullmatch, values)) else shown
        said = ", ".join(_line(value, _VALUE) if name in _NUMBERS else f"'{_line(value, _VALUE)}'" for value in shown)
        more = ", …" if 0 < len(shown) < len(values) else ""
        found.append(Column(name, _line(table.comments.get(name, ""), _COMMENT), f"{said}{more}"))
    return tuple(found)


def _line(text: str, most: int) -> str:
    """A text in one line of at most so many characters: it ends a comment, and may come from anywhere."""
    whole = " ".join(text.split())
    return whole if len(whole) <= most else f"{whole[: most - 1]}…"


def create_statement(columns: Sequence[Column] = tuple(map(Column, COLUMNS))) -> str:
    """The CREATE statement of the table, with what the columns hold as comments."""
    lines = []
    for number, column in enumerate(columns, 1):
        key = " PRIMARY KEY" if column.name == "flight_uid" else ""
        said = " ".join(filter(None, (column.comment, f"Values: {column.values}" if column.values else "")))
        comma = "," if number < len(columns) else ""
        lines.append(f"  {column.name} {column.kind}{key}{comma}{f' -- {said}' if said else ''}")
    return "CREATE TABLE flights (\n" + "\n".join(lines) + "\n)"


def prompt_of(question: str, columns: Sequence[Column], *, style: str, now: str) -> list[Message]:
    """The messages that ask a model for a statement, in one of the two styles.

    Raises:
        ConfigError: there is no such style.
    """
    if style not in STYLES:
        raise ConfigError(f"style {style!r} is none; styles are {', '.join(STYLES)}", setting="style")
    messages, _ = prompts.render_messages(
        _PROMPT,
        columns=list(columns),
        create=f"{create_statement(columns)};" if style == "crp" else "",
        now=now,
        question=" ".join(question.split()),
        style=style,
    )
    return messages


def statement_of(reply: str) -> str:
    """The statement of a reply: fenced, after prose, or without the SELECT that the prompt began with."""
    fenced = _FENCED.search(reply)
    text = (fenced[1] if fenced else reply).strip()
    found = _STATEMENT.search(text)
    whole = found.group() if found else f"SELECT {text}"
    return whole.split(";")[0].strip()


def ask_sql(
    questions: Sequence[StudyQuestion],
    table: FlightTable,
    model: ChatModel | None,
    *,
    style: str,
) -> Iterator[SqlAnswer]:
    """Asks a model for the SQL of each question and runs it, as it comes.

    Raises:
        ConfigError: there is no model, or no such style.
    """
    if model is None:
        raise ConfigError(
            "SQL is written by a language model, and none is set; name one under [model]", setting="model.name"
        )
    columns = columns_of(table)
    prompt_of("", columns, style=style, now="")
    with closing(SqlTable(table)) as database:
        for question in questions:
            yield _asked(
                question, prompt_of(question.asked.text, columns, style=style, now=question.now), database, model
            )


def _asked(question: StudyQuestion, messages: Sequence[Message], database: SqlTable, model: ChatModel) -> SqlAnswer:
    gold, usage = question.asked.sql, Usage()
    try:
        completion = model.complete(messages)
        usage = completion.usage
        statement = statement_of(completion.text)
        rows = database.rows(statement)
    except ModelError as error:
        return SqlAnswer(question, "", (), exact=False, match=None, usage=usage, problem=str(error))
    except QueryRejectedError as error:
        match = normal_form(error.query) == normal_form(gold) if gold else None
        return SqlAnswer(question, error.query, (), exact=False, match=match, usage=usage, problem=str(error))
    exact = bool(question.asked.answers) and best_score(question.asked.answers, list(rows)).exact == 1.0
    match = normal_form(statement) == normal_form(gold) if gold else None
    return SqlAnswer(question, statement, rows, exact=exact, match=match, usage=usage)


def normal_form(statement: str) -> str:
    """A statement for comparison: one case outside of quotes, single blanks, no final semicolon."""
    parts = re.split(r"('(?:[^']|'')*')", statement.strip().rstrip(";"))
    plain = [part if part.startswith("'") else re.sub(r"\s*([(),=<>])\s*", r"\1", part.casefold()) for part in parts]
    return " ".join("".join(plain).split())


# The rows of a workspace's flights as passages, found by the nine traditional retrievers of the airport study.


METHODS: Final = (
    "lexical",
    "tfidf",
    "tfidf-euclidean",
    "lsi",
    "word-vectors",
    "dense",
    "hybrid-9-1",
    "hybrid-5-5",
    "hybrid-1-9",
)
_DOCUMENT: Final = NamedNode("https://example.org/kg/table")
_ROW: Final = "https://example.org/kg/row/"
_TEN: Final = 10


def found_rows(table: FlightTable, setting: Setting) -> tuple[tuple[StudyOutcome, ...], list[str]]:
    """For each method and row whether its question finds it first, and among ten; and what could not be asked."""
    try:
        made = _rows(table, setting.count, setting.seed)
    except (ReadError, ValueError) as error:
        return (), [f"rows as passages: {error}"]
    finding = _Finding(made, setting)
    total = len(METHODS) * len(made.questions)
    found = []
    for number, method in enumerate(METHODS):
        for place, gold in enumerate(made.questions, 1):
            if setting.progress:
                setting.progress(number * len(made.questions) + place, total, f"{method}: {gold.text}")
            found.append(finding.outcome(method, gold))
    return tuple(found), []


def _rows(table: FlightTable, count: int, seed: int) -> RowSet:
    """So many flights as passages, in the words of the workspace.

    Raises:
        ValueError: the UID of a flight does not begin with its day.
    """
    with tempfile.TemporaryDirectory() as folder:
        flights, airports = Path(folder) / "flights.csv", Path(folder) / "airports.csv"
        airports.write_text("iata_code,city\n", encoding="utf-8")
        with flights.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(COLUMNS)
            writer.writerows([flight[column] for column in COLUMNS] for flight in table.flights)
        return row_set(flights, airports, rows=count, seed=seed)


class _Finding:
    """The passages in an index in memory, made when an outcome is not kept yet."""

    def __init__(self, made: RowSet, setting: Setting) -> None:
        self._made, self._setting = made, setting
        self._sources: Corpus | None = None
        self._finders: dict[str, Retriever] = {}
        whole = "\n".join(passage.text for passage in made.passages)
        self._state = f"{setting.kg.embedder.name} {len(made.passages)} {hash_of(whole)}"

    def outcome(self, method: str, gold: GoldPassages) -> StudyOutcome:
        """Whether the method finds the row of the question."""
        key = self._setting.key("airport rows", (gold.id, gold.text), method, self._state)
        kept = self._setting.cache.find(key)
        if kept is not None:
            return kept
        finder = self._finder(method)
        hits = [hit.iri.value.removeprefix(_ROW) for hit in finder.retrieve(gold.text, _TEN)]
        numbers = {"first": float(hits[:1] == [gold.id]), "among_ten": float(gold.id in hits)}
        made = StudyOutcome(f"row-{gold.id}", method, gold.text, "row", "en", reference=gold.id, numbers=numbers)
        outcome = replace(made, answer=", ".join(hits[:3]))
        self._setting.cache.keep(key, outcome)
        return outcome

    def _finder(self, method: str) -> Retriever:
        if self._sources is None:
            self._sources = self._indexed()
        return self._finders.setdefault(method, STUDIED[method](self._sources))

    def _indexed(self) -> Corpus:
        index = ChunkIndex(None, Remembering(self._setting.kg.embedder))
        index.sync((chunk, "flights") for chunk in self._chunks())
        return Corpus(index)

    def _chunks(self) -> Iterator[Chunk]:
        for number, row in enumerate(self._made.passages):
            yield Chunk(NamedNode(f"{_ROW}{row.id}"), _DOCUMENT, number, 0, len(row.text), row.text)


def hash_of(text: str) -> str:
    """A short hash of a text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
