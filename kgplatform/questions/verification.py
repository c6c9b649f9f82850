"""What an answer without a model is looked at for once more: opposite words, currencies, ways of a relation, a *no*.

Words that are near to one another in meaning may be opposites (*open*, *closed*), and a ranking that has learnt from
questions with answers takes the other way of a relation where the one that is asked for leads nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from pyoxigraph import NamedNode

from kgplatform.extraction.values import converted, is_currency, values_in
from kgplatform.questions.forms.question_language import languages
from kgplatform.questions.usage import SchemaView
from kgplatform.store.dataset import EvidenceDataset
from kgplatform.types import Answer, Verdict

_TERM = re.compile(r"<([^<>\s]+)>")
_WITH_VALUE = re.compile(r"<([^<>\s]+)>[*+]?\s+(?=(\?\w+|[\"<]|true\b|\d))")
_GIVEN_VALUES = re.compile(r"VALUES (\?\w+)")
_BACKWARD = re.compile(r"\?\w+ <([^<>\s]+)>[*+]? <([^<>\s]+)>")
_DENYING = re.compile(r"NOT EXISTS|MINUS|!=|\bfalse\b")
_NOT_READ = re.compile(r"/graph/(?:table/|asserted\b)")


def answering_query(answer: Answer) -> str:
    """The query of an answer; empty where nothing was answered, or not by a query."""
    return answer.query.text if answer.query is not None and answer.verdict is Verdict.ANSWERED else ""


def denies(query: str) -> bool:
    """Whether a query asks for what is not so."""
    return _DENYING.search(query) is not None


def put_otherwise(text: str, language: str, query: str, schema: SchemaView) -> tuple[str, bool] | None:
    """The question with *not closed* for *open*, and whether its query must deny; None: the query is of what is said.

    ``query`` is what answered it; without one all properties of the graph may be meant. The text is empty where no
    question of the graph's words says the same.
    """
    given = _GIVEN_VALUES.findall(query)
    fixed = [term for term, value in _WITH_VALUE.findall(query) if not value.startswith("?") or value in given]
    told = (fixed, _TERM.findall(query)) if query else ([term.value for term in schema.properties], [])
    found = languages()[language].opposed(text, *(" | ".join(_labels(terms, schema)) for terms in told))
    return None if found is None or (found[0] and query and found[1] == denies(query)) else found


def _labels(terms: Iterable[str], schema: SchemaView) -> list[str]:
    found = (schema.properties.get(NamedNode(term)) for term in terms)
    return [word.text for term in found if term is not None for word in term.words]


def other_currency(answer: Answer, schema: SchemaView) -> tuple[str, str] | None:
    """The currency of the values that its query is about and that of the amounts in the question, if they differ."""
    text, query = answer.question.text, answering_query(answer)
    for name in (item.text for item in answer.question.linked):
        text = text.replace(name, " ")  # 三元宫 is no three yuan
    terms = (schema.properties.get(NamedNode(iri)) for iri in _TERM.findall(query))
    own = [term.unit for term in terms if term is not None and is_currency(term.unit)]
    asked = [value.unit for value in values_in(text) if value.kind == "money"]
    if not own or not asked or any(converted("1", one, unit) for one in asked for unit in own):
        return None
    return own[0], asked[0]


def is_turned_round(answer: Answer, schema: SchemaView) -> bool:
    """Whether a relation between things of one kind is gone in the way that the question does not say."""
    asked = answer.question
    for term, thing in _BACKWARD.findall(answering_query(answer)):
        relation, names = NamedNode(term), {item.text for item in asked.linked if item.iri.value == thing}
        if {*schema.domains(relation)}.isdisjoint(schema.ranges(relation)):
            continue
        labels, language = _labels([term], schema), languages()[asked.language]
        if any(language.is_outward(asked.text, name, labels) for name in names):
            return True
    return False


def is_only_read(answer: Answer, dataset: EvidenceDataset) -> bool:
    """Whether all that is known of a thing of the query was read in texts, which do not say all that is so."""
    known = (dataset.store.quads(NamedNode(iri)) for iri in _TERM.findall(answering_query(answer)))
    graphs = ([str(quad.graph_name) for quad in quads] for quads in known)
    return any(any("/chunk/" in graph for graph in held) and not any(map(_NOT_READ.search, held)) for held in graphs)
