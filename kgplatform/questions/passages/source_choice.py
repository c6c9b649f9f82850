"""Which source answers: in what order graph, passages and web are asked, what counts as an answer, what is combined.

A graph answer comes first, unless its facts change too fast for it to be trusted and something newer can be asked. What
passages say counts only from a level of confidence on; below it the closest sentence is quoted as no more than that,
and where even that is far, neither graph nor passages answer. A source that is down is passed over. Source of the
scheme: Xie et al., WeKnow-RAG, 2024, sections 3.3 and 3.4; there the order follows from the rate of change alone, which
``first = "rate"`` does here too.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Final

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform import lexicon
from kgplatform.errors import ConfigError, KgPlatformError, ModelError
from kgplatform.ontology.schema import Ontology
from kgplatform.questions.answer import UNHELPED, AnswerStage, QuestionParts, tell
from kgplatform.questions.name_index import GraphName, NameIndex
from kgplatform.questions.parser.coordination import NameMention
from kgplatform.questions.parser.mentions import QuestionReading
from kgplatform.questions.passages.cited_answer import written
from kgplatform.questions.passages.extractive import QUOTED, PassageAnswer, answering_model, extracted
from kgplatform.store.dataset import EvidenceDataset
from kgplatform.store.oxigraph import DEFAULT_GRAPH
from kgplatform.text import has_han, normalise
from kgplatform.types import Answer, Choice, Consulted, Evidence, Question, QuestionKind, Solutions, Verdict
from kgplatform.vocab import CORE, OWL, RDF, RDFS, local_name

# What a question is about, how sure that is, and how fast the facts of it change.
# A domain is what ``core:domain`` of a class or ontology says, else the ontology that a term is of. How fast facts
# change says ``core:changeRate`` of a property, class or ontology; the settings may say otherwise by name.


OPEN: Final = "open"
"""The domain of a question that is of none for certain."""
RATES: Final = lexicon.words("source_choice.rates")
"""How fast facts change, the slowest first."""
_DOMAIN, _CHANGES = f"{CORE}domain", f"{CORE}changeRate"


@dataclass(frozen=True, slots=True)
class Domains:
    """What an ontology says of domains and rates of change; ``set_rates`` are those of the settings, by name.

    ``imports``: the domains whose terms a domain uses as its own, for its ontology imports theirs.
    """

    names: Mapping[str, str] = field(default_factory=dict)
    imports: Mapping[str, frozenset[str]] = field(default_factory=dict)
    rates: Mapping[str, str] = field(default_factory=dict)
    set_rates: Mapping[str, str] = field(default_factory=dict)

    def domain(self, iri: NamedNode) -> str:
        """The domain of a term: its own, else that of its ontology; empty where none is known."""
        return self.names.get(iri.value) or self.names.get(_space(iri.value), "")

    def rate(self, iri: NamedNode) -> str:
        """How fast facts of a term change; empty where nothing is said of it."""
        for name in (iri.value, local_name(iri.value), self.domain(iri)):
            if found := self.set_rates.get(normalise(name)):
                return found
        return self.rates.get(iri.value) or self.rates.get(_space(iri.value), "")


@dataclass(frozen=True, slots=True)
class QuestionTopic:
    """What a question is about, with the likelihood (0..1) of that, and how fast facts of it change."""

    domain: str
    certainty: float
    changes: str


def read_domains(triples: Iterable[Triple], changes: Sequence[str] = ()) -> Domains:
    """The domains and rates that an ontology's triples and the settings (``name=rate``) tell.

    Raises:
        ConfigError: a setting is not of that form, or its rate is none.
    """
    names: dict[str, str] = {}
    labels: dict[str, str] = {}
    rates: dict[str, str] = {}
    ontologies: set[str] = set()
    imported: dict[str, set[str]] = defaultdict(set)
    for triple in triples:
        subject, predicate, value = triple.subject, triple.predicate.value, triple.object
        if not isinstance(subject, NamedNode):
            continue
        if predicate == f"{RDF}type" and value == NamedNode(f"{OWL}Ontology"):
            ontologies.add(subject.value)
        if predicate == f"{OWL}imports" and isinstance(value, NamedNode):
            imported[subject.value].add(value.value)
        if isinstance(value, Literal):
            _note(subject.value, predicate, value, names, labels, rates)
    spaces = {iri: _space(f"{iri.rstrip('#/')}{'' if iri.endswith(('#', '/')) else '#'}x") for iri in ontologies}
    for iri in ontologies:
        name = names.get(iri) or labels.get(iri) or local_name(iri.rstrip("#/"))
        for space in {spaces[iri], iri, f"{iri.rstrip('#/')}/"}:
            names.setdefault(space, name)
            if iri in rates:
                rates.setdefault(space, rates[iri])
    uses = {names[iri]: frozenset(names[other] for other in found if other in names) for iri, found in imported.items()}
    return Domains(names, uses, rates, _set(changes))


def _note(
    iri: str, predicate: str, value: Literal, names: dict[str, str], labels: dict[str, str], rates: dict[str, str]
) -> None:
    plain = value.language in (None, "en")
    if predicate == _DOMAIN and (plain or iri not in names):
        names[iri] = value.value
    elif predicate == f"{RDFS}label" and (plain or iri not in labels):
        labels[iri] = value.value
    elif predicate == _CHANGES and value.value in RATES:
        rates[iri] = value.value


def _set(changes: Sequence[str]) -> dict[str, str]:
    found = {}
    for item in changes:
        name, equals, rate = (part.strip() for part in item.rpartition("="))
        if not equals or not name or rate not in RATES:
            raise ConfigError(
                f"questions.changes holds {item!r}; write NAME=RATE, where RATE is {', '.join(RATES)}",
                setting="questions.changes",
            )
        found[normalise(name)] = rate
    return found


def _space(iri: str) -> str:
    """The namespace of a term."""
    return iri[: max(iri.rfind("#"), iri.rfind("/")) + 1]


def topic(reading: QuestionReading, names: NameIndex, domains: Domains, *, least: float = 0.9) -> QuestionTopic:
    """What the question is about: the domain that most of its content words are of, if they are enough."""
    shares: dict[str, float] = defaultdict(float)
    rates: dict[str, list[str]] = defaultdict(list)
    covered: set[int] = set()
    for mention in reading.mentions:
        weight = sum(reading.weights[mention.first : mention.last]) or 0.5
        covered |= set(range(mention.first, mention.last))
        for share, term in _terms(mention.options[0].names if mention.options else (), names):
            domain = domains.domain(term)
            shares[domain] += weight * share
            rates[domain].append(domains.rate(term))
    rest = sum(w for i, w in enumerate(reading.weights) if i not in covered and i not in reading.cues.used)
    total = sum(shares.values()) + rest
    shares.pop("", None)
    with_uses = {
        name: shares[name] + sum(shares.get(used, 0.0) for used in domains.imports.get(name, ())) for name in shares
    }
    best = max(shares, key=lambda name: (round(with_uses[name], 6), shares[name], name), default="")
    certainty = round(with_uses[best] / total, 3) if best and total else 0.0
    if certainty < least:
        return QuestionTopic(OPEN, certainty, domains.set_rates.get(OPEN, "static"))
    known = [rate for rate in rates[best] if rate]
    return QuestionTopic(best, certainty, max(known, key=RATES.index, default="static"))


def _terms(found: Sequence[GraphName], names: NameIndex) -> list[tuple[float, NamedNode]]:
    """The terms of the ontology that a mention leads to, with their shares: a thing counts as its classes."""
    terms: list[NamedNode] = []
    for name in found[:3]:
        if name.predicate is not None:
            terms.append(name.predicate)
        elif name.kind in ("class", "property") and isinstance(name.term, NamedNode):
            terms.append(name.term)
        else:
            terms.extend(names.types(name.term)[:2])
    unique = list(dict.fromkeys(terms))
    return [(1.0 / len(unique), term) for term in unique]


# Why a source was asked first or chosen, in the language of the question.

_RATES: Final = {
    "static": ("never change", "不变"),
    "slow": ("rarely change", "很少变化"),
    "fast": ("change often", "经常变化"),
    "real-time": ("change all the time", "实时变化"),
}
_REASONS: Final = {
    "forced": ("--using {source}", "--using {source}"),
    "changes": ("these facts {rate}", "这些事实{rate}"),
    "no-rate": ("nothing known of change", "不知道所问的事实变化有多快"),
    "live": ("a live source is asked first", "先查询实时来源"),
    "stale": ("what the graph rests on is old, so a live source is asked first", "图谱的依据较旧，先查询实时来源"),
    "age": ("the graph's evidence is {days:.0f} days old", "图谱的依据是{days:.0f}天前的"),
    "contradicted": ("the graph contradicts the premise", "图谱与问题的前提相矛盾"),
    "not-held": ("the premise is not held", "图谱中没有问题的前提"),
    "none": ("no source gives an answer of {least} confidence", "没有来源能以足够的把握（{least}）回答"),
    "both": ("graph and passages both have evidence", "图谱和段落都有依据"),
}


def reason(question: str, name: str, **values: object) -> str:
    """The reason of that name in the question's language, with its values put in."""
    at = int(has_han(question))
    if (rate := values.get("rate")) in _RATES:
        values["rate"] = _RATES[str(rate)][at]
    return _REASONS[name][at].format(**values)


# What a question takes for granted and the graph says otherwise: a relation that does not hold, a class not its own.
#
# Only what the question presupposes counts ("When did X cite Y?"), not what it asks ("Did X cite Y?"), and only
# where the
# graph does say something of the kind: X cites others, Y is of another class.

_THE = lexicon.pattern("source_choice.the")
_WITH_THE = lexicon.pattern("source_choice.with_the")
_JOINT = re.compile(r"\s*[“\"「『《(]?\s*")
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class FalsePremise:
    """What a question wrongly takes for granted, in words; ``contradicted``: the graph rules it out."""

    text: str
    contradicted: bool


def false_premise(
    reading: QuestionReading, names: NameIndex, dataset: EvidenceDataset, ontology: Ontology
) -> FalsePremise | None:
    """The first thing that the question takes for granted and the graph says otherwise of, if there is one."""
    language = "zh" if reading.language == "zh" else "en"
    graph = _Graph(names, dataset, ontology, language)
    return graph.wrong_class(reading) or graph.wrong_relation(reading)


def _of_kind(mention: NameMention, kind: str) -> list[NamedNode]:
    """The terms of one kind that a mention may name, where it names these first."""
    option = next(iter(mention.options), None)
    if option is None or option.kind != kind:
        return []
    return [name.term for name in option.names if isinstance(name.term, NamedNode)]


def _adjoins(reading: QuestionReading, before: NameMention, after: NameMention) -> bool:
    """Whether two mentions stand side by side, in English as "the CLASS NAME"."""
    start, end = reading.tokens[before.first].start, reading.tokens[before.last - 1].end
    following = reading.tokens[after.first].start
    if before.last != after.first or not _JOINT.fullmatch(reading.text[end:following]):
        return False
    said = reading.text[start:end]
    return (
        reading.language == "zh" or _THE.search(reading.text[:start]) is not None or _WITH_THE.match(said) is not None
    )


@dataclass(frozen=True, slots=True)
class _Way:
    """A statement that a question may take for granted."""

    one: NamedNode
    relation: NamedNode
    other: NamedNode


@dataclass(frozen=True, slots=True)
class _Graph:
    """What the graph says of the things in a question."""

    names: NameIndex
    dataset: EvidenceDataset
    ontology: Ontology
    language: str

    def _label(self, term: NamedNode) -> str:
        return self.names.label(term, self.language)

    def wrong_class(self, reading: QuestionReading) -> FalsePremise | None:
        """A class word right before a name ("the hotel Xizha", 酒店西栅) whose things are of other classes."""
        for before, after in zip(reading.mentions, reading.mentions[1:], strict=False):
            classes, things = _of_kind(before, "class"), _of_kind(after, "entity")
            if not classes or not things or not _adjoins(reading, before, after):
                continue
            known = [types for thing in things if (types := self.names.types(thing))]
            if known and not any(self.ontology.fits(t, [c]) for types in known for t in types for c in classes):
                return self._of_other_class(things[0], classes[0], known[0])
        return None

    def _of_other_class(self, thing: NamedNode, class_: NamedNode, own: tuple[NamedNode, ...]) -> FalsePremise:
        label, schema = self._label(thing), self.names.schema
        said, truly = (schema.label(iri, self.language) for iri in (class_, own[0]))
        text = f"The question takes {label} for a {said}; in the graph it is a {truly}."
        if self.language == "zh":
            text = f"问题以“{label}是{said}”为前提，而图谱中它是{truly}。"
        return FalsePremise(text, any(self.ontology.disjoint(t, class_) for t in own))

    def wrong_relation(self, reading: QuestionReading) -> FalsePremise | None:
        """A relation between two things that are named, which the graph holds of one, but not with the other."""
        if not lexicon.pattern("source_choice.presupposing").search(reading.text):
            return None
        things = [found for mention in reading.mentions if (found := _of_kind(mention, "entity"))]
        relations = [p for mention in reading.mentions for p in _of_kind(mention, "property")]
        if len(things) != 2 or not relations:
            return None
        ways = [
            _Way(one, relation, other)
            for subjects, objects in permutations(things, 2)
            for relation in relations
            for one in subjects
            for other in objects
            if self._may_hold(one, relation, other)
        ]
        if any(self._holds(way) for way in ways):
            return None
        return next((denied for way in ways if (denied := self._denied(way)) is not None), None)

    def _may_hold(self, one: NamedNode, relation: NamedNode, other: NamedNode) -> bool:
        """Whether things of these classes can be so related."""
        term = self.ontology.properties.get(relation)
        if term is None or not term.is_object:
            return False
        return all(
            not wanted or any(self.ontology.fits(t, wanted) for t in self.names.types(thing))
            for thing, wanted in ((one, term.domains), (other, term.ranges))
        )

    def _holds(self, way: _Way) -> bool:
        """Whether the graph holds a statement, or the same said the other way round."""
        store = self.dataset.store
        inverse = self.ontology.properties[way.relation].inverse
        turned = inverse is not None and store.has(Triple(way.other, inverse, way.one))
        return turned or store.has(Triple(way.one, way.relation, way.other))

    def _denied(self, way: _Way) -> FalsePremise | None:
        """What the graph says instead, where it says anything of the kind."""
        quads = self.dataset.store.quads(way.one, way.relation, graph=DEFAULT_GRAPH)
        others = {self._label(quad.object) for quad in quads if isinstance(quad.object, NamedNode)}
        if not others:
            return None
        subject, object_ = self._label(way.one), self._label(way.other)
        said = self.names.schema.label(way.relation, self.language)
        listed, more = sorted(others, key=normalise), len(others) > _SHOWN
        if self.language == "zh":
            shown = "、".join(listed[:_SHOWN]) + ("等" if more else "")
            text = f"问题以“{subject} {said} {object_}”为前提，而图谱中没有这一陈述；图谱中为：{shown}。"
        else:
            shown = ", ".join(listed[:_SHOWN]) + (" and others" if more else "")
            text = f"The question takes “{subject} {said} {object_}” for granted; the graph holds only: {shown}."
        return FalsePremise(text, self.ontology.properties[way.relation].functional)


# Answers put together: from passages alone, from graph and passages, with a premise that does not hold, or none.

_MARK = re.compile(r"\[(\d+)\]")
_SAME: Final = 0.1
_MOST: Final = 0.95
_UNKNOWN: Final = lexicon.phrases("source_choice_unknown")


def _language(text: str) -> str:
    return "zh" if has_han(text) else "en"


def from_source(said: PassageAnswer, source: str, found: Answer, *, words: str = "") -> Answer:
    """What passages say as the answer; what was linked and the trace so far are those of ``found``.

    A sentence that is quoted is introduced by the phrase named ``words``, else by that of its source.
    """
    text = said.text
    if said.by == "built-in":
        quote = " ".join(said.evidence[0].quote.split())
        text = _UNKNOWN[_language(found.question.text)][words or f"quoted_{source}"].format(text=f"“{quote}” [1]")
    return replace(
        found,
        text=text,
        question=replace(found.question, kind=QuestionKind.PASSAGE),
        verdict=Verdict.ANSWERED,
        confidence=said.confidence,
        using=source,
        query=None,
        solutions=Solutions(),
        values=said.values,
        evidence=said.evidence,
        row_evidence=(),
        clarification=None,
        model=None if said.by == "built-in" else said.by,
    )


def closest(said: PassageAnswer, source: str, found: Answer, *, words: str = "") -> Answer | None:
    """The sentence quoted as the closest, without its being an answer; None where it is too far from one."""
    if not said.text or said.confidence < QUOTED:
        return None
    return replace(from_source(said, source, found, words=words), verdict=Verdict.UNANSWERABLE, values=())


def combined(found: Answer, said: PassageAnswer) -> Answer:
    """The graph's answer with passages: they make it surer where they say the same, else their words stand beside."""
    evidence = (*found.evidence, *(item for item in said.evidence if item not in found.evidence))
    plain = normalise(said.text)
    if found.values and all(normalise(value) in plain for value in found.values):
        confidence = round(min(_MOST, max(found.confidence, said.confidence) + _SAME), 3)
        return replace(found, evidence=evidence, confidence=confidence, using="sparql+passages")
    places = [evidence.index(item) + 1 for item in said.evidence]
    text = _MARK.sub(lambda match: f"[{places[int(match[1]) - 1]}]", said.text)
    also = _UNKNOWN[_language(found.question.text)]["also"].format(text=text)
    return replace(found, text=f"{found.text} {also}", evidence=evidence, using="sparql+passages")


def unknown(question: str, source: str, consulted: Consulted) -> Answer:
    """The answer where the one source asked gives none."""
    language = _language(question)
    words = _UNKNOWN[language]
    text = words.get(source, words["passages"])
    if consulted.outcome == "down":
        text = words["down"].format(source=source, note=consulted.note)
    elif consulted.note and source == "web":
        text = words["off"]
    return Answer(
        text=text,
        question=Question(question, language, QuestionKind.PASSAGE),
        verdict=Verdict.UNANSWERABLE,
        confidence=round(min(consulted.confidence, 0.3), 3),
        using=source,
    )


GRAPH, PASSAGES, WEB = "graph", "passages", "web"
_UNSURE: Final = 0.6
"""A graph answer that is less sure is compared with what passages say."""
_SURE: Final = 0.75
_MARKED: Final = 0.3
"""A sentence that is so likely the answer is marked in its passage where none is quoted: about half of those below
`QUOTED` are (docs/results.md)."""

Find = Callable[[str, int], list[Evidence]]


@dataclass(frozen=True, slots=True)
class SourceRules:
    """How sources are chosen.

    ``least``: the level of confidence that passages need; ``certainty``: from which on a domain counts; ``fresh_days``:
    how old the evidence of slowly changing facts may be, a tenth of it for fast ones; ``first``: ``graph``, or ``rate``
    for the order that the rate of change gives; ``forced``: the one source to ask; ``passages``: how many are read.
    """

    least: str = "high"
    certainty: float = 0.9
    fresh_days: float = 90.0
    first: str = GRAPH
    passages: int = 8
    forced: str = ""
    now: str = ""


@dataclass(frozen=True, slots=True)
class OtherSources:
    """What there is to ask besides the graph; ``age_days`` tells how old a piece of evidence is, if that is known."""

    passages: Find | None = None
    web: Find | None = None
    age_days: Callable[[Evidence], float | None] = lambda _evidence: None
    domains: Domains = field(default_factory=Domains)
    rules: SourceRules = field(default_factory=SourceRules)


def decide(question: str, found: Answer, parts: QuestionParts, beside: OtherSources) -> Answer:
    """The answer from the source, or sources, that can give one; ``found`` is the graph's."""
    return _Deciding(question, parts, beside).chosen(found)


def from_one(question: str, source: str, parts: QuestionParts, beside: OtherSources) -> Answer:
    """The answer that ``passages`` or ``web`` alone give."""
    return _Deciding(question, parts, beside).only(source)


def from_passages(question: str, passages: Sequence[Evidence], parts: QuestionParts, *, now: str = "") -> PassageAnswer:
    """What passages say, in the words of the model where there is one, else in their own."""
    notes: tuple[str, ...] = ()
    if parts.model is not None and passages:
        language = "zh" if has_han(question) else "en"
        try:
            return written(question, passages, model=parts.model, language=language, now=now)
        except ModelError as error:
            notes = (f"{UNHELPED} ({error}); the passages are quoted",)
    model = answering_model() if passages and parts.embedder() is not None else None
    answer = extracted(question, passages, model=model)
    return replace(answer, notes=(*notes, *answer.notes))


class _Deciding:
    """One question on its way through the sources."""

    def __init__(self, question: str, parts: QuestionParts, beside: OtherSources) -> None:
        self._question, self._parts, self._beside = question, parts, beside
        self._rules = beside.rules
        self._consulted: list[Consulted] = []
        self._reasons: list[str] = []
        self._notes: list[str] = []
        self._answers: dict[str, PassageAnswer] = {}

    def _because(self, name: str, **values: object) -> None:
        self._reasons.append(reason(self._question, name, **values))

    def only(self, source: str) -> Answer:
        self._because("forced", source=source)
        said = self._asked(source)
        answer = unknown(self._question, source, self._consulted[-1])
        if said.is_enough(self._rules.least):
            answer = from_source(said, source, answer)
        elif (near := closest(said, source, answer)) is not None:
            answer = near
        chosen = source if answer.evidence else "none"
        return self._with_choice(answer, QuestionTopic("", 0.0, ""), (source,), chosen)

    def chosen(self, found: Answer) -> Answer:
        reading = self._parts.knowledge.translator.read(self._question)
        names = self._parts.knowledge.names
        about = topic(reading, names, self._beside.domains, least=self._rules.certainty)
        answered = found.verdict is Verdict.ANSWERED
        outcome = "answered" if answered else "unsure" if found.verdict is Verdict.UNCLEAR else "nothing"
        self._consulted.append(Consulted(GRAPH, outcome, found.confidence))
        if found.verdict is Verdict.UNCLEAR or self._rules.forced == GRAPH:
            return self._with_choice(found, about, (GRAPH,), GRAPH)
        premise = None
        if not answered or found.confidence < _SURE:
            premise = false_premise(reading, names, self._parts.dataset, self._parts.ontology)
        order = self._order(about, found)
        if premise is not None:
            return self._denied(found, premise, about, order)
        return self._by_order(found, about, order)

    def _denied(self, found: Answer, premise: FalsePremise, about: QuestionTopic, order: tuple[str, ...]) -> Answer:
        self._because("contradicted" if premise.contradicted else "not-held")
        answer = replace(found, text=f"{premise.text} {found.text}".strip())
        chosen = GRAPH if found.verdict is Verdict.ANSWERED else "none"
        return self._with_choice(answer, about, order, chosen, premise.text)

    # in what order

    def _order(self, about: QuestionTopic, found: Answer) -> tuple[str, ...]:
        order = self._wanted_order(about, stale=self._is_stale(about, found))
        there = {GRAPH: True, PASSAGES: self._beside.passages is not None, WEB: self._beside.web is not None}
        return tuple(source for source in order if there[source])

    def _wanted_order(self, about: QuestionTopic, *, stale: bool) -> tuple[str, ...]:
        self._because("changes" if about.changes else "no-rate", rate=about.changes)
        if about.changes == "real-time" and self._beside.web is not None:
            self._because("live")
            return WEB, GRAPH, PASSAGES
        if stale and self._beside.web is not None:
            self._because("stale")
            return WEB, GRAPH, PASSAGES
        if about.changes == "fast" and self._rules.first == "rate":
            return PASSAGES, GRAPH, WEB
        return GRAPH, PASSAGES, WEB

    def _is_stale(self, about: QuestionTopic, found: Answer) -> bool:
        """Whether the youngest evidence of the graph's answer is older than facts of this rate may be."""
        if about.changes in ("", "static") or found.verdict is not Verdict.ANSWERED:
            return False
        ages = [age for item in found.evidence if (age := self._beside.age_days(item)) is not None]
        limit = self._rules.fresh_days * {"slow": 1.0, "fast": 0.1}.get(about.changes, 0.0)
        if not ages or min(ages) <= limit:
            return False
        self._because("age", days=min(ages))
        return True

    # one after the other

    def _by_order(self, found: Answer, about: QuestionTopic, order: tuple[str, ...]) -> Answer:
        for source in order:
            if source == GRAPH:
                if found.verdict is Verdict.ANSWERED:
                    return self._from_graph(found, about, order)
                continue
            said = self._asked(source)
            if said.is_enough(self._rules.least):
                words = "closest" if source == PASSAGES else ""
                return self._with_choice(from_source(said, source, found, words=words), about, order, source)
        self._because("none", least=self._rules.least)
        if (said_ := self._answers.get(PASSAGES)) is None:
            return self._with_choice(found, about, order, "none")
        if (near := closest(said_, PASSAGES, found, words="closest")) is not None:
            return self._with_choice(near, about, order, PASSAGES)
        text = _UNKNOWN[_language(found.question.text)]["neither"].format(text=found.text)
        first = said_.evidence[:1] if said_.confidence >= _MARKED else ()
        related = (*first, *(item for item in found.evidence if item.chunk not in {one.chunk for one in first}))
        return self._with_choice(replace(found, text=text, evidence=related), about, order, "none")

    def _from_graph(self, found: Answer, about: QuestionTopic, order: tuple[str, ...]) -> Answer:
        """The graph's answer; one that is not sure is put beside what passages say."""
        if found.confidence >= _UNSURE or PASSAGES not in order:
            return self._with_choice(found, about, order, GRAPH)
        said = self._asked(PASSAGES)
        if not said.is_enough(self._rules.least):
            return self._with_choice(found, about, order, GRAPH)
        self._because("both")
        return self._with_choice(combined(found, said), about, order, f"{GRAPH}+{PASSAGES}")

    def _asked(self, source: str) -> PassageAnswer:
        """What a source says; nothing where it is down."""
        if source in self._answers:
            return self._answers[source]
        tell(AnswerStage.SOURCE, source)
        find = self._beside.passages if source == PASSAGES else self._beside.web
        try:
            passages = find(self._question, self._rules.passages) if find else []
            said = from_passages(self._question, passages, self._parts, now=self._rules.now)
        except KgPlatformError as error:
            self._consulted.append(Consulted(source, "down", 0.0, str(error)[:300]))
            self._notes.append(f"{source} could not be asked: {str(error)[:300]}")
            said = PassageAnswer()
        else:
            outcome = "answered" if said.is_enough(self._rules.least) else "unsure" if said.text else "nothing"
            note = "" if find else "not set up"
            self._consulted.append(Consulted(source, outcome, said.confidence, note))
            self._notes += [f"{source}: {note}" for note in said.notes]
        self._answers[source] = said
        return said

    def _with_choice(
        self, answer: Answer, about: QuestionTopic, order: tuple[str, ...], chosen: str, premise: str = ""
    ) -> Answer:
        choice = Choice(
            domain=about.domain,
            certainty=about.certainty,
            changes=about.changes,
            order=order,
            chosen=chosen,
            consulted=tuple(self._consulted),
            reasons=tuple(self._reasons),
            premise=premise,
        )
        usage = answer.usage
        for said in self._answers.values():
            usage += said.usage
        lines = [*self._notes, f"answered by {chosen}; asked in this order: {', '.join(order)}"]
        lines += [f"because: {why}" for why in self._reasons]
        return replace(answer, choice=choice, usage=usage, trace=(*answer.trace, *lines))
