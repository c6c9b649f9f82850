"""Requests that nobody would write: mutated queries, and whatever the OpenAPI document allows. None is a 500."""

from __future__ import annotations

import random
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest
from serving import small_server

SEEDS = (
    "SELECT ?h ?n { ?h travel:roomCount ?n FILTER(?n > 3) } ORDER BY ?n LIMIT 5",
    "PREFIX e: <urn:e:> CONSTRUCT { ?s e:p [ e:q ?o ] } WHERE { ?s ?p ?o OPTIONAL { ?o a ?c } } LIMIT 3",
    'SELECT (GROUP_CONCAT(DISTINCT ?l; separator=", ") AS ?a) { ?x rdfs:label ?l } GROUP BY ?x HAVING (COUNT(?l) > 1)',
    'SELECT * { SERVICE kgp:find { ?t kgp:text "西栅" ; kgp:label ?l ; kgp:limit 3 } ?t a ?c }',
    "ASK { ?a (geo:locatedIn|^geo:near)+ ?b MINUS { ?b rdfs:label '乌镇'@zh } }",
    "DESCRIBE <https://example.org/kg/entity/x> FROM <urn:g>",
    'SELECT (kgp:convert("1"^^xsd:decimal, "里", "km") AS ?k) { VALUES ?b { "\\u00e9" <<( <urn:a> <urn:b> 1 )>> } }',
    "INSERT { ?s <urn:p> ?o } WHERE { ?s <urn:q> ?o } ; DELETE DATA { <urn:a> <urn:b> 1 }",
)
PIECES = (
    *("{", "}", "(", ")", "<", ">", "<<(", ")>>", "'", '"', '"""', "\\", "\\u12", "#", ";", ".", ",", "|", "^", "*"),
    *("SERVICE", "SELECT", "GRAPH ?g", "BIND(1/0 AS ?z)", "GROUP_CONCAT(", "kgp:text", "\x00", "\ud7ff", "西", "𝕏"),
)


def mutated(chance: random.Random) -> str:
    text = list(chance.choice(SEEDS))
    for _ in range(chance.randint(0, 6)):
        place = chance.randrange(len(text) + 1)
        match chance.randrange(4):
            case 0:
                text[place:place] = chance.choice(PIECES)
            case 1:
                del text[place : place + chance.randint(1, 8)]
            case 2:
                other = chance.choice(SEEDS)
                start = chance.randrange(len(other))
                text[place:place] = other[start : start + chance.randint(1, 30)]
            case _:
                text[place:place] = text[place : place + 10] * chance.randint(1, 40)
    return "".join(text)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with small_server(tmp_path_factory.mktemp("served"), settings="timeout_seconds=3, max_upload_mb=2") as (address, _):
        yield address


def status_of(address: str, fields: dict[str, str]) -> int:
    try:
        response = urllib.request.urlopen(f"{address}/sparql", data=urlencode(fields).encode(), timeout=60)
    except urllib.error.HTTPError as error:
        response = error
    with response:
        response.read()
        return int(response.status)


def test_mutated_queries_and_updates_are_answered_or_refused(server: str) -> None:
    chance = random.Random(5)
    seen: dict[int, int] = {}
    for number in range(400):
        text = mutated(chance)
        status = status_of(server, {"update" if number % 5 == 0 else "query": text})
        assert status in (200, 204, 400, 503, 504), text
        seen[status] = seen.get(status, 0) + 1
    assert seen[400] > 50
    assert seen.get(200, 0) > 5


def test_what_the_openapi_document_allows_never_fails_inside(server: str, tmp_path: Path) -> None:
    program = Path(sys.executable).with_name("schemathesis")
    if not program.exists():
        pytest.skip("schemathesis is not installed")
    options = [
        "--checks",
        "not_a_server_error",
        "--max-examples",
        "15",
        "--seed",
        "7",
        "--phases",
        "fuzzing",
        "--no-color",
    ]
    done = subprocess.run(
        [str(program), "run", f"{server}/api/openapi.json", *options],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-1000:]
    assert " passed" in done.stdout
    assert " failed" not in done.stdout
