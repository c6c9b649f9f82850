"""Which source answers: in what order graph, passages and web are asked, what counts as an answer, what is combined.

A graph answer comes first, unless its facts change too fast for it to be trusted and something newer can be asked. What
passages say counts only from a level of confidence on; else the answer is that the graph does not say. A source that is
down is passed over. Source of the scheme: Xie et al., WeKnow-RAG, 2024, sections 3.3 and 3.4; there the order follows
from the rate of change alone, which ``first = "rate"`` does here too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from kgplatform.errors import KgPlatformError, ModelError
from kgplatform.questions.adaptive.cited import written
from kgplatform.questions.adaptive.domains import Domains, Topic, topic
from kgplatform.questions.adaptive.extractive import extracted
from kgplatform.questions.adaptive.merging import combined, from_source, merged_premise, unknown
from kgplatform.questions.adaptive.passages import PassageAnswer
from kgplatform.questions.adaptive.premises import FalsePremise, false_premise
from kgplatform.questions.adaptive.reasons import reason
from kgplatform.questions.answer import QuestionParts
from kgplatform.questions.steps import Stage, tell
from kgplatform.text import has_han
from kgplatform.types import Answer, Choice, Consulted, Evidence, Verdict

GRAPH, PASSAGES, WEB = "graph", "passages", "web"
_UNSURE: Final = 0.6
"""A graph answer that is less sure is compared with what passages say."""
_SURE: Final = 0.75

Find = Callable[[str, int], list[Evidence]]


@dataclass(frozen=True, slots=True)
class Rules:
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
class Beside:
    """What there is to ask besides the graph; ``age_days`` tells how old a piece of evidence is, if that is known."""

    passages: Find | None = None
    web: Find | None = None
    age_days: Callable[[Evidence], float | None] = lambda _evidence: None
    domains: Domains = field(default_factory=Domains)
    rules: Rules = field(default_factory=Rules)


def decide(question: str, found: Answer, parts: QuestionParts, beside: Beside) -> Answer:
    """The answer from the source, or sources, that can give one; ``found`` is the graph's."""
    return _Deciding(question, parts, beside).chosen(found)


def from_one(question: str, source: str, parts: QuestionParts, beside: Beside) -> Answer:
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
            notes = (f"the model did not help ({error}); the passages are quoted",)
    answer = extracted(question, passages, embedder=parts.embedder() if passages else None)
    return replace(answer, notes=(*notes, *answer.notes))


class _Deciding:
    """One question on its way through the sources."""

    def __init__(self, question: str, parts: QuestionParts, beside: Beside) -> None:
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
        chosen = source if answer.verdict is Verdict.ANSWERED else "none"
        return self._with_choice(answer, Topic("", 0.0, ""), (source,), chosen)

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

    def _denied(self, found: Answer, premise: FalsePremise, about: Topic, order: tuple[str, ...]) -> Answer:
        self._because("contradicted" if premise.contradicted else "not-held")
        answer = merged_premise(found, premise.text)
        chosen = GRAPH if found.verdict is Verdict.ANSWERED else "none"
        return self._with_choice(answer, about, order, chosen, premise.text)

    # in what order

    def _order(self, about: Topic, found: Answer) -> tuple[str, ...]:
        order = self._wanted_order(about, stale=self._is_stale(about, found))
        there = {GRAPH: True, PASSAGES: self._beside.passages is not None, WEB: self._beside.web is not None}
        return tuple(source for source in order if there[source])

    def _wanted_order(self, about: Topic, *, stale: bool) -> tuple[str, ...]:
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

    def _is_stale(self, about: Topic, found: Answer) -> bool:
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

    def _by_order(self, found: Answer, about: Topic, order: tuple[str, ...]) -> Answer:
        for source in order:
            if source == GRAPH:
                if found.verdict is Verdict.ANSWERED:
                    return self._from_graph(found, about, order)
                continue
            said = self._asked(source)
            if said.is_enough(self._rules.least):
                return self._with_choice(from_source(said, source, found), about, order, source)
        self._because("none", least=self._rules.least)
        return self._with_choice(found, about, order, "none")

    def _from_graph(self, found: Answer, about: Topic, order: tuple[str, ...]) -> Answer:
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
        tell(Stage.SOURCE, source)
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
        self, answer: Answer, about: Topic, order: tuple[str, ...], chosen: str, premise: str = ""
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
