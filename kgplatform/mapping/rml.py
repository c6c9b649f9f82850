"""Mappings in YARRRML, RML and R2RML: read into rules by morph-kgc, which also makes the triples of a data frame.

The engine is imported when first needed. The reading of files is left to `kgplatform.documents.tables`, since the
engine reads each file once for every rule and whole.
"""

from __future__ import annotations

import json
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from configparser import Error as ConfigurationError
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, lru_cache
from pathlib import Path, PurePosixPath
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyoxigraph as ox
from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Triple
from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError

from kgplatform.errors import ConfigError, ReadError, StoreError
from kgplatform.store.oxigraph import parse
from kgplatform.vocab import PREFIXES, XSD, local_name

if TYPE_CHECKING:
    from pandas import DataFrame


GIVEN = ""
"""The name of the source of a triples map that names none: whichever file is added."""


class MappingSources:
    """The sources of one mapping; each has a key by which the engine knows it."""

    def __init__(self, mapping: Path) -> None:
        self._mapping = mapping
        self._names: dict[str, str] = {}

    def key(self, name: str) -> str:
        """The key of the source of that name."""
        found = next((key for key, known in self._names.items() if known == name), None)
        if found is None:
            found = f"{{s{len(self._names)}}}"
            self._names[found] = name
        return found

    def location(self, key: str) -> str:
        """Where the source lies; a file is sought beside the mapping."""
        name = self._names[key]
        if "://" in name:
            return name
        path, _, part = name.partition("#")
        beside = self._mapping.parent / path
        return f"{beside}#{part}" if part else str(beside)

    def given(self, location: str) -> frozenset[str]:
        """The keys of the sources that are the file that is being added.

        Raises:
            ReadError: the mapping is about other files.
        """
        unnamed = frozenset(key for key, name in self._names.items() if name == GIVEN)
        named = {key: name for key, name in self._names.items() if name != GIVEN}
        fitting = frozenset(key for key, name in named.items() if _table(name) == _table(location))
        if not fitting:
            fitting = frozenset(key for key, name in named.items() if _stem(name) == _stem(location))
        if unnamed or fitting:
            return unnamed | fitting
        if len(named) == 1:
            return frozenset(named)
        names = ", ".join(sorted(named.values()))
        raise ReadError(f"maps {names}, none of which is {_table(location)}", path=self._mapping)


def _table(location: str) -> str:
    path, _, part = location.partition("#")
    name = PurePosixPath(path).name
    return f"{name}#{part}" if part and "=" not in part else name


def _stem(location: str) -> str:
    path, _, part = location.partition("#")
    return part if part and "=" not in part else PurePosixPath(path).stem


_YARRRML = re.compile(r"(?<!\\)\$\(((?:[^()\\]|\\.|\((?:[^()\\]|\\.)*\))+)\)")
_RML = re.compile(r"(?<!\\)\{((?:[^{}\\]|\\.)+)\}")
_MARK = "c_"


def encoded(name: str) -> str:
    """The name as it goes to the engine.

    >>> encoded("price"), decoded(encoded("价格 (¥)"))
    ('c_7072696365', '价格 (¥)')
    """
    return _MARK + name.encode("utf-8", "surrogatepass").hex()


def decoded(name: str) -> str:
    """The name that `encoded` was given."""
    return bytes.fromhex(name.removeprefix(_MARK)).decode("utf-8", "surrogatepass")


def reference(name: str) -> str:
    r"""The reference to a column as YARRRML writes it.

    >>> reference("price"), reference("height (m)")
    ('$(price)', '$(height \\(m\\))')
    """
    return "$(" + re.sub(r"([()\\])", r"\\\1", name) + ")"


def with_encoded(text: str) -> str:
    """The YARRRML text with its references encoded."""
    return _YARRRML.sub(lambda found: f"$({encoded(_plain(found[1]))})", text)


def referred(text: str) -> Iterator[str]:
    """The names of the columns that a YARRRML text refers to."""
    return (_plain(found) for found in _YARRRML.findall(text))


def template_encoded(text: str) -> str:
    """The RML template with its references encoded."""
    return _RML.sub(lambda found: "{" + encoded(_plain(found[1])) + "}", text)


def template_columns(template: str) -> tuple[str, ...]:
    """The encoded names in a template, in order."""
    return tuple(_RML.findall(template))


def filled(template: str, cell: Callable[[str], str]) -> str:
    """The template with the cells of its columns; empty where one of them is."""
    cells = {name: cell(name) for name in template_columns(template)}
    if not all(cells.values()):
        return ""
    return _RML.sub(lambda found: cells[found[1]], template).replace("\\{", "{").replace("\\}", "}")


def _plain(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name)


# RML and R2RML (https://www.w3.org/TR/r2rml/, https://kg-construct.github.io/rml-core/spec/docs/)

_R2RML = "http://www.w3.org/ns/r2rml#"
_NAMESPACES = (_R2RML, "http://semweb.mmlab.be/ns/rml#", "http://w3id.org/rml/")
_SOURCE = NamedNode("http://w3id.org/rml/source")
_LOGICAL = NamedNode("http://w3id.org/rml/logicalSource")


def _names(*local: str) -> frozenset[str]:
    return frozenset(namespace + name for namespace in _NAMESPACES for name in local)


_REFERENCES = _names("column", "reference", "child", "parent")
_TEMPLATES = _names("template")
_LOGICALS = _names("logicalTable", "logicalSource")
_SOURCES = _names("tableName", "source")
_DROPPED = _names("tableName", "source", "referenceFormulation", "iterator", "sqlVersion", "graphMap", "graph")
_QUERIES = _names("sqlQuery", "query")
_SUBJECTS = _names("subjectMap", "subject")
_SAYING = _names("predicateObjectMap", "class")


def prepared(text: str, path: Path) -> tuple[str, MappingSources]:
    """The mapping for the engine (as N-Triples), and its sources.

    Raises:
        ReadError: not Turtle, or no triples map in it.
    """
    try:
        triples = [quad.triple for quad in parse(text.encode(), RdfFormat.TURTLE, base_iri=path.resolve().as_uri())]
    except StoreError as error:
        raise ReadError(str(error).removeprefix("the text: "), path=path) from error
    logical = {triple.object: triple.subject for triple in triples if triple.predicate.value in _LOGICALS}
    maps = tuple(dict.fromkeys(str(t.subject).strip("<>") for t in triples if t.predicate.value in _SUBJECTS))
    if not maps:
        raise ReadError("is not an RML mapping: it has no triples map with a subject", path=path)
    if not any(triple.predicate.value in _SAYING for triple in triples):
        raise ReadError("says nothing about any row: no triples map has a predicate or a class", path=path)
    if any(triple.predicate.value in _QUERIES for triple in triples):
        raise ReadError("a source is an SQL query; name its table instead", path=path)
    sources = MappingSources(path)
    kept = [_encoded(triple) for triple in triples if triple.predicate.value not in _DROPPED]
    named = {t.subject: t.object for t in triples if t.predicate.value in _SOURCES and isinstance(t.object, Literal)}
    for node in logical:
        name = None if isinstance(node, Literal) else named.get(node)
        key = sources.key(name.value if isinstance(name, Literal) else GIVEN)
        kept.append(Triple(node, _SOURCE, Literal(key)))  # type: ignore[arg-type]
    with_source = {str(subject).strip("<>") for subject in logical.values()}
    for name_ in (name for name in maps if name not in with_source):
        node = BlankNode()
        subject = NamedNode(name_) if not name_.startswith("_:") else BlankNode(name_[2:])
        kept += [Triple(subject, _LOGICAL, node), Triple(node, _SOURCE, Literal(sources.key(GIVEN)))]
    return (ox.serialize(kept, format=RdfFormat.N_TRIPLES) or b"").decode(), sources


def _encoded(triple: Triple) -> Triple:
    name, object_ = triple.predicate.value, triple.object
    if isinstance(object_, Literal):
        if name in _REFERENCES:
            object_ = Literal(encoded(object_.value.strip('"')))
        elif name in _TEMPLATES:
            object_ = Literal(template_encoded(object_.value))
    return Triple(triple.subject, triple.predicate, object_)


# YARRRML (https://rml.io/yarrrml/spec/)

FUNCTIONS = "https://w3id.org/kgplatform/function#"
"""Where the functions of this platform begin; the prefix ``kgp`` stands for it."""

_KNOWN_PREFIXES = {**PREFIXES, "kgp": FUNCTIONS, "grel": "http://users.ugent.be/~bjdmeest/function/grel.ttl#"}
_TOP = {"mapping": "mappings", "m": "mappings"}
_KEYS = {
    "subject": "subjects",
    "s": "subjects",
    "predicateobject": "predicateobjects",
    "po": "predicateobjects",
    "source": "sources",
}
_Tree: TypeAlias = Any


def yarrrml_prepared(text: str, path: Path) -> tuple[str, MappingSources]:
    """The mapping for the engine (as JSON, which is YAML), and its sources.

    Raises:
        ReadError: not YAML, or not a mapping.
    """
    tree = _loaded(text, path)
    found = next((tree[key] for key in ("mappings", *_TOP) if key in tree), None)
    if not isinstance(found, dict) or not found:
        raise ReadError("is not a YARRRML mapping: it has no `mappings`", path=path)
    prefixes = {**_KNOWN_PREFIXES, **_texts(tree.get("prefixes"), "prefixes", path)}
    sources = MappingSources(path)
    named = tree.get("sources") if isinstance(tree.get("sources"), dict) else {}
    keys = {name: _source(value, sources, path) for name, value in (named or {}).items()}
    maps = {}
    for name, value in found.items():
        if not isinstance(value, dict):
            raise ReadError(f"the triples map {name!r} holds no keys", path=path)
        plain = {_KEYS.get(key, key): part for key, part in value.items() if key not in ("graphs", "graph", "g")}
        given = plain.pop("sources", None)
        plain = _spelled(plain, prefixes)
        if "subjects" not in plain:
            raise ReadError(f"the triples map {name!r} has no `subjects`", path=path)
        plain["sources"] = [{"access": key} for key in _used(given, keys, sources, path)]
        maps[str(name)] = plain
    if not any(plain.get("predicateobjects") for plain in maps.values()):
        raise ReadError("says nothing about any row: no triples map has a `po`", path=path)
    return json.dumps({"mappings": maps}, ensure_ascii=False), sources


def _loaded(text: str, path: Path) -> dict[str, _Tree]:
    try:
        tree = YAML(typ="safe", pure=True).load(text)
    except MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 0
        raise ReadError(f"line {line}: is not YAML: {error.problem or error.context}", path=path) from error
    except (YAMLError, ValueError, RecursionError) as error:
        raise ReadError(f"is not YAML: {str(error).splitlines()[0]}", path=path) from error
    if not isinstance(tree, dict):
        raise ReadError("is not a YARRRML mapping: it has no `mappings`", path=path)
    return {str(key): value for key, value in tree.items()}


def _texts(value: _Tree, what: str, path: Path) -> dict[str, str]:
    if value is None:
        return {}
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise ReadError(f"`{what}` must give a text for each name", path=path)
    return {str(key): item for key, item in value.items()}


def _source(value: _Tree, sources: MappingSources, path: Path) -> str:
    """The key of a source in one of the ways to write one: ``[file~csv]``, or a map with ``access``, ``table``."""
    if isinstance(value, list) and value and isinstance(value[0], str):
        return sources.key(value[0].split("~")[0])
    if isinstance(value, Mapping):
        if "query" in value:
            raise ReadError("a source is an SQL query; name its `table` instead", path=path)
        access, table = value.get("access"), value.get("table")
        if access or table:
            return sources.key("#".join(str(part) for part in (access, table) if part))
    raise ReadError(f"no file is named by the source {str(value)[:60]!r}", path=path)


def _used(given: _Tree, keys: Mapping[str, str], sources: MappingSources, path: Path) -> list[str]:
    """The keys of the sources of a triples map; of the file that is given when it names none."""
    if given is None:
        return [sources.key(GIVEN)]
    if isinstance(given, Mapping) or (
        isinstance(given, list) and given and (isinstance(given[0], str) and "~" in given[0])
    ):
        return [_source(given, sources, path)]
    found = []
    for item in given if isinstance(given, list) else [given]:
        if isinstance(item, str):
            found.append(keys[item] if item in keys else sources.key(item.split("~")[0]))
        else:
            found.append(_source(item, sources, path))
    return found


def _spelled(value: _Tree, prefixes: Mapping[str, str]) -> _Tree:
    """The tree with prefixed names spelled out and references encoded."""
    if isinstance(value, Mapping):
        return {str(key): _spelled(item, prefixes) for key, item in value.items()}
    if isinstance(value, list):
        return [_spelled(item, prefixes) for item in value]
    if value is None or isinstance(value, bool):
        return {True: "true", False: "false", None: ""}[value]
    text = str(value)
    prefix, colon, rest = text.partition(":")
    if colon and prefix in prefixes and not rest.startswith("//"):
        text = prefixes[prefix] + rest
    return with_encoded(text)


class TermKind(StrEnum):
    """How a term is made, by the name that RML has for it."""

    CONSTANT = "http://w3id.org/rml/constant"
    TEMPLATE = "http://w3id.org/rml/template"
    REFERENCE = "http://w3id.org/rml/reference"
    EXECUTION = "http://w3id.org/rml/functionExecution"
    PARENT = "http://w3id.org/rml/parentTriplesMap"


IRI = "http://w3id.org/rml/IRI"
DATATYPE = "http://w3id.org/rml/datatypeMap"


@dataclass(frozen=True, slots=True)
class TermMap:
    """How a term is made of a row: a constant, a template, a column, a function, or another map's subject."""

    kind: TermKind
    value: str
    form: str = IRI

    @property
    def columns(self) -> tuple[str, ...]:
        """The (encoded) columns it is made of, those of functions left out."""
        if self.kind is TermKind.REFERENCE:
            return (self.value,)
        return template_columns(self.value) if self.kind is TermKind.TEMPLATE else ()


@dataclass(frozen=True, slots=True)
class Join:
    """A condition under which rows of two sources belong together: equal cells."""

    child: str
    parent: str


@dataclass(frozen=True, slots=True)
class TripleRule:
    """One triple for each row of a source, as far as no cell that it takes is empty."""

    identity: str
    source: str
    subject: TermMap
    predicate: TermMap
    object: TermMap
    tag: str = ""
    tag_map: TermMap | None = None
    joins: tuple[Join, ...] = ()

    @property
    def terms(self) -> tuple[TermMap, ...]:
        """All its term maps."""
        found = (self.subject, self.predicate, self.object)
        return (*found, self.tag_map) if self.tag_map is not None else found

    @property
    def columns(self) -> tuple[str, ...]:
        """The (encoded) columns of the source that it takes, those of functions left out."""
        found = [column for term in self.terms for column in term.columns]
        return tuple(dict.fromkeys([*found, *(join.child for join in self.joins)]))


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function with what it is given, in order: for each parameter a constant, a template or a column."""

    function: str
    given: tuple[tuple[str, TermMap], ...]

    @property
    def is_ours(self) -> bool:
        """Whether the function is one of this platform's."""
        return self.function.startswith(FUNCTIONS)

    @property
    def columns(self) -> tuple[str, ...]:
        """The (encoded) columns it takes, in order."""
        return tuple(dict.fromkeys(column for _, term in self.given for column in term.columns))


@dataclass(frozen=True, slots=True)
class TableRules:
    """A mapping as read: its rules in the order of its triples maps, the calls by name, and its sources."""

    path: Path
    rules: tuple[TripleRule, ...]
    calls: Mapping[str, FunctionCall]
    sources: MappingSources
    text: str = field(repr=False, default="")

    def of(self, given: frozenset[str]) -> tuple[TripleRule, ...]:
        """The rules of these sources."""
        return tuple(rule for rule in self.rules if rule.source in given)

    def parent(self, rule: TripleRule) -> TripleRule:
        """The rule whose subject is the object of this one."""
        return next(other for other in self.rules if other.identity == rule.object.value)

    def calls_of(self, rule: TripleRule) -> Iterator[tuple[str, FunctionCall]]:
        """The functions that a rule calls, those inside functions left out."""
        for term in rule.terms:
            if term.kind is TermKind.EXECUTION:
                yield term.value, self.calls[term.value]

    def columns(self, rules: tuple[TripleRule, ...]) -> tuple[str, ...]:
        """The (encoded) columns that the rules take, with those of functions, in order."""
        found: dict[str, None] = {}
        for rule in rules:
            found |= dict.fromkeys(rule.columns)
            for name, _ in self.calls_of(rule):
                found |= dict.fromkeys(self._within(name))
        return tuple(found)

    def _within(self, name: str) -> Iterator[str]:
        call = self.calls[name]
        yield from call.columns
        for _, term in call.given:
            if term.kind is TermKind.EXECUTION:
                yield from self._within(term.value)


_DIGITS = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)"
_DAY = r"-?\d{4,}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])"
_ZONE = r"(?:Z|[+-]\d{2}:\d{2})?"
_FORMS: Final[dict[str, str]] = {
    f"{XSD}integer": r"[+-]?\d+(?:\.0+)?",
    f"{XSD}nonNegativeInteger": r"\+?\d+(?:\.0+)?",
    f"{XSD}positiveInteger": r"\+?0*[1-9]\d*(?:\.0+)?",
    f"{XSD}decimal": _DIGITS,
    f"{XSD}double": rf"{_DIGITS}(?:[eE][+-]?\d+)?|[+-]?INF|NaN",
    f"{XSD}float": rf"{_DIGITS}(?:[eE][+-]?\d+)?|[+-]?INF|NaN",
    f"{XSD}boolean": r"(?i:true|false|0|1)",
    f"{XSD}date": _DAY + _ZONE,
    f"{XSD}dateTime": rf"{_DAY}[T ]\d{{2}}:\d{{2}}:\d{{2}}(?:\.\d+)?{_ZONE}",
    f"{XSD}time": rf"\d{{2}}:\d{{2}}:\d{{2}}(?:\.\d+)?{_ZONE}",
    f"{XSD}gYear": rf"-?\d{{4,}}{_ZONE}",
}
_WORDS: Final = {"integer": "a whole number", "decimal": "a number", "double": "a number", "float": "a number"}
_IRI: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:[^\x00-\x20<>\"{}|^`\\]+")
_INTEGERS: Final = frozenset(f"{XSD}{name}" for name in ("integer", "nonNegativeInteger", "positiveInteger"))


class Guard:
    """What a cell must look like for one column of one rule."""

    def __init__(self, column: str, pattern: re.Pattern[str], wanted: str, *, is_whole: bool = False) -> None:
        self.column = column
        self._pattern = pattern
        self.wanted = wanted
        self.is_whole = is_whole

    def passes(self, text: str) -> bool:
        """Whether the cell is as wanted."""
        return self._pattern.fullmatch(text) is not None


def guards(rule: TripleRule) -> tuple[Guard, ...]:
    """What the cells of a rule must look like: those that become IRIs as they are, and those with a datatype."""
    found = [Guard(t.value, _IRI, "an IRI") for t in (rule.subject, rule.predicate, rule.object) if _is_plain_iri(t)]
    tag = rule.tag_map
    is_typed = rule.tag == DATATYPE and tag is not None and tag.kind is TermKind.CONSTANT
    if is_typed and tag is not None and rule.object.kind is TermKind.REFERENCE and tag.value in _FORMS:
        name = local_name(tag.value)
        wanted = _WORDS.get(name, f"an xsd:{name}")
        found.append(Guard(rule.object.value, re.compile(_FORMS[tag.value]), wanted, is_whole=tag.value in _INTEGERS))
    return tuple(found)


def _is_plain_iri(term: TermMap) -> bool:
    return term.kind is TermKind.REFERENCE and term.form in (IRI, "")


YARRRML_SUFFIXES: Final = (".yml", ".yaml", ".yarrrml")
SUFFIXES: Final = (*YARRRML_SUFFIXES, ".ttl")
INSTALL: Final = "pip install --no-deps morph-kgc==2.10.0"
_Tables = tuple[list[dict[str, Any]], list[dict[str, Any]]]


@cache
def _engine() -> Any:
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
    return SimpleNamespace(
        config=Config,
        interpolation=ExtendedInterpolation,
        retrieve=retrieve_mappings,
        materialise=_materialize_rml_rule,
        pandas=pandas,
    )


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
        raise ReadError(f"is not a mapping: {', '.join(SUFFIXES)} are read", path=path)
    is_turtle = suffix not in YARRRML_SUFFIXES
    plain, sources = (prepared if is_turtle else yarrrml_prepared)(text, path)
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


def _in_order(rule: TripleRule) -> tuple[str, str, str, str]:
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
    engine = _engine()
    with tempfile.TemporaryDirectory(prefix="mapping-") as folder, _quiet():
        file = Path(folder) / f"mapping.{suffix}"
        file.write_text(plain, encoding="utf-8")
        rules, calls, _ = engine.retrieve(_configuration(str(file)))
    return rules.to_dict("records"), calls.to_dict("records")


def _configuration(mapping: str | None = None) -> Any:
    engine = _engine()
    config = engine.config(interpolation=engine.interpolation())
    sections = {"CONFIGURATION": {"number_of_processes": "1", "na_values": "", "logging_level": "ERROR"}}
    if mapping is not None:
        sections["table"] = {"mappings": mapping.replace("$", "$$")}
    config.read_dict(sections)
    config.complete_configuration_with_defaults()
    config.validate_configuration_section()
    return config


def triples_of(
    rule: TripleRule, frame: DataFrame, parents: Mapping[str, DataFrame], rules: Sequence[TripleRule]
) -> DataFrame:
    """The triples that a rule makes of the rows, as N-Triples without the full stop, in the column ``triple``.

    The other columns of the frame come with them. ``parents`` are the rows of the sources that rules join with.
    """
    engine = _engine()
    with _quiet():
        known = engine.pandas.DataFrame([_row_of(item) for item in (rule, *rules)])
        made: DataFrame = engine.materialise(
            _row_of(rule), known, _no_calls(), _plain_configuration(), data=frame, python_source=parents
        )
    return made


def frame_of(columns: Mapping[str, object]) -> DataFrame:
    """A data frame of these columns of text."""
    made: DataFrame = _engine().pandas.DataFrame(columns, dtype=object)
    return made


@cache
def _no_calls() -> Any:
    names = ["function_execution", "function_map_value", "parameter_map_value", "value_map_type", "value_map_value"]
    return _engine().pandas.DataFrame(columns=names)


@cache
def _plain_configuration() -> Any:
    return _configuration()


def _row_of(rule: TripleRule) -> dict[str, Any]:
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
        "graph_map_type": TermKind.CONSTANT.value,
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


def _rule(row: Mapping[str, Any]) -> TripleRule:
    def term(name: str, form: str = "") -> TermMap:
        kind = TermKind(_text(row[f"{name}_map_type"]))
        return TermMap(kind, _text(row[f"{name}_map_value"]), _text(row.get(form)) if form else "")

    tag = _text(row["lang_datatype"])
    joins = _text(row.get("object_join_conditions"))
    return TripleRule(
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


def _calls(rows: Sequence[Mapping[str, Any]]) -> dict[str, FunctionCall]:
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
                    TermMap(TermKind(_text(row["value_map_type"])), _text(row["value_map_value"])),
                )
            )
    return {
        name: FunctionCall(functions[name], tuple(sorted(given, key=_by_parameter))) for name, given in found.items()
    }


def _by_parameter(given: tuple[str, TermMap]) -> tuple[str, str, str]:
    return given[0], given[1].kind.value, given[1].value
