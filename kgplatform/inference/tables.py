"""Rules applied by DuckDB: each relation is a table of numbers, each rule a join.

Evaluation is semi-naive (Abiteboul, Hull & Vianu, *Foundations of Databases*, 1995, §13.1): a row keeps the round in
which it came, and a rule is applied again only to what came since it last was. A transitive property is joined with
itself, so that its paths double in length from round to round.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from kgplatform.errors import StoreError
from kgplatform.inference.numbering import Pairs
from kgplatform.inference.rules import Atom, Relation, Rule
from kgplatform.vocab import SAME_AS

if TYPE_CHECKING:
    import duckdb

_SETTINGS = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "preserve_insertion_order": False,
}


@contextmanager
def new_tables() -> Iterator[Tables]:
    """Tables that are gone afterwards; what does not fit into memory goes into a temporary folder.

    Raises:
        StoreError: neither memory nor the temporary folder has room for the conclusions.
    """
    import duckdb  # most changes are too few to need it

    with TemporaryDirectory(prefix="kgplatform-") as folder:
        try:
            with duckdb.connect(config={**_SETTINGS, "temp_directory": folder}) as connection:
                yield Tables(connection)
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise StoreError(f"no conclusions were drawn, lower inference.max_statements: {reason}") from error


class Tables:
    """The premises and conclusions, a table for each relation."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection
        self._names: dict[Relation, str] = {}
        self._barred: set[Relation] = set()
        self._latest: dict[Relation, int] = {}
        self._seen: dict[Rule, int] = {}
        self._round = 0

    def put(self, relation: Relation, premises: Pairs) -> None:
        """Makes the table of a relation."""
        name = self._names[relation] = f"r{len(self._names)}"
        self._make(name, premises)
        self._connection.execute(f"ALTER TABLE {name} ADD COLUMN round INTEGER DEFAULT 0")
        if len(premises[0]):
            self._latest[relation] = 0

    def bar(self, relation: Relation, pairs: Pairs) -> None:
        """Lets those never be concluded."""
        self._barred.add(relation)
        self._make(f"barred_{self._names[relation]}", pairs)

    def _make(self, name: str, pairs: Pairs) -> None:
        if not len(pairs[0]):
            self._connection.execute(f"CREATE TABLE {name} (s INTEGER, o INTEGER)")
            return
        self._connection.register("pairs", {"s": pairs[0], "o": pairs[1]})
        self._connection.execute(f"CREATE TABLE {name} AS SELECT s, o FROM pairs")
        self._connection.unregister("pairs")

    def is_due(self, rule: Rule) -> bool:
        """Whether something came that the rule has not been applied to."""
        since = self._seen.get(rule, -1)
        latest = [self._latest.get(atom.relation, -1) for atom in rule.body]
        return min(latest) >= 0 and max(latest) > since

    def apply(self, rule: Rule, object_: int, *, most: int) -> int:
        """Applies the rule to what came since it last was; says how many conclusions are new, ``most`` + 1 at most.

        ``object_`` is the number of the head's class, if it has one.
        """
        since, self._seen[rule] = self._seen.get(rule, -1), self._round
        places: list[int | None] = [None]
        if since >= 0:
            places = [i for i, atom in enumerate(rule.body) if self._latest.get(atom.relation, -1) > since]
        joined = " UNION ALL ".join(self._join(rule, object_, place, since) for place in places)
        name = self._names[rule.head.relation]
        known = f"ANTI JOIN {name} USING (s, o)"
        if rule.head.relation in self._barred:
            known += f" ANTI JOIN barred_{name} USING (s, o)"
        admitted = "s > 0 AND s <> o" if rule.head.predicate == SAME_AS else "s > 0"
        distinct = f"(SELECT DISTINCT s, o FROM ({joined}) WHERE {admitted})"
        self._connection.execute(
            f"INSERT INTO {name} SELECT s, o, {self._round + 1} FROM {distinct} AS found {known} LIMIT {most + 1}"
        )
        row = self._connection.fetchone()
        count = int(row[0]) if row else 0
        if count:
            self._round += 1
            self._latest[rule.head.relation] = self._round
        return count

    def _join(self, rule: Rule, object_: int, place: int | None, since: int) -> str:
        """The body as a join; at ``place`` only of what came since."""
        columns: dict[str, str] = {}
        conditions: list[str] = []
        for i, atom in enumerate(rule.body):
            for variable, column in _columns(atom, f"a{i}"):
                if variable in columns:
                    conditions.append(f"{columns[variable]} = {column}")
                columns.setdefault(variable, column)
        if place is not None:
            conditions.append(f"a{place}.round > {since}")
        tables = ", ".join(f"{self._names[atom.relation]} AS a{i}" for i, atom in enumerate(rule.body))
        head = rule.head
        value = columns[head.object] if isinstance(head.object, str) else str(object_)
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        return f"SELECT {columns[head.subject]} AS s, {value} AS o FROM {tables}{where}"

    def held_against(self, relation: Relation, held: Pairs) -> tuple[Pairs, Pairs, Pairs]:
        """The conclusions in a relation that are not held yet, those that are, and what is held but does not follow."""
        name = self._names[relation]
        drawn = f"SELECT s, o FROM {name} WHERE round > 0"
        nothing = held[0][:0], held[1][:0]
        if not len(held[0]):
            return self._pairs(drawn), nothing, nothing
        self._make("held", held)
        new = self._pairs(f"SELECT s, o FROM ({drawn}) ANTI JOIN held USING (s, o)")
        kept = self._pairs(f"SELECT s, o FROM held SEMI JOIN ({drawn}) AS drawn USING (s, o)")
        lost = self._pairs(f"SELECT s, o FROM held ANTI JOIN ({drawn}) AS drawn USING (s, o)")
        self._connection.execute("DROP TABLE held")
        return new, kept, lost

    def _pairs(self, query: str) -> Pairs:
        found = self._connection.execute(query).fetchnumpy()
        return found["s"], found["o"]


def _columns(atom: Atom, table: str) -> Iterator[tuple[str, str]]:
    """The variables of an atom with the columns that hold them."""
    yield atom.subject, f"{table}.s"
    if isinstance(atom.object, str):
        yield atom.object, f"{table}.o"
