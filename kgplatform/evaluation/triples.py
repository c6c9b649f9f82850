"""How well texts are read: triples read against gold triples, strictly and as Text2KGBench counts.

A gold line is an object with ``text`` and ``triples`` (``[subject, property, object]``), ``id`` and ``ontology`` or
``type`` (the report counts by it) where wanted. Names compare without case, width, marks at their ends, blanks and
underscores, numbers by value, properties by IRI, local name or label.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, TypeAlias

from pyoxigraph import NamedNode

from kgplatform.evaluation.metrics import Estimate, estimate, harmonic, ratio
from kgplatform.extraction.learnt.examples import TermNames
from kgplatform.extraction.learnt.stretches import squeezed
from kgplatform.ontology.schema import Ontology
from kgplatform.text import id_of, language_of, read_json_lines
from kgplatform.types import Chunk, Document, Extractor, Mention
from kgplatform.vocab import local_name

Triple: TypeAlias = tuple[str, str, str]
"""Subject, property and object, as names."""

_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)")
_ALIKE = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"', "–": "-", "—": "-", "−": "-", "_": " "})


@dataclass(frozen=True, slots=True)
class GoldText:
    """A text and what it says."""

    id: str
    text: str
    triples: tuple[Triple, ...]
    kind: str = ""


@dataclass(frozen=True, slots=True)
class TextScore:
    """What was read in one text: triples read, in gold and in both; how many of the read ones are unsound, and how.

    ``foreign`` have a property that the ontology does not, ``lost_subjects`` and ``lost_objects`` a name that the text
    does not have. ``relevant`` are the read ones whose property the gold triples of the text have.
    """

    gold: int
    read: int
    right: int
    relevant: int
    foreign: int = 0
    lost_subjects: int = 0
    lost_objects: int = 0


@dataclass(frozen=True, slots=True)
class ReadText:
    """A gold text, the triples read in it, and the score."""

    gold: GoldText
    triples: tuple[Triple, ...]
    score: TextScore

    def line(self) -> dict[str, object]:
        """What was read in the text as a line of the results."""
        said = [[s, local_name(p) if "://" in p else p, o] for s, p, o in self.triples]
        counted = self.score
        precision = counted.right / counted.read if counted.read else 0.0
        recall = counted.right / counted.gold if counted.gold else 0.0
        return {
            "id": self.gold.id,
            "text": self.gold.text,
            "type": self.gold.kind,
            "lang": language_of(self.gold.text),
            "expected": [list(triple) for triple in self.gold.triples],
            "triples": said,
            "precision": precision,
            "recall": recall,
            "f1": harmonic(precision, recall),
            "counts": asdict(counted),
        }

    @classmethod
    def read(cls, gold: GoldText, line: Mapping[str, Any]) -> ReadText:
        """What a line of results says of a gold text.

        Raises:
            ValueError: the line lacks something, or holds something else than such a line does.
        """
        try:
            triples = tuple((str(s), str(p), str(o)) for s, p, o in line["triples"])
            counted = {item.name: int(line["counts"][item.name]) for item in fields(TextScore)}
            return cls(gold, triples, TextScore(**counted))
        except (KeyError, TypeError) as error:
            raise ValueError(f"is no result of a text ({error!r})") from error


@dataclass(frozen=True, slots=True)
class ModeScore:
    """Precision, recall and F1 over all triples (micro) and the means over texts (macro)."""

    precision: Estimate
    recall: Estimate
    f1: Estimate
    macro_precision: Estimate
    macro_recall: Estimate
    macro_f1: Estimate


@dataclass(frozen=True, slots=True)
class ExtractionReport:
    """A run: all that was read counts in ``strict``, what has a property of the text's gold in ``text2kgbench``.

    ``conformance`` is the share of read triples whose property is the ontology's; the last two are shares of them too.
    """

    texts: int
    strict: ModeScore
    text2kgbench: ModeScore
    conformance: float
    subjects_not_in_text: float
    objects_not_in_text: float
    by_kind: tuple[tuple[str, ModeScore], ...]


def read_texts(path: Path) -> tuple[tuple[GoldText, ...], tuple[str, ...]]:
    """The gold texts of a file, and a sentence for each line that is none.

    Raises:
        ReadError: the file cannot be read, or none of its lines can be used; the message says why of the first.
    """
    found, problems = read_json_lines(path, _gold, what="text", key=lambda gold: gold.id)
    return tuple(found), tuple(problems)


def _gold(item: Mapping[str, Any], number: int) -> GoldText:
    text, triples = item.get("text"), item.get("triples")
    if not isinstance(text, str) or not text.strip():
        raise ValueError("has no text")
    if not isinstance(triples, list) or not triples:
        raise ValueError("has no triples")
    said: list[Triple] = []
    for triple in triples:
        if (
            not isinstance(triple, list)
            or len(triple) != 3
            or not all(isinstance(p, str | int | float) for p in triple)
        ):
            raise ValueError("holds a triple that is not [subject, property, object]")
        said.append((str(triple[0]), str(triple[1]), str(triple[2])))
    kind = item.get("ontology") or item.get("type") or ""
    if not isinstance(kind, str):
        raise ValueError("its type is not text")
    return GoldText(id_of(item, number), text, tuple(said), kind)


def read_all(
    gold: Iterable[GoldText], extractor_for: Callable[[Document], Extractor], ontology: Ontology
) -> Iterator[ReadText]:
    """Reads each text as a document of one chunk, and scores what was read; lazily, in order."""
    names = TermNames(ontology)
    for item in gold:
        digest = hashlib.sha256(item.text.encode("utf-8", "surrogatepass")).hexdigest()
        iri = NamedNode(f"urn:sha256:{digest}")
        document = Document(iri, item.text, "", "text/plain", item.id, digest, language_of(item.text))
        chunk = Chunk(iri, iri, 0, 0, len(item.text), item.text)
        claims = extractor_for(document).extract(chunk, document).claims
        triples = dict.fromkeys(
            (c.subject.name, c.predicate.value, c.object.name if isinstance(c.object, Mention) else c.object.value)
            for c in claims
        )
        yield ReadText(item, tuple(triples), score(item, tuple(triples), names))


def score(gold: GoldText, triples: Sequence[Triple], names: TermNames) -> TextScore:
    """What reading these triples in the text is worth."""
    said = {_key(triple, names) for triple in gold.triples}
    read = {_key(triple, names): triple for triple in triples}
    properties = {key[1] for key in said}
    text = squeezed(gold.text)
    return TextScore(
        gold=len(said),
        read=len(read),
        right=len(said & read.keys()),
        relevant=sum(key[1] in properties for key in read),
        foreign=sum(names.property(triple[1]) is None for triple in read.values()),
        lost_subjects=sum(squeezed(triple[0]) not in text for triple in read.values()),
        lost_objects=sum(squeezed(triple[2]) not in text for triple in read.values()),
    )


def _key(triple: Triple, names: TermNames) -> Triple:
    property_ = names.property(triple[1])
    return plain_name(triple[0]), property_.value if property_ else plain_name(triple[1]), plain_name(triple[2])


def plain_name(name: str) -> str:
    """What two spellings of a name have in common; numbers as floats write them.

    >>> plain_name(" The_Lake. "), plain_name("1,533"), plain_name("1533.0")
    ('thelake', '1533.0', '1533.0')
    """
    form = unicodedata.normalize("NFKC", name).translate(_ALIKE).casefold().strip(" \t\n\"'.;,，。；")
    bare = form.replace(",", "")
    return repr(float(bare)) if _NUMBER.fullmatch(bare) else re.sub(r"\s+", "", form)


def report(texts: Sequence[ReadText]) -> ExtractionReport:
    """The numbers of a run."""
    scores = [item.score for item in texts]
    read = sum(item.read for item in scores)
    kinds = dict.fromkeys(item.gold.kind for item in texts)
    by_kind = [(kind, _mode([i.score for i in texts if i.gold.kind == kind], relevant=False)) for kind in kinds]
    return ExtractionReport(
        texts=len(texts),
        strict=_mode(scores, relevant=False),
        text2kgbench=_mode(scores, relevant=True),
        conformance=1 - sum(item.foreign for item in scores) / read if read else 1.0,
        subjects_not_in_text=sum(item.lost_subjects for item in scores) / read if read else 0.0,
        objects_not_in_text=sum(item.lost_objects for item in scores) / read if read else 0.0,
        by_kind=tuple(by_kind) if len(kinds) > 1 else (),
    )


def _mode(scores: Sequence[TextScore], *, relevant: bool) -> ModeScore:
    read = [float(item.relevant if relevant else item.read) for item in scores]
    gold = [float(item.gold) for item in scores]
    right = [float(item.right) for item in scores]
    both = [a + b for a, b in zip(read, gold, strict=True)]
    twice = [2 * value for value in right]
    return ModeScore(
        precision=ratio(right, read),
        recall=ratio(right, gold),
        f1=ratio(twice, both),
        macro_precision=estimate(_shares(right, read)),
        macro_recall=estimate(_shares(right, gold)),
        macro_f1=estimate(_shares(twice, both)),
    )


def _shares(parts: Sequence[float], wholes: Sequence[float]) -> list[float]:
    return [part / whole if whole else 0.0 for part, whole in zip(parts, wholes, strict=True)]
