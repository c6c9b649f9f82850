"""Ontology files by name or path, with what they import, and bad ones: each one clear line, and nothing left behind."""

import os
import socket
import sys
import threading
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from pyoxigraph import BlankNode, NamedNode

from kgplatform.cli.main import main
from kgplatform.errors import OntologyError
from kgplatform.graph import KnowledgeGraph
from kgplatform.network import is_public
from kgplatform.ontology import packs
from kgplatform.ontology.lint import structural, unused_axioms
from kgplatform.ontology.packs import FetchLimits, ImportCatalogue, ImportRules, as_catalogue, fetch
from kgplatform.vocab import CORE, GEO, TRAVEL, XSD_DECIMAL

PREFIXES = (
    "@prefix : <https://example.org/rocks#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .\n"
    "@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .\n"
)
NS = "https://example.org/rocks#"
TURTLE = (
    f'{PREFIXES}<https://example.org/rocks> a owl:Ontology .\n:Rock a owl:Class ; rdfs:label "rock"@en, "岩石"@zh .\n'
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


@pytest.mark.parametrize(
    ("name", "text", "encoding"),
    [
        ("a.owl", TURTLE, "utf-8"), ("a.rdf", "# a comment\n" + TURTLE, "utf-8-sig"), ("a.ttl", TURTLE, "utf-16"),
        ("a.ttl", RDF_XML, "utf-8"),
        ("a.ttl", f'<?xml version="1.0" encoding="GB18030"?>\n<!-- x -->\n{RDF_XML}', "gb18030"),
        ("a.xml", f'<?xml version="1.0" encoding="UTF-16"?>{RDF_XML}', "utf-16"),
        ("a.owl", JSON_LD, "utf-8"), ("a.ttl", JSON_LD, "utf-8"), ("a.owl", OWL_XML, "utf-8"),
        ("a.owx", OWL_XML, "utf-8"), ("a.xml", OWL_XML, "utf-8"), ("noending", TURTLE, "utf-8"),
        ("a.owl", f'<!DOCTYPE rdf:RDF [\n <!ENTITY r "{NS}" > <!-- one --> ]>' + RDF_XML.replace(NS, "&r;"), "utf-8"),
    ],
)  # fmt: skip
def test_the_content_tells_the_syntax_and_the_encoding(tmp_path, name, text, encoding):
    (tmp_path / name).write_bytes(text.encode(encoding))
    loaded = packs.load([name], folder=tmp_path)
    assert "岩石" in {word.text for word in loaded.ontology.classes[rock()].words}


def test_owl_xml_gives_hierarchy_keys_ranges_and_says_what_was_not_read(tmp_path):
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


def test_a_catalogue_beside_the_file_names_the_files_of_imports(tmp_path):
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


def rock():
    return NamedNode(f"{NS}Rock")


def importing(path, iri, *imports):
    lines = "".join(f"<{iri}> owl:imports <{item}> .\n" for item in imports)
    local = iri.rpartition("/")[2].rpartition(":")[2]
    path.parent.mkdir(parents=True, exist_ok=True)
    text = f'<{iri}> a owl:Ontology .\n{lines}<{iri}#C-{local}> a owl:Class ; rdfs:label "{local}" .'
    path.write_text(PREFIXES + text, encoding="utf-8")


@pytest.mark.parametrize(
    "text", ["<catalog", '<!DOCTYPE c [<!ENTITY a "b">]><catalog>&a;</catalog>', ""], ids=["cut", "entities", "empty"]
)
def test_a_broken_catalogue_is_one_line(tmp_path, text):
    (tmp_path / "catalog-v001.xml").write_text(text)
    with pytest.raises(OntologyError, match=r"catalog-v001\.xml: (is no catalogue|has entities)"):
        ImportCatalogue(tmp_path)


def test_a_file_given_for_an_import_goes_before_all_others(tmp_path, monkeypatch):
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


def test_prices_are_in_the_currency_of_the_workspace_until_a_file_says_otherwise(tmp_path, capsys):
    priced = NamedNode(f"{TRAVEL}ticketPrice")
    (tmp_path / "note.md").write_text("# Trieste\n\nThe ticket for Miramare Castle costs €12.\n")
    with KnowledgeGraph.create(tmp_path / "kg", ontology="travel", currency="eur") as kg:
        assert kg.ontology.properties[priced].unit == "EUR"
        list(kg.add(tmp_path / "note.md"))
        assert [row[0].value for row in kg.query(f"SELECT ?price {{ ?place <{priced.value}> ?price }}").rows] == ["12"]
    (tmp_path / "pounds.ttl").write_text(f'<{priced.value}> <{CORE}unit> "GBP" .\n')
    with KnowledgeGraph.open(tmp_path / "kg") as kg:
        kg.update_ontology(str(tmp_path / "pounds.ttl"))
        assert kg.ontology.properties[priced].unit == "GBP"
    for given in (["travel", "--currency", "EURO"], ["academic", "--currency", "EUR"]):
        assert main(["create", str(tmp_path / "other"), "--ontology", *given]) != 0
        assert "currency" in capsys.readouterr().err
    assert not (tmp_path / "other").exists()


def test_create_says_what_is_missing_and_what_is_of_no_use(tmp_path, monkeypatch, capsys):
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
    assert sum(line.startswith("missing import") for line in lines) == 2
    (line,) = [line for line in lines if line.startswith("of no use")]
    assert "1 complement" in line
    assert main(["ontology", "check", "-w", "w"]) in (0, 1)
    out = capsys.readouterr().out
    for words in ("complement (owl:complementOf)", "disjoint union", "reflexive property", "reference seeAlso"):
        assert words in out
    assert "minCardinality" not in out


class _Pages(BaseHTTPRequestHandler):
    pages: Mapping[str, tuple[int, Mapping[str, str], bytes]] = {}

    def do_GET(self):
        status, headers, body = self.pages.get(self.path, (404, {}, b""))
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
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


def plain(host, port, _deadline):
    return socket.create_connection((host, port), timeout=5)


def test_a_fetch_follows_redirects_and_keeps_to_its_limits(server):
    place = f"http://127.0.0.1:{server.server_port}"

    def got(path):
        limits = FetchLimits(seconds=5, max_bytes=2000)
        return fetch(place + path, limits=limits, link=plain)

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


@pytest.mark.parametrize(
    ("iris", "words"),
    [
        (("https://127.0.0.1/a", "http://localhost:8000/a", "https://[::1]/a"), "not a public address"),
        (("file:///etc/passwd", "urn:x", "https://user:pw@example.org/", "https://x:99999/"), "is not fetched"),
    ],
)
def test_only_https_is_fetched_and_a_private_address_never_asked(iris, words):
    for iri in iris:
        with pytest.raises(OntologyError, match=words):
            fetch(iri)
    private = ("10.1.2.3", "169.254.169.254", "::ffff:10.0.0.1", "fe80::1%eth0", "100.64.0.1", "0.0.0.0", "224.0.0.1")
    assert not any(map(is_public, private))


def test_fetched_imports_are_kept_in_the_workspace(server, tmp_path, monkeypatch):
    place = f"http://127.0.0.1:{server.server_port}"
    fetch = packs.fetch
    monkeypatch.setattr(packs, "fetch", lambda iri: fetch(iri, link=plain))
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


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">' + "".join(
    f'<!ENTITY {chr(98 + n)} "{f"&{chr(97 + n)};" * 10}">' for n in range(9)
)
Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    def command(*arguments):
        status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return status, captured.out, captured.err

    return command


BAD_FILES = (
    ("empty.ttl", b"", "is empty"),
    ("blank.owl", b"\xef\xbb\xbf \n", "is empty"),
    ("page.owl", b"<!doctype html>\n<html><body>404</body></html>", "is an HTML page"),
    ("page.ttl", b"\n<html lang='en'>", "is an HTML page"),
    ("xhtml.rdf", b'<?xml version="1.0"?><!DOCTYPE html PUBLIC "x" "y"><html/>', "is an HTML page"),
    ("data.ttl", b"<urn:a> <urn:b> <urn:c> .", "declares no owl:Class"),
    ("f.ofn", b"Prefix(:=<urn:a>)", "OWL functional syntax, which nothing here reads; save it"),
    ("f.owl", b"# x\nOntology(<urn:a>\n)", "OWL functional syntax"),
    ("m.omn", b"", "Manchester syntax"),
    ("m.owl", b"Prefix: a: <urn:a>\nClass: a:B\n", "Manchester syntax"),
    ("o.obo", b"format-version: 1.2\n", "OBO format"),
    ("wide.ttl", "@prefix a: <urn:a> . a:b".encode("utf-16"), "wide.ttl: line 1"),
    ("cut.ttl", b"\xff\xfe\x00", "is not the utf-16"),
    ("latin.ttl", '<urn:a> <urn:b> "é" .'.encode("latin-1"), "latin.ttl"),
    ("odd.rdf", b'<?xml version="1.0" encoding="klingon"?><a/>', "declares the encoding klingon"),
    ("bomb.rdf", f"{BOMB}]><x>&j;</x>".encode(), "DOCTYPE with more than plain entities"),
    ("bomb.owx", f'{BOMB}]><Ontology xmlns="http://www.w3.org/2002/07/owl#">&j;</Ontology>'.encode(), "DOCTYPE"),
    ("grow.rdf", b'<!DOCTYPE x [<!ENTITY a "' + b"a" * 9000 + b'">]><x>' + b"&a;" * 30000 + b"</x>", "would grow"),
    ("far.rdf", b'<!DOCTYPE x SYSTEM "file:///etc/passwd"><x/>', "DOCTYPE that refers to other files"),
    ("ent.rdf", b'<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]><x>&a;</x>', "DOCTYPE"),
    ("par.rdf", b'<!DOCTYPE x [<!ENTITY % a "b"> %a;]><x/>', "DOCTYPE"),
    ("cut.owx", b'<Ontology xmlns="http://www.w3.org/2002/07/owl#"><Class', "cut.owx: line 1"),
    ("odd.owx", b'<Ontology xmlns="http://www.w3.org/2002/07/owl#"><SubClassOf/></Ontology>', "not read as OWL"),
    ("other.owx", b"<Thing/>", "its root is Thing"),
    ("a.docx", b"x", "has the suffix .docx"),
    ("folder", None, "is a folder"),
    ("nowhere.ttl", None, "no such file"),
    ("pipe.ttl", None, "not a regular file"),
    ("huge.ttl", None, "ontologies of up to 200 MB are read"),
)


@pytest.mark.parametrize(("name", "data", "words"), BAD_FILES, ids=[name for name, _, _ in BAD_FILES])
def test_a_file_that_is_no_ontology_is_one_line_and_no_workspace(run, tmp_path, name, data, words):
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe.ttl")
    with (tmp_path / "huge.ttl").open("wb") as file:
        file.truncate(packs.LARGEST + 1)
    if data is not None:
        (tmp_path / name).write_bytes(data)
    for command in (("create", "w", "--ontology", name), ("ontology", "check", name)):
        status, out, err = run(*command)
        assert (status, out, err.count("\n")) == (1, "", 1)
        assert words in err
    assert not (tmp_path / "w").exists()


def test_an_ontology_that_fails_late_leaves_the_folder_as_it_was(run, tmp_path):
    for place in ("x", "y"):
        importing(tmp_path / place / "a.ttl", f"urn:{place}")
    (tmp_path / "there").mkdir()
    status, _, err = run("create", "there", "--ontology", "x/a.ttl", "--ontology", "y/a.ttl")
    assert (status, err.count("\n")) == (1, 1)
    assert "has the same name" in err
    assert list((tmp_path / "there").iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="whoever is root may read everything")
def test_a_file_that_may_not_be_read_is_one_line(run, tmp_path):
    (tmp_path / "secret.ttl").write_text(PREFIXES)
    (tmp_path / "secret.ttl").chmod(0)
    status, _, err = run("create", "w", "--ontology", "secret.ttl")
    assert (status, err.count("\n")) == (1, 1)
    assert "cannot be read" in err


def test_a_full_disk_leaves_nothing_half_written(run, tmp_path, monkeypatch):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    importing(tmp_path / "a.ttl", "urn:a")
    with monkeypatch.context() as patch:
        patch.setattr("kgplatform.settings.write", full)
        status, _, err = run("create", "w", "--ontology", "a.ttl")
    assert (status, err.count("\n")) == (2, 1)
    assert "No space left" in err
    assert not (tmp_path / "w").exists()


def test_imports_and_classes_that_run_in_circles_end(run, tmp_path):
    for one, other in ("ab", "bc", "ca"):
        text = f"<urn:{one}> a owl:Ontology ; owl:imports <urn:{other}> , <urn:{one}> .\n"
        text += f':{one} a owl:Class ; rdfs:label "{one}" ; rdfs:subClassOf :{other} .'
        (tmp_path / f"{one}.ttl").write_text(PREFIXES + text)
    assert run("create", "w", "--ontology", "a.ttl")[0] == 0
    with KnowledgeGraph.open(tmp_path / "w") as kg:
        assert len(kg.ontology.classes) == 3
        issues = structural(kg.ontology, kg.loaded.triples)
    (cycle,) = [issue for issue in issues if issue.kind == "cycle"]
    assert "one class under several names" in cycle.message
    status, out, _ = run("ontology", "-w", "w")
    assert (status, out.count("\n"), out.count("(see above)")) == (0, 4, 1)


def test_the_shipped_ontologies_are_found_by_name_and_import_each_other(tmp_path):
    assert {"core", "geo", "travel", "academic", "airport"} == set(packs.shipped())
    loaded = packs.load(["travel"], folder=tmp_path)
    assert {path.stem for path in loaded.files} == {"travel", "geo", "core"}
    for iri in (f"{TRAVEL}Hotel", f"{GEO}City", f"{CORE}Document"):
        assert NamedNode(iri) in loaded.ontology.classes
    assert loaded.unresolved == ()


def test_files_and_their_imports_are_kept_in_the_workspace(tmp_path):
    source, workspace = tmp_path / "source", tmp_path / "workspace"
    importing(source / "a.ttl", "urn:a", "urn:b", CORE)
    importing(source / "b.ttl", "urn:b")
    (source / "c.ttl").write_text(f"{PREFIXES}<> a owl:Ontology ; owl:imports <d.ttl> . <#C> a owl:Class .")
    (source / "d.ttl").write_text(f"{PREFIXES}<> a owl:Ontology . <#D> a owl:Class ; owl:unionOf ( <#C> <#D> ) .")
    listed = ["a.ttl", "geo", "c.ttl"]
    loaded = packs.load(listed, folder=source)
    assert loaded.triples == packs.load(listed, folder=source).triples  # blank nodes become the same IRIs each time
    assert not any(isinstance(term, BlankNode) for t in loaded.triples for term in (t.subject, t.object))
    names = packs.keep(listed, loaded, source=source, folder=workspace)
    assert names == ("ontology/a.ttl", "geo", "ontology/c.ttl")
    kept = sorted(path.name for path in (workspace / "ontology").iterdir())
    assert kept == ["a.ttl", "b.ttl", "c.ttl", "catalog-v001.xml", "d.ttl"]
    again = packs.load(names, folder=workspace)
    assert again.ontology.classes.keys() == loaded.ontology.classes.keys()  # relative IRIs mean the same in the copy
    assert (len(again.triples), again.unresolved) == (len(loaded.triples), loaded.unresolved)


def test_imports_are_found_among_the_neighbours_and_cycles_end(tmp_path):
    importing(tmp_path / "a.ttl", "urn:a", "urn:b")
    importing(tmp_path / "b.ttl", "urn:b", "urn:a", "urn:b", "https://example.org/never-fetched")
    (tmp_path / "broken.ttl").write_text("<urn:b> is no turtle")
    (tmp_path / "folder.ttl").mkdir()
    (tmp_path / "dangling.ttl").symlink_to(tmp_path / "nowhere")
    loaded = packs.load(["a.ttl"], folder=tmp_path)
    assert [path.name for path in loaded.files] == ["a.ttl", "b.ttl"]
    assert len(loaded.ontology.classes) == 2
    assert loaded.unresolved == ("https://example.org/never-fetched",)
    importing(tmp_path / "x" / "a.ttl", "urn:x", "urn:y")
    importing(tmp_path / "y" / "b.ttl", "urn:y")
    assert packs.load(["x/a.ttl", "y/b.ttl"], folder=tmp_path).unresolved == ()


def test_an_unknown_name_offers_the_nearest_and_none_at_all_is_allowed(tmp_path):
    with pytest.raises(OntologyError, match="did you mean travel"):
        packs.load(["travle"], folder=tmp_path)
    with pytest.raises(OntologyError, match="shipped are academic, airport"):
        packs.load(["zzzz"], folder=tmp_path)
    loaded = packs.load([], folder=tmp_path)
    assert (loaded.triples, loaded.files, dict(loaded.ontology.classes)) == ((), (), {})


MILLS = """@prefix o: <http://x/o#> . @prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
o:Mill a owl:Class ; rdfs:label "windmill"@en .
o:height a owl:DatatypeProperty ; rdfs:label "cap height (m)"@en, "磨顶高度（米）"@zh ;
  rdfs:domain o:Mill ; rdfs:range xsd:decimal .
o:note a owl:DatatypeProperty ; rdfs:label "note (m)"@en ; rdfs:domain o:Mill ; rdfs:range xsd:string .
"""


def test_the_unit_in_the_brackets_of_a_label_is_that_of_its_numbers(tmp_path):
    """Columns may be called by the whole label; texts, questions and answers may use other units of the kind."""
    (tmp_path / "mills.ttl").write_text(MILLS)
    (tmp_path / "mills.csv").write_text("windmill,cap height (m),note (m)\nNorton,12.5,tarred\nBrill,9.1,white\n")
    (tmp_path / "note.md").write_text("# Chesterton windmill\n\nThe cap height of Chesterton windmill is 1100 cm.\n")
    with KnowledgeGraph.create(tmp_path / "kg", ontology=str(tmp_path / "mills.ttl")) as kg:
        assert not [added.error for added in kg.add(tmp_path / "mills.csv", tmp_path / "note.md") if added.error]
        assert kg.ask("What is the cap height of Norton?").text.startswith("The cap height of Norton is 12.5 m.")
        assert "9.1米" in kg.ask("Brill的磨顶高度是多少？").text
        assert set(kg.ask("Which windmills have a cap height over 1000 cm?").values) == {
            "Chesterton windmill",
            "Norton",
        }
        assert kg.ask("What is the note of Brill?").values == ("white",)


def test_a_shipped_ontology_given_by_its_path_is_the_shipped_one(run, tmp_path):
    assert run("create", "w", "--ontology", str(packs.home() / "travel.ttl"))[0] == 0
    with KnowledgeGraph(tmp_path / "w") as kg:
        assert kg.workspace.settings.ontology == ("travel",)
        assert kg.ontology.label(NamedNode(f"{TRAVEL}Hotel"), "en") == "hotel"
