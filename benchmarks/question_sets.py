"""How often the built-in translator is right on the question sets of ``tests/data/questions``, graph by graph.

Each graph is asked in memory, without a model and without passages. A question that the graph cannot answer is right
when no answer is given. Run as ``python -m benchmarks.question_sets [--split train] [--name NAME]``; with
``--renamed`` each question asks about a thing that the graph has not, so that every answer is wrong.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from pyoxigraph import NamedNode, RdfFormat, Triple

from benchmarks.common import ROOT
from kgplatform.evaluation.gold import AskedQuestion, GoldQuestion, ask_all, read_gold
from kgplatform.evaluation.metrics import AnswerOutcome
from kgplatform.models.embed import SentenceTransformersEmbedder
from kgplatform.ontology.schema import read_ontology
from kgplatform.questions.answer import QuestionParts, ask, knowledge
from kgplatform.questions.forms.form_reader import FormReader
from kgplatform.questions.forms.question_text import read
from kgplatform.store.dataset import EvidenceDataset, quad
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store, parse
from kgplatform.text import has_han

EMBEDDER = SentenceTransformersEmbedder()
FOLDER = ROOT / "tests" / "data" / "questions"
INTENTS = ROOT / "tests" / "data" / "intents"
SPLITS = ("train", "choose", "frozen")
RENAMED = "-renamed"


def graph_of(folder: Path) -> tuple[Store, QuestionParts]:
    """The graph of a set (``graph.ttl``, or ``kg.ttl`` and ``labels-*.ttl``) with its ontology, ready to be asked."""

    def triples(name: str) -> list[Triple]:
        return [item.triple for item in parse((folder / name).read_bytes(), RdfFormat.TURTLE)]

    graph = "graph.ttl" if (folder / "graph.ttl").exists() else "kg.ttl"
    ontology = triples("ontology.ttl")
    store = Store.open()
    stated = (
        *ontology,
        *triples(graph),
        *(triple for path in folder.glob("labels-*.ttl") for triple in triples(path.name)),
    )
    store.apply(added=[quad(triple, DEFAULT_GRAPH) for triple in stated])
    dataset, schema = EvidenceDataset(store, "http://kg/"), read_ontology(ontology)
    known = knowledge(dataset, schema)
    return store, QuestionParts(
        dataset,
        schema,
        known,
        run=lambda text: store.query(text, max_rows=5000),
        find=lambda _text, _graph: None,
        embedder=lambda: EMBEDDER,
    )


@cache
def _strange_names() -> Mapping[bool, Sequence[str]]:
    """Names of invented things, Chinese ones (True) and others."""
    files = (json.loads(path.read_text(encoding="utf-8")) for path in sorted(INTENTS.glob("*.json")))
    texts = (item["q"] for file in files for item in file["questions"])
    names = {name for text in texts for name in re.findall(r"\{[^{}:]+:([^{}]+)\}", text)}
    words = sorted(name for name in names if name.count(" ") < 4 and not re.search(r"\d", name) and len(name) > 3)
    return {han: [name for name in words if has_han(name) == han] for han in (False, True)}


def renamed(golds: Sequence[GoldQuestion], forms: FormReader, chance: random.Random) -> Iterator[GoldQuestion]:
    """Those of the questions that name a thing, with a name that the graph does not know, which has no answer.

    Every other time the end of the name stays, which often is the word for what it is: *Kiln Side Hotel*.
    """
    for gold in golds:
        asked = read(gold.text, gold.language, forms.names)
        of_things = [
            anchor
            for anchor in asked.anchors
            if anchor.exact and all(isinstance(forms.graph.terms[item], NamedNode) for item in anchor.items)
        ]
        if not of_things or not any(gold.answers):
            continue
        said = asked.said(max(of_things, key=lambda anchor: anchor.mask.bit_count()).mask)
        strange = chance.choice(_strange_names()[has_han(said)])
        if chance.random() < 0.5 and has_han(said) and len(said) > 3:
            strange = strange[:2] + said[2:]
        elif chance.random() < 0.5 and " " in said:
            strange = f"{strange.split()[0]} {said.rsplit(maxsplit=1)[1]}"
        text = gold.text.replace(said, strange)
        if text != gold.text and not any(
            anchor.exact and anchor.said in strange for anchor in read(text, gold.language, forms.names).anchors
        ):
            yield replace(gold, id=gold.id + RENAMED, text=text, answers=((),), query="")


def asked(folder: Path, *, rename: bool = False) -> Iterator[AskedQuestion]:
    """Each question of a set with its answer and score; ``rename``: about things that the graph has not."""
    store, parts = graph_of(folder)
    golds: Sequence[GoldQuestion] = read_gold(folder / "questions.jsonl").questions
    if rename and parts.knowledge.forms is not None:
        golds = list(renamed(golds, parts.knowledge.forms, random.Random(folder.name)))
    yield from ask_all(
        golds,
        ask=lambda text: ask(text, parts=parts),
        query=lambda text: store.query(text, max_rows=5000),
        label_of=parts.knowledge.names.label,
    )


def _row(name: str, found: Sequence[AskedQuestion]) -> str:
    count = len(found) or 1
    shares = [sum(item.outcome is outcome for item in found) / count for outcome in AnswerOutcome]
    sure = [item for item in found if item.answer.confidence_level == "high" and item.outcome is AnswerOutcome.WRONG]
    by_language = [
        statistics.fmean(item.score.exact for item in part) if part else float("nan")
        for part in ([item for item in found if item.gold.language == language] for language in ("en", "zh"))
    ]
    cells = (*shares, len(sure) / count, *by_language)
    return f"{name:<24}{len(found):>5}" + "".join(f"{cell:>9.3f}" for cell in cells)


def main() -> int:
    """Prints a row for each set and for each split; 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.question_sets", description=__doc__)
    parser.add_argument("--split", action="append", choices=SPLITS, help="the sets of this split (default: all)")
    parser.add_argument("--name", action="append", help="this set only")
    parser.add_argument("--renamed", action="store_true", help="ask about things that the graph has not")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write each question's outcome as JSON Lines")
    given = parser.parse_args()
    print(f"{'set':<24}{'n':>5}    right  refused    wrong  wrong at high   en       zh")
    lines = []
    for split in given.split or SPLITS:
        together: list[AskedQuestion] = []
        for folder in sorted(path for path in (FOLDER / split).iterdir() if path.is_dir()):
            if given.name and folder.name not in given.name:
                continue
            started = time.perf_counter()
            found = list(asked(folder, rename=given.renamed))
            print(_row(f"{split}/{folder.name}", found), f"  {time.perf_counter() - started:.0f} s", flush=True)
            together += found
            lines += [json.dumps(item.line(), ensure_ascii=False) for item in found]
        if together:
            print(_row(split, together), flush=True)
    if given.output:
        given.output.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
