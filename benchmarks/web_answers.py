"""Answers from saved search results by size of passage and level of confidence, scored as CRAG does.

    python -m benchmarks.web_answers FILE [--tokens 200 --tokens 500 …]

FILE is of the form of the CRAG benchmark (`benchmarks.studies.web_questions`), packed with bzip2 or not. No model: an
answer is what stands in the pages. Its confidence is reckoned once and held against each level. The study of the
adaptive web framework found 500 tokens and `high` best, on the whole benchmark and with large models.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from benchmarks.studies.adaptive import SIZES
from benchmarks.studies.web_questions import answered, read_web_questions, scores
from kgplatform.errors import KgPlatformError
from kgplatform.models.embed import SentenceTransformersEmbedder


def main() -> int:
    """Prints the table; 1 if the set cannot be read."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, metavar="FILE", help="saved search results")
    parser.add_argument("--tokens", type=int, action="append", metavar="N", help="a passage's size; repeat for more")
    given = parser.parse_args()
    try:
        questions = read_web_questions(given.file)
    except KgPlatformError as error:
        print(error, file=sys.stderr)
        return 1
    embedder = SentenceTransformersEmbedder(threads=1)
    print(f"{len(questions)} questions, {sum(len(item.pages) for item in questions)} pages")
    print("tokens  level     right  missing  wrong   score  processor s")
    for tokens in given.tokens or SIZES:
        began = time.process_time()
        found = answered(questions, embedder=embedder, tokens=tokens)
        seconds = time.process_time() - began
        for level, ways in scores(found).items():
            numbers = f"{ways.accuracy:6.3f}  {ways.missing:7.3f}  {ways.hallucination:5.3f}  {ways.score:+6.3f}"
            print(f"{tokens:6}  {level:8}  {numbers}  {seconds:11.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
