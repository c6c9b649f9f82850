"""What a graph says of one thing, where a question asks to be told of it: "tell me about X", 介绍一下X, "what is X".

And what a word of its ontology means: "what is a X", 什么是X.
"""

# ruff: noqa: E501
from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pyoxigraph import Literal, NamedNode

from kgplatform.ontology import Word
from kgplatform.questions.mentions import Reading, read
from kgplatform.questions.names import NameIndex
from kgplatform.questions.schema import THING
from kgplatform.questions.synthesis import written
from kgplatform.types import Answer, Clarification, Evidence, Query, Question, Solutions, Verdict
from kgplatform.vocab import COMMENT, DCTERMS, SCHEMA, SKOS, TYPE

_ABOUT = re.compile(
    r"^\W*(?:tell (?:me|us)\s+(?:(?:something|more|a bit(?: more)?|everything|a little)\s+)?about|about|describe|introduce"
    r"|what (?:can you tell me|do you know|is known|does the graph (?:say|know)) (?:about|of)"
    r"|(?:(?:give|show) me\s+)?(?:(?:any|some|more)\s+)?(?:info|information|details|facts) (?:on|about|for)"
    r"|(?:who|what) (?:is|was|are|were)|(?:who|what)['’]s)\s+(?P<name>[^?？]+?)\W*$"
    r"|^\W*(?:请|麻烦)?[你您]?(?:给我|跟我|向我|帮我|为我)?(?:介绍|讲讲|说说|谈谈|聊聊|讲一讲|说一说|描述|讲述)(?:一下|下)?(?:关于)?(?P<han>[^?？]+?)(?:的(?:基本)?(?:情况|信息|资料))?[吧吗呢]?\W*$"
    r"|^\W*(?P<what>[^?？]+?)(?:是(?:一?[个座位家])?(?:什么|啥|谁|何人|何物)(?:东西|地方|人)?[呢啊]?)\W*$",
    re.IGNORECASE,
)
_MEANT = re.compile(
    r"^\W*(?:what(?:['’]s| is| are) (?:meant by|an?|the meaning of)|what does|define|explain)\s+(?:an?\s+|the (?:word|term)\s+)?['\"“‘]?(?P<name>[^?？]+?)['\"”’]?(?:\s+(?:mean|stand for)s?)?\W*$"
    r"|^\W*(?:什么是|什么叫|何谓|解释一?下?)(?P<han>[^?？]+?)\W*$|^\W*(?P<what>[^?？]+?)(?:是什么意思|指(?:的是)?什么|是指什么|的(?:含义|定义)(?:是什么)?)\W*$",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"^\W*(?:the|an?)\s+", re.IGNORECASE)
_DESCRIBING = (
    NamedNode(f"{DCTERMS}description"), NamedNode(f"{SCHEMA}description"), NamedNode(f"{DCTERMS}abstract"),
    NamedNode(f"{SKOS}definition"), COMMENT,
)  # fmt: skip
_SURE, _UNSURE = 0.9, 0.45
_MOST_ROWS = 300
_MOST_FACTS, _MOST_VALUES = 10, 5


@dataclass(frozen=True, slots=True)
class Subject:
    """What a question asks to be told of: things that bear one name, or a term of the ontology (``meant``)."""

    terms: tuple[NamedNode, ...]
    meant: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """What is said of it: the sentence, its descriptions or else its facts as values, and the query they come from."""

    text: str
    values: tuple[str, ...]
    query: str
    solutions: Solutions


def subject_of(text: str, names: NameIndex) -> Subject | None:
    """What the question asks to be told of, if it asks nothing else and the graph has it; else None."""
    meaning = _MEANT.match(text)
    if meaning is not None and (terms := _whole(_name(meaning), names, ("class", "property"))):
        return Subject(terms[:1], meant=True)
    for match in (_ABOUT.match(text), meaning):
        terms = _whole(_name(match), names, ("entity",)) if match is not None else ()
        if terms:
            return Subject(terms)
    return None


def _name(match: re.Match[str]) -> str:
    return (match["name"] or match["han"] or match["what"]).strip()


def _whole(name: str, names: NameIndex, kinds: Iterable[str]) -> tuple[NamedNode, ...]:
    """What the whole of a text is the name of."""
    reading = read(name, names)
    if len(reading.mentions) != 1 or reading.uncovered() or _says_more(reading):
        return ()
    first, last = reading.mentions[0].first, reading.mentions[0].last
    if _ARTICLE.sub("", reading.text[: reading.tokens[first].start]).strip("\"'“‘《「 ") or last != len(reading.tokens):
        return ()
    option = reading.mentions[0].options[0]
    if option.kind not in kinds or option.score < _SURE or option.apart:
        return ()
    return tuple(n.term for n in option.names if isinstance(n.term, NamedNode) and n.score >= option.score - 0.05)


def _says_more(reading: Reading) -> bool:
    """Whether there is a most, a number or a comparison beside the name."""
    cues = reading.cues
    return bool(cues.superlatives or cues.amounts or cues.aggregate or cues.counting is not None)


def meaning(term: NamedNode, names: NameIndex, language: str) -> str:
    """What the ontology's comment says that a class or property is; empty where there is none."""
    found = names.schema.classes.get(term) or names.schema.properties.get(term)
    comments = found.comments if found else ()
    own = [item.text for item in comments if item.language == language] or [item.text for item in comments]
    if not own:
        return ""
    return f"{names.schema.label(term, language)}{'：' if language == 'zh' else ': '}{own[0]}"


def told(thing: NamedNode, names: NameIndex, language: str, run: Callable[[str], Solutions]) -> Told | None:
    """What the graph says of a thing: its classes, its descriptions and facts; None where it says nothing.

    Raises QueryError as ``run`` does.
    """
    query = f"SELECT ?property ?value WHERE {{ {thing} ?property ?value }} LIMIT {_MOST_ROWS}"
    solutions = run(query)
    pairs = [(p, v) for p, v in (row[:2] for row in solutions.rows) if isinstance(p, NamedNode) and v is not None]
    described = _described([v for p, v in pairs if p in _DESCRIBING and isinstance(v, Literal)], language)
    facts: dict[NamedNode, list[str]] = {}
    for predicate, value in pairs:
        if predicate in names.schema.properties and predicate not in _DESCRIBING:
            listed = facts.setdefault(predicate, [])
            unit = names.schema.unit(predicate, language)
            label = written(names.label(value, language), value, unit, language)
            listed += [label] if label and label not in listed else []
    if not described and not facts:
        return None
    chinese = language == "zh"
    classes = [
        v for p, v in pairs if p == TYPE and isinstance(v, NamedNode) and v in names.schema.classes and v != THING
    ]
    narrow = [v for v in classes if not any(o != v and o in names.schema.subclasses(v) for o in classes)]
    kinds = [names.schema.label(v, language) for v in narrow]
    lines = [_line(names, p, facts[p], language) for p in sorted(facts, key=lambda p: p.value)[:_MOST_FACTS]]
    joint, comma, stop = ("：", "、", "。") if chinese else (": ", ", ", ". ")
    label = names.full_label(thing, language)
    head = f"{label}{joint}{comma.join(dict.fromkeys(kinds))}" if kinds else label
    said = [head, *(text.rstrip("。. ") for text in described), ("；" if chinese else "; ").join(lines)]
    values = described or tuple(dict.fromkeys(v for p in facts for v in facts[p]))
    return Told((stop.join(part for part in said if part) + stop).strip(), values, query, solutions)


def as_answer(
    found: Told, question: Question, evidence: tuple[Evidence, ...], clarification: Clarification | None
) -> Answer:
    """The answer; a question back before it where others have the same name."""
    asks = f"{clarification.question} " if clarification else ""
    return Answer(
        text=f"{asks}{found.text}",
        question=question,
        verdict=Verdict.UNCLEAR if clarification else Verdict.ANSWERED,
        confidence=_UNSURE if clarification else _SURE,
        using="sparql",
        query=Query(found.query, question.text) if found.query else None,
        solutions=found.solutions,
        values=found.values,
        evidence=evidence,
        clarification=clarification,
    )


def _described(found: list[Literal], language: str) -> tuple[str, ...]:
    """The descriptions in the language, or all where there is none in it."""
    words = [Word(item.value, item.language or "") for item in found]
    own = [word.text for word in words if word.language in (language, "")] or [word.text for word in words]
    return tuple(dict.fromkeys(own))


def _line(names: NameIndex, predicate: NamedNode, values: list[str], language: str) -> str:
    """A property with its values, of many the first few."""
    comma, joint = ("、", "：") if language == "zh" else (", ", ": ")
    shown = comma.join(values[:_MOST_VALUES])
    more = ("等" if language == "zh" else ", …") if len(values) > _MOST_VALUES else ""
    return f"{names.schema.label(predicate, language)}{joint}{shown}{more}"
