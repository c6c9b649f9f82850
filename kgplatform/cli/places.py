"""The verb `places`: which references there are, adding and removing them, and what a name may stand for."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from kgplatform.building.places import FILE, PlaceStage, open_places
from kgplatform.cli import output
from kgplatform.errors import ConfigError, NotFoundError, OntologyError
from kgplatform.graph import KnowledgeGraph
from kgplatform.places.candidates import PlaceFinder
from kgplatform.places.described import WORLD, read_rdf
from kgplatform.places.divisions import LEVELS, Divisions, checked_country, named_levels, read_divisions
from kgplatform.places.place import NameKind
from kgplatform.places.reference import PlaceReference
from kgplatform.vocab import slug

_DONE, _SHORT = 0, 1
_RDF = (".ttl", ".nt")
_MOST_SHOWN = 20


def run(given: argparse.Namespace) -> int:
    """Does what the action says; 1 where nothing goes by the name, or rows could not be used."""
    actions = {"list": _list, "add": _add, "find": _find, "remove": _remove}
    with KnowledgeGraph.open(given.workspace) as kg:
        status = actions[given.action](kg, given)
        if given.action in ("add", "remove"):
            report = kg.build("link")
            kg.build("infer")
            assert report.linked is not None
            output.note(
                f"{report.linked.places} places are meant, {report.linked.reprojected} documents brought in line"
            )
    return status


def _stage(stage: PlaceStage | None) -> PlaceStage:
    if stage is None:
        raise OntologyError("has no classes for places; make the workspace with geo or travel", source="the ontology")
    return stage


def _list(kg: KnowledgeGraph, given: argparse.Namespace) -> int:
    with open_places(kg.folder / FILE, kg.dataset, kg.ontology, world=kg.settings.places.world) as opened:
        stage = _stage(opened)
        meant = stage.meant(kg.registry.extractions(), {})
        resolution, reference = meant.resolution, stage.reference
        unclear = {name: ids for (_, name), ids in sorted(resolution.unclear.items(), key=lambda item: item[0][1])}
        if given.format == "json":
            output.as_json(
                {
                    "sources": [
                        {"name": source.name, "places": {iri.value: n for iri, n in source.counts.items()}}
                        for source in reference.sources()
                    ],
                    "meant": sorted(resolution.ids()),
                    "unclear": {name: list(ids) for name, ids in unclear.items()},
                }
            )
            return _DONE
        for source in reference.sources():
            counts = sorted(source.counts.items(), key=lambda item: item[1])
            listed = ", ".join(f"{count:,} {kg.ontology.label(type_)}" for type_, count in counts)
            output.say(f"{source.name:<10} {listed}")
        for name, ids in unclear.items():
            output.say(f"unclear    {name}: {'; '.join(_line(id_, reference) for id_ in ids[:5])}")
        output.note(f"{len(resolution.ids())} places are meant by the documents, {len(unclear)} names are unclear")
    return _DONE


def _find(kg: KnowledgeGraph, given: argparse.Namespace) -> int:
    name = _one(given.names, "places find needs one NAME")
    with open_places(kg.folder / FILE, kg.dataset, kg.ontology, world=kg.settings.places.world) as opened:
        reference = _stage(opened).reference
        found = PlaceFinder(reference, kg.ontology).named(name)
        listed = sorted(found, key=lambda item: (item[1], len(reference.above(item[0])), item[0]))
        if given.format == "json":
            output.as_json([_json(id_, kind, reference) for id_, kind in listed])
        for id_, kind in listed[:_MOST_SHOWN] if given.format == "text" else ():
            label = kg.ontology.label(reference.place(id_).type)
            output.say(f"{id_:<16} {_line(id_, reference)}  ({label}, by {kind.name.lower()})")
    output.note(f"{len(listed)} places go by {name}")
    return _DONE if listed else _SHORT


def _line(id_: str, reference: PlaceReference) -> str:
    """A place with what it lies in."""
    return " < ".join(reference.place(step).labels[0].text for step in (id_, *reference.above(id_)))


def _json(id_: str, kind: NameKind, reference: PlaceReference) -> dict[str, object]:
    place = reference.place(id_)
    return {
        "id": id_,
        "class": place.type.value,
        "labels": [{"text": word.text, "language": word.language} for word in place.labels],
        "by": kind.name.lower(),
        "above": list(reference.above(id_)),
    }


def _add(kg: KnowledgeGraph, given: argparse.Namespace) -> int:
    paths = [Path(name) for name in given.names]
    if not paths:
        raise ConfigError("places add needs a FOLDER or FILEs", setting="names")
    if given.country is None and not all(path.suffix.lower() in _RDF for path in paths):
        raise ConfigError("tables of divisions need --country, such as CN", setting="country")
    with open_places(kg.folder / FILE, kg.dataset, kg.ontology, world=kg.settings.places.world) as opened:
        reference = _stage(opened).reference
        if given.country is None:
            return _add_rdf(paths, kg, reference)
        return _add_divisions(paths, kg, reference, given)


def _add_rdf(paths: list[Path], kg: KnowledgeGraph, reference: PlaceReference) -> int:
    for path in paths:
        source = slug(path.stem)
        if source == WORLD:
            raise ConfigError(f"{path}: the shipped part is called {WORLD}; rename the file", setting="names")
        places = read_rdf(path, kg.ontology, source)
        reference.replace(source, places, digest="")
        output.say(f"{source}: {len(places):,} places")
    return _DONE


def _add_divisions(paths: list[Path], kg: KnowledgeGraph, reference: PlaceReference, given: argparse.Namespace) -> int:
    started = time.monotonic()
    country = checked_country(given.country)
    levels = named_levels(given.levels.split(","), kg.ontology) if given.levels else LEVELS
    found = read_divisions(paths, country=country, ontology=kg.ontology, levels=levels)
    reference.replace(country.casefold(), found.places, digest=found.digest)
    _report(found, kg)
    seconds = time.monotonic() - started
    output.note(f"{len(found.places):,} places of {country} in {seconds:.1f} s, {len(found.refused)} rows refused")
    return _SHORT if found.refused else _DONE


def _report(found: Divisions, kg: KnowledgeGraph) -> None:
    for level in found.levels:
        stand_ins = f", {level.stand_ins} rows stand in for a level that is left out" if level.stand_ins else ""
        output.say(f"{kg.ontology.label(level.type):<10} {level.rows:>7,} rows  {level.places:>7,} places{stand_ins}")
    for line in found.refused[:_MOST_SHOWN]:
        output.say(f"refused: {line}")
    if len(found.refused) > _MOST_SHOWN:
        output.say(f"refused: {len(found.refused) - _MOST_SHOWN} more")


def _remove(kg: KnowledgeGraph, given: argparse.Namespace) -> int:
    name = _one(given.names, "places remove needs the name of one reference")
    if name == WORLD:
        raise ConfigError("the world part is switched off by `world = false` under [places]", setting="places.world")
    with open_places(kg.folder / FILE, kg.dataset, kg.ontology, world=kg.settings.places.world) as opened:
        reference = _stage(opened).reference
        if not reference.remove(name):
            known = ", ".join(source.name for source in reference.sources())
            raise NotFoundError(f"there is no reference {name!r}; there are {known}", name=name)
    output.say(f"removed {name}")
    return _DONE


def _one(names: list[str], complaint: str) -> str:
    if len(names) != 1:
        raise ConfigError(complaint, setting="names")
    return names[0]
