"""Documents and tables in, a linked-data knowledge graph out."""
