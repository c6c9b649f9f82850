"""The translator with a model: prompt, one query or several drafts, and the vote of their results."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, islice
from typing import TypeAlias

from pyoxigraph import Literal, NamedNode

from kgplatform.errors import ConfigError, ModelError, ModelReplyError, QueryCancelledError, QueryError
from kgplatform.models import prompts
from kgplatform.ontology.schema import Ontology, Word, label_of
from kgplatform.questions.answer_text import phrases
from kgplatform.questions.check import check
from kgplatform.questions.forms.form_reader import Reading
from kgplatform.questions.name_index import GraphName, NameIndex
from kgplatform.questions.parser.translator import is_empty, is_zero
from kgplatform.questions.parser.vocabulary import FUNCTION_WORDS, HAN_FUNCTION, language_asked_in, tokens_of
from kgplatform.questions.schema_prompt import Prefixes, SchemaText, TermVectors
from kgplatform.questions.solved_questions import Solved, similar
from kgplatform.questions.usage import usage
from kgplatform.settings import PROMPT_STYLES as STYLES
from kgplatform.settings import SCHEMA_VIEWS as VIEWS
from kgplatform.sparql.emptiness import Cause, why_empty
from kgplatform.sparql.rewrite import with_declarations
from kgplatform.sparql.syntax import patterns_of
from kgplatform.sparql.tokens import declared_prefixes, tokens
from kgplatform.store.dataset import EvidenceDataset
from kgplatform.store.oxigraph import DEFAULT_GRAPH
from kgplatform.text import has_han, normalise
from kgplatform.types import (
    Attempt,
    ChatModel,
    Completion,
    Embedder,
    Issue,
    IssueKind,
    Linked,
    RunQuery,
    SamplingModel,
    Solutions,
    Term,
    Usage,
)
from kgplatform.vocab import COMMENT, LABEL, PREFIXES, TYPE, XSD

# Mends a query: what is suspicious about its rows, rewriting with one obvious remedy, and asking the model.
#
# What is complained about is what the checker finds, and rows that cannot be what was asked for: none at all, a column
# that is never bound, the names of the question itself.

_SECONDS = 2.0


def suspicions(
    text: str, solutions: Solutions, run: RunQuery, *, prefixes: Mapping[str, str] = PREFIXES, language: str = "en"
) -> tuple[Issue, ...]:
    """What speaks against the rows of a query; empty where nothing does. None of it is fatal: it may be right."""
    if solutions.boolean is not None:
        return ()
    if is_empty(solutions) or is_zero(solutions):
        return (_emptiness(text, solutions, run, language),)
    return (*_columns(solutions, language), *_echo(text, solutions, prefixes, language))


def _emptiness(text: str, solutions: Solutions, run: RunQuery, language: str) -> Issue:
    why = why_empty(text, lambda query, _rows, _seconds: run(query), seconds=_SECONDS)
    said = "" if why.cause in (Cause.UNKNOWN, Cause.AFTERWARDS) else why.words(language)
    opening = phrases(language)["is_zero" if is_zero(solutions) else "is_empty"]
    return Issue(IssueKind.EMPTY, f"{opening} {said}".strip(), fatal=False)


def _echo(text: str, solutions: Solutions, prefixes: Mapping[str, str], language: str) -> Iterator[Issue]:
    """Rows that hold nothing but things that the query itself names."""
    named = {item.value for item in patterns_of(text, prefixes).terms}
    found = {term for row in solutions.rows for term in row if term is not None}
    if len(found) == 1 and all(isinstance(term, NamedNode) and term.value in named for term in found):
        message = phrases(language)["only_given"].format(thing=next(iter(found)))
        yield Issue(IssueKind.SUSPICIOUS, message, fatal=False)


def _columns(solutions: Solutions, language: str) -> Iterator[Issue]:
    """Columns without a value, and of texts in several languages: labels, where the thing was to be returned."""
    for place, name in enumerate(solutions.variables):
        terms = [row[place] for row in solutions.rows]
        tags = {term.language for term in terms if isinstance(term, Literal) and term.language}
        wrong = "never_bound" if set(terms) == {None} else "labels_twice" if len(tags) > 1 else ""
        if wrong:
            message = phrases(language)[wrong].format(name=name)
            yield Issue(IssueKind.SUSPICIOUS, message, name, fatal=False)


@dataclass(frozen=True, slots=True)
class RepairedQuery:
    """The best query of a repair with its rows, every draft with its issues, and what the repair cost.

    ``sound``: the checker has nothing fatal against it, and it ran if it was to be run. ``doubtful``: its rows are
    suspicious or none. ``declined`` is what the model found missing where it gave up, ``unsure`` what it doubts.
    """

    text: str
    attempts: tuple[Attempt, ...]
    usage: Usage
    sound: bool
    error: str = ""
    declined: str = ""
    solutions: Solutions | None = None
    doubtful: bool = False
    unsure: str = ""

    @property
    def weight(self) -> float:
        """What it counts among several drafts."""
        lost = _REPAIRED * (len(self.attempts) - 1) + (_DRAFTING_UNSURE if self.unsure else 0.0)
        return max(0.1, 1.0 - lost) * (_EMPTY if self.doubtful else 1.0)

    @property
    def outcome(self) -> Outcome:
        """What its rows have in common with those of another that answers the same."""
        return outcome(self.solutions or Solutions())


Revise: TypeAlias = "Callable[[Attempt, Solutions | None], Drafted]"


@dataclass(frozen=True, slots=True)
class _Tried:
    attempt: Attempt
    solutions: Solutions | None
    sound: bool
    findings: tuple[Issue, ...]

    @property
    def rank(self) -> int:
        """How good it is: with rows that nothing speaks against, with doubtful rows, with none, not sound."""
        if not self.sound:
            return 0
        if any(issue.kind is IssueKind.EMPTY for issue in self.findings):
            return 1
        return 2 if self.findings else 3


def mended(
    text: str,
    *,
    names: NameIndex,
    revise: Revise | None = None,
    run: RunQuery | None = None,
    rounds: int = 2,
    prefixes: Mapping[str, str] = PREFIXES,
    language: str = "en",
) -> RepairedQuery:
    """The best query to be had in so many rounds of putting right what the checker and the rows complain about.

    ``revise`` asks a model, where no rule helps; ``run`` looks at the rows too.
    """
    tried = [_try(text, names, run, prefixes, language)]
    usage = Usage()
    error = declined = ""
    for _ in range(rounds):
        last = tried[-1]
        if last.sound and not last.findings:
            break
        rewritten = None if last.sound else rewritten_by_rule(last.attempt, names, prefixes=prefixes)
        if rewritten is None and revise is not None:
            try:
                reply = revise(last.attempt, last.solutions)
            except ModelError as failure:
                error = str(failure)
                break
            usage += reply.usage
            declined, rewritten = reply.declined, reply.text
        if declined or not rewritten or rewritten in {item.attempt.query for item in tried}:
            break
        tried.append(_try(rewritten, names, run, prefixes, language))
    best = max(reversed(tried), key=lambda item: item.rank)
    return RepairedQuery(
        best.attempt.query,
        tuple(item.attempt for item in tried),
        usage,
        sound=best.sound,
        error=error,
        declined=declined if best.rank < 2 else "",
        solutions=best.solutions,
        doubtful=bool(best.findings),
    )


def _try(text: str, names: NameIndex, run: RunQuery | None, prefixes: Mapping[str, str], language: str) -> _Tried:
    """A query checked and, if nothing fatal is wrong with it, run."""
    issues = check(text, names, prefixes=prefixes)
    if any(issue.fatal for issue in issues) or run is None:
        return _Tried(Attempt(text, issues), None, not any(issue.fatal for issue in issues), ())
    try:
        solutions = run(text)
    except QueryCancelledError:  # nobody waits for another query
        raise
    except QueryError as error:
        failed = Issue(IssueKind.FAILED, f"it cannot be run: {error}")
        return _Tried(Attempt(text, (*issues, failed)), None, sound=False, findings=(failed,))
    findings = suspicions(text, solutions, run, prefixes=prefixes, language=language)
    return _Tried(Attempt(text, (*issues, *findings)), solutions, sound=True, findings=findings)


def rewritten_by_rule(attempt: Attempt, names: NameIndex, *, prefixes: Mapping[str, str] = PREFIXES) -> str | None:
    """The query with each issue that has one obvious remedy put right; None if none has."""
    text = attempt.query
    for issue in attempt.issues:
        if issue.kind in (IssueKind.UNKNOWN_PROPERTY, IssueKind.UNKNOWN_CLASS) and len(issue.allowed) == 1:
            text = _with_term(text, issue.subject, issue.allowed[0], prefixes)
        elif issue.kind is IssueKind.IMPOSSIBLE:
            text = _flipped(text, issue, names, prefixes)
        elif issue.kind is IssueKind.LITERAL_FORM and issue.subject.startswith(XSD) and issue.allowed:
            text = _with_term(text, issue.subject, issue.allowed[0], prefixes)
        elif issue.kind is IssueKind.LITERAL_FORM:
            text = _with_form(text, issue)
    return text if text != attempt.query else None


def _with_term(text: str, old: str, new: str, prefixes: Mapping[str, str]) -> str:
    """Another IRI, where the old one is written out or abbreviated."""
    written = str(NamedNode(new))
    text = text.replace(f"<{old}>", written)
    declared = {**prefixes, **declared_prefixes(tokens(text))}
    for prefix, namespace in declared.items():
        if old.startswith(namespace) and old != namespace:
            short = re.escape(f"{prefix}:{old[len(namespace) :]}")
            text = re.sub(rf"(?<![\w:<]){short}(?![\w-])", lambda _: written, text)
    return text


def _flipped(text: str, issue: Issue, names: NameIndex, prefixes: Mapping[str, str]) -> str:
    """The pattern with subject and object changed over, if the data has the property that way round."""
    predicate = next((p for p in names.schema.properties if p.value == issue.subject), None)
    if predicate is None or not names.schema.properties[predicate].is_object:
        return text
    for pattern in patterns_of(text, prefixes).triples:
        if not pattern.plain or pattern.predicates[0].value != predicate.value:
            continue
        if pattern.subject.kind != "variable" or pattern.object.kind != "variable":
            continue
        one, two = pattern.subject.value, pattern.object.value
        spelt = rf"([?$]{re.escape(one)})(\s+(?:<[^<>\s]*>|[\w-]*:[\w-]+)\s+)([?$]{re.escape(two)})(?=\s*[.}}]|\s*$)"
        flipped = re.sub(spelt, r"\3\2\1", text, count=1)
        if flipped != text:
            return flipped
    return text


def _with_form(text: str, issue: Issue) -> str:
    """The literal written the way the message asks for, where it asks for one way."""
    asked = re.search(r"write (\S.*)$", issue.message)
    quoted = f'"{issue.subject}"'
    if asked is None or quoted not in text:
        return text
    if "without quotes" in issue.message:
        return text.replace(quoted, issue.subject) if re.fullmatch(r"[+-]?\d+(?:\.\d+)?", issue.subject) else text
    if "have no language tag" in issue.message:
        return re.sub(re.escape(quoted) + r"@[A-Za-z-]+", lambda _: quoted, text)
    return re.sub(re.escape(quoted) + r"(?![@^])", lambda _: asked[1], text)


# What a model is told for one question: the schema, what the names in it stand for, and what was tried already.
#
# Every candidate of a name is listed with its class, how it is written, and what is stated around it, so that the
# direction of a relation and the form of a value are seen and not guessed.


_CANDIDATES = 5
_AROUND = 10
_LOOKED_AT = 200
_CARDS = 6
_CERTAIN, _LIKELY, _INSIDE = 0.95, 0.7, 4
_HAN_RUN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]{2,}")
_UNKNOWN = re.compile(r"[“\"'「『《]([^“”\"'」』》]{2,60})[”\"'」』》]|\b([A-Z][\w'’-]*(?:\s+[A-Z][\w'’-]*)*)")


@dataclass(frozen=True, slots=True)
class Brief:
    """The parts of a prompt that depend on the question: the schema, and a line for each candidate of a name."""

    schema: str
    names: tuple[str, ...]
    prefixes: Prefixes


class Briefer:
    """Briefs a model about questions over one version of a graph."""

    def __init__(self, dataset: EvidenceDataset, names: NameIndex, ontology: Ontology) -> None:
        self._dataset = dataset
        self._names = names
        self._ontology = ontology
        self._index: tuple[object, TermVectors] | None = None

    @cached_property
    def schema_text(self) -> SchemaText:
        """The schema with all its detail, made when a model first needs it."""
        names = self._names
        return SchemaText(
            names.schema,
            names.facts,
            self._ontology,
            usage(names.facts, names.schema),
            known=self._dataset.store.prefixes,
            about=self._about(),
            named_by=self._named_by,
        )

    def _about(self) -> str:
        """What the ontologies say of themselves, where conventions may be found."""
        found = []
        for iri in self._ontology.iris:
            quads = islice(self._dataset.store.quads(NamedNode(iri), COMMENT), 20)
            comments = [Word(q.object.value, q.object.language or "") for q in quads if isinstance(q.object, Literal)]
            if comments:
                found.append(" ".join(label_of(comments, "en", "").split())[:400])
        return " ".join(dict.fromkeys(found))

    def _named_by(self, node: NamedNode, literal: Literal) -> NamedNode:
        """The property that gives a thing a name, the label if that is one of several."""
        found = {quad.predicate for quad in self._dataset.store.quads(node, None, literal)}
        return LABEL if LABEL in found or not found else min(found, key=lambda p: p.value)

    def brief(
        self,
        question: str,
        linked: Sequence[Linked],
        *,
        style: str = "rules",
        view: str = "auto",
        language: str = "en",
        budget_tokens: int = 3500,
        embedder: Callable[[], Embedder | None] = lambda: None,
    ) -> Brief:
        """What is to be told about a question; ``linked`` are its names as far as they are known."""
        text = self.schema_text
        linked = [item for item in linked if item.score >= _LIKELY and not _is_function(item)]
        schema = text.text(
            style=style,
            language=language,
            budget_tokens=budget_tokens,
            relevance=lambda: self._terms(embedder).relevance(question, linked, self._names.types),
            view=view,
        )
        return Brief(schema, (*self._candidates(linked), *self._unknown(question, linked)), text.prefixes)

    def _terms(self, embedder: Callable[[], Embedder | None]) -> TermVectors:
        model = embedder()
        if self._index is None or self._index[0] is not model:
            self._index = (model, TermVectors(self._names.schema, lambda: model))
        return self._index[1]

    # names

    def _candidates(self, linked: Sequence[Linked]) -> list[str]:
        lines: list[str] = []
        cards = 0
        told: set[str] = set()
        for (text, _), found in groupby(linked, key=lambda item: (item.text, item.start)):
            if text.casefold() in told:
                continue
            told.add(text.casefold())
            listed = list(found)[:_CANDIDATES]
            described = []
            for item in listed:
                described.append(self._described(item, with_card=cards < _CARDS))
                cards += item.kind == "entity"
            more = self._namesakes(listed)
            ending = f"; and {more:,} more things are called so: match them by the label" if more else ""
            if len(described) == 1:
                lines.append(f'"{text}": {described[0]}{ending}')
            else:
                lines.append(f'"{text}" is one of:{ending}')
                lines += [f"  {entry}" for entry in described]
            if listed[0].score < _CERTAIN:
                lines += self._inside(text, {item.iri for item in listed})
        return lines

    def _inside(self, text: str, known: set[NamedNode]) -> list[str]:
        """The things that parts of a longer name stand for: "sensor switch" may be both a sensor and a switch."""
        found = []
        for span in self._names.things(tokens_of(text), text):
            best = span.names[0]
            if span.last - span.first < 2 and has_han(text):
                continue  # a single character is a word of another
            if best.kind != "entity" or best.score < _CERTAIN or not isinstance(best.term, NamedNode):
                continue
            if best.term not in known:
                known.add(best.term)
                classes = ", ".join(map(self.schema_text.prefixes.short, self._names.types(best.term))) or "thing"
                found.append(f'  in it, "{self._names.label(best.term)}": {classes} {best.term}')
        return found[:_INSIDE]

    def _namesakes(self, listed: Sequence[Linked]) -> int:
        """How many things have the same name besides those listed."""
        first = listed[0]
        if first.kind != "entity":
            return 0
        same = {name.term for name in self._names.exact.get(normalise(first.text), ()) if name.kind == "entity"}
        return max(0, len(same - {item.iri for item in listed}))

    def _described(self, item: Linked, *, with_card: bool) -> str:
        short = self.schema_text.prefixes.short
        score = f" (score {item.score})" if item.score < _CERTAIN else ""
        if item.kind in ("class", "property"):
            return f"{item.kind} {short(item.iri)}{score}"
        if item.kind == "value":
            return self._value(item)
        classes = ", ".join(map(short, self._names.types(item.iri))) or "thing"
        names = ", ".join(str(label) for label in self._names.facts.labels.get(item.iri, ())[:4])
        card = self._card(item.iri) if with_card else ""
        said = f"{classes} {short(item.iri)}{f' named {names}' if names else ''}{score}"
        return "; ".join(filter(None, (said, self._same_value(item.iri), card)))

    def _same_value(self, iri: NamedNode) -> str:
        """The values that are spelt like a name of a thing: asked for in one language, a value may be in another."""
        listed = (*self._names.facts.labels.get(iri, ()), *self._names.facts.aliases.get(iri, ()))
        found = (name for label in listed for name in self._names.exact.get(normalise(label.value), ()))
        return "; ".join(dict.fromkeys(f"value {self._near(n)}" for n in found if n.kind == "value"))

    def _value(self, item: Linked) -> str:
        """A literal value: of which property, on which classes, and exactly how it is written."""
        prefixes = self.schema_text.prefixes
        key = normalise(item.label)
        terms = [
            name.term
            for name in self._names.exact.get(key, ())
            if name.predicate == item.iri and isinstance(name.term, Literal) and name.term.value == item.label
        ]
        written = ", ".join(prefixes.written(term, most=80) for term in terms) or str(Literal(item.label))
        owners = ", ".join(map(prefixes.short, self._owners(item.iri, terms)[:3])) or "things"
        return f"value {written} of {prefixes.short(item.iri)} on {owners}"

    def _owners(self, predicate: NamedNode, terms: Iterable[Literal]) -> list[NamedNode]:
        return sorted(
            self._names.holders(predicate, terms), key=lambda iri: (-self._names.schema.count(iri), iri.value)
        )

    def _card(self, iri: NamedNode) -> str:
        """What is stated around a thing, each relation once, with its direction."""
        short, store = self.schema_text.prefixes.short, self._dataset.store
        out: dict[NamedNode, list[object]] = {}
        for quad in islice(store.quads(iri, graph=DEFAULT_GRAPH), _LOOKED_AT):
            if quad.predicate in self._names.schema.properties and self._dataset.is_stated(quad.triple):
                out.setdefault(quad.predicate, []).append(quad.object)
        into: Counter[tuple[NamedNode, str]] = Counter()
        for quad in islice(store.quads(object_=iri, graph=DEFAULT_GRAPH), _LOOKED_AT):
            own = quad.predicate in self._names.schema.properties and quad.predicate != TYPE
            if own and self._dataset.is_stated(quad.triple):
                kinds = ", ".join(map(short, self._names.types(quad.subject)[:1])) or "thing"
                into[quad.predicate, kinds] += 1
        said = [f"-[{short(p)}]-> {self._shown(out[p])}" for p in sorted(out, key=str)[:_AROUND]]
        more = " or more" if into.total() >= _LOOKED_AT else ""
        said += [f"<-[{short(p)}]- {count}{more} {kind}" for (p, kind), count in into.most_common(_AROUND)]
        return "; ".join(said)

    def _shown(self, values: Sequence[object]) -> str:
        first = values[0]
        if isinstance(first, Literal):
            shown = self.schema_text.prefixes.written(first, most=40)
        else:
            shown = f'"{self._names.label(first)}"'
        return shown if len(values) == 1 else f"{shown} and {len(values) - 1} more"

    def _unknown(self, question: str, linked: Sequence[Linked]) -> list[str]:
        """Names of the question that nothing has, with the nearest that there are."""
        lines = []
        for name in unlinked_names(question, linked):
            near = [self._near(item) for item in self._names.near(name, 3)[:_CANDIDATES]]
            if near:
                lines.append(f'"{name}" is the name of nothing; nearest: {"; ".join(near)}')
        return lines[:_CANDIDATES]

    def _near(self, name: GraphName) -> str:
        short = self.schema_text.prefixes.short
        if isinstance(name.term, Literal):
            of = f" of {short(name.predicate)}" if name.predicate else ""
            return f"{self.schema_text.prefixes.written(name.term)}{of}"
        classes = ", ".join(map(short, self._names.types(name.term)[:1]))
        return f'{name.term} "{self._names.label(name.term)}" {classes}'.strip()


def _is_function(item: Linked) -> bool:
    """Whether a term of the ontology is only offered for a word of grammar: "from", "have", 有."""
    words = tokens_of(item.text)
    empty = all(word.text in FUNCTION_WORDS or set(word.text) <= HAN_FUNCTION for word in words)
    return empty and item.kind in ("class", "property")


def unlinked_names(question: str, linked: Sequence[Linked]) -> list[str]:
    """What looks like a name and is linked to nothing: quoted or capitalised words, Chinese between what is linked."""
    taken = {place for item in linked for place in range(item.start, item.end)}
    found = []
    for match in _UNKNOWN.finditer(question):
        group = 1 if match[1] else 2
        start, end = match.span(group)
        if start > 0 and start not in taken and end - 1 not in taken:
            found.append(match[group])
    if has_han(question):
        free = "".join(" " if place in taken else character for place, character in enumerate(question))
        for function in sorted(HAN_FUNCTION, key=len, reverse=True):
            free = free.replace(function, " ") if len(function) > 1 else free
        found += [run for run in _HAN_RUN.findall(free) if len(run) > 2]
    return list(dict.fromkeys(found))


# The translator with a model: a schema prompt, linked names and similar solved examples in, one query out.
#
# The prompt comes in three styles (`STYLES`): rules with a block for each class, statements that would create the
# graph, and the comments of a demonstration. Chinese questions get a Chinese prompt.

_FENCE = re.compile(r"```[\w-]*[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)
_THINKING = re.compile(r"\A.*?</think(?:ing)?>", re.DOTALL | re.IGNORECASE)
_START = re.compile(
    r"(?:^|\n)[ \t]*((?:PREFIX|BASE|SELECT|ASK|INSERT|DELETE|LOAD|CLEAR|DROP|CREATE|CONSTRUCT|DESCRIBE|WITH)\b)",
    re.IGNORECASE,
)
_INLINE = re.compile(r"\b(?:SELECT|ASK)\b[^{]*\{", re.IGNORECASE)
_NONE = re.compile(r"(?:#[^\n]*\n\s*)*NONE\b[:：\s]*(?P<missing>[^\n]*)")
_UNSURE = re.compile(r"^\s*#\s*unsure\b[:：\s]*(?P<what>[^\n]*)", re.IGNORECASE | re.MULTILINE)
_REPLY_LIMIT = 20_000
_ROWS_SHOWN = 5
_OFFERED, _PROBABLE = 5, 0.5
_PROMPTS: Mapping[str, str] = {
    "rules": "translate-question",
    "create": "translate-question-create",
    "demonstration": "translate-question-demonstration",
}


@dataclass(frozen=True, slots=True)
class TranslationOptions:
    """How a model is asked.

    ``style`` is one of `STYLES`, ``view`` one of `VIEWS`; ``drafts`` queries are made and vote by their results,
    ``repairs`` is how often each may be put right; ``examples`` solved questions are shown, and ``schema_tokens`` of
    the schema. ``leave_out_same``: a question is not shown its own solution.
    """

    style: str = "rules"
    view: str = "auto"
    drafts: int = 1
    repairs: int = 2
    examples: int = 3
    schema_tokens: int = 3_500
    leave_out_same: bool = False
    workers: int = 1

    def checked(self) -> TranslationOptions:
        """These options, if they can be used.

        Raises:
            ConfigError: a style or view is none, or a number is too small.
        """
        for name, value, known in (("style", self.style, STYLES), ("view", self.view, VIEWS)):
            if value not in known:
                raise ConfigError(
                    f"questions.{name} {value!r} is none; there are {', '.join(known)}", setting=f"questions.{name}"
                )
        least = {"drafts": 1, "repairs": 0, "examples": 0, "schema_tokens": 500}
        for name, low in least.items():
            value = getattr(self, name)
            if not low <= value <= (20 if name == "drafts" else 1_000_000):
                wanted = f"from {low} to 20" if name == "drafts" else f"at least {low}"
                raise ConfigError(f"questions.{name} must be {wanted}, not {value}", setting=f"questions.{name}")
        return self


@dataclass(frozen=True, slots=True)
class TranslationTask:
    """A question to be translated, with what is known about it; ``readings`` are those without a model, best first."""

    question: str
    linked: Sequence[Linked]
    names: NameIndex
    briefer: Briefer
    run: RunQuery
    examples: Sequence[Solved] = ()
    readings: Sequence[Reading] = ()
    prefixes: Mapping[str, str] = field(default_factory=lambda: PREFIXES)
    embedder: Callable[[], Embedder | None] = lambda: None
    options: TranslationOptions = field(default_factory=TranslationOptions)

    @property
    def likely(self) -> Sequence[Reading]:
        """The readings that are worth showing and comparing with: less probable ones mislead."""
        return [item for item in self.readings if item.probability >= _PROBABLE][:_OFFERED]

    @property
    def language(self) -> str:
        """The language of the prompt."""
        return "zh" if language_asked_in(self.question) == "zh" else "en"

    def brief(self, style: str) -> Brief:
        """What the model is told, in a style."""
        return self.briefer.brief(
            self.question,
            self.linked,
            style=style,
            view=self.options.view,
            language=self.language,
            budget_tokens=self.options.schema_tokens,
            embedder=self.embedder,
        )


@dataclass(frozen=True, slots=True)
class Drafted:
    """A query that a model wrote, and what it cost; ``declined`` says what it found missing, then there is no query.

    ``unsure`` is what the model itself says is doubtful.
    """

    text: str
    usage: Usage
    declined: str = ""
    unsure: str = ""


def draft(task: TranslationTask, model: ChatModel, *, style: str = "rules") -> Drafted:
    """A query for the question, as the model writes it; not checked yet.

    Raises:
        ModelError: the model cannot be reached, or its reply holds no query.
    """
    brief = task.brief(style)
    options = task.options
    examples = similar(
        task.question,
        task.examples,
        task.names,
        options.examples,
        embedder=task.embedder,
        leave_out_same=options.leave_out_same,
    )
    messages, _ = prompts.render_messages(
        _PROMPTS[style],
        question=task.question,
        language=task.language,
        schema=brief.schema,
        linked=list(brief.names),
        examples=[(item.question, brief.prefixes.shortened(item.query)) for item in reversed(examples)],
        candidates=[(item.words, brief.prefixes.shortened(item.query)) for item in task.likely],
    )
    return _drafted(model.complete(messages), model, brief)


def repaired(task: TranslationTask, attempt: Attempt, solutions: Solutions | None, model: ChatModel) -> Drafted:
    """Another query, after the issues with the last one, and the rows it found, were shown to the model.

    Raises:
        ModelError: the model cannot be reached, or its reply holds no query.
    """
    brief = task.brief("rules")
    messages, _ = prompts.render_messages(
        "repair-query",
        question=task.question,
        language=task.language,
        schema=brief.schema,
        linked=list(brief.names),
        query=attempt.query,
        issues=list(attempt.issues),
        found=_rows(solutions),
    )
    return _drafted(model.complete(messages), model, brief)


def _rows(solutions: Solutions | None) -> list[str]:
    if solutions is None or solutions.boolean is not None:
        return []
    return [
        " | ".join("(unbound)" if term is None else str(term)[:120] for term in row)
        for row in solutions.rows[:_ROWS_SHOWN]
    ]


def _drafted(completion: Completion, model: ChatModel, brief: Brief) -> Drafted:
    reply = _THINKING.sub("", completion.text[:_REPLY_LIMIT], count=1).strip()
    declined = _NONE.match(reply.strip("`").strip())
    if declined:
        return Drafted("", completion.usage, declined=declined["missing"].strip()[:300] or "what is asked")
    text = with_declarations(query_in(completion.text, model=model.name), brief.prefixes.namespaces)
    unsure = _UNSURE.search(reply)
    doubt = (unsure["what"].strip()[:200] or "it does not say what") if unsure else ""
    return Drafted(text, completion.usage, unsure=doubt)


def query_in(reply: str, *, model: str = "") -> str:
    r"""The SPARQL in a model's reply, whatever prose, thinking or fences stand around it.

    >>> query_in("Sure:\n```sparql\nASK { ?s ?p ?o }\n```\nThat is all.")
    'ASK { ?s ?p ?o }'

    Raises:
        ModelReplyError: there is none.
    """
    text = _THINKING.sub("", reply[:_REPLY_LIMIT], count=1)
    for fenced in sorted(_FENCE.findall(text), key=len, reverse=True):
        if (start := _START.search(fenced)) is not None:
            return str(fenced)[start.start(1) :].strip()
    match = _START.search(text) or _INLINE.search(text)
    if match is None:
        line = text.strip().partition("\n")[0][:80]
        raise ModelReplyError(f"model {model!r} did not reply with a query but with {line!r}", model=model, reply=reply)
    start_at = match.start(1) if match.re is _START else match.start()
    return _without_prose(text[start_at:])


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


# A query by a model: one draft or several, each put right and run; the result that most of them have wins.

Outcome: TypeAlias = bool | frozenset[tuple[str, ...]]
"""What two queries have in common that answer the same: a boolean, or rows whatever their columns are called."""

_REPAIRED, _DRAFTING_UNSURE, _EMPTY = 0.15, 0.2, 0.5
"""What a vote loses for each round of repair, for doubts of the model's own, and (as a factor) for no rows."""
_BUILTIN = 0.9
_SINGLE, _SHARED, _SUREST = 0.88, 0.6, 0.97
_BY_CHANCE = 0.3
"""How often two wrong queries give the same rows."""


@dataclass(frozen=True, slots=True)
class Drafting:
    """The query that won with all drafts and what they cost.

    ``sound``: the checker has nothing fatal against it. ``declined``: what the model found missing in the schema.
    ``confidence`` follows from how many drafts agree, what had to be put right, the model's own doubts (``unsure``),
    and whether a likely reading without a model finds the same.
    """

    text: str
    attempts: tuple[Attempt, ...]
    usage: Usage
    sound: bool
    declined: str = ""
    solutions: Solutions | None = None
    confidence: float = 0.0
    notes: tuple[str, ...] = ()
    unsure: str = ""


def query_by_model(task: TranslationTask, model: ChatModel) -> Drafting:
    """A checked query for the question, with its rows.

    Raises:
        ModelError: the model cannot be reached, or no reply of it holds a query.
    """
    options = task.options
    first = STYLES.index(options.style)
    styles = [STYLES[(first + number) % len(STYLES)] for number in range(options.drafts)]
    replies = _replies(task, model, styles)
    usage = sum((reply.usage for reply in replies), Usage())
    declined = [reply.declined for reply in replies if reply.declined]
    if len(declined) * 2 > len(replies):
        return Drafting("", (), usage, sound=False, declined=declined[0])
    drafts = [_mended(task, model, reply) for reply in replies if not reply.declined]
    usage = sum((item.usage for item in drafts), usage)
    return replace(_elected(task, drafts), usage=usage)


def _replies(task: TranslationTask, model: ChatModel, styles: Sequence[str]) -> list[Drafted]:
    """The drafts as they come; those that fail are left out, unless all do."""

    def one(number: int) -> Drafted | ModelError:
        varied = model.sample(number) if number and isinstance(model, SamplingModel) else model
        try:
            return draft(task, varied, style=styles[number])
        except ModelError as error:
            return error

    if len(styles) == 1 or task.options.workers < 2:
        found = [one(number) for number in range(len(styles))]
    else:
        task.brief(styles[0])  # what is made on first use is made here, not by several threads at once
        with ThreadPoolExecutor(max_workers=min(task.options.workers, len(styles))) as pool:
            found = list(pool.map(one, range(len(styles))))
    good = [item for item in found if isinstance(item, Drafted)]
    if not good:
        raise next(item for item in found if isinstance(item, ModelError))
    return good


def _mended(task: TranslationTask, model: ChatModel, reply: Drafted) -> RepairedQuery:
    found = mended(
        reply.text,
        names=task.names,
        revise=lambda attempt, solutions: repaired(task, attempt, solutions, model),
        run=task.run,
        rounds=task.options.repairs,
        prefixes=task.prefixes,
        language=task.language,
    )
    return replace(found, unsure=reply.unsure)


def _elected(task: TranslationTask, drafts: Sequence[RepairedQuery]) -> Drafting:
    """The draft whose rows have most votes; of equal ones that with fewer issues and rounds, the earlier one last."""
    attempts = tuple(attempt for item in drafts for attempt in item.attempts)
    sound = [item for item in drafts if item.sound and item.solutions is not None]
    notes = tuple(
        [f"the model is not sure: {item.unsure}" for item in drafts if item.unsure]
        + [f"not put right: {item.error}" for item in drafts if item.error]
    )
    if not sound:
        best = drafts[0]
        declined = next((item.declined for item in drafts if item.declined), "")
        return Drafting(best.text, attempts, Usage(), sound=False, declined=declined, notes=notes)
    votes: dict[Outcome, float] = defaultdict(float)
    for item in sound:
        votes[item.outcome] += item.weight
    others = _outcomes(task)
    if others and len(drafts) > 1:
        surest = max(others, key=lambda found: others[found])
        votes[surest] += _BUILTIN * others[surest]
    elected = max(sound, key=lambda item: (votes[item.outcome], item.weight))
    same = [item for item in sound if item.outcome == elected.outcome]
    if len(drafts) > 1:
        notes = (*notes, f"{len(same)} of {len(drafts)} drafts have this result")
    declined = elected.declined if elected.doubtful else ""
    return Drafting(
        text=elected.text,
        attempts=attempts,
        usage=Usage(),
        sound=not declined,
        declined=declined,
        solutions=elected.solutions,
        confidence=_confidence(elected, len(same) / len(drafts), len(drafts), others),
        notes=notes,
        unsure=elected.unsure,
    )


def _confidence(elected: RepairedQuery, share: float, drafts: int, others: Mapping[Outcome, float]) -> float:
    value = _SINGLE if drafts == 1 else _SHARED + 0.35 * share
    value -= 0.1 * (len(elected.attempts) - 1) + (0.12 if elected.unsure else 0.0)
    value -= 0.15 if elected.doubtful else 0.0
    found = elected.outcome
    if others:
        value = agreement(value, others.get(found, max(others.values())), same=found in others)
    return round(max(0.1, min(_SUREST - 0.1 * (1 - share), value)), 3)


def agreement(own: float, other: float, *, same: bool) -> float:
    """The probability of a result, given the probability of another way's, and whether the two are the same.

    By Bayes: of two different results at most one is right; two wrong ones are seldom the same.
    """
    both, neither = own * other, (1 - own) * (1 - other)
    if same:
        return both / (both + neither * _BY_CHANCE)
    alone = own * (1 - other)
    return alone / (alone + (1 - own) * other + neither * (1 - _BY_CHANCE))


def _outcomes(task: TranslationTask) -> dict[Outcome, float]:
    """What the likely readings without a model find, and how probable each result is."""
    found: dict[Outcome, float] = {}
    for reading in task.likely:
        try:
            rows = outcome(task.run(reading.query))
        except QueryError:
            continue
        found[rows] = max(found.get(rows, 0.0), min(reading.probability, _SUREST))
    return found


def outcome(solutions: Solutions) -> Outcome:
    """The rows as they are compared: sets of values, numbers by value, no rows and a count of 0 apart."""
    if solutions.boolean is not None:
        return solutions.boolean
    if is_empty(solutions) and not is_zero(solutions):
        return frozenset()
    return frozenset(tuple(sorted(map(_value, row))) for row in solutions.rows)


def _value(term: Term | None) -> str:
    if not isinstance(term, Literal):
        return str(term)
    try:
        return f"{float(term.value):.6g}"
    except ValueError:
        return term.value
