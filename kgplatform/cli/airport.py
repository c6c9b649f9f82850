"""``testset airport``: the question sets of the airport study."""

from __future__ import annotations

import argparse

from kgplatform.cli import output
from kgplatform.evaluation.airport.making import Sizes, make, write
from kgplatform.evaluation.airport.rows import read_flights
from kgplatform.graph import KnowledgeGraph


def make_questions(given: argparse.Namespace) -> int:
    """Makes the question sets from the flights of the workspace; the same for the same flights and seed."""
    with KnowledgeGraph.open(given.workspace) as kg:
        table = read_flights(kg)
    questions = make(table, seed=given.seed, sizes=Sizes())
    write(questions, given.out)
    sets = [item.asked.set for item in questions]
    counts = ", ".join(f"{sets.count(name)} {name}" for name in dict.fromkeys(sets))
    output.note(f"{given.out}: {counts}, asked as of {table.snapshot:%Y-%m-%d %H:%M}")
    return 0
