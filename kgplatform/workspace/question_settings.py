"""A question asked in a workspace: who translates it, from which source, as of which moment, after which turns.

The graph is asked first of all, for what it makes of the question tells what it is about; then the answer is taken
from whichever source can give one. Questions that are solved are kept here, and words are learnt from them.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import lru_cache, partial
from itertools import islice
from pathlib import Path

from pyoxigraph import Literal, NamedNode, RdfFormat, Triple, serialize

from kgplatform import resources
from kgplatform.documents.registry import Registry
from kgplatform.errors import ConfigError, NotFoundError, QueryError
from kgplatform.ontology.schema import read_ontology
from kgplatform.questions.answer import AnswerSettings, AnswerStage, QuestionParts, knowledge, tell
from kgplatform.questions.answer import ask as answered
from kgplatform.questions.dialogue.conversation import Talk, talk
from kgplatform.questions.dialogue.replies import Conversation, Turn
from kgplatform.questions.forms.form_reader import Reading
from kgplatform.questions.forms.question_text import Read, read, union
from kgplatform.questions.model_translator import TranslationOptions
from kgplatform.questions.passages.cited_answer import standing
from kgplatform.questions.passages.source_choice import GRAPH, OtherSources, SourceRules, decide, from_one, read_domains
from kgplatform.questions.solved_questions import Solved, shipped_examples
from kgplatform.settings import LEVELS, SOURCES, TRANSLATORS, Settings
from kgplatform.sparql.syntax import patterns_of
from kgplatform.store.oxigraph import parse
from kgplatform.text import language_of
from kgplatform.types import Answer, ChatModel, Evidence, Progress, Verdict
from kgplatform.vocab import ALT_LABEL, LABEL, PREFIXES, TYPE
from kgplatform.workspace.search import Way, browsed, provider, rows_of
from kgplatform.workspace.search import search as found_by
from kgplatform.workspace.workspace import Workspace

_DRAFTS = 3
_SOLVED = "sparql"
_UNSAFE = re.compile(r"[^\w-]+", re.UNICODE)


@dataclass(frozen=True, slots=True)
class AskOptions:
    """What is otherwise than the settings say; what is empty, 0 or None is as they say.

    ``using``: ``builtin`` leaves the model aside, ``model`` insists on one, ``drafts`` lets several of its drafts vote,
    all three on the graph alone; ``graph``, ``passages`` or ``web`` is the one source to ask. ``least_confidence``:
    that answers from passages need.
    ``measured``: a question is not shown its own solution.
    """

    using: str = "auto"
    style: str = ""
    view: str = ""
    drafts: int = 0
    phrase: bool | None = None
    measured: bool = False
    least_confidence: str = ""


def chosen_model(model: ChatModel | None, options: AskOptions) -> ChatModel | None:
    """The model that is to translate, if one is.

    Raises:
        ConfigError: there is no such way, or it needs a model and none is set.
    """
    ways = (*TRANSLATORS, *SOURCES)
    if options.using not in ways:
        raise ConfigError(f"{options.using!r} answers no questions; there are {', '.join(ways)}", setting="using")
    if options.using == "builtin":
        return None
    if model is None and (options.using in ("model", "drafts") or options.style or options.drafts):
        raise ConfigError("no model is set; name one in kgplatform.toml under [model]", setting="model.name")
    return model


def question_settings(settings: Settings, options: AskOptions) -> AnswerSettings:
    """The limits and ways of answering, from the settings and what is otherwise.

    Raises:
        ConfigError: a style, view or number cannot be used.
    """
    set_ = settings.questions
    drafts = options.drafts or (max(_DRAFTS, set_.drafts) if options.using == "drafts" else set_.drafts)
    translation = TranslationOptions(
        style=options.style or set_.style,
        view=options.view or set_.view,
        drafts=drafts,
        repairs=set_.repairs,
        examples=set_.examples,
        schema_tokens=set_.schema_tokens,
        leave_out_same=options.measured,
        workers=settings.model.workers,
    )
    return AnswerSettings(
        max_rows=set_.max_rows,
        phrased_by_model=set_.phrase if options.phrase is None else options.phrase,
        translation=translation.checked(),
    )


def examples(folder: Path) -> tuple[Solved, ...]:
    """The solved questions that ship with the platform and those in the workspace's folder ``sparql``."""
    return (*shipped_examples(), *own_examples(folder))


def own_examples(folder: Path) -> tuple[Solved, ...]:
    """The solved questions in the workspace's folder ``sparql``: those confirmed as right, and those written there."""
    own = folder / _SOLVED
    return _own(own, tuple(sorted((path.name, path.stat().st_mtime_ns) for path in own.glob("*.rq"))))


@lru_cache(maxsize=16)
def _own(folder: Path, _stamps: tuple[tuple[str, int], ...]) -> tuple[Solved, ...]:
    """The solved questions in the ``.rq`` files of a folder, read again when a file has changed; others are no such."""
    found = []
    for path in sorted(folder.glob("*.rq")):
        with suppress(QueryError, UnicodeDecodeError, OSError):
            text = path.read_text(encoding="utf-8-sig")
            found.append(Solved.read(resources.parse(f"examples/{path.stem}", text)))
    return tuple(found)


def keep(question: str, query: str, folder: Path) -> Path:
    """Keeps a question with its query among the solved questions of a workspace; the file is named after the question.

    Raises:
        QueryError: the question is empty.
    """
    summary = " ".join(question.split())
    if not summary:
        raise QueryError("a solved question needs a question", query=query)
    name = _UNSAFE.sub("-", summary.casefold()).strip("-")[:60].strip("-") or "question"
    own = folder / _SOLVED
    own.mkdir(parents=True, exist_ok=True)
    path, number, head = own / f"{name}.rq", 2, f"#+ summary: {summary}\n"
    while path.exists() and not path.read_text(encoding="utf-8-sig", errors="replace").startswith(head):
        path, number = own / f"{name}-{number}.rq", number + 1
    partial = path.with_suffix(".part")
    lines = (line for line in query.splitlines() if not line.startswith("#"))
    partial.write_text("\n".join((head.strip(), *lines)).strip() + "\n", encoding="utf-8")
    partial.replace(path)
    return path


def answering_rules(settings: Settings, options: AskOptions, now: str = "") -> SourceRules | None:
    """How a source is chosen; None where the graph alone is asked: a translator was named, or answers are measured.

    Raises:
        ConfigError: there is no such level of confidence.
    """
    set_ = settings.questions
    least = options.least_confidence or set_.least_confidence
    if least not in LEVELS:
        raise ConfigError(
            f"least_confidence is {least!r}; it must be one of {', '.join(LEVELS)}",
            setting="questions.least_confidence",
        )
    if options.using not in ("auto", *SOURCES) or (options.measured and options.using == "auto"):
        return None
    forced = options.using if options.using in SOURCES else ""
    return SourceRules(least, set_.domain_certainty, set_.fresh_days, set_.first, set_.passages, forced, now)


def question_parts(workspace: Workspace, options: AskOptions) -> QuestionParts:
    """What a question is answered from; raises as `chosen_model` and `question_settings`."""
    return QuestionParts(
        dataset=workspace.dataset,
        ontology=workspace.ontology,
        knowledge=workspace.knowledge,
        run=workspace.run,
        find=workspace.evidence_finder.find,
        why=workspace.inference.why,
        model=chosen_model(workspace.model, options),
        retrieve=partial(search, workspace),
        examples=examples(workspace.folder),
        embedder=lambda: workspace.embedder,
        settings=question_settings(workspace.settings, options),
    )


def beside(workspace: Workspace, options: AskOptions, now: str = "") -> OtherSources | None:
    """What there is to ask besides the graph; None: the graph alone is asked.

    Raises:
        ConfigError: a setting of it cannot be used.
    """
    settings = workspace.settings
    rules = answering_rules(settings, options, now)
    if rules is None:
        return None
    web = provider(settings.web, workspace.folder)
    return OtherSources(
        passages=partial(search, workspace, per_document=0),  # one sentence is sought: its note may have several
        web=browsed(web, settings.web.pages, embedder=lambda: workspace.embedder) if web else None,
        age_days=lambda item: _age_days(item, workspace.registry, now),
        domains=read_domains(workspace.loaded.triples, settings.questions.changes),
        rules=rules,
    )


def _age_days(item: Evidence, registry: Registry, now: str) -> float | None:
    """How many days ago the document or table of a passage was last read."""
    try:
        read = datetime.fromisoformat(registry.document(item.document).updated)
        then = datetime.fromisoformat(now) if now else datetime.now(UTC)
    except (NotFoundError, ValueError):
        return None
    return (then.replace(tzinfo=None) - read.replace(tzinfo=None)).total_seconds() / 86_400


def search(
    workspace: Workspace,
    text: str,
    k: int = 10,
    retriever: Way = "",
    *,
    per_document: int | None = None,
    plot: Path | None = None,
) -> list[Evidence]:
    """The passages that fit the text, best first, found as the settings say where nothing else is named.

    Raises as `kgplatform.workspace.search.search`.
    """
    sources, settings = workspace.sources, workspace.settings.retrieval
    sources.rows = lambda question: rows_of(ask(workspace, question))
    most = settings.per_document if per_document is None else per_document
    way = retriever or settings.retriever
    return found_by(sources, workspace.evidence_finder, text, k, way, per_document=most, plot=plot)


def ask(
    workspace: Workspace,
    question: str,
    *,
    conversation: str | None = None,
    now: str = "",
    options: AskOptions | None = None,
) -> Answer:
    """The answer to a question in a workspace, as of the moment that the asker or the settings give.

    Raises:
        ConfigError: the options ask for a model where none is set, or a style, name or moment is none.
        ReadError: the turns of the conversation cannot be read or written.
    """
    chosen, given = options or AskOptions(), now or workspace.settings.questions.now
    parts, others = question_parts(workspace, chosen), beside(workspace, chosen, given)
    folder = workspace.folder
    return converse(question, parts=parts, folder=folder, conversation=conversation, now=given, beside=others)


def converse(
    question: str,
    *,
    parts: QuestionParts,
    folder: Path,
    conversation: str | None = None,
    now: str = "",
    beside: OtherSources | None = None,
) -> Answer:
    """The answer to a question; in a conversation it may lean on the turns before, and its own is kept.

    ``beside``: what there is to ask besides the graph; None: the graph alone is asked.

    Raises:
        ConfigError: ``now`` is no moment, or ``conversation`` no name for one.
        ReadError: the turns so far cannot be read, or the new one not be written.
    """
    moment = checked_now(now)
    tell(AnswerStage.READING)
    kept = Conversation(folder, conversation) if conversation is not None else None
    turns = kept.turns() if kept else ()
    began = time.perf_counter()
    if beside is not None and beside.rules.forced not in ("", GRAPH):
        text, usage = standing(question, turns, parts.model)
        answer = from_one(text, beside.rules.forced, parts, beside)
        answer = replace(answer, question=replace(answer.question, text=question), usage=answer.usage + usage)
        turn = Turn(said=question, question=text, answer=answer.text, values=answer.values[:20])
    else:
        said = talk(question, Talk(parts, moment, turns))
        answer, turn = said.answer, said.turn
        if beside is not None and any(character.isalnum() for character in question):
            text, usage = standing(turn.question, turns, parts.model)
            answer = decide(text, answer, parts, beside)
            answer = replace(answer, usage=answer.usage + usage)
            turn = replace(turn, answer=answer.text, values=answer.values[:20])
    if kept is not None:
        kept.keep((*turns, turn))
    return replace(answer, usage=replace(answer.usage, seconds=time.perf_counter() - began))


def checked_now(text: str) -> datetime | None:
    """The moment that a text in ISO form gives, without its zone; None where it is empty.

    Raises:
        ConfigError: it gives none.
    """
    if not text:
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=None)
    except ValueError as error:
        raise ConfigError(f"now is {text!r}; write a moment as 2025-03-15T12:00", setting="questions.now") from error


# Words that solved questions teach: another name for a property or class, kept where it proves right.
#
# A solved question that the built-in translator does not answer as its query does is looked at for a term of that query
# which nothing in its wording means, and for words that mean nothing else. Each such word is tried as one more name of
# the term (``skos:altLabel``); it is kept if the question is then answered rightly and no other solved question falls.

_MEANT = 0.6
"""A term that a piece of the question resembles this much is said."""
_LONGEST, _MOST_TRIED = 3, 12
_LEARNT = "learnt-words.ttl"


@dataclass(frozen=True, slots=True)
class LearntWord:
    """One more name of a property or class, and the solved question that taught it."""

    term: NamedNode
    word: Literal
    question: str

    @property
    def triple(self) -> Triple:
        """What the ontology says of it."""
        return Triple(self.term, ALT_LABEL, self.word)


@dataclass(frozen=True, slots=True)
class LearntQuestions:
    """The solved questions, which of them came out right by themselves before and with the words that were learnt."""

    questions: tuple[str, ...] = ()
    before: tuple[bool, ...] = ()
    after: tuple[bool, ...] = ()
    words: tuple[LearntWord, ...] = ()


def learn_questions(workspace: Workspace, *, progress: Progress = lambda _done, _all, _what: None) -> LearntQuestions:
    """Learns from the workspace's own solved questions, none of them answered by its solution; nothing is written."""
    learner = _Learner(workspace)
    before = [learner.is_right(item, ()) for item in learner.solved]
    words: list[LearntWord] = []
    wrong = [item for item, right in zip(learner.solved, before, strict=True) if not right]
    for number, item in enumerate(wrong):
        progress(number, len(wrong), item.question)
        words += learner.word_for(item, words)
    after = [learner.is_right(item, words) for item in learner.solved] if words else before
    while words and any(one > other for one, other in zip(before, after, strict=True)):
        words.pop()  # the last is the least tried beside the others
        after = [learner.is_right(item, words) for item in learner.solved]
    return LearntQuestions(tuple(item.question for item in learner.solved), tuple(before), tuple(after), tuple(words))


def keep_words(workspace: Workspace, words: Iterable[LearntWord], folder: Path) -> Path:
    """Writes the words with those learnt before into a file, for `KnowledgeGraph.update_ontology` to take up."""
    files = [path for path in workspace.loaded.files if path.name == _LEARNT]
    known = [item.triple for path in files for item in parse(path.read_bytes(), RdfFormat.TURTLE)]
    path = folder / _LEARNT
    path.write_bytes(serialize(dict.fromkeys([*known, *(w.triple for w in words)]), format=RdfFormat.TURTLE) or b"")
    return path


class _Learner:
    """The solved questions of a workspace, asked with more and more words."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace, self.solved = workspace, own_examples(workspace.folder)
        self._parts = question_parts(workspace, AskOptions(using="builtin", measured=True))
        self._made: tuple[list[LearntWord], QuestionParts] | None = None

    def is_right(self, item: Solved, words: Sequence[LearntWord]) -> bool:
        """Whether a question has the rows of its solution where the ontology has those words too."""
        parts = self._with(words) if words else self._parts
        answer = answered(item.question, parts=parts)
        if answer.verdict is not Verdict.ANSWERED:
            return False
        try:
            return Reading("", item.query, 0.0).gives(answer.solutions, parts.run)
        except QueryError:
            return False

    def _with(self, words: Sequence[LearntWord]) -> QuestionParts:
        if self._made and self._made[0] == list(words):
            return self._made[1]
        space = self._workspace
        ontology = read_ontology([*space.loaded.triples, *(word.triple for word in words)])
        known = knowledge(space.dataset, ontology, (frame.scheme for frame in self._parts.knowledge.frames))
        self._made = (list(words), replace(self._parts, ontology=ontology, knowledge=known))
        return self._made[1]

    def word_for(self, item: Solved, words: Sequence[LearntWord]) -> list[LearntWord]:
        """The first word with which a question is answered rightly beside the others; empty where there is none."""
        tried = islice(self._words(item), _MOST_TRIED)
        return next(([word] for word in tried if self.is_right(item, [*words, word])), [])

    def _words(self, item: Solved) -> Iterator[LearntWord]:
        """Pieces of a question that mean nothing in its query, as words for the terms that nothing in it means."""
        forms = self._parts.knowledge.forms
        if forms is None:
            return
        language = language_of(item.question)
        text = read(item.question, language, forms.names)
        meant = forms.vocabulary(self._parts.embedder()).meanings(text)
        best = {term: max(meant.get(term, ()), key=lambda m: m.score, default=None) for term in _terms(item.query)}
        named = union(anchor.mask for anchor in text.anchors if anchor.exact)
        said = union(meaning.mask for meaning in best.values() if meaning is not None and meaning.score >= _MEANT)
        taken = text.cue(*text.cues) | named | said
        unsaid = [term for term, meaning in best.items() if meaning is None or meaning.score < _MEANT]
        for piece in _runs(text, text.content & ~taken):
            for term in unsaid:
                yield LearntWord(term, Literal(piece, language=language), item.question)


def _terms(query: str) -> list[NamedNode]:
    """The properties and classes of a query, as far as its patterns name them."""
    found = patterns_of(query, PREFIXES)
    said = [iri.value for pattern in found.triples for iri in pattern.predicates if iri.kind == "iri"]
    said += [p.object.value for p in found.triples if p.plain and p.predicates[0].value == TYPE.value]
    return [
        NamedNode(value) for value in dict.fromkeys(said) if value not in (TYPE.value, LABEL.value) and ":" in value
    ]


def _runs(text: Read, mask: int) -> Iterator[str]:
    """The pieces of a question whose tokens are all of those, the longest first."""
    places = [place for place in range(len(text.tokens)) if mask >> place & 1]
    for length in range(_LONGEST, 0, -1):
        for start in range(len(places) - length + 1):
            first, last = places[start], places[start + length - 1]
            if last - first == length - 1:
                yield text.text[text.tokens[first].start : text.tokens[last].end]
