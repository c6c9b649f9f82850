"""What every study is given, and the outcomes of single questions, kept so that a study goes on where it ended."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from kgplatform import __version__, resources
from kgplatform.building.asking import AskOptions
from kgplatform.building.learning import FILE as LEARNT
from kgplatform.errors import ConfigError, StoreError
from kgplatform.evaluation.judging.by_model import ModelJudge
from kgplatform.evaluation.judging.estimating import EstimatingJudge
from kgplatform.evaluation.judging.measures import Judge
from kgplatform.evaluation.studies.nearness import Remembering
from kgplatform.evaluation.studies.report import Outcome
from kgplatform.graph import KnowledgeGraph
from kgplatform.protocols import ChatModel

_NUMBERS = ("seconds", "tokens", "calls")


class KeptLines:
    """Records by key in a file of JSON Lines, each written as soon as it is there; None: kept in memory only.

    The end of a file that a crash left half written is passed over; ``fresh`` forgets what there was.

    Raises:
        StoreError: the file cannot be written.
    """

    def __init__(self, path: Path | None = None, *, fresh: bool = False) -> None:
        self._path = path
        self._known: dict[str, Mapping[str, Any]] = {}
        if path is None:
            return
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if fresh:
                path.unlink(missing_ok=True)
            text = path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""
            if text and not text.endswith("\n"):
                with path.open("a", encoding="utf-8") as file:
                    file.write("\n")
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror or error}") from error
        for line in text.split("\n"):
            found = _keyed(line)
            if found:
                self._known[found[0]] = found[1]

    def find(self, key: str) -> Mapping[str, Any] | None:
        """The record with that key; None if there is none yet."""
        return self._known.get(key)

    def keep(self, key: str, record: Mapping[str, Any], *, lasting: bool = True) -> None:
        """Keeps a record; one that is not ``lasting`` only for now, so that it is made again the next time."""
        self._known[key] = record
        if self._path is None or not lasting:
            return
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": key, **record}, ensure_ascii=False) + "\n")
        except OSError as error:
            raise StoreError(f"{self._path}: {error.strerror or error}") from error


def _keyed(line: str) -> tuple[str, dict[str, Any]] | None:
    try:
        item = json.loads(line)
        key = item.pop("key")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return (key, item) if isinstance(key, str) else None


class OutcomeCache:
    """Outcomes by key, kept as `KeptLines` does.

    Raises:
        StoreError: the file cannot be written.
    """

    def __init__(self, path: Path | None = None, *, fresh: bool = False) -> None:
        self._lines = KeptLines(path, fresh=fresh)

    def find(self, key: str) -> Outcome | None:
        """The outcome with that key; None if there is none yet."""
        record = self._lines.find(key)
        try:
            return Outcome(**record) if record is not None else None
        except TypeError:
            return None

    def keep(self, key: str, outcome: Outcome) -> None:
        """Keeps an outcome; one with problems only for now, so that it is tried again the next time."""
        self._lines.keep(key, _record(outcome), lasting=not outcome.problems)


def _record(outcome: Outcome) -> dict[str, object]:
    return {
        "id": outcome.id,
        "system": outcome.system,
        "question": outcome.question,
        "kind": outcome.kind,
        "language": outcome.language,
        "answer": outcome.answer,
        "reference": outcome.reference,
        "numbers": dict(outcome.numbers),
        "extra": dict(outcome.extra),
        **({"problems": outcome.problems} if outcome.problems else {}),
        **{name: getattr(outcome, name) for name in _NUMBERS},
    }


@dataclass(frozen=True)
class Setting:
    """A workspace, how much is asked of it, by whom it is judged, and where outcomes are kept.

    ``model`` answers and judges, None: the built-in ways do; ``others`` are further models, for a study that compares
    them. ``progress`` is told of every question: done, total, name. ``file`` holds questions to be asked in place of
    those that a study makes, for a study that can; ``asking`` is how the platform is asked, beside who answers.
    """

    kg: KnowledgeGraph
    count: int = 40
    seed: int = 0
    languages: tuple[str, ...] = ("en", "zh")
    model: ChatModel | None = None
    others: tuple[ChatModel, ...] = ()
    cache: OutcomeCache = field(default_factory=OutcomeCache)
    progress: Callable[[int, int, str], None] | None = None
    file: Path | None = None
    asking: AskOptions = field(default_factory=lambda: AskOptions(measured=True))

    def __post_init__(self) -> None:
        """Checks the values.

        Raises:
            ConfigError: nothing is to be asked, or in no language.
        """
        if self.count < 1:
            raise ConfigError(f"a study of {self.count} questions measures nothing; give 1 or more", setting="count")
        if not self.languages:
            raise ConfigError("a study needs a language to ask in, such as en", setting="language")

    @property
    def method(self) -> str:
        """Who answers: ``built-in`` or the model's name."""
        return self.model.name if self.model else "built-in"

    def judge(self, near: Remembering) -> Judge:
        """Who judges: the model where there is one, else the built-in estimate."""
        return ModelJudge(self.model, near) if self.model else EstimatingJudge(near)

    def options(self) -> dict[str, object]:
        """What decides over the questions and answers, for the report."""
        if self.file is not None:
            return {"file": str(self.file), "using": self.method}
        return {"count": self.count, "seed": self.seed, "languages": list(self.languages), "using": self.method}

    def key(self, study: str, question: Sequence[str], system: str, state: str) -> str:
        """The key of an outcome: another for another question, system, option, state of the workspace, or version."""
        return key_of(study, *question, system, state, self.method)


def key_of(*parts: object) -> str:
    """The key of what is kept of these parts: another for other parts, or another state of the platform's code."""
    return hashlib.sha256(json.dumps([*parts, code_state()], ensure_ascii=False, default=str).encode()).hexdigest()


@cache
def code_state() -> str:
    """A hash of the package's code, prompts and ontologies: what an edited platform did before counts no more."""
    package = Path(__file__).resolve().parents[2]
    shipped = [resources.folder("ontology"), resources.folder("sparql"), resources.folder("templates") / "prompts"]
    whole = hashlib.sha256(__version__.encode())
    for place in (package, *shipped):
        for file in sorted(place.rglob("*.py" if place == package else "*")):
            if file.is_file():
                whole.update(file.relative_to(place).as_posix().encode() + b"\0" + file.read_bytes())
    return whole.hexdigest()


def state_of(kg: KnowledgeGraph) -> str:
    """A hash of what a workspace knows: another when a document comes, goes or is read anew, or statements change.

    Settings count too, and what the reader was taught.
    """
    whole = hashlib.sha256(str(len(kg.store)).encode())
    for item in kg.registry.summaries():
        whole.update(f"{item.iri} {item.updated} {item.statements}\n".encode("utf-8", "surrogatepass"))
    settings: Mapping[str, object] = {
        "embedding": kg.settings.embedding.name,
        "retrieval": repr(kg.settings.retrieval),
        "questions": repr(kg.settings.questions),
        "extraction": repr(kg.settings.extraction),
    }
    whole.update(json.dumps(settings, sort_keys=True).encode())
    for name in dict.fromkeys((LEARNT, kg.settings.extraction.examples)):
        file = kg.folder / name
        if name and file.is_file():
            whole.update(hashlib.sha256(file.read_bytes()).digest())
    return whole.hexdigest()
