"""Classes of names from how the text uses them: after a place's preposition, beside a name of known class.

What a name ends in says nothing of "Suzhou" or "知味观"; the words around it do. All that is asked are grammar
words and the ontology's own: which property a bare preposition stands for, what a property may be said of.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from pyoxigraph import NamedNode

from kgplatform.extraction.classing import PARENTHESIS, Span
from kgplatform.extraction.lexicon import Cue, Lexicon
from kgplatform.extraction.names import clean_name
from kgplatform.extraction.phrases import telling_places
from kgplatform.extraction.reading import Reading
from kgplatform.text import has_han, singular

_INSIDE = re.compile(r"\b(?:in|near|inside|around|outside)\s(?:the\s)?(?:old\s|central\s|downtown\s)?$")
_TOWARDS = re.compile(r"\b(?:to|from|at|into|via|through|leave|reach|of)\s(?:the\s)?$")
_GOES_ON = re.compile(r"(?:\s[a-z]+s?\b(?<!\bin)(?<!\bon))?\s?[A-Z]")
_JOINED = re.compile(r"\s?(?:、|和|与|及|以及|,?\s(?:and|or|&))\s?(?:the\s)?")
_SAYS_MORE = re.compile(r"\s(?:is|was|has|lies|stands)\b")
_HAN_PARENTHESIS = re.compile(r"\s?[（(]([\u3400-\u9fff]{2,6})[)）]")
_PREPOSED = re.compile(r"\bof (?:the|our|its|all) ([\w -]{4,60}), ?[*“\"']*$", re.IGNORECASE)
_LIES_IN = re.compile(r"\b(?:lies|located|situated|is|are|part of|district of|town in|village in)\s(?:in\s)?$")
_HAN_INSIDE = re.compile(r"(?:在|到|去|来|从|回|离)$")


@dataclass(slots=True)
class _Uses:
    """The places of one name, and in how many of them a preposition leads to it."""

    spans: list[Span] = field(default_factory=list)
    inside: int = 0
    towards: int = 0


def guess_classes(reading: Reading) -> None:
    """Gives classes to names of unknown class; those that the text uses in no telling way stay without."""
    place = _place_class(reading.lexicon)
    learned = _of_their_kind(reading)
    if learned:
        reading.finder.settle(reading.strangers)
        reading.refresh()
    learned = _short_forms(reading)
    learned = (place is not None and _after_prepositions(reading, place)) or learned
    if learned:
        reading.finder.settle(reading.strangers)
        reading.refresh()
    for rule in (_beside_their_like, _by_what_they_have):
        if rule(reading):
            reading.finder.settle(reading.strangers)
            reading.refresh()


def _place_class(lexicon: Lexicon) -> NamedNode | None:
    """What the preposition "in" leads to: the range of the transitive property that it stands for."""
    for key in ("in", "在"):
        for cue in lexicon.between.get(key, ()):
            if cue.term.transitive and len(cue.term.ranges) == 1:
                return cue.term.ranges[0]
    return None


def _after_prepositions(reading: Reading, place: NamedNode) -> bool:
    uses: dict[str, _Uses] = defaultdict(_Uses)
    text = reading.text
    for span in reading.strangers:
        written = text[span.start : span.end]
        found = uses[clean_name(written)]
        found.spans.append(span)
        lead = text[max(0, span.start - 22) : span.start]
        if has_han(written):
            if not _inside_another(reading, span):
                tags = [token.tag for token in reading.finder.tokens_in(span.start, span.end)]
                found.inside += ("ns" in tags) + bool(_HAN_INSIDE.search(lead))
            continue
        found.inside += 2 * _named_in_han(reading, span)
        if _GOES_ON.match(text[span.end : span.end + 24]):
            continue
        found.inside += bool(_INSIDE.search(lead)) + bool(_INSIDE.search(lead) and _LIES_IN.search(lead))
        found.towards += bool(_TOWARDS.search(lead))
    titled = reading.document.title
    learned = False
    for name, found in uses.items():
        enough = found.inside and (found.inside + found.towards >= 2 or name in titled)
        if enough and len(name) > 1 and not (has_han(name) and len(name) > 6):
            reading.finder.learn(found.spans[0], place)
            learned = True
    return learned


def _named_in_han(reading: Reading, span: Span) -> bool:
    """Whether a Chinese name of a place follows in parentheses: "Xincun (新村)"."""
    match = _HAN_PARENTHESIS.match(reading.text, span.end)
    tokens = reading.finder.tokens_in(match.start(1), match.end(1)) if match else []
    return len(tokens) == 1 and tokens[0].tag == "ns"


def _inside_another(reading: Reading, span: Span, *, tags: tuple[str, ...] = ("n", "nz", "nr")) -> bool:
    """Whether a Chinese name is only part of a longer one: "龙井" in "西湖龙井" and in "龙井虾仁"."""
    before = reading.before(span.start)
    if before and before[-1].end == span.start:
        return True
    following = reading.finder.tokens_in(span.end, span.end + 4)
    return bool(following) and following[0].tag in tags and has_han(following[0].text)


def _short_forms(reading: Reading) -> bool:
    """Makes "昆山" known where the text says "昆山市" of a place in an address, or its title says "昆山" alone."""
    finder, title = reading.finder, reading.document.title
    place = _place_class(reading.lexicon)
    whole: dict[str, dict[str, NamedNode]] = defaultdict(dict)
    for mention in reading.mentions:
        stem = _stem(mention.text, reading.lexicon)
        if stem and place is not None and reading.lexicon.ontology.is_a(mention.type, (place,)):
            whole[stem].setdefault(mention.text, mention.type)
    learned = False
    for stem, longer in whole.items():
        best = next((name for name in longer if stem in title or _chained(reading, name)), None)
        if best is None or finder.known.get(stem) is not None:
            continue
        finder.local.add(stem, longer[best], stands_for=best)
        finder.names.aliases.setdefault(best, {})[stem] = None
        learned = True
    return learned


def _stem(name: str, lexicon: Lexicon) -> str:
    """A Chinese name without its class word: "昆山" of "昆山市"; empty where less than two characters are left."""
    if not has_han(name):
        return ""
    for length in range(min(3, len(name) - 2), 0, -1):
        if name[-length:] in lexicon.han_suffixes:
            stem = name[:-length]
            return stem if len(stem) in (2, 3) and stem[-1] not in lexicon.han_suffixes else ""
    return ""


def _chained(reading: Reading, name: str) -> bool:
    """Whether the name is a link of an address: directly before or after another name."""
    for mention in reading.mentions:
        if mention.text != name:
            continue
        before = reading.before(mention.start)
        following = reading.within(mention.end, mention.end + 1)
        if following or (before and before[-1].end == mention.start):
            return True
    return False


def _of_their_kind(reading: Reading) -> bool:
    """Gives a name the class that is said before it: "of the six water towns in the south, Nanxun …"."""
    learned = False
    for stranger in reading.strangers:
        match = _PREPOSED.search(reading.text[max(0, stranger.start - 80) : stranger.start])
        words = [singular(word.casefold()) for word in match[1].split()] if match else []
        for size, index in ((size, index) for index in range(len(words)) for size in (2, 1)):
            class_ = reading.lexicon.class_words.get(" ".join(words[index : index + size]))
            if class_ is not None:
                reading.finder.learn(stranger, class_)
                learned = True
                break
    return learned


def _beside_their_like(reading: Reading) -> bool:
    """Gives a name enumerated beside a name of known class what both have in common: the class above it."""
    learned = False
    for stranger in reading.strangers:
        for class_ in _neighbour_classes(reading, stranger):
            reading.finder.learn(stranger, reading.lexicon.general(class_))
            learned = True
            break
    return learned


def _neighbour_classes(reading: Reading, stranger: Span) -> Iterator[NamedNode]:
    text = reading.text
    before = reading.before(stranger.start)
    says = _SAYS_MORE.match(text, stranger.end)
    if before and not says and _JOINED.fullmatch(_bare(text[before[-1].end : stranger.start])):
        yield before[-1].type
    following = reading.within(stranger.end, stranger.end + 60)
    if following and _JOINED.fullmatch(_bare(text[stranger.end : following[0].start])):
        yield following[0].type


def _by_what_they_have(reading: Reading) -> bool:
    """Gives the topic of a sentence the class that a telling verb or a value's property in it asks for."""
    learned = False
    for sentence in reading.sentences if not reading.structured else ():
        for cue, low, _ in telling_places(reading, sentence):
            learned = _ask(reading, cue.term.domains, sentence, low) or learned
        pattern = reading.lexicon.value_pattern
        for match in pattern.finditer(reading.text, *sentence) if pattern else ():
            cues = reading.lexicon.value_cues.get(match.group().casefold(), ())
            domains = {cue.term.domains for cue in cues}
            near = reading.text[match.start() : match.end() + 24]
            if len(match.group()) < 2 or not re.search(r"\d", near):
                continue
            if len(domains) == 1:
                learned = _ask(reading, domains.pop(), sentence, match.start()) or learned
            learned = _parallel(reading, cues, sentence, match.start()) or learned
    return learned


def _parallel(reading: Reading, cues: tuple[Cue, ...], sentence: tuple[int, int], position: int) -> bool:
    """Gives a name the class of another of which the same is said: "the West zone costs 150, the East zone 110"."""
    stranger = next((span for span in reading.strangers if span.end == position), None)
    if stranger is None:
        return False
    before = reading.within(sentence[0], stranger.start)
    likes = [
        item
        for item in before
        if re.search(r"\d", reading.text[item.end : stranger.start])
        and any(_is_a(reading, item.type, cue.term.domains) for cue in cues)
    ]
    if not likes:
        return False
    reading.finder.learn(stranger, reading.lexicon.general(likes[0].type))
    return True


def _is_a(reading: Reading, type_: NamedNode, domains: tuple[NamedNode, ...]) -> bool:
    return bool(domains) and reading.lexicon.ontology.is_a(type_, domains)


def _ask(reading: Reading, domains: tuple[NamedNode, ...], sentence: tuple[int, int], position: int) -> bool:
    """Makes the topic one of the domain, where it is a stranger or known only as something more general."""
    if len(domains) != 1:
        return False
    topic = _topic(reading, sentence, position)
    if topic is None:
        return False
    written = reading.text[topic.start : topic.end]
    if topic.type is None and has_han(written) and _inside_another(reading, topic, tags=("n", "nz", "nr", "s")):
        return False
    ontology, finder = reading.lexicon.ontology, reading.finder
    above = ontology.superclasses(domains[0])
    loose = topic.type is None or (topic.type in above and topic.type != domains[0])
    if not loose or finder.known.get(written) is not None:
        return False
    finder.learn(topic, domains[0])
    return True


def _topic(reading: Reading, sentence: tuple[int, int], position: int) -> Span | None:
    """What a sentence is about: the only name before the position, else what opens the sentence or line before."""
    inside = _names(reading, sentence[0], position)
    if inside:
        lead = reading.text[sentence[0] : inside[0].start]
        return inside[0] if len(lead) <= 12 and not _TOWARDS.search(lead) and not _INSIDE.search(lead) else None
    if position - sentence[0] > 12:
        return None
    index = bisect_left(reading.sentences, sentence) - 1
    for before in reading.sentences[max(0, index - 1) : index + 1][::-1]:
        opening = _names(reading, *before)
        if opening:
            lead = reading.text[before[0] : opening[0].start]
            return opening[0] if len(lead) <= 12 and not re.search("[:：]", lead) else None  # not what a label gives
    return None


def _names(reading: Reading, start: int, end: int) -> list[Span]:
    """The names in the stretch, with and without a class, in order."""
    found = [Span(item.start, item.end, item.type) for item in reading.within(start, end)]
    found += [span for span in reading.strangers if start <= span.start < end]
    return sorted(found, key=lambda span: span.start)


def _bare(gap: str) -> str:
    return PARENTHESIS.sub("", gap, count=1)
