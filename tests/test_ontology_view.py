"""The view of an OWL ontology that everything else is derived from."""

from __future__ import annotations

import pytest
from pyoxigraph import NamedNode, RdfFormat

from kgplatform.errors import NotFoundError
from kgplatform.ontology import Ontology, Word, label_of, read_ontology
from kgplatform.store import parse
from kgplatform.vocab import XSD

NS = "https://example.org/o#"
HEAD = """@prefix : <https://example.org/o#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix skos: <http://www.w3.org/2004/02/skos/core#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> . @prefix core: <https://w3id.org/kgplatform/core#> .
"""
TEXT = """
<https://example.org/o> a owl:Ontology .
:Place a owl:Class ; rdfs:label "place"@en , "地点"@zh .
:Lodging a owl:Class ; rdfs:label "lodging"@en ; rdfs:subClassOf :Place .
:Hotel a owl:Class ; rdfs:label "hotel"@en , "酒店"@zh ; skos:altLabel "inn"@en , "客栈"@zh ; rdfs:subClassOf :Lodging ;
  rdfs:comment "A place to sleep."@en ; owl:hasKey ( :code ) ; owl:disjointWith :Person .
:Person a owl:Class ; rdfs:label "person"@en .
:Animal a owl:Class ; rdfs:label "animal"@en .
:Dish a owl:Class ; rdfs:label "dish"@en .
[] a owl:AllDisjointClasses ; owl:members ( :Person :Dish :Animal ) .
:Note a owl:Class ; rdfs:label "note"@en ; core:internal true .
:near a owl:ObjectProperty , owl:SymmetricProperty ; rdfs:label "near"@en ; rdfs:domain :Place ; rdfs:range :Place ;
  core:displayOrder 2 .
:within a owl:ObjectProperty , owl:TransitiveProperty ; rdfs:label "within"@en ; rdfs:domain :Place ;
  rdfs:range :Place ; owl:inverseOf :holds .
:holds a owl:ObjectProperty ; rdfs:label "holds"@en .
:price a owl:DatatypeProperty , owl:FunctionalProperty ; rdfs:label "price"@en , "价格"@zh ; rdfs:range xsd:decimal ;
  rdfs:domain [ a owl:Class ; owl:unionOf ( :Hotel :Dish ) ] ; core:unit "CNY" ; core:displayOrder 1 ;
  core:pattern "^[0-9]+$" .
:code a owl:DatatypeProperty ; rdfs:label "code"@en ; core:internal true ; rdfs:domain :Hotel ; core:displayOrder "²" .
:Audience a owl:Class ; rdfs:label "audience"@en .
:family a :Audience ; rdfs:label "family"@en , "家庭"@zh ; skos:altLabel "kids"@en .
"""


def iri(name: str) -> NamedNode:
    return NamedNode(NS + name)


def view(text: str) -> Ontology:
    return read_ontology(quad.triple for quad in parse((HEAD + text).encode(), RdfFormat.TURTLE))


@pytest.fixture(scope="module")
def ontology() -> Ontology:
    return view(TEXT)


def test_labels_come_before_other_words(ontology: Ontology) -> None:
    words = ontology.classes[iri("Hotel")].words
    assert {w.text for w in words[:2]} == {"hotel", "酒店"}
    assert {w.text for w in words[2:]} == {"inn", "客栈"}


def test_classes_know_what_is_above_and_below(ontology: Ontology) -> None:
    assert ontology.superclasses(iri("Hotel")) == {iri("Hotel"), iri("Lodging"), iri("Place")}
    assert ontology.subclasses(iri("Place")) == {iri("Hotel"), iri("Lodging"), iri("Place")}
    assert ontology.superclasses(iri("Unheard")) == {iri("Unheard")}
    assert ontology.is_a(iri("Hotel"), [iri("Place")])
    assert not ontology.is_a(iri("Place"), [iri("Hotel")])
    assert ontology.fits(iri("Place"), [iri("Hotel")])
    assert not ontology.fits(iri("Person"), [iri("Hotel")])
    assert ontology.is_a(iri("Person"), [])


def test_a_union_as_domain_stands_for_its_members(ontology: Ontology) -> None:
    price = ontology.properties[iri("price")]
    assert set(price.domains) == {iri("Hotel"), iri("Dish")}
    assert price.ranges == (NamedNode(f"{XSD}decimal"),)
    assert (price.functional, price.unit, price.pattern, price.is_object) == (True, "CNY", "^[0-9]+$", False)


def test_domain_and_range_say_who_may_relate_to_whom(ontology: Ontology) -> None:
    assert ontology.admits(iri("near"), iri("Hotel"), iri("Lodging"))
    assert not ontology.admits(iri("near"), iri("Person"), iri("Hotel"))
    assert not ontology.admits(iri("near"), iri("Hotel"), iri("Person"))
    assert ontology.admits(iri("price"), iri("Dish"))
    assert not ontology.admits(iri("unheard"), iri("Dish"))


def test_an_inverse_is_known_on_both_sides_with_its_domain(ontology: Ontology) -> None:
    holds = ontology.properties[iri("holds")]
    assert (holds.inverse, holds.domains, holds.ranges) == (iri("within"), (iri("Place"),), (iri("Place"),))
    assert ontology.properties[iri("within")].inverse == iri("holds")
    assert ontology.properties[iri("within")].transitive
    assert ontology.properties[iri("near")].symmetric


def test_disjoint_classes_are_so_below_too(ontology: Ontology) -> None:
    assert ontology.disjoint(iri("Hotel"), iri("Person"))
    assert ontology.disjoint(iri("Dish"), iri("Animal"))
    assert not ontology.disjoint(iri("Hotel"), iri("Dish"))
    assert not ontology.disjoint(iri("Hotel"), iri("Hotel"))


def test_properties_of_a_class_come_in_display_order_without_bookkeeping(ontology: Ontology) -> None:
    assert [p.iri for p in ontology.properties_of(iri("Hotel"))] == [
        iri("price"),
        iri("near"),
        iri("holds"),
        iri("within"),
    ]
    assert ontology.properties[iri("code")].order == 1000
    assert iri("Note") not in {c.iri for c in ontology.domain_classes}


def test_named_values_are_individuals(ontology: Ontology) -> None:
    family = ontology.individuals[iri("family")]
    assert family.types == (iri("Audience"),)
    assert ontology.label(iri("family"), "zh") == "家庭"
    assert Word("kids", "en") in family.words


def test_keys_comments_and_iris_are_read(ontology: Ontology) -> None:
    hotel = ontology.classes[iri("Hotel")]
    assert hotel.key == (iri("code"),)
    assert hotel.comments == (Word("A place to sleep.", "en"),)
    assert ontology.iris == ("https://example.org/o",)


def test_labels_fall_back_to_english_and_then_to_the_iri(ontology: Ontology) -> None:
    assert ontology.label(iri("Hotel"), "zh") == "酒店"
    assert ontology.label(iri("Dish"), "zh") == "dish"
    assert ontology.label(iri("pricePerNight")) == "price per night"
    assert label_of([Word("hotel", "en-GB"), Word("Hotel", "de")], "fr", "x") == "hotel"


@pytest.mark.parametrize("name", ["hotel", "Hotel", "酒店", "INN", f"{NS}Hotel"])
def test_a_class_is_found_by_any_of_its_names(ontology: Ontology, name: str) -> None:
    assert ontology.class_named(name).iri == iri("Hotel")


def test_a_class_that_does_not_exist_is_not_found(ontology: Ontology) -> None:
    with pytest.raises(NotFoundError, match="no class is called 'boat'"):
        ontology.class_named("boat")


def test_cycles_and_broken_lists_end() -> None:
    found = view(""":A a owl:Class ; rdfs:label "a" ; rdfs:subClassOf :B . :B a owl:Class ; rdfs:label "b" ;
      rdfs:subClassOf :A , :B . :A owl:hasKey :l . :l <http://www.w3.org/1999/02/22-rdf-syntax-ns#rest> :l .""")
    assert found.superclasses(iri("A")) == {iri("A"), iri("B")}
    assert found.classes[iri("A")].key == ()


def test_the_order_of_the_triples_makes_no_difference() -> None:
    triples = [quad.triple for quad in parse((HEAD + TEXT).encode(), RdfFormat.TURTLE)]
    assert read_ontology(triples) == read_ontology(reversed(triples))


def test_a_datatype_with_facets_counts_as_the_one_it_restricts() -> None:
    found = view(""":Rock a owl:Class ; rdfs:label "rock" .
      :percent a rdfs:Datatype ; owl:equivalentClass [ a rdfs:Datatype ; owl:onDatatype xsd:integer ;
        owl:withRestrictions ( [ xsd:maxInclusive 100 ] ) ] .
      :share a owl:DatatypeProperty ; rdfs:domain :Rock ; rdfs:range :percent .
      :part a owl:DatatypeProperty ; rdfs:domain :Rock ;
        rdfs:range [ a rdfs:Datatype ; owl:onDatatype xsd:decimal ;
          owl:withRestrictions ( [ xsd:minInclusive 0 ] ) ] .""")
    assert found.properties[iri("share")].ranges == (NamedNode(f"{XSD}integer"),)
    assert found.properties[iri("part")].ranges == (NamedNode(f"{XSD}decimal"),)


def test_a_restriction_or_complement_is_no_parent_and_no_range() -> None:
    found = view(""":Rock a owl:Class ; rdfs:label "rock" ;
        rdfs:subClassOf :Thing , [ a owl:Restriction ; owl:onProperty :on ; owl:someValuesFrom :Thing ] .
      :Thing a owl:Class ; rdfs:label "thing" .
      :on a owl:ObjectProperty ; rdfs:domain :Rock ; rdfs:range [ a owl:Class ; owl:complementOf :Rock ] .""")
    assert found.classes[iri("Rock")].parents == (iri("Thing"),)
    assert found.properties[iri("on")].ranges == ()
