"""Learning to extract from annotated examples, in English and Chinese, and measuring extraction."""

import json
from dataclasses import replace

import pytest
from pyoxigraph import NamedNode
from test_builtin_extraction import said

from kgplatform.cli.main import main
from kgplatform.errors import ReadError, WorkspaceError
from kgplatform.evaluation.metrics import ratio
from kgplatform.evaluation.triples import GoldText, ReadText, report, score
from kgplatform.extraction.builtin import BuiltinExtractor
from kgplatform.extraction.learnt import reader as saving
from kgplatform.extraction.learnt.examples import (
    AnnotatedExample,
    ExampleFact,
    TermNames,
    day_of,
    form_of,
    formed,
    number_of,
    read_examples,
)
from kgplatform.extraction.learnt.fit import thresholds_of, train
from kgplatform.extraction.learnt.reader import Namings
from kgplatform.extraction.learnt.stretches import WordRanges, learn_aliases, words_of
from kgplatform.extraction.sentence_network import carried_network
from kgplatform.graph import KnowledgeGraph
from kgplatform.types import Chunk, Document
from kgplatform.vocab import local_name
from kgplatform.workspace.review import FILE
from tests.turtle import PREFIXES, ontology_of

TERMS = """
:Bridge a owl:Class ; rdfs:label "bridge"@en, "桥"@zh .
:Person a owl:Class ; rdfs:label "person"@en .
:River a owl:Class ; rdfs:label "river"@en .
:author a owl:ObjectProperty ; rdfs:domain :Bridge ; rdfs:range :Person ; rdfs:label "was the work of"@en .
:spans a owl:ObjectProperty ; rdfs:domain :Bridge ; rdfs:range :River ; rdfs:label "spans"@en .
:opened a owl:DatatypeProperty ; rdfs:domain :Bridge ; rdfs:range xsd:date ; rdfs:label "opening day"@en .
:size a owl:DatatypeProperty ; rdfs:domain :Bridge ; rdfs:range xsd:decimal ; rdfs:label "size"@en .
:note a rdf:Property ; rdfs:domain :Bridge ; rdfs:label "note"@en .
"""
IRI = "http://example.org/o#"
BRIDGES = ["Alder", "Birch", "Cedar", "Dover", "Elgin", "Fulham", "Galway", "Harlow", "Irvine", "Jarrow", "Kendal"]
PEOPLE = ("Ada Moss", "Ben Hart", "Cora Lund", "Dan Frost", "Eve Stone", "Finn Gale", "Gus Reed", "Hal Wood")
RIVERS = ("Tarn", "Wye", "Oder", "Ebro", "Saale", "Isar", "Loire")


def english():
    lines = []
    for n in range(60):
        bridge, person = f"{BRIDGES[n % 11]} Bridge", PEOPLE[(n * 3 + n // 12) % 8]
        river, metres = RIVERS[(n * 2 + n // 7) % 7], 100 + 7 * n
        made, across = [bridge, "author", person], [bridge, "spans", river]
        opened = [bridge, IRI + "opened", f"{1800 + n}-05-{1 + n % 28:02d}"]
        text, triples = (
            (f"{bridge} was conceived by {person} and crosses the {river}.", [made, across]),
            (f"The {river} is crossed by {bridge}, which {person} conceived.", [made, across]),
            (f"With {metres} metres of deck, {bridge} crosses the {river}.", [across, [bridge, "size", str(metres)]]),
            (f"{bridge} welcomed its first carts on {1 + n % 28} May {1800 + n}.", [opened]),
        )[n % 4]
        lines.append({"text": text, "triples": triples})
    return lines


def chinese():
    bridges = ("通济桥", "广济桥", "永安桥", "长虹桥", "望仙桥", "太平桥", "迎恩桥", "万年桥", "放生桥", "宝带桥")
    people = ("李春", "王安石", "张思道", "陈子昂", "赵孟頫", "林则徐", "苏东坡")
    lines = []
    for n in range(40):
        bridge, person = bridges[n % 10], people[(n * 3 + n // 10) % 7]
        text = f"{bridge}出自{person}之手。" if n % 2 else f"据说{person}设计了{bridge}。"
        lines.append({"text": text, "triples": [[bridge, "author", person]]})
    return lines


def ontology():
    return ontology_of(TERMS)


def written(path, lines):
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def learnt(tmp_path_factory):
    path = written(tmp_path_factory.mktemp("learn") / "examples.jsonl", [*english()[:40], *chinese()[:20]])
    return train(read_examples(path, ontology()).examples, ontology())


def read(text, learnt, terms=None):
    iri = NamedNode("http://example.org/document/1")
    document = Document(iri, text, "", "text/plain", "note.txt", "0" * 64, "en")
    chunk = Chunk(NamedNode(f"{iri.value}/chunk/0"), iri, 0, 0, len(text), text)
    return BuiltinExtractor(terms or ontology(), learnt=learnt).extract(chunk, document)


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("Morden Bridge was conceived by Ivy Dale and crosses the Nidda.",
         {("Morden Bridge", "author", "Ivy Dale"), ("Morden Bridge", "spans", "Nidda")}),
        ("青龙桥出自李白之手。", {("青龙桥", "author", "李白")}),
        ("据说杜甫设计了白虎桥。", {("白虎桥", "author", "杜甫")}),
        ("With 640 metres of deck, Morden Bridge crosses the Nidda.", {("Morden Bridge", "size", "640")}),
        ("Please bring warm clothes and enough water, the way is long. 请带好水和衣服。", set()),
        ("", set()),
    ],
)  # fmt: skip
def test_it_reads_what_its_examples_teach(learnt, text, facts):
    found = said(read(text, learnt))
    assert found >= facts
    assert bool(found) == bool(facts)


def test_most_of_that_is_not_read_without_examples():
    assert not said(read("据说杜甫设计了白虎桥。", None))
    assert not said(read("Ivy Dale is behind Morden Bridge.", None))


def test_what_words_of_the_ontology_say_is_offered_without_examples_and_read_with_them(learnt):
    text, fact = "Morden Bridge was opened on 3 May 1911.", ("Morden Bridge", "opened", "1911-05-03")
    alone = read(text, None)
    assert fact in said(alone) | said(replace(alone, claims=alone.candidates))
    assert fact in said(read(text, learnt))


def test_claims_keep_their_place_and_class_in_a_longer_document(learnt):
    text = "A walk in spring.\n\nIt rained. Morden Bridge was conceived by Ivy Dale and crosses the Nidda.\n\nWe left."
    extraction = read(text, learnt)
    claims = [claim for claim in extraction.claims if local_name(claim.predicate.value) == "author"]
    assert extraction.method == "learnt"
    assert len(claims) == 1
    assert "conceived by Ivy Dale" in text[claims[0].start : claims[0].end]
    assert 0 < claims[0].confidence <= 1
    for mention, class_ in ((claims[0].subject, "Bridge"), (claims[0].object, "Person")):
        assert text[mention.start : mention.end] == mention.text
        assert local_name(mention.type.value) == class_


def test_a_property_without_a_range_is_read_once_it_is_taught_and_with_shipped_thresholds_where_little_tells(tmp_path):
    names = ("Old Rib", "Iron Maid", "Long Mary", "Grey Lady", "Fat Boy", "Blue Arch", "Red Comb", "Thin Jack")
    lines = [
        {"text": f"Locals know {bridge} Bridge as the {name}.", "triples": [[f"{bridge} Bridge", "note", name]]}
        for bridge, name in zip(BRIDGES, names, strict=False)
    ]
    taught = train(read_examples(written(tmp_path / "few.jsonl", lines), ontology()).examples, ontology())
    text = "Locals know Morden Bridge as the Stone Uncle."
    assert not said(read(text, None))
    assert said(read(text, taught)) == {("Morden Bridge", "note", "Stone Uncle")}
    assert taught.thresholds == carried_network().thresholds


def test_a_name_is_of_the_class_that_examples_tell_where_nothing_else_does(tmp_path):
    terms = """:Place a owl:Class ; rdfs:label "place"@en . :Person a owl:Class ; rdfs:label "person"@en .
        :Mill a owl:Class ; rdfs:subClassOf :Place ; rdfs:label "mill"@en .
        :keeper a owl:ObjectProperty ; rdfs:domain :Place ; rdfs:range :Person ; rdfs:label "keeper"@en ."""
    names = (
        "Dusty Yard",
        "Old Acre",
        "Grey Barrow",
        "Long Furrow",
        "Wet Corner",
        "Tall Hedge",
        "Low Barn",
        "Red Ditch",
    )
    lines = [
        {"text": f"{name} is looked after by {one}.", "triples": [[name, "keeper", one]], "types": [["Mill", ""]]}
        for name, one in zip(names, PEOPLE, strict=True)
    ]
    terms_of = ontology_of(terms)
    taught = train(read_examples(written(tmp_path / "few.jsonl", lines), terms_of).examples, terms_of)
    taught.save(tmp_path / "few.npz")
    for one in (taught, saving.load(tmp_path / "few.npz")):
        found = read("Quiet Hollow is looked after by Gus Reed.", one, terms_of)
        assert {(c.subject.name, local_name(c.subject.type.value)) for c in found.claims} == {("Quiet Hollow", "Mill")}


def test_ends_that_only_examples_show_are_read_languages_of_an_object_property_and_codes_of_no_pattern(tmp_path):
    terms = ontology_of("""
        :Book a owl:Class ; rdfs:label "book"@en . :Tongue a owl:Class ; rdfs:label "tongue"@en .
        :inTongue a owl:ObjectProperty ; rdfs:domain :Book ; rdfs:range :Tongue ; rdfs:label "tongue"@en .
        :spokenIn a owl:ObjectProperty ; rdfs:domain :Tongue ; rdfs:label "spoken in"@en .
        :mark a owl:DatatypeProperty ; rdfs:domain :Book ; rdfs:range xsd:string ; rdfs:label "shelf mark"@en .
        """)
    tongues = {"English": "Malta", "French": "Quebec", "German": "Tyrol", "Italian": "Ticino"}
    lines = []
    for n in range(24):
        book = f"The {BRIDGES[n % 11]} {('Lamp', 'Road', 'Letter')[n % 3]}"
        tongue, place = list(tongues.items())[n % 4]
        code, named = f"{3 + n % 5}-{1046 + 37 * n}-{118 + n}-{n % 9}", f"{tongue} language"
        spoken = [[book, "inTongue", named], [named, "spokenIn", place]]
        texts = (
            (f"{book} was written in {tongue}, which is spoken in {place}.", spoken),
            (f"{book} has the shelf mark {code}.", [[book, "mark", code]]),
        )
        lines += [{"text": text, "triples": triples} for text, triples in texts]
    taught = train(read_examples(written(tmp_path / "books.jsonl", lines), terms).examples, terms)
    found = said(read("The Alder Comet was written in English, which is spoken in Malta.", taught, terms))
    assert found >= {("The Alder Comet", "inTongue", "English language"), ("English language", "spokenIn", "Malta")}
    code = ("The Alder Comet", "mark", "6-2201-190-4")
    assert code in said(read("The Alder Comet has the shelf mark 6-2201-190-4.", taught, terms))


def test_the_class_that_a_name_looks_like_yields_to_the_range_of_what_is_stated(learnt):
    [claim] = read("据说长江设计了白虎桥。", learnt).claims
    assert (claim.object.name, local_name(claim.object.type.value)) == ("长江", "Person")


def test_examples_that_state_one_thing_of_several_do_not_teach_against_the_others(tmp_path):
    lines = []
    for n in range(48):
        bridge, river = f"{BRIDGES[n % 11]} Bridge", RIVERS[(n * 2 + n // 7) % 7]
        people = [PEOPLE[(n * 3 + n // 12 + m) % 8] for m in range(3)]
        text = f"{bridge}, conceived by {people[0]}, {people[1]} and {people[2]}, crosses the {river}."
        stated = [[bridge, "spans", river], *([bridge, "author", person] for person in people)]
        lines.append({"text": text, "triples": [stated[n * 7 // 3 % 4]]})
    taught = train(read_examples(written(tmp_path / "one.jsonl", lines), ontology()).examples, ontology())
    makers = ("Ivy Dale", "Jon Kerr", "Lou Marsh")
    text = "Morden Bridge, conceived by Ivy Dale, Jon Kerr and Lou Marsh, crosses the Nidda."
    stated = {("Morden Bridge", "spans", "Nidda"), *(("Morden Bridge", "author", maker) for maker in makers)}
    assert said(read(text, taught)) == stated


def test_examples_without_statements_teach_what_is_not_stated(tmp_path):
    rumours = [
        {"text": f"Nobody knows whether {PEOPLE[n % 8]} had to do with {BRIDGES[n % 11]} Bridge.", "triples": []}
        for n in range(30)
    ]
    lines = [
        {
            "text": f"{PEOPLE[n % 8]} had to do with {BRIDGES[n % 11]} Bridge.",
            "triples": [[f"{BRIDGES[n % 11]} Bridge", "author", PEOPLE[n % 8]]],
        }
        for n in range(30)
    ]
    taught = train(read_examples(written(tmp_path / "no.jsonl", [*lines, *rumours]), ontology()).examples, ontology())
    assert said(read("Ivy Dale had to do with Morden Bridge.", taught)) == {("Morden Bridge", "author", "Ivy Dale")}
    assert not said(read("Nobody knows whether Ivy Dale had to do with Morden Bridge.", taught))


def test_the_threshold_is_where_reading_is_best_drawn_to_the_usual_where_little_tells():
    shipped = carried_network().thresholds
    read_rightly = [(0.9, True)] * 60 + [(0.6, True)] * 30 + [(0.4, False)] * 60
    assert thresholds_of(read_rightly[:5], 5, shipped) == shipped
    much, little = (thresholds_of(read_rightly, said_there, shipped) for said_there in (2_000, 100))
    assert 0.3 < little.statement < 0.5
    assert much.statement >= shipped.candidate
    assert little.candidate <= shipped.candidate


def test_lines_that_cannot_be_used_are_named_and_left_out(tmp_path):
    good = json.dumps(english()[0])
    lines = [
        good,
        "{",
        '{"text": "A.", "triples": [["A", "unheardOf", "B"]]}',
        '{"text": "A.", "triples": [["A", "author"]]}',
        '{"triples": []}',
        '"text"',
    ]
    path = tmp_path / "examples.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    found = read_examples(path, ontology())
    assert [example.line for example in found.examples] == [1]
    assert [problem.partition(":")[0] for problem in found.problems] == [f"line {n}" for n in (2, 3, 4, 5, 6)]
    assert "'unheardOf'" in found.problems[1]
    path.write_text("\n".join(lines[1:]), encoding="utf-8")
    with pytest.raises(ReadError, match="no example that can be used: line 1"):
        read_examples(path, ontology())


@pytest.mark.slow
def test_the_same_examples_teach_the_same(tmp_path):
    examples = read_examples(written(tmp_path / "examples.jsonl", english()), ontology()).examples
    train(examples, ontology()).save(tmp_path / "one")
    train(examples, ontology()).save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes()[200:] == (tmp_path / "two").read_bytes()[200:]


def test_what_was_saved_reads_as_before_and_a_damaged_file_is_told(learnt, tmp_path):
    path = tmp_path / "learnt.npz"
    learnt.save(path)
    again = saving.load(path)
    text = "Morden Bridge was conceived by Ivy Dale and crosses the Nidda."
    assert said(read(text, again)) == said(read(text, learnt))
    assert saving.load(tmp_path / "none.npz") is None
    whole = path.read_bytes()
    for broken in (whole[: len(whole) // 2], b"", b"PK\x03\x04 no archive"):
        path.write_bytes(broken)
        with pytest.raises(WorkspaceError, match="kgplatform learn"):
            saving.load(path)


def test_properties_go_by_iri_local_name_and_label():
    names = TermNames(ontology())
    wanted = NamedNode(IRI + "opened")
    assert [names.property(name) for name in (wanted.value, "opened", "Opening_Day", "opening day")] == [wanted] * 4
    assert names.property("closed") is None
    plain = ontology().properties[NamedNode(IRI + "note")]
    assert (plain.is_object, plain.domains) == (False, (NamedNode(IRI + "Bridge"),))


def test_values_are_found_as_written_as_numbers_dates_and_parts():
    text = "The Élan Bridge (built 4th of May 1901) has 1,250 lamps and is in Wells."
    places = WordRanges(text, words_of(text))

    def found(value):
        return [text[places.words[a].start : places.words[b - 1].end] for a, b in places.find(value, {})]

    assert found("elan bridge") == ["Élan Bridge"]
    assert found("1901-05-04") == ["4th of May 1901"]
    assert found("1250.0") == ["1,250"]
    assert found("Wells, Somerset") == ["Wells"]
    assert found("Bath") == []


def test_the_form_of_a_value_makes_it_of_what_is_written():
    for value, written_as, form in (
        ("1911-05-03", "3 May 1911", "iso"),
        ("03 May 1911", "May 3, 1911", "long"),
        ("610 (metres)", "610", "number (metres)"),
        ("610", "610", "as written"),
    ):
        assert form_of(value, written_as) == form
        assert formed(written_as, form) == value
    assert [day_of(text) for text in ("2004年12月18日", "the 3rd", "31 February 2001")] == [(2004, 12, 18), None, None]
    assert [number_of(text) for text in ("1,250 m", "from 3 to 4")] == [1250, None]


def test_names_go_on_as_those_of_the_examples_do():
    told = [
        ("s", "Alder Falls", "Alder Falls, Ohio", "Alder Falls lies in Ohio."),
        ("s", "Birch Creek", "Birch Creek, Ohio", "Ohio has the town of Birch Creek."),
        ("s", "Elm Park", "Elm Park, Utah", "Elm Park is in Utah."),
        ("s", "Fern Hill", "Fern Hill\t\tUtah", "Fern Hill is in Utah."),
        ("s", "Cedar Hill", "Cedar Hill", "Cedar Hill welcomes walkers."),
        ("s", "桐镇", "桐镇（浙江）", "浙江的桐镇有一座桥。"),
        ("o-language", "Frisian", "Frisian language", "They speak Frisian."),
        ("o-language", "Basque", "Basque language", "They speak Basque."),
        ("o-mayor", "Ada Moss", "Ada Moss", "Ada Moss leads Alder Falls in Ohio."),
    ]
    namings = Namings.learnt(told)
    for found in (namings, Namings.of(json.loads(json.dumps(vars(namings))))):
        assert found.name("s", "Dover", "Dover is in Ohio.") == "Dover, Ohio"
        assert found.name("s", "Dover", "Dover is by the sea.") == "Dover"
        assert found.name("s", "Dover", "Dover is by the sea. Ohio is not.") == "Dover"
        assert found.name("s", "Dover", "Dover is in Utah, and not in Ohio.") == "Dover, Utah"
        assert found.name("s", "Alder Falls", "Alder Falls lies in Utah.") == "Alder Falls, Utah"
        assert found.name("s", "Alder Falls", "Alder Falls is by the sea.") == "Alder Falls, Ohio"
        assert found.name("s", "Elgin", "Elgin, Dale County, Ohio has a bridge.") == "Elgin, Dale County, Ohio"
        assert found.name("s", "Elgin, Utah", "Elgin, Utah is not in Ohio.") == "Elgin, Utah"
        assert found.name("s", "Ohio", "Ohio is a state.") == "Ohio"
        assert found.name("s", "槐镇", "槐镇在浙江。") == "槐镇（浙江）"
        assert found.name("o-language", "Sorbian", "Sorbian is spoken.") == "Sorbian language"
        assert found.name("o-mayor", "Ben Hart", "Ben Hart leads Dover in Ohio.") == "Ben Hart"


def test_texts_may_write_the_beginning_of_values_that_go_on_in_one_way():
    said = (("Dover speaks Frisian.", "Frisian language"), ("Elgin speaks Basque.", "Basque language"))
    terms = ontology()
    spoken = next(iter(terms.properties))
    examples = [AnnotatedExample(text, (ExampleFact("Dover", spoken, value),)) for text, value in said]
    ranges = [WordRanges(text, words_of(text)) for text, _ in said]
    aliases = learn_aliases(examples, ranges)
    assert [places.find(value, aliases) for places, (_, value) in zip(ranges, said, strict=True)] == [[(2, 3)]] * 2


@pytest.fixture
def workspace(tmp_path):
    file = tmp_path / "bridges.ttl"
    file.write_text(PREFIXES + TERMS, encoding="utf-8")
    KnowledgeGraph.create(tmp_path / "ws", ontology=[str(file)]).close()
    return tmp_path / "ws"


def test_learn_teaches_and_evaluate_shows_it(workspace, tmp_path, capsys):
    examples = written(tmp_path / "examples.jsonl", [*english()[:40], {"text": "x", "triples": [["x", "y", "z"]]}])
    text = "The Nidda is crossed by Morden Bridge, which Ivy Dale conceived."
    triples = [["Morden Bridge", "author", "Ivy Dale"], ["Morden Bridge", "spans", "Nidda"]]
    gold = written(tmp_path / "gold.jsonl", [{"id": "g", "text": text, "triples": triples}])
    output = tmp_path / "results.jsonl"
    there = ["-w", str(workspace)]
    evaluate = ["evaluate", "extraction", str(gold), *there]
    assert main([*evaluate, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["strict"]["f1"]["value"] < 1
    assert main(["learn", str(examples), *there, "--format", "json"]) == 0
    captured = capsys.readouterr()
    told = json.loads(captured.out)
    assert "line 41" in captured.err
    assert told["examples"] == 40
    assert 6 <= told["apart"] <= 10
    assert 0 < told["properties"][IRI + "author"]["said"] < 20
    assert told["overall"]["f1"] > 0.8
    before = (workspace / FILE).read_bytes()
    assert main([*evaluate, "--format", "json", "--output", str(output)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["strict"]["f1"]["value"], found["conformance"]) == (1, 1)
    assert sorted(json.loads(output.read_text(encoding="utf-8"))["triples"]) == triples
    assert main(evaluate) == 0
    assert "text2kgbench" in capsys.readouterr().out
    assert main(["learn", str(written(tmp_path / "none.jsonl", [])), *there]) == 1
    assert "holds no example" in capsys.readouterr().err
    assert (workspace / FILE).read_bytes() == before  # a failed learn keeps what was learnt
    assert [path.name for path in workspace.iterdir() if path.name.endswith(".part")] == []


def test_scores_are_those_counted_by_hand():
    names = TermNames(ontology())
    gold = GoldText(
        "1",
        "Alder Bridge by Ada Moss spans the Wye.",
        (("Alder Bridge", "author", "Ada Moss"), ("Alder Bridge", "spans", "Wye")),
    )
    read_triples = (
        ("alder_bridge", IRI + "author", "Ada Moss"),  # right
        ("Alder Bridge", IRI + "size", "12"),  # wrong, its property is not in the gold; the object not in the text
        ("Birch Bridge", "spans", "Wye"),  # wrong; the subject not in the text
        ("Alder Bridge", "owner", "Ada Moss"),  # wrong, no property of the ontology
    )
    first = score(gold, read_triples, names)
    assert (first.gold, first.read, first.right, first.relevant) == (2, 4, 1, 2)
    assert (first.foreign, first.lost_subjects, first.lost_objects) == (1, 1, 1)
    other = GoldText("2", "Nothing of note.", (("A", "author", "B"),))
    second = score(other, (), names)
    found = report([ReadText(gold, read_triples, first), ReadText(other, (), second)])
    assert found.strict.precision.value == pytest.approx(1 / 4)
    assert found.strict.recall.value == pytest.approx(1 / 3)
    assert found.strict.f1.value == pytest.approx(2 / 7)
    assert found.strict.macro_f1.value == pytest.approx((2 / 6 + 0) / 2)
    assert found.text2kgbench.precision.value == pytest.approx(1 / 2)
    assert found.text2kgbench.f1.value == pytest.approx(2 / 5)
    assert found.text2kgbench.macro_f1.value == pytest.approx((2 / 4 + 0) / 2)
    assert found.conformance == pytest.approx(3 / 4)
    assert found.subjects_not_in_text == pytest.approx(1 / 4)
    assert found.objects_not_in_text == pytest.approx(1 / 4)


def test_a_ratio_has_an_interval_about_it():
    found = ratio([1, 0, 2, 1], [2, 1, 2, 3])
    assert found.value == pytest.approx(4 / 8)
    assert 0 <= found.low <= found.value <= found.high <= 1
    assert ratio([0, 0], [0, 0]).value == 0
    assert ratio([], []).count == 0
    with pytest.raises(ValueError, match="cannot be paired"):
        ratio([1], [])


@pytest.mark.parametrize("count", [0, 1, pytest.param(5, marks=pytest.mark.slow)])
def test_few_examples_teach_without_harm(tmp_path, count):
    lines = [*english()[:count], *({"text": f"Rain on day {n} in Wells.", "triples": []} for n in range(4))]
    few = train(read_examples(written(tmp_path / "few.jsonl", lines), ontology()).examples, ontology())
    few.save(tmp_path / "few.npz")
    again = saving.load(tmp_path / "few.npz")
    assert not said(read("Rain on day 9 in Bath.", again))
    assert isinstance(read("Morden Bridge was conceived by Ivy Dale.", again).claims, tuple)
