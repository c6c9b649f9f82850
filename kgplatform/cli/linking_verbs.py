"""Verbs about names: ``links``, ``unlink``, ``link``, and the reference ``places`` that names may stand for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kgplatform.cli import output
from kgplatform.cli.verb import DONE, SHORT, Given, argument, formats, language, opened, option, verb
from kgplatform.errors import ConfigError, NotFoundError, OntologyError
from kgplatform.vocab import slug

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph
    from kgplatform.linking.clusters import Gold, PairScore, Trial
    from kgplatform.linking.places.gazetteer import Divisions, NameKind, PlaceReference
    from kgplatform.workspace.linking_state import PlaceStage

_MOST_PAIRS = 10
_MOST_LINES = 20
_RDF = (".ttl", ".nt")


@verb("links", reads=True)
@argument("name", "[NAME|IRI]", required=False, help="Only the links of this name or entity.")
@option("--apart", is_flag=True, help="List the names that are kept apart by decision instead.")
@language("labels and reasons")
@formats("text", "json")
def links(given: Given) -> int:
    """List the names that were linked, the least sure first, with score and reason."""
    with opened(given.workspace) as kg:
        if given.apart:
            pairs = sorted(kg.registry.kept_apart())
            if given.format == "json":
                output.as_json([output.fields(pair, "first", "second") for pair in pairs])
            else:
                for pair in pairs:
                    output.say(f"{pair.first}  ≠  {pair.second}")
                output.note(f"{len(pairs)} pairs of names are kept apart")
            return DONE
        found = kg.links(language=given.language)
        if given.name:
            wanted = given.name.casefold()
            found = [m for m in found if wanted in (m.name.casefold(), m.label.casefold(), m.entity.value.casefold())]
        if given.format == "json":
            names = ("name", "label", "score", "method", "reason")
            output.as_json(
                [{**output.fields(m, *names), "class": m.type.value, "entity": m.entity.value} for m in found]
            )
        else:
            rows = [(m.name, m.label, kg.label(m.type, given.language), f"{m.score:.2f}", m.reason) for m in found]
            output.table(("name", "is", "as", "score", "because"), rows)
            output.note(f"{len(found)} names were merged; `kgplatform unlink NAME NAME` undoes a merge")
    return DONE


@verb("unlink")
@argument("first", "NAME", help="A name, or the IRI that it had by itself.")
@argument("second", "NAME")
@option("--undo", is_flag=True, help="Forget the decision.")
def unlink(given: Given) -> int:
    """Keep two names apart, now and whenever names are linked."""
    with opened(given.workspace) as kg:
        decided = kg.unlink(given.first, given.second, undo=given.undo)
        pair = decided.pair
        if given.undo:
            output.say(
                f"{pair.first} and {pair.second} may be merged again{', and are' if decided.together_now else ''}"
            )
        else:
            before = "were one, and are" if decided.together_before else "are"
            output.say(f"{pair.first} and {pair.second} {before} kept apart from now on")
    return DONE


@verb("link")
@argument("action", "calibrate|external", one_of=("calibrate", "external"))
@argument("source", "FILE|URL")
@option("--precision", type=float, default=0.97, metavar="P", help="calibrate: minimum precision (default: 0.97).")
@option("--type", metavar="ID", help="external: only candidates of this type of the service.")
@option("--least", type=float, default=0.9, metavar="S", help="external: minimum score (default: 0.9).")
@formats("text", "json")
def link(given: Given) -> int:
    """Calibrate linking, or import identities from elsewhere.

    `calibrate FILE` measures linking against entities with their names (JSON Lines) and says which threshold fits.
    `external FILE|URL` reads identities from a CSV table, or asks a reconciliation service.
    """
    from kgplatform.linking.clusters import read_gold

    if given.action == "calibrate":
        gold = read_gold(Path(given.source))
        with opened(given.workspace) as kg:
            return _calibrate(kg, gold, given)
    return _external(given)


def _calibrate(kg: KnowledgeGraph, gold: Gold, given: Given) -> int:
    from kgplatform.linking.clusters import best

    for problem in gold.problems:
        output.note(f"{given.source}: {problem}")
    now, content = kg.calibrate(gold)
    chosen = best(content, precision=given.precision)
    if given.format == "json":
        output.as_json(
            {
                "now": _score(now),
                "content": [{"likeness": trial.likeness, **_score(trial.score)} for trial in content],
                "chosen": chosen.likeness,
            }
        )
    else:
        _print_trials(now, content, chosen)
    return DONE if chosen.score.precision >= given.precision else SHORT


def _score(score: PairScore) -> dict[str, object]:
    shares = {name: round(getattr(score, name), 4) for name in ("precision", "recall", "f1")}
    return {**shares, **output.fields(score, "linked", "wanted", "wrong", "missed")}


def _print_trials(now: PairScore, content: Sequence[Trial], chosen: Trial) -> None:
    rows = [
        (
            "off" if trial.likeness >= 1 else f"{trial.likeness:g}",
            *(f"{getattr(trial.score, name):.3f}" for name in ("precision", "recall", "f1")),
            str(trial.score.linked),
            "←" if trial is chosen else "",
        )
        for trial in content
    ]
    output.table(("linking.content", "precision", "recall", "F1", "pairs", ""), rows)
    for what, pairs in (("wrong", chosen.score.wrong), ("missed", chosen.score.missed)):
        for first, second in pairs[:_MOST_PAIRS]:
            output.say(f"{what}: {first} = {second}")
    output.note(f"current settings: precision {now.precision:.3f}, recall {now.recall:.3f} of {now.wanted} pairs")
    output.note(f"for the settings:\n[linking]\ncontent = {chosen.likeness:.2f}")


def _external(given: Given) -> int:
    """Takes identities up; 1 where no line or name could be used."""
    from kgplatform.documents.fetch import is_address
    from kgplatform.linking.external import Reconciler, read_identities
    from kgplatform.workspace.entity_linking import take_up

    with opened(given.workspace) as kg:
        if is_address(given.source):
            names = sorted({word.text for entity in kg.registry.linking().entities.values() for word in entity.labels})
            timeout = kg.settings.documents.web_timeout_seconds
            identities = Reconciler(given.source, given.type, given.least, timeout).ask(names)
        else:
            identities = read_identities(Path(given.source))
        taken = take_up(kg.dataset, identities)
        kg.build("infer")
    if given.format == "json":
        written = [
            {"entity": iri.value, "name": item.name, "same": item.target.value, "score": item.score}
            for iri, item in taken.written
        ]
        output.as_json({"written": written, "problems": list(taken.problems)})
    else:
        for _, item in taken.written[:_MOST_LINES]:
            output.say(f"{item.name}  =  {item.target.value}  ({item.score:.2f})")
        for problem in taken.problems[:_MOST_LINES]:
            output.note(problem)
        output.note(f"{len(taken.written)} identities, {len(taken.problems)} not taken")
    return SHORT if taken.problems and not taken.written else DONE


@verb("places", reads=lambda given: given.action in ("list", "find"))
@argument("action", "[list|add|find|remove]", default="list", one_of=("list", "add", "find", "remove"))
@argument("names", "[NAME|PATH]...", nargs=-1)
@option("--country", metavar="CC", help="add: ISO code of the country that the tables divide, such as CN.")
@option(
    "--levels",
    metavar="NAMES",
    help="add: classes from the highest level down (default: Province,City,County,Township).",
)
@formats("text", "json")
def places(given: Given) -> int:
    """List, add, find or remove reference places.

    `add FOLDER|FILE... --country CC` reads tables of national divisions, `add FILE.ttl` RDF. `find NAME` lists what a
    name may stand for. `remove SOURCE` drops a reference.
    """  # fmt: skip
    actions = {"list": _list, "add": _add, "find": _find, "remove": _remove}
    with opened(given.workspace) as kg:
        status = actions[given.action](kg, given)
        if given.action in ("add", "remove"):
            report = kg.build("link")
            kg.build("infer")
            assert report.linked is not None
            output.note(
                f"{report.linked.places} places in the documents, {report.linked.reprojected} documents updated"
            )
    return status


@contextmanager
def _stage(kg: KnowledgeGraph) -> Iterator[PlaceStage]:
    """The places of the workspace; raises OntologyError where its ontology has none."""
    from kgplatform.workspace.linking_state import PLACES_FILE, open_places

    with open_places(kg.folder / PLACES_FILE, kg.dataset, kg.ontology, world=kg.settings.places.world) as stage:
        if stage is None:
            raise OntologyError(
                "has no classes for places; make the workspace with geo or travel", source="the ontology"
            )
        yield stage


def _list(kg: KnowledgeGraph, given: Given) -> int:
    with _stage(kg) as stage:
        meant = stage.meant(kg.registry.extractions(), {})
        resolution, reference = meant.resolution, stage.reference
        unclear = {name: ids for (_, name), ids in sorted(resolution.unclear.items(), key=lambda item: item[0][1])}
        if given.format == "json":
            sources = [
                {"name": source.name, "places": {iri.value: n for iri, n in source.counts.items()}}
                for source in reference.sources()
            ]
            known = {name: list(ids) for name, ids in unclear.items()}
            output.as_json({"sources": sources, "meant": sorted(resolution.ids()), "unclear": known})
            return DONE
        for source in reference.sources():
            counts = sorted(source.counts.items(), key=lambda item: item[1])
            listed = ", ".join(f"{count:,} {kg.ontology.label(type_)}" for type_, count in counts)
            output.say(f"{source.name:<10} {listed}")
        for name, ids in unclear.items():
            output.say(f"ambiguous  {name}: {'; '.join(_line(id_, reference) for id_ in ids[:5])}")
        output.note(f"{len(resolution.ids())} places in the documents, {len(unclear)} names are ambiguous")
    return DONE


def _find(kg: KnowledgeGraph, given: Given) -> int:
    from kgplatform.linking.places.resolution import PlaceFinder

    name = _one(given.names, "places find needs one NAME")
    with _stage(kg) as stage:
        reference = stage.reference
        found = PlaceFinder(reference, kg.ontology).named(name)
        listed = sorted(found, key=lambda item: (item[1], len(reference.above(item[0])), item[0]))
        if given.format == "json":
            output.as_json([_place(id_, kind, reference) for id_, kind in listed])
        for id_, kind in listed[:_MOST_LINES] if given.format == "text" else ():
            label = kg.ontology.label(reference.place(id_).type)
            output.say(f"{id_:<16} {_line(id_, reference)}  ({label}, by {kind.name.lower()})")
    output.note(f"{len(listed)} places named {name}")
    return DONE if listed else SHORT


def _line(id_: str, reference: PlaceReference) -> str:
    """A place with what it lies in."""
    return " < ".join(reference.place(step).labels[0].text for step in (id_, *reference.above(id_)))


def _place(id_: str, kind: NameKind, reference: PlaceReference) -> dict[str, object]:
    place = reference.place(id_)
    return {
        "id": id_,
        "class": place.type.value,
        "labels": [output.fields(word, "text", "language") for word in place.labels],
        "by": kind.name.lower(),
        "above": list(reference.above(id_)),
    }


def _add(kg: KnowledgeGraph, given: Given) -> int:
    paths = [Path(name) for name in given.names]
    if not paths:
        raise ConfigError("places add needs a FOLDER or FILEs", setting="names")
    if given.country is None and not all(path.suffix.lower() in _RDF for path in paths):
        raise ConfigError("tables of divisions need --country, such as CN", setting="country")
    with _stage(kg) as stage:
        read: Callable[..., int] = _add_rdf if given.country is None else _add_divisions
        return read(paths, kg, stage.reference, given)


def _add_rdf(paths: list[Path], kg: KnowledgeGraph, reference: PlaceReference, _given: Given) -> int:
    from kgplatform.linking.places.gazetteer import WORLD, read_rdf

    for path in paths:
        source = slug(path.stem)
        if source == WORLD:
            raise ConfigError(f"{path}: the shipped data is named {WORLD}; rename the file", setting="names")
        read = read_rdf(path, kg.ontology, source)
        reference.replace(source, read, digest="")
        output.say(f"{source}: {len(read):,} places")
    return DONE


def _add_divisions(paths: list[Path], kg: KnowledgeGraph, reference: PlaceReference, given: Given) -> int:
    from kgplatform.linking.places.gazetteer import LEVELS, checked_country, named_levels, read_divisions

    started = time.monotonic()
    country = checked_country(given.country)
    levels = named_levels(given.levels.split(","), kg.ontology) if given.levels else LEVELS
    found = read_divisions(paths, country=country, ontology=kg.ontology, levels=levels)
    reference.replace(country.casefold(), found.places, digest=found.digest)
    _report(found, kg)
    seconds = time.monotonic() - started
    output.note(f"{len(found.places):,} places of {country} in {seconds:.1f} s, {len(found.refused)} rows refused")
    return SHORT if found.refused else DONE


def _report(found: Divisions, kg: KnowledgeGraph) -> None:
    for level in found.levels:
        stand_ins = f", {level.stand_ins} rows stand in for a level that is left out" if level.stand_ins else ""
        output.say(f"{kg.ontology.label(level.type):<10} {level.rows:>7,} rows  {level.places:>7,} places{stand_ins}")
    for line in found.refused[:_MOST_LINES]:
        output.say(f"refused: {line}")
    if len(found.refused) > _MOST_LINES:
        output.say(f"refused: {len(found.refused) - _MOST_LINES} more")


def _remove(kg: KnowledgeGraph, given: Given) -> int:
    from kgplatform.linking.places.gazetteer import WORLD

    name = _one(given.names, "places remove needs the name of one reference")
    if name == WORLD:
        raise ConfigError("the world data is switched off by `world = false` under [places]", setting="places.world")
    with _stage(kg) as stage:
        reference = stage.reference
        if not reference.remove(name):
            known = ", ".join(source.name for source in reference.sources())
            raise NotFoundError(f"there is no reference {name!r}; there are {known}", name=name)
    output.say(f"removed {name}")
    return DONE


def _one(names: Sequence[str], complaint: str) -> str:
    if len(names) != 1:
        raise ConfigError(complaint, setting="names")
    return names[0]
