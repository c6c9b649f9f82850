"""The translator with a model: a schema prompt, linked names and similar solved examples in, one query out."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from kgplatform import prompts, queries
from kgplatform.errors import ModelReplyError
from kgplatform.protocols import ChatModel, Completion
from kgplatform.questions.names import NameIndex
from kgplatform.questions.patterns import patterns_of
from kgplatform.questions.schema import render
from kgplatform.text import language_of, words
from kgplatform.types import Attempt, Linked, Usage
from kgplatform.vocab import OWL, PREFIXES, RDF, RDFS, SKOS

_FENCE = re.compile(r"```[\w-]*[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
_THINKING = re.compile(r"\A.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_START = re.compile(
    r"(?:^|\n)[ \t]*((?:PREFIX|BASE|SELECT|ASK|INSERT|DELETE|LOAD|CLEAR|DROP|CREATE|CONSTRUCT|DESCRIBE|WITH)\b)",
    re.IGNORECASE,
)
_INLINE = re.compile(r"\b(?:SELECT|ASK)\b[^{]*\{", re.IGNORECASE)
_NONE = re.compile(r"NONE\b[:：\s]*(?P<missing>[^\n]*)")
_STANDARD = (OWL, RDF, RDFS, SKOS)
_REPLY_LIMIT = 20_000


@dataclass(frozen=True, slots=True)
class Solved:
    """A question with the query that answers it."""

    question: str
    query: str


@dataclass(frozen=True, slots=True)
class Drafted:
    """A query that a model wrote, and what it cost; ``declined`` says what it found missing, then there is no query."""

    text: str
    usage: Usage
    prompt_sha256: str
    declined: str = ""


@lru_cache(maxsize=1)
def shipped_examples() -> tuple[Solved, ...]:
    """The solved examples of folder ``sparql/examples``."""
    found = (queries.load(name) for name in queries.names() if name.startswith("examples/"))
    return tuple(Solved(item.summary, _bare(item.text)) for item in found)


def _bare(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("#")).strip()


def similar(question: str, examples: Sequence[Solved], names: NameIndex, limit: int) -> list[Solved]:
    """The examples whose questions share most words with this one and whose terms the graph knows."""
    wanted = set(words(question))
    known = {iri.value for iri in (*names.schema.classes, *names.schema.properties)}

    def rank(item: Solved) -> float:
        own = set(words(item.question))
        return len(own & wanted) / (1 + len(own | wanted))

    usable = [item for item in examples if _fits(item.query, known)]
    return sorted(usable, key=lambda item: (-rank(item), item.question))[:limit]


def _fits(query: str, known: set[str]) -> bool:
    read = patterns_of(query, PREFIXES)
    predicates = {i.value for p in read.triples for i in p.predicates if i.kind == "iri"}
    own = {value for value in predicates if not value.startswith(_STANDARD)}
    return bool(own) and own <= known


def draft(
    question: str,
    linked: Sequence[Linked],
    *,
    names: NameIndex,
    model: ChatModel,
    examples: Sequence[Solved],
    schema_tokens: int,
) -> Drafted:
    """A query for the question, as the model writes it; not checked yet.

    Raises:
        ModelError: the model cannot be reached, or its reply holds no query.
    """
    messages, sha256 = prompts.render_messages(
        "translate-question",
        question=question,
        language=language_of(question),
        schema=render(
            names.schema, language=language_of(question), budget_tokens=schema_tokens, focus=_focus(question, linked)
        ),
        linked=list(linked),
        examples=list(examples),
    )
    return _drafted(model.complete(messages), model, sha256)


def _drafted(completion: Completion, model: ChatModel, sha256: str) -> Drafted:
    declined = _NONE.match(_THINKING.sub("", completion.text[:_REPLY_LIMIT], count=1).strip().strip("`").strip())
    if declined:
        return Drafted("", completion.usage, sha256, declined=declined["missing"].strip()[:300] or "what is asked")
    return Drafted(query_in(completion.text, model=model.name), completion.usage, sha256)


def repaired(question: str, attempts: Sequence[Attempt], *, schema: str, model: ChatModel) -> Drafted:
    """Another query, after the checker's issues with the last one were shown to the model.

    Raises:
        ModelError: the model cannot be reached, or its reply holds no query.
    """
    messages, sha256 = prompts.render_messages(
        "repair-query", question=question, schema=schema, query=attempts[-1].query, issues=list(attempts[-1].issues)
    )
    return _drafted(model.complete(messages), model, sha256)


def _focus(question: str, linked: Sequence[Linked]) -> list[str]:
    return [*words(question), *(part for item in linked for part in words(item.label))]


def query_in(reply: str, *, model: str = "") -> str:
    r"""The SPARQL in a model's reply, whatever prose, thinking or fences stand around it.

    >>> query_in("Sure:\n```sparql\nASK { ?s ?p ?o }\n```\nThat is all.")
    'ASK { ?s ?p ?o }'

    Raises:
        ModelReplyError: there is none.
    """
    text = _THINKING.sub("", reply[:_REPLY_LIMIT], count=1)
    for fenced in sorted(_FENCE.findall(text), key=len, reverse=True):
        if _START.search(fenced):
            return str(fenced).strip()
    match = _START.search(text) or _INLINE.search(text)
    if match is None:
        line = text.strip().partition("\n")[0][:80]
        raise ModelReplyError(f"model {model!r} did not reply with a query but with {line!r}", model=model, reply=reply)
    start = match.start(1) if match.re is _START else match.start()
    return _without_prose(text[start:])


def _without_prose(text: str) -> str:
    """The text up to where the braces close, with the solution modifiers after them."""
    depth = 0
    for place, character in enumerate(text):
        depth += (character == "{") - (character == "}")
        if character == "}" and depth == 0:
            rest = text[place + 1 :]
            kept = re.match(
                r"(?:\s*(?:(?:GROUP\s+BY|ORDER\s+BY|HAVING)[^\n]*|(?:LIMIT|OFFSET)\s+\d+|UNION\b.*))*",
                rest,
                re.IGNORECASE,
            )
            return (text[: place + 1] + (kept.group() if kept else "")).strip()
    return text.strip()
