"""How well documents are read without a model, on texts of our own (``tests/data/reading``).

    python -m benchmarks.reading own [--learn]     twenty annotated documents: precision, recall and F1
    python -m benchmarks.reading train --list      the same on the thirty that the reader may learn from
    python -m benchmarks.reading names [--learn]   Chinese names in posts, syllabi, papers and news, with their classes
    python -m benchmarks.reading strangers         forty questions on twelve notes that no sample mentions
    python -m benchmarks.reading noise [--seed N]  names drawn from sixty texts, for judging; judged ones are counted

Documents are added to a workspace as ``kgplatform add`` does, and what was read of them is compared. ``--learn``
teaches the workspace ``train.jsonl`` first. ``--list`` prints what was missed and what was read too much: not for sets
that are frozen. The README beside the data says how it was made.
"""

from __future__ import annotations

import argparse
import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

from pyoxigraph import NamedNode

from kgplatform.evaluation.metrics import harmonic, ratio
from kgplatform.evaluation.triples import Triple, plain_name
from kgplatform.extraction.learnt.examples import TermNames
from kgplatform.graph import KnowledgeGraph
from kgplatform.ontology.schema import Ontology
from kgplatform.text import normalise
from kgplatform.types import Mention
from kgplatform.vocab import local_name

DATA = Path(__file__).resolve().parents[1] / "tests" / "data" / "reading"
UNCOUNTED = frozenset(
    {"visits", "recommends", "recommendedBy", "abstract", "reportsResult", "learningOutcome", "examination"}
)
"""What a note tells of itself without words for it, and free text: in no gold, and not counted where it is read."""

Row: TypeAlias = dict[str, Any]


def rows_of(name: str) -> list[Row]:
    """The lines of a file of the data."""
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def ontology_of(name: str) -> str:
    """A shipped ontology, or the file of one that is beside the data."""
    file = DATA / "ontologies" / f"{name}.ttl"
    return str(file) if file.is_file() else name


@contextmanager
def reading_of(pack: str, files: Iterable[tuple[str, str]], *, learns: bool) -> Iterator[KnowledgeGraph]:
    """A workspace of the pack with the files added; without a model."""
    with TemporaryDirectory(prefix="kgplatform-reading-") as folder:
        notes = Path(folder) / "notes"
        notes.mkdir()
        for name, text in files:
            (notes / name).write_text(text, encoding="utf-8")
        with KnowledgeGraph.create(Path(folder) / Path(pack).stem, ontology=ontology_of(pack)) as kg:
            if learns:
                from kgplatform.workspace.review import learn

                taught = Path(folder) / "train.jsonl"
                lines = [
                    json.dumps(row, ensure_ascii=False) for row in rows_of("train.jsonl") if row["ontology"] == pack
                ]
                taught.write_text("\n".join(lines), encoding="utf-8")
                learn(kg.folder, kg.ontology, taught)
            for added in kg.add(notes):
                if added.outcome != "added":
                    raise SystemExit(f"{added.document.source}: {added.outcome} {added.error}")
            yield kg


class Canon:
    """Statements in one form: of a property and its inverse one, named values by their IRI, a pair in one order.

    ``also``: other names that the text has for the same thing.
    """

    def __init__(self, ontology: Ontology, also: Mapping[str, Sequence[str]]) -> None:
        self._also = {plain_name(form): plain_name(name) for name, forms in also.items() for form in forms}
        self._names = TermNames(ontology)
        self._ontology = ontology
        self._values = {normalise(w.text): iri.value for iri, item in ontology.individuals.items() for w in item.words}

    def triple(self, triple: Triple) -> Triple:
        """The statement in that form."""
        subject, name, object_ = triple
        property_ = self._names.property(name)
        if property_ is None:
            raise ValueError(f"the ontology has no property {name!r}")
        term = self._ontology.properties[property_]
        one, other = self._thing(subject), self._thing(object_, is_code=not term.is_object)
        if term.inverse is not None and term.inverse.value < property_.value:
            property_, one, other = term.inverse, other, one
        elif local_name(property_.value) == "near" and other < one:
            one, other = other, one
        return one, property_.value, other

    def _thing(self, name: str, *, is_code: bool = False) -> str:
        plain = plain_name(name)
        is_code = is_code and any(letter.isdigit() for letter in name)
        return self._values.get(normalise(name)) or (plain if is_code else self._also.get(plain, plain))


def statements_read(kg: KnowledgeGraph) -> dict[str, list[Triple]]:
    """What was read in each file, by the file's name, as names."""
    found: dict[str, list[Triple]] = {}
    for record in kg.documents():
        said = found.setdefault(Path(record.document.source.partition("#")[0]).stem, [])
        for extraction in kg.registry.extractions(record.document.iri):
            for claim in extraction.claims:
                value = claim.object.name if isinstance(claim.object, Mention) else claim.object.value
                said.append((claim.subject.name, claim.predicate.value, value))
    return found


def annotated(name: str, *, learns: bool, lists: bool) -> None:
    """Precision, recall and F1 on a list, by pack and language; what the two annotations differ in does not count."""
    rows, counted = rows_of(name), dict[str, tuple[int, int, int]]()
    agreed = Counter[str]()
    for pack in dict.fromkeys(row["ontology"] for row in rows):
        mine = [row for row in rows if row["ontology"] == pack]
        with reading_of(pack, ((f"{row['id']}.md", row["text"]) for row in mine), learns=learns) as kg:
            read = statements_read(kg)
            for row in mine:
                canon = Canon(kg.ontology, row["also"])
                first, second = (
                    {canon.triple(tuple(t)) for t in said}
                    for said in (row["triples"], row.get("second", row["triples"]))
                )
                agreed.update(first=len(first), second=len(second), both=len(first & second))
                gold, doubtful = first & second, first ^ second
                said = {canon.triple(t) for t in read[row["id"]] if local_name(t[1]) not in UNCOUNTED} - doubtful
                counted[row["id"]] = len(gold), len(said), len(gold & said)
                if lists:
                    for mark, triples in (("-", gold - said), ("+", said - gold)):
                        print(
                            *(f"{row['id']} {mark} {s} | {local_name(p)} | {o}" for s, p, o in sorted(triples)),
                            sep="\n",
                        )
    print(f"annotators agree: F1 {2 * agreed['both'] / (agreed['first'] + agreed['second']):.3f} {dict(agreed)}")
    groups = {"all": rows}
    for key in ("ontology", "language"):
        for value in dict.fromkeys(row[key] for row in rows):
            groups[value] = [row for row in rows if row[key] == value]
    for name, group in groups.items():
        wanted, found, right = (list(map(float, c)) for c in zip(*(counted[r["id"]] for r in group), strict=True))
        precision, recall = ratio(right, found), ratio(right, wanted)
        f1 = harmonic(precision.value, recall.value)
        figures = f"P {precision.value:.3f}  R {recall.value:.3f}  F1 {f1:.3f}"
        print(f"{name:10} {len(group):3} texts  {figures}  {sum(found):.0f} read, {sum(wanted):.0f} gold")


def names(*, learns: bool, lists: bool) -> None:
    """How many names of the Chinese sentences are found, with a class that fits, and how many found are names."""
    rows = rows_of("names.zh.jsonl")
    sums: dict[str, Counter[str]] = {}
    for pack in dict.fromkeys(row["ontology"] for row in rows):
        mine = [row for row in rows if row["ontology"] == pack]
        with reading_of(pack, ((f"s{n:03}.txt", row["text"]) for n, row in enumerate(mine)), learns=learns) as kg:
            terms, ontology = TermNames(kg.ontology), kg.ontology
            found: dict[str, dict[str, set[NamedNode]]] = {}
            for record in kg.documents():
                for extraction in kg.registry.extractions(record.document.iri):
                    for mention in extraction.mentions:
                        name = found.setdefault(Path(record.document.source).stem, {}).setdefault(mention.text, set())
                        name.add(mention.type)
            for number, row in enumerate(mine):
                seen = {
                    name: types for name, types in found.get(f"s{number:03}", {}).items() if not _is_value(name, kg)
                }
                gold = dict(map(tuple, row["names"]))
                for group in ("all", row["kind"]):
                    count = sums.setdefault(group, Counter())
                    count.update(gold=len(gold), found=len(seen), right=len(gold.keys() & seen.keys()))
                    for name in gold.keys() & seen.keys():
                        wanted = terms.class_(gold[name])
                        count["classed"] += wanted is None or any(ontology.is_a(t, (wanted,)) for t in seen[name])
                if lists and gold.keys() != seen.keys():
                    print(
                        row["text"],
                        "missed",
                        sorted(gold.keys() - seen.keys()),
                        "more",
                        sorted(seen.keys() - gold.keys()),
                    )
    for group, count in sums.items():
        precision, recall = count["right"] / max(1, count["found"]), count["right"] / count["gold"]
        classed = count["classed"] / max(1, count["right"])
        figures = f"P {precision:.3f}  R {recall:.3f}  F1 {harmonic(precision, recall):.3f}"
        print(f"{group:9} {count['gold']:4} names  {figures}  class fits {classed:.3f}")


def _is_value(name: str, kg: KnowledgeGraph) -> bool:
    """True if the name is a word for a named value, such as a facility: these are no names."""
    return any(normalise(w.text) == normalise(name) for item in kg.ontology.individuals.values() for w in item.words)


def strangers() -> None:
    """Each question with what came of it, and the sums; evidence must be the document's words."""
    rows, counts = rows_of("questions.jsonl"), Counter[str]()
    wrong_quotes = 0
    for pack in dict.fromkeys(row["workspace"] for row in rows):
        files = [
            (path.name, path.read_text(encoding="utf-8")) for path in sorted((DATA / "strangers" / pack).iterdir())
        ]
        with reading_of(pack, files, learns=False) as kg:
            texts = {record.document.iri: record.document.text for record in kg.documents()}
            print(f"{pack}: {len(texts)} documents, {sum(map(len, statements_read(kg).values()))} statements")
            for row in (row for row in rows if row["workspace"] == pack):
                answer = kg.ask(row["question"])
                quotes = [texts[item.document][item.start : item.end] == item.quote for item in answer.evidence]
                wrong_quotes += quotes.count(False)
                outcome = judged(row["says"], answer.verdict.value, [answer.text, *answer.values])
                counts[outcome] += 1
                print(
                    f"{outcome:18} {row['question']}  →  {answer.text[:110]!r} [{answer.confidence_level}]", flush=True
                )
    good = counts["right"] + counts["declined rightly"]
    print(
        dict(counts),
        f"answered or rightly declined: {good / len(rows):.3f}; quotes that are not the text's: {wrong_quotes}",
    )


def judged(says: Sequence[str] | None, verdict: str, said: Sequence[str]) -> str:
    """What an answer is worth: it must say all of ``says``; ``|`` parts forms of which one is enough."""
    if verdict != "answered":
        return "declined rightly" if says is None else "declined wrongly"
    if says is None:
        return "invented"
    text = "\n".join(said).casefold()
    return "right" if all(any(_said(form.casefold(), text) for form in one.split("|")) for one in says) else "wrong"


def _said(form: str, text: str) -> bool:
    """True if the text has the form, a number as a whole: 5 is not said by 15 or by 5.2, but by 5.0."""
    if form.isdigit():
        return bool(re.search(rf"(?<![\d.,]){form}(?:\.0+)?(?![\d]|[.,]\d)", text))
    return form in text


def noise(*, learns: bool, seed: int, size: int) -> None:
    """Names drawn at random from what became entities, as lines to judge, and the share of names among the judged."""
    judgements = (
        {(r["id"], r["name"]): r["is_name"] for r in rows_of("judged.jsonl")}
        if (DATA / "judged.jsonl").exists()
        else {}
    )
    drawn: list[tuple[str, str, str]] = []
    rows = rows_of("noise.jsonl")
    for pack in dict.fromkeys(row["ontology"] for row in rows):
        files = [(f"{row['id']}.txt", row["text"]) for row in rows if row["ontology"] == pack]
        with reading_of(pack, files, learns=learns) as kg:
            values = {iri.value for iri in kg.ontology.individuals}
            for record in kg.documents():
                for extraction in kg.registry.extractions(record.document.iri):
                    for mention in extraction.mentions:
                        if not _is_value(mention.name, kg) and mention.type.value not in values:
                            drawn.append(
                                (Path(record.document.source).stem, mention.name, local_name(mention.type.value))
                            )
    drawn = sorted(dict.fromkeys(drawn))
    some = sorted(random.Random(seed).sample(drawn, min(size, len(drawn))))
    texts = {row["id"]: row["text"] for row in rows}
    known = [judgements[id_, name] for id_, name, _ in some if (id_, name) in judgements]
    for id_, name, class_ in some:
        if (id_, name) not in judgements:
            at = max(0, texts[id_].find(name) - 25)
            about = texts[id_][at : at + 70].replace("\n", " ")
            print(
                json.dumps(
                    {"id": id_, "name": name, "class": class_, "about": about, "is_name": None}, ensure_ascii=False
                )
            )
    share = f"{sum(map(all, known)) / len(known):.3f}" if known else "-"
    print(f"{len(drawn)} names in {len(rows)} texts, {len(some)} drawn, {len(known)} judged, names among them {share}")


def main() -> int:
    """Prints the measurement that is named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("own", "train", "names", "strangers", "noise"))
    parser.add_argument("--learn", action="store_true", help="teach train.jsonl first")
    parser.add_argument("--list", action="store_true", help="print what was missed and what was read too much")
    parser.add_argument("--seed", type=int, default=18)
    parser.add_argument("--size", type=int, default=300)
    given = parser.parse_args()
    runs: Mapping[str, Any] = {
        "own": lambda: annotated("own.jsonl", learns=given.learn, lists=given.list),
        "train": lambda: annotated("train.jsonl", learns=False, lists=given.list),
        "names": lambda: names(learns=given.learn, lists=given.list),
        "strangers": strangers,
        "noise": lambda: noise(learns=given.learn, seed=given.seed, size=given.size),
    }
    runs[given.what]()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
