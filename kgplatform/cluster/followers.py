"""Other SPARQL engines that follow the journal: they get its patches in order, and serve who would ask them instead.

A follower first gets a copy of the graphs, in batches, and then each commit as SPARQL updates, a graph that cannot be
said so (blank nodes) as a whole by the Graph Store protocol, and last the number that it is at, in
``<base>graph/state``: what was cut short is done again, and doing it again changes nothing. What an engine is like says
its `StoreProfile`, from ``engines.toml``. `check` holds any engine against the contract; `compare` finds a follower
that lies, by digests.

Specifications: SPARQL 1.1 Update §3.1, SPARQL 1.1 Protocol §2, SPARQL 1.1 Graph Store HTTP Protocol §5.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
import tomllib
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

import pyoxigraph as ox
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, RdfFormat, Triple

from kgplatform.errors import ClusterError, ConfigError, KgPlatformError
from kgplatform.journal.patch import Journal, Patch, commits, graph_digest, graph_of
from kgplatform.settings import Settings, follower_password
from kgplatform.sparql.tokens import landmarks, scan
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store
from kgplatform.vocab import CORE, XSD, graph_iri
from kgplatform.workspace.workspace import Workspace

_SECONDS: Final = 60.0
_JSON: Final = "application/sparql-results+json"
_AT, _OF = NamedNode(f"{CORE}journalNumber"), NamedNode(f"{CORE}journalName")
_COPIED: Final = NamedNode(f"{CORE}copiedUpTo")
_INTEGER: Final = f"{XSD}integer"
_SURE_DIGITS: Final = 9
_HEAVY: Final = frozenset({"GROUP", "COUNT", "SUM", "AVG", "MIN", "MAX", "GROUP_CONCAT", "SAMPLE"})
_LOCAL: Final = frozenset({"FROM", "SERVICE", "DESCRIBE"})
_WAIT: Final = 2.0
_REST: Final = 10.0
_LITTLE: Final = 0.05


@dataclass(frozen=True, slots=True)
class StoreProfile:
    """What an engine is like; ``engines.toml`` says what the fields mean."""

    name: str
    query: str
    update: str
    data: str
    default_graph: str
    atomic: bool
    largest: int
    inexact: tuple[str, ...]
    refused: tuple[str, ...]
    integer_bits: int
    tested: bool

    def takes(self, item: Triple | Quad) -> bool:
        """True if the engine does not refuse its literal."""
        term = item.object
        if not isinstance(term, Literal):
            return True
        kind = term.datatype.value
        if kind == _INTEGER and self.integer_bits and len(term.value) > _SURE_DIGITS:
            return abs(int(term.value)) < 1 << (self.integer_bits - 1)
        return kind not in self.refused

    def keeps(self, item: Triple | Quad) -> bool:
        """True if the engine gives its literal back as it was written."""
        is_rounded = isinstance(item.object, Literal) and item.object.datatype.value in self.inexact
        return not is_rounded and self.takes(item)


@cache
def profiles() -> dict[str, StoreProfile]:
    """The engines that are known, by name."""
    table = tomllib.loads(files(__package__).joinpath("engines.toml").read_text(encoding="utf-8"))
    usual = table.pop("default")
    names = {field.name for field in fields(StoreProfile)} - {"name"}
    made = {}
    for name, own in table.items():
        said = {key: value for key, value in {**usual, **own}.items() if key in names}
        for kind in ("inexact", "refused"):
            said[kind] = tuple(item if ":" in item else f"{XSD}{item}" for item in said[kind])
        made[name] = StoreProfile(name=name, **said)
    return made


def profile_of(name: str) -> StoreProfile:
    """The profile of that name.

    Raises:
        ConfigError: there is none; the message lists those that there are.
    """
    if name not in profiles():
        raise ConfigError(f"no engine is called {name!r}; there are {', '.join(profiles())}", setting="profile")
    return profiles()[name]


class FollowerError(ClusterError):
    """An engine that cannot be reached, or refuses."""


class RemoteStore:
    """A SPARQL engine at an address, as far as its profile says how to talk to it."""

    def __init__(
        self,
        address: str,
        profile: StoreProfile,
        *,
        user: str = "",
        password: str = "",
        seconds: float = _SECONDS,
    ) -> None:
        """``address`` is where the engine's paths begin.

        Raises:
            ConfigError: the address is none.
        """
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ConfigError(
                f"{address!r} is not the address of an engine such as http://host:7878", setting="follower"
            )
        self.address, self.profile, self.seconds = address.rstrip("/"), profile, seconds
        known = urllib.request.HTTPPasswordMgrWithPriorAuth()
        known.add_password(None, self.address, user, password)
        handlers = [urllib.request.ProxyHandler({}), _NoRedirects()]
        if user:
            handlers += [_DigestHandler(known), urllib.request.HTTPBasicAuthHandler(known)]
        self._opener = urllib.request.build_opener(*handlers)

    def _send(self, where: str, how: str, data: bytes | None, **headers: str) -> bytes:
        address = f"{self.address}/{where}".rstrip("/") if where else self.address
        fields_ = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(address, data=data, method=how, headers=fields_)
        try:
            with self._opener.open(request, timeout=self.seconds) as answer:
                found: bytes = answer.read()
                return found
        except urllib.error.HTTPError as error:
            said = b" ".join(error.read(2_000).split())[:200].decode("utf-8", "replace")
            error.close()
            if error.code in (401, 403):
                said = "name the user, the password is in KGPLATFORM_FOLLOWER_PASSWORD"
            raise FollowerError(f"{self.address} refuses: {error.code} {error.reason}; {said}") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            raise FollowerError(f"{self.address} cannot be reached: {reason}") from error

    @property
    def names_default(self) -> bool:
        """True if the knowledge lies in a graph of its own, which queries have to name."""
        return self.profile.default_graph == "union"

    def knowledge(self, base: str) -> NamedNode | DefaultGraph:
        """Where the knowledge lies."""
        return graph_iri(base, "knowledge") if self.names_default else DEFAULT_GRAPH

    def query(self, text: str, *, default: str = "", accept: str = _JSON) -> bytes:
        """What the engine answers; ``default`` names the graph that stands for the default graph.

        Raises:
            FollowerError: it cannot be reached, or refuses.
        """
        form = {"query": text, **({"default-graph-uri": default} if default else {})}
        data = urlencode(form).encode()
        kind = "application/x-www-form-urlencoded"
        return self._send(self.profile.query, "POST", data, Accept=accept, Content_Type=kind)

    def rows(self, text: str) -> list[dict[str, str]]:
        """The solutions of a SELECT, each variable with the text of its value; raises as `query`."""
        answer = self.query(text)
        try:
            found = json.loads(answer)["results"]["bindings"]
            return [{name: str(term["value"]) for name, term in row.items()} for row in found]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise FollowerError(f"{self.address} answers a query with what is no result") from error

    def update(self, text: str) -> None:
        """Carries out an update; raises as `query`."""
        kind = "application/x-www-form-urlencoded"
        self._send(self.profile.update, "POST", urlencode({"update": text}).encode(), Content_Type=kind)

    def put(self, graph: NamedNode | DefaultGraph, triples: Iterable[Triple]) -> None:
        """Puts triples in the place of a graph; raises as `query`."""
        data = ox.serialize(triples, format=RdfFormat.N_TRIPLES) or b""
        self._send(self._graph(graph), "PUT", data, Content_Type="application/n-triples")

    def delete(self, graph: NamedNode | DefaultGraph) -> None:
        """Takes a graph out; raises as `query`, but for one that is not there."""
        try:
            self._send(self._graph(graph), "DELETE", None)
        except FollowerError as error:
            if " 404 " not in str(error):
                raise

    def get(self, graph: NamedNode | DefaultGraph) -> list[Triple]:
        """The triples of a graph; raises as `query`, but for one that is not there."""
        try:
            data = self._send(self._graph(graph), "GET", None, Accept="application/n-triples, text/turtle;q=0.5")
        except FollowerError as error:
            if " 404 " not in str(error):
                raise
            return []
        try:  # Turtle holds N-Triples
            return [quad.triple for quad in ox.parse(data, format=RdfFormat.TURTLE, lenient=True)]
        except SyntaxError as error:
            raise FollowerError(f"{self.address} gives a graph that is no RDF: {error}") from error

    def _graph(self, graph: NamedNode | DefaultGraph) -> str:
        which = "default" if isinstance(graph, DefaultGraph) else f"graph={quote(graph.value, safe='')}"
        return f"{self.profile.data}?{which}"

    def write(self, removed: Sequence[Quad], added: Sequence[Quad], *, last: str = "") -> None:
        """Takes quads out and puts others in, in requests of what the engine takes; ``last`` is a step at the end.

        Raises:
            FollowerError: it cannot be reached, or refuses; where the engine is not atomic, a part may be done.
        """
        largest = self.profile.largest
        if self.profile.atomic and len(removed) + len(added) <= largest:
            steps = [_data("DELETE", removed), _data("INSERT", added), last]
            if any(steps):
                self.update(" ;\n".join(filter(None, steps)))
            return
        for word, quads in (("DELETE", removed), ("INSERT", added)):
            for some in _batches(quads, largest):
                self.update(_data(word, some))
        for step in filter(None, last.split(" ;\n")):
            self.update(step)


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Nothing: another address is not one that was named."""


class _DigestHandler(urllib.request.HTTPDigestAuthHandler):
    """Answers the last challenge beforehand: an engine that asks first hangs up on a large body."""

    _challenge: Any = None

    def get_authorization(self, req: urllib.request.Request, chal: Any) -> Any:
        """What is said to a challenge."""
        self._challenge = chal
        return super().get_authorization(req, chal)

    def http_request(self, req: urllib.request.Request) -> urllib.request.Request:
        """The request, with what is said to the last challenge."""
        if self._challenge is not None:
            said = self.get_authorization(req, self._challenge)
            req.add_unredirected_header(self.auth_header, f"Digest {said}")
        return req

    https_request = http_request


def _batches(quads: Sequence[Quad], largest: int) -> Iterator[Sequence[Quad]]:
    return (quads[start : start + largest] for start in range(0, len(quads), largest))


def _data(word: str, quads: Iterable[Quad]) -> str:
    """The quads as steps of an update, each term in its own writing; what goes, a graph a step.

    Virtuoso 7.2.5 leaves texts with a language where one step takes from two graphs.
    """
    by_graph: dict[Any, list[str]] = {}
    for item in quads:
        by_graph.setdefault(item.graph_name, []).append(f"{item.triple} .")
    groups = [
        "\n".join(lines) if isinstance(graph, DefaultGraph) else f"GRAPH {graph} {{\n" + "\n".join(lines) + "\n}"
        for graph, lines in by_graph.items()
    ]
    steps = groups if word == "DELETE" else ["\n".join(groups)] if groups else []
    return " ;\n".join(f"{word} DATA {{\n{step}\n}}" for step in steps)


@dataclass(frozen=True, slots=True)
class GraphDifference:
    """A graph that a follower has otherwise: how many triples there are here and there."""

    graph: str
    here: int
    there: int


class Follower:
    """An engine that holds what a store holds, as of a number of its journal."""

    def __init__(self, engine: RemoteStore, base: str) -> None:
        self.engine, self._base = engine, base
        self._state = graph_iri(base, "state")
        self._knowledge = engine.knowledge(base)
        self.own = [self._state] if isinstance(self._knowledge, DefaultGraph) else [self._knowledge, self._state]
        """The graphs that the engine has and we have not."""
        self.number = -1
        """The number that it was at when it was last asked or fed; -1: not known."""

    def state(self) -> tuple[str, int]:
        """The journal that the engine follows, and the number it is at; nothing and 0 where it has no whole copy."""
        name, at, copied = self._said()
        return (name, at) if copied is None else ("", 0)

    def _said(self) -> tuple[str, int, str | None]:
        """Its journal, the number it is at or was begun to be copied at, and while that is done, the last graph."""
        pattern = f"?s {_OF} ?of ; {_AT} ?at OPTIONAL {{ ?s {_COPIED} ?copied }}"
        for row in self.engine.rows(f"SELECT ?of ?at ?copied WHERE {{ GRAPH {self._state} {{ {pattern} }} }}"):
            if row["at"].isdigit():
                return row["of"], int(row["at"]), row.get("copied")
        return "", 0, None

    def catch_up(self, journal: Journal, store: Store, *, leads: Callable[[], bool] = lambda: True) -> int:
        """Brings the engine up to the journal; the number that it is at then, 0 while it has no whole copy.

        An engine that followed nothing, or another journal, begins with a copy of what the store holds. It ends before
        a commit that the store does not show yet, and as soon as this process no longer ``leads``.

        Raises:
            FollowerError: the engine cannot be reached, or refuses; the next time goes on from there.
        """
        name, at, copied = self._said()
        with store.write_lock():  # between commits
            shown = store.version
        if name != journal.name or at > journal.newest:
            self._clear()
            at, copied = shown, ""
        if copied is not None:
            self.number, at = 0, min(at, shown)
            if not self._copy(store, journal.name, at, copied, leads):
                return 0
        self.number = at
        for group in commits(journal.patches(at)):
            is_shown = group[-1].number <= store.version or not any(patch.gone or patch.new for patch in group)
            if not is_shown or not leads():
                break
            self._take(group, store, journal.name)
            self.number = group[-1].number
        return self.number

    def _copy(self, store: Store, journal: str, at: int, copied: str, leads: Callable[[], bool]) -> bool:
        """Copies the graphs after that one by their names, the default graph last, in batches; False: broken off.

        What changes meanwhile comes with the patches after ``at`` too: whichever was first, it ends as the last says.
        """
        held: list[Quad] = []
        names = sorted(graph.value for graph in store.graphs() if graph.value > copied)
        for name in [*names, "default"]:
            graph = graph_of(name)
            is_whole = any(map(_is_blank, store.quads(graph=graph)))
            if is_whole:
                self._put(store, graph)
            for item in () if is_whole else filter(self.engine.profile.takes, store.quads(graph=graph)):
                held.append(self._moved(item))
                if len(held) == self.engine.profile.largest:
                    self.engine.write((), held, last=self._at(journal, at, copied))
                    held.clear()
                    if not leads():
                        return False
            if not leads():
                return False
            copied = name
        self.engine.write((), held, last=self._at(journal, at))
        return True

    def _clear(self) -> None:
        """Takes out what an earlier journal left, the number that it was at first."""
        self.engine.delete(self._state)
        before: list[str] = []
        while (graphs := self._graphs()) != before:  # an engine may list so many at a time only
            for graph in graphs:
                self.engine.delete(NamedNode(graph))
            before = graphs
        if not self.engine.names_default:
            self.engine.put(DEFAULT_GRAPH, ())

    def _graphs(self) -> list[str]:
        """The graphs of this workspace on the engine: an engine may hold others beside."""
        start = Literal(self._base)
        sparql = f"SELECT DISTINCT ?g WHERE {{ GRAPH ?g {{ ?s ?p ?o }} FILTER(STRSTARTS(STR(?g), {start})) }}"
        return [row["g"] for row in self.engine.rows(sparql)]

    def _take(self, group: Sequence[Patch], store: Store, journal: str) -> None:
        """Applies a commit; graphs with blank nodes come whole, as they are by now: what follows changes them back."""
        whole: set[Any] = set()
        for patch in group:
            quads = [*patch.removed, *patch.added]
            whole |= {item.graph_name for item in quads if _is_blank(item)}
        last, takes = group[-1].number, self.engine.profile.takes
        for patch in group:
            gone, new = (
                [self._moved(item) for item in quads if item.graph_name not in whole and takes(item)]
                for quads in (patch.removed, patch.added)
            )
            is_end = patch.number == last and not whole
            self.engine.write(gone, new, last=self._at(journal, last) if is_end else "")
        for graph in sorted(whole, key=str):
            self._put(store, graph)
        if whole:
            self.engine.write((), (), last=self._at(journal, last))

    def _put(self, store: Store, graph: NamedNode | DefaultGraph) -> None:
        place = self._knowledge if isinstance(graph, DefaultGraph) else graph
        self.engine.put(place, self._taken(store, graph))

    def _taken(self, store: Store, graph: NamedNode | DefaultGraph) -> list[Triple]:
        return [item.triple for item in store.quads(graph=graph) if self.engine.profile.takes(item)]

    def _moved(self, item: Quad) -> Quad:
        is_default = isinstance(item.graph_name, DefaultGraph)
        return Quad(item.subject, item.predicate, item.object, self._knowledge) if is_default else item

    def _at(self, journal: str, number: int, copied: str | None = None) -> str:
        """Two steps that say where it is: what is true by now, then no more what was before."""
        told = {_OF: Literal(journal), _AT: Literal(number)} | ({} if copied is None else {_COPIED: Literal(copied)})
        said = " ; ".join(f"{name} {value}" for name, value in told.items())
        kept = ", ".join(str(Literal(value.value)) for value in told.values())
        gone = f"GRAPH {self._state} {{ ?s ?p ?o }}"
        return (
            f"INSERT DATA {{ GRAPH {self._state} {{ {self._state} {said} }} }} ;\n"
            f"DELETE {{ {gone} }} WHERE {{ {gone} FILTER(STR(?o) NOT IN ({kept})) }}"
        )

    def compare(self, store: Store) -> list[GraphDifference]:
        """The graphs that are not the same on the engine, by their digests; raises as `RemoteStore.query`.

        Literals that it rounds are left out. What differs is looked at again between two commits, once the engine is
        level, if it comes to be so soon.
        """
        names = {"default", *(g.value for g in store.graphs()), *self._graphs()}.difference(g.value for g in self.own)
        found, end = self._differences(store, sorted(names)), time.monotonic() + _REST
        while found and time.monotonic() < end:
            with store.write_lock():
                if self.state()[1] >= store.version:
                    return self._differences(store, [item.graph for item in found])
            time.sleep(_LITTLE)
        return found

    def _differences(self, store: Store, names: Iterable[str]) -> list[GraphDifference]:
        keeps, found = self.engine.profile.keeps, []
        for name in names:
            here = graph_digest(filter(keeps, store.quads(graph=graph_of(name))))
            there = graph_digest(filter(keeps, self.engine.get(self._place(name))))
            if there != here:
                found.append(GraphDifference(name, here.count, there.count))
        return found

    def _place(self, name: str) -> NamedNode | DefaultGraph:
        return self._knowledge if name == "default" else NamedNode(name)

    def mend(self, store: Store, different: Iterable[GraphDifference]) -> None:
        """Puts whole graphs in the place of those that differ; raises as `compare`."""
        for item in different:
            with store.write_lock():  # what is written next comes after it
                triples, place = self._taken(store, graph_of(item.graph)), self._place(item.graph)
                is_there = triples or isinstance(place, DefaultGraph)
                self.engine.put(place, triples) if is_there else self.engine.delete(place)


def _is_blank(item: Quad) -> bool:
    return any(
        isinstance(term, BlankNode) or (isinstance(term, Triple) and "_:" in str(term))
        for term in (item.subject, item.object)
    )


class Feeding:
    """Keeps engines in line with a journal, a thread each; one that cannot be reached is tried again."""

    def __init__(
        self, followers: Sequence[Follower], journal: Journal, store: Store, leads: Callable[[], bool] = lambda: True
    ) -> None:
        """``leads`` says whether it is on this process to feed them: of several nodes the leader does."""
        self._journal, self._store, self._leads = journal, store, leads
        self._ends = threading.Event()
        self.followers, self.troubles = followers, dict[str, str]()
        self._threads = [
            threading.Thread(target=self._feed, args=(item,), name="follower", daemon=True) for item in followers
        ]
        for thread in self._threads:
            thread.start()

    def _feed(self, follower: Follower) -> None:
        at, address = -1, follower.engine.address
        while not self._ends.is_set():
            if not self._leads():
                self._ends.wait(_WAIT)
                continue
            try:
                if at < 0 or self._journal.wait(at, _WAIT) > at:
                    before, at = at, follower.catch_up(self._journal, self._store, leads=self._goes_on)
                    self._ends.wait(_LITTLE if at == before else 0)
                self.troubles.pop(address, None)
            except KgPlatformError as error:  # the engine is away, or the journal
                self.troubles[address] = str(error)
                self._ends.wait(_REST)
                at = -1

    def _goes_on(self) -> bool:
        return self._leads() and not self._ends.is_set()

    def close(self) -> None:
        """Ends after the commit, or the batch of a copy, in hand."""
        self._ends.set()
        for thread in self._threads:
            thread.join()


# The contract


@dataclass(frozen=True, slots=True)
class ContractPart:
    """A part of the contract: what is asked of an engine, and what is wrong, nothing where it holds.

    ``needed``: a follower that does not hold it is not one.
    """

    name: str
    problem: str
    needed: bool = True


_TERMS: Final[dict[str, Literal | BlankNode]] = {
    "blank node": BlankNode("b"),
    "string": Literal('a "quoted"\nline \\ and 西栅 😀'),
    "langString": Literal("西栅", language="zh"),
    **{
        kind: Literal(value, datatype=NamedNode(f"{XSD}{kind}"))
        for kind, value in {
            "integer": "12345678901234567890123",
            "decimal": "0.1234567890123456789",
            "double": "1.5",
            "boolean": "true",
            "date": "2026-11-26",
            "dateTime": "2026-11-26T01:02:03Z",
            "gYear": "1998",
            "duration": "P1DT2H",
            "time": "01:02:03",
        }.items()
    },
}


def check(engine: RemoteStore, base: str = "urn:kgplatform:contract:") -> Iterator[ContractPart]:
    """Holds an engine against the contract, a part at a time, in graphs below ``base``, which go afterwards."""
    parts: list[tuple[str, bool, Callable[[RemoteStore, str], str]]] = [
        ("a query is answered as JSON", True, _answers),
        ("a graph is put, got and deleted whole", True, _graphs_whole),
        ("an update inserts and deletes in named graphs", True, _updates),
        (f"an update of {engine.profile.largest:,} statements is taken", True, _takes_largest),
        ("what is repeated changes nothing", True, _repeats),
        ("literals and blank nodes come back as they went in", True, _keeps_terms),
        ("the default graph is as the profile says", True, _has_default),
        ("a query goes by the default graph that it names", True, _names_default),
        ("a request of several steps happens as a whole", engine.profile.atomic, _is_atomic),
        ("ten thousand graphs are held apart", False, _many_graphs),
    ]
    try:
        for name, needed, part in parts:
            try:
                yield ContractPart(name, part(engine, base), needed)
            except FollowerError as error:
                yield ContractPart(name, str(error), needed)
                if part is _answers:
                    return
    finally:
        _clean(engine, base)


def _clean(engine: RemoteStore, base: str) -> None:
    try:
        for name in ("a", "b", "many", "knowledge"):
            engine.delete(NamedNode(f"{base}{name}"))
        engine.update(f"DELETE DATA {{ {_s(base)} <{base}p> 1 }}") if not engine.names_default else None
        for start in range(0, 10_000, 500):
            names = " ".join(f"<{base}g{number}>" for number in range(start, start + 500))
            engine.update(
                f"DELETE {{ GRAPH ?g {{ ?s ?p ?o }} }} WHERE {{ VALUES ?g {{ {names} }} GRAPH ?g {{ ?s ?p ?o }} }}"
            )
    except FollowerError:
        return  # it was told already


def _s(base: str) -> NamedNode:
    return NamedNode(f"{base}s")


def _triples(base: str, count: int) -> list[Triple]:
    return [Triple(_s(base), NamedNode(f"{base}p"), Literal(f"{number} 号", language="zh")) for number in range(count)]


def _answers(engine: RemoteStore, _base: str) -> str:
    found = engine.rows("SELECT (1 + 1 AS ?two) WHERE {}")
    return "" if [row.get("two") for row in found] == ["2"] else f"1 + 1 is {found}"


def _same(engine: RemoteStore, graph: NamedNode, wanted: Iterable[Triple]) -> str:
    there, here = graph_digest(engine.get(graph)), graph_digest(wanted)
    return "" if there == here else f"{there.count} statements came back, {here.count} went in, or others"


def _graphs_whole(engine: RemoteStore, base: str) -> str:
    graph = NamedNode(f"{base}a")
    for count in (20, 5):
        engine.put(graph, _triples(base, count))
        if problem := _same(engine, graph, _triples(base, count)):
            return problem
    engine.delete(graph)
    return _same(engine, graph, ())


def _updates(engine: RemoteStore, base: str) -> str:
    one, other = NamedNode(f"{base}a"), NamedNode(f"{base}b")
    triples = _triples(base, 6)
    quads = {graph: [Quad(t.subject, t.predicate, t.object, graph) for t in triples] for graph in (one, other)}
    engine.write((), [*quads[one], *quads[other]])
    engine.write([*quads[one][:2], *quads[other][:3]], ())
    return _same(engine, one, triples[2:]) or _same(engine, other, triples[3:])


def _takes_largest(engine: RemoteStore, base: str) -> str:
    graph, triples = NamedNode(f"{base}many"), _triples(base, engine.profile.largest)
    engine.update(_data("INSERT", [Quad(t.subject, t.predicate, t.object, graph) for t in triples]))
    problem = _same(engine, graph, triples)
    engine.delete(graph)
    return problem


def _repeats(engine: RemoteStore, base: str) -> str:
    graph, triples = NamedNode(f"{base}a"), _triples(base, 4)
    quads = [Quad(t.subject, t.predicate, t.object, graph) for t in triples]
    engine.put(graph, triples)
    for _ in range(2):
        engine.write(quads[:1], quads[1:])
    return _same(engine, graph, triples[1:])


def _keeps_terms(engine: RemoteStore, base: str) -> str:
    graph, lost = NamedNode(f"{base}a"), []
    for kind, term in _TERMS.items():
        wanted = [Triple(_s(base), NamedNode(f"{base}p"), term)]
        try:
            engine.put(graph, wanted)
            lost += [kind] if _same(engine, graph, wanted) else []
        except FollowerError:
            lost.append(kind)
    others = [kind for kind in lost if engine.profile.keeps(Triple(_s(base), _s(base), _TERMS[kind]))]
    return f"changed or refused: {', '.join(others)}" if others else ""


def _has_default(engine: RemoteStore, base: str) -> str:
    graph, triples = NamedNode(f"{base}a"), _triples(base, 1)
    engine.put(graph, triples)
    found = engine.rows(f"SELECT ?o WHERE {{ {_s(base)} <{base}p> ?o }}")
    if engine.names_default:
        return "" if found else "the default graph does not show what named graphs hold; it is one of its own"
    if found:
        return "the default graph shows what named graphs hold; it should be one of its own"
    engine.update(f"INSERT DATA {{ {_s(base)} <{base}p> 1 }}")
    found = engine.rows(f"SELECT ?o WHERE {{ {_s(base)} <{base}p> ?o }}")
    engine.update(f"DELETE DATA {{ {_s(base)} <{base}p> 1 }}")
    return "" if len(found) == 1 else f"one statement in the default graph is {len(found)} in a query"


def _names_default(engine: RemoteStore, base: str) -> str:
    engine.put(NamedNode(f"{base}a"), _triples(base, 3))
    engine.put(NamedNode(f"{base}b"), _triples(base, 5))
    sparql = f"SELECT (COUNT(*) AS ?n) WHERE {{ {_s(base)} <{base}p> ?o }}"
    found = json.loads(engine.query(sparql, default=f"{base}a"))["results"]["bindings"][0]["n"]["value"]
    return "" if found == "3" else f"of 3 statements in it {found} were found"


def _is_atomic(engine: RemoteStore, base: str) -> str:
    graph = NamedNode(f"{base}a")
    engine.delete(graph)
    first = f"INSERT DATA {{ GRAPH {graph} {{ {_s(base)} <{base}p> 1 }} }}"
    try:
        engine.update(f"{first} ;\nCREATE GRAPH <{base}b> ;\nCREATE GRAPH <{base}b>")
    except FollowerError:
        return "the first step stayed, the second failed" if engine.get(graph) else ""
    return ""  # this engine finds nothing wrong with making what is there


def _many_graphs(engine: RemoteStore, base: str) -> str:
    started, most = time.monotonic(), min(engine.profile.largest, 500)
    quads = [Quad(_s(base), NamedNode(f"{base}p"), Literal(n), NamedNode(f"{base}g{n}")) for n in range(10_000)]
    for some in _batches(quads, most):
        engine.update(_data("INSERT", some))
    start = Literal(f"{base}g")
    sparql = (
        f"SELECT (COUNT(DISTINCT ?g) AS ?n) WHERE {{ GRAPH ?g {{ ?s ?p ?o }} FILTER(STRSTARTS(STR(?g), {start})) }}"
    )
    found = engine.rows(sparql)[0]["n"]
    seconds = time.monotonic() - started
    return "" if found == "10000" else f"of 10,000 graphs {found} are there after {seconds:.0f} s"


def remote_of(named: str) -> RemoteStore:
    """The engine of a setting, ``PROFILE http://user@host:port/path``; a password it lacks is that of all.

    Raises:
        ConfigError: it is not of that form, or no profile has that name.
    """
    name, mark, address = named.partition(" ")
    if not mark:
        raise ConfigError(f"{named!r} is not of the form PROFILE ADDRESS", setting="cluster.followers")
    parts = urlsplit(address.strip())
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    return RemoteStore(
        bare, profile_of(name), user=parts.username or "", password=parts.password or follower_password()
    )


def described(named: str, base: str) -> str:
    """How far the engine of a setting has followed; raises as `remote_of` and `Follower.state`."""
    engine = remote_of(named)
    _, at = Follower(engine, base).state()
    return f"{engine.profile.name} at {engine.address}, " + (f"at commit {at}" if at else "holds no whole copy yet")


def with_graphs_of_ours(text: str, default: NamedNode | DefaultGraph, hidden: Sequence[NamedNode]) -> str:
    """A query to an engine where ``default`` stands for our default graph and the graphs ``hidden`` are none of ours.

    Empty where the text does not tell (a CONSTRUCT without a template), or asks any graph of an engine that may have
    some of its own (whose default graph is not ours). SPARQL 1.1 Query §13.3: what stands under GRAPH is matched there
    but for what has a GRAPH of its own; of that, a variable is kept from what is hidden.
    """
    marks = list(landmarks(text))
    groups = [mark for mark in marks if mark.text == "{" and mark.depth == 0]
    verbs = {mark.text for mark in marks if mark.depth == 0}
    if len(groups) != (2 if "CONSTRUCT" in verbs else 1):
        return ""
    put: list[tuple[int, str]] = []
    for number, mark in enumerate(marks):
        opened = next(filter(lambda at: at.text == "{", marks[number:]), None)
        if opened is None or (mark.text != "GRAPH" and mark is not groups[-1]):
            continue
        closed = next(at for at in marks[number:] if at.text == "}" and at.depth == opened.depth)
        name = text[mark.end : opened.start].strip()
        if mark is groups[-1] and not isinstance(default, DefaultGraph):
            put += [(opened.end, f" GRAPH {default} {{"), (closed.start, "\n}")]
        elif mark.text == "GRAPH" and name[:1] in ("?", "$"):
            if not isinstance(default, DefaultGraph):
                return ""
            put.append((closed.end, f"\n FILTER({' && '.join(f'{name} != {graph}' for graph in hidden)})"))
    parts, last = [], 0
    for place, words in sorted(put):
        parts += [text[last:place], words]
        last = place
    return "".join([*parts, text[last:]])


class Analytics:
    """An engine that is asked heavy queries in the place of this machine: those that count or sum."""

    def __init__(self, engine: RemoteStore, base: str) -> None:
        self._engine, self._follower = engine, Follower(engine, base)
        self._default = engine.knowledge(base)
        self._rests_until = 0.0

    def answer(self, text: str, media_type: str, version: int) -> bytes | None:
        """The result; None where it is to come from here: a light query, an engine that is behind or fails."""
        words = scan(text).keywords
        if not words & _HEAVY or words & _LOCAL or time.monotonic() < self._rests_until:
            return None
        asked = with_graphs_of_ours(text, self._default, self._follower.own)
        try:
            journal, at = self._follower.state() if asked else ("", 0)
            return self._engine.query(asked, accept=media_type) if journal and at >= version else None
        except ClusterError:
            self._rests_until = time.monotonic() + _REST
            return None


def analytics(settings: Settings, seconds: float) -> Analytics | None:
    """The engine for heavy queries, if the settings name one; raises as `remote_of`."""
    if not settings.server.analytics:
        return None
    engine = remote_of(settings.server.analytics)
    engine.seconds = min(engine.seconds, seconds)
    return Analytics(engine, settings.base)


@contextmanager
def feeding(workspace: Workspace) -> Iterator[Feeding | None]:
    """Keeps the followers that the settings name in line while the block runs.

    Raises:
        ConfigError: there are such, and no journal; or one is not said as it should be.
    """
    named = workspace.settings.cluster.followers
    if not named:
        yield None
        return
    if workspace.recorder is None:
        raise ConfigError("cluster.followers follow the journal; set journal = true", setting="journal")
    journal = workspace.recorder.journal
    engines = [Follower(remote_of(item), workspace.base) for item in named]
    fed = Feeding(engines, journal, workspace.store, lambda: not workspace.follows and journal.leads_surely)
    try:
        yield fed
    finally:
        fed.close()
