"""A mapping carried out over a table, some rows at a time: what each row says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, product
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyoxigraph as ox
from pyoxigraph import NamedNode, RdfFormat, Triple

from kgplatform.documents.tables.cell_styles import CellStyle, stated
from kgplatform.documents.tables.cells import SourceRow, TableSource
from kgplatform.mapping import rml
from kgplatform.mapping.cell_functions import ENTITY, REFERENCE, VALUE, CellOutcome, Functions, parts
from kgplatform.mapping.rml import (
    FUNCTIONS,
    FunctionCall,
    Guard,
    TableRules,
    TermKind,
    TermMap,
    TripleRule,
    decoded,
    encoded,
    filled,
    guards,
)
from kgplatform.mapping.yarrrml_draft import check_calls, check_columns
from kgplatform.types import Refusal

if TYPE_CHECKING:
    from pandas import DataFrame


# Calls of this platform's functions come first, once for each row, in columns of their own, as in
# https://doi.org/10.1007/978-3-030-62419-4_16; then the engine makes the triples of each rule, each known by its row.
Opener: TypeAlias = Callable[[str], TableSource]
_Texts: TypeAlias = Any  # an array of objects, all of them str
_BATCH = 20_000
_WHOLE, _TAG = "whole", "tag"


@dataclass(frozen=True, slots=True)
class CellProblem:
    """A cell, or a row (``column`` empty), that says nothing: where it stands, what it holds, and why."""

    number: int
    column: str
    text: str
    reason: str

    @property
    def refusal(self) -> Refusal:
        """The problem as one sentence with its place."""
        place = f"line {self.number}" + (f", column {self.column!r}" if self.column else "")
        return Refusal(self.text or f"line {self.number}", f"{place}: {self.reason}")


@dataclass(frozen=True, slots=True)
class _Made:
    """The triples that one rule made, as N-Triples without the full stop, and the rows (counted in the batch)."""

    places: _Texts
    triples: _Texts
    describes: bool
    is_key: bool


@dataclass(slots=True)
class Batch:
    """What some rows say. ``describes`` marks what has the row's own entity as its subject."""

    rows: Sequence[SourceRow]
    made: list[_Made] = field(default_factory=list)
    besides: list[tuple[int, Triple]] = field(default_factory=list)
    problems: list[CellProblem] = field(default_factory=list)

    def text(self) -> bytes:
        """All triples as N-Triples."""
        blocks = [" .\n".join(made.triples.tolist()) + " .\n" for made in self.made if len(made.triples)]
        blocks += [f"{triple} .\n" for _, triple in self.besides]
        return "".join(blocks).encode()

    def checked(self) -> bytes:
        """All triples as N-Triples, those left out that are none; what is to be said about them is noted."""
        found = dict.fromkeys(triple for _, triple, _, _ in self.triples())
        return ox.serialize(found, format=RdfFormat.N_TRIPLES) or b""

    def keyed(self) -> Iterator[tuple[int, str]]:
        """The number of each row with the IRI of what it is about."""
        for made in self.made:
            if made.is_key:
                for place, text in zip(made.places, made.triples, strict=True):
                    yield self.rows[place].number, text[1 : text.index(">")]

    def triples(self) -> Iterator[tuple[int, Triple, bool, bool]]:
        """The triples in order of the rules, with the place of their row in the batch.

        Also whether their subject is an entity that the row describes, and whether it is the one that keys it.
        """
        for made in self.made:
            for place, triple in zip(made.places, self._parsed(made), strict=True):
                if triple is not None:
                    yield int(place), triple, made.describes, made.is_key
        for place, triple in self.besides:
            yield place, triple, False, False

    def _parsed(self, made: _Made) -> list[Triple | None]:
        texts = made.triples.tolist()
        try:
            return [quad.triple for quad in ox.parse(_lines(texts), format=RdfFormat.N_TRIPLES)]
        except SyntaxError:
            return [self._parsed_one(text, int(place)) for text, place in zip(texts, made.places, strict=True)]

    def _parsed_one(self, text: str, place: int) -> Triple | None:
        try:
            found: list[Triple] = [quad.triple for quad in ox.parse(_lines([text]), format=RdfFormat.N_TRIPLES)]
        except SyntaxError as error:
            reason = f"makes no statement: {str(error).splitlines()[0]}"
            self.problems.append(CellProblem(self.rows[place].number, "", text, reason))
            return None
        return found[0]


def _lines(texts: Sequence[str]) -> bytes:
    return "".join(f"{text} .\n" for text in texts).encode()


class TableRun:
    """A mapping over one table: each batch of rows becomes triples."""

    def __init__(
        self,
        mapping: TableRules,
        location: str,
        columns: Sequence[str],
        functions: Functions,
        *,
        opener: Opener,
        styles: Sequence[CellStyle] = (),
    ) -> None:
        """Prepares the run; ``styles`` say how the columns write numbers, days and truth.

        Raises:
            ReadError: the mapping is not about this table, or takes a column that the table does not have.
        """
        given = mapping.sources.given(location)
        self.rules = mapping.of(given)
        check_columns(mapping, self.rules, columns, location)
        check_calls(mapping, self.rules, functions.ontology)
        self._mapping = mapping
        self._functions = functions
        self._location = location
        self._given = given
        self._opener = opener
        self._positions = {encoded(name): place for place, name in reversed(list(enumerate(columns)))}
        self._calls = _Calls(mapping, self.rules, self._positions, functions, styles)
        self._plans = [_Plan(mapping, rule, self._calls) for rule in self.rules]
        self._key_plan = self._keyed()
        self._parents = self._joined()

    def _keyed(self) -> _Plan | None:
        """The rule whose subject is what a row is about: the row's entity, else the subject with the most rules."""
        subjects = [plan.rule.subject for plan in self._plans if plan.describes]
        if not subjects:
            return None
        often = max(subjects, key=lambda subject: (subject.form == "", subjects.count(subject), subject.value))
        fewest = [plan for plan in self._plans if plan.rule.subject == often]
        return min(fewest, key=lambda plan: len(plan.rule.columns))

    def batch(self, rows: Sequence[SourceRow]) -> Batch:
        """What the rows say."""
        found = Batch(rows)
        cells = _Cells(rows, self._positions)
        outcomes = self._calls.over(rows, found)
        for plan in self._plans:
            frame = plan.frame(cells, outcomes, found)
            if frame is None or not len(frame):
                continue
            if plan.is_constant:
                found.made.append(_Made(frame["row"].to_numpy()[:1], plan.constant(), plan.describes, is_key=False))
            else:
                made = rml.triples_of(plan.rule, frame, self._parents, self._parent_rules)
                found.made.append(
                    _Made(made["row"].to_numpy(), made["triple"].to_numpy(), plan.describes, plan is self._key_plan)
                )
        found.problems = list(dict.fromkeys(found.problems))  # a column may stand in several rules
        return found

    def _joined(self) -> dict[str, DataFrame]:
        """The rows of the sources that rules join with, as far as they are needed."""
        wanted: dict[str, list[TripleRule]] = {}
        for rule in self.rules:
            if rule.object.kind is TermKind.PARENT:
                wanted.setdefault(self._mapping.parent(rule).source, []).append(rule)
        self._parent_rules: list[TripleRule] = []
        frames = {}
        for key, rules in wanted.items():
            frames[key.strip("{}")] = self._parent_frame(key, rules)
        return frames

    def _parent_frame(self, key: str, rules: Sequence[TripleRule]) -> DataFrame:
        location = self._location if key in self._given else self._mapping.sources.location(key)
        source = self._opener(location)
        positions = {encoded(name): place for place, name in reversed(list(enumerate(source.columns)))}
        subjects = tuple(replace(self._mapping.parent(rule), source=key) for rule in rules)
        subjects = tuple(
            replace(rule, predicate=_NONE, object=_NONE, tag="", tag_map=None, joins=()) for rule in subjects
        )
        check_columns(self._mapping, subjects, source.columns, location)
        calls = _Calls(self._mapping, subjects, positions, self._functions)
        plans = [_Plan(self._mapping, subject, calls) for subject in subjects]
        self._parent_rules += [plan.rule for plan in plans]
        plain = dict.fromkeys(column for plan in plans for column in plan.rule.columns if column in positions)
        plain |= dict.fromkeys(join.parent for rule in rules for join in rule.joins)
        missing = next((name for name in plain if name not in positions), None)
        if missing is not None:
            known = tuple(source.columns)
            check_columns(
                self._mapping, (replace(rules[0], subject=TermMap(TermKind.REFERENCE, missing)),), known, location
            )
        return _collected(source, positions, tuple(plain), calls)


_NONE = TermMap(TermKind.CONSTANT, "")


def _collected(source: TableSource, positions: Mapping[str, int], plain: Sequence[str], calls: _Calls) -> DataFrame:
    """The whole of a source in the columns that are needed, a row for each combination of what functions give."""
    columns: dict[str, list[str]] = {name: [] for name in (*plain, *calls.names)}
    for rows in source.batches(_BATCH):
        outcomes = calls.over(rows, Batch(rows))
        for place, row in enumerate(rows):
            for combination in product(*(outcomes[name][place] for name in calls.names)):
                for name in plain:
                    columns[name].append(row.cells[positions[name]] or "")
                for name, term in zip(calls.names, combination, strict=True):
                    columns[name].append(term)
    return rml.frame_of(columns).astype("string")


class _Cells:
    """The columns of some rows as arrays, made when first needed."""

    def __init__(self, rows: Sequence[SourceRow], positions: Mapping[str, int]) -> None:
        self.rows = rows
        self.places = np.arange(len(rows))
        self._positions = positions
        self._columns: dict[str, _Texts] = {}

    def __getitem__(self, name: str) -> _Texts:
        if name not in self._columns:
            position = self._positions[name]
            found = np.empty(len(self.rows), dtype=object)
            found[:] = [row.cells[position] or "" for row in self.rows]
            self._columns[name] = found
        return self._columns[name]


class _Calls:
    """The different calls that rules make, in the order in which they are to be carried out."""

    def __init__(
        self,
        mapping: TableRules,
        rules: Sequence[TripleRule],
        positions: Mapping[str, int],
        functions: Functions,
        styles: Sequence[CellStyle] = (),
    ) -> None:
        self._functions = functions
        self._styles = styles
        self._positions = positions
        self._names: dict[FunctionCall, str] = {}
        ours = [call for rule in rules for _, call in mapping.calls_of(rule) if call.is_ours]
        ordered = sorted({self._plain(call) for call in ours}, key=self._rank)
        for number, call in enumerate(ordered):
            self._names[call] = f"f{number}"
        references = [(call.columns, dict(call.given)) for call in ordered if call.function == REFERENCE]
        leads = f"{FUNCTIONS}property"
        self._led = {columns: given[leads].value for columns, given in references if leads in given}

    @property
    def names(self) -> tuple[str, ...]:
        """The columns in which the results stand."""
        return tuple(self._names.values())

    def name(self, call: FunctionCall) -> str:
        """The column in which the results of a call stand."""
        return self._names[self._plain(call)]

    def _plain(self, call: FunctionCall) -> FunctionCall:
        """The call with what it is given in the order of the columns."""
        far = len(self._positions)

        def rank(item: tuple[str, TermMap]) -> tuple[str, int, str]:
            return item[0], min((self._positions[c] for c in item[1].columns), default=far), item[1].value

        return FunctionCall(call.function, tuple(sorted(set(call.given), key=rank)))

    def _rank(self, call: FunctionCall) -> tuple[bool, int, str, str]:
        """The row's own entity first, then column by column."""
        place = min((self._positions[column] for column in call.columns), default=len(self._positions))
        return call.function != ENTITY, place, call.function, str(call.given)

    def over(self, rows: Sequence[SourceRow], found: Batch) -> dict[str, list[tuple[str, ...]]]:
        """What each call gives for each row, as finished terms; a row that has no entity gives nothing at all."""
        outcomes: dict[str, list[tuple[str, ...]]] = {name: [] for name in self.names}
        if not outcomes:
            return outcomes
        takers = [(name, call.function, self._taker(call), self._column(call)) for call, name in self._names.items()]
        for place, row in enumerate(rows):
            is_nameless = False
            for name, function, taker, column in takers:
                outcome = CellOutcome() if is_nameless else self._functions.call(function, taker(row.cells))
                outcomes[name].append(tuple(str(term) for term in outcome.terms))
                found.besides += [(place, triple) for triple in outcome.besides]
                found.problems += [CellProblem(row.number, column, text, why) for text, why in outcome.problems]
                is_nameless |= function == ENTITY and not outcome.terms
        return outcomes

    def _column(self, call: FunctionCall) -> str:
        return decoded(call.columns[0]) if call.columns else ""

    def _taker(self, call: FunctionCall) -> Callable[[Sequence[str | None]], dict[str, list[str]]]:
        """Takes from the cells of a row what the call is given."""
        fixed: dict[str, list[str]] = {}
        varying: list[tuple[str, TermMap]] = []
        for parameter, term in call.given:
            name = parameter.removeprefix(FUNCTIONS)
            if term.kind is TermKind.CONSTANT:
                fixed.setdefault(name, []).append(term.value)
            else:
                varying.append((name, term))
        if call.function == ENTITY:  # so that a row is called by what its parts name
            fixed["property"] = [self._led.get(tuple(term.columns), "") for name, term in varying if name == "part"]
        positions = self._positions
        styles = self._styles if call.function == VALUE and self._functions.is_typed(fixed) else ()

        def take(cells: Sequence[str | None]) -> dict[str, list[str]]:
            given = dict(fixed)
            for name, term in varying:
                if term.kind is TermKind.REFERENCE:
                    text = cells[positions[term.value]] or ""
                    text = "; ".join(map(styles[positions[term.value]].plain, stated(parts(text)))) if styles else text
                else:
                    text = filled(term.value, lambda column: cells[positions[column]] or "")
                if text:
                    given[name] = [*given.get(name, ()), text]
            return given

        return take


class _Plan:
    """One rule made ready: calls replaced by the columns of their results, cells guarded."""

    def __init__(self, mapping: TableRules, rule: TripleRule, calls: _Calls) -> None:
        self._mapping = mapping
        self._made = {name: calls.name(call) for name, call in mapping.calls_of(rule) if call.is_ours}
        self._derived = tuple(dict.fromkeys(self._made.values()))
        subject = rule.subject
        called = mapping.calls[subject.value] if subject.kind is TermKind.EXECUTION else None
        self.describes = called is None or called.function != REFERENCE
        self._guards = guards(rule)
        self.rule = self._ready(rule)
        apart = (*self._derived, _WHOLE, _TAG)
        guarded = [guard.column for guard in self._guards]
        self._columns = tuple(dict.fromkeys(name for name in (*self.rule.columns, *guarded) if name not in apart))
        self._datatype = rule.tag_map.value if rule.tag_map is not None else ""

    @property
    def is_constant(self) -> bool:
        """Whether the rule makes the same triple of every row."""
        return all(term.kind is TermKind.CONSTANT for term in self.rule.terms)

    def constant(self) -> _Texts:
        """The triple of a rule that makes always the same one."""
        made = rml.triples_of(self.rule, rml.frame_of({"row": [0]}), {}, ())
        return made["triple"].to_numpy()[:1]

    def _ready(self, rule: TripleRule) -> TripleRule:
        subject, object_ = self._term(rule.subject), self._term(rule.object)
        tag, tag_map = rule.tag, rule.tag_map
        if object_ is not rule.object:
            tag, tag_map = "", None
        if any(guard.is_whole for guard in self._guards):
            # the engine would count in floating point, so it is told the datatype as if a column had it
            object_, tag_map = replace(object_, value=_WHOLE), TermMap(TermKind.REFERENCE, _TAG)
        if object_.kind is TermKind.PARENT and self._is_called(self._mapping.parent(rule).subject):
            object_ = replace(object_, form="")
        return replace(rule, subject=subject, object=object_, tag=tag, tag_map=tag_map)

    def _is_called(self, term: TermMap) -> bool:
        return term.kind is TermKind.EXECUTION and self._mapping.calls[term.value].is_ours

    def _term(self, term: TermMap) -> TermMap:
        """The term map with a call replaced by the finished terms that it gave."""
        return TermMap(TermKind.REFERENCE, self._made[term.value], "") if self._is_called(term) else term

    def frame(self, cells: _Cells, outcomes: Mapping[str, list[tuple[str, ...]]], found: Batch) -> DataFrame | None:
        """The rows for which the rule has all that it takes; None where there is none."""
        kept = np.ones(len(cells.rows), dtype=bool)
        for name in self._columns:
            kept &= cells[name] != ""
        for guard in self._guards:
            kept &= self._guarded(guard, cells, kept, found)
        places = cells.places[kept]
        results: dict[str, _Texts] = {}
        if self._derived:
            places, results = _combined(places, [outcomes[name] for name in self._derived], self._derived)
        if not len(places):
            return None
        columns = {name: cells[name][places] for name in self._columns}
        for guard in self._guards:
            if guard.is_whole:
                columns |= {_WHOLE: _whole(columns[guard.column]), _TAG: [self._datatype] * len(places)}
        return rml.frame_of({"row": places, **columns, **results})

    def _guarded(self, guard: Guard, cells: _Cells, kept: _Texts, found: Batch) -> _Texts:
        column = cells[guard.column]
        passed = np.fromiter((not k or guard.passes(c) for c, k in zip(column, kept, strict=True)), bool, len(column))
        name = decoded(guard.column)
        for place in np.flatnonzero(~passed).tolist():
            text = column[place]
            found.problems.append(CellProblem(cells.rows[place].number, name, text, f"{text!r} is not {guard.wanted}"))
        return passed


def _whole(texts: _Texts) -> _Texts:
    """Whole numbers without the fraction of noughts that spreadsheets write."""
    found = np.empty(len(texts), dtype=object)
    found[:] = [text.partition(".")[0] for text in texts]
    return found


def _combined(
    places: _Texts, outcomes: Sequence[list[tuple[str, ...]]], names: Sequence[str]
) -> tuple[_Texts, dict[str, _Texts]]:
    """The places once for each combination of what the calls gave there, and the combinations."""
    rows = [(place, *terms) for place in places for terms in product(*(outcome[place] for outcome in outcomes))]
    results = {}
    for number, name in enumerate(names, start=1):
        results[name] = np.empty(len(rows), dtype=object)
        results[name][:] = [row[number] for row in rows]
    return np.fromiter((row[0] for row in rows), dtype=int, count=len(rows)), results


_STATEMENTS_BATCH = 5_000


@dataclass(slots=True)
class RowStatements:
    """What one row says: the entities that it describes, the triples with them, and what was not accepted."""

    line: int
    subjects: list[NamedNode] = field(default_factory=list)
    triples: list[Triple] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    keyed: NamedNode | None = None
    """The entity that the row is about, as far as its key or the mapping's first triples map tells."""

    @property
    def subject(self) -> NamedNode | None:
        """The first of the entities; None where nothing names the row."""
        return self.subjects[0] if self.subjects else None


def statements(run: TableRun, rows: Iterable[SourceRow]) -> Iterator[RowStatements]:
    """The statements of each row, in order. Empty cells say nothing; bad cells are refused, the rest counts."""
    waiting = iter(rows)
    while batch := tuple(islice(waiting, _STATEMENTS_BATCH)):
        yield from _of_batch(run.batch(batch), batch)


def _of_batch(found: Batch, rows: Sequence[SourceRow]) -> Iterator[RowStatements]:
    read = [RowStatements(row.number) for row in rows]
    for place, triple, describes, is_key in found.triples():
        read[place].triples.append(triple)
        if is_key and isinstance(triple.subject, NamedNode):
            read[place].keyed = triple.subject
        if describes and isinstance(triple.subject, NamedNode) and triple.subject not in read[place].subjects:
            read[place].subjects.append(triple.subject)
    by_line = {row.line: row for row in reversed(read)}
    for problem in found.problems:
        by_line[problem.number].refused.append(problem.refusal)
    for row in read:
        row.triples = list(dict.fromkeys(row.triples))
        yield row
