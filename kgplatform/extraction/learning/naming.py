"""By what name a stretch of text goes in the graph, as the examples have it: their values for what texts write."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from kgplatform.extraction.learning.aligning import squeezed
from kgplatform.extraction.learning.forms import day_of, form_of, formed, number_of

_ANY: Final = ""


@dataclass
class Namings:
    """How often what is written, in squeezed form, stands for each value; and how properties write dates and numbers.

    ``values`` is by role ("s", or "o" with the property; empty: any) and what is written.
    """

    values: dict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    forms: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def add(self, role: str, written: str, value: str) -> None:
        """Takes up one place where an example's value stands."""
        if role.startswith("o") and _is_value(written):
            self.forms[_kind(role, written)][form_of(value, written)] += 1
        else:
            for name in (role, _ANY):
                self.values[name, squeezed(written)][value] += 1

    def name(self, role: str, written: str, text: str, own: Namings | None = None) -> str:
        """The value that is written there; ``own`` is what the text itself and its like have added."""
        forms = self.forms.get(_kind(role, written))
        if forms and _is_value(written):
            return formed(written, max(sorted(forms), key=lambda form: forms[form]))
        key = squeezed(written)
        for name in (role, _ANY):
            counts: Mapping[str, int] = self.values.get((name, key), {})
            mine: Mapping[str, int] = own.values.get((name, key), {}) if own is not None else {}
            left = {value: count - mine.get(value, 0) for value, count in counts.items()}
            left = {value: count for value, count in left.items() if count > 0}
            if left:
                return max(left, key=lambda value: (_weight(left, value, key, text), value))
        return written

    def take(self, other: Namings) -> None:
        """Takes up all that another has."""
        for place, counts in other.values.items():
            self.values[place].update(counts)
        for role, counts in other.forms.items():
            self.forms[role].update(counts)

    def kept(self) -> dict[str, object]:
        """What is worth keeping, as JSON values: names that differ from what is written, and forms."""
        values = {
            f"{role}\t{key}": dict(sorted(counts.items()))
            for (role, key), counts in sorted(self.values.items())
            if counts
        }
        return {"values": values, "forms": {role: dict(sorted(forms.items())) for role, forms in self.forms.items()}}

    @classmethod
    def of(cls, kept: Mapping[str, Mapping[str, Mapping[str, int]]]) -> Namings:
        """What `kept` gave, again; raises KeyError and ValueError where it is something else."""
        found = cls()
        for key, counts in kept["values"].items():
            role, written = key.split("\t")
            found.values[role, written] = Counter(counts)
        for role, forms in kept["forms"].items():
            found.forms[role] = Counter(forms)
        return found


def _is_value(written: str) -> bool:
    return day_of(written) is not None or number_of(written) is not None


def _kind(role: str, written: str) -> str:
    """The role, with how much of a date is written: a year may be completed in another form than a day."""
    day = day_of(written)
    return f"{role} {sum(part > 0 for part in day)}" if day else role


def _weight(counts: Mapping[str, int], value: str, written: str, text: str) -> float:
    """How good a reading the value is: as often as seen, less where the text lacks what the value adds."""
    if squeezed(value) == written:
        return counts[value]
    added = [word for word in value.split() if squeezed(word) not in written]
    if not added:
        return counts[value]
    there = squeezed(text)
    return counts[value] * (0.5 + sum(squeezed(word) in there for word in added) / len(added))
