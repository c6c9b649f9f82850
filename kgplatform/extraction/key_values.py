"""Facts written as labels, headings and tables: ``Credits: 7.5``, ``学分 | 7.5``, a list under "Skills developed".

What they are about is what a row of a table begins with, what the heading above them names, else the document's main
entity; which property a label names is looked up among the property's words, else the label is the name of the class
that one property leads to ("Venue: ICLR 2022"). Readers write tables as lines of cells, so those of HTML, Markdown,
Word and PDF are read alike; what the columns are is drafted as for a table of its own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pyoxigraph import NamedNode

from kgplatform.errors import ReadError
from kgplatform.extraction.context import WORD_LIST, DocumentReading, DocumentSection, TextLine, bare_heading
from kgplatform.extraction.names import clean_name
from kgplatform.extraction.ontology_lexicon import Cue, Lexicon
from kgplatform.extraction.people import BylinePart, Person, people_in, venue_in, whole_lines
from kgplatform.extraction.table_draft import TableMapping, class_called, class_property, map_table
from kgplatform.extraction.values import FoundValue, accepts, literal_of, values_in
from kgplatform.lexicon import LexiconSection
from kgplatform.ontology.schema import OntologyProperty
from kgplatform.text import has_han, singular
from kgplatform.types import Claim, Mention

_LEXICON: Final = LexiconSection("extraction", "key_values")
_NONE = _LEXICON.pattern("none", re.IGNORECASE)
_SPLIT = _LEXICON.pattern("split")
_NAME_WORD = re.compile(r"[^\W\d_][\w'’.-]*$")
_TWO_CELLS = re.compile(r"\|?\s*([^|]{1,40}?)\s*\|\s*([^|]*[^|\s-][^|]*?)\s*\|?")
_ADULTS = _LEXICON.pattern("adults", re.IGNORECASE)
_PARTICLES = _LEXICON.words("particles")
_PERSON_WORDS = _LEXICON.words("person_words")
_MAX_WORDS, _MAX_HAN, _MAX_STRING = 8, 18, 400


def read_labelled(reading: DocumentReading) -> None:
    """Adds what tables, labels, headings with lists, the byline and the reference list say."""
    above = ""  # a heading that names the things below it: "Where to sleep"
    for section in reading.sections:
        if section.heading is not None and not _is_name(reading, section.heading):
            above = section.heading.text
        lines = _without_tables(reading, section, above)
        clauses = list(_clauses(reading, section))
        headed = _headed(reading, section, [*lines, *clauses], above)
        subject = headed or reading.main
        if subject is None:
            continue
        for line in (*lines, *clauses) if headed else lines:
            if line.kind == "label" and (cue := _cue(reading, subject, line.label)):
                _value(reading, subject, cue, line)
        heading = section.heading
        if heading is not None and subject is reading.main and (cue := _cue(reading, subject, heading.text)):
            _section(reading, subject, cue, section)
    _byline(reading)


# Tables

_SEPARATOR = re.compile(r"[\s|:+=-]+")
_MARKS = re.compile(r"^[\s*_•·>-]*")
_SAYS = re.compile(r"\w")
_SENTENCE = re.compile(r"(?:[^。！？!?\n.]|\.(?=\S))+")
_CLAUSE = re.compile(r"(?:[^，；;,\n]|,(?=\d))+")
_IN_BRACKETS = re.compile(r"\s*[（(\[]([^()（）\[\]]*)[)）\]]\s*$")


@dataclass(frozen=True, slots=True)
class _Columns:
    """The names of a table's columns."""

    name: str
    columns: tuple[str, ...]


def _without_tables(reading: DocumentReading, section: DocumentSection, above: str) -> list[TextLine]:
    """The lines of a section, two cells as label and value; rows of tables are read and left out."""
    found: list[TextLine] = []
    table: list[TextLine] = []
    caption = section.heading.text if section.heading is not None else above

    def end() -> None:
        rows = [(line, cells) for line in table if (cells := _cells(line))]
        if not _table(reading, rows, caption):
            found.extend(_row(line) for line, _ in rows)
        table.clear()

    for line in section.lines:
        start = reading.text.rfind("\n", 0, line.start) + 1
        if "|" in reading.text[start : line.end]:
            if table and "\n\n" in reading.text[table[-1].end : start]:
                end()
            table.append(replace(line, kind="row", start=start, text=reading.text[start : line.end], label=""))
            continue
        if table:
            end()
        found.append(line)
    if table:
        end()
    return found


def _cells(line: TextLine) -> list[tuple[int, str]]:
    """The cells of a row, each with the offset at which its text begins; none of one that is empty or a rule."""
    if _SEPARATOR.fullmatch(line.text):
        return []
    bordered = line.text.lstrip().startswith("|")
    position, found = line.start, []
    for piece in line.text.split("|"):
        text = piece.strip()
        found.append((position + len(piece) - len(piece.lstrip()), text))
        position += len(piece) + 1
    return found[1:-1] if bordered and line.text.rstrip().endswith("|") else found[1:] if bordered else found


def _table(reading: DocumentReading, rows: Sequence[tuple[TextLine, list[tuple[int, str]]]], caption: str) -> bool:
    """Reads a table whose first row names its columns; whether it was one."""
    if len(rows) < 2:
        return False
    if len(rows) > 2 and not any(map(str.isdigit, rows[0][0].text)):
        reading.headers.append((rows[0][0].start, rows[0][0].end))
    lexicon = reading.lexicon
    header = [text.strip(" *_") for _, text in rows[0][1]]
    bare = [_IN_BRACKETS.sub("", text) for text in header]
    class_ = next(filter(None, (_class_named(reading, text) for text in (*bare[:1], caption))), None)
    class_ = class_ or _class_of_rows(reading, [cells[0] for _, cells in rows[1:]])
    drafted = _drafted(reading, bare, class_)
    if drafted is None:
        return False
    type_, first = drafted.type, drafted.key or 0
    cues = [
        Cue(item.term, item.column) if item.role == "property" and item.term is not None else None
        for item in drafted.columns
    ]
    if not any(cue for place, cue in enumerate(cues) if place != first):
        return False
    for _, cells in rows[1:]:
        if first >= len(cells) or not (name := _plain_name(cells[first][1])) or _NONE.match(name):
            continue
        at = cells[first][0]
        subject = _named_at(reading, at, at + len(cells[first][1]), name, type_)
        for place, cue in enumerate(cues[: len(cells)]):
            start, text = cells[place]
            if (
                cue is None
                or place == first
                or not _SAYS.search(text)
                or not lexicon.ontology.admits(cue.term.iri, subject.type)
            ):
                continue
            _value(reading, subject, cue, TextLine("label", start, start + len(text), text, header[place]))
    reading.told.append((rows[0][0].start, rows[-1][0].end))
    return True


def _drafted(reading: DocumentReading, header: Sequence[str], class_: NamedNode | None) -> TableMapping | None:
    """What a table with these columns is about, with the column of names as its key; nothing if it is about nothing."""
    named = next((n for n, text in enumerate(header) if _class_named(reading, text) == class_), 0) if class_ else 0
    known = [bool(reading.label_cues(text)) and n != named for n, text in enumerate(header)]
    if len(header) < 2 or not any(known):
        return None
    columns = tuple("name" if n == named and not known[n] else text or f"column {n}" for n, text in enumerate(header))
    table, ontology = _Columns("", columns), reading.lexicon.ontology
    try:
        mapping = map_table(table, ontology, "", within=class_)
    except ReadError:
        return None
    return replace(mapping, key=mapping.key if mapping.key is not None else named)


def _class_of_rows(reading: DocumentReading, cells: Sequence[tuple[int, str]]) -> NamedNode | None:
    """The class, or the one above it, of most of what is known among the names in a column."""
    ends = {start: start + len(text) for start, text in cells}
    known = Counter(item.type for start, end in ends.items() for item in reading.within(start, end) if item.end == end)
    return reading.lexicon.general(known.most_common(1)[0][0]) if 2 * known.total() >= len(cells) else None


def _class_named(reading: DocumentReading, text: str) -> NamedNode | None:
    """The class that a column, caption or heading names: "Hotels", "酒店"."""
    return class_called(bare_heading(text), reading.lexicon)


def _named_at(reading: DocumentReading, start: int, end: int, name: str, class_: NamedNode) -> Mention:
    """What is named there, of the class or of the one below it that is known or has a word in the name."""
    inside = [item for item in reading.within(start, end) if item.name == name]
    type_ = next((item.type for item in inside if reading.lexicon.ontology.is_a(item.type, (class_,))), None)
    first = reading.document.text.find(name, start, end)
    first, last = (first, first + len(name)) if first >= 0 else (start, end)
    return Mention(reading.document.text[first:last], first, last, type_ or _class_in(reading, name, class_), name)


# Labels below a heading


def _is_name(reading: DocumentReading, heading: TextLine) -> bool:
    """True if a heading is the name of a thing and not of a kind of things or of what is said below it."""
    text = bare_heading(heading.text)
    return not reading.label_cues(text) and _class_named(reading, text) is None and bool(_plain_name(text))


def _headed(
    reading: DocumentReading, section: DocumentSection, lines: Sequence[TextLine], above: str
) -> Mention | None:
    """What a heading names, where labels below it say of what class that is."""
    heading, main = section.heading, reading.main
    if heading is None or not _is_name(reading, heading) or WORD_LIST.search(reading.document.title):
        return None
    lexicon, name = reading.lexicon, _plain_name(bare_heading(heading.text))
    said = next(_classes_said(lexicon, name), None)
    if main is not None and (name in main.name or (main.name in name and not _is_another(lexicon, said, main.type))):
        return None
    labels = {line.label: reading.label_cues(line.label) for line in lines if line.kind == "label"}
    known = next((item.type for item in reading.within(heading.start, heading.end) if item.name == name), None)
    domains = {class_ for cues in labels.values() for cue in cues for class_ in cue.term.domains}
    given = [class_ for class_ in (known, said, _class_named(reading, above)) if class_ is not None]
    told = {
        class_: sum(lexicon.best(cues, class_) is not None for cues in labels.values()) for class_ in (*given, *domains)
    }
    voted = sorted(domains, key=lambda item: (told[item], lexicon.depth(item), item.value))[-1:]
    best = max((*given, *voted), key=told.__getitem__, default=None)  # of equals the first: what is known
    if best is None or told[best] < (1 if best in given else 2):
        return None
    return _named_at(reading, heading.start, heading.end, name, best)


def _is_another(lexicon: Lexicon, class_: NamedNode | None, other: NamedNode) -> bool:
    """Whether a class is given, and neither of the two is above the other: the museum of a town is not the town."""
    is_a = lexicon.ontology.is_a
    return class_ is not None and not is_a(class_, (other,)) and not is_a(other, (class_,))


def _clauses(reading: DocumentReading, section: DocumentSection) -> Iterator[TextLine]:
    """The clauses below a heading that is a name which are a label and its value: 门票104元, *Tickets 8 euros*.

    From where a sentence begins with another name on, they may be about that.
    """
    name = bare_heading(section.heading.text) if section.heading is not None else ""
    for line in section.lines if name else ():
        for match in _SENTENCE.finditer(reading.text, line.start, line.end) if line.kind == "text" else ():
            start = match.start() + len(match[0]) - len(match[0].lstrip())
            opening = next((item for item in reading.within(start, match.end()) if item.start == start), None)
            if opening is not None and opening.name not in name and name not in opening.name:
                return
            for clause in _CLAUSE.finditer(reading.text, start, match.end()):
                yield from _labelled(reading, clause.start(), clause.end())


def _labelled(reading: DocumentReading, start: int, end: int) -> Iterator[TextLine]:
    """The clause as a label with its value, which begins right behind it; the longest label counts."""
    start += len(reading.text[start:end]) - len(reading.text[start:end].lstrip(" *_"))
    for value in values_in(reading.text, start, end)[:1]:
        label = reading.text[start : value.start].strip(" *_:：是为")
        cues = reading.label_cues(label) if label and len(label) <= _MAX_HAN else ()
        if any(accepts(cue.term, value) for cue in cues):
            yield TextLine("label", value.start, value.end, reading.text[value.start : value.end], label)


def _row(line: TextLine) -> TextLine:
    """A row of two cells as the label and value that it is: "| Ticket | 100 yuan |"."""
    match = _TWO_CELLS.fullmatch(line.text)
    if match is None:
        return line
    shift = line.end - len(line.text)
    return TextLine("label", shift + match.start(2), shift + match.end(2), match[2], match[1].strip(" *"))


def _cue(reading: DocumentReading, subject: Mention, label: str) -> Cue | None:
    cue = reading.lexicon.best(reading.label_cues(label), subject.type)
    term = None if cue else class_property(subject.type, class_called(label, reading.lexicon), reading.lexicon)
    return Cue(term, label, rank=1) if term else cue


def _value(reading: DocumentReading, subject: Mention, cue: Cue, line: TextLine) -> None:
    if _NONE.match(line.text):
        return
    if not cue.term.is_object:
        _literal(reading, subject, cue.term, line.start, line.end)
    elif not _objects(reading, subject, cue.term, line.start, line.end):
        reading.refuse(
            line.start, line.end, f"names nothing that {reading.lexicon.ontology.label(cue.term.iri)!r} may lead to"
        )


def _section(reading: DocumentReading, subject: Mention, cue: Cue, section: DocumentSection) -> None:
    items = [line for line in section.lines if line.kind == "item"]
    plain = [line for line in section.lines if line.kind in ("text", "label")]
    if items:
        for item in items:
            _value(reading, subject, cue, item)
        return
    for line in plain[:1]:
        if re.search(r"[。.]\s*\S", line.text) and subject.name in line.text:
            return
        start = line.start if line.kind == "text" else reading.text.rfind("\n", 0, line.start) + 1
        text = reading.text[start : line.end]
        if cue.term.is_object:
            _objects(reading, subject, cue.term, start, line.end)
        elif len(text) <= 160:
            _literal(reading, subject, cue.term, start, line.end)


def _literal(reading: DocumentReading, subject: Mention, term: OntologyProperty, start: int, end: int) -> None:
    text = reading.text[start:end].strip(" *_。;；")
    if len(text) > _MAX_STRING:
        return
    try:
        literal = literal_of(text, term, language=reading.document.language)
    except ValueError as error:
        fitting = [value for value in values_in(reading.text, start, end) if accepts(term, value)]
        fitting = _of_adults(reading.text, start, end, fitting)
        if not fitting or (len({value.lexical for value in fitting}) > 1 and fitting[0].start > start + 2):
            reading.refuse(start, end, str(error))
            return
        try:
            literal = literal_of(reading.text[fitting[0].start : fitting[0].end], term)
        except ValueError as second:
            reading.refuse(start, end, str(second))
            return
    reading.claim(Claim(subject, term.iri, literal, *whole_lines(reading.document.text, start, end), 0.95))
    if "address" in reading.lexicon.forms.told.get(term.iri, ()):
        _places_of(reading, subject, start, end)


def place_by_headings(reading: DocumentReading) -> None:
    """Claims of what the items below a heading name that it is in the place which the heading is: *## Kirkwall*."""
    ontology, told = reading.lexicon.ontology, {item.start: item for item in reading.mentions}
    for claim in (*reading.possible.values(), *reading.claims.values()):
        told |= {item.start: item for item in (claim.subject, claim.object) if isinstance(item, Mention)}
    by_name = {item.name: item for item in told.values()}
    chained = [term for term in ontology.domain_properties if term.transitive and not term.derived]
    for section in reading.sections:
        place = by_name.get(bare_heading(section.heading.text)) if section.heading is not None else None
        terms = [term for term in chained if place is not None and ontology.is_a(place.type, term.ranges)]
        for line in (line for line in section.lines if terms and line.kind in ("item", "label")):
            start = reading.text.rfind("\n", 0, line.start) + 1
            item = told.get(line.end - len(_MARKS.sub("", reading.text[start : line.end], count=1)))
            for term in terms:
                fits = item is not None and ontology.is_a(item.type, term.domains)
                if item is not None and place is not None and fits and item.name != place.name:
                    lines = whole_lines(reading.document.text, line.start, line.end)
                    reading.claim(Claim(item, term.iri, place, *lines, 0.85))


def _places_of(reading: DocumentReading, subject: Mention, start: int, end: int) -> None:
    """Claims of what has an address that it is in the places which the address names."""
    ontology = reading.lexicon.ontology
    chained = [term for term in ontology.domain_properties if term.transitive and not term.derived]
    for term in (term for term in chained if ontology.is_a(subject.type, term.domains)):
        for place in reading.within(start, end):
            if ontology.is_a(place.type, term.ranges) and place.name != subject.name:
                reading.claim(Claim(subject, term.iri, place, *whole_lines(reading.document.text, start, end), 0.9))


def _of_adults(text: str, start: int, end: int, fitting: list[FoundValue]) -> list[FoundValue]:
    """Of several amounts, each for some people, that of adults: 9 of *children 5 €, adults 9 €*."""
    pieces = [match.span() for match in _CLAUSE.finditer(text, start, end)]
    told = [span for span in pieces if len(fitting) > 1 and _ADULTS.search(text, *span)]
    chosen = [value for value in fitting for first, last in told[:1] if first <= value.start < last]
    return chosen[:1] or fitting


def _objects(reading: DocumentReading, subject: Mention, term: OntologyProperty, start: int, end: int) -> bool:
    """Claims each object that the stretch names; whether there was one."""
    structured = reading.structured or subject is not reading.main
    found = _people(reading, term, start, end) or _venue(reading, term, start, end) if structured else []
    found = found or (_typed(reading, subject, term, start, end) if structured else [])
    if found and len(term.ranges) == 1:
        found += _companions(reading, term.ranges[0], found, start, end)
    found = found or individuals_in(reading, term, start, end)
    if not found and len(term.ranges) == 1 and structured:
        found = list(_new(reading, term.ranges[0], start, end, told=subject is not reading.main))
    for mention in found:
        reading.claim(Claim(subject, term.iri, mention, *whole_lines(reading.document.text, start, end), 0.9))
    return bool(found)


def _people(reading: DocumentReading, term: OntologyProperty, start: int, end: int) -> list[Mention]:
    """Those whom the stretch lists, where the property leads to people."""
    if len(term.ranges) != 1 or not _holds_people(reading, term.ranges[0]):
        return []
    people = people_in(reading.document.text, start, end, told=True)
    fitting = (item for item in reading.within(start, end) if reading.lexicon.ontology.is_a(item.type, term.ranges))
    typed = {item.start: item for item in fitting}
    return [
        typed[one.start]
        if one.start in typed and typed[one.start].name == one.name
        else _mention_of(reading, one, term)
        for one in people
    ]


def _mention_of(reading: DocumentReading, place: Person | BylinePart, term: OntologyProperty) -> Mention:
    class_ = _class_in(reading, place.name, term.ranges[0])
    return Mention(reading.document.text[place.start : place.end], place.start, place.end, class_, place.name)


def _holds_people(reading: DocumentReading, class_: NamedNode) -> bool:
    """Whether things of the class are people, by what it or a class above it is called."""
    classes = reading.lexicon.ontology.classes
    above = [classes[iri] for iri in (class_, *reading.lexicon.ontology.superclasses(class_)) if iri in classes]
    return any(word.text.casefold() in _PERSON_WORDS for item in above for word in item.words)


def _venue(reading: DocumentReading, term: OntologyProperty, start: int, end: int) -> list[Mention]:
    """The one place of publication that a value names, commas and all, where the property leads to such places."""
    cue = reading.label_cues("Published in")
    if len(term.ranges) != 1 or not any(item.term.iri == term.iri for item in cue):
        return []
    venue = venue_in(reading.document.text, start, end)
    return [_mention_of(reading, venue, term)] if venue is not None else []


def _companions(
    reading: DocumentReading, class_: NamedNode, found: list[Mention], start: int, end: int
) -> list[Mention]:
    """The people listed beside one who is known: "Ada Byron, Mary Noor" where only the first has a class."""
    pieces = list(_pieces(reading.text, start, end))
    names = [(first, last, _plain_name(reading.text[first:last])) for first, last in pieces]
    if not all(_person_like(name) for _, _, name in names):
        return []
    return [
        Mention(reading.document.text[first:last], first, last, class_, name)
        for first, last, name in names
        if all(last <= item.start or item.end <= first for item in found)
    ]


def _typed(reading: DocumentReading, subject: Mention, term: OntologyProperty, start: int, end: int) -> list[Mention]:
    ontology = reading.lexicon.ontology
    found = reading.within(start, end)
    if any(mention.name == subject.name for mention in found):
        return []
    return [mention for mention in found if ontology.is_a(mention.type, term.ranges)]


def individuals_in(reading: DocumentReading, term: OntologyProperty, start: int, end: int) -> list[Mention]:
    """The named values in the stretch that the property may lead to, longest words first, none inside another."""
    ontology, text = reading.lexicon.ontology, reading.text[start:end].casefold()
    found: list[Mention] = []
    for word, iri in sorted(reading.lexicon.values.items(), key=lambda item: -len(item[0])):
        individual = ontology.individuals[iri]
        if word not in text or not any(ontology.is_a(type_, term.ranges) for type_ in individual.types):
            continue
        pattern = re.escape(word) if has_han(word) else rf"\b{re.escape(word)}\b"
        for match in re.finditer(pattern, text):
            first, last = start + match.start(), start + match.end()
            if all(last <= other.start or other.end <= first for other in found):
                written = reading.document.text[first:last]
                name = ontology.label(iri, reading.document.language)
                found.append(Mention(written, first, last, individual.types[0], name))
    return sorted(found, key=lambda mention: mention.start)


def _new(reading: DocumentReading, class_: NamedNode, start: int, end: int, *, told: bool) -> Iterator[Mention]:
    """Names that are in the list and nowhere else: each becomes a mention of the range class.

    Things that go by a key are named by it, but where a cell is ``told`` to hold one.
    """
    ontology = reading.lexicon.ontology
    if not told and any(key.iri for key in _keys(reading, class_)) and class_ != reading.lexicon.titled:
        return
    if any(class_ in individual.types for individual in ontology.individuals.values()):
        return
    if class_ == reading.lexicon.titled or _is_citation(reading.text[start:end]):
        yield from _cited(reading, class_, start, end)
        return
    for first, last in _pieces(reading.text, start, end):
        name = _plain_name(reading.text[first:last])
        if name:
            yield Mention(reading.document.text[first:last], first, last, class_, name)


def _keys(reading: DocumentReading, class_: NamedNode) -> list[OntologyProperty]:
    term = reading.lexicon.ontology.classes.get(class_)
    found = [reading.lexicon.ontology.properties.get(iri) for iri in (term.key if term else ())]
    return [item for item in found if item is not None and item.pattern]


def _pieces(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The parts of an enumeration; the whole where it is a scale of letters rather than a list of names."""
    parts: list[tuple[int, int]] = []
    position = start
    for match in _SPLIT.finditer(text, start, end):
        parts.append((position, match.start()))
        position = match.end()
    parts.append((position, end))
    parts = [(first, last) for first, last in parts if text[first:last].strip(" .。")]
    if (
        len(parts) > 2
        and sum(last - first <= 2 for first, last in parts) * 2 > len(parts)
        and not has_han(text[start:end])
    ):
        yield start, end
        return
    for first, last in parts:
        while last > first and text[last - 1] in " .。;；*_":
            last -= 1
        yield first, last


def _plain_name(text: str) -> str:
    """The piece as a name: without parenthesis and marks; empty where it is a sentence."""
    name = clean_name(re.sub(r"\s*[（(][^()（）]*[)）]\s*", " ", text)).strip("[]【】{}")
    too_long = len(name) > _MAX_HAN if has_han(name) else len(name.split()) > _MAX_WORDS
    if too_long or re.search(r"(?<!\b[A-ZÀ-Þ])\.\s|[!?。！？:：]\s|\b(?:is|are|was|were|et al)\b|\d{4}", name):
        return ""
    return name if len(name) > 1 else ""


def _is_citation(text: str) -> bool:
    head = re.split(r"[:.]\s", text, maxsplit=1)[0]
    return ":" in text[:120] and _person_like(head.split(",")[0].strip())


def _cited(reading: DocumentReading, class_: NamedNode, start: int, end: int) -> Iterator[Mention]:
    """The title in a reference: what follows the authors and their full stop or colon."""
    text = reading.text[start:end]
    match = re.search(r"\*([^*]{8,200})\*", text) or re.search(
        r"(?:\bet al|[^\W\d_]{3,}|[(（]\d{4}[a-z]?[)）])[.:]\s+([^\n]+?)(?:[.。](?:\s|$)|$)", text
    )
    if match is None:
        return
    name = clean_name(match[1])
    if len(name) >= 4 and (" " in name or has_han(name)):
        first, last = start + match.start(1), start + match.end(1)
        yield Mention(reading.document.text[first:last], first, last, class_, name)


def _byline(reading: DocumentReading) -> None:
    """What the byline says: the people in a line of their own below the title, where it appeared, and when."""
    main, byline = reading.main, reading.byline
    if main is None or byline is None or main.type != reading.lexicon.titled:
        return
    for label, places in (("Authors", byline.people), ("Published in", (byline.venue,)), ("Year", (byline.year,))):
        cue = _cue(reading, main, label)
        said = {claim.predicate for claim in reading.claims.values() if claim.subject is main}
        if cue is None or cue.term.iri in said:
            continue
        for place in places:
            if place is None:
                continue
            if not cue.term.is_object:
                _literal(reading, main, cue.term, place.start, place.end)
            elif len(cue.term.ranges) == 1:
                mention = _mention_of(reading, place, cue.term)
                reading.claim(Claim(main, cue.term.iri, mention, *byline.passage(reading.document.text, place), 0.85))


def _class_in(reading: DocumentReading, name: str, class_: NamedNode) -> NamedNode:
    """The class, or the one below it that the name is known as or has a word for: "Journal of Things"."""
    lexicon = reading.lexicon
    known = reading.finder.known.get(name)
    options = [known.type] if known is not None else _classes_said(lexicon, name)
    return next((type_ for type_ in options if lexicon.ontology.is_a(type_, (class_,))), class_)


def _classes_said(lexicon: Lexicon, name: str) -> Iterator[NamedNode]:
    """The classes for which a name has a word: one of a Latin name, what a Chinese one ends in."""
    words = (singular(word.casefold()) for word in re.findall(r"[^\W\d_]+", name))
    yield from (lexicon.class_words[word] for word in words if word in lexicon.class_words)
    yield from (type_ for word, type_ in lexicon.han_suffixes.items() if has_han(name) and name.endswith(word))


def _person_like(name: str) -> bool:
    """Whether the words have the form of a person's name: two to five, in capitals but for particles."""
    words = name.split()
    return (
        2 <= len(words) <= 5
        and words[0] not in _PARTICLES
        and all(_NAME_WORD.match(word) and (word[0].isupper() or word in _PARTICLES) for word in words)
    )
