"""Virtuoso as a peer, where ``virtuoso-t`` and ``isql-vt`` are on the path: a database of its own in a folder."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

SETTINGS = """[Database]
DatabaseFile = {folder}/v.db
ErrorLogFile = {folder}/v.log
LockFile = {folder}/v.lck
TransactionFile = {folder}/v.trx
xa_persistent_file = {folder}/v.pxa

[TempDatabase]
DatabaseFile = {folder}/v-temp.db
TransactionFile = {folder}/v-temp.trx

[Parameters]
ServerPort = {sql}
DirsAllowed = {data}
NumberOfBuffers = 170000
MaxDirtyBuffers = 130000

[HTTPServer]
ServerPort = {http}
ServerRoot = {folder}

[SPARQL]
ResultSetMaxRows = 1000000
"""
PATIENCE = 120.0


def is_there() -> bool:
    """Whether its programs are on the path."""
    return bool(shutil.which("virtuoso-t") and shutil.which("isql-vt"))


def prepared(folder: Path, data: Path, *, sql: int, http: int) -> list[str]:
    """Loads the N-Triples file into a new database in the folder; the command that serves it on the port ``http``.

    Raises:
        RuntimeError: it did not start, or did not load.
    """
    folder.mkdir()
    settings = folder / "v.ini"
    settings.write_text(SETTINGS.format(folder=folder, data=data.parent, sql=sql, http=http), encoding="ascii")
    command = ["virtuoso-t", "+foreground", "+configfile", str(settings)]
    server = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _await(sql)
        _told(sql, f"ld_dir('{data.parent}', '{data.name}', 'http://example.org/loaded');")
        _told(sql, "rdf_loader_run();")
        _told(sql, "checkpoint;")
    finally:
        _told(sql, "shutdown;", sure=False)
        try:
            server.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
    return command


def _await(sql: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if _told(sql, "status();", sure=False):
            return
        time.sleep(0.5)
    raise RuntimeError("virtuoso did not start")


def _told(sql: int, statement: str, *, sure: bool = True) -> bool:
    command = ["isql-vt", f"localhost:{sql}", "dba", "dba", f"EXEC={statement}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    good = done.returncode == 0 and "*** Error" not in done.stdout + done.stderr
    if sure and not good:
        raise RuntimeError(f"virtuoso refused {statement} {done.stdout[-300:]} {done.stderr[-300:]}")
    return good
