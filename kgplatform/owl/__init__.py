"""Ontology files: which syntax they are in, how each is read, and where the files of imports are."""
