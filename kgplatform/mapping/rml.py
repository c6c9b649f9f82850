"""The door to the RML engine, morph-kgc: mappings read into rules, rules carried out over rows.

It is imported when first needed. Of the engine this takes the reading of YARRRML, RML and R2RML, and the making of
triples from a data frame. The reading of files is left to `kgplatform.documents.tabular`, since the engine reads each
file once for every rule and whole.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Iterator, Mapping, Sequence
from configparser import Error as ConfigurationError
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kgplatform.errors import ConfigError, ReadError
from kgplatform.mapping import turtle, yarrrml
from kgplatform.mapping.rules import Call, Join, Kind, Rule, TableRules, TermMap

if TYPE_CHECKING:
    from pandas import DataFrame

YARRRML_SUFFIXES: Final = (".yml", ".yaml", ".yarrrml")
SUFFIXES: Final = (*YARRRML_SUFFIXES, ".ttl")
INSTALL: Final = "pip install --no-deps morph-kgc==2.10.0"
_Tables = tuple[list[dict[str, Any]], list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class _Parts:
    """The parts of morph-kgc that are used."""

    config: Any
    interpolation: Any
    retrieve: Any
    materialise: Any
    pandas: Any


def available() -> bool:
    """Whether the engine is installed; it is not loaded."""
    from importlib.util import find_spec

    return find_spec("morph_kgc") is not None


@cache
def _loaded() -> _Parts:
    try:
        with _quiet():
            import pandas
            from morph_kgc.args_parser import ExtendedInterpolation
            from morph_kgc.config import Config
            from morph_kgc.mapping.mapping_parser import retrieve_mappings
            from morph_kgc.materializer import _materialize_rml_rule
    except ImportError as error:
        raise ConfigError(
            f"tables are mapped by morph-kgc, which cannot be imported ({error}); install it with `{INSTALL}`",
            setting="morph-kgc",
        ) from error
    return _Parts(Config, ExtendedInterpolation, retrieve_mappings, _materialize_rml_rule, pandas)


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps the engine's remarks about its own libraries from the reader."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def read_mapping(path: Path) -> TableRules:
    """The rules of a mapping file: YARRRML (``.yml``, ``.yaml``), else RML or R2RML in Turtle (``.ttl``).

    Raises:
        ReadError: the file is missing or is no such mapping.
        ConfigError: the engine is not installed.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ReadError(f"cannot be read: {error.strerror or error}", path=path) from error
    except UnicodeDecodeError as error:
        raise ReadError("is not UTF-8 text; a mapping is YARRRML (.yml) or RML (.ttl)", path=path) from error
    return rules_of(text, path)


@lru_cache(maxsize=64)
def rules_of(text: str, path: Path) -> TableRules:
    """The rules that the text of a mapping file spells; raises as `read_mapping`."""
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise ReadError(f"is no mapping: {', '.join(SUFFIXES)} are read", path=path)
    is_turtle = suffix not in YARRRML_SUFFIXES
    plain, sources = (turtle if is_turtle else yarrrml).prepared(text, path)
    rules_frame, calls_frame = _retrieved(plain, "nt" if is_turtle else "yml", path)
    calls = _calls(calls_frame)
    mute = next((row for row in rules_frame if not _text(row["predicate_map_type"])), None)
    if mute is not None:
        subject = _text(mute["subject_map_value"])
        raise ReadError(f"says nothing of {subject}: its triples map has no predicate", path=path)
    rules = tuple(sorted((_rule(row) for row in rules_frame), key=_in_order))
    if not rules:
        raise ReadError("says nothing about any row: no triples map has a predicate", path=path)
    return TableRules(path, rules, calls, sources, text)


def _in_order(rule: Rule) -> tuple[str, str, str, str]:
    """The engine gives rules in no order; sorted, a mapping is carried out the same way each time."""
    return rule.source, rule.subject.value, rule.predicate.value, rule.object.value


def _retrieved(plain: str, suffix: str, path: Path) -> _Tables:
    """The rows of the engine's tables of rules and of calls."""
    try:
        return _understood(plain, suffix)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OSError, ConfigurationError) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise ReadError(f"is a mapping that cannot be understood: {reason}", path=path) from error


@lru_cache(maxsize=64)
def _understood(plain: str, suffix: str) -> _Tables:
    """As `_retrieved`; kept, for the engine takes about a second, and tables of a kind have the same mapping."""
    engine = _loaded()
    with tempfile.TemporaryDirectory(prefix="mapping-") as folder, _quiet():
        file = Path(folder) / f"mapping.{suffix}"
        file.write_text(plain, encoding="utf-8")
        rules, calls, _ = engine.retrieve(_configuration(str(file)))
    return rules.to_dict("records"), calls.to_dict("records")


def _configuration(mapping: str | None = None) -> Any:
    engine = _loaded()
    config = engine.config(interpolation=engine.interpolation())
    sections = {"CONFIGURATION": {"number_of_processes": "1", "na_values": "", "logging_level": "ERROR"}}
    if mapping is not None:
        sections["table"] = {"mappings": mapping.replace("$", "$$")}
    config.read_dict(sections)
    config.complete_configuration_with_defaults()
    config.validate_configuration_section()
    return config


def triples_of(rule: Rule, frame: DataFrame, parents: Mapping[str, DataFrame], rules: Sequence[Rule]) -> DataFrame:
    """The triples that a rule makes of the rows, as N-Triples without the full stop, in the column ``triple``.

    The other columns of the frame come with them. ``parents`` are the rows of the sources that rules join with.
    """
    engine = _loaded()
    with _quiet():
        known = engine.pandas.DataFrame([_row_of(item) for item in (rule, *rules)])
        made: DataFrame = engine.materialise(
            _row_of(rule), known, _no_calls(), _plain_configuration(), data=frame, python_source=parents
        )
    return made


def frame_of(columns: Mapping[str, object]) -> DataFrame:
    """A data frame of these columns of text."""
    made: DataFrame = _loaded().pandas.DataFrame(columns, dtype=object)
    return made


@cache
def _no_calls() -> Any:
    names = ["function_execution", "function_map_value", "parameter_map_value", "value_map_type", "value_map_value"]
    return _loaded().pandas.DataFrame(columns=names)


@cache
def _plain_configuration() -> Any:
    return _configuration()


def _row_of(rule: Rule) -> dict[str, Any]:
    """The rule as the engine keeps it."""
    joins = {str(n): {"child_value": j.child, "parent_value": j.parent} for n, j in enumerate(rule.joins)}
    row: dict[str, Any] = {
        "source_name": "table",
        "triples_map_id": rule.identity,
        "source_type": "PYTHON_SOURCE",
        "logical_source_type": "http://w3id.org/rml/source",
        "logical_source_value": rule.source,
        "iterator": None,
        "subject_join_conditions": None,
        "object_join_conditions": str(joins) if joins else None,
        "lang_datatype": rule.tag or None,
        "graph_map_type": Kind.CONSTANT.value,
        "graph_map_value": "http://w3id.org/rml/defaultGraph",
    }
    terms = {"subject": rule.subject, "predicate": rule.predicate, "object": rule.object}
    for name, term in (*terms.items(), ("lang_datatype", rule.tag_map)):
        row[f"{name}_map_type"] = term.kind.value if term else None
        row[f"{name}_map_value"] = term.value if term else None
        row[f"{name}_termtype"] = term.form if term else None
    return row


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _rule(row: Mapping[str, Any]) -> Rule:
    def term(name: str, form: str = "") -> TermMap:
        kind = Kind(_text(row[f"{name}_map_type"]))
        return TermMap(kind, _text(row[f"{name}_map_value"]), _text(row.get(form)) if form else "")

    tag = _text(row["lang_datatype"])
    joins = _text(row.get("object_join_conditions"))
    return Rule(
        identity=_text(row["triples_map_id"]),
        source=_text(row["logical_source_value"]),
        subject=term("subject", "subject_termtype"),
        predicate=term("predicate"),
        object=term("object", "object_termtype"),
        tag=tag,
        tag_map=term("lang_datatype") if tag else None,
        joins=tuple(_joins(joins)),
    )


def _joins(text: str) -> Iterator[Join]:
    """The conditions, which the engine hands over as the text of a dictionary."""
    import ast

    for condition in (ast.literal_eval(text) if text else {}).values():
        yield Join(condition["child_value"], condition["parent_value"])


def _calls(rows: Sequence[Mapping[str, Any]]) -> dict[str, Call]:
    found: dict[str, list[tuple[str, TermMap]]] = {}
    functions: dict[str, str] = {}
    for row in rows:
        name = _text(row["function_execution"])
        functions[name] = _text(row["function_map_value"])
        given = found.setdefault(name, [])
        if _text(row.get("parameter_map_value")):
            given.append(
                (
                    _text(row["parameter_map_value"]),
                    TermMap(Kind(_text(row["value_map_type"])), _text(row["value_map_value"])),
                )
            )
    return {name: Call(functions[name], tuple(sorted(given, key=_by_parameter))) for name, given in found.items()}


def _by_parameter(given: tuple[str, TermMap]) -> tuple[str, str, str]:
    return given[0], given[1].kind.value, given[1].value
