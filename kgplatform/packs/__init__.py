"""What is shipped for one domain each and loaded only where an ontology asks for it."""
