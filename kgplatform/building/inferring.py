"""The inference stage: ``graph/inferred`` kept in line with everything else, by what changed where that is known.

What changed is known while every write since the last run went through the dataset, in this process. A file in the
workspace says that all was in line when the last one ended; it is taken away before the first write, so that a
process that ends early, or writes without this stage, leaves none, and the next run begins from scratch.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from pyoxigraph import NamedNode, Triple

from kgplatform.config import InferenceSettings
from kgplatform.dataset import EvidenceDataset
from kgplatform.describing import FindEvidence
from kgplatform.errors import StoreError
from kgplatform.inference.change import Revision, TooManyError, changed
from kgplatform.inference.explaining import Explanation, why
from kgplatform.inference.findings import Finding, findings
from kgplatform.inference.rules import Rule, RuleSet, rules_of
from kgplatform.inference.scratch import concluded
from kgplatform.inference.view import Admission
from kgplatform.ontology import Ontology
from kgplatform.store import DEFAULT_GRAPH
from kgplatform.vocab import SAME_AS

_MOST_CHANGED = 5_000
"""Up to so many statements that came and went, looking at what hangs on them is faster than beginning from scratch."""

_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Inferred:
    """How many conclusions there are, how many came and went, and what cannot be.

    ``incremental``: only what hangs on changed statements was looked at; ``findings`` then concern these only.
    """

    total: int
    gained: int
    lost: int
    incremental: bool
    findings: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True)
class _InLine:
    """That ``graph/inferred`` is in line: by which rules, how many conclusions, and whether a rule was left out."""

    digest: str
    total: int
    limited: bool


class Inference:
    """The inference of a workspace; made when it is opened, before anything is written."""

    def __init__(
        self,
        dataset: EvidenceDataset,
        *,
        ontology: Ontology,
        triples: Iterable[Triple],
        settings: InferenceSettings | None = None,
        file: Path | None = None,
    ) -> None:
        """Takes up where the last process ended; ``file`` is where it said so (None: this process only)."""
        self._dataset = dataset
        self._ontology = ontology
        self._triples = triples
        self._settings = settings or InferenceSettings()
        self._file = file
        self._in_line = _read(file)
        self._is_marked = self._in_line is not None
        if self._in_line is not None:
            dataset.watch()
        dataset.store.before_write = self._unmark

    @cached_property
    def rules(self) -> RuleSet:
        """The rules of the ontology; none where inference is switched off."""
        chosen = self._settings
        triples = self._triples if chosen.enabled else ()
        return rules_of(triples, domain_range=chosen.domain_range, alignments=chosen.alignments)

    def run(self) -> Inferred:
        """Brings ``graph/inferred`` in line with all other evidence.

        Raises:
            StoreError: the disk refuses; the graph is as it was.
        """
        with self._dataset.store.write_lock():
            known = self._in_line if self._in_line and self._in_line.digest == self._digest else None
            touched = self._dataset.touched() if known else None
            if known is not None and touched == ():
                return Inferred(known.total, 0, 0, incremental=True)
            if known is not None and touched is not None and len(touched) <= _MOST_CHANGED and not known.limited:
                try:
                    return self._by_change(known, touched)
                except TooManyError:
                    return self._from_scratch()
            return self._from_scratch()

    def findings(self) -> tuple[Finding, ...]:
        """What cannot be, in the whole graph: disjoint classes, several values of a functional property, and so on."""
        return self._findings(None)

    def _findings(self, subjects: Iterable[NamedNode] | None) -> tuple[Finding, ...]:
        if not self._settings.enabled:
            return ()
        return findings(self._dataset, self._ontology, self.rules.axioms, subjects=subjects)

    def why(self, triple: Triple, find_evidence: FindEvidence) -> Explanation:
        """The smallest explanation of the statement; raises as `kgplatform.inference.explaining.why` does."""
        return why(triple, dataset=self._dataset, rules=self.rules, find_evidence=find_evidence)

    def _by_change(self, known: _InLine, touched: tuple[Triple, ...]) -> Inferred:
        rules = self._applied(touched)
        most = self._settings.max_statements - known.total
        revision = changed(self._dataset, rules, self._admission, touched, most=most)
        total = known.total + len(revision.gained) - len(revision.lost)
        self._commit(revision, _InLine(self._digest, total, limited=False))
        subjects = dict.fromkeys(t.subject for t in (*touched, *revision.gained) if isinstance(t.subject, NamedNode))
        found = self._findings(subjects)
        return Inferred(total, len(revision.gained), len(revision.lost), incremental=True, findings=found)

    def _from_scratch(self) -> Inferred:
        result = concluded(self._dataset, self._applied(()), self._admission, most=self._settings.max_statements)
        held = frozenset(item.triple for item in self._dataset.store.quads(graph=self._dataset.inferred))
        revision = Revision(tuple(result.triples - held), tuple(held - result.triples))
        total = len(result.triples)
        self._commit(revision, _InLine(self._digest, total, limited=bool(result.left_out)))
        found = (*result.findings, *self._findings(None))
        return Inferred(total, len(revision.gained), len(revision.lost), incremental=False, findings=found)

    def _applied(self, touched: Iterable[Triple]) -> tuple[Rule, ...]:
        """The rules to apply: those of ``owl:sameAs`` only if the graph says, or did, that two things are one."""
        stated = (item.triple for item in self._dataset.store.quads(None, SAME_AS, None, DEFAULT_GRAPH))
        gone = (triple for triple in touched if triple.predicate == SAME_AS)
        same = any(self._admission.as_premise(item) for triples in (stated, gone) for item in triples)
        return self.rules.applied(same=same)

    def _commit(self, revision: Revision, in_line: _InLine) -> None:
        if revision.gained or revision.lost:
            self._dataset.conclude(revision.gained, revision.lost)
        self._dataset.watch()
        self._in_line = in_line
        self._mark(in_line)

    @cached_property
    def _admission(self) -> Admission:
        return Admission(self._dataset, self.rules.terms)

    @cached_property
    def _digest(self) -> str:
        return hashlib.sha256(f"{_FORMAT} {self.rules.digest} {self._settings.max_statements}".encode()).hexdigest()[
            :32
        ]

    def _mark(self, in_line: _InLine) -> None:
        if self._file is None:
            return
        self._dataset.store.flush()  # the file must not say what the disk does not hold yet
        partial = self._file.with_name(f"{self._file.name}.part")
        line = {"rules": in_line.digest, "total": in_line.total, "limited": in_line.limited}
        try:
            partial.write_text(json.dumps(line), encoding="utf-8")
            partial.replace(self._file)
        except OSError as error:
            raise StoreError(f"{self._file}: cannot be written: {error.strerror or error}") from error
        self._is_marked = True

    def _unmark(self) -> None:
        if self._is_marked and self._file is not None:
            try:
                self._file.unlink(missing_ok=True)
            except OSError as error:
                raise StoreError(f"{self._file}: cannot be removed: {error.strerror or error}") from error
            self._is_marked = False


def _read(file: Path | None) -> _InLine | None:
    """What the file says; None if there is none, or it is broken: then all is inferred anew."""
    if file is None or not file.is_file():
        return None
    try:
        line = json.loads(file.read_text(encoding="utf-8"))
        return _InLine(str(line["rules"]), int(line["total"]), limited=bool(line["limited"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
