"""A language model that replies what was recorded, and the small studies that are run with it.

A line of ``tests/data/recordings/studies.jsonl`` has the ``key`` of a request, what it was ``about``, a hash of its
``instructions`` and the ``completion``. The key is that of the material and of the form of the reply: better words of
an instruction do not make a recording worthless, but a test says so; material that changed has no reply.

What is missing is asked of a real model, and what is no longer needed dropped, by

    python tests/recorded.py --url http://127.0.0.1:8099/v1 --model NAME

where ``--anew`` asks everything again. The tests then tell which numbers changed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from benchmarks.studies import academic, adaptive, travel, traversal
from benchmarks.studies.outcomes import StudyOutcome
from benchmarks.studies.setting import Setting
from kgplatform.errors import ModelUnavailableError
from kgplatform.evaluation.gold import AskedQuestion, ask_all, read_gold
from kgplatform.evaluation.question_maker import UserQuestion, for_users
from kgplatform.evaluation.runs import StudyReport
from kgplatform.evaluation.triples import ExtractionReport, read_all, read_texts
from kgplatform.evaluation.triples import report as read_report
from kgplatform.extraction.model_reader import PromptOptions
from kgplatform.graph import KnowledgeGraph
from kgplatform.models.chat import OpenAIModel
from kgplatform.models.reply_cache import CachedModel
from kgplatform.models.stubs import HashEmbedder
from kgplatform.text import count_tokens
from kgplatform.types import ChatModel, Completion, Message, Usage
from kgplatform.workspace.community_stage import CommunityView
from kgplatform.workspace.question_settings import AskOptions
from kgplatform.workspace.workspace import Workspace

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "data" / "recordings"
STUDIES = FOLDER / "studies.jsonl"
NOTES = (
    "xitang-after-dark.txt",
    "xitang-xuesheng-qiongyou.txt",
    "tongli-versus-zhouzhuang.md",
    "zhouzhuang-sheying.md",
)
ASKED = frozenset(("r04", "r06", "r08", "r10", "r12", "r14", "r17", "r20", "r22", "r24"))
HOW = "python tests/recorded.py --url URL --model NAME"
_TRANSLATED = re.compile(r"(?s)(?:The classes of the graph|图谱的类).*\n(?:Question: |问题：)([^\n]+)\s*\Z")
COUNTS = {"travel": 8, "academic": 2, "adaptive": 4, "traversal": 2}


class RecordedModel:
    """Replies what was recorded; what was not is asked of ``inside``, if there is one, and noted in ``missing``."""

    name = "recorded"

    def __init__(self, path: Path = STUDIES, *, inside: ChatModel | None = None) -> None:
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self.known: dict[str, dict[str, str]] = {item["key"]: item for item in map(json.loads, lines)}
        self.used: dict[str, dict[str, str]] = {}
        self.missing: dict[str, tuple[Sequence[Message], Mapping[str, object] | None]] = {}
        self.changed: dict[str, str] = {}
        self._inside = inside
        self._lock = threading.Lock()

    def complete(self, messages: Sequence[Message], *, schema: Mapping[str, object] | None = None) -> Completion:
        """The recorded reply.

        Raises:
            ModelUnavailableError: there is none; the message says how to record it.
        """
        key, told = key_of(messages, schema), instructions_of(messages)
        line = self.known.get(key)
        if line is None and self._inside is not None:
            text = self._inside.complete(messages, schema=schema).text
            line = {"key": key, "about": about(messages), "instructions": told, "completion": text}
        if line is None:
            self.missing[key] = messages, schema
            raise ModelUnavailableError(f"no reply is recorded to {about(messages)!r}; {HOW}", model=self.name)
        if line["instructions"] != told:
            self.changed[told] = line["about"]
        with self._lock:
            self.known[key] = self.used[key] = line
        tokens = sum(count_tokens(message.content) for message in messages), count_tokens(line["completion"])
        return Completion(line["completion"], Usage(1, *tokens))


def key_of(messages: Sequence[Message], schema: Mapping[str, object] | None) -> str:
    """The key of a request: its material and the form of the reply, whatever the instructions."""
    form = sorted(properties) if schema and isinstance(properties := schema.get("properties"), dict) else []
    material = [_asked(message.content) for message in messages if message.role != "system"]
    return hashlib.sha256(json.dumps([form, material], ensure_ascii=False).encode()).hexdigest()[:16]


def _asked(content: str) -> str:
    """What is asked: of a question to be translated itself alone, for the graph's schema around it is no material."""
    found = _TRANSLATED.match(content)
    return f"translate {found[1]}" if found else content


def instructions_of(messages: Sequence[Message]) -> str:
    """A hash of what the system message tells."""
    told = "\n".join(message.content for message in messages if message.role == "system")
    return hashlib.sha256(told.encode()).hexdigest()[:8]


def about(messages: Sequence[Message]) -> str:
    """The first words of the material."""
    return " ".join(messages[1 if len(messages) > 1 else 0].content.split())[:70]


@contextmanager
def workspace(folder: Path, model: ChatModel) -> Iterator[KnowledgeGraph]:
    """Two notes on each of two towns, in English and Chinese, read by the model; letters stand for the embeddings.

    What the model is not sure of counts, as it did when its replies about the graph were recorded.
    """
    with (
        patch("kgplatform.extraction.model_reader._SURE", 0.0),
        patch.object(Workspace, "embedder", HashEmbedder(256)),
        patch.object(Workspace, "model", CachedModel(model, folder / "models.sqlite")),
        patch.object(Workspace, "asking", PromptOptions(gleaning=1, together=1)),
        KnowledgeGraph.create(folder / "kg", ontology=["travel"]) as kg,
    ):
        failed = [item.error for item in kg.add(*(ROOT / "examples" / "travel" / name for name in NOTES)) if item.error]
        assert not failed, failed
        yield kg


def run(study: str, kg: KnowledgeGraph) -> tuple[StudyReport, tuple[StudyOutcome, ...]]:
    """One of the studies on the workspace, small."""
    module = {"travel": travel, "academic": academic, "adaptive": adaptive, "traversal": traversal}[study]
    languages = ("en",) if study == "traversal" else ("en", "zh")
    return module.run(Setting(kg, count=COUNTS[study], model=kg.model, languages=languages))


def read_the_texts(kg: KnowledgeGraph) -> ExtractionReport:
    """How well the model reads four short texts."""
    gold, problems = read_texts(FOLDER / "texts.jsonl")
    assert problems == ()
    return read_report(list(read_all(gold, kg.workspace.extractor_for(), kg.ontology)))


def ask_the_questions(folder: Path, model: ChatModel) -> list[AskedQuestion]:
    """Ten of the questions on the towns of the regression set, translated by the model."""
    gold = read_gold(ROOT / "tests" / "regression" / "questions.jsonl")
    options = AskOptions(using="model", phrase=False, measured=True)
    with (
        patch.object(Workspace, "model", CachedModel(model, folder / "questions.sqlite")),
        patch("kgplatform.workspace.question_settings.search", lambda *_a, **_k: []),
        KnowledgeGraph.create(folder / "towns", ontology=["travel"]) as kg,
    ):
        kg.load(ROOT / "tests" / "regression" / "towns.ttl")
        chosen = [question for question in gold.questions if question.id in ASKED]
        return list(ask_all(chosen, ask=lambda text: kg.ask(text, options=options), query=kg.query, label_of=kg.label))


def report_on_communities(folder: Path, model: ChatModel) -> Mapping[str, list[CommunityView]]:
    """The communities of the workspace, which is there already, with what the model says of them, by language."""
    file = folder / "kg" / "kgplatform.toml"
    file.write_text(file.read_text("utf-8") + '\n[communities]\nreports = "model"\n', "utf-8")
    with (
        patch.object(Workspace, "embedder", HashEmbedder(256)),
        patch.object(Workspace, "model", CachedModel(model, folder / "models.sqlite")),
        KnowledgeGraph.open(folder / "kg") as kg,
    ):
        kg.find_communities()
        return {language: kg.communities(language=language) for language in ("en", "zh")}


def imagine_users(kg: KnowledgeGraph, model: ChatModel) -> list[UserQuestion]:
    """What five imagined users would ask of the notes, five questions for each of five tasks."""
    titles = sorted(record.document.title for record in kg.documents())
    return for_users(f"Notes of travellers to water towns: {'; '.join(titles)}", model)


def everything(model: RecordedModel, folder: Path) -> Iterator[tuple[str, object]]:
    """All that is run with the recordings, by name."""
    with workspace(folder, model) as kg:
        for study in COUNTS:
            yield study, run(study, kg)
        yield "extraction", read_the_texts(kg)
        yield "users", imagine_users(kg, model)
    yield "communities", report_on_communities(folder, model)
    yield "questions", ask_the_questions(folder, model)


def main() -> None:
    """Records what is missing."""
    parser = argparse.ArgumentParser(description="Records the replies that the recorded studies need.")
    parser.add_argument("--url", required=True, help="the OpenAI-compatible server")
    parser.add_argument("--model", required=True, help="the name of the model")
    parser.add_argument("--anew", action="store_true", help="ask for everything again")
    given = parser.parse_args()
    if given.anew:
        STUDIES.unlink(missing_ok=True)
    model = RecordedModel(inside=OpenAIModel(given.model, url=given.url, timeout_seconds=900.0))
    with tempfile.TemporaryDirectory() as place:
        for name, _ in everything(model, Path(place)):
            sys.stdout.write(f"{name}: {len(model.used)} replies\n")
    keep(model)


def keep(model: RecordedModel) -> None:
    """Writes what was used."""
    lines = (json.dumps(line, ensure_ascii=False) + "\n" for line in model.used.values())
    STUDIES.write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
