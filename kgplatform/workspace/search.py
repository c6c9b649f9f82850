"""Finding passages in a workspace: its index, its graph as retrievers see it, pages from the web."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, TypeAlias
from urllib.parse import urldefrag

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform import settings as config
from kgplatform.documents.fetch import is_address
from kgplatform.documents.records import State
from kgplatform.documents.registry import Registry
from kgplatform.entities import NAMING
from kgplatform.errors import ConfigError
from kgplatform.extraction.given_statements import given_words
from kgplatform.linking.projection import EvidenceFinder, Projection
from kgplatform.models.embed import CrossEncoderReranker, OpenAIEmbedder, Reranker, SentenceTransformersEmbedder
from kgplatform.ontology.schema import Ontology
from kgplatform.retrieval.entity_graph import GraphRelation, Keyword, Knowledge, Report, Thing
from kgplatform.retrieval.fusion import PAGE_TOKENS, FoundPage, search_pages
from kgplatform.retrieval.index import ChunkIndex, IndexOptions
from kgplatform.retrieval.methods import retriever
from kgplatform.retrieval.pagerank import GraphPassage, PassageFact
from kgplatform.retrieval.picture import draw
from kgplatform.retrieval.similarity import SourceText
from kgplatform.retrieval.sources import Corpus, Rows, found_by
from kgplatform.retrieval.web_search import Fetching, FolderPages, GivenPages, SearchProvider, SearxngPages
from kgplatform.settings import EmbeddingSettings, RetrievalSettings, WebSettings
from kgplatform.store.oxigraph import DEFAULT_GRAPH
from kgplatform.text import has_han, normalise
from kgplatform.types import Answer, ChatModel, Chunk, Embedder, Evidence, Hit, Progress, Retriever
from kgplatform.vocab import ALT_LABEL, COMMENT, CORE, DCTERMS, SCHEMA, SKOS, TYPE, words_of_iri
from kgplatform.workspace.community_stage import CommunityParts, communities, most_special


def embedder(settings: EmbeddingSettings) -> Embedder:
    """The embedding model: on a server if the settings give its address, else on this machine; loaded when used."""
    languages = frozenset(settings.languages)
    if settings.url:
        return OpenAIEmbedder(
            settings.name,
            url=settings.url,
            key=config.model_key(settings),
            timeout_seconds=settings.timeout_seconds,
            languages=languages,
        )
    return SentenceTransformersEmbedder(settings.name, languages=languages, allow_download=settings.allow_download)


def reranker(settings: RetrievalSettings, *, allow_download: bool) -> Reranker | None:
    """The cross-encoder of the settings; None: they name none."""
    return CrossEncoderReranker(settings.reranker, allow_download=allow_download) if settings.reranker else None


def passage_index(
    folder: Path,
    model: Embedder,
    settings: RetrievalSettings,
    passages: Callable[[], Iterable[tuple[Chunk, str]]],
    *,
    database: tuple[str, str] = ("", ""),
) -> ChunkIndex:
    """The index in the folder; one whose files are damaged is made anew from the passages.

    ``database``: the address of the one that keeps the vectors, and their name in it.

    Raises:
        WorkspaceError: the folder cannot be read or written.
        ConfigError: a setting has a value that there is not.
        ModelUnavailableError: passages have to be embedded anew, and the embedding model cannot be used.
    """
    made = ChunkIndex(folder, model, IndexOptions(settings.storage, settings.search, *database))
    if made.damaged:
        made.sync(passages())
    return made


class Indexing:
    """Brings the passage index in line with the registry: wholly the first time, then by what changed."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._mark: int | None = None

    def run(self, index: ChunkIndex, *, progress: Progress | None = None) -> int:
        """How many passages there are, once all that is to be is indexed.

        Raises:
            WorkspaceError: another process is writing this index, or the disk refuses.
            ModelUnavailableError: the embedding model cannot be used.
        """
        since, self._mark = self._mark, None  # until it is done
        now = self._registry.latest_change()
        if since is None or index.damaged or index.behind:
            index.sync(_counted(self._registry.passages(), progress))
        else:
            changed = self._registry.changed_since(since)
            if changed:
                index.replace([iri.value for iri in changed], _counted(self._of(changed), progress))
        self._mark = now
        return len(index)

    def _of(self, documents: Iterable[NamedNode]) -> Iterator[tuple[Chunk, str]]:
        for iri in documents:
            if self._registry.state(iri) is not State.PROCESSED:
                continue
            record = self._registry.document(iri)
            if record.graph is None:
                yield from ((chunk, record.document.title) for chunk in self._registry.chunks(iri))


def _counted(passages: Iterator[tuple[Chunk, str]], progress: Progress | None) -> Iterator[tuple[Chunk, str]]:
    for number, passage in enumerate(passages, start=1):
        if progress is not None:
            progress(number, 0, "index")
        yield passage


_HIGHEST: Final = 5
_LANGUAGES: Final = ("en", "zh")
_DESCRIBING: Final = (COMMENT, NamedNode(f"{SKOS}definition"), NamedNode(f"{DCTERMS}description"))
_UPWARDS: Final = frozenset(
    NamedNode(iri)
    for iri in (
        f"{CORE}partOf",
        f"{DCTERMS}isPartOf",
        f"{SCHEMA}isPartOf",
        f"{SCHEMA}containedInPlace",
        "http://www.opengis.net/ont/geosparql#sfWithin",
    )
)
"""Properties that lead from a thing to what it lies in, as do their narrower ones and those that are transitive."""


def gather(parts: CommunityParts, registry: Registry, projection: Projection) -> Knowledge:
    """The graph as it is now, with the communities as last found; the same graph gives the same, in the same order."""
    mentioned, keywords = _read(registry, projection)
    stated = _stated(parts)
    names = _names(parts)
    labels = {iri.value: words.label for iri, words in names.items()}
    upwards = _upwards(stated, parts.ontology)
    things = [
        Thing(
            iri.value,
            words.label,
            tuple(sorted(words.names)),
            words.description,
            parts.ontology.label(kind) if (kind := most_special(parts, iri)) else "",
            tuple(labels[o] for o in _above(iri.value, upwards) if o in labels),
            tuple(mentioned.get(iri, {})),
        )
        for iri, words in sorted(names.items(), key=lambda item: item[0].value)
    ]
    relations = [
        GraphRelation(
            triple.subject.value,
            triple.object.value,
            f"{labels[triple.subject.value]} {parts.ontology.label(triple.predicate)} {labels[triple.object.value]}",
            float(count),
            tuple(passages),
            _said_in_chinese(triple, names, parts),
        )
        for triple, (count, passages) in sorted(stated.items(), key=lambda item: str(item[0]))
        if isinstance(triple.subject, NamedNode)
        and isinstance(triple.object, NamedNode)
        and triple.subject.value in labels
        and triple.object.value in labels
    ]
    return Knowledge(tuple(things), tuple(relations), keywords, tuple(_reports(parts)))


def _said_in_chinese(triple: Triple, names: Mapping[NamedNode, _Words], parts: CommunityParts) -> str:
    """The statement in Chinese; empty where neither end has a Chinese name."""
    ends = [names[end] for end in (triple.subject, triple.object) if isinstance(end, NamedNode)]
    if not any("zh" in words.labels for words in ends):
        return ""
    subject, object_ = (words.labels.get("zh", words.label) for words in ends)
    return f"{subject}{parts.ontology.label(triple.predicate, 'zh')}{object_}"


def _read(registry: Registry, projection: Projection) -> tuple[dict[NamedNode, dict[str, None]], tuple[Keyword, ...]]:
    """The passages that mention each thing, and those of each keyword, however often they were read."""
    mentioned: dict[NamedNode, dict[str, None]] = {}
    keywords: dict[str, tuple[str, dict[str, None]]] = {}
    for extraction in registry.extractions():
        passage = extraction.chunk.value
        claimed = (end for claim in extraction.claims for end in (claim.subject, claim.object))
        for mention in (*extraction.mentions, *(end for end in claimed if not isinstance(end, Literal))):
            mentioned.setdefault(projection.entity(mention, extraction.chunk), {})[passage] = None
        for keyword in extraction.keywords:
            key = normalise(keyword)
            if key:
                keywords.setdefault(key, (keyword, {}))[1][passage] = None
    found = (Keyword(text, tuple(passages)) for text, passages in (keywords[key] for key in sorted(keywords)))
    return mentioned, tuple(found)


def _stated(parts: CommunityParts) -> dict[Triple, tuple[int, list[str]]]:
    """The statements between things that hold: in how many graphs, and in which passages."""
    dataset, ontology = parts.dataset, parts.ontology
    left_out = {dataset.ontology, dataset.inferred, dataset.links}
    shown = {item.iri for item in ontology.domain_properties if item.is_object}
    found: dict[Triple, tuple[int, list[str]]] = {}
    for graph in sorted(dataset.store.graphs(), key=lambda graph: graph.value):
        if graph in left_out or not dataset.is_evidence(graph):
            continue
        passage = [graph.value] if "/chunk/" in graph.value else []
        for quad in dataset.store.quads(graph=graph):
            given = bool(passage) and quad.predicate != TYPE and quad.predicate not in ontology.properties
            if (given or quad.predicate in shown) and isinstance(quad.object, NamedNode):
                count, passages = found.get(quad.triple, (0, []))
                found[quad.triple] = (count + 1, [*passages, *passage])
    return {triple: value for triple, value in found.items() if dataset.store.has(triple, DEFAULT_GRAPH)}


@dataclass(slots=True)
class _Words:
    """What the graph calls a thing."""

    labels: dict[str, str]
    names: dict[str, None]
    description: str = ""

    @property
    def label(self) -> str:
        """What it is called first."""
        return next((self.labels[code] for code in _LANGUAGES if code in self.labels), min(self.names))


def _names(parts: CommunityParts) -> dict[NamedNode, _Words]:
    """The things that have a name, other than the ontology's own terms."""
    terms = {*parts.ontology.classes, *parts.ontology.properties}
    found: dict[NamedNode, _Words] = {}
    for iri, word in _literals(parts, NAMING):
        if iri not in terms:
            words = found.setdefault(iri, _Words({}, {}))
            language = word.language or ("zh" if has_han(word.value) else "en")
            words.labels[language] = min(words.labels.get(language, word.value), word.value)
            words.names[word.value] = None
    for iri, word in _literals(parts, (ALT_LABEL,)):
        if iri in found:
            found[iri].names[word.value] = None
    for iri, word in _literals(parts, _DESCRIBING):
        if iri in found:
            found[iri].description = min(found[iri].description or word.value, word.value)
    return found


def _literals(parts: CommunityParts, predicates: Iterable[NamedNode]) -> Iterator[tuple[NamedNode, Literal]]:
    for predicate in predicates:
        for quad in parts.dataset.store.quads(None, predicate, None, DEFAULT_GRAPH):
            if isinstance(quad.subject, NamedNode) and isinstance(quad.object, Literal):
                yield quad.subject, quad.object


def _upwards(stated: Iterable[Triple], ontology: Ontology) -> dict[str, set[str]]:
    """What each thing lies in, as it was stated."""
    leading = {
        term.iri
        for term in ontology.domain_properties
        if term.is_object and not term.symmetric and not _UPWARDS.isdisjoint((term.iri, *term.parents))
    }
    found: dict[str, set[str]] = {}
    for triple in stated:
        if (
            triple.predicate in leading
            and isinstance(triple.subject, NamedNode)
            and isinstance(triple.object, NamedNode)
        ):
            found.setdefault(triple.subject.value, set()).add(triple.object.value)
    return found


def _above(iri: str, upwards: Mapping[str, set[str]]) -> tuple[str, ...]:
    """What the thing lies in, step by step: of several, first the one that lies in most of the others."""
    found: list[str] = []
    here = iri
    while len(found) < _HIGHEST:
        near = upwards.get(here, set()) - {iri, *found}
        if not near:
            break
        here = min(near, key=lambda one: (-len(near & upwards.get(one, set())), one))
        found.append(here)
    return tuple(found)


def _reports(parts: CommunityParts) -> Iterator[Report]:
    """The reports in both languages: a community is found in either."""
    for language in _LANGUAGES:
        for view in communities(parts, language=language):
            members = frozenset(member.value for member in view.members)
            if view.summary:
                yield Report(view.iri.value, view.title, view.summary, members, view.level, view.rank)


def kept(version: Callable[[], int], make: Callable[[], Knowledge]) -> Callable[[], Knowledge]:
    """Gathers when first asked, and again when the version has changed since; of the same state, the same object."""
    held: list[tuple[int, Knowledge]] = []

    def given() -> Knowledge:
        now = version()
        if not held or held[0][0] != now:
            made = make()
            held[:] = [(now, held[0][1] if held and held[0][1].state == made.state else made)]
        return held[0][1]

    return given


def provider(settings: WebSettings, folder: Path) -> SearchProvider | None:
    """Who finds pages: of the folder, else the server, else the addresses set; None where nothing is.

    Raises:
        ConfigError: the server's address, or one of the addresses, is none.
    """
    fetching = Fetching(settings.hosts, settings.max_bytes, settings.timeout_seconds)
    for setting, addresses in (("web.searxng", (settings.searxng,)), ("web.addresses", settings.addresses)):
        for address in filter(None, addresses):
            if not is_address(address):
                raise ConfigError(f"{setting} holds {address!r}, which is not an http(s) address", setting=setting)
    if settings.folder:
        return FolderPages(folder / settings.folder)
    if settings.searxng:
        return SearxngPages(settings.searxng, fetching, language=settings.language)
    return GivenPages(settings.addresses, fetching) if settings.addresses else None


def browsed(
    found: SearchProvider,
    pages: int,
    *,
    embedder: Callable[[], Embedder | None] = lambda: None,
    tokens: int = PAGE_TOKENS,
) -> Callable[[str, int], list[Evidence]]:
    """What gives the passages of pages for a question; it raises as the provider's search does."""

    def find(question: str, k: int) -> list[Evidence]:
        given = {page.url: page for page in found.search(question, pages)}
        model = embedder() if given else None
        hits = search_pages(question, given.values(), k, embedder=model, tokens=tokens)
        return [_evidence(hit, given) for hit in hits]

    return find


def _evidence(hit: Hit, pages: dict[str, FoundPage]) -> Evidence:
    """A passage of a page as evidence: its document is the page, its offsets are those in the page's text."""
    url, place = urldefrag(hit.iri.value)
    page = next(pages[name] for name in pages if hit.iri.value.rpartition("#")[0] == name or name == url)
    start = int(place.removeprefix("char=").partition(",")[0]) if place.startswith("char=") else 0
    return Evidence(
        hit.iri, NamedNode(page.url), page.name, page.url, hit.text, start, start + len(hit.text), hit.score
    )


_RANGE = re.compile(r"(?P<document>.+)#char=(?P<start>\d+),(?P<end>\d+)")


COMMUNITIES = "communities"
"""The source of evidence that is the report on a community."""


def sources(
    registry: Registry,
    index: ChunkIndex,
    *,
    folder: Path | None,
    model: ChatModel | None = None,
    knowledge: Callable[[], Knowledge] = Knowledge,
    reranker: Reranker | None = None,
    label: Callable[[NamedNode, str], str] = lambda iri, _language: words_of_iri(iri.value),
) -> Corpus:
    """What the retrievers draw on; graphs over the passages are kept in ``folder``; ``label`` names properties."""
    return Corpus(
        index,
        passages=lambda: list(_passages(registry, label)),
        documents=lambda: _documents(registry),
        knowledge=knowledge,
        model=model,
        folder=folder,
        reranker=reranker,
        has_given=registry.has_given,
    )


def rows_of(answer: Answer) -> Rows:
    """The query of an answer and the things in its rows."""
    cells = (cell for row in answer.solutions.rows for cell in row)
    things = dict.fromkeys(cell.value for cell in cells if isinstance(cell, NamedNode))
    return Rows(answer.query.text if answer.query else None, tuple(things))


Way: TypeAlias = str | Callable[[Corpus], Retriever]
"""A retriever by its name, or what makes one of the passages."""


def search(
    made: Corpus,
    finder: EvidenceFinder,
    text: str,
    k: int,
    way: Way,
    *,
    per_document: int = 0,
    plot: Path | None = None,
) -> list[Evidence]:
    """The passages, or sentences, that the retriever finds, best first; ``plot``: draws what it did.

    ``per_document``: see `kgplatform.retrieval.sources.spread`.

    Raises:
        ConfigError: no retriever is called so, or the plot's file is no picture's.
        ModelUnavailableError: it needs an embedding model, and that cannot be used.
        WorkspaceError: the plot cannot be written.
    """
    chosen = retriever(way, made) if isinstance(way, str) else way(made)
    hits = draw(made, chosen, text, k, plot, per_document) if plot else found_by(chosen, text, k, per_document)[0]
    return [_hit_evidence(finder, hit) for hit in hits]


def _hit_evidence(finder: EvidenceFinder, hit: Hit) -> Evidence:
    if hit.retriever != COMMUNITIES:
        return passage(finder, hit.iri, hit.score)
    title = hit.text.partition("\n")[0]
    return Evidence(hit.iri, hit.iri, title, COMMUNITIES, hit.text, 0, len(hit.text), hit.score)


def passage(finder: EvidenceFinder, iri: NamedNode, score: float) -> Evidence:
    """The chunk of that IRI, or the characters of a document that a sentence's IRI names."""
    match = _RANGE.fullmatch(iri.value)
    if match is None:
        return finder.passage(iri, score)
    return finder.excerpt(NamedNode(match["document"]), int(match["start"]), int(match["end"]), score)


def _passages(registry: Registry, label: Callable[[NamedNode, str], str]) -> Iterator[GraphPassage]:
    for record in registry.documents(State.PROCESSED):
        if record.graph is not None:  # a table: its rows are statements, and no passages in the index
            continue
        for chunk in registry.chunks(record.document.iri):
            extraction = registry.extraction(chunk.iri)
            names = dict.fromkeys(mention.name for mention in extraction.mentions) if extraction else {}
            facts = tuple(PassageFact(*said) for said in given_words(extraction, label)) if extraction else ()
            names |= dict.fromkeys(end for fact in facts for end in (fact.subject, fact.object))
            yield GraphPassage(chunk.iri.value, record.document.title, chunk.text, tuple(names), facts)


def _documents(registry: Registry) -> Iterator[SourceText]:
    for record in registry.documents(State.PROCESSED):
        document = record.document
        keywords = partial(_keywords, registry, document.iri)
        yield SourceText(document.iri.value, document.title, document.text, keywords=keywords, version=record.updated)


def _keywords(registry: Registry, document: NamedNode) -> list[str]:
    """The keywords of a document's passages, each as often as there are passages that have it."""
    return [keyword for extraction in registry.extractions(document) for keyword in extraction.keywords]
