"""The SPARQL text of a query graph; terms write themselves."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from pyoxigraph import Literal, NamedNode

from kgplatform.questions.parser.query_graph import Best, Having, Link, NodeComparison, Order, QueryGraph, Search, Than
from kgplatform.vocab import ALT_LABEL, LABEL, SKOS, SUBCLASS_OF, TYPE, local_name

_FUNCTIONS = ("AVG", "SUM", "MAX", "MIN")
_NOT_NAME = re.compile(r"[^A-Za-z0-9_]")
_RESERVED = (
    "?count",
    "?best",
    "?best2",
    "?best3",
    "?n",
    "?m",
    "?limit",
    "?order",
    *(f"?{name.lower()}" for name in _FUNCTIONS),
)
_CALLED = f"({LABEL}|<{SKOS}prefLabel>|{ALT_LABEL})"
_TIME_FORMS = {
    "year": "YEAR({})",
    "gyear": "<http://www.w3.org/2001/XMLSchema#integer>(STR({}))",
    "date": "SUBSTR(STR({}), 1, 10)",  # of dates and moments alike; as text, ISO days sort as days do
    "hour": "HOURS({})",
}


class QueryWriter:
    """Writes the SPARQL of a query graph; ``wide`` says which classes have subclasses in use."""

    def __init__(self, graph: QueryGraph, *, wide: Callable[[NamedNode], bool]) -> None:
        self._graph = graph
        self._wide = wide
        self._names = self._variables()

    def text(self) -> str:
        """The query."""
        graph = self._graph
        if graph.whole is not None:
            return self._difference(graph.whole)
        if graph.form == "mean":
            counts = QueryWriter(replace(graph, form="count", order=None), wide=self._wide).text()
            return "SELECT (AVG(?count) AS ?avg) WHERE {\n  {\n" + self._indented(counts.splitlines()) + "  }\n}"
        if graph.form == "ask":
            return "ASK {\n" + self._indented(self._body()) + "}"
        head = self._head()
        if {graph.form, *graph.also} & {"AVG", "SUM"}:
            return self._added_up(head)
        tail = ""
        if graph.group:
            tail = "\nGROUP BY " + " ".join(self._names[n] for n in graph.group)
        extra, clause = self._ordered()
        return f"SELECT {head} WHERE {{\n{self._indented([*self._body(), *extra])}}}{tail}{clause}"

    def _difference(self, other: QueryGraph) -> str:
        """The value or number of one thing less that of the other, how far apart they are, or whether it is more."""
        values = []
        for name, graph in (("?one", replace(self._graph, whole=None)), ("?other", other)):
            form = "MAX" if graph.nodes[graph.targets[0]].literal else "count"
            text = QueryWriter(replace(graph, form=form, order=None), wide=self._wide).text()
            values.append(text.replace(f"AS ?{form.lower()})", f"AS {name})", 1))
        one, two = ("\n    ".join(text.splitlines()) for text in values)
        if self._graph.form in ("more", "fewer"):
            sign = ">" if self._graph.form == "more" else "<"
            return f"ASK {{\n  {{ {one} }}\n  {{ {two} }}\n  FILTER(?one {sign} ?other)\n}}"
        value = "?one - ?other" if self._graph.form == "difference" else "ABS(?one - ?other)"
        return f"SELECT ({value} AS ?difference) WHERE {{\n  {{ {one} }}\n  {{ {two} }}\n}}"

    def _ordered(self) -> tuple[list[str], str]:
        """The pattern for what the rows are sorted by, where the others have none, and the clause that sorts them."""
        graph, order = self._graph, self._graph.order
        if order is None or not graph.targets:
            return [], ""
        if graph.group:
            name = "?count" if graph.form == "count" and order.counted else self._names[graph.group[0]]
            return [], self._by(name, order)
        target = graph.targets[0]
        known = [x.object for x in graph.links if x.predicate == order.predicate and not graph.nodes[x.object].terms]
        if known and known[0] not in self._hidden():
            return [], self._by(self._names[known[0]], order)
        if order.predicate is None and graph.nodes[target].literal:
            return [], self._by(self._names[target], order)
        path = _CALLED if order.predicate is None else str(order.predicate)
        return [f"OPTIONAL {{ {self._names[target]} {path} ?order . }}"], self._by("?order", order)

    @staticmethod
    def _by(name: str, order: Order) -> str:
        return f"\nORDER BY {'DESC' if order.descending else 'ASC'}({name})"

    def _added_up(self, head: str) -> str:
        """An average or sum over each thing once: it may be of several classes, or be reached in several ways."""
        graph = self._graph
        owners = [link.subject for link in graph.links if link.object == graph.targets[0]]
        shown = " ".join(
            name for n in dict.fromkeys((*graph.group, *owners, *graph.targets)) if (name := self._names[n])[0] == "?"
        )
        inner = self._indented(self._body()).replace("\n  ", "\n    ")
        tail = "\nGROUP BY " + " ".join(self._names[n] for n in graph.group) if graph.group else ""
        return f"SELECT {head} WHERE {{\n  SELECT DISTINCT {shown} WHERE {{\n  {inner.rstrip()}\n  }}\n}}{tail}"

    def _head(self) -> str:
        graph = self._graph
        shown = " ".join(dict.fromkeys(self._names[n] for n in graph.targets))
        groups = " ".join(self._names[n] for n in graph.group)
        target = self._names[graph.targets[0]] if graph.targets else "*"
        if graph.form == "count":
            return f"{groups} (COUNT(DISTINCT {target}) AS ?count)".strip()
        if graph.form in _FUNCTIONS:
            sums = " ".join(f"({name}({target}) AS ?{name.lower()})" for name in (graph.form, *graph.also))
            return f"{groups} {sums}".strip()
        return f"DISTINCT {shown or '*'}"

    def _variables(self) -> tuple[str, ...]:
        names: list[str] = []
        for index, node in enumerate(self._graph.nodes):
            if len(node.terms) == 1:
                names.append(str(node.terms[0]))
                continue
            source = node.named.value if node.named else self._named_by_link(index)
            stem = _NOT_NAME.sub("", local_name(source)) or "x"
            stem = (stem[0].lower() + stem[1:]) if not stem[0].isdigit() else f"x{stem}"
            name, number = f"?{stem}", 2
            while name in names or name in _RESERVED:
                name, number = f"?{stem}{number}", number + 1
            names.append(name)
        return tuple(names)

    def _named_by_link(self, index: int) -> str:
        links = [link for link in self._graph.links if link.object == index]
        if links:
            return links[0].predicate.value
        types = self._graph.nodes[index].types
        return min(types, key=str).value if types else "x"

    def _body(self) -> list[str]:
        everything = frozenset(range(len(self._graph.nodes)))
        lines = self._patterns(everything, suffix="")
        target = self._graph.targets[0] if self._graph.targets else 0
        for best in self._graph.best:
            lines += self._best(best, target)
        for having in self._graph.having:
            lines += self._having(having)
        return lines

    def _patterns(self, kept: frozenset[int], suffix: str) -> list[str]:
        graph = self._graph
        hidden = self._hidden()
        lines: list[str] = []
        for index in sorted(kept - hidden):
            lines += self._node_lines(index, suffix)
        for link in graph.links:
            if {link.subject, link.object} <= kept and not link.negated and not {link.subject, link.object} & hidden:
                lines.append(self._link_line(link, suffix))
        for link in graph.links:
            if link.negated and {link.subject, link.object} <= kept:
                lines += self._negated(link, suffix)
        for compared in graph.comparisons:
            if compared.node in kept - hidden:
                lines += self._limit(compared.than) if compared.than else []
                lines.append(self._filter(compared, suffix))
        lines += [self._search(s, suffix) for s in graph.searches if s.node in kept - hidden]
        for one, other in graph.unlike:
            if {one, other} <= kept:
                lines.append(f"FILTER({self._name(one, suffix)} != {self._name(other, suffix)})")
        return lines

    def _hidden(self) -> frozenset[int]:
        """The nodes that live only inside a NOT EXISTS."""
        found: set[int] = set()
        target = self._graph.targets[0] if self._graph.targets else 0
        for link in self._graph.links:
            if link.negated:
                far = link.object if target in self._graph.side_of(link.subject, link.object) else link.subject
                found |= self._graph.side_of(far, target)
        return frozenset(found - {target})

    def _negated(self, link: Link, suffix: str) -> list[str]:
        target = self._graph.targets[0] if self._graph.targets else 0
        far = link.object if target in self._graph.side_of(link.subject, link.object) else link.subject
        side = self._graph.side_of(far, target)
        lines = [self._link_line(link, suffix)]
        for index in sorted(side):
            lines += self._node_lines(index, suffix)
        for other in self._graph.links:
            if {other.subject, other.object} <= side:
                lines.append(self._link_line(other, suffix))
        lines += [self._filter(c, suffix) for c in self._graph.comparisons if c.node in side]
        return ["FILTER NOT EXISTS {", *(f"  {line}" for line in lines), "}"]

    def _name(self, index: int, suffix: str) -> str:
        name = self._names[index]
        return f"{name}{suffix}" if name.startswith("?") else name

    def _node_lines(self, index: int, suffix: str) -> list[str]:
        node = self._graph.nodes[index]
        name = self._name(index, suffix)
        if len(node.terms) > 1:
            return [f"VALUES {name} {{ {' '.join(map(str, node.terms))} }}"]
        if node.named is None:
            return []
        path = f"{TYPE}/{SUBCLASS_OF}*" if self._wide(node.named) else "a"
        return [f"{name} {path} {node.named} ."]

    def _link_line(self, link: Link, suffix: str) -> str:
        return f"{self._name(link.subject, suffix)} {link.predicate}{link.path} {self._name(link.object, suffix)} ."

    def _limit(self, than: Than) -> list[str]:
        """The value that others are compared with, in a query of its own, whose variables nothing else sees."""
        graph = replace(than.graph, form=than.function, targets=(than.node,), group=(), also=())
        text = QueryWriter(graph, wide=self._wide).text().replace(f"AS ?{than.function.lower()})", "AS ?limit)", 1)
        return ["{", *(f"  {line}" for line in text.splitlines()), "}"]

    def _filter(self, comparison: NodeComparison, suffix: str) -> str:
        name = self._name(comparison.node, suffix)
        if comparison.than is not None:
            return f"FILTER({name} {comparison.operator} ?limit)"
        value = _TIME_FORMS.get(comparison.form, "{}").format(name)
        quote = str if comparison.form != "date" else lambda text: str(Literal(text))
        if comparison.high is not None:
            return f"FILTER({value} >= {quote(comparison.low)} && {value} <= {quote(comparison.high)})"
        return f"FILTER({value} {comparison.operator} {quote(comparison.low)})"

    def _best(self, best: Best, target: int, suffix: str = "") -> list[str]:
        if best.top > 1:
            return self._top(best)
        if best.counted:
            return self._best_count(best, "MAX" if best.direction > 0 else "MIN")
        everything = frozenset(range(len(self._graph.nodes)))
        side = everything if best.within else self._graph.side_of(best.node, target) | {best.measure}
        deeper = f"{suffix}_"
        inner = self._patterns(side, deeper)
        for other in self._graph.best:
            if self._depends(best, other, target, side):
                inner += self._best(other, target, deeper)
        groups = [self._names[n] for n in best.within]
        for group in groups:  # what the groups are by is the same inside and outside
            inner = [re.sub(rf"{re.escape(group)}_\b", group, line) for line in inner]
        return self._extreme(best, inner, groups, suffix)

    def _depends(self, best: Best, other: Best, target: int, side: frozenset[int]) -> bool:
        """Whether an extreme is among what another extreme picks: the longest river of the smallest state."""
        if other is best or other.counted or other.top > 1 or other.node == best.node or other.node not in side:
            return False
        return best.node not in self._graph.side_of(other.node, target)

    def _extreme(self, best: Best, inner: list[str], groups: list[str], suffix: str) -> list[str]:
        """The subquery for the extreme of what the patterns match, and the filter by it; each has a name of its own."""
        measure = self._name(best.measure, suffix)
        place = self._graph.best.index(best)
        name = f"?best{place + 1 if place else ''}{suffix}"
        function = "MAX" if best.direction > 0 else "MIN"
        shown, tail = (f"{' '.join(groups)} ", f" GROUP BY {' '.join(groups)}") if groups else ("", "")
        value = f"({function}({measure}_) AS {name})"
        if best.rank > 1 and not groups:
            order = "DESC" if best.direction > 0 else "ASC"
            shown, value = "DISTINCT ", f"({measure}_ AS {name})"
            tail = f" ORDER BY {order}({name}) LIMIT 1 OFFSET {best.rank - 1}"
        return [
            "{",
            f"  SELECT {shown}{value} WHERE {{",
            *(f"    {line}" for line in inner),
            f"  }}{tail}",
            "}",
            f"FILTER({measure} = {name})",
        ]

    def _search(self, search: Search, suffix: str) -> str:
        name = self._name(search.node, suffix)
        held = f"{search.function}(LCASE(STR(?called)), {Literal(search.text)})"
        return f"FILTER EXISTS {{ {name} {_CALLED} ?called . FILTER({held}) }}"

    def _top(self, best: Best) -> list[str]:
        """The first few of a ranking; of equals at the end the one with the lower IRI."""
        node, measure = self._name(best.node, ""), self._name(best.measure, "")
        value = f"COUNT(DISTINCT {measure})" if best.counted else f"{'MAX' if best.direction > 0 else 'MIN'}({measure})"
        inner = self._patterns(frozenset(range(len(self._graph.nodes))), "")
        order = "DESC" if best.direction > 0 else "ASC"
        return [
            "{",
            f"  SELECT {node} ({value} AS ?best) WHERE {{",
            *(f"    {line}" for line in inner),
            f"  }} GROUP BY {node} ORDER BY {order}(?best) STR({node}) LIMIT {best.top}",
            "}",
        ]

    def _best_count(self, best: Best, function: str) -> list[str]:
        def counts(suffix: str, name: str) -> list[str]:
            node, counted = self._name(best.node, suffix), self._name(best.measure, suffix)
            everything = frozenset(range(len(self._graph.nodes)))
            inner = self._patterns(everything, suffix)
            if best.function != "COUNT":
                inner = self._once(best.node, best.measure, inner, suffix)
            return [
                f"SELECT {node} ({self._summed(best.function, counted)} AS {name}) WHERE {{",
                *(f"  {line}" for line in inner),
                f"}} GROUP BY {node}",
            ]

        return [
            "{",
            *(f"  {line}" for line in counts("", "?n")),
            "}",
            "{",
            f"  SELECT ({function}(?m) AS ?best) WHERE {{ {{",
            *(f"    {line}" for line in counts("_", "?m")),
            "  } }",
            "}",
            "FILTER(?n = ?best)",
        ]

    def _having(self, having: Having) -> list[str]:
        node, counted = self._name(having.node, ""), self._name(having.counted, "")
        inner = self._patterns(frozenset(range(len(self._graph.nodes))), "")
        if having.function != "COUNT":
            inner = self._once(having.node, having.counted, inner, "")
        value = self._summed(having.function, counted)
        return [
            "{",
            f"  SELECT {node} WHERE {{",
            *(f"    {line}" for line in inner),
            f"  }} GROUP BY {node} HAVING({value} {having.operator} {having.number})",
            "}",
        ]

    @staticmethod
    def _summed(function: str, name: str) -> str:
        return f"COUNT(DISTINCT {name})" if function == "COUNT" else f"{function}({name})"

    def _once(self, node: int, leaf: int, inner: list[str], suffix: str) -> list[str]:
        """The patterns as rows of a thing, what has the value, and the value, each once."""
        owner = next(link.subject for link in self._graph.links if link.object == leaf)
        shown = dict.fromkeys(self._name(i, suffix) for i in (node, owner, leaf))
        names = " ".join(name for name in shown if name.startswith("?"))
        return ["{", f"  SELECT DISTINCT {names} WHERE {{", *(f"    {line}" for line in inner), "  }", "}"]

    @staticmethod
    def _indented(lines: list[str]) -> str:
        return "".join(f"  {line}\n" for line in lines)


def with_limit(text: str, limit: int) -> str:
    """The query with a LIMIT of its own."""
    return f"{text}\nLIMIT {limit}" if not text.startswith("ASK") else text
