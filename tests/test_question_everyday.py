"""Questions as people word them: everyday synonyms, idioms, whose value a number is, both of two, one another."""

# ruff: noqa: E501
from __future__ import annotations

import pytest
from test_question_builtin import Graph

from kgplatform.questions.idioms import plainly
from kgplatform.questions.wording import senses

REGATTA = """
@prefix : <http://r/> . @prefix o: <http://r/o#> . @prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
o:Sailor a owl:Class ; rdfs:label "sailor"@en . o:Crew a owl:Class ; rdfs:label "club"@en . o:Harbour a owl:Class ; rdfs:label "harbour"@en .
o:Race a owl:Class ; rdfs:label "match"@en . o:Prize a owl:Class ; rdfs:label "fee"@en .
o:sailsFor a owl:ObjectProperty ; rdfs:label "sails for"@en ; rdfs:domain o:Sailor ; rdfs:range o:Crew .
o:pupil a owl:ObjectProperty ; rdfs:label "student of"@en ; rdfs:domain o:Sailor ; rdfs:range o:Sailor .
o:rival a owl:ObjectProperty ; rdfs:label "rival of"@en ; rdfs:domain o:Crew ; rdfs:range o:Crew .
o:base a owl:ObjectProperty ; rdfs:label "home harbour"@en ; rdfs:domain o:Crew ; rdfs:range o:Harbour .
o:beside a owl:ObjectProperty ; rdfs:label "next to"@en ; rdfs:domain o:Harbour ; rdfs:range o:Harbour .
o:wonBy a owl:ObjectProperty ; rdfs:label "won by"@en ; rdfs:domain o:Race ; rdfs:range o:Crew .
o:heldIn a owl:ObjectProperty ; rdfs:label "held in"@en ; rdfs:domain o:Race ; rdfs:range o:Harbour .
o:entry a owl:ObjectProperty ; rdfs:label "entry fee"@en ; rdfs:domain o:Race ; rdfs:range o:Prize .
o:sum a owl:DatatypeProperty ; rdfs:label "amount"@en ; rdfs:domain o:Prize .
o:crowd a owl:DatatypeProperty ; rdfs:label "attendance"@en ; rdfs:domain o:Race .
o:people a owl:DatatypeProperty ; rdfs:label "population"@en ; rdfs:domain o:Harbour . o:lat a owl:DatatypeProperty ; rdfs:label "latitude"@en ; rdfs:domain o:Harbour .
o:height a owl:DatatypeProperty ; rdfs:label "height of the pier"@en ; rdfs:domain o:Harbour . o:died a owl:DatatypeProperty ; rdfs:label "year of death"@en ; rdfs:domain o:Sailor .
o:year a owl:DatatypeProperty ; rdfs:label "year"@en ; rdfs:domain o:Race .
:n a o:Harbour ; rdfs:label "Norhaven"@en ; o:people 700000 ; o:lat 60.5 ; o:height 9 ; o:beside :m .
:m a o:Harbour ; rdfs:label "Midhaven"@en ; o:people 300000 ; o:lat 55.0 ; o:height 4 ; o:beside :n, :s .
:s a o:Harbour ; rdfs:label "Suthaven"@en ; o:people 900000 ; o:lat 50.1 ; o:height 6 ; o:beside :m .
:k1 a o:Crew ; rdfs:label "Red Spinnaker"@en ; o:base :n ; o:rival :k2 . :k2 a o:Crew ; rdfs:label "Blue Keel"@en ; o:base :m . :k3 a o:Crew ; rdfs:label "Grey Oar"@en ; o:base :m .
:a a o:Sailor ; rdfs:label "Ann Moor"@en ; o:sailsFor :k1 ; o:died 1990 . :b a o:Sailor ; rdfs:label "Ben Dahl"@en ; o:sailsFor :k1 ; o:pupil :a .
:c a o:Sailor ; rdfs:label "Cid Ruhl"@en ; o:sailsFor :k2 ; o:pupil :a . :d a o:Sailor ; rdfs:label "Dot Hale"@en ; o:sailsFor :k1 ; o:pupil :c .
:r1 a o:Race ; rdfs:label "Spring Cup"@en ; o:wonBy :k1 ; o:heldIn :n ; o:crowd 500 ; o:year 2019 ; o:entry :f1 . :f1 a o:Prize ; o:sum 10 .
:r2 a o:Race ; rdfs:label "Summer Cup"@en ; o:wonBy :k1 ; o:heldIn :m ; o:crowd 900 ; o:year 2021 ; o:entry :f2 . :f2 a o:Prize ; o:sum 30 .
:r3 a o:Race ; rdfs:label "Autumn Cup"@en ; o:wonBy :k2 ; o:heldIn :m ; o:crowd 200 ; o:year 2022 ; o:entry :f3 . :f3 a o:Prize ; o:sum 20 .
"""


@pytest.fixture(scope="module")
def regatta() -> Graph:
    return Graph(REGATTA)


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("Which teams are there?", {"Red Spinnaker", "Blue Keel", "Grey Oar"}),
        ("Which game had the biggest crowd?", {"Summer Cup"}),
        ("How many residents does Midhaven have?", {"300000"}),
    ],
)
def test_everyday_words_find_what_the_ontology_calls_otherwise(regatta: Graph, question: str, values: set[str]) -> None:
    assert set(regatta.ask(question).values) == values


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("Which harbours next to Midhaven have more than 800,000 people?", {"Suthaven"}),
        ("Which of the harbours next to Midhaven has the largest population?", {"Suthaven"}),
        ("Of the harbours next to Midhaven, which one has the smallest population?", {"Norhaven"}),
        ("How many clubs with a home harbour of more than 500,000 people are there?", {"1"}),
        ("What is the total attendance of Midhaven's matches?", {"1100"}),
        ("Which matches cost more than 15?", {"Summer Cup", "Autumn Cup"}),
        ("What is the average entry fee of the matches?", {"20"}),
    ],
)
def test_a_number_is_that_of_what_is_asked_for_and_may_be_held_by_something(
    regatta: Graph, question: str, values: set[str]
) -> None:
    assert set(regatta.ask(question).values) == values


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("Which harbours are next to both Norhaven and Suthaven?", {"Midhaven"}),
        ("Which harbours are next to Norhaven as well as Suthaven?", {"Midhaven"}),
        ("Are Red Spinnaker and Blue Keel rivals?", {"Yes"}),
        ("Are Blue Keel and Red Spinnaker rivals of each other?", {"Yes"}),
        ("Are Red Spinnaker and Grey Oar rivals?", {"No"}),
        ("Who are the students of Ann Moor?", {"Ben Dahl", "Cid Ruhl"}),
        ("Pupils of Cid Ruhl", {"Dot Hale"}),
        ("Who is Dot Hale a student of?", {"Cid Ruhl"}),
    ],
)
def test_both_one_another_and_those_who_are_something_of_somebody(
    regatta: Graph, question: str, values: set[str]
) -> None:
    assert set(regatta.ask(question).values) == values


@pytest.mark.parametrize(
    ("question", "values"),
    [
        ("top two clubs by number of sailors", {"Red Spinnaker", "Blue Keel"}),
        ("Top 2 harbours by population", {"Suthaven", "Norhaven"}),
        ("Which harbours have more than half a million residents?", {"Norhaven", "Suthaven"}),
        ("Which clubs have only one sailor?", {"Blue Keel"}),
        ("Which clubs don't have a single sailor?", {"Grey Oar"}),
        ("Are there clubs without a sailor? Name them.", {"Grey Oar"}),
        ("How many sailors does a club have on average?", {"2"}),
        ("What is the average number of matches per harbour?", {"1.5"}),
        ("Which club has won most often?", {"Red Spinnaker"}),
        ("Which harbour lies furthest north?", {"Norhaven"}),
        ("What is the southernmost harbour in the world?", {"Suthaven"}),
        ("Which sailors are still alive?", {"Ben Dahl", "Cid Ruhl", "Dot Hale"}),
        ("Which matches took place in 2021 or later?", {"Summer Cup", "Autumn Cup"}),
        ("Leaving Norhaven aside, which harbour has the most people?", {"Suthaven"}),
    ],
)
def test_idioms_mean_what_their_plain_form_means(regatta: Graph, question: str, values: set[str]) -> None:
    assert set(regatta.ask(question).values) == values


@pytest.mark.parametrize(
    ("said", "plain"),
    [
        ("more than twenty-five thousand people", "more than 25000 people"),
        ("over a million", "over 1000000"),
        ("under two hundred thousand", "under 200000"),
        ("The Million Pound Hotel", "The Million Pound Hotel"),
        ("mountains over 5000 m", "mountains over 5000 metres"),
        ("hotels for 5 m dollars", "hotels for 5 m dollars"),
        ("three or more stars", "3 or more stars"),
        ("bottom 3 clubs in terms of budget", "the 3 clubs with the lowest budget"),
        ("the longest list of authors", "the most authors"),
        ("papers in the database?", "papers?"),
    ],
)
def test_idioms_are_put_into_plain_words(said: str, plain: str) -> None:
    assert plainly(said) == plain


def test_no_word_stands_for_so_many_senses_that_one_is_not_looked_up() -> None:
    assert max(len(names) for names in senses().values()) <= 6
