"""Signing in at an OpenID provider, played by authlib's server: who gets in, with which role, and what is refused."""

import asyncio
import json
import warnings
from contextlib import closing, contextmanager
from urllib.parse import parse_qs, quote, urlsplit

import httpx
import pytest
from browser import serve_in_thread
from interfaces import asked_workspace
from test_mcp import ENVIRONMENT, connected, start, stop
from workspaces import new_workspace

from kgplatform.errors import ConfigError
from kgplatform.graph import KnowledgeGraph
from kgplatform.server.access import SESSION, Access, Token
from kgplatform.server.app import create_app

with warnings.catch_warnings():  # authlib's server parts load modules that it is to give up
    warnings.simplefilter("ignore")
    from identity_provider import CLIENT, SECRET, identity_provider
from joserfc.jwk import RSAKey
from local_server import running

PEOPLE = {"ann": ["editors", "staff"], "bob": ["staff"], "eve": ["visitors"], "周": ["staff"]}
ROLES = '"editors write", "staff read"'


@contextmanager
def signing_in(folder, monkeypatch, *, roles=ROLES, provider=None, more="", claim="groups", **forged):
    """The address of a server whose people sign in, and the provider's application."""
    monkeypatch.setenv("KGPLATFORM_SIGN_IN_SECRET", SECRET)
    app, _ = provider or identity_provider(PEOPLE, **forged)
    with running(app) as issuer:
        settings = (
            f"[server]\npublic_reads = false\n{more}\n"
            f'[sign_in]\nissuer = "{issuer}"\nclient = "{CLIENT}"\nroles = [{roles}]\nclaim = "{claim}"'
        )
        with KnowledgeGraph(new_workspace(folder, settings=settings)) as kg:
            address, stop = serve_in_thread(kg)
            try:
                yield address, app
            finally:
                stop()


def signed_in(address, user, page="/documents"):
    """A browser that went through the provider as that user, and the last response."""
    browser = httpx.Client(base_url=address, headers={"Accept": "text/html", "X-User": quote(user)}, trust_env=False)
    return browser, browser.get(page, follow_redirects=True)


def test_people_sign_in_with_the_role_that_their_group_gives_them(tmp_path, monkeypatch):
    with signing_in(tmp_path / "kg", monkeypatch) as (address, _):
        for user, may_write in (("ann", True), ("bob", False), ("周", False)):
            browser, page = signed_in(address, user)
            with closing(browser):
                assert (page.status_code, page.url.path) == (200, "/documents"), page.text
                (cookie,) = [one for one in browser.cookies.jar if one.name == SESSION]
                assert cookie.has_nonstandard_attr("HttpOnly")
                assert browser.get("/sparql?query=ASK{}", headers={"Accept": "*/*"}).status_code == 200
                update = browser.post("/sparql", data={"update": "INSERT DATA { <urn:a> <urn:b> <urn:c> }"})
                assert update.status_code in ((200, 204) if may_write else (403,)), update.text
                foreign = browser.post(
                    "/sparql", data={"update": "CLEAR ALL"}, headers={"Origin": "https://evil.example"}
                )
                assert foreign.status_code == 403
                assert browser.post("/sign-out", headers={"Sec-Fetch-Site": "cross-site"}).status_code == 403
                assert browser.post("/sign-out").status_code == 303
                assert browser.get("/api/schema", headers={"Accept": "application/json"}).status_code == 401


def test_who_has_no_group_that_is_named_is_refused_with_the_reason(tmp_path, monkeypatch):
    with signing_in(tmp_path / "kg", monkeypatch) as (address, _):
        browser, page = signed_in(address, "eve")
        with closing(browser):
            assert page.status_code == 403
            assert "groups" in page.text
            assert SESSION not in browser.cookies
            for headers in ({}, {"Cookie": f"{SESSION}=made.up"}, {"Authorization": "Bearer made-up"}):
                assert browser.get("/api/schema", headers={"Accept": "*/*", **headers}).status_code == 401


@pytest.mark.parametrize(
    "forged",
    [{"iss": "https://other.example"}, {"aud": "another client"}, {"nonce": "of another sign-in"}, {"exp": 1000}, {}],
    ids=lambda forged: next(iter(forged), "key"),
)
def test_an_id_token_that_is_not_of_this_sign_in_lets_nobody_in(tmp_path, monkeypatch, forged):
    with signing_in(tmp_path / "kg", monkeypatch, **forged) as (address, app):
        if not forged:
            app.extensions["signing"].key = RSAKey.generate_key(2048, parameters={"kid": "one"})
        browser, page = signed_in(address, "ann")
        with closing(browser):
            assert (page.status_code, SESSION in browser.cookies) == (403, False)
            assert "does not vouch" in page.text


def test_an_answer_that_another_browser_asked_for_lets_nobody_in(tmp_path, monkeypatch):
    with signing_in(tmp_path / "kg", monkeypatch) as (address, _), httpx.Client(trust_env=False) as other:
        browser = httpx.Client(base_url=address, trust_env=False)
        with closing(browser):
            sent = browser.get("/sign-in?next=//evil.example").headers["Location"]
            asked = {name: values[0] for name, values in parse_qs(urlsplit(sent).query).items()}
            assert asked["code_challenge_method"] == "S256"
            assert {"state", "nonce", "code_challenge"} <= asked.keys()
            back = other.get(sent, headers={"X-User": "ann"}).headers["Location"]
            assert other.get(back).status_code == 403  # no cookie of the flow
            assert browser.get(back.replace("state=", "state=x")).status_code == 403
            done = browser.get(back)
            assert (done.status_code, done.headers["Location"]) == (303, "/")
            assert browser.get(back).status_code == 403  # a code is good for once


def test_a_provider_that_does_not_answer_is_told_in_a_line_and_asked_only_when_somebody_signs_in(tmp_path):
    settings = '[sign_in]\nissuer = "http://127.0.0.1:9"\nclient = "x"\nroles = ["* read"]'
    with KnowledgeGraph(new_workspace(tmp_path / "kg", settings=settings)) as kg:
        client = create_app(kg, access=Access()).test_client()
        assert client.get("/sparql?query=ASK%7B%7D").status_code == 200
        with client.get("/sign-in", headers={"Accept": "application/json"}) as response:
            assert (response.status_code, "provider could not be asked" in response.text) == (502, True)


@pytest.mark.parametrize(
    ("roles", "said"), [('"staff raed"', "no role 'raed'"), ("", "roles such as"), ('"read"', "roles such as")]
)
def test_settings_that_do_not_say_who_gets_in_stop_the_server(tmp_path, roles, said):
    settings = f'[sign_in]\nissuer = "http://127.0.0.1:9"\nclient = "x"\nroles = [{roles}]'
    with (
        KnowledgeGraph(new_workspace(tmp_path / "kg", settings=settings)) as kg,
        pytest.raises(ConfigError, match=said),
    ):
        create_app(kg)


def test_tokens_work_beside_signing_in_and_nobody_is_owner_by_being_near(tmp_path, monkeypatch):
    secret, line = Token.make("robot", "write")
    with signing_in(tmp_path / "kg", monkeypatch, more=f'tokens = ["{line}"]') as (address, _):
        assert httpx.get(f"{address}/sparql?query=ASK{{}}", headers={"Accept": "*/*"}).status_code == 401
        headers, update = {"Authorization": f"Bearer {secret}"}, {"update": "CLEAR SILENT GRAPH <urn:x>"}
        assert httpx.post(f"{address}/sparql", data=update, headers=headers).status_code < 300


@pytest.mark.slow
def test_two_workspaces_of_one_server_keep_their_people_and_tokens_apart(tmp_path, monkeypatch):
    """By the command, below their paths: people who sign in to a role of its own at one, tokens at the other."""
    monkeypatch.setitem(ENVIRONMENT, "KGPLATFORM_SIGN_IN_SECRET", SECRET)
    people = {"zoe": ["partners"], "ann": ["editors", "partners"], "eve": []}
    app, _ = identity_provider(people)
    secret, line = Token.make("robot", "read")
    with running(app) as issuer:
        first = asked_workspace(
            tmp_path / "inns",
            settings=f"[server]\npublic_reads = false\nhidden = ['guest inn.txt']\n[sign_in]\nissuer = '{issuer}'\n"
            f"client = '{CLIENT}'\nroles = ['partners guest', 'editors write']",
        )
        second = asked_workspace(tmp_path / "水乡", settings=f"[server]\npublic_reads = false\ntokens = ['{line}']")
        process, address = start(first, "-w", str(second))
        try:
            token, other = {"Authorization": f"Bearer {secret}"}, quote("水乡")
            search = "api/search?text=rooms"
            for user, sees in (("zoe", False), ("ann", True)):
                browser, page = signed_in(address, user, "/inns/documents")
                with closing(browser):
                    assert (page.status_code, page.url.path) == (200, "/inns/documents"), page.text
                    assert ("inn.txt" in page.text, "通安.txt" in page.text) == (sees, True)
                    (cookie,) = [one for one in browser.cookies.jar if one.name == SESSION]
                    assert cookie.path == "/inns"
                    said = browser.get(f"/inns/{search}", headers={"Accept": "*/*"})
                    assert ("24 rooms" in said.text, said.headers["Cache-Control"]) == (sees, "no-cache")
                    assert "Cookie" in said.headers["Vary"]
                    update = browser.post("/inns/sparql", data={"update": "INSERT DATA { <urn:a> <urn:b> 1 }"})
                    assert update.status_code in ((200, 204) if sees else (403,))
                    session = {"Cookie": f"{SESSION}={cookie.value}", "Accept": "*/*"}
                    assert httpx.get(f"{address}/{other}/{search}", headers=session).status_code == 401
                    listed = browser.get("/", headers=session).text
                    assert (f'href="/{other}/"' in listed) is False
            assert "24 rooms" in httpx.get(f"{address}/{other}/{search}", headers=token).text
            assert httpx.get(f"{address}/inns/{search}", headers=token).status_code == 401
            assert httpx.get(f"{address}/{other}/documents").status_code == 401
            listed = httpx.get(f"{address}/", headers=token).text
            assert ("/inns/" in listed, f'href="/{other}/"' in listed) == (False, True)

            async def tool():
                async with connected(f"{address}/{other}", key=secret) as client:
                    return await client.call_tool("describe", {"name": "Lakeside Inn"})

            assert json.loads(asyncio.run(tool()).content[0].text)["label"] == "Lakeside Inn"
        finally:
            stop(process)


def test_the_role_may_stand_deep_in_the_token_and_may_be_one_of_ones_own(tmp_path, monkeypatch):
    provider = identity_provider(PEOPLE, realm_access={"roles": ["partners"]})
    more = 'hidden = ["guest x/*"]'
    settings = {"roles": '"partners guest"', "provider": provider, "more": more, "claim": "realm_access.roles"}
    with signing_in(tmp_path / "kg", monkeypatch, **settings) as (address, _):
        browser, page = signed_in(address, "bob")
        with closing(browser):  # the application over the whole answers nobody who is to see a part
            assert (page.status_code, SESSION in browser.cookies) == (403, True)
            assert "your role sees a part of this graph" in page.text
