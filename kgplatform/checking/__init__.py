"""Checks: what the graph says held against shapes, ontology and evidence, each finding with its passage."""
