"""Teaching the network of sentences from annotated examples.

The vectors of words stay as they are; what reads them goes on learning from where the shipped network is: which
stretches name something, and which property an object has of which subject. What may fill places is proposed by
networks that have not seen the example. A fifth of the examples, of things that the others do not speak of, tells from
which share on what is read is best taken (`thresholds_of`), and how well; then all are learnt from.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Protocol

import numpy as np
import torch
from pyoxigraph import NamedNode
from torch import nn
from torch.nn import functional

from kgplatform.errors import ModelError
from kgplatform.extraction.builtin import BuiltinExtractor
from kgplatform.extraction.context import DocumentReading, Referents
from kgplatform.extraction.learnt.examples import AnnotatedExample, day_of, number_of
from kgplatform.extraction.learnt.reader import Learnt, Namings, name_as_taught
from kgplatform.extraction.learnt.stretches import Aliases, Place, WordRanges, learn_aliases, squeezed, words_of
from kgplatform.extraction.ontology_lexicon import Lexicon, compile_lexicon
from kgplatform.extraction.sentence_frames import FrameReader, OpenFrames, read_frames, said_value
from kgplatform.extraction.sentence_network import (
    ROLES,
    AskedObject,
    Floats,
    PropertyLabels,
    SeenSentence,
    SentenceNetwork,
    Thresholds,
    WordPlace,
    beside,
    carried_network,
)
from kgplatform.extraction.sentence_slots import SUBJECT, Slot, SlotFinder, taken_as
from kgplatform.models.embed import one_thread
from kgplatform.ontology.schema import Ontology, OntologyProperty
from kgplatform.text import language_of
from kgplatform.types import Claim, Document, Mention, Progress

# What is asked of a document, and which answers are right


@dataclass(frozen=True)
class ObjectQuestion:
    """What is asked of an object, which fillings are right, and which are looked at."""

    asked: AskedObject
    right: Any
    used: Any


@dataclass(frozen=True)
class Lesson:
    """A document as the network sees it, with what its annotation says: whether each stretch names something, and what.

    ``rows`` are the vectors of the words of each sentence where they are not learnt; ``silent``: it states nothing.
    """

    sentences: Sequence[SeenSentence]
    named: Sequence[Floats]
    places: Sequence[Sequence[WordPlace]]
    questions: Sequence[ObjectQuestion]
    labels: Floats
    terms: PropertyLabels
    rows: Sequence[Floats] = ()
    silent: bool = False


class Answers(Protocol):
    """What an annotation says of fillings."""

    def fact(self, term: OntologyProperty, subject: Slot, object_: Slot, said: str) -> object | None:
        """The statement of the annotation that the filling makes; None where it makes none."""


def questions_of(opened: Sequence[OpenFrames], answers: Answers, text: str) -> list[ObjectQuestion]:
    """Of a statement that a sentence makes with both ends, the places that have one end are not looked at.

    Nor is whether what is stated of one of several enumerated things is stated of the others, too: examples often take
    one of them.
    """
    found, within, of_one = [], set[object](), set[object]()
    for one in opened:
        said = [one.object.name if t.is_object else said_value(t, one.object, text) or "" for t in one.terms]
        fits = [(int(n), int(m)) for n, m in np.argwhere(one.asked.fits >= 0)]
        told = {(n, m): (one.object.enumeration, one.terms[n].iri, one.subjects[m].start) for n, m in fits}
        facts = {(n, m): answers.fact(one.terms[n], one.subjects[m], one.object, said[n]) for n, m in fits}
        right = {place: fact for place, fact in facts.items() if fact is not None}
        inside = {place for place in right if (at := one.asked.subjects[place[1]]) and at[0] == one.asked.sentence}
        within |= {right[place] for place in inside}
        of_one |= {told[place] for place in right}
        found.append((one.asked, told, right, inside))
    questions = []
    for asked, told, right, inside in found:
        used, true = np.zeros((2, *asked.fits.shape), bool)
        for place, key in told.items():
            true[place] = place in right and (place in inside or right[place] not in within)
            used[place] = true[place] or (place not in right and key not in of_one)
        questions.append(ObjectQuestion(asked, true, used))
    return questions


# The network while it learns


class Learner(nn.Module):  # type: ignore[misc]  # the types of PyTorch are not looked at
    """The readers of `SentenceNetwork` as they learn; the names of the weights are the same.

    ``fixed`` ones stay as they are; ``dropped``: the share of the numbers of each word that are left out in a step.
    ``unsaid``: what an object counts of which nothing is said (`_unsaid_weight`).
    """

    def __init__(
        self, weights: Mapping[str, Floats], signs: Mapping[str, float], *, fixed: Sequence[str], dropped: float
    ) -> None:
        super().__init__()
        parts = {name: torch.tensor(np.array(rows, np.float32)) for name, rows in weights.items()}
        self.temperature = float(parts.pop("temperature", torch.ones(1))[0])
        self.weights = nn.ParameterDict(
            {name: nn.Parameter(rows, requires_grad=name not in fixed) for name, rows in parts.items()}
        )
        self.signs = {sign: n for n, sign in enumerate(sorted(signs))}
        self.sign_weights = nn.Parameter(torch.zeros(_MOST_SIGNS))
        with torch.no_grad():
            self.sign_weights[: len(signs)] = torch.tensor([signs[sign] for sign in self.signs])
        self._dropped, self.draw, self.unsaid = dropped, random.Random(0), 1.0

    def rows(self, lesson: Lesson) -> list[torch.Tensor]:
        """The vectors of the words of each sentence."""
        return [self.dropped(torch.tensor(rows), self._dropped) for rows in lesson.rows]

    def dropped(self, rows: torch.Tensor, share: float) -> torch.Tensor:
        """Without that share of the numbers, while it learns."""
        return functional.dropout(rows, share, self.training)

    def pooled(self, name: str, rows: torch.Tensor, first: Any, last: Any) -> torch.Tensor:
        """As `SentenceNetwork` pools stretches."""
        w = self.weights
        parts = (rows @ w[name + "words"].T + w[name + "offset"]).view(len(rows), ROLES, -1)
        edge = torch.zeros(2, *parts.shape[1:])
        wide, sums = torch.cat([edge, parts, edge]), torch.cat([edge[:1, 0], parts[:, 0].cumsum(0)])
        found = (sums[last] - sums[first]) / (last - first)[:, None]
        for role, places in enumerate((first + 2, last + 1, first, first + 1, last + 2, last + 3), 1):
            found = found + wide[places, role]
        return found

    def loss(self, lesson: Lesson, *, states: bool) -> torch.Tensor:
        """How unlikely what the annotation says is; ``states``: its statements as well as its names."""
        rows = self.rows(lesson)
        whole = torch.stack([self.names_loss(*one) for one in zip(rows, lesson.sentences, lesson.named, strict=True)])
        return whole.sum() + self.statements_loss(lesson, self._unnamed(lesson, rows)) if states else whole.sum()

    def _unnamed(self, lesson: Lesson, rows: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """The vectors, every other time without those of the words that fill places: new texts have other names."""
        if not self.training or self.draw.random() < _UNNAMED:
            return rows
        found = []
        for row, places in zip(rows, lesson.places, strict=True):
            kept = torch.ones(len(row), 1)
            for place in places:
                kept[place.first : place.last] = 0
            found.append(row * kept)
        return found

    def names_loss(self, row: torch.Tensor, seen: SeenSentence, named: Floats) -> torch.Tensor:
        """How unlikely it is which stretches of the sentence are named."""
        w, (first, last), signs = self.weights, ends_of(seen.stretches), torch.tensor(seen.signs)
        hidden = self.dropped(torch.tanh(self.pooled("span", row, first, last) + signs @ w["spansigns"].T), 0.3)
        scores = torch.cat([hidden, signs], 1) @ w["spanout"][0] + w["spanlast"][0]
        truth = torch.tensor(named)
        return functional.binary_cross_entropy_with_logits(scores, truth, reduction="sum") / 60

    def statements_loss(self, lesson: Lesson, rows: Sequence[torch.Tensor]) -> torch.Tensor:
        """How unlikely it is what the sentences state."""
        if not lesson.questions:
            return torch.zeros(())
        placed, unsaid = self.placed(lesson, rows), 1.0 if lesson.silent else self.unsaid
        lost = []
        for question in lesson.questions:
            scores = self.scores(question, lesson, placed)
            whole = torch.logsumexp(torch.cat([scores.reshape(-1), torch.zeros(1)]), 0)
            right = torch.tensor(question.right)
            lost.append(whole - torch.logsumexp(scores[right], 0) if right.any() else whole * unsaid)
        return torch.stack(lost).sum() / 25

    def told_labels(self, lesson: Lesson) -> torch.Tensor:
        """The classes by their labels."""
        return torch.tanh(torch.tensor(lesson.labels, dtype=torch.float32) @ self.weights["classlabels"].T)

    def told_terms(self, terms: PropertyLabels) -> tuple[list[Floats], Floats]:
        """The words of each property, and what its labels say together."""
        return np.split(terms.words, terms.starts[1:]), terms.means

    def class_scores(self, hidden: Any, labels: Any) -> torch.Tensor:
        """A column a class, and one for none of them."""
        none = hidden @ self.weights["noclass"].T + self.weights["noclassshift"]
        return torch.cat([hidden @ labels.T, none], 1)

    def placed(self, lesson: Lesson, rows: Sequence[torch.Tensor]) -> list[Any]:
        """What is seen of the places of each sentence, as `SentenceNetwork.placed` has it; None: nothing."""
        w, terms, labels = self.weights, lesson.terms, self.told_labels(lesson)
        told, labels_ = self.told_terms(terms)
        means, words = torch.tensor(labels_), torch.tensor(np.concatenate(told))
        said, asked = (torch.tanh(means @ w[f"label{n}"].T + w[f"labelshift{n}"]) for n in (1, 2))
        domains, ranges = torch.tensor(terms.domains), torch.tensor(terms.ranges)
        is_object = torch.tensor(terms.is_object, dtype=torch.float32)
        of = torch.tensor([n for n, one in enumerate(told) for _ in one])
        spoken = words @ w["triggerlabel"].T
        found: list[Any] = []
        for row, places in zip(rows, lesson.places, strict=True):
            if not places or not len(labels):
                found.append(None)
                continue
            first, last = ends_of(places)
            kinds = torch.tensor([one.kind for one in places])
            objects = self.dropped(torch.tanh(self.pooled("object", row, first, last) + w["objectkind"][kinds]), 0.2)
            subjects = torch.tanh(self.pooled("subject", row, first, last) + w["subjectkind"][kinds])
            subjects = self.dropped(subjects, 0.2)
            scores = self.class_scores(torch.tanh(self.pooled("class", row, first, last)), labels)
            shares = torch.softmax(scores, 1)[:, :-1]
            known = torch.tensor([one.class_ for one in places])
            hard = functional.one_hot(known.clamp(min=0), len(labels)).float() * 0.98 + 0.02 / len(labels)
            shares = torch.where((known >= 0)[:, None], hard, shares)
            words_ = (row @ w["trigger"].T) @ spoken.T / 7
            triggers = torch.full((len(row), len(means)), -1e4)
            triggers = triggers.scatter_reduce(1, of.expand(len(row), -1), words_, "amax")
            found.append(
                (
                    (objects @ w["objectside"].T + w["objectshift"]) @ said.T / 7,
                    (subjects @ w["subjectside"].T + w["subjectshift"]) @ asked.T / 7,
                    objects @ w["pairobject"].T + w["pairobjectshift"],
                    subjects @ w["pairsubject"].T + w["pairsubjectshift"],
                    w["fit"][0] * torch.log(shares @ domains.T + 0.01),
                    w["fit"][1] * torch.log(shares @ ranges.T + 0.01) * is_object,
                    triggers,
                )
            )
        return found

    def scores(self, question: ObjectQuestion, lesson: Lesson, placed: Sequence[Any]) -> torch.Tensor:
        """What each filling scores, a row a property and a column a subject; "none is made" scores 0."""
        w, asked = self.weights, question.asked
        if placed[asked.sentence] is None:
            return torch.full(question.used.shape, -1e4)
        objects, _, pair, _, _, ranges, triggers = placed[asked.sentence]
        terms, n = list(asked.terms), asked.place
        where = torch.tensor(beside(len(triggers), lesson.places[asked.sentence][n]))
        trigger = torch.logsumexp(triggers[:, terms] + w["triggerplace"][where][:, None], 0) * w["triggerscale"][0]
        whole = objects[n, terms] + trigger + ranges[n, terms]
        whole = whole + torch.stack([self.sign_weights[[self._sign(s) for s in signs]].sum() for signs in asked.signs])
        features = torch.tensor(asked.features)
        hidden = torch.tanh(features @ w["features"].T + w["featureshift"])
        subject = hidden @ w["featureout"][0] + w["featurelast"][0] + features @ w["featureplain"][0]
        sides = []
        for at in asked.subjects:
            if at is None or placed[at[0]] is None:
                sides.append(-w["fit"][0] * torch.ones(len(terms)))
                continue
            there = placed[at[0]]
            sides.append(there[1][at[1], terms] + there[4][at[1], terms] + there[3][at[1]] @ pair[n] / 7)
        scores = whole[:, None] + subject[None] + torch.stack(sides, 1)
        scores = scores + w["fits"][torch.tensor(np.maximum(asked.fits, 0).astype(int))] - w["none"][0]
        return scores.masked_fill(~torch.tensor(question.used), -1e4)

    def _sign(self, sign: str) -> int:
        return self.signs.setdefault(sign, min(len(self.signs), _MOST_SIGNS - 1))

    def calibrate(self, lessons: Sequence[Lesson]) -> None:
        """Sets the temperature of the odds for which what is said of documents not learnt from is likeliest."""
        self.eval()
        odds, right = list[Any](), list[Any]()
        for lesson in (one for one in lessons if one.questions):
            with torch.no_grad():
                placed = self.placed(lesson, self.rows(lesson))
            for one in lesson.questions:
                used = torch.tensor(one.used)
                told = torch.cat([torch.zeros(1), self.scores(one, lesson, placed)[used].detach()])
                odds.append(torch.logit(torch.softmax(told, 0)[1:], 1e-6))
                right.append(torch.tensor(one.right)[used].float())
        if odds:
            every, truth = torch.cat(odds), torch.cat(right)
            lost = {
                by: float(functional.binary_cross_entropy_with_logits(every / by, truth, reduction="sum"))
                for by in np.arange(0.8, 3.0, 0.1).round(1).tolist()
            }
            self.temperature = min(lost, key=lambda one: lost[one])

    def learnt_weights(self) -> dict[str, Floats]:
        """The weights that are not fixed."""
        found = {name: rows.detach().numpy().copy() for name, rows in self.weights.items() if rows.requires_grad}
        return found | {"temperature": np.array([self.temperature], np.float32)}

    def learnt_signs(self) -> dict[str, float]:
        """What the signs weigh, those that weigh something."""
        weighed = {sign: round(float(self.sign_weights[n].detach()), 3) for sign, n in sorted(self.signs.items())}
        return {sign: weight for sign, weight in weighed.items() if abs(weight) >= _LEAST_WEIGHT}


def ends_of(places: Sequence[Any]) -> tuple[torch.Tensor, torch.Tensor]:
    """The first words of the places, and those behind the last ones."""
    return torch.tensor([one.first for one in places]), torch.tensor([one.last for one in places])


_LEAST_WEIGHT, _MOST_SIGNS, _UNNAMED = 0.005, 4_096, 0.5


# Examples


_FIXED: Final = ("classwords", "classoffset", "classsigns", "classlabels", "noclass", "noclassshift")
_DROPPED, _TOGETHER, _RATE, _SIGN_RATE, _DECAY = 0.5, 2, 8e-4, 8e-3, 0.02
_NAME_EPOCHS, _NAME_STEPS, _EPOCHS, _MOST_STEPS, _WARMING = 2, 120, 12, 3_000, 40
_PARTS: Final = 5
_ENOUGH: Final = 10
"""Of so many statements at least it is told from which share on they are best taken."""
_FLAT, _EXPECTED, _AS_MANY = 0.02, 0.3, 20
_SURE_ENOUGH, _OFFERED = 0.05, 0.5


@dataclass
class _Example:
    """An example with the places where its text writes what it says."""

    example: AnnotatedExample
    document: Document
    aliases: Aliases
    ranges: WordRanges
    ends: dict[str, tuple[frozenset[tuple[int, int]], frozenset[object]]] = field(default_factory=dict)

    def places(self, value: str) -> list[Place]:
        """The words that write it."""
        return self.ranges.find(value, self.aliases)

    def is_said(self, value: str, slot: Slot, said: str) -> bool:
        """Whether the slot is the value, or what the text has for it."""
        if value not in self.ends:
            words = self.ranges.words
            spans = frozenset((words[a].start, words[b - 1].end) for a, b in self.places(value))
            written = {squeezed(self.document.text[start:end]) for start, end in spans}
            self.ends[value] = spans, frozenset({*written, *_forms(value)})
        spans, forms = self.ends[value]
        return (slot.start, slot.end) in spans or not forms.isdisjoint((*_forms(slot.name), *_forms(said)))

    def fact(self, term: OntologyProperty, subject: Slot, object_: Slot, said: str) -> object | None:
        """The statement of the example that the filling makes."""
        for fact in self.example.said:
            turned = fact.predicate == term.inverse or (term.symmetric and fact.predicate == term.iri)
            for one, other in ((fact.subject, fact.object), (fact.object, fact.subject))[: 1 + turned]:
                is_it = fact.predicate == (term.iri if one is fact.subject else term.inverse or term.iri)
                if is_it and self.is_said(one, subject, subject.name) and self.is_said(other, object_, said):
                    return fact
        return None


def _forms(value: str) -> tuple[object, ...]:
    """What tells that two texts are of one value."""
    return tuple(one for one in (squeezed(value), day_of(value), number_of(value)) if one is not None and one != "")


def _taught(examples: Sequence[AnnotatedExample]) -> list[_Example]:
    ranges = [WordRanges(example.text, words_of(example.text)) for example in examples]
    aliases = learn_aliases(examples, ranges)
    return [
        _Example(example, _document(example, number), aliases, ranges[number])
        for number, example in enumerate(examples)
    ]


def _document(example: AnnotatedExample, number: int) -> Document:
    iri = NamedNode(f"urn:example:{number}")
    return Document(iri, example.text, "", "text/plain", "", "", language_of(example.text))


def _apart(examples: Sequence[AnnotatedExample]) -> list[int]:
    """The numbers of a fifth of the examples, all about one thing together, as new texts will be about new things.

    Of five parts it is the one that is nearest to a fifth. Where the examples are about very few things, every fifth;
    of fewer than five, none.
    """
    groups: dict[str, list[int]] = defaultdict(list)
    for number, example in enumerate(examples):
        subjects = Counter(squeezed(said.subject) for said in example.said)
        groups[max(subjects, key=lambda name: subjects[name], default="")].append(number)
    if len(groups) < 2 * _PARTS:
        return list(range(_PARTS - 1, len(examples), _PARTS))
    parts: list[list[int]] = [[] for _ in range(_PARTS)]
    for _, numbers in sorted(groups.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        smallest: list[int] = min(parts, key=len)
        smallest += numbers
    wanted = len(examples) / _PARTS
    nearest: list[int] = min(reversed(parts), key=lambda part: abs(len(part) - wanted))
    return sorted(nearest)


# Training


def train(examples: Sequence[AnnotatedExample], ontology: Ontology, *, progress: Progress | None = None) -> Learnt:
    """What the examples teach; the same examples teach the same.

    Raises:
        ModelError: the sentence model of the package, which learns, is not there.
    """
    carried = carried_network()
    if carried is None:
        raise ModelError("the sentence model, which learns, is not there; install kgplatform again", model="")
    teacher = _Teacher(_taught(examples), compile_lexicon(ontology), carried, progress or (lambda *_: None))
    threads = torch.get_num_threads()
    try:  # what is multiplied is small: threads would wait for each other
        torch.set_num_threads(1)
        with torch.random.fork_rng(devices=[]), one_thread():
            torch.manual_seed(0)
            return teacher.learnt()
    finally:
        torch.set_num_threads(threads)


class _Teacher:
    """Teaches the network of some examples."""

    def __init__(
        self, taught: Sequence[_Example], lexicon: Lexicon, carried: SentenceNetwork, progress: Progress
    ) -> None:
        self._taught, self._lexicon, self._carried, self._progress = taught, lexicon, carried, progress
        self._extractor = BuiltinExtractor(lexicon)
        self._takes: Mapping[str, frozenset[str]] = {}

    def learnt(self) -> Learnt:
        """What the examples teach."""
        apart = _apart([one.example for one in self._taught])
        lessons = self._lessons()
        kept = [one for n, one in enumerate(lessons) if n not in set(apart)]
        learner = self._fit(kept, states=True)
        learner.calibrate([lessons[n] for n in apart])
        temperature = learner.temperature
        namings = self._namings(n for n in range(len(lessons)) if n not in set(apart))
        read = [self._read(self._taught[n], self._network(learner), namings) for n in apart]
        said = [_keys(self._taught[n].example) for n in apart]
        thresholds = thresholds_of(
            [
                (share, key in keys)
                for found, keys in zip(read, said, strict=True)
                for key, share in found.items()
                if key[1] in self._takes
            ],
            sum(map(len, said)),
            self._carried.thresholds,
        )
        if apart:
            learner = self._fit(lessons, states=True)
            learner.temperature = temperature
        report = {
            term.iri.value: _counted(term.iri.value, read, said, thresholds.statement)
            for term in self._lexicon.ontology.domain_properties
        }
        return Learnt(
            learner.learnt_weights(),
            learner.learnt_signs(),
            thresholds,
            self._namings(range(len(lessons))),
            self._takes,
            _classes_told(one.example for one in self._taught),
            {iri: counts for iri, counts in report.items() if any(counts)},
            len(apart),
        )

    def _lessons(self) -> list[Lesson]:
        """The examples as lessons: each is proposed what fills its places by a network that has not seen it.

        What properties take is what the examples have of that.
        """
        first = [self._named(one) for one in self._taught]
        drawn = random.Random(0).sample(range(len(first)), len(first))  # the lines of a file may take turns
        parts = [sorted(drawn[half::2]) for half in (0, 1)]
        networks = [self._network(self._fit([first[n] for n in part], states=False)) for part in reversed(parts)]
        proposed = {n: network for part, network in zip(parts, networks, strict=True) for n in part}
        self._takes = self._taken(proposed)
        return [
            self._lesson(one, lesson, proposed[n])
            for n, (one, lesson) in enumerate(zip(self._taught, first, strict=True))
        ]

    def _network(self, learner: Learner) -> SentenceNetwork:
        thresholds = Thresholds(*[_SURE_ENOUGH] * 4)
        return self._carried.continued(learner.learnt_weights(), learner.learnt_signs(), thresholds)

    def _reading(self, one: _Example, network: SentenceNetwork) -> DocumentReading:
        return self._extractor.read(one.document, network, self._takes)

    def _named(self, one: _Example) -> Lesson:
        """What the example says of names."""
        reading = self._reading(one, self._carried)
        facts = one.example.said
        values = {end for fact in facts for end in (fact.subject, fact.object)} | set(one.example.unsaid)
        keys = {squeezed(value) for value in values}
        places = {place for value in values for place in one.places(value)}
        words = one.ranges.words
        spans = {(words[first].start, words[last - 1].end) for first, last in places}
        scored = list(reading.scored())
        named = [
            np.array(
                [
                    (item.seen.start + s.start, item.seen.start + s.end) in spans or squeezed(s.key) in keys
                    for s in item.seen.stretches
                ],
                np.float32,
            )
            for item in scored
        ]
        labels, terms = self._lexicon.class_labels.rows, self._lexicon.property_labels
        return Lesson([s.seen for s in scored], named, (), (), labels, terms, [s.rows for s in scored])

    def _lesson(self, one: _Example, lesson: Lesson, network: SentenceNetwork) -> Lesson:
        reading = self._reading(one, network)
        reader = FrameReader(reading, Referents(reading), network)
        opened = [item for n in range(len(reader.sentences)) for item in reader.open_frames(n)]
        asked = questions_of(opened, one, reading.text)
        questions = [self._of_taught(question, frames) for question, frames in zip(asked, opened, strict=True)]
        places = [sentence.places for sentence in reader.sentences]
        return replace(lesson, places=places, questions=questions, silent=not one.example.said)

    def _of_taught(self, question: ObjectQuestion, frames: OpenFrames) -> ObjectQuestion:
        """The question about the properties that examples have: that others are in none tells nothing of them."""
        is_taught = np.array([term.iri.value in self._takes for term in frames.terms])
        return replace(question, used=question.used & is_taught[:, None])

    def _fit(self, lessons: Sequence[Lesson], *, states: bool) -> Learner:
        """The network, learnt on from these lessons."""
        learner = Learner(self._carried.weights, self._carried.signs, fixed=_FIXED, dropped=_DROPPED)
        learner.train()
        learner.unsaid = _unsaid_weight(lessons)
        usable, draw = [lesson for lesson in lessons if lesson.sentences], random.Random(0)
        steps_of_one = -(-len(usable) // _TOGETHER)
        least, most = (1, _MOST_STEPS) if states else (_NAME_EPOCHS, _NAME_STEPS)
        epochs = min(_EPOCHS, max(least, most // max(1, steps_of_one)))
        ours = [one for one in learner.weights.parameters() if one.requires_grad]
        groups = {"params": ours, "lr": _RATE}, {"params": [learner.sign_weights], "lr": _SIGN_RATE}
        steps = torch.optim.AdamW(groups, weight_decay=_DECAY, fused=True)
        rates = [group["lr"] for group in steps.param_groups]
        total, step = epochs * steps_of_one, 0
        for epoch in range(epochs):
            self._progress(epoch, epochs, "statements" if states else "names")
            order = draw.sample(usable, len(usable))
            for first in range(0, len(order), _TOGETHER):
                step += 1
                for group, rate in zip(steps.param_groups, rates, strict=True):
                    group["lr"] = rate * min(1, step / _WARMING) * (1 - 0.95 * step / total)
                steps.zero_grad()
                for lesson in order[first : first + _TOGETHER]:
                    (learner.loss(lesson, states=states) / _TOGETHER).backward()
                nn.utils.clip_grad_norm_([*ours, learner.sign_weights], 2.0)
                steps.step()
        learner.eval()
        return learner

    def _read(
        self, one: _Example, network: SentenceNetwork, namings: Namings
    ) -> dict[tuple[object, str, object], float]:
        """What is read of an example, each statement with its share."""
        reading = self._reading(one, network)
        read_frames(reading, Referents(reading))
        name_as_taught(reading, namings)
        found: dict[tuple[object, str, object], float] = {}
        for claim in reading.claims.values():
            key = _key(claim)
            found[key] = max(found.get(key, 0.0), claim.confidence)
        return found

    def _namings(self, numbers: Sequence[int] | Iterator[int]) -> Namings:
        places = []
        for one in (self._taught[n] for n in numbers):
            for fact in one.example.said:
                for role, value in (("s", fact.subject), ("o" + fact.predicate.value, fact.object)):
                    words, text = one.ranges.words, one.document.text
                    spans = [(words[a].start, words[b - 1].end) for a, b in one.places(value)]
                    places += [(role, written, value, text) for written in sorted({text[a:b] for a, b in spans})]
        return Namings.learnt(places)

    def _taken(self, proposed: Mapping[int, SentenceNetwork]) -> dict[str, frozenset[str]]:
        """What the examples have as the ends of each property, of all that those networks find in them."""
        found: dict[str, set[str]] = defaultdict(set)
        for number, one in enumerate(self._taught):
            reading = self._extractor.read(one.document, proposed[number], {})
            finder = SlotFinder(reading, Referents(reading))
            slots = [
                slot
                for sentence in reading.scored()
                for slot in finder.slots(sentence.seen.start, sentence.seen.end, sentence.spans)
            ]
            for fact in one.example.said:
                for key, value in ((fact.predicate.value + SUBJECT, fact.subject), (fact.predicate.value, fact.object)):
                    found[key].update(taken_as(slot) for slot in slots if one.is_said(value, slot, slot.name))
        return {key: frozenset(kinds) for key, kinds in sorted(found.items())}


def _unsaid_weight(lessons: Sequence[Lesson]) -> float:
    """What an object counts of which nothing is said: together no more than those of which something is.

    Examples that take one thing of a text that states several would else teach that the others are not stated
    (learning from positive and unlabelled examples; Bekker and Davis 2020, section 5). Silent ones say that on purpose.
    """
    said = [bool(one.right.any()) for lesson in lessons if not lesson.silent for one in lesson.questions]
    return min(1.0, sum(said) / max(1, len(said) - sum(said)))


def _classes_told(examples: Iterator[AnnotatedExample]) -> dict[str, tuple[NamedNode, ...]]:
    """The class that the examples mostly tell of the ends of each property."""
    told: dict[str, Counter[NamedNode]] = defaultdict(Counter)
    for fact in (fact for example in examples for fact in example.said):
        for key, class_ in ((SUBJECT, fact.subject_class), ("", fact.object_class)):
            if class_ is not None:
                told[fact.predicate.value + key][class_] += 1
    return {key: (max(sorted(votes, key=str), key=votes.__getitem__),) for key, votes in sorted(told.items())}


def _keys(example: AnnotatedExample) -> set[tuple[object, str, object]]:
    return {(squeezed(s.subject), s.predicate.value, _value(s.object)) for s in example.said}


def _key(claim: Claim) -> tuple[object, str, object]:
    object_ = claim.object.name if isinstance(claim.object, Mention) else claim.object.value
    return squeezed(claim.subject.name), claim.predicate.value, _value(object_)


def _value(text: str) -> object:
    number = number_of(text)
    return number if number is not None else day_of(text) or squeezed(text)


def _counted(iri: str, read: Sequence[Any], said: Sequence[Any], least: float) -> tuple[int, int, int]:
    taken = [{key for key, share in found.items() if share >= least and key[1] == iri} for found in read]
    wanted = [{key for key in keys if key[1] == iri} for keys in said]
    right = sum(len(some & keys) for some, keys in zip(taken, wanted, strict=True))
    return sum(map(len, wanted)), sum(map(len, taken)), right


def thresholds_of(read: Sequence[tuple[float, bool]], said: int, shipped: Thresholds) -> Thresholds:
    """From which share on what was read is best taken: F1 is flat there, so of what is nearly as good, what reads most.

    From few it is a chance, so it is drawn to half of a common F1, where F1 is best for shares that are right (Lipton,
    Elkan and Naryanaswamy 2014). What is less likely than a candidate is never taken. Where less than `_ENOUGH` is
    said, the shipped ones.
    """
    ranked = sorted(read, reverse=True)
    if said < _ENOUGH or not any(right for _, right in ranked):
        return shipped
    hits = np.cumsum([right for _, right in ranked])
    scores = 2 * hits / (np.arange(1, len(ranked) + 1) + said)
    last = int(np.flatnonzero(scores >= (1 - _FLAT) * scores.max())[-1])
    below = ranked[last + 1][0] if last + 1 < len(ranked) else 0.0
    chosen = (ranked[last][0] + below) / 2
    least = max((said * chosen + _EXPECTED * _AS_MANY) / (said + _AS_MANY), shipped.candidate)
    return Thresholds(least, min(shipped.candidate, _OFFERED * least), least, least)
