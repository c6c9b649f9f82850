"""A question cut into mentions: the stretches that name something, all they may stand for, and the cues between."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from pyoxigraph import NamedNode

from kgplatform import lexicon
from kgplatform.questions.name_index import GraphName, NameIndex, NameSpan, unlike
from kgplatform.questions.parser.coordination import Columns, MentionReading, NameMention, joined, read_columns
from kgplatform.questions.parser.cues import (
    Cues,
    chain,
    compares,
    compounded,
    cut_off,
    interrupted,
    is_amount,
    is_measuring,
    is_of,
    measured,
    of_a_kind,
    only_asks,
    read_cues,
    says_little,
    valued,
    with_kinds,
    without_doings,
)
from kgplatform.questions.parser.idioms import Ordered, ranked_first, read_order, searched, sorted_by
from kgplatform.questions.parser.query_graph import Search
from kgplatform.questions.parser.vocabulary import (
    ADJECTIVES,
    FUNCTION_STEMS,
    FUNCTION_WORDS,
    GENERIC_NOUNS,
    HAN_FUNCTION,
    LIGHT_VERBS,
    SUPERLATIVES,
    QuestionToken,
    in_mixed_case,
    language_asked_in,
    parts,
    related,
    stem,
    tokens_of,
)
from kgplatform.text import has_han, singular

_CO = lexicon.pattern("mentions.co")
_NO_PLACE = 0.5
_HOW_MUCH = lexicon.expression("mentions.how_much")
_OPTIONS = 6
_SURE = 0.95
_NEARLY = 0.235
"""How far below a sure class or property others count: those of the same sense do, those that share a word do not."""
_LIKELY = 0.35
_NAMED_OUTRIGHT = 0.99
_WHOLE = 0.8
"""Names of classes and properties that say at least so much of them are more than a part of a longer one."""
_KINDRED = 0.85
_SPELT, _NEARLY_SPELT = 4, 0.82
_ADJECTIVAL = lexicon.characters("mentions.adjectival")
_COUNTING = lexicon.word_set("mentions.counting")
"""Words that count elsewhere, but belong to the name of a property ("house number")."""


@dataclass(frozen=True, slots=True)
class SaidSearch:
    """Tokens that ask for a search in names, or say how many of a ranking are wanted."""

    first: int
    last: int
    search: Search | None
    top: int


@dataclass(frozen=True, slots=True)
class QuestionReading:
    """A question as read: tokens, mentions in order, cues, and the weight of every token (0: function word)."""

    text: str
    language: str
    tokens: tuple[QuestionToken, ...]
    mentions: tuple[NameMention, ...]
    cues: Cues
    weights: tuple[float, ...]
    search: SaidSearch | None = None
    top: int = 1
    columns: Columns = field(default_factory=Columns)
    order: Ordered | None = None

    def covered(self) -> frozenset[int]:
        """The tokens that belong to a mention or a cue."""
        return frozenset(i for m in self.mentions for i in range(m.first, m.last)) | self.cues.used

    def uncovered(self, explained: frozenset[int] | None = None) -> tuple[str, ...]:
        """The content words that nobody understood, or that are not among the explained tokens."""
        covered = self.covered() if explained is None else explained
        left = (i for i, weight in enumerate(self.weights) if weight > 0 and i not in covered)
        return self.phrases(self.in_words(left, covered))

    def in_words(self, places: Iterable[int], covered: frozenset[int]) -> frozenset[int]:
        """The tokens, and before a Chinese character the one that makes an adjective of it: 靠 of 可靠, 吃 of 好吃."""
        found = set(places)
        han = [i for i in found if i and has_han(self.tokens[i].text) and self.tokens[i - 1].text in _ADJECTIVAL]
        return frozenset(found | {i - 1 for i in han if i - 1 not in covered})

    def phrases(self, places: Iterable[int]) -> tuple[str, ...]:
        """Tokens as they are written, Chinese characters side by side as one."""
        words: list[str] = []
        previous = -2
        for i in sorted(places):
            if i == previous + 1 and has_han(self.tokens[i].text) and words:
                words[-1] += self.tokens[i].text
            else:
                words.append(self.tokens[i].text)
            previous = i
        return tuple(words)

    def coverage(self) -> float:
        """The share of the content words that are understood, 0..1."""
        covered = self.covered()
        total = sum(self.weights)
        return sum(w for i, w in enumerate(self.weights) if i in covered) / total if total else 0.0


def read(text: str, names: NameIndex) -> QuestionReading:
    """The question as mentions and cues."""
    plain = _without_co(text, names)
    fellow = any(tuple(parts(match[2])) in names.terms for match in _CO.finditer(text))
    text = plain
    tokens = tokens_of(text)
    mixed = in_mixed_case(text)
    weights = tuple(_weight(token.text, mixed=mixed) for token in tokens)
    said = _said(text, tokens)
    called = names.things(tokens, text)
    branches = None if said else chain(text, tokens, names, called)
    said += [SaidSearch(branches.first, branches.last, branches.search, 1)] if branches else []
    masked = frozenset(i for part in said for i in range(part.first, part.last))
    masked |= branches.used if branches else frozenset()
    terms = [
        span
        for span in names.schema_terms(tokens, text)
        if not masked & set(range(span.first, span.last))
        and not (compares(span, tokens) or only_asks(span, tokens) or interrupted(span, tokens, text))
    ]
    measures = measured(terms, tokens, names)
    things = [
        span
        for span in called
        if not masked & set(range(span.first, span.last))
        and _may_name(span, tokens, text, measures)
        and not of_a_kind(span, terms, tokens, text, names)
    ]
    of_kind = with_kinds(things, terms, tokens, text, names)
    things += [span for span in of_kind if not masked & set(range(span.first, span.last))]
    short = [span for span in valued(terms, tokens, weights, names) if span.first not in masked]
    weights = tuple(max(w, 1.0) if any(s.first == i for s in short) else w for i, w in enumerate(weights))
    terms += [branches.span] if branches else []
    chosen = without_doings(_best_cover([*things, *terms, *short], tokens, weights), tokens)
    mentions = _with_one_measure([_mention(_inside(span, tokens), names) for span in chosen], tokens, text, names)
    unread = _misspelt(text, tokens, weights, mentions, names, masked)
    mentions = joined(sorted((*mentions, *unread), key=lambda m: m.first), tokens, text, names.types)
    mentions, idle = compounded(mentions, tokens, names)
    masked |= idle
    taken = masked | frozenset(i for m in mentions for i in range(m.first, m.last))
    cues = _without_swallowed(read_cues(_without_order(text), tokens, taken), mentions)
    cues = replace(_by_kind(cues, tokens, mentions), used=cues.used | masked, fellow=cues.fellow or fellow)
    search = next((part for part in said if part.search), None)
    top = next((part.top for part in said if part.top > 1 and cues.superlatives), 1)
    compared = frozenset(amount.first for amount in cues.amounts if amount.compared)
    columns = read_columns(_without_order(text), tokens, mentions, cues.each, compared)
    cues = replace(cues, used=cues.used | columns.used)
    order = read_order(text, names)
    weights = _without_empty(weights, tokens, mentions)
    language = language_asked_in(text)
    return QuestionReading(text, language, tuple(tokens), tuple(mentions), cues, weights, search, top, columns, order)


def _may_name(
    span: NameSpan, tokens: list[QuestionToken], text: str, measures: Mapping[int, frozenset[NamedNode]]
) -> bool:
    """Whether a stretch that is the name of a thing is no amount, and says more than the words of any question."""
    amount = is_amount(span, tokens) or is_measuring(span, tokens) or is_of(span, tokens, measures)
    return not amount and not cut_off(span, tokens) and not says_little(span, tokens, text)


def _without_empty(
    weights: tuple[float, ...], tokens: list[QuestionToken], mentions: list[NameMention]
) -> tuple[float, ...]:
    """The weights with none for verbs and nouns that say nothing of their own where they are no name."""
    named = frozenset(i for m in mentions for i in range(m.first, m.last))
    empty = LIGHT_VERBS | GENERIC_NOUNS
    light = (i not in named and token.text.casefold() in empty for i, token in enumerate(tokens))
    return tuple(0.0 if unmeant else weight for unmeant, weight in zip(light, weights, strict=True))


def _by_kind(cues: Cues, tokens: list[QuestionToken], mentions: list[NameMention]) -> Cues:
    """The cues with "by" before the last word read as "per" where numbers are wanted: "average rating by genre"."""
    if cues.each is not None or not mentions or not (cues.aggregate or cues.counting is not None):
        return cues
    last = mentions[-1]
    by = last.first - 1
    ends = last.last >= len(tokens) and last.options[0].kind in ("class", "property")
    if ends and by >= 0 and tokens[by].text.casefold() == "by" and len(mentions) > 1:
        return replace(cues, each=last.first, used=cues.used | {by})
    return cues


def _said(text: str, tokens: list[QuestionToken]) -> list[SaidSearch]:
    """Where the question searches in names or wants the first few; no name is looked for in these words."""
    found = []
    for wanted in filter(None, (searched(text), ranked_first(text), sorted_by(text))):
        places = [i for i, t in enumerate(tokens) if t.start < wanted.end and t.end > wanted.start]
        if places:
            found.append(SaidSearch(places[0], places[-1] + 1, wanted.search, wanted.top))
    return found


def _with_one_measure(
    mentions: list[NameMention], tokens: list[QuestionToken], text: str, names: NameIndex
) -> list[NameMention]:
    """The mentions without "how much", where another names what is measured: "how much does X earn".

    So with any "how high" before what is so called: "how high is the price of X".
    """

    def said(mention: NameMention) -> str:
        return text[tokens[mention.first].start : tokens[mention.last - 1].end].casefold()

    def measures(mention: NameMention) -> bool:
        iri = mention.options[0].names[0].term
        term = names.schema.properties.get(iri) if isinstance(iri, NamedNode) else None
        return term is not None and term.numeric

    for asking, called in pairwise(sorted(mentions, key=lambda m: m.first)):
        whole = called.first <= asking.last + 1 and called.options[0].score >= 1 and measures(called)
        if whole and lexicon.pattern("cues.how_adjective").fullmatch(said(asking)):
            one = replace(called, first=asking.first)
            mentions = [one if m is called else m for m in mentions if m is not asking]
    if not any(measures(m) for m in mentions if said(m) != _HOW_MUCH):
        return [_measuring(m, names) if said(m) == _HOW_MUCH else m for m in mentions]
    return [m for m in mentions if said(m) != _HOW_MUCH]


def _measuring(mention: NameMention, names: NameIndex) -> NameMention:
    """The mention with those of its options that are measured, if there are any."""
    properties = names.schema.properties
    terms = ((o, o.names[0].term) for o in mention.options)
    kept = tuple(o for o, t in terms if isinstance(t, NamedNode) and t in properties and properties[t].numeric)
    return replace(mention, options=kept) if kept else mention


def _without_co(text: str, names: NameIndex) -> str:
    """The text with blanks for the "co" of "co-author", where the graph has a word for the rest only."""

    def blank(match: re.Match[str]) -> str:
        whole, rest = tuple(parts(match[0])), tuple(parts(match[2]))
        known = rest in names.terms and whole not in names.terms and match[0].casefold() not in names.exact
        return " " * len(match[1]) + match[2] if known else match[0]

    return _CO.sub(blank, text)


def _without_order(text: str) -> str:
    """The text with blanks where it says in what order it wants the rows."""
    wanted = sorted_by(text)
    if wanted is None:
        return text
    return text[: wanted.start] + " " * (wanted.end - wanted.start) + text[wanted.end :]


def _without_swallowed(cues: Cues, mentions: list[NameMention]) -> Cues:
    """Cues whose words belong to a name of the ontology ("how many credits") ask for what has that name."""

    def begin(place: int) -> int:
        return next((m.first for m in mentions if m.first < place <= m.last - 1), place)

    counting = cues.counting
    asked = tuple(begin(place) for place in cues.asked)
    if counting is not None and begin(counting) != counting:
        asked, counting = (*asked, begin(counting)), None
    return replace(cues, asked=asked, counting=counting)


def _weight(word: str, *, mixed: bool) -> float:
    """How much a word matters; a code in capitals ("US") is no function word among words that have small letters."""
    plain = word.casefold()
    if mixed and len(word) > 1 and word.isupper() and word.isascii() and plain in FUNCTION_WORDS:
        return 1.0
    if plain in FUNCTION_WORDS or plain in HAN_FUNCTION or (len(plain) > 2 and stem(plain) in FUNCTION_STEMS):
        return 0.0
    return 0.5 if has_han(plain) else 1.0


def _best_cover(spans: list[NameSpan], tokens: list[QuestionToken], weights: tuple[float, ...]) -> list[NameSpan]:
    """The spans without overlap that explain most of the question."""
    merged: dict[tuple[int, int], list[GraphName]] = {}
    for span in spans:
        listed = merged.setdefault((span.first, span.last), [])
        listed[:] = unlike([*listed, *span.names])
    values = {place: _value(place, names, tokens, weights) for place, names in merged.items()}
    best: list[tuple[float, tuple[tuple[int, int], ...]]] = [(0.0, ())]
    for end in range(1, len(tokens) + 1):
        top = best[end - 1]
        for place in merged:
            if place[1] == end and values[place] > 0:
                value = best[place[0]][0] + values[place]
                if value > top[0]:
                    top = (value, (*best[place[0]][1], place))
        best.append(top)
    return [NameSpan(first, last, tuple(merged[first, last])) for first, last in best[-1][1]]


def _value(
    place: tuple[int, int], names: list[GraphName], tokens: list[QuestionToken], weights: tuple[float, ...]
) -> float:
    weight = sum(weights[place[0] : place[1]])
    length = place[1] - place[0]
    if weight and any(name.kind == "property" and name.score >= _NAMED_OUTRIGHT for name in names):
        weight += sum(0.5 for token in tokens[place[0] : place[1]] if token.text.casefold() in _COUNTING)
    score = max(name.score for name in names)
    first = tokens[place[0]].text.casefold()
    if length == 1 and (first in SUPERLATIVES or first in ADJECTIVES) and score < 0.8:
        return 0.0
    if weight == 0:
        return 0.05 * score if length > 1 else 0.0
    thing = any(name.kind in ("entity", "value") for name in names)
    return weight * float(score**1.5) + 0.12 * (length - 1) * weight + (0.05 if thing else 0.0) - 0.1


def _inside(span: NameSpan, tokens: list[QuestionToken]) -> NameSpan:
    """The span with values after "in" and 在 less likely than a thing of the same name: the city, not the street."""
    before = next((t.text.casefold() for t in reversed(tokens[: span.first]) if t.text.casefold() != "the"), "")
    best = max((name.score for name in span.names if name.kind == "entity"), default=0.0)
    if before not in lexicon.word_set("mentions.inside") or not best:
        return span
    lessened = (
        replace(name, score=max(0.1, name.score - _NO_PLACE)) if name.kind == "value" and name.score <= best else name
        for name in span.names
    )
    return replace(span, names=tuple(sorted(lessened, key=lambda name: -name.score)))


def _mention(span: NameSpan, names: NameIndex) -> NameMention:
    groups: dict[tuple[object, ...], list[GraphName]] = {}
    for name in sorted(span.names, key=lambda n: -n.score):
        if name.kind == "entity":
            key: tuple[object, ...] = ("entity", round(name.score, 1), _kin(name, groups, names))
        else:
            key = (name.kind, name.predicate, name.term if name.kind != "value" else "")
        groups.setdefault(key, []).append(name)
    options = [MentionReading(found[0].kind, tuple(found), found[0].score) for found in groups.values()]
    best = max(option.score for option in options)
    terms = max((o.score for o in options if o.kind in ("class", "property")), default=0.0)
    least = terms - _NEARLY if terms >= _SURE else 0.0
    kept = [o for o in options if o.score >= best - _LIKELY and (o.kind in ("entity", "value") or o.score >= least)]
    return NameMention(span.first, span.last, tuple(sorted(kept, key=lambda o: -o.score)[:_OPTIONS]))


def _kin(name: GraphName, groups: dict[tuple[object, ...], list[GraphName]], names: NameIndex) -> object:
    """What tells a group of namesakes: a class they share."""
    types = set(names.types(name.term))
    for key, found in groups.items():
        if key[:2] == ("entity", round(name.score, 1)) and types & set(names.types(found[0].term)):
            return key[2]
    return name.term


def _misspelt(
    text: str,
    tokens: list[QuestionToken],
    weights: tuple[float, ...],
    mentions: list[NameMention],
    names: NameIndex,
    masked: frozenset[int],
) -> list[NameMention]:
    """Names close to runs of content words that nothing explains."""
    covered = masked | {i for m in mentions for i in range(m.first, m.last)}
    found = []
    run: list[int] = []
    for i in range(len(tokens) + 1):
        usable = i < len(tokens) and i not in covered and (weights[i] > 0) and not tokens[i].text.isdigit()
        if usable:
            run.append(i)
            continue
        if run and len(run) <= 6:
            kin = [m for p in run if (m := _kindred(tokens, p, names) or _near_class(tokens, p, names)) is not None]
            near = None if kin else _near_mention(text, tokens, run, names)
            found += kin if near is None else [near]
        run = []
    return found


def _kindred(tokens: list[QuestionToken], place: int, names: NameIndex) -> NameMention | None:
    """A class or property called by a word of the same family."""
    for other in related(stem(tokens[place].text), names.families):
        found = [n for n in names.terms[(other,)] if n.score >= _WHOLE]
        if found:
            return _mention(
                NameSpan(place, place + 1, tuple(replace(n, score=_KINDRED * n.score) for n in found)), names
            )
    return None


def _near_class(tokens: list[QuestionToken], place: int, names: NameIndex) -> NameMention | None:
    """A class whose one-word name is spelt nearly so: "hotls"."""
    wanted = singular(tokens[place].text.casefold())
    if len(wanted) < _SPELT or not wanted.isascii():
        return None
    near = difflib.get_close_matches(wanted, names.class_words, n=1, cutoff=_NEARLY_SPELT)
    if not near or near[0][0] != wanted[0]:
        return None
    return _mention(NameSpan(place, place + 1, (GraphName(names.class_words[near[0]], _KINDRED, "class"),)), names)


def _near_mention(text: str, tokens: list[QuestionToken], run: list[int], names: NameIndex) -> NameMention | None:
    phrase = text[tokens[run[0]].start : tokens[run[-1]].end]
    plain = phrase.casefold()
    if plain in SUPERLATIVES or plain in ADJECTIVES or len(phrase) < (2 if has_han(phrase) else 4):
        return None
    near = [name for name in names.near(phrase, 4) if name.score >= (0.7 if has_han(phrase) else 0.6)]
    if not near:
        return None
    return _mention(NameSpan(run[0], run[-1] + 1, tuple(near)), names)
