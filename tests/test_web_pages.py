"""Pages from the web: what is fetched, from where, and what is refused; against a server on this machine."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from kgplatform.documents.reading import digest, read_content
from kgplatform.documents.web import (
    WebPage,
    WebRules,
    _redirected,
    fetch,
    is_address,
    is_public,
    public_addresses,
)
from kgplatform.errors import ReadError

Reply = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class Site:
    """A server with its pages, and what was asked of it."""

    port: int = 0
    pages: dict[str, Reply] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)

    def address(self, path: str = "/", host: str = "site.test") -> str:
        return f"http://{host}:{self.port}{path}"

    def rules(self, *hosts: str, **limits: float) -> WebRules:
        names = hosts or ("site.test",)
        allowed = tuple(name if name == "*" else f"{name}:{self.port}" for name in names)
        return WebRules(allowed, **limits)  # type: ignore[arg-type]


def here(_host: str, _port: int) -> Sequence[str]:
    """The address of this machine, which no setting lets through."""
    return ["127.0.0.1"]


@pytest.fixture
def site() -> Iterator[Site]:
    found = Site()

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.asked.append((self.headers["Host"], self.path))
            found.pages[self.path.partition("?")[0]](self)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
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


def page(content: bytes, kind: str = "text/html", status: int = 200, **headers: str) -> Reply:
    def reply(request: BaseHTTPRequestHandler) -> None:
        request.send_response(status)
        request.send_header("Content-Type", kind)
        sent = {"Content_Length": str(len(content)), **headers}
        for name, value in sent.items():
            request.send_header(name.replace("_", "-"), value)
        request.end_headers()
        request.wfile.write(content)

    return reply


def redirect(target: str, status: int = 302) -> Reply:
    return page(b"", status=status, Location=target)


def refusal(address: str, rules: WebRules, resolve: Callable[[str, int], Sequence[str]] = here) -> str:
    with pytest.raises(ReadError) as caught:
        fetch(address, rules, resolve=resolve)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(f"{address}: ")
    return caught.value.reason


def test_a_page_is_fetched_and_read_with_its_address_as_the_source(site: Site) -> None:
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
        ("text/plain; charset=utf-8", b"text", ".txt"),
        ("application/pdf", b"%PDF-1.4", ".pdf"),
        ("application/octet-stream", b"%PDF-1.4", ".pdf"),
        ("application/xhtml+xml", b"<p>x</p>", ".html"),
        ("application/json", b"{}", ".json"),
    ],
)
def test_the_content_type_says_how_a_page_is_read(site: Site, kind: str, content: bytes, suffix: str) -> None:
    site.pages["/x.exe"] = page(content, kind)
    got = fetch(site.address("/x.exe"), site.rules(), resolve=here)
    assert got.path.name == f"x{suffix}"
    assert got.data.endswith(content)


@pytest.mark.parametrize("kind", ["image/png", "application/octet-stream", "", "application/zip"])
def test_other_content_types_are_refused(site: Site, kind: str) -> None:
    site.pages["/"] = page(b"GIF", kind)
    assert refusal(site.address(), site.rules()).startswith(f"is of the type {kind or '(none)'}; read are")


@pytest.mark.parametrize(
    "address",
    [
        "ftp://site.test/",
        "file:///etc/hostname",
        "http://",
        "http:///path",
        "http://site.test:99999/",
        "http://[::1/",
        "https://" + "a" * 5000,
        "gopher://x",
    ],
)
def test_what_is_no_web_address_is_refused(address: str) -> None:
    assert "address" in refusal(address, WebRules(("*",)))


def test_only_allowed_hosts_are_asked(site: Site) -> None:
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


@pytest.mark.parametrize(
    "address",
    [
        *(
            "127.0.0.1",
            "10.1.2.3",
            "192.168.0.1",
            "172.16.0.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "224.0.0.1",
        ),
        *("::1", "::", "fe80::1%eth0", "fc00::1", "ff02::1", "::ffff:127.0.0.1", "2002:7f00:1::", "fec0::1"),
        "255.255.255.255",
    ],
)
def test_addresses_that_are_not_public_are_known(address: str) -> None:
    assert not is_public(address)


def test_public_addresses_are_known() -> None:
    assert is_public("1.1.1.1")
    assert is_public("2606:4700:4700::1111")


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_this_machine_is_not_fetched_under_any_of_its_names(site: Site, host: str) -> None:
    site.pages["/"] = page(b"<p>secret</p>")
    rules = WebRules(tuple(f"{name}:{site.port}" for name in ("*", host)))
    with pytest.raises(ReadError, match=r"cannot be fetched: |not in documents\.web_hosts"):
        fetch(site.address(host=host), rules)
    assert site.asked == []


def test_the_resolver_refuses_a_host_with_one_private_address(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(2, 1, 6, "", (address, 80)) for address in ("93.184.216.34", "10.0.0.1")]
    monkeypatch.setattr("kgplatform.documents.web.socket.getaddrinfo", lambda *_, **__: found)
    with pytest.raises(OSError, match=r"mixed\.test is at 10\.0\.0\.1, which is not a public address"):
        public_addresses("mixed.test", 80)


def test_redirects_are_held_to_the_same_rules(site: Site) -> None:
    site.pages["/"] = redirect("/next")
    site.pages["/next"] = redirect(site.address("/end", host="www.site.test"))
    site.pages["/end"] = page(b"<p>end</p>")
    got = fetch(site.address(), site.rules("site.test", "www.site.test"), resolve=here)
    assert got == WebPage(site.address(), got.path, b"<p>end</p>")
    reason = refusal(site.address(), site.rules())
    assert reason.startswith(f"leads to another host; www.site.test:{site.port} is not in documents.web_hosts")
    site.pages["/next"] = redirect("file:///etc/hostname")
    assert refusal(site.address(), site.rules()) == "is not an address that can be read; give one of http or https"
    site.pages["/next"] = redirect("/")
    assert refusal(site.address(), site.rules()) == "leads through more than 5 redirects"
    site.pages["/next"] = redirect("")
    assert refusal(site.address(), site.rules()) == "answers with a redirect to nowhere"


def test_a_redirect_from_https_to_http_is_refused() -> None:
    with pytest.raises(ReadError, match=r"leads from https to 'http://site\.test/b', which is not"):
        _redirected("https://site.test/a", "http://site.test/b", "https://site.test/a")
    assert _redirected("http://site.test/a", "//site.test/b", "http://site.test/a") == "http://site.test/b"


def test_a_server_without_tls_is_not_asked_over_https(site: Site) -> None:
    address = f"https://site.test:{site.port}/"
    assert refusal(address, site.rules()).startswith("cannot be fetched: ")
    assert site.asked == []


def test_a_host_may_be_named_in_its_own_letters_or_in_those_of_the_wire(site: Site) -> None:
    site.pages["/"] = page(b"<p>x</p>")
    for rules in (site.rules("bücher.test"), site.rules("xn--bcher-kva.test")):
        assert fetch(site.address(host="Bücher.test"), rules, resolve=here).data
    assert {host for host, _ in site.asked} == {f"xn--bcher-kva.test:{site.port}"}


def test_a_redirect_to_a_private_address_is_refused(site: Site) -> None:
    site.pages["/"] = redirect(site.address("/end", host="inner.test"))
    site.pages["/end"] = page(b"<p>secret</p>")

    def resolve(host: str, port: int) -> Sequence[str]:
        return here(host, port) if host == "site.test" else public_addresses("127.0.0.1", port)

    reason = refusal(site.address(), site.rules("site.test", "inner.test"), resolve)
    assert reason == "cannot be fetched: 127.0.0.1 is at 127.0.0.1, which is not a public address"
    assert len(site.asked) == 1


def test_errors_and_dead_servers_are_one_line(site: Site) -> None:
    site.pages["/"] = page(b"gone", status=404)
    assert refusal(site.address(), site.rules()) == "answers 404 Not Found"
    site.pages["/"] = lambda request: request.wfile.write(b"nonsense\r\n\r\n")  # type: ignore[misc, return-value]
    assert refusal(site.address(), site.rules()).startswith("cannot be fetched: ")
    closed = "http://site.test:9/"
    assert refusal(closed, WebRules(("site.test:9",))).startswith("cannot be fetched: ")


def test_too_much_is_refused_whatever_the_server_says(site: Site) -> None:
    rules = site.rules(max_bytes=1000)
    site.pages["/"] = page(b"x" * 2000, "text/plain")
    assert refusal(site.address(), rules).startswith("is larger than 0.001 MB, see documents.max_bytes")

    def endless(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        try:
            for _ in range(10_000):
                request.wfile.write(b"x" * 65536)
        except OSError:
            pass

    site.pages["/"] = endless
    assert refusal(site.address(), rules).startswith("is larger than")
    packed = gzip.compress(b"x" * 100_000)
    site.pages["/"] = page(packed, "text/plain", Content_Encoding="gzip")
    assert refusal(site.address(), rules) == "unpacks to more than documents.max_bytes"
    site.pages["/"] = page(gzip.compress(b"hello"), "text/plain", Content_Encoding="gzip")
    assert fetch(site.address(), rules, resolve=here).data == b"hello"
    site.pages["/"] = page(b"x", "text/plain", Content_Encoding="br")
    assert refusal(site.address(), rules) == "is packed as 'br', which is not read"


def test_a_page_that_breaks_off_is_refused(site: Site) -> None:
    site.pages["/"] = page(b"half", "text/plain", Content_Length="1000")
    assert refusal(site.address(), site.rules()).startswith("breaks off")


@pytest.mark.parametrize("in_header", [True, False])
def test_a_server_that_drips_is_cut_at_the_deadline(site: Site, in_header: bool) -> None:
    def drip(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n" + (b"" if in_header else b"\r\n"))
        try:
            for _ in range(100):
                request.wfile.write(b"x")
                time.sleep(0.1)
        except OSError:
            pass

    site.pages["/"] = drip
    began = time.monotonic()
    reason = refusal(site.address(), site.rules(timeout_seconds=1.0))
    assert reason == "does not answer in time; see documents.web_timeout_seconds"
    assert time.monotonic() - began < 5


def test_addresses_are_told_from_paths() -> None:
    assert is_address("https://example.org/a")
    assert is_address("HTTP://example.org")
    assert not is_address("notes/https.txt")
    assert not is_address("C:/x")
