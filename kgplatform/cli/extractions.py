"""What ``evaluate extraction`` prints: precision, recall and F1 of what was read, and how sound it is."""

from __future__ import annotations

from collections.abc import Sequence

from kgplatform.cli import output
from kgplatform.evaluation.extraction import ExtractionReport, ModeScore
from kgplatform.evaluation.statistics import Estimate


def show(found: ExtractionReport) -> None:
    """Prints the report."""
    rows = [("strict", found.strict), ("text2kgbench", found.text2kgbench), *found.by_kind]
    output.table(
        ("", "texts", "precision", "recall", "F1", "95 %", "macro F1", "95 %"),
        [_row(name, mode) for name, mode in rows],
    )
    output.say(
        f"of the triples read, {found.conformance:.1%} have a property of the ontology, "
        f"{found.subjects_not_in_text:.1%} a subject and {found.objects_not_in_text:.1%} an object "
        "that the text does not have"
    )


def _row(name: str, mode: ModeScore) -> tuple[str, ...]:
    f1, macro = mode.f1, mode.macro_f1
    return (
        name,
        f"{f1.count}",
        f"{mode.precision.value:.3f}",
        f"{mode.recall.value:.3f}",
        f"{f1.value:.3f}",
        f"{f1.low:.3f}-{f1.high:.3f}",
        f"{macro.value:.3f}",
        f"{macro.low:.3f}-{macro.high:.3f}",
    )


def as_json(found: ExtractionReport, problems: Sequence[str]) -> dict[str, object]:
    """The report as JSON values."""
    return {
        "texts": found.texts,
        "strict": _mode_json(found.strict),
        "text2kgbench": _mode_json(found.text2kgbench),
        "conformance": found.conformance,
        "subjects_not_in_text": found.subjects_not_in_text,
        "objects_not_in_text": found.objects_not_in_text,
        "kinds": {kind: _mode_json(mode) for kind, mode in found.by_kind},
        "problems": list(problems),
    }


def _mode_json(mode: ModeScore) -> dict[str, object]:
    return {
        "precision": _estimate(mode.precision),
        "recall": _estimate(mode.recall),
        "f1": _estimate(mode.f1),
        "macro_precision": _estimate(mode.macro_precision),
        "macro_recall": _estimate(mode.macro_recall),
        "macro_f1": _estimate(mode.macro_f1),
    }


def _estimate(value: Estimate) -> dict[str, float]:
    return {"value": value.value, "low": value.low, "high": value.high, "n": value.count}
