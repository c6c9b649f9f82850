"""A small university and a small field, as a real workspace's parts: courses by statements, papers by their texts."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.documents.records import Linking
from kgplatform.documents.registry import Registry
from kgplatform.linking.projection import EvidenceFinder, Projection
from kgplatform.ontology import packs
from kgplatform.packs.academic.courses import Parts, term
from kgplatform.store.dataset import Change, EvidenceDataset
from kgplatform.store.oxigraph import Store
from kgplatform.types import ChatModel, Chunk, Document, Embedder
from kgplatform.vocab import ALT_LABEL, LABEL, TYPE, XSD_DECIMAL, XSD_GYEAR, chunk_iri, document_iri

BASE = "https://example.org/kg/"


def _text(*paragraphs: str) -> str:
    return "\n\n".join(paragraphs) + "\n"


STREAM = _text(
    "Streaming Recognition with Short Memory",
    "Ada Byron, Kurt G. TestConf 2021",
    "Abstract",
    "SM-Net is a streaming recognizer for speech.\n"
    "SM-Net is evaluated on NoiseBank, reaching a word error rate of 4.5 percent.",
    "1 Introduction",
    "Streaming recognizers cannot look far ahead. Long utterances remain an open problem.",
    "2 Method",
    "SM-Net combines a convolutional encoder with a small decoder. The decoder uses a halting unit.",
    "3 Conclusion",
    "Handling two speakers is left for future work.",
)

SPEAKERS = _text(
    "Two Speakers at Once",
    "Grace Hopper. TestConf 2023",
    "Abstract",
    "DuoNet separates two speakers in one recording.\n"
    "DuoNet is evaluated on NoiseBank, reaching a word error rate of 6.1 percent.",
    "1 Introduction",
    "Handling two speakers at once needs a separate stream for each speaker. This work builds on SM-Net.",
    "2 Method",
    "DuoNet uses a streaming recognizer for each speaker and keeps both streams apart.",
    "3 Conclusion",
    "Both streams are decoded together.",
)

CHINESE = _text(
    "《短时记忆的流式识别》",
    "李雷。测试会议 2021",
    "摘要",
    "本文提出了短时网络，一种流式语音识别模型。短时网络在 NoiseBank 数据集上的词错误率为 5.2%。",
    "一、引言",
    "流式语音识别难以利用很长的上下文，长句仍有待研究。",
    "二、方法",
    "短时网络采用卷积编码器和小型解码器，训练时使用停止单元。",
    "三、结论",
    "今后将处理多人同时说话的情形。",
)


def iri(name: str) -> NamedNode:
    return NamedNode(f"{BASE}entity/{name}")


def thing(name: str, kind: str, *labels: str, language: str = "en") -> list[Triple]:
    first, *others = labels or (name,)
    found = [Triple(iri(name), TYPE, term(kind)), Triple(iri(name), LABEL, Literal(first, language=language))]
    return found + [Triple(iri(name), ALT_LABEL, Literal(other, language="en")) for other in others]


def course(
    code: str, title: str, *, needs: Sequence[str] = (), covers: Sequence[str] = (), outcomes: Sequence[str] = ()
) -> list[Triple]:
    node = iri(code.lower())
    found = [*thing(code.lower(), "Course", title), Triple(node, term("courseCode"), Literal(code))]
    found.append(Triple(node, term("credits"), Literal("6", datatype=XSD_DECIMAL)))
    found += [Triple(node, term("hasPrerequisite"), iri(other.lower())) for other in needs]
    found += [Triple(node, term("learningOutcome"), Literal(text)) for text in outcomes]
    for name in covers:
        found += [*thing(name.replace(" ", "-"), "KnowledgeConcept", name)]
        found.append(Triple(node, term("covers"), iri(name.replace(" ", "-"))))
    return found


class Campus:
    """The parts of a workspace in memory, and the means to add to it."""

    def __init__(self, embedder: Embedder | None = None, model: ChatModel | None = None) -> None:
        store = Store.open(None)
        loaded = packs.load(["academic"], folder=Path(__file__).resolve().parent.parent)
        self.dataset = EvidenceDataset(store, BASE)
        self.dataset.commit(Change(added={self.dataset.ontology: loaded.triples}))
        self.registry = Registry(None)
        finder = EvidenceFinder(self.registry, Projection(BASE, Linking()))
        self.parts = Parts(self.dataset, loaded.ontology, self.registry, finder.find, embedder, model)

    def state(self, triples: Iterable[Triple]) -> None:
        self.dataset.state(triples)

    def read(self, text: str, *, title: str = "", language: str = "en") -> Document:
        sha256 = hashlib.sha256(text.encode()).hexdigest()
        named, source = title or text.partition("\n")[0], f"papers/{sha256[-6:]}.txt"
        document = Document(document_iri(BASE, sha256), text, named, "text/plain", source, sha256, language)
        self.registry.enter(document, [Chunk(chunk_iri(document.iri, 0), document.iri, 0, 0, len(text), text)], [])
        self.registry.finish(document, statements=0, refused=0, seconds=0.0)
        return document


def university() -> list[Triple]:
    """Five courses: A1 and B1 before C2, C2 before D3; E3 stands alone and teaches what D3 does."""
    return [
        *course("AA1001", "Algebra", covers=["vector spaces"]),
        *course("BB1001", "Analysis", covers=["limits"]),
        *course("CC2001", "Waves", needs=["AA1001", "BB1001"], covers=["interference"]),
        *course(
            "DD3001",
            "Sound",
            needs=["CC2001"],
            covers=["hearing", "room acoustics"],
            outcomes=["measure interference in a room", "explain digital filters"],
        ),
        *course("EE3001", "Rooms", covers=["room acoustics"], outcomes=["measure interference in a room"]),
        *course("FF3001", "Signals", covers=["digital filters"]),
    ]


def field() -> list[Triple]:
    """Two papers with a citation, and one that is only cited."""
    year = Literal("2021", datatype=XSD_GYEAR)
    return [
        *thing("stream", "Paper", "Streaming Recognition with Short Memory"),
        *thing("speakers", "Paper", "Two Speakers at Once"),
        *thing("older", "Paper", "An Older Paper"),
        *thing("sm-net", "Model", "SM-Net"),
        *thing("noisebank", "Dataset", "NoiseBank"),
        *thing("streaming", "Task", "streaming recognizer"),
        Triple(iri("stream"), term("publicationYear"), year),
        Triple(iri("speakers"), term("cites"), iri("stream")),
        Triple(iri("speakers"), term("cites"), iri("older")),
        Triple(iri("stream"), term("proposes"), iri("sm-net")),
    ]
