"""What can be done with a graph from outside, once: each operation with its arguments, its result and who may call it.

The HTTP API, its OpenAPI document, the tools for language models and the chat are made from these. A caller's role is
checked here, whichever way the call came.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from flask import Blueprint, Response, jsonify, request
from pyoxigraph import NamedNode

from kgplatform import resources
from kgplatform.entities import Labels
from kgplatform.errors import ConfigError, QueryCancelledError, QueryError, QueryRejectedError, ReadError
from kgplatform.ontology.schema import label_of
from kgplatform.questions import answer_text
from kgplatform.questions.answer import FollowedQuestion, QuestionGivenUpError
from kgplatform.retrieval.methods import RETRIEVERS, lacking
from kgplatform.server import addresses
from kgplatform.server.access import Client, Role, client
from kgplatform.server.endpoint import carry_out
from kgplatform.server.frame import Lately, tongues
from kgplatform.server.http import query_problem
from kgplatform.server.interfaces.json_records import explanation_json, fields, term_json, view_json
from kgplatform.server.pages import ask as asking
from kgplatform.server.words import LANGUAGES, phrase
from kgplatform.sparql.protocol import ProtocolError
from kgplatform.sparql.tokens import scan
from kgplatform.text import has_han
from kgplatform.vocab import TYPE

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph

_ROWS, _MOST_ROWS, _MOST_BYTES = 100, 1_000, 1_000_000
_PASSAGES, _MOST_PASSAGES, _MOST_ENTITIES = 10, 100, 20
_MOST_TERMS = 300
_LONGEST_QUERY, _LONGEST_NAME = 100_000, 2_000


@dataclass(frozen=True, slots=True)
class Argument:
    """What an operation is told: a ``string`` or ``integer`` and its bounds; ``alias`` is its other name over HTTP."""

    name: str
    text: str
    kind: str = "string"
    required: bool = False
    values: tuple[str, ...] = ()
    least: int = 0
    most: int = 0
    default: str | int | None = None
    alias: str = ""

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the value."""
        found: dict[str, Any] = {"type": self.kind, "description": self.text}
        if self.values:
            found["enum"] = list(self.values)
        if self.kind == "integer":
            found |= {"minimum": self.least, "maximum": self.most}
        elif self.most:
            found["maxLength"] = self.most
        return found if self.default is None else {**found, "default": self.default}

    def checked(self, value: object) -> str | int:
        """The value, if it is one.

        Raises:
            ConfigError: it is not.
        """
        if self.kind == "integer":
            return self._number(value)
        if not isinstance(value, str) or (self.most and len(value) > self.most):
            limit = f" of at most {self.most:,} characters" if self.most else ""
            raise ConfigError(f"{self.name} must be a text{limit}", setting=self.name)
        if self.values and value not in self.values:
            known = ", ".join(self.values)
            raise ConfigError(f"{self.name} {value[:80]!r} is none; there are {known}", setting=self.name)
        return value

    def _number(self, value: object) -> int:
        digits = isinstance(value, str) and value.isdecimal() and len(value) < 10
        number = int(str(value)) if digits or (isinstance(value, int) and not isinstance(value, bool)) else -1
        if not self.least <= number <= self.most:
            least = f"from {self.least} " if self.least else ""
            message = f"{self.name} must be a number {least}up to {self.most}, not {str(value)[:20]!r}"
            raise ConfigError(message, setting=self.name)
        return number


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls an operation, and in which languages they read, the first first; none: that of what they say.

    ``has_left`` says whether they are gone, which ends what was asked.
    """

    client: Client
    languages: tuple[str, ...] = ()
    has_left: Callable[[], bool] = lambda: False

    def tongues(self, said: str) -> tuple[str, ...]:
        """The languages to name things in, for what was said."""
        return self.languages or (("zh", "en") if has_han(said) else ("en",))


Given = Mapping[str, Any]
"""The arguments of a call, checked, those with a default filled in."""


@dataclass(frozen=True, slots=True)
class Operation:
    """Something that can be done: in words, with arguments and a role; what it gives says ``templates/data/results``.

    ``path`` is its address over HTTP; empty where another interface serves it there (SPARQL).
    """

    name: str
    text: str
    arguments: tuple[Argument, ...]
    run: Callable[[Operations, Given, Caller], dict[str, Any]] = field(repr=False)
    path: str = ""
    role: Role = Role.READ

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments."""
        return {
            "type": "object",
            "properties": {argument.name: argument.schema() for argument in self.arguments},
            "required": [argument.name for argument in self.arguments if argument.required],
            "additionalProperties": False,
        }

    def result_schema(self) -> dict[str, Any]:
        """The JSON Schema of the result."""
        return _described(_results()[self.name])

    def checked(self, given: Mapping[str, object]) -> dict[str, Any]:
        """The arguments as they are to be used; what is empty counts as left out.

        Raises:
            ConfigError: one is unknown, missing or not what it must be.
        """
        known = {argument.name for argument in self.arguments}
        if strange := sorted(given.keys() - known):
            listed = ", ".join(argument.name for argument in self.arguments)
            raise ConfigError(f"{self.name} has no argument {strange[0][:80]!r}; there are {listed}", setting=self.name)
        found: dict[str, Any] = {}
        for argument in self.arguments:
            value = given.get(argument.name)
            value = value.strip() if isinstance(value, str) else value
            if value in (None, ""):
                if argument.required:
                    message = f"{self.name} needs {argument.name}: {argument.text}"
                    raise ConfigError(message, setting=argument.name)
                found[argument.name] = argument.default
            else:
                found[argument.name] = argument.checked(value)
        return found


@cache
def _results() -> dict[str, Any]:
    file = resources.folder("templates") / "data" / "results.json"
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found


def _described(kind: Any) -> dict[str, Any]:
    """The JSON Schema of what a result is said to be.

    A list has items; an object has fields, those with ``?`` perhaps, or any (``*``); a text names types and parts.
    """
    if isinstance(kind, list):
        return {"type": "array", "items": _described(kind[0])}
    if isinstance(kind, dict):
        if "*" in kind:
            return {"type": "object", "additionalProperties": _described(kind["*"])}
        fields = {name.rstrip("?"): _described(part) for name, part in kind.items()}
        return {"type": "object", "properties": fields, "required": [name for name in kind if name in fields]}
    named = [_described(part) if (part := _results().get(name)) else {"type": name} for name in kind.split("|")]
    return named[0] if len(named) == 1 else {"anyOf": named}


class Operations:
    """The operations on a workspace."""

    def __init__(self, kg: KnowledgeGraph, lately: Lately | None = None) -> None:
        self.kg = kg
        self.lately = lately or Lately(kg)

    def call(self, name: str, given: Mapping[str, object], caller: Caller) -> dict[str, Any]:
        """What comes of an operation, as JSON values.

        Raises:
            ProtocolError: there is none of that name, or the caller may not call it.
            ConfigError: an argument is not what it must be.
            KgPlatformError: it cannot be done, or not in time.
        """
        operation = OPERATIONS.get(name)
        if operation is None:
            raise ProtocolError(404, "Not found", f"no operation {name[:80]!r}; there are {', '.join(OPERATIONS)}")
        if operation not in offered(caller):
            wanted = operation.role.name.lower()
            raise ProtocolError(403, "Forbidden", f"{name} needs a token with the role {wanted}")
        return operation.run(self, operation.checked(given), caller)


def offered(caller: Caller) -> tuple[Operation, ...]:
    """The operations that the caller may call; what changes the graph is for holders of a token alone."""
    who = caller.client
    return tuple(
        item for item in OPERATIONS.values() if who.role >= item.role and (item.role is Role.READ or who.by_bearer)
    )


def _ask(parts: Operations, given: Given, caller: Caller) -> dict[str, Any]:
    kg, text = parts.kg, given["question"]
    options = asking.beside(lambda name: str(given[name] or ""))
    try:
        with FollowedQuestion(lambda _: None, has_left=caller.has_left).following():
            answer = kg.ask(text, conversation=given["conversation"], now=given["now"] or "", options=options)
    except ReadError as error:
        raise ConfigError(str(error), setting="conversation") from error
    except QuestionGivenUpError as error:
        raise QueryCancelledError(query=text) from error
    labels = Labels(kg.dataset, kg.ontology, answer.question.language)
    return answer_text.as_json(answer, lambda term: labels.reference(term).label)


def _search(parts: Operations, given: Given, caller: Caller) -> dict[str, Any]:
    kg, text = parts.kg, given["text"]
    languages = caller.tongues(text)
    labels = Labels(kg.dataset, kg.ontology, languages)
    retriever = given["retriever"] or kg.settings.retrieval.retriever
    found = kg.search(text, given["k"], retriever=retriever, per_document=given["per_document"])
    lacks = lacking(retriever, kg.sources)
    return {
        "query": text,
        "entities": [
            {
                "iri": iri.value,
                "label": labels.of(iri).text,
                "types": [labels.of(kind).text for kind in kg.store.objects(iri, TYPE) if isinstance(kind, NamedNode)],
                "page": addresses.of_iri(iri, kg.base),
            }
            for iri in parts.lately.called(text, _MOST_ENTITIES)
        ],
        "passages": [fields(item, "chunk", "document", "title", "quote", "start", "end", "score") for item in found],
        "words_only": kg.sources.index.words_only,
        "note": phrase(lacks, languages[-1] if languages[-1] in LANGUAGES else "en") if lacks else "",
    }


def _query(parts: Operations, given: Given, caller: Caller) -> dict[str, Any]:
    kg = parts.kg
    text = kg.resolved(given["query"])
    limits: dict[str, Any] = {
        "timeout_seconds": kg.settings.server.timeout_seconds,
        "client": caller.client.name,
        "has_left": caller.has_left,
    }
    if scan(text).form in ("CONSTRUCT", "DESCRIBE"):
        return {"variables": [], "rows": [], "boolean": None, "truncated": False, "turtle": _graph(kg, text, limits)}
    found = kg.workers.solutions(text, max_rows=given["max_rows"], **limits)
    rows = [
        {name: term_json(term) for name, term in zip(found.variables, row, strict=True) if term is not None}
        for row in found.rows
    ]
    return {
        **{"variables": list(found.variables), "rows": rows, "boolean": found.boolean},
        **{"truncated": found.truncated, "turtle": ""},
    }


def _graph(kg: KnowledgeGraph, text: str, limits: Mapping[str, Any]) -> str:
    """The triples of a CONSTRUCT or DESCRIBE in Turtle.

    Raises:
        QueryError: it cannot be carried out, or yields too much.
    """
    reply = kg.workers.stream(text, media_type="text/turtle", base_iri=kg.base, **limits)
    data = bytearray()
    try:
        for piece in reply:
            data += piece
            if len(data) > _MOST_BYTES:
                message = f"the result is larger than {_MOST_BYTES:,} bytes; add a LIMIT, or use /sparql"
                raise QueryRejectedError((message,), query=text)
    finally:
        reply.close()
    return data.decode()


def _describe(parts: Operations, given: Given, caller: Caller) -> dict[str, Any]:
    name = given["name"]
    return view_json(parts.kg.show(name, language=given["language"] or caller.tongues(name)[0]))


def _why(parts: Operations, given: Given, _: Caller) -> dict[str, Any]:
    return explanation_json(parts.kg.why(given["subject"], given["predicate"], given["object"]))


def _schema(parts: Operations, given: Given, caller: Caller) -> dict[str, Any]:
    """The classes and properties, the most used first."""
    kg, language = parts.kg, given["language"] or caller.tongues("")[0]
    ontology, numbers, uses = kg.ontology, parts.lately.totals(), parts.lately.overview().properties
    classes = sorted(ontology.domain_classes, key=lambda term: -numbers.get(term.iri, 0))
    properties = sorted(ontology.domain_properties, key=lambda term: -uses.get(term.iri, 0))

    def named(term: Any) -> dict[str, Any]:
        fallback = term.iri.value
        words = {"label": label_of(term.words, language, fallback), "comment": label_of(term.comments, language, "")}
        return {"iri": fallback, **words}

    return {
        "prefixes": dict(kg.store.prefixes),
        "classes": [
            {**named(term), "parents": [iri.value for iri in term.parents], "entities": numbers.get(term.iri, 0)}
            for term in classes[:_MOST_TERMS]
        ],
        "properties": [
            {
                **named(term),
                "domains": [iri.value for iri in term.domains],
                "ranges": [iri.value for iri in term.ranges],
                "unit": term.unit,
                "statements": uses.get(term.iri, 0),
            }
            for term in properties[:_MOST_TERMS]
        ],
        "truncated": max(len(classes), len(properties)) > _MOST_TERMS,
    }


def _update(parts: Operations, given: Given, caller: Caller) -> dict[str, Any]:
    kg = parts.kg
    seconds = kg.settings.server.timeout_seconds
    carry_out(kg, kg.resolved(given["update"]), timeout_seconds=seconds, client=caller.client.name)
    return {"done": True, "version": kg.store.version}


_LANGUAGE: Final = Argument("language", "the language of labels, such as en or zh", most=20)
_OPTIONS: Final = {
    "using": "who answers: the way of translating, or the one source to ask",
    "style": "the form of the prompt, where a language model is set",
    "view": "the schema in the prompt, where a language model is set",
    "phrase": "who words the answer",
    "least_confidence": "the minimum confidence of answers from passages",
}


def _named(name: str, text: str) -> Argument:
    return Argument(name, text, required=True, most=_LONGEST_NAME)


_ALL: Final = (
    Operation(
        "ask",
        "Answers a question in English or Chinese from the graph and its passages, with query, rows and evidence.",
        (
            Argument("question", "in English or Chinese", required=True, most=asking.MAX_QUESTION_CHARACTERS),
            Argument(
                "conversation", "a name under which the turns are kept, so that a follow-up may be short", most=64
            ),
            Argument("now", "the moment as of which is asked, such as 2025-03-15T12:00", most=40),
            *(Argument(name, _OPTIONS[name], values=values) for name, values in asking.VALUES.items()),
            Argument("drafts", "so many queries of a language model vote", "integer", most=asking.MOST_DRAFTS),
        ),
        _ask,
        "/api/ask",
    ),
    Operation(
        "search",
        "Finds entities by name, and passages of the documents that fit a text, best first.",
        (
            Argument("text", "what to look for", required=True, most=200, alias="q"),
            Argument("k", "how many passages", "integer", least=1, most=_MOST_PASSAGES, default=_PASSAGES),
            Argument("retriever", "how to find passages", values=tuple(RETRIEVERS)),
            Argument("per_document", "at most so many of a document; 0: any number", "integer", most=99_999),
        ),
        _search,
        "/api/search",
    ),
    Operation(
        "query",
        "Runs a SPARQL 1.1 query (SELECT, ASK, CONSTRUCT or DESCRIBE) that changes nothing; `schema` lists the terms.",
        (
            Argument("query", "the query; the prefixes of `schema` are known", required=True, most=_LONGEST_QUERY),
            Argument("max_rows", "at most so many rows", "integer", least=1, most=_MOST_ROWS, default=_ROWS),
        ),
        _query,
    ),
    Operation(
        "describe",
        "Tells what the graph says about an entity: names, classes, facts with their passages, and what refers to it.",
        (_named("name", "its name, or its IRI"), _LANGUAGE),
        _describe,
        "/api/describe",
    ),
    Operation(
        "why",
        "Tells why a statement holds: the passages that say it, or the rule and the premises that it follows from.",
        tuple(_named(name, "a name, a name with prefix, or an IRI") for name in ("subject", "predicate", "object")),
        _why,
        "/api/why",
    ),
    Operation(
        "schema",
        "Lists the classes and properties of the graph with labels and numbers, the most used first, and the prefixes.",
        (_LANGUAGE,),
        _schema,
        "/api/schema",
    ),
    Operation(
        "update",
        "Changes the graph by a SPARQL 1.1 update; what it adds counts as stated by a person.",
        (Argument("update", "the update", required=True, most=_LONGEST_QUERY),),
        _update,
        role=Role.WRITE,
    ),
)
OPERATIONS: Final[Mapping[str, Operation]] = {operation.name: operation for operation in _ALL}
"""By name."""


def blueprint(operations: Operations) -> Blueprint:
    """The routes of the operations: by GET with the arguments in the address, by POST as a form or a JSON object."""
    routes = Blueprint("operations", __name__)

    def answered(operation: Operation) -> Response:
        try:
            caller = Caller(client(), tongues(), request.environ.get("waitress.client_disconnected") or (lambda: False))
            return jsonify(operations.call(operation.name, _sent(operation), caller))
        except QueryError as error:
            return query_problem(error)

    for operation in OPERATIONS.values():
        if operation.path:
            routes.add_url_rule(
                operation.path, operation.name, answered, methods=["GET", "POST"], defaults={"operation": operation}
            )
    return routes


def _sent(operation: Operation) -> dict[str, object]:
    """The arguments of the request; others may stand beside them."""
    given: Mapping[str, object] = request.values
    if request.method == "POST" and request.is_json:
        record = request.get_json(silent=True)
        if not isinstance(record, dict):
            raise ProtocolError(400, "Bad request", "the body is no JSON object")
        given = record
    found: dict[str, object] = {}
    for argument in operation.arguments:
        for name in (argument.name, argument.alias):
            if name and name in given:
                found.setdefault(argument.name, given[name])
    return found
