"""Tables to triples by mappings: YARRRML, RML and R2RML read, drafted from an ontology, and run by an RML engine."""
