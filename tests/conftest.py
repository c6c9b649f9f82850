"""What holds for every test: no network but this machine's own, no settings from outside, no model from elsewhere."""

from __future__ import annotations

import errno
import ipaddress
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parents[1]
TEST_DATA = "KGPLATFORM_TEST_DATA"

# A busy machine is no error: how long an example takes says nothing about the law that it is to show.
settings.register_profile("kgplatform", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("kgplatform"), max_examples=25)
settings.load_profile("kgplatform")


_LONG = (
    *("test_tables", "test_incremental_linking", "test_evaluation", "test_crash"),
    *("test_browser_pages", "test_recorded_studies", "test_studies", "test_dialogue"),
)
"""Files of few tests that take long: run first, so that no process works on the last of them alone."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Puts the files that take long first; every doctest counts as slow."""
    for item in items:
        if isinstance(item, pytest.DoctestItem):
            item.add_marker("slow")
    items.sort(key=lambda item: item.path.stem not in _LONG)


def pytest_configure(config: pytest.Config) -> None:
    """Clears the environment before anything is imported: some libraries read it only once."""
    if config.option.markexpr == "not slow":
        settings.load_profile("quick")
    for name in list(os.environ):
        ours = name.startswith("KGPLATFORM_") and name != TEST_DATA
        if ours or name.lower().endswith("_proxy") or name.endswith("_API_KEY"):
            del os.environ[name]
    os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "HF_HUB_DISABLE_TELEMETRY": "1", "NO_PROXY": "*"}


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The folder of third-party data to measure with; it is no part of the repository, so the test may be skipped."""
    folder = Path(os.environ.get(TEST_DATA) or ROOT.parent / "shared" / "data")
    if not folder.is_dir():
        pytest.skip(f"no folder {folder}; {TEST_DATA} names the one that holds the third-party data")
    return folder


def leaves_this_machine(host: object) -> bool:
    """Whether a connection to that host, an address or a name, would go beyond the loopback interface."""
    if isinstance(host, bytes):
        host = host.decode()
    if not isinstance(host, str) or host in ("", "localhost"):
        return False
    try:
        return not ipaddress.ip_address(host.split("%")[0]).is_loopback
    except ValueError:
        return True


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Refuses what would leave this machine, as an unplugged one does, and fails the test that tried.

    The refusal alone would not do: code under test may well treat it as one more unreachable server.
    """
    attempts: list[str] = []
    connect, connect_ex, look_up = socket.socket.connect, socket.socket.connect_ex, socket.getaddrinfo

    def refused(self: socket.socket, address: Any) -> bool:
        internet = self.family in (socket.AF_INET, socket.AF_INET6)
        if internet and leaves_this_machine(address[0]):
            attempts.append(f"{address[0]}:{address[1]}")
            return True
        return False

    def guarded_connect(self: socket.socket, address: Any) -> None:
        if refused(self, address):
            raise ConnectionRefusedError(f"tests stay on this machine: {address}")
        connect(self, address)

    def guarded_connect_ex(self: socket.socket, address: Any) -> int:
        return errno.ECONNREFUSED if refused(self, address) else connect_ex(self, address)

    def guarded_look_up(host: Any, *arguments: Any, **options: Any) -> Any:
        if leaves_this_machine(host):
            attempts.append(str(host))
            raise socket.gaierror(socket.EAI_NONAME, f"tests stay on this machine: {host}")
        return look_up(host, *arguments, **options)

    monkeypatch.setattr(socket.socket, "connect", guarded_connect)
    monkeypatch.setattr(socket.socket, "connect_ex", guarded_connect_ex)
    monkeypatch.setattr(socket, "getaddrinfo", guarded_look_up)
    yield
    assert not attempts, f"the test reached out of this machine, for {', '.join(dict.fromkeys(attempts))}"
