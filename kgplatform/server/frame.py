"""What pages share: built assets, SPARQL in colour, counts and names of the graph, class colours, the frame itself.

The built scripts, styles and fonts come from ``frontend/`` by ``make web`` and are shipped in wheels; without them
pages work as plain forms and tables, styled by ``templates/static``.
"""

from __future__ import annotations

import hashlib
import heapq
import json
import re
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from importlib.resources.abc import Traversable
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

from flask import Blueprint, Flask, Response, current_app, make_response, render_template, request, send_from_directory
from jinja2 import StrictUndefined
from markupsafe import Markup, escape
from pyoxigraph import Literal, NamedNode, Triple

from kgplatform import resources
from kgplatform.entities import NAMING, REPLACED_BY, Labels, special_types
from kgplatform.lexicon import amounts
from kgplatform.ontology.schema import Ontology
from kgplatform.server import addresses, words
from kgplatform.server.access import UNNAMED
from kgplatform.server.places import texts
from kgplatform.sparql.tokens import tokens
from kgplatform.store.oxigraph import DEFAULT_GRAPH, Store
from kgplatform.text import has_han, normalise
from kgplatform.types import EDITED, Evidence
from kgplatform.vocab import ALT_LABEL, OWL, RDF, RDFS, SKOS, TYPE, local_name

if TYPE_CHECKING:
    from kgplatform.graph import KnowledgeGraph

FOLDER = Path(__file__).resolve().parent / "static"
NOT_BUILT = "browser assets not built, the pages are plain forms and tables: run `make web` in a checkout (Node 20+)"
LICENCES = "THIRD-PARTY.txt"


def built(folder: Path = FOLDER) -> dict[str, str]:
    """The files built in the folder, by what templates call them (``app.js``); read again when they have changed."""
    manifest = folder / "manifest.json"
    try:
        changed = manifest.stat().st_mtime_ns
    except OSError:
        return {}
    return _read(manifest, changed)


@lru_cache(maxsize=4)
def _read(manifest: Path, _changed: int) -> dict[str, str]:
    try:
        entries: dict[str, str] = json.loads(manifest.read_text(encoding="utf-8"))["entries"]
    except (OSError, ValueError, KeyError):
        return {}
    return entries


def is_built() -> bool:
    """Whether the pages have their scripts."""
    return bool(built())


def blueprint() -> Blueprint:
    """The route of the built files; their names hold a mark of their content, so they may be kept for ever."""
    routes = Blueprint("assets", __name__)

    @routes.get("/static/built/<path:name>")
    def file(name: str) -> Any:
        response = send_from_directory(FOLDER, name, max_age=31_536_000)
        response.headers["Cache-Control"] = "public, max-age=31536000, immutable"
        return response

    return routes


_SPANS: Final = {
    **{"comment": "c", "iri": "i", "string": "s", "variable": "v", "name": "n"},
    **{"blank": "n", "word": "k", "number": "d"},
}


def highlight(text: str) -> Markup:
    """The text, escaped, with ``<span class="q-…">`` round comments, IRIs, strings, variables, names and keywords."""
    pieces: list[Markup] = []
    end = 0
    for token in tokens(text, comments=True):
        if token.kind in _SPANS:
            pieces.append(escape(text[end : token.start]))
            pieces.append(Markup('<span class="q-{}">{}</span>').format(_SPANS[token.kind], token.text))
            end = token.end
    pieces.append(escape(text[end:]))
    return Markup("").join(pieces)


_Made = TypeVar("_Made")
_MOST = 64


class Remembered:
    """Results by key, of the store's version as it is; made once, however many ask at a time."""

    def __init__(self, kg: KnowledgeGraph) -> None:
        self._kg = kg
        self._lock = threading.RLock()
        self._version = -1
        self._made: dict[Hashable, object] = {}
        self.hits = self.misses = 0

    def get(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        """What ``make`` gives, or gave for the same key since the store last changed."""
        with self._lock:
            version = self._kg.store.version
            if version != self._version or len(self._made) >= _MOST:
                self._made.clear()
                self._version = version
            if key in self._made:
                self.hits += 1
            else:
                self.misses += 1
                self._made[key] = make()
            return self._made[key]  # type: ignore[return-value]


_VOCABULARIES = (OWL, RDF, RDFS, SKOS)
_MOST_NAMES = 1_000_000
_MOST_ORDERED = 5_000


@dataclass(frozen=True)
class Overview:
    """The numbers: instances by class, uses by property, statements; of what is stated, without the ontology's own.

    Statements are counted when they are first asked for, which takes ten times as long as the classes.
    """

    classes: dict[NamedNode, int] = field(default_factory=dict)
    count: Callable[[], dict[NamedNode, int]] = dict
    internal: frozenset[NamedNode] = frozenset()

    @cached_property
    def _all_properties(self) -> dict[NamedNode, int]:
        return self.count()

    @property
    def properties(self) -> dict[NamedNode, int]:
        """The properties with how many statements have them, the most used first; bookkeeping left out."""
        return {iri: count for iri, count in self._all_properties.items() if iri not in self.internal}

    @property
    def statements(self) -> int:
        """How many statements there are."""
        return sum(self._all_properties.values())

    @property
    def empty(self) -> bool:
        """Whether there is nothing to ask about."""
        return self.statements == 0


class Members:
    """The things of a class and of those below it, each once; counted without being read."""

    def __init__(self, store: Store, ontology: Ontology, class_: NamedNode) -> None:
        self._store = store
        below = sorted(ontology.subclasses(class_), key=lambda iri: iri.value)
        self._classes = [sub for sub in below if next(self._quads(sub), None) is not None]

    def _quads(self, class_: NamedNode) -> Iterator[NamedNode]:
        said = self._store.quads(None, TYPE, class_, DEFAULT_GRAPH)
        return (quad.subject for quad in said if isinstance(quad.subject, NamedNode))

    @property
    def pattern(self) -> str:
        """What they are in SPARQL, as ``?thing``; each may come several times."""
        return f"VALUES ?class {{ {' '.join(map(str, self._classes))} }} ?thing a ?class ."

    @cached_property
    def total(self) -> int:
        """How many there are."""
        if not self._classes:
            return 0
        number = self._store.query(f"SELECT (COUNT(DISTINCT ?thing) AS ?n) WHERE {{ {self.pattern} }}").rows[0][0]
        return int(number.value) if isinstance(number, Literal) else 0

    def __iter__(self) -> Iterator[NamedNode]:
        """All of them: by their IRIs, where they are not too many for that."""
        return iter(self._sorted) if self.total <= _MOST_ORDERED else self._each()

    @cached_property
    def _sorted(self) -> tuple[NamedNode, ...]:
        return tuple(sorted(self._each(), key=lambda iri: iri.value))

    def _each(self) -> Iterator[NamedNode]:
        for number, class_ in enumerate(self._classes):
            before = self._classes[:number]
            for thing in self._quads(class_):
                if not any(self._store.has(Triple(thing, TYPE, one)) for one in before):
                    yield thing


Ties = dict[tuple[NamedNode, NamedNode], dict[NamedNode, int]]
"""How many statements lead from things of one class to things of another, by property; the most first."""


class Lately:
    """The overview and the names of a workspace, renewed when its store has changed."""

    def __init__(self, kg: KnowledgeGraph) -> None:
        self._kg = kg
        self.kept = Remembered(kg)

    def overview(self) -> Overview:
        """The numbers as they are now."""
        return self.kept.get("overview", lambda: _overview(self._kg))

    def number_of(self, class_: NamedNode) -> int:
        """How many things a class has, those of the classes below it included, each once: the number on all pages."""
        known = self.kept.get("numbers", dict[NamedNode, int])
        if class_ not in known:
            known[class_] = Members(self._kg.store, self._kg.ontology, class_).total
        return known[class_]

    def totals(self) -> dict[NamedNode, int]:
        """The classes of the ontology and of the data with how many things each has; bookkeeping left out."""
        classes = (*(term.iri for term in self._kg.ontology.domain_classes), *self.overview().classes)
        return self.kept.get("totals", lambda: {iri: self.number_of(iri) for iri in dict.fromkeys(classes)})

    def ties(self) -> tuple[Ties, bool]:
        """What leads from class to class, and whether all statements were looked at."""
        return self.kept.get("ties", lambda: _ties(self._kg, self.overview()))

    def prepare(self) -> None:
        """Works out numbers and names, before somebody waits for them."""
        _ = self.overview().statements, self.totals()
        self.called("a", 1)

    def called(self, text: str, limit: int) -> list[NamedNode]:
        """The things whose names hold the text, the ontology's terms last.

        Equal names come first, then names that begin with it, then others.
        """
        wanted = normalise(text)
        if not wanted:
            return []
        best: dict[str, tuple[int, int]] = {}
        for name, thing in self.kept.get("names", lambda: _names(self._kg)):
            if wanted in name:
                rank = (0 if name == wanted else 1 if name.startswith(wanted) else 2, len(name))
                if thing not in best or rank < best[thing]:
                    best[thing] = rank
        ontology = self._kg.ontology
        terms = {iri.value for kind in (ontology.classes, ontology.properties, ontology.individuals) for iri in kind}
        ranked = heapq.nsmallest(limit, ((thing in terms, rank, thing) for thing, rank in best.items()))
        return [NamedNode(thing) for _, _, thing in ranked]


def _names(kg: KnowledgeGraph) -> list[tuple[str, str]]:
    """What things are called, as names are compared, with the IRIs of the things."""
    found: list[tuple[str, str]] = []
    for predicate in (*NAMING, ALT_LABEL):
        found += [(normalise(name), thing) for thing, name in texts(kg.store, predicate)]
    return found[:_MOST_NAMES]


def _counted(kg: KnowledgeGraph, pattern: str) -> Counter[NamedNode]:
    """How often each term stands in the pattern in what is stated."""
    found: Counter[NamedNode] = Counter()
    for term, number in kg.store.query(f"SELECT ?term (COUNT(*) AS ?n) WHERE {{ {pattern} }} GROUP BY ?term").rows:
        if isinstance(term, NamedNode) and isinstance(number, Literal):
            found[term] = int(number.value)
    text = f"SELECT ?g ?term (COUNT(*) AS ?n) WHERE {{ GRAPH ?g {{ {pattern} }} }} GROUP BY ?g ?term"
    for graph in (kg.dataset.ontology, kg.dataset.inferred):
        for _, term, number in kg.store.query(text, bindings={"g": graph}).rows:
            if isinstance(term, NamedNode) and isinstance(number, Literal):
                found[term] -= int(number.value)
    return Counter({term: number for term, number in found.most_common() if number > 0})


def _overview(kg: KnowledgeGraph) -> Overview:
    ontology = kg.ontology
    counted = _counted(kg, "?s a ?term")
    return Overview(
        classes={
            iri: count
            for iri, count in counted.items()
            if not iri.value.startswith(_VOCABULARIES) and not _internal(kg, iri)
        },
        count=lambda: _counted(kg, "?s ?term ?o"),
        internal=frozenset((*(iri for iri, term in ontology.properties.items() if term.internal), REPLACED_BY)),
    )


def _internal(kg: KnowledgeGraph, iri: NamedNode) -> bool:
    term = kg.ontology.classes.get(iri)
    return term is not None and term.internal


class Palette:
    """The numbers of the classes of a graph: each has one by its rank among those of the data.

    The first five have a colour each, the next ones the same colours with other shapes; scripts and styles know what a
    number looks like (``--class-0`` …).
    """

    def __init__(self, overview: Overview) -> None:
        ranked = sorted(overview.classes, key=lambda iri: (-overview.classes[iri], iri.value))
        self._numbers = {iri: number for number, iri in enumerate(ranked)}
        self._counts = overview.classes

    def index(self, class_: NamedNode) -> int | None:
        """The number of a class; None where the data has none of it."""
        return self._numbers.get(class_)

    def class_of(self, kg: KnowledgeGraph, thing: NamedNode) -> NamedNode | None:
        """The class that tells most of a thing: of those counted, and with none of them below it, the rarest."""
        known = special_types((term for term in kg.store.objects(thing, TYPE) if term in self._numbers), kg.ontology)
        return min(known, key=lambda iri: self._counts[iri], default=None)

    def records(self, classes: Iterable[NamedNode], labels: Labels, base: str) -> list[dict[str, object]]:
        """The classes as pictures take them, in the given order."""
        return [
            {"label": labels.of(iri).text, "color": self._numbers.get(iri, -1), "href": addresses.of_iri(iri, base)}
            for iri in classes
        ]


_MOST_RELATIONS = 60
TIES_LOOKED_AT = 300
"""So many statements of a property are looked at; the others are taken to be like them."""


def _ties(kg: KnowledgeGraph, overview: Overview) -> tuple[Ties, bool]:
    found: Ties = {}
    palette, complete, turned = Palette(overview), True, set[NamedNode | None]()
    for predicate, used in islice(overview.properties.items(), _MOST_RELATIONS):
        if predicate in turned:  # its inverse says the same
            continue
        turned.add(term.inverse if (term := kg.ontology.properties.get(predicate)) else None)
        quads = islice(kg.store.quads(None, predicate, None, DEFAULT_GRAPH), 10 * TIES_LOOKED_AT)
        looked = list(islice((quad for quad in quads if kg.dataset.is_stated(quad.triple)), TIES_LOOKED_AT))
        complete = complete and len(looked) >= used
        ends = ((quad.subject, quad.object) for quad in looked)
        things = ((a, b) for a, b in ends if isinstance(a, NamedNode) and isinstance(b, NamedNode))
        pairs = Counter((palette.class_of(kg, a), palette.class_of(kg, b)) for a, b in things)
        for (a, b), number in pairs.items():
            if a and b:
                found.setdefault((a, b), {})[predicate] = round(number * max(1, used / len(looked)))
    return dict(sorted(found.items(), key=lambda tie: (-sum(tie[1].values()), *map(str, tie[0])))), complete


COOKIE = "kgplatform_lang"
DATA = "data"
DATA_COOKIE = "kgplatform_data"
_TAG = re.compile(r"[A-Za-z]{1,8}(-[A-Za-z0-9]{1,8}){0,4}")
"""A language tag (BCP 47 §2.1, without its rarest parts)."""
_PLAIN_TYPES = {
    **dict.fromkeys(("integer", "int", "long", "decimal", "double", "float", "nonNegativeInteger"), "number"),
    **dict.fromkeys(("string", "langString"), "text"),
    "gYear": "year",
    "dayTimeDuration": "duration",
}
"""Datatypes by what they are called on the pages; others go by their names."""
_YEAR_SECONDS = 365 * 24 * 3600
_NAMED_IN_BAR = ("query", "explore", "map", "ontology", "documents", "communities")
_IN_BAR = (("ask", "/"), *((name, f"/{name}") for name in _NAMED_IN_BAR))
_MORE = tuple((name, f"/{name}") for name in ("changes", "retrieval", "evaluation", "export", "api", "about"))
"""The pages of the bar and of its menu; each is shown once its address has a route."""
_PLUGIN_PAGES = "kgplatform-plugin-pages"


@dataclass(frozen=True, slots=True)
class PluginPages:
    """What a plug-in brings to the server: routes, pages for the menu (key of the name, address), and its words.

    ``words`` is a folder with ``en.toml`` and ``zh.toml``; templates come with the blueprints.
    """

    blueprints: Iterable[Blueprint]
    navigation: tuple[tuple[str, str], ...] = ()
    words: Traversable | None = None

    def add_to(self, app: Flask) -> None:
        """Registers them with the app."""
        if self.words is not None:
            words.add_words(self.words)
        for blueprint in self.blueprints:
            app.register_blueprint(blueprint)
        app.extensions.setdefault(_PLUGIN_PAGES, []).extend(self.navigation)


def pages() -> list[tuple[str, str]]:
    """The pages that there are: the key of their name, and their address."""
    return [*_there(_IN_BAR), *_more()]


def _more() -> list[tuple[str, str]]:
    return [*current_app.extensions.get(_PLUGIN_PAGES, ()), *_there(_MORE)]


def _there(listed: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    known = {rule.rule.rstrip("/") for rule in current_app.url_map.iter_rules() if "GET" in (rule.methods or ())}
    return [(name, href) for name, href in listed if href.rstrip("/") in known]


def language() -> str:
    """The interface language of the request: ``?lang=``, else the cookie, else ``Accept-Language``, else English."""
    for given in (request.args.get("lang"), request.cookies.get(COOKIE)):
        if given in words.LANGUAGES:
            return given
    return request.accept_languages.best_match(words.LANGUAGES) or "en"


def tongues() -> tuple[str, ...]:
    """The languages in which things are named, the first first: ``?data=``, else the cookie; then the interface's."""
    for given in (request.args.get(DATA), request.cookies.get(DATA_COOKIE)):
        if given is not None and _TAG.fullmatch(given):
            return (given, language())
    return (language(),)


@dataclass(frozen=True, slots=True)
class Frame:
    """What templates call: words and addresses in the language and workspace of the request."""

    language: str
    base: str

    def t(self, key: str, **values: object) -> str:
        """The phrase in the language of the page."""
        return words.phrase(key, self.language, **values)

    def number(self, value: float) -> str:
        """The number with its thousands apart."""
        return f"{value:,}"

    def things(self, label: str, number: int) -> str:
        """The label of a class, in the plural where English wants it."""
        return amounts.plural(label) if number != 1 and label.isascii() else label

    def measure(self, label: str) -> str:
        """The measure word of a class; empty in English."""
        return amounts.measure(label) if self.language == "zh" else ""

    def counted(self, label: str, number: int) -> str:
        """A number of things of a class, with the measure word of Chinese."""
        things, measure = self.things(label, number), self.measure(label)
        return self.t("counted", n=self.number(number), things=things, measure=measure)

    def named(self, kind: str, name: str) -> str:
        """The words for a name of ours, such as a method; the name itself where there are none."""
        return self.t(f"{kind}_{name}") if f"{kind}_{name}" in words.WORDS else name

    def amount(self, text: str, unit: str = "") -> str:
        """A value with its thousands apart where it is an amount: it has a unit, or more digits than a year."""
        return f"{int(text):,}" if text.isascii() and text.isdigit() and (unit or len(text) > 4) else text

    def brief(self, value: float, unit: str = "") -> str:
        """A number to six digits, its thousands apart where it is an amount and no year."""
        return amounts.brief(value, unit)

    def unit(self, symbol: str, number: object = 2) -> str:
        """A unit as it stands after a number."""
        return amounts.unit(symbol, self.language, several=str(number) != "1")

    def datatype(self, iri: NamedNode) -> str:
        """The kind of literals of a datatype, in words."""
        name = local_name(iri.value)
        return self.named("type", _PLAIN_TYPES.get(name, name))

    def seconds(self, value: float) -> str:
        """Seconds, to two digits."""
        return f"{value:.2g}" if value < 10 else f"{value:.0f}"

    def at(self, iri: NamedNode) -> str:
        """The page about an IRI."""
        return addresses.of_iri(iri, self.base)

    def source(self, item: Evidence) -> str:
        """What a source is called: the title of its document; of a person's word, whose it is."""
        if item.source != EDITED:
            return item.title
        return self.t("stated_by", name=self.person(item.title))

    def person(self, name: str) -> str:
        """The name of a person; of somebody at this machine, whom no token names, that."""
        return self.t("here") if name in UNNAMED else name

    def passage(self, item: Evidence) -> str:
        """The page of a passage."""
        return addresses.of_passage(item, self.base)

    def tag(self, text: str) -> str:
        """The language tag for the element that holds a text of the data."""
        return "zh" if has_han(text) else "en"

    def when(self, stamp: str) -> str:
        """A time stamp: how long ago, of more than a week the day; the full time on hover."""
        try:
            moment = datetime.fromisoformat(stamp).astimezone(UTC)
        except ValueError:
            return stamp
        seconds = int((datetime.now(UTC) - moment).total_seconds())
        lasting = ((60, 1, "now"), (3600, 60, "minutes"), (86_400, 3600, "hours"), (604_800, 86_400, "days"))
        told = next((self.t(f"ago_{name}", n=seconds // part) for most, part, name in lasting if seconds < most), "")
        text = told or moment.strftime("%Y-%m-%d")
        return Markup('<time datetime="{}" title="{:%Y-%m-%d %H:%M:%S} UTC">{}</time>').format(stamp, moment, text)

    def bar(self) -> list[tuple[str, str]]:
        """The pages of the bar: the key of the name, and the address."""
        return _there(_IN_BAR)

    def more(self) -> list[tuple[str, str]]:
        """The pages of the menu beside the bar."""
        return _more()

    def scripted(self) -> dict[str, object]:
        """What scripts need to know: the language, their words, and the pages that there are."""
        named = [[name, href, self.t(name)] for name, href in pages()]
        own = {"language": self.language, "words": words.scripted(self.language)}
        return {**own, "pages": named, "map": current_app.config.get("MAP", {})}

    def built(self, name: str) -> str:
        """The address of a built script or style; empty where none are built."""
        found = built().get(name)
        return f"/static/built/{found}" if found else ""

    def other_language(self) -> str:
        """This page in the other language."""
        wanted = "en" if self.language == "zh" else "zh"
        return addresses.again(lang=wanted)


def page(template: str, base: str, *, status: int = 200, **values: Any) -> Response:
    """The page made from the template of ``templates/html``."""
    frame = Frame(language(), base)
    response = make_response(render_template(template, f=frame, t=frame.t, status=status, **values), status)
    response.headers["Vary"] = "Accept, Accept-Language, Cookie"
    response.headers["Content-Language"] = frame.language
    wanted = request.args.get(DATA)
    if wanted is not None and _TAG.fullmatch(wanted):
        response.set_cookie(DATA_COOKIE, wanted, max_age=_YEAR_SECONDS, samesite="Lax", httponly=True)
    elif wanted == "":
        response.delete_cookie(DATA_COOKIE)
    if request.args.get("lang") in words.LANGUAGES:
        response.set_cookie(COOKIE, frame.language, max_age=_YEAR_SECONDS, samesite="Lax", httponly=True)
    return response


def prepare(app: Flask) -> None:
    """Sets up the templates of the app."""
    app.jinja_env.undefined = StrictUndefined
    app.jinja_env.trim_blocks = True
    app.jinja_env.lstrip_blocks = True
    app.jinja_env.filters["sparql"] = highlight
    app.jinja_env.globals["asset"] = asset
    app.jinja_env.globals["address"] = addresses


@lru_cache(maxsize=16)
def asset(name: str) -> str:
    """The address of a static file, with a mark of its content so that it may be cached for long."""
    path: Path = resources.folder("templates") / "static" / name
    return f"/static/{name}?v={hashlib.sha256(path.read_bytes()).hexdigest()[:10]}"
