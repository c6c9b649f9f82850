"""A query graph in words: what the translator took the question to mean."""

from __future__ import annotations

from kgplatform.questions.graphs import Link, QueryGraph
from kgplatform.questions.names import NameIndex

_FORMS = {
    "en": {
        "count": "the number of",
        "AVG": "the average",
        "SUM": "the total",
        "MAX": "the highest",
        "MIN": "the lowest",
    },
    "zh": {"count": "数量：", "AVG": "平均", "SUM": "总和：", "MAX": "最大的", "MIN": "最小的"},
}


class Verbaliser:
    """Puts one query graph into words of one language."""

    def __init__(self, graph: QueryGraph, names: NameIndex, language: str) -> None:
        self._graph = graph
        self._names = names
        self._language = "zh" if language == "zh" else "en"

    def reading(self) -> str:
        """The sense of the query in one line."""
        graph = self._graph
        head = self._noun(graph.targets[0]) if graph.targets else ""
        form = _FORMS[self._language].get(graph.form, "")
        parts = [self._clause(link) for link in graph.links]
        parts += [self._comparison(c.node, c.operator, c.low, c.high) for c in graph.comparisons]
        parts += [self._best(b.measure, b.direction, counted=b.counted) for b in graph.best]
        parts += [f"{self._noun(h.counted)} {h.operator} {h.number}" for h in graph.having]
        if graph.form == "ask":
            form, head = ("是否" if self._language == "zh" else "whether"), ""
        joint = "，" if self._language == "zh" else "; "
        said = joint.join(dict.fromkeys(filter(None, parts)))
        opening = f"{form} {head}".strip()
        return f"{opening}: {said}" if said and opening else opening or said

    def _noun(self, index: int) -> str:
        node = self._graph.nodes[index]
        if node.terms:
            return self._names.label(node.terms[0], self._language)
        if node.named is not None:
            return self._names.label(node.named, self._language)
        links = [link for link in self._graph.links if link.object == index]
        if links:
            return self._names.label(links[0].predicate, self._language)
        types = sorted(node.types, key=str)
        return self._names.label(types[0], self._language) if types else "?"

    def _clause(self, link: Link) -> str:
        if self._graph.nodes[link.object].literal and not self._graph.nodes[link.object].terms:
            return ""
        label = self._names.label(link.predicate, self._language)
        negation = ("非 " if self._language == "zh" else "not ") if link.negated else ""
        repeated = ("（逐级）" if self._language == "zh" else " (directly or through others)") if link.path else ""
        return f"{self._noun(link.subject)} {negation}{label} {self._noun(link.object)}{repeated}"

    def _comparison(self, node: int, operator: str, low: str, high: str | None) -> str:
        if high is not None:
            return f"{self._noun(node)} {low}–{high}"
        return f"{self._noun(node)} {operator} {low}"

    def _best(self, measure: int, direction: int, *, counted: bool) -> str:
        if self._language == "zh":
            return (
                f"{self._noun(measure)}{'最多' if direction > 0 else '最少'}"
                if counted
                else (f"{self._noun(measure)}{'最高' if direction > 0 else '最低'}")
            )
        way = "most" if direction > 0 else "fewest"
        return (
            f"{way} {self._noun(measure)}"
            if counted
            else (f"{'highest' if direction > 0 else 'lowest'} {self._noun(measure)}")
        )
