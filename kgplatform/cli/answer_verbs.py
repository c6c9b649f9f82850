"""Verbs that answer: ``ask``, ``search``, ``show``, ``why`` and ``communities``, and how they print what was found."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from pyoxigraph import NamedNode, Triple

from kgplatform.cli import output
from kgplatform.cli.verb import (
    DONE,
    SHORT,
    Given,
    argument,
    at,
    confidence,
    formats,
    language,
    opened,
    option,
    translation,
    verb,
)
from kgplatform.errors import NotFoundError
from kgplatform.server.interfaces.json_records import explanation_json, view_json
from kgplatform.text import has_han
from kgplatform.vocab import TYPE

if TYPE_CHECKING:
    from kgplatform.entities import EntityFact, EntityView, Labels
    from kgplatform.graph import KnowledgeGraph
    from kgplatform.reasoning.inference import Explanation, Inferred
    from kgplatform.reasoning.owl_rl import Atom, Contradiction, InferenceRule
    from kgplatform.types import Evidence
    from kgplatform.workspace.community_stage import CommunitiesFound, CommunityView
    from kgplatform.workspace.question_settings import AskOptions

_QUOTE = 110
_WORDING = {"": None, "model": True, "builtin": False}


def ask_options(given: Given, *, measured: bool = False) -> AskOptions:
    """The options of a command line; ``measured``: answers are to be scored, so their wording is of no account."""
    from kgplatform.workspace.question_settings import AskOptions

    phrase = False if measured else _WORDING[given.phrase]
    least = "" if measured else given.least_confidence
    return AskOptions(given.using, given.style, given.view, given.drafts, phrase, measured, least)


@verb("ask", reads=True)
@argument("question", "QUESTION")
@translation
@option("--phrase", one_of=("model", "builtin"), default="", metavar="WHO", help="Who words the answer.")
@confidence
@option("--conversation", metavar="ID", help="Keep the turns under this name, so that a follow-up may be short.")
@option("--now", default="", metavar="TIME", help="Ask as of this moment, such as 2025-03-15T12:00.")
@option("--save", is_flag=True, help="Keep question and query among the solved questions.")
@option("--json", "is_json", is_flag=True, help="The same as --format json.")
@formats("text", "json")
def ask(given: Given) -> int:
    """Answer a question in English or Chinese.

    Prints the answer with its query and passages. Exit status 1: there is no answer.
    """
    from kgplatform.questions import answer_text
    from kgplatform.workspace.question_settings import keep

    with opened(given.workspace) as kg:
        answer = kg.ask(given.question, conversation=given.conversation, now=given.now, options=ask_options(given))
        if given.is_json or given.format == "json":
            spoken = answer.question.language
            output.as_json(answer_text.as_json(answer, lambda term: kg.label(term, spoken)))
        else:
            output.say(output.as_text(answer))
        answered = answer.verdict.value == "answered"
        if given.save:
            if answered and answer.query is not None:
                output.note(f"kept as {keep(given.question, answer.query.text, kg.folder)}")
            else:
                output.note("not saved: there is no answer")
    return DONE if answered else SHORT


@verb("search", reads=True)
@argument("text", "TEXT")
@option("-k", type=int, default=10, metavar="N", help="How many (default: 10).")
@option("--retriever", default="", metavar="NAME", help="How to find them (default: retrieval.retriever).")
@option("--per-document", type=int, metavar="N", help="At most N of a document while others have some; 0: any number.")
@option("--plot", type=Path, metavar="FILE", help="Draw what was done: a .png, .svg or .pdf file.")
@formats("text", "json")
def search(given: Given) -> int:
    """Find passages, or sentences of them."""
    from kgplatform.retrieval.methods import lacking
    from kgplatform.server.words import phrase

    with opened(given.workspace) as kg:
        if kg.chunks.misfit:
            output.note(f"found by words only: {kg.chunks.misfit}")
        chosen = given.retriever or kg.settings.retrieval.retriever
        found = kg.search(given.text, given.k, retriever=chosen, per_document=given.per_document, plot=given.plot)
        if lack := lacking(chosen, kg.sources):
            output.note(phrase(lack, "zh" if has_han(given.text) else "en"))
        if kg.chunks.away:
            output.note(f"found by words only: {kg.chunks.away}")
    if given.plot:
        output.note(f"drawn: {given.plot}")
    if given.format == "json":
        names = ("chunk", "document", "title", "source", "quote", "start", "end", "score")
        output.as_json([output.fields(passage, *names) for passage in found])
    else:
        for rank, passage in enumerate(found, start=1):
            output.say(f"{rank:>2}. {passage.title} ({passage.source}, {passage.start}–{passage.end})")
            output.say(f"    {output.cut(passage.quote, 160)}")
    return DONE if found else SHORT


@verb("show", reads=True)
@argument("name", "IRI|NAME")
@at
@formats("text", "json", "turtle")
def show(given: Given) -> int:
    """Show what the graph says about an entity, with the passages."""
    from kgplatform.cli.graph_verbs import store_at
    from kgplatform.workspace.rdf_files import FORMATS

    with opened(given.workspace) as kg, store_at(kg, given.at) as store:
        view = kg.show(given.name, store=store)
        if given.format == "json":
            output.as_json(view_json(view))
        elif given.format == "turtle":
            quads = (quad.triple for quad in store.quads(view.iri))
            sys.stdout.buffer.write(kg.store.serialise(sorted(set(quads), key=str), FORMATS["turtle"]))
        else:
            _print_view(view)
    return DONE


def _print_view(view: EntityView) -> None:
    output.say(view.label)
    names = dict.fromkeys(word.text for word in (*view.labels, *view.aliases) if word.text != view.label)
    if names:
        output.say(f"  also {', '.join(names)}")
    output.say(f"  {view.iri.value}")
    if view.types:
        output.say(f"  {', '.join(reference.label for reference in view.types)}")
    if view.description:
        output.say(f"  {view.description}")
    if view.replaced_by is not None:
        output.say(f"  replaced by {view.replaced_by.label}")
    for fact in view.facts:
        _print_fact(fact)
    for incoming in view.incoming:
        subjects = ", ".join(subject.label for subject in incoming.subjects)
        output.say(f"\n{incoming.predicate.label} of this ({incoming.total})\n  {output.cut(subjects, _QUOTE)}")


def _print_fact(fact: EntityFact) -> None:
    more = f", {len(fact.values)} of {fact.total}" if fact.total > len(fact.values) else ""
    output.say(f"\n{fact.predicate.label}{more}")
    for value in fact.values:
        unit = f" {fact.unit}" if fact.unit else ""
        origins = f"  ({', '.join(value.origins)})" if value.origins else ""
        output.say(f"  {value.value.label}{unit}{origins}")
        for passage in value.evidence[:2]:
            _print_passage(passage, "      ")


def _print_passage(passage: Evidence, indent: str) -> None:
    given = f" (given by {passage.given})" if passage.given else ""
    output.say(f"{indent}“{output.cut(passage.quote, _QUOTE)}” — {passage.title}{given}")


@verb("communities", reads=lambda given: not given.refresh)
@argument("name", "[IRI|NAME]", required=False, help="Only this community, or those of this entity, in full.")
@option("--level", type=int, metavar="N", help="Only this level; 0 is the coarsest.")
@option("--refresh", is_flag=True, help="Find them anew first; this can take minutes on a large graph.")
@language("titles and reports")
@formats("text", "json")
def communities(given: Given) -> int:
    """List groups of closely connected entities, with a report on each.

    They are as last found by --refresh or `build --only communities`.
    """
    with opened(given.workspace) as kg:
        if given.refresh:
            bar = output.Bar()
            found = kg.find_communities(progress=bar)
            bar.end()
            say_found(found)
        views = kg.communities(language=given.language)
        if not views:
            output.note("no communities yet; run `kgplatform communities --refresh`")
            return SHORT
        shown = [view for view in views if given.level is None or view.level == given.level]
        if given.name:
            shown = _of(given.name, shown, kg)
        if given.format == "json":
            names = ("iri", "level", "parent", "size", "rank", "title", "summary", "stale", "members")
            output.as_json([output.fields(view, *names) for view in shown])
        elif given.name:
            for view in shown:
                _print_community(view, kg, given.language)
        else:
            output.table(
                ("community", "level", "size", "rank", "about"),
                [
                    (output.short(v.iri, kg.store.prefixes), f"{v.level}", f"{v.size}", f"{v.rank:g}", v.title)
                    for v in shown
                ],
            )
        stale = sum(view.stale for view in shown)
        if stale:
            output.note(f"{stale} reports are out of date; --refresh rewrites them")
    return DONE if shown else SHORT


def say_found(found: CommunitiesFound) -> None:
    """Prints how many communities there are."""
    output.note(
        f"{found.communities} communities on {found.levels} levels, {found.new} new, {found.gone} gone, "
        f"modularity {found.modularity:.2f}"
    )


def _of(name: str, views: list[CommunityView], kg: KnowledgeGraph) -> list[CommunityView]:
    """The community of that IRI, or those that the entity of that name is in."""
    from kgplatform.entities import find_iri

    short = {output.short(view.iri, kg.store.prefixes): view for view in views}
    if name in short:
        return [short[name]]
    wanted = NamedNode(name) if "://" in name else find_iri(kg.store, name)
    found = [view for view in views if wanted == view.iri or wanted in view.members]
    if not found:
        raise NotFoundError(
            f"{name} is not a community and belongs to none; `kgplatform communities` lists them", name=name
        )
    return found


def _print_community(view: CommunityView, kg: KnowledgeGraph, spoken: str) -> None:
    output.say(f"{view.title} ({view.iri.value})")
    output.say(f"level {view.level}, {view.size} members, rank {view.rank:g}{', out of date' if view.stale else ''}")
    output.say(view.summary)
    for member in view.members:
        output.say(f"  {kg.label(member, spoken)}")


_MOST_FINDINGS = 10
_WRONG = {
    "disjoint": "is of two classes that share nothing",
    "functional": "has several values of a property that has one at most",
    "inverse functional": "is the value of several things where it can be of one only",
    "irreflexive": "is related to itself by a property that forbids it",
    "asymmetric": "is related both ways by a property that goes one way",
    "limit": (
        "leads to more conclusions than `inference.max_statements` allows, so that no conclusions are drawn from this "
        "axiom until there are fewer statements or the limit is raised"
    ),
}

_SIGNS = {"chain": " ∘ ", "intersection": " ∩ "}


@cache
def _chinese() -> Mapping[str, str]:
    """The Chinese words round an explanation, by the English ones."""
    return tomllib.loads((files("kgplatform") / "words" / "explanation_zh.toml").read_text(encoding="utf-8"))


@verb("why", reads=True)
@argument("subject", "SUBJECT")
@argument("predicate", "PREDICATE")
@argument("object", "OBJECT")
@formats("text", "json")
def why(given: Given) -> int:
    """Explain a statement: its passages, or the rule and premises it follows from.

    Each part is a name, a name with prefix, or an IRI. A name in Chinese is answered in Chinese.
    """
    from kgplatform.entities import Labels

    with opened(given.workspace) as kg:
        found = kg.why(given.subject, given.predicate, given.object)
        if given.format == "json":
            output.as_json(explanation_json(found))
        else:
            parts = (given.subject, given.predicate, given.object)
            spoken = "zh" if any(has_han(part) for part in parts if "://" not in part) else "en"
            words = _chinese() if spoken == "zh" else {}
            _Printed(Labels(kg.dataset, kg.ontology, spoken), words).explanation(found, "")
    return DONE


class _Printed:
    """Prints explanations; a statement that comes again is not explained twice."""

    def __init__(self, labels: Labels, words: Mapping[str, str]) -> None:
        self._labels = labels
        self._words = words
        self._shown: set[Triple] = set()

    def explanation(self, found: Explanation, indent: str) -> None:
        origins = f"  ({', '.join(self._words.get(name, name) for name in found.origins)})" if found.origins else ""
        output.say(f"{indent}{self._sentence(found.statement)}{origins}")
        if found.statement in self._shown:
            output.say(f"{indent}  {self._words.get('as above', 'as above')}")
            return
        self._shown.add(found.statement)
        for passage in found.evidence:
            _print_passage(passage, f"{indent}    ")
        if found.rule is not None:
            kind = self._words.get(found.rule.kind.value, found.rule.kind.value)
            output.say(f"{indent}  {self._words.get('because', 'because')} ({kind}: {self._axiom(found.rule)})")
            for premise in found.premises:
                self.explanation(premise, f"{indent}  ")

    def _axiom(self, rule: InferenceRule) -> str:
        """The axiom in words; a chain or intersection by its members, since the node of the list has no name."""
        axiom = rule.axiom
        subject, relation = (self._labels.reference(part).label for part in (axiom.subject, axiom.predicate))
        if axiom.predicate == TYPE:  # a property of a kind: the kind was named
            return subject
        sign = _SIGNS.get(rule.kind.value)
        members = sign.join(self._member(atom) for atom in rule.body) if sign else None
        object_ = members or self._labels.reference(axiom.object).label
        return f"{subject} · {self._words.get(relation, relation)} · {object_}"

    def _member(self, atom: Atom) -> str:
        return self._labels.reference(atom.predicate if isinstance(atom.object, str) else atom.object).label

    def _sentence(self, triple: Triple) -> str:
        parts = (triple.subject, triple.predicate, triple.object)
        return " · ".join(self._labels.reference(part).label for part in parts)


def print_inferred(inferred: Inferred, prefixes: Mapping[str, str]) -> None:
    """Prints how many conclusions there are, and what cannot be."""
    output.say(f"{inferred.total} conclusions, {inferred.gained} new, {inferred.lost} gone")
    for finding in inferred.findings[:_MOST_FINDINGS]:
        output.note(_finding(finding, prefixes))
    if len(inferred.findings) > _MOST_FINDINGS:
        output.note(f"and {len(inferred.findings) - _MOST_FINDINGS} more such findings")


def _finding(finding: Contradiction, prefixes: Mapping[str, str]) -> str:
    statements = "; ".join(
        " ".join(output.short(part, prefixes) for part in (t.subject, t.predicate, t.object))
        for t in finding.statements[:3]
    )
    return f"{output.short(finding.subject, prefixes)} {_WRONG[finding.kind]}: {statements}"
