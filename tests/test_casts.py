"""The casts that the store has not, inside queries."""

from __future__ import annotations

import pytest
from pyoxigraph import Literal

from kgplatform.store import Store


def value(expression: str) -> str | None:
    (row,) = Store.open().query(f"SELECT ({expression} AS ?x) {{}}").rows
    return row[0].value if isinstance(row[0], Literal) else None


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ('xsd:int("42")', "42"),
        ('xsd:int(" -7 ")', "-7"),
        ("xsd:int(2.9)", "2"),
        ("xsd:int(-2.9e0)", "-2"),
        ("xsd:int(true)", "1"),
        ("xsd:long(9223372036854775807)", "9223372036854775807"),
        ('xsd:nonNegativeInteger("0")', "0"),
        ("xsd:unsignedByte(255)", "255"),
        ('xsd:int("1") + 1', "2"),
        ("xsd:int(2147483648)", None),
        ("xsd:byte(-129)", None),
        ("xsd:positiveInteger(0)", None),
        ("xsd:nonPositiveInteger(1)", None),
        ('xsd:int("1.5")', None),
        ('xsd:int("三")', None),
        ('xsd:int("1"@en)', None),
        ("xsd:int(<urn:x>)", None),
        ("xsd:int(1e300)", None),
        ('xsd:int("INF"^^xsd:double)', None),
        ('xsd:int("' + "9" * 100_000 + '")', None),
    ],
)
def test_a_cast_gives_the_integer_or_an_error(expression: str, expected: str | None) -> None:
    assert value(expression) == expected


def test_a_cast_orders_and_filters() -> None:
    query = 'SELECT ?t { VALUES ?t { "10" "9" "x" } FILTER(xsd:int(?t) > 0) } ORDER BY xsd:int(?t)'
    assert [str(row[0]) for row in Store.open().query(query).rows] == ['"9"', '"10"']


def test_an_update_may_cast() -> None:
    store = Store.open()
    store.update('INSERT { <urn:a> <urn:b> ?n } WHERE { BIND(xsd:int("7") + 1 AS ?n) }')
    assert [str(quad.object) for quad in store.quads()] == ['"8"^^<http://www.w3.org/2001/XMLSchema#integer>']
