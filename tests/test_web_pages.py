"""Adding what is named: pages from the web and what is refused of them, Word files and books, places in JSON, posts."""

import gzip
import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from kgplatform.cli.main import main
from kgplatform.cli.verb import MISUSED, SHORT
from kgplatform.documents.fetch import FetchedPage, WebRules, _redirected, fetch, is_address
from kgplatform.documents.files import digest, read_content
from kgplatform.documents.records import State
from kgplatform.errors import ConfigError, ReadError
from kgplatform.graph import KnowledgeGraph
from kgplatform.network import is_public, public_addresses
from kgplatform.settings import FILE
from kgplatform.workspace import intake
from tests.test_book_readers import docx, epub, paragraph

Reply = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Site:
    """A server with its pages, and what was asked of it."""

    port: int = 0
    pages: dict[str, Reply] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)

    def address(self, path="/", host="site.test"):
        return f"http://{host}:{self.port}{path}"

    def rules(self, *hosts, **limits):
        names = hosts or ("site.test",)
        allowed = tuple(name if name == "*" else f"{name}:{self.port}" for name in names)
        return WebRules(allowed, **limits)


def here(_host, _port):
    """The address of this machine, which no setting lets through."""
    return ["127.0.0.1"]


@pytest.fixture
def site():
    found = Site()

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self):
            found.asked.append((self.headers["Host"], self.path))
            found.pages[self.path.partition("?")[0]](self)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    server.daemon_threads = True
    found.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield found
    server.shutdown()
    server.server_close()
    thread.join()


def page(content, kind="text/html", status=200, **headers):
    def reply(request):
        request.send_response(status)
        request.send_header("Content-Type", kind)
        for name, value in {"Content_Length": str(len(content)), **headers}.items():
            request.send_header(name.replace("_", "-"), value)
        request.end_headers()
        request.wfile.write(content)

    return reply


def endless(size, pause=0.0):
    """Goes on for as long as somebody listens, or for a thousand writes."""

    def reply(request):
        request.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n" + (b"" if pause == 0.1 else b"\r\n"))
        with suppress(OSError):
            for _ in range(1000):
                request.wfile.write(b"x" * size)
                time.sleep(pause)

    return reply


def redirect(target, status=302):
    return page(b"", status=status, Location=target)


def refusal(address, rules, resolve=here):
    with pytest.raises(ReadError) as caught:
        fetch(address, rules, resolve=resolve)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"{address}: ")
    return caught.value.reason


def test_a_page_is_fetched_and_read_with_its_address_as_the_source(site):
    html = "<title>西栅</title><main><h1>西栅夜游</h1><p>西栅有很多民宿，晚上很安静。</p></main>"
    site.pages["/a b"] = page(html.encode("gb18030"), "text/html; charset=gb2312")
    site.pages["/%E8%A5%BF?q=%E6%A0%85"] = site.pages["/a b"]
    site.pages["/%E8%A5%BF"] = site.pages["/a b"]
    address = site.address("/西?q=栅#top")
    got = fetch(address, site.rules(), resolve=here)
    assert site.asked == [(f"site.test:{site.port}", "/%E8%A5%BF?q=%E6%A0%85")]
    base = "https://example.org/kg/"
    (document,) = read_content(got.path, got.data, base=base, source=got.address, sha256=digest(got.data))
    assert document.text == "# 西栅夜游\n\n西栅有很多民宿，晚上很安静。"
    assert (document.source, document.title, document.language) == (address, "西栅夜游", "zh")


@pytest.mark.parametrize(
    ("kind", "content", "suffix"),
    [
        *(("text/plain; charset=utf-8", b"text", ".txt"), ("application/pdf", b"%PDF-1.4", ".pdf")),
        *(("application/octet-stream", b"%PDF-1.4", ".pdf"), ("application/xhtml+xml", b"<p>x</p>", ".html")),
        *(("application/json", b"{}", ".json"), ("image/png", b"GIF", ""), ("application/zip", b"GIF", "")),
        *(("application/octet-stream", b"GIF", ""), ("", b"GIF", "")),
    ],
)
def test_the_content_type_says_how_a_page_is_read(site, kind, content, suffix):
    site.pages["/x.exe"] = page(content, kind)
    if suffix:
        got = fetch(site.address("/x.exe"), site.rules(), resolve=here)
        assert got.path.name == f"x{suffix}"
        assert got.data.endswith(content)
    else:
        reason = refusal(site.address("/x.exe"), site.rules())
        assert reason.startswith(f"is of the type {kind or '(none)'}; read are")


@pytest.mark.parametrize(
    "address",
    [
        *("ftp://site.test/", "file:///etc/hostname", "http://", "http:///path", "http://site.test:99999/"),
        *("http://[::1/", "https://" + "a" * 5000, "gopher://x"),
    ],
)
def test_what_is_no_web_address_is_refused(address):
    assert "address" in refusal(address, WebRules(("*",)))


def test_only_allowed_hosts_are_asked(site):
    site.pages["/"] = page(b"<p>x</p>")
    other = refusal(site.address(host="other.test"), site.rules())
    assert other == f"other.test:{site.port} is not in documents.web_hosts; add it there if it may be read"
    assert "documents.web_hosts" in refusal(site.address(), WebRules())
    assert "documents.web_hosts" in refusal(site.address(), WebRules(("site.test",)))  # another port is another server
    assert "documents.web_hosts" in refusal(site.address(host="nosite.test"), site.rules("*.site.test"))
    assert "user name" in refusal(f"http://site.test:x@site.test:{site.port}/", site.rules())
    assert site.asked == []
    assert fetch(site.address(host="www.site.test"), site.rules("*.site.test"), resolve=here).data
    assert fetch(site.address(host="SITE.test"), site.rules(), resolve=here).data


def test_addresses_that_are_not_public_are_known(monkeypatch):
    private = "127.0.0.1 10.1.2.3 192.168.0.1 172.16.0.1 169.254.169.254 0.0.0.0 100.64.0.1 224.0.0.1 255.255.255.255"
    private += " ::1 :: fe80::1%eth0 fc00::1 ff02::1 ::ffff:127.0.0.1 2002:7f00:1:: fec0::1"
    assert [address for address in private.split() if is_public(address)] == []
    assert is_public("1.1.1.1")
    assert is_public("2606:4700:4700::1111")
    found = [(2, 1, 6, "", (address, 80)) for address in ("93.184.216.34", "10.0.0.1")]
    monkeypatch.setattr("kgplatform.documents.fetch.socket.getaddrinfo", lambda *_, **__: found)
    with pytest.raises(OSError, match=r"mixed\.test is at 10\.0\.0\.1, which is not a public address"):
        public_addresses("mixed.test", 80)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_this_machine_is_not_fetched_under_any_of_its_names(site, host):
    site.pages["/"] = page(b"<p>secret</p>")
    rules = WebRules(tuple(f"{name}:{site.port}" for name in ("*", host)))
    with pytest.raises(ReadError, match=r"cannot be fetched: |not in documents\.web_hosts"):
        fetch(site.address(host=host), rules)
    assert site.asked == []


def test_redirects_are_held_to_the_same_rules(site):
    site.pages["/"] = redirect("/next")
    site.pages["/next"] = redirect(site.address("/end", host="www.site.test"))
    site.pages["/end"] = page(b"<p>end</p>")
    got = fetch(site.address(), site.rules("site.test", "www.site.test"), resolve=here)
    assert got == FetchedPage(site.address(), got.path, b"<p>end</p>")
    reason = refusal(site.address(), site.rules())
    assert reason.startswith(f"leads to another host; www.site.test:{site.port} is not in documents.web_hosts")
    site.pages["/next"] = redirect("file:///etc/hostname")
    assert refusal(site.address(), site.rules()) == "is not an address that can be read; give one of http or https"
    site.pages["/next"] = redirect("/")
    assert refusal(site.address(), site.rules()) == "leads through more than 5 redirects"
    site.pages["/next"] = redirect("")
    assert refusal(site.address(), site.rules()) == "redirects without a target"


def test_a_host_may_be_named_in_its_own_letters_and_tls_is_not_given_up(site):
    site.pages["/"] = page(b"<p>x</p>")
    assert refusal(f"https://site.test:{site.port}/", site.rules()).startswith("cannot be fetched: ")
    assert site.asked == []
    with pytest.raises(ReadError, match=r"leads from https to 'http://site\.test/b', which is not"):
        _redirected("https://site.test/a", "http://site.test/b", "https://site.test/a")
    for rules in (site.rules("bücher.test"), site.rules("xn--bcher-kva.test")):
        assert fetch(site.address(host="Bücher.test"), rules, resolve=here).data
    assert {host for host, _ in site.asked} == {f"xn--bcher-kva.test:{site.port}"}


def test_a_redirect_to_a_private_address_is_refused(site):
    site.pages["/"] = redirect(site.address("/end", host="inner.test"))
    site.pages["/end"] = page(b"<p>secret</p>")

    def resolve(host, port):
        return here(host, port) if host == "site.test" else public_addresses("127.0.0.1", port)

    reason = refusal(site.address(), site.rules("site.test", "inner.test"), resolve)
    assert reason == "cannot be fetched: 127.0.0.1 is at 127.0.0.1, which is not a public address"
    assert len(site.asked) == 1


def test_errors_dead_servers_and_half_pages_are_one_line(site):
    for reply, reason in (
        (page(b"gone", status=404), "answers 404 Not Found"),
        (lambda request: request.wfile.write(b"nonsense\r\n\r\n"), "cannot be fetched: "),
        (page(b"half", "text/plain", Content_Length="1000"), "breaks off"),
    ):
        site.pages["/"] = reply
        assert refusal(site.address(), site.rules()).startswith(reason)
    assert refusal("http://site.test:9/", WebRules(("site.test:9",))).startswith("cannot be fetched: ")


def test_too_much_is_refused_whatever_the_server_says(site):
    rules = site.rules(max_bytes=1000)
    for reply, reason in (
        (page(b"x" * 2000, "text/plain"), "is larger than 0.001 MB, see documents.max_bytes"),
        (endless(65536), "is larger than"),
        (
            page(gzip.compress(b"x" * 100_000), "text/plain", Content_Encoding="gzip"),
            "unpacks to more than documents.max",
        ),
        (page(b"x", "text/plain", Content_Encoding="br"), "is packed as 'br', which is not read"),
    ):
        site.pages["/"] = reply
        assert refusal(site.address(), rules).startswith(reason)
    site.pages["/"] = page(gzip.compress(b"hello"), "text/plain", Content_Encoding="gzip")
    assert fetch(site.address(), rules, resolve=here).data == b"hello"


@pytest.mark.parametrize("pause", [0.1, 0.101], ids=["header", "body"])
def test_a_server_that_drips_is_cut_at_the_deadline(site, pause):
    site.pages["/"] = endless(1, pause)
    began = time.monotonic()
    reason = refusal(site.address(), site.rules(timeout_seconds=0.5))
    assert reason == "does not answer in time; see documents.web_timeout_seconds"
    assert time.monotonic() - began < 15


def test_addresses_are_told_from_paths():
    given = ("https://example.org/a", "HTTP://example.org", "notes/https.txt", "C:/x")
    assert [is_address(text) for text in given] == [True, True, False, False]


ENGLISH = "Xizha at night\n\nThe Blue Bridge Inn is located in Wuzhen. Wuzhen is located in Jiaxing.\n"
CHINESE = "西栅的住宿\n\n枕水度假酒店位于乌镇。乌镇位于嘉兴。\n"


def configure(folder, *lines):
    file = folder / FILE
    file.write_text(file.read_text("utf-8") + "\n[documents]\n" + "\n".join(lines) + "\n", "utf-8")


@pytest.fixture
def folder(tmp_path):
    KnowledgeGraph.create(tmp_path / "kg", ontology=["travel"]).close()
    return tmp_path / "kg"


@pytest.fixture
def kg(folder):
    with KnowledgeGraph.open(folder) as found:
        yield found


def test_a_word_file_and_a_book_say_what_a_note_says(kg, tmp_path):
    title, text = CHINESE.strip().split("\n\n")
    files = [docx(tmp_path / "a.docx", "".join(paragraph(block) for block in ENGLISH.strip().split("\n\n")))]
    files.append(epub(tmp_path / "b.epub", {"one": f"<h1>{title}</h1><p>{text}</p>"}))
    added = list(kg.add(*files, build=False))
    assert [item.outcome for item in added] == ["added", "added"]
    assert all(item.accepted for item in added)
    assert [item.outcome for item in kg.add(*files, build=False)] == ["unchanged", "unchanged"]


def test_posts_at_a_place_in_json_are_documents(folder, tmp_path):
    posts = [{"title": "A", "content": ENGLISH}, {"title": "B", "content": CHINESE}]
    file, place = tmp_path / "a.json", f"{tmp_path / 'a.json'}#/data/posts"
    file.write_text(json.dumps({"meta": {"of": "x"}, "data": {"posts": posts}}), "utf-8")
    with KnowledgeGraph.open(folder) as kg:
        added = list(kg.add(place, build=False))
        assert [(item.outcome, item.document.title) for item in added] == [("added", "A"), ("added", "B")]
        assert {item.document.source for item in added} == {place}
        assert [item.outcome for item in kg.add(place, build=False)] == ["unchanged", "unchanged"]
        file.write_text(json.dumps({"data": {"posts": posts[:1]}}), "utf-8")
        assert [item.outcome for item in kg.add(place, build=False)] == ["replaced"]
        assert [record.document.title for record in kg.documents(State.PROCESSED)] == ["A"]
    configure(folder, 'json_path = "/data/*/posts"')
    file.write_text(json.dumps({"meta": "x", "data": [{"posts": [{"text": ENGLISH}]}, {"posts": [{"正文": CHINESE}]}]}))
    with KnowledgeGraph.open(folder) as kg:
        added = list(kg.add(file, build=False))
        assert [item.document.text for item in added] == [ENGLISH, CHINESE]


def test_web_addresses_are_taken_as_they_are_and_not_read_unless_the_settings_say_so(folder, capsys):
    assert main(["add", "https://example.org/a?b=//c", "-w", str(folder)]) == MISUSED
    said = capsys.readouterr().err
    assert "https://example.org/a?b=//c: addresses on the web are not read; " in said
    assert "web = true" in said
    assert said.count("\n") == 1
    configure(folder, "web = true")
    assert main(["add", "https://example.org/a?b=//c", "-w", str(folder), "--no-build"]) == SHORT
    assert "https://example.org/a?b=//c: example.org is not in documents.web_hosts" in capsys.readouterr().out


def test_a_page_is_added_kept_and_replaced_by_its_address(folder, site, monkeypatch):
    configure(folder, "web = true", f'web_hosts = ["site.test:{site.port}", "localhost:{site.port}"]')
    address, other, local = site.address("/a?b=//c"), site.address(host="other.test"), site.address(host="localhost")
    site.pages["/a"] = page(b"gone", status=503)
    with KnowledgeGraph.open(folder) as kg:
        (refused,) = kg.add(local, build=False)
        assert "is not a public address" in str(refused.error)
        kg.remove(local)
        assert site.asked == []
        monkeypatch.setattr(intake, "fetch", partial(fetch, resolve=here))
        failed = list(kg.add(address, other, build=False))
        assert [item.outcome for item in failed] == ["failed", "failed"]
        assert failed[0].error == "answers 503 Service Unavailable"
        assert "not in documents.web_hosts" in str(failed[1].error)
        assert len(site.asked) == 1
        site.pages["/a"] = page(f"<main><h1>西栅</h1><p>{CHINESE}</p></main>".encode())
        assert {item.document.source: item.outcome for item in kg.retry()} == {address: "added", other: "failed"}
        (added,) = kg.add(address, build=False)
        assert (added.outcome, added.document.source, added.document.title) == ("unchanged", address, "西栅")
        site.pages["/a"] = page(f"<main><h1>Xizha</h1><p>{ENGLISH}</p></main>".encode())
        assert [item.outcome for item in kg.add(address, build=False)] == ["replaced"]
        assert [record.document.title for record in kg.documents(State.PROCESSED)] == ["Xizha"]
        kg.remove(address)
        assert kg.documents(State.PROCESSED) == []


@pytest.mark.parametrize("text", [ENGLISH, CHINESE], ids=["en", "zh"])
@pytest.mark.parametrize("noise", ["keep", "skip"])
def test_a_post_says_the_same_with_and_without_its_noise(folder, tmp_path, text, noise):
    configure(folder, f'noise = "{noise}"')
    noisy = text.replace("\n\n", " 🔥🔥 yyds\n\nOMG!!! ") + "\n记得点赞收藏哦～ Follow me for more!\n"
    for name, content in (("a.txt", text), ("b.txt", noisy)):
        (tmp_path / name).write_text(content, "utf-8")
    with KnowledgeGraph.open(folder) as kg:
        plain, post = kg.add(tmp_path / "a.txt", tmp_path / "b.txt", build=False)
        assert post.document.text == noisy
        assert {t.predicate.value for t in plain.accepted} <= {t.predicate.value for t in post.accepted}
        read = [kg.registry.extraction(chunk.iri) for chunk in kg.registry.chunks(post.document.iri)]
        assert all(noisy[m.start : m.end] == m.text for extraction in read for m in extraction.mentions)
    (folder / FILE).write_text((folder / FILE).read_text("utf-8").replace(f'"{noise}"', '"off"'), "utf-8")
    with pytest.raises(ConfigError, match=r"documents\.noise is 'off'; it must be keep or skip"):
        KnowledgeGraph.open(folder)
