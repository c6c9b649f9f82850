"""What literals look like: of which datatype all are, whether they tell things apart, and some examples."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pyoxigraph import Literal, NamedNode

from kgplatform.documents.tabular.profile import ColumnProfile, ValueType, samples_of, type_of
from kgplatform.vocab import (
    RDF,
    XSD_BOOLEAN,
    XSD_DATE,
    XSD_DATETIME,
    XSD_DECIMAL,
    XSD_GYEAR,
    XSD_INTEGER,
    XSD_STRING,
)

_LANG_STRING = NamedNode(f"{RDF}langString")
_EXAMPLES = 2
_DATATYPES = {
    ValueType.INTEGER: XSD_INTEGER,
    ValueType.DECIMAL: XSD_DECIMAL,
    ValueType.BOOLEAN: XSD_BOOLEAN,
    ValueType.DATE: XSD_DATE,
    ValueType.DATE_TIME: XSD_DATETIME,
    ValueType.G_YEAR: XSD_GYEAR,
    ValueType.CODE: XSD_STRING,
    ValueType.TEXT: XSD_STRING,
}


@dataclass(frozen=True, slots=True)
class Profile:
    """What is common to values: their datatype, whether no two are equal, and some of them as examples."""

    datatype: NamedNode
    count: int
    distinct: int
    examples: tuple[str, ...]

    @property
    def is_unique(self) -> bool:
        """Whether every value occurs once."""
        return self.count > 1 and self.count == self.distinct


def of_column(column: ColumnProfile) -> Profile:
    """The profile of a column's values as those of a property."""
    return Profile(_DATATYPES[column.type], column.values, column.distinct, column.samples[:_EXAMPLES])


def of_literals(literals: Sequence[Literal], name: str) -> Profile:
    """The profile of literals: the datatype that most say; plain text is looked at as cells are."""
    texts = [item.value for item in literals]
    if any(item.language for item in literals):
        return _profile(_LANG_STRING, texts)
    said = Counter(item.datatype for item in literals)
    if len(said) == 1 and XSD_STRING in said:
        cells = [text.strip() for text in texts if text.strip()]
        return _profile(_DATATYPES[type_of(cells, name)], cells)
    if {XSD_INTEGER, XSD_DECIMAL} == said.keys():
        return _profile(XSD_DECIMAL, texts)
    return _profile(said.most_common(1)[0][0] if len(said) == 1 else XSD_STRING, texts)


def _profile(datatype: NamedNode, texts: Sequence[str]) -> Profile:
    return Profile(datatype, len(texts), len(set(texts)), samples_of(texts)[:_EXAMPLES])
