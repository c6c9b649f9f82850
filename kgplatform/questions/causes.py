"""Whether a question asks why, and whether a graph says why of anything."""

from __future__ import annotations

import re

from kgplatform.questions.names import NameIndex
from kgplatform.questions.wording import parts, stem

_WHY = re.compile(
    r"^\W*(?:(?:and|so|but|then)\s+)?(?:why|how come|(?:for )?what reasons?)\b"
    r"|\bwhat (?:is|are|was|were) the (?:reasons?|causes?)\b"
    r"|\bwhat (?:causes?|caused)\b|为什么|为何|为啥|何故|什么原因|原因是(?:什么|啥)|怎么会",
    re.IGNORECASE,
)
_REASONS = tuple((stem(word),) for word in ("reason", "cause", "why", "purpose", "explanation", "motive"))
_REASONS_HAN = re.compile(r"原因|理由|缘由|动机|^目的$")


def asks_why(text: str) -> bool:
    """Whether a question asks for a reason."""
    return _WHY.search(text) is not None


def gives_reasons(names: NameIndex) -> bool:
    """Whether a property or class of the graph is called a reason, a cause or the like."""
    if any(key in names.terms for key in _REASONS):
        return True
    schema = names.schema
    words = [word.text for term in schema.properties.values() for word in term.words]
    words += [word.text for term in schema.classes.values() for word in term.words]
    return any(_REASONS_HAN.search(text) or set(parts(text)) & {key[0] for key in _REASONS} for text in words)
