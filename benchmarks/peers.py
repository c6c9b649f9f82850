"""kgplatform beside LightRAG and nano-graphrag: evidence recall at equal context, and the time of a retrieval.

All get the same passages, the same embedding model and the same extraction, which is replayed: no language model is
asked. A context is the passages that a system would hand to a model, in its order, cut where they pass the tokens
allowed; recall is the share of the gold passages in it. Entities, relations and reports are left out of everybody's
count. What the peers need besides the extraction is given in the plainest form: high-level keywords are the question,
low-level ones its capitalised names, community reports a title.

    python -m benchmarks.peers FOLDER [--tokens 1000] [--keep DIR]

FOLDER holds ``corpus.json`` ([{title, text}]), ``questions.dev.json`` ([{question, paragraphs: [{title,
paragraph_text, is_supporting}]}]) and ``openie*.json`` ({docs: [{title, text, extracted_entities,
extracted_triples}]}). ``--keep`` keeps what is built, which takes some minutes. The peers are no dependencies:
``pip install lightrag-hku nano-graphrag`` into an environment of their own beside kgplatform.
"""

from __future__ import annotations

import argparse
import asyncio
import csv
import io
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from kgplatform.errors import KgPlatformError, ReadError
from kgplatform.evaluation.metrics import Estimate, PairedComparison, compare, estimate
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.embed import SentenceTransformersEmbedder
from kgplatform.retrieval.pagerank import phrases
from kgplatform.text import count_tokens
from kgplatform.workspace.ingest import StatementsGiven

_SOURCES = re.compile(r"-----Sources-----\s*```csv\s*(.*?)```", re.DOTALL)
_SEPARATOR = "<SEP>"
_DEPTH = 60
_OURS = ("dense", "pagerank", "pagerank-shared", "dual-level", "router")


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage with what was extracted from it: names, and statements of subject, relation, object as extracted."""

    title: str
    text: str
    names: tuple[str, ...]
    stated: tuple[tuple[str, str, str], ...]

    @property
    def triples(self) -> tuple[tuple[str, str, str], ...]:
        """The statements in words of small letters, those between two names."""
        plain = ((_plain(a), _plain(said), _plain(b)) for a, said, b in self.stated)
        return tuple((a, said, b) for a, said, b in plain if a and b)

    @property
    def whole(self) -> str:
        """Title and text, as everybody indexes it."""
        return f"{self.title}\n{self.text}"


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with the places of its gold passages."""

    text: str
    gold: frozenset[int]


@dataclass(frozen=True, slots=True)
class Material:
    """What everybody gets."""

    passages: tuple[Passage, ...]
    questions: tuple[Asked, ...]

    @property
    def triples(self) -> dict[tuple[str, str, str], list[int]]:
        """The distinct triples between distinct names, with the passages that each was extracted from."""
        found: dict[tuple[str, str, str], list[int]] = {}
        for place, passage in enumerate(self.passages):
            for triple in dict.fromkeys(passage.triples):
                if triple[0] != triple[2]:
                    found.setdefault(triple, []).append(place)
        return found

    @property
    def entities(self) -> dict[str, list[int]]:
        """The names with their passages."""
        found: dict[str, list[int]] = {}
        for place, passage in enumerate(self.passages):
            ends = (end for triple in passage.triples for end in (triple[0], triple[2]))
            for name in dict.fromkeys((*passage.names, *ends)):
                found.setdefault(name, []).append(place)
        return found


Retrieve = Callable[[str], list[int]]
"""The places of the passages for a question, best first."""


def read(folder: Path) -> Material:
    """The material in the folder.

    Raises:
        ReadError: a file is missing or not of the form told above.
    """
    try:
        corpus = json.loads((folder / "corpus.json").read_text(encoding="utf-8"))
        asked = json.loads((folder / "questions.dev.json").read_text(encoding="utf-8"))
        (extracted,) = (json.loads(path.read_text(encoding="utf-8"))["docs"] for path in folder.glob("openie*.json"))
        read_in = {(doc["title"], doc["text"]): doc for doc in extracted}
        passages = tuple(_passage(item, read_in.get((item["title"], item["text"]), {})) for item in corpus)
        places = {(passage.title, passage.text): place for place, passage in enumerate(passages)}
        questions = tuple(
            Asked(
                item["question"],
                frozenset(places[p["title"], p["paragraph_text"]] for p in item["paragraphs"] if p["is_supporting"]),
            )
            for item in asked
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ReadError(
            f"{folder}: not a folder of passages, questions and extraction ({error})", path=folder
        ) from error
    return Material(passages, questions)


def _passage(item: dict[str, str], read_in: dict[str, Any]) -> Passage:
    stated = tuple((a, b, c) for a, b, c in filter(_is_triple, read_in.get("extracted_triples", ())))
    names = (_plain(name) for name in read_in.get("extracted_entities", ()) if isinstance(name, str))
    return Passage(item["title"], item["text"], tuple(dict.fromkeys(filter(None, names))), stated)


def _is_triple(value: object) -> bool:
    return isinstance(value, list) and len(value) == 3 and all(isinstance(part, str) for part in value)


def _plain(name: str) -> str:
    return " ".join(re.findall(r"\w+", name.casefold()))


def imported(name: str, package: str) -> Any:
    """The peer's module.

    Raises:
        SystemExit: it is not installed; the message says how to get it.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise SystemExit(
            f"benchmarks.peers: {package} cannot be imported ({error}); it is no dependency of kgplatform: "
            f"pip install {package} into an environment of its own that has kgplatform too"
        ) from error


class _Words:
    """Tokens without a download: the same four letters a token for all."""

    def encode(self, text: str, **_: object) -> list[int]:
        codes = text.encode("utf-32-le")
        return [int.from_bytes(codes[at : at + 16], "little") for at in range(0, len(codes), 16)]

    def decode(self, tokens: Sequence[int]) -> str:
        whole = b"".join(token.to_bytes(16, "little") for token in tokens)
        return whole.decode("utf-32-le").replace("\0", "")

    def decode_batch(self, batch: Iterable[Sequence[int]], **_: object) -> list[str]:
        return [self.decode(tokens) for tokens in batch]

    def encode_batch(self, texts: Iterable[str], **_: object) -> list[list[int]]:
        return [self.encode(text) for text in texts]


def light_rag(material: Material, folder: Path, embedder: SentenceTransformersEmbedder) -> dict[str, Retrieve]:
    """LightRAG's modes over the given extraction."""
    lightrag = imported("lightrag", "lightrag-hku")
    utils = import_module("lightrag.utils")
    loop = asyncio.new_event_loop()

    async def embed(texts: list[str], **_: object) -> Any:
        return np.asarray(embedder.embed(list(texts)))

    async def keywords(prompt: str, *_: object, **__: object) -> str:
        asked = next((q.text for q in material.questions if q.text in prompt), prompt)
        names = list(phrases(asked)) or [asked]
        return json.dumps({"high_level_keywords": [asked], "low_level_keywords": sorted(names)})

    made = lightrag.LightRAG(
        working_dir=str(folder),
        embedding_func=utils.EmbeddingFunc(embedding_dim=embedder.dimensions, max_token_size=8192, func=embed),
        llm_model_func=keywords,
        tokenizer=utils.Tokenizer("four-letters", _Words()),
        enable_llm_cache=False,
    )
    loop.run_until_complete(made.initialize_storages())
    shared = import_module("lightrag.kg.shared_storage")
    if hasattr(shared, "initialize_pipeline_status"):
        loop.run_until_complete(shared.initialize_pipeline_status())
    if not (folder / "built").exists():
        loop.run_until_complete(_insert_light(made, material))
        (folder / "built").touch()

    def mode(name: str) -> Retrieve:
        param = lightrag.QueryParam(mode=name, enable_rerank=False, chunk_top_k=60, max_total_tokens=60_000)
        places = {_plain(passage.whole): place for place, passage in enumerate(material.passages)}

        def retrieve(question: str) -> list[int]:
            found = loop.run_until_complete(made.aquery_data(question, param))
            chunks = found.get("data", found).get("chunks", [])
            return [places[key] for chunk in chunks if (key := _plain(chunk["content"])) in places]

        return retrieve

    return {f"LightRAG {name}": mode(name) for name in ("naive", "local", "global", "hybrid", "mix")}


async def _insert_light(made: Any, material: Material) -> None:
    """The extraction as a custom graph; every passage of an entity or relation is then noted, not only the first."""
    whole = {place: passage.whole for place, passage in enumerate(material.passages)}
    called = import_module("lightrag.utils").normalize_entity_name  # it refuses bare numbers
    entities = {called(name): places for name, places in material.entities.items() if called(name)}
    triples = {
        (called(a), said, called(b)): places
        for (a, said, b), places in material.triples.items()
        if called(a) and called(b) and called(a) != called(b)
    }
    await made.ainsert_custom_kg(
        {
            "chunks": [{"content": text, "source_id": str(place)} for place, text in whole.items()],
            "entities": [
                {"entity_name": name, "entity_type": "UNKNOWN", "description": name, "source_id": str(places[0])}
                for name, places in entities.items()
            ],
            "relationships": [
                {
                    "src_id": a,
                    "tgt_id": b,
                    "description": f"{a} {said} {b}",
                    "keywords": said,
                    "weight": float(len(places)),
                    "source_id": str(places[0]),
                }
                for (a, said, b), places in triples.items()
            ],
        }
    )
    hashed = import_module("lightrag.utils").compute_mdhash_id
    sanitize = getattr(import_module("lightrag.utils"), "sanitize_text_for_encoding", str)
    ids = {place: hashed(sanitize(text), prefix="chunk-") for place, text in whole.items()}
    graph = made.chunk_entity_relation_graph
    for name, places in entities.items():
        node = await graph.get_node(name)
        if node:
            await graph.upsert_node(name, {**node, "source_id": _SEPARATOR.join(ids[place] for place in places)})
    by_pair: dict[tuple[str, str], dict[int, None]] = {}
    for (a, _, b), places in triples.items():
        by_pair.setdefault((a, b) if a < b else (b, a), {}).update(dict.fromkeys(places))
    for (a, b), held in by_pair.items():
        edge = await graph.get_edge(a, b)
        if edge:
            await graph.upsert_edge(a, b, {**edge, "source_id": _SEPARATOR.join(ids[place] for place in held)})
    await graph.index_done_callback()


def nano_graphrag(material: Material, folder: Path, embedder: SentenceTransformersEmbedder) -> dict[str, Retrieve]:
    """nano-graphrag's local and naive queries over the given extraction."""
    imported("tiktoken", "nano-graphrag").encoding_for_model = lambda _name: _Words()
    nano = imported("nano_graphrag", "nano-graphrag")
    graphrag, operations = import_module("nano_graphrag.graphrag"), import_module("nano_graphrag._op")
    utils = import_module("nano_graphrag._utils")

    async def embed(texts: list[str]) -> Any:
        return np.asarray(embedder.embed(list(texts)))

    async def report(*_: object, **__: object) -> str:
        return json.dumps({"title": "group", "summary": "", "rating": 5, "rating_explanation": "", "findings": []})

    async def extract(
        chunks: dict[str, Any], knwoledge_graph_inst: Any, entity_vdb: Any, global_config: dict[str, Any], **_: object
    ) -> Any:  # the names are the peer's
        await _insert_nano(chunks, knwoledge_graph_inst, entity_vdb, global_config, operations, material)
        return knwoledge_graph_inst

    made = graphrag.GraphRAG(
        working_dir=str(folder),
        enable_naive_rag=True,
        embedding_func=utils.EmbeddingFunc(embedding_dim=embedder.dimensions, max_token_size=8192, func=embed),
        best_model_func=report,
        cheap_model_func=report,
        entity_extraction_func=extract,
        enable_llm_cache=False,
    )
    if not (folder / "built").exists():
        made.insert([passage.whole for passage in material.passages])
        (folder / "built").touch()
    places = {_plain(passage.whole): place for place, passage in enumerate(material.passages)}

    def mode(name: str) -> Retrieve:
        param = nano.QueryParam(
            mode=name,
            only_need_context=True,
            top_k=60,
            local_max_token_for_text_unit=8_000,
        )

        def retrieve(question: str) -> list[int]:
            context = made.query(question, param) or ""
            held = _SOURCES.search(context)
            if held is None:  # naive: the passages themselves, parted by lines
                parts = [part.strip() for part in context.split("--New Chunk--")]
            else:
                rows = csv.reader(io.StringIO(held[1].replace(",\t", ",")), skipinitialspace=True)
                parts = [row[-1] for row in rows if row]
            return [places[key] for part in parts if (key := _plain(part)) in places]

        return retrieve

    return {f"nano-graphrag {name}": mode(name) for name in ("naive", "local")}


def kgplatform(material: Material, folder: Path) -> dict[str, Retrieve]:
    """Our own retrievers, as a user has them: passages and statements added to a workspace."""
    kg = opened(material, folder)
    add_statements(kg, material, folder)
    return by_retriever(kg, material, _OURS)


def opened(material: Material, folder: Path) -> KnowledgeGraph:
    """A workspace in the folder with the passages, each a document."""
    corpus = folder / "corpus.json"
    corpus.write_text(json.dumps([{"title": p.title, "text": p.text} for p in material.passages]), encoding="utf-8")
    there = (folder / "workspace").exists()
    kg = KnowledgeGraph.open(folder / "workspace") if there else KnowledgeGraph.create(folder / "workspace")
    for added in kg.add(corpus):
        if added.error:
            raise ReadError(added.error, path=corpus)
    return kg


def add_statements(kg: KnowledgeGraph, material: Material, folder: Path) -> StatementsGiven:
    """Gives the workspace the extraction, as a file of statements."""
    file, places = folder / "statements.jsonl", _places(kg, material)
    with file.open("w", encoding="utf-8") as lines:
        for iri, place in places.items():
            for subject, predicate, object_ in dict.fromkeys(material.passages[place].stated):
                if all(any(map(str.isalnum, part)) for part in (subject, predicate, object_)):
                    line = {"document": iri, "subject": subject, "predicate": predicate, "object": object_}
                    lines.write(json.dumps(line, ensure_ascii=False) + "\n")
    return kg.add_statements(file)


def _places(kg: KnowledgeGraph, material: Material) -> dict[str, int]:
    """The places of the passages by the IRIs of their documents."""
    at = {(passage.title, _plain(passage.text)): place for place, passage in enumerate(material.passages)}
    found = {}
    for record in kg.documents():
        title, text = record.document.title, _plain(record.document.text)
        place = next((p for (name, words), p in at.items() if name == title and words in text), None)
        if place is None:
            raise ReadError(f"the document {title!r} is no passage", path=kg.folder)
        found[record.document.iri.value] = place
    return found


def by_retriever(kg: KnowledgeGraph, material: Material, names: Iterable[str]) -> dict[str, Retrieve]:
    """What finds the places of passages, by the names of our retrievers."""
    places = _places(kg, material)

    def by(name: str) -> Retrieve:
        return lambda text: [places[hit.document.value] for hit in kg.search(text, _DEPTH, retriever=name)]

    return {f"kgplatform {name}": by(name) for name in names}


async def _insert_nano(
    chunks: dict[str, Any], graph: Any, vectors: Any, settings: dict[str, Any], operations: Any, material: Material
) -> None:
    ids = {_plain(chunk["content"]): key for key, chunk in chunks.items()}
    homes = {place: ids[key] for place, p in enumerate(material.passages) if (key := _plain(p.whole)) in ids}
    entities = []
    for name, places in material.entities.items():
        nodes = [
            {"entity_name": name.upper(), "entity_type": "UNKNOWN", "description": name, "source_id": homes[place]}
            for place in places
            if place in homes
        ]
        if nodes:
            entities.append(await operations._merge_nodes_then_upsert(name.upper(), nodes, graph, settings))
    for (a, said, b), places in material.triples.items():
        edges = [
            {"weight": 1.0, "description": f"{a} {said} {b}", "source_id": homes[place], "order": 1}
            for place in places
            if place in homes
        ]
        if edges:
            await operations._merge_edges_then_upsert(a.upper(), b.upper(), edges, graph, settings)
    hashed = import_module("nano_graphrag._utils").compute_mdhash_id
    await vectors.upsert(
        {
            hashed(entity["entity_name"], prefix="ent-"): {
                "content": entity["entity_name"] + entity["description"],
                "entity_name": entity["entity_name"],
            }
            for entity in entities
        }
    )


@dataclass(frozen=True, slots=True)
class Scored:
    """How one system did: recall of each question within the tokens, its seconds by the clock and of work, mean tokens.

    Work is the processor time of the process, which a busy machine changes less than the clock.
    """

    name: str
    recalls: tuple[float, ...]
    seconds: tuple[float, ...]
    worked: tuple[float, ...]
    tokens: float

    @property
    def recall(self) -> Estimate:
        """The mean recall."""
        return estimate(self.recalls)

    @property
    def medians(self) -> tuple[float, float]:
        """The median seconds of a retrieval, by the clock and of work."""
        return median(self.seconds), median(self.worked)


def score(name: str, retrieve: Retrieve, material: Material, tokens: int) -> Scored:
    """Asks everything once, after one question that does not count."""
    retrieve(material.questions[0].text + " ?")
    recalls, seconds, worked, used = [], [], [], []
    for asked in material.questions:
        began, work = time.perf_counter(), time.process_time()
        found = retrieve(asked.text)
        seconds.append(time.perf_counter() - began)
        worked.append(time.process_time() - work)
        context, left = [], tokens
        for place in dict.fromkeys(found):
            left -= count_tokens(material.passages[place].whole)
            if left < 0:
                break
            context.append(place)
        recalls.append(len(asked.gold & set(context)) / len(asked.gold))
        used.append(sum(count_tokens(material.passages[place].whole) for place in context))
    return Scored(name, tuple(recalls), tuple(seconds), tuple(worked), sum(used) / len(used))


def table(scores: Sequence[Scored]) -> str:
    """The systems, best recall first, each compared with the best."""
    best = max(scores, key=lambda item: item.recall.value)
    lines = [f"{'system':28} recall  95 %         p against best  tokens  ms clock  ms work"]
    for item in sorted(scores, key=lambda item: -item.recall.value):
        against: PairedComparison | None = None if item is best else compare(item.recalls, best.recalls)
        p = f"{against.p:.3f}" if against else "best"
        mean = item.recall
        lines.append(
            f"{item.name:28} {mean.value:.3f}   {mean.low:.3f}-{mean.high:.3f}  {p:>14}  {item.tokens:6.0f}  "
            f"{1000 * item.medians[0]:8.1f}  {1000 * item.medians[1]:7.1f}"
        )
    return "\n".join(lines)


def main() -> int:
    """Prints the table; 1 if a peer beats us."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.peers", description="kgplatform beside its peers")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--tokens", type=int, default=1_000, metavar="N", help="of context (default: 1000)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep what is built here, and use what is there")
    given = parser.parse_args()
    try:
        material = read(given.folder)
    except KgPlatformError as error:
        print(f"benchmarks.peers: {error}", file=sys.stderr)
        return 2
    imported("lightrag", "lightrag-hku")  # before anything takes long
    imported("nano_graphrag", "nano-graphrag")
    embedder = SentenceTransformersEmbedder(threads=1)
    scores: list[Scored] = []
    with TemporaryDirectory() as temporary:
        for make in (kgplatform, partial(light_rag, embedder=embedder), partial(nano_graphrag, embedder=embedder)):
            called = make.func.__name__ if isinstance(make, partial) else make.__name__
            folder = (given.keep or Path(temporary)) / called
            folder.mkdir(parents=True, exist_ok=True)
            print(f"building {called} …", file=sys.stderr)
            for name, retrieve in make(material, folder=folder).items():
                scores.append(score(name, retrieve, material, given.tokens))
    print(table(scores))
    one, five, fifteen = os.getloadavg()
    print(f"{len(material.questions)} questions; load {one:.1f} {five:.1f} {fifteen:.1f} on {os.cpu_count()} cores")
    ours = max(item.recall.value for item in scores if item.name.startswith("kgplatform"))
    return int(any(item.recall.value > ours for item in scores))


if __name__ == "__main__":
    sys.exit(main())
