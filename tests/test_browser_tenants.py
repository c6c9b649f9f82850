"""Pages of a workspace below a path: whatever the scripts ask for, and wherever they lead, stays below it."""

from urllib.parse import quote, urlsplit

import pytest
from browser import Browsing, browser, browsing, served, until  # noqa: F401
from local_server import running
from small_graph import HOTELS, small_graph

from kgplatform.server.access import Access, Rights
from kgplatform.server.app import JOBS, create_app
from kgplatform.server.tenants import Tenant, Tenants


@pytest.fixture
def below(tmp_path):
    """The address of a server with two small workspaces below paths."""
    access, made = Access.on("127.0.0.1"), []
    for name in ("/one", "/二"):
        (tmp_path / name[1:]).mkdir()
        made.append(
            Tenant(
                small_graph(tmp_path / name[1:]),
                Rights(local=True),
                lambda kg, rights, view: create_app(kg, access=access, rights=rights, view=view),
                lambda app: app.extensions[JOBS].stop(),
                path=name,
            )
        )
    with running(Tenants(made, access)) as address:
        yield address
    for tenant in made:
        tenant.close()
        tenant.kg.workers.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["/one", "/二"])
def test_pages_and_scripts_of_a_workspace_stay_below_its_path(below, browsing, name):
    root, asked = quote(name), []
    for path in ("/", "/ontology"):
        page = browsing.page(f"{root}{path}", address=below)
        page.on("request", lambda sent: asked.append(sent.url))
        links = page.eval_on_selector_all("a[href], form[action]", "all => all.map((one) => one.href ?? one.action)")
        strays = [link for link in links if not urlsplit(link).path.startswith(f"{root}/")]
        assert [link for link in strays if link.startswith(below)] == []
        page.reload()
        page.wait_for_selector("html[data-ready=yes]", state="attached")
    page = browsing.page(f"{root}/query?query={quote(HOTELS)}", address=below)
    page.on("request", lambda sent: asked.append(sent.url))
    until(page, "document.body.innerText.includes('Lakeside Inn')")
    page.keyboard.press("Control+k")
    page.keyboard.type("Canal House")
    page.wait_for_selector("#found [data-page*='entity/canal-house']")
    page.keyboard.press("Enter")
    page.wait_for_url(f"{below}{root}/**canal-house**")
    assert asked
    assert [url for url in asked if url.startswith(below) and not urlsplit(url).path.startswith(f"{root}/")] == []
