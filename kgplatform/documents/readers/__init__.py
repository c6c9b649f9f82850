"""Readers of file formats, one file a family: each yields the parts of a document."""
