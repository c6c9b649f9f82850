"""kgplatform beside LightRAG while documents are added: documents a second outside the models, and tokens put to one.

Both get the same texts, the same stub of a language model and the same stub of an embedding model. The stub reads the
passage out of either's prompt and replies in its form with the same things: the names of the passage (what is
capitalised, stands in 《》, or is a Chinese word of three characters and more), and what each sentence that has two
says of them; to whatever comes after, that nothing was missed. What is measured is the processor time of the whole
process less that spent in the stubs, and the tokens of all prompts and replies, counted for both as four letters, or
one Chinese character, a token. Libraries and dictionaries are loaded before: the peer's when it is made, ours by a
document for practice (``--cold``: without).

    python -m benchmarks.peers_ingest FOLDER [--copies 1] [--cold]

FOLDER holds documents that `add` reads; ``--copies`` adds each so often with other numbers in it. The peer is no
dependency: ``pip install lightrag-hku`` into an environment of its own that has kgplatform too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers import _Words, imported
from kgplatform.documents.files import discover, read
from kgplatform.errors import KgPlatformError
from kgplatform.graph import DEFAULT_BASE, KnowledgeGraph
from kgplatform.models.reply_cache import CachedModel
from kgplatform.models.stubs import HashEmbedder
from kgplatform.retrieval.pagerank import chinese_words
from kgplatform.text import count_tokens, sentences
from kgplatform.types import Completion, Document, Message, Usage

_NAME = re.compile(r"[A-Z][\w'’-]*(?: (?:of |the |de |von |van )?[A-Z][\w'’-]*)*|(?<=《)[^《》]{2,40}(?=》)")
_PASSAGE = re.compile(r"<passage>\n(.*?)\n</passage>", re.DOTALL)
_PEERS_PASSAGE = re.compile(r"<Input Text>\s*```(.*?)```|---Input Text---\s*```(.*?)```|Text:\s*```(.*?)```", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Said:
    """What is said in a passage: its names, and pairs of them with the sentence that has both."""

    names: tuple[str, ...]
    pairs: tuple[tuple[str, str, str], ...]


def said(passage: str) -> Said:
    """What the stub finds."""
    names: dict[str, None] = {}
    pairs = []
    for start, end in sentences(passage):
        sentence = passage[start:end]
        long = [word for word in chinese_words(sentence) if len(word) > 2]
        inside = list(dict.fromkeys([*_NAME.findall(sentence), *long]))
        names.update(dict.fromkeys(inside))
        if len(inside) > 1:
            pairs.append((inside[0], inside[1], sentence))
    return Said(tuple(names), tuple(pairs))


class Meter:
    """Counts the calls and tokens of a stub, and the processor time that it takes itself."""

    def __init__(self) -> None:
        self.calls = self.prompt = self.reply = 0
        self.seconds = 0.0

    def spent(self, work: Callable[[], Any]) -> Any:
        """What the work gives; its time is the stub's."""
        began = time.thread_time()
        try:
            return work()
        finally:
            self.seconds += time.thread_time() - began

    def count(self, prompt: str, reply: str) -> str:
        """The reply, counted."""
        self.calls += 1
        self.prompt += count_tokens(prompt)
        self.reply += count_tokens(reply)
        return reply


class OurModel:
    """The stub as kgplatform asks it."""

    name = "stub"

    def __init__(self, meter: Meter) -> None:
        self._meter = meter

    def complete(self, messages: Sequence[Message], *, schema: object = None) -> Completion:  # noqa: ARG002 (the seam has it)
        """The statements of the passage, then nothing more."""
        text = self._meter.spent(lambda: self._replied(messages))
        return Completion(text, Usage(1))

    def _replied(self, messages: Sequence[Message]) -> str:
        whole = "\n".join(message.content for message in messages)
        found = _PASSAGE.search(whole)
        is_first = len([message for message in messages if message.role == "assistant"]) == 0
        here = said(found[1]) if found and is_first else Said((), ())
        mentions = [{"text": name, "class": "Attraction", "name": name, "aliases": []} for name in here.names]
        statements = [
            {"subject": a, "property": "locatedIn", "object": b, "quote": quote, "confidence": 0.9}
            for a, b, quote in here.pairs
        ]
        reply = {"mentions": mentions, "statements": statements, "keywords": list(here.names[:3])}
        return self._meter.count(whole, json.dumps(reply, ensure_ascii=False))


class TimedEmbedder(HashEmbedder):
    """The stub of an embedding model."""

    def __init__(self, meter: Meter) -> None:
        super().__init__(64)
        self._meter = meter

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """The vectors of the texts."""
        found: NDArray[np.float32] = self._meter.spent(lambda: super(TimedEmbedder, self).embed(texts))
        return found


@dataclass(frozen=True, slots=True)
class Measured:
    """What adding the documents took."""

    name: str
    documents: int
    seconds: float
    meter: Meter

    def __str__(self) -> str:
        """The row of a table."""
        meter, count = self.meter, self.documents
        rate = count / max(self.seconds, 1e-9)
        tokens = f"{meter.prompt / count:,.0f} | {meter.reply / count:,.0f}"
        return f"| {self.name} | {count} | {rate:.2f} | {meter.calls / count:.1f} | {tokens} |"


def ours(documents: Sequence[Document], folder: Path) -> Measured:
    """Adding them to a new workspace: extraction, linking, checks, conclusions, index."""
    meter = Meter()
    texts = folder / "texts"
    texts.mkdir()
    for number, document in enumerate(documents):
        (texts / f"{number:05}.txt").write_text(document.text, encoding="utf-8")
    with KnowledgeGraph.create(folder / "kg", ontology="travel") as kg:
        kg.workspace.__dict__["embedder"] = TimedEmbedder(meter)
        kg.workspace.__dict__["model"] = CachedModel(OurModel(meter), folder / "models.sqlite")
        began = time.process_time()
        outcomes = [item.outcome for item in kg.add(texts)]
        seconds = time.process_time() - began - meter.seconds
    return Measured("kgplatform", outcomes.count("added"), seconds, meter)


def light_rag(documents: Sequence[Document], folder: Path) -> Measured:
    """Adding them to LightRAG: extraction, merging, its vector and graph stores."""
    lightrag = imported("lightrag", "lightrag-hku")
    utils = import_module("lightrag.utils")
    prompts = import_module("lightrag.prompt").PROMPTS
    field, done = prompts["DEFAULT_TUPLE_DELIMITER"], prompts["DEFAULT_COMPLETION_DELIMITER"]
    meter = Meter()
    embedder = TimedEmbedder(meter)

    async def embed(texts: list[str], **_: object) -> Any:
        return embedder.embed(list(texts))

    def replied(prompt: str, system: str, history: Sequence[Any]) -> str:
        whole = "\n".join([system, *(str(item.get("content", "")) for item in history), prompt])
        found = list(_PEERS_PASSAGE.finditer(whole))
        passage = next((part for part in found[-1].groups() if part), "") if found and not history else ""
        here = said(passage)
        lines = [f"entity{field}{name}{field}location{field}{name} is a place." for name in here.names]
        lines += [f"relation{field}{a}{field}{b}{field}located in{field}{quote}" for a, b, quote in here.pairs]
        return meter.count(whole, "\n".join([*lines, done]))

    async def model(prompt: str, system_prompt: str | None = None, history_messages: Any = (), **_: object) -> str:
        return str(meter.spent(lambda: replied(prompt, system_prompt or "", history_messages or ())))

    made = lightrag.LightRAG(
        working_dir=str(folder / "lightrag"),
        embedding_func=utils.EmbeddingFunc(embedding_dim=64, max_token_size=8192, func=embed),
        llm_model_func=model,
        tokenizer=utils.Tokenizer("four-letters", _Words()),
    )
    loop = asyncio.new_event_loop()
    loop.run_until_complete(made.initialize_storages())
    shared = import_module("lightrag.kg.shared_storage")
    if hasattr(shared, "initialize_pipeline_status"):
        loop.run_until_complete(shared.initialize_pipeline_status())
    began = time.process_time()
    paths = [f"{number:05}.txt" for number in range(len(documents))]
    loop.run_until_complete(made.ainsert([document.text for document in documents], file_paths=paths))
    seconds = time.process_time() - began - meter.seconds
    return Measured("LightRAG", len(documents), seconds, meter)


def texts_of(folder: Path, copies: int) -> list[Document]:
    """The documents in the folder, each so often, numbered."""
    found: list[Document] = []
    for path in discover([folder]).files:
        try:
            found += [document for document in read(path, base=DEFAULT_BASE) if document.media_type != "text/csv"]
        except KgPlatformError as error:
            print(f"benchmarks.peers_ingest: {error}", file=sys.stderr)
    numbered = ((copy, document) for copy in range(copies) for document in found)
    return [_numbered(document, copy) for copy, document in numbered]


def _for_practice(documents: Sequence[Document]) -> list[Document]:
    """The first document in Chinese and the first in another language."""
    return list({document.language == "zh": document for document in reversed(documents)}.values())


def _numbered(document: Document, copy: int) -> Document:
    return document if copy == 0 else replace(document, text=f"{document.text}\n\nCopy Number {copy}.")


def main() -> int:
    """Prints the table."""
    wanted = argparse.ArgumentParser(prog="benchmarks.peers_ingest", description=__doc__)
    wanted.add_argument("folder", type=Path)
    wanted.add_argument("--copies", type=int, default=1)
    wanted.add_argument("--cold", action="store_true")
    given = wanted.parse_args()
    documents = texts_of(given.folder, given.copies)
    text = sum(count_tokens(document.text) for document in documents) / max(len(documents), 1)
    print(f"{len(documents)} documents of {text:,.0f} tokens")
    print("| system | documents | a second outside the models | calls | prompt tokens | reply tokens |")
    print("|---|---|---|---|---|---|")
    if not given.cold:
        with TemporaryDirectory(prefix="kgplatform-") as name:
            ours(_for_practice(documents), Path(name))
    with TemporaryDirectory(prefix="kgplatform-") as name:
        print(ours(documents, Path(name)), flush=True)
        print(light_rag(documents, Path(name)), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
