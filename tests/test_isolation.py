"""The tests' own walls: what `conftest.py` keeps out stays out."""

import os
import subprocess
import sys
from pathlib import Path

from conftest import TEST_DATA, leaves_this_machine

REACHING_OUT = """
import socket, threading

def test_swallows_the_refusal():
    try:
        socket.create_connection(("192.0.2.1", 80), timeout=5)
    except OSError:
        pass

def test_looks_up_a_name_in_a_thread():
    def look_up():
        try:
            socket.getaddrinfo("kgplatform.example", 80)
        except OSError:
            pass
    thread = threading.Thread(target=look_up)
    thread.start()
    thread.join()

def test_stays_here():
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(("localhost", server.getsockname()[1])).close()
"""


def test_only_loopback_does_not_leave_this_machine():
    here = ("127.0.0.1", "127.8.8.8", "::1", "localhost", "", b"localhost", None)
    assert [host for host in here if leaves_this_machine(host)] == []
    far = ("192.0.2.1", "0.0.0.1", "2001:db8::1", "fe80::1%eth0", "kgplatform.example", b"x.example")
    assert [host for host in far if not leaves_this_machine(host)] == []


def test_a_test_that_reaches_out_fails_even_if_it_swallows_the_refusal(tmp_path):
    (tmp_path / "conftest.py").write_bytes(Path(__file__).with_name("conftest.py").read_bytes())
    (tmp_path / "test_reaching_out.py").write_text(REACHING_OUT, encoding="utf-8")
    options = ["-q", "-p", "no:cacheprovider", "-p", "no:xdist", f"--rootdir={tmp_path}"]
    command = [sys.executable, "-m", "pytest", *options]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    for said in ("for 192.0.2.1", "for kgplatform.example", "3 passed, 2 errors"):
        assert said in done.stdout


def test_no_setting_key_or_proxy_comes_in_from_outside():
    left = {name for name in os.environ if name.startswith("KGPLATFORM_") or name.endswith("_API_KEY")}
    assert left <= {TEST_DATA}
    assert not {name for name in os.environ if name.lower().endswith("_proxy")} - {"NO_PROXY"}
    assert os.environ["HF_HUB_OFFLINE"] == "1"
