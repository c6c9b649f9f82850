"""Ontologies that nobody here wrote, and the shipped ones, without code: create, add a table, check, ask."""

import csv

import pytest

from kgplatform.graph import KnowledgeGraph
from kgplatform.models.stubs import HashEmbedder
from kgplatform.ontology import packs
from kgplatform.ontology.lint import Grade, structural, unused_axioms
from kgplatform.reasoning.scope import Fault
from kgplatform.vocab import TYPE, XSD
from kgplatform.workspace.workspace import Workspace

FOREIGN = (
    "geoquery/ontology.ttl", "extraction-oskgc/ontologies/1_Airport.ttl",
    "extraction-webnlg/ontologies/1_university.ttl", "extraction-tekgen/ontologies/4_book.ttl",
)  # fmt: skip
_VALUES = {
    f"{XSD}integer": ("12", "250", "7"),
    f"{XSD}decimal": ("1.5", "22.75", "300.25"),
    f"{XSD}double": ("1.5", "22.75", "300.25"),
    f"{XSD}gYear": ("1999", "2005", "2011"),
    f"{XSD}date": ("1999-01-31", "2005-02-28", "2011-03-01"),
    f"{XSD}boolean": ("true", "false", "true"),
}
_NAMES = ("Alpha Norvale", "Beta Quenby", "Gamma Tarrow")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(Workspace, "embedder", HashEmbedder())


def columns(ontology, class_):
    """Properties that a table of the class could have, with values for three rows; words that only one of them has."""
    taken: set[str] = {"name"}
    for term in ontology.properties_of(class_.iri):
        label = ontology.label(term.iri)
        if label in taken or term.pattern or class_.iri not in term.domains:
            continue
        taken.add(label)
        if term.is_object:
            yield term, ("Delta Moorby", "Epsilon Hask", "Zeta Vinter")
        elif term.ranges and term.ranges[0].value in _VALUES:
            yield term, _VALUES[term.ranges[0].value]
        else:
            yield term, ("cobalt", "umber", "ochre")


def table(path, ontology):
    """A table of the class with the most columns, and the columns: those of values first."""
    found = [(class_, list(columns(ontology, class_))) for class_ in ontology.domain_classes]
    class_, listed = max(found, key=lambda item: (len(item[1]), item[0].iri.value))
    listed = sorted(listed, key=lambda item: item[0].is_object)[:4]
    target = path / f"{ontology.label(class_.iri).replace(' ', '_').replace('/', '_')}.csv"
    with target.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["name", *(ontology.label(term.iri) for term, _ in listed)])
        writer.writerows([name, *(values[row] for _, values in listed)] for row, name in enumerate(_NAMES))
    return class_, listed


def goes_through(folder, name):
    with KnowledgeGraph.create(folder / "w", ontology=name) as kg:
        ontology = kg.ontology
        class_, listed = table(folder, ontology)
        (added,) = list(kg.add(*folder.glob("*.csv")))
        assert added.outcome == "added", added.error
        of_class = {quad.subject for quad in kg.store.quads(None, TYPE, class_.iri)}
        assert len(of_class) >= len(_NAMES), ontology.label(class_.iri)
        mapped = [term for term, _ in listed if next(kg.store.quads(None, term.iri), None) is not None]
        assert mapped, [ontology.label(term.iri) for term, _ in listed]
        report = kg.check()
        never = (
            Fault.UNKNOWN_CLASS,
            Fault.UNKNOWN_PROPERTY,
            Fault.NO_EVIDENCE,
            Fault.NOT_HELD,
            Fault.DANGLING_GRAPH,
        )
        bad = [finding for finding in report.findings if finding.kind in never]
        assert bad == []
        asked(kg, class_.iri, mapped[0], dict(listed)[mapped[0]])


def asked(kg, class_, term, values):
    """Two questions in the words of the ontology: one is answered by a value, the other, if it is, counts the class."""
    value = kg.ask(f"What is the {kg.ontology.label(term.iri)} of {_NAMES[0]}?")
    assert value.verdict.value == "answered", value.trace
    assert any(values[0].casefold() in found.casefold() for found in value.values), value.values
    many = kg.ask(f"How many things of the class {kg.ontology.label(class_)} are there?")
    if many.verdict.value == "answered":
        assert many.values == (str(len({quad.subject for quad in kg.store.quads(None, TYPE, class_)})),)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name != "geo")) for name in packs.shipped() if name != "core"],
)
def test_a_shipped_ontology_goes_from_a_table_to_an_answer(tmp_path, name):
    goes_through(tmp_path, name)


@pytest.mark.slow
@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_ontology_goes_from_a_table_to_an_answer(test_data, tmp_path, name):
    path = test_data / name
    if not path.is_file():
        pytest.skip(f"no {path}")
    loaded = packs.load([str(path)], folder=path.parent)
    issues = structural(loaded.ontology, loaded.triples)
    assert {issue.kind for issue in issues if issue.grade is Grade.ERROR} <= {"undeclared", "punning"}
    assert all(item.count > 0 and item.kind for item in unused_axioms(loaded.own))
    goes_through(tmp_path, str(path))
