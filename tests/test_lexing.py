"""The scan before the parser: it must be linear, never fail, and never see less than the parser does."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgplatform.lexing import MAX_CHARACTERS, read_only_issues, scan, triple_nesting

PIECES = (
    *('"', "'", '"""', "'''", "\\", "\n", "\r", " ", "#", "<", ">", "<<", ">>", "{", "}", "(", ")", "[", "]"),
    *("SELECT", "SERVICE", "LOAD", "INSERT DATA", "ex:a", ":", "?x", "$y", "*", "@en", "<http://a>", "_:b", "西", "^^"),
)


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=60).map("".join))
def test_a_scan_never_fails(text: str) -> None:
    seen = scan(text)
    assert seen.form in ("", "SELECT", "ASK", "CONSTRUCT", "DESCRIBE", "UPDATE")
    assert isinstance(read_only_issues(text), tuple)
    assert triple_nesting(text) >= 0


HEADS = (
    "PREFIX ex: <http://x/> ",
    "prefix :<a>",
    "PREFIX a-b:\n<b>\t",
    "PREFIX ex: #c\n<b> ",
    "PREFIX é: <c>",
    "PREFIX",
)


@given(
    st.lists(st.sampled_from(HEADS), max_size=4).map("".join),
    st.lists(st.sampled_from(PIECES) | st.text(max_size=4), max_size=20).map("".join),
)
def test_prefixes_read_at_once_are_seen_as_those_read_one_by_one(head: str, rest: str) -> None:
    one, other = scan(head + rest), scan(f"#\n{head}{rest}")  # behind a comment they are read one by one
    if other.star >= 0:
        other = replace(other, star=other.star - 2)
    assert one == other


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("SELECT * { ?s ?p ?o }", "SELECT"),
        ("prefix select: <http://x/> # insert\nBASE <http://y/> ask {}", "ASK"),
        ("PREFIX ex: <http://x/> CONSTRUCT WHERE { ?s ?p ?o }", "CONSTRUCT"),
        ("describe <http://x/INSERT>", "DESCRIBE"),
        ("INSERT DATA { <a:a> <a:b> 'SELECT' }", "UPDATE"),
        ("WITH <g:g> DELETE { ?s ?p ?o } WHERE { ?s ?p ?o }", "UPDATE"),
        ("", ""),
        ("hello world", ""),
    ],
)
def test_the_form_is_told_by_the_first_keyword(text: str, form: str) -> None:
    assert scan(text).form == form


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { ?s ?p 'SERVICE' }",
        'SELECT * { ?s ?p """a SERVICE "quoted" SERVICE""" }',
        "SELECT * { ?s ?p 'it\\'s SERVICE' }",
        "SELECT * { ?s ?p ?o } # SERVICE <http://x/>",
        "SELECT * { ?s <http://x/SERVICE> ?o }",
        "SELECT * { ?s ex:SERVICE ?service }",
        "SELECT * { ?s ?p 'x'@service }",
        "SELECT * { ?s service:offers ?o }",
    ],
)
def test_words_in_strings_comments_iris_and_names_are_no_keywords(text: str) -> None:
    assert read_only_issues(text) == ()


SERVICE = "SERVICE <http://127.0.0.1/> { ?a ?b ?c }"


@pytest.mark.parametrize(
    "text",
    [
        f"SELECT * {{ {SERVICE} }}",
        "SELECT * { service silent ?x { ?a ?b ?c } }",
        f"SELECT * {{ ?s ex:a\\' ?o . {SERVICE} ?s ex:b\\' ?z }}",
        f"SELECT * {{ # comment\r {SERVICE} }}",
        "SELECT * { SERVICE:x # why\n { ?a ?b ?c } }",
        "SELECT * { ?s ?p true.SERVICE<http://127.0.0.1/>{} }",
        f'SELECT * {{ VALUES ?x {{ """a" }} {SERVICE} }}',
        f"SELECT * {{ ?s <http://a\\u0041'b> ?o . {SERVICE} ?s ?p '' }}",
        f"SELECT * {{ ?s ?p ?o FILTER(?o<'>' || EXISTS {{ {SERVICE} }} || ?o = '') }}",
        f"SELECT * {{ ?s ?p ?o FILTER(?o<#> '''\n 3) {SERVICE} }} #'''",
        "LOAD:x",
    ],
)
def test_a_service_call_cannot_be_hidden(text: str) -> None:
    assert read_only_issues(text)


@pytest.mark.parametrize(
    "bomb",
    [
        "SELECT * " + "{" * 5000 + "}" * 5000,
        "SELECT * { FILTER(" + "(" * 5000 + "1" + ")" * 5000 + ") }",
        "SELECT * { ?s ?p " + "[ ?p " * 5000 + "]" * 5000 + "}",
        "SELECT * { ?s ex:a\\' ?o " + "{" * 5000 + "}" * 5000 + " ?s ex:b\\' ?o }",
        "SELECT * { FILTER(?o<" + "(" * 5000 + "1" + ")" * 5000 + ">2) }",
        "SELECT * { ?s ?p " + "<< ?a ?b " * 5000 + "1" + " >>" * 5000 + " }",
        "SELECT * { " + "OPTIONAL { ?s ?p ?o } " * 5000 + "}",
        "SELECT * { FILTER(1" + "+1" * 20000 + ") }",
        "SELECT * { " + "?s ?p ?o . " * 20000 + "}",
        "DELETE WHERE { " + "?s ?p ?o . " * 20000 + "}",
    ],
)
def test_what_would_end_the_parser_is_refused(bomb: str) -> None:
    assert scan(bomb).issues


def test_five_thousand_deep_is_named_in_the_refusal() -> None:
    (issue,) = scan("SELECT * " + "{" * 5000 + "}" * 5000).issues
    assert issue == "the query nests 5000 deep; 200 is allowed"


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { ?s ?p ?o FILTER(?o < 5 && ?o<(3+4)) }",
        "SELECT * { ?s <#p> <#q> }",
        "SELECT * { VALUES (?a ?b) { (<urn:x#1> <urn:x#2>) ('a' <#y>) } }",
        "SELECT * { ?s (<http://x/a(b)>|<http://x/c#d>) ?o }",
        "SELECT * { ?s ?p <http://dbpedia.org/resource/Xi'an_(city)> }",
        "SELECT * { VALUES ?x { " + "<http://x/1> " * 5000 + "} }",
        "SELECT * { ?s ?p '" + "{" * 5000 + "' }",
        "INSERT DATA { " + "<http://x/s> <http://x/p> <http://x/o> . " * 20000 + "}",
    ],
)
def test_ordinary_text_is_let_through(text: str) -> None:
    assert scan(text).issues == ()


def test_a_text_of_more_than_a_million_characters_is_refused_unread() -> None:
    (issue,) = scan("x" * (MAX_CHARACTERS + 1)).issues
    assert "1,000,001 characters" in issue
    assert scan("#" * MAX_CHARACTERS).issues == ()


def test_more_tokens_than_allowed_are_refused() -> None:
    assert any("tokens" in issue for issue in scan("SELECT * {" + " 1" * 200_001).issues)


@pytest.mark.parametrize(
    "piece",
    [
        *('"', "'", '"""', "'''", '\\"', '\\"""\n', '"abc\n', '"a\\"', "'''\\", '"""\\"', "a-", "a.", "a", "-a:"),
        *("<", "<a", "<(", "<\\u0041", "<<", ":", "%:", "@a-", "#", "SERVICE:a ", "SERVICE:a # {\n", "?", "?a", "\\"),
        *("{", "}", "[", "西", "ex:a\\'", "\n\n"),
    ],
)
def test_hostile_text_takes_linear_time(piece: str) -> None:
    text = piece * (300_000 // len(piece))
    started = time.perf_counter()
    scan(text)
    assert time.perf_counter() - started < 15


def test_select_all_and_the_order_of_variables_are_seen() -> None:
    seen = scan("SELECT DISTINCT * { ?z ?p 'text ?no' . ?a ?p $z } # ?never")
    assert seen.selects_all
    assert seen.variables == ("z", "p", "a")
    assert not scan("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }").selects_all
    assert not scan("SELECT ?s { { SELECT * { ?s ?p ?o } } }").selects_all


def test_updates_are_refused_on_a_read_only_path() -> None:
    (issue,) = read_only_issues("DROP ALL")
    assert "kgplatform update" in issue
