"""Yes-or-no properties as conditions: "injured players", "who doesn't smoke", 不寄宿的学校."""

from __future__ import annotations

import re
from dataclasses import replace

from pyoxigraph import Literal, NamedNode

from kgplatform.questions.graphs import QueryGraph
from kgplatform.questions.mentions import Reading
from kgplatform.questions.schema import SchemaView
from kgplatform.questions.work import Work, predicate_of
from kgplatform.vocab import XSD

_BOOLEAN = NamedNode(f"{XSD}boolean")
TRUE, FALSE = (Literal(value, datatype=_BOOLEAN) for value in ("true", "false"))
_DENIED = re.compile(
    r"\b(?:not|no|never|non|without|\w+n['’]t)\b\W*(?:[a-z]+\W+){0,2}$|(?:不(?:能|可以?|会|是|用|需要?)?|非|没有?|未|无(?:需|须)?)$",
    re.IGNORECASE,
)


def decided(work: Work, reading: Reading, schema: SchemaView) -> Work:
    """The draft with the value of each yes-or-no property that the question says things to have or not to have."""
    graph = work.graph
    for index, node in enumerate(graph.nodes):
        if not node.literal or node.terms or not is_truth(graph, index, schema):
            continue
        subject = graph.nodes[next(link.subject for link in graph.links if link.object == index)]
        if subject.terms and not reading.cues.boolean:
            continue  # "is it known whether": the value is what is asked for
        value = FALSE if _denied(reading, node.place) and not reading.cues.boolean else TRUE
        nodes = (*graph.nodes[:index], replace(node, terms=(value,)), *graph.nodes[index + 1 :])
        graph = replace(graph, nodes=nodes)
    return replace(work, graph=graph)


def is_truth(graph: QueryGraph, leaf: int, schema: SchemaView) -> bool:
    """Whether a literal node is a yes or no."""
    term = schema.properties.get(predicate_of(graph, leaf))
    return term is not None and bool(term.datatypes) and all(d == _BOOLEAN for d in term.datatypes)


def denies(graph: QueryGraph) -> bool:
    """Whether a condition says no already, so that the word for it denies nothing else."""
    return any(node.terms == (FALSE,) for node in graph.nodes)


def _denied(reading: Reading, place: int) -> bool:
    if not 0 <= place < len(reading.mentions):
        return False
    start = reading.tokens[reading.mentions[place].first].start
    before = reading.mentions[place - 1].last - 1 if place else -1
    since = reading.tokens[before].end if before >= 0 else 0
    return _DENIED.search(reading.text[since:start]) is not None
