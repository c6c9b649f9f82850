"""Results as notebooks take them: typed values, data frames, small tables of HTML."""

import subprocess
import sys
from datetime import UTC, date, datetime
from decimal import Decimal

import pytest
from interfaces import asked_workspace
from pyoxigraph import BlankNode, Literal, NamedNode

from kgplatform.errors import ConfigError
from kgplatform.graph import KnowledgeGraph
from kgplatform.types import Answer, Evidence, Question, Solutions, Verdict
from kgplatform.vocab import XSD

EVIL = '<script>alert("x")</script>'


def typed(text, kind):
    return Literal(text, datatype=NamedNode(f"{XSD}{kind}"))


ROWS = (
    (NamedNode("http://example.org/a#b"), Literal(1), typed("1.5", "decimal"), typed("2026-01-31", "date")),
    (BlankNode("n"), None, None, None),
    (Literal("乌镇", language="zh"), typed("2", "gYear"), typed("2.5", "double"), typed("0476-09-04", "date")),
)
FOUND = Solutions(("thing", "count", "size", "day"), ROWS)


def test_values_are_typed_and_what_is_ill_typed_stays_text():
    assert FOUND.values()[0] == ("http://example.org/a#b", 1, Decimal("1.5"), date(2026, 1, 31))
    assert FOUND.values()[1] == ("_:n", None, None, None)
    odd = (
        *(typed("many", "integer"), typed("9" * 5000, "integer"), typed("31 May", "date"), typed("x", "decimal")),
        *(typed("true", "boolean"), typed("2026-01-31T12:00:00Z", "dateTime"), typed("-0044-03-15", "date")),
    )
    (values,) = Solutions(tuple("abcdefg"), (odd,)).values()
    assert values[:4] == ("many", "9" * 5000, "31 May", "x")
    assert values[4:] == (True, datetime(2026, 1, 31, 12, tzinfo=UTC), "-0044-03-15")


def test_pandas_columns_have_the_type_of_their_values():
    frame = FOUND.to_pandas()
    assert list(frame.columns) == ["thing", "count", "size", "day"]
    assert [str(dtype) for dtype in frame.dtypes] == ["object", "Int64", "Float64", "datetime64[us]"]
    assert frame["count"].sum() == 3
    assert frame["day"].dt.year.tolist()[0::2] == [2026.0, 476.0]
    assert frame["count"].isna().tolist() == [False, True, False]
    assert frame["thing"].tolist() == ["http://example.org/a#b", "_:n", "乌镇"]


def test_polars_columns_have_the_type_of_their_values():
    polars = pytest.importorskip("polars")
    frame = FOUND.to_polars()
    assert frame.dtypes == [polars.String, polars.Int64, polars.Float64, polars.Date]
    assert frame["size"].to_list() == [1.5, None, 2.5]
    zoned = Solutions(("t",), ((typed("2026-01-31T12:00:00+02:00", "dateTime"),), (None,))).to_polars()
    assert zoned["t"].to_list() == [datetime(2026, 1, 31, 10, tzinfo=UTC), None]


def test_without_polars_the_way_out_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    with pytest.raises(ConfigError, match=r"pip install 'kgplatform\[polars\]'"):
        FOUND.to_polars()


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ((Literal(1), Literal("a")), "object"),
        ((typed(str(1 << 70), "integer"), Literal(1)), "object"),
        ((Literal(1), Literal(1.5)), "Float64"),
        ((typed("true", "boolean"), None), "boolean"),
        ((typed("2026-01-31T12:00:00+02:00", "dateTime"), None), "datetime64[us, UTC]"),
        ((None, None), "object"),
    ],
)
def test_mixed_large_and_empty_columns_keep_their_values(values, dtype):
    frame = Solutions(("x",), tuple((value,) for value in values)).to_pandas()
    assert str(frame["x"].dtype) == dtype
    assert len(frame) == 2


def test_nothing_found_one_name_twice_and_an_ask_are_frames_too():
    assert Solutions(("a", "b")).to_pandas().shape == (0, 2)
    assert list(Solutions(("a", "b")).to_pandas().columns) == ["a", "b"]
    assert Solutions(boolean=True).to_pandas().to_dict("list") == {"boolean": [True]}
    assert Solutions(boolean=False)._repr_html_() == "<p>false</p>"


def test_tables_are_escaped_and_cut():
    rows = ((Literal(EVIL), NamedNode("javascript:alert(1)"), NamedNode("http://example.org/a?b='&c")),)
    html = Solutions((EVIL, "b", "c"), rows)._repr_html_()
    assert "<script" not in html
    assert 'href="javascript' not in html
    assert 'href="http://example.org/a?b=&#x27;&amp;c"' in html
    many = Solutions(("n",), tuple((Literal(n),) for n in range(100)), truncated=True)._repr_html_()
    assert many.count("<tr>") == 21
    assert "1–20 / 100+" in many
    long = Solutions(("n",), ((Literal("长" * 10_000),),))._repr_html_()
    assert len(long) < 1_000


def test_an_answer_and_an_entity_are_shown_with_their_sources(tmp_path):
    with KnowledgeGraph(asked_workspace(tmp_path / "w")) as kg:
        answer = kg.ask("How many rooms does Lakeside Inn have?")
        html = answer._repr_html_()
        assert "24" in html
        assert "<blockquote>" in html
        assert answer.to_pandas().shape[0] == 1
        view = kg.show("Lakeside Inn")
        frame = view.to_pandas()
        assert list(frame.columns) == ["property", "value", "unit", "passages"]
        (rooms,) = frame[frame["property"] == "room count"].to_dict("records")
        assert (rooms["value"], rooms["passages"]) == (24, 1)
        assert "Lakeside Inn" in view._repr_html_()
        chinese = kg.show("通安客栈", language="zh")
        assert "客房数" in chinese._repr_html_() or "房间" in chinese._repr_html_()


def test_an_answer_from_elsewhere_is_escaped():
    nowhere = NamedNode("urn:x")
    evidence = (Evidence(nowhere, nowhere, EVIL, EVIL, EVIL, 0, 1),)
    answer = Answer(EVIL, Question(EVIL, "en"), Verdict.ANSWERED, 1.0, "sparql", evidence=evidence)
    assert "<script" not in answer._repr_html_()
    assert "&lt;script" in answer._repr_html_()


def test_importing_the_package_imports_none_of_it():
    code = (
        "import sys, kgplatform; from kgplatform import Answer, KnowledgeGraph\n"
        "print([name for name in ('pandas', 'polars', 'rdflib', 'kgplatform.interop', 'langchain_core', 'llama_index')"
        " if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
