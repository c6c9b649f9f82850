"""The academic study: dual-level retrieval against a naive, a light and a community baseline, by win rates."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final

from benchmarks.studies.judging import (
    CRITERIA,
    TRIALS,
    AnswerPair,
    ModelPairJudge,
    PairJudge,
    Remembering,
    WinRates,
    compare_pairs,
)
from benchmarks.studies.outcomes import StudyOutcome
from benchmarks.studies.setting import (
    Extracts,
    Framework,
    Item,
    Numbers,
    Passages,
    Produced,
    Setting,
    System,
    Writer,
    Writes,
    dual_level,
    outcomes,
    problems_of,
)
from benchmarks.studies.travel import costs
from kgplatform.errors import ModelError, NotFoundError
from kgplatform.evaluation.metrics import Estimate
from kgplatform.evaluation.question_maker import for_users
from kgplatform.evaluation.runs import ReportLine, ReportTable, StudyReport, moment
from kgplatform.graph import KnowledgeGraph
from kgplatform.questions.answer_text import unsupported
from kgplatform.retrieval.entity_retrieval import DualOptions
from kgplatform.retrieval.index import content_words
from kgplatform.text import has_han, sentences

# The built-in estimate of which of two answers is better: by how much of what they say is supported and to the point.
#
# It reads nothing: it counts. A sentence counts as far as it is like the question, and only if no name or number of
# it is
# missing from the passages that the answer was made from. Its win rates compare systems on the same questions roughly;
# they are not those of a model that judges, and every report names them as an estimate.


_SAME: Final = 0.05
_TO_THE_POINT: Final = 0.15
_FIRST, _SECOND, _EQUAL = "first", "second", "equal"


class CoverageJudge:
    """Compares two answers by counts; ``passages`` are those behind each answer, by its text.

    - comprehensiveness: the different words with meaning, each weighed by how like its sentence is to the question;
    - diversity: how unlike the sentences to the point are to each other, on the mean;
    - empowerment: the different names and numbers in sentences to the point, what one can check or act on;
    - overall: what most of the three say, comprehensiveness where they are split.

    Two values less than a twentieth apart are equal.
    """

    name = "built-in estimate (coverage and diversity of supported content)"

    def __init__(self, near: Remembering, passages: Mapping[str, Sequence[str]]) -> None:
        self._near = near
        self._passages = passages
        self._known: dict[tuple[str, str], tuple[float, float, float]] = {}

    def compare(self, question: str, first: str, second: str) -> dict[str, str]:
        """See `PairJudge.compare`."""
        pairs = zip(self._weighed(question, first), self._weighed(question, second), strict=True)
        verdicts = [_better(one, other) for one, other in pairs]
        return dict(zip(CRITERIA, (*verdicts, _overall(verdicts)), strict=True))

    def _weighed(self, question: str, answer: str) -> tuple[float, float, float]:
        key = (question, answer)
        if key not in self._known:
            self._known[key] = self._counted(question, answer)
        return self._known[key]

    def _counted(self, question: str, answer: str) -> tuple[float, float, float]:
        allowed = (*self._passages.get(answer, (answer,)), question)
        parts = [answer[start:end] for start, end in sentences(answer)]
        sound = [part for part in dict.fromkeys(parts) if not unsupported(part, allowed)]
        likeness = self._near.likeness(question, sound)
        pointed = [part for part, like in zip(sound, likeness, strict=True) if like >= _TO_THE_POINT]
        weights: dict[str, float] = {}
        for part, like in zip(sound, likeness, strict=True):
            for word in content_words(part):
                weights[word] = max(weights.get(word, 0.0), like)
        named = {name for part in pointed for name in unsupported(part, ())}
        return sum(weights.values()), self._unlike(pointed), float(len(named))

    def _unlike(self, parts: Sequence[str]) -> float:
        if len(parts) < 2:
            return 0.0
        values = [1.0 - self._near.likeness(one, [other])[0] for one, other in combinations(parts, 2)]
        return sum(values) / len(values)


def _better(one: float, other: float) -> str:
    if abs(one - other) <= _SAME * max(one, other):
        return _EQUAL
    return _FIRST if one > other else _SECOND


def _overall(verdicts: Sequence[str]) -> str:
    first, second = verdicts.count(_FIRST), verdicts.count(_SECOND)
    if first == second:
        return verdicts[0]
    return _FIRST if first > second else _SECOND


# The academic study: dual-level retrieval against a naive, a light and a community baseline, by win rates.


SOURCE: Final = (
    "the thesis behind AcademicRAG: UltraDomain agriculture and computer science, 125 questions each by a model, "
    "answers by Qwen2.5-72B, judged by DeepSeek-R1 in three trials"
)
OURS: Final = "dual-level"
NAIVE, LIGHT, COMMUNITY = "naive (dense)", "light-like", "communities"
NO_CLUES, ONE_HOP = "dual-level without clues", "dual-level, one hop"
_PUBLISHED: Final = (
    ("AcademicRAG against NaiveRAG", (0.572, 0.775)),
    ("AcademicRAG against LightRAG", (0.548, 0.566)),
    ("AcademicRAG against GraphRAG", (0.524, 0.536)),
    ("without clues against GraphRAG", (0.572, 0.518)),
    ("without subgraph against GraphRAG", (0.536, 0.552)),
)
_K: Final = 8
_TOKENS: Final = 1_500
_SENTENCES: Final = 8
_LEAST_PASSAGES: Final = 2
_MOST_IMAGINED: Final = 5


def run(setting: Setting) -> tuple[StudyReport, tuple[StudyOutcome, ...]]:
    """The study on the setting's workspace, and what it rests on.

    Raises:
        NotFoundError: the workspace has nothing to ask about.
    """
    started, near = time.perf_counter(), Remembering(setting.kg.embedder)
    items, problems = _items(setting)
    if not setting.kg.communities():
        setting.kg.find_communities()
    systems = _systems(setting, near)
    found = tuple(outcomes("academic", setting, items, systems, _unmeasured))
    judge: PairJudge
    trials = 1
    if setting.model:
        judge, trials = ModelPairJudge(setting.model), TRIALS
    else:
        judge = CoverageJudge(near, _passages(found))
    rivals = [
        (one, other, _against(found, items, one, other, judge, trials))
        for one, other in (
            *((OURS, other) for other in (NAIVE, LIGHT, COMMUNITY, NO_CLUES, ONE_HOP)),
            *((other, COMMUNITY) for other in (NO_CLUES, ONE_HOP)),
        )
    ]
    judged = [f"{one} against {other}: {text}" for one, other, rates in rivals for text in rates.problems]
    found_rate = _taken(rivals[0][2].rates["overall"])
    report = StudyReport(
        study="academic",
        title="Academic study: dual-level retrieval against naive, light and community baselines",
        source=SOURCE,
        date=moment(),
        method=setting.method,
        judge=judge.name,
        questions=len(items),
        seconds=time.perf_counter() - started,
        tables=(
            _published(),
            _rates(rivals[:3], "rates", "Win rates of dual-level, a tie counting half"),
            _rates(rivals[3:], "ablations", "Ablations: the whole against its parts, and these against communities"),
            _bias(rivals),
            costs(found, [system.name for system in systems]),
            _index_costs(setting.kg),
        ),
        differs=_differs(setting),
        problems=(*problems, *problems_of(found), *judged),
        options={**setting.options(), "k": _K, "context_tokens": _TOKENS, "trials": trials},
        headline=(f"overall win rate against {NAIVE}", found_rate) if found_rate else None,
    )
    return report, found


def _items(setting: Setting) -> tuple[list[Item], list[str]]:
    if setting.model is None:
        return _built_in(setting), []
    kg = setting.kg
    titles = [record.document.title for record in kg.documents()][:40]
    description = f"Documents: {'; '.join(titles)}"
    found: list[Item] = []
    problems: list[str] = []
    for language in setting.languages:
        share = -(-setting.count // len(setting.languages))
        users, tasks, questions = _scale(share)
        try:
            made = for_users(
                description, setting.model, language=language, users=users, tasks=tasks, questions=questions
            )
        except ModelError as error:
            problems.append(f"questions for users ({language}): {error}")
            continue
        step = max(1, len(made) // share)
        found += [Item(f"{language}-{n:03}", q.text, language, "user") for n, q in enumerate(made[::step][:share], 1)]
    return found or _built_in(setting), problems


def _scale(wanted: int) -> tuple[int, int, int]:
    """How many users, tasks and questions to imagine for so many questions: at most five of each, as the thesis has."""
    users = min(_MOST_IMAGINED, wanted)
    tasks = min(_MOST_IMAGINED, -(-wanted // users))
    return users, tasks, min(_MOST_IMAGINED, -(-wanted // (users * tasks)))


def _built_in(setting: Setting) -> list[Item]:
    """Open questions about things that several passages mention, and about two that a relation ties.

    Raises:
        NotFoundError: nothing is mentioned twice, and no two things are related.
    """
    knowledge = setting.kg.sources.knowledge()
    labels = {thing.iri: thing.label for thing in knowledge.things}
    topics = [
        name
        for thing in knowledge.things
        if len(thing.passages) >= _LEAST_PASSAGES
        for name in dict.fromkeys((thing.label, *filter(has_han, thing.names)))
        if len(name) > 1
    ]
    ties = [
        (labels[item.subject], labels[item.object])
        for item in knowledge.relations
        if item.passages and item.subject in labels and item.object in labels
    ]
    draw = random.Random(setting.seed)
    draw.shuffle(topics)
    draw.shuffle(ties)
    found: dict[str, Item] = {}
    for text, language, kind in _worded(topics, ties, setting.languages):
        if len(found) >= setting.count:
            break
        found.setdefault(text, Item(f"{kind}-{len(found) + 1:03}", text, language, kind))
    if not found:
        raise NotFoundError("the workspace has nothing to ask about; add documents first", name="documents")
    return list(found.values())


def _worded(
    topics: Sequence[str], ties: Sequence[tuple[str, str]], languages: Sequence[str]
) -> Iterator[tuple[str, str, str]]:
    """Questions in turn about a topic and about two things; a topic is asked about in its own language."""
    own = [topic for topic in topics if ("zh" if has_han(topic) else "en") in languages]
    for place in range(max(len(own), len(ties))):
        if place < len(own):
            topic = own[place]
            chinese = has_han(topic)
            text = f"关于{topic}，这些文献说了什么？" if chinese else f"What do the documents say about {topic}?"
            yield text, "zh" if chinese else "en", "topic"
        if place < len(ties):
            one, other = ties[place]
            if "en" in languages:
                yield f"How do {one} and {other} belong together, and what else is tied to them?", "en", "relation"
            else:
                yield f"{one}和{other}有什么关系，还与什么有关？", "zh", "relation"


def _systems(setting: Setting, near: Remembering) -> list[System]:
    kg = setting.kg
    writer: Writer = Writes(setting.model) if setting.model else Extracts(near, count=_SENTENCES)

    def dual(name: str, options: DualOptions, *, one_hop: bool = False) -> System:
        return Framework(name, dual_level(kg, options, _K, tokens=_TOKENS, one_hop=one_hop), writer)

    return [
        dual(OURS, DualOptions()),
        dual(NO_CLUES, DualOptions(clues=0)),
        dual(ONE_HOP, DualOptions(), one_hop=True),
        dual(LIGHT, DualOptions(clues=0), one_hop=True),
        Passages(kg, "dense", writer, k=_K, name=NAIVE),
        Passages(kg, "communities", writer, k=_K, name=COMMUNITY),
    ]


def _unmeasured(_item: Item, _produced: Produced) -> tuple[Numbers, tuple[str, ...]]:
    """Answers of this study are compared in pairs, not measured each."""
    return {}, ()


def _passages(found: Sequence[StudyOutcome]) -> dict[str, tuple[str, ...]]:
    return {item.answer: (item.extra["context"],) for item in found if "context" in item.extra}


def _against(
    found: Sequence[StudyOutcome], items: Sequence[Item], one: str, other: str, judge: PairJudge, trials: int
) -> WinRates:
    answers = {(item.id, item.system): item for item in found if not item.problems}
    pairs = [
        AnswerPair(item.id, item.text, answers[item.id, one].answer, answers[item.id, other].answer)
        for item in items
        if (item.id, one) in answers and (item.id, other) in answers
    ]
    return compare_pairs(pairs, judge, trials=trials)


def _published() -> ReportTable:
    rows = tuple(ReportLine(name, values, published=True) for name, values in _PUBLISHED)
    note = "Against GraphRAG its variants without clues or subgraph win more often than the whole, but for one of four."
    return ReportTable("published", "Published overall win rates", ("agriculture", "computer science"), rows, note=note)


def _rates(rivals: Sequence[tuple[str, str, WinRates]], id_: str, title: str) -> ReportTable:
    rows = tuple(
        ReportLine(f"{one} against {other}", tuple(_taken(rates.rates[name]) for name in CRITERIA))
        for one, other, rates in rivals
    )
    return ReportTable(id_, title, CRITERIA, rows, note="0.5: neither wins; intervals draw questions")


def _taken(value: Estimate) -> Estimate | None:
    """The estimate, None where nothing was there to estimate it from: no judgement, or none that decided."""
    return value if value.count else None


def _bias(rivals: Sequence[tuple[str, str, WinRates]]) -> ReportTable:
    rows = tuple(
        ReportLine(f"{one} against {other}", (_taken(rates.first_favoured), _taken(rates.consistent)))
        for one, other, rates in rivals
    )
    columns = ("shown first and won", "same winner in both orders")
    return ReportTable("bias", "Whether the judge favours a place", columns, rows, note="0.5 and 1: no bias")


def _index_costs(kg: KnowledgeGraph) -> ReportTable:
    from kgplatform.workspace.intake import usage_of

    records = [record for record in kg.documents() if record.graph is None]
    used = usage_of([found for record in records for found in kg.registry.extractions(record.document.iri)])
    reports = len(kg.communities())
    rows = (
        ReportLine("GraphRAG, as the thesis reckons", ("35,000,000 for 7,000 reports", "610,000")),
        ReportLine("AcademicRAG, as the thesis reckons", ("no reports", "under 500 for keywords")),
        ReportLine(
            "here",
            (
                f"{used.prompt_tokens + used.completion_tokens:,} for {len(records)} documents, {reports} reports",
                "see above",
            ),
        ),
    )
    published = tuple(ReportLine(row.system, row.values, published=row.system != "here") for row in rows)
    note = "the thesis leaves the call that words the answer out of its reckoning (up to 24,000 tokens of context)"
    columns = ("model tokens of the index", "model tokens of a question")
    return ReportTable("index", "Tokens of a model", columns, published, note=note, chart=False)


def _differs(setting: Setting) -> tuple[str, ...]:
    if setting.model:
        who = (
            f"Answers were written and compared by {setting.method}, three trials in both orders, with questions it "
            "made for imagined users."
        )
    else:
        who = (
            "No model took part: answers are the eight sentences of the context most like the question, and the winner "
            "is an estimate by coverage and diversity of supported content, which reads nothing. A judge that reads "
            "may decide otherwise."
        )
    return (
        who,
        "Questions are few and about the workspace's own documents, which are far less text than UltraDomain.",
        "`light-like` is dual-level retrieval without clues and with one hop instead of the subgraph, not LightRAG "
        f"itself; `communities` answers from the {_K} nearest community reports, not by map and reduce.",
        f"Every context block is cut to {_TOKENS} tokens for every dual-level system.",
        f"The embedding model is {setting.kg.embedder.name}; Chinese is compared by shared words where it lacks it.",
    )
