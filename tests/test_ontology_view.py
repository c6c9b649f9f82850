"""The view of an OWL ontology that everything else is derived from."""

import pytest
from pyoxigraph import NamedNode, RdfFormat

from kgplatform.errors import NotFoundError
from kgplatform.ontology.schema import Word, label_of, read_ontology
from kgplatform.store.oxigraph import parse
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
:Hotel a owl:Class ; rdfs:label "hotel"@en , "酒店"@zh ; skos:altLabel "inn"@en , "客栈"@zh ;
  rdfs:subClassOf :Lodging ; rdfs:comment "A place to sleep."@en ; owl:hasKey ( :code ) ; owl:disjointWith :Person .
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
:code a owl:DatatypeProperty ; rdfs:label "code"@en ; core:internal true ; rdfs:domain :Hotel ;
  core:displayOrder "²" .
:Audience a owl:Class ; rdfs:label "audience"@en .
:family a :Audience ; rdfs:label "family"@en , "家庭"@zh ; skos:altLabel "kids"@en .
"""


def iri(name):
    return NamedNode(NS + name)


def view(text):
    return read_ontology(quad.triple for quad in parse((HEAD + text).encode(), RdfFormat.TURTLE))


@pytest.fixture(scope="module")
def ontology():
    return view(TEXT)


def test_classes_have_their_words_keys_and_what_is_above_and_below(ontology):
    hotel = ontology.classes[iri("Hotel")]
    assert [{w.text for w in part} for part in (hotel.words[:2], hotel.words[2:])] == [
        {"hotel", "酒店"},
        {"inn", "客栈"},
    ]
    assert (hotel.key, hotel.comments) == ((iri("code"),), (Word("A place to sleep.", "en"),))
    assert ontology.iris == ("https://example.org/o",)
    assert ontology.superclasses(iri("Hotel")) == {iri("Hotel"), iri("Lodging"), iri("Place")}
    assert ontology.subclasses(iri("Place")) == {iri("Hotel"), iri("Lodging"), iri("Place")}
    assert ontology.superclasses(iri("Unheard")) == {iri("Unheard")}
    assert ontology.is_a(iri("Hotel"), [iri("Place")])
    assert not ontology.is_a(iri("Place"), [iri("Hotel")])
    assert ontology.fits(iri("Place"), [iri("Hotel")])
    assert not ontology.fits(iri("Person"), [iri("Hotel")])
    assert ontology.is_a(iri("Person"), [])
    family = ontology.individuals[iri("family")]
    assert (family.types, Word("kids", "en") in family.words) == ((iri("Audience"),), True)


def test_labels_fall_back_to_english_and_then_to_the_iri(ontology):
    asked = (("Hotel", "zh"), ("family", "zh"), ("Dish", "zh"), ("pricePerNight", "en"))
    assert [ontology.label(iri(name), language) for name, language in asked] == [
        "酒店",
        "家庭",
        "dish",
        "price per night",
    ]
    assert label_of([Word("hotel", "en-GB"), Word("Hotel", "de")], "fr", "x") == "hotel"


def test_properties_say_who_may_relate_to_whom(ontology):
    price, holds = ontology.properties[iri("price")], ontology.properties[iri("holds")]
    assert set(price.domains) == {iri("Hotel"), iri("Dish")}  # a union stands for its members
    assert price.ranges == (NamedNode(f"{XSD}decimal"),)
    assert (price.functional, price.unit, price.pattern, price.is_object) == (True, "CNY", "^[0-9]+$", False)
    assert (holds.inverse, holds.domains, holds.ranges) == (iri("within"), (iri("Place"),), (iri("Place"),))
    assert ontology.properties[iri("within")].inverse == iri("holds")
    assert ontology.properties[iri("within")].transitive
    assert ontology.properties[iri("near")].symmetric
    for name, ends, is_admitted in (
        ("near", ("Hotel", "Lodging"), True),
        ("near", ("Person", "Hotel"), False),
        ("near", ("Hotel", "Person"), False),
        ("price", ("Dish",), True),
        ("unheard", ("Dish",), False),
    ):
        assert ontology.admits(iri(name), *map(iri, ends)) is is_admitted
    in_order = [iri(name) for name in ("price", "near", "holds", "within")]  # without bookkeeping
    assert [p.iri for p in ontology.properties_of(iri("Hotel"))] == in_order
    assert ontology.properties[iri("code")].order == 1000
    assert iri("Note") not in {c.iri for c in ontology.domain_classes}


def test_disjoint_classes_are_so_below_too(ontology):
    pairs = (("Hotel", "Person"), ("Dish", "Animal"), ("Hotel", "Dish"), ("Hotel", "Hotel"))
    assert [ontology.disjoint(iri(one), iri(other)) for one, other in pairs] == [True, True, False, False]


def test_a_class_is_found_by_any_of_its_names(ontology):
    for name in ("hotel", "Hotel", "酒店", "INN", f"{NS}Hotel"):
        assert ontology.class_named(name).iri == iri("Hotel")
    with pytest.raises(NotFoundError, match="no class is named 'boat'"):
        ontology.class_named("boat")


def test_cycles_and_broken_lists_end():
    found = view(""":A a owl:Class ; rdfs:label "a" ; rdfs:subClassOf :B . :B a owl:Class ; rdfs:label "b" ;
      rdfs:subClassOf :A , :B . :A owl:hasKey :l . :l <http://www.w3.org/1999/02/22-rdf-syntax-ns#rest> :l .""")
    assert found.superclasses(iri("A")) == {iri("A"), iri("B")}
    assert found.classes[iri("A")].key == ()


def test_the_order_of_the_triples_makes_no_difference():
    triples = [quad.triple for quad in parse((HEAD + TEXT).encode(), RdfFormat.TURTLE)]
    assert read_ontology(triples) == read_ontology(reversed(triples))


def test_a_restricted_datatype_counts_as_its_own_and_a_restricted_class_is_no_parent_and_no_range():
    found = view(""":Rock a owl:Class ; rdfs:label "rock" ;
        rdfs:subClassOf :Thing , [ a owl:Restriction ; owl:onProperty :on ; owl:someValuesFrom :Thing ] .
      :Thing a owl:Class ; rdfs:label "thing" .
      :on a owl:ObjectProperty ; rdfs:domain :Rock ; rdfs:range [ a owl:Class ; owl:complementOf :Rock ] .
      :percent a rdfs:Datatype ; owl:equivalentClass [ a rdfs:Datatype ; owl:onDatatype xsd:integer ;
        owl:withRestrictions ( [ xsd:maxInclusive 100 ] ) ] .
      :share a owl:DatatypeProperty ; rdfs:domain :Rock ; rdfs:range :percent .
      :part a owl:DatatypeProperty ; rdfs:domain :Rock ; rdfs:range [ a rdfs:Datatype ;
        owl:onDatatype xsd:decimal ; owl:withRestrictions ( [ xsd:minInclusive 0 ] ) ] .""")
    assert found.classes[iri("Rock")].parents == (iri("Thing"),)
    ranges = [found.properties[iri(name)].ranges for name in ("on", "share", "part")]
    assert ranges == [(), (NamedNode(f"{XSD}integer"),), (NamedNode(f"{XSD}decimal"),)]
