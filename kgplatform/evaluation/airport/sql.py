"""The rival that queries a table: the flights in SQLite, a model that writes SQL, and nothing but SELECT let through.

Two prompts, as the study has them: a demonstration prompt (the table as a comment above the question) and a create
representation prompt (the table as its CREATE statement). Both say what a column holds: the ontology's comment, which
the graph's prompt shows too, and the values, all where they are few. EM compares the statements, EX their rows.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from kgplatform import prompts
from kgplatform.errors import ConfigError, ModelError, QueryRejectedError
from kgplatform.evaluation.airport.making import StudyQuestion
from kgplatform.evaluation.airport.rows import COLUMNS, FlightTable
from kgplatform.evaluation.answers import best_score
from kgplatform.protocols import ChatModel, Message
from kgplatform.types import Usage

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
