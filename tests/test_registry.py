"""The registry: states, sources, and extractions that come back as they were written."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode

from kgplatform.documents.records import LinkedEntity, Linking, NameLink, State, TableRow, decode, encode, name_keys
from kgplatform.documents.registry import Registry
from kgplatform.errors import NotFoundError, WorkspaceError
from kgplatform.ontology.schema import Word
from kgplatform.types import Chunk, Claim, Document, Extraction, Mention, Refusal
from kgplatform.vocab import XSD_DECIMAL, chunk_iri, document_iri

BASE = "https://example.org/kg/"
HOTEL, NEAR = NamedNode("https://example.org/o#Hotel"), NamedNode("https://example.org/o#near")
TEXTS = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
NODES = st.sampled_from([HOTEL, NEAR, NamedNode("https://example.org/西栅")])
MENTIONS = st.builds(
    Mention, TEXTS, st.integers(0, 99), st.integers(0, 99), NODES, TEXTS, st.lists(TEXTS, max_size=2).map(tuple)
)
LITERALS = (
    TEXTS.map(Literal)
    | TEXTS.map(lambda text: Literal(text, language="zh"))
    | st.integers().map(Literal)
    | st.decimals(allow_nan=False, allow_infinity=False).map(lambda d: Literal(f"{d:f}", datatype=XSD_DECIMAL))
)
CLAIMS = st.builds(Claim, MENTIONS, NODES, MENTIONS | LITERALS, st.integers(0, 99), st.integers(0, 99), st.floats(0, 1))
EXTRACTIONS = st.builds(
    Extraction,
    NODES,
    st.lists(MENTIONS, max_size=4).map(tuple),
    st.lists(CLAIMS, max_size=4).map(tuple),
    st.lists(st.builds(Refusal, TEXTS, TEXTS), max_size=2).map(tuple),
    st.lists(TEXTS, max_size=2).map(tuple),
    TEXTS,
    st.none() | TEXTS,
    st.none() | TEXTS,
)


@given(EXTRACTIONS)
def test_an_extraction_comes_back_as_it_was_written(extraction):
    text = encode(extraction)
    assert "\n" not in text
    assert decode(text) == extraction


def document(text="西栅 is near the lake.", *, sha="ab", source="notes/a.txt"):
    digest = (sha * 32)[:64]
    return Document(document_iri(BASE, digest), text, "A note", "text/plain", source, digest, "en")


def pieces(of):
    middle = len(of.text) // 2
    spans = [(0, middle), (middle, len(of.text))]
    chunks = [Chunk(chunk_iri(of.iri, i), of.iri, i, a, b, of.text[a:b]) for i, (a, b) in enumerate(spans)]
    mention = Mention(of.text[:2], 0, 2, HOTEL, of.text[:2])
    return chunks, [Extraction(chunks[0].iri, (mention,))]


@pytest.fixture
def registry():
    return Registry(None)


def processed(registry, of, **options):
    registry.enter(of, *pieces(of))
    registry.finish(of, statements=3, refused=1, seconds=0.5, **options)


def test_a_document_goes_through_its_states(registry):
    note = document()
    chunks, extractions = pieces(note)
    assert registry.state(note.iri) is None
    registry.announce(note)
    assert registry.state(note.iri) is State.PENDING
    registry.fail(note, "is encrypted")
    assert registry.documents(State.FAILED)[0].error == "is encrypted"
    registry.enter(note, chunks, extractions)
    assert registry.state(note.iri) is State.PROCESSING
    assert (list(registry.extractions()), list(registry.extractions(note.iri))) == ([], extractions)
    registry.finish(note, statements=3, refused=1, seconds=0.5)
    record = registry.document(note.iri)
    assert (record.state, record.statements, record.refused, record.error) == (State.PROCESSED, 3, 1, None)
    assert (record.document, registry.documents(State.FAILED)) == (note, [])
    registry.announce(note)
    assert registry.state(note.iri) is State.PROCESSED
    assert registry.chunks(note.iri) == chunks
    assert registry.chunk(chunks[1].iri) == (chunks[1], note)
    assert [registry.extraction(chunk.iri) for chunk in chunks] == [extractions[0], None]
    assert list(registry.extractions()) == list(registry.extractions(note.iri)) == extractions
    assert list(name_keys(extractions[0])) == [(HOTEL, "西栅")]


def test_an_edited_document_replaces_the_old_one(registry):
    old, new = document(), document("Another text altogether.", sha="cd")
    processed(registry, old)
    assert registry.drop_source(new.source, keep=[new.iri]) == [old.iri]
    processed(registry, new, replaced=[old.iri])
    assert [record.document.iri for record in registry.documents()] == [new.iri]
    assert registry.drop_source(new.source, keep=[new.iri]) == []
    with pytest.raises(NotFoundError):
        registry.chunk(chunk_iri(old.iri, 0))


def test_what_was_unfinished_at_a_path_is_forgotten_when_its_content_changes(registry):
    done, failed, waiting, elsewhere = (
        document(sha=sha, source="b.txt" if sha == "dd" else "a.txt") for sha in ("aa", "bb", "cc", "dd")
    )
    processed(registry, done)
    registry.fail(failed, "model away")
    registry.announce(waiting)
    registry.fail(elsewhere, "model away")
    registry.drop_unfinished("a.txt", keep=[waiting.iri])
    assert {r.document.iri for r in registry.documents()} == {done.iri, waiting.iri, elsewhere.iri}


@pytest.mark.parametrize("name", ["notes/a_b.txt", "a_b.txt", "A note", "ababab", document_iri(BASE, "ab" * 32).value])
def test_a_document_is_found_by_path_name_title_hash_or_iri(registry, name):
    note = document(source="notes/a_b.txt")
    processed(registry, note)
    other = Document(document_iri(BASE, "f" * 64), "x", "B", "text/plain", "notes/axb.txt", "f" * 64, "en")
    processed(registry, other)
    assert registry.find(name).document.iri == note.iri


@pytest.mark.parametrize("name", ["______", "%", "%a%", "aba", "", "nothing.txt", "b.txt'; DROP TABLE documents; --"])
def test_names_of_nothing_or_of_several_are_told(registry, name):
    first, second = document(), document("Other text.", sha="cd")
    processed(registry, first)
    processed(registry, second)
    with pytest.raises(NotFoundError, match="no document fits"):
        registry.find(name)
    with pytest.raises(
        NotFoundError, match=rf"2 documents fit 'a\.txt', give an IRI.*{first.iri.value}.*{second.iri.value}"
    ):
        registry.find("a.txt")


def test_content_at_two_paths_goes_with_the_last_and_removing_forgets_everything(registry):
    note = document()
    processed(registry, note)
    registry.add_source("copies/a.txt", note.iri)
    assert registry.drop_source(note.source, keep=[]) == []
    assert registry.drop_source("copies/a.txt", keep=[]) == [note.iri]
    registry.remove(note.iri)
    assert registry.documents() == list(registry.extractions(note.iri)) == []
    with pytest.raises(NotFoundError, match="`kgplatform documents` lists them"):
        registry.document(note.iri)


def test_table_rows_are_known_by_subject_and_place(registry):
    table, graph = document("code\nA1\nA1"), NamedNode(f"{BASE}graph/table/codes")
    rows = [TableRow(table.iri, HOTEL, 2, 5, 7), TableRow(table.iri, HOTEL, 3, 8, 10)]
    registry.enter(table, rows=[*rows, rows[0]], graph=graph)
    assert registry.rows_about(HOTEL) == registry.rows_of(table.iri) == rows
    assert registry.table_graphs() == {graph.value: table.iri}


def test_the_map_of_names_is_replaced_as_a_whole(registry):
    key = (HOTEL, "西栅")
    link = NameLink(HOTEL, "西栅", NEAR, 0.93, "similarity")
    entity = LinkedEntity(NEAR, HOTEL, (Word("西栅", "zh"), Word("Xizha", "en")))
    registry.set_linking(Linking({key: link}, {NEAR: entity}))
    assert registry.linking() == Linking({key: link}, {NEAR: entity})
    registry.set_linking(Linking())
    assert registry.linking() == Linking()


def test_what_fails_leaves_the_old_and_what_is_no_registry_is_told(registry, tmp_path):
    note = document()
    processed(registry, note)
    chunks, extractions = pieces(note)
    with pytest.raises(Exception, match="UNIQUE"):
        registry.enter(note, [*chunks, chunks[0]], extractions)
    assert (registry.state(note.iri), registry.chunks(note.iri)) == (State.PROCESSED, chunks)
    (tmp_path / "documents.sqlite").write_text("not a database, " * 100)
    with pytest.raises(WorkspaceError, match="the document registry cannot be opened"):
        Registry(tmp_path / "documents.sqlite")


def test_two_threads_can_enter_documents_at_once(tmp_path):
    registry = Registry(tmp_path / "documents.sqlite")

    def enter(number):
        processed(registry, document(f"Note {number}.", sha=f"{number:02x}", source=f"{number}.txt"))
        registry.linking()

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(enter, range(40)))
    registry.close()
    again = Registry(tmp_path / "documents.sqlite")
    assert len(again.documents(State.PROCESSED)) == 40
    again.close()
