"""Shares and ratios: "what percentage of X are Y", "the ratio of A to B", X 占 Y 的比例.

The question is parted into what is counted and what that is a part of, each with the words at the places they have in
the whole; each is understood on its own, and the query divides the one number by the other.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from kgplatform.questions.finishing import Candidate
from kgplatform.questions.graphs import Node, QueryGraph
from kgplatform.questions.mentions import Reading
from kgplatform.questions.paths import PathFinder

_OF = re.compile(
    r"(?:\b(?:what|which|the|a)(?:['’]s|\s+is)?\s+)?(?:the\s+)?"
    r"(?:\b(?P<kind>percentage|percent|per cent|share|proportion|fraction)|%)\s+of\s+(?:(?:all|the|our|these)\s+)*",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"\b(?:are|is|was|were|be|have|has|had|do|does|did|come|comes|that|who|which|whose)\b", re.IGNORECASE
)
_RATIO = re.compile(
    r"(?:\bwhat(?:['’]s|\s+is)?\s+)?(?:the\s+)?\bratio\s+of\s+(?P<part>.+?)\s+to\s+(?P<whole>.+?)[\s?.!]*$",
    re.IGNORECASE,
)
_ZH = re.compile(
    r"(?P<part>[^，。？?]+?)的?(?:占比|占(?P<whole>[^，。？?]{0,12}?)(?:总数|总量|总人数|的|之)*"
    r"(?P<kind>百分之几|百分之多少|百分比|比例|比重|几分之几))(?:是|为|有)?(?:多少|几|多大|什么)?"
)
_FRACTIONS = frozenset(("share", "proportion", "fraction", "比例", "比重", "几分之几"))


@dataclass(frozen=True, slots=True)
class _Parted:
    """A question's two counts as stretches of it, and where the words are that ask for their quotient."""

    part: str
    whole: str
    form: str
    asking: tuple[tuple[int, int], ...]
    apart: bool = False


def _parted(text: str) -> _Parted | None:
    ratio = _RATIO.search(text)
    if ratio is not None:
        between = (ratio.end("part"), ratio.start("whole"))
        asking = ((ratio.start(), ratio.start("part")), between)
        return _Parted(_only(text, *ratio.span("part")), _only(text, *ratio.span("whole")), "share", asking, apart=True)
    match = _OF.search(text)
    if match is not None:
        verb = _VERB.search(text, match.end())
        end = verb.start() if verb else len(text)
        spans = ((match.start(), match.end()), verb.span() if verb else (end, end))
        form = "share" if (match["kind"] or "").casefold() in _FRACTIONS else "percentage"
        part = _blank(text, match.start(), match.end())
        return _Parted(part, _only(text, match.end(), end) if verb else "", form, spans)
    match = _ZH.search(text)
    if match is None:
        return None
    whole = _only(text, *match.span("whole")) if match["whole"] else ""
    form = "share" if match["kind"] in _FRACTIONS else "percentage"
    asked = ((match.end("part"), match.end()),)
    return _Parted(_only(text, *match.span("part")), whole, form, asked)


def _blank(text: str, start: int, end: int) -> str:
    return text[:start] + " " * (end - start) + text[end:]


def _only(text: str, start: int, end: int) -> str:
    return " " * start + text[start:end] + " " * (len(text) - end)


class Sharer:
    """Understands shares over one graph; ``read`` and ``candidates`` are those of the translator."""

    def __init__(
        self,
        finder: PathFinder,
        *,
        read: Callable[[str], Reading],
        candidates: Callable[[Reading], list[Candidate]],
    ) -> None:
        self._finder = finder
        self._read = read
        self._candidates = candidates

    def shared(self, reading: Reading) -> list[Candidate]:
        """The readings of a question for a quotient of two counts; none if it asks for none or a part is unknown."""
        cut = _parted(reading.text)
        if cut is None:
            return []
        part, whole = self._read(cut.part), self._read(cut.whole) if cut.whole.strip() else None
        wholes = [] if whole is None else [(c, _starts(c, whole)) for c in self._counted(whole)][:3]
        found = []
        for counted in sorted([*self._counted(part)][:6], key=lambda c: not self._of(c, wholes)):
            pair = self._paired(counted, wholes, named=whole is not None, apart=cut.apart)
            if pair is None:
                continue
            inside = _starts(counted, part) | pair[1]
            explained = frozenset(
                i
                for i, t in enumerate(reading.tokens)
                if t.start in inside or any(start <= t.start < end for start, end in cut.asking)
            )
            graph = replace(counted.graph, form=cut.form, whole=pair[0])
            found.append(replace(counted, graph=graph, explained=explained))
        return found

    def _counted(self, reading: Reading) -> Iterator[Candidate]:
        """The readings that give things, which can be counted."""
        for candidate in self._candidates(reading):
            graph = candidate.graph
            if graph.form in ("list", "count") and graph.targets and not graph.nodes[graph.targets[0]].literal:
                yield replace(candidate, graph=replace(graph, form="count", targets=graph.targets[:1], group=()))

    def _paired(
        self, counted: Candidate, wholes: list[tuple[Candidate, set[int]]], *, named: bool, apart: bool
    ) -> tuple[QueryGraph, set[int]] | None:
        """What a count is a part of: what the question names, else all of the class; None if that is the same."""
        target = counted.graph.nodes[counted.graph.targets[0]]
        for candidate, starts in wholes:
            kind = candidate.graph.nodes[candidate.graph.targets[0]]
            alike = apart or self._finder.compatible(kind.types, target.types)
            if alike and not self._same(candidate.graph, counted.graph):
                return candidate.graph, starts
        if named or target.named is None or not (counted.graph.links or counted.graph.comparisons):
            return None
        node = Node(0, frozenset((target.named,)), named=target.named)
        return QueryGraph((node,), targets=(0,), form="count"), set()

    def _of(self, counted: Candidate, wholes: list[tuple[Candidate, set[int]]]) -> bool:
        """Whether what is counted is of the kind of the whole: films that are documentaries, not roles in them."""
        kinds = (c.graph.nodes[c.graph.targets[0]] for c, _ in wholes[:1])
        target = counted.graph.nodes[counted.graph.targets[0]]
        return all(target.named is not None and self._finder.compatible(target.types, kind.types) for kind in kinds)

    @staticmethod
    def _same(one: QueryGraph, other: QueryGraph) -> bool:
        """Whether two graphs count the same things."""
        said = [
            ([(n.terms, n.named) for n in g.nodes], [x.predicate for x in g.links], g.comparisons) for g in (one, other)
        ]
        return said[0] == said[1]


def _starts(candidate: Candidate, reading: Reading) -> set[int]:
    """Where the words are that a candidate explains."""
    return {reading.tokens[i].start for i in candidate.explained}
