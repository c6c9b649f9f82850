"""Questions of the four types about documents, made without a model: from statements and the passages they rest on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from kgplatform.evaluation.making.made import Kind, MadeQuestion, Source
from kgplatform.evaluation.making.reverse import kind_of
from kgplatform.types import Evidence


def with_sources(
    questions: Iterable[MadeQuestion], supporting: Callable[[str], Iterable[Evidence]]
) -> Iterator[MadeQuestion]:
    """The reverse-made questions that documents answer, as one of the four types, with their passages.

    ``supporting`` gives the passages of a query's rows. A question over two statements of different passages is
    multi-context; one whose two statements stand in one passage is as simple as any other.
    """
    for question in questions:
        found = tuple(dict.fromkeys(Source(item.source, item.quote) for item in supporting(question.query)))
        if not found:
            continue
        kind = kind_of(question.kind)
        if kind is Kind.MULTI_CONTEXT and len(found) < 2:
            kind = Kind.SIMPLE
        yield replace(question, kind=kind.value, sources=found)
