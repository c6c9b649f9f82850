"""How well the built-in reader reads after `learn`: folders of small ontologies with annotated sentences.

A folder has ``ontologies/NAME.ttl``, ``examples.train.jsonl`` to teach from and ``sentences.dev.jsonl`` to read, whose
lines say of which ontology they are. As in a workspace of each, ``kgplatform learn examples.train.jsonl`` takes
what of the file the ontology can say; the sentences of all are counted together, as ``kgplatform evaluate extraction``
counts. ``python -m benchmarks.learnt_reading FOLDER…``; up to ten minutes for each ontology. With ``--own`` each is
taught by the examples of its own alone, in half a minute for each hundred.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyoxigraph import RdfFormat, parse

from kgplatform.evaluation.triples import ReadText, read_all, read_texts, report
from kgplatform.extraction.builtin import BuiltinExtractor
from kgplatform.extraction.learnt.examples import read_examples
from kgplatform.extraction.learnt.fit import train
from kgplatform.ontology.schema import read_ontology


def read_folder(folder: Path, *, is_own: bool = False) -> list[ReadText]:
    """Every sentence of the folder as it was read; ``is_own``: taught by the lines that name the ontology alone."""
    gold, _ = read_texts(folder / "sentences.dev.jsonl")
    lines = (folder / "examples.train.jsonl").read_text(encoding="utf-8").split("\n")
    kinds = {number: json.loads(line).get("ontology") for number, line in enumerate(lines, 1) if line.strip()}
    found: list[ReadText] = []
    for name in sorted({item.kind for item in gold}):
        turtle = (folder / "ontologies" / f"{name}.ttl").read_bytes()
        ontology = read_ontology(quad.triple for quad in parse(turtle, format=RdfFormat.TURTLE))
        examples = read_examples(folder / "examples.train.jsonl", ontology).examples
        if is_own:
            examples = tuple(example for example in examples if kinds[example.line] == name)
        extractor = BuiltinExtractor(ontology, learnt=train(examples, ontology))
        found += read_all([item for item in gold if item.kind == name], lambda _, reader=extractor: reader, ontology)
        so_far = report(found)
        print(
            f"{name}: {so_far.texts} texts, F1 {so_far.strict.f1.value:.3f}, as Text2KGBench counts "
            f"{so_far.text2kgbench.f1.value:.3f} ({so_far.text2kgbench.macro_f1.value:.3f} macro) so far",
            file=sys.stderr,
            flush=True,
        )
    return found


def main(folders: list[str]) -> int:
    """Prints a line for each folder."""
    is_own = "--own" in folders
    for folder in (folder for folder in folders if folder != "--own"):
        result = report(read_folder(Path(folder), is_own=is_own))
        strict, counted = result.strict, result.text2kgbench
        print(f"{Path(folder).name}: {result.texts} texts; strict micro P {strict.precision.value:.3f}", end=" ")
        print(f"R {strict.recall.value:.3f} F1 {strict.f1}, macro F1 {strict.macro_f1.value:.3f};", end=" ")
        print(f"text2kgbench micro F1 {counted.f1.value:.3f}, macro F1 {counted.macro_f1.value:.3f};", end=" ")
        print(
            f"conformance {result.conformance:.3f}; not in the text: {result.subjects_not_in_text:.3f} of the", end=" "
        )
        print(f"subjects, {result.objects_not_in_text:.3f} of the objects", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
