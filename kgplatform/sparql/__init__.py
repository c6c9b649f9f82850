"""SPARQL as text: tokens, patterns, rewriting, SERVICE blocks. The only room that looks into queries."""
