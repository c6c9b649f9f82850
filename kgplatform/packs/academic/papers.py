"""Sentences on papers, each with its passages: by a language model and guarded, or the papers' own."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.documents.chunking import ABSTRACT_START, SectionKind, TextSection, sections_of
from kgplatform.documents.records import State
from kgplatform.entities import Labels
from kgplatform.errors import ModelError, NotFoundError
from kgplatform.extraction.names import tag
from kgplatform.extraction.ontology_lexicon import FILLERS, FUNCTION_WORDS
from kgplatform.models import prompts
from kgplatform.models.json_replies import json_of
from kgplatform.packs.academic.courses import PAPER, Parts, term
from kgplatform.text import count_tokens, has_han, normalise, sentences, singular
from kgplatform.types import ChatModel, Document, Evidence, Message, Usage
from kgplatform.vocab import ALT_LABEL, LABEL, TYPE

# This cannot tell whether a sentence follows from its passages; it catches what is made up most often and does most
# harm.
_MARK: Final = re.compile(r"\s*[\[［【]\d+(?:\s*[,，、-]\s*\d+)*[\]］】]")
_NUMBER: Final = re.compile(r"(?<![^\W\d_])\d+(?:[.,]\d+)*")
_LETTER: Final = r"0-9A-Za-z\u00c0-\u024f"
_LATIN: Final = re.compile(rf"[{_LETTER}]+(?:[-.&+/][{_LETTER}]+)*")
_TITLED: Final = re.compile(r"[《“\"]([^》”\"]{2,120})[》”\"]")
_SPELT_WORDS: Final = "zero one two three four five six seven eight nine ten"
_SPELT: Final = (_SPELT_WORDS.split(), list("零一二三四五六七八九十"))
_WORD_NUMBERS: Final = {word: str(n) for spelt in _SPELT for n, word in enumerate(spelt)}


@dataclass(frozen=True, slots=True)
class Dropped:
    """A sentence that a model wrote and that was left out, with why."""

    text: str
    reason: str


def unsupported(text: str, passages: Iterable[Evidence], names: Iterable[str] = (), papers: str = "") -> str | None:
    """Why the passages do not bear the sentence, as a clause; None if they have its numbers and names.

    ``names`` are names of the graph: one in the sentence has to be in the passages too, whatever its letters, if they
    are all in its script; a sentence in another language than its passages names things in its own words.
    ``papers``: titles and years of the papers that the passages are of, which count as said.
    """
    passages = tuple(passages)
    held = " ".join([papers, *(f"{item.title} {item.quote}" for item in passages)])
    plain, told = _MARK.sub("", text), _folded(held)
    numbers = _numbers(held) | _spelt(held)
    for number in sorted(_numbers(plain) - numbers):
        return f"its passages do not have the number {number}"
    for name in _names(plain):
        if not _has(told, name):
            return f"its passages do not have {name!r}"
    for name in names:
        if any(has_han(item.quote) != has_han(name) for item in passages):
            continue
        if len(_folded(name)) > 3 and _has(_folded(plain), name) and not _has(told, name):
            return f"its passages do not have {name!r}"
    return None


def _numbers(text: str) -> set[str]:
    """The numbers in the text, without thousands separators and trailing zeros."""
    return {_plain(number) for number in _NUMBER.findall(text)}


def _spelt(text: str) -> set[str]:
    """The numbers that the text has in words."""
    low = text.casefold()
    return {
        n for word, n in _WORD_NUMBERS.items() if (word in low if has_han(word) else re.search(rf"\b{word}\b", low))
    }


def _plain(number: str) -> str:
    whole = re.sub(r",(?=\d{3}(?:\D|$))", "", number).replace(",", ".")
    return whole.rstrip("0").rstrip(".") if "." in whole else whole.lstrip("0") or "0"


def _names(text: str) -> list[str]:
    """The words that look like names: with a capital letter inside, or at the beginning but not of a sentence.

    Titles in Chinese quotation marks are names too. Digits are looked at as numbers.
    """
    found = [match for match in _TITLED.findall(text) if has_han(match)]
    start = True
    for match in _LATIN.finditer(text):
        word = match.group()
        inner = any(letter.isalpha() for letter in word) and any(letter.isupper() for letter in word[1:])
        if inner or (word[0].isupper() and len(word) > 1 and not start):
            found.append(word)
        start = text[match.end() : match.end() + 1] in (".", "!", "?", ":")
    return found


def _has(held: str, name: str) -> bool:
    """Whether the text has the name, or its singular or plural."""
    plain = _folded(name)
    if not plain or has_han(plain):
        return plain in held
    forms = (plain, plain.removesuffix("s"), plain.removesuffix("'s"), f"{plain}s")
    return any(
        re.search(rf"(?<![{_LETTER}]){re.escape(form)}(?![{_LETTER}])", held, re.IGNORECASE) for form in forms if form
    )


def _folded(text: str) -> str:
    """The text as names are compared: without case, width or kinds of blanks."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


# A document is a paper's text if it has an abstract and a paper's name stands in its title or before its abstract (the
# longest name counts). A document with an abstract that fits no paper of the graph is a paper by itself.
DIGESTED: Final = (SectionKind.ABSTRACT, SectionKind.INTRODUCTION)
"""What is read of every paper; the rest is read of chosen ones."""

IN_FULL: Final = (SectionKind.ABSTRACT, SectionKind.INTRODUCTION, SectionKind.BODY, SectionKind.CONCLUSION)

_YEAR: Final = re.compile(r"(?<![\d.:/])((?:19|20)\d{2})(?!\d|\.\d|-\d)")
_BLANKS: Final = re.compile(r"\s+")
_FRONT: Final = 1500
_LEAST_NAME: Final = 8
_LEAST_SENTENCE: Final = 12
_NAMES_TOLD: Final = 3


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a paper in one line, the section it stands in, and the passage it is."""

    paper: NamedNode
    text: str
    section: SectionKind
    source: Evidence


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper: its title, year (``year_read``: from its text, the graph has none), texts, and the papers it cites.

    One without a text is only cited, or named.
    """

    iri: NamedNode
    title: str
    year: int | None = None
    year_read: bool = False
    texts: tuple[Document, ...] = ()
    cites: tuple[NamedNode, ...] = ()
    names: frozenset[str] = frozenset()


class Library:
    """The papers of a graph, read once; those with a text first."""

    def __init__(self, parts: Parts, language: str = "en") -> None:
        self.parts = parts
        self.language = language
        self.labels = Labels(parts.dataset, parts.ontology, language)
        named = [self._named(iri) for iri in parts.instances(PAPER)]
        texts = [record.document for record in parts.registry.documents(State.PROCESSED) if record.graph is None]
        papers = {paper.iri: paper for paper in _with_texts(named, texts)}
        self.papers: dict[NamedNode, Paper] = {iri: _dated(paper) for iri, paper in papers.items()}
        self._read: dict[NamedNode, tuple[Sentence, ...]] = {}

    def __len__(self) -> int:
        return len(self.digested())

    def digested(self) -> list[Paper]:
        """The papers with a text, by year and title."""
        found = [paper for paper in self.papers.values() if paper.texts]
        return sorted(found, key=lambda paper: (paper.year or 0, paper.title))

    def find(self, name: str) -> Paper:
        """The paper of that IRI or title, or the one whose title holds the words.

        Raises:
            NotFoundError: no paper, or several, are called so.
        """
        if "://" in name and " " not in name and NamedNode(name) in self.papers:
            return self.papers[NamedNode(name)]
        wanted = normalise(name)
        exact = [paper for paper in self.papers.values() if wanted in paper.names]
        held = (
            [paper for paper in self.papers.values() if any(wanted in text for text in paper.names)] if wanted else []
        )
        found = exact or [paper for paper in held if paper.texts] or held
        if len(found) == 1:
            return found[0]
        if found:
            listed = "; ".join(paper.title for paper in found[:_NAMES_TOLD])
            raise NotFoundError(f"{len(found)} papers are named {name!r}: {listed}; give more of the title", name=name)
        raise NotFoundError(f"no paper is named {name!r}; `kgplatform literature` lists them", name=name)

    def sentences(self, paper: Paper, kinds: Sequence[SectionKind] = DIGESTED) -> list[Sentence]:
        """The sentences of those sections, in order, without headings."""
        if paper.iri not in self._read:
            self._read[paper.iri] = tuple(item for text in paper.texts for item in _sentences(paper, text))
        return [item for item in self._read[paper.iri] if item.section in kinds]

    def linked(self, paper: Paper, name: str, turned: str = "") -> list[NamedNode]:
        """What the graph relates the paper to by that property of the academic ontology."""
        return self.parts.linked(paper.iri, name, turned)

    def name(self, iri: NamedNode) -> str:
        """What a thing or paper is called."""
        return self.papers[iri].title if iri in self.papers else self.labels.of(iri).text

    def cited_by(self) -> dict[NamedNode, int]:
        """How many papers of the graph cite each paper."""
        counts = dict.fromkeys(self.papers, 0)
        for paper in self.papers.values():
            for other in paper.cites:
                counts[other] = counts.get(other, 0) + 1
        return counts

    def _named(self, iri: NamedNode) -> Paper:
        names = [word.text for kind in (LABEL, ALT_LABEL) for word in self.labels.words(iri, (kind,))]
        years = [text for text in self.parts.texts(iri, "publicationYear") if text[:4].isdecimal()]
        return Paper(
            iri=iri,
            title=self.labels.of(iri).text,
            year=int(years[0][:4]) if years else None,
            cites=tuple(self.parts.linked(iri, "cites", "citedBy")),
            names=frozenset(filter(None, map(normalise, names))),
        )


def _with_texts(papers: Sequence[Paper], texts: Iterable[Document]) -> Iterable[Paper]:
    """The papers with their texts, and papers made of the texts that fit none."""
    names = sorted(((name, paper) for paper in papers for name in paper.names), key=lambda item: -len(item[0]))
    found: dict[NamedNode, Paper] = {paper.iri: paper for paper in papers}
    for text in texts:
        front = _front(text.text)
        if front is None:
            continue
        title = normalise(text.title)
        fitting = [paper for name, paper in names if name == title]
        fitting += [paper for name, paper in names if len(name) >= _LEAST_NAME and name in front]
        iri = fitting[0].iri if fitting else text.iri
        paper = found.get(iri) or Paper(text.iri, text.title, names=frozenset((title,)))
        found[iri] = replace(paper, texts=(*paper.texts, text))
    return found.values()


def _front(text: str) -> str | None:
    """What stands before the abstract, as names are compared; None where there is no abstract."""
    sections = sections_of(text)
    abstract = next((section for section in sections if section.kind is SectionKind.ABSTRACT), None)
    return None if abstract is None else normalise(text[: min(abstract.start, _FRONT)])


def _dated(paper: Paper) -> Paper:
    """The paper with the first year before its abstract, if the graph has none."""
    if paper.year is not None:
        return paper
    for text in paper.texts:
        sections = sections_of(text.text)
        front = next((item for item in sections if item.kind is SectionKind.FRONT), None)
        match = _YEAR.search(text.text, 0, min(front.end, _FRONT)) if front else None
        if match:
            return replace(paper, year=int(match[1]), year_read=True)
    return paper


def _sentences(paper: Paper, text: Document) -> Iterable[Sentence]:
    for section in sections_of(text.text):
        if section.kind in IN_FULL:
            yield from _of_section(paper, text, section)


def _of_section(paper: Paper, text: Document, section: TextSection) -> Iterable[Sentence]:
    opening = ABSTRACT_START.match(text.text, section.start, section.end)
    heading = opening.end() if opening else text.text.find("\n", section.start, section.end)
    begin = heading if opening or (section.heading and heading >= 0) else section.start
    for start, end in sentences(text.text, begin, section.end):
        line = _BLANKS.sub(" ", text.text[start:end]).strip()
        if len(line) >= _LEAST_SENTENCE and not line.startswith(("#", "| ---", "|---")):
            quote = text.text[start:end]
            source = Evidence(text.iri, text.iri, text.title, text.source, quote, start, end)
            yield Sentence(paper.iri, line, section.kind, source)


def classes_of(parts: Parts, iri: NamedNode) -> set[NamedNode]:
    """The classes that the graph puts the thing in."""
    return {item for item in parts.dataset.store.objects(iri, TYPE) if isinstance(item, NamedNode)}


def is_of(parts: Parts, iri: NamedNode, *names: str) -> bool:
    """Whether the thing is of one of the classes of the academic ontology with these local names."""
    return bool(classes_of(parts, iri) & {term(name) for name in names})


_CLASSES: Final = ("Concept", "Method", "Model", "Task", "Dataset", "Metric")
_PIECE: Final = re.compile(r"[^\W\d_]+(?:-[^\W_]+)*|\S")
_COMMON_WORDS: Final = """
    paper work works study approach method methods model models result results show shows shown propose proposed
    proposes present presents presented introduce use uses used using based new novel one two three first second
    several many more most much better best well good large small high low long short different same other others
    each every any all both such this that these those which who whose what how when where while because since
    however therefore thus then than also only even still yet very here there their its our it they we can could may
    might must shall should will would do does did done not no nor so too let make makes made need needs needed
    called without within between among across through during against per via into onto about over under after
    before again further way ways part parts number kind set sets case time times year years page authors author
    et al figure table section answer question problem problems given take takes taken whole until less few half own
    cannot easily quickly usually often always never plain keep keeps kept build builds together able become becomes
    found find finds learns learn trains train trained evaluated evaluate reaching reach reaches step steps fast slow
    like instead says said every once alone billion million
"""
_COMMON: Final = frozenset(_COMMON_WORDS.split())
_COMMON_HAN_WORDS: Final = "本文 论文 研究 方法 模型 结果 工作 问题 情况 时候 部分 一种 作者 摘记 数据 基础 函数"
_COMMON_HAN: Final = frozenset(_COMMON_HAN_WORDS.split())
_LONGEST: Final = 3
_LEAST_PAPERS: Final = 2
_MOST_TOPICS: Final = 60
_TREND: Final = 0.15


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic: its words, the thing of the graph (None: a phrase of the texts), its papers, and a sentence of each."""

    name: str
    iri: NamedNode | None
    papers: tuple[NamedNode, ...]
    passages: tuple[Sentence, ...]


@dataclass(frozen=True, slots=True)
class Trend:
    """How many papers a year deal with a topic, and whether their share rises (1), falls (-1) or neither (0)."""

    topic: Topic
    years: tuple[tuple[int, int], ...]
    direction: int

    @property
    def total(self) -> int:
        """The papers of all years, undated ones included."""
        return len(self.topic.papers)


def topics(library: Library, papers: Sequence[Paper]) -> list[Topic]:
    """What the abstracts and introductions deal with, the topics of most papers first."""
    named = _topics_names(library)
    said: dict[str, dict[NamedNode, Sentence]] = defaultdict(dict)
    of: dict[str, NamedNode] = {}
    shown: dict[str, Counter[str]] = defaultdict(Counter)
    for paper in papers:
        for sentence in library.sentences(paper, DIGESTED):
            for key, text in _mentioned(sentence.text, named):
                said[key].setdefault(paper.iri, sentence)
                shown[key][text] += 1
                if key in named:
                    of[key] = named[key]
    most = max(_LEAST_PAPERS, len(papers))
    kept = [key for key, by in said.items() if key in of or _LEAST_PAPERS <= len(by) <= most]
    kept = _without_parts(kept, said)
    found = [
        Topic(shown[key].most_common(1)[0][0], of.get(key), tuple(said[key]), tuple(said[key].values())) for key in kept
    ]
    return sorted(found, key=lambda topic: (-len(topic.papers), topic.iri is None, topic.name))[:_MOST_TOPICS]


def trends(found: Iterable[Topic], papers: Sequence[Paper]) -> list[Trend]:
    """The topics by year; those of one paper are no trend."""
    years = {paper.iri: paper.year for paper in papers if paper.year is not None}
    all_years = Counter(years.values())
    return [
        Trend(topic, counts := _by_year(topic, years), _direction(dict(counts), all_years))
        for topic in found
        if len(topic.papers) >= _LEAST_PAPERS
    ]


def _by_year(topic: Topic, years: Mapping[NamedNode, int]) -> tuple[tuple[int, int], ...]:
    return tuple(sorted(Counter(years[iri] for iri in topic.papers if iri in years).items()))


def _direction(counts: Mapping[int, int], all_years: Mapping[int, int]) -> int:
    """Whether the topic's share of the later half of the papers is clearly above or below that of the earlier half."""
    ordered = [year for year, number in sorted(all_years.items()) for _ in range(number)]
    if len(set(ordered)) < 2:
        return 0
    middle = ordered[len(ordered) // 2]
    middle = middle if middle > ordered[0] else min(year for year in ordered if year > ordered[0])
    early = sum(number for year, number in all_years.items() if year < middle)
    late = len(ordered) - early
    shares = [
        sum(number for year, number in counts.items() if (year < middle) == is_early) / size
        for is_early, size in ((True, early), (False, late))
    ]
    change = shares[1] - shares[0]
    return 1 if change > _TREND else -1 if change < -_TREND else 0


def _topics_names(library: Library) -> dict[str, NamedNode]:
    """The names of the graph's concepts, methods, models, tasks, data sets and metrics, as compared."""
    parts = library.parts
    found: dict[str, NamedNode] = {}
    for name in _CLASSES:
        for iri in parts.instances(term(name)):
            for word in library.labels.words(iri):
                key = _key(word.text)
                if len(key) >= (2 if has_han(key) or word.text.isupper() else 4) and key not in _COMMON | _COMMON_HAN:
                    found.setdefault(key, iri)
    return found


def _mentioned(text: str, named: Mapping[str, NamedNode]) -> Iterator[tuple[str, str]]:
    """The names and phrases in a sentence: what they are compared by, and as written."""
    if has_han(text):
        yield from _han(text, named)
        return
    pieces = [match.group() for match in _PIECE.finditer(text)]
    run: list[str] = []
    for piece in [*pieces, "."]:
        if piece[0].isalpha() and not _is_common(piece):
            run.append(piece)
            continue
        yield from _of_run(run, named)
        run = []


def _of_run(run: Sequence[str], named: Mapping[str, NamedNode]) -> Iterator[tuple[str, str]]:
    for size in range(1, _LONGEST + 1):
        for start in range(len(run) - size + 1):
            words = run[start : start + size]
            text = " ".join(words)
            key = _key(text)
            if key in named or (len(key) >= 5 and (size > 1 or _is_name(text))):
                yield key, text


def _han(text: str, named: Mapping[str, NamedNode]) -> Iterator[tuple[str, str]]:
    """Names of the graph anywhere, and nouns of two letters or more, with the noun before them where there is one."""
    whole = normalise(text)
    for key in named:
        inside = key in whole if has_han(key) else re.search(rf"(?<![a-z0-9]){re.escape(key)}(?![a-z0-9])", whole)
        if inside:
            yield key, key
    before = ""
    for token in tag(text):
        is_noun = token.tag.startswith(("n", "vn", "l", "i")) and has_han(token.text) and len(token.text) > 1
        if is_noun and token.text not in _COMMON_HAN:
            yield token.text, token.text
            if before:
                yield before + token.text, before + token.text
        before = token.text if is_noun else ""


def _is_common(word: str) -> bool:
    low = word.casefold()
    return low in _COMMON or low in FUNCTION_WORDS or low in FILLERS


def _is_name(word: str) -> bool:
    """Whether a word that stands alone tells enough: LibriSpeech, fine-tuning, BLEU; but not network."""
    return "-" in word or any(letter.isupper() for letter in word[1:])


def _key(text: str) -> str:
    """The text as compared: case-folded, the last word in the singular."""
    words = normalise(text).split()
    return " ".join([*words[:-1], singular(words[-1])]) if words else ""


def _without_parts(keys: Sequence[str], said: Mapping[str, Mapping[NamedNode, object]]) -> list[str]:
    """The keys without those that only occur as a part of a longer one, in the same papers."""
    kept: list[str] = []
    for key in sorted(keys, key=len, reverse=True):
        joined = "" if has_han(key) else " "
        longer = (
            other
            for other in kept
            if f"{joined}{key}{joined}" in f"{joined}{other}{joined}" and said[key].keys() <= said[other].keys()
        )
        if next(longer, None) is None:
            kept.append(key)
    return kept


SCHEMA: Final[Mapping[str, object]] = {
    "type": "object",
    "required": ["sentences"],
    "properties": {
        "sentences": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["part", "text", "sources"],
                "properties": {
                    "part": {"type": "string"},
                    "text": {"type": "string"},
                    "sources": {"type": "array", "items": {"type": "integer"}},
                },
            },
        }
    },
}
PASSAGE_TOKENS: Final = 6000
"""The room for passages in a prompt."""

_MARKED: Final = 6
"""About how many tokens a passage's number and paper take."""

_MOST_SOURCES: Final = 6


@dataclass(frozen=True, slots=True)
class CitedSentence:
    """A sentence of a text: the part it belongs to, its words, and the passages it rests on."""

    part: str
    text: str
    sources: tuple[Evidence, ...]


@dataclass(frozen=True, slots=True)
class Written:
    """A text on papers: its sentences; ``model`` None: taken from the papers. ``dropped`` were not borne out.

    ``trouble`` says why there is no text of the model that was asked.
    """

    sentences: tuple[CitedSentence, ...] = ()
    model: str | None = None
    dropped: tuple[Dropped, ...] = ()
    usage: Usage = field(default_factory=Usage)
    trouble: str = ""

    def part(self, name: str) -> tuple[CitedSentence, ...]:
        """The sentences of one part."""
        return tuple(item for item in self.sentences if item.part == name)


@dataclass(frozen=True, slots=True)
class Material:
    """What a text is written from: papers, their sentences, names of the graph, and results by sentence."""

    papers: Sequence[Paper]
    sentences: Sequence[Sentence]
    names: Sequence[str] = ()
    results: Sequence[tuple[Sentence, str, str, str]] = ()


def own_words(parts: Mapping[str, Sequence[Sentence]]) -> Written:
    """The papers' own sentences as a text, each its own passage."""
    told = [CitedSentence(part, item.text, (item.source,)) for part, group in parts.items() for item in group]
    return Written(tuple(dict.fromkeys(told)))


def digest_text(material: Material, *, model: ChatModel, language: str, topic: str) -> Written:
    """What a model writes on papers from their abstracts and introductions; what is not borne out is dropped."""
    shown = fitting(material.sentences)
    messages, _ = prompts.render_messages(
        "digest-papers",
        language=language,
        topic=topic,
        papers=list(material.papers),
        passages=_shown(shown, material.papers),
    )
    parts = ("overview", "trends", "gaps", "relevant") if topic else ("overview", "trends", "gaps")
    return _written(messages, shown, material, model, parts)


def comparison_text(material: Material, *, model: ChatModel, language: str) -> Written:
    """What a model writes on chosen papers from their full texts; what is not borne out is dropped."""
    shown = fitting(material.sentences)
    marks = _marks(material.papers)
    numbers = {sentence.source: n for n, sentence in enumerate(shown, start=1)}
    results = [
        {"paper": marks[s.paper], "value": value, "metric": metric, "dataset": dataset, "number": numbers[s.source]}
        for s, value, metric, dataset in material.results
        if s.source in numbers
    ]
    messages, _ = prompts.render_messages(
        "compare-papers",
        language=language,
        papers=list(material.papers),
        passages=_shown(shown, material.papers),
        results=results,
    )
    return _written(messages, shown, material, model, ("methods", "comparison", "suggestions"))


def fitting(sentences: Sequence[Sentence], tokens: int = PASSAGE_TOKENS) -> list[Sentence]:
    """The sentences that fit into a prompt: of every paper the first ones, as many as there is room for in turn."""
    waiting: dict[NamedNode, list[Sentence]] = {}
    for sentence in dict.fromkeys(sentences):
        waiting.setdefault(sentence.paper, []).append(sentence)
    chosen: set[Evidence] = set()
    while waiting and tokens > 0:
        for paper in list(waiting):
            first = waiting[paper].pop(0)
            tokens -= count_tokens(first.text) + _MARKED
            if tokens < 0:
                break
            chosen.add(first.source)
            if not waiting[paper]:
                del waiting[paper]
    return [sentence for sentence in dict.fromkeys(sentences) if sentence.source in chosen]


def _written(
    messages: Sequence[Message], shown: Sequence[Sentence], material: Material, model: ChatModel, parts: Sequence[str]
) -> Written:
    try:
        completion = model.complete(messages, schema=SCHEMA)
        reply = json_of(completion.text, model=model.name)
    except ModelError as error:
        return Written(model=model.name, trouble=str(error))
    kept: list[CitedSentence] = []
    dropped: list[Dropped] = []
    listed = reply.get("sentences")
    for record in listed if isinstance(listed, list) else ():
        told = _told(record, shown, parts)
        if isinstance(told, Dropped):
            dropped.append(told)
        elif reason := unsupported(told.text, told.sources, material.names, _named(told, shown, material)):
            dropped.append(Dropped(told.text, reason))
        else:
            kept.append(told)
    return Written(tuple(kept), model.name, tuple(dropped), completion.usage)


def _told(record: object, shown: Sequence[Sentence], parts: Sequence[str]) -> CitedSentence | Dropped:
    """A sentence of a reply with its passages; dropped where it has none or is of no known part."""
    if not isinstance(record, dict):
        return Dropped(str(record)[:200], "it is not a sentence with sources")
    text, numbers = str(record.get("text", "")).strip(), record.get("sources")
    cited = [n for n in numbers if isinstance(n, int) and 0 < n <= len(shown)] if isinstance(numbers, list) else []
    if not text or not cited:
        return Dropped(text, "it names no passage")
    if record.get("part") not in parts:
        return Dropped(text, f"it is of no part that was asked for: {record.get('part')}")
    sources = tuple(shown[n - 1].source for n in dict.fromkeys(cited))
    return CitedSentence(str(record["part"]), text, sources[:_MOST_SOURCES])


def _named(told: CitedSentence, shown: Sequence[Sentence], material: Material) -> str:
    """The titles and years of the papers that a sentence cites."""
    cited = {sentence.paper for sentence in shown if sentence.source in told.sources}
    return " ".join(f"{paper.title} {paper.year or ''}" for paper in material.papers if paper.iri in cited)


def _shown(sentences: Sequence[Sentence], papers: Sequence[Paper]) -> list[dict[str, str]]:
    """The passages as a prompt shows them, each with the mark of its paper."""
    marks = _marks(papers)
    return [{"paper": marks[sentence.paper], "text": sentence.text} for sentence in sentences]


def _marks(papers: Sequence[Paper]) -> dict[NamedNode, str]:
    """What a prompt calls each paper: P1, P2 and so on."""
    return {paper.iri: f"P{number}" for number, paper in enumerate(papers, start=1)}
