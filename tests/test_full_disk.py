"""A disk that takes no more: what was acknowledged stays, and what was not is refused in one clear line."""

import json
import subprocess
import sys

import pytest

from kgplatform.graph import KnowledgeGraph

FILL = """
import json, resource, signal, sys
from kgplatform.errors import KgPlatformError
from kgplatform.graph import KnowledgeGraph

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
said, done = [], 0
try:
    with KnowledgeGraph.open(sys.argv[1]) as kg:
        resource.setrlimit(resource.RLIMIT_FSIZE, (700_000, resource.RLIM_INFINITY))  # no file may grow beyond
        for number in range(200):
            body = " ".join(f'<urn:s{number}-{i}> <urn:p> "{"满" * 30}{i}" .' for i in range(50))
            try:
                kg.update(f"INSERT DATA {{ {body} }}")
                done += 50
            except KgPlatformError as error:
                said.append(str(error))
except KgPlatformError as error:
    said.append(str(error))
print(json.dumps({"done": done, "said": said}))
"""


@pytest.mark.slow
def test_a_disk_that_is_full_loses_nothing_acknowledged_and_says_so(tmp_path):
    workspace = tmp_path / "kg"
    KnowledgeGraph.create(workspace, ontology="travel").close()
    filled = subprocess.run(
        [sys.executable, "-c", FILL, str(workspace)], capture_output=True, text=True, check=False, timeout=120
    )
    assert filled.returncode == 0, filled.stderr
    found = json.loads(filled.stdout)
    assert 0 < found["done"] < 10_000
    assert all("disk" in line and "free some space" in line for line in found["said"])
    assert any(line.startswith("the dataset was not changed: ") for line in found["said"]), found
    with KnowledgeGraph.open(workspace) as kg:
        rows = kg.query("SELECT (COUNT(*) AS ?n) { ?s <urn:p> ?o }").rows
        assert rows[0][0] is not None
        assert found["done"] <= int(rows[0][0].value) <= found["done"] + 50
        assert kg.dataset.violations() == (frozenset(), frozenset())
        kg.update('INSERT DATA { <urn:after> <urn:p> "更多" }')


def test_a_folder_that_cannot_be_written_is_told_in_one_line(tmp_path):
    workspace = tmp_path / "kg"
    KnowledgeGraph.create(workspace, ontology="travel").close()
    code = (
        "import resource, signal, sys\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"  # as on a disk that is read-only: no byte can be written
        "from kgplatform.cli.main import main\n"
        "sys.exit(main(['query', '-w', sys.argv[1], '-e', 'ASK {}']))\n"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", code, str(workspace)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1
