"""Solved questions teach words: another name for a property, tried before it is kept, kept as an ontology file."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from kgplatform import KnowledgeGraph
from kgplatform.workspace.question_settings import AskOptions, keep

ONTOLOGY = """@prefix o: <http://mill.example/o#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<http://mill.example/o> a owl:Ontology .
o:Mill a owl:Class ; rdfs:label "mill"@en, "磨坊"@zh .
o:Person a owl:Class ; rdfs:label "person"@en, "人"@zh .
o:leaseholder a owl:ObjectProperty ; rdfs:label "leaseholder"@en, "承租人"@zh ;
  rdfs:domain o:Mill ; rdfs:range o:Person .
o:architect a owl:ObjectProperty ; rdfs:label "architect"@en, "建筑师"@zh ; rdfs:domain o:Mill ; rdfs:range o:Person .
o:built a owl:DatatypeProperty ; rdfs:label "year built"@en, "建成年份"@zh ;
  rdfs:domain o:Mill ; rdfs:range xsd:integer .
"""
DATA = """@prefix o: <http://mill.example/o#> . @prefix : <http://mill.example/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
:m1 a o:Mill ; rdfs:label "Low Mill"@en ; o:leaseholder :p1 ; o:architect :p2 ; o:built 1790 .
:m2 a o:Mill ; rdfs:label "High Mill"@en ; o:leaseholder :p3 ; o:architect :p1 ; o:built 1801 .
:p1 a o:Person ; rdfs:label "Ann Hirst"@en . :p2 a o:Person ; rdfs:label "Tom Rook"@en .
:p3 a o:Person ; rdfs:label "Eve Lund"@en .
"""
QUERY = "SELECT DISTINCT ?x WHERE { <http://mill.example/m1> <http://mill.example/o#architect> ?x }"


@pytest.fixture
def workspace(tmp_path):
    (tmp_path / "mills.ttl").write_text(ONTOLOGY, encoding="utf-8")
    (tmp_path / "data.ttl").write_text(DATA, encoding="utf-8")
    with KnowledgeGraph.create(tmp_path / "kg", ontology=str(tmp_path / "mills.ttl")) as kg:
        kg.load(tmp_path / "data.ttl")
        keep("Who gribbles Low Mill?", QUERY, kg.folder)
    return tmp_path / "kg"


def test_a_solved_question_teaches_a_word_that_other_questions_are_then_read_by(workspace):
    options = AskOptions(using="builtin", measured=True)
    with KnowledgeGraph.open(workspace) as kg:
        learnt = kg.learn_questions()
        assert [(item.word.value, item.term.value) for item in learnt.words] == [
            ("gribbles", "http://mill.example/o#architect")
        ]
        assert (workspace / "ontology" / "learnt-words.ttl").exists()
    with KnowledgeGraph.open(workspace) as kg:
        found = kg.ask("What does Ann Hirst gribble?", options=options)
        assert found.values == ("High Mill",)
        assert kg.learn_questions().words == ()


def test_nothing_is_learnt_from_a_solution_that_no_word_makes_right(workspace):
    with KnowledgeGraph.open(workspace) as kg:
        (kg.folder / "sparql").joinpath("who-gribbles-low-mill.rq").unlink()
        keep("Which is the flumest?", "SELECT DISTINCT ?x WHERE { ?x <http://mill.example/o#built> 1790 }", kg.folder)
        learnt = kg.learn_questions()
    assert learnt.words == ()
    assert learnt.before == (False,)
    assert not (workspace / "ontology" / "learnt-words.ttl").exists()


def test_the_command_tells_what_was_learnt(workspace):
    command = [sys.executable, "-m", "kgplatform", "learn", "questions", "-w", str(workspace), "--format", "json"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    told = json.loads(said)
    assert (told["questions"], told["right_before"], told["right"]) == (1, 0, 1)
    assert told["words"][0]["word"] == "gribbles"
