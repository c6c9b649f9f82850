"""How well the built-in reader reads after `learn`: folders of small ontologies with annotated sentences.

A folder has ``ontologies/NAME.ttl``, ``examples.train.jsonl`` to teach from and ``sentences.dev.jsonl`` to read, whose
lines say of which ontology they are. As in a workspace of each, ``kgplatform learn examples.train.jsonl`` takes
what of the file the ontology can say; the sentences of all are counted together, as ``kgplatform evaluate extraction``
counts. ``python -m benchmarks.learnt_reading FOLDER…``; a quarter of a minute for each ontology.
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyoxigraph import RdfFormat, parse

from kgplatform.evaluation.extraction import ReadText, read_all, read_texts, report
from kgplatform.extraction.builtin import BuiltinExtractor
from kgplatform.extraction.learning.examples import read_examples
from kgplatform.extraction.learning.training import train
from kgplatform.ontology import read_ontology


def read_folder(folder: Path, *, taught: bool = True) -> list[ReadText]:
    """Every sentence of the folder as it was read; ``taught`` False: by rules alone."""
    gold, _ = read_texts(folder / "sentences.dev.jsonl")
    found: list[ReadText] = []
    for name in sorted({item.kind for item in gold}):
        turtle = (folder / "ontologies" / f"{name}.ttl").read_bytes()
        ontology = read_ontology(quad.triple for quad in parse(turtle, format=RdfFormat.TURTLE))
        examples = read_examples(folder / "examples.train.jsonl", ontology).examples if taught else ()
        learnt = train(examples, ontology) if taught else None
        extractor = BuiltinExtractor(ontology, learnt=learnt)
        found += read_all([item for item in gold if item.kind == name], lambda _, reader=extractor: reader, ontology)
        print(f"{name}: {sum(item.score.right for item in found)} right so far", file=sys.stderr)
    return found


def main(folders: list[str]) -> int:
    """Prints a line for each folder."""
    for folder in folders:
        result = report(read_folder(Path(folder)))
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
