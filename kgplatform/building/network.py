"""The graph for programs that draw networks: GraphML and GEXF, things as nodes and what ties them as edges.

Specifications: http://graphml.graphdrawing.org/specification.html, https://gexf.net/schema.html (1.3).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TypeAlias
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from pyoxigraph import Literal, NamedNode, Triple

from kgplatform.vocab import LABEL, TYPE, words_of_iri

NETWORKS = ("graphml", "gexf")


def network(triples: Iterable[Triple], format_: str) -> bytes:
    """The statements between things as a network, its nodes with label and class; things are in IRI order."""
    labels: dict[str, str] = {}
    classes: dict[str, str] = {}
    edges: list[tuple[str, str, str]] = []
    for triple in triples:
        subject, predicate, object_ = triple.subject, triple.predicate, triple.object
        if not isinstance(subject, NamedNode):
            continue
        if predicate == LABEL and isinstance(object_, Literal):
            labels[subject.value] = min(labels.get(subject.value, object_.value), object_.value)
        elif predicate == TYPE and isinstance(object_, NamedNode):
            classes[subject.value] = min(classes.get(subject.value, object_.value), object_.value)
        elif isinstance(object_, NamedNode):
            edges.append((subject.value, predicate.value, object_.value))
    names = sorted({*classes, *labels, *(edge[0] for edge in edges), *(edge[2] for edge in edges)})
    nodes = [(name, labels.get(name) or words_of_iri(name), classes.get(name, "")) for name in names]
    root = _graphml(nodes, sorted(edges)) if format_ == "graphml" else _gexf(nodes, sorted(edges))
    indent(root)
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode").encode() + b"\n"


_Nodes: TypeAlias = list[tuple[str, str, str]]
_UNPRINTABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _printable(text: str) -> str:
    """The text without the characters that XML 1.0 has no place for."""
    return _UNPRINTABLE.sub("", text)


def _graphml(nodes: _Nodes, edges: list[tuple[str, str, str]]) -> Element:
    root = Element("graphml", xmlns="http://graphml.graphdrawing.org/xmlns")
    for key, target in (("label", "node"), ("class", "node"), ("property", "edge"), ("iri", "edge")):
        SubElement(root, "key", {"id": f"{target}_{key}", "for": target, "attr.name": key, "attr.type": "string"})
    graph = SubElement(root, "graph", edgedefault="directed")
    for name, label, class_ in nodes:
        node = SubElement(graph, "node", id=_printable(name))
        SubElement(node, "data", key="node_label").text = _printable(label)
        SubElement(node, "data", key="node_class").text = _printable(class_)
    for number, (source, property_, target) in enumerate(edges):
        edge = SubElement(graph, "edge", id=f"e{number}", source=_printable(source), target=_printable(target))
        SubElement(edge, "data", key="edge_property").text = words_of_iri(property_)
        SubElement(edge, "data", key="edge_iri").text = property_
    return root


def _gexf(nodes: _Nodes, edges: list[tuple[str, str, str]]) -> Element:
    root = Element("gexf", xmlns="http://gexf.net/1.3", version="1.3")
    graph = SubElement(root, "graph", defaultedgetype="directed", mode="static")
    for target, title in (("node", "class"), ("edge", "iri")):
        attributes = SubElement(graph, "attributes", {"class": target})
        SubElement(attributes, "attribute", id="0", title=title, type="string")
    listed = SubElement(graph, "nodes")
    for name, label, class_ in nodes:
        node = SubElement(listed, "node", id=_printable(name), label=_printable(label))
        SubElement(SubElement(node, "attvalues"), "attvalue", {"for": "0", "value": _printable(class_)})
    tied = SubElement(graph, "edges")
    for number, (source, property_, target) in enumerate(edges):
        label = words_of_iri(property_)
        ends = {"source": _printable(source), "target": _printable(target)}
        edge = SubElement(tied, "edge", {"id": str(number), "label": label, **ends})
        SubElement(SubElement(edge, "attvalues"), "attvalue", {"for": "0", "value": property_})
    return root


def between_things(triples: Iterable[Triple], known: Iterable[NamedNode]) -> Iterator[Triple]:
    """The statements without those about the ``known`` terms of the ontology."""
    terms = frozenset(known)
    return (triple for triple in triples if triple.subject not in terms)
