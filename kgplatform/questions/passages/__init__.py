"""Answers from passages of documents and pages of the web, and the choice between them and the graph."""
