"""Names, labels and comments that a language model proposes for a draft, whose structure stays as it is.

The model is shown the drafted terms with some of their values, and may word them: labels and comments in English and
Chinese, and a local name for terms that the draft itself coined. Whatever else it replies is left aside. The label that
came from the data is kept as a lexical form (``skos:altLabel``), so that the column or predicate is still recognised.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pyoxigraph import Literal, NamedNode

from kgplatform.errors import ModelReplyError
from kgplatform.models.structured import json_of, mismatch
from kgplatform.ontologies.draft import Draft, DraftedClass, DraftedProperty, tagged
from kgplatform.prompts import render_messages
from kgplatform.protocols import ChatModel
from kgplatform.text import has_han, normalise
from kgplatform.vocab import local_name

PROMPT: Final = "name-ontology-terms"
_BATCH = 25
_LONGEST = {"label": 60, "comment": 300}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]{0,59}")
_WORDS = ("name", "label_en", "label_zh", "comment_en", "comment_zh")
REPLY_SCHEMA: Final[dict[str, object]] = {
    "type": "object",
    "required": ["terms"],
    "additionalProperties": False,
    "properties": {
        "terms": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", *_WORDS],
                "additionalProperties": False,
                "properties": {"id": {"type": "string"}, **{name: {"type": "string"} for name in _WORDS}},
            },
        }
    },
}
_LEAST: Final[dict[str, object]] = {
    "type": "object",
    "required": ["terms"],
    "properties": {"terms": {"type": "array", "items": {"type": "object"}}},
}


@dataclass(frozen=True, slots=True)
class _Wording:
    """What the model proposes for one term, held against what may be proposed."""

    name: str
    labels: tuple[Literal, ...]
    comments: tuple[Literal, ...]


def worded(draft: Draft, model: ChatModel) -> Draft:
    """The draft with the words that the model proposes; remarks say for which terms its reply was of no use.

    Raises:
        ModelUnavailableError: the model cannot be reached.
    """
    ids = _ids(draft)
    proposed: dict[NamedNode, _Wording] = {}
    remarks: list[str] = []
    terms = _terms(draft)
    for start in range(0, len(terms), _BATCH):
        batch = terms[start : start + _BATCH]
        try:
            proposed.update(_asked(draft, batch, ids, model))
        except ModelReplyError as error:
            remarks.append(f"the model's words for {len(batch)} terms cannot be used, they stay as drafted: {error}")
    left = [ids[term.iri] for term in terms if term.iri not in proposed]
    if left and len(left) < len(terms):
        shown = ", ".join(left[:5]) + (" …" if len(left) > 5 else "")
        remarks.append(f"the model proposed nothing of use for {shown}: as drafted")
    return _applied(draft, proposed, (*draft.remarks, *remarks), model.name)


def _terms(draft: Draft) -> list[DraftedClass | DraftedProperty]:
    return [*draft.classes, *draft.properties]


def _ids(draft: Draft) -> dict[NamedNode, str]:
    """A short name for each term, unique in the draft."""
    found: dict[NamedNode, str] = {}
    taken: set[str] = set()
    for term in _terms(draft):
        name, number = local_name(term.iri.value) or "term", 2
        stem = name
        while name in taken:
            name, number = f"{stem}-{number}", number + 1
        taken.add(name)
        found[term.iri] = name
    return found


def _asked(
    draft: Draft, batch: Sequence[DraftedClass | DraftedProperty], ids: Mapping[NamedNode, str], model: ChatModel
) -> Iterator[tuple[NamedNode, _Wording]]:
    messages, _ = render_messages(
        PROMPT,
        source=draft.source,
        known=[class_.label for class_ in draft.classes[:60]],
        classes=[_class_shown(term, ids) for term in batch if isinstance(term, DraftedClass)],
        properties=[_property_shown(term, draft, ids) for term in batch if isinstance(term, DraftedProperty)],
    )
    completion = model.complete(messages, schema=REPLY_SCHEMA)
    reply = json_of(completion.text, model=model.name)
    wrong = mismatch(reply, _LEAST)
    if wrong:
        raise ModelReplyError(wrong, model=model.name, reply=completion.text)
    by_id = {ids[term.iri]: term for term in batch}
    found: dict[NamedNode, _Wording] = {}
    for item in _entries(reply):
        term = by_id.get(str(item.get("id")))
        if term is not None and term.iri not in found:
            wording = _checked(item, is_class=isinstance(term, DraftedClass))
            if wording.labels:
                found[term.iri] = wording
    yield from found.items()


def _entries(reply: Mapping[str, object]) -> list[Mapping[str, Any]]:
    terms = reply["terms"]
    return [item for item in terms if isinstance(item, Mapping)] if isinstance(terms, list) else []


def _class_shown(term: DraftedClass, ids: Mapping[NamedNode, str]) -> dict[str, object]:
    return {"id": ids[term.iri], "label": _line(term.label), "samples": [_line(item) for item in term.examples]}


def _property_shown(term: DraftedProperty, draft: Draft, ids: Mapping[NamedNode, str]) -> dict[str, object]:
    labels = {class_.iri: class_.label for class_ in draft.classes}
    profile = term.profile
    value = local_name(profile.datatype.value) if profile else _listed(term.ranges, labels)
    samples = [_line(item) for item in profile.examples] if profile else []
    subject = _listed(term.domains, labels)
    return {"id": ids[term.iri], "label": _line(term.label), "subject": subject, "value": value, "samples": samples}


def _listed(iris: Sequence[NamedNode], labels: Mapping[NamedNode, str]) -> str:
    return " or ".join(_line(labels.get(iri, local_name(iri.value))) for iri in iris[:4]) or "anything"


def _line(text: str) -> str:
    """Data in one line of the prompt, cut."""
    return " ".join(text.split())[:80]


def _checked(item: Mapping[str, Any], *, is_class: bool) -> _Wording:
    """What may be used of the words: single lines, in the language they are said to be in, not too long."""
    texts = {name: " ".join(str(item.get(name) or "").split()) for name in _WORDS}
    kept: dict[str, list[Literal]] = {"label": [], "comment": []}
    for kind, found in kept.items():
        for language in ("en", "zh"):
            text = texts[f"{kind}_{language}"]
            fits = normalise(text) and len(text) <= _LONGEST[kind] and has_han(text) == (language == "zh")
            if fits and text.isprintable():
                found.append(Literal(text, language=language))
    name = texts["name"]
    right = _NAME.fullmatch(name) is not None and name[0].isupper() == is_class
    return _Wording(name if right else "", tuple(kept["label"]), tuple(kept["comment"]))


def _applied(draft: Draft, proposed: Mapping[NamedNode, _Wording], remarks: tuple[str, ...], model: str) -> Draft:
    moved = _moved(draft, proposed)

    def at(iri: NamedNode) -> NamedNode:
        return moved.get(iri, iri)

    labels = {at(iri): found for iri, found in draft.labels.items()}
    other: dict[NamedNode, tuple[Literal, ...]] = {}
    comments: dict[NamedNode, tuple[Literal, ...]] = {}
    for term in _terms(draft):
        wording = proposed.get(term.iri)
        if wording is not None:
            before = draft.labels.get(term.iri) or (tagged(term.label),)
            labels[at(term.iri)] = wording.labels
            other[at(term.iri)] = tuple(item for item in before if item not in wording.labels)
            comments[at(term.iri)] = wording.comments
    return replace(
        draft,
        source=f"{draft.source}, words by {model}" if proposed else draft.source,
        classes=tuple(
            replace(c, iri=at(c.iri), key=tuple(map(at, c.key)), parents=tuple(map(at, c.parents)))
            for c in draft.classes
        ),
        properties=tuple(
            replace(p, iri=at(p.iri), domains=tuple(map(at, p.domains)), ranges=tuple(map(at, p.ranges)))
            for p in draft.properties
        ),
        labels=labels,
        other_words=other,
        comments=comments,
        remarks=remarks,
    )


def _moved(draft: Draft, proposed: Mapping[NamedNode, _Wording]) -> dict[NamedNode, NamedNode]:
    """The new IRIs of terms that the draft coined; what the data itself names so keeps its name."""
    namespace = draft.iri.value.rstrip("#/") + "#"
    taken = {term.iri.value for term in _terms(draft)}
    moved: dict[NamedNode, NamedNode] = {}
    for iri, wording in () if draft.is_from_data else proposed.items():
        target = namespace + wording.name
        if wording.name and iri.value.startswith(namespace) and target not in taken:
            taken.add(target)
            moved[iri] = NamedNode(target)
    return moved
