"""What the documentation says of verbs and settings is what there is."""

from __future__ import annotations

import argparse
import re
from dataclasses import fields, is_dataclass
from pathlib import Path

from kgplatform.cli.main import build_parser
from kgplatform.config import Settings

_DOCS = Path(__file__).resolve().parent.parent / "docs"


def _verbs() -> dict[str, argparse.ArgumentParser]:
    (action,) = (a for a in build_parser()._actions if isinstance(a, argparse._SubParsersAction))
    return dict(action.choices)


def test_every_verb_is_documented_with_its_options() -> None:
    rows = {
        row.split()[0]: row
        for row in re.findall(r"^\| `(.+?)` \|", (_DOCS / "cli.md").read_text("utf-8"), re.MULTILINE)
    }
    verbs = _verbs()
    assert rows.keys() == verbs.keys()
    for name, parser in verbs.items():
        options = {
            option
            for action in parser._actions
            for option in action.option_strings
            if option not in ("-h", "--help", "-w", "--workspace", "--text")
        }
        assert {option for option in options if option not in rows[name]} == set(), name


def test_every_verb_has_a_function_and_help() -> None:
    from kgplatform.cli import verbs

    for name, parser in _verbs().items():
        assert callable(getattr(verbs, name))
        assert parser.description


def _settings(section: object, path: str = "") -> dict[str, object]:
    found: dict[str, object] = {}
    for item in fields(section):  # type: ignore[arg-type]
        value = getattr(section, item.name)
        if is_dataclass(value):
            found |= _settings(value, f"{path}{item.name}.")
        else:
            found[f"{path}{item.name}"] = value
    return found


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{value}"'
    return "[]" if value == () else str(value)


def test_every_setting_is_documented_with_its_default() -> None:
    table = dict(re.findall(r"^\| `([\w.]+)` \| `(.+?)` \|", (_DOCS / "settings.md").read_text("utf-8"), re.MULTILINE))
    assert table == {name: _written(value) for name, value in _settings(Settings()).items()}


def test_every_link_between_documents_leads_somewhere() -> None:
    for page in _DOCS.glob("*.md"):
        for link in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text("utf-8")):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
