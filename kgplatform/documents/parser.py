"""A child process that takes others' documents apart: ``python -m kgplatform.documents.parser MEMORY_BYTES``.

It may be killed at any moment; that is its point, for a parser can hang, explode or end the process that it runs in.
Before it reads anything it caps its own memory and leaves the network, as the workers of queries do
(`kgplatform.worker`), and it ends with its owner. A request is a line of JSON and, for content that came from
elsewhere, its bytes. A reply is a frame for each document, or one with an error, and a last one with the most memory
that the process ever had.
"""

from __future__ import annotations

import json
import logging
import os
import re
import resource
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import BinaryIO

from pyoxigraph import NamedNode

from kgplatform import wire, worker
from kgplatform.documents.reading import MAX_BYTES, digest, read, read_content
from kgplatform.errors import ReadError
from kgplatform.types import Document


@dataclass(frozen=True, slots=True)
class Parse:
    """What is to be read: the file at ``path``, or ``size`` bytes of content that came from ``source``.

    ``is_table``: as a table, to see whether that can be done.
    """

    path: str
    base: str
    max_bytes: int = MAX_BYTES
    json_path: str = ""
    source: str = ""
    size: int = 0
    is_table: bool = False


def encode_request(wanted: Parse) -> bytes:
    """The request as one line."""
    return json.dumps(asdict(wanted)).encode() + b"\n"


def encode_document(document: Document) -> bytes:
    """The document, ready to be sent."""
    return json.dumps({**asdict(document), "iri": document.iri.value}, ensure_ascii=False).encode("utf-8")


def decode_document(payload: bytes) -> Document:
    """What `encode_document` wrote."""
    record = json.loads(payload)
    return Document(**{**record, "iri": NamedNode(record["iri"])})


def documents(wanted: Parse, content: bytes) -> list[Document]:
    """The documents; raises ReadError as `read` and `read_content` do."""
    path = Path(wanted.path)
    if wanted.is_table:
        from kgplatform.documents.tabular.opening import go_through

        go_through(wanted.path)
        return []
    if wanted.source:
        return read_content(path, content, base=wanted.base, source=wanted.source, sha256=digest(content))
    return read(path, base=wanted.base, max_bytes=wanted.max_bytes, json_path=wanted.json_path)


def _serve(requests: BinaryIO, output: BinaryIO) -> None:
    for line in requests:
        wanted = Parse(**json.loads(line))
        content = requests.read(wanted.size)
        for piece in _reply(wanted, content):
            output.write(piece)
        output.flush()


def _reply(wanted: Parse, content: bytes) -> Iterator[bytes]:
    try:
        for document in documents(wanted, content):
            yield wire.frame(wire.DATA, encode_document(document))
    except ReadError as error:
        yield wire.frame(wire.ERROR, error.reason.encode("utf-8", "replace"))
    except MemoryError:
        yield wire.frame(wire.ERROR, worker.OUT_OF_MEMORY.encode())
    yield wire.frame(wire.END, str(_most_bytes()).encode())


def _most_bytes() -> int:
    """The most memory that this process ever had, in bytes.

    The figure for a process counts in what its parent had when it was started, the one for its memory does not.
    """
    with suppress(OSError):
        status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
        if found := re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE):
            return int(found[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def main(arguments: list[str]) -> None:
    """Serves requests from standard input until it ends."""
    worker.cap_memory(int(arguments[0]))
    worker.leave_network()
    # what parsers print goes nowhere: standard output is for replies, and nobody empties the other
    output = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    logging.disable()
    warnings.simplefilter("ignore")
    threading.Thread(target=worker.watch_owner, daemon=True).start()
    with suppress(BrokenPipeError, KeyboardInterrupt):
        _serve(sys.stdin.buffer, output)


if __name__ == "__main__":
    main(sys.argv[1:])
