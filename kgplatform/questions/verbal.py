"""A query graph in words: what the translator took the question to mean, as a noun phrase with its conditions."""

from __future__ import annotations

import re
from dataclasses import replace

from kgplatform.questions.graphs import Comparison, Link, Node, QueryGraph
from kgplatform.questions.names import NameIndex

_FORMS = {
    "en": {
        "count": "number of",
        "mean": "average number of",
        "AVG": "average",
        "SUM": "total",
        "MAX": "highest",
        "MIN": "lowest",
        "share": "share of",
        "percentage": "percentage of",
    },
    "zh": {
        "count": "的数量",
        "mean": "的平均数量",
        "AVG": "的平均值",
        "SUM": "的总和",
        "MAX": "的最大值",
        "MIN": "的最小值",
        "share": "的比例",
        "percentage": "的占比",
    },
}
_OPERATORS = {
    "en": {">": "above", "<": "below", ">=": "at least", "<=": "at most", "=": "", "!=": "other than"},
    "zh": {">": "高于", "<": "低于", ">=": "不低于", "<=": "不超过", "=": "为", "!=": "不为"},
}
_LEADING = re.compile(r"^(?:has|have|is|are) ", re.IGNORECASE)
_TRAILING = re.compile(r"\b(?:of|in|by|for|on|to|at|from|with)$", re.IGNORECASE)


class Verbaliser:
    """Puts one query graph into words of one language."""

    def __init__(self, graph: QueryGraph, names: NameIndex, language: str) -> None:
        self._graph = graph
        self._names = names
        self._chinese = language == "zh"
        self._language = "zh" if self._chinese else "en"

    def reading(self) -> str:
        """The sense of the query in one line: "prerequisites of X", "X 的先修课程"."""
        graph = self._graph
        if graph.form == "ask":
            facts = [self._of_kind(node) for node in graph.nodes if node.terms and node.named is not None]
            facts += [self._fact(link) for link in graph.links]
            facts += [self._amount(compared) for compared in graph.comparisons]
            said = ("，" if self._chinese else " and ").join(dict.fromkeys(filter(None, facts)))
            return f"是否{said}" if self._chinese else f"whether {said}"
        if not graph.targets:
            return ""
        phrases = [self._phrase(target, frozenset(), self._limits(target)) for target in graph.targets]
        text = ("、" if self._chinese else ", ").join(dict.fromkeys(phrases))
        form = _FORMS[self._language].get(graph.form, "")
        if graph.form in ("difference", "distance") and graph.whole is not None:
            other = Verbaliser(replace(graph.whole, form="list"), self._names, self._language).reading()
            return f"{text}与{other}的差" if self._chinese else f"difference between {text} and {other}"
        if graph.form in ("more", "fewer") and graph.whole is not None:
            other = Verbaliser(replace(graph.whole, form="list"), self._names, self._language).reading()
            less = graph.form == "fewer"
            if self._chinese:
                return f"{text}是否比{other}{'少' if less else '多'}"
            return f"whether there are {graph.form} of {text} than of {other}"
        if form:
            text = f"{text}{form}" if self._chinese else f"{form} {text}"
        if graph.group:
            groups = "、".join(self._noun(n) for n in graph.group)
            text = f"每个{groups}：{text}" if self._chinese else f"{text} for each {groups.replace('、', ', ')}"
        return text

    # nouns

    def _noun(self, index: int) -> str:
        node = self._graph.nodes[index]
        if node.terms:
            labels = dict.fromkeys(self._names.label(term, self._language) for term in node.terms[:3])
            return ("或" if self._chinese else " or ").join(labels)
        if node.named is not None:
            return self._names.label(node.named, self._language)
        types = sorted(node.types, key=str)
        if types and not node.open:
            return self._names.label(types[0], self._language)
        links = [link for link in self._graph.links if link.object == index]
        if links:
            return _LEADING.sub("", self._names.label(links[0].predicate, self._language))
        return self._names.label(types[0], self._language) if types else ("什么" if self._chinese else "what")

    def _phrase(self, index: int, seen: frozenset[int], limits: list[str]) -> str:
        """A node with all that is said of it, each node once."""
        inside = seen | {index}
        head = self._noun(index)
        conditions: list[str] = []
        owner, verb = "", False
        for link in self._graph.around(index):
            other = link.object if link.subject == index else link.subject
            if other in seen:
                continue
            if link.object == index and not owner and self._nominal(index, link):
                owner = self._phrase(other, inside, self._limits(other, inside))
                head = _LEADING.sub("", self._names.label(link.predicate, self._language))
                verb = self._verbal(link)
            elif not self._bare_leaf(other):
                conditions.append(self._condition(link, other, inside))
        conditions += limits
        if owner:
            head = (
                f"{owner}{'' if owner.endswith('）') else ' '}的{head}"
                if self._chinese
                else _of(head, owner, verb=verb)
            )
        return self._joined(head, conditions)

    def _nominal(self, index: int, link: Link) -> bool:
        """Whether the node is best called by the property that leads to it: "rating of X"."""
        node = self._graph.nodes[index]
        return not link.negated and not node.terms and (node.named is None or not node.types)

    def _bare_leaf(self, index: int) -> bool:
        node = self._graph.nodes[index]
        return node.literal and not node.terms

    def _condition(self, link: Link, other: int, seen: frozenset[int]) -> str:
        label = self._names.label(link.predicate, self._language)
        rest = self._phrase(other, seen, self._limits(other, seen))
        forwards = link.object == other
        if forwards and rest == _LEADING.sub("", label):
            rest = ""
        repeated = ("（逐级）" if self._chinese else " (directly or through others)") if link.path else ""
        if self._chinese:
            negation = "没有" if link.negated else ""
            said = f"{label} {rest}".strip() if forwards else f"是 {rest} 的{label}"
            return f"{negation}{said}{repeated}"
        noun = _LEADING.sub("", label)
        if not forwards:
            said = f"that {rest} {label}" if self._verbal(link) else f"that is {noun} of {rest}"
            return f"{'not ' if link.negated else ''}{said}{repeated}"
        if self._verbal(link):
            return f"{'not ' if link.negated else ''}{label} {rest}".strip() + repeated
        return f"{'without' if link.negated else 'with'} {noun} {rest}".strip() + repeated

    def _verbal(self, link: Link) -> bool:
        """Whether a property is called by a verb or with a preposition: "proposes", "taught by"."""
        if self._graph.nodes[link.object].literal:
            return False
        label = self._names.label(link.predicate, self._language).casefold()
        if _TRAILING.search(label):
            return True
        return not _LEADING.match(label) and " " not in label and label.endswith("s") and not label.endswith("ss")

    def _joined(self, head: str, conditions: list[str]) -> str:
        listed = list(dict.fromkeys(filter(None, conditions)))
        if not listed:
            return head
        return f"{head}（{'，'.join(listed)}）" if self._chinese else f"{head} {' and '.join(listed)}"

    def _fact(self, link: Link) -> str:
        if self._bare_leaf(link.object):
            return ""
        label = self._names.label(link.predicate, self._language)
        negation = ("不" if self._chinese else "not ") if link.negated else ""
        return f"{self._noun(link.subject)} {negation}{label} {self._noun(link.object)}"

    def _amount(self, compared: Comparison) -> str:
        """That a value of a thing is so much."""
        subject = next((link.subject for link in self._graph.links if link.object == compared.node), None)
        limit = self._comparison(compared)
        return limit if subject is None else f"{self._noun(subject)} {limit}"

    def _of_kind(self, node: Node) -> str:
        """That a thing is one of a kind."""
        thing, kind = (self._names.label(term, self._language) for term in (node.terms[0], node.named))
        return f"{thing}是{kind}" if self._chinese else f"{thing} is of the kind {kind}"

    def _other_than(self, index: int) -> str:
        return f"除了{self._noun(index)}" if self._chinese else f"other than {self._noun(index)}"

    # limits

    def _limits(self, index: int, seen: frozenset[int] = frozenset()) -> list[str]:
        """What is compared, most or least of a node."""
        graph = self._graph
        called = {
            "CONTAINS": ("contains", "包含"),
            "STRSTARTS": ("starts with", "开头为"),
            "STRENDS": ("ends with", "结尾为"),
        }
        leaves = {link.object for link in graph.around(index) if link.subject == index}
        found = [self._comparison(c) for c in graph.comparisons if c.node in leaves and c.node not in seen]
        found += [self._other_than(other) for one, other in graph.unlike if one == index and graph.nodes[other].terms]
        found += [self._best(b.measure, b.direction, counted=b.counted) for b in graph.best if b.node == index]
        for search in graph.searches:
            if search.node == index:
                how = called[search.function]
                found.append(
                    f"名称{how[1]}“{search.text}”" if self._chinese else f"whose name {how[0]} “{search.text}”"
                )
        for having in graph.having:
            if having.node == index:
                sign = _OPERATORS[self._language][having.operator]
                noun = self._noun(having.counted)
                found.append(
                    f"{noun}数量{sign} {having.number}" if self._chinese else f"with {sign} {having.number} {noun}"
                )
        return found

    def _comparison(self, comparison: Comparison) -> str:
        noun = self._noun(comparison.node)
        if comparison.high is not None:
            return (
                f"{noun} {comparison.low}–{comparison.high}"
                if self._chinese
                else (f"with {noun} {comparison.low}–{comparison.high}")
            )
        sign = _OPERATORS[self._language].get(comparison.operator, comparison.operator)
        if comparison.than is not None:
            than = comparison.than
            other = replace(than.graph, targets=(than.node,), form=than.function if than.function == "AVG" else "list")
            limit = Verbaliser(other, self._names, self._language).reading()
            return f"{noun} {sign} {limit}" if self._chinese else f"with {noun} {sign} {limit}"
        said = " ".join(filter(None, (noun, sign, comparison.low)))
        return said if self._chinese else f"with {said}"

    def _best(self, measure: int, direction: int, *, counted: bool) -> str:
        noun = self._noun(measure)
        count = next((b.top for b in self._graph.best if b.measure == measure), 1)
        if self._chinese and count > 1:
            return f"{noun}{('最多' if counted else '最高') if direction > 0 else '最低'}的前 {count} 个"
        if self._chinese:
            most, high = ("最多", "最高") if direction > 0 else ("最少", "最低")
            return f"{noun}{most if counted else high}"
        most, high = ("most", "highest") if direction > 0 else ("fewest", "lowest")
        way = most if counted else high
        return f"among the {count} with the {way} {noun}" if count > 1 else f"with the {way} {noun}"


def _of(head: str, owner: str, *, verb: bool) -> str:
    if head.endswith(" of"):
        return f"{head} {owner}"
    if not verb:
        return f"{head} of {owner}"
    return f"what {owner} is {head}" if _TRAILING.search(head) else f"what {owner} {head}"
