"""Words that say nothing of their own: the class in "division code", the noun of "which place has the code 7"."""

from __future__ import annotations

from typing import Final

from pyoxigraph import NamedNode

from kgplatform.questions.joining import Mention
from kgplatform.questions.names import NameIndex
from kgplatform.questions.tokens import Token
from kgplatform.text import has_han

_OF: Final = frozenset(("of", "for", "the", "is", "are", "=", ":", "是", "为"))
_POSSESSIVE: Final = frozenset(("s", "的"))
_ANYWHERE: Final = frozenset(("place", "places", "location", "locations", "spot", "spots", "地方", "地点"))
_ASKING: Final = frozenset(("which", "what", "many", "什么", "哪个", "哪些", "么", "个", "些"))
_PAIR: Final = 2
_HAVING: Final = frozenset(("has", "have", "had", "with", "whose"))


def compounded(mentions: list[Mention], tokens: list[Token], names: NameIndex) -> tuple[list[Mention], frozenset[int]]:
    """The mentions, a class right before a property of what is named made part of the name of the property.

    With them come the tokens that only stand for what is asked for, and are no mention any more.
    """
    idle = _anywhere(mentions, tokens)
    kept = [mention for mention in mentions if mention.first not in idle]
    found: list[Mention] = []
    for place, mention in enumerate(kept):
        before = found[-1] if found else None
        if before is not None and _one_name(before, mention, place, kept, tokens, names):
            found[-1] = Mention(before.first, mention.last, mention.options)
        else:
            found.append(mention)
    said = _said_of_its_value(found, tokens)
    return (
        ([m for m in found if m is not said], idle | frozenset(range(said.first, said.last))) if said else (found, idle)
    )


def _said_of_its_value(mentions: list[Mention], tokens: list[Token]) -> Mention | None:
    """The property in "whose code is 7" and 代码7是哪里, which is known by its value and not asked for.

    "What is the code of X" asks for it, though X be a code too.
    """
    if len(mentions) != _PAIR:
        return None
    pairs = ((mentions[0], mentions[1]), (mentions[1], mentions[0]))
    for said, value in pairs:
        option, held = said.options[0], value.options[0]
        between = {token.text.casefold() for token in tokens[said.last : value.first]}
        having = any(token.text.casefold() in _HAVING for token in tokens[: said.first])
        if "of" in between and not having:
            continue
        if (option.kind, held.kind) == ("property", "value") and option.names[0].term == held.names[0].predicate:
            return said
    return None


def _one_name(
    class_: Mention, said: Mention, place: int, mentions: list[Mention], tokens: list[Token], names: NameIndex
) -> bool:
    """Whether a class and a property are one name, since the thing beside them is of the class."""
    iri, property_ = class_.options[0].names[0].term, said.options[0].names[0].term
    kinds = (class_.options[0].kind, said.options[0].kind)
    if kinds != ("class", "property") or class_.last != said.first or not isinstance(iri, NamedNode):
        return False
    term = names.schema.properties.get(property_) if isinstance(property_, NamedNode) else None
    covered = names.schema.subclasses(iri)
    if term is None or term.is_object or not covered & set(names.schema.domains(term.iri)):
        return False
    following = next((m for m in mentions[place + 1 :] if _beside(said.last, m.first, tokens, _OF)), None)
    if following is not None and following.options[0].kind == "value":
        return False  # what has the code is asked for, and is of the class
    preceding = mentions[place - 2] if place > 1 else None
    beside = preceding if preceding and _beside(preceding.last, class_.first, tokens, _POSSESSIVE) else following
    return beside is not None and any(
        option.kind == "entity" and covered & set(names.types(option.names[0].term)) for option in beside.options
    )


def _beside(end: int, start: int, tokens: list[Token], between: frozenset[str]) -> bool:
    """Whether nothing stands between two places but words of a few."""
    return end <= start <= end + 2 and all(t.text.casefold() in between for t in tokens[end:start])


def _anywhere(mentions: list[Mention], tokens: list[Token]) -> frozenset[int]:
    """The tokens of "place" in "which place has the code 7" and 代码为7的是什么地方: whatever it is that has it."""
    if not any(m.options[0].kind == "value" for m in mentions):
        return frozenset()
    found: set[int] = set()
    for mention in mentions:
        said = "".join(token.text for token in tokens[mention.first : mention.last]).casefold()
        if said not in _ANYWHERE or mention.options[0].kind == "class" or not mention.first:
            continue
        asked = tokens[mention.first - 1].text.casefold() in _ASKING
        after = tokens[mention.last].text.casefold() if mention.last < len(tokens) else ""
        if asked and (after in _HAVING or (has_han(said) and not after)):
            found.update(range(mention.first, mention.last))
    return frozenset(found)
