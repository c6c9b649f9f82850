"""A small workspace with real documents, statements and passages, for the tests of pages and endpoint.

It offers what the server needs of a workspace. Its answers are made from real queries over its data.
"""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.documents.records import Linking, State
from kgplatform.documents.registry import Registry
from kgplatform.entities import Labels
from kgplatform.errors import QueryRejectedError
from kgplatform.graph import KnowledgeGraph
from kgplatform.linking.projection import EvidenceFinder, Projection, document_triples
from kgplatform.models.stubs import HashEmbedder
from kgplatform.ontology import packs
from kgplatform.ontology.schema import Ontology
from kgplatform.questions.answer import knowledge
from kgplatform.reasoning.inference import Inference
from kgplatform.retrieval.index import ChunkIndex
from kgplatform.settings import CommunitySettings, InferenceSettings, ServerSettings, Settings
from kgplatform.store.dataset import Change, EvidenceDataset
from kgplatform.store.oxigraph import Store
from kgplatform.store.updates import carry_out
from kgplatform.store.versions import Versions
from kgplatform.store.worker_pool import QueryWorkers
from kgplatform.types import (
    Answer,
    Attempt,
    Chunk,
    Claim,
    Clarification,
    Document,
    Evidence,
    Extraction,
    Linked,
    Mention,
    Query,
    Question,
    Usage,
    Verdict,
)
from kgplatform.vocab import GEO, LABEL, TRAVEL, XSD_INTEGER, chunk_iri, document_iri, prefixes_of
from kgplatform.workspace import search as searching
from kgplatform.workspace.community_stage import CommunityParts, communities, find_communities
from kgplatform.workspace.question_settings import AskOptions, chosen_model
from kgplatform.workspace.sparql_calls import Calling, Resemblance

BASE = "https://example.org/kg/"
HOTEL = f"{TRAVEL}Hotel"
EVIL = '<script>alert("x")</script>'

ENGLISH = (
    "Wuzhen is a water town two hours from Shanghai. The Lakeside Inn stands near Xizha and has 24 rooms.\n\n"
    "Another place to sleep, Canal House, lies near Xizha too; it has 12 rooms."
)
CHINESE = "西栅位于乌镇。通安客栈在西栅附近，有80间客房。"
ATTACK = f"Our hotel {EVIL} is near Xizha. It has 3 rooms."

FIRST = "The Lakeside Inn stands near Xizha and has 24 rooms."
SECOND = "Another place to sleep, Canal House, lies near Xizha too; it has 12 rooms."
HOTELS = """SELECT ?hotel ?rooms WHERE {
  ?hotel a travel:Hotel ;
         travel:roomCount ?rooms .
}
ORDER BY DESC(?rooms)
"""

Read: TypeAlias = tuple[tuple[Mention, ...], tuple[Claim, ...]]


def term(name, space=TRAVEL):
    return NamedNode(f"{space}{name}")


def mention(text, name, type_):
    start = text.index(name)
    return Mention(name, start, start + len(name), type_, name)


def claim(text, subject, predicate, object_, sentence):
    start = text.index(sentence)
    return Claim(subject, predicate, object_, start, start + len(sentence))


def rooms(number):
    return Literal(str(number), datatype=XSD_INTEGER)


def english():
    text = ENGLISH
    wuzhen = mention(text, "Wuzhen", term("WaterTown"))
    inn, house = mention(text, "Lakeside Inn", term("Hotel")), mention(text, "Canal House", term("Hotel"))
    xizha = mention(text, "Xizha", term("ScenicArea"))
    return (wuzhen, inn, house, xizha), (
        claim(text, inn, term("near", GEO), xizha, FIRST),
        claim(text, inn, term("roomCount"), rooms(24), FIRST),
        claim(text, house, term("near", GEO), xizha, SECOND),
        claim(text, house, term("roomCount"), rooms(12), SECOND),
    )


def chinese():
    text = CHINESE
    xizha, wuzhen = mention(text, "西栅", term("ScenicArea")), mention(text, "乌镇", term("WaterTown"))
    inn = mention(text, "通安客栈", term("Hotel"))
    return (xizha, wuzhen, inn), (
        claim(text, xizha, term("locatedIn", GEO), wuzhen, "西栅位于乌镇。"),
        claim(text, inn, term("near", GEO), xizha, "通安客栈在西栅附近，有80间客房。"),
        claim(text, inn, term("roomCount"), rooms(80), "通安客栈在西栅附近，有80间客房。"),
    )


def attack():
    hotel, xizha = mention(ATTACK, EVIL, term("Hotel")), mention(ATTACK, "Xizha", term("ScenicArea"))
    return (hotel, xizha), (
        claim(ATTACK, hotel, term("near", GEO), xizha, f"Our hotel {EVIL} is near Xizha."),
        claim(ATTACK, hotel, term("roomCount"), rooms(3), "It has 3 rooms."),
    )


@dataclass
class SmallGraph:
    """What the pages use of a `KnowledgeGraph`, over three short documents."""

    base: str
    settings: Settings
    store: Store
    dataset: EvidenceDataset
    registry: Registry
    ontology: Ontology
    workers: QueryWorkers
    evidence_finder: EvidenceFinder
    inference: Inference
    folder: Path
    versions: Versions

    def update(self, text):
        committed = carry_out(self.dataset, text, marker=self.folder / "update.pending")
        self.versions.rest()
        return committed

    @property
    def recorder(self):
        return None

    @property
    def replica(self):
        return None

    @property
    def knowledge(self):
        return knowledge(self.dataset, self.ontology)

    @cached_property
    def loaded(self):
        return packs.load(["travel"], folder=self.folder)

    @cached_property
    def embedder(self):
        return HashEmbedder()

    @property
    def model(self):
        return None

    @cached_property
    def sources(self):
        index = ChunkIndex(self.folder / "chunks", self.embedder)
        records = [record for record in self.registry.documents() if record.state is State.PROCESSED]
        index.sync((c, r.document.title) for r in records for c in self.registry.chunks(r.document.iri))
        return searching.sources(self.registry, index, folder=None)

    def communities(self, *, language="en"):
        return communities(self._community_parts(), language=language)

    def find_communities(self):
        return find_communities(self._community_parts())

    def _community_parts(self):
        return CommunityParts(self.dataset, self.ontology, CommunitySettings(), self.label)

    def resolved(self, text):
        def refused(address, *_):
            raise QueryRejectedError((f"SERVICE <{address}> is not asked: SERVICE is switched off",), query=text)

        return Calling(self.store.prefixes, self.search, Resemblance(self.dataset, HashEmbedder), refused).resolved(
            text
        )

    def entity(self, name):
        return next(
            quad.subject
            for quad in self.store.quads(None, LABEL)
            if isinstance(quad.subject, NamedNode) and isinstance(quad.object, Literal) and quad.object.value == name
        )

    show = KnowledgeGraph.show
    why = KnowledgeGraph.why
    query = KnowledgeGraph.query

    def label(self, term, language="en"):
        return Labels(self.dataset, self.ontology, language).reference(term).label

    def ask(self, question, *, conversation=None, now="", options=None):
        chosen_model(self.model, options or AskOptions())
        asked = Question(question, "zh" if "哪" in question else "en")
        if "Mars" in question:
            return Answer(
                text="No class or property fits “Mars”.",
                question=asked,
                verdict=Verdict.UNANSWERABLE,
                confidence=0.9,
                using="sparql",
            )
        if "it" in question.split():
            options = ("How many rooms has Lakeside Inn?", "How many rooms has Canal House?")
            return Answer(
                text="",
                question=asked,
                verdict=Verdict.UNCLEAR,
                confidence=0.2,
                using="sparql",
                clarification=Clarification("Which one do you mean?", options),
            )
        return self._hotels(asked)

    def _hotels(self, question):
        text = HOTELS
        solutions = self.store.query(text)
        evidence, places = [], []
        names = []
        for hotel, number in solutions.rows:
            assert isinstance(hotel, NamedNode)
            triple = Triple(hotel, term("roomCount"), number)
            found = [self.evidence_finder.find(triple, graph) for graph in self.dataset.evidence_graphs(triple)]
            kept = [item for item in found if item]
            places.append(tuple(range(len(evidence), len(evidence) + len(kept))))
            evidence += kept
            names += [q.object.value for q in self.store.quads(hotel, LABEL, None) if isinstance(q.object, Literal)][:1]
        return Answer(
            text=f"{len(names)} hotels: {', '.join(names)}.",
            question=replace(question, linked=(Linked("hotels", term("Hotel"), "hotel", 1.0, "class"),)),
            verdict=Verdict.ANSWERED,
            confidence=0.9,
            using="sparql",
            query=Query(text, "the hotels with their rooms", (Attempt(text),)),
            solutions=solutions,
            values=tuple(names),
            evidence=tuple(evidence),
            row_evidence=tuple(places),
            usage=Usage(seconds=0.012),
        )

    def search(self, text, k=10, **chosen):
        found = []
        for record in self.registry.documents():
            for chunk in self.registry.chunks(record.document.iri):
                if any(word in chunk.text.casefold() for word in text.casefold().split()):
                    document = record.document
                    found.append(
                        Evidence(
                            chunk.iri, document.iri, document.title, document.source, chunk.text, chunk.start, chunk.end
                        )
                    )
        return found[:k]

    def close(self):
        self.workers.close()
        self.registry.close()


def small_graph(folder, *, timeout_seconds=10.0, empty=False, server=None):
    """The workspace in a new folder."""
    store = Store.open(folder / "store", prefixes=prefixes_of(BASE))
    dataset, registry = EvidenceDataset(store, BASE), Registry(folder / "documents.sqlite")
    loaded = packs.load(["travel"], folder=folder)
    dataset.commit(Change(added={dataset.ontology: loaded.triples}))
    projection = Projection(BASE, Linking())
    if not empty:
        for title, text, language, read in (
            ("Two days in Wuzhen", ENGLISH, "en", english()),
            ("乌镇笔记", CHINESE, "zh", chinese()),
            (f"Bad {EVIL}", ATTACK, "en", attack()),
        ):
            _enter(title, text, language, read, registry=registry, dataset=dataset, projection=projection)
        failed = Document(
            document_iri(BASE, "f" * 64), "", "scan.pdf", "application/pdf", "notes/scan.pdf", "f" * 64, "en"
        )
        registry.fail(failed, "the pages are images; there is no text in them")
    settings = replace(Settings(), base=BASE, server=server or ServerSettings(timeout_seconds=timeout_seconds))
    workers = QueryWorkers(store, folder=folder / "workers", count=2, memory_bytes=1 << 30)
    inference = Inference(
        dataset, ontology=loaded.ontology, triples=loaded.triples, settings=InferenceSettings(enabled=False)
    )
    versions = Versions(store, folder / "versions", keep=5, every_seconds=0)
    versions.watch()
    return SmallGraph(
        BASE,
        settings,
        store,
        dataset,
        registry,
        loaded.ontology,
        workers,
        EvidenceFinder(registry, projection),
        inference,
        folder,
        versions,
    )


def _enter(title, text, language, read, *, registry, dataset, projection):
    mentions, claims = read
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    iri = document_iri(BASE, sha256)
    document = Document(iri, text, title, "text/plain", f"notes/{title}.txt", sha256, language)
    chunk = Chunk(chunk_iri(iri, 0), iri, 0, 0, len(text), text)
    extraction = Extraction(chunk.iri, mentions, claims)
    registry.enter(document, [chunk], [extraction])
    described = document_triples(document, [chunk], {chunk.iri: extraction}, projection)
    statements = projection.triples(extraction)
    dataset.commit(Change(added={iri: described, chunk.iri: statements}))
    registry.finish(document, statements=len(statements), refused=0, seconds=0.1)
