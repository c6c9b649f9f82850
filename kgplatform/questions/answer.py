"""Asks a question of a graph: translated, checked, run, put into words, with the passages it rests on."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from pyoxigraph import NamedNode

from kgplatform.dataset import EvidenceDataset
from kgplatform.errors import ModelError, QueryError
from kgplatform.ontology import Ontology
from kgplatform.protocols import ChatModel, Embedder
from kgplatform.questions.causes import asks_why, gives_reasons
from kgplatform.questions.confidence import guessed
from kgplatform.questions.drafting import query_by_model
from kgplatform.questions.emptied import is_unknown, what_empties
from kgplatform.questions.knowing import Knowledge, knowledge
from kgplatform.questions.mentions import Reading
from kgplatform.questions.namesakes import ambiguous, which_of
from kgplatform.questions.phrasing import phrased
from kgplatform.questions.steps import Stage, tell
from kgplatform.questions.support import Explain, FindEvidence, supporting
from kgplatform.questions.synthesis import phrases, said, values_of
from kgplatform.questions.telling import Told, as_answer, meaning, subject_of, told
from kgplatform.questions.translate_builtin import Translation, is_empty, is_zero
from kgplatform.questions.translate_model import Solved, Task, TranslationOptions, shipped_examples
from kgplatform.questions.unlinked import partial_codes, shown, unsaid
from kgplatform.questions.wording import language_asked_in
from kgplatform.types import (
    Answer,
    Attempt,
    Clarification,
    Evidence,
    Linked,
    Query,
    Question,
    QuestionKind,
    Solutions,
    Term,
    Usage,
    Verdict,
)

__all__ = ["Knowledge", "QuestionParts", "QuestionSettings", "ask", "knowledge"]

_LONGEST_QUESTION = 2_000
_SURE_ENOUGH = 0.35
_CHOSEN = 0.9


@dataclass(frozen=True, slots=True)
class QuestionSettings:
    """Limits of answering; ``translation`` is how a model is asked for a query."""

    max_rows: int = 1_000
    passages: int = 5
    phrased_by_model: bool = True
    translation: TranslationOptions = field(default_factory=TranslationOptions)


@dataclass(frozen=True, slots=True)
class QuestionParts:
    """What `ask` works with.

    ``find`` gives the passage of a statement in a graph, ``why`` what a conclusion rests on, ``retrieve`` passages
    for a text; ``examples`` are solved questions (None: those shipped), ``embedder`` tells which are alike.
    """

    dataset: EvidenceDataset
    ontology: Ontology
    knowledge: Knowledge
    run: Callable[[str], Solutions]
    find: FindEvidence
    why: Explain | None = None
    model: ChatModel | None = None
    retrieve: Callable[[str, int], list[Evidence]] | None = None
    examples: Sequence[Solved] | None = None
    embedder: Callable[[], Embedder | None] = lambda: None
    settings: QuestionSettings = field(default_factory=QuestionSettings)


def ask(text: str, *, parts: QuestionParts) -> Answer:
    """The answer to a question in natural language, whatever the text is; it never writes."""
    began = time.perf_counter()
    asking = _Asking(parts, text)
    answer = asking.answer()
    seconds = time.perf_counter() - began
    return replace(answer, usage=replace(answer.usage, seconds=seconds), trace=tuple(asking.trace))


def ask_query(text: str, query: str, *, parts: QuestionParts) -> Answer:
    """The answer that a query of an earlier turn gives, once what it left open is chosen."""
    return _Asking(parts, text).answer_query(query)


@dataclass(frozen=True, slots=True)
class _Found:
    """A query that ran, with its rows."""

    query: Query
    solutions: Solutions
    confidence: float
    model: str | None = None
    kind: QuestionKind = QuestionKind.LIST
    target: Translation | None = None


class _Asking:
    """One question on its way to an answer."""

    def __init__(self, parts: QuestionParts, text: str) -> None:
        self._parts = parts
        self._names = parts.knowledge.names
        self._text = text.strip()[:_LONGEST_QUESTION]
        self._language = "zh" if language_asked_in(self._text) == "zh" else "en"
        self._usage = Usage()
        self._linked: tuple[Linked, ...] = ()
        self._original = text
        self.trace: list[str] = []
        if len(text.strip()) > _LONGEST_QUESTION:
            self.trace.append(f"only the first {_LONGEST_QUESTION:,} characters of the question were read")

    def _label(self, term: Term) -> str:
        return self._names.label(term, self._language)

    def _full_label(self, term: Term) -> str:
        return self._names.full_label(term, self._language)

    def answer(self) -> Answer:
        if not any(character.isalnum() for character in self._text):
            empty = "请提出一个问题。" if self._language == "zh" else "There is no question to answer."
            return self._unanswerable(empty, None, ())
        self._linked = self._names.link(self._text)
        surest = {item.text.casefold(): item.label for item in sorted(self._linked, key=lambda item: item.score)}
        tell(Stage.LINKED, " · ".join(dict.fromkeys(surest.values())))
        found = self._by_model()
        if found is None:
            return self._by_builtin()
        return found if isinstance(found, Answer) else self._answered(found)

    def answer_query(self, query: str) -> Answer:
        self._linked = self._names.link(self._text)
        solutions = self._ran(query)
        if solutions is None or is_empty(solutions):
            return self._unanswerable(phrases(self._language)["nothing"], Query(query), ())
        return self._answered(_Found(Query(query), solutions, _CHOSEN, kind=_kind_of(query)))

    # with a model

    def _by_model(self) -> _Found | Answer | None:
        model = self._parts.model
        if model is None:
            return None
        try:
            return self._from_model(model)
        except ModelError as error:
            self.trace.append(f"the model did not help ({error}); the built-in translator was used")
            return None

    def _from_model(self, model: ChatModel) -> _Found | Answer | None:
        """What the model's query found; an answer of its own where it found nothing, None where there is no query."""
        tell(Stage.MODEL, model.name)
        drafting = query_by_model(self._task(), model)
        tell(Stage.CANDIDATES, number=len(drafting.attempts))
        self._usage += drafting.usage
        self.trace += [f"model {model.name}: {note}" for note in drafting.notes]
        words = phrases(self._language)
        if drafting.declined:
            self.trace.append(f"model {model.name}: the graph has no term for {drafting.declined}")
            return replace(self._unanswerable(words["nothing"], None, ()), model=model.name)
        state = "sound" if drafting.sound else "unsound"
        self.trace.append(f"model {model.name}: {len(drafting.attempts)} draft(s), {state}")
        if not drafting.sound or drafting.solutions is None:
            self.trace.append("the model's query was not run; the built-in translator was used")
            return None
        tell(Stage.QUERY, drafting.text)
        query = Query(drafting.text, "", drafting.attempts)
        if is_empty(drafting.solutions):
            return replace(self._unanswerable(words["nothing"], query, ()), model=model.name)
        return _Found(query, drafting.solutions, drafting.confidence, model.name, _kind_of(drafting.text))

    def _task(self) -> Task:
        """The question as the translator with a model takes it, the built-in translator's readings included."""
        parts = self._parts
        return Task(
            question=self._text,
            linked=self._linked,
            names=self._names,
            briefer=parts.knowledge.briefer,
            run=parts.run,
            examples=shipped_examples() if parts.examples is None else parts.examples,
            candidates=parts.knowledge.translator.translate(self._text, run=parts.run),
            prefixes=parts.dataset.store.prefixes,
            embedder=parts.embedder,
            options=parts.settings.translation,
        )

    def _ran(self, query: str) -> Solutions | None:
        tell(Stage.QUERY, query)
        try:
            return self._parts.run(query)
        except QueryError as error:
            self.trace.append(f"not run: {error}")
            return None

    # without

    def _by_builtin(self) -> Answer:
        if asks_why(self._text) and not gives_reasons(self._names):
            return self._unanswerable(phrases(self._language)["why"], None, ())
        if (told_of := self._told()) is not None:
            return told_of
        translations = self._parts.knowledge.translator.translate(self._text, run=self._parts.run)
        if not translations:
            return self._nothing_linked()
        best = translations[0]
        tell(Stage.CANDIDATES, best.reading, number=len(translations))
        if best.dropped or (best.graph.form == "ask" and unsaid(best.uncovered)):
            return self._left_out(best)
        self.trace.append(f"built-in: {len(translations)} reading(s); read as: {best.reading}")
        if best.uncovered:
            self.trace.append(f"not understood: {', '.join(best.uncovered[:8])}")
        attempts = tuple(Attempt(item.text) for item in translations[1:3])
        query = Query(best.text, best.reading, attempts)
        if best.confidence < _SURE_ENOUGH and (best.uncovered or not best.empty or best.graph.form == "ask"):
            return self._unanswerable(self._not_understood(best), None, best.uncovered, confidence=best.confidence)
        solutions = self._ran(best.text)
        if solutions is None or is_empty(solutions) or (solutions.boolean is False and self._is_open(best)):
            return self._unanswerable(self._empty(best), query, best.uncovered, confidence=best.confidence)
        found = _Found(query, solutions, best.confidence, kind=_kind_of(best.text), target=best)
        return self._answered(found, ambiguous(best.graph, self._which, self._label, self._text))

    def _is_open(self, best: Translation) -> bool:
        """Whether that something is not found says nothing: no "no" follows from it."""
        if best.graph.whole is not None:
            return False  # of two numbers one is the greater
        return guessed(best.graph) or is_unknown(best.graph, self._names, self._parts.run)

    def _told(self) -> Answer | None:
        """What the graph says of the one thing that the question asks to be told of; None if it asks something else."""
        subject = subject_of(self._text, self._names)
        if subject is None:
            return None
        if subject.meant:
            text = meaning(subject.terms[0], self._names, self._language)
            found = Told(text, (text,), "", Solutions()) if text else None
        else:
            found = told(subject.terms[0], self._names, self._language, self._parts.run)
        if found is None:
            return None
        tell(Stage.QUERY, found.query)
        question = Question(self._original, self._language, QuestionKind.LIST, self._linked)
        evidence = self._evidence(found.query, found.solutions) if found.query else ()
        return as_answer(found, question, evidence, self._which(subject.terms))

    def _which(self, namesakes: Sequence[NamedNode]) -> Clarification | None:
        return which_of(namesakes, self._names, self._parts.dataset, self._language)

    # in words

    def _answered(self, found: _Found, clarification: Clarification | None = None) -> Answer:
        solutions = found.solutions
        limit = self._parts.settings.max_rows
        if len(solutions.rows) > limit:
            solutions = replace(solutions, rows=solutions.rows[:limit], truncated=True)
        tell(Stage.ROWS, number=len(solutions.rows))
        tell(Stage.SOURCES)
        evidence = self._evidence(found.query.text, solutions)
        left = unsaid(found.target.uncovered) if found.target else ()
        text = said(solutions, self._full_label, self._language, unit=self._unit(found), left=left)
        model = found.model
        if model is not None and self._parts.settings.phrased_by_model and self._parts.model is not None:
            text = self._phrased(self._parts.model, text, solutions, evidence)
        confidence = self._assessed(found, evidence)
        verdict = Verdict.ANSWERED
        if clarification is not None:
            verdict, confidence = Verdict.UNCLEAR, min(confidence, 0.5)
            text = f"{clarification.question} {text}"
        return Answer(
            text=text,
            question=Question(self._original, self._language, found.kind, self._linked),
            verdict=verdict,
            confidence=confidence,
            using="sparql",
            query=found.query,
            solutions=solutions,
            values=values_of(solutions, self._label, self._language),
            evidence=evidence,
            clarification=clarification,
            model=model,
            usage=self._usage,
        )

    def _evidence(self, query: str, solutions: Solutions) -> tuple[Evidence, ...]:
        answers = [term for row in solutions.rows[:50] for term in row if term is not None]
        return supporting(
            query,
            self._parts.dataset,
            run=self._parts.run,
            find=self._parts.find,
            why=self._parts.why,
            answers=answers,
            prefixes=self._parts.dataset.store.prefixes,
        )

    def _assessed(self, found: _Found, evidence: tuple[Evidence, ...]) -> float:
        confidence = found.confidence
        if found.solutions.boolean is False or is_zero(found.solutions):
            confidence -= 0.15
        if evidence:
            confidence += 0.03
        return round(max(0.05, min(0.98, confidence)), 3)

    def _unit(self, found: _Found) -> str:
        """The unit that the ontology gives the one measured property shown."""
        graph = found.target.graph if found.target else None
        if graph is None or len(graph.targets) != 1 or graph.form == "count":
            return ""
        for link in graph.links:
            if link.object == graph.targets[0]:
                term = self._names.schema.properties.get(link.predicate)
                return self._names.schema.unit(link.predicate, self._language) if term else ""
        return ""

    def _phrased(self, model: ChatModel, plain: str, solutions: Solutions, evidence: tuple[Evidence, ...]) -> str:
        """The answer as the model words it, unless it says more than the rows and passages do."""
        tell(Stage.WORDING, model.name)
        found = phrased(
            self._text,
            plain,
            values=values_of(solutions, self._label, self._language),
            rows=len(solutions.rows),
            evidence=evidence,
            names=self._names,
            model=model,
            language=self._language,
        )
        self._usage += found.usage
        if found.note:
            self.trace.append(found.note)
        return found.text

    # where there is no answer

    def _nothing_linked(self) -> Answer:
        words = phrases(self._language)
        reading = self._parts.knowledge.translator.read(self._text)
        unclear = self._partial(reading, frozenset())
        if unclear is not None:
            return unclear
        tokens = reading.uncovered()
        if reading.mentions and not tokens:
            near = dict.fromkeys(self._label(option.names[0].term) for m in reading.mentions for option in m.options)
            nearest = words["nearest"].format(names=words["and"].join(list(near)[:4]))
            return self._unanswerable(words["nothing"] + nearest, None, ())
        said_ = words["unlinked"].format(words=", ".join(tokens[:6]) or self._text[:60])
        return self._unanswerable(said_ + self._near(tokens), None, tokens)

    def _left_out(self, best: Translation) -> Answer:
        """What is said where a name or number of the question is in no reading: nothing is answered around it."""
        reading = self._parts.knowledge.translator.read(self._text)
        unclear = self._partial(reading, best.explained)
        if unclear is not None:
            return unclear
        missing = best.uncovered or tuple(dict.fromkeys(best.dropped))
        text = phrases(self._language)["left"].format(words=", ".join(missing[:6]))
        return self._unanswerable(text + self._near(missing), None, missing, confidence=best.confidence)

    def _partial(self, reading: Reading, explained: frozenset[int]) -> Answer | None:
        """A question back where a code is only part of names of the graph."""
        code, found = partial_codes(reading, explained, self._names)
        if not found:
            return None
        options = tuple(dict.fromkeys(shown(name, self._names, self._language) for name in found))
        question = phrases(self._language)["which"].format(words=code)
        self.trace.append(f"part of names only: {code}")
        return Answer(
            text=question,
            question=Question(self._original, self._language, QuestionKind.LIST, self._linked),
            verdict=Verdict.UNCLEAR,
            confidence=0.3,
            using="sparql",
            clarification=Clarification(question, options),
            usage=self._usage,
        )

    def _not_understood(self, best: Translation) -> str:
        words = phrases(self._language)
        return words["unlinked"].format(words=", ".join(best.uncovered[:6]) or self._text[:60]) + self._near(
            best.uncovered
        )

    def _empty(self, best: Translation) -> str:
        words = phrases(self._language)
        read = f"（理解为：{best.reading}）" if self._language == "zh" else f" (Read as: {best.reading}.)"
        why = what_empties(best.graph, self._names, self._language, self._parts.run)
        blank = " " if why and self._language != "zh" else ""
        return words["nothing"] + read + blank + why + (self._near(best.uncovered) if best.uncovered else "")

    def _near(self, tokens: Sequence[str]) -> str:
        near = [self._label(name.term) for token in tokens[:4] for name in self._names.near(token, 2)]
        listed = list(dict.fromkeys(near))[:4]
        return phrases(self._language)["nearest"].format(names=", ".join(listed)) if listed else ""

    def _unanswerable(
        self, text: str, query: Query | None, uncovered: Sequence[str], *, confidence: float = 0.0
    ) -> Answer:
        passages: list[Evidence] = []
        if self._parts.retrieve is not None and self._text:
            passages = self._parts.retrieve(self._text, self._parts.settings.passages)
        if passages:
            nearest = (
                "最接近的段落见下，但不能直接作答。"
                if self._language == "zh"
                else "The nearest passages are shown; they may help."
            )
            text = f"{text} {nearest}"
        if uncovered:
            self.trace.append(f"no word of the graph for: {', '.join(uncovered[:8])}")
        return Answer(
            text=text,
            question=Question(
                self._original, self._language, QuestionKind.PASSAGE if passages else QuestionKind.LIST, self._linked
            ),
            verdict=Verdict.UNANSWERABLE,
            confidence=round(min(confidence, 0.3), 3),
            using="passages" if passages else "sparql",
            query=query,
            evidence=tuple(passages),
            usage=self._usage,
        )


def _kind_of(query: str) -> QuestionKind:
    upper = query.lstrip().upper()
    head = upper.partition("{")[0]
    if "ASK" in head.split():
        return QuestionKind.BOOLEAN
    if "COUNT(" in head:
        return QuestionKind.COUNT
    if any(f"{name}(" in head for name in ("AVG", "SUM", "MIN", "MAX")):
        return QuestionKind.AGGREGATE
    return QuestionKind.SUPERLATIVE if "MAX(" in upper or "MIN(" in upper else QuestionKind.LIST
