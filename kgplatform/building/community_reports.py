"""The reports on communities: kept while what they tell of holds, written anew otherwise, built in or by a model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.communities.reports import Report, report
from kgplatform.communities.writing import Material, write
from kgplatform.extraction.chinese import tag
from kgplatform.protocols import ChatModel
from kgplatform.text import has_han
from kgplatform.vocab import CORE, DCTERMS, LABEL, TYPE

LANGUAGES = ("en", "zh")
_REPORT = NamedNode(f"{CORE}CommunityReport")
_OF, _SUMMARY, _METHOD, _MODEL = (NamedNode(f"{CORE}{name}") for name in ("reportOf", "summary", "method", "model"))
_IDENTIFIER = NamedNode(f"{DCTERMS}identifier")
_NAME = re.compile(r"(?<![.!?]\s)(?<!^)\b[^\W\d_a-z][\w'’-]*(?:\s+[^\W\d_a-z][\w'’-]*)*")
_NAME_FLAGS = ("nr", "ns", "nt", "nz")


@dataclass(frozen=True, slots=True)
class ReportWriter:
    """Who writes reports: a model, several at a time, or (None) the built-in method."""

    model: ChatModel | None = None
    workers: int = 4

    @property
    def method(self) -> str:
        """What reports say of how they were made."""
        return "model" if self.model is not None else "built-in"


@dataclass(frozen=True, slots=True)
class Draft:
    """A community whose report is to be there: what it is called, a hash of what it tells of, and the material."""

    iri: NamedNode
    digest: str
    material: Callable[[str], Material]


def report_triples(
    drafts: Iterable[Draft], writer: ReportWriter, old: Mapping[NamedNode, list[Triple]]
) -> Iterator[Triple]:
    """The reports: the old one where its hash and method are still the same, and a new one for each other.

    Raises:
        ModelError: the model cannot be reached, or does not reply as asked.
    """
    new: list[Draft] = []
    for draft in drafts:
        kept = old.get(draft.iri, [])
        if _is_current(kept, draft, writer):
            yield from kept
        else:
            new.append(draft)
    told = [(draft, language, draft.material(language)) for draft in new for language in LANGUAGES]
    with ThreadPoolExecutor(writer.workers if writer.model is not None else 1) as pool:
        texts = list(pool.map(lambda item: _written(item[2], writer.model), told))
    by_draft: dict[NamedNode, list[tuple[str, Report, bool]]] = {}
    for (draft, language, _), (text, by_model) in zip(told, texts, strict=True):
        by_draft.setdefault(draft.iri, []).append((language, text, by_model))
    for draft in new:
        yield from _triples(draft, by_draft[draft.iri], writer)


def _is_current(kept: Iterable[Triple], draft: Draft, writer: ReportWriter) -> bool:
    values = {(triple.predicate, getattr(triple.object, "value", "")) for triple in kept}
    if (_IDENTIFIER, draft.digest) not in values or (_METHOD, writer.method) not in values:
        return False
    return writer.model is None or (_MODEL, writer.model.name) in values


def _written(material: Material, model: ChatModel | None) -> tuple[Report, bool]:
    """The report, and whether it is the model's: where nothing of that could be used, it is built in."""
    if model is not None:
        found = write(model, material, names_in=names_in).report
        if found is not None:
            return found, True
    return report(material.members, material.facts, material.language), False


def _triples(draft: Draft, texts: Iterable[tuple[str, Report, bool]], writer: ReportWriter) -> Iterator[Triple]:
    about = NamedNode(f"{draft.iri.value}/report")
    yield Triple(about, TYPE, _REPORT)
    yield Triple(about, _OF, draft.iri)
    yield Triple(about, _IDENTIFIER, Literal(draft.digest))
    yield Triple(about, _METHOD, Literal(writer.method))
    if writer.model is not None:
        yield Triple(about, _MODEL, Literal(writer.model.name))
    for language, text, _ in texts:
        yield Triple(draft.iri, LABEL, Literal(text.title, language=language))
        yield Triple(about, _SUMMARY, Literal(text.text, language=language))


def names_in(sentence: str) -> list[str]:
    """The names in a sentence: capitalised words but the first, and what the Chinese tagger takes for a name.

    It takes 镇内 and 园内, which say "in town" and "in the garden", for places.
    """
    if has_han(sentence):
        found = (token.text for token in tag(sentence) if token.tag.startswith(_NAME_FLAGS) and len(token.text) > 1)
        return [text for text in found if not text.endswith("内")]
    return _NAME.findall(sentence)
