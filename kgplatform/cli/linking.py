"""The verbs `links`, `unlink` and `link`: which names became one thing, taking that back, and how well it is done."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from kgplatform.cli import output
from kgplatform.graph import KnowledgeGraph
from kgplatform.linking.calibration import Gold, PairScore, Trial, best, read_gold

_DONE, _SHORT = 0, 1
_MOST_SHOWN = 10


def links(given: argparse.Namespace) -> int:
    """Lists the names that were merged, or those that a person keeps apart."""
    with KnowledgeGraph.open(given.workspace) as kg:
        if given.apart:
            pairs = sorted(kg.registry.kept_apart())
            if given.format == "json":
                output.as_json([{"first": pair.first, "second": pair.second} for pair in pairs])
            else:
                for pair in pairs:
                    output.say(f"{pair.first}  ≠  {pair.second}")
                output.note(f"{len(pairs)} pairs of names are kept apart")
            return _DONE
        found = kg.links(language=given.language)
        if given.name:
            wanted = given.name.casefold()
            found = [m for m in found if wanted in (m.name.casefold(), m.label.casefold(), m.entity.value.casefold())]
        if given.format == "json":
            fields = ("name", "label", "score", "method", "reason")
            output.as_json(
                [
                    {**{field: getattr(merge, field) for field in fields}, "class": merge.type.value,
                     "entity": merge.entity.value}
                    for merge in found
                ]
            )  # fmt: skip
        else:
            rows = [(m.name, m.label, kg.label(m.type, given.language), f"{m.score:.2f}", m.reason) for m in found]
            output.table(("name", "is", "as", "score", "because"), rows)
            output.note(f"{len(found)} names were merged; `kgplatform unlink NAME NAME` takes one back")
    return _DONE


def unlink(given: argparse.Namespace) -> int:
    """Keeps two names apart, or forgets that."""
    with KnowledgeGraph.open(given.workspace) as kg:
        decided = kg.unlink(given.first, given.second, undo=given.undo)
        pair = decided.pair
        if given.undo:
            output.say(f"{pair.first} and {pair.second} may be one again{', and are' if decided.together_now else ''}")
        else:
            before = "were one, and are" if decided.together_before else "are"
            output.say(f"{pair.first} and {pair.second} {before} kept apart from now on")
    return _DONE


def link(given: argparse.Namespace) -> int:
    """Measures linking against gold and says which thresholds fit, or takes up identities from elsewhere."""
    if given.action == "calibrate":
        with KnowledgeGraph.open(given.workspace) as kg:
            return _calibrate(kg, read_gold(Path(given.source)), given)
    from kgplatform.cli.external import run

    return run(given)


def _calibrate(kg: KnowledgeGraph, gold: Gold, given: argparse.Namespace) -> int:
    for problem in gold.problems:
        output.note(f"{given.source}: {problem}")
    now, content = kg.calibrate(gold)
    chosen = best(content, precision=given.precision)
    if given.format == "json":
        output.as_json(
            {
                "now": _json(now),
                "content": [{"likeness": trial.likeness, **_json(trial.score)} for trial in content],
                "chosen": chosen.likeness,
            }
        )
    else:
        _print(now, content, chosen)
    return _DONE if chosen.score.precision >= given.precision else _SHORT


def _json(score: PairScore) -> dict[str, object]:
    shares = {name: round(getattr(score, name), 4) for name in ("precision", "recall", "f1")}
    return {**shares, "linked": score.linked, "wanted": score.wanted, "wrong": score.wrong, "missed": score.missed}


def _print(now: PairScore, content: Sequence[Trial], chosen: Trial) -> None:
    rows = [
        (
            "off" if trial.likeness >= 1 else f"{trial.likeness:g}",
            *(f"{getattr(trial.score, name):.3f}" for name in ("precision", "recall", "f1")),
            str(trial.score.linked),
            "←" if trial is chosen else "",
        )
        for trial in content
    ]
    output.table(("linking.content", "precision", "recall", "F1", "pairs", ""), rows)
    for what, pairs in (("wrong", chosen.score.wrong), ("missed", chosen.score.missed)):
        for first, second in pairs[:_MOST_SHOWN]:
            output.say(f"{what}: {first} = {second}")
    output.note(f"as set now: precision {now.precision:.3f}, recall {now.recall:.3f} of {now.wanted} pairs")
    output.note(f"for the settings:\n[linking]\ncontent = {chosen.likeness:.2f}")
