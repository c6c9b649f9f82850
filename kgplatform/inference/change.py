"""Conclusions brought in line with statements that came and went, by looking at what hangs on them only.

Delete and rederive (Gupta, Mumick & Subrahmanian, *Maintaining views incrementally*, SIGMOD 1993): what may rest on
something that is gone is taken away first, however many other reasons there are for it; then what still follows
from the rest in one step comes back, and with it, and with what is new, everything that follows from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pyoxigraph import Triple

from kgplatform.dataset import EvidenceDataset
from kgplatform.inference.rules import Rule
from kgplatform.inference.view import (
    Admission,
    View,
    bound,
    by_conclusion,
    by_premise,
    relation_of,
    solutions,
    stated,
)


@dataclass(frozen=True, slots=True)
class Revision:
    """What ``graph/inferred`` is to gain and lose; ``stated`` are those of the lost that are stated now."""

    gained: tuple[Triple, ...]
    lost: tuple[Triple, ...]
    stated: frozenset[Triple] = frozenset()


class TooManyError(Exception):
    """More conclusions than were allowed; the caller begins from scratch, where the rule to blame is found."""


class _Changing:
    """One round of deleting and rederiving."""

    def __init__(
        self,
        dataset: EvidenceDataset,
        rules: Iterable[Rule],
        admission: Admission,
        touched: Iterable[Triple],
        most: int,
    ) -> None:
        listed = tuple(rules)
        self._dataset = dataset
        self._inferred = dataset.inferred
        self._premises = by_premise(listed)
        self._conclusions = by_conclusion(listed)
        self._admission = admission
        self._most = most
        known = {t: dataset.is_stated(t) for t in touched if admission.as_premise(t)}
        self._stated = {t for t, is_stated in known.items() if is_stated}
        self._gone = dict.fromkeys(t for t, is_stated in known.items() if not is_stated)

    def revision(self) -> Revision:
        """What to change."""
        before = View(self._dataset, self._admission)
        view = before.sibling()
        doubtful = self._doubtful(before)
        view.removed = set(doubtful)
        back = [t for t in doubtful if self._admission.as_conclusion(t) and self._follows(t, view)]
        for triple in back:
            view.add(triple)
        self._follow([*back, *sorted(self._stated, key=str)], view)
        gained = [t for t in view.added if t not in doubtful or not self._was_inferred(t)]
        lost = [t for t in doubtful if t not in view.added and self._was_inferred(t)]
        stated = frozenset(t for t in self._stated if self._dataset.store.has(t, self._inferred))
        return Revision(tuple(gained), (*lost, *sorted(stated, key=str)), stated)

    def _was_inferred(self, triple: Triple) -> bool:
        """Whether ``graph/inferred`` holds what is in doubt: of what is not gone, nothing else was doubted."""
        return triple not in self._gone or self._dataset.store.has(triple, self._inferred)

    def _doubtful(self, view: View) -> dict[Triple, None]:
        """What is gone, and every conclusion that something gone may have led to."""
        doubtful = dict(self._gone)
        for triple in self._gone:
            view.add(triple)
        waiting = list(doubtful)
        while waiting:
            for conclusion in self._from(waiting.pop(), view):
                if conclusion in doubtful or conclusion in self._stated:
                    continue
                if self._dataset.store.has(conclusion, self._inferred):
                    doubtful[conclusion] = None
                    waiting.append(conclusion)
        return doubtful

    def _follow(self, waiting: list[Triple], view: View) -> None:
        """Adds all that follows from the statements."""
        while waiting:
            for conclusion in list(self._from(waiting.pop(), view)):
                if not view.holds(conclusion) and self._admission.as_conclusion(conclusion):
                    view.add(conclusion)
                    waiting.append(conclusion)
                    if len(view.added) > self._most:
                        raise TooManyError

    def _from(self, triple: Triple, view: View) -> Iterator[Triple]:
        """The conclusions of one step in which the statement is a premise."""
        for rule, atom in self._premises.get(relation_of(triple), ()):
            binding = bound(atom, triple)
            if binding is None:
                continue
            rest = tuple(other for other in rule.body if other is not atom)
            for full, _ in solutions(rest, binding, view):
                conclusion = stated(rule.head, full)
                if conclusion is not None:
                    yield conclusion

    def _follows(self, triple: Triple, view: View) -> bool:
        """Whether some rule concludes the statement in one step."""
        for rule in self._conclusions.get(relation_of(triple), ()):
            binding = bound(rule.head, triple)
            if binding is not None and next(solutions(rule.body, binding, view), None) is not None:
                return True
        return False


def changed(
    dataset: EvidenceDataset, rules: Iterable[Rule], admission: Admission, touched: Iterable[Triple], *, most: int
) -> Revision:
    """What ``graph/inferred`` gains and loses now that those statements came, went, were rejected or readmitted.

    Before they did, it must have been in line with the rest.

    Raises:
        TooManyError: there would be more than ``most`` new conclusions.
    """
    return _Changing(dataset, rules, admission, touched, most).revision()
