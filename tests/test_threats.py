"""Every line of the threat model names a test that exists."""

from __future__ import annotations

import ast
import re
from pathlib import Path

TESTS = Path(__file__).resolve().parent


def test_every_threat_is_tied_to_a_test_that_exists() -> None:
    text = (TESTS.parent / "docs" / "threat-model.md").read_text(encoding="utf-8")
    rows = [row for row in re.findall(r"^\| .+ \|$", text, re.MULTILINE) if not row.startswith("| who |")]
    assert len(rows) > 25
    for row in rows:
        named = re.findall(r"`(test_\w+\.py)::(test_\w+)`", row)
        assert len(named) == 1, row
        file, name = named[0]
        tree = ast.parse((TESTS / file).read_text(encoding="utf-8"))
        assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, row
