"""Reading ontology files: the syntax told by the content, OWL/XML, catalogues, and imports that are fetched."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from pyoxigraph import NamedNode

from kgplatform import packs
from kgplatform.cli.main import main
from kgplatform.errors import OntologyError
from kgplatform.graph import KnowledgeGraph
from kgplatform.ontologies.unused import unused_axioms
from kgplatform.owl import fetching
from kgplatform.owl.catalogue import Catalogue, as_catalogue
from kgplatform.owl.fetching import FetchLimits, fetch, is_public
from kgplatform.packs import ImportRules
from kgplatform.vocab import XSD_DECIMAL

NS = "https://example.org/rocks#"
TURTLE = (
    f"@prefix : <{NS}> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
    '<https://example.org/rocks> a owl:Ontology . :Rock a owl:Class ; rdfs:label "rock"@en, "岩石"@zh .\n'
)
RDF_XML = f"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
  xmlns:owl="http://www.w3.org/2002/07/owl#" xmlns:rdfs="http://www.w3.org/2000/01/rdf-schema#">
  <owl:Class rdf:about="{NS}Rock"><rdfs:label xml:lang="zh">岩石</rdfs:label></owl:Class></rdf:RDF>"""
JSON_LD = f"""{{"@id": "{NS}Rock", "@type": "http://www.w3.org/2002/07/owl#Class",
  "http://www.w3.org/2000/01/rdf-schema#label": {{"@value": "岩石", "@language": "zh"}}}}"""
OWL_XML = """<?xml version="1.0"?>
<Ontology xmlns="http://www.w3.org/2002/07/owl#" xml:base="https://example.org/rocks"
    ontologyIRI="https://example.org/rocks" versionIRI="https://example.org/rocks/2">
  <Prefix name="rdfs" IRI="http://www.w3.org/2000/01/rdf-schema#"/>
  <Prefix name="xsd" IRI="http://www.w3.org/2001/XMLSchema#"/>
  <Import>https://example.org/minerals</Import>
  <Declaration><Class IRI="#Rock"/></Declaration>
  <Declaration><Class IRI="#Granite"/></Declaration>
  <Declaration><Class IRI="#Stone"/></Declaration>
  <Declaration><Class IRI="#Boulder"/></Declaration>
  <Declaration><DataProperty IRI="#hardness"/></Declaration>
  <Declaration><DataProperty IRI="#code"/></Declaration>
  <SubClassOf><Class IRI="#Granite"/><Class IRI="#Rock"/></SubClassOf>
  <EquivalentClasses><Class IRI="#Rock"/><Class IRI="#Stone"/><Class IRI="#Boulder"/></EquivalentClasses>
  <DisjointClasses><Class IRI="#Rock"/><Class IRI="#Water"/></DisjointClasses>
  <HasKey><Class IRI="#Rock"/><DataProperty IRI="#code"/></HasKey>
  <FunctionalDataProperty><DataProperty IRI="#hardness"/></FunctionalDataProperty>
  <DataPropertyDomain><DataProperty IRI="#hardness"/><Class IRI="#Rock"/></DataPropertyDomain>
  <DataPropertyRange><DataProperty IRI="#hardness"/><Datatype abbreviatedIRI="xsd:decimal"/></DataPropertyRange>
  <AnnotationAssertion><AnnotationProperty abbreviatedIRI="rdfs:label"/><IRI>#Rock</IRI>
    <Literal xml:lang="zh">岩石</Literal></AnnotationAssertion>
  <AnnotationAssertion><AnnotationProperty abbreviatedIRI="rdfs:label"/><IRI>#Granite</IRI>
    <Literal xml:lang="en">granite</Literal></AnnotationAssertion>
  <AnnotationAssertion><AnnotationProperty abbreviatedIRI="rdfs:label"/><IRI>#Stone</IRI>
    <Literal xml:lang="en">stone</Literal></AnnotationAssertion>
  <DLSafeRule><Body/><Head/></DLSafeRule>
</Ontology>"""


def rock() -> NamedNode:
    return NamedNode(f"{NS}Rock")


@pytest.mark.parametrize(
    ("name", "text", "encoding"),
    [
        ("a.owl", TURTLE, "utf-8"),
        ("a.rdf", "# a comment\n" + TURTLE, "utf-8-sig"),
        ("a.ttl", TURTLE, "utf-16"),
        ("a.ttl", RDF_XML, "utf-8"),
        ("a.ttl", f'<?xml version="1.0" encoding="GB18030"?>\n<!-- x -->\n{RDF_XML}', "gb18030"),
        ("a.xml", f'<?xml version="1.0" encoding="UTF-16"?>{RDF_XML}', "utf-16"),
        ("a.owl", JSON_LD, "utf-8"),
        ("a.ttl", JSON_LD, "utf-8"),
        ("a.owl", OWL_XML, "utf-8"),
        ("a.owx", OWL_XML, "utf-8"),
        ("a.xml", OWL_XML, "utf-8"),
        ("noending", TURTLE, "utf-8"),
        ("a.owl", f'<!DOCTYPE rdf:RDF [\n <!ENTITY r "{NS}" > <!-- one --> ]>' + RDF_XML.replace(NS, "&r;"), "utf-8"),
    ],
)
def test_the_content_tells_the_syntax_and_the_encoding(tmp_path: Path, name: str, text: str, encoding: str) -> None:
    (tmp_path / name).write_bytes(text.encode(encoding))
    loaded = packs.load([name], folder=tmp_path)
    assert "岩石" in {word.text for word in loaded.ontology.classes[rock()].words}


def test_owl_xml_gives_hierarchy_keys_ranges_and_says_what_was_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.owx").write_text(OWL_XML, encoding="utf-8")
    loaded = packs.load(["a.owx"], folder=tmp_path)
    ontology = loaded.ontology
    assert ontology.classes[NamedNode(f"{NS}Granite")].parents == (rock(),)
    assert ontology.classes[rock()].key == (NamedNode(f"{NS}code"),)
    hardness = ontology.properties[NamedNode(f"{NS}hardness")]
    assert (hardness.domains, hardness.ranges, hardness.functional) == ((rock(),), (XSD_DECIMAL,), True)
    assert ontology.disjoint(rock(), NamedNode(f"{NS}Water"))
    equal = {(t.subject, t.object) for t in loaded.triples if t.predicate.value.endswith("equivalentClass")}
    assert (rock(), NamedNode(f"{NS}Stone")) in equal
    assert loaded.unresolved == ("https://example.org/minerals",)
    assert loaded.unread == {"DLSafeRule": 1}
    assert any("DLSafeRule" in item.kind for item in unused_axioms(loaded.own, loaded.unread))
    assert packs.load(["a.owx"], folder=tmp_path).triples == loaded.triples


def importing(path: Path, iri: str, *imports: str) -> None:
    lines = "".join(f"<{iri}> owl:imports <{item}> .\n" for item in imports)
    local = iri.rpartition("/")[2].rpartition(":")[2]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "@prefix owl: <http://www.w3.org/2002/07/owl#> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
        f'<{iri}> a owl:Ontology .\n{lines}<{iri}#C-{local}> a owl:Class ; rdfs:label "{local}" .',
        encoding="utf-8",
    )


def test_a_catalogue_beside_the_file_names_the_files_of_imports(tmp_path: Path) -> None:
    importing(tmp_path / "main.ttl", "urn:main", "urn:one", "https://x.org/v/two.ttl", "urn:three", "urn:gone")
    importing(tmp_path / "lib" / "first.ttl", "urn:one", "urn:main")
    importing(tmp_path / "lib" / "two.ttl", "urn:two")
    importing(tmp_path / "more" / "third file.ttl", "urn:other-name")
    (tmp_path / "catalog-v001.xml").write_text(
        '<?xml version="1.0"?><catalog xmlns="urn:oasis:names:tc:entity:xmlns:xml:catalog">'
        '<group xml:base="lib/"><uri name="urn:one" uri="first.ttl"/></group>'
        '<rewriteURI uriStartString="https://x.org/v/" rewritePrefix="lib/"/>'
        '<uri name="urn:gone" uri="https://example.org/never-fetched.ttl"/>'
        '<nextCatalog catalog="more/catalog-v001.xml"/></catalog>'
    )
    (tmp_path / "more" / "catalog-v001.xml").write_bytes(as_catalogue({"urn:three": "third file.ttl"}))
    loaded = packs.load(["main.ttl"], folder=tmp_path)
    assert {path.name for path in loaded.files} == {"main.ttl", "first.ttl", "two.ttl", "third file.ttl"}
    assert loaded.unresolved == ("urn:gone",)
    names = packs.keep(["main.ttl"], loaded, source=tmp_path, folder=tmp_path / "w")
    again = packs.load(names, folder=tmp_path / "w")
    assert (set(again.triples), again.unresolved) == (set(loaded.triples), ("urn:gone",))


@pytest.mark.parametrize(
    "text", ["<catalog", '<!DOCTYPE c [<!ENTITY a "b">]><catalog>&a;</catalog>', ""], ids=["cut", "entities", "empty"]
)
def test_a_broken_catalogue_is_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "catalog-v001.xml").write_text(text)
    with pytest.raises(OntologyError, match=r"catalog-v001\.xml: (is no catalogue|has entities)"):
        Catalogue(tmp_path)


def test_a_file_given_for_an_import_goes_before_all_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    importing(tmp_path / "main.ttl", "urn:main", "urn:one")
    importing(tmp_path / "one.ttl", "urn:one")
    importing(tmp_path / "far" / "mine.ttl", "urn:mine")
    loaded = packs.load(["main.ttl"], folder=tmp_path, rules=ImportRules({"urn:one": tmp_path / "far" / "mine.ttl"}))
    assert [path.name for path in loaded.files] == ["main.ttl", "mine.ttl"]
    assert main(["create", "w", "--ontology", "main.ttl", "--import", "urn:one=far/mine.ttl"]) == 0
    with KnowledgeGraph.open(tmp_path / "w") as kg:
        assert (kg.loaded.unresolved, len(kg.ontology.classes)) == ((), 2)
    assert main(["create", "v", "--ontology", "main.ttl", "--import", "urn:one=nowhere.ttl"]) == 1
    assert main(["create", "v", "--ontology", "main.ttl", "--import", "urn:one"]) == 2
    assert not (tmp_path / "v").exists()


def test_create_says_what_is_missing_and_what_is_of_no_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = TURTLE + (
        "<https://example.org/rocks> owl:imports <https://example.org/a> , <https://example.org/b> .\n"
        ":Rock owl:disjointUnionOf ( :Rock ) ; rdfs:seeAlso <https://example.org/x> ; "
        "rdfs:subClassOf [ owl:complementOf :Rock ] ,"
        " [ a owl:Restriction ; owl:onProperty :p ;"
        " owl:minCardinality 1 ] .\n"
        ":p a owl:ObjectProperty , owl:ReflexiveProperty ."
    )
    (tmp_path / "a.ttl").write_text(text, encoding="utf-8")
    assert main(["create", "w", "--ontology", "a.ttl"]) == 0
    lines = capsys.readouterr().err.splitlines()
    assert sum(line.startswith("import not found") for line in lines) == 2
    (line,) = [line for line in lines if line.startswith("of no use")]
    assert "1 complement" in line
    assert main(["ontology", "check", "-w", "w"]) in (0, 1)
    out = capsys.readouterr().out
    for words in ("complement (owl:complementOf)", "disjoint union", "reflexive property", "reference seeAlso"):
        assert words in out
    assert "minCardinality" not in out


# fetching: a server of this machine stands for the net


class _Pages(BaseHTTPRequestHandler):
    pages: Mapping[str, tuple[int, Mapping[str, str], bytes]] = {}

    def do_GET(self) -> None:
        status, headers, body = self.pages.get(self.path, (404, {}, b""))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    _Pages.pages = {
        "/ok": (200, {}, TURTLE.encode()),
        "/moved": (303, {"Location": "/ok"}, b""),
        "/loop": (302, {"Location": "/loop"}, b""),
        "/away": (302, {"Location": "ftp://example.org/x"}, b""),
        "/large": (200, {}, b"x" * 5000),
        "/html": (200, {}, b"<!DOCTYPE html><html></html>"),
    }
    found = ThreadingHTTPServer(("127.0.0.1", 0), _Pages)
    thread = threading.Thread(target=found.serve_forever, daemon=True)
    thread.start()
    yield found
    found.shutdown()
    found.server_close()
    thread.join()


def plain(host: str, port: int, address: str, timeout: float) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(address, port, timeout=timeout)


def test_a_fetch_follows_redirects_and_keeps_to_its_limits(server: ThreadingHTTPServer) -> None:
    place = f"http://127.0.0.1:{server.server_port}"

    def got(path: str) -> bytes:
        limits = FetchLimits(seconds=5, max_bytes=2000)
        return fetch(place + path, limits=limits, connect=plain, allowed=lambda address: True)

    assert got("/moved") == TURTLE.encode()
    for path, words in (
        ("/loop", "redirects more than"),
        ("/away", "only https"),
        ("/large", "larger than"),
        ("/none", "answers 404"),
    ):
        with pytest.raises(OntologyError, match=words) as caught:
            got(path)
        assert str(caught.value).count("\n") == 0


@pytest.mark.parametrize("iri", ["https://127.0.0.1/a", "http://localhost:8000/a", "https://[::1]/a"])
def test_a_private_address_is_never_asked(iri: str) -> None:
    with pytest.raises(OntologyError, match="no public address"):
        fetch(iri)


@pytest.mark.parametrize("iri", ["file:///etc/passwd", "urn:x", "https://user:pw@example.org/", "https://x:99999/"])
def test_only_https_is_fetched(iri: str) -> None:
    with pytest.raises(OntologyError, match="is not fetched"):
        fetch(iri)


@pytest.mark.parametrize(
    ("address", "public"),
    [
        ("93.184.216.34", True),
        ("2606:2800:220:1::1", True),
        ("10.1.2.3", False),
        ("169.254.169.254", False),
        ("::ffff:10.0.0.1", False),
        ("fe80::1%eth0", False),
        ("100.64.0.1", False),
        ("0.0.0.0", False),
        ("224.0.0.1", False),
        ("no address", False),
    ],
)
def test_which_addresses_are_public(address: str, public: bool) -> None:
    assert is_public(address) is public


def test_fetched_imports_are_kept_in_the_workspace(
    server: ThreadingHTTPServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = f"http://127.0.0.1:{server.server_port}"

    def from_here(iri: str) -> bytes:
        return fetching.fetch(iri, connect=plain, allowed=lambda address: True)

    monkeypatch.setattr(packs, "fetch", from_here)
    monkeypatch.chdir(tmp_path)
    importing(tmp_path / "main.ttl", "urn:main", f"{place}/ok", f"{place}/html", f"{place}/none")
    with KnowledgeGraph.create(tmp_path / "w", ontology="main.ttl", fetch_imports=True) as kg:
        assert rock() in kg.ontology.classes
        assert set(kg.loaded.unresolved) == {f"{place}/html", f"{place}/none"}
        assert len(kg.loaded.troubles) == 2
    server.shutdown()
    with KnowledgeGraph.open(tmp_path / "w") as kg:
        assert rock() in kg.ontology.classes
    with KnowledgeGraph.create(tmp_path / "v", ontology="main.ttl") as kg:
        assert len(kg.loaded.unresolved) == 3
