"""Solved questions to show a model: those shipped, those of the workspace, and the ones most like a new question.

Likeness is that of the words left when the names are taken out ("which hotels are in <town>" and "which inns are in
<city>" ask the same way), and of the meaning where there is an embedder that knows the language.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final

from kgplatform import queries
from kgplatform.errors import QueryError
from kgplatform.protocols import Embedder
from kgplatform.questions.names import NameIndex
from kgplatform.questions.patterns import patterns_of
from kgplatform.questions.relevance import knows
from kgplatform.questions.wording import stem
from kgplatform.text import language_of, normalise, words
from kgplatform.vocab import OWL, PREFIXES, RDF, RDFS, SKOS, TYPE

FOLDER: Final = "sparql"
"""Where a workspace keeps its solved questions."""

_STANDARD = (OWL, RDF, RDFS, SKOS)
_NAMES = ("entity", "value")
_UNSAFE = re.compile(r"[^\w-]+", re.UNICODE)


@dataclass(frozen=True, slots=True)
class Solved:
    """A question with the query that answers it."""

    question: str
    query: str


@lru_cache(maxsize=1)
def shipped_examples() -> tuple[Solved, ...]:
    """The solved examples of folder ``sparql/examples``."""
    found = (queries.load(name) for name in queries.names() if name.startswith("examples/"))
    return tuple(Solved(item.summary, _bare(item.text)) for item in found)


def _bare(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("#")).strip()


def solved_in(folder: Path) -> tuple[tuple[Solved, ...], tuple[str, ...]]:
    """The solved questions in the ``.rq`` files of a folder, and a sentence for each file that is none."""
    found, problems = [], []
    for path in sorted(folder.glob("*.rq")):
        try:
            item = queries.parse(f"examples/{path.stem}", path.read_text(encoding="utf-8-sig"))
        except (QueryError, UnicodeDecodeError, OSError) as error:
            problems.append(f"{path.name} is no solved question: {error}")
            continue
        found.append(Solved(item.summary, _bare(item.text)))
    return tuple(found), tuple(problems)


def save(question: str, query: str, folder: Path) -> Path:
    """Keeps a question with its query in a folder of solved questions; the file is named after the question.

    Raises:
        QueryError: the question is empty.
    """
    summary = " ".join(question.split())
    if not summary:
        raise QueryError("a solved question needs a question", query=query)
    name = _UNSAFE.sub("-", summary.casefold()).strip("-")[:60].strip("-") or "question"
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.rq"
    number = 2
    while path.exists() and not _is_about(path, summary):
        path, number = folder / f"{name}-{number}.rq", number + 1
    partial = path.with_suffix(".part")
    partial.write_text(f"#+ summary: {summary}\n{_bare(query)}\n", encoding="utf-8")
    partial.replace(path)
    return path


def _is_about(path: Path, summary: str) -> bool:
    return path.read_text(encoding="utf-8-sig", errors="replace").startswith(f"#+ summary: {summary}\n")


def similar(
    question: str,
    examples: Sequence[Solved],
    names: NameIndex,
    limit: int,
    *,
    embedder: Callable[[], Embedder | None] = lambda: None,
    leave_out_same: bool = False,
) -> list[Solved]:
    """The examples most like the question whose terms the graph knows, the most similar first.

    ``leave_out_same`` leaves out the question itself, which matters where answers are measured.
    """
    known = {iri.value for iri in (*names.schema.classes, *names.schema.properties)}
    usable = [item for item in dict.fromkeys(examples) if _fits(item.query, known)]
    if leave_out_same:
        usable = [item for item in usable if normalise(item.question) != normalise(question)]
    if not usable or limit < 1:
        return []
    wanted = without_names(question, names)
    plain = [without_names(item.question, names) for item in usable]
    scores = [_shared(wanted, other) for other in plain]
    model = embedder() if len(usable) > limit else None
    if model is not None and knows(model, language_of(question)):
        vectors = model.embed([wanted, *plain])
        scores = [score + float(max(0.0, x)) for score, x in zip(scores, vectors[1:] @ vectors[0], strict=True)]
    ranked = sorted(zip(scores, usable, strict=True), key=lambda pair: (-pair[0], pair[1].question))
    return [item for _, item in ranked[:limit]]


def without_names(question: str, names: NameIndex) -> str:
    """The question with the names of things and values replaced by the class or property that they are of.

    Its own name for a class stays, so that what is asked for is still seen.
    """
    parts, end = [], 0
    for item in names.link(question):
        if item.kind not in _NAMES or item.start < end:
            continue
        of = names.types(item.iri)[:1] if item.kind == "entity" else (item.iri,)
        label = names.schema.label(of[0]) if of else "thing"
        parts += [question[end : item.start], f"<{label}>"]
        end = item.end
    return "".join([*parts, question[end:]])


def _shared(one: str, other: str) -> float:
    own, wanted = ({stem(word) for word in words(text)} for text in (one, other))
    return len(own & wanted) / (1 + len(own | wanted))


def _fits(query: str, known: Iterable[str]) -> bool:
    """Whether the properties and classes of a query are those of the graph, and it has any of its own."""
    read = patterns_of(query, PREFIXES)
    used = {i.value for p in read.triples for i in p.predicates if i.kind == "iri"}
    used |= {p.object.value for p in read.triples if p.plain and p.predicates[0].value == TYPE.value}
    own = {value for value in used if ":" in value and not value.startswith(_STANDARD)}
    return bool(own) and own <= set(known)
