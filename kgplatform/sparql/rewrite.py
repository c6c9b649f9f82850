"""SPARQL Update requests made to speak of other graphs, by the places of their words; no data becomes text here.

The dataset parameters of the SPARQL 1.1 Protocol (§2.2.3) become ``USING`` clauses, and a PATCH of one graph gets
that graph round its patterns. What is put in is an IRI in the store's own spelling, at a place where the grammar has
one (SPARQL 1.1 Query §19.8, rules 38 to 50), so the text around it is never looked into.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

from pyoxigraph import NamedNode

from kgplatform.errors import QueryRejectedError
from kgplatform.sparql.tokens import Landmark, Scan, SparqlToken, declared_prefixes, landmarks, scan, tokens

_DATASET_WORDS = frozenset({"USING", "WITH"})
_OTHER_GRAPHS = frozenset(
    {"GRAPH", "USING", "WITH", "LOAD", "CLEAR", "DROP", "CREATE", "ADD", "MOVE", "COPY", "NAMED", "SERVICE"}
)


@dataclass(slots=True)
class _Operation:
    """The words of one operation that stand outside braces, its braces, and where it ends in the text."""

    words: list[Landmark] = field(default_factory=list)
    blocks: list[tuple[Landmark, Landmark]] = field(default_factory=list)
    end: int = 0

    @property
    def verbs(self) -> tuple[str, ...]:
        """The words, without those of the prologue."""
        return tuple(word.text for word in self.words if word.text not in ("PREFIX", "BASE", "VERSION"))

    @property
    def is_short(self) -> bool:
        """Whether it is INSERT DATA, DELETE DATA or DELETE WHERE: one block, and all words before it."""
        return len(self.blocks) == 1 and bool(self.words) and self.words[-1].end <= self.blocks[0][0].start


def _operations(text: str) -> Iterator[_Operation]:
    found, opened = _Operation(), None
    for mark in landmarks(text):
        if mark.depth > 0:
            continue
        if mark.text == ";":
            found.end = mark.start
            yield found
            found = _Operation()
        elif mark.text == "{":
            opened = mark
        elif mark.text == "}":
            if opened is not None:
                found.blocks.append((opened, mark))
            opened = None
        else:
            found.words.append(mark)
    found.end = len(text)
    yield found


def with_using_clauses(text: str, default: Sequence[NamedNode], named: Sequence[NamedNode]) -> str:
    """The update with its patterns matched in the graphs given, as if each operation had a USING clause for them.

    Raises:
        QueryRejectedError: it says USING or WITH itself, which the protocol forbids together with these.
    """
    if not default and not named:
        return text
    clauses = "".join([*(f" USING {iri}" for iri in default), *(f" USING NAMED {iri}" for iri in named)]) + " "
    put: list[tuple[int, str]] = []
    for operation in _operations(text):
        if _DATASET_WORDS & set(operation.verbs):
            raise QueryRejectedError(
                ("the update says USING or WITH and the request using-graph-uri; leave one of them out",), query=text
            )
        if operation.is_short and operation.verbs == ("DELETE", "WHERE"):
            opened, closed = operation.blocks[0]
            where = operation.words[-1]
            put += [(where.start, f"{text[opened.start : closed.end]}{clauses}")]
        else:
            put += [(word.start, clauses) for word in operation.words if word.text == "WHERE"]
    return _with(text, put)


def in_one_graph(text: str, graph: NamedNode | None) -> str:
    """The update with everything it says said of one graph (None: the default graph).

    Raises:
        QueryRejectedError: it speaks of graphs itself, or does more than insert and delete.
    """
    other = sorted({mark.text for mark in landmarks(text)} & _OTHER_GRAPHS)
    if other:
        raise QueryRejectedError(
            (f"a patch is about one graph and may not say {', '.join(other)}; send it to /sparql instead",), query=text
        )
    if graph is None:
        return text
    put: list[tuple[int, str]] = []
    for operation in _operations(text):
        first = next((word for word in operation.words if word.text in ("INSERT", "DELETE")), None)
        if first is None:
            continue
        if operation.is_short:
            opened, closed = operation.blocks[0]
            put += [(opened.end, f" GRAPH {graph} {{"), (closed.start, "\n} ")]
        else:
            put += [(first.start, f"WITH {graph} ")]
    return _with(text, put)


def as_data_inserts(text: str) -> list[tuple[bool, str]] | None:
    """Each INSERT DATA (true) and DELETE DATA (false) as an INSERT DATA that stands by itself.

    None: the update does something else too, or is not written as the grammar has it.
    """
    found: list[tuple[bool, str]] = []
    prologue, start = "", 0
    for operation in _operations(text):
        verb = next((word for word in operation.words if word.text in ("INSERT", "DELETE")), None)
        if verb is None:
            if operation.verbs or operation.blocks:
                return None
            prologue += f"{text[start : operation.end]}\n"
        elif not operation.is_short or operation.verbs[1:] != ("DATA",):
            return None
        else:
            prologue += f"{text[start : verb.start]}\n"
            found.append((verb.text == "INSERT", f"{prologue}INSERT{text[verb.end : operation.end]}"))
        start = operation.end + 1
    return found


_CHANGING = frozenset({"NOW", "RAND", "UUID", "STRUUID", "BNODE"})
_PATTERNED = frozenset({("DELETE", "WHERE"), ("INSERT", "WHERE"), ("DELETE", "INSERT", "WHERE")})


def as_constructs(text: str) -> tuple[str, str] | None:
    """What an update by a pattern takes out of the default graph and what it puts in: two CONSTRUCTs, empty for none.

    SPARQL 1.1 Update §3.1.3: both come from the same solutions, found before anything is changed. None: it is more
    than one operation, speaks of other graphs where it writes, or would find something else the second time.
    """
    operations = [item for item in _operations(text) if item.verbs or item.blocks]
    if len(operations) != 1 or operations[0].verbs not in _PATTERNED or _CHANGING & scan(text).keywords:
        return None
    found = operations[0]
    words = [word for word in found.words if word.text in ("DELETE", "INSERT", "WHERE")]
    blocks = [text[opened.start : closed.end] for opened, closed in found.blocks]
    is_alone = found.is_short and len(words) == 2  # DELETE WHERE: the pattern is the template too
    if len(blocks) != (1 if is_alone else len(words)) or (is_alone and words[0].text != "DELETE"):
        return None
    templates = dict(zip([word.text for word in words[:-1]], blocks, strict=False))
    if any(mark.text == "GRAPH" for template in templates.values() for mark in landmarks(template)):
        return None
    prologue = text[: words[0].start]
    made = {verb: f"{prologue}CONSTRUCT {template}\nWHERE {blocks[-1]}" for verb, template in templates.items()}
    return made.get("DELETE", ""), made.get("INSERT", "")


def without_silent_loads(text: str) -> str:
    """The update with an operation that does nothing in place of each ``LOAD SILENT``, which may fail without a word.

    SPARQL 1.1 Update §3.1.4: an operation that is SILENT always succeeds. What it names is never fetched.
    """
    if "LOAD" not in scan(text).keywords:
        return text
    put, last = [], 0
    for operation in _operations(text):
        first = next((word for word in operation.words if word.text == "LOAD"), None)
        if first is not None and _is_silent_load(text[first.start : operation.end]):
            put += [text[last : first.start], "INSERT DATA {}"]
            last = operation.end
    return "".join([*put, text[last:]])


_NAMES = ("iri", "name")


def _is_silent_load(operation: str) -> bool:
    """Whether that is a LOAD SILENT as the grammar has it (SPARQL 1.1 Query §19.8, rule 31)."""
    found = ["IRI" if token.kind in _NAMES else token.text.upper() for token in tokens(operation)]
    return found in (["LOAD", "SILENT", "IRI"], ["LOAD", "SILENT", "IRI", "INTO", "GRAPH", "IRI"])


_PREFIX = re.compile(r"PREFIX\s+([^\s:<>]*:)\s*(<[^<>\s]*>)\s*", re.IGNORECASE)


def with_prefixes_first(text: str, known: Mapping[str, str] | None = None) -> str:
    """The update with the prefixes that are declared between its operations declared at its head.

    SPARQL 1.1 Update §3 (rule 29) has a prologue before each operation, the store only one before all. Where moving
    it would change what it means (a prefix that is something else before, in the text or among those ``known`` without
    a declaration; BASE; a comment in between), the text stays as it is.
    """
    found: list[re.Match[str]] = []
    declared = {f"{name}:": f"<{iri}>" for name, iri in (known or {}).items()}
    start = 0
    for operation in _operations(text):
        first = next((word for word in operation.words if word.text not in ("PREFIX", "BASE", "VERSION")), None)
        prologue = text[start : first.start if first else operation.end]
        names = _PREFIX.findall(prologue)
        differs = any(declared.get(name, iri) != iri for name, iri in names)
        if start and (differs or _PREFIX.sub("", prologue).strip()):
            return text
        declared |= dict(names)
        if start:
            found += _PREFIX.finditer(text, start, start + len(prologue))
        start = operation.end + 1
    if not found:
        return text
    head = "".join(f"PREFIX {match[1]} {match[2]} " for match in found)
    parts, last = [head], 0
    for match in found:
        parts += [text[last : match.start()], "\n" * match.group().count("\n") or " "]
        last = match.end()
    return "".join([*parts, text[last:]])


def with_plain_group_concat(text: str) -> str:
    """The query with the value of each GROUP_CONCAT a plain string, as SPARQL 1.1 §18.5.1.7 has it.

    The store keeps the language where all the values share one.
    """
    if "GROUP_CONCAT" not in text.upper() or "GROUP_CONCAT" not in scan(text).keywords:
        return text
    put: list[tuple[int, str]] = []
    opened: list[int] = []
    is_next = False
    for mark in landmarks(text):
        if mark.text == "GROUP_CONCAT":
            put.append((mark.start, "STR("))
            is_next = True
        elif is_next and mark.text == "(":
            opened.append(mark.depth)
            is_next = False
        elif mark.text == ")" and opened and mark.depth == opened[-1]:
            opened.pop()
            put.append((mark.end, ")"))
    return _with(text, put) if len(put) % 2 == 0 else text


@dataclass(frozen=True, slots=True)
class ZeroLengthPath:
    """A triple pattern whose path may have no length: its one variable, its one term, and where it stands."""

    variable: str
    term: SparqlToken
    start: int
    end: int


_PATH = re.compile(r"[\w>)][*?](?!\w)")
_AROUND = ("{", "}", ".")


def zero_length_paths(text: str) -> list[ZeroLengthPath]:
    """The patterns ``?x path* term`` and ``term path* ?x`` (or ``path?``) that stand by themselves, in their order.

    Of a term that the graph does not hold, such a path has one solution, the term itself (SPARQL 1.1 §18.4), which
    the store leaves out. Under GRAPH, where there would be one for each graph, none are given.
    """
    if not _PATH.search(text) or {"GRAPH", "FROM"} & scan(text).keywords:
        return []
    listed, found = list(tokens(text)), []
    begins = [place for place, token in enumerate(listed) if token.text in _AROUND]
    for begin, end in pairwise(begins):
        inside = listed[begin + 1 : end]
        if len(inside) < 4 or inside[-2].text not in ("*", "?") or not _is_step(inside[1:-2]):
            continue
        ends = (inside[0], inside[-1])
        variables = [token for token in ends if token.kind == "variable"]
        terms = [token for token in ends if token.kind in _NAMES]
        if len(variables) == len(terms) == 1:
            found.append(ZeroLengthPath(variables[0].text, terms[0], inside[0].start, inside[-1].end))
    return found


def _is_step(path: Sequence[SparqlToken]) -> bool:
    """Whether that is one property or one group of them, so that what follows is said of all of it."""
    if path[0].text == "(":
        depths = list(accumulate((token.kind == "open") - (token.kind == "close") for token in path))
        return 0 in depths and depths.index(0) == len(path) - 1
    return len(path) == 1 and (path[0].kind in _NAMES or path[0].text == "a")


def with_zero_length_solutions(text: str, paths: Iterable[ZeroLengthPath]) -> str:
    """The text with the one solution of a path of no length in the place of each of these."""
    parts, last = [], 0
    for path in paths:
        parts += [text[last : path.start], f"VALUES {path.variable} {{ {path.term.text} }}"]
        last = path.end
    return "".join([*parts, text[last:]])


def with_named_columns(text: str, seen: Scan) -> str:
    """A query that begins ``SELECT *`` with the variables it names in place of the star; any other as it is.

    The store gives the columns of a star in the order of the alphabet. Where a variable might not be in scope at the
    end, the text alone does not tell what the star means, and it stays.
    """
    if not seen.shows_all:
        return text
    return text[: seen.star] + " ".join(f"?{name}" for name in seen.variables) + text[seen.star + 1 :]


_LETTERS = r"A-Za-z_\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u3001-\ud7ff\uf900-\ufdcf"
_LOCAL = re.compile(rf"[{_LETTERS}0-9][{_LETTERS}0-9\u00b7\u0300-\u036f\-]*")
"""A local name as SPARQL 1.1 §19.8 has it (PN_LOCAL), without dots, colons and escapes."""


def with_prefixed_names(text: str, prefixes: Mapping[str, str]) -> str:
    """The query with prefixed names for the IRIs that the prefixes cover, and the declarations of those it uses.

    One that declares prefixes has a style of its own and stays as it is.
    """
    listed = list(tokens(text))
    if declared_prefixes(listed):
        return text
    used: dict[str, None] = {}
    parts, last = [], 0
    for token in listed:
        if token.kind == "name":
            used[token.text.partition(":")[0]] = None
        elif token.kind == "iri" and (short := prefixed_name(token.text[1:-1], prefixes.items())):
            used[short.partition(":")[0]] = None
            parts += [text[last : token.start], short]
            last = token.end
    lines = [f"PREFIX {name}: <{prefixes[name]}>\n" for name in used if name in prefixes]
    return "".join([*lines, *parts, text[last:]])


def prefixed_name(iri: str, prefixes: Iterable[tuple[str, str]]) -> str:
    """The IRI by the first prefix that covers it and leaves a plain local name; empty where there is none."""
    for name, namespace in prefixes:
        if iri.startswith(namespace) and _LOCAL.fullmatch(iri, len(namespace)):
            return f"{name}:{iri[len(namespace) :]}"
    return ""


def with_declarations(text: str, prefixes: Mapping[str, str]) -> str:
    """The query with those of the prefixes declared that it uses without declaring them."""
    known = {prefix.casefold() for prefix in declared_prefixes(tokens(text))}
    used = scan(text).prefixes
    missing = [prefix for prefix in prefixes if prefix in used and prefix.casefold() not in known]
    return "\n".join([*(f"PREFIX {prefix}: <{prefixes[prefix]}>" for prefix in missing), text])


def _with(text: str, put: Iterable[tuple[int, str]]) -> str:
    parts, last = [], 0
    for place, words in sorted(put):
        parts += [text[last:place], words]
        last = place
    return "".join([*parts, text[last:]])
