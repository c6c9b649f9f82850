"""An answer as JSON (the contract of ``ask --format json``) and as plain text."""

from __future__ import annotations

from collections.abc import Callable

from pyoxigraph import BlankNode, Literal, NamedNode

from kgplatform.types import Answer, Choice, Evidence, Linked, Solutions, Term
from kgplatform.vocab import XSD_STRING


def as_json(answer: Answer, label_of: Callable[[Term], str]) -> dict[str, object]:
    """The answer as JSON values; ``rows`` are SPARQL JSON bindings, with a ``label`` where a thing has one."""
    query = answer.query
    usage = answer.usage
    return {
        "question": answer.question.text,
        "language": answer.question.language,
        "answer": answer.text,
        "verdict": answer.verdict.value,
        "clarification": None
        if answer.clarification is None
        else {"question": answer.clarification.question, "options": list(answer.clarification.options)},
        "confidence": round(answer.confidence, 3),
        "confidence_level": answer.confidence_level,
        "using": answer.using,
        "model": answer.model,
        "kind": answer.question.kind.value,
        "class": answer.question_class or None,
        "query": query.text if query else None,
        "reading": query.reading if query else "",
        "attempts": [
            {"query": attempt.query, "issues": [issue.message for issue in attempt.issues]}
            for attempt in (query.attempts if query else ())
        ],
        "rows": _rows(answer.solutions, label_of),
        "values": list(answer.values),
        "evidence": [_evidence(item) for item in answer.evidence],
        "entities": [_linked(item) for item in answer.question.linked],
        "usage": {
            "calls": usage.calls,
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "seconds": round(usage.seconds, 3),
        },
        "choice": None if answer.choice is None else _choice(answer.choice),
        "trace": list(answer.trace),
    }


def _choice(choice: Choice) -> dict[str, object]:
    return {
        "domain": choice.domain,
        "certainty": choice.certainty,
        "changes": choice.changes,
        "order": list(choice.order),
        "chosen": choice.chosen,
        "consulted": [
            {"source": item.source, "outcome": item.outcome, "confidence": item.confidence, "note": item.note}
            for item in choice.consulted
        ],
        "reasons": list(choice.reasons),
        "premise": choice.premise or None,
    }


def _rows(solutions: Solutions, label_of: Callable[[Term], str]) -> list[dict[str, object]]:
    if solutions.boolean is not None:
        return []
    return [
        {
            name: _binding(term, label_of)
            for name, term in zip(solutions.variables, row, strict=True)
            if term is not None
        }
        for row in solutions.rows
    ]


def _binding(term: Term, label_of: Callable[[Term], str]) -> dict[str, str]:
    if isinstance(term, NamedNode):
        return {"type": "uri", "value": term.value, "label": label_of(term)}
    if isinstance(term, BlankNode):
        return {"type": "bnode", "value": term.value}
    if isinstance(term, Literal):
        binding = {"type": "literal", "value": term.value}
        if term.language:
            binding["lang"] = term.language
        elif term.datatype != XSD_STRING:
            binding["datatype"] = term.datatype.value
        return binding
    return {"type": "triple", "value": str(term)}


def _evidence(item: Evidence) -> dict[str, object]:
    return {
        "chunk": item.chunk.value,
        "document": item.document.value,
        "title": item.title,
        "source": item.source,
        "quote": item.quote,
        "start": item.start,
        "end": item.end,
        "score": item.score,
    }


def _linked(item: Linked) -> dict[str, object]:
    return {"text": item.text, "iri": item.iri.value, "label": item.label, "score": item.score, "kind": item.kind}


def as_text(answer: Answer) -> str:
    """The answer for a terminal: question, answer, confidence, who answered, query and numbered passages."""
    lines = [f"Question    {answer.question.text.strip()[:500]}", f"Answer      {_hanging(answer.text)}"]
    if answer.clarification is not None:
        lines += [f"            {n}. {option}" for n, option in enumerate(answer.clarification.options, 1)]
    who = f"model {answer.model}" if answer.model else "built-in methods, no language model"
    lines.append(f"Confidence  {answer.confidence_level} ({answer.confidence:.2f})")
    lines.append(f"Answered by {who}, using {answer.using}")
    if answer.choice is not None:
        lines.append(f"Sources     {_sources(answer.choice)}")
    if answer.query is not None and answer.query.text:
        if answer.query.reading:
            lines.append(f"Read as     {answer.query.reading}")
        lines += ["SPARQL", *(f"    {line}" for line in answer.query.text.splitlines())]
    if answer.evidence:
        lines.append("Passages" if answer.verdict.value == "answered" else "Nearest passages (they do not answer it)")
        for number, item in enumerate(answer.evidence, 1):
            quote = " ".join(item.quote.split())
            lines.append(f"    [{number}] {item.title}: “{quote[:300]}{'…' if len(quote) > 300 else ''}”")
    return "\n".join(lines)


def _sources(choice: Choice) -> str:
    """What the sources that were asked gave, and what is known of the question's domain."""
    asked = [
        f"{item.source} {item.outcome}{f' ({item.confidence:.2f})' if item.confidence else ''}"
        f"{f': {item.note}' if item.note else ''}"
        for item in choice.consulted
    ]
    about = f"; about: {choice.domain} ({choice.certainty:.2f}), {choice.changes}" if choice.domain else ""
    return f"{', '.join(asked)}{about}"


def _hanging(text: str) -> str:
    return text.replace("\n", "\n            ")
