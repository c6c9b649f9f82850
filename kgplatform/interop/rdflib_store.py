"""A workspace, or a SPARQL endpoint, as an rdflib store: ``rdflib.Graph(store="kgplatform")``.

A graph without a name, or with a blank node for one, is the default graph, which is the knowledge; any other is the
named graph of that IRI. Queries and updates are handed on whole. Statements that are added are sent together: before
the next read, at ``commit()`` and at ``close()``. In a workspace they count as stated by hand; what is removed though
evidence holds it counts as rejected. Blank nodes are kept as IRIs (RDF 1.1 Concepts §3.5) and given back as blank
nodes, so that they can be looked up and removed. Statements about triple terms, which rdflib lacks, are passed over.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping
from contextlib import suppress
from http.client import HTTPException
from itertools import product
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias
from urllib.error import HTTPError
from urllib.parse import quote, unquote, urlencode, urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import pyoxigraph as ox
import rdflib
from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, Quad, RdfFormat, Triple
from rdflib.graph import DATASET_DEFAULT_GRAPH_ID, Graph
from rdflib.query import Result
from rdflib.store import VALID_STORE
from rdflib.store import Store as RdflibStore
from rdflib.term import BNode, URIRef, Variable

from kgplatform.errors import KgPlatformError, QueryError, QueryRejectedError, StoreError
from kgplatform.graph import KnowledgeGraph
from kgplatform.sparql.rewrite import in_one_graph
from kgplatform.sparql.tokens import read_only_issues, scan
from kgplatform.store.dataset import quad
from kgplatform.store.oxigraph import DEFAULT_GRAPH, as_stored, data_block
from kgplatform.store.updates import write_quads
from kgplatform.types import Term
from kgplatform.vocab import SH, XSD_STRING, graph_iri

if TYPE_CHECKING:
    from rdflib.graph import _ContextType, _TriplePatternType, _TripleType

_Where: TypeAlias = NamedNode | DefaultGraph

_UNION: Final = "__UNION__"
_AT_ONCE: Final = 5_000
"""So many statements are sent at a time."""
_SECONDS: Final = 120.0
_MOST_BYTES: Final = 256_000_000
_ROWS, _TRIPLES = "application/sparql-results+json", "application/n-triples"


class _Access(Protocol):
    """Where the statements are."""

    genid: str
    rejected: NamedNode | None
    prefixes: Mapping[str, str]

    def quads(self, s: Any, p: NamedNode | None, o: Term | None, graph: _Where | None) -> Iterator[Quad]: ...

    def graphs(self) -> list[NamedNode]: ...

    def evaluate(self, text: str, graph: NamedNode | None) -> Any: ...

    def write(self, wanted: Mapping[Quad, bool]) -> None: ...

    def update(self, text: str) -> None: ...

    def add_graph(self, graph: NamedNode) -> None: ...

    def drop(self, graph: NamedNode) -> None: ...

    def keeps(self, graph: object) -> bool: ...

    def close(self) -> None: ...


class _Workspace:
    """A workspace that is open in this process."""

    def __init__(self, kg: KnowledgeGraph, *, is_own: bool) -> None:
        self._kg, self._is_own = kg, is_own
        self.genid = f"{kg.base}genid/"
        self.rejected: NamedNode | None = kg.dataset.rejected
        self.prefixes: Mapping[str, str] = dict(kg.store.prefixes)

    def quads(self, s: Any, p: NamedNode | None, o: Term | None, graph: _Where | None) -> Iterator[Quad]:
        return self._kg.store.quads(s, p, as_stored(o) if isinstance(o, Literal) else o, graph)

    def graphs(self) -> list[NamedNode]:
        return self._kg.store.graphs()

    def evaluate(self, text: str, graph: NamedNode | None) -> Any:
        text = self._kg.resolved(text)
        if issues := read_only_issues(text):
            raise QueryRejectedError(issues, query=text)
        return self._kg.store.evaluate(text, default_graphs=[graph.value] if graph else ())

    def write(self, wanted: Mapping[Quad, bool]) -> None:
        data = self._kg.dataset
        for item in wanted:
            self._refuse_own(item.graph_name)
        left = {quad(item.triple, _where(item)): stays for item, stays in wanted.items()}
        with data.store.write_lock():
            gone = [item for item, stays in left.items() if not stays and item.graph_name == DEFAULT_GRAPH]
            forgotten = [item for item in gone if data.evidence_graphs(item.triple) == [data.asserted]]
            told = [quad(item.triple, data.asserted) for item in forgotten]
            data.write([item.triple for item in forgotten], removed=[*forgotten, *told])
            write_quads(data, left)
        self._settle()

    def update(self, text: str) -> None:
        self._kg.update(text)

    def add_graph(self, graph: NamedNode) -> None:
        if not self.keeps(graph):
            self._kg.store.create_graph(graph)

    def drop(self, graph: NamedNode) -> None:
        self._refuse_own(graph)
        self._kg.dataset.write((), dropped=[graph])
        self._settle()

    def close(self) -> None:
        if self._is_own:
            self._kg.close()

    def _settle(self) -> None:
        self._kg.inference.run()
        self._kg.versions.rest()

    def keeps(self, graph: object) -> bool:
        """True if the graph is the platform's own."""
        return self._kg.dataset.is_evidence(graph) or graph == self._kg.dataset.rejected

    def _refuse_own(self, graph: object) -> None:
        if self.keeps(graph):
            raise StoreError(f"the graph {graph} holds evidence and is only read here; write to the default graph")


class _NoRedirect(HTTPRedirectHandler):
    """A token is for the address that it was given for."""

    def redirect_request(self, *_: Any) -> None:
        return None


class _Endpoint:
    """A SPARQL 1.1 endpoint; with a token also its updates, where it takes them."""

    def __init__(self, address: str, token: str = "") -> None:
        """Asks the endpoint whether it is one, and which prefixes it declares.

        Raises:
            StoreError: there is no endpoint at the address, or it wants another token.
        """
        try:
            parts = urlsplit(address)
            is_whole = bool(parts.hostname) and (parts.port or 1) > 0
        except ValueError:
            is_whole = False
        if not is_whole:
            raise StoreError(f"{address}: not the address of an endpoint, such as http://localhost:8000/sparql")
        self.genid = f"{parts.scheme}://{parts.netloc}/.well-known/genid/"
        self.rejected: NamedNode | None = None
        self.prefixes: Mapping[str, str] = {}
        self._address, self._token, self._opener = address, token, build_opener(_NoRedirect)
        self.evaluate("ASK {}", None)
        with suppress(KgPlatformError, SyntaxError, ValueError):
            self.prefixes = self._declared()
            self.rejected = graph_iri(self.prefixes["kg"], "rejected") if "kg" in self.prefixes else None

    def quads(self, s: Any, p: NamedNode | None, o: Term | None, graph: _Where | None) -> Iterator[Quad]:
        if isinstance(s, BlankNode) or isinstance(o, BlankNode):
            return  # which to a query is a variable
        shape = " ".join(str(term) if term else name for term, name in zip((s, p, o), ("?s", "?p", "?o"), strict=True))
        named = f"GRAPH {graph if isinstance(graph, NamedNode) else '?g'} {{ {shape} }}"
        body = named if isinstance(graph, NamedNode) else shape if graph else f"{{ {shape} }} UNION {{ {named} }}"
        for row in self.evaluate(f"SELECT ?s ?p ?o ?g {{ {body} }}", None):
            place = graph or row["g"] or DEFAULT_GRAPH
            yield Quad(s or row["s"], p or row["p"], o or row["o"], place)

    def graphs(self) -> list[NamedNode]:
        return [row["g"] for row in self.evaluate("SELECT DISTINCT ?g { GRAPH ?g {} }", None)]

    def evaluate(self, text: str, graph: NamedNode | None) -> Any:
        chosen = {"default-graph-uri": graph.value} if graph else {}
        data, kind = self._sent(text, "query", f"{_ROWS}, {_TRIPLES}", chosen)
        try:
            if kind == _TRIPLES:
                return [item.triple for item in ox.parse(data, format=RdfFormat.N_TRIPLES)]
            found: Any = ox.parse_query_results(data, format=ox.QueryResultsFormat.JSON)
            return found if isinstance(found, ox.QueryBoolean) else _Rows(found)
        except (SyntaxError, ValueError) as error:
            reason = str(error).splitlines()[0]
            raise StoreError(f"{self._address} is no SPARQL endpoint, or its result is damaged: {reason}") from error

    def write(self, wanted: Mapping[Quad, bool]) -> None:
        if any(isinstance(term, BlankNode) for item in wanted for term in (item.subject, item.object)):
            raise StoreError("a blank node of an endpoint is not removed by itself; remove its graph, or use update()")
        sides = {stays: [item for item, kept in wanted.items() if kept is stays] for stays in (False, True)}
        self.update(data_block("DELETE", sides[False]) + data_block("INSERT", sides[True]))

    def update(self, text: str) -> None:
        self._sent(text, "update", "*/*", {})

    def add_graph(self, graph: NamedNode) -> None:
        """Nothing: an endpoint may not keep empty graphs; the first statement makes the graph."""

    def drop(self, graph: NamedNode) -> None:
        self.update(f"DROP SILENT GRAPH {graph}")

    def keeps(self, _: object) -> bool:
        """False: what may be written is for the endpoint to say."""
        return False

    def close(self) -> None:
        self._opener.close()

    def _declared(self) -> dict[str, str]:
        """The prefixes of the service description, which an endpoint gives where no query is asked."""
        request = Request(self._address, headers=self._headers({"Accept": _TRIPLES}))
        with suppress(OSError, HTTPException), self._opener.open(request, timeout=_SECONDS) as reply:
            triples = [item.triple for item in ox.parse(reply.read(_MOST_BYTES), format=RdfFormat.N_TRIPLES)]
            told = {t.subject: t.object.value for t in triples if t.predicate == NamedNode(f"{SH}namespace")}
            names = {t.subject: t.object.value for t in triples if t.predicate == NamedNode(f"{SH}prefix")}
            return {names[node]: iri for node, iri in told.items() if node in names}
        return {}

    def _headers(self, more: Mapping[str, str]) -> dict[str, str]:
        return {**more, **({"Authorization": f"Bearer {self._token}"} if self._token else {})}

    def _sent(self, text: str, kind: str, accept: str, chosen: Mapping[str, str]) -> tuple[bytes, str]:
        """The body of the reply and its media type."""
        glue = ("&" if "?" in self._address else "?") if chosen else ""
        address = f"{self._address}{glue}{urlencode(chosen)}"
        headers = self._headers({"Content-Type": f"application/sparql-{kind}", "Accept": accept})
        request = Request(address, text.encode(), headers, method="POST")
        try:
            with self._opener.open(request, timeout=_SECONDS) as reply:
                data = reply.read(_MOST_BYTES + 1)
                media_type = reply.headers.get_content_type()
        except HTTPError as error:
            raise self._refused(error, text) from error
        except (OSError, HTTPException) as error:
            reason = getattr(error, "reason", error)
            raise StoreError(f"{self._address} cannot be reached, or broke off: {reason}") from error
        if len(data) > _MOST_BYTES:
            raise StoreError(f"{self._address} answers with more than {_MOST_BYTES:,} bytes; ask for less, by a query")
        return data, media_type

    def _refused(self, error: HTTPError, text: str) -> KgPlatformError:
        with error:
            said = error.read(10_000).decode("utf-8", "replace")
        with suppress(ValueError, AttributeError):
            record = json.loads(said)
            said = str(record.get("detail") or record.get("title") or "")
        detail = " ".join(said.split())[:300] if not said.lstrip().startswith("<") else ""
        if error.code == 400:
            return QueryError(detail or error.reason, query=text)
        way_out = "; give a token: open((ADDRESS, TOKEN))" if error.code in (401, 403) and not self._token else ""
        return StoreError(f"{self._address} answers {error.code} {detail or error.reason}{way_out}")


class _Rows:
    """The rows of a SELECT, with their variables; a variable that an endpoint leaves out is unbound."""

    def __init__(self, found: Any) -> None:
        self.variables = found.variables
        self._names = {variable.value for variable in found.variables}
        self._rows = list(found)

    def __iter__(self) -> Iterator[Any]:
        for row in self._rows:
            yield {name: row[name] for name in self._names}


class KnowledgeGraphStore(RdflibStore):
    """The rdflib store ``kgplatform``: opened with a folder, an address, an address with a token, or a workspace."""

    context_aware = True
    graph_aware = True

    def __init__(self, configuration: Any = None, identifier: Any = None) -> None:
        """Opens what is given, as `open` does; without it, ``open`` is to be called first."""
        super().__init__(None, identifier)
        self._access: _Access | None = None
        self._namespaces: dict[str, URIRef] = {}
        self._added: dict[Quad, bool] = {}
        self._sending = RLock()
        if configuration is not None:
            self.open(configuration)

    # opening

    def open(self, configuration: Any, create: bool = False) -> int:  # noqa: FBT001, FBT002
        """Opens the workspace in a folder (``create``: makes it), a ``KnowledgeGraph``, or an endpoint.

        An endpoint is its address, or a pair of that and a token.

        Raises:
            WorkspaceError: there is no workspace in the folder, or another process holds it.
            StoreError: there is no endpoint at the address.
        """
        self.close()
        self._access = _opened(configuration, create=create)
        for prefix, iri in self._access.prefixes.items():
            self.bind(prefix, URIRef(iri))
        return VALID_STORE

    def close(self, commit_pending_transaction: bool = True) -> None:  # noqa: ARG002, FBT001, FBT002
        """Sends what is left to send, and lets go of what `open` opened."""
        access, self._access = self._access, None
        if access is not None:
            try:
                self._send(access)
            finally:
                self._added.clear()
                access.close()

    def destroy(self, configuration: str) -> None:
        """Never: a workspace is more than its statements.

        Raises:
            StoreError: always.
        """
        raise StoreError(f"{configuration}: not deleted; remove graphs, or delete the folder of the workspace")

    def commit(self) -> None:
        """Sends what was added; raises as a write."""
        self._ready()

    def rollback(self) -> None:
        """Never: what was read after it was added has been written; rdflib's ``AuditableStore`` around it does.

        Raises:
            StoreError: always.
        """
        raise StoreError("writes are not rolled back; remove what was added, or open an AuditableStore of it")

    def _open(self) -> _Access:
        if self._access is None:
            raise StoreError("the store is not open; call open() with a workspace's folder or an endpoint's address")
        return self._access

    def _ready(self) -> _Access:
        """What is open, with all that was added in it."""
        access = self._open()
        self._send(access)
        return access

    def _send(self, access: _Access) -> None:
        with self._sending:  # whoever reads waits for what another thread is sending
            added, self._added = self._added, {}
            if added:
                access.write(added)

    # reading

    def triples(
        self, triple_pattern: _TriplePatternType, context: _ContextType | None = None
    ) -> Iterator[tuple[_TripleType, Iterator[_ContextType | None]]]:
        """The statements that fit, each once, with the graphs that hold it (the one asked, if one was).

        Of all graphs a statement is not one that was rejected.
        """
        access, where = self._ready(), self._where(context)
        if where is not None:
            for item in self._matching(access, triple_pattern, where):
                if told := self._told(access, item.triple):
                    yield told, iter((context,))
            return
        holding: dict[Triple, list[_Where]] = {}
        for item in self._matching(access, triple_pattern, None):
            if not isinstance(item.graph_name, BlankNode):
                holding.setdefault(item.triple, []).append(_where(item))
        for triple, graphs in holding.items():
            if access.rejected not in graphs and (told := self._told(access, triple)):
                yield told, map(self._context, graphs)

    def _matching(self, access: _Access, pattern: _TriplePatternType, where: _Where | None) -> Iterator[Quad]:
        s, p, o = (_candidates(node, access.genid) for node in pattern)
        for subject, predicate, object_ in product(s, p, o):
            if not isinstance(subject, Literal) and (predicate is None or isinstance(pattern[1], URIRef)):
                yield from access.quads(subject, predicate, object_, where)

    def _told(self, access: _Access, triple: Triple) -> Any:
        """The statement in rdflib's terms; None where it has none for them."""
        terms = (triple.subject, triple.predicate, triple.object)
        if any(isinstance(term, Triple) for term in terms):
            return None
        return tuple(_node(term, access.genid) for term in terms)

    def __len__(self, context: _ContextType | None = None) -> int:
        """How many statements the graph holds; without one, all graphs, each statement once."""
        access, where = self._ready(), self._where(context)
        shape = "?s ?p ?o"
        if isinstance(where, NamedNode):
            shape = f"GRAPH {where} {{ {shape} }}"
        elif where is None:
            rejected = f"FILTER NOT EXISTS {{ GRAPH {access.rejected} {{ {shape} }} }}" if access.rejected else ""
            shape = f"SELECT DISTINCT ?s ?p ?o {{ {{ {shape} }} UNION {{ GRAPH ?g {{ {shape} }} }} {rejected} }}"
        (row,) = access.evaluate(f"SELECT (COUNT(*) AS ?n) {{ {shape} }}", None)
        return int(row["n"].value)

    def contexts(self, triple: Any = None) -> Generator[_ContextType, None, None]:
        """The graphs, or those that hold a statement that fits; the default graph is one of them."""
        access = self._ready()
        if triple is None or not any(triple):
            yield self._context(DEFAULT_GRAPH)
            yield from map(self._context, access.graphs())
        else:
            found = dict.fromkeys(item.graph_name for item in self._matching(access, triple, None))
            yield from (self._context(graph) for graph in found if not isinstance(graph, BlankNode))

    def query(
        self,
        query: Any,
        initNs: Mapping[str, Any] | None = None,  # noqa: N803
        initBindings: Mapping[str, Any] | None = None,  # noqa: N803
        queryGraph: Any = None,  # noqa: N803
        **_: Any,
    ) -> Result:
        """The result of a query, evaluated where the statements are.

        Raises:
            QueryError: it is wrong, or was stopped.
            NotImplementedError: rdflib is to evaluate it: it is prepared, about the union of all graphs, or has VALUES
                besides bindings.
        """
        if not isinstance(query, str) or queryGraph == _UNION or (initBindings and "VALUES" in scan(query).keywords):
            raise NotImplementedError
        access = self._ready()
        where = self._where(queryGraph)
        text = self._with_prefixes(access, query, initNs or {})
        if initBindings:
            names = " ".join(Variable(str(name).removeprefix("?")).n3() for name in initBindings)
            values = " ".join(str(_sent_node(node, access.genid)) for node in initBindings.values())
            text = f"{text}\nVALUES ({names}) {{ ({values}) }}"
        found = access.evaluate(text, where if isinstance(where, NamedNode) else None)
        return _result(found, scan(query).form, access.genid)

    def update(
        self,
        update: Any,
        initNs: Mapping[str, Any] | None = None,  # noqa: N803
        initBindings: Mapping[str, Any] | None = None,  # noqa: N803
        queryGraph: Any = None,  # noqa: N803
        **_: Any,
    ) -> None:
        """Carries out an update where the statements are; of a named graph, in that graph.

        Raises:
            QueryError: it was not carried out.
            NotImplementedError: it was prepared by rdflib, or has bindings: rdflib carries it out.
        """
        if not isinstance(update, str) or initBindings:
            raise NotImplementedError
        access = self._ready()
        where = self._where(queryGraph)
        text = in_one_graph(update, where) if isinstance(where, NamedNode) else update
        access.update(self._with_prefixes(access, text, initNs or {}))

    def _with_prefixes(self, access: _Access, text: str, given: Mapping[str, Any]) -> str:
        """The text with the prefixes declared that it uses and that are not declared where it goes."""
        used = [(name, str(given[name])) for name in sorted(scan(text).prefixes) if name in given]
        new = [(name, iri) for name, iri in used if access.prefixes.get(name) != iri]
        return "".join(f"PREFIX {name}: {_iri(iri)} " for name, iri in new) + text

    # writing

    def add(self, triple: _TripleType, context: _ContextType | None = None, quoted: bool = False) -> None:  # noqa: FBT001, FBT002
        """Adds a statement to the graph; it is sent with others.

        Raises:
            StoreError: it is no statement of RDF, or cannot be written.
        """
        access = self._open()
        where = self._where(context) or DEFAULT_GRAPH
        if quoted:
            raise StoreError("quoted statements (Notation 3) are not stored")
        s, p, o = (_sent_node(node, access.genid) for node in triple)
        if not isinstance(s, NamedNode) or not isinstance(p, NamedNode) or not isinstance(triple[1], URIRef):
            raise StoreError(f"not a statement of RDF: {' '.join(str(term) for term in (s, p, o))}"[:300])
        with self._sending:
            self._added[Quad(s, p, o, where)] = True
        super().add(triple, context)  # type: ignore[arg-type]  # tells who listens
        if len(self._added) >= _AT_ONCE:
            self._send(access)

    def remove(self, triple: _TriplePatternType, context: _ContextType | None = None) -> None:
        """Removes the statements that fit from the graph; without one, from all that can be written to.

        Raises:
            StoreError: they cannot be removed.
        """
        access, where = self._ready(), self._where(context)
        if isinstance(where, NamedNode) and not any(triple):
            access.drop(where)
        else:
            found = self._matching(access, triple, where)
            gone = [item for item in found if where is not None or not access.keeps(item.graph_name)]
            if gone:
                access.write(dict.fromkeys(gone, False))
        super().remove(triple, context)

    def add_graph(self, graph: Graph) -> None:
        """Makes the graph, if there is none of its name."""
        access, where = self._ready(), self._where(graph)
        if isinstance(where, NamedNode):
            access.add_graph(where)

    def remove_graph(self, graph: Graph) -> None:
        """Removes the graph with its statements; raises as `remove`."""
        self.remove((None, None, None), graph)

    def bind(self, prefix: str, namespace: URIRef, override: bool = True) -> None:  # noqa: FBT001, FBT002
        """Gives a namespace a prefix for as long as the store is in use."""
        if not override and (prefix in self._namespaces or namespace in self._namespaces.values()):
            return
        self._namespaces = {name: iri for name, iri in self._namespaces.items() if iri != namespace}
        self._namespaces[prefix] = namespace

    def prefix(self, namespace: URIRef) -> str | None:
        """The prefix of a namespace."""
        return next((name for name, iri in self._namespaces.items() if iri == namespace), None)

    def namespace(self, prefix: str) -> URIRef | None:
        """The namespace of a prefix."""
        return self._namespaces.get(prefix)

    def namespaces(self) -> Iterator[tuple[str, URIRef]]:
        """Prefixes and namespaces: those of the workspace, and those that were bound."""
        return iter(tuple(self._namespaces.items()))

    def _where(self, context: Any) -> _Where | None:
        """The graph that is meant; None: all."""
        if context is None or context == _UNION:
            return None
        name = context.identifier if isinstance(context, Graph) else context
        if isinstance(name, BNode) or name == DATASET_DEFAULT_GRAPH_ID:
            return DEFAULT_GRAPH
        return _iri(str(name))

    def _context(self, graph: _Where) -> Graph:
        return Graph(self, URIRef(graph.value) if isinstance(graph, NamedNode) else DATASET_DEFAULT_GRAPH_ID)


def _opened(configuration: Any, *, create: bool) -> _Access:
    match configuration:
        case KnowledgeGraph():
            return _Workspace(configuration, is_own=False)
        case (str(address), str(token)):
            return _Endpoint(address, token)
    if isinstance(configuration, str) and configuration.startswith(("http://", "https://")):
        return _Endpoint(configuration)
    if isinstance(configuration, str | Path) and str(configuration):
        folder = Path(configuration)
        is_new = create and not (folder.exists() and any(folder.iterdir()))
        return _Workspace(KnowledgeGraph.create(folder) if is_new else KnowledgeGraph.open(folder), is_own=True)
    raise StoreError("open a folder, the address of an endpoint, an address and a token, or a KnowledgeGraph")


def _where(item: Quad) -> _Where:
    return item.graph_name if isinstance(item.graph_name, NamedNode) else DEFAULT_GRAPH


def _iri(text: str) -> NamedNode:
    try:
        return NamedNode(text)
    except ValueError as error:
        raise StoreError(f"{text[:200]!r} is not an absolute IRI") from error


def _node(term: Any, genid: str) -> Any:
    """The term in rdflib's form."""
    if isinstance(term, NamedNode):
        return BNode(unquote(term.value[len(genid) :])) if term.value.startswith(genid) else URIRef(term.value)
    if isinstance(term, BlankNode):
        return BNode(term.value)
    kind = None if term.language or term.datatype == XSD_STRING else URIRef(term.datatype.value)
    return rdflib.Literal(term.value, lang=term.language, datatype=kind, normalize=False)


def _sent_node(node: Any, genid: str) -> NamedNode | Literal:
    """The node as it is written; raises StoreError for what has no place in RDF, such as a variable."""
    if isinstance(node, URIRef):
        return _iri(str(node))
    if isinstance(node, BNode):
        return NamedNode(genid + quote(str(node), safe=""))
    if not isinstance(node, rdflib.Literal):
        raise StoreError(f"neither IRI, blank node nor literal: {str(node)[:200]!r}")
    if node.language:
        try:
            return Literal(str(node), language=node.language)
        except ValueError as error:
            raise StoreError(f"{node.language[:80]!r} is not a language tag") from error
    return Literal(str(node), datatype=_iri(str(node.datatype))) if node.datatype else Literal(str(node))


def _candidates(node: Any, genid: str) -> list[Any]:
    """The terms that a node of a pattern may be: a blank node one of a file too; of what is no node of RDF, none."""
    if node is None:
        return [None]
    try:
        found: list[Any] = [_sent_node(node, genid)]
    except StoreError:
        return []
    if isinstance(node, BNode):
        with suppress(ValueError):
            found.append(BlankNode(str(node)))
    return found


def _result(found: Any, form: str, genid: str) -> Result:
    if isinstance(found, ox.QueryBoolean):
        result = Result("ASK")
        result.askAnswer = bool(found)
    elif hasattr(found, "variables"):
        result = Result("SELECT")
        names = [variable.value for variable in found.variables]
        result.vars = [Variable(name) for name in names]
        result.bindings = [
            {Variable(n): _node(row[n], genid) for n in names if not isinstance(row[n], Triple | None)} for row in found
        ]
    else:
        result = Result(form or "CONSTRUCT")
        result.graph = Graph()
        for triple in found:
            if not isinstance(triple.object, Triple):
                result.graph.add(tuple(_node(term, genid) for term in triple))
    return result
