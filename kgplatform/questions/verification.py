"""What an answer without a model is looked at for once more: opposite words, currencies, ways of a relation, a *no*.

Words that are near to one another in meaning may be opposites (*open*, *closed*), and a ranking that has learnt from
questions with answers takes the other way of a relation where the one that is asked for leads nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from pyoxigraph import Literal, NamedNode

from kgplatform.extraction.values import converted, is_currency, values_in
from kgplatform.questions.forms.question_language import languages
from kgplatform.questions.parser.vocabulary import parts
from kgplatform.questions.usage import SchemaView
from kgplatform.store.dataset import EvidenceDataset
from kgplatform.types import Answer, Verdict
from kgplatform.vocab import OWL, TYPE, XSD_DATE, XSD_DATETIME, XSD_DECIMAL, XSD_DOUBLE, XSD_GYEAR, XSD_INTEGER

_TERM = re.compile(r"<([^<>\s]+)>")
_WITH_VALUE = re.compile(r"<([^<>\s]+)>[*+]?\s+(?=(\?\w+|[\"<]|true\b|\d))")
_GIVEN_VALUES = re.compile(r"VALUES (\?\w+)")
_BACKWARD = re.compile(r"\?\w+ <([^<>\s]+)>[*+]? <([^<>\s]+)>")
_TRUTH = re.compile(r"<([^<>\s]+)> <([^<>\s]+)> \"?(?:true|false)\b")
_OF_KIND = re.compile(rf"\?\w+ (?:a|<{re.escape(TYPE.value)}>\S*) <[^<>\s]+> \.")
_FORWARD = re.compile(r"<([^<>\s]+)> <([^<>\s]+)>[*+]? (\?\w+)")
_FUNCTIONAL = NamedNode(f"{OWL}FunctionalProperty")
_AMOUNTS = frozenset((XSD_DATE, XSD_DATETIME, XSD_DECIMAL, XSD_DOUBLE, XSD_GYEAR, XSD_INTEGER))
_THROUGH = re.compile(r"\?\w+ (?:<|a )")
_SHORT = 2
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


def turned(answer: Answer, schema: SchemaView) -> str | None:
    """The query the other way round, if the question asks for what has a thing: *whose teacher is Ann*."""
    query, asked = answering_query(answer), answer.question
    for thing, term, end in _FORWARD.findall(query):
        names = {item.text for item in asked.linked if item.iri.value == thing}
        labels, language = _labels([term], schema), languages()[asked.language]
        if any(language.is_outward(asked.text, name, labels, turned=True) for name in names):
            return query.replace(f"<{thing}> <{term}> {end}", f"{end} <{term}> <{thing}>")
    return None


_CHOOSES: Final = ("or", "who", "which", "most", "least", "more", "less")
_COUNTS: Final = ("count", "amount", "sum", "average", "when")


def _repeats_name(answer: Answer) -> bool:
    """Whether all that is answered is what the question names, apart from longer names; a code may find its thing.

    Of several names one may be chosen: *which is higher, A or B*.
    """
    asked = [item for item in answer.question.linked if item.kind == "entity"]
    rows = answer.solutions.rows if answer.solutions is not None else ()
    text, query = answer.question.text.casefold(), answering_query(answer)
    longer = {
        item.text for item in asked if any(item.text in other.text and item.text != other.text for other in asked)
    }
    said = [item for item in asked if item.label.casefold() in text]
    unused = {item.iri for item in said if item.text not in longer and item.label not in query}
    things = {item.iri for item in said if str(item.iri) in query} | (unused if query else set())
    if not rows or not {row[0] for row in rows if row} <= things:
        return False
    language = languages()[answer.question.language]
    return len({item.text for item in asked}) == 1 or not any(language.has_cue(text, cue) for cue in _CHOOSES)


def _is_no_person(answer: Answer) -> bool:
    """Whether *who* is answered with days, years or numbers."""
    asked, rows = answer.question, answer.solutions.rows if answer.solutions is not None else ()
    language = languages()[asked.language]
    if not language.has_cue(asked.text, "who") or any(language.has_cue(asked.text, cue) for cue in _COUNTS):
        return False
    return bool(rows) and all(isinstance(cell, Literal) and cell.datatype in _AMOUNTS for row in rows for cell in row)


def _is_other_kind(answer: Answer, schema: SchemaView) -> bool:
    """Whether *is X a Y* is answered by anything but whether X is one: by a way through other things."""
    asked, query = answer.question, answering_query(answer)
    found = languages()[asked.language].kind_of(asked.text) if query.lstrip().startswith("ASK") else None
    if found is None:
        return False
    said = parts(found)
    kinds = [iri for iri, class_ in schema.classes.items() if any(parts(word.text) == said for word in class_.words)]
    if not kinds:
        return len(said) <= _SHORT and _THROUGH.search(query) is not None
    return not any(re.search(rf"> (?:a|<{re.escape(TYPE.value)}>\S*) <{re.escape(iri.value)}>", query) for iri in kinds)


def of_deed(answer: Answer, schema: SchemaView, dataset: EvidenceDataset) -> str | None:
    """The query for who did what *who published X* asks, where X has a publisher and another property was asked for.

    None where that one was asked for, or it is not known; empty where the query is more than one property of a thing.
    """
    asked, query, language = answer.question, answering_query(answer), languages()[answer.question.language]
    if not query or not language.has_cue(asked.text, "who"):
        return None
    used = {NamedNode(iri) for iri in _TERM.findall(query)}
    named = [language.does(label) or label for iri in used for label in _labels([iri.value], schema)]
    things = [NamedNode(thing) for thing, _, _ in _FORWARD.findall(query)]
    had = {quad.predicate for thing in things for quad in dataset.store.quads(thing)}
    deeds = {
        deed: term for term in had - used for label in _labels([term.value], schema) if (deed := language.does(label))
    }
    meant = [term for deed, term in deeds.items() if language.says(asked.text, deed)
             and not language.says(" ".join(named), deed)]  # fmt: skip
    if not meant:
        return None
    told = _FORWARD.findall(query)
    is_plain = len(told) == len(meant) == 1 and len(_TERM.findall(query)) == 2
    return query.replace(f"<{told[0][1]}>", str(meant[0])) if is_plain else ""


def _is_turned_round(answer: Answer, schema: SchemaView) -> bool:
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


def _takes_excepted(answer: Answer) -> bool:
    """Whether a question excepts something, and its query nothing."""
    query, asked = answering_query(answer), answer.question
    return bool(query) and not denies(query) and languages()[asked.language].has_cue(asked.text, "except")


def _lacks_truth(answer: Answer, dataset: EvidenceDataset) -> bool:
    """Whether a thing is asked for a yes or no of which nothing is known: neither *true* nor *false*."""
    asked = ((NamedNode(thing), NamedNode(term)) for thing, term in _TRUTH.findall(answering_query(answer)))
    return any(next(iter(dataset.store.quads(thing, term)), None) is None for thing, term in asked)


def of_all(answer: Answer) -> str | None:
    """The query of a yes or no about all of a kind, where one whether there is any was made; empty if there is none.

    That is where more than one thing is said of the kind: it may be part of which are meant (*all inns in Korvik*).
    """
    query, asked = answering_query(answer), answer.question
    told = answer.solutions is not None and answer.solutions.boolean is not None
    if not told or denies(query) or not languages()[asked.language].has_cue(asked.text, "universal"):
        return None
    body = query.partition("{")[2].rpartition("}")[0]
    kind = _OF_KIND.search(body)
    if kind is None and any(item.kind == "entity" and item.iri.value in query for item in asked.linked):
        return None  # of one thing: open all year
    rest = body.replace(kind.group(), "", 1).strip() if kind else ""
    is_one = rest.endswith(" .") and rest.count(" .") == 1 and "{" not in rest
    return f"ASK {{ FILTER NOT EXISTS {{ {kind.group()} FILTER NOT EXISTS {{ {rest} }} }} }}" if kind and is_one else ""


def is_only_read(answer: Answer, dataset: EvidenceDataset) -> bool:
    """Whether all that is known of a thing of the query was read in texts, which do not say all that is so."""
    known = (dataset.store.quads(NamedNode(iri)) for iri in _TERM.findall(answering_query(answer)))
    graphs = ([str(quad.graph_name) for quad in quads] for quads in known)
    return any(any("/chunk/" in graph for graph in held) and not any(map(_NOT_READ.search, held)) for held in graphs)


def is_not_told(answer: Answer, schema: SchemaView, dataset: EvidenceDataset) -> bool:
    """Whether an answer is none: of the wrong end of a relation, the name itself, of what is excepted or unknown.

    Nor is a number for a person, or what joins a thing and a kind for whether it is of that.
    """
    is_none = _takes_excepted(answer) or _repeats_name(answer) or _lacks_truth(answer, dataset) or _is_no_person(answer)
    return is_none or _is_turned_round(answer, schema) or _is_other_kind(answer, schema)


def has_several(answer: Answer, dataset: EvidenceDataset) -> bool:
    """Whether one thing has several values of a property that has one at the most: one of them is not right."""
    told = _FORWARD.findall(answering_query(answer))
    rows = answer.solutions.rows if answer.solutions is not None else ()
    quads = (dataset.store.quads(NamedNode(term), TYPE, _FUNCTIONAL) for _, term, _ in told[:1])
    return len(rows) > 1 and len(told) == 1 and any(next(iter(found), None) is not None for found in quads)
