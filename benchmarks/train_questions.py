"""Learns what the logical forms of questions are ranked by, from the questions of ``tests/data``.

Two steps. The *intent* model (low-rank adapters in the layers of the carried sentence model, and a head for the
operations) learns from the invented schemas of ``tests/data/intents`` and from the graphs of ``train`` and ``choose``.
The *weights* of the ranking, its calibration, and what tells whether an answer of the rules or of a form is right are
learnt on these graphs, with the intents of models that learnt without the half a graph is in (cross-fitting), as users'
graphs are unseen, too; the model that ships is one of these, continued with the other half. ``frozen`` is never read.
Run as

    python -m benchmarks.train_questions [--only intent|weights --halves FOLDER]

It takes two hours on two cores and writes the files beside ``kgplatform/questions/forms``;
``python -m benchmarks.question_sets`` then tells what they are worth.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import pickle
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import Pool
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from pyoxigraph import NamedNode
from rdflib import RDF, URIRef, Variable
from rdflib.paths import AlternativePath, InvPath, MulPath, SequencePath
from rdflib.plugins.sparql import prepareQuery
from rdflib.plugins.sparql.parserutils import CompValue
from safetensors.numpy import load_file, save_file
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from torch import nn

from benchmarks.common import ROOT
from benchmarks.question_sets import EMBEDDER, FOLDER, RENAMED, graph_of, renamed
from kgplatform.evaluation.gold import GoldQuestion, ask_all, predictions, read_gold
from kgplatform.evaluation.metrics import AnswerOutcome, best_score
from kgplatform.models.embed import carried_path
from kgplatform.ontology.schema import Word
from kgplatform.questions.answer import QuestionParts, ask
from kgplatform.questions.forms import form_reader, intent
from kgplatform.questions.forms.fact_graph import FactGraph
from kgplatform.questions.forms.floating_parser import Candidate, Generator
from kgplatform.questions.forms.form_reader import (
    FORM_RIGHT,
    LIKELIER_RIGHT,
    Describer,
    Forest,
    FormReader,
    Ranked,
    Ruled,
    Together,
    Weights,
    choice_signs,
    done,
    forest_of,
    given,
    outcome_of,
    ranked,
    shipped_weights,
    signs,
    softmax,
    terms_in,
)
from kgplatform.questions.forms.intent import OPERATIONS, IntentModel, IntentReader, described
from kgplatform.questions.forms.logical_form import Listed, SizeOf, denotation
from kgplatform.questions.forms.question_language import in_english
from kgplatform.questions.forms.question_text import Read, read
from kgplatform.questions.parser.idioms import plainly
from kgplatform.questions.parser.translator import understanding
from kgplatform.types import Verdict

SCHEMAS = ROOT / "tests" / "data" / "intents"
RANK_ON = ("train", "choose")
RANK, EPOCHS, RATE, BATCH = 64, 2, 8e-4, 32
CONTINUED, REPEATED, FURTHER = 2.5e-4, 60, 5e-4
TOGETHER, AS_WRITTEN = 20, 0.1
RARE, PENALTY, ROUNDS, STEP = 60, 2e-3, 12, 6e-3
UNITS, DROPPED = 32, 0.2
MOST_OF_OTHERS = 100
OF_STRANGERS = 4
"""For so many questions of a set there is one about a thing that its graph has not."""


@dataclass(frozen=True)
class TaughtGraph:
    """A graph with its questions, read."""

    name: str
    forms: FormReader
    label: Any
    questions: tuple[tuple[GoldQuestion, Read], ...]

    @property
    def graph(self) -> FactGraph:
        """Its statements by number."""
        return self.forms.graph


def taught_graph(folder: Path) -> TaughtGraph:
    """A question set, read."""
    _, parts = graph_of(folder)
    forms = parts.knowledge.forms
    assert forms is not None
    golds = _golds(folder)
    found = tuple((gold, read(gold.text, gold.language, forms.names)) for gold in golds)
    return TaughtGraph(folder.name, forms, parts.knowledge.names.label, found)


@dataclass(frozen=True)
class Lesson:
    """A question on a schema: its wording, the terms that it is after by their places, its operations."""

    text: str
    terms: tuple[int, ...]
    operations: tuple[str, ...]
    asked: tuple[int, ...]
    """Which terms are what is asked for; empty where that is not told."""


@dataclass(frozen=True)
class TaughtSchema:
    """The descriptions of a schema's properties and classes, and its questions."""

    descriptions: tuple[str, ...]
    lessons: tuple[Lesson, ...]


def invented_schema(path: Path, chance: random.Random) -> TaughtSchema:
    """A schema with its questions, said as `intent.description` and `intent.unnamed` say those of a graph.

    One name in ten stays as it is written, since names are not always found.
    """
    data = json.loads(path.read_text(encoding="utf-8"))
    labels = {item["id"]: item["names"][0] for item in data["classes"]}
    leads_to = {item["id"]: item["to"] for item in data["properties"]}
    terms = [*data["properties"], *data["classes"]]
    places = {item["id"]: place for place, item in enumerate(terms)}

    def said(match: re.Match[str]) -> str:
        class_, _, name = match[1].partition(":")
        return name if chance.random() < AS_WRITTEN else f" {labels.get(class_, class_)} "

    lessons = []
    for item in data["questions"]:
        text = re.sub(r"\s+", " ", re.sub(r"\{([^{}]*)\}", said, item["q"])).strip()
        used = tuple(sorted({places[term] for term in item["terms"]}))
        told = item["asked"] if "asked" in item else _asked_in(item, data["properties"])
        asked = tuple(sorted({places[term] for term in told}))
        properties = len(leads_to.keys() & set(item["terms"]))
        lessons.append(Lesson(in_english(text), used, (*item["ops"], *_length(properties)), asked))
    return TaughtSchema(tuple(_described(item, labels) for item in terms), tuple(lessons))


def _asked_in(item: Mapping[str, Any], properties: Sequence[Mapping[str, Any]]) -> set[str]:
    """What is asked for of the terms of an invented question, which are in the order of a path; where that is plain."""
    terms, operations = item["terms"], item["ops"]
    of, leads_to = ({one["id"]: one[side] for one in properties} for side in ("of", "to"))
    classes = set(terms) - leads_to.keys()
    if not terms or set(operations) & {"ask", "columns", "group", "avg", "sum"}:
        return set()
    if len(terms) == 1 and (end := leads_to.get(terms[0])):
        named = set(_NAMED.findall(item["q"]))
        if end in of[terms[0]] or not named & {end, *of[terms[0]]}:
            return set()  # which way it goes is not told
        return {terms[0], end} if named & set(of[terms[0]]) else set(of[terms[0]][:1])
    if len(terms) == 1 or set(operations) <= ({"listed"} if not classes else set()):
        found = {terms[-1]}
    else:
        found = classes if len(classes) == 1 and operations else set()
    return found | {class_ for term in found if (class_ := leads_to.get(term))}


_NAMED = re.compile(r"\{([^{}:]*):")


def _length(properties: int) -> tuple[str, ...]:
    return ("second", "third")[: max(0, properties - 1)]


def schema_of(g: TaughtGraph) -> TaughtSchema:
    """The schema of a graph with its questions; the terms and operations are those of the gold queries.

    Where there is no query in SPARQL they are those of the likeliest reading that gives the answer (Liang, Jordan and
    Klein 2013), and a question without one is left out.
    """
    terms = intent.terms_of(g.graph)
    places = {term.value: place for place, term in enumerate(terms)}
    lessons = []
    for gold, asked in g.questions:
        if not gold.query:
            if lesson := _lesson_of_answer(g, gold, asked, places):
                lessons.append(lesson)
            continue
        prefixes = dict(_PREFIX.findall(gold.query))
        body = _PREFIX.sub("", gold.query)
        named = {iri or prefixes.get(prefix, "") + name for iri, prefix, name in _IRI.findall(body)}
        used = tuple(sorted(places[iri] for iri in named & places.keys()))
        operations = operations_of(_IRI.sub("", body), gold.answers)
        if "none" not in operations:
            operations += _length(sum(terms[place] in g.graph.schema.properties for place in used))
        goal = set() if "none" in operations else asked_for(gold.query, places.keys(), g.graph)
        goals = tuple(sorted(places[iri] for iri in goal))
        lessons.append(Lesson(intent.unnamed(asked, g.graph), used, operations, goals))
    return TaughtSchema(tuple(intent.description(g.graph, term) for term in terms), tuple(lessons))


def _lesson_of_answer(g: TaughtGraph, gold: GoldQuestion, asked: Read, places: Mapping[str, int]) -> Lesson | None:
    said = intent.unnamed(asked, g.graph)
    if not any(gold.answers):
        return Lesson(said, (), ("none",), ())
    generator = Generator(g.graph, g.forms.vocabulary(EMBEDDER), asked, g.forms.intents.intent(asked))
    found = (one.candidate for one in ranked(generator, shipped_weights()) if is_right(one.candidate, gold, g))
    if (best := next(found, None)) is None:
        return None
    used = {term.value for term in terms_in(best.form)} & places.keys()
    does = done(best, sum(NamedNode(term) in g.graph.schema.properties for term in used))
    goal = {term.value for term in given(best, g.graph)} & places.keys()
    return Lesson(
        said,
        tuple(sorted(places[term] for term in used)),
        tuple(name for name in OPERATIONS if name in does),
        tuple(sorted(places[term] for term in goal)),
    )


_PREFIX = re.compile(r"PREFIX\s+([\w-]*):\s*<([^<>]*)>")
_IRI = re.compile(r"<([^<>\s]+)>|([\w-]*):([\w.-]*\w)")
_OPERATIONS = {
    "count": r"COUNT\s*\(",
    "most": r"MAX\s*\(|ORDER\s+BY\s+DESC.*LIMIT",
    "least": r"MIN\s*\(|ORDER\s+BY\s+(?!DESC).*LIMIT",
    "negation": r"NOT\s+EXISTS|MINUS|!\s*BOUND",
    "ask": r"^\s*ASK\b",
    "group": r"GROUP\s+BY",
    "avg": r"AVG\s*\(",
    "sum": r"SUM\s*\(",
    "compare": r"FILTER\s*\([^{}]*[<>]",
}


def operations_of(query: str, answers: Sequence[Sequence[object]]) -> tuple[str, ...]:
    """What a gold query does, its IRIs taken out; ``none``: nothing is right, ``listed``: several rows are."""
    rows = next((answer for answer in answers if answer), ())
    found = {name for name, sign in _OPERATIONS.items() if re.search(sign, query, re.IGNORECASE | re.DOTALL)}
    found |= {"columns"} if rows and isinstance(rows[0], list | tuple) and len(rows[0]) > 1 else set()
    found |= {"listed"} if len(rows) > 1 else set()
    return tuple(name for name in OPERATIONS if name in found) if rows else ("none",)


def asked_for(query: str, terms: Container[str], graph: FactGraph) -> set[str]:
    """Which terms a gold query gives: the properties whose objects are in its rows, and the classes of what is.

    A variable that is only the name of another stands for it. A class is the one that the query says, or else the only
    one that a property is of or leads to.
    """
    found: set[str] = set()
    algebra = prepareQuery(query).algebra
    statements: list[tuple[Any, Any, Any]] = []
    known: dict[Any, Any] = {}
    _statements_of(algebra, statements, known)
    for variable in () if algebra.name == "AskQuery" else algebra.PV:
        for given in _variables_in(variable, known):
            names = [s for s, p, o in statements if o == given and str(p) not in terms and _NAMING.search(str(p))]
            named = len(names) == sum(o == given for _, _, o in statements) and all(
                isinstance(s, Variable) for s in names
            )
            for thing in names if names and named else [given]:
                found |= _given_as(thing, statements, graph)
    return {iri for iri in found if iri in terms}


_NAMING = re.compile(r"(label|name|title)$", re.IGNORECASE)


def _given_as(thing: Any, statements: Sequence[tuple[Any, Any, Any]], graph: FactGraph) -> set[str]:
    properties, classes, likely = set(), set(), set()
    for subject, path, object_ in statements:
        if subject == thing and str(RDF.type) in str(path) and isinstance(object_, URIRef):
            classes.add(str(object_))
            continue
        ends = [(_steps(path)[-1], True)] if object_ == thing else []
        for (iri, outward), leads in [*ends, *([(_steps(path)[0], False)] if subject == thing else [])]:
            if outward == leads:
                properties.add(iri)
            of = graph.schema.ranges if outward == leads else graph.schema.domains
            if NamedNode(iri) in graph.schema.properties and len(found := list(of(NamedNode(iri)))) == 1:
                likely.add(found[0].value)
    return properties | (classes or likely)


def _steps(path: Any, *, outward: bool = True) -> list[tuple[str, bool]]:
    """The properties of a path one after the other, and whether each is gone along its direction."""
    match path:
        case InvPath():
            return _steps(path.arg, outward=not outward)
        case MulPath():
            return _steps(path.path, outward=outward)
        case SequencePath():
            parts = [step for part in path.args for step in _steps(part, outward=outward)]
            return parts if outward else parts[::-1]
        case AlternativePath():
            return _steps(path.args[0], outward=outward)
    return [(str(path), outward)]


def _statements_of(node: Any, statements: list[tuple[Any, Any, Any]], known: dict[Any, Any]) -> None:
    """Collects the statements that rows have to fulfil, and what variables are made of."""
    if isinstance(node, CompValue):
        if node.name in ("Builtin_NOTEXISTS", "Builtin_EXISTS"):
            return
        if node.name == "Extend":
            known[node.var] = node.expr
        known.update((made.res, made.vars) for made in (node.A if node.name == "AggregateJoin" else ()))
        if "triples" in node:
            statements += node.triples
        node = [node.p1] if node.name == "Minus" else [v for k, v in node.items() if k not in ("triples", "A")]
    if isinstance(node, list | tuple):
        for part in node:
            _statements_of(part, statements, known)


def _variables_in(expression: Any, known: Mapping[Any, Any], seen: tuple[Any, ...] = ()) -> set[Any]:
    if isinstance(expression, Variable):
        told = expression in known and expression not in seen
        return _variables_in(known[expression], known, (*seen, expression)) if told else {expression}
    parts = expression.values() if isinstance(expression, CompValue) else expression
    some = isinstance(expression, CompValue | list | tuple)
    return {variable for part in parts for variable in _variables_in(part, known, seen)} if some else set()


def _described(item: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    of = [in_english(labels[class_]) for class_ in item.get("of", ()) if class_ in labels][:2]
    to = in_english(labels.get(item.get("to") or "", "")) or item.get("values", "")
    names = [Word(name, "") for name in item["names"]]
    comments = [Word(item["comment"], "")] if item["comment"] else []
    return described(names, comments, of=of, to=to)


class Adapted(nn.Module):
    """A linear layer with a low-rank addition that is learnt."""

    def __init__(self, inside: nn.Module, rank: int = RANK, size: int = 0) -> None:
        """``size``: of the vectors, where what is inside does not tell it."""
        super().__init__()
        self.inside = inside
        self.down = nn.Parameter(torch.randn(rank, size or inside.in_features) * 0.02)
        self.up = nn.Parameter(torch.zeros(size or inside.out_features, rank))

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        """The layer with what is added to it."""
        return self.inside(rows) + 2.0 * (rows @ self.down.T) @ self.up.T

    def learnt(self) -> dict[str, NDArray[Any]]:
        """The two matrices whose product is added to the weight, as `MiniLM` takes them."""
        sides = {"down": self.down, "up": 2.0 * self.up}
        return {side: values.detach().numpy().astype(np.float16) for side, values in sides.items()}


class _Encoder(nn.Module):
    """The carried model with adapters in its layers, and the head; ``begun``: what it has learnt before."""

    def __init__(self, begun: Mapping[str, NDArray[Any]] | None = None) -> None:
        super().__init__()
        from transformers import AutoModel, AutoTokenizer

        folder = str(carried_path())
        self.model, self.tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
        for parameter in self.model.parameters():
            parameter.requires_grad = False
        for layer in self.model.encoder.layer:
            own = layer.attention.self
            own.query, own.key, own.value = map(Adapted, (own.query, own.key, own.value))
            for part in (layer.attention.output, layer.intermediate, layer.output):
                part.dense = Adapted(part.dense)
        size = self.model.config.hidden_size
        self.scale, self.bias = nn.Parameter(torch.tensor(12.0)), nn.Parameter(torch.tensor(-6.0))
        self.head = nn.Linear(size, len(OPERATIONS))
        self.asked = Adapted(nn.Identity(), size=size)
        self.asked_scale, self.asked_bias = nn.Parameter(torch.tensor(12.0)), nn.Parameter(torch.tensor(-6.0))
        for name, values in (begun or {}).items():
            module, _, part = name.rpartition(".")
            own = {"": self, "asked": self.asked, "head": self.head}.get(module) or self.model.get_submodule(module)
            if name in ("asked.scale", "asked.bias"):
                own, part = self, name.replace(".", "_")
            parameter = getattr(own, part)
            made = torch.tensor(values.astype(np.float32)).reshape(parameter.shape)
            parameter.data.copy_(made / 2 if part == "up" else made)  # `Adapted.learnt` tells it twice as large

    def forward(self, texts: Sequence[str]) -> torch.Tensor:
        """The means of the texts' token vectors; texts of like length go together, so that little is padded."""
        coded = self.tokenizer([text or "?" for text in texts], truncation=True, max_length=64)["input_ids"]
        order = sorted(range(len(texts)), key=lambda place: len(coded[place]))
        parts = [order[start : start + TOGETHER] for start in range(0, len(order), TOGETHER)]
        means = torch.cat([self._mean([torch.tensor(coded[place]) for place in part]) for part in parts])
        return means[torch.tensor(order).argsort()]

    def _mean(self, coded: Sequence[torch.Tensor]) -> torch.Tensor:
        rows = self.model.embeddings(nn.utils.rnn.pad_sequence(list(coded), batch_first=True))
        mask = nn.utils.rnn.pad_sequence([torch.ones(len(text)) for text in coded], batch_first=True)
        for layer in self.model.encoder.layer:
            rows = _first(layer(rows, _hidden(mask)))
        return (rows * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)

    def learnt(self) -> dict[str, NDArray[Any]]:
        """What `IntentModel` reads."""
        found: dict[str, NDArray[Any]] = {}
        for name, module in self.model.named_modules():
            if isinstance(module, Adapted):
                found |= {f"{name}.{side}": values for side, values in module.learnt().items()}
        found |= {f"asked.{side}": values for side, values in self.asked.learnt().items()}
        head = {"head.weight": self.head.weight, "head.bias": self.head.bias}
        alone = {"scale": self.scale, "bias": self.bias, "asked.scale": self.asked_scale, "asked.bias": self.asked_bias}
        ones = {name: value.reshape(1) for name, value in alone.items()}
        return found | {name: value.detach().numpy() for name, value in (head | ones).items()}


def _hidden(mask: torch.Tensor) -> torch.Tensor:
    return (1 - mask[:, None, None, :].float()) * -1e9


def _first(found: Any) -> torch.Tensor:
    return found[0] if isinstance(found, tuple) else found


def train_intent(
    schemas: Sequence[TaughtSchema],
    *,
    epochs: int = EPOCHS,
    rate: float = RATE,
    begun: Mapping[str, NDArray[Any]] | None = None,
) -> dict[str, NDArray[Any]]:
    """The adapters and the head, learnt on all questions of the schemas, anew or continuing what was ``begun``."""
    torch.set_num_threads(1)
    random.seed(0)
    torch.manual_seed(0)
    encoder = _Encoder(begun)
    learnt = [parameter for parameter in encoder.parameters() if parameter.requires_grad]
    optimiser = torch.optim.AdamW(learnt, lr=rate, weight_decay=0.01)
    step, steps = 0, epochs * sum(math.ceil(len(schema.lessons) / BATCH) for schema in schemas)
    for epoch in range(epochs):
        batches = []
        for schema in schemas:
            order = random.sample(schema.lessons, len(schema.lessons))
            batches += [(schema, order[start : start + BATCH]) for start in range(0, len(order), BATCH)]
        random.shuffle(batches)
        total = 0.0
        for schema, chosen in batches:
            for group in optimiser.param_groups:
                group["lr"] = rate * min(1, step / 30) * (1 - step / steps)
            step += 1
            vectors = encoder([*schema.descriptions, *(lesson.text for lesson in chosen)])
            loss = _loss(encoder, vectors, len(schema.descriptions), chosen)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            nn.utils.clip_grad_norm_(learnt, 1.0)
            optimiser.step()
            total += float(loss.detach())
        print(f"intent, epoch {epoch + 1} of {epochs}: loss {total / len(batches):.3f}", flush=True)
    return encoder.learnt()


def _loss(encoder: _Encoder, vectors: torch.Tensor, terms: int, lessons: Sequence[Lesson]) -> torch.Tensor:
    """Which terms are used and which are asked for, one by one and in comparison, and which operations."""
    own, done = vectors[terms:], torch.zeros(len(lessons), len(OPERATIONS))
    units = nn.functional.normalize(vectors[:terms], dim=1)
    used, asked = torch.zeros(len(lessons), terms), torch.zeros(len(lessons), terms)
    for place, lesson in enumerate(lessons):
        used[place, list(lesson.terms)] = 1
        asked[place, list(lesson.asked)] = 1
        done[place, [OPERATIONS.index(name) for name in lesson.operations]] = 1
    near = nn.functional.normalize(own, dim=1) @ units.T
    loss = _told(near, used, encoder.scale * near + encoder.bias) / len(lessons)
    told = asked.sum(1) > 0
    if told.any():
        near = nn.functional.normalize(encoder.asked(own[told]), dim=1) @ units.T
        loss += _told(near, asked[told], encoder.asked_scale * near + encoder.asked_bias) / len(lessons)
    said = encoder.head(nn.functional.dropout(own, 0.1))
    operations = nn.functional.binary_cross_entropy_with_logits(said, done, reduction="sum")
    return loss + 0.7 * operations / len(lessons)


def _told(near: torch.Tensor, true: torch.Tensor, odds: torch.Tensor) -> torch.Tensor:
    some = true.sum(1) > 0
    shares = torch.log_softmax(20 * near[some], 1) * true[some] / true[some].sum(1, keepdim=True)
    each = nn.functional.binary_cross_entropy_with_logits(odds, true, reduction="sum")
    return 0.5 * each - shares.sum() * len(true) / max(1, int(some.sum()))


@dataclass(frozen=True)
class Ranking:
    """The candidates of a question by their features and by what they give, and which of them give the gold answer."""

    graph: str
    unanswerable: float
    outcomes: tuple[int, ...]
    features: tuple[Mapping[str, float], ...]
    right: NDArray[np.bool_]


def rankings(folder: Path, model: Path) -> list[Ranking]:
    """Every question of a set with its candidates; ``model`` is the file of the intent model."""
    g, found = taught_graph(folder), []
    intents = IntentReader(g.graph, IntentModel(model))
    for gold, asked in g.questions:
        generator = Generator(g.graph, g.forms.vocabulary(EMBEDDER), asked, intents.intent(asked))
        if candidates := generator.candidates():
            describer = Describer(generator)
            outcomes: dict[object, int] = {}
            numbers = tuple(outcomes.setdefault(outcome_of(candidate), len(outcomes)) for candidate in candidates)
            right = np.array([is_right(candidate, gold, g) for candidate in candidates])
            features = tuple(describer.features(candidate) for candidate in candidates)
            found.append(Ranking(g.name, describer.unanswerable, numbers, features, right))
    return found


def is_right(candidate: Candidate, gold: GoldQuestion, g: TaughtGraph) -> bool:
    """Whether a candidate gives a gold answer; those of quite another size are not compared."""
    for answer in gold.answers:
        if not answer:
            continue
        if isinstance(candidate.form, Listed) and not len(answer) <= len(candidate.items) <= 2 * len(answer) + 4:
            continue
        if isinstance(candidate.form, SizeOf) and len(answer) != 1:
            continue
        width = len(answer[0]) if isinstance(answer[0], list | tuple) else 1
        if isinstance(candidate.form, Listed) and len(candidate.form.columns) > max(1, width):
            continue  # the score forgives columns that nobody asked for
        rows = [[_shown(term, gold.language, g) for term in row] for row in denotation(candidate.form, g.graph)]
        if rows and best_score([answer], rows).exact == 1:
            return True
    return False


def _shown(term: object, language: str, g: TaughtGraph) -> object:
    return (
        term
        if isinstance(term, bool | int | float)
        else getattr(term, "value", None)
        if hasattr(term, "datatype")
        else g.label(term, language)
    )


def train_weights(found: Sequence[Ranking]) -> Weights:
    """What features count alone and together, by the likelihood of the right candidates."""
    torch.manual_seed(0)
    counted = Counter(name for item in found for features in item.features for name in features)
    names = sorted(name for name, count in counted.items() if count >= RARE)
    places = {name: place for place, name in enumerate(names)}
    data = [(_matrix(item.features, places), item.right) for item in found if item.right.any() and not item.right.all()]
    spread = np.concatenate([rows[::5] for rows, _ in data]).std(axis=0) + 1e-3
    tensors = [(torch.tensor(rows / spread), torch.tensor(right)) for rows, right in data]
    alone, inside = nn.Linear(len(names), 1, bias=False), nn.Linear(len(names), UNITS)
    out, drop = nn.Linear(UNITS, 1, bias=False), nn.Dropout(DROPPED)
    nn.init.zeros_(alone.weight)
    nn.init.normal_(inside.weight, std=0.03)
    nn.init.zeros_(out.weight)
    learnt = [*alone.parameters(), *inside.parameters(), *out.parameters()]
    optimiser, chance = torch.optim.Adam(learnt, lr=STEP), random.Random(0)
    for turn in range(ROUNDS):
        chance.shuffle(tensors)
        optimiser.param_groups[0]["lr"] = STEP * (1 - turn / ROUNDS)
        for start in range(0, len(tensors), BATCH):
            losses = []
            for rows, right in tensors[start : start + BATCH]:
                score = (alone(rows) + out(drop(torch.relu(inside(drop(rows))))))[:, 0]
                losses.append(torch.logsumexp(score, 0) - torch.logsumexp(score[right], 0))
            loss = torch.stack(losses).mean() + PENALTY * torch.stack([(w * w).sum() for w in learnt]).sum()
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    single = alone.weight.detach().numpy()[0] / spread
    rows = inside.weight.detach().numpy().T / spread[:, None]
    shift, last = inside.bias.detach().numpy(), out.weight.detach().numpy()[0]
    features = {name: round(float(value), 5) for name, value in zip(names, single, strict=True)}
    return Weights(features, {}, {}, Together(tuple(names), np.round(rows, 4), np.round(shift, 4), np.round(last, 4)))


def _matrix(features: Sequence[Mapping[str, float]], places: Mapping[str, int]) -> NDArray[np.float32]:
    rows = np.zeros((len(features), len(places)), dtype=np.float32)
    for row, found in zip(rows, features, strict=True):
        for name, value in found.items():
            if name in places:
                row[places[name]] = value
    return rows


def ranked_by(weights: Weights, item: Ranking) -> tuple[dict[str, float], bool]:
    """What tells whether the first reading by some weights is right, and whether it is."""
    shares = softmax(weights.scores([dict(features) for features in item.features]))
    together = np.bincount(item.outcomes, weights=shares)
    best = [
        max((i for i, n in enumerate(item.outcomes) if n == o), key=lambda i: shares[i]) for o in range(len(together))
    ]
    order = sorted(range(len(together)), key=lambda o: -together[o])
    found = [Ranked(None, float(together[o]), 0.0) for o in order]  # type: ignore[arg-type]
    first = best[order[0]]
    return signs(item.features[first], item.unanswerable, found), bool(item.right[first])


def weights_left_out(found: Sequence[Ranking], folds: int = 4) -> dict[str, Weights]:
    """For each graph weights that were learnt without it."""
    graphs = sorted({item.graph for item in found})
    weights: dict[str, Weights] = {}
    for fold in range(folds):
        out = set(graphs[fold::folds])
        weights |= dict.fromkeys(out, train_weights([item for item in found if item.graph not in out]))
    return weights


def regressed(told: Sequence[tuple[Mapping[str, float], bool]]) -> dict[str, float]:
    """What each sign counts in a logistic regression of being right."""
    places = {name: place for place, name in enumerate(sorted({name for signs_, _ in told for name in signs_}))}
    rows, right = _matrix([signs_ for signs_, _ in told], places), np.array([ok for _, ok in told])
    spread = np.maximum(rows.std(axis=0), 0.05)
    model = LogisticRegression(C=0.3, max_iter=3000, fit_intercept=False).fit(rows / spread, right)
    return {name: round(float(v), 5) for name, v in zip(places, model.coef_[0] / spread, strict=True)}


@dataclass(frozen=True)
class Chosen:
    """A question with the signs of its answers by the rules and by a form, and whether each is right.

    ``strange``: it is about a thing that the graph has not.
    """

    told: Mapping[str, Mapping[str, float]]
    right: Mapping[str, bool]
    answerable: bool
    strange: bool


def choices(folder: Path, model: Path, weights: Weights) -> list[Chosen]:
    """Every question of a set, answered by the rules alone and by the first form; `weights` have not seen it."""
    _, parts = graph_of(folder)
    forms, label = parts.knowledge.forms, parts.knowledge.names.label
    assert forms is not None
    forms.intents = IntentReader(forms.graph, IntentModel(model))
    alone, found = replace(parts, knowledge=replace(parts.knowledge, forms=None)), []
    golds = _golds(folder)
    strange = list(renamed(golds, forms, random.Random(folder.name)))
    asked = [*golds, *random.Random(0).sample(strange, min(len(strange), len(golds) // OF_STRANGERS))]
    for item in ask_all(asked, ask=lambda text: ask(text, parts=alone), query=parts.run, label_of=label):
        readings = forms.readings(item.gold.text, item.gold.language, EMBEDDER, weights)
        intent_ = forms.intent(item.gold.text, item.gold.language)
        understood = _understood(item.gold.text, parts)
        ruled = Ruled.of(item.answer, readings, intent_, parts.run, understood)
        told = choice_signs(item.gold.language, readings, ruled)
        right = {"rules": item.outcome is AnswerOutcome.CORRECT}
        if readings:
            rows = parts.run(readings[0].query)
            given = predictions(replace(item.answer, verdict=Verdict.ANSWERED, solutions=rows, values=()), label)
            golden = [answer for answer in item.gold.answers if answer]
            right["form"] = (
                any(best_score(golden, shown, any_will_do=item.gold.any_will_do).exact == 1 for shown in given)
                if golden
                else False
            )
        found.append(Chosen(told, right, any(item.gold.answers), item.gold.id.endswith(RENAMED)))
    return found


def _golds(folder: Path) -> Sequence[GoldQuestion]:
    """The questions of a set; of one from elsewhere half, drawn at random, so that it counts no more than another."""
    if (own := folder / "questions.jsonl").exists():
        return read_gold(own).questions
    found = read_gold(folder / "questions.dev.jsonl").questions
    return random.Random(1).sample(found, min(MOST_OF_OTHERS, len(found) // 2))


def _understood(text: str, parts: QuestionParts) -> dict[str, float]:
    translator = parts.knowledge.translator
    found = translator.translate(text, run=parts.run)
    return understanding(found[0], translator.read(plainly(text))) if found else {}


def chosen_right(found: Sequence[Chosen], choice: Mapping[str, Forest]) -> tuple[float, float]:
    """The shares of questions that are answered or declined rightly, and that are answered wrongly."""
    weights, right, wrong = Weights({}, {}, choice), 0, 0
    for item in found:
        chances = weights.chances({of: dict(told) for of, told in item.told.items()})
        least = {"rules": LIKELIER_RIGHT, "form": FORM_RIGHT}
        best = max((of for of in chances if chances[of] >= least[of]), key=lambda of: chances[of], default="")
        if best:
            right, wrong = right + item.right[best], wrong + (not item.right[best])
        else:
            right += not item.answerable
    return right / len(found), wrong / len(found)


def boosted(told: Sequence[tuple[Mapping[str, float], bool]]) -> Forest:
    """A forest for the chance of being right, from what tells of it."""
    counted = Counter(name for signs_, _ in told for name in signs_)
    names = sorted(name for name, count in counted.items() if count >= RARE)
    places = {name: place for place, name in enumerate(names)}
    rows, right = _matrix([signs_ for signs_, _ in told], places), np.array([ok for _, ok in told])
    model = HistGradientBoostingClassifier(
        learning_rate=0.05, max_iter=150, max_leaf_nodes=12, min_samples_leaf=30, l2_regularization=5.0, random_state=0
    ).fit(rows, right)
    parts = {name: list[float]() for name in ("roots", "feature", "threshold", "left", "right", "value")}
    for tree in (trees[0].nodes for trees in model._predictors):
        start = len(parts["value"])
        parts["roots"].append(start)
        own = np.arange(len(tree))
        for name, values in (
            ("feature", tree["feature_idx"]),
            ("threshold", tree["num_threshold"]),
            ("left", start + np.where(tree["is_leaf"], own, tree["left"])),
            ("right", start + np.where(tree["is_leaf"], own, tree["right"])),
            ("value", np.where(tree["is_leaf"], tree["value"], 0.0)),
        ):
            parts[name] += values.tolist()
    return forest_of({"names": names, "start": float(model._baseline_prediction[0, 0]), **parts})


def train_choice(found: Mapping[str, Sequence[Chosen]], folds: int = 6) -> tuple[dict[str, Forest], str]:
    """What tells whether an answer is right, and a line on how good that is on graphs left out."""

    def learnt(graphs: Iterable[str]) -> dict[str, Forest]:
        items = [item for graph in graphs for item in found[graph]]
        return {
            of: boosted([(item.told[of], item.right[of]) for item in items if of in item.told])
            for of in ("rules", "form")
        }

    graphs, shares = sorted(found), defaultdict[bool, list[tuple[float, float]]](list)
    for fold in range(folds):
        out = graphs[fold::folds]
        choice = learnt([graph for graph in graphs if graph not in out])
        for graph, strange in itertools.product(out, (False, True)):
            if some := [item for item in found[graph] if item.strange == strange]:
                shares[strange].append(chosen_right(some, choice))
    (right, wrong), (declined, _) = (np.array(shares[strange]).mean(axis=0) for strange in (False, True))
    told = f"{right:.3f} right, {wrong:.3f} wrong; about things that are not there {declined:.3f} declined"
    return learnt(graphs), f"rules and forms, graphs left out: {told}"


def _as_json(forest: Forest) -> dict[str, Any]:
    return {name: part.tolist() if isinstance(part, np.ndarray) else part for name, part in vars(forest).items()}


def _graphs() -> list[Path]:
    """The folders of the sets to learn from, by name; each second one is in the same half."""
    found = [path for split in RANK_ON for path in (FOLDER / split).iterdir() if path.is_dir()]
    return sorted(found, key=lambda path: path.name)


def _learn_intent(output: Path, halves: Path, epochs: int, folders: Sequence[Path], begun: Path | None) -> None:
    """For each half of the graphs a model that has not seen it, and the first of these, continued with that half.

    ``begun`` is the folder of models of both halves to go on from, for one pass.
    """
    chance = random.Random(0)
    invented = [invented_schema(path, chance) for path in sorted(SCHEMAS.glob("*.json"))]
    with Pool(initializer=torch.set_num_threads, initargs=(1,)) as pool:
        own = pool.map(_schema_in, folders)
        rest = [[*invented, *(one for n, one in enumerate(own) if n % 2 != half)] for half in (0, 1)]
        if begun is None:
            learnt = pool.map(partial(train_intent, epochs=epochs), rest, chunksize=1)
        else:
            before = [load_file(begun / f"intent{half}.safetensors") for half in (0, 1)]
            learnt = pool.starmap(_gone_on, zip(rest, before, strict=True), chunksize=1)
    for half in (0, 1):
        save_file(learnt[half], halves / f"intent{half}.safetensors")
    for path in halves.glob("rankings-*.pickle"):  # by the models of before
        path.unlink()
    further = [*own[::2], *chance.sample(rest[0], REPEATED)]
    save_file(train_intent(further, epochs=1, rate=CONTINUED, begun=learnt[0]), output / intent.WEIGHTS.name)


def _gone_on(schemas: Sequence[TaughtSchema], begun: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    return train_intent(schemas, epochs=1, rate=FURTHER, begun=begun)


def _schema_in(folder: Path) -> TaughtSchema:
    return schema_of(taught_graph(folder))


def _keep_rankings(folder: Path, model: Path, path: Path) -> None:
    """Writes the rankings of a set to a file, as those of all sets are too much for pipes.

    What is there is kept, for a run that was interrupted; a change of the candidates needs an empty folder.
    """
    if not path.exists():
        new = path.with_suffix(".new")
        new.write_bytes(pickle.dumps(rankings(folder, model)))
        new.replace(path)


def _learn_weights(output: Path, halves: Path, folders: Sequence[Path]) -> None:
    models = [halves / f"intent{number % 2}.safetensors" for number in range(len(folders))]
    kept = [halves / f"rankings-{folder.name}.pickle" for folder in folders]
    with Pool(initializer=torch.set_num_threads, initargs=(1,)) as pool:
        pool.starmap(_keep_rankings, zip(folders, models, kept, strict=True), chunksize=1)
        found = [item for path in kept for item in pickle.loads(path.read_bytes())]
        without = weights_left_out(found)
        told = [ranked_by(without[item.graph], item) for item in found]
        print(
            f"first reading right, graphs left out: {np.mean([ok for _, ok in told]):.3f} of {len(told)} questions",
            flush=True,
        )
        calibration = regressed(told)
        left_out = [
            (path, model, replace(without[path.name], calibration=calibration))
            for path, model in zip(folders, models, strict=True)
        ]
        names = [path.name for path in folders]
        chosen = dict(zip(names, pool.starmap(choices, left_out, chunksize=1), strict=True))
    (halves / "choices.pickle").write_bytes(pickle.dumps(chosen))
    choice, line = train_choice(chosen)
    print(line)
    weights = train_weights(found)
    layer = weights.together
    units = dict(zip(layer.names, layer.units.tolist(), strict=True))
    together = {"units": units, "shift": layer.shift.tolist(), "out": layer.out.tolist()}
    data = {
        "features": weights.features,
        "calibration": calibration,
        "choice": {of: _as_json(one) for of, one in choice.items()},
        "together": together,
    }
    lines = json.dumps(_rounded(data), indent=0, ensure_ascii=False, sort_keys=True)
    (output / form_reader.WEIGHTS.name).write_text(
        re.sub(r"(?<=[\d\[],)\n|(?<=\[)\n|\n(?=\])", "", lines) + "\n", encoding="utf-8"
    )


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 5)
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return {name: _rounded(item) for name, item in value.items()} if isinstance(value, dict) else value


def main() -> int:
    """Learns, writes, and says how good the ranking is on graphs left out; 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.train_questions", description=__doc__)
    parser.add_argument("--only", choices=("intent", "weights"), help="learn this alone")
    parser.add_argument("--epochs", type=int, default=EPOCHS, help="passes over the questions for the intent model")
    parser.add_argument(
        "--begun", type=Path, help="a folder of intent models of both halves to go on from, for one pass"
    )
    kept = "a folder that keeps the intent models that have seen one half, and the rankings and choices by them"
    parser.add_argument("--halves", type=Path, help=kept)
    parser.add_argument("--output", type=Path, help="a folder for the files (default: where the package has them)")
    parser.add_argument(
        "--also", type=Path, nargs="*", default=(), metavar="FOLDER",
        help="sets from elsewhere (ontology.ttl, kg.ttl, questions.dev.jsonl) to learn from, half of the questions",
    )  # fmt: skip
    told = parser.parse_args()
    output, folders = told.output or form_reader.WEIGHTS.parent, [*_graphs(), *told.also]
    with TemporaryDirectory() as folder:
        halves = told.halves or Path(folder)
        if told.only != "weights":
            _learn_intent(output, halves, told.epochs, folders, told.begun)
        if told.only != "intent":
            _learn_weights(output, halves, folders)
    return 0


if __name__ == "__main__":
    sys.exit(main())
