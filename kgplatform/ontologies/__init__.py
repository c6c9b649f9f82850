"""Ontologies as one works on them: shown as a tree, checked, compared, drafted from data."""
